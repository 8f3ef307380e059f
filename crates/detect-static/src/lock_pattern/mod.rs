//! Lock pattern: a lock is taken, let go and taken again while another lock is held.
//!
//! Whoever holds the outer lock, the *context*, means the whole to be atomic. The inner lock, the *witness*, is let go
//! in between, and whoever takes only that one can change what it guards. Context and takings may be in different methods.
//!
//! Reports: `reacquired-lock`, one for each place where a witness is taken the second time.
//! Misses: locks that have no name (see `program::Path`); sections many calls away; two locks that guard one thing.
//! May be wrong when: the two sections have nothing to do with each other, though they touch the same data.
//! Method: a static analysis for automatic detection of atomicity violations in Java programs. R, T and P are in `rules`,
//! LOCKSHELD and what is carried up the calls in `analysis`; `Options::paper` leaves it at that.
//! Departs from it: sections of `java.util.concurrent` locks, and operations of objects that synchronize themselves,
//! count; an assignment inside a block or a callee counts after it, too; `judge` drops what nobody can break.
//! Page: docs/rules/reacquired-lock.md

mod analysis;
mod explain;
mod feasible;
mod judge;
mod local;
mod name;
#[cfg(test)]
mod oracle;
mod owner;
mod prepare;
mod protection;
mod receiver;
mod relation;
mod relevant;
mod results;
mod rules;
mod sides;
mod skeleton;
mod sources;
mod state;
mod stores;
mod summary;
mod ties;

use program::Ground;

use crate::{Check, Checked, Detector, Rest};
use analysis::{Analysis, Skeletons};

pub(crate) const DETECTOR: Detector = Detector {
    name: "lock-pattern",
    summary: "a lock let go and taken again while another lock is held",
    default: true,
    check: Check::Ground(check),
};

/// How the pattern is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// As the paper has it, without anything that this detector adds.
    pub paper: bool,
    /// Any two locks that are taken one after the other, not only one lock twice.
    pub variant: bool,
}

fn check<'g>(ground: &'g Ground<'g>, options: &'g crate::Options) -> Rest<'g> {
    let program = ground.program;
    let skeletons = Skeletons::of(ground, options.lock_pattern);
    // Threads are asked for wherever there may be something to tell. They are found before the rest, beside which summaries
    // are made: those ask for threads, too, and a core that waits for them does nothing else.
    let needs_threads = !options.lock_pattern.paper && program.methods().any(|method| program.may_lock(method));
    let (analysis, ()) = rayon::join(
        || Analysis::of(ground, options.lock_pattern, skeletons),
        || {
            if needs_threads {
                ground.threads();
            }
        },
    );
    Box::new(move || {
        let findings = judge::findings(&analysis, ground, options);
        Checked { findings, unreadable: analysis.unreadable }
    })
}
