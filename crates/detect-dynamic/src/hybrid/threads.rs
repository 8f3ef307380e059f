//! What a thread is in the middle of: the locks it holds, units, arms of branches, and the tree that grows from them.
//!
//! A tree begins and ends with the outermost unit, outside units with the outermost section, else it is a lone access.
//! Locks that are held when it begins are sections that begin with it; arms that are open then are around all of it.

use trace::{ActivationId, BranchId, Cause, LockId, Mode, Ran, SiteId, ThreadId, UnitId};

use super::open::{Limits, Open, Position};
use super::tree::{Around, has_run};

#[derive(Clone, Copy)]
struct HeldLock {
    lock: LockId,
    mode: Mode,
    site: SiteId,
    depth: u32,
    /// Given up by `wait`, to be taken again at the same depth.
    is_waiting: bool,
    /// Its number in the tree that is open.
    section: u16,
}

struct OpenUnit {
    unit: UnitId,
    site: SiteId,
    begin: Position,
    /// Whether it is a mere part of an older one.
    is_part: bool,
    /// How many arms were open.
    arms: usize,
}

struct OpenArm {
    branch: BranchId,
    site: SiteId,
    index: u32,
    ran: bool,
    /// Which time of all the thread came to a branch.
    serial: u32,
    /// Its number in the tree that is open, if it began there.
    inside: Option<u16>,
    /// Of a speculated arm: what is held in truth.
    held: Vec<HeldLock>,
    /// The arms inside it that ended last.
    ended: Option<Arms>,
}

/// Arms of one branch that came one after the other.
struct Arms {
    branch: BranchId,
    /// Where the first of them began.
    site: SiteId,
    serial: u32,
    /// Its number in the tree, if one was open.
    inside: Option<u16>,
    indices: Vec<u32>,
    /// Whether the last of them ran: it is the last one of this time.
    has_run: bool,
}

pub(super) struct Thread {
    id: ThreadId,
    limits: Limits,
    held: Vec<HeldLock>,
    units: Vec<OpenUnit>,
    arms: Vec<OpenArm>,
    /// Outside all arms, those that ended last.
    ended: Option<Arms>,
    activations: Vec<(ActivationId, usize)>,
    /// Calls that are taken to be one step, and such that count for nothing.
    steps: Vec<ActivationId>,
    movers: Vec<ActivationId>,
    speculating: u32,
    /// Whether the tree that is open was begun by what did not run.
    is_tree_speculated: bool,
    /// How often the thread came to a branch.
    serials: u32,
    pub(super) open: Option<Box<Open>>,
    spare: Option<Box<Open>>,
    /// The number of the set of sections that the thread is in, if it is known.
    holds: Option<u16>,
}

/// Whether a tree is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    Over,
}

impl Thread {
    /// Arms and activations whose end nobody told are given up beyond so many.
    const MOST_NESTED: usize = 1 << 12;

    pub(super) fn new(id: ThreadId, limits: Limits) -> Thread {
        Thread {
            id,
            limits,
            held: Vec::new(),
            units: Vec::new(),
            arms: Vec::new(),
            ended: None,
            activations: Vec::new(),
            steps: Vec::new(),
            movers: Vec::new(),
            speculating: 0,
            is_tree_speculated: false,
            serials: 0,
            open: None,
            spare: None,
            holds: None,
        }
    }

    pub(super) fn is_speculating(&self) -> bool {
        self.speculating > 0
    }

    /// Whether what comes next is a tree of its own.
    pub(super) fn is_idle(&self) -> bool {
        self.units.is_empty() && self.held.iter().all(|held| held.is_waiting)
    }

    /// The locks that are held.
    pub(super) fn locks(&self) -> impl Iterator<Item = LockId> {
        self.held.iter().filter(|held| !held.is_waiting).map(|held| held.lock)
    }

    /// Something was done that is no arm: what comes to the same branch later comes there another time.
    pub(super) fn goes_on(&mut self) {
        match self.arms.last_mut() {
            Some(arm) => arm.ended = None,
            None => self.ended = None,
        }
    }

    /// The tree that is open, or a new one with all that is held.
    pub(super) fn tree(&mut self) -> &mut Open {
        if self.open.is_none() {
            let around = |arm: &OpenArm| Around { site: arm.site, arm: arm.index, ran: arm.ran };
            let around = self.arms.iter().map(around).collect();
            let serials = self.arms.iter().map(|arm| arm.serial).collect();
            let mut open = match self.spare.take() {
                Some(mut open) => {
                    open.reuse(around, serials);
                    open
                }
                None => Box::new(Open::new(self.id, around, serials, self.limits)),
            };
            self.holds = None;
            let mut sections: Vec<(LockId, u16)> = Vec::new();
            for held in self.held.iter_mut().filter(|held| !held.is_waiting) {
                let root = sections.iter().find(|(lock, _)| *lock == held.lock).map(|(_, section)| *section);
                let holds = open.holds(sections.iter().map(|(_, section)| *section));
                held.section = open.section(held.lock, held.mode, held.site, holds, 0, root);
                sections.push((held.lock, held.section));
            }
            open.calls = u16::from(!self.steps.is_empty());
            self.open = Some(open);
            self.is_tree_speculated = self.speculating > 0;
        }
        self.open.as_mut().expect("it was just opened")
    }

