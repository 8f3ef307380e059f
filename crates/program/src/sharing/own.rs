//! Tasks that keep to themselves: each process has an object of its own and touches its fields through `this` alone.

use classfile::CallKind;
use location::MethodName;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{FieldAccess, Part, Sharings};
use crate::class::{FieldId, MethodId};
use crate::model::Instances;
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Object, Start};
use crate::thread::{At, Entry, EntryId, EntryKind, Many, StartSite};

/// A task, and the parameters by which each process has objects of its own: itself, or what a lambda captured.
struct Own {
    run: MethodId,
    positions: SmallVec<[u16; 2]>,
}

impl<'s> Sharings<'s> {
    /// The entry whose processes each touch a field of an object of their own, if that is all; accesses of others count
    /// only where they are ordered.
    pub(super) fn own_task(self, accesses: &[FieldAccess]) -> Option<EntryId> {
        self.processes(accesses).into_iter().find(|id| self.are_own(*id, accesses, |_, _| false))
    }

    /// Whether accesses are each process's of an entry to what is its own, or ordered, or do not matter.
    fn are_own(
        self,
        id: EntryId,
        accesses: &[FieldAccess],
        is_harmless: impl Fn(&FieldAccess, EntryId) -> bool,
    ) -> bool {
        let Some(own) = self.own(id) else { return false };
        let is_own = |access: &FieldAccess, process: EntryId| {
            let position = self.parameter(access);
            position.is_some_and(|position| {
                self.is_own(access.at.method, position, &own, process, &mut FxHashSet::default())
            })
        };
        accesses.iter().all(|access| {
            self.threads.of_method(access.at.method).iter().all(|process| {
                is_harmless(access, *process)
                    || is_own(access, *process)
                    || self.threads.ordered(self.outlines, *process, access.at, id).is_some()
            })
        })
    }

    /// The objects that each process of an entry has for itself.
    fn own(self, id: EntryId) -> Option<Own> {
        let entry = self.threads.entry(id);
        let run = entry.method.filter(|_| entry.kind != EntryKind::Main)?;
        let positions = if !entry.lambdas.is_empty() {
            self.captured(entry)
        } else if !self.program.method(run).access.is_static() && self.has_own_objects(id) {
            SmallVec::from_slice(&[0])
        } else {
            SmallVec::new()
        };
        (!positions.is_empty()).then_some(Own { run, positions })
    }

    /// Whether each process touches the field of its own object alone, or in order with the others.
    pub fn is_of_task(self, field: FieldId) -> bool {
        let accesses = self.accesses(field).iter().filter(|access| !access.is_initial && access.part == Part::Itself);
        self.own_task(&accesses.copied().collect::<Vec<_>>()).is_some()
    }

    /// Whether each process of an entry writes the field, or what it holds, of its own object alone, and nobody else
    /// writes it at the same time: others may look. Its own looks are at its own object, too.
    pub fn is_written_by_own_task(self, field: FieldId, part: Part, process: EntryId) -> bool {
        let is_asked = |access: &&FieldAccess| {
            access.part == part
                && !access.is_initial
                && (access.is_write || self.threads.of_method(access.at.method).contains(&process))
        };
        let accesses: Vec<FieldAccess> = self.accesses(field).iter().filter(is_asked).copied().collect();
        self.are_own(process, &accesses, |access, by| !access.is_write && by != process)
    }

