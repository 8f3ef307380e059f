//! What containers and arrays hold, for tasks that are started from them.

use location::ClassName;

use super::reference::Yielded;
use super::task::{At, Finder, Found, MAX_SITES, Run, is_static, makes};
use crate::class::{FieldId, MethodId};
use crate::model::Returns;
use crate::outline::{Action, Argument, Event, Member, Object, Objects, Start};

impl Finder<'_> {
    pub(super) fn elements(
        &self,
        method: MethodId,
        objects: &Objects,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        let Some(depth) = depth.checked_sub(1) else { return self.by_type(wanted, found) };
        for object in objects {
            if !found.seen.insert((method, *object, true)) {
                continue;
            }
            match *object {
                Object::Int(_) => {}
                Object::Unknown => self.by_type(wanted, found),
                Object::New { register, .. } => self.elements_of_new(method, register, wanted, found, depth),
                Object::Parameter(position) => {
                    let given = self.given(method, position);
                    if given.is_empty() {
                        self.by_type(wanted, found);
                    }
                    for (caller, argument) in given {
                        self.elements(caller, &argument.objects, wanted, found, depth);
                    }
                }
                Object::Event(event) => self.elements_of_event(At { method, event }, wanted, found, depth),
            }
        }
    }

    fn elements_of_event(&self, at: At, wanted: ClassName, found: &mut Found, depth: usize) {
        match self.event(at).map(|event| &event.action) {
            Some(Action::Read { member: Member::Field(field) | Member::Static(field), .. }) => {
                match self.library.field(*field) {
                    Some(field) => self.elements_of_field(field, wanted, found, depth),
                    None => self.by_type(wanted, found),
                }
            }
            Some(Action::Call { method, arguments, .. }) => {
                let Some(model) = self.library.model(*method) else { return self.by_type(wanted, found) };
                if is_static(self.program, *method, arguments) {
                    // `List.of(a, b)`, `Arrays.asList(array)`
                    for (position, argument) in (0u8..).zip(arguments) {
                        let declared = self.parameter(*method, position);
                        let is_array = declared.is_some_and(|class| self.program.names.text(class.0).starts_with('['));
                        if is_array || self.is_container(&argument.objects) {
                            self.elements(at.method, &argument.objects, wanted, found, depth);
                        } else {
                            self.values(at.method, &argument.objects, wanted, found, depth);
                        }
                    }
                } else if let (Some(first), false) = (arguments.first(), model.returns == Returns::Unrelated) {
                    let mut is_mapped = false;
                    for argument in arguments.iter().skip(1) {
                        for yielded in self.yielded_by(at.method, argument) {
                            is_mapped |= self.mapped(at.method, first, yielded, wanted, found, depth);
                        }
                    }
                    if !is_mapped {
                        self.elements(at.method, &first.objects, wanted, found, depth);
                    }
                } else {
                    self.by_type(wanted, found);
                }
            }
            _ => self.by_type(wanted, found),
        }
    }

    /// Elements that a function makes of others; tells whether it makes any.
    fn mapped(
        &self,
        method: MethodId,
        receiver: &Argument,
        yielded: Yielded<'_>,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) -> bool {
        match yielded {
            // What `toArray` gets its array from makes no elements.
            Yielded::Returned(_, returned) if self.is_container(returned) => false,
            Yielded::Returned(body, returned) if !returned.is_empty() => {
                self.values(body, returned, wanted, found, depth);
                true
            }
            Yielded::New(constructor) => {
                match self.run_of(constructor.class, wanted) {
                    Some(run) => found.runs.push(Run { method: run, object: None, lambda: None }),
                    None if self.library.model(constructor).is_some_and(|model| model.wraps.is_some()) => {
                        self.elements(method, &receiver.objects, wanted, found, depth);
                    }
                    None => return false,
                }
                true
            }
            Yielded::Returned(..) => false,
        }
    }

    /// Whether an object is an array, as far as it was made here.
    fn is_container(&self, objects: &Objects) -> bool {
        objects.iter().any(
            |object| matches!(object, Object::New { class, .. } if self.program.names.text(class.0).starts_with('[')),
        )
    }

    pub(super) fn elements_of_field(&self, field: FieldId, wanted: ClassName, found: &mut Found, depth: usize) {
        let (puts, stores) = (self.held_in(field), self.stores_of(field));
        if puts.len() + stores.len() > MAX_SITES || puts.is_empty() && stores.is_empty() {
            return self.by_type(wanted, found);
        }
        for at in puts {
            match self.event(*at).map(|event| &event.action) {
                Some(Action::Write { stored, .. }) => self.values(at.method, &stored.objects, wanted, found, depth),
                Some(Action::Call { arguments, .. }) => {
                    for argument in arguments.iter().skip(1) {
                        self.values(at.method, &argument.objects, wanted, found, depth);
                    }
                }
                _ => {}
            }
        }
        for at in stores {
            if let Some(Event { action: Action::Write { stored, .. }, .. }) = self.event(*at) {
                self.elements(at.method, &stored.objects, wanted, found, depth);
            }
        }
    }

    fn elements_of_new(&self, method: MethodId, register: u32, wanted: ClassName, found: &mut Found, depth: usize) {
        let Some(outline) = self.outline(method) else { return };
        for event in &outline.events {
            match &event.action {
                Action::Write { member: Member::Elements, base, stored, .. }
                    if base.start == Start::New(register) && base.steps.is_empty() =>
                {
                    self.values(method, &stored.objects, wanted, found, depth);
                }
                Action::Call { method: called, arguments, .. }
                    if arguments.first().is_some_and(|first| makes(&first.objects, register)) =>
                {
                    let is_constructor = self.program.names.text(called.name) == "<init>";
                    let puts = self.library.model(*called).is_some_and(|model| model.access.writes());
                    for argument in arguments.iter().skip(1) {
                        if is_constructor || self.is_container(&argument.objects) {
                            self.elements(method, &argument.objects, wanted, found, depth);
                        } else if puts {
                            self.values(method, &argument.objects, wanted, found, depth);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
