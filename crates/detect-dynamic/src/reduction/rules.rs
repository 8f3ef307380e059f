//! How events become steps, and which way each step can be moved.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{
    Access, Action, ActivationId, Cause, Event, LockId, MethodId, Mode, Ran, SiteId, StackId, ThreadId, UnitId,
    VariableId,
};

use super::blocks::{Block, Deed, Moment, Mover, On, Point, Warning};
use super::chains::{Chain, Chains};
use super::state::{Held, Lock, Sharing, Variable};
use super::{Refinement, Without};
use crate::lockset::{Holds, LockSet, LockSets};
use crate::{Assumed, Options};

/// The detector without its wording: events in, warnings out.
pub(super) struct Engine {
    without: Without,
    paper: bool,
    now: Moment,
    sets: LockSets,
    variables: Vec<Known>,
    locks: Vec<Lock>,
    threads: Vec<Thread>,
    /// Threads that have open units. There may be very many others.
    busy: Vec<ThreadId>,
    /// Units that are over, whose room is used again.
    ended: Vec<Block>,
    pub(super) chains: Chains,
    /// Methods that are taken to be one step, or to be no step at all.
    assumed: FxHashMap<MethodId, Option<Mover>>,
    /// Variables whose accesses are taken to be guarded.
    guarded: FxHashSet<VariableId>,
    /// For the caller to take after each event.
    pub(super) warnings: Vec<Warning>,
}

/// A variable and its latest accesses. Fills one line of the cache: there may be millions.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Known {
    state: Variable,
    /// The last access, and the last one of another thread than that.
    last: [Option<Last>; 2],
}

impl Known {
    const NOTHING: Known = Known { state: Variable::UNTOUCHED, last: [None; 2] };
}

/// A [`Point`] without the variable.
#[derive(Clone, Copy)]
struct Last {
    moment: Moment,
    thread: ThreadId,
    site: SiteId,
    stack: StackId,
    access: Access,
}

impl Last {
    fn point(self, variable: VariableId) -> Point {
        let (within, deed) = (Chain::NONE, Deed::access(self.access, variable));
        Point { moment: self.moment, site: self.site, stack: self.stack, within, deed }
    }
}

#[derive(Default)]
struct Thread {
    holds: Holds,
    blocks: Vec<Block>,
    /// Open arms, true for speculated ones.
    arms: Vec<bool>,
    within: Chain,
    /// The activation that it is in of a method whose steps are not looked at.
    inside: Option<ActivationId>,
}

impl Engine {
    const MOST_ENDED: usize = 16;

