//! Writes that happen while an object is made, before others can know it.

use rustc_hash::FxHashSet;

use super::{FieldAccess, Sharings};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Argument, Event, Member, Name, Object, Origin, Outline, Start};
use crate::outlines::Outlines;
use crate::thread::{At, Threads};

/// Calls deeper than this are taken to let the object out.
const MAX_DEPTH: usize = 6;

impl Sharings<'_> {
    /// Whether an access happens while the object is made.
    pub(super) fn is_initial(self, access: &FieldAccess) -> bool {
        let starting = self.answers.starting.get_or_init(|| {
            let sites = self.threads.entries().iter().flat_map(|entry| &entry.sites);
            sites.chain(self.threads.unknown_starts()).map(|site| site.at.method).collect()
        });
        let making = Making {
            program: self.program,
            calls: self.calls,
            outlines: self.outlines,
            threads: self.threads,
            starting,
        };
        let Some(event) = making.event(access.at) else { return false };
        let method = access.at.method;
        let in_maker = || *self.answers.making[method.index()].get_or_init(|| making.is_making(method, MAX_DEPTH));
        match &event.action {
            Action::Read { base, member, .. } | Action::Write { base, member, .. } => match base.start {
                _ if matches!(member, Member::Static(_)) || matches!(base.start, Start::Static(_)) => {
                    making.is_initialiser(method) && in_maker()
                }
                Start::Parameter(0) => !making.is_initialiser(method) && in_maker(),
                Start::New(register) => base.steps.is_empty() && making.is_unknown_yet(access.at, register),
                _ => false,
            },
            // The contents of what a field holds.
            Action::Call { arguments, .. } => {
                arguments.first().is_some_and(|first| starts_at_this(&first.name) || making.is_initialiser(method))
                    && in_maker()
            }
            _ => false,
        }
    }
}

fn starts_at_this(name: &Name) -> bool {
    name.start == Start::Parameter(0)
}

struct Making<'m> {
    program: &'m Program,
    calls: &'m Calls,
    outlines: Outlines<'m>,
    threads: &'m Threads,
    /// Methods that start threads.
    starting: &'m FxHashSet<MethodId>,
}

