//! What is asked before a wait and relied on after it.

use std::cell::LazyCell;

use program::outline::{EventId, Origin};
use program::summary::AccessId;

use super::rules::{Looking, Stale, Use};

impl Looking<'_> {
    /// Questions that are asked once, before a wait, and whose answer is relied on after it.
    pub(super) fn waits(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for waiting in &self.summary.waits {
            let wait = waiting.event;
            let event = &outline.events[wait.index()];
            let asked: Vec<usize> =
                event.control.iter().map(|condition| outline.conditions[*condition as usize].block as usize).collect();
            let reached = outline.reached_from(wait, |block| asked.contains(&block));
            for (number, write) in self.summary.accesses.iter().enumerate() {
                let at = &outline.events[write.event.index()];
                let is_after = reached[at.block as usize] || (at.block == event.block && write.event > wait);
                if !write.is_write || !is_after || at.control.iter().any(|condition| !event.control.contains(condition))
                {
                    continue;
                }
                let written = LazyCell::new(|| self.shared(write));
                found.extend(self.asked_before(wait).into_iter().filter_map(|read| {
                    let held = self.access(read).held.intersection(write.held).intersection(waiting.sections);
                    let section = held.iter().next()?;
                    let (written, variable) = ((*written)?, self.shared(self.access(read))?);
                    let (first, second) = (section, section);
                    let write = AccessId(number as u32);
                    Some(Stale { read, write, first, second, how: Use::Decides, variable, written })
                }));
            }
        }
        found
    }

    /// The reads that decide whether there is a wait.
    fn asked_before(&self, wait: EventId) -> Vec<AccessId> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut events: Vec<EventId> = Vec::new();
        for condition in &outline.events[wait.index()].control {
            let sources = &outline.conditions[*condition as usize].sources;
            events.extend(sources.iter().filter_map(|source| match source.origin {
                Origin::Event(event) => Some(event),
                Origin::Parameter(_) => None,
            }));
        }
        let reads = self.summary.accesses.iter().enumerate();
        reads
            .filter(|(_, access)| !access.is_write && events.contains(&access.event))
            .map(|(index, _)| AccessId(index as u32))
            .collect()
    }
}
