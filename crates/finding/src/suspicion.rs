//! Questions to a run.

use location::{MethodPlace, Place};

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
    /// What a run shows that comes close and goes another way.
    pub detour: Detour,
}

/// A run may come close to a unit and not begin it, since a branch went another way. Empty if nobody is to be asked.
#[derive(Clone, Default, Debug)]
pub struct Detour {
    /// Methods whose code leads to the unit, the one that has it among them: whoever ran one of them, and neither part,
    /// could have come to it.
    pub approaches: Vec<MethodPlace>,
    /// Where any code accesses the variables of the first part.
    pub touches: Vec<Place>,
    /// Those of them that read, in a method that writes the same on another branch or later: whoever was there could have
    /// written.
    pub rewrites: Vec<Place>,
    /// Where these methods access something of which each object that the unit is about has one for good: whoever accesses
    /// the same there has the same object.
    pub witnesses: Vec<Place>,
    /// Whether the first part writes.
    pub is_write: bool,
}
