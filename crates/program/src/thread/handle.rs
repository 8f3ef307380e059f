//! Names for what a start leaves in the hands of others: the thread, the future, the executor. A join is of a start if
//! both have a name in common.

use location::{ClassName, MethodName};
use smallvec::SmallVec;

use super::is_static;
use super::join::Join;
use super::task::{At, Finder, held_by, makes};
use crate::class::{FieldId, MethodId};
use crate::model::{After, CallModel, Returns};
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Object, Objects, Start};

const MAX_DEPTH: usize = 6;

/// Where the way to what was started begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Root {
    /// An object of one method; the class is left out.
    Object(MethodId, Object),
    Static(FieldId),
    /// The field of some object: which one is not told.
    Some(FieldId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    Field(FieldId),
    /// Some element of a container.
    Element,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Handle {
    pub(super) root: Root,
    pub(super) steps: SmallVec<[Step; 3]>,
}

impl Handle {
    fn of(root: Root) -> Handle {
        Handle { root, steps: SmallVec::new() }
    }

    pub(super) fn then(mut self, step: Step) -> Handle {
        self.steps.push(step);
        self
    }

    pub(super) fn then_all(mut self, steps: &[Step]) -> Handle {
        self.steps.extend_from_slice(steps);
        self
    }

    pub(super) fn element(self) -> Handle {
        self.then(Step::Element)
    }

    /// The parameter of a method that the way begins with.
    pub(super) fn parameter(&self, method: MethodId) -> Option<u16> {
        match self.root {
            Root::Object(of, Object::Parameter(position)) if of == method => Some(position),
            _ => None,
        }
    }
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

    /// Names for objects, and for the futures that were over before they are.
    fn add_handles(&self, method: MethodId, objects: &Objects, handles: &mut Vec<Handle>, depth: usize) {
        self.add_own_handles(method, objects, handles, depth);
        let Some(depth) = depth.checked_sub(1) else { return };
        for object in objects {
            let Object::Event(event) = *object else { continue };
            let Some(Action::Call { method: called, arguments, .. }) =
                self.event(At { method, event }).map(|event| &event.action)
            else {
                continue;
            };
            let before = match self.library.model(*called).and_then(|model| model.after) {
                Some(After::Receiver) => 1,
                Some(After::Both) => 2,
                Some(After::Any) | None => 0,
            };
            for future in arguments.iter().take(before) {
                self.add_handles(method, &future.objects, handles, depth);
            }
        }
    }

    fn add_own_handles(&self, method: MethodId, objects: &Objects, handles: &mut Vec<Handle>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for object in objects {
            let Object::Event(event) = *object else {
                if !matches!(object, Object::Unknown | Object::Int(_)) {
                    handles.push(Handle::of(Root::Object(method, self.plain(*object))));
                }
                if let Object::Parameter(position) = *object {
                    for (maker, receiver) in self.run_over(method, position) {
                        let containers = self.containers(maker, &receiver.objects, depth);
                        handles.extend(containers.into_iter().map(Handle::element));
                    }
                }
                continue;
            };
            match self.event(At { method, event }).map(|event| &event.action) {
                Some(Action::Read { member: member @ (Member::Field(_) | Member::Static(_)), base, .. }) => {
                    handles.extend(self.held(method, base, *member));
                }
                Some(Action::Read { base, .. }) => {
                    handles.extend(self.named_by(method, base).into_iter().map(Handle::element));
                }
                Some(Action::Call { method: called, arguments, .. }) => {
                    handles.push(Handle::of(Root::Object(method, *object)));
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
        if model.after.is_some() {
            return;
        }
        if is_static(self.program, called, arguments) {
            // `CompletableFuture.allOf(a, b)` stands for all that it is given.
            for argument in arguments {
                self.add_handles(method, &argument.objects, handles, depth);
                handles.extend(self.containers(method, &argument.objects, depth).into_iter().map(Handle::element));
            }
            return;
        }
        let Some(receiver) = arguments.first() else { return };
        match model.returns {
            Returns::Receiver => self.add_handles(method, &receiver.objects, handles, depth),
            Returns::FromState | Returns::Removed | Returns::View(_) | Returns::Fresh => {
                handles.extend(self.containers(method, &receiver.objects, depth).into_iter().map(Handle::element));
            }
            _ => {}
        }
    }

    pub(super) fn containers_of(&self, method: MethodId, objects: &Objects) -> Vec<Handle> {
        self.containers(method, objects, MAX_DEPTH)
    }

    /// Names for containers, through iterators and views.
    fn containers(&self, method: MethodId, objects: &Objects, depth: usize) -> Vec<Handle> {
        let mut holders = Vec::new();
        let Some(depth) = depth.checked_sub(1) else { return holders };
        for object in objects {
            let Object::Event(event) = *object else {
                if !matches!(object, Object::Unknown | Object::Int(_)) {
                    holders.push(Handle::of(Root::Object(method, self.plain(*object))));
                }
                if let Object::Parameter(position) = *object {
                    let of_callers = self.given(method, position).into_iter();
                    holders.extend(common(
                        of_callers.map(|(caller, argument)| self.containers(caller, &argument.objects, depth)),
                    ));
                }
                continue;
            };
            match self.event(At { method, event }).map(|event| &event.action) {
                Some(Action::Read { member: member @ (Member::Field(_) | Member::Static(_)), base, .. }) => {
                    holders.extend(self.held(method, base, *member));
                }
                Some(Action::Call { method: called, arguments, .. }) => {
                    holders.push(Handle::of(Root::Object(method, *object)));
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

    /// Names for what a field holds: of whichever object, and of the one that has a name here.
    fn held(&self, method: MethodId, base: &Name, member: Member) -> Vec<Handle> {
        let field = match member {
            Member::Static(field) => {
                return self.program.real_field(field).map(Root::Static).map(Handle::of).into_iter().collect();
            }
            Member::Field(field) => self.program.real_field(field),
            _ => None,
        };
        let Some(field) = field else { return Vec::new() };
        let exact = self.exact(method, base).map(|base| base.then(Step::Field(field)));
        exact.into_iter().chain([Handle::of(Root::Some(field))]).collect()
    }

    /// Names for what a name stands for.
    fn named_by(&self, method: MethodId, name: &Name) -> Vec<Handle> {
        let some = match name.steps.is_empty() {
            false => held_by(self.program, name).map(|field| Handle::of(Root::Some(field))),
            true => None,
        };
        self.exact(method, name).into_iter().chain(some).collect()
    }

    fn exact(&self, method: MethodId, name: &Name) -> Option<Handle> {
        let root = match name.start {
            Start::New(register) => {
                Root::Object(method, Object::New { register, class: ClassName(self.program.names.intern("")) })
            }
            Start::Parameter(position) => Root::Object(method, Object::Parameter(position)),
            Start::Result(event) => Root::Object(method, Object::Event(event)),
            Start::Static(field) => Root::Static(self.program.real_field(field)?),
            _ => return None,
        };
        let steps = name.steps.iter().map(|step| match step {
            NameStep::Field(field) => self.program.real_field(*field).map(Step::Field),
            NameStep::Element(_) | NameStep::Some => Some(Step::Element),
            NameStep::Constant(_) => None,
        });
        Some(Handle { root, steps: steps.collect::<Option<_>>()? })
    }

    /// Names for the objects, also those that all callers have for what they hand in.
    pub(super) fn given_handles(&self, method: MethodId, objects: &Objects) -> Vec<Handle> {
        self.handles_of_callers(method, objects, MAX_DEPTH)
    }

    fn handles_of_callers(&self, method: MethodId, objects: &Objects, depth: usize) -> Vec<Handle> {
        let mut handles = self.handles(method, objects);
        if let (Some(depth), [Object::Parameter(position)]) = (depth.checked_sub(1), objects.as_slice()) {
            let of_callers = self.given(method, *position).into_iter();
            handles.extend(common(
                of_callers.map(|(caller, argument)| self.handles_of_callers(caller, &argument.objects, depth)),
            ));
        }
        handles
    }

    /// Names for the objects, for where they are put, and for what they were given to run: who waits for the future waits for
    /// the thread that runs it.
    pub(super) fn kept_handles(&self, method: MethodId, objects: &Objects) -> Vec<Handle> {
        let mut handles = Vec::new();
        self.add_own_handles(method, objects, &mut handles, MAX_DEPTH);
        self.add_kept(method, objects, &mut handles, 3);
        for wrapped in self.wrapped_by(method, objects) {
            self.add_own_handles(method, &wrapped.objects, &mut handles, MAX_DEPTH);
            self.add_kept(method, &wrapped.objects, &mut handles, 3);
        }
        handles
    }

    /// What objects that a method makes were given to run.
    fn wrapped_by(&self, method: MethodId, objects: &Objects) -> Vec<&Argument> {
        let Some(outline) = self.outline(method) else { return Vec::new() };
        let mut found = Vec::new();
        for event in &outline.events {
            let Action::Call { method: called, arguments, .. } = &event.action else { continue };
            let is_of = |object: &Object| match object {
                Object::New { register, .. } => arguments.first().is_some_and(|made| makes(&made.objects, *register)),
                _ => false,
            };
            if self.program.names.text(called.name) == "<init>" && objects.iter().any(is_of) {
                found.extend(self.wrapped(*called, arguments));
            }
        }
        found
    }

    fn add_kept(&self, method: MethodId, objects: &Objects, handles: &mut Vec<Handle>, depth: usize) {
        let (Some(depth), Some(outline)) = (depth.checked_sub(1), self.outline(method)) else { return };
        let is_one = |argument: &Argument| {
            argument.objects.iter().any(|object| *object != Object::Unknown && objects.contains(object))
        };
        for event in &outline.events {
            match &event.action {
                Action::Write { member: Member::Elements, base, stored, .. } if is_one(stored) => {
                    handles.extend(self.named_by(method, base).into_iter().map(Handle::element));
                }
                Action::Write { member: member @ (Member::Field(_) | Member::Static(_)), base, stored, .. }
                    if is_one(stored) =>
                {
                    handles.extend(self.held(method, base, *member));
                }
                Action::Call { method: called, arguments, .. }
                    if arguments.iter().skip(1).any(is_one)
                        && self.library.model(*called).is_some_and(|model| model.access.writes()) =>
                {
                    let containers = self.containers(method, &arguments[0].objects, MAX_DEPTH);
                    handles.extend(containers.into_iter().map(Handle::element));
                }
                _ => {}
            }
        }
        if outline.returned.iter().any(|object| *object != Object::Unknown && objects.contains(object)) {
            for caller in self.calls.callers(method).iter().take(8) {
                let Some(outline) = self.outline(*caller) else { continue };
                for (index, event) in outline.events.iter().enumerate() {
                    let is_call = matches!(&event.action, Action::Call { method: called, .. }
                        if self.may_mean(*called, method));
                    let made = At { method: *caller, event: EventId(index as u32) };
                    // What a function yields is an element of what the stream that runs it goes on with.
                    if self.is_made_of(&event.action, method)
                        && let Some((stream, _)) = self.runner(made)
                    {
                        handles.push(Handle::of(Root::Object(*caller, Object::Event(stream))).element());
                    }
                    if is_call {
                        let result: Objects = smallvec::smallvec![Object::Event(EventId(index as u32))];
                        self.add_own_handles(*caller, &result, handles, MAX_DEPTH);
                        self.add_kept(*caller, &result, handles, depth);
                    }
                }
            }
        }
    }

    /// The futures that a stage waits for.
    pub(super) fn after(&self, at: At, event: &Event, model: &CallModel, arguments: &[Argument]) -> Option<Join> {
        let count = match model.after? {
            After::Receiver => 1,
            After::Both => 2,
            After::Any => return None,
        };
        let given = &arguments[..count.min(arguments.len())];
        Some(Join {
            at,
            in_loop: event.in_loop,
            is_executor: false,
            handles: given.iter().flat_map(|future| self.handles(at.method, &future.objects)).collect(),
            is_whole: given.iter().any(|future| self.is_static_result(at.method, &future.objects)),
            of_each: None,
            on_way: None,
            done: 0,
        })
    }

    /// Whether an event makes a function whose code is this method.
    fn is_made_of(&self, action: &Action, body: MethodId) -> bool {
        matches!(action, Action::Lambda { method, .. }
            if self.calls.hierarchy.resolve_name(self.program, *method) == Some(body))
    }
}

/// What is in all of the lists.
fn common<T: PartialEq>(mut lists: impl Iterator<Item = Vec<T>>) -> Vec<T> {
    let mut kept = lists.next().unwrap_or_default();
    for list in lists {
        kept.retain(|one| list.contains(one));
    }
    kept
}
