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
    /// Of those with two locks and more.
    numbers: FxHashMap<Box<[LockId]>, LockSet>,
    meets: FxHashMap<(LockSet, LockSet), LockSet>,
    /// By lock, the set that has it alone, or the empty one as long as nobody asked for that.
    singles: Vec<LockSet>,
    /// Room for the locks of a set while it is looked up: most sets that are asked for are known.
    room: Vec<LockId>,
    /// What came of adding a lock to a set, as far as it was asked lately.
    added: Vec<(LockSet, LockId, LockSet)>,
}

/// Places for what was asked lately: a power of two.
const LATELY: usize = 1 << 12;

impl Default for LockSets {
    fn default() -> LockSets {
        LockSets {
            sets: vec![Box::default()],
            numbers: FxHashMap::default(),
            meets: FxHashMap::default(),
            singles: Vec::new(),
            room: Vec::new(),
            // Nothing is looked up here of the empty set, so these are like no answer.
            added: vec![(LockSet::EMPTY, LockId::default(), LockSet::EMPTY); LATELY],
        }
    }
}

impl LockSets {
    pub(crate) fn of(&mut self, locks: impl Iterator<Item = LockId>) -> LockSet {
        let mut room = std::mem::take(&mut self.room);
        room.clear();
        room.extend(locks);
        if room.len() > 1 {
            room.sort_unstable();
            room.dedup();
        }
        let set = self.number(&room);
        self.room = room;
        set
    }

    /// A set and one lock more.
    fn with(&mut self, set: LockSet, lock: LockId) -> LockSet {
        if set.is_empty() {
            return self.number(&[lock]);
        }
        let place = (set.0.wrapping_mul(0x9e37_79b1) ^ lock.0.wrapping_mul(0x85eb_ca77)) >> (32 - LATELY.ilog2());
        let (known, more, result) = self.added[place as usize];
        if (known, more) == (set, lock) {
            return result;
        }
        let mut locks = self.locks(set).to_vec();
        if let Err(at) = locks.binary_search(&lock) {
            locks.insert(at, lock);
        }
        let result = self.number(&locks);
        self.added[place as usize] = (set, lock, result);
        result
    }

    /// `locks` are sorted, each once.
    fn number(&mut self, locks: &[LockId]) -> LockSet {
        match locks {
            [] => LockSet::EMPTY,
            [lock] => {
                if lock.index() >= self.singles.len() {
                    self.singles.resize(lock.index() + 1, LockSet::EMPTY);
                }
                if self.singles[lock.index()].is_empty() {
                    self.singles[lock.index()] = self.add(locks);
                }
                self.singles[lock.index()]
            }
            _ => match self.numbers.get(locks) {
                Some(known) => *known,
                None => {
                    let number = self.add(locks);
                    self.numbers.insert(locks.into(), number);
                    number
                }
            },
        }
    }

    fn add(&mut self, locks: &[LockId]) -> LockSet {
        self.sets.push(locks.into());
        LockSet(self.sets.len() as u32 - 1)
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
        if self.is_within(a, b) {
            return a;
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

    /// Whether all of the first, if it has few, is in the second. Looking is quicker than remembering.
    fn is_within(&self, few: LockSet, many: LockSet) -> bool {
        const FEW: usize = 2;
        let (few, many) = (self.locks(few), self.locks(many));
        few.len() <= FEW && few.iter().all(|lock| many.binary_search(lock).is_ok())
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
        let mut room = std::mem::take(&mut self.room);
        room.clear();
        room.extend(self.locks(set).iter().filter(|other| **other != lock));
        let rest = self.number(&room);
        self.room = room;
        rest
    }
}

/// The locks that a thread holds, and those of them that it holds alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Held {
    pub(crate) any: LockSet,
    pub(crate) alone: LockSet,
}

impl Held {
    pub(crate) const NOTHING: Held = Held { any: LockSet::EMPTY, alone: LockSet::EMPTY };

