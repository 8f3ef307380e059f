//! Classes that tell what they do: calls to probes are inserted where a thread touches a variable, takes or gives back a
//! lock, or enters code that somebody asked about.
//!
//! A function from bytes to bytes, with a table of the places that got probes. Knows no JVM and no files: the agent calls
//! it for each class that is loaded, tests call it for whole libraries. What a probe does is not decided here.

mod glob;
mod known;
mod method;
mod plan;
mod probe;
mod rewrite;
mod shadow;
mod sites;

pub use glob::Globs;
pub use plan::{Families, MethodPlan, MethodPlans, Plan};
pub use probe::{PROBES, ProbeMethod};
pub use rewrite::{LeftAlone, Reason, Rewritten, instrument};
pub use sites::{FieldKind, FieldRow, MethodRow, NewRows, SiteRow, Sites, What};
