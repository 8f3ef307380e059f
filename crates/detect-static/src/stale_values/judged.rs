//! What is found in a map by going over it, judged, and then changed by its key: `for (lease : leases.values()) if
//! (lease.isOver()) leases.remove(lease.name());`. Where the map locks by itself, something else may stand under the key by
//! then, which nobody has judged. The same where the iterator takes it out, whatever stands there.

use program::LockKind;
use program::outline::{Action, EventId, Object, Outline};
use program::summary::{Access, AccessId};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};

impl Looking<'_> {
    /// Changes under a key because of what a walk over the map has found there.
    pub(super) fn judged(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        let is_own = |section: usize| self.summary.sections[section].kind == LockKind::Own;
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let is_blind = write.is_write && write.is_of_contents() && !write.is_compound && write.expects.is_empty();
            let Some(second) = write.held.iter().next().filter(|_| is_blind) else { continue };
            let iterator = self.iterator_of(outline, write.event, "remove");
            let Some(variable) = self.shared(write).filter(|_| iterator.is_some() || write.is_keyed) else { continue };
            let judged = self.summary.accesses.iter().enumerate().find_map(|(number, read)| {
                let id = AccessId(number as u32);
                let is_same = match iterator {
                    Some(iterator) => self.is_come_to(outline, read, iterator),
                    None => read.is_of_values && comes_from(&write.address, id),
                };
                let is_it = is_same
                    && !read.is_write
                    && comes_from(&write.control, id)
                    && self.variable(read) == Some(variable)
                    && read.held.union(write.held).iter().all(is_own);
                Some((id, self.section_of(read, second).filter(|_| is_it)?))
            });
            if let Some((read, first)) = judged {
                let (write, how) = (AccessId(index as u32), Use::Decides);
                found.push(Stale { read, write, first, second, how, variable, written: variable });
            }
        }
        found
    }

    /// Whether a read is of the value that an iterator has come to: it yields the value, or the entry that is asked for it.
    fn is_come_to(&self, outline: &Outline, read: &Access, iterator: EventId) -> bool {
        let is_next = |event: EventId| self.iterator_of(outline, event, "next") == Some(iterator);
        let is_asked_of_entry = || match &outline.events[read.event.index()].action {
            Action::Call { method, arguments, .. } if self.whole.program.names.text(method.name) == "getValue" => {
                matches!(arguments[0].objects.as_slice(), [Object::Event(entry)] if is_next(*entry))
            }
            _ => false,
        };
        read.is_of_values && is_next(read.event) || is_asked_of_entry()
    }
}
