//! In which order the events of a method can happen: its blocks, and which may follow which.

use crate::ir::{Body, Op};

/// Set in a successor that is reached by an exception.
const EXCEPTIONAL: u32 = 1 << 31;

/// Set in the end of a block that throws.
const THROWS: u32 = 1 << 31;

/// The blocks of a method as a graph, in reverse postorder.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Blocks {
    /// By block: where its successors end in `successors`, and whether it throws in the end.
    ends: Vec<u32>,
    successors: Vec<u32>,
}

/// A block that may follow another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Successor {
    pub block: usize,
    pub is_exceptional: bool,
}

impl Blocks {
    pub(super) fn of(body: &Body) -> Blocks {
        let mut blocks = Blocks::default();
        for (number, block) in body.blocks() {
            blocks.successors.extend(block.successors.iter().map(|next| next.index() as u32));
            blocks.successors.extend(block.handlers.iter().map(|next| next.index() as u32 | EXCEPTIONAL));
            let last = body.terminator(number).map(|last| body.op(last));
            let throws = if matches!(last, Some(Op::Throw(_))) { THROWS } else { 0 };
            blocks.ends.push(blocks.successors.len() as u32 | throws);
        }
        blocks
    }

    fn end(&self, block: usize) -> usize {
        self.ends.get(block).map_or(0, |end| (end & !THROWS) as usize)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn successors(&self, block: usize) -> impl Iterator<Item = Successor> {
        let start = if block == 0 { 0 } else { self.end(block - 1) };
        self.successors[start..self.end(block).max(start)]
            .iter()
            .map(|next| Successor { block: (next & !EXCEPTIONAL) as usize, is_exceptional: next & EXCEPTIONAL != 0 })
    }

    /// Whether the method can go on from a block and return. What is thrown there may be caught; what calls throw is left
    /// out.
    pub fn may_return(&self, block: usize) -> bool {
        let mut seen = vec![false; self.len()];
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            if std::mem::replace(&mut seen[block], true) {
                continue;
            }
            let throws = self.ends[block] & THROWS != 0;
            if !throws && self.successors(block).all(|next| next.is_exceptional) {
                return true;
            }
            let follows = |next: &Successor| throws || !next.is_exceptional;
            pending.extend(self.successors(block).filter(follows).map(|next| next.block));
        }
        false
    }

    /// By block: whether control can come back to it.
    pub fn in_cycle(&self) -> Vec<bool> {
        let count = self.len();
        let mut in_cycle = vec![false; count];
        // Without an edge to an earlier block, or to the block itself, there is no cycle.
        let heads = |blocks: &Blocks, block: usize| blocks.successors(block).any(|next| next.block <= block);
        if !(0..count).any(|block| heads(self, block)) {
            return in_cycle;
        }
        const UNSEEN: u32 = u32::MAX;
        let (mut number, mut low) = (vec![UNSEEN; count], vec![0u32; count]);
        let mut on_stack = vec![false; count];
        let (mut stack, mut open) = (Vec::new(), Vec::new());
        let mut next_number = 0;
        for root in 0..count {
            if number[root] == UNSEEN {
                open.push((root, 0));
            }
            while let Some((block, followed)) = open.last_mut() {
                let block = *block;
                if *followed == 0 {
                    number[block] = next_number;
                    low[block] = next_number;
                    next_number += 1;
                    stack.push(block);
                    on_stack[block] = true;
                }
                let next = self.successors(block).nth(*followed);
                *followed += 1;
                match next {
                    Some(next) if number[next.block] == UNSEEN => open.push((next.block, 0)),
                    Some(next) => {
                        if on_stack[next.block] {
                            low[block] = low[block].min(number[next.block]);
                        }
                        in_cycle[block] |= next.block == block;
                    }
                    None => {
                        open.pop();
                        if let Some((before, _)) = open.last() {
                            low[*before] = low[*before].min(low[block]);
                        }
                        if low[block] == number[block] {
                            let is_alone = stack.last() == Some(&block);
                            while let Some(member) = stack.pop() {
                                on_stack[member] = false;
                                in_cycle[member] |= !is_alone;
                                if member == block {
                                    break;
                                }
                            }
                        }
                    }
                }
            }
        }
        in_cycle
    }

    /// Whether the method returns at the end of a block.
    pub(crate) fn is_return(&self, block: usize) -> bool {
        self.ends[block] & THROWS == 0 && self.successors(block).all(|next| next.is_exceptional)
    }

    /// The head of the smallest loop around all of `inner` that does not go around `outer` as well.
    pub fn loop_head(&self, inner: &[usize], outer: Option<usize>) -> Option<usize> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.len()];
        for block in 0..self.len() {
            for next in self.successors(block) {
                before[next.block].push(block);
            }
        }
        let mut best: Option<(usize, usize)> = None;
        let first = *inner.iter().min()?;
        // A loop inside may be left by its head, which comes before what is in it.
        for end in 0..self.len() {
            for head in self.successors(end).map(|next| next.block).filter(|head| *head <= first.min(end)) {
                let mut members = vec![false; self.len()];
                members[head] = true;
                let mut size = 1;
                let mut pending = vec![end];
                while let Some(block) = pending.pop() {
                    if !members[block] {
                        members[block] = true;
                        size += 1;
                        pending.extend(before[block].iter().copied());
                    }
                }
                if inner.iter().all(|block| members[*block])
                    && outer.is_none_or(|outer| !members[outer])
                    && best.is_none_or(|(_, smallest)| size < smallest)
                {
                    best = Some((head, size));
                }
            }
        }
        best.map(|(head, _)| head)
    }
}