    /// Whether two threads cannot hold these at the same time.
    pub(crate) fn excludes(self, other: Held, sets: &LockSets) -> bool {
        sets.intersect(self.alone, other.any) || sets.intersect(self.any, other.alone)
    }
}

/// The locks that a thread holds, with their depth.
#[derive(Default)]
pub(crate) struct Holds {
    held: Vec<HeldLock>,
    /// Both follow from `held`, and are kept because every access asks for them.
    any: Option<LockSet>,
    exclusive: Option<LockSet>,
    acquires: Stamp,
    releases: Stamp,
}

/// A count of what a thread did to locks: how often it has taken one, or let one go.
pub(crate) type Stamp = u64;

struct HeldLock {
    lock: LockId,
    mode: Mode,
    depth: u32,
    /// Given up by `wait`, to be taken again at the same depth.
    waiting: bool,
    /// Which acquire it has been held in this mode from, and in any.
    since: Stamp,
    since_any: Stamp,
}

impl Holds {
    /// Notes an acquire; whether the lock was free of this thread before.
    pub(crate) fn acquire(&mut self, lock: LockId, mode: Mode, cause: Cause) -> bool {
        self.acquires += 1;
        let since = self.acquires;
        // Whoever turns one mode into the other holds the lock all the time.
        let in_other_mode = self.held.iter().find(|held| held.lock == lock && held.mode != mode && !held.waiting);
        let since_any = in_other_mode.map_or(since, |held| held.since_any);
        match self.held.iter_mut().find(|held| held.lock == lock && held.mode == mode) {
            Some(held) if held.waiting => {
                (self.any, self.exclusive) = (None, None);
                (held.waiting, held.since, held.since_any) = (false, since, since_any);
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
                (self.any, self.exclusive) = (None, None);
                self.held.push(HeldLock { lock, mode, depth: 1, waiting: false, since, since_any });
                true
            }
        }
    }

    /// Notes a release; whether the lock is free of this thread now, `None` if it was not held at all.
    pub(crate) fn release(&mut self, lock: LockId, mode: Mode, cause: Cause) -> Option<bool> {
        let index = self.held.iter().position(|held| held.lock == lock && held.mode == mode && !held.waiting)?;
        let held = &mut self.held[index];
        if cause == Cause::Section && held.depth > 1 {
            held.depth -= 1;
            return Some(false);
        }
        (self.any, self.exclusive) = (None, None);
        self.releases += 1;
        match cause {
            Cause::Wait => held.waiting = true,
            Cause::Section => {
                self.held.remove(index);
            }
        }
        Some(true)
    }

    /// Whether there is no lock that is held, or will be after a `wait`.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The lock that has been held for longest.
    pub(crate) fn first(&self) -> Option<LockId> {
        self.held.iter().find(|held| !held.waiting).map(|held| held.lock)
    }

    /// Whether no lock is held.
    pub(crate) fn is_free(&self) -> bool {
        self.held.iter().all(|held| held.waiting)
    }

    /// Stands for this moment: how many locks were taken and let go so far.
    pub(crate) fn stamps(&self) -> (Stamp, Stamp) {
        (self.acquires, self.releases)
    }

    /// Of the locks that were held at an earlier moment, those that have been held ever since: in any mode, and alone.
    pub(crate) fn ever_since(&self, (acquires, _): (Stamp, Stamp), sets: &mut LockSets) -> (LockSet, LockSet) {
        let held = self.held.iter().filter(|held| !held.waiting);
        let any = held.clone().filter(|held| held.since_any <= acquires).map(|held| held.lock);
        let alone = held.filter(|held| held.mode == Mode::Exclusive && held.since <= acquires).map(|held| held.lock);
        (sets.of(any), sets.of(alone))
    }

    /// All locks held, in whichever mode.
    pub(crate) fn any(&mut self, sets: &mut LockSets) -> LockSet {
        let held = &self.held;
        *self.any.get_or_insert_with(|| {
            let held = held.iter().filter(|held| !held.waiting);
            held.fold(LockSet::EMPTY, |set, held| sets.with(set, held.lock))
        })
    }

    /// The locks that nobody else can hold in any mode.
    pub(crate) fn exclusive(&mut self, sets: &mut LockSets) -> LockSet {
        if self.exclusive.is_none() && self.held.iter().all(|held| held.mode == Mode::Exclusive) {
            self.exclusive = Some(self.any(sets));
        }
        let held = &self.held;
        *self.exclusive.get_or_insert_with(|| {
            let alone = held.iter().filter(|held| !held.waiting && held.mode == Mode::Exclusive);
            sets.of(alone.map(|held| held.lock))
        })
    }
}
