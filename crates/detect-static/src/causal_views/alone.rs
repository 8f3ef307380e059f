//! Which of two variables is also written without the other one: then they may differ at any time.

use program::outline::EventId;
use program::summary::{Access, Spot};
use program::{MethodId, Variable};

use super::rules::Asking;
use super::views::common;

/// More methods than this that lead to a write are not asked.
const MAX_PARTS: usize = 16;

impl Asking<'_> {
    /// Whether one of two is also written without the other, elsewhere: then they may differ at any time, and who reads
    /// them one after the other sees nothing that could not be. What is only called by methods that write both, or by
    /// `but`, is a part of those.
    pub(super) fn is_written_alone(&self, one: Variable, other: Variable, but: Option<MethodId>) -> bool {
        let program = self.whole.program;
        let is_other = |access: &&Access| access.is_write && Variable::of(program, access) == Some(other);
        let writes_other = |method: MethodId| {
            let summary = self.whole.summaries.summary(method);
            summary.is_some_and(|summary| summary.accesses.iter().any(|access| is_other(&access)))
        };
        // Where something that is called here writes both, whatever it does apart is its own business.
        let is_passed_on = |spot: &Spot| {
            let own = self.summary.accesses.iter().filter(|access| access.is_write && access.spot == *spot);
            own.into_iter()
                .any(|access| self.summary.accesses.iter().any(|other| is_other(&other) && other.event == access.event))
        };
        // Where a caller writes the one, it writes the other by the same call or in the same section; or, where writes
        // apart are asked about, one after the other.
        let writes_both = |caller: MethodId, spot: &Spot| {
            let Some(summary) = self.whole.summaries.summary(caller) else { return false };
            let Some(outline) = self.whole.summaries.outline(caller) else { return false };
            let in_turn = |one: EventId, other: EventId| {
                but.is_some()
                    && !is_passed_on(spot)
                    && (outline.may_follow(one, other) || outline.may_follow(other, one))
            };
            let mut own = summary.accesses.iter().filter(|access| access.is_write && access.spot == *spot);
            own.all(|access| {
                let mut others = summary.accesses.iter().filter(is_other);
                others.any(|other| {
                    other.event == access.event
                        || !common(access, other).is_empty()
                        || in_turn(access.event, other.event)
                })
            })
        };
        let is_begun =
            |method: MethodId| self.whole.threads().entries().iter().any(|entry| entry.method == Some(method));
        // Who passes a call on to the one that writes is a part of the same, as a wrapper that has the same methods. What a
        // thread does one after the other is many changes.
        let is_part = |method: MethodId, spot: &Spot| {
            let callers = self.whole.calls.callers(method);
            let mut parts = vec![method];
            let mut next = 0;
            while let Some(part) = parts.get(next).copied() {
                next += 1;
                let is_above = part != method && !callers.contains(&part);
                if is_above && is_begun(part) {
                    return false;
                }
                if Some(part) == but || part != method && writes_both(part, spot) {
                    continue;
                }
                let is_more = || writes_other(part) || self.whole.threads().is_from_outside(part) || is_begun(part);
                let callers = self.whole.calls.callers(part);
                if callers.is_empty() || part != method && is_more() || parts.len() > MAX_PARTS {
                    return false;
                }
                let more: Vec<MethodId> = callers.iter().filter(|caller| !parts.contains(caller)).copied().collect();
                parts.extend(more);
            }
            true
        };
        self.whole.variables.writers(one).iter().any(|place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
            !is_part(place.method, &summary.accesses[place.access.index()].spot)
                && !summary.accesses[place.access.index()].held.is_empty()
                && !writes_other(place.method)
                && !self.whole.threads().of_method(place.method).is_empty()
        })
    }
}
