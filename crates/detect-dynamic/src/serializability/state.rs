//! What the detector keeps: of threads, open transactions and locks; never of the past as a whole.
//!
//! Every counted event has a [`Moment`], its number in the whole run. Moments of one thread grow in program order, which
//! is all that the tables need, and they also say how the steps of a report were interleaved.

use trace::{LockId, SiteId, ThreadId, UnitId};

use super::paths::PathId;
use crate::lockset::Holds;

/// The number of an event in the run, from 1. 0 stands before all events.
pub(super) type Moment = u64;

/// Later than every event.
pub(super) const NEVER: Moment = Moment::MAX;

/// The place of a thread in the tables. Used again for another thread once nothing refers to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot(pub(super) u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who and when, in one word: every variable holds two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(u64);

impl Mark {
    const MOMENT_BITS: u32 = 44;
    /// No access: a moment that is before every transaction.
    pub(super) const NONE: Mark = Mark(0);
    /// The slot that no thread has: such a mark is the number of a [`Crowd`].
    const CROWD: u64 = (1 << (64 - Mark::MOMENT_BITS)) - 1;
    /// Slots are below this.
    pub(super) const SLOTS: u32 = Mark::CROWD as u32;

    #[inline]
    pub(super) fn new(slot: Slot, moment: Moment) -> Mark {
        Mark(u64::from(slot.0) << Mark::MOMENT_BITS | moment)
    }

    pub(super) fn crowd(number: usize) -> Mark {
        Mark(Mark::CROWD << Mark::MOMENT_BITS | number as u64)
    }

    #[inline]
    pub(super) fn as_crowd(self) -> Option<usize> {
        (self.0 >> Mark::MOMENT_BITS == Mark::CROWD).then_some(self.moment() as usize)
    }

    #[inline]
    pub(super) fn slot(self) -> Slot {
        Slot((self.0 >> Mark::MOMENT_BITS) as u32)
    }

    #[inline]
    pub(super) fn moment(self) -> Moment {
        self.0 & ((1 << Mark::MOMENT_BITS) - 1)
    }
}

/// The last exclusive release of a lock, and the shared ones since. Kept only if lock order counts.
#[derive(Clone)]
pub(super) struct Lock {
    pub(super) exclusive: (Mark, SiteId),
    pub(super) shared: Vec<(Mark, SiteId)>,
}

impl Lock {
    pub(super) const UNTOUCHED: Lock = Lock { exclusive: (Mark::NONE, SiteId(0)), shared: Vec::new() };
}

/// An access that has an interval and not a moment at which it happened.
#[derive(Clone, Copy)]
pub(super) struct Timed {
    pub(super) mark: Mark,
    pub(super) site: SiteId,
    pub(super) writes: bool,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// Number of a [`Column`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ColumnId(pub(super) u32);

impl ColumnId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a transaction is in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    Unit(UnitId),
    /// A critical section outside all units.
    Section(LockId),
}

/// Where and by whom a transaction was begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) thread: ThreadId,
    pub(super) extent: Extent,
    pub(super) site: SiteId,
    /// The first moment that belongs to it.
    pub(super) begin: Moment,
}

/// An open transaction: a column of the tables. What it reaches stands in the rows of the threads that it reaches.
pub(super) struct Column {
    pub(super) owner: Slot,
    pub(super) origin: Origin,
    /// The first moment of the whole transaction that the first event of this one belongs to.
    pub(super) whole_begin: Moment,
    /// Counts up over all columns ever opened: tells an older column from a younger one.
    pub(super) serial: u64,
    /// Whether it is judged on its own. Overlapping units of a thread each are.
    pub(super) alone: bool,
    /// Whether it is the thread's transaction in the order of all transactions. One column of a thread is.
    pub(super) ordered: bool,
    pub(super) violated: bool,
    /// Whether a possible joint finding waits for its end.
    pub(super) awaited: bool,
    /// How many possible joint findings were closed by it.
    pub(super) cycles: u32,
    pub(super) found: Option<Box<super::rules::Violation>>,
    /// Rows that have an entry of this column.
    pub(super) rows: Vec<Slot>,
    pub(super) open: bool,
}

