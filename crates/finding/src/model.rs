//! A finding and its parts.

use std::collections::BTreeSet;

use location::{MethodPlace, Place};

use crate::Rule;

/// How much stands behind a finding, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Evidence {
    /// The code has the shape.
    Pattern,
    /// Some reordering of a run that happened breaks it.
    Predicted,
    /// The run itself was not serializable.
    Observed,
    /// A run was steered into the interleaving, and it broke.
    Confirmed,
}

impl Evidence {
    pub fn id(self) -> &'static str {
        match self {
            Evidence::Pattern => "pattern",
            Evidence::Predicted => "predicted",
            Evidence::Observed => "observed",
            Evidence::Confirmed => "confirmed",
        }
    }
}

/// How bad it is if the finding is right, mildest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Questionable style: nothing breaks today.
    Note,
    /// May break.
    Warning,
    /// Breaks shared data.
    Error,
}

impl Severity {
    pub fn id(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A thread as a report names it. `A` runs the code that ought to be atomic, `B` gets in between.
/// A run's own threads have their names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thread(pub String);

impl Thread {
    pub fn a() -> Thread {
        Thread("A".to_owned())
    }

    pub fn b() -> Thread {
        Thread("B".to_owned())
    }
}

/// One numbered piece of evidence.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    /// From 1, in the order in which the finding tells them. The same number stands in text, table and file formats.
    pub number: u32,
    pub thread: Thread,
    /// `None` where no real site is known, as for "any other thread that locks `point`".
    pub place: Option<Place>,
    /// What happens, lower case, names in backticks: "`balance` read under `lock`".
    pub what: String,
    /// Whether it ran, as against seen in the code or speculated.
    pub ran: bool,
    /// Who called, from the innermost caller outwards. Empty where no stack was recorded.
    pub callers: Vec<Place>,
}

/// The two sections of the method that ought to be atomic, by where each begins.
/// Findings of different detectors that name the same pair are one finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SectionPair {
    pub first: Place,
    pub second: Place,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    pub evidence: Evidence,
    /// At most the rule's own, lower where the detector knows better.
    pub severity: Severity,
    /// Names of the detectors that found it.
    pub detectors: BTreeSet<&'static str>,
    /// The headline: lower case, no full stop, steps by number.
    pub message: String,
    /// The method that ought to be atomic.
    pub method: MethodPlace,
    /// `pkg.Foo.field`, sorted.
    pub variables: BTreeSet<String>,
    /// Lock expressions as source has them: `this.lock`, sorted.
    pub locks: BTreeSet<String>,
    pub steps: Vec<Step>,
    /// Numbers of steps in an order that breaks.
    pub interleaving: Vec<u32>,
    /// What to do, lower case, no full stop.
    pub fix: String,
    /// How often it was seen; 1 for a static finding.
    pub count: u64,
    /// How often what ought to be atomic was carried out, if the run was asked; 0 if not.
    pub executions: u64,
    pub sections: Option<SectionPair>,
}

impl Finding {
    /// What the code alone suspects, with nothing told yet but the message.
    pub fn suspected(rule: &'static Rule, detector: &'static str, method: MethodPlace, message: String) -> Finding {
        Finding {
            rule,
            evidence: Evidence::Pattern,
            severity: rule.severity,
            detectors: BTreeSet::from([detector]),
            message,
            method,
            variables: BTreeSet::new(),
            locks: BTreeSet::new(),
            steps: Vec::new(),
            interleaving: Vec::new(),
            fix: String::new(),
            count: 1,
            executions: 0,
            sections: None,
        }
    }

    /// The first step's place, else the method's: where a report points.
    pub fn place(&self) -> Option<&Place> {
        self.steps.iter().find_map(|step| step.place.as_ref())
    }
}
