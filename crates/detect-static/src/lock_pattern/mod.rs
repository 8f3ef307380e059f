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

use program::ir::Body;
use program::{Program, Sections};

use crate::{Check, Checked, Detector};
use state::Witness;

pub(crate) const DETECTOR: Detector = Detector {
    name: "lock-pattern",
    summary: "a lock let go and taken again while another lock is held",
    default: true,
    check: Check::Methods(check),
};

fn check(program: &Program) -> Checked {
    let mut checked = Checked::default();
    let found = program.visit_bodies(
        |method| program.may_lock(method),
        |_, body| {
            let sections = Sections::of(&body, program);
            // A context and a witness: one section cannot have the pattern.
            if sections.iter().len() < 2 {
                return Vec::new();
            }
            let witnesses = one_per_place(&body, &sections, rules::witnesses(&body, &sections));
            witnesses.iter().map(|witness| explain::explain(program, &body, &sections, witness)).collect()
        },
    );
    for found in found {
        match found {
            Ok(findings) => checked.findings.extend(findings),
            Err(unreadable) => checked.unreadable.push(unreadable),
        }
    }
    checked
}

/// One witness for each lock and line where it is taken the second time: the one with the earliest first section.
/// Compilers copy `finally` blocks, so one line may be several places in the code.
fn one_per_place(body: &Body, sections: &Sections, mut witnesses: Vec<Witness>) -> Vec<Witness> {
    let site = |section| explain::start(body, sections.get(section));
    let key = |witness: &Witness| {
        let second = site(witness.twice.second);
        (second.line.unwrap_or(second.pc), site(witness.twice.first).pc, second.pc, witness.context)
    };
    witnesses.sort_by_key(key);
    let mut kept: Vec<Witness> = Vec::new();
    for witness in witnesses {
        let (line, lock) = (key(&witness).0, &sections.get(witness.twice.second).lock);
        let is_told = |told: &Witness| key(told).0 == line && sections.get(told.twice.second).lock == *lock;
        if !kept.iter().any(is_told) {
            kept.push(witness);
        }
    }
    kept
}
