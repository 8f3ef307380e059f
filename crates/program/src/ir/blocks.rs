//! Cuts code into basic blocks and joins them by edges.
//!
//! A block never spans the edge of a protected range, and inside one it ends at each store to a local: so the locals
//! that a handler sees are those at the start of the block that threw.
//!
//! Subroutines of old class files (`jsr`, `ret`) are copied for each place that calls them: a block is an offset
//! together with the calls that are open, and `ret` goes back to the innermost call whose address it names.
//!
//! A truth value that is kept in a local and asked at once (`boolean fits = a < b; if (fits)`) reaches the question as
//! one constant on each path. Each path gets the store for itself, and goes on to where its constant leads, so that the
//! code looks as if the comparison had been asked.

use classfile::{Against, Arithmetic, Code, Condition, Constant, Error, Kind, Operation};
use location::{ClassName, Names};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::model::memory;

/// More blocks than this make a method too complex: nested subroutines could multiply without end.
const MAX_BLOCKS: usize = 60_000;

/// A chain of open subroutine calls; 0 is none.
type Context = u32;

/// What tells one block from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    /// The instruction it begins with.
    leader: usize,
    context: Context,
    /// Of a single store whose value is known: the instruction that the question after it leads to.
    decided: Option<usize>,
}

/// A block before it is translated. Numbers are positions in [`Blocks::list`].
pub(super) struct RawBlock {
    /// Range in the code's instructions.
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) successors: SmallVec<[usize; 2]>,
    pub(super) handlers: SmallVec<[usize; 2]>,
}

/// Blocks in reverse postorder from the entry.
pub(super) struct Blocks {
    pub(super) list: Vec<RawBlock>,
}

pub(super) fn discover(code: &Code, names: &Names) -> Result<Blocks, Error> {
    let mut discovery = Discovery::new(code, names)?;
    discovery.block_at(0, 0)?;
    let mut next = 0;
    while next < discovery.keys.len() {
        let block = match discovery.keys[next] {
            Key { leader, context, decided: None } => discovery.cut(leader, context)?,
            Key { leader, context, decided: Some(target) } => {
                let successors = smallvec![discovery.block_at(target, context)?];
                RawBlock { first: leader, end: leader + 1, successors, handlers: SmallVec::new() }
            }
        };
        discovery.list.push(block);
        next += 1;
    }
    Ok(Blocks { list: with_entry(reverse_postorder(discovery.list)) })
}

/// Puts an empty block in front if the first one is also the target of a jump, so that the entry has no predecessor.
fn with_entry(mut list: Vec<RawBlock>) -> Vec<RawBlock> {
    let jumps_back = list.iter().any(|block| block.successors.contains(&0) || block.handlers.contains(&0));
    if jumps_back {
        for block in &mut list {
            block.successors.iter_mut().chain(&mut block.handlers).for_each(|target| *target += 1);
        }
        list.insert(0, RawBlock { first: 0, end: 0, successors: smallvec![1], handlers: SmallVec::new() });
    }
    list
}

struct Discovery<'c> {
    code: &'c Code,
    names: &'c Names,
    /// Instruction at an offset, or `u32::MAX`.
    at: Vec<u32>,
    leaders: Vec<bool>,
    /// Which blocks have been asked for.
    keys: Vec<Key>,
    /// By leader: the number of the block outside all subroutines whose value is not known, as most are, or `u32::MAX`.
    plain: Vec<u32>,
    /// The numbers of the others.
    numbers: FxHashMap<Key, u32>,
    list: Vec<RawBlock>,
    /// For each context but the first: the calling instruction, the context it was made in, and the slot that holds
    /// the address.
    calls: Vec<(usize, Context, Option<u16>)>,
    contexts: FxHashMap<(usize, Context), Context>,
}

