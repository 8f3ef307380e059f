//! Order by signals: one process waits at a latch, a barrier, a phaser, a semaphore without permits or a future until others
//! have come to a certain point.
//!
//! Such an object is told by where it is made. How many signals it takes is asked where that is a constant; where it is
//! not, that all who give one are waited for is taken for granted.

use location::MethodName;
use rustc_hash::FxHashSet;

use crate::class::MethodId;
use crate::model::{Order, OrderKind, When};
use crate::outline::{Action, Argument, Event, EventId, Member, Object, Outline};
use crate::sharing::Part;
use crate::thread::{At, EntryId};
use crate::whole::Whole;

/// Fields and parameters further away than this are not followed.
const MAX_DEPTH: usize = 5;

/// More methods than this are not looked through for one call.
const MAX_METHODS: usize = 300;

/// Where a latch, or what is used like one, is made.
type Latch = (MethodId, u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Latch,
    Barrier,
    Phaser,
    Semaphore,
    Future,
}

/// What a call does with one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Signal,
    Wait,
    /// Both.
    Meet,
    /// From now on one more is waited for.
    Register,
}

/// A call of the program that signals, or tells who will.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    at: At,
    kind: Kind,
    role: Role,
    in_loop: bool,
}

/// A method on the way of a process to an event, and its events that lead there.
struct Frame<'w> {
    method: MethodId,
    outline: &'w Outline,
    leading: Vec<EventId>,
}

/// A call that waits.
#[derive(Clone, Copy)]
struct Wait {
    kind: Kind,
    latch: Latch,
}

