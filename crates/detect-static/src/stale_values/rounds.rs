//! Rounds of a loop and arms of a question: what one run of a method brings together, and what it never does.
//!
//! A loop may lead from any of its code to any other, by way of the next round. But a question whose answer never changes
//! is answered alike in every round, so that of its arms one is taken and the others are not; and what a call yields in
//! the next round is another object.

use location::MethodName;
use program::ir::{BlockId, Body, CallKind, Condition, Op, Value};
use program::outline::{EventId, Outline, Start};
use program::sharing::Sharing;
use program::summary::{Access, Root};
use program::{FieldId, MethodId, Targets};

use super::rules::{Looking, Stale};

/// What is computed in more steps than this is taken for something that changes.
const MAX_STEPS: usize = 8;

/// A question that is answered alike as often as it is asked, and one of its answers.
struct Answer {
    /// What is asked, and against what.
    left: Value,
    right: Option<Value>,
    sort: Sort,
    /// By which of the ways it goes on; of two that are asked alike, the same number is the same answer.
    way: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Whether two are equal, or one is nothing: asked so, or the other way round.
    Equal,
    /// Any other question, which is like no other one than itself.
    At(usize),
}

impl Looking<'_> {
    /// Whether no run of the method has both the read and the write, or none on the same objects.
    pub(super) fn is_of_other_run(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        read.event != write.event
            && (self.are_other_objects(stale, read, write) || self.are_on_two_arms(read.event, write.event))
    }

    /// `for (..) { Lease lease = desk.lease(); .. lease.close(); }`: whether all ways from the read to the write come by what
    /// makes or yields the object, which is another one then.
    fn are_other_objects(&self, stale: &Stale, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let sections = &self.summary.sections;
        let (first, second) = (&sections[stale.first].lock, &sections[stale.second].lock);
        let is_renewed = |start: Start| match start {
            Start::Result(call) | Start::Element(call) => {
                call != read.event && call != write.event && !outline.leads_to(read.event, write.event, &[call])
            }
            Start::New(register) | Start::Local(register) => self.is_set_between(outline, register, read, write),
            _ => false,
        };
        // What one object of its own has is another one, too, if that object is.
        first.start == second.start
            && read.base.start == write.base.start
            && read.base.start == first.start
            && is_renewed(first.start)
    }

    /// Whether all ways from a read to a write come by where a register is set.
    fn is_set_between(&self, outline: &Outline, register: u32, read: &Access, write: &Access) -> bool {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let Some((set, _)) = body.instructions().nth(register as usize) else { return false };
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let (from, to) = (block_of(read.event), block_of(write.event));
        let is_at_once = from == to && read.event < write.event;
        !is_at_once && !outline.reaches(from, to, body.block_of(set).index())
    }

    /// `if (resets) count.set(0); else last = count.get();`, with a final field: whether one run of the method comes to one
    /// event only if it never comes to the other.
    fn are_on_two_arms(&self, one: EventId, other: EventId) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_decided = |event: EventId| !outline.events[event.index()].control.is_empty();
        if !is_decided(one) || !is_decided(other) {
            return false;
        }
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let others = self.answers_before(outline, &body, other);
        !others.is_empty()
            && self.answers_before(outline, &body, one).iter().any(|answer| {
                others.iter().any(|other| {
                    let is_alike = answer.sort == other.sort
                        && self.is_same(&body, answer.left, other.left)
                        && match (answer.right, other.right) {
                            (Some(one), Some(other)) => self.is_same(&body, one, other),
                            (None, None) => true,
                            _ => false,
                        };
                    is_alike && answer.way != other.way
                })
            })
    }

    /// The answers without which no way leads to an event, of questions that are always answered alike.
    fn answers_before(&self, outline: &Outline, body: &Body, event: EventId) -> Vec<Answer> {
        let event = &outline.events[event.index()];
        let mut answers = Vec::new();
        for condition in event.control.iter() {
            let asked = outline.conditions[*condition as usize].block as usize;
            let ways: Vec<usize> =
                outline.blocks.successors(asked).filter(|next| !next.is_exceptional).map(|next| next.block).collect();
            let needed = |way: &&usize| !outline.leads_without(asked, **way, event.block as usize);
            let (Some(way), Some((left, right, is_equal))) =
                (ways.iter().find(needed), question(body, asked).filter(|asked| self.is_fixed_question(body, asked)))
            else {
                continue;
            };
            let number = ways.iter().position(|one| one == way).unwrap_or_default();
            answers.push(match is_equal {
                Some(is_equal) => {
                    Answer { left, right, sort: Sort::Equal, way: if is_equal { number } else { 1 - number.min(1) } }
                }
                None => Answer { left, right, sort: Sort::At(asked), way: number },
            });
        }
        answers
    }

    fn is_fixed_question(&self, body: &Body, (left, right, _): &Question) -> bool {
        let is_fixed = |value: Value| self.is_fixed(body, value, MAX_STEPS);
        is_fixed(*left) && right.is_none_or(is_fixed)
    }

    /// Whether a register has one value in all rounds of a run: it is set once, or made of what never changes.
    fn is_fixed(&self, body: &Body, value: Value, steps: usize) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method).filter(|_| steps > 0) else { return false };
        let block = body.block_of(value).index();
        let is_fixed = |value: Value| self.is_fixed(body, value, steps - 1);
        !outline.reaches(block, block, usize::MAX)
            || self.lasting(body, value).is_some_and(|(_, base)| base.is_none_or(is_fixed))
            || match *body.op(value) {
                Op::Parameter(_) | Op::Constant(_) => true,
                Op::Negate(one)
                | Op::Convert(one)
                | Op::Cast(one, _)
                | Op::InstanceOf(one, _)
                | Op::ArrayLength(one) => is_fixed(one),
                Op::Arithmetic(_, one, other) | Op::Compare(one, other) => is_fixed(one) && is_fixed(other),
                // A table that nobody changes, as compilers make them for a switch.
                Op::ArrayLoad { array, index, .. } => {
                    let table = self.lasting(body, array).map(|(field, _)| self.whole.sharings().contents(field));
                    let is_kept = table == Some(Some(Sharing::EffectivelyImmutable)) && is_fixed(array);
                    (is_kept || self.is_compilers_table(body, array)) && is_fixed(index)
                }
                Op::Call { kind, method, arguments } => {
                    self.is_answer_of_value(kind, method)
                        && body.operands(arguments).iter().all(|given| is_fixed(*given))
                }
                _ => false,
            }
    }

    /// Whether a table comes from a method that the source does not have, as some compilers make one for a switch.
    fn is_compilers_table(&self, body: &Body, table: Value) -> bool {
        let Op::Call { kind: CallKind::Static, method, arguments } = *body.op(table) else { return false };
        let made = self.whole.program.declared_method(method);
        let is_hidden = |made: MethodId| self.whole.program.method(made).access.is_synthetic();
        made.is_some_and(is_hidden) && body.operands(arguments).is_empty()
    }

    /// Whether the library answers for an object that never changes: `shift.ordinal()`, `mode.equals("day")`.
    fn is_answer_of_value(&self, kind: CallKind, method: MethodName) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_own = |target: &MethodId| program.is_checked(program.class_of(*target));
        let targets = calls.targets(program, kind, method);
        *targets != Targets::Many && !targets.known().iter().any(is_own) && calls.is_immutable(program, method.class)
    }

    /// Whether two registers that never change have the same value.
    fn is_same(&self, body: &Body, one: Value, other: Value) -> bool {
        let is_same = || match (self.lasting(body, one), self.lasting(body, other)) {
            (Some((field, None)), Some((same, None))) => field == same,
            (Some((field, Some(base))), Some((same, Some(also)))) => field == same && self.is_same(body, base, also),
            _ => false,
        };
        one == other
            || matches!((*body.op(one), *body.op(other)), (Op::Constant(one), Op::Constant(other)) if one == other)
            || is_same()
    }

    /// The field that a register was read from, and the object, if the field keeps what the object was made with; also by a
    /// method that yields nothing else.
    fn lasting(&self, body: &Body, value: Value) -> Option<(FieldId, Option<Value>)> {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let (field, base) = match *body.op(value) {
            Op::GetField { base, field } => (field, Some(base)),
            Op::GetStatic(field) => (field, None),
            Op::Call { kind, method, arguments } => {
                let targets = calls.targets(program, kind, method);
                let ([getter], [base]) = (targets.known(), body.operands(arguments)) else { return None };
                let inner = program.body(*getter).ok()??;
                let yielded = inner.terminator(BlockId::ENTRY).map(|last| *inner.op(last));
                let Some(Op::Return(Some(yielded))) = yielded else { return None };
                match *inner.op(yielded) {
                    Op::GetField { base: own, field } if Some(own) == inner.this() => (field, Some(*base)),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let field = program.resolve_field(field)?;
        let access = program.field(field).access;
        // A volatile that no code sets is set by a handle.
        let is_kept =
            || !access.is_volatile() && self.whole.sharings().field(field) == Some(Sharing::EffectivelyImmutable);
        (access.is_final() || is_kept()).then_some((field, base))
    }

    /// Whether others get in while the section that has a read and a write goes on: it waits in between, or is left and
    /// entered again in a loop. What is put into an object after the object was given away is in it from the start as far as
    /// flows tell, and is none of this; nor is what the same method is asked for again after the wait.
    pub(super) fn is_left_between(&self, section: usize, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return true };
        let is_same = |other: &Access| {
            !other.is_write && other.spot == read.spot && other.base.same(&read.base) && other.event != read.event
        };
        let renewed = || {
            let reads = write.value.iter().filter_map(|influence| match influence.root {
                Root::Access(other) => Some(self.access(other)),
                Root::Parameter(_) => None,
            });
            reads.filter(|other| is_same(other)).map(|other| other.event).collect::<Vec<_>>()
        };
        outline.may_follow(write.event, write.event)
            || self.summary.waits.iter().any(|waiting| {
                waiting.sections.contains(section)
                    && outline.may_follow(read.event, waiting.event)
                    && outline.leads_to(waiting.event, write.event, &renewed())
            })
    }
}

/// What a branch compares, and whether it goes its first way if both are equal, or if they differ; a switch and a
/// comparison by size tell neither.
type Question = (Value, Option<Value>, Option<bool>);

/// What the branch at the end of a block asks.
fn question(body: &Body, block: usize) -> Option<Question> {
    match *body.op(body.terminator(BlockId::from_index(block))?) {
        Op::Branch { condition, left, right, .. } => {
            let is_equal = match condition {
                Condition::Equal => Some(true),
                Condition::NotEqual => Some(false),
                _ => None,
            };
            Some((left, right, is_equal))
        }
        Op::Switch { value, .. } => Some((value, None, None)),
        _ => None,
    }
}
