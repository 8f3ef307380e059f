//! The binary form: a header, then checksummed chunks of table rows and of events. `docs/trace-format.md` has the bytes.
//!
//! Events stand either in one total order, as from a text trace, or in a stream per thread with what is needed to put
//! the streams in an order that the run had. Both kinds of chunk may stand in one file, one kind after the other.

mod arrivals;
mod bytes;
mod chunk;
mod counts;
mod events;
mod items;
mod merge;
mod order;
mod read;
mod rows;
mod write;

pub use items::Items;
pub use merge::{Decode, Merger};
pub use order::Order;
pub use write::{OrderedWriter, StreamWriter, ThreadEvents};

pub(crate) use read::BinaryReader;

/// The first bytes of every binary trace. The line ends in it show at once when a file was sent as text.
pub const MAGIC: [u8; 8] = *b"\x93FIS\r\n\x1a\n";

/// The version that is written, and the newest that can be read.
pub const VERSION: u16 = 2;

/// Magic, version, and six bytes that are 0 today.
pub(crate) const HEADER_LENGTH: usize = 16;
