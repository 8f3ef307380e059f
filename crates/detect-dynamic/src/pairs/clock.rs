//! What start, join and barriers put in order: a clock for each thread.
//!
//! A clock only changes where threads meet, so few different ones are ever seen; each is kept once and called by number.

use rustc_hash::FxHashMap;
use trace::{BarrierId, ThreadId};

/// Number of a clock in [`Clocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Clock(u32);

#[derive(Default)]
pub(super) struct Clocks {
    /// For each thread, up to which of its epochs everything came before.
    seen: Vec<Vec<u32>>,
    /// The clock of each thread.
    now: FxHashMap<ThreadId, Clock>,
    barriers: FxHashMap<(BarrierId, u32), Clock>,
}

impl Clocks {
    pub(super) fn now(&mut self, thread: ThreadId) -> Clock {
        if let Some(&clock) = self.now.get(&thread) {
            return clock;
        }
        let mut seen = vec![0; thread.index() + 1];
        seen[thread.index()] = 1;
        self.set(thread, seen)
    }

    /// Whether all that `thread` did at `clock` came before what was done at the clock `later`.
    pub(super) fn is_before(&self, thread: ThreadId, clock: Clock, later: Clock) -> bool {
        self.epoch(clock, thread) <= self.epoch(later, thread)
    }

    pub(super) fn start(&mut self, parent: ThreadId, child: ThreadId) {
        self.hand_over(parent, child);
        self.tick(parent);
    }

    pub(super) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_over(child, thread);
    }

    pub(super) fn arrive(&mut self, thread: ThreadId, barrier: (BarrierId, u32)) {
        let own = self.now(thread);
        let both = match self.barriers.get(&barrier) {
            Some(&before) => self.both(before, own),
            None => self.seen[own.0 as usize].clone(),
        };
        let clock = self.add(both);
        self.barriers.insert(barrier, clock);
        self.tick(thread);
    }

    /// What the thread does from now on, until [`Clocks::acted`], comes after all who have arrived and before all who leave.
    pub(super) fn act(&mut self, thread: ThreadId, barrier: (BarrierId, u32)) {
        self.leave(thread, barrier);
        let own = self.now(thread);
        self.barriers.insert(barrier, own);
    }

    pub(super) fn acted(&mut self, thread: ThreadId) {
        self.tick(thread);
    }

    pub(super) fn leave(&mut self, thread: ThreadId, barrier: (BarrierId, u32)) {
        let Some(&arrived) = self.barriers.get(&barrier) else { return };
        let own = self.now(thread);
        let both = self.both(arrived, own);
        self.set(thread, both);
    }

    fn hand_over(&mut self, from: ThreadId, to: ThreadId) {
        let (from, own) = (self.now(from), self.now(to));
        let both = self.both(from, own);
        self.set(to, both);
    }

    /// What the thread does from now on is not before what it has handed over.
    fn tick(&mut self, thread: ThreadId) {
        let own = self.now(thread);
        let mut seen = self.seen[own.0 as usize].clone();
        seen[thread.index()] += 1;
        self.set(thread, seen);
    }

    fn both(&self, a: Clock, b: Clock) -> Vec<u32> {
        let (a, b) = (&self.seen[a.0 as usize], &self.seen[b.0 as usize]);
        let at = |seen: &[u32], index: usize| seen.get(index).copied().unwrap_or(0);
        (0..a.len().max(b.len())).map(|index| at(a, index).max(at(b, index))).collect()
    }

    fn epoch(&self, clock: Clock, thread: ThreadId) -> u32 {
        self.seen[clock.0 as usize].get(thread.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, thread: ThreadId, seen: Vec<u32>) -> Clock {
        let clock = self.add(seen);
        self.now.insert(thread, clock);
        clock
    }

    fn add(&mut self, seen: Vec<u32>) -> Clock {
        self.seen.push(seen);
        Clock(self.seen.len() as u32 - 1)
    }
}
