//! What one step writes may be made of several old values: `set(x() + y())`. That is one mistake, and one lock, held from the
//! first read on, mends it.

use program::summary::{Access, Summary};

use super::rules::{Stale, Use};

/// A stale use, and others that go into the same step under the same lock.
pub(super) struct Group {
    pub(super) stale: Stale,
    pub(super) also: Vec<Stale>,
}

/// The groups of one method, each by the use that was found first.
pub(super) fn grouped(summary: &Summary, found: Vec<Stale>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for stale in found {
        match groups.iter_mut().find(|group| is_one_step(summary, &group.stale, &stale)) {
            Some(group) => group.also.push(stale),
            None => groups.push(Group { stale, also: Vec::new() }),
        }
    }
    groups
}

fn is_one_step(summary: &Summary, told: &Stale, stale: &Stale) -> bool {
    let write = |stale: &Stale| -> &Access { &summary.accesses[stale.write.index()] };
    let lock = |stale: &Stale| &summary.sections[stale.first].lock;
    told.how == Use::Written
        && stale.how == Use::Written
        && write(told).event == write(stale).event
        && told.second == stale.second
        && lock(told).same(lock(stale))
}
