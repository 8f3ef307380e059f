//! Classes that tell what they do: calls to probes are inserted where a thread touches a variable, takes or gives back a
//! lock, or enters code that somebody asked about.
//!
//! A function from bytes to bytes, with a table of the places that got probes. Knows no JVM and no files: the agent calls
//! it for each class that is loaded, tests call it for whole libraries. What a probe does is not decided here.

mod arms;
mod bridges;
mod call;
mod constant;
mod glob;
mod known;
mod library;
mod method;
mod plan;
mod probe;
mod rewrite;
mod shadow;
mod sites;

pub use arms::{BranchRow, Callee};
pub use call::{Call, flag};
pub use constant::{ConstantFields, Writes};
pub use glob::Globs;
pub use plan::{Families, Hook, MethodPlan, MethodPlans, Plan};
pub use probe::{PROBES, ProbeMethod};
pub use rewrite::{LeftAlone, Origin, Reason, Rewritten, callee, instrument, instrument_from};
pub use sites::{CallRow, FieldKind, FieldRow, Member, MethodRow, NewRows, SiteRow, Sites, What};
