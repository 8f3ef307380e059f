//! Order by signals: one process waits at a latch, a barrier, a phaser, a semaphore without permits or a future until others
//! have come to a certain point.
//!
//! Such an object is told by where it is made. How many signals it takes is asked where that is a constant; where it is
//! not, that all who give one are waited for is taken for granted.

mod frames;
mod made;

use location::{ClassName, MethodName};

use frames::Frame;
use made::Latch;

use crate::class::MethodId;
use crate::model::{Order, OrderKind, When};
use crate::outline::{Action, Argument, Event, EventId, Object, Origin, Outline};
use crate::thread::{At, EntryId};
use crate::whole::Whole;

/// Threads that start threads are followed over so many starts.
const MAX_STARTS: usize = 3;

/// Fields and parameters further away than this are not followed.
const MAX_DEPTH: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Latch,
    Barrier,
    Phaser,
    Semaphore,
    Future,
}

/// The classes of these objects, and what they are.
const CLASSES: [&str; 5] = [
    "java/util/concurrent/CountDownLatch",
    "java/util/concurrent/CyclicBarrier",
    "java/util/concurrent/Phaser",
    "java/util/concurrent/Semaphore",
    "java/util/concurrent/CompletableFuture",
];
const KINDS: [Kind; 5] = [Kind::Latch, Kind::Barrier, Kind::Phaser, Kind::Semaphore, Kind::Future];

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

