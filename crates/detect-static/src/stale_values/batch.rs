//! Batches: once there are enough, all that there is goes at once. Two who both see that there are enough both take; the
//! second one gets less than he counted on, perhaps nothing, which is right if he asks.

use program::model::State;
use program::outline::{Action, EventId, Member, Object, Origin, Outline, Source};
use program::summary::Access;
use program::{MethodId, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::validated::is_made_of;
use crate::words::{called_at, operation};

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 2;

impl Looking<'_> {
    /// Whether all that there is is taken because there was enough of it.
    pub(super) fn is_batch(&self, stale: &Stale, write: &Access) -> bool {
        let is_amount = || matches!(operation(self.whole, &self.access(stale.read).spot), Some("size"));
        stale.how == Use::Decides
            && stale.variable.field() == stale.written.field()
            && matches!(stale.variable, Variable::Held(_))
            && (matches!(operation(self.whole, &write.spot), Some("clear" | "drainTo")) || self.is_new_container(write))
            && is_amount()
            && self.is_by_size(stale, write)
    }

    /// `if (pending.get() < 5) return; taken = pending.getAndSet(0); send(taken);`: what goes on is what the step has taken,
    /// however much that is, and so is what is given back. The look before decides only whether to try.
    pub(super) fn is_of_exchange(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_number = |take: &Access| {
            let called = called_at(self.whole, &take.spot);
            called.is_some_and(|called| !self.whole.program.names.text(called.descriptor).ends_with(';'))
        };
        let is_take = |take: &Access| {
            take.is_write
                && ![read.event, write.event].contains(&take.event)
                && take.member == Member::State(State::Value)
                && take.base.same(&read.base)
                && self.variable(take) == Some(stale.variable)
                && matches!(operation(self.whole, &take.spot), Some("getAndSet" | "sumThenReset"))
                && is_number(take)
                && !outline.leads_to(read.event, write.event, &[take.event])
        };
        let goes_by = |take: &Access| {
            let is_it = |source: &Source| match source.origin {
                Origin::Event(from) => is_made_of(outline, from, take.event.index(), &mut Vec::new()),
                Origin::Parameter(_) => false,
            };
            let event = &outline.events[write.event.index()];
            let mut conditions = event.control.iter().map(|condition| &outline.conditions[*condition as usize]);
            conditions.any(|condition| condition.sources.iter().any(is_it))
                || match &event.action {
                    Action::Call { arguments, .. } => {
                        arguments.iter().flat_map(|argument| &argument.sources).any(is_it)
                    }
                    Action::Write { value, .. } => value.iter().any(is_it),
                    _ => false,
                }
        };
        stale.how == Use::Decides
            && !comes_from(&write.value, stale.read)
            && self.summary.accesses.iter().any(|take| is_take(take) && goes_by(take))
    }

    /// Whether who takes a batch asks whether there is anything in it.
    pub(super) fn is_batch_asked(&self, stale: &Stale, write: &Access) -> bool {
        self.is_batch(stale, write) && {
            let outline = self.whole.summaries.outline(self.method);
            outline.is_some_and(|outline| self.is_asked(outline, &Object::Event(write.event), MAX_DEPTH))
        }
    }

    fn is_new_container(&self, write: &Access) -> bool {
        matches!(write.member, Member::Field(_))
            && self.event_at(&write.spot).is_some_and(|event| match &event.action {
                Action::Write { stored, .. } => matches!(stored.objects.as_slice(), [Object::New { .. }]),
                _ => false,
            })
    }

    /// Whether the amount was compared by size: who sees that it is just so many is the only one.
    fn is_by_size(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read).event;
        let mut deciding = outline.events[write.event.index()].control.iter();
        deciding.any(|condition| {
            let condition = &outline.conditions[*condition as usize];
            condition.is_by_size
                && condition.sources.iter().any(|source| match source.origin {
                    Origin::Event(from) => is_made_of(outline, from, read.index(), &mut Vec::new()),
                    Origin::Parameter(_) => false,
                })
        })
    }

    /// Whether a container is asked how much is in it, and something hangs on the answer; here, or where it is given to.
    fn is_asked(&self, outline: &Outline, batch: &Object, depth: usize) -> bool {
        let names = &self.whole.program.names;
        let hangs_on = |answer: EventId| {
            let mut sources = outline.conditions.iter().flat_map(|condition| &condition.sources);
            sources.any(|source| source.origin == Origin::Event(answer))
        };
        outline.events.iter().enumerate().any(|(index, event)| {
            let Action::Call { kind, method, arguments } = &event.action else { return false };
            let Some(position) = arguments.iter().position(|argument| argument.objects.contains(batch)) else {
                return false;
            };
            let is_question = position == 0 && matches!(names.text(method.name), "isEmpty" | "size");
            is_question && hangs_on(EventId(index as u32))
                || depth > 0
                    && self.whole.calls.targets(self.whole.program, *kind, *method).known().iter().any(
                        |target: &MethodId| {
                            let outline = self.whole.summaries.outline(*target);
                            let given = Object::Parameter(position as u16);
                            outline.is_some_and(|outline| self.is_asked(outline, &given, depth - 1))
                        },
                    )
        })
    }
}
