//! Names for what a start leaves in the hands of others: the thread, the future, the executor. A join is of a start if
//! both have a name in common.

use location::{ClassName, MethodName};

use super::task::{At, Finder, held_by, is_static};
use crate::class::{FieldId, MethodId};
use crate::model::Returns;
use crate::outline::{Action, Argument, EventId, Member, Name, Object, Objects, Start};

const MAX_DEPTH: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Holder {
    /// An object of one method; the class is left out.
    Object(MethodId, Object),
    Field(FieldId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Handle {
    Is(Holder),
    ElementOf(Holder),
}

impl Finder<'_> {
    fn plain(&self, object: Object) -> Object {
        match object {
            Object::New { register, .. } => Object::New { register, class: ClassName(self.program.names.intern("")) },
            other => other,
        }
    }

    /// Names for the objects themselves.
    pub(super) fn handles(&self, method: MethodId, objects: &Objects) -> Vec<Handle> {
        let mut handles = Vec::new();
        self.add_handles(method, objects, &mut handles, MAX_DEPTH);
        handles
    }

    fn add_handles(&self, method: MethodId, objects: &Objects, handles: &mut Vec<Handle>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for object in objects {
            let Object::Event(event) = *object else {
                if !matches!(object, Object::Unknown | Object::Int(_)) {
                    handles.push(Handle::Is(Holder::Object(method, self.plain(*object))));
                }
                if let Object::Parameter(position) = *object {
                    for (maker, receiver) in self.run_over(method, position) {
                        let containers = self.containers(maker, &receiver.objects, depth);
                        handles.extend(containers.into_iter().map(Handle::ElementOf));
                    }
                }
                continue;
            };
            match self.event(At { method, event }).map(|event| &event.action) {
                Some(Action::Read { member: Member::Field(field) | Member::Static(field), .. }) => {
                    if let Some(field) = self.library.field(*field) {
                        handles.push(Handle::Is(Holder::Field(field)));
                    }
                }
                Some(Action::Read { base, .. }) => {
                    if let Some(holder) = self.holder(method, base) {
                        handles.push(Handle::ElementOf(holder));
                    }
                }
                Some(Action::Call { method: called, arguments, .. }) => {
                    handles.push(Handle::Is(Holder::Object(method, *object)));
                    self.add_result(method, *called, arguments, handles, depth);
                }
                _ => {}
            }
        }
    }

    fn add_result(
        &self,
        method: MethodId,
        called: MethodName,
        arguments: &[Argument],
        handles: &mut Vec<Handle>,
        depth: usize,
    ) {
        let Some(model) = self.library.model(called) else { return };
        if is_static(self.program, called, arguments) {
            // `CompletableFuture.allOf(a, b)` stands for all that it is given.
            for argument in arguments {
                self.add_handles(method, &argument.objects, handles, depth);
                for holder in self.containers(method, &argument.objects, depth) {
                    handles.push(Handle::ElementOf(holder));
                }
            }
            return;
        }
        let Some(receiver) = arguments.first() else { return };
        match model.returns {
            Returns::Receiver => self.add_handles(method, &receiver.objects, handles, depth),
            Returns::FromState | Returns::Removed | Returns::View(_) | Returns::Fresh => {
                for holder in self.containers(method, &receiver.objects, depth) {
                    handles.push(Handle::ElementOf(holder));
                }
            }
            _ => {}
        }
    }

    pub(super) fn containers_of(&self, method: MethodId, objects: &Objects) -> Vec<Holder> {
        self.containers(method, objects, MAX_DEPTH)
    }

    /// Names for containers, through iterators and views.
    fn containers(&self, method: MethodId, objects: &Objects, depth: usize) -> Vec<Holder> {
        let mut holders = Vec::new();
        let Some(depth) = depth.checked_sub(1) else { return holders };
        for object in objects {
            let Object::Event(event) = *object else {
                if !matches!(object, Object::Unknown | Object::Int(_)) {
                    holders.push(Holder::Object(method, self.plain(*object)));
                }
                continue;
            };
            match self.event(At { method, event }).map(|event| &event.action) {
                Some(Action::Read { member: Member::Field(field) | Member::Static(field), .. }) => {
                    holders.extend(self.library.field(*field).map(Holder::Field));
                }
                Some(Action::Call { method: called, arguments, .. }) => {
                    holders.push(Holder::Object(method, *object));
                    if self.library.model(*called).is_some()
                        && !is_static(self.program, *called, arguments)
                        && let Some(receiver) = arguments.first()
                    {
                        holders.extend(self.containers(method, &receiver.objects, depth));
                    }
                }
                _ => {}
            }
        }
        holders
    }

    fn holder(&self, method: MethodId, name: &Name) -> Option<Holder> {
        if let Some(field) = held_by(self.library, name) {
            return Some(Holder::Field(field));
        }
        let object = match name.start {
            Start::New(register) => Object::New { register, class: ClassName(self.program.names.intern("")) },
            Start::Parameter(position) => Object::Parameter(position),
            Start::Result(event) => Object::Event(event),
            _ => return None,
        };
        name.steps.is_empty().then_some(Holder::Object(method, object))
    }

    /// Names for the objects, and for where they are put.
    pub(super) fn kept_handles(&self, method: MethodId, objects: &Objects) -> Vec<Handle> {
        let mut handles = self.handles(method, objects);
        self.add_kept(method, objects, &mut handles, 3);
        handles
    }

    fn add_kept(&self, method: MethodId, objects: &Objects, handles: &mut Vec<Handle>, depth: usize) {
        let (Some(depth), Some(outline)) = (depth.checked_sub(1), self.outline(method)) else { return };
        let is_one = |argument: &Argument| {
            argument.objects.iter().any(|object| *object != Object::Unknown && objects.contains(object))
        };
        for event in &outline.events {
            match &event.action {
                Action::Write { member: Member::Elements, base, stored, .. } if is_one(stored) => {
                    handles.extend(self.holder(method, base).map(Handle::ElementOf));
                }
                Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. }
                    if is_one(stored) =>
                {
                    handles.extend(self.library.field(*field).map(|field| Handle::Is(Holder::Field(field))));
                }
                Action::Call { method: called, arguments, .. }
                    if arguments.iter().skip(1).any(is_one)
                        && self.library.model(*called).is_some_and(|model| model.access.writes()) =>
                {
                    let containers = self.containers(method, &arguments[0].objects, MAX_DEPTH);
                    handles.extend(containers.into_iter().map(Handle::ElementOf));
                }
                _ => {}
            }
        }
        if outline.returned.iter().any(|object| *object != Object::Unknown && objects.contains(object)) {
            let name = self.program.method_name(method);
            for caller in self.calls.callers(method).iter().take(8) {
                let Some(outline) = self.outline(*caller) else { continue };
                for (index, event) in outline.events.iter().enumerate() {
                    let is_call = matches!(&event.action, Action::Call { method: called, .. }
                        if called.name == name.name && called.descriptor == name.descriptor);
                    if is_call {
                        let result: Objects = smallvec::smallvec![Object::Event(EventId(index as u32))];
                        handles.extend(self.handles(*caller, &result));
                        self.add_kept(*caller, &result, handles, depth);
                    }
                }
            }
        }
    }
}
