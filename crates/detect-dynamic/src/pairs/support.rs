//! What in a run speaks for a suspicion.

use finding::Evidence;
use trace::ThreadId;

use super::Pairs;
use super::records::{Access, Index, Record};
use super::seen::Unit;
use crate::clock::{Clock, Clocks};
use crate::lockset::LockSets;

/// Why a suspicion is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Support {
    pub(super) unit: Unit,
    pub(super) other: ThreadId,
    /// What came, or can come, after the first access.
    pub(super) after: Access,
    /// What came, or can come, before the second. The same, if one access conflicts with both.
    pub(super) before: Option<Access>,
    pub(super) evidence: Evidence,
    pub(super) how: How,
}

/// What the other thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// What conflicts with the unit.
    Conflicts,
    /// The first part of the same unit.
    Begins,
    /// The same method, with the same lock.
    Runs,
    /// It came near the same unit.
    Comes,
    /// It read the variable where the code may write it.
    Might,
}

impl Support {
    /// The more, the better.
    pub(super) fn rank(&self) -> (Evidence, bool) {
        (self.evidence, self.unit.has_run)
    }
}

impl Support {
    /// Whether it stands with all that is known of who waited for whom, which may come later.
    pub(super) fn is_possible(&self, clocks: &Clocks) -> bool {
        !are_apart(&self.unit, self.other, self.after.clock, clocks)
    }
}

impl Pairs {
    /// Whether another thread came, or can come, in between.
    pub(super) fn support(&self, unit: &Unit, suspicion: usize) -> Option<Support> {
        let is_told = self.suspicions[suspicion].is_told;
        let found = self.conflict(unit, is_told);
        if is_told { found.or_else(|| self.rival(unit, suspicion)) } else { found }
    }

    /// Another thread that began the same unit on the same variable, or at least took the same lock in the same method. It
    /// did not get to its second part in this run, as where a room is full by then; the code says what that would have
    /// been.
    fn rival(&self, unit: &Unit, suspicion: usize) -> Option<Support> {
        if unit.first.variable != unit.second.variable || !unit.second.writes {
            return None;
        }
        let seen = &self.seen[suspicion];
        let free = |record: &&Record| is_free(unit, record, &self.clocks, &self.sets);
        // Whoever began on the variable also accessed it.
        let is_guarded = self.sets.intersect(unit.held.any, self.index.guard(unit.first.variable));
        let begun = if is_guarded { &[] } else { seen.begun(unit.first.variable) };
        let begins = || begun.iter().find(free).map(|record| (How::Begins, record));
        let runs = || {
            let locks = if unit.first.is_part { &[] } else { self.sets.locks(unit.locks) };
            // Who takes a lock that is held throughout is kept out by it.
            let throughout = self.sets.locks(unit.held.alone);
            let mut locks = locks.iter().filter(|lock| !throughout.contains(lock));
            locks.find_map(|lock| seen.taken(*lock).iter().find(free)).map(|record| (How::Runs, record))
        };
        let (how, record) = begins().or_else(runs)?;
        let evidence = Evidence::Predicted;
        Some(Support { unit: *unit, other: record.thread, after: record.first, before: None, evidence, how })
    }

    /// Another thread that was where the variable is written on a branch which it did not take.
    pub(super) fn rewriter(&self, unit: &Unit, suspicion: usize) -> Option<Support> {
        if unit.first.writes || !self.suspicions[suspicion].is_told {
            return None;
        }
        let mut records = self.seen[suspicion].might_write(unit.first.variable).iter();
        let record = records.find(|record| is_free(unit, record, &self.clocks, &self.sets))?;
        let (after, evidence, how) = (record.first, Evidence::Predicted, How::Might);
        Some(Support { unit: *unit, other: record.thread, after, before: None, evidence, how })
    }

    pub(super) fn conflict(&self, unit: &Unit, is_told: bool) -> Option<Support> {
        // Where all keep to one lock, nobody needs to be looked at.
        if self.sets.intersect(unit.held.any, self.index.guard(unit.first.variable)) {
            return None;
        }
        let mut best: Option<Support> = None;
        for after in self.index.of(unit.first.variable) {
            if !is_free(unit, after, &self.clocks, &self.sets) {
                continue;
            }
            for after_access in [after.first, after.last] {
                if !unit.first.conflicts(&after_access) {
                    continue;
                }
                let before = if unit.second.conflicts(&after_access) {
                    Some(after_access)
                } else {
                    closing(unit, after, &after_access, &self.index, &self.clocks, &self.sets)
                };
                if before.is_none() && !is_told {
                    continue;
                }
                let observed = unit.has_run
                    && before
                        .is_some_and(|before| unit.first.is_before(&after_access) && before.is_before(&unit.second));
                let evidence = if observed { Evidence::Observed } else { Evidence::Predicted };
                let (other, how) = (after.thread, How::Conflicts);
                let support = Support { unit: *unit, other, after: after_access, before, evidence, how };
                if best.is_none_or(|best| best.evidence < evidence) {
                    best = Some(support);
                }
            }
        }
        best
    }
}

/// Whether accesses of a record can be put between the two of a unit.
pub(super) fn is_free(unit: &Unit, record: &Record, clocks: &Clocks, sets: &LockSets) -> bool {
    record.thread != unit.thread
        && record.thread != unit.last_thread
        && !clocks.is_before(record.thread, record.first.clock, unit.first.clock)
        && !clocks.is_before(unit.last_thread, unit.second.clock, record.first.clock)
        && !are_apart(unit, record.thread, record.first.clock, clocks)
        && !unit.held.excludes(record.held, sets)
}

/// Whether one of the two surely waited while the other acted for all at a meeting.
fn are_apart(unit: &Unit, thread: ThreadId, clock: Clock, clocks: &Clocks) -> bool {
    clocks.waits(unit.thread, clock)
        || clocks.waits(unit.last_thread, clock)
        || clocks.waits(thread, unit.first.clock)
        || clocks.waits(thread, unit.second.clock)
}

/// An access of the same thread, not before `after`, that the second access of the unit comes after.
fn closing(
    unit: &Unit,
    after: &Record,
    after_access: &Access,
    index: &Index,
    clocks: &Clocks,
    sets: &LockSets,
) -> Option<Access> {
    let mut found: Option<Access> = None;
    for record in index.of(unit.second.variable) {
        if record.thread != after.thread || !is_free(unit, record, clocks, sets) {
            continue;
        }
        for access in [record.first, record.last] {
            let fits = unit.second.conflicts(&access)
                && access.moment >= after_access.moment
                // Between two sections the thread may have taken a lock that is held over the whole unit.
                && (unit.held.any.is_empty() || access.section == after_access.section);
            if fits && found.is_none_or(|found| access.moment < found.moment) {
                found = Some(access);
            }
        }
    }
    found
}
