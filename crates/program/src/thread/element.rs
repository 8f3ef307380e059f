//! What containers and arrays hold, for tasks that are started from them.

use location::{ClassName, MethodName};

use super::is_static;
use super::reference::Yielded;
use super::task::{At, Finder, Found, MAX_SITES, Run, makes};
use crate::class::{FieldId, MethodId};
use crate::library::is_checked_code;
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
                Object::New { .. } => self.elements_put(method, *object, wanted, found, depth),
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
                match self.program.real_field(*field) {
                    Some(field) => self.elements_of_field(field, wanted, found, depth),
                    None => self.by_type(wanted, found),
                }
            }
            Some(Action::Call { method, arguments, .. }) => {
                let Some(model) = self.library.model(*method) else {
                    return self.elements_of_result(at, *method, arguments, wanted, found, depth);
                };
                if is_static(self.program, *method, arguments) {
                    // `List.of(a, b)`, `Arrays.asList(array)`
                    for (position, argument) in (0u8..).zip(arguments) {
                        let declared = self.parameter(*method, position);
                        let is_array = declared.is_some_and(|class| self.program.names.text(class.0).starts_with('['));
                        // `Stream.generate(() -> new Thread(task))`
                        if model.runs.contains(position)
                            && self.is_made_by(at.method, argument, argument, wanted, found, depth)
                        {
                            continue;
                        }
                        if is_array || self.is_container(&argument.objects) {
                            self.elements(at.method, &argument.objects, wanted, found, depth);
                        } else {
                            self.values(at.method, &argument.objects, wanted, found, depth);
                        }
                    }
                } else if let (Some(first), false) = (arguments.first(), model.returns == Returns::Unrelated) {
                    let mut is_mapped = false;
                    for argument in arguments.iter().skip(1) {
                        is_mapped |= self.is_made_by(at.method, first, argument, wanted, found, depth);
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

    /// Elements that an argument makes of others, if it is a function; tells whether it makes any.
    fn is_made_by(
        &self,
        method: MethodId,
        receiver: &Argument,
        function: &Argument,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) -> bool {
        let mut is_made = false;
        for yielded in self.yielded_by(method, function) {
            is_made |= self.mapped(method, receiver, yielded, wanted, found, depth);
        }
        is_made
    }

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
                    Some(run) => found.runs.push(Run { method: run, object: None, lambda: None, thread: None }),
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

    /// Elements of what a method of the program returns.
    fn elements_of_result(
        &self,
        at: At,
        method: MethodName,
        arguments: &[Argument],
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        let Some(Event { action: Action::Call { kind, .. }, .. }) = self.event(at) else { return };
        let targets = self.calls.targets(self.program, *kind, method);
        let mut is_known = false;
        for target in targets.known() {
            for object in self.outline(*target).into_iter().flat_map(|outline| &outline.returned) {
                is_known = true;
                match object {
                    // What is given back is this call's argument, not any call's.
                    Object::Parameter(position) => {
                        if let Some(given) = arguments.get(usize::from(*position)) {
                            self.elements(at.method, &given.objects, wanted, found, depth);
                        }
                    }
                    other => self.elements(*target, &smallvec::smallvec![*other], wanted, found, depth),
                }
            }
        }
        if !is_known {
            self.by_type(wanted, found);
        }
    }

    /// What is put into a container that a method makes or is given, there or in methods that get it from there.
    fn elements_put(&self, method: MethodId, container: Object, wanted: ClassName, found: &mut Found, depth: usize) {
        let Some(outline) = self.outline(method) else { return };
        let (is_it, start): (&dyn Fn(&Objects) -> bool, Start) = match container {
            Object::New { register, .. } => (&move |objects| makes(objects, register), Start::New(register)),
            Object::Parameter(position) => (&move |objects| objects.contains(&container), Start::Parameter(position)),
            _ => return,
        };
        for event in &outline.events {
            match &event.action {
                Action::Write { member: Member::Elements, base, stored, .. }
                    if base.start == start && base.steps.is_empty() =>
                {
                    self.values(method, &stored.objects, wanted, found, depth);
                }
                Action::Call { method: called, arguments, .. }
                    if arguments.first().is_some_and(|first| is_it(&first.objects))
                        && (self.library.model(*called).is_some() || self.is_constructor(*called)) =>
                {
                    self.elements_by(method, *called, arguments, wanted, found, depth);
                }
                Action::Call { kind, method: called, arguments } => {
                    let targets = self.calls.targets(self.program, *kind, *called);
                    self.elements_put_by(targets.known(), arguments, is_it, wanted, found, depth);
                }
                Action::Lambda { method: made, arguments, .. } => {
                    let targets = self.calls.lambda_targets(self.program, *made);
                    self.elements_put_by(targets.known(), arguments, is_it, wanted, found, depth);
                }
                _ => {}
            }
        }
    }

    /// What code puts into a container that is among its arguments.
    fn elements_put_by(
        &self,
        code: &[MethodId],
        arguments: &[Argument],
        is_it: &dyn Fn(&Objects) -> bool,
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (position, _) in (0u16..).zip(arguments).filter(|(_, argument)| is_it(&argument.objects)) {
            let container = Object::Parameter(position);
            for body in code.iter().filter(|body| is_checked_code(self.program, **body)) {
                if found.seen.insert((*body, container, true)) {
                    self.elements_put(*body, container, wanted, found, depth);
                }
            }
        }
    }

    fn is_constructor(&self, called: MethodName) -> bool {
        called.name == self.program.roots.constructor
    }

    /// What one call puts into the container that it is on.
    fn elements_by(
        &self,
        method: MethodId,
        called: MethodName,
        arguments: &[Argument],
        wanted: ClassName,
        found: &mut Found,
        depth: usize,
    ) {
        let model = self.library.model(called);
        let puts = model.is_some_and(|model| model.access.writes());
        let skip = usize::from(!is_static(self.program, called, arguments));
        for (index, argument) in arguments.iter().enumerate().skip(1) {
            // `Arrays.setAll(threads, i -> new Thread(task))`
            let is_run = model.is_some_and(|model| model.runs.contains((index - skip) as u8));
            if is_run && self.is_made_by(method, argument, argument, wanted, found, depth) {
                continue;
            }
            if self.is_constructor(called) || self.is_container(&argument.objects) {
                self.elements(method, &argument.objects, wanted, found, depth);
            } else if puts {
                self.values(method, &argument.objects, wanted, found, depth);
            }
        }
    }
}
