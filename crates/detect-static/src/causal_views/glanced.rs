//! Glances: volatile fields and atomics that are read one after the other with no lock at all, while whoever changes one of
//! them changes both in one section. The lock is the writers' own business, and who goes without it sees half a change.

use program::model::State;
use program::outline::Member;
use program::summary::{Access, Summary, SummarySection};
use program::{LockKind, Mode, Variable};

use super::rules::Asking;
use super::views::{Joint, common};

impl Asking<'_> {
    /// Whether both are looked at without any lock, and are only ever written together, under a lock.
    pub(super) fn are_glanced_at(&self, first: &Access, second: &Access, other: &Joint) -> bool {
        let Some(theirs) = self.whole.summaries.summary(other.method) else { return false };
        let (one, also) = (&theirs.accesses[other.first.index()], &theirs.accesses[other.second.index()]);
        let is_lock = |section: usize| {
            let section = &theirs.sections[section];
            section.kind != LockKind::Own && section.mode == Mode::Exclusive
        };
        let is_open = |access: &Access| self.outline.events[access.event.index()].perhaps.is_empty();
        let program = self.whole.program;
        let (Some(x), Some(y)) = (Variable::of(program, first), Variable::of(program, second)) else { return false };
        is_glance(self.summary, first)
            && is_glance(self.summary, second)
            && is_open(first)
            && is_open(second)
            && common(first, second).is_empty()
            && common(one, also).iter().any(is_lock)
            && self.whole.cover().among(self.whole.threads()).held_by_callers(self.method).is_empty()
            && !self.is_written_alone(x, y, None)
            && !self.is_written_alone(y, x, None)
    }
}

/// Whether a volatile field or an atomic is touched with no lock around. To read without a lock and to ask afterwards whether
/// somebody has written keeps nobody out either.
pub(super) fn is_glance(summary: &Summary, access: &Access) -> bool {
    let is_none = |section: &SummarySection| section.kind == LockKind::Own || section.mode == Mode::Optimistic;
    matches!(access.member, Member::Field(_) | Member::Static(_) | Member::State(State::Value))
        && !access.held.is_empty()
        && access.held.iter().all(|section| is_none(&summary.sections[section]))
}
