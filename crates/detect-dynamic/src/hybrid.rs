//! Hybrid: units that others can come in between, also on ways that the run did not take.
//!
//! Every transaction of the run is a tree: its accesses, with the sections and the arms of branches that they are in. What
//! arms hold that did not run, and that a recorder filled in from the code, counts like the rest and is marked. The trees
//! of all threads are searched for an order of their steps, whichever the run had, that no order of whole units explains.
//!
//! Reports: `not-atomic`, for each unit that others can get into the midst of; `not-serializable-together`, for two units
//! of which neither can be disturbed on its own and that have no order together. Where others may run is settled by start,
//! join and barriers, by locks that are held all the time, and by arms that exclude each other; nothing else.
//! Misses: what needs more than four other threads; two units that have no order only by way of a third; what the recorder left out.
//! Of what is alike in one unit (accesses of one kind to a variable in the same sections, sections and branches at one
//! place, as in a loop) the first two stand on their own, and the second one for all that follow.
//! May be wrong when: the unit is not meant to be atomic; something other than locks, start, join and barriers keeps threads
//! apart; a branch that did not run could not have run. With three threads and more, it may take for granted that a
//! thread can let go of a lock that another one on the way needs.
//! Method: Chen, Wang, Yang and Stoller, "HAVE: detecting atomicity violations via integrated dynamic and static analysis",
//! 2009. Departs from it: the search goes along the order inside the other threads, and over all their units; locks count
//! where they are held throughout. With `paper` it does as the paper does. Without what did not run it is `commit-nodes`.
//! Page: docs/rules/not-atomic.md, docs/rules/not-serializable-together.md

mod deadlock;
mod engine;
mod explain;
mod forest;
mod index;
mod open;
mod paper;
mod search;
mod skew;
mod threads;
mod tree;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod tests;

use finding::Finding;
use trace::{Event, Tables};

use crate::{Assumed, COMMIT_NODES, Detector, DetectorKind};
use engine::{Engine, Manner};
use explain::Told;

pub(crate) const HYBRID: DetectorKind = DetectorKind {
    id: "hybrid",
    summary: "units that other threads can get into the midst of, also on ways that the run did not take",
    default: true,
    start: |options| Box::new(Hybrid::new(HYBRID.id, Manner::new(options, true))),
};

/// The same of what ran and nothing else. It goes by the name of what judges suspicions, whose rule it has.
pub(crate) const PURELY_DYNAMIC: DetectorKind = DetectorKind {
    id: COMMIT_NODES,
    summary: "the same as `hybrid` without what did not run, to compare with",
    default: false,
    start: |options| Box::new(Hybrid::new(COMMIT_NODES, Manner::new(options, false))),
};

pub(crate) struct Hybrid {
    id: &'static str,
    engine: Engine,
    told: Told,
    is_over: bool,
}

impl Hybrid {
    fn new(id: &'static str, manner: Manner) -> Hybrid {
        Hybrid { id, engine: Engine::new(manner), told: Told::default(), is_over: false }
    }
}

impl Detector for Hybrid {
    fn on_event(&mut self, event: &Event) {
        self.engine.on_event(event);
        if !self.engine.violations.is_empty() {
            self.told.take(&mut self.engine.violations);
        }
    }

    fn assume(&mut self, assumed: Assumed) {
        self.engine.assume(assumed);
    }

    fn conclude(&mut self, tables: &Tables) -> Vec<String> {
        if std::mem::replace(&mut self.is_over, true) {
            return Vec::new();
        }
        self.engine.finish();
        self.told.take(&mut self.engine.violations);
        let circle = self.engine.circle();
        let is_cut = self.engine.lock_order.is_cut;
        explain::remarks(self.id, self.engine.given_up, circle.as_deref(), is_cut, tables)
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Vec<Finding> {
        self.conclude(tables);
        self.told.explain(self.id, tables)
    }
}
