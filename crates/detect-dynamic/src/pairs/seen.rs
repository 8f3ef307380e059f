//! What is known about one suspicion: its units, and who else could come in between.

use std::hash::Hash;

use finding::Evidence;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{LockId, ThreadId, VariableId};

use super::Pairs;
use super::records::{Access, Held, Record};
use super::support::{How, Support};
use super::threads::First;
use super::ways::Ways;
use crate::clock::{Clock, Clocks};
use crate::lockset::LockSet;

/// What is known about one suspicion.
#[derive(Default)]
pub(super) struct Seen {
    /// How many units ran.
    pub(super) units: u64,
    /// Of each pair of variables the best one.
    pub(super) supports: Vec<Support>,
    /// Units that nobody came in between so far; whoever comes later may.
    pub(super) waiting: Vec<Unit>,
    pub(super) known: FxHashSet<UnitKey>,
    /// Whether threads started or met between a first part and what would have been its second. Then nobody knows of a
    /// first part alone that a second would have come before that.
    pub(super) is_divided: bool,
    /// Units that were near and did not begin.
    pub(super) ways: Ways,
    /// First parts that ran as tasks of their own, and who ran them.
    pub(super) tasks: Vec<(ThreadId, First)>,
    /// What second parts did after which first ones, one for each variable of a first part.
    seconds: Vec<(VariableId, Access)>,
    /// First parts of different threads, which a unit of another thread has for rivals, by what they access.
    begun: Kept<VariableId>,
    /// Who took which lock in the method, whichever way it went there.
    taken: Kept<LockId>,
    /// Who read a variable where it could have written it as well.
    might_write: Kept<VariableId>,
    /// Units that were asked about, and those of them that somebody came in between.
    pub(super) asked: u64,
    pub(super) observed: u64,
}

/// Records of each of some things, of those that are alike one, and not more than a few in all.
struct Kept<T> {
    records: FxHashMap<T, Vec<Record>>,
    count: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { records: FxHashMap::default(), count: 0 }
    }
}

impl<T: Eq + Hash> Kept<T> {
    fn is_full(&self) -> bool {
        self.count >= Pairs::MOST_WAITING
    }

    fn add(&mut self, thing: T, record: Record) {
        if self.is_full() {
            return;
        }
        let known = self.records.entry(thing).or_default();
        if !known.iter().any(|known| known.is_alike(&record)) {
            known.push(record);
            self.count += 1;
        }
    }

    fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.values().flatten()
    }

    fn of(&self, thing: T) -> &[Record] {
        self.records.get(&thing).map(Vec::as_slice).unwrap_or_default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unit {
    pub(super) thread: ThreadId,
    pub(super) first: Access,
    /// Who did the second part: another thread, if the parts are tasks.
    pub(super) last_thread: ThreadId,
    pub(super) second: Access,
    pub(super) held: Held,
    /// What was held at the first access.
    pub(super) locks: LockSet,
    /// Whether the second part ran, as against being filled in, ...
    pub(super) has_run: bool,
    /// ... and whether the first one did.
    pub(super) has_begun: bool,
}

pub(super) type UnitKey = (ThreadId, VariableId, bool, VariableId, bool, Held, Clock, Clock, bool);

impl Unit {
    /// `held` is what has been held from the first access on.
    pub(super) fn new(thread: ThreadId, first: &First, last_thread: ThreadId, second: Access, held: Held) -> Unit {
        let locks = first.held.any;
        Unit { thread, first: first.access, last_thread, second, held, locks, has_run: true, has_begun: true }
    }
}

impl Seen {
    /// First parts of tasks that are kept.
    const MOST_TASKS: usize = 64;

    pub(super) fn task(&mut self, thread: ThreadId, first: First) {
        let is_same = |known: &(ThreadId, First)| known.0 == thread && known.1.access.site == first.access.site;
        self.tasks.retain(|known| !is_same(known));
        if self.tasks.len() == Seen::MOST_TASKS {
            self.tasks.remove(0);
        }
        self.tasks.push((thread, first));
    }

    /// Whether a first part that no second came after may have gone on all the same. If nobody ever went on, in the
    /// whole run, and nobody did anything else that matters, the run says no more than the code.
    pub(super) fn may_go_on(&self, support: &Support) -> bool {
        !self.is_divided && (matches!(support.how, How::Conflicts | How::Comes | How::Might) || self.units > 0)
    }

    /// Notes what a unit went on to.
    pub(super) fn follow(&mut self, unit: &Unit) {
        let first = unit.first.variable;
        if self.seconds.len() < Pairs::MOST_WAITING && self.second_after(first).is_none() {
            self.seconds.push((first, unit.second));
        }
    }

    /// What came after a first part that accessed this.
    pub(super) fn second_after(&self, first: VariableId) -> Option<Access> {
        self.seconds.iter().find(|(known, _)| *known == first).map(|(_, second)| *second)
    }

    /// Notes what speaks for the suspicion.
    pub(super) fn add(&mut self, support: Support) {
        let pair = |support: &Support| (support.unit.first.variable, support.unit.second.variable);
        match self.supports.iter().position(|known| pair(known) == pair(&support)) {
            Some(index) if self.supports[index].rank() < support.rank() => self.supports[index] = support,
            Some(_) => {}
            None if self.supports.len() < Pairs::MOST_WAITING => self.supports.push(support),
            // Nobody asks for more once it was observed.
            None if support.evidence == Evidence::Observed => self.supports[0] = support,
            None => {}
        }
    }

    /// All clocks that something here refers to.
    pub(super) fn clocks(&self) -> impl Iterator<Item = Clock> {
        let units = self.supports.iter().map(|support| &support.unit).chain(&self.waiting);
        let units = units.flat_map(|unit| [unit.first, unit.second]);
        let others = self.supports.iter().flat_map(|support| [Some(support.after), support.before]).flatten();
        let parts = self.tasks.iter().map(|(_, first)| first.access).chain(self.seconds.iter().map(|second| second.1));
        let records = self.begun.all().chain(self.taken.all()).chain(self.might_write.all());
        let records = records.flat_map(|record| [record.first, record.last]);
        units.chain(others).chain(parts).chain(records).map(|access| access.clock).chain(self.ways.clocks())
    }

    /// Whether a first part ran.
    pub(super) fn has_begun(&self) -> bool {
        self.units > 0 || self.begun.count > 0 || !self.tasks.is_empty()
    }

    /// Notes who began a unit on what; of those that are alike one is enough.
    pub(super) fn begin(&mut self, record: Record) {
        if self.observed == 0 {
            self.begun.add(record.first.variable, record);
        }
    }

    /// Notes who could have written a variable.
    pub(super) fn may_write(&mut self, record: Record) {
        if self.observed == 0 {
            self.might_write.add(record.first.variable, record);
        }
    }

    /// Who could have written a variable.
    pub(super) fn might_write(&self, variable: VariableId) -> &[Record] {
        self.might_write.of(variable)
    }

    /// Whether it is of use to know who takes which lock in the method.
    pub(super) fn asks_who_takes(&self) -> bool {
        self.observed == 0 && !self.taken.is_full()
    }

    pub(super) fn take(&mut self, lock: LockId, record: Record) {
        if self.asks_who_takes() {
            self.taken.add(lock, record);
        }
    }

    /// Who began a unit on a variable.
    pub(super) fn begun(&self, variable: VariableId) -> &[Record] {
        self.begun.of(variable)
    }

    /// Who took a lock in the method.
    pub(super) fn taken(&self, lock: LockId) -> &[Record] {
        self.taken.of(lock)
    }

    /// Units of a second part and the first parts that surely came before it.
    pub(super) fn after_tasks(&self, thread: ThreadId, second: Access, clocks: &Clocks) -> Vec<Unit> {
        let is_before = |first: &(ThreadId, First)| {
            first.0 == thread || clocks.is_before(first.0, first.1.access.clock, second.clock)
        };
        let firsts = self.tasks.iter().filter(|first| is_before(first));
        firsts.map(|(by, first)| Unit::new(*by, first, thread, second, Held::NOTHING)).collect()
    }
}
