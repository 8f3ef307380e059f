//! What is wrong with a trace: errors that leave nothing to analyse, and problems that cost a part of it.

use std::fmt;
use std::io;

/// The trace cannot be used at all.
#[derive(Debug)]
pub enum TraceError {
    Io(io::Error),
    /// Neither form: says what the input starts with.
    Foreign(String),
    /// Written by a newer version.
    Newer {
        found: u16,
        known: u16,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io(error) => write!(f, "cannot read the trace: {error}"),
            TraceError::Foreign(what) => write!(f, "not a trace: {what}"),
            TraceError::Newer { found, known } => write!(
                f,
                "the trace has format {found}, and this version reads formats up to {known}: use a newer fissure"
            ),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TraceError::Io(error) => Some(error),
            TraceError::Foreign(_) | TraceError::Newer { .. } => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> TraceError {
        TraceError::Io(error)
    }
}

/// One thing that was wrong, where it was, and what it cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Lower case, no full stop: "line 7: `aqc(l)` is no known operation".
    pub message: String,
}

/// All that was wrong. The first ones are kept with their text, the rest are counted.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    listed: Vec<Problem>,
    count: u64,
    lost_events: u64,
}

impl Problems {
    /// A broken file can have a problem in every line, and nobody reads the thousandth.
    const LISTED: usize = 20;

    pub(crate) fn add(&mut self, message: String) {
        self.count += 1;
        if self.listed.len() < Problems::LISTED {
            self.listed.push(Problem { message });
        }
    }

    pub(crate) fn lose(&mut self, events: u64) {
        self.lost_events = self.lost_events.saturating_add(events);
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn listed(&self) -> &[Problem] {
        &self.listed
    }

    /// All of them, those without a text included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many events are known to be missing.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }
}
