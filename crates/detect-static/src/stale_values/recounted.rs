//! A number that a step of one's own has made, and that is acted on when others may have counted on from it:
//! `if (users.decrementAndGet() == 0) driver.stop();`, while whoever counts up from nought starts the driver. The number is
//! one's own only as long as nobody can leave it. Who has counted up holds a share, so nobody counts down from that number
//! before it is given back; who has counted down to nought holds nothing any more. Where the count only goes down, nought is
//! the end, and just one comes to it. A number that was found to be above some limit is left by whoever counts on.
//!
//! Misses: counts whose steps are told by callers, and what is set on the way in by methods that are not called together
//! with the step.
//! May be wrong when: whoever counts up makes sure by other means than the count that nobody has come to its end.

use program::ir::{Arithmetic, Body, Op};
use program::model::{Revalidation, State};
use program::outline::{Action, Member, Object, Origin, Outline};
use program::summary::{Access, AccessId, Influence, Root, Spot};
use program::{MethodId, Place, Variable};

use super::drawn::constant;
use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::validated::is_made_of;
use super::way::Way;
use crate::threads::run_at_once;
use crate::words::{called_at, operation};

/// Callers further up than this are not asked what else they do.
const MAX_DEPTH: usize = 2;

impl Looking<'_> {
    pub(super) fn recounted(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for step in self.summary.accesses.iter().filter(|step| step.is_write && step.expects.is_empty()) {
            let Some(before) = self.counted_on(step) else { continue };
            for (index, act) in self.summary.accesses.iter().enumerate() {
                let is_act = act.is_write
                    && act.event != step.event
                    && !self.is_told_what_to_expect(act)
                    && act.held.intersection(step.held).is_empty()
                    && comes_from(&act.control, before);
                if !is_act || !self.is_absolute(act) {
                    continue;
                }
                let Some((first, second)) = step.held.iter().next().zip(act.held.iter().next()) else { continue };
                let (Some(variable), Some(written)) = (self.shared(step), self.shared(act)) else { continue };
                let is_left = match variable == written {
                    true => self.is_left_before_reset(outline, step, act, variable),
                    false => self.is_entered_again(step, act, variable),
                };
                if is_left && !self.is_looked_at_again(step, act, variable) {
                    let write = AccessId(index as u32);
                    found.push(Stale { read: before, write, first, second, how: Use::Recounted, variable, written });
                }
            }
        }
        found
    }

    /// Whether a write does nothing unless it finds what it is told: `guests.remove(room, 0)`.
    fn is_told_what_to_expect(&self, write: &Access) -> bool {
        let called = called_at(self.whole, &write.spot);
        let model = called.and_then(|method| self.whole.calls.model(self.whole.program, method, method.class));
        !write.expects.is_empty()
            || model.is_some_and(|model| matches!(model.revalidates, Some(Revalidation::Expects(_))))
    }

    /// Whether a write sets something to what it says, whatever it was: it counts on from nothing.
    fn is_absolute(&self, act: &Access) -> bool {
        match act.member {
            Member::Field(_) | Member::Static(_) => self.counted_on(act).is_none(),
            Member::State(State::Contents) => {
                act.is_removal || matches!(operation(self.whole, &act.spot), Some("clear" | "put"))
            }
            Member::State(State::Value) => {
                matches!(operation(self.whole, &act.spot), Some("set" | "lazySet" | "setRelease" | "reset"))
            }
            _ => false,
        }
    }

    /// Whether the count is set anew, or what stands under its key taken out, while others count on: the other way, or
    /// any way if the number was only compared by size.
    fn is_left_before_reset(&self, outline: &Outline, step: &Access, act: &Access, variable: Variable) -> bool {
        let is_of_key =
            act.keys.is_empty() || step.keys.is_empty() || act.keys.iter().any(|key| step.keys.contains(key));
        let is_of_step = |origin: Origin| match origin {
            Origin::Event(from) => is_made_of(outline, from, step.event.index(), &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let is_by_size = || {
            outline.events[act.event.index()].control.iter().any(|condition| {
                let condition = &outline.conditions[*condition as usize];
                condition.is_by_size && condition.sources.iter().any(|source| is_of_step(source.origin))
            })
        };
        let Some(way) = self.way_of_count(step).filter(|_| is_of_key && act.base.same(&step.base)) else {
            return false;
        };
        let counts = |there: &Looking<'_>, other: &Access, is_same_way: bool| {
            there.way_of_count(other).is_some_and(|other| (other == way) == is_same_way)
        };
        self.others(variable).any(|(there, place)| counts(&there, there.access(place.access), false))
            || is_by_size()
                && self.others(variable).any(|(there, place)| counts(&there, there.access(place.access), true))
    }

    /// Whether others count up from what this one has counted down to, and set then what it is about to write.
    fn is_entered_again(&self, step: &Access, act: &Access, variable: Variable) -> bool {
        self.way_of_count(step) == Some(Way::Down)
            && self.others(variable).any(|(there, place)| {
                let other = there.access(place.access);
                there.way_of_count(other) == Some(Way::Up)
                    && self.is_written_on_the_way(place.method, other.spot, act, MAX_DEPTH)
            })
    }

    /// Whether the method that counts, or one that calls it, writes what an act of this one writes; not by leading to that
    /// act: who enters leaves later.
    fn is_written_on_the_way(&self, method: MethodId, step: Spot, act: &Access, depth: usize) -> bool {
        let Some(there) = Looking::anywhere(self.whole, method) else { return false };
        let written = self.variable(act);
        let is_of_step = |influence: &Influence| match influence.root {
            Root::Access(read) => there.access(read).spot == step,
            Root::Parameter(_) => false,
        };
        there.summary.accesses.iter().any(|write| {
            write.is_write
                && there.variable(write) == written
                && (write.spot != act.spot || write.control.iter().any(is_of_step))
        }) || depth > 0
            && self
                .whole
                .calls
                .callers(method)
                .iter()
                .any(|caller| *caller != self.method && self.is_written_on_the_way(*caller, step, act, depth - 1))
    }

    /// Steps of other threads that change a count whatever it is.
    fn others(&self, variable: Variable) -> impl Iterator<Item = (Looking<'_>, &Place)> {
        self.whole.variables.writers(variable).iter().filter_map(move |place| {
            let there = Looking::at(self.whole, place.method)?;
            let step = there.access(place.access);
            let is_blind = !there.is_told_what_to_expect(step)
                && !step.control.iter().any(|influence| there.is_fresh(influence, variable, step));
            (is_blind && run_at_once(self.whole, self.method, place.method)).then_some((there, place))
        })
    }

    /// Whether the count is asked again in the section that acts, or by the call that does.
    fn is_looked_at_again(&self, step: &Access, act: &Access, variable: Variable) -> bool {
        act.control.iter().chain(&act.guards).any(|influence| match influence.root {
            Root::Access(read) => {
                let again = self.access(read);
                again.event != step.event
                    && self.variable(again) == Some(variable)
                    && (self.is_fresh(influence, variable, act) || again.event == act.event)
            }
            Root::Parameter(_) => false,
        })
    }

    /// Which way a step moves a count, that of a key, too: `counts.merge(key, -1, Integer::sum)`.
    fn way_of_count(&self, step: &Access) -> Option<Way> {
        if step.member != Member::State(State::Contents) {
            return self.counted_on(step).and_then(|_| self.way_of(step));
        }
        let program = self.whole.program;
        let (outline, event) = self.place_of(&step.spot)?;
        let Action::Call { method, arguments, .. } = &outline.events[event.index()].action else { return None };
        let function = arguments.last()?.objects.iter().find_map(|object| match object {
            Object::Event(made) => match &outline.events[made.index()].action {
                Action::Lambda { method, .. } => Some(*method),
                _ => None,
            },
            _ => None,
        })?;
        let code = || {
            let method = self.whole.calls.hierarchy.resolve_name(program, function)?;
            program.body(method).ok()?
        };
        match program.names.text(method.name) {
            "merge" => {
                let adds = program.names.text(function.name) == "sum" || code().is_some_and(|code| is_sum(&code));
                let maker = self.whole.calls.hierarchy.resolve_name(program, step.spot.method)?;
                let body = program.body(maker).ok()??;
                let amount = amount_given(&body, step.spot.pc)?;
                adds.then_some(if amount < 0 { Way::Down } else { Way::Up })
            }
            "compute" | "computeIfPresent" => code().and_then(|code| way_of_function(&code)),
            _ => None,
        }
    }
}

