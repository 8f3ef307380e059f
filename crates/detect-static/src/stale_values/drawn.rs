//! Numbers that are drawn: a counter that only ever goes one way gives each of them to one thread, and once.
//! `int slot = next.getAndIncrement();`, `synchronized int draw() { return ++issued; }`. What stands at the position of such
//! a number is touched by nobody else, if whoever else writes there has drawn a number of the same counter.
//!
//! Misses: numbers that are given on to other methods before they are used, and those that others are worked out from.

use program::ir::{Arithmetic, Body, Constant, Instruction, Op, Value};
use program::model::State;
use program::outline::{Key, KeyStart, Member, NameStep, Start};
use program::summary::{Access, Spot};
use program::{Mode, Variable};

use super::rules::{Looking, Stale};

/// Calls that draw a number are looked into this deep.
pub(super) const MAX_DEPTH: usize = 3;

/// Values that meet in more places than this are not followed.
const MAX_ORIGINS: usize = 16;

/// A number that was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Drawn {
    pub(super) counter: Variable,
    /// By how much it differs from what the counter was before the step.
    pub(super) offset: i64,
    /// Whether the counter goes up.
    pub(super) is_up: bool,
}

impl Drawn {
    fn moved(self, by: i64) -> Option<Drawn> {
        Some(Drawn { offset: self.offset.checked_add(by)?, ..self })
    }
}

