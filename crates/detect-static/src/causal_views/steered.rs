//! Values of which one decides what becomes of the other: `has() ? value() : -1`. They never come together in one
//! computation, and still belong together: what is used was to be as it is where the question is answered so.
//!
//! That matters where some section writes both and turns the answer around: `clear()` takes back that there is a value, and
//! the value with it. One that lets the answer be as it was changes one good value for another one. Where the value is read
//! first, what matters is a section that turns the answer to the one by which it is used: the value is from before that.
//!
//! Nothing is broken where the value itself is asked for what was written to it: `if (has()) { v = value(); if (v != null)`.

use program::ir::{BlockId, Body, Op, Value};
use program::outline::{Action, Condition, EventId, MeetingKind, Member, Origin, Outline, Start};
use program::summary::{Access, AccessId, Met, Root, Spot};
use program::{MethodId, Variable};
use smallvec::SmallVec;

use super::rules::Asking;
use super::views::Joint;
use crate::reply::{Known, Replies};

/// A value is followed through so many computations to where it is returned.
const MAX_DEPTH: usize = 4;

/// One read that decides what becomes of another one.
pub(super) struct Steering<'s> {
    question: AccessId,
    value: AccessId,
    /// The value was read before the question.
    is_late: bool,
    pub(super) met: Met,
    uses: Vec<Use>,
    /// What is returned in its place if the question is answered the other way, where it is used for nothing but that.
    otherwise: Option<Known>,
    body: &'s Body,
}

/// Where a value is used: a block, or the way from one block to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Use {
    block: usize,
    next: Option<usize>,
}

/// Two branches that lead to one place.
struct Joined {
    blocks: [usize; 2],
    end: usize,
}

impl Use {
    /// Whether control gets from a condition to the use only by one successor.
    fn comes_only_by(self, outline: &Outline, condition: &Condition, successor: usize) -> bool {
        let asked = condition.block as usize;
        match self.next.filter(|_| self.block == asked) {
            Some(next) => outline
                .blocks
                .successors(asked)
                .enumerate()
                .all(|(number, edge)| (number == successor) == (edge.block == next)),
            None => outline.comes_only_by(condition, successor as u8, self.block),
        }
    }

    /// The successor of a condition by which alone control gets here.
    fn needs(self, outline: &Outline, condition: &Condition) -> Option<usize> {
        let count = outline.blocks.successors(condition.block as usize).count();
        (0..count).find(|successor| self.comes_only_by(outline, condition, *successor))
    }
}

