//! Objects of which the program makes one: a place in the code that runs once makes it, and whatever leads to it leads to no
//! other. Two names of one such object, in methods that have no name in common, are told to be the same.
//!
//! The object goes by the name of a static field that the source does not have.

use location::{FieldName, MethodName};

use crate::calls::Calls;
use crate::class::{ClassId, MethodId, Program};
use crate::held::HeldLock;
use crate::outline::{Action, Argument, Event, Member, Name, NameStep, Object, Outline, Start};
use crate::outlines::Outlines;
use crate::thread::{EntryKind, Threads};

/// Objects that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 4;

/// Calls further away from `main` than this are not counted.
pub(crate) const MAX_CALLERS: usize = 6;

/// Asks for such objects.
#[derive(Clone, Copy)]
pub(crate) struct Sole<'s> {
    pub(crate) program: &'s Program,
    pub(crate) calls: &'s Calls,
    pub(crate) outlines: Outlines<'s>,
    pub(crate) threads: &'s Threads,
}

/// The place that makes an object: a method and the number of the instruction.
type Made = (MethodId, u32);

impl Sole<'_> {
    /// The same locks, and once more by the names that those have everywhere which come from such an object.
    pub(crate) fn also_named(self, method: MethodId, mut held: Vec<HeldLock>) -> Vec<HeldLock> {
        let named = |held: &HeldLock| Some(HeldLock { name: self.name(method, &held.name)?, ..held.clone() });
        let more: Vec<HeldLock> = held.iter().filter_map(named).collect();
        held.extend(more);
        held
    }

    /// The name of an object that comes from such an object, or is one: the same in all methods.
    pub(crate) fn name(self, method: MethodId, name: &Name) -> Option<Name> {
        (0..=name.steps.len()).rev().find_map(|kept| {
            let first = Name { start: name.start, steps: name.steps[..kept].into() };
            let made = self.made(method, &first, MAX_DEPTH)?;
            Some(Name::start(Start::Static(self.called(made))).then(&name.steps[kept..]))
        })
    }

    fn called(self, (method, register): Made) -> FieldName {
        let MethodName { class, name, descriptor } = self.program.method_name(method);
        let text = |symbol| self.program.names.text(symbol);
        let name = format!("{}{} made at {register}", text(name), text(descriptor));
        FieldName { class, name: self.program.names.intern(&name), descriptor }
    }

    /// The place that makes what has a name in a method, if that is one object.
    fn made(self, method: MethodId, name: &Name, depth: usize) -> Option<Made> {
        match (name.steps.last(), name.start) {
            (Some(NameStep::Field(field)), _) => self.in_field(*field, depth),
            (None, Start::Static(field)) => self.in_field(field, depth),
            (None, Start::New(register)) => self.made_once(method, register),
            (None, Start::Parameter(0)) if !self.program.method(method).access.is_static() => {
                self.only_of(self.program.class_of(method))
            }
            (None, Start::Parameter(position)) => self.given(method, position, depth),
            _ => None,
        }
    }

    /// What a field holds: the only object of its class, or the one that it is given when its own object is made.
    fn in_field(self, field: FieldName, depth: usize) -> Option<Made> {
        let class = self.program.names.text(field.descriptor).strip_prefix('L')?.strip_suffix(';')?;
        let class = self.program.class(self.program.names.class(class));
        if let Some(class) = class.filter(|class| self.program.is_checked(*class)) {
            return self.only_of(class);
        }
        let wanted = self.program.resolve_field(field).filter(|_| self.program.is_final_field(field))?;
        let class = self.program.class_of_field(wanted);
        let mut found = None;
        for method in self.program.methods_of(class) {
            for event in self.outlines.get(method).into_iter().flat_map(|outline| &outline.events) {
                let Action::Write { member: Member::Field(written) | Member::Static(written), stored, .. } =
                    &event.action
                else {
                    continue;
                };
                if self.program.resolve_field(*written) == Some(wanted) {
                    found = agreed(found, self.stored(method, stored, depth)?)?;
                }
            }
        }
        found
    }

    fn stored(self, method: MethodId, stored: &Argument, depth: usize) -> Option<Made> {
        match *stored.objects.as_slice() {
            [Object::New { register, .. }] => self.made_once(method, register),
            [Object::Parameter(position)] => self.given(method, position, depth),
            _ => self.made(method, &stored.name, depth.checked_sub(1)?),
        }
    }

    /// What all callers of a method give it, or all that make it as a lambda.
    fn given(self, method: MethodId, position: u16, depth: usize) -> Option<Made> {
        let depth = depth.checked_sub(1)?;
        if self.threads.is_from_outside(method) {
            return None;
        }
        let mut found = None;
        for caller in self.calls.callers(method) {
            for event in self.sites(self.outlines.get(*caller)?, method) {
                let (Action::Call { arguments, .. } | Action::Lambda { arguments, .. }) = &event.action else {
                    continue;
                };
                let given = arguments.get(usize::from(position))?;
                found = agreed(found, self.stored(*caller, given, depth)?)?;
            }
        }
        found
    }

    /// The place that makes the only object of a class and of those below it.
    fn only_of(self, class: ClassId) -> Option<Made> {
        let program = self.program;
        let mut found = None;
        for class in std::iter::once(class).chain(self.calls.hierarchy.subtypes(class).iter().copied()) {
            let methods = program.methods_of(class);
            for constructor in methods.filter(|method| program.method(*method).name == program.roots.constructor) {
                // Code that is not here may make another one.
                if self.threads.open.binary_search(&constructor).is_ok() {
                    return None;
                }
                for caller in self.calls.callers(constructor) {
                    for event in self.sites(self.outlines.get(*caller)?, constructor) {
                        let Action::Call { arguments, .. } = &event.action else { return None };
                        match arguments.first()?.name.start {
                            Start::New(_) if found.is_some() => return None,
                            Start::New(register) => found = Some(self.made_once(*caller, register)?),
                            // One constructor leaves a part of the work to another one.
                            Start::Parameter(0) => {}
                            _ => return None,
                        }
                    }
                }
            }
        }
        found
    }

    /// The calls of a method at hand that run another one, and where it makes that as a lambda.
    pub(crate) fn sites(self, outline: &Outline, method: MethodId) -> impl Iterator<Item = &Event> {
        outline.events.iter().filter(move |event| match &event.action {
            Action::Call { kind, method: called, .. } => {
                self.calls.targets(self.program, *kind, *called).known().contains(&method)
            }
            Action::Lambda { method: made, .. } => {
                self.calls.hierarchy.resolve_name(self.program, *made) == Some(method)
            }
            _ => false,
        })
    }

    /// A place that makes an object, if it runs once.
    fn made_once(self, method: MethodId, register: u32) -> Option<Made> {
        let is_made = |event: &&Event| match &event.action {
            Action::Call { method: called, arguments, .. } => {
                called.name == self.program.roots.constructor
                    && arguments.first().is_some_and(|made| made.name == Name::start(Start::New(register)))
            }
            _ => false,
        };
        let in_loop = match self.outlines.get(method)?.events.iter().find(is_made) {
            Some(event) => event.in_loop,
            // The constructor does nothing that anybody notices, as that of a plain object.
            None => self.is_repeated(method, register),
        };
        (!in_loop && self.runs_once(method, MAX_CALLERS)).then_some((method, register))
    }

    /// Whether an instruction of a method may run more than once in one call.
    fn is_repeated(self, method: MethodId, register: u32) -> bool {
        let Ok(Some(body)) = self.program.body(method) else { return true };
        let Some((value, _)) = body.instructions().find(|(value, _)| value.index() == register as usize) else {
            return true;
        };
        let home = body.block_of(value);
        let mut seen = vec![false; body.block_count()];
        let mut pending = vec![home];
        while let Some(block) = pending.pop() {
            for next in &body.block(block).successors {
                if !std::mem::replace(&mut seen[next.index()], true) {
                    pending.push(*next);
                }
            }
        }
        seen[home.index()]
    }

    /// Whether a method is called at one place, once, from `main` on, or when a class is loaded.
    pub(crate) fn runs_once(self, method: MethodId, depth: usize) -> bool {
        if self.program.names.text(self.program.method(method).name) == "<clinit>" {
            return true;
        }
        let threads = self.threads;
        if threads.entries().iter().any(|entry| entry.method == Some(method)) {
            return threads.of_method(method).iter().all(|entry| threads.entry(*entry).kind == EntryKind::Main);
        }
        let [caller] = self.calls.callers(method) else { return false };
        let Some(outline) = self.outlines.get(*caller).filter(|_| depth > 0) else { return false };
        let mut calls = self.sites(outline, method);
        let (Some(call), None) = (calls.next(), calls.next()) else { return false };
        !call.in_loop
            && matches!(call.action, Action::Call { .. })
            && !threads.is_from_outside(method)
            && self.runs_once(*caller, depth - 1)
    }
}

/// Both, if they are the same.
fn agreed(known: Option<Made>, made: Made) -> Option<Option<Made>> {
    known.is_none_or(|known| known == made).then_some(Some(made))
}
