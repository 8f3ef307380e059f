//! What a run did: the events, the tables that name what they refer to, and the two forms in which both are stored.
//!
//! [`Reader`] takes either form from any `Read`, tells them apart by content, and hands out batches of [`Event`]s in an
//! order that the run had. Damaged input is not an error: whatever is whole is handed out, and [`Problems`] says what
//! was lost. The forms are described in `docs/trace-format.md`.
//!
//! Knows nothing of detectors, of the JVM, or of where the bytes come from.

mod binary;
mod event;
mod ids;
mod intern;
mod problem;
mod reader;
mod tables;
mod text;

pub use binary::{Decode, Items, MAGIC, Merger, Order, OrderedWriter, StreamWriter, ThreadEvents, VERSION};
pub use event::{Access, Action, Cause, Event, Interval, Mode, Ran, SyncKind};
pub use ids::{
    ActivationId, BarrierId, BranchId, LockId, MethodId, ObjectId, SectionId, SiteId, StackId, StringId, ThreadId,
    UnitId, VariableId,
};
pub use problem::{Problem, Problems, TraceError};
pub use reader::{Events, Form, Reader};
pub use tables::{Frame, Part, RowCounts, Tables, Thing};
pub use text::TextWriter;
