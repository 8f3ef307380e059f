//! Amounts that are compared with a bound: on which side of it something happens, and whether a step that moves the amount
//! asks the same of the number that it was given.

use std::rc::Rc;

use program::ir::{BlockId, Body, Condition, Op, Value};
use program::model::State;
use program::outline::{Action, EventId, Member, Origin, Outline, Source};
use program::sharing::{FieldAccess, Part};
use program::summary::{Access, Spot, Summary};
use program::{MethodId, Variable};

use super::harmless::MAX_PAUSE;
use super::rules::{Looking, Stale, Use};
use crate::sources::returned;

/// What is computed in more steps than this is not compared.
const MAX_STEPS: usize = 4;

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 3;

/// The code of a method, and what it does.
struct Code<'c> {
    method: MethodId,
    body: Rc<Body>,
    outline: &'c Outline,
    summary: &'c Summary,
}

/// A branch by the size of an amount, or by an answer that tells of it.
struct Branch {
    block: BlockId,
    /// The successor that follows if the amount is the larger one, or may be equal.
    larger: usize,
}

/// What a method has asked about an amount.
struct Asked<'c> {
    /// Where it goes by the answer.
    code: Code<'c>,
    branch: Branch,
    /// Whether it goes on if the amount is the larger one.
    is_larger: bool,
    /// Where the amount is compared, and with what; nothing is nought.
    comparing: Rc<Body>,
    bound: Option<Value>,
}

/// What is done on some ways through a method.
struct Done {
    written: Vec<Variable>,
    throws: bool,
}

