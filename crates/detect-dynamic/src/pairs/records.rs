//! Who accessed a variable, how, and under which locks: one record for all accesses that are alike.

use trace::{Interval, SiteId, StackId, ThreadId, VariableId};

use super::clock::Clock;
use crate::lockset::{LockSet, LockSets};

/// The number of an event in the run, from 1.
pub(super) type Moment = u64;

/// The locks that a thread holds, and those of them that it holds alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Held {
    pub(super) any: LockSet,
    pub(super) alone: LockSet,
}

impl Held {
    pub(super) const NOTHING: Held = Held { any: LockSet::EMPTY, alone: LockSet::EMPTY };

    /// Whether two threads cannot hold these at the same time.
    pub(super) fn excludes(self, other: Held, sets: &LockSets) -> bool {
        sets.intersect(self.alone, other.any) || sets.intersect(self.any, other.alone)
    }
}

/// One access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) moment: Moment,
    pub(super) site: SiteId,
    pub(super) stack: StackId,
    pub(super) variable: VariableId,
    /// It is one of many that a lock may guard: an element, or what a container holds.
    pub(super) is_part: bool,
    pub(super) writes: bool,
    /// An access that is one step by itself: it reads and writes, and no one comes in between.
    pub(super) updates: bool,
    pub(super) interval: Option<Interval>,
    pub(super) clock: Clock,
    /// When the thread took the first of the locks that it held, or the moment itself if it held none.
    pub(super) section: Moment,
}

impl Access {
    /// Whether it surely came before the other one. Of accesses that overlapped nobody knows.
    pub(super) fn is_before(&self, other: &Access) -> bool {
        match (self.interval, other.interval) {
            (Some(own), Some(others)) if self.variable == other.variable => own.after() < others.before(),
            _ => self.moment < other.moment,
        }
    }

    pub(super) fn conflicts(&self, other: &Access) -> bool {
        self.variable == other.variable && (self.writes || other.writes)
    }
}

/// Accesses of one thread that are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) thread: ThreadId,
    pub(super) held: Held,
    pub(super) first: Access,
    pub(super) last: Access,
}

impl Record {
    pub(super) fn new(thread: ThreadId, held: Held, access: Access) -> Record {
        Record { thread, held, first: access, last: access }
    }

    /// Whether two records of one variable are of one kind: where one can come, the other can.
    pub(super) fn is_alike(&self, other: &Record) -> bool {
        self.thread == other.thread
            && self.held == other.held
            && self.first.writes == other.first.writes
            && self.first.clock == other.first.clock
    }
}

/// The records of one variable.
#[derive(Default)]
enum Records {
    #[default]
    None,
    One(Record),
    Many(Vec<Record>),
}

#[derive(Default)]
pub(super) struct Index {
    variables: Vec<Records>,
    records: usize,
}

impl Index {
    /// More different accesses to one variable than this are not told apart: the oldest of them goes.
    const MOST: usize = 48;

    pub(super) fn add(&mut self, thread: ThreadId, held: Held, access: Access) {
        let index = access.variable.index();
        if index >= self.variables.len() {
            self.variables.resize_with(index + 1, Records::default);
        }
        let new = Record::new(thread, held, access);
        let alike = |record: &Record| record.is_alike(&new);
        let records = &mut self.variables[index];
        match records {
            Records::None => *records = Records::One(new),
            Records::One(record) if alike(record) => record.last = access,
            Records::One(record) => *records = Records::Many(vec![*record, new]),
            Records::Many(many) => {
                if let Some(record) = many.iter_mut().find(|record| alike(record)) {
                    record.last = access;
                    return;
                }
                if many.len() == Index::MOST {
                    many.remove(0);
                }
                many.push(new);
            }
        }
        self.records += 1;
    }

    pub(super) fn of(&self, variable: VariableId) -> &[Record] {
        match self.variables.get(variable.index()) {
            None | Some(Records::None) => &[],
            Some(Records::One(record)) => std::slice::from_ref(record),
            Some(Records::Many(many)) => many,
        }
    }

    /// How many records are kept, about.
    pub(super) fn len(&self) -> usize {
        self.records
    }

    pub(super) fn clear(&mut self) {
        *self = Index::default();
    }
}