/// The number that a call of `merge` is given, where it stands in the code.
fn amount_given(body: &Body, pc: u32) -> Option<i64> {
    body.instructions().filter(|(_, instruction)| instruction.pc == pc).find_map(|(_, instruction)| {
        let Op::Call { arguments, .. } = instruction.op else { return None };
        let [_, _, given, _] = body.operands(arguments) else { return None };
        let given = body.without_casts(*given);
        match *body.op(given) {
            Op::Call { arguments, .. } => match body.operands(arguments) {
                [boxed] => constant(body, *boxed),
                _ => None,
            },
            _ => constant(body, given),
        }
    })
}

/// Whether a function adds up what it is given.
fn is_sum(code: &Body) -> bool {
    code.instructions().any(|(_, instruction)| matches!(instruction.op, Op::Arithmetic(Arithmetic::Add, ..)))
}

/// The way of a function that moves a number by a fixed amount.
fn way_of_function(code: &Body) -> Option<Way> {
    let mut steps = code.instructions().filter_map(|(_, instruction)| match instruction.op {
        Op::Arithmetic(operator @ (Arithmetic::Add | Arithmetic::Subtract), _, by) => {
            let by = constant(code, by)?;
            Some(if (by > 0) == (operator == Arithmetic::Add) { Way::Up } else { Way::Down })
        }
        _ => None,
    });
    let first = steps.next()?;
    steps.all(|other| other == first).then_some(first)
}
