//! Waits: where a lock is let go in the middle of a section, by the method itself or by something it calls.

use super::compose::Composing;
use super::{Summary, Waiting};
use crate::lock::LockKind;
use crate::outline::{Action, Event, EventId, Name, SectionSet};

/// More waits than this in one method are not told apart.
const MAX_WAITS: usize = 8;

impl Composing<'_, '_> {
    /// Notes a wait of the method itself.
    pub(super) fn wait(&mut self, id: EventId, event: &Event, sections: SectionSet) {
        let named = self.outline.waits.iter().find(|(wait, _, _)| *wait == id);
        let Some((_, lock, kind)) = named else {
            let own = sections.iter().next().and_then(|section| self.outline.sections.get(section));
            if let Some(section) = own {
                self.add_wait(id, self.settle(&section.lock), section.kind, self.sections(sections));
            }
            return;
        };
        let lock = self.settle(lock);
        let mut sections = self.sections(sections);
        if let Some(section) = self.find_section(self.sections(event.held), &lock, *kind) {
            sections.insert(section);
        }
        self.add_wait(id, lock, *kind, sections);
    }

    /// Notes the waits of a callee.
    pub(super) fn callee_waits(
        &mut self,
        id: EventId,
        callee: &Summary,
        held: SectionSet,
        lock_of: impl Fn(&Self, &Name) -> Name,
        mapped: impl Fn(SectionSet) -> SectionSet,
    ) {
        for waiting in &callee.waits {
            let lock = lock_of(self, &waiting.lock);
            let mut sections = mapped(waiting.sections).intersection(held);
            if let Some(section) = self.find_section(held, &lock, waiting.kind) {
                sections.insert(section);
            }
            if !lock.is_unknown() || !sections.is_empty() {
                self.add_wait(id, lock, waiting.kind, sections);
            }
        }
    }

    fn add_wait(&mut self, event: EventId, lock: Name, kind: LockKind, sections: SectionSet) {
        let waiting = Waiting { event, lock, kind, sections };
        let waits = &mut self.summary.waits;
        if waits.len() < MAX_WAITS && !waits.contains(&waiting) {
            waits.push(waiting);
        }
    }

    /// Sections whose lock a callee may let go between an event and the place that is being looked at. The method's own
    /// waits have been seen to where its values were followed.
    pub(super) fn let_go_since(&self, event: EventId) -> SectionSet {
        let mut sections = SectionSet::default();
        for waiting in self.last_waits.iter().chain(&self.summary.waits) {
            let is_called = matches!(self.outline.events[waiting.event.index()].action, Action::Call { .. });
            if is_called
                && waiting.sections.without(sections) != SectionSet::default()
                && waiting.event != event
                && waiting.event != self.at
                && self.outline.may_follow(event, waiting.event)
                && self.outline.leads_to(waiting.event, self.at, &[event])
            {
                sections = sections.union(waiting.sections);
            }
        }
        sections
    }
}
