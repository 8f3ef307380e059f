//! Entries of a map that each thread has for itself: what is kept under the thread that runs is asked and put by nobody else.

use program::outline::{Action, Argument, Object, Origin, Outline, Source};
use program::summary::{Access, Spot};

use super::rules::{Looking, Stale};

impl Looking<'_> {
    /// Whether the thread that runs is the key of what is asked and of what is put, here and wherever the map is changed.
    pub(super) fn is_of_own_thread(&self, stale: &Stale, write: &Access) -> bool {
        let writers = self.whole.variables.writers(stale.variable);
        stale.variable == stale.written
            && self.is_keyed_by_thread(&self.access(stale.read).spot)
            && self.is_keyed_by_thread(&write.spot)
            && writers
                .iter()
                .all(|place| self.access_at(place).is_some_and(|access| self.is_keyed_by_thread(&access.spot)))
    }

    fn is_keyed_by_thread(&self, spot: &Spot) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method);
        let Some(outline) = method.and_then(|method| self.whole.summaries.outline(method)) else { return false };
        outline.events.iter().filter(|event| event.pc == spot.pc).any(|event| match &event.action {
            Action::Call { arguments, .. } => arguments.get(1).is_some_and(|key| self.is_thread(outline, key)),
            _ => false,
        })
    }

    /// Whether it is the thread that runs, or its number.
    fn is_thread(&self, outline: &Outline, argument: &Argument) -> bool {
        let names = &self.whole.program.names;
        let event = match (argument.objects.as_slice(), argument.sources.as_slice()) {
            ([Object::Event(event)], _) => event,
            ([], [Source { origin: Origin::Event(event), .. }]) => event,
            _ => return false,
        };
        let Action::Call { method, arguments, .. } = &outline.events[event.index()].action else { return false };
        let is_of_thread = || arguments.first().is_some_and(|thread| self.is_thread(outline, thread));
        match (names.text(method.class.0), names.text(method.name)) {
            ("java/lang/Thread", "currentThread") => true,
            ("java/lang/Thread", "getId" | "threadId") => is_of_thread(),
            // A number in its box.
            ("java/lang/Long", "valueOf") => is_of_thread(),
            _ => false,
        }
    }
}
