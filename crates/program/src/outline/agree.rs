//! Conditions that compare two values: what happens only if the two agree.
//!
//! `if (value == seen) value = next;` makes sure that the copy still holds. So does `if (seen.equals(value))`, and a
//! comparison by size, as in `if (seen > highest) highest = seen;`.

use classfile::Against;
use classfile::Condition as Relation;
use location::Names;
use smallvec::SmallVec;

use super::Condition;
use crate::ControlDependence;
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
    blocks: Vec<Option<SmallVec<[u32; 2]>>>,
}

impl Agreements {
    /// The values must have been equal, or compared by size; or else they must have differed.
    pub(super) fn of(body: &Body, conditions: &[Option<Condition>], are_equal: bool) -> Agreements {
        let is_compared = |condition: &Option<Condition>| condition.as_ref().is_some_and(|one| one.sides.is_some());
        if !conditions.iter().any(is_compared) {
            return Agreements { blocks: Vec::new() };
        }
        let mut number = vec![0u32; conditions.len()];
        let mut next = 0;
        for (block, condition) in conditions.iter().enumerate() {
            number[block] = next;
            next += u32::from(condition.is_some());
        }
        let agrees = |branch: BlockId, edge: usize| {
            let wanted = body.terminator(branch).and_then(|last| compared(body, None, last));
            is_compared(&conditions[branch.index()])
                && wanted.is_some_and(|(_, equal)| match equal {
                    Some(equal) => (equal == edge) == are_equal,
                    None => are_equal,
                })
        };
        let direct = ControlDependence::of(body);
        // A block that several branches lead to runs if any of them wants it: only what all ask for is certain.
        // None stands for not reached yet, which asks for everything.
        let mut blocks: Vec<Option<SmallVec<[u32; 2]>>> = vec![None; conditions.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..blocks.len() {
                let mut common: Option<SmallVec<[u32; 2]>> = None;
                let on = direct.of_block(BlockId::from_index(block));
                if on.is_empty() {
                    common = Some(SmallVec::new());
                }
                for dependence in on {
                    let branch = dependence.branch.index();
                    // A later branch leads back here; the first time nothing was asked.
                    let asked = if branch >= block { Some(SmallVec::new()) } else { blocks[branch].clone() };
                    let Some(mut asked) = asked else { continue };
                    if branch < block
                        && agrees(dependence.branch, dependence.edge)
                        && let Err(at) = asked.binary_search(&number[branch])
                    {
                        asked.insert(at, number[branch]);
                    }
                    common = Some(match common {
                        None => asked,
                        Some(known) => known.into_iter().filter(|one| asked.contains(one)).collect(),
                    });
                }
                if common.is_some() && common != blocks[block] {
                    blocks[block] = common;
                    changed = true;
                }
            }
        }
        Agreements { blocks }
    }

    pub(super) fn of_block(&self, block: usize) -> SmallVec<[u32; 2]> {
        self.blocks.get(block).cloned().flatten().unwrap_or_default()
    }
}