impl Looking<'_> {
    /// `if (book.size() >= FULL) bind();`, where all goes at once: there are enough of them, and there still are when others
    /// have only added some. If what is there is looked at before all of it goes, that is a mistake of who does both.
    pub(super) fn is_enough(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read);
        let is_between = |look: &Access| {
            ![read.event, write.event].contains(&look.event)
                && self.variable(look) == Some(stale.variable)
                && outline.may_follow(read.event, look.event)
                && outline.leads_to(look.event, write.event, &[read.event])
        };
        !self.summary.accesses.iter().any(is_between)
            && self.asked(read, write.event).is_some_and(|asked| asked.is_larger)
            && self.is_told_below(stale.variable, write, MAX_DEPTH)
    }

    /// Whether what a call does before it writes a variable is nothing to that variable, or is told of the method that
    /// does it.
    fn is_told_below(&self, variable: Variable, write: &Access, depth: usize) -> bool {
        let is_before = |look: &Access| {
            look.event == write.event && look.spot != write.spot && self.variable(look) == Some(variable)
        };
        if !self.summary.accesses.iter().any(is_before) {
            return true;
        }
        let outline = self.whole.summaries.outline(self.method);
        let Some(Action::Call { kind, method, .. }) =
            outline.map(|outline| &outline.events[write.event.index()].action)
        else {
            return false;
        };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
        let ([target], true) = (targets.known(), depth > 0) else { return false };
        let Some(there) = Looking::at(self.whole, *target) else { return false };
        let is_it = |access: &Access| access.is_write && access.spot == write.spot;
        let is_told = |stale: &Stale| {
            stale.variable == variable && is_it(there.access(stale.write)) && there.is_wrong(stale, || true)
        };
        there.candidates().iter().any(is_told)
            || there.summary.accesses.iter().any(|write| {
                let mut others = there.summary.accesses.iter();
                let is_elsewhere = |look: &Access| look.event != write.event && there.variable(look) == Some(variable);
                is_it(write) && !others.any(is_elsewhere) && there.is_told_below(variable, write, depth - 1)
            })
    }

    /// `if (next.get() >= LIMIT) return null; place = next.getAndIncrement(); return place < LIMIT ? all[place] : null;`: the
    /// step asks the same of the number that it was given, and what is done goes by that. That the amount goes beyond its
    /// bound does no harm if nobody moves it back, or looks at it for anything else than to compare it.
    pub(super) fn is_asked_of_step(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && write.member == Member::State(State::Value)
            && read.event != write.event
            && read.base.same(&write.base)
            && self.asked(read, write.event).is_some_and(|asked| self.asks_the_same(&asked, write))
            && self.only_goes_on(stale.variable, write)
            && self.is_only_compared(stale.variable)
    }

    /// Whether a step asks of its number what was asked before, and goes on by that answer alone.
    fn asks_the_same(&self, asked: &Asked<'_>, write: &Access) -> bool {
        let Some((code, number)) = self.number(write) else { return false };
        let Some(event) = code.event_of(number) else { return false };
        let goes_by_answer = |branch: &Branch| {
            let side = |block: usize| branch.side(&code.body, code.outline, block);
            let refused = |block: usize| side(block) == Some(!asked.is_larger);
            // What the first answer decides on, and the second does not.
            let is_left = |index: usize| {
                let later = EventId(index as u32);
                let block = code.outline.events[index].block as usize;
                side(block).is_none()
                    && later != event
                    && code.outline.leads_to(event, later, &[event])
                    && (asked.code.method != code.method || asked.goes_on(block))
                    && self.does(&code, later)
            };
            let at_first = || self.done(&asked.code, |block| asked.goes_elsewhere(block));
            let then = self.done(&code, refused);
            used_in(&code.body, number).into_iter().all(|block| side(block) == Some(asked.is_larger))
                && !(0..code.outline.events.len()).any(is_left)
                && {
                    let first = at_first();
                    (first.throws || !then.throws)
                        && then.written.iter().all(|variable| first.written.contains(variable))
                }
        };
        comparisons(&code.body, number).any(|(branch, bound)| {
            let is_same = match (asked.bound, bound) {
                (Some(one), Some(other)) => is_alike(&asked.comparing, one, &code.body, other, MAX_STEPS),
                (None, None) => true,
                _ => false,
            };
            is_same && goes_by_answer(&branch)
        }) && (code.method == self.method || self.listens(asked, write.event))
    }

    /// Whether what a method does after a call that has taken a step, because of what it had asked before, hangs on what the
    /// call has answered. What it returns is for its callers to ask.
    fn listens(&self, asked: &Asked<'_>, call: EventId) -> bool {
        let code = &asked.code;
        let is_answer = |source: &Source| source.origin == Origin::Event(call);
        let is_asked = |event: EventId| {
            let mut deciding = code.outline.events[event.index()].control.iter();
            deciding.any(|condition| code.outline.conditions[*condition as usize].sources.iter().any(is_answer))
        };
        let is_given = |event: EventId| match &code.outline.events[event.index()].action {
            Action::Call { arguments, .. } => arguments.iter().any(|given| given.sources.iter().any(is_answer)),
            Action::Write { stored, .. } => stored.sources.iter().any(is_answer),
            _ => false,
        };
        (0..code.outline.events.len() as u32).map(EventId).all(|later| {
            later == call
                || !code.outline.leads_to(call, later, &[call])
                || !asked.goes_on(code.outline.events[later.index()].block as usize)
                || is_asked(later)
                || !is_given(later) && !self.does(code, later)
        })
    }

    /// Whether an event writes something, or may do so for all that is known.
    fn does(&self, code: &Code<'_>, event: EventId) -> bool {
        code.summary.accesses.iter().any(|access| access.is_write && access.event == event)
            || match &code.outline.events[event.index()].action {
                Action::Call { kind, method, .. } => {
                    self.whole.calls.model(self.whole.program, *method, method.class).is_none()
                        && !self.only_pauses(*kind, *method, MAX_PAUSE)
                }
                _ => false,
            }
    }

    /// Whether every step moves an amount the same way.
    fn only_goes_on(&self, variable: Variable, write: &Access) -> bool {
        let way = self.way_of(write);
        way.is_some()
            && self.whole.variables.writers(variable).iter().all(|place| {
                let there = Looking::anywhere(self.whole, place.method);
                there.is_some_and(|there| there.way_of(there.access(place.access)) == way)
            })
    }

    /// Whether nobody looks at an amount but to compare it by size.
    fn is_only_compared(&self, variable: Variable) -> bool {
        let accesses = self.whole.sharings().accesses(variable.field());
        let is_look = |look: &&FieldAccess| {
            look.part == Part::Contents
                && !look.is_write
                && !accesses.iter().any(|step| step.is_write && step.part == look.part && step.at == look.at)
        };
        accesses.iter().filter(is_look).all(|look| {
            let Some(code) = self.code(look.at.method) else { return false };
            let pc = code.outline.events[look.at.event.index()].pc;
            value_at(&code.body, pc).is_some_and(|amount| used_in(&code.body, amount).is_empty())
        })
    }

    /// What was asked about an amount before an event of the method: there, or by a method that answers yes or no.
    fn asked(&self, read: &Access, event: EventId) -> Option<Asked<'_>> {
        let (code, amount) = self.number(read)?;
        if code.method == self.method {
            let block = code.outline.events[event.index()].block as usize;
            let (branch, bound, is_larger) = comparisons(&code.body, amount).find_map(|(branch, bound)| {
                branch.side(&code.body, code.outline, block).map(|is_larger| (branch, bound, is_larger))
            })?;
            let comparing = code.body.clone();
            return Some(Asked { code, branch, is_larger, comparing, bound });
        }
        let own = self.code(self.method)?;
        let answer = value_at(&own.body, own.outline.events[read.event.index()].pc)?;
        let block = own.outline.events[event.index()].block as usize;
        let (bound, is_yes_larger) = comparisons(&code.body, amount).find_map(|(branch, bound)| {
            let mut larger = returned(&code.body).into_iter().map(|(block, number)| {
                let is_larger = branch.side(&code.body, code.outline, block)?;
                number.map(|number| (number != 0) == is_larger)
            });
            let first = larger.next()??;
            larger.all(|one| one == Some(first)).then_some((bound, first))
        })?;
        let (branch, is_larger) = own.body.blocks().find_map(|(asking, _)| {
            let yes = match *own.body.op(own.body.terminator(asking)?) {
                Op::Branch { condition: Condition::Equal, left, right: None, .. } if left == answer => 1,
                Op::Branch { condition: Condition::NotEqual, left, right: None, .. } if left == answer => 0,
                _ => return None,
            };
            let branch = Branch { block: asking, larger: if is_yes_larger { yes } else { 1 - yes } };
            let is_larger = branch.side(&own.body, own.outline, block)?;
            Some((branch, is_larger))
        })?;
        Some(Asked { code: own, branch, is_larger, comparing: code.body, bound })
    }

    /// The number that an access yields, in the method that does something with it: a method that is called for the number
    /// passes it on.
    fn number(&self, access: &Access) -> Option<(Code<'_>, Value)> {
        let inner = self.code_at(&access.spot)?;
        let number = value_at(&inner.body, access.spot.pc)?;
        let is_passed_on = inner.body.instructions().all(|(_, instruction)| match instruction.op {
            Op::Return(result) => result == Some(number),
            _ => true,
        });
        if inner.method == self.method || !is_passed_on {
            return Some((inner, number));
        }
        let own = self.code(self.method)?;
        let pc = own.outline.events[access.event.index()].pc;
        let called = value_at(&own.body, pc)?;
        let Op::Call { kind, method, .. } = *own.body.op(called) else { return None };
        let targets = self.whole.calls.targets(self.whole.program, kind, method);
        (targets.known() == [inner.method]).then_some((own, called))
    }

    fn code_at(&self, spot: &Spot) -> Option<Code<'_>> {
        self.code(self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method)?)
    }

    fn code(&self, method: MethodId) -> Option<Code<'_>> {
        let (outline, summary) = (self.whole.summaries.outline(method)?, self.whole.summaries.summary(method)?);
        let body = self.whole.program.body(method).ok()??;
        Some(Code { method, body: Rc::new(body), outline, summary })
    }

    /// What a method does in some of its blocks.
    fn done(&self, code: &Code<'_>, is_there: impl Fn(usize) -> bool) -> Done {
        let writes = code
            .summary
            .accesses
            .iter()
            .filter(|access| access.is_write && is_there(code.outline.events[access.event.index()].block as usize));
        let throws = code.body.blocks().any(|(block, _)| {
            let last = code.body.terminator(block).map(|last| *code.body.op(last));
            matches!(last, Some(Op::Throw(_))) && is_there(block.index())
        });
        Done { written: writes.filter_map(|access| self.variable(access)).collect(), throws }
    }
}

