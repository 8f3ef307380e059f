//! Who touches which field, and the contents of what it holds.

use std::borrow::Cow;

use super::{FieldAccess, Part, Sharings};
use crate::class::{FieldId, MethodId, Program};
use crate::model::{Returns, Target};
use crate::outline::{Action, Argument, EventId, Member, Name, NameStep, Object, Objects, Outline};
use crate::summary::{Handles, is_cursor, is_stepping};
use crate::thread::{At, Threads, fields_read, held_by};
use crate::variable::holder;

/// Containers in containers, and views of them, are followed over so many calls.
const MAX_LAYERS: usize = 4;

/// The fields that one method touches.
pub(super) struct Touched {
    found: Vec<(FieldId, FieldAccess)>,
    /// Fields whose container is also reached by another way than the field.
    leaks: Vec<FieldId>,
}

impl<'s> Sharings<'s> {
    fn touched(self, method: MethodId) -> &'s Touched {
        self.answers.touched[method.index()].get_or_init(|| {
            let mut found = Touched { found: Vec::new(), leaks: Vec::new() };
            if let Some(outline) = self.outlines.get(method) {
                let (program, threads, handles) = (self.program, self.threads, &*self.calls.handles);
                Finding { program, threads, handles, method, outline, touched: &mut found }.all();
            }
            Box::new(found)
        })
    }

    pub(super) fn find_accesses(self, field: FieldId) -> Box<[FieldAccess]> {
        if let Some(ways) = self.ways(field) {
            return ways.accesses.into();
        }
        let users = self.users(field);
        let users = users.as_ref();
        self.outlines.make_here(users);
        let all = users.iter().flat_map(|method| &self.touched(*method).found).filter(|(touched, _)| *touched == field);
        let mut all: Vec<FieldAccess> =
            all.map(|(_, access)| FieldAccess { is_initial: self.is_initial(access), ..*access }).collect();
        all.extend(self.accesses_beside(field, &all));
        all.into()
    }

    /// The methods whose code names a field, or a handle that stands for it, or gets it by an accessor, in order.
    fn users(self, field: FieldId) -> Cow<'s, [MethodId]> {
        let holders = self.calls.handles.holders_of(field);
        let is_accessor = |user: &&MethodId| self.program.accessor(self.program.method_name(**user)).is_some();
        let accessors = self.calls.users(field).iter().filter(is_accessor);
        let by_accessor: Vec<MethodId> =
            accessors.flat_map(|accessor| self.calls.callers(*accessor)).copied().collect();
        if holders.is_empty() && by_accessor.is_empty() {
            return Cow::Borrowed(self.calls.users(field));
        }
        let named = std::iter::once(&field).chain(holders);
        let mut users: Vec<MethodId> = named.flat_map(|named| self.calls.users(*named)).copied().collect();
        users.extend(by_accessor);
        users.sort_unstable();
        users.dedup();
        Cow::Owned(users)
    }

    /// Those of the reads of a field whose method gives the container away.
    pub(super) fn leaking(self, field: FieldId, reads: &[FieldAccess]) -> Vec<FieldAccess> {
        reads.iter().copied().filter(|read| self.touched(read.at.method).leaks.contains(&field)).collect()
    }

    /// Whether the container that a field holds is also reached by another way.
    pub(super) fn leaks_contents(self, field: FieldId) -> bool {
        let mut users = self.calls.users(field).iter();
        users.any(|method| self.touched(*method).leaks.contains(&field))
    }
}

struct Finding<'f> {
    program: &'f Program,
    threads: &'f Threads,
    handles: &'f Handles,
    method: MethodId,
    outline: &'f Outline,
    touched: &'f mut Touched,
}