    pub(super) fn new(options: &Options) -> Engine {
        Engine {
            without: options.without,
            paper: options.paper,
            now: 0,
            sets: LockSets::default(),
            variables: Vec::new(),
            locks: Vec::new(),
            threads: Vec::new(),
            busy: Vec::new(),
            ended: Vec::new(),
            chains: Chains::default(),
            assumed: FxHashMap::default(),
            guarded: FxHashSet::default(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn assume(&mut self, assumed: Assumed) {
        match assumed {
            Assumed::Atomic(method) => {
                self.assumed.insert(method, Some(Mover::Non));
            }
            Assumed::Mover(method) => {
                self.assumed.insert(method, None);
            }
            Assumed::Guarded(variable) => {
                self.guarded.insert(variable);
            }
        }
    }

    /// Looks at the variables of the next events without using them, so that they are fetched from memory all at once
    /// and not one after the other.
    pub(super) fn fetch(&self, events: &[Event]) {
        let mut sum = 0;
        for event in events {
            if let Action::Read { variable } | Action::Write { variable } = event.action {
                sum ^=
                    self.variables.get(variable.index()).map_or(0, |known| known.last[0].map_or(0, |last| last.moment));
            }
        }
        std::hint::black_box(sum);
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        let index = event.thread.index();
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Thread::default);
        }
        if self.threads[index].arms.contains(&true) {
            // What did not run moves nothing.
            match event.action {
                Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd | Action::Lost { .. } => {}
                _ => return,
            }
        }
        self.now += 1;
        match event.action {
            Action::Read { variable } => self.access(event, variable, Access::Read),
            Action::Write { variable } => self.access(event, variable, Access::Write),
            Action::Sync { variable, access, kind: _, interval: _ } => self.access(event, variable, access),
            Action::Acquire { lock, mode, cause, section: _, activation: _ } => self.acquire(event, lock, mode, cause),
            Action::Release { lock, mode, cause } => self.release(event, lock, mode, cause),
            Action::UnitBegin { unit, activation: _ } => {
                let entry = self.point(event, Deed::Begin);
                let thread = &mut self.threads[index];
                if thread.blocks.is_empty() {
                    self.busy.push(event.thread);
                }
                thread.within = self.chains.within(entry.within, event.site);
                thread.blocks.push(match self.ended.pop() {
                    Some(ended) => ended.again(unit, entry),
                    None => Block::new(unit, entry),
                });
            }
            Action::UnitEnd { unit } => self.end_unit(event.thread, unit),
            // Whoever starts, joins or waits for others does not mean the whole to be one step.
            Action::Start { .. } | Action::Join { .. } | Action::Arrive { .. } | Action::Leave { .. } => {
                self.divide(index);
            }
            Action::ArmBegin { branch: _, arm: _, ran } => self.threads[index].arms.push(ran == Ran::Speculated),
            Action::ArmEnd { branch: _ } => {
                self.threads[index].arms.pop();
            }
            Action::ThreadEnd => {
                self.threads[index] = Thread::default();
                self.busy.retain(|&thread| thread != event.thread);
            }
            Action::Lost { events: _, all } => {
                // Nobody knows what is held and which units are open.
                for (other, thread) in self.threads.iter_mut().enumerate() {
                    if all || other == index {
                        *thread = Thread::default();
                    }
                }
                self.busy.retain(|&thread| !all && thread != event.thread);
            }
            Action::Enter { activation, method } => self.enter(event, activation, method),
            Action::Exit { activation } => {
                let inside = &mut self.threads[index].inside;
                *inside = inside.filter(|inside| *inside != activation);
            }
            Action::ThreadBegin | Action::New { .. } => {}
        }
    }

    fn end_unit(&mut self, thread: ThreadId, unit: UnitId) {
        let Thread { blocks, within, .. } = &mut self.threads[thread.index()];
        if let Some(index) = blocks.iter().rposition(|block| block.unit == unit).or(blocks.len().checked_sub(1)) {
            let ended = blocks.remove(index);
            if index == blocks.len() {
                *within = ended.entry.within;
            }
            if blocks.is_empty() {
                *within = Chain::NONE;
                self.busy.retain(|&other| other != thread);
            }
            if self.ended.len() < Engine::MOST_ENDED {
                self.ended.push(ended);
            }
        }
    }

    /// A call of what is taken to be atomic is one step; inside, and inside what can be moved, nothing is one.
    fn enter(&mut self, event: &Event, activation: ActivationId, method: MethodId) {
        let Some(&mover) = self.assumed.get(&method) else { return };
        let thread = &mut self.threads[event.thread.index()];
        if thread.inside.is_some() {
            return;
        }
        thread.inside = Some(activation);
        let Some(mover) = mover else { return };
        let point = self.point(event, Deed::Call(method));
        for block in 0..self.threads[event.thread.index()].blocks.len() {
            let wrong = self.threads[event.thread.index()].blocks[block].step(mover, point);
            if let Some(wrong) = wrong {
                self.warn(event.thread, block, wrong);
            }
        }
    }

    fn divide(&mut self, thread: usize) {
        self.threads[thread].blocks.iter_mut().for_each(Block::divide);
    }

    fn held(&mut self, thread: usize) -> Held {
        let holds = &mut self.threads[thread].holds;
        Held { any: holds.any(&mut self.sets), exclusive: holds.exclusive(&mut self.sets) }
    }

    fn point(&self, event: &Event, deed: Deed) -> Point {
        let within = self.threads[event.thread.index()].within;
        Point { moment: self.now, site: event.site, stack: event.stack, within, deed }
    }

    fn access(&mut self, event: &Event, variable: VariableId, access: Access) {
        let index = variable.index();
        if index >= self.variables.len() {
            self.variables.resize(index + 1, Known::NOTHING);
        }
        let (thread, writes) = (event.thread, access.writes());
        let held = self.held(thread.index());
        let last = Last { moment: self.now, thread, site: event.site, stack: event.stack, access };
        let point = Point { within: self.threads[thread.index()].within, ..last.point(variable) };
        let without = self.without;
        let known = &mut self.variables[index];
        let before = known.state;
        known.state.access(thread, writes, held, without, &mut self.sets);
        let state = known.state;
        let latest = known.last[0].map_or(0, |last| last.moment);
        known.last = match known.last {
            [Some(before), other] if before.thread == thread => [Some(last), other],
            [before, _] => [Some(last), before],
        };
        if state != before && state.sharing == Sharing::Shared {
            self.recheck(On::Read(variable), latest);
        }
        if self.threads[thread.index()].inside.is_some() || self.guarded.contains(&variable) {
            return;
        }
        let guarded = state.is_guarded(writes, held, without, &mut self.sets);
        let on = if writes { On::Write(variable) } else { On::Read(variable) };
        for block in 0..self.threads[thread.index()].blocks.len() {
            self.threads[thread.index()].blocks[block].touch(variable);
            self.step(thread, block, guarded, Mover::Non, (on, held), point);
        }
    }

    /// One step of one open unit.
    fn step(
        &mut self,
        thread: ThreadId,
        block: usize,
        harmless: bool,
        mover: Mover,
        (on, held): (On, Held),
        point: Point,
    ) {
        let paper = self.paper;
        let open = &mut self.threads[thread.index()].blocks[block];
        let wrong = if harmless {
            if !paper {
                open.rely(on, held, point);
            }
            open.step(Mover::Both, point)
        } else {
            open.step(mover, point)
        };
        if let Some(wrong) = wrong {
            self.warn(thread, block, wrong);
        }
    }

    fn acquire(&mut self, event: &Event, lock: LockId, mode: Mode, cause: Cause) {
        let thread = event.thread.index();
        let others = self.others(thread, lock);
        let outermost = self.threads[thread].holds.acquire(lock, mode, cause);
        if cause == Cause::Wait {
            self.divide(thread);
            return;
        }
        let reentrant = !outermost && !self.without.contains(Refinement::ReentrantLocks);
        if !reentrant {
            self.lock_step(event, lock, others, outermost, Mover::Right);
        }
    }

    fn release(&mut self, event: &Event, lock: LockId, mode: Mode, cause: Cause) {
        let thread = event.thread.index();
        let Some(free) = self.threads[thread].holds.release(lock, mode, cause) else { return };
        if cause == Cause::Wait {
            self.divide(thread);
            return;
        }
        let reentrant = !free && !self.without.contains(Refinement::ReentrantLocks);
        if !reentrant {
            let others = self.others(thread, lock);
            self.lock_step(event, lock, others, free, Mover::Left);
        }
    }

    /// What a thread holds beside a lock. Nothing, once the lock is known not to be kept by others: then nobody asks.
    fn others(&mut self, thread: usize, lock: LockId) -> Held {
        match self.locks.get(lock.index()) {
            Some(known) if known.is_taken_freely() => Held { any: LockSet::EMPTY, exclusive: LockSet::EMPTY },
            _ => self.held(thread),
        }
    }

    /// `counts` is false for a reentrant step that is not left out: it says nothing about the lock.
    fn lock_step(&mut self, event: &Event, lock: LockId, others: Held, counts: bool, mover: Mover) {
        let index = lock.index();
        if index >= self.locks.len() {
            self.locks.resize(index + 1, Lock::UNTOUCHED);
        }
        let mut state = self.locks[index];
        let was_idle = state.is_idle(self.without);
        if counts {
            let alone = self.sets.without(others.exclusive, lock);
            state.take(event.thread, alone, self.without, &mut self.sets);
            self.locks[index] = state;
        }
        let is_idle = state.is_idle(self.without);
        if was_idle && !is_idle {
            self.recheck(On::Lock(lock), self.now);
        }
        if self.threads[event.thread.index()].inside.is_some() {
            return;
        }
        let deed = if mover == Mover::Right { Deed::Acquire(lock) } else { Deed::Release(lock) };
        let point = self.point(event, deed);
        for block in 0..self.threads[event.thread.index()].blocks.len() {
            self.step(event.thread, block, is_idle, mover, (On::Lock(lock), others), point);
        }
    }

    /// Judges again what open units did to a variable or lock that is less guarded than it was, and that was used last at
    /// `latest`: units that began after that have done nothing to it.
    fn recheck(&mut self, changed: On, latest: Moment) {
        if self.paper {
            return;
        }
        let (without, sets) = (self.without, &mut self.sets);
        let mut found = Vec::new();
        for &thread in &self.busy {
            for (index, block) in self.threads[thread.index()].blocks.iter_mut().enumerate() {
                if block.entry.moment > latest || !block.relies() {
                    continue;
                }
                let wrong = block.recheck(|relied| match (changed, relied.on) {
                    (On::Lock(lock), On::Lock(other)) if lock == other => self.locks[lock.index()].is_idle(without),
                    (On::Read(variable), On::Read(other) | On::Write(other)) if variable == other => {
                        let writes = matches!(relied.on, On::Write(_));
                        self.variables[variable.index()].state.is_guarded(writes, relied.held, without, sets)
                    }
                    _ => true,
                });
                found.extend(wrong.map(|wrong| (thread, index, wrong)));
            }
        }
        for (thread, block, wrong) in found {
            self.warn(thread, block, wrong);
        }
    }

    fn warn(&mut self, thread: ThreadId, block: usize, (commit, offence): (Point, Point)) {
        let block = &self.threads[thread.index()].blocks[block];
        let other = match offence.deed {
            Deed::Read(variable) | Deed::Write(variable) | Deed::Update(variable) => {
                let others =
                    self.variables[variable.index()].last.iter().flatten().filter(|last| last.thread != thread);
                others.map(|last| (last.thread, last.point(variable))).next()
            }
            Deed::Begin | Deed::Acquire(_) | Deed::Release(_) | Deed::Call(_) => None,
        };
        let shared = |variable: &VariableId| self.variables[variable.index()].state.sharing == Sharing::Shared;
        self.warnings.push(Warning {
            thread,
            unit: block.unit,
            entry: block.entry,
            commit,
            offence,
            other,
            variables: block.variables.iter().copied().filter(shared).collect(),
        });
    }
}
