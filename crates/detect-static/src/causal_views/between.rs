//! Whether another thread may be in a section between two accesses: by processes, by start and join, and by the objects that
//! it has.

use program::Variable;
use program::summary::{Access, Summary};
use program::thread::{At, EntryId, Ordered};

use super::rules::Asking;
use super::views::Joint;
use crate::threads::{meet_at_object, run_at_once};

impl Asking<'_> {
    /// Whether another thread may be in that section between the two. Asked late: it needs the whole program.
    pub(super) fn runs_with(&self, first: &Access, second: &Access, other: &Joint) -> bool {
        let Some(summary) = self.whole.summaries.summary(other.method) else { return false };
        run_at_once(self.whole, self.method, other.method)
            && self.gets_between(first, second, other)
            && [first, second].iter().all(|own| self.has_object(own, other, summary))
    }

    /// Whether the section may have the object of an access, if it touches its variable.
    fn has_object(&self, own: &Access, other: &Joint, summary: &Summary) -> bool {
        let theirs = [other.first, other.second].map(|access| &summary.accesses[access.index()]);
        let variable = Variable::of(self.whole.program, own);
        if !matches!(variable, Some(Variable::Field(_))) {
            return true;
        }
        let mut same = theirs.iter().filter(|their| Variable::of(self.whole.program, their) == variable).peekable();
        same.peek().is_none()
            || same.any(|their| meet_at_object(self.whole, (self.method, &own.base), (other.method, &their.base)))
    }

    /// Whether start and join leave room for it: it is not over before the first, nor begun only after the second.
    fn gets_between(&self, first: &Access, second: &Access, other: &Joint) -> bool {
        let (threads, outlines) = (self.whole.threads(), self.whole.outlines());
        let Some(summary) = self.whole.summaries.summary(other.method) else { return false };
        let there = At { method: other.method, event: summary.accesses[other.first.index()].event };
        let here = At { method: self.method, event: first.event };
        let end = At { method: self.method, event: second.event };
        let ordered = |process: EntryId, own: &Access, by: EntryId| {
            threads.ordered(outlines, process, At { method: self.method, event: own.event }, by)
        };
        threads.of_method(self.method).iter().any(|process| {
            threads.of_method(other.method).iter().any(|by| {
                threads.overlap(*process, *by)
                    && (process == by
                        || ordered(*process, first, *by) != Some(Ordered::AfterJoin)
                            && ordered(*process, second, *by) != Some(Ordered::BeforeStart)
                            && threads.ordered(outlines, *by, there, *process).is_none()
                            && !self.whole.is_latched(*process, here, *by, there)
                            && !self.whole.is_latched(*by, there, *process, end))
            })
        })
    }
}
