//! From an object that is started back to the methods that run: what made it, what it wraps, what a field or a
//! container holds. Where nothing tells, every class that fits.

use std::sync::OnceLock;

use location::{ClassName, MethodName};
use rustc_hash::FxHashSet;

use super::is_static;
use crate::calls::Calls;
use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::library::{Library, is_checked_code};
use crate::model::Returns;
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Object, Objects, Outline, Start};
use crate::outlines::Outlines;

/// An event of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct At {
    pub method: MethodId,
    pub event: EventId,
}

/// A method that runs, and what it runs on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Run {
    pub(crate) method: MethodId,
    /// The method and instruction that made the task, if that is known.
    pub(crate) object: Option<(MethodId, u32)>,
    /// Where a lambda was made.
    pub(crate) lambda: Option<At>,
    /// Where the thread was made that runs it, if it is one that is started itself.
    pub(crate) thread: Option<MadeThread>,
}

/// Code that makes a thread. However often the thread is started, it runs once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MadeThread {
    pub(crate) method: MethodId,
    pub(crate) event: EventId,
    pub(crate) in_loop: bool,
}

/// Steps from an object back to where it comes from.
const MAX_DEPTH: usize = 8;
/// More callers, stores or puts than this are not followed.
pub(super) const MAX_SITES: usize = 48;
/// More classes than this that might run say nothing.
const MAX_CLASSES: usize = 64;

/// Writes to a field, and to what it holds.
#[derive(Default)]
struct StoresOf {
    own: Vec<At>,
    /// Events that put something into the container or array that it holds.
    puts: Vec<At>,
}

/// Writes to fields and to what fields hold, found when a field is first asked for.
pub(crate) struct Stores {
    fields: Vec<OnceLock<Box<StoresOf>>>,
}

impl Stores {
    pub(crate) fn new(program: &Program) -> Stores {
        Stores { fields: (0..program.class_of_field.len()).map(|_| OnceLock::new()).collect() }
    }
}

impl<'f> Finder<'f> {
    /// Writes of a field, in the order of methods.
    pub(super) fn stores_of(&self, field: FieldId) -> &'f [At] {
        &self.stores_to(field).own
    }

    /// Events that put something into the container or array that a field holds.
    pub(super) fn held_in(&self, field: FieldId) -> &'f [At] {
        &self.stores_to(field).puts
    }

    fn stores_to(&self, field: FieldId) -> &'f StoresOf {
        self.stores.fields[field.0 as usize].get_or_init(|| {
            let mut stores = StoresOf::default();
            self.outlines.make_here(self.calls.users(field));
            for method in self.calls.users(field) {
                let Some(outline) = self.outline(*method) else { continue };
                for (touched, at, is_put) in stores_of(self.program, self.library, *method, outline) {
                    if touched == field {
                        if is_put { stores.puts.push(at) } else { stores.own.push(at) }
                    }
                }
            }
            Box::new(stores)
        })
    }
}

fn stores_of(program: &Program, library: &Library, method: MethodId, outline: &Outline) -> Vec<(FieldId, At, bool)> {
    let mut found = Vec::new();
    for (index, event) in outline.events.iter().enumerate() {
        let at = At { method, event: EventId(index as u32) };
        match &event.action {
            Action::Write { member: Member::Field(field) | Member::Static(field), .. } => {
                found.extend(program.real_field(*field).map(|field| (field, at, false)));
            }
            Action::Write { member: Member::Elements, base, .. } => {
                found.extend(held_by(program, base).map(|field| (field, at, true)));
            }
            Action::Call { method, arguments, .. }
                if arguments.len() > 1 && library.model(*method).is_some_and(|model| model.access.writes()) =>
            {
                let fields = fields_read(program, outline, &arguments[0].objects);
                found.extend(fields.into_iter().map(|field| (field, at, true)));
            }
            _ => {}
        }
    }
    found
}

/// The field whose content a name is.
pub(crate) fn held_by(program: &Program, name: &Name) -> Option<FieldId> {
    match (name.start, name.steps.last()) {
        (_, Some(NameStep::Field(field))) => program.real_field(*field),
        (Start::Static(field), None) => program.real_field(field),
        _ => None,
    }
}

/// Fields that the objects were read from, here or by an accessor.
pub(crate) fn fields_read(program: &Program, outline: &Outline, objects: &Objects) -> Vec<FieldId> {
    let read = objects.iter().filter_map(|object| match object {
        Object::Event(event) => match &outline.events.get(event.index())?.action {
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => program.real_field(*field),
            Action::Call { method, .. } => program.real_field(program.field_accessed(*method)?),
            _ => None,
        },
        _ => None,
    });
    read.collect()
}

