//! A step of one's own that is asked about afterwards instead of by what it returns: `left.decrementAndGet();
//! if (left.get() == 0) finish();`. When others take theirs in between, two find that they were the last, or nobody does.

use location::MethodName;
use program::Variable;
use program::ir::{Arithmetic, CallKind, Op};
use program::model::{Sink, State};
use program::outline::{Action, Event, EventId, Member, NameStep, Origin, Outline, Sources, Start};
use program::summary::{Access, AccessId, Influence, Root};

use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::threads::run_at_once;
use crate::words::operation;

impl Looking<'_> {
    pub(super) fn stepped(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for (number, step) in self.summary.accesses.iter().enumerate() {
            if !step.is_write || !is_amount(step) || is_asked(outline, step.event) {
                continue;
            }
            // What is put into a container goes on from nothing that was read.
            let is_contents = step.member == Member::State(State::Contents);
            let is_one = || self.is_one_of_own(step);
            let before = if is_contents { is_one().then_some(AccessId(number as u32)) } else { self.counted_on(step) };
            let Some(before) = before else { continue };
            for (index, answer) in self.summary.accesses.iter().enumerate() {
                let Some((first, second)) = self.asked_later(outline, step, answer) else { continue };
                // Who has done nothing asks for another reason.
                let control = |access: &Access| &outline.events[access.event.index()].control;
                if is_contents && control(step) != control(answer) {
                    continue;
                }
                let Some(variable) = self.shared(step) else { continue };
                let counted_on = self.access(before).event;
                if self.decides_once(outline, answer.event, step.event, counted_on, variable)
                    && run_at_once(self.whole, self.method, self.method)
                    && self.is_count(step)
                {
                    let write = AccessId(index as u32);
                    found.push(Stale {
                        read: before,
                        write,
                        first,
                        second,
                        how: Use::Stepped,
                        variable,
                        written: variable,
                    });
                }
            }
        }
        found
    }

    /// What a step goes on from: it depends on what was there.
    pub(super) fn counted_on(&self, step: &Access) -> Option<AccessId> {
        step.value.iter().find_map(|influence| match influence.root {
            Root::Access(read) => {
                let before = self.access(read);
                let is_it = is_one(before, step) && !before.held.intersection(step.held).is_empty();
                is_it.then_some(read)
            }
            Root::Parameter(_) => None,
        })
    }

    /// Whether a step is one up or down, and not some other change of what was there.
    pub(super) fn is_count(&self, step: &Access) -> bool {
        match step.member {
            Member::State(State::Contents) => self.adds_one(step) || self.takes_one(step),
            Member::State(_) => self.way_of(step).is_some(),
            _ => self.is_moved_by(step, |by| matches!(by, Op::Constant(_))),
        }
    }

    /// Whether a field is moved up or down by something.
    pub(super) fn is_step(&self, step: &Access) -> bool {
        self.is_moved_by(step, |_| true)
    }

    fn is_moved_by(&self, step: &Access, is_amount: impl Fn(&Op) -> bool) -> bool {
        let program = self.whole.program;
        let method = self.whole.calls.hierarchy.resolve_name(program, step.spot.method);
        let Some(Ok(Some(body))) = method.map(|method| program.body(method)) else { return false };
        let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } if instruction.pc == step.spot.pc => Some(value),
            _ => None,
        });
        stored.is_some_and(|stored| match *body.op(stored) {
            Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, _, by) => is_amount(body.op(by)),
            _ => false,
        })
    }

    /// The section of a step, and the later one in which the outcome is asked.
    fn asked_later(&self, outline: &Outline, step: &Access, answer: &Access) -> Option<(usize, usize)> {
        // Who asks by a step of his own gets an answer of his own.
        let is_step = || self.summary.accesses.iter().any(|one| one.is_write && one.spot == answer.spot);
        let is_later = !answer.is_write
            && answer.event != step.event
            && answer.member == step.member
            && answer.base.same(&step.base)
            && self.tells_amount(answer)
            && !self.looks_inside(answer)
            && step.held.intersection(answer.held).is_empty()
            && !is_step()
            && outline.leads_to(step.event, answer.event, &[]);
        is_later.then(|| step.held.iter().next().zip(answer.held.iter().next()))?
    }

    /// Whether an element goes into or out of a container that the method knows by where it is, and not because of what is
    /// in there.
    fn is_one_of_own(&self, step: &Access) -> bool {
        let is_of_itself = |influence: &Influence| match influence.root {
            Root::Access(read) => self.access(read).base.same(&step.base) && self.access(read).member == step.member,
            Root::Parameter(_) => false,
        };
        matches!(step.base.start, Start::Parameter(_) | Start::Static(_)) && !step.control.iter().any(is_of_itself)
    }

    /// Whether a read tells how much there is.
    pub(super) fn tells_amount(&self, read: &Access) -> bool {
        read.member != Member::State(State::Contents)
            || matches!(operation(self.whole, &read.spot), Some("size" | "isEmpty"))
    }

    /// Whether a call that asks how much there is goes over what there is, too: what it yields is no amount.
    fn looks_inside(&self, answer: &Access) -> bool {
        self.summary.accesses.iter().any(|look| {
            look.event == answer.event
                && look.spot != answer.spot
                && !look.is_write
                && look.member == answer.member
                && look.base.same(&answer.base)
                && !self.tells_amount(look)
        })
    }

    /// Whether an answer says, by being one very value, that something is done which is not to be done twice. What asks
    /// first whether it is the one to do it may be asked to twice.
    fn decides_once(
        &self,
        outline: &Outline,
        answer: EventId,
        step: EventId,
        counted_on: EventId,
        variable: Variable,
    ) -> bool {
        let is_from = |condition: u32, wanted: &dyn Fn(EventId) -> bool| {
            let mut sources = outline.conditions[condition as usize].sources.iter();
            sources.any(|source| matches!(source.origin, Origin::Event(event) if wanted(event)))
        };
        let is_claim = |event: EventId| {
            let mut accesses = self.summary.accesses.iter();
            accesses.any(|access| access.event == event && access.is_write && self.variable(access) != Some(variable))
        };
        // Who asks whether it is still the number that the step has made asks whether others have come since.
        let is_own_number = |condition: u32| {
            let is_of = |sources: &Sources, wanted: EventId| {
                sources.iter().any(|source| source.origin == Origin::Event(wanted))
            };
            let sides = outline.conditions[condition as usize].sides.as_deref();
            sides.is_some_and(|[one, other]| {
                [(one, other), (other, one)]
                    .iter()
                    .any(|(asked, own)| is_of(asked, answer) && (is_of(own, step) || is_of(own, counted_on)))
            })
        };
        // Whether there is another step is asked by who goes on as long as there is something.
        let is_step = outline.events[step.index()].control.iter().any(|on| is_from(*on, &|one| one == answer));
        !is_step
            && (0..).zip(&outline.events).any(|(number, event)| {
                event.control.iter().any(|on| {
                    !outline.conditions[*on as usize].is_by_size
                        && is_from(*on, &|one| one == answer)
                        && !is_own_number(*on)
                }) && !event.control.iter().any(|on| is_from(*on, &is_claim))
                    && self.is_act(EventId(number), event)
            })
    }

    /// Whether it makes a difference if something is done twice: it adds to something, or nobody knows what it does.
    fn is_act(&self, id: EventId, event: &Event) -> bool {
        let Action::Call { kind, method, .. } = &event.action else { return false };
        let is_unknown = || {
            let (program, calls) = (self.whole.program, &self.whole.calls);
            *kind == CallKind::Interface
                && calls.model(program, *method, method.class).is_none()
                && !calls
                    .targets(program, *kind, *method)
                    .known()
                    .iter()
                    .any(|one| program.is_checked(program.class_of(*one)))
        };
        let adds = |access: &Access| {
            access.event == id
                && access.is_write
                && !access.is_compound
                && (!access.value.is_empty() || self.way_of(access) == Some(Way::Up))
                && self.shared(access).is_some()
        };
        self.summary.accesses.iter().any(adds) || is_unknown() || self.prints(*kind, *method)
    }

    /// Whether a call tells people something, by itself or in a method of the program.
    fn prints(&self, kind: CallKind, method: MethodName) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_sink = |method: MethodName| {
            calls.model(program, method, method.class).is_some_and(|model| model.sink == Some(Sink::Print))
        };
        let prints = |event: &Event| matches!(&event.action, Action::Call { method, .. } if is_sink(*method));
        is_sink(method)
            || calls.targets(program, kind, method).known().iter().any(|target| {
                let outline = self.whole.summaries.outline(*target);
                outline.is_some_and(|outline| outline.events.iter().any(prints))
            })
    }
}

/// Whether the outcome of a step is asked by what it returns.
fn is_asked(outline: &Outline, step: EventId) -> bool {
    let mut sources = outline.conditions.iter().flat_map(|condition| &condition.sources);
    sources.any(|source| source.origin == Origin::Event(step))
}

/// Whether two accesses are of one variable; a static is of no object.
pub(super) fn is_one(first: &Access, second: &Access) -> bool {
    first.member == second.member && (matches!(first.member, Member::Static(_)) || first.base.same(&second.base))
}

/// Whether it is an amount of one object, not of any element of something.
pub(super) fn is_amount(access: &Access) -> bool {
    match access.member {
        Member::Static(_) => true,
        Member::Field(_) | Member::State(State::Value | State::Contents) => {
            !access.base.is_unknown() && !access.base.steps.contains(&NameStep::Some)
        }
        Member::Elements | Member::State(_) => false,
    }
}
