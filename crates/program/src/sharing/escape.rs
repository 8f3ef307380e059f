//! Where objects go: which classes have objects that another thread may come to know.
//!
//! Values flow from where an object is made through parameters, results, fields and containers; a field is one place
//! for all objects that have it, and a container is one place with what it holds. An object is out when it gets to a
//! static field, to code that nobody sees, to a task that is started, or into a field of a class whose objects are out.

use location::ClassName;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

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

pub(super) struct Escapes {
    /// Where a value goes from each place, sorted.
    leads: Vec<(Place, Place)>,
    /// By class: where its objects are made.
    made: FxHashMap<ClassId, Vec<Place>>,
    /// Classes with objects that other threads may know, ancestors of such included.
    out: FxHashSet<ClassId>,
    /// By class: the field that alone holds its objects.
    owners: FxHashMap<ClassId, FieldId>,
}

impl Escapes {
    pub(super) fn of(program: &Program, calls: &Calls, outlines: &[Option<Outline>], threads: &Threads) -> Escapes {
        let found: Vec<Flows> = outlines
            .par_iter()
            .enumerate()
            .filter_map(|(method, outline)| Some((MethodId(method as u32), outline.as_ref()?)))
            .map(|(method, outline)| {
                let mut flows = Flows { program, calls, threads, method, outline, edges: Vec::new(), made: Vec::new() };
                flows.all();
                flows.edges.sort_unstable();
                flows.edges.dedup();
                flows
            })
            .collect();
        let mut leads: Vec<(Place, Place)> = Vec::with_capacity(found.iter().map(|flows| flows.edges.len()).sum());
        let mut made: FxHashMap<ClassId, Vec<Place>> = FxHashMap::default();
        let mut class_of: FxHashMap<Place, ClassId> = FxHashMap::default();
        for flows in &found {
            leads.extend(&flows.edges);
            for (place, class) in &flows.made {
                if let Some(class) = program.class(*class) {
                    let known = made.entry(class).or_default();
                    if class_of.insert(*place, class).is_none() {
                        known.push(*place);
                    }
                }
            }
        }
        leads.par_sort_unstable();
        let mut comes_from: Vec<(Place, Place)> = leads.iter().map(|(from, to)| (*to, *from)).collect();
        comes_from.par_sort_unstable();
        let mut escapes = Escapes { leads, made, out: FxHashSet::default(), owners: FxHashMap::default() };
        escapes.spread(program, threads, &comes_from, &class_of);
        let out: Vec<ClassId> = program.classes().filter(|class| escapes.out.contains(class)).collect();
        let owners: Vec<(ClassId, FieldId)> =
            out.par_iter().filter_map(|class| Some((*class, escapes.find_owner(program, calls, *class)?))).collect();
        escapes.owners = owners.into_iter().collect();
        escapes
    }

    fn spread(
        &mut self,
        program: &Program,
        threads: &Threads,
        comes_from: &[(Place, Place)],
        class_of: &FxHashMap<Place, ClassId>,
    ) {
        let mut pending = vec![Place::Outside];
        pending.extend(threads.open.iter().map(|method| Place::Result(*method)));
        let mut classes: Vec<ClassId> = Vec::new();
        for class in program.classes() {
            let header = program.header(class);
            let is_open = !threads.open.is_empty() && header.access.is_public();
            if is_open || !self.made.contains_key(&class) && !header.access.is_abstract() {
                classes.push(class);
            }
            let statics = header.fields.iter().zip(program.fields_of(class));
            pending.extend(statics.filter(|(field, _)| field.access.is_static()).map(|(_, id)| Place::Field(id)));
        }
        // Whoever calls a method has the object.
        let called = threads.open.iter().filter(|method| {
            let own = program.method(**method);
            !own.access.is_static() && program.names.text(own.name) != "<init>"
        });
        classes.extend(called.map(|method| program.class_of(*method)));
        // A task is known to the thread that runs it, and to the one that made it.
        let runs = threads.entries().iter().filter(|entry| entry.kind != EntryKind::Main);
        let runs = runs.filter_map(|entry| entry.method);
        let on_objects = runs.filter(|method| !program.method(*method).access.is_static());
        classes.extend(on_objects.map(|method| program.class_of(method)));
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        loop {
            while let Some(class) = classes.pop() {
                if self.out.insert(class) {
                    pending.extend(program.fields_of(class).map(Place::Field));
                    let header = program.header(class);
                    classes.extend(header.super_class.iter().filter_map(|parent| program.class(*parent)));
                }
            }
            let Some(place) = pending.pop() else { return };
            if seen.insert(place) {
                pending.extend(beside(comes_from, place));
                classes.extend(class_of.get(&place));
            }
        }
    }