impl<'c> Discovery<'c> {
    fn new(code: &'c Code, names: &'c Names) -> Result<Discovery<'c>, Error> {
        let Some(last) = code.instructions.last() else {
            return Err(Error::BadCode { pc: 0, reason: "the code is empty" });
        };
        let mut at = vec![u32::MAX; last.pc as usize + 1];
        for (index, instruction) in code.instructions.iter().enumerate() {
            at[instruction.pc as usize] = index as u32;
        }
        let mut discovery = Discovery {
            code,
            names,
            at,
            leaders: vec![false; code.instructions.len()],
            keys: Vec::new(),
            plain: vec![u32::MAX; code.instructions.len()],
            numbers: FxHashMap::default(),
            list: Vec::new(),
            calls: vec![(0, 0, None)],
            contexts: FxHashMap::default(),
        };
        discovery.mark_leaders()?;
        Ok(discovery)
    }

    fn index(&self, from: u32, pc: u32) -> Result<usize, Error> {
        match self.at.get(pc as usize) {
            Some(index) if *index != u32::MAX => Ok(*index as usize),
            _ => Err(Error::BadCode { pc: from, reason: "a jump does not go to an instruction" }),
        }
    }

    fn mark_leaders(&mut self) -> Result<(), Error> {
        self.leaders[0] = true;
        let mut protected = vec![0i32; self.leaders.len() + 1];
        for handler in &self.code.handlers {
            let start = self.index(handler.start, handler.start)?;
            // A range may end where the code ends.
            let end = match self.at.get(handler.end as usize) {
                Some(_) => self.index(handler.end, handler.end)?,
                None => self.leaders.len(),
            };
            if start >= end {
                continue;
            }
            self.leaders[start] = true;
            if let Some(leader) = self.leaders.get_mut(end) {
                *leader = true;
            }
            let target = self.index(handler.handler, handler.handler)?;
            self.leaders[target] = true;
            if self.is_from_outside(handler.catches) {
                for index in start..end {
                    let is_call = matches!(self.code.instructions[index].operation, Operation::Call(..));
                    if is_call && self.may_throw(&self.code.instructions[index].operation, handler.catches) {
                        self.leaders.get_mut(index + 1).into_iter().for_each(|leader| *leader = true);
                    }
                }
            }
            protected[start] += 1;
            protected[end] -= 1;
        }
        let mut depth = 0;
        for (index, (instruction, change)) in self.code.instructions.iter().zip(protected).enumerate() {
            depth += change;
            let mut targets: SmallVec<[u32; 4]> = SmallVec::new();
            let ends = match &instruction.operation {
                Operation::Branch { target, .. } | Operation::Goto(target) | Operation::JumpSubroutine(target) => {
                    targets.push(*target);
                    true
                }
                Operation::Switch(switch) => {
                    targets.push(switch.default);
                    targets.extend(switch.cases.iter().map(|(_, target)| *target));
                    true
                }
                Operation::Return(_) | Operation::Throw | Operation::ReturnSubroutine(_) => true,
                Operation::Store(..) | Operation::Increment(..) => depth > 0,
                _ => false,
            };
            for target in targets {
                let target = self.index(instruction.pc, target)?;
                self.leaders[target] = true;
            }
            if ends && let Some(leader) = self.leaders.get_mut(index + 1) {
                *leader = true;
            }
        }
        Ok(())
    }

    fn block_at(&mut self, leader: usize, context: Context) -> Result<usize, Error> {
        self.block(Key { leader, context, decided: None })
    }

    fn block(&mut self, key: Key) -> Result<usize, Error> {
        let is_plain = key.context == 0 && key.decided.is_none();
        let known = match is_plain {
            true => Some(self.plain[key.leader]).filter(|number| *number != u32::MAX),
            false => self.numbers.get(&key).copied(),
        };
        if let Some(number) = known {
            return Ok(number as usize);
        }
        let number = self.keys.len();
        if number >= MAX_BLOCKS {
            let pc = self.code.instructions[key.leader].pc;
            return Err(Error::BadCode { pc, reason: "too complex: too many basic blocks" });
        }
        self.keys.push(key);
        match is_plain {
            true => self.plain[key.leader] = number as u32,
            false => {
                self.numbers.insert(key, number as u32);
            }
        }
        Ok(number)
    }

    /// The block at `leader`, where control comes from the instruction `before`. If that is a constant, and the code at
    /// `leader` stores it and asks for it, the block is the store alone.
    fn block_after(&mut self, before: Option<usize>, leader: usize, context: Context) -> Result<usize, Error> {
        let decided = before.map_or(Ok(None), |before| self.decided(before, leader))?;
        self.block(Key { leader, context, decided })
    }

    fn decided(&self, before: usize, leader: usize) -> Result<Option<usize>, Error> {
        let operation = |index: usize| self.code.instructions.get(index).map(|instruction| &instruction.operation);
        let (
            Some(Operation::Constant(Constant::Int(constant))),
            Some(Operation::Store(Kind::Int, stored)),
            Some(Operation::Load(Kind::Int, loaded)),
            Some(Operation::Branch { condition, against: Against::Zero, target }),
        ) = (operation(before), operation(leader), operation(leader + 1), operation(leader + 2))
        else {
            return Ok(None);
        };
        let holds = match condition {
            Condition::Equal => *constant == 0,
            Condition::NotEqual => *constant != 0,
            _ => return Ok(None),
        };
        if stored != loaded {
            return Ok(None);
        }
        let after = leader + 3;
        match holds {
            true => self.index(self.code.instructions[leader + 2].pc, *target).map(Some),
            false => Ok((after < self.leaders.len()).then_some(after)),
        }
    }

    fn block_at_pc(&mut self, from: u32, pc: u32, context: Context) -> Result<usize, Error> {
        let index = self.index(from, pc)?;
        self.block_at(index, context)
    }

    /// The block from `leader` to the next leader or the instruction that ends it.
    fn cut(&mut self, leader: usize, context: Context) -> Result<RawBlock, Error> {
        let code = self.code;
        let mut end = leader + 1;
        while end < self.leaders.len() && !self.leaders[end] {
            end += 1;
        }
        let last = &code.instructions[end - 1];
        let mut successors = SmallVec::new();
        match &last.operation {
            Operation::Branch { target, .. } => {
                successors.push(self.block_at_pc(last.pc, *target, context)?);
                successors.push(self.fall_through(end, last.pc, context)?);
            }
            Operation::Goto(target) => {
                let target = self.index(last.pc, *target)?;
                successors.push(self.block_after((end - leader >= 2).then(|| end - 2), target, context)?);
            }
            Operation::Switch(switch) => {
                for (_, target) in &switch.cases {
                    successors.push(self.block_at_pc(last.pc, *target, context)?);
                }
                successors.push(self.block_at_pc(last.pc, switch.default, context)?);
            }
            Operation::Return(_) | Operation::Throw => {}
            Operation::JumpSubroutine(target) => {
                let target = self.index(last.pc, *target)?;
                let inside = self.enter(end - 1, target, context)?;
                successors.push(self.block_at(target, inside)?);
            }
            Operation::ReturnSubroutine(slot) => {
                let (call, outside) = self.leave(*slot, context, last.pc)?;
                successors.push(self.fall_through(call + 1, last.pc, outside)?);
            }
            _ if end < self.leaders.len() => successors.push(self.block_after(Some(end - 1), end, context)?),
            _ => return Err(runs_off(last.pc)),
        }
        let mut handlers: SmallVec<[usize; 2]> = SmallVec::new();
        if code.instructions[leader..end].iter().any(|instruction| throws(&instruction.operation)) {
            let pc = code.instructions[leader].pc;
            for handler in &code.handlers {
                let mut inside = code.instructions[leader..end].iter();
                if (handler.start..handler.end).contains(&pc)
                    && inside.any(|instruction| self.may_throw(&instruction.operation, handler.catches))
                {
                    let target = self.block_at_pc(pc, handler.handler, context)?;
                    if !handlers.contains(&target) {
                        handlers.push(target);
                    }
                    if handler.catches.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(RawBlock { first: leader, end, successors, handlers })
    }

    /// Whether an instruction may throw what a handler catches.
    fn may_throw(&self, operation: &Operation, catches: Option<ClassName>) -> bool {
        match operation {
            _ if !self.is_from_outside(catches) => throws(operation),
            Operation::Call(_, method) => !memory::is_of_memory(self.names.text(method.class.0)),
            Operation::CallDynamic(_) | Operation::Throw => true,
            _ => false,
        }
    }

    /// Whether a handler is for what goes wrong outside the program. Only calls tell of that, but none of containers and of
    /// what threads share; so the code after such a call does not lead to the handler.
    fn is_from_outside(&self, catches: Option<ClassName>) -> bool {
        catches.is_some_and(|class| memory::is_from_outside(self.names.text(class.0)))
    }

    fn fall_through(&mut self, index: usize, pc: u32, context: Context) -> Result<usize, Error> {
        if index >= self.leaders.len() {
            return Err(runs_off(pc));
        }
        self.block_at(index, context)
    }

    fn enter(&mut self, call: usize, target: usize, context: Context) -> Result<Context, Error> {
        if let Some(known) = self.contexts.get(&(call, context)) {
            return Ok(*known);
        }
        // Recursion into an open call would never end; no verifier lets it pass.
        let mut open = context;
        while open != 0 {
            let (opened, outside, _) = self.calls[open as usize];
            if opened == call {
                let pc = self.code.instructions[call].pc;
                return Err(Error::BadCode { pc, reason: "a subroutine calls itself" });
            }
            open = outside;
        }
        let slot = match &self.code.instructions[target].operation {
            Operation::Store(Kind::Reference, slot) => Some(*slot),
            _ => None,
        };
        let inside = self.calls.len() as Context;
        self.calls.push((call, context, slot));
        self.contexts.insert((call, context), inside);
        Ok(inside)
    }

    fn leave(&self, slot: u16, context: Context, pc: u32) -> Result<(usize, Context), Error> {
        let mut open = context;
        while open != 0 {
            let (call, outside, stored) = self.calls[open as usize];
            if stored.is_none_or(|stored| stored == slot) {
                return Ok((call, outside));
            }
            open = outside;
        }
        Err(Error::BadCode { pc, reason: "`ret` outside a subroutine" })
    }
}

fn runs_off(pc: u32) -> Error {
    Error::BadCode { pc, reason: "control runs off the end of the code" }
}

/// As [`super::can_throw`], before translation.
fn throws(operation: &Operation) -> bool {
    match operation {
        Operation::ArrayLoad(_)
        | Operation::ArrayStore(_)
        | Operation::ArrayLength
        | Operation::GetField(_)
        | Operation::PutField(_)
        | Operation::GetStatic(_)
        | Operation::PutStatic(_)
        | Operation::Call(..)
        | Operation::CallDynamic(_)
        | Operation::New(_)
        | Operation::NewArray(..)
        | Operation::CheckCast(_)
        | Operation::MonitorEnter
        | Operation::Throw => true,
        Operation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder, kind) => {
            matches!(kind, Kind::Int | Kind::Long)
        }
        _ => false,
    }
}

/// Renumbers the blocks so that every block but a loop's head comes after all that lead to it.
fn reverse_postorder(list: Vec<RawBlock>) -> Vec<RawBlock> {
    let mut order = Vec::with_capacity(list.len());
    let mut seen = vec![false; list.len()];
    // A block and how many of its edges have been followed.
    let mut open = vec![(0usize, 0usize)];
    seen[0] = true;
    while let Some((block, followed)) = open.last_mut() {
        let edges = &list[*block];
        // Handlers first and successors last to first, so that in the result code follows source order and handlers
        // come last.
        let count = edges.handlers.len() + edges.successors.len();
        if *followed == count {
            order.push(*block);
            open.pop();
            continue;
        }
        let target = match edges.handlers.len().checked_sub(*followed + 1) {
            Some(handler) => edges.handlers[handler],
            None => edges.successors[count - 1 - *followed],
        };
        *followed += 1;
        if !seen[target] {
            seen[target] = true;
            open.push((target, 0));
        }
    }
    let mut number = vec![usize::MAX; list.len()];
    for (position, block) in order.iter().rev().enumerate() {
        number[*block] = position;
    }
    let mut blocks: Vec<Option<RawBlock>> = list.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(order.len());
    for block in order.iter().rev() {
        if let Some(mut block) = blocks[*block].take() {
            block.successors.iter_mut().chain(&mut block.handlers).for_each(|target| *target = number[*target]);
            sorted.push(block);
        }
    }
    sorted
}