impl Looking<'_> {
    /// Whether what is read and written stands at the position of a number that this thread has drawn, and whoever else writes
    /// there does so at a number that it has drawn.
    pub(super) fn is_of_own_number(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_common = |key: &&Key| key.field.is_none() && write.keys.contains(key);
        stale.variable == stale.written
            && read.base.same(&write.base)
            && read.keys.iter().filter(is_common).any(|key| {
                self.drawn_key(*key, read).is_some_and(|drawn| {
                    self.whole.variables.writers(stale.variable).iter().all(|place| {
                        self.is_by(place, |there, other| {
                            other.keys.iter().any(|key| there.drawn_key(*key, other) == Some(drawn))
                        })
                    })
                })
            })
    }

    /// The number that a key is, if it was drawn from a counter that goes with what the key is for.
    fn drawn_key(&self, key: Key, access: &Access) -> Option<Drawn> {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return None };
        let outline = self.whole.summaries.outline(self.method)?;
        let value = match key.start {
            KeyStart::Local(register) => body.instructions().nth(register as usize)?.0,
            KeyStart::Result(event) => {
                let pc = outline.events[event.index()].pc;
                let is_it = |op: &Op| matches!(op, Op::Call { .. });
                body.instructions().find(|(_, instruction)| instruction.pc == pc && is_it(&instruction.op))?.0
            }
            _ => return None,
        };
        let drawn = self.drawn(&body, value, MAX_DEPTH)?;
        self.goes_with(drawn.counter, access).then_some(drawn)
    }

    /// Whether there is one counter for what is touched: both are parts of one object that has each of them for itself, or
    /// there is one of both.
    fn goes_with(&self, counter: Variable, access: &Access) -> bool {
        let (program, holdings) = (self.whole.program, &self.whole.summaries.holdings);
        let is_own = |step: Option<&NameStep>| match step {
            Some(NameStep::Field(field)) => holdings.is_own(program, *field),
            _ => false,
        };
        let mut steps = self.summary.accesses.iter().filter(|step| self.variable(step) == Some(counter)).peekable();
        steps.peek().is_some()
            && steps.all(|step| {
                let is_static =
                    |access: &Access| matches!(access.base.start, Start::Static(_)) && access.base.steps.is_empty();
                match step.member {
                    Member::State(_) => {
                        is_static(step) && is_static(access)
                            || is_own(step.base.steps.last())
                                && is_own(access.base.steps.last())
                                && step.base.owner().same(&access.base.owner())
                    }
                    Member::Field(_) => is_own(access.base.steps.last()) && step.base.same(&access.base.owner()),
                    Member::Static(_) => is_static(access),
                    Member::Elements => false,
                }
            })
    }

    /// The counter that a value was drawn from, on all ways to it.
    pub(super) fn drawn(&self, body: &Body, value: Value, depth: usize) -> Option<Drawn> {
        let mut seen: Vec<(Value, i64)> = Vec::new();
        let mut pending = vec![(value, 0)];
        let mut found: Option<Drawn> = None;
        while let Some((value, offset)) = pending.pop() {
            let value = body.without_casts(value);
            match seen.iter().find(|(other, _)| *other == value) {
                Some((_, other)) if *other == offset => continue,
                Some(_) => return None,
                None if seen.len() > MAX_ORIGINS => return None,
                None => seen.push((value, offset)),
            }
            let drawn = match *body.op(value) {
                Op::Phi(operands) => {
                    pending.extend(body.operands(operands).iter().map(|operand| (*operand, offset)));
                    continue;
                }
                Op::Arithmetic(operator @ (Arithmetic::Add | Arithmetic::Subtract), inner, by) => {
                    let by = constant(body, by)?;
                    let by = if operator == Arithmetic::Add { by } else { by.checked_neg()? };
                    pending.push((inner, offset.checked_add(by)?));
                    continue;
                }
                Op::Call { .. } => self.drawn_by_call(body, value, depth),
                Op::GetField { .. } | Op::GetStatic(_) => {
                    self.stepped_over(body, value).or_else(|| self.just_stored(body, value, depth))
                }
                _ => None,
            };
            let drawn = drawn?.moved(offset)?;
            if found.is_some_and(|found| found != drawn) {
                return None;
            }
            found = Some(drawn);
        }
        found.filter(|drawn| self.goes_one_way(drawn.counter) == Some(drawn.is_up))
    }

    /// What all ways through a method return, if it is a number that was drawn.
    pub(super) fn returns_drawn(&self, depth: usize) -> Option<Drawn> {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return None };
        let mut returned = body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::Return(result) => Some(result),
            _ => None,
        });
        let first = self.drawn(&body, returned.next()??, depth)?;
        returned
            .all(|result| result.and_then(|result| self.drawn(&body, result, depth)) == Some(first))
            .then_some(first)
    }

    fn drawn_by_call(&self, body: &Body, call: Value, depth: usize) -> Option<Drawn> {
        let Op::Call { kind, method, arguments } = *body.op(call) else { return None };
        let program = self.whole.program;
        if let Some(step) = self.own_access(body, call, true).filter(|step| step.member == Member::State(State::Value))
        {
            let by = || body.operands(arguments).last().and_then(|by| constant(body, *by)).filter(|by| *by != 0);
            let (offset, is_up) = match program.names.text(method.name) {
                "getAndIncrement" => (0, true),
                "incrementAndGet" => (1, true),
                "getAndDecrement" => (0, false),
                "decrementAndGet" => (-1, false),
                "getAndAdd" => (0, by()? > 0),
                "addAndGet" => (by()?, by()? > 0),
                _ => return None,
            };
            return Some(Drawn { counter: self.variable(step)?, offset, is_up });
        }
        let targets = self.whole.calls.targets(program, kind, method);
        let ([target], true) = (targets.known(), depth > 0) else { return None };
        Looking::anywhere(self.whole, *target)?.returns_drawn(depth - 1)
    }

    /// `issued++` under a lock: what was read before is this thread's number.
    fn stepped_over(&self, body: &Body, value: Value) -> Option<Drawn> {
        let (read, block) = (self.own_access(body, value, false)?, body.block_of(value));
        let (put, by) = body.instructions_of(block).find_map(|(put, instruction)| {
            let stored = match instruction.op {
                Op::PutField { value: stored, .. } | Op::PutStatic { value: stored, .. } if put > value => stored,
                _ => return None,
            };
            match *body.op(stored) {
                Op::Arithmetic(Arithmetic::Add, old, by) if old == value => Some((put, constant(body, by)?)),
                Op::Arithmetic(Arithmetic::Subtract, old, by) if old == value => {
                    Some((put, constant(body, by)?.checked_neg()?))
                }
                _ => None,
            }
        })?;
        let step = self.own_access(body, put, true)?;
        let is_it =
            by != 0 && step.member == read.member && step.base.same(&read.base) && self.is_in_one_section(read, step);
        Some(Drawn { counter: self.variable(step).filter(|_| is_it)?, offset: 0, is_up: by > 0 })
    }

    /// `lease = ++issued; return lease;` under a lock: what is read was put there just before.
    fn just_stored(&self, body: &Body, value: Value, depth: usize) -> Option<Drawn> {
        let (read, block) = (self.own_access(body, value, false)?, body.block_of(value));
        let before = body.instructions_of(block).rev().skip_while(|(other, _)| *other >= value);
        for (put, instruction) in before {
            match instruction.op {
                Op::Call { .. } | Op::CallDynamic { .. } | Op::MonitorExit(_) => return None,
                Op::PutField { value, .. } | Op::PutStatic { value, .. } => {
                    let step = self.own_access(body, put, true)?;
                    if step.member == read.member {
                        let is_it = step.base.same(&read.base) && self.is_in_one_section(read, step) && depth > 0;
                        return if is_it { self.drawn(body, value, depth - 1) } else { None };
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The access that an instruction of the method does.
    pub(super) fn own_access(&self, body: &Body, value: Value, is_write: bool) -> Option<&Access> {
        let pc = body.instruction(value).pc;
        let own = self.whole.program.method_name(self.method);
        let is_it = |spot: &Spot| spot.method == own && spot.pc == pc;
        self.summary.accesses.iter().find(|access| access.is_write == is_write && is_it(&access.spot))
    }

    /// Whether two accesses are in one section that nobody else can be in.
    pub(super) fn is_in_one_section(&self, one: &Access, other: &Access) -> bool {
        let mut both = one.held.intersection(other.held).iter();
        both.any(|section| self.summary.sections[section].mode == Mode::Exclusive)
    }

    /// Whether all that writes a counter moves it up in one step, or all moves it down.
    fn goes_one_way(&self, counter: Variable) -> Option<bool> {
        let mut ways = self.whole.variables.writers(counter).iter().map(|place| {
            let there = Looking::anywhere(self.whole, place.method)?;
            there.moves_up(there.access(place.access).spot)
        });
        let first = ways.next()??;
        ways.all(|way| way == Some(first)).then_some(first)
    }

    /// Whether a step at a place of the method moves a number up by some fixed amount; none if it may not be one step, or may
    /// not move it.
    fn moves_up(&self, spot: Spot) -> Option<bool> {
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return None };
        let is_own = spot.method == self.whole.program.method_name(self.method);
        let at = |(_, instruction): &(Value, &Instruction)| is_own && instruction.pc == spot.pc;
        let moved = body.instructions().filter(at).find_map(|(put, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } => {
                let (old, by) = match *body.op(value) {
                    Op::Arithmetic(Arithmetic::Add, old, by) => (old, constant(&body, by)?),
                    Op::Arithmetic(Arithmetic::Subtract, old, by) => (old, constant(&body, by)?.checked_neg()?),
                    _ => return None,
                };
                let (read, step) = (self.own_access(&body, old, false)?, self.own_access(&body, put, true)?);
                let is_step = body.block_of(old) == body.block_of(put)
                    && read.member == step.member
                    && read.base.same(&step.base)
                    && self.is_in_one_section(read, step);
                is_step.then_some(by)
            }
            Op::Call { method, arguments, .. } => match self.whole.program.names.text(method.name) {
                "getAndIncrement" | "incrementAndGet" => Some(1),
                "getAndDecrement" | "decrementAndGet" => Some(-1),
                "getAndAdd" | "addAndGet" => constant(&body, *body.operands(arguments).last()?),
                _ => None,
            },
            _ => None,
        })?;
        (moved != 0).then_some(moved > 0)
    }
}

/// A whole number that stands in the code.
pub(super) fn constant(body: &Body, value: Value) -> Option<i64> {
    match *body.op(value) {
        Op::Constant(Constant::Int(number)) => Some(i64::from(number)),
        Op::Constant(Constant::Long(number)) => Some(number),
        _ => None,
    }
}