    /// Whether no two processes of an entry run on one object.
    pub(crate) fn has_own_objects(self, id: EntryId) -> bool {
        let entry = self.threads.entry(id);
        if entry.many.is_none() {
            return true;
        }
        // Nobody here makes what a framework calls.
        if entry.sites.is_empty() {
            return entry.made == Instances::Each;
        }
        let mut seen = FxHashSet::default();
        entry.objects.len() >= entry.sites.len()
            && entry.objects.iter().all(|object| {
                let Some((method, register)) = *object else { return false };
                let in_loop = |wanted: &dyn Fn(&Action) -> bool| {
                    let events = self.outlines.get(method).into_iter().flat_map(|outline| &outline.events);
                    events.into_iter().any(|event| event.in_loop && wanted(&event.action))
                };
                let is_made_in_loop = in_loop(&|action| {
                    matches!(action, Action::Call { method, arguments, .. }
                        if self.program.names.text(method.name) == "<init>"
                            && arguments.first().is_some_and(|first| first.objects.iter().any(
                                |object| matches!(object, Object::New { register: made, .. } if *made == register))))
                });
                let is_started_in_loop = entry.sites.iter().any(|site| {
                    site.at.method == method
                        && self
                            .outlines
                            .get(method)
                            .and_then(|outline| outline.events.get(site.at.event.index()))
                            .is_some_and(|event| event.in_loop)
                });
                // A task that is made once and started in a loop over others is one of several there.
                let is_each_once = !is_started_in_loop || is_made_in_loop || entry.objects.len() > entry.sites.len();
                // `invokeAll(Collections.nCopies(3, task))`: one call starts one object several times.
                let is_one_for_all = entry.many == Some(Many::AtOnce)
                    && entry.objects.len() == 1
                    && !is_made_in_loop
                    && !self.program.is_lambda(self.program.method_name(method));
                seen.insert((method, register))
                    && is_each_once
                    && !is_one_for_all
                    && self.is_started_once(entry, method, register)
            })
    }

    /// Whether the method that makes a task gives it to one thread, or starts it itself, once each time that it is made.
    fn is_started_once(self, entry: &Entry, method: MethodId, register: u32) -> bool {
        let Some(outline) = self.outlines.get(method) else { return false };
        let is_it = |argument: &Argument| {
            argument
                .objects
                .iter()
                .any(|object| matches!(object, Object::New { register: made, .. } if *made == register))
        };
        let (mut made, mut given) = (None, Vec::new());
        for (index, event) in outline.events.iter().enumerate() {
            let Action::Call { method: called, arguments, .. } = &event.action else { continue };
            let at = At { method, event: EventId(index as u32) };
            if called.name == self.program.roots.constructor && arguments.first().is_some_and(is_it) {
                made = Some(event.block as usize);
            } else if arguments.iter().any(is_it)
                && (self.is_thread_made(*called) || entry.sites.iter().any(|site| site.at == at))
            {
                given.push(event.block as usize);
            }
        }
        match (made, given.as_slice()) {
            (_, []) => true,
            (Some(made), [given]) => !outline.comes_back(*given, made),
            _ => false,
        }
    }

    /// Whether a call is of a constructor of a thread.
    fn is_thread_made(self, called: MethodName) -> bool {
        let thread = self.program.names.class("java/lang/Thread");
        called.name == self.program.roots.constructor
            && (called.class == thread || self.program.is_subtype(called.class, thread))
    }

    /// The parameters by which each process has what a lambda captured for itself.
    fn captured(self, entry: &Entry) -> SmallVec<[u16; 2]> {
        let captured = |at: At| match self.event(at).map(|event| &event.action) {
            Some(Action::Lambda { arguments, .. }) => arguments.as_slice(),
            _ => &[],
        };
        if entry.objects.iter().any(Option::is_some) {
            return SmallVec::new();
        }
        let count = entry.lambdas.iter().map(|lambda| captured(*lambda).len()).min().unwrap_or_default();
        let is_own = |position: &u16| {
            let mut seen = FxHashSet::default();
            entry.many.is_none()
                || entry.lambdas.iter().all(|lambda| {
                    let objects = captured(*lambda)[usize::from(*position)].objects.as_slice();
                    matches!(objects, [Object::New { register, .. }]
                        if seen.insert((lambda.method, *register)) && self.is_made_for(*lambda, *register))
                })
        };
        // One that is started at two places, as by a helper that it is given to, runs twice with what it has.
        let is_each_once = entry.many.is_none()
            || entry.lambdas.len() >= entry.sites.len()
                && entry.lambdas.iter().all(|lambda| self.is_run_once(*lambda, entry));
        (0..count as u16).filter(|_| is_each_once).filter(is_own).collect()
    }

