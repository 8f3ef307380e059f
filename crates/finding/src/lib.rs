//! What a detector says: a rule that is broken, the steps that break it, an interleaving, the fix.
//!
//! One model for all detectors, static and dynamic. Knows nothing of how a finding was made nor of how it is shown.

mod baseline;
mod fingerprint;
mod merge;
mod model;
mod rule;
mod suspicion;

pub use baseline::{Baseline, Divided, NoBaseline};
pub use merge::merge;
pub use model::{Evidence, Finding, SectionPair, Severity, Step, Thread};
pub use rule::{RULES, Rule};
pub use suspicion::{Detour, Suspicion};

/// The rules by name, for detectors: `finding::rules::STALE_VALUE`.
pub mod rules {
    pub use crate::rule::{
        CHECK_THEN_ACT, NOT_ATOMIC, NOT_SERIALIZABLE, NOT_SERIALIZABLE_TOGETHER, REACQUIRED_LOCK, STALE_VALUE,
        SUPERFLUOUS_LOCK, TORN_READ, TORN_WRITE,
    };
}
