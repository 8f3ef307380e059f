//! What becomes of "there is nothing" where something was found before. Who then does what would have been done at first
//! goes by the second answer alone; who counts it, refuses it or tells of it in a way of its own has counted on the first.

use program::ir::{Body, Op};
use program::outline::{Action, Argument, Condition, EventId, Origin, Outline, Source, Start};
use program::summary::{Spot, Summary};
use program::{MethodId, Variable, Whole};

use crate::sources::returned;
use crate::threads::is_printed;

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 2;

/// A method that asks, and gets what it has asked for.
pub(crate) struct Gone<'g> {
    pub(crate) whole: &'g Whole<'g>,
    pub(crate) method: MethodId,
    /// What was asked, and is asked again or given what it lacks by whoever takes the second answer well.
    pub(crate) variable: Variable,
    pub(crate) asked: EventId,
    pub(crate) got: EventId,
    /// What yields nothing if there is nothing.
    pub(crate) spot: Spot,
    /// Whether a number that is returned then, and never else, counts: not so where somebody else may have got it, of which
    /// the caller is told.
    pub(crate) counts_result: bool,
}

/// What is done on some ways through a method.
#[derive(Default)]
struct Done {
    written: Vec<Variable>,
    throws: bool,
    /// Whether what was asked is touched again.
    is_asked: bool,
}

