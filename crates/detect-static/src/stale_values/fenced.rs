//! Leases: a field says whose turn it is by a number that is given once, and whoever writes compares its own number with the
//! field in the section of the write. `lease = ++issued; return lease;`, `if (token != lease) return false; opening = now;`. A
//! number that was taken back is never valid again, so that a write which is let through follows a time in which no other one
//! was: what was read since the number was given is what stands there.
//!
//! Misses: numbers that come from a clock or at random, and leases that are kept in atomics.

use program::Variable;
use program::ir::Op;
use program::outline::Member;
use program::summary::{Access, Influence, Influences, Root};

use super::drawn::{Drawn, MAX_DEPTH, constant};
use super::rules::{Looking, Stale};

/// The field that says whose turn it is, and how it gets its numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: Variable,
    drawn: Drawn,
}

impl Looking<'_> {
    /// Whether the write happens only if the number that this thread has drawn before the read is still the valid one, and
    /// whoever else writes the variable has made sure of the same.
    pub(super) fn is_fenced(&self, stale: &Stale, write: &Access) -> bool {
        let variables = &self.whole.variables;
        self.fences(write, Some(self.access(stale.read))).into_iter().any(|fence| {
            variables.writers(fence.mark).iter().all(|place| self.keeps_fence(place.method, place.access, fence))
                && variables
                    .writers(stale.variable)
                    .iter()
                    .all(|place| self.is_by(place, |there, other| there.fences(other, None).contains(&fence)))
        })
    }

    /// The fences that a write goes by, with a number that was drawn before a read, if one is given.
    fn fences(&self, write: &Access, read: Option<&Access>) -> Vec<Fence> {
        let mut found = Vec::new();
        for compared in write.compared.iter().filter(|compared| compared.are_equal && compared.larger.is_none()) {
            let [left, right] = &compared.sides;
            found.extend(self.fence(left, right, write, read));
            found.extend(self.fence(right, left, write, read));
        }
        found
    }

    /// The fence of which one side is what the field says now, and the other one the number of this thread.
    fn fence(&self, now: &Influences, own: &Influences, write: &Access, read: Option<&Access>) -> Option<Fence> {
        let asked = |influence: &Influence| match influence.root {
            Root::Access(asked) => {
                let access = self.access(asked);
                let mark = self.variable(access)?;
                let is_now = matches!(access.member, Member::Field(_) | Member::Static(_))
                    && self.is_fresh(influence, mark, write)
                    && self.is_in_one_section(access, write)
                    && self.is_of_one_object(access, write);
                is_now.then_some(mark)
            }
            Root::Parameter(_) => None,
        };
        let drawn = |mark: Variable, influence: &Influence| match influence.root {
            Root::Access(token) => {
                let token = self.access(token);
                let is_before = read.is_none_or(|read| self.is_read_first(token, read, write));
                self.drawn_for(mark, token).filter(|_| is_before)
            }
            Root::Parameter(_) => None,
        };
        let mark = asked(now.iter().next()?)?;
        let first = drawn(mark, own.iter().next()?)?;
        let is_all = now.iter().all(|influence| asked(influence) == Some(mark))
            && own.iter().all(|influence| drawn(mark, influence) == Some(first));
        is_all.then_some(Fence { mark, drawn: first })
    }

    /// The number that an access is about, if it was drawn and put into the mark in one section.
    fn drawn_for(&self, mark: Variable, token: &Access) -> Option<Drawn> {
        let program = self.whole.program;
        let home = Looking::anywhere(self.whole, program.declared_method(token.spot.method)?)?;
        let Ok(Some(body)) = program.body(home.method) else { return None };
        let taken = home.summary.accesses.iter().find(|access| access.spot == token.spot && !access.is_write)?;
        let mut stored = body.instructions().filter_map(|(put, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } => {
                let step = home.own_access(&body, put, true)?;
                let is_it = home.variable(step) == Some(mark) && home.is_in_one_section(step, taken);
                is_it.then(|| home.drawn(&body, value, MAX_DEPTH))
            }
            _ => None,
        });
        let drawn = stored.next()??;
        let is_only = stored.all(|other| other == Some(drawn));
        // Who has called for the number has got that number and nothing else.
        let is_gotten = home.method == self.method || home.returns_drawn(MAX_DEPTH) == Some(drawn);
        (is_only && is_gotten).then_some(drawn)
    }

    /// Whether a write of the mark puts a new number there, or one that nobody is ever given.
    fn keeps_fence(&self, method: program::MethodId, write: program::summary::AccessId, fence: Fence) -> bool {
        let Some(there) = Looking::anywhere(self.whole, method) else { return false };
        let Ok(Some(body)) = self.whole.program.body(method) else { return false };
        let spot = there.access(write).spot;
        let own = self.whole.program.method_name(method);
        spot.method == own
            && body.instructions().filter(|(_, instruction)| instruction.pc == spot.pc).any(|(_, instruction)| {
                match instruction.op {
                    Op::PutField { value, .. } | Op::PutStatic { value, .. } => match constant(&body, value) {
                        // Counters begin at nought.
                        Some(number) => fence.drawn.is_up && number < fence.drawn.offset.min(1),
                        None => there.drawn(&body, value, MAX_DEPTH) == Some(fence.drawn),
                    },
                    _ => false,
                }
            })
    }
}
