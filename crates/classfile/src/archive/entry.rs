//! The data of one entry: read, inflated, checked.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use rawzip::CompressionMethod;

use super::data::{ReadAt, Window, read_exact_at};
use super::error::ArchiveError;
use super::zip::Entry;

const HEADER_SIZE: usize = 30;
const HEADER_MAGIC: [u8; 4] = *b"PK\x03\x04";

/// What a thread uses again for every entry, so that an inflater and its window are set up once.
struct Scratch {
    inflater: Decompress,
    packed: Vec<u8>,
    unpacked: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        inflater: Decompress::new(false),
        packed: Vec::new(),
        unpacked: vec![0; UNPACKED_KEPT + SLACK],
    });
}

/// A larger buffer than this is not kept.
const PACKED_KEPT: usize = 1 << 20;
/// Entries up to this size are inflated in a buffer that stays in the processor's cache, and then copied.
const UNPACKED_KEPT: usize = 1 << 16;
/// The inflater's fast loop wants room behind input and output; without it the end of every entry goes through the slow
/// one.
const SLACK: usize = 320;

/// The entry's bytes, at most [`Entry::size`] of them.
pub(super) fn read(data: &dyn ReadAt, entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
    check_readable(entry)?;
    SCRATCH.with_borrow_mut(|Scratch { inflater, packed, unpacked }| {
        let bytes = match data.in_memory() {
            Some(whole) => unpack(inflater, locate_in_memory(whole, entry)?, entry, unpacked)?,
            None => {
                let start = load(data, entry, packed)?;
                let bytes = unpack(inflater, &packed[start..], entry, unpacked);
                if packed.capacity() > PACKED_KEPT {
                    *packed = Vec::new();
                }
                bytes?
            }
        };
        check_sum(&bytes, entry.checksum)?;
        Ok(bytes)
    })
}

/// The place of an entry that is stored as it is, so that an archive inside an archive need not be copied. Its checksum
/// is not verified; those of its own entries are.
pub(super) fn window<'a>(data: &'a dyn ReadAt, entry: &Entry) -> Result<Option<Window<'a>>, ArchiveError> {
    check_readable(entry)?;
    if entry.method != CompressionMethod::STORE || entry.packed != entry.size {
        return Ok(None);
    }
    let mut header = [0; HEADER_SIZE];
    read_exact_at(data, &mut header, entry.offset).map_err(|_| ArchiveError::OutOfBounds)?;
    let start = entry.offset + header_length(&header, entry)? as u64;
    Window::new(data, start, entry.size).map(Some).ok_or(ArchiveError::OutOfBounds)
}

fn check_readable(entry: &Entry) -> Result<(), ArchiveError> {
    if entry.is_encrypted {
        return Err(ArchiveError::Encrypted);
    }
    match entry.method {
        CompressionMethod::STORE | CompressionMethod::DEFLATE => Ok(()),
        method => Err(ArchiveError::Method(format!("method {method}"))),
    }
}

fn header_length(header: &[u8], entry: &Entry) -> Result<usize, ArchiveError> {
    if !header.starts_with(&HEADER_MAGIC) || header.len() < HEADER_SIZE {
        return Err(ArchiveError::BadHeader { offset: entry.offset });
    }
    let name = u16::from_le_bytes([header[26], header[27]]);
    let extra = u16::from_le_bytes([header[28], header[29]]);
    Ok(HEADER_SIZE + usize::from(name) + usize::from(extra))
}

/// The entry's packed data and what follows it.
fn locate_in_memory<'a>(whole: &'a [u8], entry: &Entry) -> Result<&'a [u8], ArchiveError> {
    let offset = usize::try_from(entry.offset).map_err(|_| ArchiveError::OutOfBounds)?;
    let packed = usize::try_from(entry.packed).map_err(|_| ArchiveError::OutOfBounds)?;
    let header = whole.get(offset..).filter(|rest| packed <= rest.len()).ok_or(ArchiveError::OutOfBounds)?;
    let data = header.get(header_length(header, entry)?..).ok_or(ArchiveError::OutOfBounds)?;
    if packed <= data.len() { Ok(data) } else { Err(ArchiveError::OutOfBounds) }
}

