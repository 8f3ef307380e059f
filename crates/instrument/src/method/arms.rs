//! Probes at branches whose arms have something to tell, and where arms come together.
//!
//! The probe before a branch gets the branch's operands, so it knows which arm will be taken, and the variables that the
//! other arms name. The method keeps one number for all of them: which of the thread's open arms is the first of its own. A
//! loop that may be left keeps another one: how often it ran.

use std::collections::BTreeMap;

use classfile::edit::Frame;

use super::*;
use crate::arms::{BranchRow, Flow, Join, at_branches};
use crate::probe::HANDED;

/// Branches of one method that get probes, and loops among them.
const MOST_BRANCHES: usize = 200;
const MOST_LOOPS: usize = 24;
const MOST_ARMS: usize = 32;

/// The bits of what a probe is told of a branch: behind the opcode, which arms have something to tell, and which stay.
const TELLS: u32 = 8;
const STAYS: u32 = 10;

/// A branch that gets a probe.
pub(super) struct Branch {
    pc: u32,
    opcode: u8,
    number: i32,
    flags: i32,
    handed: Vec<u16>,
    turns: Option<Turns>,
}

/// Where a loop's turns are counted.
struct Turns {
    /// Which of the method's counters.
    counter: u16,
    /// A turn begins behind the branch, or before the instruction here.
    begins: Option<u32>,
    /// The loop is left behind the branch, or before the instruction here.
    ends: Option<u32>,
}

#[derive(Default)]
pub(super) struct Branches {
    found: Vec<Branch>,
    /// By the offset of the instruction before which arms come together: the number of the place.
    joins: BTreeMap<u32, i32>,
    counters: u16,
}

impl Branches {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many variables the method needs to keep.
    pub(super) fn locals(&self) -> usize {
        if self.found.is_empty() { 0 } else { 1 + usize::from(self.counters) }
    }
}

