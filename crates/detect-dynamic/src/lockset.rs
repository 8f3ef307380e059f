//! Sets of locks, each kept once and called by number: the same few sets come up again and again.

use rustc_hash::FxHashMap;
use trace::{Cause, LockId, Mode};

/// Number of a set in [`LockSets`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LockSet(u32);

impl LockSet {
    pub(crate) const EMPTY: LockSet = LockSet(0);

    pub(crate) fn is_empty(self) -> bool {
        self == LockSet::EMPTY
    }
}

pub(crate) struct LockSets {
    /// Sorted.
    sets: Vec<Box<[LockId]>>,
    numbers: FxHashMap<Box<[LockId]>, LockSet>,
    meets: FxHashMap<(LockSet, LockSet), LockSet>,
}

impl Default for LockSets {
    fn default() -> LockSets {
        LockSets {
            sets: vec![Box::default()],
            numbers: FxHashMap::from_iter([(Box::default(), LockSet::EMPTY)]),
            meets: FxHashMap::default(),
        }
    }
}

impl LockSets {
    pub(crate) fn of(&mut self, locks: impl Iterator<Item = LockId>) -> LockSet {
        let mut locks: Vec<LockId> = locks.collect();
        locks.sort_unstable();
        locks.dedup();
        if let Some(&known) = self.numbers.get(&locks[..]) {
            return known;
        }
        let number = LockSet(self.sets.len() as u32);
        let locks: Box<[LockId]> = locks.into();
        self.sets.push(locks.clone());
        self.numbers.insert(locks, number);
        number
    }

    pub(crate) fn locks(&self, set: LockSet) -> &[LockId] {
        &self.sets[set.0 as usize]
    }

    /// What is in both.
    pub(crate) fn meet(&mut self, a: LockSet, b: LockSet) -> LockSet {
        if a == b {
            return a;
        }
        let key = (a.min(b), a.max(b));
        if key.0.is_empty() {
            return LockSet::EMPTY;
        }
        if let Some(&known) = self.meets.get(&key) {
            return known;
        }
        let common: Vec<LockId> =
            self.locks(a).iter().copied().filter(|lock| self.locks(b).binary_search(lock).is_ok()).collect();
        let meet = self.of(common.into_iter());
        self.meets.insert(key, meet);
        meet
    }

    /// Whether something is in both. Nearly all sets are of one lock or two, so looking is quicker than remembering.
    pub(crate) fn intersect(&self, a: LockSet, b: LockSet) -> bool {
        if a == b || a.is_empty() || b.is_empty() {
            return a == b && !a.is_empty();
        }
        self.locks(a).iter().any(|lock| self.locks(b).binary_search(lock).is_ok())
    }

    pub(crate) fn without(&mut self, set: LockSet, lock: LockId) -> LockSet {
        if self.locks(set).binary_search(&lock).is_err() {
            return set;
        }
        let rest: Vec<LockId> = self.locks(set).iter().copied().filter(|&other| other != lock).collect();
        self.of(rest.into_iter())
    }
}

/// The locks that a thread holds, with their depth.
#[derive(Default)]
pub(crate) struct Holds {
    held: Vec<Held>,
    /// Both follow from `held`, and are kept because every access asks for them.
    any: Option<LockSet>,
    exclusive: Option<LockSet>,
}

struct Held {
    lock: LockId,
    mode: Mode,
    depth: u32,
    /// Given up by `wait`, to be taken again at the same depth.
    waiting: bool,
}

impl Holds {
    /// Notes an acquire; whether the lock was free of this thread before.
    pub(crate) fn acquire(&mut self, lock: LockId, mode: Mode, cause: Cause) -> bool {
        (self.any, self.exclusive) = (None, None);
        match self.held.iter_mut().find(|held| held.lock == lock && held.mode == mode) {
            Some(held) if held.waiting => {
                held.waiting = false;
                held.depth += match cause {
                    Cause::Wait => 0,
                    Cause::Section => 1,
                };
                true
            }
            Some(held) => {
                held.depth += 1;
                false
            }
            None => {
                self.held.push(Held { lock, mode, depth: 1, waiting: false });
                true
            }
        }
    }

    /// Notes a release; whether the lock is free of this thread now, `None` if it was not held at all.
    pub(crate) fn release(&mut self, lock: LockId, mode: Mode, cause: Cause) -> Option<bool> {
        let index = self.held.iter().position(|held| held.lock == lock && held.mode == mode && !held.waiting)?;
        (self.any, self.exclusive) = (None, None);
        let held = &mut self.held[index];
        match cause {
            Cause::Wait => {
                held.waiting = true;
                Some(true)
            }
            Cause::Section if held.depth > 1 => {
                held.depth -= 1;
                Some(false)
            }
            Cause::Section => {
                self.held.remove(index);
                Some(true)
            }
        }
    }

    /// All locks held, in whichever mode.
    pub(crate) fn any(&mut self, sets: &mut LockSets) -> LockSet {
        let held = &self.held;
        *self.any.get_or_insert_with(|| sets.of(held.iter().filter(|held| !held.waiting).map(|held| held.lock)))
    }

    /// The locks that nobody else can hold in any mode.
    pub(crate) fn exclusive(&mut self, sets: &mut LockSets) -> LockSet {
        let held = &self.held;
        *self.exclusive.get_or_insert_with(|| {
            let alone = held.iter().filter(|held| !held.waiting && held.mode == Mode::Exclusive);
            sets.of(alone.map(|held| held.lock))
        })
    }
}
