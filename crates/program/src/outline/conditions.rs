//! What decides whether an instruction runs: branches, refusals, handlers, and waits in between.

use std::cell::OnceCell;

use super::agree::{are_parts, sides};
use super::build::Building;
use super::flow::{Flow, Places};
use super::waits::Point;
use super::{Condition, EventId, Outline, SectionSet};
use crate::control::empty;
use crate::ir::{BlockId, Body, Op, Value};
use crate::path::Paths;
use crate::section::Sections;
use crate::{ControlDependence, Program};
use classfile::{Against, Condition as Relation};
use smallvec::SmallVec;

impl<'b> Building<'b> {
    pub(super) fn new(
        program: &'b Program,
        body: &'b Body,
        sections: &'b Sections,
        paths: &'b Paths<'b>,
    ) -> Building<'b> {
        Building { program, body, sections, paths, direct: OnceCell::new() }
    }

    /// Which branches decide whether a block runs. Asked for more than once, and not of all code.
    pub(super) fn direct(&self) -> &ControlDependence {
        self.direct.get_or_init(|| ControlDependence::of(self.body))
    }

    /// By block: the condition that its branch decides.
    pub(super) fn conditions(&self, places: &Places<'_>, flow: &Flow<'_>) -> Vec<Option<Condition>> {
        let mut conditions = vec![None; self.body.block_count()];
        for (block, _) in self.body.blocks() {
            let Some(last) = self.body.terminator(block) else { continue };
            let op = self.body.op(last);
            if !matches!(op, Op::Branch { .. } | Op::Switch { .. }) {
                continue;
            }
            let mut operands: SmallVec<[Value; 2]> = SmallVec::new();
            self.body.for_each_operand(op, |operand| operands.push(operand));
            let held = places.held[last.index()];
            let nought = without(op, Against::Zero);
            let compared = sides(self.body, &self.program.names, last);
            conditions[block.index()] = Some(Condition {
                line: self.body.line(self.body.instruction(last).pc),
                is_of_parts: compared.is_some_and(|sides| are_parts(self.body, &self.program.names, sides)),
                sides: compared
                    .map(|sides| Box::new(sides.map(|side| flow.of([side], last))))
                    .filter(|sides| sides.iter().all(|side| !side.is_empty())),
                is_by_size: matches!(
                    op,
                    Op::Branch {
                        condition: Relation::Less
                            | Relation::LessOrEqual
                            | Relation::Greater
                            | Relation::GreaterOrEqual,
                        ..
                    }
                ),
                absent: without(op, Against::Null),
                nought,
                throws_at_nought: nought.is_some_and(|nought| self.throws(block, nought)),
                sources: flow.of(operands, last),
                held,
                block: block.index() as u32,
            });
        }
        conditions
    }

    /// Whether a successor of a block ends with an exception that is thrown.
    fn throws(&self, block: BlockId, successor: u8) -> bool {
        let next = self.body.block(block).successors.get(usize::from(successor));
        let last = next.and_then(|next| self.body.terminator(*next));
        last.is_some_and(|last| matches!(self.body.op(last), Op::Throw(_)))
    }

    /// By block: the numbers of all conditions that decide whether it runs, directly or by deciding another.
    pub(super) fn control(&self, conditions: &[Option<Condition>]) -> Vec<SmallVec<[u32; 4]>> {
        let mut number = vec![0u32; conditions.len()];
        let mut next = 0;
        for (block, condition) in conditions.iter().enumerate() {
            number[block] = next;
            next += u32::from(condition.is_some());
        }
        let mut control: Vec<SmallVec<[u32; 4]>> = empty(conditions.len());
        if next == 0 {
            return control;
        }
        // By block: a bit for each condition, in so many words.
        let words = (next as usize).div_ceil(64);
        let mut decided = vec![0u64; words * conditions.len()];
        let direct = self.direct();
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..conditions.len() {
                for dependence in direct.of_block(BlockId::from_index(block)) {
                    let branch = dependence.branch.index();
                    let own = number[branch] as usize;
                    for word in 0..words {
                        let mut more = decided[branch * words + word];
                        if word == own / 64 {
                            more |= 1 << (own % 64);
                        }
                        let known = &mut decided[block * words + word];
                        changed |= more & !*known != 0;
                        *known |= more;
                    }
                }
            }
        }
        for (block, control) in control.iter_mut().enumerate() {
            for (word, bits) in decided[block * words..(block + 1) * words].iter().enumerate() {
                let mut rest = *bits;
                while rest != 0 {
                    control.push(word as u32 * 64 + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
        }
        control
    }

    /// The conditions that decide whether an exception made here leaves the method.
    pub(super) fn refusals(&self, control: &[SmallVec<[u32; 4]>]) -> SmallVec<[u32; 2]> {
        let mut refusals: SmallVec<[u32; 2]> = SmallVec::new();
        for (block, _) in self.body.blocks() {
            let Some(Op::Throw(thrown)) = self.body.terminator(block).map(|last| *self.body.op(last)) else { continue };
            // What stands in the way of an exception made here is mostly a `finally`, which throws it on.
            if matches!(self.body.op(thrown), Op::New(_)) {
                refusals.extend(control[block.index()].iter().copied());
            }
        }
        refusals.sort_unstable();
        refusals.dedup();
        refusals
    }

    /// The handlers after which the method goes on; a `finally` throws on what it has caught.
    pub(super) fn caught(&self) -> SmallVec<[u32; 2]> {
        let mut handlers: SmallVec<[u32; 2]> = SmallVec::new();
        for (_, block) in self.body.blocks() {
            handlers.extend(block.handlers.iter().map(|handler| handler.index() as u32));
        }
        handlers.sort_unstable();
        handlers.dedup();
        handlers.retain(|handler| {
            let mut seen = vec![false; self.body.block_count()];
            let mut pending = vec![BlockId::from_index(*handler as usize)];
            while let Some(block) = pending.pop() {
                if std::mem::replace(&mut seen[block.index()], true) {
                    continue;
                }
                if let Some(Op::Return(_)) = self.body.terminator(block).map(|last| *self.body.op(last)) {
                    return true;
                }
                pending.extend(self.body.block(block).successors.iter().copied());
            }
            false
        });
        handlers
    }

    /// Sections whose lock a wait lets go between a condition and an instruction that it decides about. What decides
    /// only whether there is another round is asked again there.
    pub(super) fn waited(
        &self,
        value: Value,
        places: &Places<'_>,
        conditions: &[Option<Condition>],
    ) -> SmallVec<[(u32, SectionSet); 1]> {
        let mut waited = SmallVec::new();
        if places.waits.list.is_empty() {
            return waited;
        }
        let direct = self.direct();
        let mut seen = vec![false; self.body.block_count()];
        let mut pending = vec![self.body.block_of(value)];
        while let Some(block) = pending.pop() {
            for dependence in direct.of_block(block) {
                let deciding = dependence.branch;
                if deciding >= block || std::mem::replace(&mut seen[deciding.index()], true) {
                    continue;
                }
                pending.push(deciding);
                let Some(branch) = self.body.terminator(deciding) else { continue };
                let sections = places.waits.between(self.body, branch, Point::before(self.body, value));
                if !sections.is_empty() {
                    let number = conditions[..deciding.index()].iter().flatten().count();
                    waited.push((number as u32, sections));
                }
            }
        }
        waited
    }
}

impl Outline {
    /// Whether an event happens only after a condition has found nothing.
    pub fn is_because_absent(&self, condition: &Condition, event: EventId) -> bool {
        condition.absent.is_some_and(|absent| self.follows_only(condition, absent, event))
    }

    /// Whether an event happens only after a condition has found that a number is nought.
    pub fn is_because_nought(&self, condition: &Condition, event: EventId) -> bool {
        condition.nought.is_some_and(|nought| self.follows_only(condition, nought, event))
    }

    /// Whether an event happens only by way of one successor of a condition.
    fn follows_only(&self, condition: &Condition, successor: u8, event: EventId) -> bool {
        self.comes_only_by(condition, successor, self.events[event.index()].block as usize)
    }

    /// By block: whether control gets there from a condition by way of one successor, without being asked again.
    pub fn reached_by(&self, condition: &Condition, successor: u8) -> Vec<bool> {
        let asked = condition.block as usize;
        match self.blocks.successors(asked).nth(usize::from(successor)) {
            Some(next) if next.block != asked => {
                let mut reached = self.reached(next.block, |block| block == asked);
                reached[next.block] = true;
                reached
            }
            _ => vec![false; self.blocks.len()],
        }
    }

    /// Whether control can get from the method's entry to a block without ever going from another one to one of its
    /// successors.
    pub fn leads_without(&self, asked: usize, successor: usize, wanted: usize) -> bool {
        let mut reached = vec![false; self.blocks.len()];
        let mut pending = vec![0];
        while let Some(block) = pending.pop() {
            if std::mem::replace(&mut reached[block], true) {
                continue;
            }
            let next = self.blocks.successors(block).filter(|next| block != asked || next.block != successor);
            pending.extend(next.map(|next| next.block));
        }
        reached[wanted]
    }

    /// Whether control gets from a condition to a block only by way of one successor.
    pub fn comes_only_by(&self, condition: &Condition, successor: u8, wanted: usize) -> bool {
        let asked = condition.block as usize;
        let others = self.blocks.successors(asked).enumerate().filter(|(number, _)| *number != usize::from(successor));
        wanted != asked
            && others
                .map(|(_, next)| next.block)
                .all(|next| next != wanted && (next == asked || !self.reached(next, |block| block == asked)[wanted]))
    }
}

/// The successor of a block that follows if what its branch asks for is null, or nought.
fn without(op: &Op, nothing: Against) -> Option<u8> {
    match op {
        Op::Branch { condition: Relation::Equal, against, .. } if *against == nothing => Some(0),
        Op::Branch { condition: Relation::NotEqual, against, .. } if *against == nothing => Some(1),
        _ => None,
    }
}