impl MethodRewriter<'_, '_, '_> {
    /// Finds the branches that get probes.
    pub(super) fn find_branches(&mut self) -> Result<Branches, Failure> {
        let mut branches = Branches::default();
        let has_branch = (0..self.code.instruction_count()).any(|index| {
            self.code.instruction(index).falls_through() && !self.code.jump_targets(index).is_empty()
                || self.code.instruction(index).is_switch()
        });
        if !self.context.plan.speculates || !self.speculates || !has_branch {
            return Ok(branches);
        }
        let initial = self.initial_locals()?;
        let (Some(flow), Some(frames)) = (Flow::of(&self.code), at_branches(&self.code, &self.class.pool, &initial)?)
        else {
            self.context.sites.left_branches += 1;
            return Ok(branches);
        };
        for block in 0..flow.count() {
            let last = flow.block(block).end - 1;
            let instruction = self.code.instruction(last);
            let Some(frame) = frames.get(&instruction.pc).filter(|_| flow.successors(block).len() > 1) else {
                continue;
            };
            let Some(join) = flow.join(block) else { continue };
            if branches.found.len() == MOST_BRANCHES || flow.successors(block).len() > MOST_ARMS {
                self.context.sites.left_branches += 1;
                continue;
            }
            self.find_branch(&flow, block, join, frame, &mut branches)?;
        }
        Ok(branches)
    }

    fn find_branch(
        &mut self,
        flow: &Flow,
        block: usize,
        join: Join,
        frame: &Frame,
        branches: &mut Branches,
    ) -> Result<(), Failure> {
        let instruction = self.code.instruction(flow.block(block).end - 1);
        let to = flow.successors(block).to_vec();
        let operands = operands(instruction.opcode);
        let Some(depth) = frame.stack.len().checked_sub(operands.len()) else { return Ok(()) };
        // Not before a constructor of a class above has run.
        if frame.locals.first() == Some(&classfile::edit::Slot::UninitializedThis) {
            return Ok(());
        }
        let mut walker = Walker::new(self, flow, &frame.locals);
        let mut row = BranchRow::default();
        for (arm, first) in to.iter().enumerate() {
            let is_over = join == Join::Block(*first);
            row.empty |= u32::from(is_over) << arm;
            row.arms.push(if is_over { Vec::new() } else { walker.arm(block, *first, join, depth)? });
        }
        row.names = std::mem::take(&mut walker.names);
        row.registers = walker.registers.max(HANDED as u16);
        let handed = std::mem::take(&mut walker.handed);
        if row.arms.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let staying = flow.staying(block).filter(|_| !instruction.is_switch());
        let stays = staying.and_then(|staying| match *staying {
            [one] => to.iter().position(|to| *to == one),
            _ => None,
        });
        let first_pc = |block: usize| self.code.instruction(flow.block(block).start).pc;
        let mut turns = None;
        if let Some(stays) = stays.filter(|arm| !row.arms[*arm].is_empty()) {
            if usize::from(branches.counters) == MOST_LOOPS {
                row.arms[stays].clear();
            } else {
                let place = |arm: usize| (arm > 0).then(|| first_pc(to[arm]));
                turns = Some(Turns { counter: branches.counters, begins: place(stays), ends: place(1 - stays) });
                branches.counters += 1;
                row.stays = Some(stays as u32);
            }
            if row.arms.iter().all(Vec::is_empty) {
                return Ok(());
            }
        }
        let cases = instruction.switch_cases();
        if !cases.is_empty() {
            for (key, target) in cases {
                let arm = to.iter().position(|block| first_pc(*block) == target).unwrap_or(0) as u32;
                match key {
                    Some(key) => row.keys.push((key, arm)),
                    None => row.default = arm,
                }
            }
        }
        let tells = row.arms.iter().take(2).enumerate().map(|(arm, code)| u32::from(!code.is_empty()) << arm);
        let tells: u32 = tells.sum();
        let stays = row.stays.map_or(0, |arm| 1 << arm);
        row.site = self.site(instruction.pc, What::Branch);
        let number = self.context.sites.branches().len() as i32;
        row.join = match join {
            Join::Exit => -1,
            Join::Block(block) => {
                let pc = self.code.instruction(flow.block(block).start).pc;
                *branches.joins.entry(pc).or_insert(number)
            }
        };
        self.context.sites.add_branch(row);
        let flags = i32::from(instruction.opcode) | (tells << TELLS | stays << STAYS) as i32;
        branches.found.push(Branch { pc: instruction.pc, opcode: instruction.opcode, number, flags, handed, turns });
        Ok(())
    }

    /// Inserts the probes. `first` is the first of the variables that the method keeps for them.
    pub(super) fn watch_branches(&mut self, branches: &Branches, first: u16) -> Result<(), Failure> {
        if branches.is_empty() {
            return Ok(());
        }
        for (&pc, &join) in &branches.joins {
            self.push_thread()?;
            self.snippet.load(Kind::Int, first).push_int(join, &mut self.class.pool)?;
            self.call(Probe::Joined)?;
            self.snippet.store(Kind::Int, first);
            self.insert(pc, Place::Before);
        }
        for index in 0..self.code.instruction_count() {
            let instruction = self.code.instruction(index);
            if instruction.is_return() {
                self.push_thread()?;
                self.snippet.load(Kind::Int, first).push_int(-1, &mut self.class.pool)?;
                self.call(Probe::Joined)?;
                self.snippet.simple(op::POP, -1);
                self.insert(instruction.pc, Place::Before);
            }
        }
        for branch in &branches.found {
            self.watch_branch(branch, first)?;
        }
        Ok(())
    }

    fn watch_branch(&mut self, branch: &Branch, first: u16) -> Result<(), Failure> {
        let counter = branch.turns.as_ref().map(|turns| first + 1 + turns.counter);
        let probe = match operands(branch.opcode) {
            [Kind::Reference] => Probe::BranchObject,
            [Kind::Reference, _] => Probe::BranchObjects,
            [_] => Probe::BranchInt,
            _ => Probe::BranchInts,
        };
        match probe {
            Probe::BranchObject | Probe::BranchInt => self.snippet.dup(),
            _ => self.snippet.simple(op::DUP2, 2),
        };
        for register in 0..HANDED {
            match branch.handed.get(register) {
                Some(local) => self.snippet.load(Kind::Reference, *local),
                None => self.snippet.push_null(),
            };
        }
        self.push_thread()?;
        self.snippet.load(Kind::Int, first);
        match counter {
            Some(counter) => {
                self.snippet.load(Kind::Int, counter);
            }
            None => {
                self.snippet.push_int(0, &mut self.class.pool)?;
            }
        }
        self.snippet.push_int(branch.number, &mut self.class.pool)?.push_int(branch.flags, &mut self.class.pool)?;
        self.call(probe)?;
        self.snippet.store(Kind::Int, first);
        self.insert(branch.pc, Place::Before);
        let (Some(turns), Some(counter)) = (&branch.turns, counter) else { return Ok(()) };
        self.snippet.increment(counter);
        match turns.begins {
            Some(pc) => self.insert(pc, Place::Before),
            None => self.insert(branch.pc, Place::After),
        }
        self.snippet.push_int(0, &mut self.class.pool)?.store(Kind::Int, counter);
        match turns.ends {
            Some(pc) => self.insert(pc, Place::Before),
            None => self.insert(branch.pc, Place::After),
        }
        Ok(())
    }
}

/// The kinds of a branch's operands.
fn operands(opcode: u8) -> &'static [Kind] {
    match opcode {
        op::IF_ICMPEQ..op::IF_ACMPEQ => &[Kind::Int, Kind::Int],
        op::IF_ACMPEQ..=op::IF_ACMPNE => &[Kind::Reference, Kind::Reference],
        op::IFNULL | op::IFNONNULL => &[Kind::Reference],
        _ => &[Kind::Int],
    }
}
