//! Units that a run came near and did not begin, since a branch went another way.
//!
//! A thread is in a method whose code leads to the unit, and accesses there what the first part of the unit would access:
//! so it has its hands on the very object. Both parts are filled in there. What was held when the method was entered, and
//! still is, would be held over the unit.

use trace::ThreadId;

use super::Pairs;
use super::records::{Access, Held, Span};
use super::seen::Unit;

/// What came near to one suspicion.
#[derive(Default)]
pub(super) struct Ways {
    /// Different ones.
    units: Vec<Unit>,
    /// How often it was looked at.
    looked: u32,
}

impl Ways {
    /// So many different ones are kept, ...
    const MOST_UNITS: usize = 32;
    /// ... and so often they are looked for: what came near a thousand times does so again.
    const MOST_LOOKS: u32 = 10_000;

    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter()
    }

    fn asks(&self) -> bool {
        self.units.len() < Ways::MOST_UNITS && self.looked < Ways::MOST_LOOKS
    }

    fn add(&mut self, unit: Unit) {
        let is_alike = |known: &Unit| {
            let of = |unit: &Unit| (unit.thread, unit.first.variable, unit.first.clock, unit.held);
            of(known) == of(&unit)
        };
        if !self.units.iter().any(is_alike) {
            self.units.push(unit);
        }
    }
}

impl Pairs {
    /// An access to what the first part of a suspicion accesses, perhaps in a method that leads to it.
    pub(super) fn touch(&mut self, thread: ThreadId, number: usize, access: Access) {
        if self.seen[number].has_begun() || !self.seen[number].ways.asks() {
            return;
        }
        let Some(own) = self.threads.get(thread.index()) else { return };
        let mut activations = own.activations.iter().rev();
        let Some(approach) = activations.find(|activation| activation.entered.leads_to.contains(&number)) else {
            return;
        };
        let (any, alone) = own.holds.ever_since(approach.stamps, &mut self.sets);
        let held = Held { any, alone };
        let suspicion = &self.suspicions[number];
        let is_write = suspicion.detour.is_write;
        let first = Access { writes: is_write, updates: false, span: Span::NONE, ..access };
        let second = Access { writes: is_write || suspicion.is_one_variable, ..first };
        let unit =
            Unit { thread, first, last_thread: thread, second, held, locks: any, has_run: false, has_begun: false };
        let ways = &mut self.seen[number].ways;
        ways.looked += 1;
        ways.add(unit);
    }

    /// At the end of a run: if nobody began a unit, asks whether somebody could have come in between on a way that was not
    /// taken.
    pub(super) fn go_other_ways(&mut self, number: usize) {
        if self.seen[number].has_begun() {
            return;
        }
        for unit in std::mem::take(&mut self.seen[number].ways).units {
            if let Some(support) = self.conflict(&unit, true) {
                self.seen[number].add(support);
            }
        }
    }
}
