//! Who accessed a variable, how, and under which locks: one record for all accesses that are alike.

use rustc_hash::FxHashMap;
use trace::{Interval, SiteId, StackId, ThreadId, VariableId};

use crate::clock::Clock;
pub(super) use crate::lockset::Held;
use crate::lockset::{LockSet, LockSets};

/// The number of an event in the run, from 1.
pub(super) type Moment = u64;

/// The numbers before and after an access, if it has any.
///
/// Two plain numbers, which stay in registers: every access has them, and an option that was written in parts and is read as a
/// whole makes the processor wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    before: u64,
    /// One more than the number; 0 if there are none.
    end: u64,
}

impl Span {
    pub(super) const NONE: Span = Span { before: 0, end: 0 };

    pub(super) fn of(interval: Option<Interval>) -> Span {
        interval.map_or(Span::NONE, |interval| Span { before: interval.before(), end: interval.after() + 1 })
    }

    pub(super) fn is_some(self) -> bool {
        self.end != 0
    }

    /// Whether both are known, and this one was over before the other began.
    fn precedes(self, other: Span) -> bool {
        self.is_some() && other.is_some() && self.end - 1 < other.before
    }

    pub(super) fn overlaps(self, other: Span) -> bool {
        self.is_some() && other.is_some() && self.before < other.end - 1 && other.before < self.end - 1
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
    pub(super) span: Span,
    pub(super) clock: Clock,
    /// When the thread took the first of the locks that it held, or the moment itself if it held none.
    pub(super) section: Moment,
}

impl Access {
    /// Whether it surely came before the other one. Of accesses that overlapped nobody knows.
    pub(super) fn is_before(&self, other: &Access) -> bool {
        if self.variable == other.variable && self.span.is_some() && other.span.is_some() {
            self.span.precedes(other.span)
        } else {
            self.moment < other.moment
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
    /// Those of the records, as bare numbers.
    manners: Vec<u32>,
    /// How many of these end in the same eight bits: mostly none does, and nobody needs to look at them all.
    endings: [u8; 256],
    records: Vec<Record>,
    /// The oldest record, once there is no room for more.
    oldest: usize,
    /// What is held alone in all accesses so far.
    guard: LockSet,
}

impl Many {
    /// With one record.
    fn new(manner: Manner, record: Record) -> Many {
        let mut many = Many {
            manners: vec![manner.0],
            endings: [0; 256],
            records: vec![record],
            oldest: 0,
            guard: record.held.alone,
        };
        many.endings[ending(manner.0)] = 1;
        many
    }

    /// Where the record of a manner is.
    #[inline(always)]
    fn find(&self, manner: Manner) -> Option<usize> {
        if self.endings[ending(manner.0)] == 0 {
            return None;
        }
        self.manners.iter().position(|known| *known == manner.0)
    }

    #[inline(always)]
    fn add(&mut self, manner: Manner, record: Record, sets: &mut LockSets) {
        self.guard = sets.meet(self.guard, record.held.alone);
        self.endings[ending(manner.0)] += 1;
        if self.records.len() < Index::MOST {
            self.manners.push(manner.0);
            self.records.push(record);
        } else {
            self.endings[ending(self.manners[self.oldest])] -= 1;
            self.manners[self.oldest] = manner.0;
            self.records[self.oldest] = record;
            self.oldest = (self.oldest + 1) % Index::MOST;
        }
    }
}

fn ending(manner: u32) -> usize {
    usize::from(manner as u8)
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
    // All parts of the access are at hand where this is called, and go to their places from there.
    #[inline(always)]
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
                let mut many = Many::new(*known, *record);
                many.add(manner, Record::new(thread, held, access), sets);
                *records = Records::Many(Box::new(many));
            }
            Records::Many(many) => {
                if let Some(known) = many.find(manner) {
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
