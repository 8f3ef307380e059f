//! Questions to a run.

use location::Place;

use crate::{Evidence, Finding};

/// Two parts of one method that ought to be atomic together: whether they may not be, a run can tell.
#[derive(Clone, Debug)]
pub struct Suspicion {
    /// What is said if a run supports it. Its method is the one whose activation has both parts.
    pub finding: Finding,
    /// Accesses of the first part, wherever their code is.
    pub first: Vec<Place>,
    /// Accesses of the second part.
    pub second: Vec<Place>,
    /// Whether it is told without a run. If not, the run must show more.
    pub is_told: bool,
    /// The evidence that it needs to be told after a run.
    pub least: Evidence,
    /// Whether the second part writes the very variable that the first one reads.
    pub is_one_variable: bool,
    /// Whether a part runs as a task of its own, in whatever thread.
    pub is_split: bool,
}
