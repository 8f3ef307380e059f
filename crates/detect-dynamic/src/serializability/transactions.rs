//! Where transactions begin and end: units, sections outside them, and what is open when a thread or the trace ends.

use trace::{Event, LockId, UnitId};

use super::reach::Checks;
use super::rules::Engine;
use super::state::{Extent, OpenUnit, Slot};
use crate::lockset::Holds;

impl Engine {
    pub(super) fn begin_unit(&mut self, slot: Slot, unit: UnitId, event: &Event) {
        if let Some(section) = self.reach.threads[slot.index()].section.take() {
            self.close(section);
        }
        let units = &self.reach.threads[slot.index()].units;
        // A unit without a name, or of the same name, ends before the one around it: it is a part of that one.
        let inner = !units.is_empty() && (unit == UnitId(0) || units.iter().any(|open| open.unit == unit));
        let checks = if units.is_empty() { Checks::Both } else { Checks::Alone };
        let column = (!inner).then(|| self.reach.open(slot, event.site, Extent::Unit(unit), self.now + 1, checks));
        let open = OpenUnit { unit, column, site: event.site };
        self.reach.threads[slot.index()].units.push(open);
    }

    pub(super) fn end_unit(&mut self, slot: Slot, unit: UnitId) {
        let units = &mut self.reach.threads[slot.index()].units;
        let Some(index) = units.iter().rposition(|open| open.unit == unit).or(units.len().checked_sub(1)) else {
            return;
        };
        let ended = units.remove(index);
        if let Some(column) = ended.column {
            self.close(column);
        }
        if index > 0 {
            return;
        }
        // In the order of whole transactions a thread has one at a time: that of its oldest unit.
        if let Some(rest) = self.reach.ordered_column(slot) {
            self.close(rest);
        }
        let Some(&oldest) = self.reach.threads[slot.index()].units.first() else { return };
        let extent = Extent::Unit(oldest.unit);
        let checks = if oldest.column.is_some() { Checks::Together } else { Checks::Both };
        let column = self.reach.open(slot, oldest.site, extent, self.now + 1, checks);
        self.reach.threads[slot.index()].units[0].column.get_or_insert(column);
    }

    /// Outside units, the time in which a thread holds a lock is a transaction of its own, unless lock order counts.
    pub(super) fn settle_section(&mut self, slot: Slot, event: &Event, lock: Option<LockId>) {
        let thread = &mut self.reach.threads[slot.index()];
        let wanted = !self.lock_conflicts && thread.units.is_empty() && !thread.held.is_free();
        match (wanted, thread.section) {
            (true, None) => {
                let lock = lock.or(thread.held.first());
                let extent = Extent::Section(lock.unwrap_or_default());
                let column = self.reach.open(slot, event.site, extent, self.now + 1, Checks::Both);
                self.reach.threads[slot.index()].section = Some(column);
            }
            (false, Some(section)) => {
                thread.section = None;
                self.close(section);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The thread is over, or nobody knows what it holds and where it is.
    pub(super) fn forget_open(&mut self, slot: Slot) {
        let thread = &mut self.reach.threads[slot.index()];
        thread.section = None;
        thread.units.clear();
        thread.held = Holds::default();
        thread.arms.clear();
        thread.speculating = 0;
        // Youngest first, so that an inner unit is still inside the outer one.
        while let Some(&column) = self.reach.threads[slot.index()].columns.last() {
            self.close(column);
        }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        self.reach.sizes()
    }
}
