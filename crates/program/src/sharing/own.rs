//! Tasks that keep to themselves: each process has an object of its own and touches its fields through `this` alone.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{FieldAccess, Part, Sharings};
use crate::class::{ClassId, FieldId, MethodId};
use crate::outline::{Action, Argument, Event, EventId, Name, Object, Start};
use crate::thread::{At, Entry, EntryId, EntryKind, StartSite};

/// A task, and the parameters by which each process has objects of its own: itself, or what a lambda captured.
struct Own {
    run: MethodId,
    positions: SmallVec<[u16; 2]>,
}

impl<'s> Sharings<'s> {
    /// The entry whose processes each touch a field of an object of their own, if that is all; accesses of others count
    /// only where they are ordered.
    pub(super) fn own_task(self, field: FieldId, accesses: &[FieldAccess]) -> Option<EntryId> {
        let class = self.program.class_of_field(field);
        self.processes(accesses).into_iter().find(|id| {
            let Some(own) = self.own(*id, class) else { return false };
            let is_own = |access: &FieldAccess, process: EntryId| {
                let position = self.parameter(access);
                position.is_some_and(|position| {
                    self.is_own(access.at.method, position, &own, process, &mut FxHashSet::default())
                })
            };
            accesses.iter().all(|access| {
                self.threads.of_method(access.at.method).iter().all(|process| {
                    is_own(access, *process) || self.threads.ordered(self.outlines, *process, access.at, *id).is_some()
                })
            })
        })
    }

    /// The objects of a class, or of others, that each process of an entry has for itself.
    fn own(self, id: EntryId, class: ClassId) -> Option<Own> {
        let entry = self.threads.entry(id);
        let run = entry.method.filter(|_| entry.kind != EntryKind::Main)?;
        let runs_on = self.program.class_of(run);
        let name = |class| self.program.header(class).name;
        let is_task = !self.program.method(run).access.is_static()
            && (runs_on == class || self.program.is_subtype(name(runs_on), name(class)));
        let positions = match entry.lambdas.is_empty() {
            true => (is_task && self.has_own_objects(id)).then_some(0).into_iter().collect(),
            false => self.captured(entry),
        };
        (!positions.is_empty()).then_some(Own { run, positions })
    }

    /// Whether each process touches the field of its own object alone, or in order with the others.
    pub fn is_of_task(self, field: FieldId) -> bool {
        let accesses = self.accesses(field).iter().filter(|access| !access.is_initial && access.part == Part::Itself);
        self.own_task(field, &accesses.copied().collect::<Vec<_>>()).is_some()
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
        self.own_task(field, &accesses) == Some(process)
    }

    /// Whether no two processes of an entry run on one object.
    fn has_own_objects(self, id: EntryId) -> bool {
        let entry = self.threads.entry(id);
        if entry.many.is_none() {
            return true;
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
                seen.insert((method, register)) && is_each_once
            })
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
        let is_each_once = entry.many.is_none() || entry.lambdas.iter().all(|lambda| self.is_run_once(*lambda, entry));
        (0..count as u16).filter(|_| is_each_once).filter(is_own).collect()
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
    fn is_run_once(self, lambda: At, entry: &Entry) -> bool {
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
        let thread = self.program.names.class("java/lang/Thread");
        let is_thread = self.program.names.text(called.name) == "<init>"
            && (called.class == thread || self.program.is_subtype(called.class, thread));
        let is_started_once = |site: &StartSite| {
            is_thread
                || site.at == At { event: *used, ..lambda }
                || self.event(site.at).is_some_and(|event| !event.in_loop)
        };
        !outline.returned.contains(&Object::Event(lambda.event))
            && !outline.comes_back(block(*used), block(lambda.event))
            && entry.sites.iter().all(is_started_once)
    }

    /// The parameter whose object an access touches.
    fn parameter(self, access: &FieldAccess) -> Option<u16> {
        // What a field of the object holds is another object's.
        let own = |name: &Name| match name.start {
            Start::Parameter(position) if access.part != Part::Itself || name.steps.is_empty() => Some(position),
            _ => None,
        };
        match &self.event(access.at)?.action {
            Action::Read { base, .. } | Action::Write { base, .. } => own(base),
            Action::Call { arguments, .. } => own(&arguments.first()?.name),
            _ => None,
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
                outline.events.iter().all(|event| {
                    let given = match &event.action {
                        Action::Call { method: called, arguments, .. }
                            if called.name == name.name && called.descriptor == name.descriptor =>
                        {
                            arguments.get(usize::from(position))
                        }
                        Action::Lambda { method: made, arguments, .. } if *made == name => {
                            arguments.get(usize::from(position))
                        }
                        _ => return true,
                    };
                    matches!(given.map(|given| given.objects.as_slice()), Some([Object::Parameter(outer)])
                        if self.is_own(*caller, *outer, own, process, seen))
                })
            })
    }
}
