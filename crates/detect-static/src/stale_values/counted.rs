//! A number that is taken in one section and counted on in another one, while what was taken goes on: `id = peek();
//! advance(); return id;`. Two threads that come at once go on with one number. The same where the number is part of a new
//! object that goes on, where the step comes first and the number is asked afterwards, and where the number is the place of
//! what was added to a container.

use std::cell::LazyCell;

use program::model::State;
use program::outline::{Action, EventId, Member, Object, Origin, Outline, Sources, Start};
use program::summary::{Access, AccessId, Root};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::stepped::{is_amount, is_one};
use crate::threads::run_at_once;
use crate::words::operation;

/// What a method yields that tells a number.
const NUMBERS: [&str; 5] = [")I", ")J", ")Ljava/lang/Integer;", ")Ljava/lang/Long;", ")Ljava/lang/String;"];

impl Looking<'_> {
    pub(super) fn counted(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for (index, step) in self.summary.accesses.iter().enumerate() {
            if !step.is_write || !self.may_step_up(step) || is_listened_to(outline, step.event) {
                continue;
            }
            // To see by how much a field is moved takes its code; so that is asked when all else is said.
            let variable = LazyCell::new(|| self.is_count(step).then(|| self.shared(step)).flatten());
            for (number, taken) in self.summary.accesses.iter().enumerate() {
                let (step_id, taken_id) = (AccessId(index as u32), AccessId(number as u32));
                let Some(is_first) = self.is_taken_beside(outline, step, taken, taken_id) else { continue };
                let (Some(stepping), Some(taking)) = (step.held.iter().next(), taken.held.iter().next()) else {
                    continue;
                };
                if !self.goes_on_as_number(outline, taken_id, step, is_first)
                    || !run_at_once(self.whole, self.method, self.method)
                {
                    continue;
                }
                let Some(variable) = *variable else { continue };
                let (read, write, first, second) = match is_first {
                    true => (taken_id, step_id, taking, stepping),
                    false => (step_id, taken_id, stepping, taking),
                };
                found.push(Stale { read, write, first, second, how: Use::Counted, variable, written: variable });
            }
        }
        found
    }

    /// Whether a write may be one step up: a number is counted on, or one more is put into a container.
    fn may_step_up(&self, step: &Access) -> bool {
        match step.member {
            Member::State(State::Contents) => is_amount(step) && self.adds_one(step),
            _ => is_amount(step) && !step.is_keyed && self.counted_on(step).is_some(),
        }
    }

    /// Whether the number is taken in a section of its own, on every way to the step or from it; and if so, whether it
    /// comes first.
    fn is_taken_beside(&self, outline: &Outline, step: &Access, taken: &Access, id: AccessId) -> Option<bool> {
        let is_number =
            taken.member != Member::State(State::Contents) || operation(self.whole, &taken.spot) == Some("size");
        let (stepping, taking) = (&outline.events[step.event.index()], &outline.events[taken.event.index()]);
        // A number that came of a step is one's own.
        let is_own = self
            .summary
            .accesses
            .iter()
            .any(|change| change.is_write && change.event == taken.event && is_one(change, taken));
        let is_beside = !taken.is_write
            && !is_own
            && taken.event != step.event
            && is_one(taken, step)
            && is_number
            && step.held.intersection(taken.held).is_empty()
            && stepping.control == taking.control
            && ![&step.value, &step.control, &step.guards].into_iter().any(|by| comes_from(by, id));
        if !is_beside {
            None
        } else if outline.leads_to(taken.event, step.event, &[]) {
            Some(true)
        } else {
            outline.leads_to(step.event, taken.event, &[]).then_some(false)
        }
    }

    /// Whether what was taken stands for something from then on: it is what the method yields, says where something is
    /// put, or is put there.
    fn goes_on_as_number(&self, outline: &Outline, taken: AccessId, step: &Access, is_first: bool) -> bool {
        let descriptor = self.whole.program.names.text(self.whole.program.method(self.method).descriptor);
        let origin = Origin::Event(self.access(taken).event);
        let is_yielded = NUMBERS.iter().any(|number| descriptor.ends_with(number))
            && comes_from(&self.summary.result, taken)
            && outline.result.iter().all(|source| source.origin == origin);
        // How many there are is noted for many reasons, the next number to be used.
        let is_number = is_first && step.member != Member::State(State::Contents);
        // What a call does with what it has asked itself is its own business.
        let reading = self.access(taken).event;
        let is_put = |put: &Access| {
            put.is_write
                && ![step.event, reading].contains(&put.event)
                && (put.is_keyed || is_number && put.member == Member::State(State::Contents))
                && !put.is_removal
                && put.base.start != Start::Unknown
                && (comes_from(&put.address, taken) || comes_from(&put.value, taken))
        };
        is_yielded
            || self.summary.accesses.iter().any(is_put)
            || is_number && self.summary.accesses.iter().any(|put| self.is_number_of_yielded(outline, put, taken))
    }

    /// `id = peek(); advance(); return new Ticket(id, name);`: whether a write gives what was taken, and nothing else, to a
    /// field of a new object that the method yields.
    fn is_number_of_yielded(&self, outline: &Outline, put: &Access, taken: AccessId) -> bool {
        let is_yielded = |register: u32| {
            let mut returned = outline.returned.iter();
            returned.any(|object| matches!(object, Object::New { register: made, .. } if *made == register))
        };
        put.is_write
            && matches!(put.member, Member::Field(_))
            && put.base.steps.is_empty()
            && comes_from(&put.value, taken)
            && put.value.iter().all(|influence| influence.root == Root::Access(taken))
            && matches!(put.base.start, Start::New(register) if is_yielded(register))
    }
}

/// Whether something is done with what a call yields.
fn is_listened_to(outline: &Outline, call: EventId) -> bool {
    let is_it = |sources: &Sources| sources.iter().any(|source| source.origin == Origin::Event(call));
    is_it(&outline.result)
        || outline.conditions.iter().any(|condition| is_it(&condition.sources))
        || outline.events.iter().any(|event| match &event.action {
            Action::Read { address, .. } => is_it(address),
            Action::Write { address, value, .. } => is_it(address) || is_it(value),
            Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                arguments.iter().any(|argument| is_it(&argument.sources))
            }
            Action::Wait(_) => false,
        })
}
