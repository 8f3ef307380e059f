//! Where a claim is granted: the code that a thread only comes to if it has put a mark up itself, or has taken out of a
//! container what others would have to take out, too. A step tells so by its answer, a method that claims by what it
//! returns, or by returning at all.

use program::MethodId;
use program::ir::Op;
use program::outline::{Action, Condition, EventId, Origin, Outline};
use program::summary::{Access, Spot};

use super::claims::Claim;
use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::sources::returned;

/// Claims further down than this are not looked for.
const MAX_DEPTH: usize = 3;

/// How one learns that a mark was put up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// By coming that far.
    Return,
    /// By a yes, a no, or by getting nothing.
    Yes,
    No,
    Nothing,
    /// By getting something.
    Something,
}

impl Looking<'_> {
    /// Whether an event of the method only happens after a claim was granted.
    pub(super) fn is_granted(&self, claim: &Claim<'_>, event: EventId) -> bool {
        self.is_granted_by(claim.up, event)
    }

    /// Whether an event only happens after a step has been taken by this thread, and by no other.
    pub(super) fn is_granted_by(&self, step: &Access, event: EventId) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let Some(answer) = self.answer(self.method, &step.spot, step.event, MAX_DEPTH) else { return false };
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        match block_of(event) == block_of(step.event) {
            true => answer == Answer::Return && step.event < event,
            false => granted(outline, step.event, answer)[block_of(event)],
        }
    }

    /// `one = waiting.peek(); if (waiting.remove(one)) { use(one); waiting.add(one); }`: what was seen has been taken out by this
    /// thread, and by no other, before it is given back or goes anywhere else.
    pub(super) fn is_taken_before(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_of_key = |taking: &Access| taking.keys.iter().any(|key| read.keys.contains(key));
        matches!(stale.how, Use::Written | Use::Decides)
            && (stale.variable != stale.written || self.way_of(write) == Some(Way::Up) || self.adds_one(write))
            && self.summary.accesses.iter().any(|taking| {
                taking.is_write
                    && taking.is_removal
                    && taking.is_of_contents()
                    && taking.event != write.event
                    && taking.base.same(&read.base)
                    && self.variable(taking) == Some(stale.variable)
                    && (comes_from(&taking.address, stale.read) || read.is_keyed && is_of_key(taking))
                    && self.is_granted_by(taking, write.event)
            })
    }

    /// How a method learns whether a mark was put up that an event of it puts up, there or in what it calls.
    fn answer(&self, method: MethodId, spot: &Spot, event: EventId, depth: usize) -> Option<Answer> {
        let program = self.whole.program;
        let action = &self.whole.summaries.outline(method)?.events.get(event.index())?.action;
        if spot.method == program.method_name(method) {
            return match action {
                Action::Write { .. } => Some(Answer::Return),
                Action::Call { method, .. } => match program.names.text(method.name) {
                    "add" | "compareAndSet" => Some(Answer::Yes),
                    "replace" if program.names.text(method.descriptor).ends_with(")Z") => Some(Answer::Yes),
                    "getAndSet" if program.names.text(method.descriptor).ends_with(';') => Some(Answer::Nothing),
                    "getAndSet" => Some(Answer::No),
                    "putIfAbsent" => Some(Answer::Nothing),
                    "remove" => match program.names.text(method.descriptor) {
                        "(Ljava/lang/Object;)Z" | "(Ljava/lang/Object;Ljava/lang/Object;)Z" => Some(Answer::Yes),
                        "(Ljava/lang/Object;)Ljava/lang/Object;" => Some(Answer::Something),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            };
        }
        let Action::Call { kind, method: called, .. } = action else { return None };
        let targets = self.whole.calls.targets(program, *kind, *called);
        let [target] = targets.known() else { return None };
        let summary = self.whole.summaries.summary(*target).filter(|_| depth > 0)?;
        let mut marks = summary.accesses.iter().filter(|access| access.is_write && access.spot == *spot);
        let (Some(mark), None) = (marks.next(), marks.next()) else { return None };
        let answer = self.answer(*target, spot, mark.event, depth - 1)?;
        self.told(*target, mark.event, answer)
    }

    /// How the callers of a method learn what the method itself has learnt.
    fn told(&self, method: MethodId, event: EventId, answer: Answer) -> Option<Answer> {
        let outline = self.whole.summaries.outline(method)?;
        let granted = granted(outline, event, answer);
        let is_granted = |block: usize| {
            granted[block] || answer == Answer::Return && outline.events[event.index()].block as usize == block
        };
        let Ok(Some(body)) = self.whole.program.body(method) else { return None };
        let returned = returned(&body);
        let is_answer = |result| {
            let result = body.without_casts(result);
            matches!(body.op(result), Op::Call { .. })
                && body.instruction(result).pc == outline.events[event.index()].pc
        };
        let is_passed_on = body.instructions().all(|(_, instruction)| match instruction.op {
            Op::Return(result) => result.is_some_and(is_answer),
            _ => true,
        });
        let is_known = !returned.is_empty() && returned.iter().all(|(_, number)| number.is_some());
        let is_told_by = |is_yes: bool| {
            let mut told =
                returned.iter().filter(|(_, number)| number.is_some_and(|number| (number != 0) == is_yes)).peekable();
            told.peek().is_some() && told.all(|(block, _)| is_granted(*block))
        };
        if !returned.is_empty() && returned.iter().all(|(block, _)| is_granted(*block)) {
            Some(Answer::Return)
        } else if is_passed_on && !returned.is_empty() {
            Some(answer)
        } else if is_known && is_told_by(true) {
            Some(Answer::Yes)
        } else if is_known && is_told_by(false) {
            Some(Answer::No)
        } else {
            None
        }
    }
}

/// By block: whether control only gets there after an event has answered that the mark was put up.
fn granted(outline: &Outline, event: EventId, answer: Answer) -> Vec<bool> {
    let mut granted = outline.follows_surely(event);
    let is_asked = |condition: &&Condition| {
        !condition.sources.is_empty() && condition.sources.iter().all(|source| source.origin == Origin::Event(event))
    };
    let mut conditions = outline.conditions.iter().filter(is_asked);
    let follows = |condition: &Condition, block: usize| match (answer, condition.nought, condition.absent) {
        (Answer::Yes, Some(nought), _) => outline.comes_only_by(condition, 1 - nought, block),
        (Answer::No, Some(nought), _) => outline.comes_only_by(condition, nought, block),
        (Answer::Nothing, _, Some(absent)) => outline.comes_only_by(condition, absent, block),
        (Answer::Something, _, Some(absent)) => outline.comes_only_by(condition, 1 - absent, block),
        _ => false,
    };
    if answer != Answer::Return {
        let conditions: Vec<&Condition> = conditions.by_ref().collect();
        for (block, is_granted) in granted.iter_mut().enumerate() {
            *is_granted = *is_granted && conditions.iter().any(|condition| follows(condition, block));
        }
    }
    granted
}
