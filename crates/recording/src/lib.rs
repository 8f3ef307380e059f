//! What the agent leaves behind: a folder per JVM with records of events and rows of names, and how it becomes a trace.
//!
//! The agent and the Java runtime write, this crate reads, while the JVM runs or after its end. The layout is in
//! `layout.rs` and `rows.rs`, and `docs/decisions` says why it is so. Also here: the agent's options, which the command
//! writes and the agent reads.

mod by_object;
mod convert;
mod follow;
mod layout;
mod live;
mod meaning;
mod names;
mod options;
mod pack;
mod packed;
mod raw;
mod record;
mod rows;
mod unpack;

pub use convert::Converter;
pub use follow::{Follow, Live, Recording};
pub use layout::{CHUNK_HEAD, CHUNK_MARK, EVENTS, FREE_MARK, PACKED, ROWS, chunk_head};
pub use live::{LiveEvents, Piece};
pub use options::{Options, OptionsError};
pub use packed::{Block, Keeper, PACKED_MAGIC, UNKNOWN_SEGMENT, packed_header};
pub use rows::{Row, put_row};
pub use unpack::{Source, Unpacked};
