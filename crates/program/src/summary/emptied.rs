//! Containers whose elements were taken out of where they were, all at once: `queue.drainTo(mine)`, `mine = buffer; buffer = new
//! ArrayList<>();`, `mine = new ArrayList<>(buffer); buffer.clear();` in one section. What is found in them belongs to whoever
//! has taken them.
//!
//! Misses: containers that are given to other methods, and those that other elements are put into.

use location::MethodName;

use super::compose::Composing;
use crate::outline::{Action, Argument, Event, EventId, Name, Object, Start};

/// What yields elements of a container, or of what goes over it.
const YIELDING: [&str; 10] =
    ["element", "get", "getFirst", "getLast", "next", "peek", "poll", "pop", "remove", "removeFirst"];

/// What goes over a container.
const GOING: [&str; 3] = ["descendingIterator", "iterator", "listIterator"];

/// What else a container is asked for while its elements belong to one thread.
const ASKING: [&str; 5] = ["clear", "contains", "isEmpty", "size", "sort"];

impl Composing<'_, '_> {
    /// Notes which containers a call fills with what it takes out of another one.
    pub(super) fn empty(&mut self, id: EventId, event: &Event, method: MethodName, arguments: &[Argument]) {
        let filled = match (self.program.names.text(method.name), arguments) {
            ("drainTo", [_, into, ..]) => new(into),
            ("clear", [container]) => self.copied(id, event, container),
            _ => None,
        };
        if let Some((register, object)) = filled
            && self.is_only_gone_over(object)
        {
            self.emptied.push(register);
        }
    }

    /// The new container that was filled with all elements of another one, in the section that then clears that.
    fn copied(&self, id: EventId, event: &Event, container: &Argument) -> Option<(u32, Object)> {
        let cleared = self.settle(&container.name);
        for index in (0..id.index()).rev() {
            let earlier = &self.outline.events[index];
            match &earlier.action {
                // Whatever is there after a wait is something else.
                Action::Wait(_) => return None,
                Action::Call { method, arguments, .. } => {
                    let is_copy = matches!(self.program.names.text(method.name), "<init>" | "addAll");
                    if let [into, from] = arguments.as_slice()
                        && is_copy
                        && self.settle(&from.name).same(&cleared)
                        && !earlier.held.intersection(event.held).is_empty()
                        && earlier.control == event.control
                    {
                        return new(into);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether a call yields an element of such a container.
    pub(super) fn is_of_emptied(&self, method: MethodName, arguments: &[Argument]) -> bool {
        let Some(receiver) = arguments.first() else { return false };
        let has_taken = |object: &Object| match *object {
            Object::New { register, .. } => self.emptied.contains(&register),
            Object::Event(event) => self.is_emptied[event.index()] || self.goes_over_emptied(event),
            _ => false,
        };
        YIELDING.contains(&self.program.names.text(method.name))
            && !receiver.objects.is_empty()
            && receiver.objects.iter().all(has_taken)
    }

    fn goes_over_emptied(&self, event: EventId) -> bool {
        let Action::Call { method, arguments, .. } = &self.outline.events[event.index()].action else { return false };
        let is_emptied = |object: &Object| match *object {
            Object::New { register, .. } => self.emptied.contains(&register),
            Object::Event(event) => self.is_emptied[event.index()],
            _ => false,
        };
        GOING.contains(&self.program.names.text(method.name))
            && arguments.first().is_some_and(|over| !over.objects.is_empty() && over.objects.iter().all(is_emptied))
    }

    /// Whether the method puts nothing into a container but all elements of others at once, and gives it to nobody but its
    /// caller.
    pub(super) fn is_only_gone_over(&self, object: Object) -> bool {
        let names = &self.program.names;
        let has = |argument: &Argument| argument.objects.contains(&object);
        let is_of = |name: &Name| match object {
            Object::New { register, .. } => name.start == Start::New(register),
            Object::Event(event) => name.start == Start::Result(event),
            _ => false,
        };
        self.outline.events.iter().all(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                let name = names.text(method.name);
                arguments.iter().enumerate().filter(|(_, argument)| has(argument)).all(|(position, _)| match position {
                    0 => {
                        [&YIELDING[..], &GOING, &ASKING].iter().any(|known| known.contains(&name))
                            || name == "<init>" && !names.text(method.descriptor).starts_with("(L")
                            || matches!(name, "<init>" | "addAll") && self.is_cleared_after(event, arguments)
                    }
                    _ => name == "drainTo",
                })
            }
            Action::Write { base, stored, .. } => !has(stored) && !is_of(base),
            Action::Lambda { arguments, .. } => !arguments.iter().any(has),
            Action::Read { .. } | Action::Wait(_) => true,
        })
    }

    /// Whether all elements of what a container gets are cleared away in the same section.
    fn is_cleared_after(&self, adding: &Event, arguments: &[Argument]) -> bool {
        let [_, from] = arguments else { return false };
        let from = self.settle(&from.name);
        self.outline.events.iter().any(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                self.program.names.text(method.name) == "clear"
                    && arguments.first().is_some_and(|cleared| self.settle(&cleared.name).same(&from))
                    && event.pc > adding.pc
                    && event.control == adding.control
                    && !event.held.intersection(adding.held).is_empty()
            }
            _ => false,
        })
    }

    /// Whether the elements of what it returns belong to the caller.
    pub(super) fn hands_over_elements(&self) -> bool {
        !self.outline.returned.is_empty()
            && self.outline.returned.iter().all(|object| match *object {
                Object::New { register, .. } => self.emptied.contains(&register),
                Object::Event(event) => self.is_emptied[event.index()],
                Object::Parameter(_) | Object::Int(_) | Object::Unknown => false,
            })
    }
}

/// The register of a new object that is all that an argument may be.
fn new(argument: &Argument) -> Option<(u32, Object)> {
    match argument.objects.as_slice() {
        [object @ Object::New { register, .. }] => Some((*register, *object)),
        _ => None,
    }
}