    /// Whether what a lambda captures was made for it, and each process that runs the lambda has one that no other has.
    pub(crate) fn is_captured_alone(self, lambda: At, position: u16) -> bool {
        let Some(Action::Lambda { method, arguments, .. }) = self.event(lambda).map(|event| &event.action) else {
            return false;
        };
        let mut entries =
            self.threads.entries().iter().enumerate().filter(|(_, entry)| entry.lambdas.contains(&lambda));
        let (Some((index, entry)), None) = (entries.next(), entries.next()) else { return false };
        let is_own = self.own(EntryId(index as u32)).is_some_and(|own| own.positions.contains(&position));
        let is_run = |body: &MethodId| entry.method == Some(*body);
        let captured = arguments.get(usize::from(position)).map(|captured| captured.objects.as_slice());
        is_own
            && self.calls.lambda_targets(self.program, *method).known().iter().all(is_run)
            && matches!(captured, Some([made @ Object::New { .. }])
                if self.given_to(lambda.method, *made) == Some(lambda.event)
                    && !self.is_used_after(lambda, *made))
    }

    /// Whether the method that gives an object away goes on to use it itself, other than in order with all that may have it
    /// then.
    fn is_used_after(self, given: At, object: Object) -> bool {
        let Some(outline) = self.outlines.get(given.method) else { return true };
        let by = self.threads.of_method(given.method);
        let is_ordered = |event: EventId| {
            let at = At { event, ..given };
            let mut others = (0..self.threads.entries().len() as u32).map(EntryId).filter(|other| !by.contains(other));
            others.all(|other| by.iter().all(|by| self.threads.ordered(self.outlines, *by, at, other).is_some()))
        };
        let is_it = |name: &Name| match (object, name.start) {
            (Object::New { register, .. }, Start::New(made)) => register == made,
            _ => false,
        };
        let events = || outline.events.iter().enumerate().map(|(index, event)| (EventId(index as u32), event));
        // In the next round it is another one.
        let is_making = |event: &Event| {
            matches!(&event.action, Action::Call { method, arguments, .. }
                if method.name == self.program.roots.constructor
                    && arguments.first().is_some_and(|first| first.objects.contains(&object)))
        };
        let made: SmallVec<[EventId; 1]> =
            events().filter(|(_, what)| is_making(what)).map(|(event, _)| event).collect();
        events().filter(|(event, _)| *event != given.event && !made.contains(event)).any(|(event, what)| {
            let is_use = match &what.action {
                Action::Call { arguments, .. } => {
                    arguments.first().is_some_and(|first| first.objects.contains(&object))
                }
                Action::Read { base, .. } | Action::Write { base, .. } => is_it(base),
                Action::Lambda { .. } | Action::Wait(_) => false,
            };
            is_use && outline.leads_to(given.event, event, &made) && !is_ordered(event)
        })
    }

