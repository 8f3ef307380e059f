//! Writes that happen while an object is made, before others can know it.

use location::MethodName;
use rustc_hash::FxHashSet;

use super::{FieldAccess, Sharings};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Argument, Event, EventId, Member, Name, Object, Origin, Outline, Start};
use crate::outlines::Outlines;
use crate::thread::{At, Threads, is_static};

/// Calls deeper than this are taken to let the object out.
const MAX_DEPTH: usize = 6;

impl<'s> Sharings<'s> {
    /// Whether an access happens while the object is made.
    pub(super) fn is_initial(self, access: &FieldAccess) -> bool {
        let making = self.making();
        let Some(event) = making.event(access.at) else { return false };
        let method = access.at.method;
        // A helper of an initialiser also comes to other classes, which others may use by then.
        let initialises = |name: &Name| {
            self.initialises(method) && (making.is_initialiser(method) || starts_at_own(self.program, method, name))
        };
        match &event.action {
            Action::Read { member: Member::Static(field), .. }
            | Action::Write { member: Member::Static(field), .. } => initialises(&Name::start(Start::Static(*field))),
            Action::Read { base, .. } | Action::Write { base, .. } => match base.start {
                Start::Static(_) => initialises(base),
                Start::Parameter(0) => self.makes_its_object(method),
                Start::New(register) => base.steps.is_empty() && making.is_unknown_yet(access.at, register),
                _ => false,
            },
            // The contents of what a field holds.
            Action::Call { arguments, .. } => access.touched(arguments).is_some_and(|touched| {
                starts_at_this(&touched.name) && self.makes_its_object(method) || initialises(&touched.name)
            }),
            _ => false,
        }
    }

    /// Whether nobody else knows the object that a method belongs to as long as the method runs: a constructor, or a
    /// helper that is only called on objects in the making.
    pub fn makes_its_object(self, method: MethodId) -> bool {
        let making = self.making();
        *self.answers.making[method.index()].get_or_init(|| making.is_making(method, MAX_DEPTH))
    }

    /// Whether a method runs only while its class is initialised, which keeps all others from the class.
    pub fn initialises(self, method: MethodId) -> bool {
        self.making().initialises(method, MAX_DEPTH)
    }

    fn making(self) -> Making<'s> {
        let starting = self.answers.starting.get_or_init(|| {
            let sites = self.threads.entries().iter().flat_map(|entry| &entry.sites);
            sites.chain(self.threads.unknown_starts()).map(|site| site.at.method).collect()
        });
        Making { program: self.program, calls: self.calls, outlines: self.outlines, threads: self.threads, starting }
    }
}