/// What is known of one thread's events: which open transaction reaches them, and from when on.
#[derive(Default)]
pub(super) struct Row {
    /// A bit for each column with an entry.
    pub(super) bits: Vec<u64>,
    pub(super) cells: Vec<Cell>,
    /// At most the smallest moment of any entry. May be too small after a column was cleared.
    pub(super) least: Moment,
}

/// One entry of both tables.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The first event that the column's transaction reaches, other transactions taken apart.
    pub(super) event: Moment,
    /// The begin of the first transaction that it reaches, transactions taken whole. Never after `event`, where both
    /// are kept.
    pub(super) whole: Moment,
    pub(super) event_path: PathId,
    pub(super) whole_path: PathId,
}

impl Cell {
    pub(super) const EMPTY: Cell =
        Cell { event: NEVER, whole: NEVER, event_path: PathId::NONE, whole_path: PathId::NONE };
}

impl Row {
    pub(super) fn new() -> Row {
        Row { least: NEVER, ..Row::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    pub(super) fn cell(&self, column: ColumnId) -> Cell {
        self.cells.get(column.index()).copied().unwrap_or(Cell::EMPTY)
    }

    /// The cell of a column, and whether the row had no entry of it before.
    pub(super) fn enter(&mut self, column: ColumnId) -> (&mut Cell, bool) {
        let index = column.index();
        if self.cells.len() <= index {
            self.cells.resize(index + 1, Cell::EMPTY);
            self.bits.resize(index / 64 + 1, 0);
        }
        let bit = 1 << (index % 64);
        let new = self.bits[index / 64] & bit == 0;
        self.bits[index / 64] |= bit;
        (&mut self.cells[index], new)
    }

    /// Takes the entry of a column out.
    pub(super) fn leave(&mut self, column: ColumnId) -> Cell {
        let index = column.index();
        self.bits[index / 64] &= !(1 << (index % 64));
        let cell = std::mem::replace(&mut self.cells[index], Cell::EMPTY);
        if self.is_empty() {
            self.least = NEVER;
        }
        cell
    }
}

/// A unit that was begun and not ended. Without a column it is part of an older one.
#[derive(Clone, Copy)]
pub(super) struct OpenUnit {
    pub(super) unit: UnitId,
    pub(super) column: Option<ColumnId>,
    pub(super) site: SiteId,
}

/// One thread. Owned by its slot; the slot outlives the thread.
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) columns: Vec<ColumnId>,
    pub(super) units: Vec<OpenUnit>,
    pub(super) section: Option<ColumnId>,
    pub(super) held: Holds,
    /// The last counted event.
    pub(super) last: (Moment, SiteId),
    /// Starts of this thread that its next counted event comes after.
    pub(super) starts: Vec<(Mark, SiteId)>,
    /// Open arms, true for speculated ones.
    pub(super) arms: Vec<bool>,
    pub(super) speculating: u32,
    /// Over: the slot is free as soon as its row is empty.
    pub(super) ended: bool,
    /// In a transaction that this look does without.
    pub(super) left_out: bool,
    /// Moments of transactions that were violated on their own, as far back as any entry of the row reaches.
    pub(super) violated: Vec<(Moment, Moment)>,
}

impl Thread {
    pub(super) fn new(id: ThreadId) -> Thread {
        Thread {
            id,
            columns: Vec::new(),
            units: Vec::new(),
            section: None,
            held: Holds::default(),
            last: (0, SiteId(0)),
            starts: Vec::new(),
            arms: Vec::new(),
            speculating: 0,
            ended: false,
            left_out: false,
            violated: Vec::new(),
        }
    }
}
