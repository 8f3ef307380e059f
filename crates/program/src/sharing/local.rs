//! Who touches a local that tasks capture: followed from where the object comes from, through parameters, fields and the
//! lambdas that capture it.

use rustc_hash::FxHashSet;

use super::{FieldAccess, Part, Sharings};
use crate::class::{FieldId, MethodId};
use crate::model::{Returns, Target};
use crate::outline::{Action, Argument, EventId, Member, Name, Object, Objects, Outline, Start};
use crate::thread::{At, EntryId, held_by};

/// More places than this are not followed.
const MAX_PLACES: usize = 400;
/// More callers than this are not asked what they give.
const MAX_CALLERS: usize = 16;

/// Where a captured object goes.
#[derive(Default)]
pub(super) struct Ways {
    pub(super) accesses: Vec<FieldAccess>,
    /// Where it goes that nobody can follow.
    pub(super) leaks: Vec<FieldAccess>,
    seen: FxHashSet<(MethodId, Object)>,
    pending: Vec<(MethodId, Object)>,
}

impl Ways {
    fn go(&mut self, method: MethodId, object: Object) {
        if self.seen.len() < MAX_PLACES && self.seen.insert((method, object)) {
            self.pending.push((method, object));
        }
    }
}

impl Sharings<'_> {
    /// Where the object goes that a field stands for; none if it is a field of the source.
    pub(super) fn ways(self, field: FieldId) -> Option<Ways> {
        let origins = self.captured.origins(field);
        (!origins.is_empty()).then(|| self.ways_from(origins))
    }

    /// Who else touches what objects keep that they were given when they were made: the local that it was before, and
    /// other objects that were given the same one.
    pub(super) fn accesses_beside(self, field: FieldId, accesses: &[FieldAccess]) -> Vec<FieldAccess> {
        let access = self.program.field(field).access;
        if !access.is_final() || access.is_static() || !accesses.iter().any(|access| access.part == Part::Contents) {
            return Vec::new();
        }
        let mut origins = Vec::new();
        for write in accesses.iter().filter(|access| access.is_write && access.part == Part::Itself) {
            self.given_at_making(write.at, &mut origins);
        }
        let mut beside = self.ways_from(&origins).accesses;
        beside.retain(|access| !accesses.iter().any(|known| known.at == access.at));
        beside
    }

    /// The locals that are given to a constructor for what it stores.
    fn given_at_making(self, store: At, origins: &mut Vec<(MethodId, Object)>) {
        let outline = self.outlines.get(store.method);
        let Some(Action::Write { stored, .. }) = outline.map(|outline| &outline.events[store.event.index()].action)
        else {
            return;
        };
        let constructor = self.program.method_name(store.method);
        let [Object::Parameter(position)] = *stored.objects.as_slice() else { return };
        let callers = self.calls.callers(store.method);
        if constructor.name != self.program.roots.constructor || callers.len() > MAX_CALLERS {
            return;
        }
        self.outlines.make_here(callers);
        for caller in callers {
            let events = self.outlines.get(*caller).into_iter().flat_map(|outline| &outline.events);
            for event in events {
                if let Action::Call { method, arguments, .. } = &event.action
                    && *method == constructor
                    && let Some([made @ Object::New { .. }]) =
                        arguments.get(usize::from(position)).map(|argument| argument.objects.as_slice())
                    && !origins.contains(&(*caller, *made))
                {
                    origins.push((*caller, *made));
                }
            }
        }
    }

    fn ways_from(self, origins: &[(MethodId, Object)]) -> Ways {
        let mut ways = Ways::default();
        origins.iter().for_each(|(method, object)| ways.go(*method, *object));
        while let Some((method, object)) = ways.pending.pop() {
            if let Some(outline) = self.outlines.get(method) {
                self.follow(&mut ways, method, outline, object);
            }
        }
        for access in &mut ways.accesses {
            access.is_initial = origins.iter().any(|(method, object)| {
                *method == access.at.method && self.is_before_capture(*method, *object, access.at.event)
            });
        }
        ways.accesses.sort_by_key(|access| (access.at, access.is_write));
        ways
    }

    /// Whether many processes of an entry each make such an object for tasks of their own. Whether they wait for these is
    /// not known, so that what they do with it themselves is taken to be in order.
    pub fn is_home(self, field: FieldId, process: EntryId) -> bool {
        let origins = self.captured.origins(field);
        let is_made = |object: &Object| !matches!(object, Object::Parameter(_));
        !origins.is_empty()
            && self.threads.entry(process).many.is_some()
            && origins
                .iter()
                .all(|(method, object)| is_made(object) && self.threads.of_method(*method).contains(&process))
    }

    /// Whether only such processes do an access.
    pub(super) fn is_at_home(self, field: FieldId, access: &FieldAccess) -> bool {
        let by = self.threads.of_method(access.at.method);
        !by.is_empty() && by.iter().all(|process| self.is_home(field, *process))
    }

    /// Whether an event comes before anything else has the object: a lambda, or code that is given it.
    fn is_before_capture(self, method: MethodId, object: Object, event: EventId) -> bool {
        let Some(outline) = self.outlines.get(method) else { return false };
        let numbered = || (0..).map(EventId).zip(&outline.events);
        let makes = |(id, event): (EventId, &crate::outline::Event)| match (&event.action, object) {
            (Action::Call { method, arguments, .. }, Object::New { .. }) => {
                let is_it = self.program.names.text(method.name) == "<init>"
                    && arguments.first().is_some_and(|first| first.objects.as_slice() == [object]);
                is_it.then_some(id)
            }
            (_, Object::Event(call)) => (id == call).then_some(id),
            _ => None,
        };
        let made: Vec<EventId> = numbered().filter_map(makes).collect();
        let mut captures = numbered().filter(|(_, event)| match &event.action {
            Action::Lambda { arguments, .. } => arguments.iter().any(|argument| argument.objects.contains(&object)),
            Action::Call { method, arguments, .. } if self.threads.library.model(*method).is_none() => {
                arguments.iter().skip(1).any(|argument| argument.objects.contains(&object))
            }
            _ => false,
        });
        !captures.any(|(capture, _)| outline.leads_to(capture, event, &made))
    }

    fn follow(self, ways: &mut Ways, method: MethodId, outline: &Outline, object: Object) {
        let has = |objects: &Objects| objects.contains(&object);
        for (id, event) in (0..).map(EventId).zip(&outline.events) {
            let at = At { method, event: id };
            let access = |is_write| FieldAccess { at, is_write, part: Part::Contents, is_initial: false };
            match &event.action {
                Action::Read { base, member: Member::Elements, .. } if self.is_named(outline, base, object) => {
                    ways.accesses.push(access(false));
                }
                Action::Read { .. } | Action::Wait(_) => {}
                Action::Write { base, member, stored, .. } => {
                    if *member == Member::Elements && self.is_named(outline, base, object) {
                        ways.accesses.push(access(true));
                    }
                    if has(&stored.objects) && !self.follow_field(ways, *member) {
                        ways.leaks.push(access(true));
                    }
                }
                Action::Lambda { method: made, arguments, .. } => {
                    if let Some(body) = self.calls.hierarchy.resolve_name(self.program, *made) {
                        self.pass_on(ways, body, arguments, object);
                    }
                }
                Action::Call { kind, method: called, arguments } => {
                    if !arguments.iter().any(|argument| has(&argument.objects)) {
                        continue;
                    }
                    let Some(model) = self.threads.library.model(*called) else {
                        let targets = self.calls.targets(self.program, *kind, *called);
                        targets.known().iter().for_each(|target| self.pass_on(ways, *target, arguments, object));
                        if targets.known().is_empty() && !self.is_made_by_call(*called, arguments, object) {
                            ways.leaks.push(access(true));
                        }
                        continue;
                    };
                    let is_static = crate::thread::is_static(self.program, *called, arguments);
                    let given = &arguments[usize::from(!is_static).min(arguments.len())..];
                    for effect in model.effects() {
                        let touched = match effect.target {
                            Target::Receiver | Target::Viewed | Target::Named => {
                                arguments.first().filter(|_| !is_static)
                            }
                            Target::Argument(index) => given.get(usize::from(index)),
                        };
                        if touched.is_some_and(|touched| has(&touched.objects)) {
                            if effect.access.reads() {
                                ways.accesses.push(access(false));
                            }
                            if effect.access.writes() {
                                ways.accesses.push(access(true));
                            }
                        }
                    }
                    if matches!(model.returns, Returns::View(_) | Returns::Receiver) {
                        ways.go(method, Object::Event(id));
                    }
                    let puts = model.access.writes() || self.program.names.text(called.name) == "<init>";
                    if puts && given.iter().any(|argument| has(&argument.objects)) {
                        ways.leaks.push(access(true));
                    }
                }
            }
        }
        if has(&outline.returned) {
            let at = At { method, event: EventId(0) };
            ways.leaks.push(FieldAccess { at, is_write: true, part: Part::Contents, is_initial: false });
        }
    }

    fn pass_on(self, ways: &mut Ways, target: MethodId, arguments: &[Argument], object: Object) {
        for (position, argument) in (0u16..).zip(arguments) {
            if argument.objects.contains(&object) {
                ways.go(target, Object::Parameter(position));
            }
        }
    }

    /// What reads a field that an object is stored to gets the object; tells whether all of these are known.
    fn follow_field(self, ways: &mut Ways, member: Member) -> bool {
        let (Member::Field(name) | Member::Static(name)) = member else { return false };
        let Some(field) = self.program.real_field(name) else { return false };
        let users = self.calls.users(field);
        self.outlines.make_here(users);
        for user in users {
            let events =
                self.outlines.get(*user).into_iter().flat_map(|outline| (0..).map(EventId).zip(&outline.events));
            for (id, event) in events {
                match &event.action {
                    Action::Read { member: Member::Field(read) | Member::Static(read), .. }
                        if self.program.real_field(*read) == Some(field) =>
                    {
                        ways.go(*user, Object::Event(id));
                    }
                    _ => {}
                }
            }
        }
        let access = self.program.field(field).access;
        access.is_private() || access.is_final() && access.is_synthetic()
    }

    /// Whether a call of a constructor that nobody sees makes the object itself.
    fn is_made_by_call(self, called: location::MethodName, arguments: &[Argument], object: Object) -> bool {
        let has = |argument: &Argument| argument.objects.contains(&object);
        self.program.names.text(called.name) == "<init>" && !arguments.iter().skip(1).any(has)
    }

    fn is_named(self, outline: &Outline, name: &Name, object: Object) -> bool {
        let is_whole = name.steps.is_empty();
        match object {
            Object::New { register, .. } => is_whole && name.start == Start::New(register),
            Object::Parameter(position) => is_whole && name.start == Start::Parameter(position),
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    let read = self.program.real_field(*field);
                    read.is_some() && held_by(self.program, name) == read
                }
                _ => is_whole && name.start == Start::Result(event),
            },
            Object::Int(_) | Object::Unknown => false,
        }
    }
}
