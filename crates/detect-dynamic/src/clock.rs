//! What start, join and barriers put in order: a clock for each thread.
//!
//! A clock only changes where threads meet, so few different ones are ever seen; each is kept once and called by number.
//! A program that hands over very many tasks has very many all the same, so those that nobody refers to can be given up.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{BarrierId, ThreadId};

/// Number of a clock in [`Clocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Clock(u32);

impl Clock {
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

#[derive(Default)]
pub(crate) struct Clocks {
    /// For each thread, up to which of its epochs everything came before. Empty once nobody refers to it.
    seen: Vec<Box<[u32]>>,
    /// Bytes that these take, about.
    bytes: usize,
    /// The clock of each thread, as far as it has one.
    now: Vec<Option<Clock>>,
    barriers: FxHashMap<Meeting, Barrier>,
    /// What a thread did for all at its meetings, the latest ones: at which clock, and for whom.
    acts: VecDeque<(Clock, Meeting)>,
    parties: FxHashMap<Meeting, Vec<ThreadId>>,
}

/// A barrier, and which time it is.
pub(crate) type Meeting = (BarrierId, u32);

struct Barrier {
    clock: Clock,
    /// Whether somebody went on from there.
    is_left: bool,
}

impl Clocks {
    const MOST_ACTS: usize = 4096;

    pub(crate) fn now(&mut self, thread: ThreadId) -> Clock {
        if let Some(&Some(clock)) = self.now.get(thread.index()) {
            return clock;
        }
        let mut seen = vec![0; thread.index() + 1];
        seen[thread.index()] = 1;
        self.set(thread, seen.into())
    }

    /// Whether all that `thread` did at `clock` came before what was done at the clock `later`.
    pub(crate) fn is_before(&self, thread: ThreadId, clock: Clock, later: Clock) -> bool {
        self.epoch(clock, thread) <= self.epoch(later, thread)
    }

    pub(crate) fn start(&mut self, parent: ThreadId, child: ThreadId) {
        self.hand_over(parent, child);
        self.tick(parent);
    }

    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_over(child, thread);
    }

    pub(crate) fn arrive(&mut self, thread: ThreadId, barrier: Meeting) {
        let own = self.now(thread);
        let clock = match self.barriers.get(&barrier).map(|known| known.clock) {
            Some(before) => {
                let both = self.both(before, own);
                self.add(both)
            }
            None => own,
        };
        self.barriers.insert(barrier, Barrier { clock, is_left: false });
        self.tick(thread);
    }

    /// All who arrive there wait for each other, and one may act for all of them.
    pub(crate) fn meet(&mut self, thread: ThreadId, barrier: Meeting) {
        let parties = self.parties.entry(barrier).or_default();
        if !parties.contains(&thread) {
            parties.push(thread);
        }
        // Nobody arrives while others have yet to leave the generation two before.
        if let Some(old) = barrier.1.checked_sub(2).map(|old| (barrier.0, old))
            && !self.acts.iter().any(|(_, meeting)| *meeting == old)
        {
            self.parties.remove(&old);
        }
    }

    /// What the thread does from now on, until [`Clocks::acted`], comes after all who have arrived and before all who leave.
    pub(crate) fn act(&mut self, thread: ThreadId, barrier: Meeting) {
        self.leave(thread, barrier);
        let clock = self.now(thread);
        self.barriers.insert(barrier, Barrier { clock, is_left: true });
        self.acts.push_back((clock, barrier));
        if self.acts.len() > Clocks::MOST_ACTS
            && let Some((_, old)) = self.acts.pop_front()
        {
            self.parties.remove(&old);
        }
    }

    /// Whether a thread surely waited while another one did something at this clock. The order of their events does not
    /// always tell: of who waits nothing is known but that it goes on some time later.
    pub(crate) fn waits(&self, thread: ThreadId, clock: Clock) -> bool {
        let Ok(act) = self.acts.binary_search_by_key(&clock.0, |(clock, _)| clock.0) else { return false };
        self.parties.get(&self.acts[act].1).is_some_and(|parties| parties.contains(&thread))
    }

    pub(crate) fn acted(&mut self, thread: ThreadId) {
        self.tick(thread);
    }

    pub(crate) fn leave(&mut self, thread: ThreadId, barrier: Meeting) {
        let Some(known) = self.barriers.get_mut(&barrier) else { return };
        known.is_left = true;
        let arrived = known.clock;
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

    fn both(&self, a: Clock, b: Clock) -> Box<[u32]> {
        let (a, b) = (&self.seen[a.0 as usize], &self.seen[b.0 as usize]);
        let at = |seen: &[u32], index: usize| seen.get(index).copied().unwrap_or(0);
        (0..a.len().max(b.len())).map(|index| at(a, index).max(at(b, index))).collect()
    }

    fn epoch(&self, clock: Clock, thread: ThreadId) -> u32 {
        self.seen[clock.0 as usize].get(thread.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, thread: ThreadId, seen: Box<[u32]>) -> Clock {
        let clock = self.add(seen);
        if thread.index() >= self.now.len() {
            self.now.resize(thread.index() + 1, None);
        }
        self.now[thread.index()] = Some(clock);
        clock
    }

    fn add(&mut self, seen: Box<[u32]>) -> Clock {
        self.bytes += Clocks::bytes_of(&seen);
        self.seen.push(seen);
        Clock(self.seen.len() as u32 - 1)
    }

    fn bytes_of(seen: &[u32]) -> usize {
        size_of::<Box<[u32]>>() + size_of_val(seen)
    }

    /// Bytes that all of it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.barriers.len() * size_of::<(Meeting, Barrier)>()
    }

    /// Gives up all clocks but those in `used`, and what nobody is likely to ask for: barriers that somebody has gone on
    /// from, and ended meetings.
    pub(crate) fn forget(&mut self, mut used: FxHashSet<Clock>) {
        self.barriers.retain(|_, barrier| !barrier.is_left);
        used.extend(self.now.iter().flatten());
        used.extend(self.barriers.values().map(|barrier| barrier.clock));
        for (number, seen) in self.seen.iter_mut().enumerate() {
            if !used.contains(&Clock(number as u32)) {
                *seen = Box::default();
            }
        }
        self.bytes = self.seen.iter().map(|seen| Clocks::bytes_of(seen)).sum();
    }
}