impl Asking<'_> {
    /// Whether one of two reads decides what becomes of the other.
    pub(super) fn steering<'s>(&self, body: &'s Body, first: AccessId, second: AccessId) -> Option<Steering<'s>> {
        [(first, second), (second, first)].into_iter().find_map(|(question, value)| {
            let (asked, read) = (self.access(question), self.access(value));
            if self.conditions_on(asked.event).next().is_none() || asked.event == read.event {
                return None;
            }
            let is_decided = read.control.iter().any(|influence| influence.root == Root::Access(question));
            let is_late = !is_decided
                && self.outline.may_follow(read.event, asked.event)
                && !self.outline.may_follow(asked.event, read.event);
            if !is_decided && !is_late {
                return None;
            }
            let mut uses = self.uses(body, value);
            uses.retain(|(used, _)| {
                self.conditions_on(asked.event).any(|condition| used.needs(self.outline, condition).is_some())
            });
            let (_, spot) = *uses.first()?;
            let met = Met { spot, kind: MeetingKind::Steered };
            let uses = uses.into_iter().map(|(used, _)| used).collect();
            let otherwise = self.otherwise(body, value);
            Some(Steering { question, value, is_late, met, uses, otherwise, body })
        })
    }

    /// Whether the value is also written without what decides about it: then it may be as it is whatever the answer.
    pub(super) fn is_steered_alone(&self, steering: &Steering<'_>) -> bool {
        let variable = |access: AccessId| Variable::of(self.whole.program, self.access(access));
        match (variable(steering.value), variable(steering.question)) {
            (Some(value), Some(question)) => value == question || self.is_written_alone(value, question, None),
            _ => true,
        }
    }

    /// Whether a section that writes both may come in between and leave the one with what was for another answer.
    pub(super) fn is_led_astray(&self, steering: &Steering<'_>, other: &Joint) -> bool {
        let (Some(asked), Some(changed)) =
            (self.written_by(other, steering.question), self.written_by(other, steering.value))
        else {
            return false;
        };
        let (answer, value) = (self.known(other.method, asked), self.known(other.method, changed));
        // What is counted on from what it was answers as before, mostly.
        let is_stepped = answer.is_none() && self.comes_from_itself(other.method, asked);
        let ways = self.ways(steering, self.access(steering.question).event, asked, answer);
        let is_turned = match steering.is_late {
            false => ways.iter().any(|leads| *leads != Some(true)),
            true => ways.iter().all(|leads| *leads != Some(false)),
        };
        let own = self.ways(steering, self.access(steering.value).event, changed, value);
        // `has() ? value() : 0`, and whoever takes it back sets it to nought.
        let is_the_same = !steering.is_late && value.is_some() && value == steering.otherwise;
        !is_stepped && is_turned && !is_the_same && !own.contains(&Some(false))
    }

    /// Where a section that reads both in one step goes by one of two writes of this method while the other is still to come:
    /// the answer says already that the value is to be used, or says so still.
    pub(super) fn sees_half(&self, first: &Access, second: &Access, reader: &Joint) -> Option<Met> {
        let (whole, there) = (self.whole, self.reading(reader)?);
        let body = whole.program.body(reader.method).ok()??;
        let steering = there.steering(&body, reader.first, reader.second)?;
        let is_question_first = steering.question == reader.first;
        let (asked, changed) = if is_question_first { (first, second) } else { (second, first) };
        let [answer, value] = [asked, changed].map(|write| self.known(self.method, write));
        let ways = there.ways(&steering, there.access(steering.question).event, asked, answer);
        let asks_first = (first.event <= second.event) == is_question_first;
        let is_used = match asks_first {
            true => ways.iter().all(|leads| *leads != Some(false)),
            false => ways.iter().any(|leads| *leads != Some(true)),
        };
        let own = there.ways(&steering, there.access(steering.value).event, changed, value);
        let is_the_same = !is_question_first && value.is_some() && value == steering.otherwise;
        let is_stepped = answer.is_none() && self.comes_from_itself(self.method, asked);
        let [asked, changed] = [asked, changed].map(|access| Variable::of(whole.program, access));
        let is_wrong = is_used
            && !is_stepped
            && !is_the_same
            && !own.contains(&Some(false))
            && !self.is_written_alone(changed?, asked?, Some(self.method));
        is_wrong.then_some(steering.met)
    }

    /// Two questions that decide together, `isOpen() && isReady()`: whether a section that writes both leaves the answers
    /// such that they lead where they would have led at any one moment.
    pub(super) fn is_answered_anew(&self, body: &Body, first: AccessId, second: AccessId, other: &Joint) -> bool {
        let (asked, again) = (self.access(first).event, self.access(second).event);
        let Some(Joined { blocks: [one, two], end }) = self.joined(asked, again) else { return false };
        let leads_to_end = |access: AccessId, block: usize| {
            let written = self.written_by(other, access)?;
            let known = self.known(other.method, written)?;
            self.leads_to(body, block, end, self.access(access).event, written, known)
        };
        self.outline.may_follow(asked, again)
            && (leads_to_end(first, one) == Some(false) || leads_to_end(second, two) == Some(true))
    }

    /// The same of a section that asks both, while this method writes the one and then the other: the first write alone says
    /// no, or the second one says yes, which it said before or not at all.
    pub(super) fn is_answered_alike(&self, first: &Access, second: &Access, reader: &Joint) -> bool {
        let (Some(there), Ok(Some(body))) = (self.reading(reader), self.whole.program.body(reader.method)) else {
            return false;
        };
        let events = [reader.first, reader.second].map(|access| there.access(access).event);
        let Some(Joined { blocks: [one, two], end }) = there.joined(events[0], events[1]) else { return false };
        let leads_to_end = |block: usize, event: EventId, write: &Access| {
            there.leads_to(&body, block, end, event, write, self.known(self.method, write)?)
        };
        leads_to_end(one, events[0], first) == Some(true) || leads_to_end(two, events[1], second) == Some(false)
    }

    fn reading(&self, reader: &Joint) -> Option<Asking<'_>> {
        let (summary, outline) =
            (self.whole.summaries.summary(reader.method)?, self.whole.summaries.outline(reader.method)?);
        Some(Asking { whole: self.whole, joints: self.joints, method: reader.method, summary, outline })
    }

    /// The branches on what two events yield, if they have a way out in common.
    fn joined(&self, one: EventId, other: EventId) -> Option<Joined> {
        let blocks = |event: EventId| self.conditions_on(event).map(|condition| condition.block as usize);
        let next = |block: usize| self.outline.blocks.successors(block).map(|next| next.block);
        blocks(one).find_map(|first| {
            blocks(other).find_map(|second| {
                let end = next(first).find(|end| next(second).any(|other| other == *end))?;
                (first != second).then_some(Joined { blocks: [first, second], end })
            })
        })
    }

    /// Whether the branch of a block leads to another one if what it asks for was written so; if it is seen.
    fn leads_to(
        &self,
        body: &Body,
        block: usize,
        end: usize,
        event: EventId,
        write: &Access,
        known: Known,
    ) -> Option<bool> {
        let way = self.way(body, block, event, write, known)?;
        self.outline.blocks.successors(block).nth(way).map(|next| next.block == end)
    }

    /// By condition on what an event yields: whether it leads to where the value is used, if the variable has been written
    /// so; if that is known.
    fn ways(&self, steering: &Steering<'_>, event: EventId, write: &Access, known: Option<Known>) -> Vec<Option<bool>> {
        let conditions = self.conditions_on(event).filter_map(|condition| {
            let needed: Vec<usize> =
                steering.uses.iter().filter_map(|used| used.needs(self.outline, condition)).collect();
            if needed.is_empty() {
                return None;
            }
            let way = known.and_then(|known| self.way(steering.body, condition.block as usize, event, write, known));
            Some(way.map(|way| needed.contains(&way)))
        });
        conditions.collect()
    }

    /// The successor of a block that follows if the variable of a write has the value that is written there.
    fn way(&self, body: &Body, block: usize, event: EventId, write: &Access, known: Known) -> Option<usize> {
        let program = self.whole.program;
        let variable = Variable::of(program, write)?;
        let answer = match &self.outline.events[event.index()].action {
            Action::Read { .. } => Some(known),
            Action::Call { kind, method, .. } => match self.whole.calls.targets(program, *kind, *method).known() {
                [target] => self.reply(*target, variable, known),
                _ => None,
            },
            _ => None,
        }?;
        let asked = self.outline.events[event.index()].pc;
        let given = |value: Value| (body.instruction(value).pc == asked).then_some(answer);
        let branch = body.terminator(BlockId::from_index(block))?;
        Replies { program, body, given: &given }.way(branch)
    }

    /// What a method returns that asks for a variable which has a known value.
    fn reply(&self, method: MethodId, variable: Variable, known: Known) -> Option<Known> {
        let program = self.whole.program;
        let body = program.body(method).ok()??;
        let given = |value: Value| match *body.op(value) {
            Op::GetField { field, .. } | Op::GetStatic(field) => {
                let is_it = program.resolve_field(field).is_some_and(|field| variable == Variable::Field(field));
                is_it.then_some(known)
            }
            _ => None,
        };
        Replies { program, body: &body, given: &given }.returned()
    }

    /// The conditions that ask for nothing but what an event yields, or hold it against what never changes.
    fn conditions_on(&self, event: EventId) -> impl Iterator<Item = &Condition> {
        let is_fixed = |origin: Origin| match origin {
            Origin::Event(read) => match &self.outline.events[read.index()].action {
                Action::Read { member: Member::Static(field), .. } => self.whole.program.is_final_field(*field),
                _ => false,
            },
            Origin::Parameter(_) => false,
        };
        self.outline.conditions.iter().filter(move |condition| {
            let mut sources = condition.sources.iter().map(|source| source.origin);
            sources.clone().any(|origin| origin == Origin::Event(event))
                && sources.all(|origin| origin == Origin::Event(event) || is_fixed(origin))
        })
    }

    /// The write of a section to the variable of one of our reads.
    fn written_by(&self, other: &Joint, read: AccessId) -> Option<&Access> {
        let program = self.whole.program;
        let variable = Variable::of(program, self.access(read));
        let summary = self.whole.summaries.summary(other.method)?;
        let both = [other.first, other.second].map(|access| &summary.accesses[access.index()]);
        both.into_iter().find(|access| Variable::of(program, access) == variable)
    }

    /// What a write of a method writes, if that is always the same there. A setter writes what it is given.
    fn known(&self, method: MethodId, write: &Access) -> Option<Known> {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let writer = calls.hierarchy.resolve_name(program, write.spot.method)?;
        let body = program.body(writer).ok()??;
        let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } if instruction.pc == write.spot.pc => Some(value),
            _ => None,
        })?;
        let Op::Parameter(position) = *body.op(body.without_casts(stored)) else {
            return Replies { program, body: &body, given: &|_| None }.known(stored);
        };
        let call = &self.whole.summaries.outline(method)?.events[write.event.index()];
        let Action::Call { kind, method: called, .. } = &call.action else { return None };
        if calls.targets(program, *kind, *called).known() != [writer] {
            return None;
        }
        let body = program.body(method).ok()??;
        let given = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::Call { arguments, .. } if instruction.pc == call.pc => {
                body.operands(arguments).get(usize::from(position)).copied()
            }
            _ => None,
        })?;
        Replies { program, body: &body, given: &|_| None }.known(given)
    }

    /// Whether what is written was worked out from what was there.
    fn comes_from_itself(&self, method: MethodId, write: &Access) -> bool {
        let program = self.whole.program;
        let Some(summary) = self.whole.summaries.summary(method) else { return false };
        let variable = Variable::of(program, write);
        write.value.iter().any(|influence| match influence.root {
            Root::Access(read) => Variable::of(program, &summary.accesses[read.index()]) == variable,
            Root::Parameter(_) => false,
        })
    }

    /// What the method returns if it does not return what was read, if that is always the same, and nothing else is done
    /// with what was read.
    fn otherwise(&self, body: &Body, value: AccessId) -> Option<Known> {
        let goes_there = |access: &Access| access.value.iter().any(|influence| influence.root == Root::Access(value));
        if self.summary.accesses.iter().any(|access| access.is_write && goes_there(access)) {
            return None;
        }
        let mut found = vec![self.value_at(body, self.access(value).event)?];
        for (_, instruction) in body.instructions() {
            if let Op::Return(Some(result)) = instruction.op {
                leaves(body, result, &mut found);
            }
        }
        let is_phi = |value: &Value| matches!(body.op(*value), Op::Phi(_));
        let replies = Replies { program: self.whole.program, body, given: &|_| None };
        let mut others = found[1..].iter().filter(|value| !is_phi(value)).map(|value| replies.known(*value));
        let first = others.next()??;
        others.all(|other| other == Some(first)).then_some(first)
    }

    /// Where what was read is returned or written to something that others have, each with where the code says so. A text
    /// that is made of it is for people.
    fn uses(&self, body: &Body, value: AccessId) -> Vec<(Use, Spot)> {
        let read = self.access(value);
        let variable = Variable::of(self.whole.program, read);
        let mut uses = Vec::new();
        for write in self.summary.accesses.iter().filter(|access| access.is_write) {
            let is_kept = !matches!(write.base.start, Start::New(_) | Start::Unknown)
                && write.event != read.event
                // What is counted on uses nothing but itself.
                && Variable::of(self.whole.program, write) != variable
                && super::views::own(self.whole, write).is_some();
            if is_kept && write.value.iter().any(|influence| influence.root == Root::Access(value)) {
                let event = &self.outline.events[write.event.index()];
                let spot = Spot { method: body.method, pc: event.pc, line: event.line };
                uses.push((Use { block: event.block as usize, next: None }, spot));
            }
        }
        let Some(yielded) = self.value_at(body, read.event) else { return uses };
        let is_text = self.whole.program.names.text(body.method.descriptor).ends_with(")Ljava/lang/String;");
        for (at, instruction) in body.instructions() {
            let Op::Return(Some(result)) = instruction.op else { continue };
            let line = body.line(instruction.pc);
            let spot = Spot { method: body.method, pc: instruction.pc, line };
            let depth = if is_text { 0 } else { MAX_DEPTH };
            let block = body.block_of(at).index();
            let mut from: SmallVec<[Use; 2]> = SmallVec::new();
            returned(body, result, yielded, Use { block, next: None }, depth, &mut from);
            uses.extend(from.into_iter().map(|used| (used, spot)));
        }
        uses
    }
}

/// All that a register may have, behind the places where ways meet.
fn leaves(body: &Body, value: Value, found: &mut Vec<Value>) {
    let value = body.without_casts(value);
    if found.contains(&value) {
        return;
    }
    found.push(value);
    if let Op::Phi(operands) = *body.op(value) {
        for operand in body.operands(operands) {
            leaves(body, *operand, found);
        }
    }
}

/// The ways by which what one register has goes into another one.
fn returned(body: &Body, result: Value, wanted: Value, here: Use, depth: usize, found: &mut SmallVec<[Use; 2]>) {
    let result = body.without_casts(result);
    if result == wanted {
        found.push(here);
        return;
    }
    match body.op(result) {
        Op::Phi(operands) => {
            let block = body.block_of(result);
            let before = &body.block(block).predecessors;
            for (operand, from) in body.operands(*operands).iter().zip(before) {
                // What goes around a loop is left alone.
                if *operand != result && from.block < block {
                    let here = Use { block: from.block.index(), next: Some(block.index()) };
                    returned(body, *operand, wanted, here, depth, found);
                }
            }
        }
        op if depth > 0 => {
            body.for_each_operand(op, |operand| returned(body, operand, wanted, here, depth - 1, found));
        }
        _ => {}
    }
}
