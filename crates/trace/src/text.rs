//! The text form: one event a line, `thread|operation|place`.
//!
//! The operations that tools exchange are `r(x)`, `w(x)`, `acq(l)`, `rel(l)`, `fork(t)`, `join(t)` and whatever begins
//! with `begin` or `end`. What they have no word for has one of ours; the table is in `docs/trace-format.md`.

mod parse;
mod write;

pub(crate) use parse::TextReader;
pub use write::TextWriter;