pub(crate) struct Finder<'f> {
    pub(crate) program: &'f Program,
    pub(crate) calls: &'f Calls,
    pub(crate) outlines: Outlines<'f>,
    pub(crate) library: &'f Library,
    pub(crate) stores: &'f Stores,
}

/// What was found for one start.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) runs: Vec<Run>,
    /// Something may run that nobody here can name.
    pub(crate) is_open: bool,
    pub(super) seen: FxHashSet<(MethodId, Object, bool)>,
}

impl<'f> Finder<'f> {
    pub(crate) fn outline(&self, method: MethodId) -> Option<&'f Outline> {
        self.outlines.get(method)
    }

    pub(crate) fn event(&self, at: At) -> Option<&'f Event> {
        self.outline(at.method)?.events.get(at.event.index())
    }

    /// The methods that run when a value of a method is started as a `wanted`.
    pub(crate) fn task(&self, method: MethodId, argument: &Argument, wanted: ClassName) -> Found {
        let mut found = Found::default();
        self.values(method, &argument.objects, wanted, &mut found, MAX_DEPTH);
        found.finish()
    }

    /// The methods that run when each element of a container is started.
    pub(crate) fn tasks_in(&self, method: MethodId, argument: &Argument, wanted: ClassName) -> Found {
        let mut found = Found::default();
        self.elements(method, &argument.objects, wanted, &mut found, MAX_DEPTH);
        found.finish()
    }

    pub(super) fn values(
        &self,
        method: MethodId,
        objects: &Objects,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        for object in objects {
            if found.seen.insert((method, *object, false)) {
                self.value(method, *object, wanted, found, depth);
            }
        }
    }

    fn value(&self, method: MethodId, object: Object, wanted: ClassName, found: &mut Found, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return self.by_type(wanted, found) };
        match object {
            Object::Int(_) => {}
            Object::Unknown => self.by_type(wanted, found),
            Object::New { register, class } => self.made(method, register, class, wanted, found, depth),
            Object::Parameter(0) if !self.program.method(method).access.is_static() => {
                self.by_type(self.program.method_name(method).class, found);
            }
            Object::Parameter(position) => {
                let given = self.given(method, position);
                let over = self.run_over(method, position);
                if given.is_empty() && over.is_empty() {
                    self.by_type(wanted, found);
                }
                for (maker, receiver) in over {
                    self.elements(maker, &receiver.objects, wanted, found, depth);
                }
                for (caller, argument) in given {
                    self.values(caller, &argument.objects, wanted, found, depth);
                }
            }
            Object::Event(event) => self.yielded(At { method, event }, wanted, found, depth),
        }
    }

    /// What an event yields.
    fn yielded(&self, at: At, wanted: ClassName, found: &mut Found, depth: usize) {
        let Some(event) = self.event(at) else { return };
        match &event.action {
            Action::Lambda { method, .. } => self.lambda(at, *method, found),
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                let stores = self.program.real_field(*field).map_or(&[][..], |field| self.stores_of(field));
                if stores.is_empty() || stores.len() > MAX_SITES {
                    return self.by_type(self.type_of(field.descriptor).unwrap_or(wanted), found);
                }
                for at in stores {
                    if let Some(Event { action: Action::Write { stored, .. }, .. }) = self.event(*at) {
                        self.values(at.method, &stored.objects, wanted, found, depth);
                    }
                }
            }
            Action::Read { base, .. } => match self.named(base) {
                Some(Ok(object)) => self.elements(at.method, &smallvec::smallvec![object], wanted, found, depth),
                Some(Err(field)) => self.elements_of_field(field, wanted, found, depth),
                None => self.by_type(wanted, found),
            },
            Action::Call { method, arguments, .. } => self.result(at, *method, arguments, wanted, found, depth),
            Action::Write { .. } | Action::Wait(_) => {}
        }
    }

    /// What a name starts with, or the field whose content it is.
    fn named(&self, name: &Name) -> Option<Result<Object, FieldId>> {
        if let Some(field) = held_by(self.program, name) {
            return Some(Err(field));
        }
        match name.start {
            Start::New(register) if name.steps.is_empty() => {
                // The class of a container does not matter.
                Some(Ok(Object::New { register, class: ClassName(self.program.names.intern("")) }))
            }
            Start::Parameter(position) if name.steps.is_empty() => Some(Ok(Object::Parameter(position))),
            Start::Result(event) if name.steps.is_empty() => Some(Ok(Object::Event(event))),
            _ => None,
        }
    }

    fn result(
        &self,
        at: At,
        method: MethodName,
        arguments: &[Argument],
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        if let Some(model) = self.library.model(method) {
            let skip = usize::from(!is_static(self.program, method, arguments));
            let argument = |index: u8| arguments.get(usize::from(index) + skip);
            let (given, is_element) = match (model.wraps, model.returns) {
                (Some(index), _) => (argument(index), false),
                (None, Returns::Receiver) => (arguments.first(), false),
                (None, Returns::Argument(index)) => (argument(index), false),
                (None, Returns::FromState | Returns::Removed | Returns::View(_) | Returns::Replaced(_)) => {
                    (arguments.first(), true)
                }
                _ => (None, false),
            };
            return match given {
                Some(given) if is_element => self.elements(at.method, &given.objects, wanted, found, depth),
                Some(given) => self.values(at.method, &given.objects, wanted, found, depth),
                None => self.by_type(self.type_of_result(method).unwrap_or(wanted), found),
            };
        }
        let Some(Event { action: Action::Call { kind, .. }, .. }) = self.event(at) else { return };
        let targets = self.calls.targets(self.program, *kind, method);
        let outlines: Vec<_> =
            targets.known().iter().filter_map(|target| Some((*target, self.outline(*target)?))).collect();
        if outlines.is_empty() {
            return self.by_type(self.type_of_result(method).unwrap_or(wanted), found);
        }
        for (target, outline) in outlines {
            for object in &outline.returned {
                match object {
                    // What is given back is this call's argument, not any call's.
                    Object::Parameter(position) => {
                        if let Some(given) = arguments.get(usize::from(*position)) {
                            self.values(at.method, &given.objects, wanted, found, depth);
                        }
                    }
                    other => self.values(target, &smallvec::smallvec![*other], wanted, found, depth),
                }
            }
        }
    }

    fn lambda(&self, at: At, method: MethodName, found: &mut Found) {
        let Some(target) = self.calls.hierarchy.resolve_name(self.program, method) else { return };
        let run = |method| Run { method, object: None, lambda: Some(at), thread: None };
        if is_checked_code(self.program, target) {
            found.runs.push(run(target));
        } else {
            // A reference to a method that subclasses implement.
            let targets = self.calls.targets(self.program, classfile::CallKind::Virtual, method);
            let own = targets.known().iter().filter(|target| is_checked_code(self.program, **target));
            found.runs.extend(own.map(|target| run(*target)));
        }
    }

    fn made(
        &self,
        method: MethodId,
        register: u32,
        class: ClassName,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        let outline = self.outline(method);
        let constructors = outline.into_iter().flat_map(|outline| &outline.events).enumerate().filter(|(_, event)| {
            matches!(&event.action, Action::Call { method: called, arguments, .. }
                if self.program.names.text(called.name) == "<init>"
                    && arguments.first().is_some_and(|first| makes(&first.objects, register)))
        });
        let is_thread = self.program.is_subtype(class, self.program.names.class("java/lang/Thread"));
        let thread = |(index, event): (usize, &Event)| {
            let event = MadeThread { method, event: EventId(index as u32), in_loop: event.in_loop };
            is_thread.then_some(event)
        };
        if let Some(run) = self.run_of(class, wanted) {
            let thread = constructors.clone().next().and_then(thread);
            found.runs.push(Run { method: run, object: Some((method, register)), lambda: None, thread });
            return;
        }
        // A thread that is given what it runs, which others may be given, too.
        let outer = found;
        let mut inner = Found::default();
        let found = &mut inner;
        for (index, event) in constructors {
            let Action::Call { method: called, arguments, .. } = &event.action else { continue };
            let known = found.runs.len();
            if let Some(wrapped) = self.wrapped(*called, arguments) {
                self.values(method, &wrapped.objects, wanted, found, depth);
            }
            let Some(constructor) = self.calls.hierarchy.resolve_name(self.program, *called) else { continue };
            for inner in self.outline(constructor).into_iter().flat_map(|outline| &outline.events) {
                let Action::Call { method: called, arguments: passed, .. } = &inner.action else { continue };
                let on_this = passed.first().is_some_and(|first| first.objects.contains(&Object::Parameter(0)));
                let Some(wrapped) = self.wrapped(*called, passed).filter(|_| on_this) else { continue };
                for object in &wrapped.objects {
                    match object {
                        Object::Parameter(position) if *position > 0 => {
                            if let Some(given) = arguments.get(usize::from(*position)) {
                                self.values(method, &given.objects, wanted, found, depth);
                            }
                        }
                        other => self.values(constructor, &smallvec::smallvec![*other], wanted, found, depth),
                    }
                }
            }
            for run in &mut found.runs[known..] {
                run.thread = thread((index, event));
            }
        }
        outer.is_open |= inner.is_open;
        outer.runs.append(&mut inner.runs);
    }

    /// What a constructor's object runs when it is started.
    pub(super) fn wrapped<'a>(&self, constructor: MethodName, arguments: &'a [Argument]) -> Option<&'a Argument> {
        let wraps = self.library.model(constructor)?.wraps?;
        arguments.get(usize::from(wraps) + 1)
    }

    /// The method of the program that runs when an object of this class is started as a `wanted`. What a wrapper turns into a
    /// `wanted` may be something else itself: a `Callable` in a `FutureTask` that a thread is given.
    pub(super) fn run_of(&self, class: ClassName, wanted: ClassName) -> Option<MethodId> {
        let run_as = |kind: ClassName| {
            let entry = self.calls.task_entry(self.program, kind)?;
            let run = self.calls.hierarchy.resolve(self.program, class, entry.name, entry.descriptor)?;
            is_checked_code(self.program, run).then_some(run)
        };
        run_as(wanted).or_else(|| run_as(class))
    }

    /// Every class that is a `wanted` may run.
    pub(super) fn by_type(&self, wanted: ClassName, found: &mut Found) {
        found.is_open = true;
        let Some(class) = self.program.class(wanted) else { return };
        let mut runs = Vec::new();
        let mut seen: FxHashSet<ClassId> = FxHashSet::default();
        let mut pending = vec![class];
        while let Some(class) = pending.pop() {
            if !seen.insert(class) {
                continue;
            }
            let header = self.program.header(class);
            pending.extend(self.calls.hierarchy.subtypes(class));
            if header.access.is_abstract() || header.access.is_interface() || !self.calls.is_made(self.program, class) {
                continue;
            }
            runs.extend(self.run_of(header.name, wanted));
            if seen.len() > MAX_CLASSES * 16 {
                return;
            }
        }
        runs.sort_unstable();
        runs.dedup();
        if runs.len() <= MAX_CLASSES {
            found.runs.extend(runs.into_iter().map(|method| Run { method, object: None, lambda: None, thread: None }));
        }
    }

    /// Whether a name in code may stand for a method, for those who are known to call it: a method of the same name in a
    /// class beside it is another one.
    pub(super) fn may_mean(&self, name: MethodName, method: MethodId) -> bool {
        let own = self.program.method_name(method);
        // What a class inherits may be what an interface asks for that only the heir names.
        let is_interface = || {
            let class = self.program.class(name.class);
            class.is_none_or(|class| self.program.header(class).access.is_interface())
        };
        own.name == name.name
            && own.descriptor == name.descriptor
            && (self.program.is_subtype(own.class, name.class)
                || self.program.is_subtype(name.class, own.class)
                || is_interface())
    }

    /// What callers give for a parameter, with the caller.
    pub(crate) fn given(&self, method: MethodId, position: u16) -> Vec<(MethodId, &'f Argument)> {
        let mut given = Vec::new();
        for caller in self.calls.callers(method) {
            for event in self.outline(*caller).into_iter().flat_map(|outline| &outline.events) {
                let arguments = match &event.action {
                    Action::Call { method: called, arguments, .. } if self.may_mean(*called, method) => arguments,
                    Action::Lambda { method: made, arguments, .. } if self.may_mean(*made, method) => arguments,
                    _ => continue,
                };
                given.extend(arguments.get(usize::from(position)).map(|argument| (*caller, argument)));
                if given.len() > MAX_SITES {
                    return Vec::new();
                }
            }
        }
        given
    }

    fn type_of(&self, descriptor: location::Symbol) -> Option<ClassName> {
        match classfile::parse_field(self.program.names.text(descriptor), &self.program.names) {
            Some(classfile::Type::Reference(class)) => Some(class),
            _ => None,
        }
    }

    fn type_of_result(&self, method: MethodName) -> Option<ClassName> {
        let descriptor = self.program.names.text(method.descriptor);
        let result = &descriptor[descriptor.find(')')? + 1..];
        match classfile::parse_field(result, &self.program.names) {
            Some(classfile::Type::Reference(class)) => self.calls.task_entry(self.program, class).map(|_| class),
            _ => None,
        }
    }
}

impl Found {
    fn finish(mut self) -> Found {
        self.runs.sort_unstable();
        self.runs.dedup();
        self.seen.clear();
        // A start that runs nothing was not understood.
        self.is_open |= self.runs.is_empty();
        self
    }
}

pub(super) fn makes(objects: &Objects, register: u32) -> bool {
    objects.iter().any(|object| matches!(object, Object::New { register: made, .. } if *made == register))
}
