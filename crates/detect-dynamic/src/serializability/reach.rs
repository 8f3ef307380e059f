//! The two tables of first reach: which open transaction reaches which thread, and from which event on.
//!
//! Rows are threads, columns are open transactions. An edge from event n of thread u into thread t is all that ever
//! changes them. Two facts keep that cheap. An entry is set to the moment at which it is set, so within a row a later
//! entry is a larger one. And a mark that lies before every entry of its row, and in no open transaction of its thread,
//! can never matter again: entries and transactions that come later are later in time. [`Reach::matters`] tells these
//! marks, nearly all there are, by one comparison.

use trace::{SiteId, ThreadId};

use super::left_out::LeftOut;
use super::paths::{Hop, PathId, Paths, Point};
use super::state::{Cell, Column, ColumnId, Extent, Mark, Moment, NEVER, Origin, Row, Slot, Thread};

/// What an edge showed.
pub(super) enum Closed {
    /// A transaction was entered by what it reaches on its own: the whole cycle, first hop out of it.
    Alone(ColumnId, Vec<Hop>),
    /// The transaction lies on a cycle of whole transactions.
    Together(ColumnId, Vec<Hop>),
}

#[derive(Default)]
pub(super) struct Reach {
    pub(super) threads: Vec<Thread>,
    rows: Vec<Row>,
    /// For each slot, the earliest moment that can still matter.
    since: Vec<Moment>,
    pub(super) columns: Vec<Column>,
    free_columns: Vec<ColumnId>,
    free_slots: Vec<Slot>,
    /// By thread; [`Reach::NO_SLOT`] for one that has none.
    slots: Vec<u32>,
    serial: u64,
    paths: Paths,
    pub(super) left_out: LeftOut,
    /// What the last edges showed, for the caller to take.
    pub(super) closed: Vec<Closed>,
}

impl Reach {
    const NO_SLOT: u32 = u32::MAX;

    /// The slot of a thread that has one.
    #[inline]
    pub(super) fn slot(&self, thread: ThreadId) -> Option<Slot> {
        self.slots.get(thread.index()).filter(|&&slot| slot != Reach::NO_SLOT).map(|&slot| Slot(slot))
    }

    /// Gives a thread a slot: a free one, if there is any.
    pub(super) fn admit(&mut self, thread: ThreadId) -> Slot {
        if self.slots.len() <= thread.index() {
            self.slots.resize(thread.index() + 1, Reach::NO_SLOT);
        }
        let slot = match self.free_slots.pop() {
            Some(slot) => {
                let violated = std::mem::take(&mut self.threads[slot.index()].violated);
                self.threads[slot.index()] = Thread { violated, ..Thread::new(thread) };
                slot
            }
            None => {
                let slot = Slot(self.threads.len() as u32);
                assert!(slot.0 < Mark::SLOTS, "more than {} threads at once", Mark::SLOTS);
                self.threads.push(Thread::new(thread));
                self.rows.push(Row::new());
                self.since.push(NEVER);
                slot
            }
        };
        self.slots[thread.index()] = slot.0;
        slot
    }

    /// The thread will have no more events. Its slot becomes free now or when the last entry of its row goes.
    pub(super) fn dismiss(&mut self, slot: Slot) {
        self.threads[slot.index()].ended = true;
        self.free_if_unused(slot);
    }

    fn free_if_unused(&mut self, slot: Slot) {
        let thread = &self.threads[slot.index()];
        if thread.ended && self.rows[slot.index()].is_empty() {
            self.slots[thread.id.index()] = Reach::NO_SLOT;
            self.free_slots.push(slot);
        }
    }

    /// Whether an edge from there can change anything, now or ever.
    #[inline]
    pub(super) fn matters(&self, mark: Mark) -> bool {
        mark.moment() >= self.since[mark.slot().index()]
    }

    /// Notes anew what can still matter of a thread, after a transaction of its own or an entry of its row went.
    fn update_since(&mut self, slot: Slot) {
        let columns = &self.threads[slot.index()].columns;
        let begin = columns.iter().map(|column| self.columns[column.index()].origin.begin).min().unwrap_or(NEVER);
        self.since[slot.index()] = begin.min(self.rows[slot.index()].least);
    }

