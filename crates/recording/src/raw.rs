//! Chunks of records as the agent leaves them in its file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::layout::{CHUNK_HEAD, CHUNK_MARK, FREE_MARK};
use crate::record;

/// A chunk that was begun.
pub(crate) struct RawChunk {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// In the order in which chunks were begun.
    pub(crate) number: u64,
    /// 0 if several threads take turns.
    pub(crate) thread: u32,
    /// Whether its records were read already.
    pub(crate) is_free: bool,
}

pub(crate) enum Found {
    Chunk(RawChunk),
    /// No chunk was begun here.
    Nothing,
    Damage,
}

/// What begins here.
pub(crate) fn chunk_at(events: &File, start: u64) -> io::Result<Found> {
    let mut head = [0; 32];
    if !read_all(events, &mut head, start)? {
        return Ok(Found::Nothing);
    }
    let mark = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
    // The mark was written last, so the rest is read again.
    if !matches!(mark, CHUNK_MARK | FREE_MARK) || !read_all(events, &mut head, start)? {
        return Ok(Found::Nothing);
    }
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let size = number(16);
    if size <= CHUNK_HEAD as u64 || size > 1 << 30 {
        return Ok(Found::Damage);
    }
    Ok(Found::Chunk(RawChunk {
        start,
        end: start + size,
        number: number(24),
        thread: number(8) as u32,
        is_free: mark == FREE_MARK,
    }))
}

pub(crate) fn open(path: &Path, for_writing: bool) -> io::Result<Option<File>> {
    match OpenOptions::new().read(true).write(for_writing).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// False if the file ends before.
pub(crate) fn read_all(file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(bytes, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn to_numbers(bytes: &[u8], numbers: &mut Vec<u64>) {
    numbers.clear();
    numbers.extend(bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().expect("eight bytes"))));
}

pub(crate) struct Whole {
    pub(crate) longs: usize,
    /// Whether the chunk's last record comes next.
    pub(crate) is_end: bool,
}

/// How much of the numbers are whole records.
pub(crate) fn whole_records(numbers: &[u64]) -> Whole {
    let mut at = 0;
    while at < numbers.len() && numbers[at] != 0 {
        let operation = record::operation(numbers[at]);
        // One that makes no sense is taken along, so that it is counted, with all behind it.
        let Some(length) = record::length(operation) else { return Whole { longs: numbers.len(), is_end: true } };
        if operation == record::END_OF_CHUNK {
            return Whole { longs: at, is_end: true };
        }
        if at + length > numbers.len() {
            break;
        }
        at += length;
    }
    Whole { longs: at, is_end: false }
}
