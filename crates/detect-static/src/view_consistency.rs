//! View consistency: the property that causal views refine, as a baseline to compare with.
//!
//! What one section touches belongs together; another process's sections must touch it in pieces that lie one inside the
//! other. Reads and writes count alike, values are not followed, and objects are told apart by class alone.
//!
//! Reports: `torn-read` and `torn-write`.
//! Misses: stale values; whatever is consistent by accident.
//! May be wrong when: what is touched in pieces is never put together.
//! Method: high-level data races by views, as first published.
//! Page: docs/rules/torn-read.md, docs/rules/torn-write.md

use program::Whole;

use crate::causal_views::{paper, tell};
use crate::{Check, Checked, Detector, Options};

pub(crate) const DETECTOR: Detector = Detector {
    name: "view-consistency",
    summary: "what one section touches as a whole is touched in two pieces; a baseline, with many false findings",
    default: false,
    check: Check::Whole(check),
};

fn check(whole: &Whole<'_>, _: &Options) -> Checked {
    let views = paper::views(whole);
    let races = paper::inconsistencies(whole, &views);
    let findings = races.iter().map(|race| tell::race(whole, DETECTOR.name, &views, race)).collect();
    Checked { findings, unreadable: Vec::new() }
}
