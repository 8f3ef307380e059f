//! Where objects go: which classes have objects that another thread may come to know.
//!
//! Values flow from where an object is made through parameters, results, fields and containers; a field is one place
//! for all objects that have it, and a container is one place with what it holds. An object is out when it gets to a
//! static field, to code that nobody sees, to a task that is started, or into a field of a class whose objects are out.

use location::ClassName;
use rustc_hash::FxHashSet;

use super::Sharings;
use crate::calls::{Calls, Targets};
use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::model::Returns;
use crate::outline::{Action, Argument, EventId, Member, Name, Object, Objects, Outline, Start};
use crate::thread::{At, EntryKind, Threads, held_by};

/// More places than this are not followed from one class.
const MAX_PLACES: usize = 4_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Place {
    Outside,
    Field(FieldId),
    /// What a method returns.
    Result(MethodId),
    Parameter(MethodId, u16),
    /// What an event yields.
    Event(MethodId, EventId),
    /// What an instruction makes.
    New(MethodId, u32),
}

/// Where objects go in one method.
pub(super) struct Flows {
    /// Where a value goes from each place, sorted.
    leads: Vec<(Place, Place)>,
    /// What it makes, each once.
    made: Vec<(Place, ClassId)>,
}

impl<'s> Sharings<'s> {
    fn flows(self, method: MethodId) -> &'s Flows {
        self.answers.flows[method.index()].get_or_init(|| {
            let Some(outline) = self.outlines.get(method) else {
                return Box::new(Flows { leads: Vec::new(), made: Vec::new() });
            };
            let (program, calls, threads) = (self.program, self.calls, self.threads);
            let mut following =
                Following { program, calls, threads, method, outline, edges: Vec::new(), made: Vec::new() };
            following.all();
            let Following { edges: mut leads, made, .. } = following;
            leads.sort_unstable();
            leads.dedup();
            let mut made: Vec<(Place, ClassId)> =
                made.into_iter().filter_map(|(place, class)| Some((place, program.class(class)?))).collect();
            made.sort_unstable();
            made.dedup_by_key(|(place, _)| *place);
            Box::new(Flows { leads, made })
        })
    }

    /// Tells each place that a value gets to from a place.
    fn each_lead(self, place: Place, mut tell: impl FnMut(Place)) {
        let mut from = |method: MethodId| beside(&self.flows(method).leads, place).for_each(&mut tell);
        match place {
            Place::Outside => {}
            Place::Field(field) => {
                let users = self.calls.users(field);
                self.outlines.make_here(users);
                users.iter().for_each(|method| from(*method));
            }
            Place::Result(method) => {
                let callers = self.calls.callers(method);
                self.outlines.make_here(callers);
                callers.iter().for_each(|caller| from(*caller));
            }
            Place::Parameter(method, _) | Place::Event(method, _) | Place::New(method, _) => from(method),
        }
    }

    /// Where objects of exactly this class are made, each place once.
    fn made(self, class: ClassId) -> Vec<Place> {
        let constructor = self.program.names.intern("<init>");
        let mut made = Vec::new();
        for method in self.program.methods_of(class).filter(|method| self.program.method(*method).name == constructor) {
            self.outlines.make_here(self.calls.callers(method));
            for caller in self.calls.callers(method) {
                let all = self.flows(*caller).made.iter();
                made.extend(all.filter(|(_, of)| *of == class).map(|(place, _)| *place));
            }
        }
        made.sort_unstable();
        made.dedup();
        made
    }

    /// Whether other threads know objects of a class without anybody handing them over.
    fn is_known_outside(self, class: ClassId) -> bool {
        let (program, threads) = (self.program, self.threads);
        let is_open = !threads.open.is_empty() && program.header(class).access.is_public();
        if program.is_checked(class) && is_open {
            return true;
        }
        let known = self.answers.known.get_or_init(|| {
            // Whoever calls a method has the object.
            let called = threads.open.iter().copied().filter(|method| {
                let own = program.method(*method);
                !own.access.is_static() && program.names.text(own.name) != "<init>"
            });
            // A task is known to the thread that runs it, and to the one that made it.
            let runs = threads.entries().iter().filter(|entry| entry.kind != EntryKind::Main);
            let runs = runs.filter_map(|entry| entry.method);
            let on_objects = runs.filter(|method| !program.method(*method).access.is_static());
            called.chain(on_objects).map(|method| program.class_of(method)).collect()
        });
        known.contains(&class)
    }

    /// Whether no object of the class, or of one below it, gets to another thread.
    pub(super) fn is_confined(self, class: ClassId) -> bool {
        let slot = &self.answers.is_out[class.0 as usize];
        if let Some(is_out) = slot.get() {
            return !is_out;
        }
        let (is_out, classes) = self.gets_out(class);
        if !is_out {
            // Nothing that was looked at on the way is out, either.
            classes.into_iter().for_each(|class| {
                let _ = self.answers.is_out[class.0 as usize].set(false);
            });
        }
        let _ = slot.set(is_out);
        !is_out
    }

    /// Whether objects of a class get out, and the classes that were looked at.
    fn gets_out(self, class: ClassId) -> (bool, FxHashSet<ClassId>) {
        let mut classes: FxHashSet<ClassId> = FxHashSet::default();
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let (mut open, mut pending) = (vec![class], Vec::new());
        loop {
            while let Some(class) = open.pop() {
                match self.answers.is_out[class.0 as usize].get() {
                    Some(true) => return (true, classes),
                    Some(false) => continue,
                    None if !classes.insert(class) => continue,
                    None => {}
                }
                // Where objects are made is asked last: that looks into many methods.
                if self.is_known_outside(class) {
                    return (true, classes);
                }
                let made = self.made(class);
                let is_abstract = self.program.header(class).access.is_abstract();
                if made.is_empty() && self.program.is_checked(class) && !is_abstract {
                    return (true, classes);
                }
                pending.extend(made);
                let name = self.program.header(class).name;
                let below = self.calls.hierarchy.subtypes(class).iter().copied();
                open.extend(below.filter(|below| self.program.header(*below).super_class == Some(name)));
            }
            let Some(place) = pending.pop() else { return (false, classes) };
            if !seen.insert(place) {
                continue;
            }
            match place {
                Place::Outside => return (true, classes),
                Place::Result(method) if self.threads.open.binary_search(&method).is_ok() => return (true, classes),
                Place::Field(field) if self.program.field(field).access.is_static() => return (true, classes),
                // Whoever has the object has what it holds.
                Place::Field(field) => open.push(self.program.class_of_field(field)),
                _ => {}
            }
            self.each_lead(place, |next| pending.push(next));
        }
    }

    /// The private field that alone holds all objects of a class, which only methods beside that field make.
    pub(super) fn owner(self, class: ClassId) -> Option<FieldId> {
        if !self.program.is_checked(class) {
            return None;
        }
        *self.answers.owners[class.0 as usize].get_or_init(|| self.find_owner(class))
    }

    fn find_owner(self, class: ClassId) -> Option<FieldId> {
        let program = self.program;
        if !self.calls.hierarchy.subtypes(class).is_empty() {
            return None;
        }
        let made = self.made(class);
        if made.is_empty() {
            return None;
        }
        let mut holder: Option<FieldId> = None;
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let mut results: Vec<MethodId> = Vec::new();
        let mut pending = made.clone();
        while let Some(place) = pending.pop() {
            if !seen.insert(place) {
                continue;
            }
            if seen.len() > MAX_PLACES {
                return None;
            }
            match place {
                Place::Outside => return None,
                // What an object keeps of itself is its own.
                Place::Field(field) if program.class_of_field(field) == class => {}
                Place::Field(field) if holder.is_none_or(|known| known == field) => holder = Some(field),
                Place::Field(_) => return None,
                Place::Result(method) => results.push(method),
                _ => {}
            }
            self.each_lead(place, |next| pending.push(next));
        }
        let holder = holder.filter(|field| program.field(*field).access.is_private())?;
        let home = program.class_of_field(holder);
        let is_inside = |method: MethodId| program.class_of(method) == home;
        let is_put = |place: Place| {
            let mut is_put = false;
            self.each_lead(place, |next| is_put |= next == Place::Field(holder));
            is_put
        };
        // Put there by the code that makes it: what comes by another way may be in two holders.
        let are_made_there = made.iter().all(|place| {
            matches!(place, Place::New(method, _) if is_inside(*method) && !program.method(*method).access.is_static())
                && is_put(*place)
        });
        let is_stored_again = seen.iter().filter(|place| !made.contains(place)).any(|place| is_put(*place));
        let are_kept = results.iter().all(|method| {
            program.class_of(*method) == class || is_inside(*method) && program.method(*method).access.is_private()
        });
        (are_made_there && are_kept && !is_stored_again).then_some(holder)
    }
}

