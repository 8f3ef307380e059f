//! What is taken out of a container belongs to whoever took it, until it is put somewhere.

use location::MethodName;

use super::compose::{Composing, extend};
use super::{Influence, Root};
use crate::model::{CallModel, Returns, Revalidation};
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Object};

impl Composing<'_, '_> {
    /// Notes what a call of the library takes out: what it yields, or what an earlier call has found there.
    pub(super) fn take_out(
        &mut self,
        id: EventId,
        event: &Event,
        model: CallModel,
        method: MethodName,
        arguments: &[Argument],
        skip: usize,
    ) {
        let is_null = |index: usize| arguments.get(index).is_some_and(|argument| argument.objects.is_empty());
        self.is_taken[id.index()] = match model.returns {
            Returns::Removed => true,
            Returns::Replaced(index) => is_null(usize::from(index) + skip),
            _ => self.is_layer(method, arguments) || self.is_of_emptied(method, arguments),
        };
        let names = &self.program.names;
        let found = match model.revalidates {
            // Null takes the place of what was found.
            Some(Revalidation::Expects(index))
                if self.is_used[id.index()] && is_null(usize::from(index) + 1 + skip) =>
            {
                arguments.get(usize::from(index) + skip).and_then(yielded)
            }
            // What was found there is removed, and the answer tells whether it was still there.
            _ if self.is_removal(event) && self.is_used[id.index()] => arguments.last().and_then(yielded),
            // The one that the iterator has just yielded.
            _ if names.text(method.name) == "remove" && arguments.len() == 1 => arguments.first().and_then(yielded),
            _ => None,
        };
        let Some(found) = found else { return };
        let is_iterator = self.name_of_call(found).is_some_and(|name| names.text(name.name) == "iterator");
        let taken: Vec<usize> = match is_iterator {
            true => (0..id.index()).filter(|next| self.receiver_of(EventId(*next as u32)) == Some(found)).collect(),
            false if self.is_on_same(found, arguments) => vec![found.index()],
            false => Vec::new(),
        };
        for taken in taken {
            self.is_taken[taken] = true;
        }
    }

    /// `taken = field; field = null;` in one section: notes that what was read there is nowhere else any more.
    pub(super) fn take_out_of_field(
        &mut self,
        id: EventId,
        event: &Event,
        base: &Name,
        member: Member,
        stored: &Argument,
    ) {
        let events = &self.outline.events;
        let field = match member {
            Member::Field(field) => Some(extend(self.settle(base), &[NameStep::Field(field)])),
            _ => None,
        };
        for index in (0..id.index()).rev() {
            let is_it = match &events[index].action {
                // Whatever is there after a wait is something else.
                Action::Wait(_) => break,
                Action::Read { base: read, member: of, .. } => *of == member && read.same(base),
                // A method may have read it.
                Action::Call { .. } => match (&self.result_name[index], &field) {
                    (Some(read), Some(field)) => read.same(field),
                    _ => false,
                },
                _ => false,
            };
            let is_put_back = || stored.objects.contains(&Object::Event(EventId(index as u32)));
            if is_it && !events[index].held.intersection(event.held).is_empty() && !is_put_back() {
                self.is_taken[index] = true;
                self.is_emptied[index] = self.is_only_gone_over(Object::Event(EventId(index as u32)));
            }
        }
    }

    /// The same by a call of a method that does nothing but store what it is given.
    pub(super) fn take_out_by_setter(&mut self, id: EventId, event: &Event) {
        if let Some((base, member, stored)) = self.set_by(event) {
            self.take_out_of_field(id, event, &base, member, stored);
        }
    }