    pub(super) fn open(
        &mut self,
        owner: Slot,
        site: SiteId,
        extent: Extent,
        begin: Moment,
        checks: Checks,
    ) -> ColumnId {
        let origin = Origin { thread: self.threads[owner.index()].id, extent, site, begin };
        let ordered = checks != Checks::Alone;
        if ordered {
            let thread = &mut self.threads[owner.index()];
            thread.left_out = self.left_out.has(origin.thread, begin);
            // A unit that was begun in the last whole transaction, and has done nothing yet, has no part in that.
            let (last, _) = thread.last;
            for id in &thread.columns {
                let column = &mut self.columns[id.index()];
                if column.origin.begin > last {
                    column.whole_begin = begin;
                }
            }
        }
        let whole_begin = match self.ordered_column(owner) {
            Some(whole) => self.columns[whole.index()].origin.begin,
            None => begin,
        };
        self.serial += 1;
        let mut column = Column {
            owner,
            origin,
            whole_begin,
            serial: self.serial,
            alone: checks != Checks::Together,
            ordered,
            violated: false,
            awaited: false,
            cycles: 0,
            found: None,
            rows: Vec::new(),
            open: true,
        };
        let id = match self.free_columns.pop() {
            Some(id) => {
                column.rows = std::mem::take(&mut self.columns[id.index()].rows);
                self.columns[id.index()] = column;
                id
            }
            None => {
                self.columns.push(column);
                ColumnId(self.columns.len() as u32 - 1)
            }
        };
        self.threads[owner.index()].columns.push(id);
        let since = &mut self.since[owner.index()];
        *since = (*since).min(begin);
        id
    }

    /// Clears a column. Its `found` and flags stay readable until the column is opened again.
    pub(super) fn close(&mut self, id: ColumnId, now: Moment) {
        let column = &mut self.columns[id.index()];
        column.open = false;
        let owner = column.owner;
        if column.ordered {
            self.threads[owner.index()].left_out = false;
        }
        let (begin, spoilt) = (column.origin.begin, column.violated);
        let mut rows = std::mem::take(&mut column.rows);
        for slot in rows.drain(..) {
            let cell = self.rows[slot.index()].leave(id);
            self.paths.release(cell.event_path);
            self.paths.release(cell.whole_path);
            if self.rows[slot.index()].least == NEVER {
                self.update_since(slot);
                self.free_if_unused(slot);
            }
        }
        self.columns[id.index()].rows = rows;
        self.threads[owner.index()].columns.retain(|&open| open != id);
        self.update_since(owner);
        self.free_columns.push(id);
        if spoilt {
            self.note_violated(owner, begin, now);
        }
    }

    /// Remembers a violated transaction for as long as a path can still lead through it.
    fn note_violated(&mut self, slot: Slot, begin: Moment, end: Moment) {
        const OFTEN: usize = 64;
        if self.threads[slot.index()].violated.len() % OFTEN == OFTEN - 1 {
            self.find_least(slot);
            let least = self.rows[slot.index()].least;
            self.threads[slot.index()].violated.retain(|&(_, end)| end >= least);
        }
        self.threads[slot.index()].violated.push((begin, end));
    }

    /// Whether the closed transaction at a point was violated on its own.
    pub(super) fn was_violated(&self, slot: Slot, moment: Moment) -> bool {
        self.threads[slot.index()].violated.iter().any(|&(begin, end)| begin <= moment && moment <= end)
    }

    /// The thread's transaction in the order of whole transactions.
    pub(super) fn ordered_column(&self, slot: Slot) -> Option<ColumnId> {
        self.threads[slot.index()].columns.iter().copied().find(|column| self.columns[column.index()].ordered)
    }

    fn find_least(&mut self, slot: Slot) {
        let row = &mut self.rows[slot.index()];
        let mut least = NEVER;
        for_each_bit(&row.bits, |index| least = least.min(row.cells[index].event).min(row.cells[index].whole));
        row.least = least;
        self.update_since(slot);
    }

