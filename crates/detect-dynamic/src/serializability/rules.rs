//! How events become edges between threads, and where transactions begin and end.

use rustc_hash::FxHashMap;
use trace::{Access, Action, BarrierId, Event, LockId, Mode, Ran, SiteId, ThreadId, VariableId};

use super::left_out::{LeftOut, Spoilt};
use super::paths::{Deed, Hop, Point, Via};
use super::reach::{Closed, Reach};
use super::state::{ColumnId, Lock, Mark, Moment, Origin, Slot, Timed};
use super::variables::Variables;

/// A cycle in the run, told from one transaction on it.
pub(super) struct Violation {
    pub(super) origin: Origin,
    /// From an event of the transaction over other threads back to an event of it.
    pub(super) cycle: Vec<Hop>,
}

/// What is known for sure.
pub(super) enum Verdict {
    Alone(Box<Violation>),
    /// A cycle of transactions none of which was violated on its own.
    Together(Box<Violation>),
}

/// A cycle of which some transactions are still open and may yet be violated on their own.
struct Candidate {
    violation: Box<Violation>,
    /// Serials of the columns whose end it waits for.
    waits: Vec<u64>,
}

/// The detector without its wording: events in, verdicts out.
pub(super) struct Engine {
    pub(super) lock_conflicts: bool,
    pub(super) now: Moment,
    pub(super) reach: Reach,
    pub(super) variables: Variables,
    locks: Vec<Lock>,
    pub(super) timed: FxHashMap<VariableId, Vec<Timed>>,
    arrivals: FxHashMap<(BarrierId, u32), Vec<(Mark, SiteId)>>,
    candidates: Vec<Candidate>,
    /// What a second look has to do without.
    pub(super) spoilt: Vec<Spoilt>,
    /// For the caller to take after each event.
    pub(super) verdicts: Vec<Verdict>,
}

/// The event that is being handled.
#[derive(Clone, Copy)]
pub(super) struct Here {
    pub(super) slot: Slot,
    pub(super) thread: ThreadId,
    pub(super) site: SiteId,
    pub(super) moment: Moment,
}

impl Engine {
    /// One long transaction can close very many cycles; the first few say what there is to say.
    const CYCLES_A_TRANSACTION: u32 = 16;

