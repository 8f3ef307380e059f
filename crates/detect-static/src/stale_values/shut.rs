//! What is shut by a flag and then emptied: `closed = true; queue.clear();` beside `if (!closed) queue.add(job);`. Who has
//! asked before may add after the last one was taken out, and nobody ever finds it. Each step is one of a volatile or an
//! atomic and of a container that locks by itself, so that no lock tells that they belong together.
//!
//! The same where something is set and then told to all that a container has, `latest = event; for (..) handler.accept(event)`,
//! and a newcomer is told of it before he is in the container: what is set in between he never hears of.
//!
//! And the same for one key, where a container says who may be in another one: `barred.add(one); inside.remove(one);` beside
//! `if (!barred.contains(one)) inside.add(one);`, or `members.remove(one); inside.remove(one);` beside
//! `if (members.contains(one)) inside.add(one);`.

use location::MethodName;
use program::ir::CallKind;
use program::model::State;
use program::outline::{Action, Argument, EventId, Member, Name, Origin, Outline, Source, Start};
use program::summary::{Access, AccessId, Spot};
use program::{MethodId, Place, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::idioms::comes_from;
use super::marks::{Level, Move};
use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::threads::run_at_once;
use crate::words::operation;

/// By variable and container: methods that write the variable and then take everything out, or go over all there is.
pub(super) type Shut = FxHashMap<(Variable, Variable), Vec<Shutter>>;

pub(super) struct Shutter {
    method: MethodId,
    sign: Sign,
}

/// What the variable says from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    /// It is a flag, and is put up.
    Up,
    /// It is set to something.
    Set,
    /// It is set to a state of several: `phase = STOPPING`.
    State(Level),
    /// It is a container, and has the key now, or has it no more, that is then taken out of the other one.
    Has,
    Lacks,
}

pub(super) fn shut(whole: &Whole<'_>, methods: &[MethodId]) -> Shut {
    let found: Vec<((Variable, Variable, Sign), MethodId)> = methods
        .par_iter()
        .flat_map_iter(|method| {
            let pairs = Looking::at(whole, *method).map(|looking| looking.shuts()).unwrap_or_default();
            pairs.into_iter().map(|pair| (pair, *method))
        })
        .collect();
    let mut all = Shut::default();
    for ((variable, container, sign), method) in found {
        all.entry((variable, container)).or_default().push(Shutter { method, sign });
    }
    all
}

