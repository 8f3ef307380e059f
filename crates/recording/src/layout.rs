//! The files of a recording.
//!
//! `events` is a sequence of chunks, each of one thread, or of several threads that take turns. A chunk is a head and
//! records; a record is one to five 64-bit numbers, little-endian, and is there once its first number is not 0: it is
//! written last. A chunk ends with a record that says so, or is not yet full.
//! `rows` is a sequence of rows, each written before any record that refers to it.

/// The file of records.
pub const EVENTS: &str = "events";
/// The file of rows.
pub const ROWS: &str = "rows";
/// The trace that the agent writes itself, if it was told to.
pub const PACKED: &str = "packed";

/// Bytes before a chunk's first record.
pub const CHUNK_HEAD: usize = 64;
/// The first number of every chunk, written last.
pub const CHUNK_MARK: u64 = u64::from_le_bytes(*b"fissure1");

/// What a reader puts in the place of the mark when it is done with a chunk, if the agent was told that it does: then the
/// chunk is used again.
pub const FREE_MARK: u64 = u64::from_le_bytes(*b"consumed");

/// The head of a chunk after its mark: the thread (0 if several take turns), the chunk's size with its head, and the
/// chunk's number in the order in which chunks were begun.
pub fn chunk_head(thread: u32, size: u32, number: u64) -> [u64; 3] {
    [u64::from(thread), u64::from(size), number]
}