impl Gone<'_> {
    /// Whether a second answer that there is nothing is taken for something else than the first would have been.
    pub(crate) fn is_unexpected(&self) -> bool {
        let whole = self.whole;
        let (Some(outline), Some(summary)) =
            (whole.summaries.outline(self.method), whole.summaries.summary(self.method))
        else {
            return false;
        };
        let Ok(Some(body)) = whole.program.body(self.method) else { return false };
        let Some(at_first) = self.at_first(outline) else { return false };
        if !self.is_yielded(self.method, self.got, MAX_DEPTH) {
            return false;
        }
        let first = self.done(outline, summary, &body, &at_first);
        let is_other = |then: &Done| {
            !then.is_asked
                && (then.throws && !first.throws
                    || then.written.iter().any(|variable| !first.written.contains(variable)))
        };
        let follows = outline.follows_surely(self.got);
        let block_of = |event: EventId| outline.events[event.index()].block;
        let is_after =
            |condition: &Condition| follows[condition.block as usize] || condition.block == block_of(self.got);
        let is_own = |condition: &Condition| asks(condition, Origin::Event(self.got)) && is_after(condition);
        outline.conditions.iter().filter(|condition| is_own(condition)).any(|condition| {
            let mut then = after_nothing(outline, condition);
            // Where both answers lead, nothing is other.
            then.iter_mut().zip(&at_first).for_each(|(then, first)| *then &= !first);
            is_other(&self.done(outline, summary, &body, &then))
                || self.counts_result && is_told_apart(&body, &at_first, &then)
        }) || self.given(outline, Origin::Event(self.got)).into_iter().any(|(at, target, position)| {
            follows[block_of(at) as usize] || block_of(at) == block_of(self.got)
        } && self.is_other_below(target, position, &is_other, MAX_DEPTH))
    }

    /// By block: whether control gets there if the first answer is that there is nothing.
    fn at_first(&self, outline: &Outline) -> Option<Vec<bool>> {
        let got = outline.events[self.got.index()].block as usize;
        let is_it =
            |condition: &&Condition| condition.sources.iter().any(|source| source.origin == Origin::Event(self.asked));
        let control = outline.events[self.got.index()].control.iter();
        let condition = control.map(|one| &outline.conditions[*one as usize]).find(is_it)?;
        let count = outline.blocks.successors(condition.block as usize).filter(|next| !next.is_exceptional).count();
        let found = (0..count as u8).find(|way| outline.comes_only_by(condition, *way, got))?;
        let mut all = vec![false; outline.blocks.len()];
        for way in (0..count as u8).filter(|way| *way != found) {
            for (block, is_reached) in outline.reached_by(condition, way).into_iter().enumerate() {
                all[block] |= is_reached;
            }
        }
        Some(all)
    }

    /// Whether an event yields what is got at the place that may yield nothing.
    fn is_yielded(&self, method: MethodId, event: EventId, depth: usize) -> bool {
        let whole = self.whole;
        if whole.program.method_name(method) == self.spot.method {
            return true;
        }
        let outline = whole.summaries.outline(method);
        let Some(Action::Call { kind, method: called, .. }) =
            outline.map(|outline| &outline.events[event.index()].action)
        else {
            return false;
        };
        whole.calls.targets(whole.program, *kind, *called).known().iter().any(|target| {
            let (Some(summary), Some(outline)) = (whole.summaries.summary(*target), whole.summaries.outline(*target))
            else {
                return false;
            };
            let mut accesses = summary.accesses.iter().filter(|access| access.spot == self.spot);
            depth > 0
                && accesses.any(|access| {
                    outline.returned.contains(&program::outline::Object::Event(access.event))
                        && self.is_yielded(*target, access.event, depth - 1)
                })
        })
    }

    fn done(&self, outline: &Outline, summary: &Summary, body: &Body, blocks: &[bool]) -> Done {
        done(self.whole, self.variable, outline, summary, body, blocks)
    }

    /// The methods that are given a value, where, and as which parameter.
    fn given(&self, outline: &Outline, origin: Origin) -> Vec<(EventId, MethodId, u16)> {
        let is_it = |argument: &Argument| {
            !argument.sources.is_empty() && argument.sources.iter().all(|source| source.origin == origin)
        };
        let mut found = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            let Action::Call { kind, method, arguments } = &event.action else { continue };
            for (position, _) in arguments.iter().enumerate().filter(|(_, argument)| is_it(argument)) {
                let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
                found.extend(targets.known().iter().map(|target| (EventId(index as u32), *target, position as u16)));
            }
        }
        found
    }

    /// The same in a method that is given what was got.
    fn is_other_below(&self, method: MethodId, position: u16, is_other: &impl Fn(&Done) -> bool, depth: usize) -> bool {
        let whole = self.whole;
        let (Some(outline), Some(summary)) = (whole.summaries.outline(method), whole.summaries.summary(method)) else {
            return false;
        };
        let Ok(Some(body)) = whole.program.body(method) else { return false };
        let origin = Origin::Parameter(position);
        depth > 0
            && (outline
                .conditions
                .iter()
                .filter(|condition| asks(condition, origin))
                .any(|condition| is_other(&self.done(outline, summary, &body, &after_nothing(outline, condition))))
                || self
                    .given(outline, origin)
                    .into_iter()
                    .any(|(_, target, position)| self.is_other_below(target, position, is_other, depth - 1)))
    }
}

/// Whether a caller of a method that has waited for something, and then answers whether it has got it, takes "no" for
/// something of its own: it writes or throws what it does not else, and does not ask again. `if_nought` tells which answer is
/// "no".
pub(crate) fn is_missed_by_callers(whole: &Whole<'_>, method: MethodId, if_nought: bool, variable: Variable) -> bool {
    let is_call = |action: &Action| match action {
        Action::Call { kind, method: called, .. } => {
            whole.calls.targets(whole.program, *kind, *called).known() == [method]
        }
        _ => false,
    };
    whole.calls.callers(method).iter().any(|caller| {
        let (Some(outline), Some(summary)) = (whole.summaries.outline(*caller), whole.summaries.summary(*caller))
        else {
            return false;
        };
        let Ok(Some(body)) = whole.program.body(*caller) else { return false };
        let is_missed = |(number, condition): (usize, &Condition)| {
            let [Source { origin: Origin::Event(call), .. }] = condition.sources.as_slice() else { return false };
            let call = &outline.events[call.index()];
            // `while (!take()) retries++;`
            let is_again = call.control.contains(&(number as u32));
            let Some(nought) = condition.nought.filter(|_| is_call(&call.action) && !is_again) else { return false };
            let then = only_by(outline, condition, if if_nought { nought } else { 1 - nought });
            let done = done(whole, variable, outline, summary, &body, &then);
            !done.is_asked && (done.throws || !done.written.is_empty())
        };
        outline.conditions.iter().enumerate().any(is_missed)
    })
}

