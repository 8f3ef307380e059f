//! Static detectors: from a program to findings, one module per detector.
//!
//! A detector never prints, formats or reads files. It returns findings.

mod lock_pattern;

use finding::Finding;
use program::Program;

/// One algorithm that looks for one or more rules.
pub struct Detector {
    /// What users write after `--detector`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Whether `check` runs it unless told otherwise.
    pub default: bool,
    check: fn(&Program) -> Vec<Finding>,
}

/// All detectors, in the order in which a newcomer should read them.
pub static DETECTORS: &[Detector] = &[lock_pattern::DETECTOR];

/// Runs the detectors and joins what they found into one finding per mistake, in report order.
pub fn check(program: &Program, detectors: &[&Detector]) -> Vec<Finding> {
    finding::merge(detectors.iter().flat_map(|detector| (detector.check)(program)).collect())
}
