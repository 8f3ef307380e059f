//! Stale values: what was read in one section decides or becomes what another section on the same lock writes.
//!
//! Inside a section shared data is current; once the lock has been let go, a copy of it may be old. Where the copy, or
//! a decision made with it, then reaches a write under the same lock, another thread's change in between is lost or
//! overlooked.
//!
//! Reports: `stale-value` where the old value flows into what is written, `check-then-act` where it only decides
//! whether something is written.
//! Misses: values that only reach other reads; values that pass through objects without a name; sections more than a
//! few calls away.
//! May be wrong when: the threads that could interfere never run at the same time.
//! Method: detecting stale values by data flow, one section at a time; departs from it by reporting only what reaches
//! a write in a later section on the same lock, and only data that somebody else writes.
//! Page: docs/rules/stale-value.md, docs/rules/check-then-act.md

mod contention;
mod explain;
mod idioms;
mod rules;

use program::Whole;
use rayon::prelude::*;

use crate::{Check, Checked, Detector};

pub(crate) const DETECTOR: Detector = Detector {
    name: "stale-values",
    summary: "a value read in one section decides or becomes what a later one on the same lock writes",
    default: true,
    check: Check::Whole(check),
};

fn check(whole: &Whole<'_>) -> Checked {
    let methods: Vec<_> = whole.program.methods().collect();
    let findings = methods
        .par_iter()
        .flat_map_iter(|method| {
            rules::stale_uses(whole, *method).into_iter().map(|stale| explain::explain(whole, *method, &stale))
        })
        .collect();
    Checked { findings, unreadable: Vec::new() }
}
