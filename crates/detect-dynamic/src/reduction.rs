//! Reduction: units whose steps cannot be moved together, whatever this run did.
//!
//! A unit is atomic if its steps are first such that may be put off until later (taking a lock), then at most one that
//! may not be moved at all, then such that may be done earlier (letting a lock go); accesses to data that a lock guards
//! may be moved either way. The detector infers which locks guard what from the run, and follows each open unit through
//! its two phases, before and after its commit point.
//!
//! Reports: `not-atomic`, for each unit with a step that does not fit, once per execution; its entry, its commit point
//! and the step.
//! Misses: units that are only disturbed through data that looked unshared when they ran: see [`Refinement`].
//! May be wrong when: the unit is not meant to be atomic; order comes from something other than locks; a disturbance
//! would change nothing that anybody sees.
//! Method: Flanagan and Freund, "Atomizer: a dynamic atomicity checker for multithreaded programs", 2004.
//! Departs from it: a variable that loses its lock while a unit is open has the unit's earlier accesses judged again,
//! unless `paper` is set; a lock has two modes; start, join, barriers and `wait` divide a unit.
//! Page: docs/rules/not-atomic.md

mod blocks;
mod chains;
mod explain;
mod rules;
mod state;

#[cfg(test)]
mod tests;

use finding::Finding;
use trace::{Event, Tables};

use crate::{Assumed, Detector, DetectorKind, Options};
use explain::Told;
use rules::Engine;

pub(crate) const REDUCTION: DetectorKind = DetectorKind {
    id: "reduction",
    summary: "units whose steps cannot be moved together past those of other threads",
    default: true,
    start: |options| Box::new(Reduction::new(options)),
};

/// What takes warnings away, each on its own account.
///
/// The sharing states, and those of locks, give up soundness: what looked unshared may be shared later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Refinement {
    /// Taking a lock that the thread holds already is no step at all.
    ReentrantLocks,
    /// A lock that only one thread has taken so far guards against nobody.
    ThreadLocalLocks,
    /// The same after the lock was handed over to a second thread.
    HandedOverLocks,
    /// A lock that is only taken under another one is as good as not there.
    ProtectedLocks,
    /// A read needs only a lock that all writers hold.
    WriteProtectedData,
    /// Data is unshared, handed over, or only read, until it is not.
    SharingStates,
}

impl Refinement {
    /// In the order in which the paper adds them; the sharing states, which it always has, last.
    pub const ALL: &[Refinement] = &[
        Refinement::ReentrantLocks,
        Refinement::ThreadLocalLocks,
        Refinement::HandedOverLocks,
        Refinement::ProtectedLocks,
        Refinement::WriteProtectedData,
        Refinement::SharingStates,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Refinement::ReentrantLocks => "reentrant-locks",
            Refinement::ThreadLocalLocks => "thread-local-locks",
            Refinement::HandedOverLocks => "handed-over-locks",
            Refinement::ProtectedLocks => "protected-locks",
            Refinement::WriteProtectedData => "write-protected-data",
            Refinement::SharingStates => "sharing-states",
        }
    }
}

/// Refinements that are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Without(u8);

impl Without {
    #[must_use]
    pub fn and(self, refinement: Refinement) -> Without {
        Without(self.0 | 1 << refinement as u8)
    }

    pub fn contains(self, refinement: Refinement) -> bool {
        self.0 >> refinement as u8 & 1 != 0
    }
}

pub(crate) struct Reduction {
    engine: Engine,
    told: Told,
}

impl Reduction {
    pub(crate) fn new(options: &Options) -> Reduction {
        Reduction { engine: Engine::new(options), told: Told::default() }
    }
}

impl Detector for Reduction {
    fn on_event(&mut self, event: &Event) {
        self.engine.on_event(event);
        if !self.engine.warnings.is_empty() {
            self.told.take(&mut self.engine.warnings);
        }
    }

    fn fetch(&self, events: &[Event]) {
        self.engine.fetch(events);
    }

    fn assume(&mut self, assumed: Assumed) {
        self.engine.assume(assumed);
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Vec<Finding> {
        self.told.explain(&self.engine.chains, tables)
    }
}