/// The second places of all pairs that begin with a place.
fn beside(pairs: &[(Place, Place)], place: Place) -> impl Iterator<Item = Place> {
    let start = pairs.partition_point(|(first, _)| *first < place);
    pairs[start..].iter().take_while(move |(first, _)| *first == place).map(|(_, second)| *second)
}

struct Following<'f> {
    program: &'f Program,
    calls: &'f Calls,
    threads: &'f Threads,
    method: MethodId,
    outline: &'f Outline,
    edges: Vec<(Place, Place)>,
    made: Vec<(Place, ClassName)>,
}

impl Following<'_> {
    fn all(&mut self) {
        for index in 0..self.outline.events.len() {
            self.event(EventId(index as u32));
        }
        let returned = self.places(&self.outline.returned);
        self.flow(&returned, Place::Result(self.method));
    }

    fn flow(&mut self, from: &[Place], to: Place) {
        self.edges.extend(from.iter().map(|from| (*from, to)));
    }

    fn places(&mut self, objects: &Objects) -> Vec<Place> {
        let mut places = Vec::with_capacity(objects.len());
        for object in objects {
            places.push(match *object {
                Object::Parameter(position) => Place::Parameter(self.method, position),
                Object::New { register, class } => {
                    let place = Place::New(self.method, register);
                    self.made.push((place, class));
                    place
                }
                Object::Event(event) => Place::Event(self.method, event),
                Object::Int(_) | Object::Unknown => continue,
            });
        }
        places
    }

    /// Where something goes that is put into an object.
    fn containers(&mut self, objects: &Objects) -> Vec<Place> {
        let mut places = Vec::new();
        for object in objects {
            match *object {
                Object::Event(event) => match &self.outline.events[event.index()].action {
                    Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                        places.push(self.program.real_field(*field).map_or(Place::Outside, Place::Field));
                    }
                    _ => places.push(Place::Outside),
                },
                Object::New { register, .. } => places.push(Place::New(self.method, register)),
                Object::Parameter(_) | Object::Unknown => places.push(Place::Outside),
                Object::Int(_) => {}
            }
        }
        places
    }

    fn named(&self, name: &Name) -> Place {
        match (held_by(self.program, name), name.start) {
            (Some(field), _) => Place::Field(field),
            (None, Start::New(register)) if name.steps.is_empty() => Place::New(self.method, register),
            _ => Place::Outside,
        }
    }

    fn event(&mut self, id: EventId) {
        let outline = self.outline;
        let value = Place::Event(self.method, id);
        match &outline.events[id.index()].action {
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                if let Some(field) = self.program.real_field(*field) {
                    self.edges.push((Place::Field(field), value));
                }
            }
            Action::Read { base, .. } => {
                let from = match (base.start, base.steps.is_empty()) {
                    (Start::Parameter(position), true) => Place::Parameter(self.method, position),
                    (Start::Result(event), true) => Place::Event(self.method, event),
                    _ => self.named(base),
                };
                if from != Place::Outside {
                    self.edges.push((from, value));
                }
            }
            Action::Write { member, base, stored, .. } => {
                let from = self.places(&stored.objects);
                let to = match member {
                    Member::Field(field) | Member::Static(field) => {
                        self.program.real_field(*field).map_or(Place::Outside, Place::Field)
                    }
                    _ => self.named(base),
                };
                self.flow(&from, to);
            }
            Action::Lambda { method, arguments, .. } => {
                let body = self.calls.hierarchy.resolve_name(self.program, *method);
                let is_started = self.threads.started.contains(&At { method: self.method, event: id });
                // Whoever runs it gets what it returns, and may keep it.
                if self.program.names.text(method.name) == "<init>" {
                    self.made.push((value, method.class));
                } else if let Some(body) = body {
                    self.edges.push((Place::Result(body), value));
                    self.edges.push((Place::Result(body), Place::Outside));
                }
                for (position, argument) in arguments.iter().enumerate() {
                    let from = self.places(&argument.objects);
                    self.flow(&from, value);
                    if let Some(body) = body {
                        self.flow(&from, Place::Parameter(body, position as u16));
                    }
                    if is_started {
                        self.flow(&from, Place::Outside);
                    }
                }
            }
            Action::Call { kind, method, arguments } => {
                if self.threads.library.model(*method).is_some() {
                    return self.library_call(id, *method, arguments);
                }
                let targets = self.calls.targets(self.program, *kind, *method);
                let is_maker = self.program.names.text(method.name) == "<init>";
                let is_open = *targets == Targets::Many || targets.known().iter().all(|target| !self.is_seen(*target));
                for (position, argument) in arguments.iter().enumerate() {
                    let from = self.places(&argument.objects);
                    for target in targets.known() {
                        self.flow(&from, Place::Parameter(*target, position as u16));
                    }
                    if is_open && !(is_maker && position == 0) {
                        self.flow(&from, Place::Outside);
                    }
                }
                for target in targets.known() {
                    self.edges.push((Place::Result(*target), value));
                }
            }
            Action::Wait(_) => {}
        }
    }

    fn is_seen(&self, method: MethodId) -> bool {
        crate::library::is_checked_code(self.program, method)
    }

    fn library_call(&mut self, id: EventId, method: location::MethodName, arguments: &[Argument]) {
        let Some(model) = self.threads.library.model(method) else { return };
        let value = Place::Event(self.method, id);
        let is_maker = self.program.names.text(method.name) == "<init>";
        for (index, argument) in arguments.iter().enumerate() {
            let from = self.places(&argument.objects);
            if from.is_empty() {
                continue;
            }
            if model.starts.is_some() {
                self.flow(&from, Place::Outside);
            }
            if index > 0 && (model.access.writes() || model.wraps.is_some() || is_maker) {
                for to in self.containers(&arguments[0].objects) {
                    self.flow(&from, to);
                }
            }
            let skip = usize::from(!crate::thread::is_static(self.program, method, arguments));
            for filled in model.writes_arguments.iter().map(|filled| usize::from(filled) + skip) {
                if filled != index
                    && let Some(filled) = arguments.get(filled)
                {
                    for to in self.containers(&filled.objects) {
                        self.flow(&from, to);
                    }
                }
            }
            if model.returns != Returns::Unrelated || model.wraps.is_some() {
                self.flow(&from, value);
            }
            // Functions that run here get elements of the receiver.
            if model.runs.contains((index.saturating_sub(1)) as u8) {
                self.elements_into(&argument.objects, &arguments[0]);
            }
        }
    }

    fn elements_into(&mut self, functions: &Objects, receiver: &Argument) {
        for object in functions {
            let Object::Event(made) = *object else { continue };
            let Action::Lambda { method, arguments, .. } = &self.outline.events[made.index()].action else { continue };
            let Some(body) = self.calls.hierarchy.resolve_name(self.program, *method) else { continue };
            let from = self.places(&receiver.objects);
            for position in arguments.len()..arguments.len() + 3 {
                self.flow(&from, Place::Parameter(body, position as u16));
            }
        }
    }
}
