//! Where values may go in one method, by its outline: more than they do, so that what is ruled out is ruled out for good.

use std::cell::OnceCell;

use crate::outline::{Action, EventId, Name, Origin, Outline, Sources, Start};

/// Which events what is read or yielded by others may get to.
pub(super) struct Flows<'f> {
    outline: &'f Outline,
    /// Objects that several events use, sorted: what one puts into them another one may find there.
    uses: Vec<(Object, EventId)>,
    /// By event: those that may decide on it or be part of it, where that was asked.
    before: Vec<OnceCell<Box<[bool]>>>,
}

/// An object by what a name of it starts with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    New(u32),
    Local(u32),
    Yielded(EventId),
}

impl Object {
    fn of(name: &Name) -> Option<Object> {
        match name.start {
            Start::New(register) => Some(Object::New(register)),
            Start::Local(register) => Some(Object::Local(register)),
            Start::Result(event) | Start::Element(event) => Some(Object::Yielded(event)),
            _ => None,
        }
    }
}

impl<'f> Flows<'f> {
    pub(super) fn of(outline: &'f Outline) -> Flows<'f> {
        let mut uses = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            let mut add = |name: &Name| uses.extend(Object::of(name).map(|object| (object, EventId(index as u32))));
            match &event.action {
                Action::Read { base, .. } => add(base),
                Action::Write { base, stored, .. } => [base, &stored.name].into_iter().for_each(add),
                Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                    arguments.iter().for_each(|argument| add(&argument.name));
                }
                Action::Wait(_) => {}
            }
        }
        uses.sort_unstable();
        uses.dedup();
        Flows { outline, uses, before: vec![OnceCell::new(); outline.events.len()] }
    }

    /// Whether what the first event reads or yields may decide whether the second one happens, or be part of what it does.
    pub(super) fn lead(&self, first: EventId, second: EventId) -> bool {
        self.before[second.index()].get_or_init(|| self.find_before(second))[first.index()]
    }

    fn find_before(&self, second: EventId) -> Box<[bool]> {
        let mut before = vec![false; self.outline.events.len()];
        let mut pending: Vec<EventId> = Vec::new();
        for condition in self.outline.events[second.index()].control.iter() {
            add_origins(&self.outline.conditions[*condition as usize].sources, &mut pending);
        }
        self.add_parts(second, &mut pending);
        while let Some(event) = pending.pop() {
            if !std::mem::replace(&mut before[event.index()], true) {
                self.add_parts(event, &mut pending);
            }
        }
        before.into()
    }

    /// Adds the events that an event's objects and values come from.
    fn add_parts(&self, event: EventId, pending: &mut Vec<EventId>) {
        match &self.outline.events[event.index()].action {
            Action::Read { base, address, .. } => {
                add_origins(address, pending);
                self.add_users(base, pending);
            }
            Action::Write { base, address, value, stored, .. } => {
                [address, value, &stored.sources].into_iter().for_each(|sources| add_origins(sources, pending));
                [base, &stored.name].into_iter().for_each(|name| self.add_users(name, pending));
            }
            Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                for argument in arguments {
                    add_origins(&argument.sources, pending);
                    self.add_users(&argument.name, pending);
                }
            }
            Action::Wait(_) => {}
        }
    }

    /// Adds what yields an object, and what uses it.
    fn add_users(&self, name: &Name, pending: &mut Vec<EventId>) {
        let Some(object) = Object::of(name) else { return };
        let start = self.uses.partition_point(|(other, _)| *other < object);
        let same = self.uses[start..].iter().take_while(|(other, _)| *other == object);
        pending.extend(same.map(|(_, event)| *event));
        if let Object::Yielded(event) = object {
            pending.push(event);
        }
    }
}

fn add_origins(sources: &Sources, pending: &mut Vec<EventId>) {
    pending.extend(sources.iter().filter_map(|source| match source.origin {
        Origin::Event(event) => Some(event),
        Origin::Parameter(_) => None,
    }));
}