/// Whether a question what an event has yielded only chooses the answer of a method, `return taken != null`, and a caller takes
/// "no" so.
pub(crate) fn is_answered_and_missed(
    whole: &Whole<'_>,
    method: MethodId,
    outline: &Outline,
    (condition, got): (&Condition, EventId),
    variable: Variable,
) -> bool {
    let Ok(Some(body)) = whole.program.body(method) else { return false };
    if !asks(condition, Origin::Event(got)) {
        return false;
    }
    let then = after_nothing(outline, condition);
    let is_done = outline.events.iter().any(|event| then[event.block as usize]);
    let (no, yes): (Vec<_>, Vec<_>) = returned(&body).into_iter().partition(|(block, _)| then[*block]);
    match no.as_slice() {
        [(_, Some(no))] if !is_done && yes.iter().all(|(_, yes)| yes.is_some_and(|yes| yes != *no)) => {
            is_missed_by_callers(whole, method, *no == 0, variable)
        }
        _ => false,
    }
}

/// What is done in some blocks of a method, where it matters whether a variable is touched.
fn done(
    whole: &Whole<'_>,
    asked: Variable,
    outline: &Outline,
    summary: &Summary,
    body: &Body,
    blocks: &[bool],
) -> Done {
    let program = whole.program;
    let mut done = Done::default();
    for access in &summary.accesses {
        if !blocks[outline.events[access.event.index()].block as usize] {
            continue;
        }
        let Some(variable) = Variable::of(program, access) else { continue };
        done.is_asked |= variable == asked;
        let is_own = matches!(access.base.start, Start::New(_) | Start::Unknown);
        if access.is_write && !is_own && !is_printed(program, variable) {
            done.written.push(variable);
        }
    }
    done.throws = body.blocks().any(|(block, _)| {
        blocks[block.index()]
            && matches!(body.terminator(block).map(|last| *body.op(last)),
                Some(Op::Throw(thrown)) if matches!(body.op(thrown), Op::New(_)))
    });
    done
}

/// Whether a condition asks whether a value is there, and nothing else.
fn asks(condition: &Condition, origin: Origin) -> bool {
    condition.absent.is_some()
        && !condition.sources.is_empty()
        && condition.sources.iter().all(|source| source.origin == origin)
}

/// By block: whether control gets there only if a question was answered by "nothing".
fn after_nothing(outline: &Outline, condition: &Condition) -> Vec<bool> {
    match condition.absent {
        Some(absent) => only_by(outline, condition, absent),
        None => vec![false; outline.blocks.len()],
    }
}

/// By block: whether control gets there only if a question was answered in one way.
fn only_by(outline: &Outline, condition: &Condition, way: u8) -> Vec<bool> {
    let reached = outline.reached_by(condition, way);
    let only = |(block, is_reached): (usize, bool)| is_reached && outline.comes_only_by(condition, way, block);
    reached.into_iter().enumerate().map(only).collect()
}

/// Whether a number is returned on some ways that neither those of a first answer yield nor any other.
fn is_told_apart(body: &Body, at_first: &[bool], then: &[bool]) -> bool {
    let returned = returned(body);
    let mut first = returned.iter().filter(|(block, _)| at_first[*block]).peekable();
    let is_known = first.peek().is_some() && first.all(|(_, number)| number.is_some());
    let is_only_then = |wanted: i32| returned.iter().all(|(block, number)| then[*block] || *number != Some(wanted));
    is_known && returned.iter().any(|(block, number)| then[*block] && number.is_some_and(is_only_then))
}