    /// Makes room for the next tree.
    pub(super) fn closed(&mut self, open: Box<Open>) {
        self.spare = Some(open);
        // All numbers were those of the tree.
        self.ended.iter_mut().for_each(|arms| arms.inside = None);
        for arm in &mut self.arms {
            arm.inside = None;
            arm.ended.iter_mut().for_each(|arms| arms.inside = None);
        }
        self.holds = None;
    }

    /// The numbers of the sections and of the arm that the thread is in, in the tree that is open.
    pub(super) fn context(&mut self) -> (u16, u16) {
        let arm = self.arm();
        if let Some(holds) = self.holds {
            return (holds, arm);
        }
        let Some(open) = &mut self.open else { return (0, 0) };
        let held = self.held.iter().filter(|held| !held.is_waiting);
        let holds = open.holds(held.map(|held| held.section));
        self.holds = Some(holds);
        (holds, arm)
    }

    fn arm(&self) -> u16 {
        self.arms.last().and_then(|arm| arm.inside).unwrap_or(0)
    }

    /// Notes an acquire; whether the lock was free of this thread before.
    pub(super) fn acquire(&mut self, lock: LockId, mode: Mode, cause: Cause, site: SiteId) -> bool {
        if let Some(held) = self.held.iter_mut().find(|held| held.lock == lock && held.mode == mode && !held.is_waiting)
        {
            held.depth += 1;
            return false;
        }
        let other = self.held.iter().find(|held| held.lock == lock && held.mode != mode && !held.is_waiting);
        let root = other.map(|held| held.section);
        self.tree();
        let (holds, arm) = self.context();
        let section = self.tree().section(lock, mode, site, holds, arm, root);
        self.holds = None;
        match self.held.iter_mut().find(|held| held.lock == lock && held.mode == mode) {
            Some(held) => {
                (held.is_waiting, held.section, held.site) = (false, section, site);
                held.depth += match cause {
                    Cause::Wait => 0,
                    Cause::Section => 1,
                };
            }
            None => self.held.push(HeldLock { lock, mode, site, depth: 1, is_waiting: false, section }),
        }
        root.is_none()
    }

    pub(super) fn release(&mut self, lock: LockId, mode: Mode, cause: Cause) -> Goes {
        let is_it = |held: &HeldLock| held.lock == lock && held.mode == mode && !held.is_waiting;
        let Some(index) = self.held.iter().position(is_it) else { return Goes::On };
        let held = &mut self.held[index];
        match cause {
            Cause::Section if held.depth > 1 => {
                held.depth -= 1;
                return Goes::On;
            }
            Cause::Section => {
                self.held.remove(index);
            }
            Cause::Wait => held.is_waiting = true,
        }
        self.holds = None;
        self.settle()
    }

    /// A tree outside units is over when nothing is held. What does not run ends no tree that runs.
    fn settle(&self) -> Goes {
        let is_free_to_end = self.speculating == 0 || self.is_tree_speculated;
        if is_free_to_end && self.is_idle() && self.open.is_some() { Goes::Over } else { Goes::On }
    }

    /// Whether a unit that begins here is the outermost one, so that what was before it is over.
    pub(super) fn is_outside_units(&self) -> bool {
        self.units.is_empty()
    }

    pub(super) fn begin_unit(&mut self, unit: UnitId, site: SiteId) {
        // A unit without a name, or of the same name, ends before the one around it: it is a part of that one.
        let is_part = !self.units.is_empty() && (unit == UnitId(0) || self.units.iter().any(|open| open.unit == unit));
        let begin = self.tree().position;
        self.units.push(OpenUnit { unit, site, begin, is_part, arms: self.arms.len() });
    }

    pub(super) fn end_unit(&mut self, unit: UnitId) -> Goes {
        let index = self.units.iter().rposition(|open| open.unit == unit).or(self.units.len().checked_sub(1));
        let Some(index) = index else { return Goes::On };
        let ended = self.units.remove(index);
        self.close_arms(ended.arms);
        let is_inside = self.units[..index].iter().any(|older| !older.is_part);
        let position = self.tree().position;
        if !ended.is_part && !is_inside {
            self.tree().span(ended.unit, ended.site, ended.begin);
        }
        match self.units.first_mut() {
            None => Goes::Over,
            Some(oldest) => {
                if oldest.is_part {
                    (oldest.is_part, oldest.begin) = (false, position);
                }
                Goes::On
            }
        }
    }

