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
mod around;
mod culprits;
mod explain;
mod judge;
mod local;
mod name;
#[cfg(test)]
mod oracle;
mod others;
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
mod standing;
mod state;
mod stores;
mod summary;
mod ties;

use std::sync::OnceLock;

use program::Ground;

use crate::{Beside, Check, Checked, Detector};
use analysis::{Analysis, Skeletons};
pub(crate) use name::narrower;

pub(crate) const DETECTOR: Detector = Detector {
    name: "lock-pattern",
    summary: "a lock let go and taken again while another lock is held; of large programs only if asked",
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
    /// Tell of large programs, too, what stands out there: somebody asks for this detector by its name.
    pub is_asked: bool,
}

fn check(ground: &Ground<'_>, options: &crate::Options, beside: Beside<'_>) -> Checked {
    let program = ground.program;
    let Options { paper, variant, is_asked } = options.lock_pattern;
    if ground.is_narrow() && !(options.notes || paper || variant || is_asked) {
        beside();
        return Checked::default();
    }
    let skeletons = Skeletons::of(ground, options.lock_pattern);
    // Threads are asked for wherever there may be something to tell; most of the way to them is for one core.
    let needs_threads = !paper && program.methods().any(|method| program.may_lock(method));
    let analysis = OnceLock::new();
    let (looked, ()) = rayon::join(
        || judge::look(analysis.get_or_init(|| Analysis::of(ground, options.lock_pattern, skeletons)), ground, options),
        || {
            if needs_threads {
                ground.threads();
            }
        },
    );
    let (findings, ()) = rayon::join(|| judge::findings(looked, ground, options), beside);
    Checked { findings, unreadable: analysis.into_inner().map(|analysis| analysis.unreadable).unwrap_or_default() }
}