impl<'m> Making<'m> {
    fn outline(&self, method: MethodId) -> Option<&'m Outline> {
        self.outlines.get(method)
    }

    fn event(&self, at: At) -> Option<&'m Event> {
        self.outline(at.method)?.events.get(at.event.index())
    }

    fn is_initialiser(&self, method: MethodId) -> bool {
        self.program.names.text(self.program.method(method).name) == "<clinit>"
    }

    /// Whether `this`, or the class, is known to nobody else as long as the method runs.
    fn is_making(&self, method: MethodId, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let own = self.program.method(method);
        match self.program.names.text(own.name) {
            "<clinit>" => !self.starting.contains(&method),
            "<init>" => !self.leaks(method, 0, &mut FxHashSet::default(), MAX_DEPTH),
            _ if own.access.is_static() || !own.access.is_private() => false,
            _ => {
                // A helper that only constructors call, on the object that they make.
                let name = self.program.method_name(method);
                let callers = self.calls.callers(method);
                !callers.is_empty()
                    && callers.iter().all(|caller| {
                        let on_this = self.outline(*caller).is_some_and(|outline| {
                            outline.events.iter().all(|event| match &event.action {
                                Action::Call { method: called, arguments, .. }
                                    if called.name == name.name && called.descriptor == name.descriptor =>
                                {
                                    arguments
                                        .first()
                                        .is_some_and(|first| first.objects.as_slice() == [Object::Parameter(0)])
                                }
                                Action::Lambda { method: made, .. } => *made != name,
                                _ => true,
                            })
                        });
                        on_this
                            && self.program.class_of(*caller) == self.program.class_of(method)
                            && self.is_making(*caller, depth)
                    })
            }
        }
    }

    /// Whether what is given for a parameter may get to other threads, or be kept by others, while the method runs.
    fn leaks(&self, method: MethodId, position: u16, seen: &mut FxHashSet<(MethodId, u16)>, depth: usize) -> bool {
        if !seen.insert((method, position)) {
            return false;
        }
        let Some(outline) = self.outline(method) else { return false };
        if self.starting.contains(&method) {
            return true;
        }
        outline.events.iter().any(|event| self.event_leaks(outline, event, position, seen, depth))
    }

    fn event_leaks(
        &self,
        outline: &Outline,
        event: &Event,
        position: u16,
        seen: &mut FxHashSet<(MethodId, u16)>,
        depth: usize,
    ) -> bool {
        let is_own = |name: &Name| matches!(name.start, Start::New(_)) || name.start == Start::Parameter(position);
        match &event.action {
            Action::Write { base, stored, .. } => holds(outline, stored, position, 4) && !is_own(base),
            Action::Call { kind, method, arguments } => {
                for (index, argument) in arguments.iter().enumerate() {
                    if !holds(outline, argument, position, 4) {
                        continue;
                    }
                    if let Some(model) = self.threads.library.model(*method) {
                        let is_put = index > 0 && model.access.writes() && !is_own(&arguments[0].name);
                        if model.starts.is_some() || is_put {
                            return true;
                        }
                        continue;
                    }
                    let targets = self.calls.targets(self.program, *kind, *method);
                    let own: Vec<MethodId> =
                        targets.known().iter().copied().filter(|target| self.outline(*target).is_some()).collect();
                    let is_constructor = index == 0 && self.program.names.text(method.name) == "<init>";
                    if own.is_empty() && !is_constructor || *targets == crate::calls::Targets::Many {
                        return true;
                    }
                    let Some(depth) = depth.checked_sub(1) else { return true };
                    if own.iter().any(|target| self.leaks(*target, index as u16, seen, depth)) {
                        return true;
                    }
                }
                false
            }
            _ => false,
        }
    }

    /// Whether an object that a method makes is known to nobody else at one of its events.
    fn is_unknown_yet(&self, at: At, register: u32) -> bool {
        let (Some(outline), Some(event)) = (self.outline(at.method), self.event(at)) else { return false };
        let is_it = |argument: &Argument| {
            argument
                .objects
                .iter()
                .any(|object| matches!(object, Object::New { register: made, .. } if *made == register))
        };
        let lets_out = |other: &Event| match &other.action {
            Action::Write { stored, .. } => is_it(stored),
            Action::Call { kind, method, arguments } => arguments.iter().enumerate().any(|(index, argument)| {
                let is_maker = index == 0 && self.program.names.text(method.name) == "<init>";
                if !is_it(argument) {
                    return false;
                }
                if !is_maker && index > 0 {
                    return true;
                }
                let targets = self.calls.targets(self.program, *kind, *method);
                targets.known().iter().any(|target| self.leaks(*target, 0, &mut FxHashSet::default(), MAX_DEPTH))
                    || self.threads.library.model(*method).is_some_and(|model| model.starts.is_some())
            }),
            Action::Lambda { arguments, .. } => arguments.iter().any(is_it),
            _ => false,
        };
        !outline.events[..at.event.index()].iter().any(lets_out)
            && (!event.in_loop
                || self.is_made_anew(outline, at, register)
                || !outline.events[at.event.index()..].iter().any(lets_out))
    }

    /// Whether each round of a loop makes the object again before the event.
    fn is_made_anew(&self, outline: &Outline, at: At, register: u32) -> bool {
        let event = &outline.events[at.event.index()];
        outline.events[..at.event.index()].iter().any(|other| {
            matches!(&other.action, Action::Call { method, arguments, .. }
                if self.program.names.text(method.name) == "<init>"
                    && arguments.first().is_some_and(|first| {
                        first.objects.iter().any(|object| matches!(object, Object::New { register: made, .. } if *made == register))
                    }))
                && other.block <= event.block
                && other.in_loop
        })
    }
}

/// Whether a value is what was given for a parameter, or an object or function made here that holds it.
fn holds(outline: &Outline, argument: &Argument, position: u16, depth: usize) -> bool {
    if argument.objects.contains(&Object::Parameter(position)) {
        return true;
    }
    let is_made =
        argument.objects.iter().any(|object| matches!(object, Object::New { .. } | Object::Event(_) | Object::Unknown));
    let Some(depth) = depth.checked_sub(1).filter(|_| is_made) else { return false };
    argument.sources.iter().any(|source| match source.origin {
        Origin::Parameter(given) => given == position,
        Origin::Event(event) => match outline.events.get(event.index()).map(|event| &event.action) {
            Some(Action::Lambda { arguments, .. }) => {
                arguments.iter().any(|captured| holds(outline, captured, position, depth))
            }
            _ => false,
        },
    })
}
