//! Lock pattern: a lock is taken, let go and taken again while another lock is held.
//!
//! Whoever holds the outer lock, the *context*, means the whole to be atomic. The inner lock, the *witness*, is let go
//! in between, and whoever takes only that one can change what it guards.
//!
//! Reports: `reacquired-lock`, one for each place where a witness is taken the second time.
//! Misses: sections in called methods; locks that have no name here (see `program::Path`).
//! May be wrong when: the two sections have nothing to do with each other, or the witness is never taken without the
//! context.
//! Method: a static analysis for automatic detection of atomicity violations in Java programs, inside one method.
//! Departs from it: sections of `java.util.concurrent` locks count like monitors; an assignment inside a block counts
//! after it, too.
//! Page: docs/rules/reacquired-lock.md

mod explain;
mod rules;
mod state;

use finding::Finding;
use program::{Program, Sections};

use crate::Detector;

pub(crate) const DETECTOR: Detector = Detector {
    name: "lock-pattern",
    summary: "a lock let go and taken again while another lock is held",
    default: true,
    check,
};

fn check(program: &Program) -> Vec<Finding> {
    let found = program.visit_bodies(
        |method| program.may_lock(method),
        |_, body| {
            let sections = Sections::of(&body, program);
            // A context and a witness taken at least once: fewer sections cannot have the pattern.
            if sections.iter().len() < 2 {
                return Vec::new();
            }
            let witnesses = rules::witnesses(&body, &sections);
            witnesses.iter().map(|witness| explain::explain(program, &body, &sections, witness)).collect()
        },
    );
    found.into_iter().flatten().flatten().collect()
}