    /// An edge between two threads.
    pub(super) fn edge(&mut self, hop: Hop) {
        let (u, n, t) = (hop.from.slot, hop.from.moment, hop.to.slot);
        // A lone event is a transaction that begins and ends with it.
        let whole = self.ordered_column(t);
        let begin = whole.map_or(hop.to.moment, |column| self.columns[column.index()].origin.begin);
        let target = Target { whole, begin };
        for word in 0..self.rows[u.index()].bits.len() {
            let mut bits = self.rows[u.index()].bits[word];
            while bits != 0 {
                let id = ColumnId(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
                let cell = self.rows[u.index()].cell(id);
                if n >= cell.event || n >= cell.whole {
                    self.spread(id, cell, n, &hop, target);
                }
            }
        }
        for index in 0..self.threads[u.index()].columns.len() {
            let id = self.threads[u.index()].columns[index];
            if n >= self.columns[id.index()].origin.begin {
                // A transaction reaches its own events by no path at all.
                self.spread(id, Cell { event: 0, whole: 0, ..Cell::EMPTY }, n, &hop, target);
            }
        }
        if !self.rows[u.index()].is_empty() {
            self.find_least(u);
        }
        debug_assert!(t != u);
    }

    /// Takes an edge into account for one column that reaches its source.
    fn spread(&mut self, id: ColumnId, from: Cell, n: Moment, hop: &Hop, target: Target) {
        let column = &self.columns[id.index()];
        let t = hop.to.slot;
        let by_event = column.alone && !column.violated && n >= from.event;
        let by_whole = column.ordered && n >= from.whole;
        if column.owner == t {
            if by_event {
                self.closed.push(Closed::Alone(id, self.cycle(from.event_path, hop)));
                self.columns[id.index()].violated = true;
            } else if by_whole && !column.violated {
                self.closed.push(Closed::Together(id, self.cycle(from.whole_path, hop)));
            }
            return;
        }
        let cell = self.rows[t.index()].cell(id);
        if by_event && cell.event == NEVER {
            let path = self.paths.hop(from.event_path, *hop);
            self.set(t, id, |cell| {
                cell.event = hop.to.moment;
                cell.event_path = path;
                hop.to.moment
            });
        }
        if by_whole && cell.whole == NEVER {
            let path = self.paths.hop(from.whole_path, *hop);
            self.set(t, id, |cell| {
                cell.whole = target.begin;
                cell.whole_path = path;
                target.begin
            });
            if let Some(reached) = target.whole {
                self.inherit(id, reached, path);
            }
        }
    }

    /// The column now reaches a whole transaction, and so all that this one reaches.
    fn inherit(&mut self, id: ColumnId, reached: ColumnId, path: PathId) {
        let owner = self.columns[id.index()].owner;
        for index in 0..self.columns[reached.index()].rows.len() {
            let slot = self.columns[reached.index()].rows[index];
            let theirs = self.rows[slot.index()].cell(reached);
            // A cycle through the owner is seen by the transaction that the edge enters, which is on it too.
            if slot == owner || theirs.whole >= self.rows[slot.index()].cell(id).whole {
                continue;
            }
            let longer = self.paths.chain(path, theirs.whole_path);
            let mut replaced = PathId::NONE;
            self.set(slot, id, |cell| {
                cell.whole = theirs.whole;
                replaced = std::mem::replace(&mut cell.whole_path, longer);
                theirs.whole
            });
            self.paths.release(replaced);
        }
    }

    fn set(&mut self, slot: Slot, id: ColumnId, change: impl FnOnce(&mut Cell) -> Moment) {
        let row = &mut self.rows[slot.index()];
        let (cell, new) = row.enter(id);
        let moment = change(cell);
        row.least = row.least.min(moment);
        let since = &mut self.since[slot.index()];
        *since = (*since).min(moment);
        if new {
            self.columns[id.index()].rows.push(slot);
        }
    }

    fn cycle(&self, path: PathId, last: &Hop) -> Vec<Hop> {
        let mut hops = self.paths.hops(path);
        hops.push(*last);
        hops
    }

    /// The point of a mark: its slot still belongs to the thread that made it, or the mark would not matter.
    pub(super) fn point(&self, mark: Mark, site: SiteId, deed: super::paths::Deed) -> Point {
        let slot = mark.slot();
        Point { thread: self.threads[slot.index()].id, slot, moment: mark.moment(), site, deed }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        (self.threads.len(), self.columns.len(), self.paths.len())
    }
}

/// What a column is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    /// A thread's only transaction.
    Both,
    /// A unit that overlaps an older one of its thread.
    Alone,
    /// What is left of overlapping units when the oldest ends: part of the order, judged already.
    Together,
}

/// The transaction that an edge enters.
#[derive(Clone, Copy)]
struct Target {
    whole: Option<ColumnId>,
    begin: Moment,
}

fn for_each_bit(words: &[u64], mut visit: impl FnMut(usize)) {
    for (word, &bits) in words.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            visit(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}
