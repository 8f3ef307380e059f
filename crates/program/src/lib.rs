//! The whole program, as detectors see it: classes, methods with their code in register form, locks and sections.
//!
//! Knows nothing of detectors, and does no IO: classes come in as bytes.

pub mod ir;
pub mod outline;

mod calls;
mod class;
mod control;
mod derived;
mod hierarchy;
mod load;
mod lock;
mod path;
mod section;
mod show;

pub use calls::{CallGraph, Calls, MAX_TARGETS, Targets};
pub use class::{ClassId, FieldId, MethodId, Program, Unreadable};
pub use control::{ControlDependence, Dependence};
pub use hierarchy::Hierarchy;
pub use lock::{LockKind, Mode};
pub use path::{MAX_STEPS, Path, Paths, Root, Step};
pub use section::{Held, Problem, Section, SectionId, SectionKind, Sections};
pub use show::{show_method, show_problems};