    /// Whether no object of the class, or of one below it, gets to another thread.
    pub(super) fn is_confined(&self, class: ClassId) -> bool {
        !self.out.contains(&class)
    }

    /// The private field that alone holds all objects of a class, which only methods beside that field make.
    pub(super) fn owner(&self, class: ClassId) -> Option<FieldId> {
        self.owners.get(&class).copied()
    }

    fn find_owner(&self, program: &Program, calls: &Calls, class: ClassId) -> Option<FieldId> {
        if !calls.hierarchy.subtypes(class).is_empty() {
            return None;
        }
        let made = self.made.get(&class)?;
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
            pending.extend(beside(&self.leads, place));
        }
        let holder = holder.filter(|field| program.field(*field).access.is_private())?;
        let home = program.class_of_field(holder);
        let is_inside = |method: MethodId| program.class_of(method) == home;
        // Put there by the code that makes it: what comes by another way may be in two holders.
        let are_made_there = made.iter().all(|place| {
            matches!(place, Place::New(method, _) if is_inside(*method) && !program.method(*method).access.is_static())
                && beside(&self.leads, *place).any(|next| next == Place::Field(holder))
        });
        let is_stored_again = seen
            .iter()
            .filter(|place| !made.contains(place))
            .any(|place| beside(&self.leads, *place).any(|next| next == Place::Field(holder)));
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

struct Flows<'f> {
    program: &'f Program,
    calls: &'f Calls,
    threads: &'f Threads,
    method: MethodId,
    outline: &'f Outline,
    edges: Vec<(Place, Place)>,
    made: Vec<(Place, ClassName)>,
}

impl Flows<'_> {
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
                        places.push(self.threads.library.field(*field).map_or(Place::Outside, Place::Field));
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
        match (held_by(&self.threads.library, name), name.start) {
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
                if let Some(field) = self.threads.library.field(*field) {
                    self.edges.push((Place::Field(field), value));
                }
            }
            Action::Read { base, .. } => {
                let from = self.named(base);
                if from != Place::Outside {
                    self.edges.push((from, value));
                }
            }
            Action::Write { member, base, stored, .. } => {
                let from = self.places(&stored.objects);
                let to = match member {
                    Member::Field(field) | Member::Static(field) => {
                        self.threads.library.field(*field).map_or(Place::Outside, Place::Field)
                    }
                    _ => self.named(base),
                };
                self.flow(&from, to);
            }
            Action::Lambda { method, arguments } => {
                let body = self.calls.hierarchy.resolve_name(self.program, *method);
                let is_started = self.threads.started.contains(&At { method: self.method, event: id });
                if let Some(body) = body {
                    // Whoever runs it gets what it returns, and may keep it.
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
                let is_open = targets == Targets::Many || targets.known().iter().all(|target| !self.is_seen(*target));
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
            let Action::Lambda { method, arguments } = &self.outline.events[made.index()].action else { continue };
            let Some(body) = self.calls.hierarchy.resolve_name(self.program, *method) else { continue };
            let from = self.places(&receiver.objects);
            for position in arguments.len()..arguments.len() + 3 {
                self.flow(&from, Place::Parameter(body, position as u16));
            }
        }
    }
}