    pub(super) fn new(lock_conflicts: bool) -> Engine {
        Engine {
            lock_conflicts,
            now: 0,
            reach: Reach::default(),
            variables: Variables::new(),
            locks: Vec::new(),
            timed: FxHashMap::default(),
            arrivals: FxHashMap::default(),
            candidates: Vec::new(),
            spoilt: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    /// An engine for a second look at the same events, without the transactions that this one found violated. What it
    /// finds are all joint findings of the run.
    pub(super) fn look_again(self) -> Engine {
        let mut again = Engine::new(self.lock_conflicts);
        again.reach.left_out = LeftOut::new(self.spoilt);
        again
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        let slot = match self.reach.slot(event.thread) {
            Some(slot) => slot,
            None if event.action == Action::ThreadEnd => return,
            None => self.reach.admit(event.thread),
        };
        let thread = &mut self.reach.threads[slot.index()];
        if thread.ended {
            thread.ended = false;
        }
        if thread.speculating > 0 {
            // What did not run conflicts with nothing.
            match event.action {
                Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd | Action::Lost { .. } => {}
                _ => return,
            }
        }
        match event.action {
            Action::Read { variable } => {
                if let Some(here) = self.count(slot, event) {
                    self.read(here, variable);
                }
            }
            Action::Write { variable } => {
                if let Some(here) = self.count(slot, event) {
                    self.write(here, variable, Deed::Write);
                }
            }
            Action::Sync { variable, access, kind: _, interval } => {
                let Some(here) = self.count(slot, event) else { return };
                match (access, interval) {
                    (_, Some(interval)) => self.timed(here, variable, access, interval),
                    (Access::Read, None) => self.read(here, variable),
                    (Access::Write, None) => self.write(here, variable, Deed::Write),
                    (Access::Update, None) => self.write(here, variable, Deed::Update),
                }
            }
            Action::Acquire { lock, mode, cause, section: _, activation: _ } => {
                if self.reach.threads[slot.index()].held.acquire(lock, mode, cause)
                    && self.lock_conflicts
                    && let Some(here) = self.count(slot, event)
                {
                    self.acquired(here, lock, mode);
                }
                self.settle_section(slot, event, Some(lock));
            }
            Action::Release { lock, mode, cause } => {
                if self.reach.threads[slot.index()].held.release(lock, mode, cause) == Some(true)
                    && self.lock_conflicts
                    && let Some(here) = self.count(slot, event)
                {
                    self.released(here, lock, mode);
                }
                self.settle_section(slot, event, None);
            }
            Action::UnitBegin { unit, activation: _ } => self.begin_unit(slot, unit, event),
            Action::UnitEnd { unit } => {
                self.end_unit(slot, unit);
                self.settle_section(slot, event, None);
            }
            Action::Start { child } => {
                let Some(here) = self.count(slot, event) else { return };
                let child = self.reach.slot(child).unwrap_or_else(|| self.reach.admit(child));
                if child != slot {
                    self.reach.threads[child.index()].starts.push((Mark::new(slot, here.moment), here.site));
                }
            }
            Action::Join { child } => {
                let here = self.count(slot, event);
                self.join(slot, here, child);
            }
            Action::Arrive { barrier, generation } => {
                if let Some(here) = self.count(slot, event) {
                    let mark = (Mark::new(slot, here.moment), here.site);
                    self.arrivals.entry((barrier, generation)).or_default().push(mark);
                }
                // Nobody arrives while others have yet to leave the generation two before.
                if let Some(old) = generation.checked_sub(2) {
                    self.arrivals.remove(&(barrier, old));
                }
            }
            Action::Leave { barrier, generation } => {
                let Some(here) = self.count(slot, event) else { return };
                let arrived = self.arrivals.remove(&(barrier, generation)).unwrap_or_default();
                for &(mark, site) in &arrived {
                    self.edge_from(mark, site, Deed::Arrive, here, Deed::Leave, Via::Barrier(barrier));
                }
                self.arrivals.insert((barrier, generation), arrived);
            }
            Action::ArmBegin { branch: _, arm: _, ran } => {
                let thread = &mut self.reach.threads[slot.index()];
                let speculated = match ran {
                    Ran::Yes => false,
                    Ran::Speculated => true,
                };
                thread.arms.push(speculated);
                thread.speculating += u32::from(speculated);
            }
            Action::ArmEnd { branch: _ } => {
                let thread = &mut self.reach.threads[slot.index()];
                let speculated = thread.arms.pop().unwrap_or(false);
                thread.speculating -= u32::from(speculated);
            }
            Action::ThreadEnd => {
                self.forget_open(slot);
                self.reach.dismiss(slot);
            }
            Action::Lost { events: _, all } => {
                if all {
                    for index in 0..self.reach.threads.len() {
                        self.forget_open(Slot(index as u32));
                    }
                } else {
                    self.forget_open(slot);
                }
            }
            // They say where code runs, not what it does to data.
            Action::ThreadBegin | Action::Enter { .. } | Action::Exit { .. } | Action::New { .. } => {}
        }
    }

    /// Ends all that is still open, as the run did.
    pub(super) fn finish(&mut self) {
        for index in 0..self.reach.threads.len() {
            self.forget_open(Slot(index as u32));
        }
    }

    /// Gives the event its moment, and lets it come after the start of its thread. `None` if this look does without it.
    #[inline]
    fn count(&mut self, slot: Slot, event: &Event) -> Option<Here> {
        self.now += 1;
        let here = Here { slot, thread: event.thread, site: event.site, moment: self.now };
        let thread = &mut self.reach.threads[slot.index()];
        if thread.left_out {
            return None;
        }
        thread.last = (here.moment, here.site);
        if !thread.starts.is_empty() {
            for (mark, site) in std::mem::take(&mut thread.starts) {
                self.edge_from(mark, site, Deed::Start, here, Deed::Any, Via::Thread(here.thread));
            }
        }
        Some(here)
    }

    /// Edge: last event of the child → join.
    fn join(&mut self, joining: Slot, here: Option<Here>, child: ThreadId) {
        let Some(slot) = self.reach.slot(child).filter(|&slot| slot != joining) else { return };
        let thread = &mut self.reach.threads[slot.index()];
        let (moment, site) = thread.last;
        thread.starts.clear();
        // A thread that was joined too early goes on: what it is in the midst of must not be forgotten.
        let quiet =
            thread.columns.is_empty() && thread.units.is_empty() && thread.held.is_empty() && thread.arms.is_empty();
        if let Some(here) = here.filter(|_| moment > 0) {
            self.edge_from(Mark::new(slot, moment), site, Deed::Any, here, Deed::Join, Via::Thread(child));
        }
        if quiet && !self.reach.threads[slot.index()].ended {
            self.reach.dismiss(slot);
        }
    }

    /// Edges: last exclusive release → acquire; to an exclusive one from the shared releases, too.
    fn acquired(&mut self, here: Here, lock: LockId, mode: Mode) {
        let via = Via::Lock(lock);
        let (mark, site) = self.lock(lock).exclusive;
        self.edge_from(mark, site, Deed::Release, here, Deed::Acquire, via);
        match mode {
            Mode::Exclusive => {
                for (mark, site) in self.lock(lock).shared.clone() {
                    self.edge_from(mark, site, Deed::Release, here, Deed::Acquire, via);
                }
            }
            Mode::Shared => {}
        }
    }

    fn released(&mut self, here: Here, lock: LockId, mode: Mode) {
        let released = (Mark::new(here.slot, here.moment), here.site);
        if lock.index() >= self.locks.len() {
            self.locks.resize(lock.index() + 1, Lock::UNTOUCHED);
        }
        let state = &mut self.locks[lock.index()];
        match mode {
            Mode::Exclusive => {
                state.exclusive = released;
                state.shared.clear();
            }
            Mode::Shared => {
                let reach = &self.reach;
                state.shared.retain(|&(mark, _)| mark.slot() != here.slot && reach.matters(mark));
                state.shared.push(released);
            }
        }
    }

    fn lock(&mut self, lock: LockId) -> &Lock {
        if lock.index() >= self.locks.len() {
            self.locks.resize(lock.index() + 1, Lock::UNTOUCHED);
        }
        &self.locks[lock.index()]
    }

    /// An edge, if it can matter. Rare enough to be kept out of the paths that matter.
    #[inline(never)]
    pub(super) fn edge_from(&mut self, mark: Mark, site: SiteId, from: Deed, here: Here, to: Deed, via: Via) {
        if mark.slot() != here.slot && self.reach.matters(mark) {
            let from = self.reach.point(mark, site, from);
            let to = Point { thread: here.thread, slot: here.slot, moment: here.moment, site: here.site, deed: to };
            self.reach.edge(Hop { from, to, via });
            if !self.reach.closed.is_empty() {
                self.take_closed();
            }
        }
    }

    fn take_closed(&mut self) {
        for closed in std::mem::take(&mut self.reach.closed) {
            match closed {
                Closed::Alone(id, cycle) => {
                    let column = &mut self.reach.columns[id.index()];
                    column.found = Some(Box::new(Violation { origin: column.origin, cycle }));
                }
                Closed::Together(id, cycle) => {
                    let column = &mut self.reach.columns[id.index()];
                    column.cycles += 1;
                    if column.cycles <= Engine::CYCLES_A_TRANSACTION {
                        let violation = Box::new(Violation { origin: column.origin, cycle });
                        self.consider(violation);
                    }
                }
            }
        }
    }

    /// Keeps a cycle until it is known whether any transaction on it is violated on its own.
    fn consider(&mut self, violation: Box<Violation>) {
        let mut waits = Vec::new();
        for point in violation.cycle.iter().flat_map(|hop| [hop.from, hop.to]) {
            if self.reach.was_violated(point.slot, point.moment) {
                return;
            }
            for id in &self.reach.threads[point.slot.index()].columns {
                let column = &mut self.reach.columns[id.index()];
                if column.origin.begin > point.moment {
                    continue;
                }
                if column.violated {
                    return;
                }
                column.awaited = true;
                if !waits.contains(&column.serial) {
                    waits.push(column.serial);
                }
            }
        }
        self.candidates.push(Candidate { violation, waits });
    }

    /// Ends a transaction, and says what was only waiting for its end.
    pub(super) fn close(&mut self, id: ColumnId) {
        self.reach.close(id, self.now);
        let column = &mut self.reach.columns[id.index()];
        let (owner, serial, begin, violated) = (column.owner, column.serial, column.origin.begin, column.violated);
        let (found, awaited) = (column.found.take(), column.awaited);
        if violated {
            let spoilt = Spoilt { thread: column.origin.thread, begin: column.whole_begin, end: self.now };
            self.spoilt.push(spoilt);
        }
        if let Some(violation) = found {
            // A unit inside another one is part of it, and then both are violated: the outer one is told.
            let columns = &self.reach.threads[owner.index()].columns;
            let inside = columns.iter().any(|outer| {
                let outer = &self.reach.columns[outer.index()];
                outer.alone && outer.serial < serial
            });
            if !inside {
                self.verdicts.push(Verdict::Alone(violation));
            }
        }
        if violated {
            let touches = |point: Point| point.slot == owner && point.moment >= begin;
            self.candidates
                .retain(|candidate| !candidate.violation.cycle.iter().any(|hop| touches(hop.from) || touches(hop.to)));
        }
        if awaited {
            for candidate in &mut self.candidates {
                candidate.waits.retain(|&wait| wait != serial);
            }
            let verdicts = &mut self.verdicts;
            let over = self.candidates.extract_if(.., |candidate| candidate.waits.is_empty());
            verdicts.extend(over.map(|candidate| Verdict::Together(candidate.violation)));
        }
    }
}