    /// Ends all units that are open and begins them anew: whoever starts, joins or waits for others does not mean the whole
    /// to be one step.
    pub(super) fn divide(&mut self) {
        let Some(open) = &mut self.open else { return };
        let mut is_inside = false;
        for unit in &mut self.units {
            if !unit.is_part && !is_inside {
                open.span(unit.unit, unit.site, unit.begin);
                is_inside = true;
            }
            unit.begin = open.position;
        }
    }

    pub(super) fn enter(&mut self, activation: ActivationId) {
        if self.activations.len() >= Thread::MOST_NESTED {
            self.activations.clear();
        }
        self.activations.push((activation, self.arms.len()));
    }

    /// A call begins that is taken to be one step.
    pub(super) fn enter_step(&mut self, activation: ActivationId) {
        if let Some(open) = &mut self.open
            && self.steps.is_empty()
        {
            open.calls = open.calls.saturating_add(1);
        }
        self.steps.push(activation);
    }

    /// A call begins that counts for nothing.
    pub(super) fn enter_mover(&mut self, activation: ActivationId) {
        self.movers.push(activation);
    }

    pub(super) fn is_in_mover(&self) -> bool {
        !self.movers.is_empty()
    }

    /// The number of the call that the thread is in and that is one step, 0 if there is none.
    pub(super) fn call(&self) -> u16 {
        if self.steps.is_empty() { 0 } else { self.open.as_ref().map_or(0, |open| open.calls) }
    }

    pub(super) fn exit(&mut self, activation: ActivationId) -> Goes {
        for open in [&mut self.steps, &mut self.movers] {
            if let Some(index) = open.iter().rposition(|known| *known == activation) {
                open.truncate(index);
            }
        }
        let Some(index) = self.activations.iter().rposition(|(open, _)| *open == activation) else { return Goes::On };
        let (_, arms) = self.activations[index];
        self.activations.truncate(index);
        self.close_arms(arms)
    }

    pub(super) fn begin_arm(&mut self, branch: BranchId, index: u32, ran: Ran, site: SiteId) {
        if self.arms.len() >= Thread::MOST_NESTED {
            self.close_arms(0);
        }
        let ran = has_run(ran);
        let parent = self.arm();
        let ended = match self.arms.last_mut() {
            Some(arm) => &mut arm.ended,
            None => &mut self.ended,
        };
        let is_next =
            ended.as_ref().is_some_and(|arms| arms.branch == branch && !arms.has_run && !arms.indices.contains(&index));
        let mut arms = match ended.take().filter(|_| is_next) {
            Some(arms) => arms,
            None => {
                self.serials += 1;
                let inside = self.open.is_some().then(|| {
                    let (holds, arm) = self.context();
                    self.tree().branch(site, holds, arm)
                });
                Arms { branch, site, serial: self.serials, inside, indices: Vec::new(), has_run: false }
            }
        };
        arms.indices.push(index);
        arms.has_run = ran;
        let inside = match (&mut self.open, arms.inside) {
            (Some(open), Some(branch)) => Some(open.arm(branch, index, parent, ran)),
            _ => None,
        };
        let (serial, site) = (arms.serial, arms.site);
        match self.arms.last_mut() {
            Some(arm) => arm.ended = Some(arms),
            None => self.ended = Some(arms),
        }
        let held = if ran { Vec::new() } else { self.held.clone() };
        self.speculating += u32::from(!ran);
        self.arms.push(OpenArm { branch, site, index, ran, serial, inside, held, ended: None });
    }

    /// Ends the latest arm of the branch and all inside it.
    pub(super) fn end_arm(&mut self, branch: BranchId) -> Goes {
        match self.arms.iter().rposition(|arm| arm.branch == branch) {
            Some(index) => self.close_arms(index),
            None => Goes::On,
        }
    }

    /// Ends all arms but so many, and holds again what is held in truth.
    fn close_arms(&mut self, left: usize) -> Goes {
        let mut is_restored = false;
        while self.arms.len() > left
            && let Some(arm) = self.arms.pop()
        {
            if !arm.ran {
                self.speculating -= 1;
                self.held = arm.held;
                self.holds = None;
                is_restored = true;
            }
        }
        if is_restored { self.settle() } else { Goes::On }
    }

    /// Ends all units that are open, as far as they came.
    pub(super) fn end_all(&mut self) {
        self.close_arms(0);
        while let Some(unit) = self.units.last().map(|unit| unit.unit) {
            self.end_unit(unit);
        }
    }
}
