//! From decoded code to a [`Body`].

use classfile::{Access, Bootstrap, Code, Error};
use location::{MethodName, Names, Symbol};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::blocks::{Blocks, discover};
use super::liveness::Liveness;
use super::simplify::simplify;
use super::state::State;
use super::translate::Translator;
use super::{Block, BlockId, Body, Predecessor, Value};
use crate::control::empty;

/// More states than this (blocks times locals) make a method too complex.
const MAX_STATES: usize = 32 << 20;

/// What is known of a method beside its code.
#[derive(Clone, Copy)]
pub struct Source<'s> {
    pub method: MethodName,
    pub access: Access,
    pub file: Option<Symbol>,
    pub bootstraps: &'s [Bootstrap],
}

/// Translates the code of one method.
pub fn build(source: Source<'_>, code: &Code, names: &Names) -> Result<Body, Error> {
    let blocks = discover(code, names)?;
    if blocks.list.len().saturating_mul(usize::from(code.max_locals) + 1) > MAX_STATES {
        return Err(Error::BadCode { pc: 0, reason: "too complex: too many blocks and locals" });
    }
    let predecessors = predecessors(&blocks);
    let liveness = Liveness::compute(code, &blocks);
    let mut building = Building {
        translator: Translator::new(source, code, names),
        exits: Vec::with_capacity(blocks.list.len()),
        entries: Vec::with_capacity(blocks.list.len()),
        phis: Vec::new(),
        ranges: Vec::with_capacity(blocks.list.len()),
    };
    for number in 0..blocks.list.len() {
        building.translate_block(number, &blocks, &predecessors, &liveness)?;
    }
    let pc_of = |block: usize| code.instructions[blocks.list[block].first].pc;
    building.fill_phis(&predecessors, pc_of)?;
    let (ranges, translator) = (building.ranges, building.translator);
    let list = blocks
        .list
        .iter()
        .zip(predecessors)
        .zip(ranges)
        .map(|((block, predecessors), (first, end))| Block {
            pc: code.instructions[block.first].pc,
            first,
            end,
            successors: block.successors.iter().map(|target| BlockId(*target as u32)).collect(),
            handlers: block.handlers.iter().map(|target| BlockId(*target as u32)).collect(),
            predecessors,
        })
        .collect();
    let object = translator.object;
    Ok(simplify(translator.into_body(list), object))
}

/// A place where paths meet: which phi, in which block, for which local or stack slot.
struct Meeting {
    phi: Value,
    block: usize,
    slot: Slot,
}

#[derive(Clone, Copy)]
enum Slot {
    Local(usize),
    Stack(usize),
}

struct Building<'b> {
    translator: Translator<'b>,
    /// By block: the state at its start and at its end.
    entries: Vec<State>,
    exits: Vec<State>,
    phis: Vec<Meeting>,
    /// By block: its range of instructions.
    ranges: Vec<(u32, u32)>,
}

