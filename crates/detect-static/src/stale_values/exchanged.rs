//! What is moved from one object to another one of its kind: `moving = here.herd(); displaced = there.admit(moving);
//! here.admit(displaced);`. The first object gets something else in the place of what was read, so that it is moved and not
//! copied; if somebody else has moved it meanwhile, there are two of it.

use program::LockKind;
use program::outline::Member;
use program::summary::{Access, AccessId, Root};

use super::rules::{Looking, Stale, Use};

impl Looking<'_> {
    /// Reads of a field whose value goes into the same field of another object, before the first one gets something else.
    pub(super) fn exchanged(&self) -> Vec<Stale> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut found = Vec::new();
        for (index, write) in self.summary.accesses.iter().enumerate() {
            if !write.is_write || !matches!(write.member, Member::Field(_)) || write.base.is_unknown() {
                continue;
            }
            for influence in &write.value {
                let Root::Access(from) = influence.root else { continue };
                let read = self.access(from);
                let is_another = !read.is_write
                    && read.member == write.member
                    && !read.base.is_unknown()
                    && !read.base.same(&write.base)
                    && read.event != write.event;
                if !is_another || !outline.may_follow(read.event, write.event) {
                    continue;
                }
                let is_lock = |section: &usize| self.summary.sections[*section].kind != LockKind::Own;
                let first = read.held.intersection(influence.ended).iter().find(is_lock);
                let second = write.held.without(read.held).iter().find(is_lock);
                let (Some(first), Some(second)) = (first, second) else { continue };
                let is_replaced = |other: &Access| {
                    other.is_write
                        && other.member == read.member
                        && other.base.same(&read.base)
                        && !other.held.contains(first)
                        && !other.value.iter().any(|influence| influence.root == Root::Access(from))
                        && outline.leads_to(write.event, other.event, &[read.event])
                };
                if self.summary.accesses.iter().any(is_replaced)
                    && let (Some(variable), Some(written)) = (self.shared(read), self.shared(write))
                {
                    let write = AccessId(index as u32);
                    found.push(Stale { read: from, write, first, second, how: Use::Written, variable, written });
                }
            }
        }
        found
    }
}
