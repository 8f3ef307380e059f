//! A number that is taken in one section and counted on in another one, while what was taken goes on: `id = peek();
//! advance(); return id;`. Two threads that come at once go on with one number. The same where the number is part of a new
//! object that goes on, where the step comes first and the number is asked afterwards, and where the number is the place of
//! what was added to a container. A step by any amount counts if the method then counts on by itself, and uses one number
//! after the other: `number = peek(); skip(n); for (..) made.add(new Ticket(++number));`. By itself, what was read before
//! something is added tells how far things had come.

use std::cell::LazyCell;

use program::ir::{Arithmetic, Body, Op, Value};
use program::model::State;
use program::outline::{Action, Argument, EventId, Member, Origin, Outline, Sources, Start};
use program::summary::{Access, AccessId, Root};
use rustc_hash::FxHashSet;

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
            let counted = LazyCell::new(|| self.is_count(step).then(|| self.shared(step)).flatten());
            let moved = LazyCell::new(|| self.is_moved(step).then(|| self.shared(step)).flatten());
            for (number, taken) in self.summary.accesses.iter().enumerate() {
                let (step_id, taken_id) = (AccessId(index as u32), AccessId(number as u32));
                let Some(is_first) = self.is_taken_beside(outline, step, taken, taken_id) else { continue };
                let (Some(stepping), Some(taking)) = (step.held.iter().next(), taken.held.iter().next()) else {
                    continue;
                };
                let goes_on = self.goes_on_as_number(outline, taken_id, step, is_first);
                let is_range = || is_first && self.is_used_one_by_one(outline, taken_id, step);
                if !goes_on && !is_range()
                    || self.is_answer_alone(outline, taken_id)
                    || !run_at_once(self.whole, self.method, self.method)
                {
                    continue;
                }
                let counted = if goes_on { *counted } else { None };
                let Some(variable) = counted.or_else(|| is_range().then(|| *moved).flatten()) else { continue };
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

    /// Whether a number is moved up or down by some amount.
    fn is_moved(&self, step: &Access) -> bool {
        match step.member {
            Member::State(State::Value) => {
                matches!(operation(self.whole, &step.spot), Some("addAndGet" | "getAndAdd" | "add"))
            }
            Member::State(_) => false,
            _ => self.is_step(step),
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
        is_yielded || self.carriers(outline, taken, step, is_first).next().is_some()
    }

    /// The writes that make something of what was taken: it says where something is put, is put there, or is part of
    /// something new.
    fn carriers<'s>(
        &'s self,
        outline: &'s Outline,
        taken: AccessId,
        step: &'s Access,
        is_first: bool,
    ) -> impl Iterator<Item = &'s Access> {
        // How many there are is noted for many reasons, the next number to be used.
        let is_number = is_first && step.member != Member::State(State::Contents);
        // What a call does with what it has asked itself is its own business.
        let reading = self.access(taken).event;
        let is_put = move |put: &Access| {
            put.is_write
                && ![step.event, reading].contains(&put.event)
                && (put.is_keyed || is_number && put.member == Member::State(State::Contents))
                && !put.is_removal
                && put.base.start != Start::Unknown
                && (comes_from(&put.address, taken) || comes_from(&put.value, taken) && !self.is_distance(put, taken))
                && self.leaves(outline, put, taken)
        };
        let accesses = self.summary.accesses.iter();
        accesses.filter(move |put| is_put(put) || is_number && self.is_number_of_new(outline, put, taken))
    }

    /// Whether the method counts on from what was taken, and makes something of one number after the other.
    fn is_used_one_by_one(&self, outline: &Outline, taken: AccessId, step: &Access) -> bool {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let (event, pc) = (self.access(taken).event, outline.events[self.access(taken).event.index()].pc);
        let by = counted_on(&body, |value| is_yielded_at(&body, value, pc));
        let carriers: Vec<&Access> = self.carriers(outline, taken, step, true).collect();
        let mut repeated = carriers.iter().filter(|put| outline.leads_to(put.event, put.event, &[event]));
        // Two objects of one class, or two things that are put into one.
        let is_another = |put: &Access, other: &Access| {
            put.event != other.event
                && (put.spot == other.spot || put.member == other.member && put.base.same(&other.base))
        };
        let in_function = || !carriers.is_empty() && self.is_counted_on_by_function(outline, event);
        by.is_some() && repeated.next().is_some()
            || by == Some(By::Constant)
                && carriers.iter().any(|put| carriers.iter().any(|other| is_another(put, other)))
            || in_function()
    }

    /// Whether a function that the method makes is given what an event yields and counts on from it.
    fn is_counted_on_by_function(&self, outline: &Outline, taken: EventId) -> bool {
        outline.events.iter().any(|event| {
            let Action::Lambda { method, arguments, .. } = &event.action else { return false };
            let is_it = |argument: &Argument| {
                argument.sources.iter().all(|source| source.origin == Origin::Event(taken))
                    && !argument.sources.is_empty()
            };
            let Some(position) = arguments.iter().position(is_it) else { return false };
            let function = self.whole.calls.hierarchy.resolve_name(self.whole.program, *method);
            let Some(Ok(Some(body))) = function.map(|function| self.whole.program.body(function)) else { return false };
            let is_given = |value: Value| matches!(*body.op(value), Op::Parameter(own) if usize::from(own) == position);
            counted_on(&body, is_given).is_some()
        })
    }

    /// `id = peek(); advance(); return new Ticket(id, name);`: whether a write gives what was taken, and nothing else, to a
    /// field of a new object that goes on, by itself or in a collection.
    fn is_number_of_new(&self, outline: &Outline, put: &Access, taken: AccessId) -> bool {
        put.is_write
            && matches!(put.member, Member::Field(_))
            && put.base.steps.is_empty()
            && match put.base.start {
                Start::New(_) => true,
                // In a large program, not all that make something for their callers are summarised.
                Start::Result(_) | Start::Unknown => !self.whole.is_large(),
                _ => false,
            }
            && comes_from(&put.value, taken)
            && put.value.iter().all(|influence| self.is_of_taken(influence.root, taken))
            && self.leaves(outline, put, taken)
    }

    /// Whether a value may have a part in a number that goes on from what was taken: a place in what the caller gave, and
    /// nothing that threads share.
    fn is_of_taken(&self, root: Root, taken: AccessId) -> bool {
        match root {
            Root::Access(other) => {
                other == taken || !self.access(other).is_write && self.variable(self.access(other)).is_none()
            }
            Root::Parameter(_) => false,
        }
    }

    /// Whether a number is asked only to compare it: what goes on then is an answer and no number.
    fn is_answer_alone(&self, outline: &Outline, taken: AccessId) -> bool {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let pc = outline.events[self.access(taken).event.index()].pc;
        let mut uses = body.instructions().filter(|(_, instruction)| {
            let mut is_used = false;
            body.for_each_operand(&instruction.op, |operand| is_used |= is_yielded_at(&body, operand, pc));
            is_used
        });
        uses.all(|(_, instruction)| matches!(instruction.op, Op::Branch { .. } | Op::Compare(..) | Op::Switch { .. }))
    }

    /// Whether what a write changes is known to others in the end, or what it puts there is part of what the method yields.
    fn leaves(&self, outline: &Outline, put: &Access, taken: AccessId) -> bool {
        let is_yielded = || comes_from(&self.summary.result, taken);
        match put.base.start {
            Start::New(register) => {
                let mut events = (0..outline.events.len()).map(|event| EventId(event as u32));
                is_yielded() || events.any(|event| self.whole.release().is_let_out(self.method, register, event))
            }
            Start::Result(_) if matches!(put.member, Member::Field(_)) => is_yielded(),
            Start::Unknown => is_yielded(),
            _ => true,
        }
    }

    /// Whether what is put is worked out from another look at the same number, too: `peek() - before` tells how far things
    /// have come.
    fn is_distance(&self, put: &Access, taken: AccessId) -> bool {
        put.value.iter().any(|influence| match influence.root {
            Root::Access(other) => {
                other != taken && !self.access(other).is_write && is_one(self.access(other), self.access(taken))
            }
            Root::Parameter(_) => false,
        })
    }
}

