//! The whole program, as detectors see it: classes, methods with their code in register form, locks and sections.
//!
//! Knows nothing of detectors, and does no IO: classes come in as bytes.

pub mod ir;
pub mod jdk;
pub mod model;
pub mod outline;
pub mod sharing;
pub mod summary;
pub mod thread;

mod annotation;
mod apart;
mod atomic;
mod behind;
mod bodies;
mod calls;
mod class;
mod control;
mod cover;
mod dependencies;
mod derived;
mod getter;
mod given;
mod guard;
mod held;
mod hierarchy;
mod keyed;
mod known;
mod latch;
mod library;
mod load;
mod lock;
mod outlines;
mod owned;
mod path;
mod readable;
mod reflection;
mod release;
mod section;
mod show;
mod texts;
mod turns;
mod values;
mod variable;
mod whole;
mod wrapper;

pub use annotation::{Annotations, Guard, Mark};
pub use calls::{CallGraph, Calls, MAX_TARGETS, Targets};
pub use class::{ClassId, FieldId, MethodId, Program, Unreadable};
pub use control::{ControlDependence, Dependence};
pub use cover::Cover;
pub use dependencies::show_graph;
pub use guard::{Guarding, Guards, show_guards};
pub use held::{HeldLock, Relation, locks};
pub use hierarchy::Hierarchy;
pub use known::{Finder, Known, Platform};
pub use lock::{LockKind, Mode};
pub use outlines::{OutlineCache, Outlines};
pub use owned::Owned;
pub use path::{MAX_STEPS, Path, Paths, Root, Step};
pub use readable::Readable;
pub use release::Release;
pub use section::{Held, Problem, Section, SectionId, SectionKind, Sections};
pub use show::{show_method, show_problems, show_summary};
pub use variable::{Place, Variable, Variables};
pub use whole::{Ground, Settings, Whole};
