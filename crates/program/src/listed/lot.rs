//! The keys of one task, and whether two tasks have one in common.

use classfile::Constant;

use crate::class::FieldId;

/// One key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Literal {
    Constant(Constant),
    /// A constant of an enum.
    Field(FieldId),
}

/// The keys of one task.
#[derive(Clone, Default, Debug)]
pub(super) struct Lot {
    pub(super) literals: Vec<Literal>,
    /// From here on, up to before there.
    pub(super) ranges: Vec<(i64, i64)>,
}

impl Lot {
    pub(super) fn add(&mut self, other: Lot) {
        self.literals.extend(other.literals);
        self.ranges.extend(other.ranges);
    }

    pub(super) fn one(literal: Literal) -> Lot {
        Lot { literals: vec![literal], ranges: Vec::new() }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match (self.literals.as_slice(), self.ranges.as_slice()) {
            ([Literal::Constant(Constant::Int(number))], []) => Some(i64::from(*number)),
            _ => None,
        }
    }

    /// Whether two lots have nothing in common.
    pub(super) fn is_beside(&self, other: &Lot) -> bool {
        let is_in = |literal: &Literal, range: &(i64, i64)| match literal {
            Literal::Constant(Constant::Int(number)) => (range.0..range.1).contains(&i64::from(*number)),
            // A number of another kind is another key, and is not looked into.
            _ => true,
        };
        let are_beside = |one: &Lot, other: &Lot| {
            one.literals.iter().all(|literal| {
                !other.literals.contains(literal) && !other.ranges.iter().any(|range| is_in(literal, range))
            })
        };
        are_beside(self, other)
            && are_beside(other, self)
            && self.ranges.iter().all(|one| other.ranges.iter().all(|range| one.1 <= range.0 || range.1 <= one.0))
    }
}
