//! Conditions that compare two values: what happens only if the two agree.
//!
//! `if (value == seen) value = next;` makes sure that the copy still holds. So does `if (seen.equals(value))`, and a
//! comparison by size, as in `if (seen > highest) highest = seen;`.

use classfile::Against;
use classfile::Condition as Relation;
use location::Names;
use smallvec::SmallVec;

use super::Condition;
use crate::ir::{BlockId, Body, Op, Value};

/// The two values that a branch compares with each other.
pub(super) fn sides(body: &Body, names: &Names, branch: Value) -> Option<[Value; 2]> {
    compared(body, Some(names), branch).map(|(sides, _)| sides)
}

/// The two values, and the edge that is taken if they are equal; none where they are compared by size.
fn compared(body: &Body, names: Option<&Names>, branch: Value) -> Option<([Value; 2], Option<usize>)> {
    let Op::Branch { condition, against, left, right } = *body.op(branch) else { return None };
    let edge_of = |is_equal: bool| match condition {
        Relation::Equal => Some(usize::from(!is_equal)),
        Relation::NotEqual => Some(usize::from(is_equal)),
        _ => None,
    };
    match (against, right) {
        (Against::Int | Against::Reference, Some(right)) => Some(([left, right], edge_of(true))),
        (Against::Zero, _) => match *body.op(left) {
            Op::Compare(left, right) => Some(([left, right], edge_of(true))),
            // What a call answers is not 0 if the two are equal.
            Op::Call { method, arguments, .. } => {
                let is_asking = names.is_none_or(|names| matches!(names.text(method.name), "equals" | "deepEquals"));
                match body.operands(arguments) {
                    [first, second] if is_asking => Some(([*first, *second], edge_of(false))),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// By block: the comparisons that must have come out in one way for it to run.
pub(super) struct Agreements {
    blocks: Vec<SmallVec<[u32; 2]>>,
}

impl Agreements {
    /// The values must have been equal, or compared by size; or else they must have differed.
    pub(super) fn of(body: &Body, conditions: &[Option<Condition>], are_equal: bool) -> Agreements {
        let mut agreements = Agreements { blocks: Vec::new() };
        let mut number = 0;
        for (block, condition) in conditions.iter().enumerate() {
            let Some(condition) = condition else { continue };
            number += 1;
            let branch = BlockId::from_index(block);
            let compared = body.terminator(branch).and_then(|last| compared(body, None, last));
            let (Some(_), Some((_, equal))) = (&condition.sides, compared) else { continue };
            let edges = match equal {
                Some(equal) => [(equal == 0) == are_equal, (equal == 1) == are_equal],
                None => [are_equal; 2],
            };
            for edge in (0..2).filter(|edge| edges[*edge]) {
                agreements.add(body, branch, edge, number - 1);
            }
        }
        agreements
    }

    /// Notes a comparison for all blocks that control reaches only over this edge.
    fn add(&mut self, body: &Body, branch: BlockId, edge: usize, number: u32) {
        let mut reached = vec![false; body.block_count()];
        let mut pending = vec![BlockId::ENTRY];
        reached[0] = true;
        while let Some(block) = pending.pop() {
            let edges = body.block(block);
            let successors = edges.successors.iter().enumerate();
            let passed = successors.filter(|(position, _)| block != branch || *position != edge).map(|(_, next)| next);
            for next in passed.chain(&edges.handlers) {
                if !std::mem::replace(&mut reached[next.index()], true) {
                    pending.push(*next);
                }
            }
        }
        self.blocks.resize(body.block_count(), SmallVec::new());
        for block in (0..reached.len()).filter(|block| !reached[*block]) {
            if self.blocks[block].last() != Some(&number) {
                self.blocks[block].push(number);
            }
        }
    }

    pub(super) fn of_block(&self, block: usize) -> SmallVec<[u32; 2]> {
        self.blocks.get(block).cloned().unwrap_or_default()
    }
}
