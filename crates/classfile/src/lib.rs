//! Class files: from bytes and archives to classes with decoded instructions.
//!
//! Knows nothing of analyses. Does no IO of its own: the command opens files and hands in readers.

pub mod archive;
mod source;

pub use source::{ClassSource, Skipped};