    fn event(self, at: At) -> Option<&'s Event> {
        self.outlines.get(at.method)?.events.get(at.event.index())
    }

    /// Whether a lambda captures another object each time that it is made.
    fn is_made_for(self, lambda: At, register: u32) -> bool {
        let Some(outline) = self.outlines.get(lambda.method) else { return false };
        let made = outline.events.iter().find(|event| {
            matches!(&event.action, Action::Call { method, arguments, .. }
            if self.program.names.text(method.name) == "<init>"
                && arguments.first().is_some_and(|first| {
                    matches!(first.objects.as_slice(), [Object::New { register: made, .. }] if *made == register)
                }))
        });
        let block = outline.events[lambda.event.index()].block as usize;
        made.is_some_and(|made| !outline.comes_back(block, made.block as usize))
    }

    /// Whether a lambda is given to one call alone, once each time that it is made, and started by that once.
    pub(crate) fn is_run_once(self, lambda: At, entry: &Entry) -> bool {
        let Some(outline) = self.outlines.get(lambda.method) else { return false };
        let has = |argument: &Argument| argument.objects.contains(&Object::Event(lambda.event));
        let mut uses = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            match &event.action {
                Action::Call { method, arguments, .. } if arguments.iter().any(has) => {
                    uses.push((EventId(index as u32), *method));
                }
                Action::Write { stored, .. } if has(stored) => return false,
                Action::Lambda { arguments, .. } if arguments.iter().any(has) => return false,
                _ => {}
            }
        }
        let [(used, called)] = uses.as_slice() else { return false };
        let block = |event: EventId| outline.events[event.index()].block as usize;
        let is_thread = self.is_thread_made(*called);
        let is_started_once = |site: &StartSite| {
            // A parallel stream runs the function for many elements, all with what it captured once.
            is_thread
                || match site.at == (At { event: *used, ..lambda }) {
                    true => entry.many != Some(Many::AtOnce),
                    false => self.event(site.at).is_some_and(|event| !event.in_loop),
                }
        };
        let is_copied = self.program.names.text(called.name) == "nCopies";
        !is_copied
            && !outline.returned.contains(&Object::Event(lambda.event))
            && !outline.comes_back(block(*used), block(lambda.event))
            && entry.sites.iter().all(is_started_once)
    }

    /// The parameter whose object an access touches, or what that object has for itself.
    fn parameter(self, access: &FieldAccess) -> Option<u16> {
        let name = match &self.event(access.at)?.action {
            Action::Read { base, .. } | Action::Write { base, .. } => base,
            Action::Call { arguments, .. } => &access.touched(arguments)?.name,
            _ => return None,
        };
        match name.start {
            Start::Parameter(position) if name.steps.iter().all(|step| self.is_held_alone(step)) => Some(position),
            _ => None,
        }
    }

    fn is_held_alone(self, step: &NameStep) -> bool {
        match step {
            NameStep::Field(field) => self.program.resolve_field(*field).is_some_and(|field| self.holds_own(field)),
            _ => false,
        }
    }

    /// Whether whatever a field holds was made for it, or for the object that has the field.
    fn holds_own(self, field: FieldId) -> bool {
        let writes = self.accesses(field).iter().filter(|access| access.is_write && access.part == Part::Itself);
        writes.into_iter().all(|write| match self.event(write.at).map(|event| &event.action) {
            Some(Action::Write { base, stored, .. }) => {
                base.start == Start::Parameter(0)
                    && base.steps.is_empty()
                    && stored.objects.iter().all(|object| self.is_made_to_hold(write.at, *object))
            }
            _ => false,
        })
    }

    /// Whether an object is made where it is stored, or by whoever calls the constructor that stores it, and goes nowhere
    /// else.
    pub(crate) fn is_made_to_hold(self, at: At, object: Object) -> bool {
        match object {
            Object::New { .. } => self.given_to(at.method, object) == Some(at.event),
            Object::Event(call) => self.is_made_by(At { event: call, ..at }),
            Object::Parameter(position) => {
                let name = self.program.method_name(at.method);
                let callers = self.calls.callers(at.method);
                self.program.names.text(name.name) == "<init>"
                    && callers.iter().all(|caller| {
                        let Some(outline) = self.outlines.get(*caller) else { return false };
                        outline.events.iter().enumerate().all(|(index, event)| match &event.action {
                            Action::Call { method, arguments, .. } if *method == name => {
                                let event = EventId(index as u32);
                                let given = arguments.get(usize::from(position)).map(|given| given.objects.as_slice());
                                matches!(given, Some([made @ Object::New { register, .. }])
                                    if self.given_to(*caller, *made) == Some(event)
                                        && !self.is_used_after(At { method: *caller, event }, *made)
                                        && self.is_made_for(At { method: *caller, event }, *register))
                            }
                            Action::Lambda { method, .. } => *method != name,
                            _ => true,
                        })
                    })
            }
            Object::Int(_) | Object::Unknown => false,
        }
    }

    /// The only event by which a method gives away an object that it makes.
    fn given_to(self, method: MethodId, object: Object) -> Option<EventId> {
        let outline = self.outlines.get(method)?;
        let has = |argument: &Argument| argument.objects.contains(&object);
        let mut found = None;
        for (index, event) in outline.events.iter().enumerate() {
            let is_given = match &event.action {
                Action::Call { kind, arguments, .. } => {
                    let receiver = usize::from(*kind != CallKind::Static);
                    arguments.iter().skip(receiver).any(has)
                }
                Action::Write { stored, .. } => has(stored),
                Action::Lambda { arguments, .. } => arguments.iter().any(has),
                Action::Read { .. } | Action::Wait(_) => false,
            };
            if is_given && found.replace(EventId(index as u32)).is_some() {
                return None;
            }
        }
        found.filter(|_| !outline.returned.contains(&object))
    }

    /// Whether a call makes what it returns.
    fn is_made_by(self, call: At) -> bool {
        let Some(Action::Call { kind, method, .. }) = self.event(call).map(|event| &event.action) else { return false };
        let targets = self.calls.targets(self.program, *kind, *method);
        let mut checked = targets.known().iter().filter_map(|target| self.outlines.get(*target)).peekable();
        match checked.peek() {
            Some(_) => checked.all(|outline| {
                !outline.returned.is_empty()
                    && outline.returned.iter().all(|object| matches!(object, Object::New { .. }))
            }),
            None => *kind == CallKind::Static,
        }
    }

    /// Whether a process is only ever given an object of its own for a parameter of a method.
    fn is_own(
        self,
        method: MethodId,
        position: u16,
        own: &Own,
        process: EntryId,
        seen: &mut FxHashSet<(MethodId, u16)>,
    ) -> bool {
        if !seen.insert((method, position)) {
            return true;
        }
        if method == own.run && self.threads.entry(process).method == Some(method) {
            return own.positions.contains(&position);
        }
        let name = self.program.method_name(method);
        let is_run = |caller: &&MethodId| self.threads.of_method(**caller).contains(&process);
        let mut callers = self.calls.callers(method).iter().filter(is_run).peekable();
        callers.peek().is_some()
            && callers.all(|caller| {
                let Some(outline) = self.outlines.get(*caller) else { return false };
                let given = outline.events.iter().filter_map(|event| match &event.action {
                    Action::Call { method: called, arguments, .. }
                    | Action::Lambda { method: called, arguments, .. }
                        if called.name == name.name && called.descriptor == name.descriptor =>
                    {
                        Some(arguments.get(usize::from(position)))
                    }
                    _ => None,
                });
                // A caller that names it otherwise is not followed.
                let mut given = given.peekable();
                given.peek().is_some()
                    && given.all(|given| {
                        let outer = given.and_then(|given| self.outer(*caller, given));
                        outer.is_some_and(|outer| self.is_own(*caller, outer, own, process, seen))
                    })
            })
    }

    /// The parameter of a method that an argument is, or what that object has for itself.
    fn outer(self, method: MethodId, argument: &Argument) -> Option<u16> {
        match argument.objects.as_slice() {
            [Object::Parameter(position)] => Some(*position),
            [Object::Event(event)] => match &self.event(At { method, event: *event })?.action {
                Action::Read { base, member: Member::Field(field), .. } => {
                    let is_held = base.steps.iter().all(|step| self.is_held_alone(step))
                        && self.is_held_alone(&NameStep::Field(*field));
                    match base.start {
                        Start::Parameter(position) if is_held => Some(position),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }
}
