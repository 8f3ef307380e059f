//! Names of classes, methods and fields, and places in code.
//!
//! Analyses hold names as interned [`Symbol`]s and places as [`Site`]s, both small and `Copy`.
//! Findings hold [`Place`]s, which own their text and outlive the interner.
//!
//! Knows nothing of class files, analyses or reports.

mod interner;
mod lambda;
mod names;
mod place;

pub use lambda::{around_lambda, class_in_source};
pub use names::{ClassName, FieldName, MethodName, Names, Symbol, SymbolCell};
pub use place::{MethodPlace, Place, Site};