impl Code<'_> {
    fn event_of(&self, value: Value) -> Option<EventId> {
        let pc = self.body.instruction(value).pc;
        self.outline.events.iter().position(|event| event.pc == pc).map(|index| EventId(index as u32))
    }
}

impl Asked<'_> {
    fn goes_on(&self, block: usize) -> bool {
        self.branch.side(&self.code.body, self.code.outline, block) == Some(self.is_larger)
    }

    fn goes_elsewhere(&self, block: usize) -> bool {
        self.branch.side(&self.code.body, self.code.outline, block) == Some(!self.is_larger)
    }
}

impl Branch {
    /// Whether a block is only reached if the amount is the larger one, or only if it is not.
    fn side(&self, body: &Body, outline: &Outline, wanted: usize) -> Option<bool> {
        let next = &body.block(self.block).successors;
        let is_needed = |edge: &usize| {
            next.get(*edge).is_some_and(|next| !outline.leads_without(self.block.index(), next.index(), wanted))
        };
        (0..2).find(is_needed).map(|edge| edge == self.larger)
    }
}

/// The branches by the size of an amount, and what it is compared with.
fn comparisons(body: &Body, amount: Value) -> impl Iterator<Item = (Branch, Option<Value>)> {
    body.blocks().filter_map(move |(block, _)| {
        let Op::Branch { condition, left, right, .. } = *body.op(body.terminator(block)?) else { return None };
        let first_is_larger = match condition {
            Condition::Greater | Condition::GreaterOrEqual => 0,
            Condition::Less | Condition::LessOrEqual => 1,
            _ => return None,
        };
        let (left, right) = match (*body.op(left), right) {
            (Op::Compare(left, right), None) => (left, Some(right)),
            _ => (left, right),
        };
        if left == amount {
            Some((Branch { block, larger: first_is_larger }, right))
        } else if right == Some(amount) {
            Some((Branch { block, larger: 1 - first_is_larger }, Some(left)))
        } else {
            None
        }
    })
}

