//! What code does where something that it asks for has a known value: which way a branch goes, and what a method answers.

use location::FieldName;
use program::Program;
use program::ir::{Against, Body, Condition, Constant, Op, Value};
use rustc_hash::FxHashMap;

use crate::feasible::holds;

/// Longer ways through a method are not gone.
const MAX_BLOCKS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Null,
    /// Some object.
    Object,
    Int(i32),
    /// The object that a static field always has, as one of an enum.
    Fixed(FieldName),
}

/// A method's code, and what some of its registers are known to be.
pub(crate) struct Replies<'r> {
    pub(crate) program: &'r Program,
    pub(crate) body: &'r Body,
    pub(crate) given: &'r dyn Fn(Value) -> Option<Known>,
}

/// What registers got where ways meet.
type Met = FxHashMap<Value, Option<Known>>;

impl Replies<'_> {
    /// What a register always has.
    pub(crate) fn known(&self, value: Value) -> Option<Known> {
        self.value(value, &Met::default())
    }

    /// The successor of a block that control goes on to from its branch.
    pub(crate) fn way(&self, branch: Value) -> Option<usize> {
        self.way_with(branch, &Met::default())
    }

    /// What the method returns.
    pub(crate) fn returned(&self) -> Option<Known> {
        let body = self.body;
        let mut met = Met::default();
        let (mut block, _) = body.blocks().next()?;
        for _ in 0..MAX_BLOCKS {
            let last = body.terminator(block)?;
            let successors = &body.block(block).successors;
            let next = match *body.op(last) {
                Op::Return(result) => return self.value(result?, &met),
                Op::Throw(_) => return None,
                Op::Branch { .. } | Op::Switch { .. } => *successors.get(self.way_with(last, &met)?)?,
                _ => *successors.first()?,
            };
            let before = body.block(next).predecessors.iter().position(|from| from.block == block)?;
            let phis = body.instructions_of(next).filter_map(|(phi, instruction)| match instruction.op {
                Op::Phi(operands) => Some((phi, self.value(body.operands(operands)[before], &met))),
                _ => None,
            });
            let phis: Vec<_> = phis.collect();
            met.extend(phis);
            block = next;
        }
        None
    }

    fn way_with(&self, branch: Value, met: &Met) -> Option<usize> {
        match *self.body.op(branch) {
            Op::Branch { condition, against, left, right } => {
                let left = self.value(left, met)?;
                let right = right.map(|right| self.value(right, met));
                let is_so = match (against, left, right) {
                    (Against::Zero, Known::Int(number), None) => holds(condition, i64::from(number), 0),
                    (Against::Int, Known::Int(left), Some(Some(Known::Int(right)))) => {
                        holds(condition, i64::from(left), i64::from(right))
                    }
                    (Against::Null, left, None) => (left == Known::Null) == (condition == Condition::Equal),
                    (Against::Reference, Known::Fixed(left), Some(Some(Known::Fixed(right)))) => {
                        (left == right) == (condition == Condition::Equal)
                    }
                    (Against::Reference, left, Some(Some(right))) if [left, right].contains(&Known::Null) => {
                        (left == right) == (condition == Condition::Equal)
                    }
                    _ => return None,
                };
                Some(usize::from(!is_so))
            }
            Op::Switch { value, keys } => {
                let Known::Int(number) = self.value(value, met)? else { return None };
                let keys = self.body.switch_keys(keys);
                Some(keys.iter().position(|key| *key == number).unwrap_or(keys.len()))
            }
            _ => None,
        }
    }

    fn value(&self, value: Value, met: &Met) -> Option<Known> {
        let value = self.body.without_casts(value);
        let of_op = || match *self.body.op(value) {
            Op::Constant(Constant::Int(number)) => Some(Known::Int(number)),
            Op::Constant(Constant::Null) => Some(Known::Null),
            Op::Constant(Constant::String(_) | Constant::Class(_)) => Some(Known::Object),
            Op::New(_) | Op::NewArray { .. } => Some(Known::Object),
            Op::GetStatic(field) if self.is_fixed(field) => Some(Known::Fixed(field)),
            _ => None,
        };
        (self.given)(value).or_else(|| met.get(&value).copied().unwrap_or_else(of_op))
    }

    fn is_fixed(&self, field: FieldName) -> bool {
        self.program.is_final_field(field) && self.program.names.text(field.descriptor).starts_with('L')
    }
}
