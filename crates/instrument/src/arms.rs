//! Arms of branches: which branches have arms with something to tell, what these would do, and how that is written down for
//! the runtime, which thinks through the arms that a run does not take.
//!
//! Control flow is here; what the instructions of an arm mean for the probes of a method is in `method`.

mod code;
mod flow;
mod slots;

pub(crate) use code::ArmCode;
pub use code::{BranchRow, Callee};
pub(crate) use flow::{Flow, Join};
pub(crate) use slots::at_branches;
