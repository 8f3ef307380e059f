//! Room that is made before something is put: `if (table.size() >= LIMIT) table.remove(oldest); table.put(key, value);`. What
//! is put is put either way, so that no branch decides it; but it counts on the room, which another one may have taken.

use program::outline::{EventId, Origin, Outline, Source};
use program::summary::{Access, AccessId};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::words::operation;

impl Looking<'_> {
    /// Questions how many there are, because of which one is taken out, and puts that follow either way.
    pub(super) fn made_room(&self) -> Vec<Stale> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut found = Vec::new();
        for (asked, read) in self.summary.accesses.iter().enumerate() {
            let is_amount = || matches!(operation(self.whole, &read.spot), Some("size" | "mappingCount"));
            if read.is_write || read.held.is_empty() || !read.is_of_contents() || !is_amount() {
                continue;
            }
            let asked = AccessId(asked as u32);
            let Some(variable) = self.shared(read) else { continue };
            let is_it = |access: &Access| {
                access.is_write
                    && access.is_of_contents()
                    && access.base.same(&read.base)
                    && self.shared(access) == Some(variable)
            };
            let makes_room = |access: &Access| {
                is_it(access)
                    && access.event != read.event
                    && comes_from(&access.control, asked)
                    && self.takes_one(access)
            };
            let made: Vec<EventId> =
                self.summary.accesses.iter().filter(|access| makes_room(access)).map(|access| access.event).collect();
            if made.is_empty() {
                continue;
            }
            let follows = outline.follows_surely(read.event);
            let block = outline.events[read.event.index()].block;
            for (index, write) in self.summary.accesses.iter().enumerate() {
                let at = outline.events[write.event.index()].block;
                let is_after = if at == block { write.event > read.event } else { follows[at as usize] };
                let is_put = is_it(write)
                    && (self.way_of(write) == Some(Way::Up) || self.may_add_one(write))
                    && is_after
                    && !comes_from(&write.control, asked)
                    && !made.contains(&write.event)
                    && made.iter().any(|made| outline.leads_to(*made, write.event, &[]));
                let first = read.held.iter().find(|section| !write.held.contains(*section));
                let second = write.held.iter().find(|section| !read.held.contains(*section));
                let (Some(first), Some(second), true) = (first, second, is_put) else { continue };
                let (one, other) = (&self.summary.sections[first], &self.summary.sections[second]);
                if one.kind == other.kind && one.lock.same(&other.lock) {
                    let write = AccessId(index as u32);
                    let how = Use::Decides;
                    found.push(Stale { read: asked, write, first, second, how, variable, written: variable });
                }
            }
        }
        found
    }

    /// Whether a write puts one more into a container, for all that is known: also where it looks for the key itself.
    fn may_add_one(&self, write: &Access) -> bool {
        self.adds_one(write) || matches!(operation(self.whole, &write.spot), Some("putIfAbsent" | "computeIfAbsent"))
    }

    /// `if (queue.remainingCapacity() >= set.size()) for (Item item : set) queue.offer(item);`: there was room for all of them,
    /// and what one of them is told comes when others are in.
    pub(super) fn is_for_several(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read);
        // How many there are to be is no constant.
        let is_weighed = |(asking, asked): (&Outline, EventId)| {
            let is_it = |source: &Source| source.origin == Origin::Event(asked);
            let by_size =
                asking.conditions.iter().filter(|condition| condition.is_by_size && condition.sides.is_some());
            by_size.flat_map(|condition| &condition.sources).any(is_it)
        };
        operation(self.whole, &read.spot) == Some("remainingCapacity")
            && self.way_of(write) == Some(Way::Up)
            && outline.events[write.event.index()].in_loop
            && !outline.may_follow(write.event, read.event)
            && self.place_of(&read.spot).is_some_and(is_weighed)
    }

    /// Whether something is put for which room was made, and is put either way.
    pub(super) fn is_made_room(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && self.may_add_one(write)
            && ![&write.control, &write.guards, &write.awaited].into_iter().any(|by| comes_from(by, stale.read))
    }
}
