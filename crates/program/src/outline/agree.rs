//! Conditions that compare two values: what happens only if the two agree.
//!
//! `if (value == seen) value = next;` makes sure that the copy still holds. So does `if (seen.equals(value))`, and a
//! comparison by size, as in `if (seen > highest) highest = seen;`.

use classfile::Against;
use classfile::Condition as Relation;
use location::{MethodName, Names};
use smallvec::SmallVec;

use super::Condition;
use super::dominators::Dominators;
use crate::ir::{Arithmetic, BlockId, Body, Op, Value, ValueType};
use crate::model::numbers::is_box;

/// Values that are worked out in more steps than this are taken for what they were worked out from.
const MAX_STEPS: usize = 6;

/// The two values that a branch compares with each other.
pub(super) fn sides(body: &Body, names: &Names, branch: Value) -> Option<[Value; 2]> {
    compared(body, names, branch).map(|(sides, _)| sides)
}

/// The two values, and the edge that is taken if they are equal; none where they are compared by size.
fn compared(body: &Body, names: &Names, branch: Value) -> Option<([Value; 2], Option<usize>)> {
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
            Op::Call { method, arguments, .. } => match body.operands(arguments) {
                // What a call answers is not 0 if the two are equal.
                [first, second] if matches!(names.text(method.name), "equals" | "deepEquals") => {
                    Some(([*first, *second], edge_of(false)))
                }
                [first, second] if is_ordering(names, method) => Some(([*first, *second], edge_of(true))),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether a call answers 0 if the two are equal, and else tells which is larger.
fn is_ordering(names: &Names, method: MethodName) -> bool {
    matches!(names.text(method.name), "compare" | "compareTo") && is_of_values(names.text(method.class.0))
}

/// Whether two values that are found equal may still come from different ones: `now % 2 == seen % 2` says little of `now`
/// and `seen`, and neither does `bucket(now) == bucket(seen)`.
pub(super) fn are_parts(body: &Body, names: &Names, sides: [Value; 2]) -> bool {
    let given_to = |value: Value| match *body.op(body.without_casts(value)) {
        Op::Call { kind, method, arguments } => {
            let receiver = usize::from(kind != classfile::CallKind::Static);
            let is_given = body.operands(arguments).len() > receiver && !is_same_value(names, method);
            is_given.then_some(method)
        }
        _ => None,
    };
    let [left, right] = sides;
    let one = given_to(left);
    one.is_some() && one == given_to(right) || sides.iter().any(|side| is_part(body, names, *side, MAX_STEPS))
}

/// Whether a value tells only a part of what it was worked out from.
fn is_part(body: &Body, names: &Names, value: Value, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let value = body.without_casts(value);
    let is_fixed = |value: Value| matches!(body.op(value), Op::Constant(_) | Op::Parameter(_));
    match *body.op(value) {
        Op::Arithmetic(how, left, right) => match how {
            _ if is_fixed(left) && is_fixed(right) => false,
            Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Xor => {
                !is_fixed(left) && !is_fixed(right)
                    || [left, right].iter().any(|operand| is_part(body, names, *operand, steps))
            }
            _ => true,
        },
        Op::Negate(of) => is_part(body, names, of, steps),
        Op::Convert(of) => {
            let types = [of, value].map(|value| body.instruction(value).value_type);
            let is_wider = matches!(
                types,
                [ValueType::Int, ValueType::Long | ValueType::Double] | [ValueType::Float, ValueType::Double]
            );
            !is_wider || is_part(body, names, of, steps)
        }
        Op::Call { method, arguments, .. } => {
            let of = body.operands(arguments).first();
            match is_same_value(names, method) {
                true => of.is_some_and(|of| is_part(body, names, *of, steps)),
                false => of.is_some() && is_of_values(names.text(method.class.0)),
            }
        }
        _ => false,
    }
}

/// Whether what a class's methods yield is worked out from numbers, texts or objects that they are given.
fn is_of_values(class: &str) -> bool {
    let name = class.strip_prefix("java/lang/").unwrap_or_default();
    const NUMBERS: [&str; 8] = ["Boolean", "Byte", "Character", "Double", "Float", "Integer", "Long", "Short"];
    matches!(name, "Math" | "Object" | "StrictMath" | "String" | "System")
        || NUMBERS.contains(&name)
        || class == "java/util/Objects"
}

/// Whether a call yields what it was given, under another type.
fn is_same_value(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    let is_kept = matches!(
        (class, name),
        ("java/lang/String" | "java/lang/Double" | "java/lang/Float" | "java/lang/Boolean", "valueOf")
            | (_, "toString" | "intern" | "booleanValue" | "floatValue" | "doubleValue" | "longValue" | "intValue")
            | ("java/util/Objects", "requireNonNull")
    );
    // Out of a larger box into a smaller number.
    let is_cut = matches!(
        (class, name),
        ("java/lang/Long" | "java/lang/Double" | "java/lang/Float", "intValue" | "shortValue" | "byteValue")
            | ("java/lang/Double" | "java/lang/Float", "longValue")
            | ("java/lang/Integer", "shortValue" | "byteValue")
    );
    !is_cut && (is_kept || is_box(names, method))
}

/// Whether the first of two values that are compared by size must be the larger one, or equal, where this edge is taken.
fn first_is_larger(body: &Body, branch: BlockId, edge: usize) -> bool {
    match body.terminator(branch).map(|last| body.op(last)) {
        Some(Op::Branch { condition: Relation::Greater | Relation::GreaterOrEqual, .. }) => edge == 0,
        Some(Op::Branch { condition: Relation::Less | Relation::LessOrEqual, .. }) => edge == 1,
        _ => false,
    }
}

/// By block: the comparisons that must have come out in one way for it to run.
pub(super) struct Agreements {
    blocks: Vec<SmallVec<[u32; 2]>>,
}

impl Agreements {
    /// First those where the values must have been equal, or compared by size; then those where they must have differed, or where
    /// the first must have been the larger.
    pub(super) fn both(body: &Body, names: &Names, conditions: &[Option<Condition>]) -> [Agreements; 2] {
        let mut both = [true, false].map(|_| Agreements { blocks: Vec::new() });
        let mut dominators = None;
        let mut number = 0;
        for (block, condition) in conditions.iter().enumerate() {
            let Some(condition) = condition else { continue };
            number += 1;
            let branch = BlockId::from_index(block);
            let compared = body.terminator(branch).and_then(|last| compared(body, names, last));
            let (Some(_), Some((_, equal))) = (&condition.sides, compared) else { continue };
            let dominators = dominators.get_or_insert_with(|| Dominators::of(body));
            for (agreements, are_equal) in both.iter_mut().zip([true, false]) {
                let is_wanted = |edge: usize| match equal {
                    Some(equal) => (equal == edge) == are_equal,
                    None => are_equal || first_is_larger(body, branch, edge),
                };
                for edge in (0..2).filter(|edge| is_wanted(*edge)) {
                    agreements.add(body.block_count(), dominators.behind(body, branch, edge), number - 1);
                }
            }
        }
        both
    }

    /// Notes a comparison for blocks.
    fn add(&mut self, count: usize, blocks: &[u32], number: u32) {
        if blocks.is_empty() {
            return;
        }
        self.blocks.resize(count, SmallVec::new());
        for block in blocks {
            self.blocks[*block as usize].push(number);
        }
    }

    pub(super) fn of_block(&self, block: usize) -> &[u32] {
        self.blocks.get(block).map_or(&[], |numbers| numbers.as_slice())
    }
}
