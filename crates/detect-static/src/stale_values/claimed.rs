//! Positions that somebody has found free and marked: what `int seat = plan.book(name)` or `int fd = table.open(path)` yields is
//! the caller's until he gives it back, if others mark only what they have found in the same way, or go by what they were
//! given. Whether what finds a position also marks it in time is its own business, and told there.
//!
//! Misses: positions that are counted, for which see `drawn.rs`, and those of lists whose elements move.

use program::Variable;
use program::model::State;
use program::outline::Member;
use program::summary::{Access, AccessId, Root, Spot};

use super::idioms::comes_from;
use super::rules::{Looking, Stale};

impl Looking<'_> {
    /// Whether what is read and written is at a position that one call before has found and marked.
    pub(super) fn is_of_claimed_position(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_found_and_marked = |(index, found): (usize, &Access)| {
            let id = AccessId(index as u32);
            let is_mark = |mark: &Access| {
                mark.is_write
                    && mark.event == found.event
                    && mark.event < write.event
                    && self.variable(mark) == Some(stale.variable)
                    && (comes_from(&mark.address, id) || self.is_marked_where_looked(found.spot, mark.spot))
            };
            !found.is_write
                && found.event != write.event
                && comes_from(&write.address, id)
                && (id == stale.read || comes_from(&read.address, id))
                && self.variable(found) == Some(stale.variable)
                && self.summary.accesses.iter().any(is_mark)
                && self.whole.variables.writers(stale.variable).iter().all(|place| {
                    self.is_by(place, |there, other| {
                        there.is_in_place(other)
                            && (there.is_at_found(other, stale.variable, found.spot)
                                || self.is_marked_where_looked(found.spot, other.spot))
                    })
                })
        };
        stale.variable == stale.written && self.summary.accesses.iter().enumerate().any(is_found_and_marked)
    }

    /// `if (hooks[i] == null) { hooks[i] = coat; return i; }`: whether the place that is marked is the one that was looked at,
    /// and is marked because of what was there.
    fn is_marked_where_looked(&self, found: Spot, mark: Spot) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, found.method);
        let Some(there) = method.and_then(|method| Looking::anywhere(self.whole, method)) else { return false };
        let mut looks =
            there.summary.accesses.iter().enumerate().filter(|(_, look)| !look.is_write && look.spot == found);
        looks.any(|(id, look)| {
            there.summary.accesses.iter().any(|one| {
                one.is_write
                    && one.spot == mark
                    && !one.keys.is_empty()
                    && one.keys == look.keys
                    && one.base.same(&look.base)
                    && comes_from(&one.control, AccessId(id as u32))
            })
        })
    }

    /// Whether a write leaves all other positions where they are.
    fn is_in_place(&self, write: &Access) -> bool {
        match write.member {
            Member::Elements => true,
            Member::State(State::Contents) => {
                write.is_keyed || matches!(self.called_at(write), Some("set" | "add" | "addLast"))
            }
            _ => false,
        }
    }

    /// Whether the position of a write was found as a free one.
    fn is_at_found(&self, write: &Access, variable: Variable, found: Spot) -> bool {
        let mut looked_up = write.address.iter().filter_map(|influence| match influence.root {
            Root::Access(read) => Some(self.access(read)).filter(|read| self.variable(read) == Some(variable)),
            Root::Parameter(_) => None,
        });
        let is_found = |read: &Access| read.spot == found;
        looked_up.next().is_some_and(is_found) && looked_up.all(is_found)
    }
}