impl Finding<'_> {
    fn all(&mut self) {
        let (program, library) = (self.program, &self.threads.library);
        for (index, event) in self.outline.events.iter().enumerate() {
            let at = At { method: self.method, event: EventId(index as u32) };
            let access = |is_write, part| FieldAccess { at, is_write, part, is_initial: false };
            match &event.action {
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    self.touched
                        .found
                        .extend(self.program.real_field(*field).map(|field| (field, access(false, Part::Itself))));
                }
                Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } => {
                    self.touched
                        .found
                        .extend(self.program.real_field(*field).map(|field| (field, access(true, Part::Itself))));
                    self.leak(&stored.objects);
                }
                Action::Read { base, .. } => {
                    let held = held_by(self.program, base).map(|field| (field, access(false, Part::Contents)));
                    let within = row_of(program, base).map(|field| (field, access(false, Part::Within)));
                    self.touched.found.extend(held.into_iter().chain(within));
                }
                Action::Write { base, stored, .. } => {
                    let held = held_by(self.program, base).map(|field| (field, access(true, Part::Contents)));
                    let within = row_of(program, base).map(|field| (field, access(true, Part::Within)));
                    self.touched.found.extend(held.into_iter().chain(within));
                    self.leak(&stored.objects);
                }
                Action::Call { method, arguments, .. } => match library.model(*method) {
                    Some(model) => {
                        let Some((receiver, rest)) = arguments.split_first() else { continue };
                        let touches = model.access.reads() || model.access.writes();
                        let handled = holder(&receiver.name).and_then(|holder| program.resolve_field(holder));
                        let handled = handled.and_then(|holder| self.handles.get(holder)).filter(|_| touches);
                        if let Some(field) = handled.and_then(|handled| program.resolve_field(handled)) {
                            self.touched.found.push((field, access(model.access.writes(), Part::Itself)));
                        }
                        // An iterator and a set of keys touch what they were got from; what a handle works on is not in it.
                        let containers = match handled {
                            Some(_) => Vec::new(),
                            None => self.containers(&receiver.objects, MAX_LAYERS),
                        };
                        for field in containers {
                            let is_step =
                                is_stepping(program, *method) && is_cursor(program, program.field(field).descriptor);
                            if touches || is_step {
                                self.touched
                                    .found
                                    .push((field, access(model.access.writes() || is_step, Part::Contents)));
                            }
                        }
                        if touches {
                            for field in self.elements_of(&receiver.objects, MAX_LAYERS) {
                                self.touched.found.push((field, access(model.access.writes(), Part::Within)));
                            }
                        }
                        // What it reads or writes of what it is given: a copy, `addAll`.
                        let count =
                            classfile::split_method(program.names.text(method.descriptor)).map_or(0, |(n, _)| n);
                        let given = &arguments[arguments.len().saturating_sub(count)..];
                        for effect in model.effects() {
                            let Target::Argument(index) = effect.target else { continue };
                            let Some(argument) = given.get(usize::from(index)) else { continue };
                            for field in fields_read(self.program, self.outline, &argument.objects) {
                                self.touched.found.push((field, access(effect.access.writes(), Part::Contents)));
                            }
                            for field in self.elements_of(&argument.objects, MAX_LAYERS) {
                                self.touched.found.push((field, access(effect.access.writes(), Part::Within)));
                            }
                        }
                        let puts = model.access.writes() || program.names.text(method.name) == "<init>";
                        rest.iter().filter(|_| puts).for_each(|argument| self.leak(&argument.objects));
                    }
                    None => self.leak_all(arguments),
                },
                Action::Lambda { arguments, .. } => self.leak_all(arguments),
                Action::Wait(_) => {}
            }
        }
        self.leak(&self.outline.returned);
    }

    /// The fields whose containers or arrays have the objects as elements.
    fn elements_of(&self, objects: &Objects, layers: usize) -> Vec<FieldId> {
        let library = &self.threads.library;
        let mut fields = Vec::new();
        for object in objects {
            let Object::Event(event) = object else { continue };
            match self.outline.events.get(event.index()).map(|event| &event.action) {
                Some(Action::Read { base, member: Member::Elements, .. }) => fields.extend(held_by(self.program, base)),
                Some(Action::Call { method, arguments, .. }) => {
                    let (Some(model), Some(receiver)) = (library.model(*method), arguments.first()) else { continue };
                    if model.access.reads() && model.returns == Returns::FromState {
                        fields.extend(self.containers(&receiver.objects, layers));
                        if let Some(layers) = layers.checked_sub(1) {
                            fields.extend(self.elements_of(&receiver.objects, layers));
                        }
                    }
                }
                _ => {}
            }
        }
        fields
    }

    /// The fields that hold the objects, or what they are views of.
    fn containers(&self, objects: &Objects, layers: usize) -> Vec<FieldId> {
        let library = &self.threads.library;
        let mut fields = fields_read(self.program, self.outline, objects);
        for object in objects {
            let Object::Event(event) = object else { continue };
            if let Some(Action::Call { method, arguments, .. }) =
                self.outline.events.get(event.index()).map(|event| &event.action)
                && let (Some(model), Some(receiver)) = (library.model(*method), arguments.first())
                && matches!(model.returns, Returns::View(_) | Returns::Receiver)
                && let Some(layers) = layers.checked_sub(1)
            {
                fields.extend(self.containers(&receiver.objects, layers));
            }
        }
        fields
    }

    fn leak_all(&mut self, arguments: &[Argument]) {
        arguments.iter().for_each(|argument| self.leak(&argument.objects));
    }

    /// What was read from a field goes elsewhere.
    fn leak(&mut self, objects: &Objects) {
        if objects.iter().any(|object| matches!(object, Object::Event(_))) {
            self.touched.leaks.extend(fields_read(self.program, self.outline, objects));
        }
    }
}

/// The field that holds an array of arrays, of which this is one.
fn row_of(program: &Program, base: &Name) -> Option<FieldId> {
    let (last, before) = base.steps.split_last()?;
    match last {
        NameStep::Constant(_) | NameStep::Element(_) => {
            held_by(program, &Name { start: base.start, steps: before.into() })
        }
        NameStep::Field(_) | NameStep::Some => None,
    }
}
