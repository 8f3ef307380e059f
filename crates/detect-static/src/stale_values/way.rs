//! Which way an act changes how much there is. A question that was asked to add something goes wrong when others add, and
//! one that was asked to take something when others take; what they do the other way makes it truer. The same where there
//! is one thing or none: what is made because there was none is made twice if others make one, too.

use program::outline::{Action, Object, Origin, Source};
use program::summary::Access;
use program::thread::At;
use program::{MethodId, Place};

use super::rules::{Looking, Stale, Use};
use crate::threads::run_at_once;
use crate::words::operation;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Up,
    Down,
    /// A field that was empty gets something.
    Filled,
}

const UP: [&str; 11] = [
    "add",
    "addAll",
    "addElement",
    "addFirst",
    "addLast",
    "getAndIncrement",
    "incrementAndGet",
    "offer",
    "offerFirst",
    "offerLast",
    "push",
];

const DOWN: [&str; 14] = [
    "clear",
    "decrementAndGet",
    "drainTo",
    "getAndDecrement",
    "poll",
    "pollFirst",
    "pollLast",
    "pop",
    "remove",
    "removeAll",
    "removeFirst",
    "removeLast",
    "take",
    "takeFirst",
];

/// Those that change how many there are by more than one.
const MANY: [&str; 4] = ["addAll", "clear", "drainTo", "removeAll"];

impl Looking<'_> {
    /// Whether a write of a container puts one more into it.
    pub(super) fn adds_one(&self, write: &Access) -> bool {
        self.called_at(write).is_some_and(|name| UP.contains(&name) && !MANY.contains(&name) || name == "put")
    }

    /// Whether a write of a container takes one out of it.
    pub(super) fn takes_one(&self, write: &Access) -> bool {
        self.called_at(write).is_some_and(|name| DOWN.contains(&name) && !MANY.contains(&name))
    }

    /// The way of an act that a question about the whole decides on: how many there are, whether there are any.
    pub(super) fn way(&self, stale: &Stale) -> Option<Way> {
        let is_of_whole = stale.how == Use::Decides
            && stale.variable == stale.written
            && stale.first != stale.second
            && !self.access(stale.read).is_keyed;
        is_of_whole
            .then(|| self.way_of(self.access(stale.write)).or_else(|| self.is_filled(stale).then_some(Way::Filled)))?
    }

    /// Whether a field is written because it was read and found empty.
    fn is_filled(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_asked = |condition: &u32| {
            let condition = &outline.conditions[*condition as usize];
            let is_it = |source: &Source| source.origin == Origin::Event(read.event);
            condition.sources.iter().all(is_it) && outline.is_because_absent(condition, write.event)
        };
        let (reading, writing) = (&outline.events[read.event.index()], &outline.events[write.event.index()]);
        matches!(&reading.action, Action::Read { .. })
            && matches!(&writing.action, Action::Write { stored, .. } if !stored.objects.is_empty())
            && writing.control.iter().any(is_asked)
    }

    /// Whether a write changes the amount in the other way.
    pub(super) fn goes_against(&self, place: &Place, way: Way) -> bool {
        if way == Way::Filled {
            return self.is_dropped(place);
        }
        let summary = self.whole.summaries.summary(place.method);
        let write = summary.and_then(|summary| summary.accesses.get(place.access.index()));
        write.and_then(|write| self.way_of(write)).is_some_and(|other| other != way)
    }

    /// Whether one thing is taken because there are some, and a write only adds to them: there are some all the more. Who
    /// takes all of them takes what was added, too.
    pub(super) fn only_adds_to(&self, stale: &Stale, write: At) -> bool {
        let outline = self.whole.summaries.outline(write.method);
        let event = outline.and_then(|outline| outline.events.get(write.event.index()));
        let asked = operation(self.whole, &self.access(stale.read).spot);
        let taken = operation(self.whole, &self.access(stale.write).spot);
        let is_only_added_to =
            || {
                self.whole.variables.writers(stale.variable).iter().all(|place| {
                    self.goes_against(place, Way::Down) || !run_at_once(self.whole, self.method, place.method)
                })
            };
        self.way(stale) == Some(Way::Down)
            && matches!(asked, Some("isEmpty" | "size" | "get"))
            && !matches!(taken, Some("clear" | "drainTo" | "removeAll"))
            && event.is_some_and(|event| self.way_by(&event.action) == Some(Way::Up))
            && !run_at_once(self.whole, self.method, self.method)
            && is_only_added_to()
    }

    pub(super) fn way_of(&self, write: &Access) -> Option<Way> {
        let method: MethodId = self.whole.calls.hierarchy.resolve_name(self.whole.program, write.spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let event = outline.events.iter().find(|event| event.pc == write.spot.pc)?;
        self.way_by(&event.action)
    }

    fn way_by(&self, action: &Action) -> Option<Way> {
        let Action::Call { method, arguments, .. } = action else { return None };
        match self.whole.program.names.text(method.name) {
            // An amount that is known.
            "addAndGet" | "getAndAdd" => match arguments.last()?.objects.as_slice() {
                [Object::Int(amount)] if *amount > 0 => Some(Way::Up),
                [Object::Int(amount)] if *amount < 0 => Some(Way::Down),
                _ => None,
            },
            name if UP.contains(&name) => Some(Way::Up),
            name if DOWN.contains(&name) => Some(Way::Down),
            _ => None,
        }
    }
}