/// The blocks that do something with a number other than to compare it.
fn used_in(body: &Body, number: Value) -> Vec<usize> {
    let mut used = Vec::new();
    for (value, instruction) in body.instructions() {
        match instruction.op {
            Op::Branch { .. } | Op::Compare(..) => {}
            // It is used where control comes from.
            Op::Phi(operands) => {
                let before = body.block(body.block_of(value)).predecessors.iter();
                let them = before.zip(body.operands(operands)).filter(|(_, operand)| **operand == number);
                used.extend(them.map(|(before, _)| before.block.index()));
            }
            op => body.for_each_operand(&op, |operand| {
                if operand == number {
                    used.push(body.block_of(value).index());
                }
            }),
        }
    }
    used
}

fn value_at(body: &Body, pc: u32) -> Option<Value> {
    let is_it = |op: &Op| matches!(op, Op::Call { .. } | Op::GetField { .. } | Op::GetStatic(_));
    body.instructions().find(|(_, instruction)| instruction.pc == pc && is_it(&instruction.op)).map(|(value, _)| value)
}

/// Whether two values are got in the same way, in one method or in two of one object.
fn is_alike(body: &Body, one: Value, other_body: &Body, other: Value, steps: usize) -> bool {
    let is_one_method = body.method == other_body.method;
    let is_alike = |one: Value, other: Value| steps > 0 && is_alike(body, one, other_body, other, steps - 1);
    if is_one_method && one == other {
        return true;
    }
    match (*body.op(one), *other_body.op(other)) {
        (Op::Constant(one), Op::Constant(other)) => one == other,
        (Op::Parameter(0), Op::Parameter(0)) => {
            !body.is_static() && !other_body.is_static() && body.method.class == other_body.method.class
        }
        (Op::GetStatic(one), Op::GetStatic(other)) => one == other,
        (Op::GetField { base, field }, Op::GetField { base: also, field: same }) => {
            field == same && is_alike(base, also)
        }
        (Op::ArrayLength(one), Op::ArrayLength(other)) => is_alike(one, other),
        (Op::Call { method, arguments, .. }, Op::Call { method: same, arguments: also, .. }) => {
            let (given, also) = (body.operands(arguments), other_body.operands(also));
            method == same
                && given.len() == also.len()
                && given.iter().zip(also).all(|(one, other)| is_alike(*one, *other))
        }
        _ => false,
    }
}