    /// The field that a call sets, and to what, if it does nothing else.
    fn set_by<'e>(&self, event: &'e Event) -> Option<(Name, Member, &'e Argument)> {
        let Action::Call { kind, method, arguments } = &event.action else { return None };
        let targets = self.calls.targets(self.program, *kind, *method);
        let [setter] = targets.known() else { return None };
        match (self.known)(*setter)?.accesses.as_slice() {
            [write] if write.is_write && matches!(write.member, Member::Field(_)) && write.control.is_empty() => {
                let [Influence { root: Root::Parameter(position), .. }] = write.value.as_ref() else { return None };
                let stored = arguments.get(usize::from(*position))?;
                Some((self.translate(&write.base, arguments), write.member, stored))
            }
            _ => None,
        }
    }

    /// An `Optional` around something that was taken out, or what comes out of one or of an entry.
    fn is_layer(&self, method: MethodName, arguments: &[Argument]) -> bool {
        let names = &self.program.names;
        let is_layer = match names.text(method.class.0) {
            "java/util/Optional" => {
                matches!(names.text(method.name), "of" | "ofNullable" | "get" | "orElse" | "orElseThrow" | "filter")
            }
            // What stands under the key of an entry that was taken out.
            "java/util/Map$Entry" => names.text(method.name) == "getValue",
            _ => false,
        };
        let is_nothing = names.text(method.class.0) == "java/util/Optional" && names.text(method.name) == "empty";
        is_nothing
            || is_layer
                && arguments.first().is_some_and(|first| {
                    let is_taken =
                        |object: &Object| matches!(object, Object::Event(event) if self.is_taken[event.index()]);
                    !first.objects.is_empty() && first.objects.iter().all(is_taken)
                })
    }

    fn name_of_call(&self, event: EventId) -> Option<MethodName> {
        match &self.outline.events[event.index()].action {
            Action::Call { method, .. } => Some(*method),
            _ => None,
        }
    }

    /// The call that yielded the object which an event is a call on.
    fn receiver_of(&self, event: EventId) -> Option<EventId> {
        match &self.outline.events[event.index()].action {
            Action::Call { arguments, .. } => arguments.first().and_then(yielded),
            _ => None,
        }
    }

    /// Whether an object was found in the container that a call is on.
    fn is_on_same(&self, found: EventId, arguments: &[Argument]) -> bool {
        let Some(container) = arguments.first().map(|first| self.settle(&first.name)) else { return false };
        let of_call = match &self.outline.events[found.index()].action {
            Action::Call { arguments, .. } => arguments.first().map(|first| self.settle(&first.name)),
            _ => None,
        };
        let gone_over = self.element_of[found.index()].as_ref();
        of_call.is_some_and(|name| name.same(&container)) || gone_over.is_some_and(|name| name.same(&container))
    }

    /// The events that yield what was taken out of a container, in order.
    pub(super) fn taken(&self) -> Vec<EventId> {
        let events = self.is_taken.iter().enumerate();
        events.filter(|(_, is_taken)| **is_taken).map(|(index, _)| EventId(index as u32)).collect()
    }

    /// Whether it returns what it took out of a container, or has made for the caller, and nothing else.
    pub(super) fn hands_over(&self) -> bool {
        !self.outline.returned.is_empty()
            && self.outline.returned.iter().all(|object| match object {
                Object::Event(event) => self.is_taken[event.index()],
                Object::New { .. } => !self.is_shown(object),
                _ => false,
            })
    }

    /// `taken = field; field = null; return taken;` in one section: what it returns is no longer what the field holds.
    pub(super) fn empties(&self) -> bool {
        let events = &self.outline.events;
        let is_emptied = |index: usize| {
            let read = &events[index];
            events.iter().any(|event| {
                let is_it = match (&event.action, &read.action) {
                    (Action::Write { base: emptied, member: of, stored, .. }, Action::Read { base, member, .. }) => {
                        of == member && emptied.same(base) && stored.objects.is_empty()
                    }
                    (Action::Call { .. }, Action::Read { .. } | Action::Call { .. }) => {
                        match (self.set_by(event), &self.result_name[index]) {
                            (Some((base, Member::Field(field), stored)), Some(read)) => {
                                stored.objects.is_empty() && extend(base, &[NameStep::Field(field)]).same(read)
                            }
                            _ => false,
                        }
                    }
                    _ => false,
                };
                is_it && event.control == read.control && !event.held.intersection(read.held).is_empty()
            })
        };
        self.hands_over()
            && self
                .outline
                .returned
                .iter()
                .all(|object| matches!(object, Object::Event(event) if is_emptied(event.index())))
    }

    /// Whether an object that is made here gets anywhere but to its constructor and to the caller.
    fn is_shown(&self, object: &Object) -> bool {
        let has = |argument: &Argument| argument.objects.contains(object);
        self.outline.events.iter().any(|event| match &event.action {
            Action::Write { stored, .. } => has(stored),
            Action::Lambda { arguments, .. } => arguments.iter().any(has),
            Action::Call { method, arguments, .. } => {
                method.name != self.program.roots.constructor && arguments.iter().any(has)
            }
            Action::Read { .. } | Action::Wait(_) => false,
        })
    }
}

/// The event that yields an object, if there is one.
fn yielded(argument: &Argument) -> Option<EventId> {
    match argument.objects.as_slice() {
        [Object::Event(event)] => Some(*event),
        _ => None,
    }
}
