//! Order by a latch: one process waits until others have counted it down, and they write nothing after that.
//!
//! A latch is told by where it is made. That all of those who count it down have to be waited for is taken for granted.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

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

/// Where a latch is made.
type Latch = (MethodId, u32);

impl Whole<'_> {
    /// Whether a process comes to an event only after all processes of another entry have done a write.
    pub fn is_latched(&self, process: EntryId, at: At, other: EntryId, write: At) -> bool {
        let counted = self.latches(other, OrderKind::Signal);
        if counted.is_empty() {
            return false;
        }
        let Some((outline, leading)) = self.leading(other, write) else { return false };
        let is_last = |signal: &EventId| leading.iter().all(|event| !outline.may_follow(*signal, *event));
        let mut last: SmallVec<[Latch; 2]> = SmallVec::new();
        for (_, latch) in &counted {
            let mut signals = counted.iter().filter(|(_, other)| other == latch).map(|(event, _)| event);
            if signals.all(is_last) {
                last.push(*latch);
            }
        }
        let Some((outline, leading)) = self.leading(process, at) else { return false };
        self.latches(process, OrderKind::Await).iter().filter(|(_, latch)| last.contains(latch)).any(|(wait, _)| {
            let follows = outline.follows_surely(*wait);
            let block = outline.events[wait.index()].block;
            leading.iter().all(|event| {
                let here = outline.events[event.index()].block;
                if here == block { event > wait } else { follows[here as usize] }
            })
        })
    }

    /// The events of an entry's own code that lead to an event, which may be in a callee.
    fn leading(&self, process: EntryId, at: At) -> Option<(&Outline, Vec<EventId>)> {
        let (run, outline) = self.own_code(process)?;
        if run == at.method {
            return Some((outline, vec![at.event]));
        }
        let events = outline.events.iter().enumerate().filter(|(_, event)| match &event.action {
            Action::Call { kind, method, .. } => {
                let targets = self.calls.targets(self.program, *kind, *method);
                targets.known().iter().any(|target| self.reaches(*target, at.method))
            }
            Action::Lambda { method, .. } => {
                let targets = self.calls.lambda_targets(self.program, *method);
                targets.known().iter().any(|target| self.reaches(*target, at.method))
            }
            _ => false,
        });
        let events: Vec<EventId> = events.map(|(index, _)| EventId(index as u32)).collect();
        (!events.is_empty()).then_some((outline, events))
    }

    /// The code of an entry, where it is more than a call of other code: compilers make methods that only do that.
    fn own_code(&self, process: EntryId) -> Option<(MethodId, &Outline)> {
        let mut run = self.threads().entry(process).method?;
        for _ in 0..MAX_DEPTH {
            let [Event { action: Action::Call { kind, method, .. }, .. }] = self.outlines().get(run)?.events.as_slice()
            else {
                break;
            };
            let targets = self.calls.targets(self.program, *kind, *method);
            let [target] = targets.known() else { break };
            run = *target;
        }
        Some((run, self.outlines().get(run)?))
    }

    fn reaches(&self, from: MethodId, to: MethodId) -> bool {
        let mut seen: FxHashSet<MethodId> = FxHashSet::default();
        let mut pending = vec![from];
        while let Some(method) = pending.pop() {
            if method == to {
                return true;
            }
            if seen.len() < MAX_METHODS && seen.insert(method) {
                pending.extend(self.calls.callees(method));
            }
        }
        // Who has looked at so many does not know.
        seen.len() >= MAX_METHODS
    }

    /// The latches that an entry's own code counts down, or waits for, and where.
    fn latches(&self, process: EntryId, kind: OrderKind) -> Vec<(EventId, Latch)> {
        let Some((run, outline)) = self.own_code(process) else { return Vec::new() };
        let latch = |(index, event): (usize, &Event)| {
            let Action::Call { method, arguments, .. } = &event.action else { return None };
            let model = self.calls.model(self.program, *method, method.class)?;
            let is_it = model.orders == Some(Order { kind, when: When::Always })
                && self.program.names.text(method.class.0) == "java/util/concurrent/CountDownLatch";
            let latch = arguments.first().filter(|_| is_it)?;
            Some((EventId(index as u32), self.made_at(run, outline, latch, MAX_DEPTH)?))
        };
        outline.events.iter().enumerate().filter_map(latch).collect()
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