/// Whether a name starts at a static field of the class that a method belongs to.
fn starts_at_own(program: &Program, method: MethodId, name: &Name) -> bool {
    let Start::Static(field) = name.start else { return false };
    program.resolve_field(field).is_some_and(|field| program.class_of_field(field) == program.class_of(method))
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

    /// Whether only the initialiser of its class runs a method: private, and nothing else calls it or has it as a function.
    fn initialises(&self, method: MethodId, depth: usize) -> bool {
        if self.starting.contains(&method) {
            return false;
        }
        if self.is_initialiser(method) {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let callers = self.calls.callers(method);
        self.program.method(method).access.is_private()
            && !callers.is_empty()
            && callers.iter().all(|caller| {
                self.program.class_of(*caller) == self.program.class_of(method)
                    && self.calls_it(*caller, method).is_some()
                    && self.initialises(*caller, depth)
            })
    }

    /// The calls of one method of a class in the code of another one; none if it is also made a function there that may
    /// run at any time.
    fn calls_it(&self, caller: MethodId, method: MethodId) -> Option<Vec<(EventId, &'m [Argument])>> {
        let name = self.program.method_name(method);
        let outline = self.outline(caller)?;
        let mut found = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            match &event.action {
                Action::Call { method: called, arguments, .. }
                    if called.name == name.name && called.descriptor == name.descriptor =>
                {
                    found.push((EventId(index as u32), arguments.as_slice()));
                }
                Action::Lambda { method: made, arguments, .. } if *made == name => {
                    found.push((self.run_in_place(outline, EventId(index as u32))?, arguments.as_slice()));
                }
                _ => {}
            }
        }
        Some(found)
    }

    /// The last of the library's calls that run a function before they return, if nothing else is done with it.
    fn run_in_place(&self, outline: &Outline, made: EventId) -> Option<EventId> {
        let is_it = |argument: &Argument| argument.objects.contains(&Object::Event(made));
        let mut run = None;
        for (index, event) in outline.events.iter().enumerate() {
            match &event.action {
                Action::Call { method, arguments, .. } if arguments.iter().any(is_it) => {
                    let given = arguments.iter().enumerate().filter(|(_, argument)| is_it(argument));
                    if !given.map(|(at, _)| at).all(|at| self.runs_now(*method, arguments, at)) {
                        return None;
                    }
                    run = Some(EventId(index as u32));
                }
                Action::Write { stored, .. } if is_it(stored) => return None,
                Action::Lambda { arguments, .. } if arguments.iter().any(is_it) => return None,
                _ => {}
            }
        }
        run.filter(|_| !outline.returned.contains(&Object::Event(made)))
    }

    /// Whether a call of the library runs the function at this position before it returns. What is given to a stream runs
    /// when somebody asks for the result.
    fn runs_now(&self, method: MethodName, arguments: &[Argument], at: usize) -> bool {
        let skip = usize::from(!is_static(self.program, method, arguments));
        let model = self.threads.library.model(method);
        let is_late = self.program.names.text(method.descriptor).contains(")Ljava/util/stream/");
        model.is_some_and(|model| {
            let index = at.checked_sub(skip).and_then(|index| u8::try_from(index).ok());
            let is_task = model.starts.is_some() || model.wraps.is_some();
            !is_task && !is_late && index.is_some_and(|index| model.runs.contains(index))
        })
    }

    /// Whether `this` is known to nobody else as long as the method runs.
    fn is_making(&self, method: MethodId, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let own = self.program.method(method);
        if own.name == self.program.roots.constructor {
            return !self.leaks(method, 0, &mut FxHashSet::default(), MAX_DEPTH);
        }
        if own.access.is_static() || !own.access.is_private() {
            return false;
        }
        // A helper that is only called on objects in the making.
        let callers = self.calls.callers(method);
        !callers.is_empty()
            && callers.iter().all(|caller| {
                self.program.class_of(*caller) == self.program.class_of(method)
                    && self.calls_it(*caller, method).is_some_and(|calls| {
                        calls.iter().all(|(event, arguments)| {
                            match arguments.first().map(|first| first.objects.as_slice()) {
                                Some([Object::Parameter(0)]) => self.is_making(*caller, depth),
                                Some([Object::New { register, .. }]) => {
                                    let at = At { method: *caller, event: *event };
                                    self.is_unknown_yet(at, *register)
                                        && !self.leaks(method, 0, &mut FxHashSet::default(), MAX_DEPTH)
                                }
                                _ => false,
                            }
                        })
                    })
            })
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
                        let mut is_let_out = || self.function_leaks(outline, argument, position, seen, depth);
                        if model.starts.is_some() || is_put || is_let_out() {
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

    /// Whether a function that has captured what is given for a parameter may let it out.
    fn function_leaks(
        &self,
        outline: &Outline,
        function: &Argument,
        position: u16,
        seen: &mut FxHashSet<(MethodId, u16)>,
        depth: usize,
    ) -> bool {
        function.objects.iter().any(|object| {
            let Object::Event(made) = object else { return false };
            let Some(Action::Lambda { method, arguments, .. }) =
                outline.events.get(made.index()).map(|event| &event.action)
            else {
                return false;
            };
            let body = self.calls.hierarchy.resolve_name(self.program, *method);
            // A constructor is given the new object first.
            let skip = usize::from(method.name == self.program.roots.constructor);
            arguments.iter().enumerate().filter(|(_, captured)| holds(outline, captured, position, 4)).any(|(at, _)| {
                let leaks = |depth| body.is_some_and(|body| self.leaks(body, (at + skip) as u16, seen, depth));
                depth.checked_sub(1).is_none_or(leaks)
            })
        })
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
