//! Who accessed a variable, how, and under which locks: one record for all accesses that are alike.

use rustc_hash::FxHashMap;
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

/// The number of a way in which a thread accesses things: what it holds, and what it knows of others. Accesses to one
/// variable are alike if they have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Manner(u32);

impl Manner {
    /// Reads and writes are never alike.
    fn with(self, writes: bool) -> Manner {
        Manner(self.0 * 2 + u32::from(writes))
    }
}

/// The records of one variable.
#[derive(Default)]
enum Records {
    #[default]
    None,
    One(Manner, Record),
    Many(Box<Many>),
}

struct Many {
    /// Those of the records, as bare numbers. They stand apart because all of them are looked at for every access.
    manners: Vec<u32>,
    records: Vec<Record>,
    /// The oldest record, once there is no room for more.
    oldest: usize,
    /// What is held alone in all accesses so far.
    guard: LockSet,
}

impl Many {
    fn add(&mut self, manner: Manner, record: Record, sets: &mut LockSets) {
        self.guard = sets.meet(self.guard, record.held.alone);
        if self.records.len() < Index::MOST {
            self.manners.push(manner.0);
            self.records.push(record);
        } else {
            self.manners[self.oldest] = manner.0;
            self.records[self.oldest] = record;
            self.oldest = (self.oldest + 1) % Index::MOST;
        }
    }
}

#[derive(Default)]
pub(super) struct Index {
    variables: Vec<Records>,
    manners: FxHashMap<(ThreadId, Held, Clock), Manner>,
    records: usize,
}

impl Index {
    /// More different accesses to one variable than this are not told apart: the oldest of them goes.
    const MOST: usize = 48;

    pub(super) fn manner(&mut self, thread: ThreadId, held: Held, clock: Clock) -> Manner {
        let next = Manner(self.manners.len() as u32);
        *self.manners.entry((thread, held, clock)).or_insert(next)
    }

    /// Adds an access that is done in this manner.
    pub(super) fn add(&mut self, manner: Manner, thread: ThreadId, held: Held, access: Access, sets: &mut LockSets) {
        let index = access.variable.index();
        if index >= self.variables.len() {
            self.variables.resize_with(index + 1, Records::default);
        }
        let manner = manner.with(access.writes);
        let records = &mut self.variables[index];
        match records {
            Records::None => *records = Records::One(manner, Record::new(thread, held, access)),
            Records::One(known, record) if *known == manner => {
                record.last = access;
                return;
            }
            Records::One(known, record) => {
                let (manners, records_of_one) = (vec![known.0], vec![*record]);
                let guard = record.held.alone;
                let mut many = Many { manners, records: records_of_one, oldest: 0, guard };
                many.add(manner, Record::new(thread, held, access), sets);
                *records = Records::Many(Box::new(many));
            }
            Records::Many(many) => {
                // Most are not there when there are many, which is found out by comparing many at once.
                let known = if many.manners.contains(&manner.0) {
                    many.manners.iter().position(|known| *known == manner.0)
                } else {
                    None
                };
                if let Some(known) = known {
                    many.records[known].last = access;
                    return;
                }
                let is_full = many.records.len() == Index::MOST;
                many.add(manner, Record::new(thread, held, access), sets);
                if is_full {
                    return;
                }
            }
        }
        self.records += 1;
    }

    pub(super) fn of(&self, variable: VariableId) -> &[Record] {
        match self.variables.get(variable.index()) {
            None | Some(Records::None) => &[],
            Some(Records::One(_, record)) => std::slice::from_ref(record),
            Some(Records::Many(many)) => &many.records,
        }
    }

    /// Whether something is known of a variable.
    pub(super) fn knows(&self, variable: VariableId) -> bool {
        !self.of(variable).is_empty()
    }

    /// What all who accessed a variable so far held alone.
    pub(super) fn guard(&self, variable: VariableId) -> LockSet {
        match self.variables.get(variable.index()) {
            None | Some(Records::None) => LockSet::EMPTY,
            Some(Records::One(_, record)) => record.held.alone,
            Some(Records::Many(many)) => many.guard,
        }
    }

    /// How many records are kept, about.
    pub(super) fn len(&self) -> usize {
        self.records
    }

    /// Gives up all that is known. Manners have other numbers from now on.
    pub(super) fn clear(&mut self) {
        *self = Index::default();
    }
}
