//! Serializability: what a run really did, judged exactly.
//!
//! Reports: every transaction into whose midst another thread got, so that no order of whole transactions gives the same
//! result; and every cycle of transactions in which none was violated on its own, as one joint finding.
//! A transaction is a unit of the trace; outside units, the time in which a thread holds a lock; else a lone access.
//! Order comes from conflicting accesses, program order, start, join and barriers, and with `lock_conflicts` from every
//! release to the next acquire, in which case sections outside units are no transactions, as the literature has it.
//! Misses: whatever did not happen in this run. Of several joint cycles that one event closes it tells one. If it may look
//! at the run but once, that one can lead through a transaction that is reported on its own, and none is told.
//! May be wrong when: a unit is not meant to be atomic, or the trace lacks events.
//! Method: after Farzan and Madhusudan, "Monitoring atomicity in concurrent programs", 2008, who showed that a state
//! bounded by threads and variables is enough. Ours keeps, for each open transaction, the first event of each thread
//! that it reaches; nothing is swept when a transaction ends, and no variable has a clock.
//! Page: docs/rules/not-serializable.md, docs/rules/not-serializable-together.md

mod accesses;
mod explain;
mod left_out;
mod paths;
mod reach;
mod rules;
mod state;
mod transactions;
mod variables;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use finding::Finding;
use trace::{Event, Tables};

use crate::{Detector, DetectorKind, Options};
use explain::Told;
#[cfg(test)]
pub(crate) use oracle::Oracle;
use rules::Engine;

pub(crate) const SERIALIZABILITY: DetectorKind = DetectorKind {
    id: "serializability",
    summary: "transactions of the run that no order of whole transactions explains",
    default: true,
    start: |options| Box::new(Serializability::new(options)),
};

pub(crate) struct Serializability {
    engine: Engine,
    told: Told,
}

impl Serializability {
    pub(crate) fn new(options: &Options) -> Serializability {
        Serializability { engine: Engine::new(options.lock_conflicts), told: Told::default() }
    }
}

impl Detector for Serializability {
    fn on_event(&mut self, event: &Event) {
        self.engine.on_event(event);
        if !self.engine.verdicts.is_empty() {
            self.told.take(&mut self.engine.verdicts);
        }
    }

    fn look_again(&mut self) -> bool {
        self.engine.finish();
        self.told.take(&mut self.engine.verdicts);
        if !self.told.has_alone() {
            return false;
        }
        let engine = std::mem::replace(&mut self.engine, Engine::new(false));
        self.engine = engine.look_again();
        self.told.forget_together();
        true
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Vec<Finding> {
        self.engine.finish();
        self.told.take(&mut self.engine.verdicts);
        self.told.explain(tables)
    }
}