/// By what a number is counted on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Any,
    Constant,
}

/// Whether some code adds to a number, or takes from it.
fn counted_on(body: &Body, is_number: impl Fn(Value) -> bool) -> Option<By> {
    let mut known: FxHashSet<Value> = FxHashSet::default();
    // A number that goes around in a loop is met before it is known.
    loop {
        let before = known.len();
        for (value, instruction) in body.instructions() {
            let mut is_of_number = is_number(value);
            if let Op::Phi(_) | Op::Convert(_) | Op::Cast(..) | Op::Arithmetic(..) = instruction.op {
                body.for_each_operand(&instruction.op, |operand| is_of_number |= known.contains(&operand));
            }
            if is_of_number {
                known.insert(value);
            }
        }
        if known.len() == before {
            break;
        }
    }
    let steps = body.instructions().filter_map(|(_, instruction)| match instruction.op {
        Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, left, right) => {
            let by = match (known.contains(&left), known.contains(&right)) {
                (true, false) => right,
                (false, true) => left,
                _ => return None,
            };
            Some(if matches!(body.op(by), Op::Constant(_)) { By::Constant } else { By::Any })
        }
        _ => None,
    });
    steps.max()
}

/// Whether a value is what is read, or what a call yields, at a place.
fn is_yielded_at(body: &Body, value: Value, pc: u32) -> bool {
    let instruction = body.instruction(value);
    instruction.pc == pc && matches!(instruction.op, Op::Call { .. } | Op::GetField { .. } | Op::GetStatic(_))
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
