//! Where control goes in a method, and where the arms of its branches come together again.
//!
//! Exceptions count as the end of the method: no arm is thought through into a handler.

use std::ops::Range;

use classfile::edit::{CodeEditor, op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where the arms of a branch come together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    Block(usize),
    /// Where the method ends.
    Exit,
}

pub(crate) struct Flow {
    /// By block: its instructions, by position.
    blocks: Vec<Range<usize>>,
    /// By block: where it leads, each once; what it falls through to comes first, then targets in the order of code.
    successors: Vec<Vec<usize>>,
    /// By block: `None` if it never gets to the end of the method.
    joins: Vec<Option<Join>>,
    /// By block, the innermost last: the blocks of loops that it is in.
    loops: Vec<FxHashSet<usize>>,
}

impl Flow {
    /// `None` if the method has subroutines, or control leaves its code.
    pub(crate) fn of(code: &CodeEditor<'_>) -> Option<Flow> {
        let count = code.instruction_count();
        let positions: FxHashMap<u32, usize> = (0..count).map(|index| (code.instruction(index).pc, index)).collect();
        let mut targets: Vec<Vec<usize>> = Vec::with_capacity(count);
        let mut is_first = vec![false; count];
        *is_first.first_mut()? = true;
        for index in 0..count {
            let instruction = code.instruction(index);
            let is_wide_return = instruction.opcode == op::WIDE && !instruction.falls_through();
            if matches!(instruction.opcode, op::JSR | op::JSR_W | op::RET) || is_wide_return {
                return None;
            }
            let mut to = Vec::new();
            for pc in code.jump_targets(index) {
                let target = *positions.get(&pc)?;
                is_first[target] = true;
                to.push(target);
            }
            let ends = !to.is_empty() || !instruction.falls_through();
            if ends && index + 1 < count {
                is_first[index + 1] = true;
            }
            targets.push(to);
        }
        for pc in code.handler_targets() {
            is_first[*positions.get(&pc)?] = true;
        }
        let firsts: Vec<usize> = (0..count).filter(|index| is_first[*index]).collect();
        let ends = firsts.iter().skip(1).copied().chain([count]);
        let blocks: Vec<Range<usize>> = firsts.iter().copied().zip(ends).map(|(first, end)| first..end).collect();
        let block_of = |index: usize| firsts.partition_point(|first| *first <= index) - 1;
        let mut successors = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let last = block.end - 1;
            let mut to = Vec::new();
            if code.instruction(last).falls_through() {
                if block.end == count {
                    return None;
                }
                to.push(block_of(block.end));
            }
            let mut jumps: Vec<usize> = targets[last].iter().map(|target| block_of(*target)).collect();
            jumps.sort_unstable();
            for jump in jumps {
                if !to.contains(&jump) {
                    to.push(jump);
                }
            }
            successors.push(to);
        }
        let joins = joins(&successors);
        let loops = loops(&successors);
        Some(Flow { blocks, successors, joins, loops })
    }

    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn block(&self, block: usize) -> Range<usize> {
        self.blocks[block].clone()
    }

    pub(crate) fn successors(&self, block: usize) -> &[usize] {
        &self.successors[block]
    }

    pub(crate) fn join(&self, block: usize) -> Option<Join> {
        self.joins[block]
    }

    /// Of a branch that may leave a loop: its successors that stay in the innermost such loop.
    pub(crate) fn staying(&self, block: usize) -> Option<Vec<usize>> {
        let to = self.successors(block);
        let mut left: Vec<&FxHashSet<usize>> = self
            .loops
            .iter()
            .filter(|all| all.contains(&block))
            .filter(|all| to.iter().any(|one| all.contains(one)) && to.iter().any(|one| !all.contains(one)))
            .collect();
        left.sort_by_key(|all| all.len());
        let innermost = left.first()?;
        Some(to.iter().copied().filter(|one| innermost.contains(one)).collect())
    }
}