impl Looking<'_> {
    /// What is written before all that a container has is taken out or gone over, or what it has for one key; and what it
    /// says then.
    fn shuts(&self) -> Vec<(Variable, Variable, Sign)> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut found = Vec::new();
        for all in self.summary.accesses.iter().filter(|access| access.is_of_contents()) {
            let is_all = match (self.called_at(all), all.is_write) {
                (Some("clear" | "drainTo"), true) => true,
                (Some("poll" | "pollFirst" | "pollLast"), true) => {
                    outline.events[all.event.index()].in_loop
                        || self.event_at(&all.spot).is_some_and(|event| event.in_loop)
                }
                (Some("iterator" | "forEach"), false) => true,
                _ => false,
            };
            let is_one = all.is_write && all.is_removal && !all.keys.is_empty();
            let Some(container) = self.variable(all).filter(|_| is_all || is_one) else { continue };
            let sign = |set: &Access| match is_one {
                true => self.sign_for_key(set).filter(|_| set.keys == all.keys && set.event < all.event),
                false if !is_mark(set) => None,
                false if self.moves(set, None) == Some(Move::Up) => Some(Sign::Up),
                false => Some(self.level_set(set).map_or(Sign::Set, Sign::State)),
            };
            for set in self.summary.accesses.iter().filter(|access| access.is_write) {
                if set.event != all.event
                    && !self.is_started(outline, set.event)
                    && !self.is_started(outline, all.event)
                    && owner(set).same(&owner(all))
                    && outline.may_follow(set.event, all.event)
                    && let Some(sign) = sign(set)
                    && let Some(variable) = self.variable(set).filter(|variable| *variable != container)
                    && !found.contains(&(variable, container, sign))
                {
                    found.push((variable, container, sign));
                }
            }
        }
        found
    }

    /// `while (!closed) { job = queue.poll(); if (job != null) .. }` beside `synchronized (lock) { closed = true; queue.clear(); }`:
    /// whoever shuts takes out all there is in the same section. Who comes after that gets nothing, and asks for that.
    pub(super) fn is_empty_when_shut(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_got = |source: &Source| source.origin == Origin::Event(write.event);
        let empties = |place: &Place| {
            self.is_by(place, |there, set| {
                there.summary.accesses.iter().any(|all| {
                    all.is_write
                        && there.variable(all) == Some(stale.written)
                        && !all.held.intersection(set.held).is_empty()
                        && matches!(operation(self.whole, &all.spot), Some("clear" | "drainTo"))
                })
            })
        };
        stale.how == Use::Decides
            && stale.variable != stale.written
            && matches!(operation(self.whole, &write.spot), Some("poll" | "pollFirst" | "pollLast"))
            && (outline.conditions.iter().any(|condition| condition.sources.iter().any(is_got))
                || self.is_asked_as_optional(outline, write.event, stale.written))
            && self.whole.variables.writers(stale.variable).iter().all(empties)
    }

    /// What a container says of a key after a write.
    fn sign_for_key(&self, set: &Access) -> Option<Sign> {
        if !set.is_of_contents() {
            None
        } else if set.is_removal {
            Some(Sign::Lacks)
        } else {
            self.adds_one(set).then_some(Sign::Has)
        }
    }

    /// What is put into a container because a flag was down that somebody puts up before he empties the container; or after
    /// it was told what somebody sets before he tells all there are.
    pub(super) fn shut_out(&self, shut: &Shut) -> Vec<Stale> {
        let mut found = Vec::new();
        if shut.is_empty() {
            return found;
        }
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let adds = || self.way_of(write) == Some(Way::Up) || self.adds_one(write);
            if !write.is_write || !write.is_of_contents() || !adds() {
                continue;
            }
            let Some(written) = self.shared(write) else { continue };
            for (number, asked) in self.summary.accesses.iter().enumerate() {
                let is_of_key = asked.is_of_contents() && !asked.keys.is_empty() && asked.keys == write.keys;
                if asked.is_write || !is_mark(asked) && !is_of_key || asked.event == write.event {
                    continue;
                }
                let Some(variable) = self.shared(asked) else { continue };
                let Some(shutters) = shut.get(&(variable, written)) else { continue };
                let read = AccessId(number as u32);
                let decides = [&write.control, &write.guards].into_iter().any(|by| comes_from(by, read));
                let is_shut = shutters.iter().any(|shutter| {
                    let is_by_sign = match shutter.sign {
                        Sign::Up => !is_of_key && decides,
                        Sign::State(level) if decides => !is_of_key && self.is_in_other_state(asked, write, level),
                        Sign::Set | Sign::State(_) => !is_of_key && !decides && self.is_told_first(asked, write),
                        Sign::Has => is_of_key && decides && self.is_because(asked, false, write),
                        Sign::Lacks => is_of_key && decides && self.is_because(asked, true, write),
                    };
                    is_by_sign && shutter.method != self.method && run_at_once(self.whole, self.method, shutter.method)
                });
                let first = asked.held.iter().find(|section| !write.held.contains(*section));
                let second = write.held.iter().find(|section| !asked.held.contains(*section));
                let (Some(first), Some(second), true) = (first, second, is_shut) else { continue };
                if owner(asked).same(&owner(write))
                    && asked.held.intersection(write.held).is_empty()
                    && !self.is_taken_back_if_shut(variable, write)
                {
                    let write = AccessId(index as u32);
                    found.push(Stale { read, write, first, second, how: Use::Decides, variable, written });
                }
            }
        }
        found
    }

    /// Whether a write is done only if it was asked whether a key is there, and the answer was this one.
    fn is_because(&self, asked: &Access, is_there: bool, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_question = matches!(self.called_at(asked), Some("contains" | "containsKey"));
        let mut conditions = outline.conditions.iter().filter(|condition| {
            !condition.sources.is_empty()
                && condition.sources.iter().all(|source| source.origin == Origin::Event(asked.event))
        });
        is_question
            && conditions.any(|condition| {
                let way = condition.nought.map(|nought| if is_there { 1 - nought } else { nought });
                let block = outline.events[write.event.index()].block as usize;
                way.is_some_and(|way| outline.comes_only_by(condition, way, block))
            })
    }

    /// Whether an event leaves what it does to a task.
    fn is_started(&self, outline: &Outline, event: EventId) -> bool {
        match &outline.events[event.index()].action {
            Action::Call { method, .. } => {
                let model = self.whole.calls.model(self.whole.program, *method, method.class);
                model.is_some_and(|model| model.starts.is_some() || model.wraps.is_some())
            }
            _ => false,
        }
    }

    /// `handler.accept(latest); handlers.add(handler);`: what is put into a container was told what a variable was before
    /// that, and is not told again.
    fn is_told_first(&self, asked: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let Action::Call { arguments: put, .. } = &outline.events[write.event.index()].action else { return false };
        let is_put = |argument: &Argument| {
            let mut objects = argument.objects.iter();
            objects.any(|object| put.iter().skip(1).any(|put| put.objects.contains(object)))
        };
        let is_old =
            |argument: &Argument| argument.sources.iter().any(|source| source.origin == Origin::Event(asked.event));
        // A helper that is given what is put, and asks itself.
        let tells = |at: EventId, kind: CallKind, called: MethodName, arguments: &[Argument]| {
            let given = arguments.iter().position(is_put);
            at == asked.event
                && given.is_some_and(|given| {
                    let targets = self.whole.calls.targets(self.whole.program, kind, called);
                    targets.known().iter().any(|target| self.tells_given(*target, given as u16, &asked.spot))
                })
        };
        let is_told = outline.events.iter().enumerate().any(|(index, event)| match &event.action {
            Action::Call { kind, method, arguments } => {
                let at = EventId(index as u32);
                if tells(at, *kind, *method, arguments) {
                    return outline.may_follow(at, write.event);
                }
                arguments.iter().any(is_put)
                    && arguments.iter().any(is_old)
                    && outline.may_follow(asked.event, at)
                    && outline.may_follow(at, write.event)
            }
            _ => false,
        });
        let is_asked_again = self.summary.accesses.iter().any(|again| {
            !again.is_write
                && self.variable(again) == self.variable(asked)
                && again.event != asked.event
                && outline.may_follow(write.event, again.event)
        });
        is_told && !is_asked_again
    }

    /// Whether a method tells what it is given what it has read at a place.
    fn tells_given(&self, method: MethodId, given: u16, read: &Spot) -> bool {
        let program = self.whole.program;
        let Some(outline) = self.whole.summaries.outline(method) else { return false };
        let is_given =
            |argument: &Argument| argument.name.start == Start::Parameter(given) && argument.name.steps.is_empty();
        let is_read = |source: &Source| match source.origin {
            Origin::Event(event) => outline.events[event.index()].pc == read.pc,
            Origin::Parameter(_) => false,
        };
        program.method_name(method) == read.method
            && outline.events.iter().any(|event| match &event.action {
                Action::Call { arguments, .. } => {
                    arguments.iter().any(is_given)
                        && arguments.iter().any(|argument| argument.sources.iter().any(is_read))
                }
                _ => false,
            })
    }

    /// `queue.add(job); if (closed && queue.remove(job)) ..`: who adds looks again, and takes it back.
    fn is_taken_back_if_shut(&self, flag: Variable, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let looks_again = |id: usize, again: &Access| {
            !again.is_write
                && self.variable(again) == Some(flag)
                && again.event != write.event
                && outline.may_follow(write.event, again.event)
                && self.summary.accesses.iter().any(|back| {
                    back.is_write
                        && back.is_of_contents()
                        && self.variable(back) == self.variable(write)
                        && self.way_of(back) == Some(Way::Down)
                        && comes_from(&back.control, AccessId(id as u32))
                })
        };
        self.summary.accesses.iter().enumerate().any(|(id, again)| looks_again(id, again))
    }
}

/// Whether an access may be to a flag: a field, or an atomic.
pub(super) fn is_mark(access: &Access) -> bool {
    matches!(access.member, Member::Field(_) | Member::State(State::Value))
}

/// The object that has the flag or the container.
pub(super) fn owner(access: &Access) -> Name {
    match access.member {
        Member::State(_) => access.base.owner(),
        _ => access.base.clone(),
    }
}
