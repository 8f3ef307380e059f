//! Containers that several fields have: what one object keeps in a final field, others have got from it, or were given, too.
//! `this.perches = aviary.perches();` in two classes makes one list of three fields.
//!
//! Fields of one class are not told apart by their objects.

use crate::class::{FieldId, MethodId, Program};
use crate::outline::{Action, Argument, EventId, Member, Object};
use crate::whole::Whole;

/// What is passed on more often than this is not followed.
const MAX_DEPTH: usize = 4;

/// Where a container comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// It is made by an instruction or call of a method.
    Made(MethodId, Object),
    Field(FieldId),
}

impl Whole<'_> {
    /// Other final fields that have the same container. Only where all threads are known: who else has it is for others to
    /// know else.
    pub fn also_in(&self, field: FieldId) -> Vec<FieldId> {
        let program = self.program;
        if self.is_large() || !self.threads().has_closed || !is_kept(program, field) {
            return Vec::new();
        }
        let sources = self.sources_of(field);
        let fields = program.classes().flat_map(|class| program.fields_of(class));
        let others = fields.filter(|other| *other != field && is_kept(program, *other));
        others.filter(|other| self.sources_of(*other).iter().any(|source| sources.contains(source))).collect()
    }

    fn sources_of(&self, field: FieldId) -> Vec<Source> {
        let mut found = Vec::new();
        self.add_sources(field, MAX_DEPTH, &mut found);
        found
    }

    fn add_sources(&self, field: FieldId, depth: usize, found: &mut Vec<Source>) {
        if found.contains(&Source::Field(field)) {
            return;
        }
        found.push(Source::Field(field));
        for method in self.program.methods_of(self.program.class_of_field(field)) {
            for event in self.outlines().get(method).into_iter().flat_map(|outline| &outline.events) {
                let Action::Write { member: Member::Field(written) | Member::Static(written), stored, .. } =
                    &event.action
                else {
                    continue;
                };
                if self.program.resolve_field(*written) == Some(field) {
                    self.add_objects(method, &stored.objects, depth, found);
                }
            }
        }
    }

    fn add_objects(&self, method: MethodId, objects: &[Object], depth: usize, found: &mut Vec<Source>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for object in objects {
            match *object {
                Object::New { .. } => found.push(Source::Made(method, *object)),
                Object::Event(event) => self.add_yielded(method, event, depth, found),
                Object::Parameter(position) => {
                    for (caller, given) in self.given_for(method, position) {
                        self.add_objects(caller, &given.objects, depth, found);
                    }
                }
                Object::Int(_) | Object::Unknown => {}
            }
        }
    }

    /// What is read, what a getter has read, or what a call makes.
    fn add_yielded(&self, method: MethodId, event: EventId, depth: usize, found: &mut Vec<Source>) {
        let Some(outline) = self.outlines().get(method) else { return };
        let (kind, called, arguments) = match &outline.events[event.index()].action {
            Action::Read { member: Member::Field(read) | Member::Static(read), .. } => {
                let field = self.program.resolve_field(*read).filter(|field| is_kept(self.program, *field));
                field.into_iter().for_each(|field| self.add_sources(field, depth, found));
                return;
            }
            Action::Call { kind, method: called, arguments } => (*kind, *called, arguments),
            _ => return,
        };
        found.push(Source::Made(method, Object::Event(event)));
        for target in self.calls.targets(self.program, kind, called).known() {
            let Some(inner) = self.outlines().get(*target) else { continue };
            for object in &inner.returned {
                match *object {
                    Object::Parameter(position) => {
                        let given = arguments.get(usize::from(position));
                        given.into_iter().for_each(|given| self.add_objects(method, &given.objects, depth, found));
                    }
                    Object::Event(read) if matches!(inner.events[read.index()].action, Action::Read { .. }) => {
                        self.add_yielded(*target, read, depth, found);
                    }
                    // What a method makes is another one each time.
                    _ => {}
                }
            }
        }
    }

    /// What callers give for a parameter.
    fn given_for(&self, method: MethodId, position: u16) -> Vec<(MethodId, &Argument)> {
        let mut given = Vec::new();
        for caller in self.calls.callers(method) {
            for event in self.outlines().get(*caller).into_iter().flat_map(|outline| &outline.events) {
                match &event.action {
                    Action::Call { kind, method: called, arguments }
                        if self.calls.targets(self.program, *kind, *called).known().contains(&method) =>
                    {
                        given.extend(arguments.get(usize::from(position)).map(|argument| (*caller, argument)));
                    }
                    _ => {}
                }
            }
        }
        given
    }
}

/// Whether a field keeps a container of the library for good.
fn is_kept(program: &Program, field: FieldId) -> bool {
    let declared = program.field(field);
    let descriptor = program.names.text(declared.descriptor);
    declared.access.is_final() && descriptor.starts_with("Ljava/util/")
}
