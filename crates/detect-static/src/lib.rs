//! Static detectors: from a program to findings, one module per detector.
//!
//! A detector never prints, formats or reads files. It returns findings.

mod lock_pattern;
mod stale_values;
mod suspicion;

use std::cell::LazyCell;

use finding::{Finding, Suspicion};
use program::{Program, Settings, Unreadable, Whole};

/// One algorithm that looks for one or more rules.
pub struct Detector {
    /// What users write after `--detector`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Whether `check` runs it unless told otherwise.
    pub default: bool,
    check: Check,
}

/// What a detector looks at.
enum Check {
    /// One method at a time.
    Methods(fn(&Program) -> Checked),
    /// The whole program.
    Whole(fn(&Whole<'_>) -> Checked),
}

/// What came of a check.
#[derive(Default)]
pub struct Checked {
    pub findings: Vec<Finding>,
    /// Methods that could not be looked at, each once.
    pub unreadable: Vec<Unreadable>,
}

/// All detectors, in the order in which a newcomer should read them.
pub static DETECTORS: &[Detector] = &[stale_values::DETECTOR, lock_pattern::DETECTOR];

/// Runs the detectors and joins what they found into one finding per mistake, in report order.
pub fn check(program: &Program, detectors: &[&Detector]) -> Checked {
    check_with(program, detectors, Settings::default())
}

/// The same with other assumptions about the program.
pub fn check_with(program: &Program, detectors: &[&Detector], settings: Settings) -> Checked {
    run(program, detectors, &LazyCell::new(|| Whole::of(program, settings)))
}

/// A check, and what a run could say about it.
pub struct Suspected {
    pub checked: Checked,
    /// The findings of the check that a run can support, in their order.
    pub suspicions: Vec<Suspicion>,
}

/// Checks, and asks what a run would have to show.
pub fn suspect(program: &Program, detectors: &[&Detector], settings: Settings) -> Suspected {
    let whole = LazyCell::new(|| Whole::of(program, settings));
    let checked = run(program, detectors, &whole);
    let suspicions = checked.findings.iter().filter_map(|finding| suspicion::of(&whole, finding)).collect();
    Suspected { checked, suspicions }
}

fn run<'p>(
    program: &'p Program,
    detectors: &[&Detector],
    whole: &LazyCell<Whole<'p>, impl FnOnce() -> Whole<'p>>,
) -> Checked {
    let mut all = Checked::default();
    for detector in detectors {
        let checked = match detector.check {
            Check::Methods(check) => check(program),
            Check::Whole(check) => check(whole),
        };
        all.findings.extend(checked.findings);
        all.unreadable.extend(checked.unreadable);
    }
    all.findings = finding::merge(all.findings);
    all.unreadable.sort_by_key(|unreadable| unreadable.method);
    all.unreadable.dedup_by_key(|unreadable| unreadable.method);
    all
}
