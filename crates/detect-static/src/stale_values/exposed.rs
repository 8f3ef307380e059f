//! Whether another thread can get in between, by what the code says of locks, threads and parts, and what is told for it.

use program::outline::{Action, Member};
use program::thread::{At, EntryId};

use super::contention;
use super::rules::{Looking, Stale, Standing};
use crate::threads::{is_in_making, is_of_this, is_owned, meet_at_object};

impl Looking<'_> {
    pub(super) fn standing(&self, stale: &Stale, is_skewed: bool) -> Standing {
        if !self.is_exposed(stale) {
            let is_by_key = !self.access(stale.read).keys.is_empty();
            let is_kept_apart = || {
                self.is_covered(stale, &self.cover())
                    || self.is_exposed_to(stale, |_, _| false, |at| !self.leaves_right(stale, at))
            };
            let is_right = || self.is_exposed_to(stale, self.is_apart(stale), |_| true);
            if is_by_key && is_kept_apart() || is_right() { Standing::Excluded } else { Standing::Doubtful }
        } else if self.is_weak(stale, is_skewed) {
            Standing::Weak
        } else {
            Standing::Told
        }
    }

    /// Whether another thread can get in between, by what the code says of locks and threads.
    pub(super) fn is_exposed(&self, stale: &Stale) -> bool {
        self.is_exposed_to(stale, self.is_apart(stale), |at| {
            !self.leaves_right(stale, at) && self.is_of_object(stale, at)
        })
    }

    /// Whether what is written at a place may be of the object that was read.
    fn is_of_object(&self, stale: &Stale, at: At) -> bool {
        let outline = self.whole.outlines().get(at.method);
        match outline.map(|outline| &outline.events[at.event.index()].action) {
            Some(Action::Write { base, member: Member::Field(_), .. }) => {
                meet_at_object(self.whole, (self.method, &self.access(stale.read).base), (at.method, base))
            }
            _ => true,
        }
    }

    /// Tells of which entries the processes keep to parts of a variable that are each one's own.
    fn is_apart(&self, stale: &Stale) -> impl Fn(EntryId, EntryId) -> bool {
        let (variable, read) = (stale.variable, self.access(stale.read).spot);
        move |process, other| self.whole.keep_to_own_parts(process, other, variable, read)
    }

    /// The same, where `is_apart` tells of which entries the processes keep to parts that are each one's own, and `matters`
    /// which writes do any harm.
    fn is_exposed_to(
        &self,
        stale: &Stale,
        is_apart: impl Fn(EntryId, EntryId) -> bool,
        matters: impl Fn(At) -> bool,
    ) -> bool {
        !self.is_covered(stale, &self.cover())
            && !self.is_under_given_lock(stale)
            && !is_owned(self.whole, self.method, self.access(stale.read))
            && !is_owned(self.whole, self.method, self.access(stale.write))
            && !is_in_making(self.whole, self.method, self.access(stale.read))
            && contention::is_contended(
                self.whole,
                self.method,
                self.access(stale.write).event,
                stale.variable,
                is_of_this(&self.access(stale.read).base, stale.variable),
                is_apart,
                matters,
            )
    }
}