impl Building<'_> {
    fn translate_block(
        &mut self,
        number: usize,
        blocks: &Blocks,
        predecessors: &[SmallVec<[Predecessor; 2]>],
        liveness: &Liveness,
    ) -> Result<(), Error> {
        let block = &blocks.list[number];
        let pc = self.translator.code.instructions[block.first].pc;
        let first = self.translator.next();
        let mut state = match predecessors[number].as_slice() {
            [] => self.translator.parameters()?,
            // Blocks come in reverse postorder: a single predecessor has been here before.
            [only] => {
                let mut state = self.state_from(*only).clone();
                if only.exceptional {
                    state.stack = smallvec![self.translator.caught(pc)];
                }
                state
            }
            several => self.meet(number, several, liveness, pc)?,
        };
        self.entries.push(state.clone());
        self.translator.run(block.first..block.end, &mut state)?;
        self.exits.push(state);
        self.ranges.push((first, self.translator.next()));
        Ok(())
    }

    /// The state that a predecessor hands over.
    fn state_from(&self, predecessor: Predecessor) -> &State {
        let states = if predecessor.exceptional { &self.entries } else { &self.exits };
        &states[predecessor.block.index()]
    }

    /// A phi for each live local and each stack slot; its operands come when all blocks are done.
    fn meet(
        &mut self,
        number: usize,
        predecessors: &[Predecessor],
        liveness: &Liveness,
        pc: u32,
    ) -> Result<State, Error> {
        let Some(seen) = predecessors.iter().find(|predecessor| predecessor.block.index() < number) else {
            return Err(Error::BadCode { pc, reason: "a block is reached from nowhere" });
        };
        let model = self.state_from(*seen).clone();
        let mut state = State { locals: smallvec![None; model.locals.len()], stack: SmallVec::new() };
        for (slot, held) in model.locals.iter().enumerate() {
            if !liveness.is_live(number, slot) {
                continue;
            }
            // A local that this path leaves unset is unset for the verifier, too.
            let Some(held) = *held else { continue };
            let phi = self.translator.phi(pc, self.translator.type_of(held));
            state.locals[slot] = Some(phi);
            self.phis.push(Meeting { phi, block: number, slot: Slot::Local(slot) });
        }
        if predecessors.iter().any(|predecessor| predecessor.exceptional) {
            state.stack.push(self.translator.caught(pc));
        } else {
            for (depth, held) in model.stack.iter().enumerate() {
                let phi = self.translator.phi(pc, self.translator.type_of(*held));
                state.stack.push(phi);
                self.phis.push(Meeting { phi, block: number, slot: Slot::Stack(depth) });
            }
        }
        Ok(state)
    }

    fn fill_phis(
        &mut self,
        predecessors: &[SmallVec<[Predecessor; 2]>],
        pc_of: impl Fn(usize) -> u32,
    ) -> Result<(), Error> {
        for (block, predecessors) in predecessors.iter().enumerate() {
            let depth = self.entries[block].stack.len();
            let is_other = |from: &&Predecessor| !from.exceptional && self.state_from(**from).stack.len() != depth;
            if let Some(from) = predecessors.iter().find(is_other) {
                let pc = pc_of(from.block.index());
                return Err(Error::BadCode { pc, reason: "paths meet with stacks of different depth" });
            }
        }
        let mut operands: SmallVec<[Value; 8]> = SmallVec::new();
        let mut unset = FxHashSet::default();
        for meeting in std::mem::take(&mut self.phis) {
            operands.clear();
            for predecessor in &predecessors[meeting.block] {
                let state = self.state_from(*predecessor);
                let held = match meeting.slot {
                    Slot::Local(slot) => state.locals[slot],
                    Slot::Stack(depth) => state.stack.get(depth).copied(),
                };
                // Where a path leaves the local unset, nothing may read it afterwards: the phi can stand for itself.
                if held.is_none() {
                    unset.insert(meeting.phi);
                }
                operands.push(held.unwrap_or(meeting.phi));
            }
            self.translator.set_operands(meeting.phi, &operands);
        }
        if unset.is_empty() { Ok(()) } else { self.translator.check_loads(unset) }
    }
}

fn predecessors(blocks: &Blocks) -> Vec<SmallVec<[Predecessor; 2]>> {
    let mut predecessors: Vec<SmallVec<[Predecessor; 2]>> = empty(blocks.list.len());
    for (number, block) in blocks.list.iter().enumerate() {
        let edges = block
            .successors
            .iter()
            .map(|target| (*target, false))
            .chain(block.handlers.iter().map(|target| (*target, true)));
        for (target, exceptional) in edges {
            let predecessor = Predecessor { block: BlockId(number as u32), exceptional };
            let list = &mut predecessors[target];
            if list.last() != Some(&predecessor) && !list.contains(&predecessor) {
                list.push(predecessor);
            }
        }
    }
    predecessors
}