/// Immediate post-dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph.
fn joins(successors: &[Vec<usize>]) -> Vec<Option<Join>> {
    let exit = successors.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
    for (block, to) in successors.iter().enumerate() {
        to.iter().for_each(|one| before[*one].push(block));
        if to.is_empty() {
            before[exit].push(block);
        }
    }
    // Numbers in the order in which a walk back from the exit is done with the blocks.
    let mut numbers = vec![usize::MAX; exit + 1];
    let mut order = Vec::new();
    let mut seen = vec![false; exit + 1];
    seen[exit] = true;
    let mut pending = vec![(exit, 0)];
    while let Some((block, next)) = pending.pop() {
        match before[block].get(next) {
            Some(&one) => {
                pending.push((block, next + 1));
                if !std::mem::replace(&mut seen[one], true) {
                    pending.push((one, 0));
                }
            }
            None => {
                numbers[block] = order.len();
                order.push(block);
            }
        }
    }
    let mut found: Vec<Option<usize>> = vec![None; exit + 1];
    found[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|block| **block != exit) {
            let at_end = [exit];
            let to = if successors[block].is_empty() { &at_end[..] } else { &successors[block] };
            let mut new: Option<usize> = None;
            for &one in to.iter().filter(|one| found[**one].is_some()) {
                new = Some(match new {
                    None => one,
                    Some(mut other) => {
                        let mut one = one;
                        while one != other {
                            while numbers[one] < numbers[other] {
                                one = found[one].unwrap_or(exit);
                            }
                            while numbers[other] < numbers[one] {
                                other = found[other].unwrap_or(exit);
                            }
                        }
                        one
                    }
                });
            }
            if found[block] != new {
                found[block] = new;
                changed = true;
            }
        }
    }
    let join = |block: &Option<usize>| block.map(|block| if block == exit { Join::Exit } else { Join::Block(block) });
    found[..exit].iter().map(join).collect()
}

/// The blocks of each loop that is entered at one place.
fn loops(successors: &[Vec<usize>]) -> Vec<FxHashSet<usize>> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); successors.len()];
    for (block, to) in successors.iter().enumerate() {
        to.iter().for_each(|one| before[*one].push(block));
    }
    // Edges back to a block that the walk is in.
    let mut back: Vec<(usize, usize)> = Vec::new();
    let mut states = vec![0u8; successors.len()];
    for start in 0..successors.len() {
        if states[start] != 0 {
            continue;
        }
        states[start] = 1;
        let mut pending = vec![(start, 0)];
        while let Some((block, next)) = pending.pop() {
            match successors[block].get(next) {
                Some(&one) => {
                    pending.push((block, next + 1));
                    match states[one] {
                        0 => {
                            states[one] = 1;
                            pending.push((one, 0));
                        }
                        1 => back.push((block, one)),
                        _ => {}
                    }
                }
                None => states[block] = 2,
            }
        }
    }
    let mut loops: FxHashMap<usize, FxHashSet<usize>> = FxHashMap::default();
    for (last, header) in back {
        let all = loops.entry(header).or_default();
        all.insert(header);
        let mut pending = vec![last];
        while let Some(block) = pending.pop() {
            if all.insert(block) {
                pending.extend(&before[block]);
            }
        }
    }
    let mut sorted: Vec<(usize, FxHashSet<usize>)> = loops.into_iter().collect();
    sorted.sort_by_key(|(header, _)| *header);
    // What leads back to the start of the method has a second entry.
    sorted.retain(|(header, all)| *header == 0 || !all.contains(&0));
    sorted.into_iter().map(|(_, all)| all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_come_together() {
        // 0 if (1 else 2), 3 while (4), 5 return.
        let graph = [vec![1, 2], vec![3], vec![3], vec![4, 5], vec![3], vec![]];
        let block = |block| Some(Join::Block(block));
        assert_eq!(joins(&graph), [block(3), block(3), block(3), block(5), block(3), Some(Join::Exit)]);
        assert_eq!(loops(&graph), [FxHashSet::from_iter([3, 4])]);
        // 0 if (return), else for ever.
        let graph = [vec![1, 2], vec![], vec![2]];
        assert_eq!(joins(&graph), [block(1), Some(Join::Exit), None]);
        // One arm returns early.
        let graph = [vec![1, 2], vec![], vec![]];
        assert_eq!(joins(&graph), [Some(Join::Exit); 3]);
        // Two entries into a loop.
        let graph = [vec![1, 2], vec![2], vec![1, 3], vec![]];
        assert_eq!(loops(&graph), Vec::<FxHashSet<usize>>::new());
    }
}