/// All calls of a program that signal, or tell who will.
pub(crate) struct Signals {
    list: Vec<Signal>,
    /// By entry: whether a process of it comes to one of them.
    comes: Vec<bool>,
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
        if !self.all_signals().comes[other.index()] {
            return false;
        }
        let is_done = |waits: &[Wait]| {
            let frames = if waits.is_empty() { Vec::new() } else { self.frames(other, done, process) };
            !frames.is_empty()
                && waits.iter().any(|wait| self.is_done_before(wait, &frames, other) && self.waits_for_all(wait, other))
        };
        self.has_waited(process, at, other, &is_done, MAX_STARTS)
    }

    /// Whether what a process has waited at when it comes to an event will do, or what whoever starts it has waited at.
    fn has_waited(
        &self,
        process: EntryId,
        at: At,
        other: EntryId,
        is_done: &impl Fn(&[Wait]) -> bool,
        starts: usize,
    ) -> bool {
        if is_done(&self.waits_before(process, at, other)) {
            return true;
        }
        let threads = self.threads();
        let entry = threads.entry(process);
        // In a loop, what is started after a wait runs beside what the next round has to wait for.
        let is_once = entry.many.is_none() || threads.entry(other).many.is_none();
        starts > 0
            && is_once
            && !entry.sites.is_empty()
            && entry.sites.iter().all(|site| {
                let starters = threads.of_method(site.at.method);
                !starters.is_empty()
                    && starters.iter().all(|starter| {
                        *starter != process
                            && *starter != other
                            && self.has_waited(*starter, site.at, other, is_done, starts - 1)
                    })
            })
    }

    /// What a process has surely waited at when it comes to an event.
    fn waits_before(&self, process: EntryId, at: At, other: EntryId) -> Vec<Wait> {
        let mut found = Vec::new();
        for frame in self.frames(process, at, other) {
            for (index, event) in frame.outline.events.iter().enumerate() {
                let wait = EventId(index as u32);
                let mut waits = self.waits_in_helper(frame.method, frame.outline, event);
                waits.extend(self.wait(frame.method, frame.outline, event));
                if !waits.is_empty() && surely_after(frame.outline, wait, &frame.leading) {
                    found.extend(waits);
                }
            }
        }
        found
    }

    fn wait(&self, method: MethodId, outline: &Outline, event: &Event) -> Option<Wait> {
        let Action::Call { method: called, arguments, .. } = &event.action else { return None };
        let kind = match self.role(*called) {
            Some((kind, Role::Wait | Role::Meet)) => kind,
            None if self.waits_for_own_phase(method, outline, *called, arguments) => Kind::Phaser,
            _ => return None,
        };
        let latch = self.made_at(method, outline, arguments.first()?, MAX_DEPTH)?;
        Some(Wait { kind, latch })
    }

    /// `phaser.awaitAdvance(phaser.arrive())`: the phase in which it has arrived itself is not over before all have.
    fn waits_for_own_phase(
        &self,
        method: MethodId,
        outline: &Outline,
        called: MethodName,
        arguments: &[Argument],
    ) -> bool {
        let names = &self.program.names;
        let is_phaser = |called: MethodName| names.text(called.class.0) == "java/util/concurrent/Phaser";
        if !is_phaser(called) || !matches!(names.text(called.name), "awaitAdvance" | "awaitAdvanceInterruptibly") {
            return false;
        }
        let [phaser, phase] = arguments else { return false };
        let latch = |argument: &Argument| self.made_at(method, outline, argument, MAX_DEPTH);
        let is_own_arrival = |event: EventId| match &outline.events[event.index()].action {
            Action::Call { method: arrived, arguments, .. } if is_phaser(*arrived) => {
                matches!(names.text(arrived.name), "arrive" | "arriveAndDeregister")
                    && arguments.first().and_then(latch).is_some_and(|made| latch(phaser) == Some(made))
            }
            _ => false,
        };
        !phase.sources.is_empty()
            && phase.sources.iter().all(|source| match source.origin {
                Origin::Event(event) => is_own_arrival(event),
                Origin::Parameter(_) => false,
            })
    }

    /// What a method that is called surely waits at before it returns.
    fn waits_in_helper(&self, method: MethodId, outline: &Outline, event: &Event) -> Vec<Wait> {
        let Action::Call { kind, method: called, arguments } = &event.action else { return Vec::new() };
        let targets = self.calls.targets(self.program, *kind, *called);
        let [helper] = targets.known() else { return Vec::new() };
        if !self.calls.made_by(*helper).iter().any(|(_, called)| self.role(*called).is_some()) {
            return Vec::new();
        }
        let Some(inner) = self.outlines().get(*helper) else { return Vec::new() };
        let ends: Vec<usize> = (0..inner.blocks.len())
            .filter(|block| inner.blocks.successors(*block).all(|next| next.is_exceptional))
            .collect();
        let mut found = Vec::new();
        for (index, event) in inner.events.iter().enumerate() {
            let Action::Call { method: called, arguments: given, .. } = &event.action else { continue };
            let Some((kind, Role::Wait | Role::Meet)) = self.role(*called) else { continue };
            let follows = inner.follows_surely(EventId(index as u32));
            if !ends.iter().all(|end| *end == event.block as usize || follows[*end]) {
                continue;
            }
            let latch = match given.first().map(|first| first.objects.as_slice()) {
                // What this call hands in, whatever others do.
                Some([Object::Parameter(position)]) => arguments
                    .get(usize::from(*position))
                    .and_then(|argument| self.made_at(method, outline, argument, MAX_DEPTH)),
                Some(_) => self.made_at(*helper, inner, &given[0], MAX_DEPTH),
                None => None,
            };
            found.extend(latch.map(|latch| Wait { kind, latch }));
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
        own.peek().is_some() && own.all(|signal| self.is_past(signal.at, frames))
    }

    /// Whether a process that comes to a signal is done with what its frames lead to.
    fn is_past(&self, signal: At, frames: &[Frame<'_>]) -> bool {
        for frame in frames {
            let signals = match frame.method == signal.method {
                true => vec![signal.event],
                false => self.leading(frame.method, frame.outline, signal),
            };
            let is_before = |one: &EventId| {
                frame.leading.iter().all(|event| event == one || !frame.outline.may_follow(*one, *event))
            };
            if signals.is_empty() || !signals.iter().all(is_before) {
                return false;
            }
            // One call leads to both: what comes first is seen in what it calls.
            if !signals.iter().any(|one| frame.leading.contains(one)) {
                return true;
            }
        }
        false
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
        let mut seen: Vec<At> = Vec::new();
        let mut is_repeated = false;
        for (signal, _) in known.iter().filter(|(signal, latch)| signal.role != Role::Register && is_it(latch)) {
            let entries = threads.of_method(signal.at.method);
            is_repeated |= entries.iter().any(is_many) || (signal.role == Role::Signal && signal.in_loop);
            // Of those that exclude each other, as the copies of a `finally` do, one counts.
            let mut beside = seen.iter().filter(|other: &&At| other.method == signal.at.method).peekable();
            let is_instead = beside.peek().is_some() && beside.all(|other| self.exclude(*other, signal.at));
            if !is_instead {
                by.extend(entries);
            }
            seen.push(signal.at);
        }
        if matches!(wait.kind, Kind::Barrier | Kind::Phaser) {
            // Nobody arrives twice in one phase.
            by.sort_unstable();
            by.dedup();
        }
        if is_repeated { needed > 1 } else { by.len() as i64 <= needed }
    }

    /// Whether one run of a method does at most one of two of its events.
    fn exclude(&self, one: At, other: At) -> bool {
        self.outlines().get(one.method).is_some_and(|outline| {
            !outline.may_follow(one.event, other.event) && !outline.may_follow(other.event, one.event)
        })
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
    fn find_signals(&self) -> Signals {
        let mut found = Vec::new();
        let names = &self.program.names;
        let classes: Vec<ClassName> = CLASSES.iter().filter_map(|name| names.lookup(name)).map(ClassName).collect();
        for method in self.program.methods() {
            let mut made = self.calls.made_by(method).iter().filter(|(_, called)| classes.contains(&called.class));
            if !made.any(|(_, called)| self.role(*called).is_some()) {
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
        let mut comes = vec![false; self.threads().entries().len()];
        for entry in found.iter().flat_map(|signal| self.threads().of_method(signal.at.method)) {
            comes[entry.index()] = true;
        }
        Signals { list: found, comes }
    }

    /// What a call does with a latch or the like.
    fn role(&self, called: MethodName) -> Option<(Kind, Role)> {
        let names = &self.program.names;
        let class = names.text(called.class.0);
        let kind = KINDS[CLASSES.iter().position(|name| *name == class)?];
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
    fn all_signals(&self) -> &Signals {
        self.signals.get_or_init(|| self.find_signals())
    }

    fn signals(&self) -> &[Signal] {
        &self.all_signals().list
    }
}

/// Whether all of some events come only after another one has ended without an exception.
fn surely_after(outline: &Outline, first: EventId, events: &[EventId]) -> bool {
    let follows = outline.follows_surely(first);
    let block = outline.events[first.index()].block;
    events.iter().all(|event| {
        let here = outline.events[event.index()].block;
        if here == block { *event > first } else { follows[here as usize] }
    })
}