impl Whole<'_> {
    /// Whether a process comes to an event only after all processes of another entry have done one.
    pub fn is_latched(&self, process: EntryId, at: At, other: EntryId, done: At) -> bool {
        let threads = self.threads();
        if !self.signals().iter().any(|signal| threads.of_method(signal.at.method).contains(&other)) {
            return false;
        }
        let waits = self.waits_before(process, at, other);
        if waits.is_empty() {
            return false;
        }
        let frames = self.frames(other, done, process);
        !frames.is_empty()
            && waits.iter().any(|wait| self.is_done_before(wait, &frames, other) && self.waits_for_all(wait, other))
    }

    /// What a process has surely waited at when it comes to an event.
    fn waits_before(&self, process: EntryId, at: At, other: EntryId) -> Vec<Wait> {
        let mut found = Vec::new();
        for frame in self.frames(process, at, other) {
            for (index, event) in frame.outline.events.iter().enumerate() {
                let Action::Call { method, arguments, .. } = &event.action else { continue };
                let Some((kind, Role::Wait | Role::Meet)) = self.role(*method) else { continue };
                let wait = EventId(index as u32);
                let follows = frame.outline.follows_surely(wait);
                let mut is_after = frame.leading.iter().map(|lead| {
                    let here = frame.outline.events[lead.index()].block;
                    if here == event.block { *lead > wait } else { follows[here as usize] }
                });
                if is_after.all(|is_after| is_after)
                    && let Some(object) = arguments.first()
                    && let Some(latch) = self.made_at(frame.method, frame.outline, object, MAX_DEPTH)
                {
                    found.push(Wait { kind, latch });
                }
            }
        }
        found
    }

    /// Whether an entry signals, and only when it is done with what its frames lead to.
    fn is_done_before(&self, wait: &Wait, frames: &[Frame<'_>], other: EntryId) -> bool {
        let is_it = |signal: &&Signal| {
            signal.kind == wait.kind
                && matches!(signal.role, Role::Signal | Role::Meet)
                && self.threads().of_method(signal.at.method).contains(&other)
                && self.signalled(signal) == Some(wait.latch)
        };
        let mut own = self.signals().iter().filter(is_it).peekable();
        own.peek().is_some()
            && own.all(|signal| {
                let frame = frames.iter().find(|frame| frame.method == signal.at.method);
                frame.is_some_and(|frame| {
                    frame.leading.iter().all(|event| !frame.outline.may_follow(signal.at.event, *event))
                })
            })
    }

    /// Whether one cannot get past a wait as long as a process of an entry has not signalled.
    fn waits_for_all(&self, wait: &Wait, other: EntryId) -> bool {
        let threads = self.threads();
        let is_many = |entry: &EntryId| threads.entry(*entry).many.is_some();
        // Whoever makes one each time waits for his own alone.
        if threads.of_method(wait.latch.0).iter().any(is_many) {
            return false;
        }
        let of_kind = self.signals().iter().filter(|signal| signal.kind == wait.kind);
        let known: Vec<(&Signal, Option<Latch>)> = of_kind.map(|signal| (signal, self.signalled(signal))).collect();
        let mut needed = self.number_of_signals(wait);
        if wait.kind == Kind::Phaser {
            let mut registers = known.iter().filter(|(signal, latch)| {
                signal.role == Role::Register && latch.is_none_or(|latch| latch == wait.latch)
            });
            let mut is_registered = false;
            // Who registers himself may come too late.
            if registers.any(|(signal, _)| {
                is_registered = true;
                threads.of_method(signal.at.method).contains(&other)
            }) {
                return false;
            }
            if is_registered {
                needed = None;
            }
        }
        // What was always used to count down is seldom lost from sight; the others do more than this.
        let is_strict = matches!(wait.kind, Kind::Semaphore | Kind::Future);
        let is_it = |latch: &Option<Latch>| latch.map_or(is_strict, |latch| latch == wait.latch);
        let Some(needed) = needed else { return !is_strict };
        let mut by: Vec<EntryId> = Vec::new();
        let mut is_repeated = false;
        for (signal, _) in known.iter().filter(|(signal, latch)| signal.role != Role::Register && is_it(latch)) {
            let entries = threads.of_method(signal.at.method);
            is_repeated |= entries.iter().any(is_many) || (signal.role == Role::Signal && signal.in_loop);
            by.extend(entries);
        }
        if matches!(wait.kind, Kind::Barrier | Kind::Phaser) {
            // Nobody arrives twice in one phase.
            by.sort_unstable();
            by.dedup();
        }
        if is_repeated { needed > 1 } else { by.len() as i64 <= needed }
    }

    /// How many signals it takes to get past a wait, if that is a constant.
    fn number_of_signals(&self, wait: &Wait) -> Option<i64> {
        let (method, register) = wait.latch;
        let given = self.outlines().get(method)?.events.iter().find_map(|event| {
            let Action::Call { method: called, arguments, .. } = &event.action else { return None };
            let (made, rest) = arguments.split_first()?;
            let is_it = matches!(made.objects.as_slice(), [Object::New { register: made, .. }] if *made == register);
            (is_it && self.program.names.text(called.name) == "<init>").then_some(rest)
        })?;
        let number = given.first().map(|first| match first.objects.as_slice() {
            [Object::Int(number)] => Some(i64::from(*number)),
            _ => None,
        });
        match wait.kind {
            Kind::Latch | Kind::Barrier => number?,
            Kind::Phaser => number.unwrap_or(Some(0)),
            Kind::Semaphore => (number? == Some(0)).then_some(1),
            Kind::Future => Some(1),
        }
    }

    /// Where the object of a signal is made.
    fn signalled(&self, signal: &Signal) -> Option<Latch> {
        let outline = self.outlines().get(signal.at.method)?;
        match &outline.events[signal.at.event.index()].action {
            Action::Call { arguments, .. } => self.made_at(signal.at.method, outline, arguments.first()?, MAX_DEPTH),
            _ => None,
        }
    }

    /// All calls of the program that signal, or tell who will.
    fn find_signals(&self) -> Vec<Signal> {
        let mut found = Vec::new();
        for method in self.program.methods() {
            if !self.calls.made_by(method).iter().any(|(_, called)| self.role(*called).is_some()) {
                continue;
            }
            for (index, event) in
                self.outlines().get(method).into_iter().flat_map(|outline| &outline.events).enumerate()
            {
                if let Action::Call { method: called, .. } = &event.action
                    && let Some((kind, role)) = self.role(*called)
                    && role != Role::Wait
                {
                    let at = At { method, event: EventId(index as u32) };
                    found.push(Signal { at, kind, role, in_loop: event.in_loop });
                }
            }
        }
        found
    }

    /// What a call does with a latch or the like.
    fn role(&self, called: MethodName) -> Option<(Kind, Role)> {
        let names = &self.program.names;
        let kind = match names.text(called.class.0).strip_prefix("java/util/concurrent/")? {
            "CountDownLatch" => Kind::Latch,
            "CyclicBarrier" => Kind::Barrier,
            "Phaser" => Kind::Phaser,
            "Semaphore" => Kind::Semaphore,
            "CompletableFuture" => Kind::Future,
            _ => return None,
        };
        let (name, descriptor) = (names.text(called.name), names.text(called.descriptor));
        let role = match (kind, name) {
            // A semaphore is a lock in general.
            (Kind::Semaphore, "release") => Role::Signal,
            (Kind::Semaphore, "acquire" | "acquireUninterruptibly") if descriptor == "()V" => Role::Wait,
            (Kind::Phaser, "register" | "bulkRegister") => Role::Register,
            _ => match self.calls.model(self.program, called, called.class)?.orders? {
                Order { kind: OrderKind::Signal, .. } => Role::Signal,
                Order { kind: OrderKind::Meet, .. } => Role::Meet,
                // A phaser's wait for a phase that is over returns at once.
                Order { kind: OrderKind::Await, when: When::Always } if kind != Kind::Phaser => Role::Wait,
                Order { kind: OrderKind::Join, when: When::Always } => Role::Wait,
                _ => return None,
            },
        };
        Some((kind, role))
    }

    /// All calls of the program that signal; found when they are first asked for.
    fn signals(&self) -> &[Signal] {
        self.signals.get_or_init(|| self.find_signals())
    }

    /// The methods that a process goes through to an event, as long as there is one way, each with what leads there; but for
    /// what start or join order with another entry.
    fn frames(&self, process: EntryId, at: At, other: EntryId) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        let mut next = self.threads().entry(process).method;
        while let Some(method) = next.take()
            && let Some(outline) = self.outlines().get(method)
            && frames.len() < MAX_DEPTH
        {
            let leading = if method == at.method { vec![at.event] } else { self.leading(method, outline, at) };
            let is_apart = |event: &EventId| {
                let at = At { method, event: *event };
                self.threads().ordered(self.outlines(), process, at, other).is_some()
            };
            let leading: Vec<EventId> = match leading.as_slice() {
                [_] => leading,
                _ => leading.into_iter().filter(|event| !is_apart(event)).collect(),
            };
            if let ([only], true) = (leading.as_slice(), method != at.method)
                && let Event { action: Action::Call { kind, method: called, .. }, in_loop: false, .. } =
                    &outline.events[only.index()]
                && let [target] = self.calls.targets(self.program, *kind, *called).known()
            {
                next = Some(*target);
            }
            if leading.is_empty() {
                break;
            }
            frames.push(Frame { method, outline, leading });
        }
        frames
    }

    /// The events of a method that lead to one of a callee.
    fn leading(&self, method: MethodId, outline: &Outline, at: At) -> Vec<EventId> {
        let leads = |(index, event): &(usize, &Event)| {
            let targets = match &event.action {
                Action::Call { kind, method, .. } => self.calls.targets(self.program, *kind, *method),
                Action::Lambda { method: made, .. } => {
                    // To start something that gets there is not to get there.
                    if self.threads().started.contains(&At { method, event: EventId(*index as u32) }) {
                        return false;
                    }
                    self.calls.lambda_targets(self.program, *made)
                }
                _ => return false,
            };
            targets.known().iter().any(|target| self.reaches(*target, at.method))
        };
        let events = outline.events.iter().enumerate().filter(leads);
        events.map(|(index, _)| EventId(index as u32)).collect()
    }

    fn reaches(&self, from: MethodId, to: MethodId) -> bool {
        let mut seen: FxHashSet<MethodId> = FxHashSet::default();
        let mut pending = vec![from];
        while let Some(method) = pending.pop() {
            if method == to {
                return true;
            }
            if seen.len() < MAX_METHODS && seen.insert(method) {
                // The code of a function that a thread begins with is run by that thread.
                let is_begun = |callee: &MethodId| {
                    self.program.method(*callee).access.is_synthetic()
                        && self.threads().beginning_with(*callee).is_some()
                };
                pending.extend(self.calls.callees(method).iter().copied().filter(|callee| !is_begun(callee)));
            }
        }
        // Who has looked at so many does not know.
        seen.len() >= MAX_METHODS
    }

    /// Where an object is made, if that is one place.
    fn made_at(&self, method: MethodId, outline: &Outline, argument: &Argument, depth: usize) -> Option<Latch> {
        let [object] = argument.objects.as_slice() else { return None };
        match *object {
            Object::New { register, .. } => Some((method, register)),
            Object::Event(event) if depth > 0 => match &outline.events[event.index()].action {
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    let field = self.program.resolve_field(*field)?;
                    let writes = self.sharings().accesses(field).iter().filter(|access| access.is_write);
                    one(writes.filter(|access| access.part == Part::Itself).map(|access| {
                        let outline = self.outlines().get(access.at.method)?;
                        match &outline.events[access.at.event.index()].action {
                            Action::Write { stored, .. } => self.made_at(access.at.method, outline, stored, depth - 1),
                            _ => None,
                        }
                    }))
                }
                _ => None,
            },
            Object::Parameter(position) if depth > 0 => {
                let given = self.calls.callers(method).iter().flat_map(|caller| {
                    let outline = self.outlines().get(*caller);
                    let events = outline.into_iter().flat_map(|outline| &outline.events);
                    let argument = move |event: &Event| match &event.action {
                        Action::Call { kind, method: called, arguments } => {
                            let targets = self.calls.targets(self.program, *kind, *called);
                            let is_it = targets.known().contains(&method);
                            is_it.then(|| arguments.get(usize::from(position)).cloned())
                        }
                        Action::Lambda { method: made, arguments, .. } => {
                            let targets = self.calls.lambda_targets(self.program, *made);
                            let is_it = targets.known().contains(&method);
                            is_it.then(|| arguments.get(usize::from(position)).cloned())
                        }
                        _ => None,
                    };
                    events.filter_map(argument).map(move |argument| (*caller, outline, argument))
                });
                one(given.map(|(caller, outline, argument)| self.made_at(caller, outline?, &argument?, depth - 1)))
            }
            _ => None,
        }
    }
}

/// What all agree on.
fn one(mut all: impl Iterator<Item = Option<Latch>>) -> Option<Latch> {
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}