/// Reads header and data into `buffer`, nearly always with one call, and says where in it the data starts.
fn load(data: &dyn ReadAt, entry: &Entry, buffer: &mut Vec<u8>) -> Result<usize, ArchiveError> {
    /// Room for the header's extra field, whose length only the header itself tells. Aligned jars have more.
    const EXTRA_GUESS: u64 = 48;

    let left = data.size().checked_sub(entry.offset).ok_or(ArchiveError::OutOfBounds)?;
    if entry.packed > left {
        return Err(ArchiveError::OutOfBounds);
    }
    let guess = (HEADER_SIZE + entry.name.len()) as u64 + EXTRA_GUESS + entry.packed;
    let guess = usize::try_from(guess.min(left)).map_err(|_| ArchiveError::OutOfBounds)?;
    buffer.resize(guess, 0);
    read_exact_at(data, buffer, entry.offset)?;

    let start = header_length(buffer, entry)?;
    let end = start + entry.packed as usize;
    if end as u64 > left {
        return Err(ArchiveError::OutOfBounds);
    }
    if end > buffer.len() {
        buffer.resize(end, 0);
        read_exact_at(data, &mut buffer[guess..], entry.offset + guess as u64)?;
    }
    Ok(start)
}

/// Unpacks the data at the start of `window`; what follows it there is only room for the inflater.
fn unpack(inflater: &mut Decompress, window: &[u8], entry: &Entry, buffer: &mut [u8]) -> Result<Vec<u8>, ArchiveError> {
    // The caller has checked that the window is as long as the data.
    let packed = entry.packed as usize;
    if entry.method == CompressionMethod::STORE {
        if entry.packed != entry.size {
            return Err(ArchiveError::WrongSize { stated: entry.size, found: entry.packed });
        }
        return Ok(window[..packed].to_vec());
    }
    let with_room = &window[..window.len().min(packed + SLACK)];
    let inflated = inflate_entry(inflater, with_room, entry.size, buffer);
    match inflated {
        Ok(bytes) if inflater.total_in() <= packed as u64 => Ok(bytes),
        // What follows the data was taken for a part of it; the reason must not depend on that.
        _ => inflate_entry(inflater, &window[..packed], entry.size, buffer),
    }
}

fn inflate_entry(
    inflater: &mut Decompress,
    packed: &[u8],
    size: u64,
    buffer: &mut [u8],
) -> Result<Vec<u8>, ArchiveError> {
    inflater.reset(false);
    if size > UNPACKED_KEPT as u64 {
        return inflate(inflater, packed, size);
    }
    // Only as much as is due, and a little more, so that a stream that goes on is told from one that ends.
    let room = &mut buffer[..size as usize + SLACK];
    let status = inflater
        .decompress(packed, room, FlushDecompress::Finish)
        .map_err(|error| ArchiveError::BadData(error.to_string()))?;
    check_end(status, size, inflater.total_out())?;
    Ok(room[..size as usize].to_vec())
}

/// Inflates to exactly `size` bytes. The caller has checked that a buffer of that size is reasonable.
pub(super) fn inflate(inflater: &mut Decompress, packed: &[u8], size: u64) -> Result<Vec<u8>, ArchiveError> {
    // At least one byte more than stated, so that a stream that goes on is told from one that ends.
    let room = usize::try_from(size).ok().and_then(|size| size.checked_add(SLACK)).ok_or(ArchiveError::OutOfBounds)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| ArchiveError::BadData(format!("no memory for {size} bytes")))?;
    inflate_into(inflater, packed, size, &mut bytes)?;
    Ok(bytes)
}

/// Inflates into the free capacity of `bytes`, which is larger than `size`.
fn inflate_into(inflater: &mut Decompress, packed: &[u8], size: u64, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
    let status = inflater
        .decompress_vec(packed, bytes, FlushDecompress::Finish)
        .map_err(|error| ArchiveError::BadData(error.to_string()))?;
    check_end(status, size, bytes.len() as u64)
}

fn check_end(status: Status, size: u64, found: u64) -> Result<(), ArchiveError> {
    match status {
        _ if found > size => Err(ArchiveError::TooLong { stated: size }),
        Status::StreamEnd if found == size => Ok(()),
        Status::StreamEnd => Err(ArchiveError::WrongSize { stated: size, found }),
        Status::Ok | Status::BufError => Err(ArchiveError::BadData("the compressed data is cut off".into())),
    }
}

fn check_sum(bytes: &[u8], stated: u32) -> Result<(), ArchiveError> {
    let found = crc32fast::hash(bytes);
    if found != stated {
        return Err(ArchiveError::WrongChecksum { stated, found });
    }
    Ok(())
}
