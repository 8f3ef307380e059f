//! What is known about one suspicion: its units, and who else could come in between.

use finding::Evidence;
use rustc_hash::FxHashSet;
use trace::{LockId, ThreadId, VariableId};

use super::Pairs;
use super::clock::{Clock, Clocks};
use super::records::{Access, Held, Record};
use super::support::Support;
use super::threads::First;
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
    /// First parts that ran as tasks of their own, and who ran them.
    pub(super) tasks: Vec<(ThreadId, First)>,
    /// First parts of different threads, which a unit of another thread has for rivals.
    pub(super) begun: Vec<Record>,
    /// Locks that different threads took in the method, whichever way they went in it.
    pub(super) taken: Vec<(LockId, Record)>,
    /// Units that were asked about, and those of them that somebody came in between.
    pub(super) asked: u64,
    pub(super) observed: u64,
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
    /// Whether the second part ran, as against being filled in.
    pub(super) has_run: bool,
}

pub(super) type UnitKey = (ThreadId, VariableId, bool, VariableId, bool, Held, Clock, Clock, bool);

impl Unit {
    pub(super) fn new(thread: ThreadId, first: &First, last_thread: ThreadId, second: Access) -> Unit {
        Unit { thread, first: first.access, last_thread, second, held: first.held, locks: first.locks, has_run: true }
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
        self.tasks.push((thread, First { held: Held::NOTHING, ..first }));
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

    /// Notes who began a unit on what; of those that are alike one is enough.
    pub(super) fn begin(&mut self, record: Record) {
        if self.observed == 0
            && self.begun.len() < Pairs::MOST_WAITING
            && !self.begun.iter().any(|known| known.is_alike(&record) && known.first.variable == record.first.variable)
        {
            self.begun.push(record);
        }
    }

    /// Notes who takes which lock in the method.
    pub(super) fn take(&mut self, lock: LockId, record: Record) {
        if self.observed == 0
            && self.taken.len() < Pairs::MOST_WAITING
            && !self.taken.iter().any(|(known, other)| *known == lock && other.is_alike(&record))
        {
            self.taken.push((lock, record));
        }
    }

    /// Units of a second part and the first parts that surely came before it.
    pub(super) fn after_tasks(&self, thread: ThreadId, second: Access, clocks: &Clocks) -> Vec<Unit> {
        let is_before = |first: &(ThreadId, First)| {
            first.0 == thread || clocks.is_before(first.0, first.1.access.clock, second.clock)
        };
        let firsts = self.tasks.iter().filter(|first| is_before(first));
        firsts.map(|(by, first)| Unit::new(*by, first, thread, second)).collect()
    }
}
