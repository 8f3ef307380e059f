//! The data of one entry: read, inflated, checked.

use std::cell::RefCell;
use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Decompressor;
use rawzip::CompressionMethod;

use super::data::{ReadAt, Window, read_exact_at};
use super::error::ArchiveError;
use super::zip::Entry;

const HEADER_SIZE: usize = 30;
const HEADER_MAGIC: [u8; 4] = *b"PK\x03\x04";

/// What a thread uses again for every entry, so that an inflater is set up once.
struct Scratch {
    inflater: Decompressor,
    packed: Vec<u8>,
    unpacked: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        inflater: Decompressor::new(),
        packed: Vec::new(),
        unpacked: vec![0; UNPACKED_KEPT],
    });
}

/// A larger buffer than this is not kept.
const PACKED_KEPT: usize = 1 << 20;
/// Entries up to this size are inflated in a buffer that stays in the processor's cache, and then copied.
const UNPACKED_KEPT: usize = 1 << 16;

/// The entry's bytes, at most [`Entry::size`] of them.
pub(super) fn read(data: &dyn ReadAt, entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
    check_readable(entry)?;
    SCRATCH.with_borrow_mut(|Scratch { inflater, packed, unpacked }| {
        let bytes = match data.in_memory() {
            Some(whole) => unpack(inflater, locate_in_memory(whole, entry)?, entry, unpacked)?,
            None => {
                let place = load(data, entry, packed)?;
                let bytes = unpack(inflater, &packed[place], entry, unpacked);
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

/// The entry's packed data.
fn locate_in_memory<'a>(whole: &'a [u8], entry: &Entry) -> Result<&'a [u8], ArchiveError> {
    let offset = usize::try_from(entry.offset).map_err(|_| ArchiveError::OutOfBounds)?;
    let packed = usize::try_from(entry.packed).map_err(|_| ArchiveError::OutOfBounds)?;
    let header = whole.get(offset..).filter(|rest| packed <= rest.len()).ok_or(ArchiveError::OutOfBounds)?;
    let data = header.get(header_length(header, entry)?..).ok_or(ArchiveError::OutOfBounds)?;
    data.get(..packed).ok_or(ArchiveError::OutOfBounds)
}

/// Reads header and data into `buffer`, nearly always with one call, and says where in it the data is.
fn load(data: &dyn ReadAt, entry: &Entry, buffer: &mut Vec<u8>) -> Result<Range<usize>, ArchiveError> {
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
    Ok(start..end)
}

/// Unpacks the data. Nearly all of it is sound and in one piece; what is not is inflated again by a slower inflater, which says why.
fn unpack(
    inflater: &mut Decompressor,
    packed: &[u8],
    entry: &Entry,
    buffer: &mut [u8],
) -> Result<Vec<u8>, ArchiveError> {
    if entry.method == CompressionMethod::STORE {
        if entry.packed != entry.size {
            return Err(ArchiveError::WrongSize { stated: entry.size, found: entry.packed });
        }
        return Ok(packed.to_vec());
    }
    let inflated = match usize::try_from(entry.size).ok().and_then(|size| buffer.get_mut(..size)) {
        Some(room) => fill(inflater, packed, room).map(|()| room.to_vec()),
        None => {
            let mut bytes = with_room(entry.size)?;
            bytes.resize(entry.size as usize, 0);
            fill(inflater, packed, &mut bytes).map(|()| bytes)
        }
    };
    match inflated {
        Some(bytes) => Ok(bytes),
        None => inflate(&mut Decompress::new(false), packed, entry.size),
    }
}

/// Inflates data that is sound and fills the room.
fn fill(inflater: &mut Decompressor, packed: &[u8], room: &mut [u8]) -> Option<()> {
    inflater.deflate_decompress(packed, room).ok().filter(|found| *found == room.len()).map(|_| ())
}

/// An empty buffer for so many bytes, and one more. The caller has checked that this is reasonable.
fn with_room(size: u64) -> Result<Vec<u8>, ArchiveError> {
    let room = usize::try_from(size).ok().and_then(|size| size.checked_add(1)).ok_or(ArchiveError::OutOfBounds)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| ArchiveError::BadData(format!("no memory for {size} bytes")))?;
    Ok(bytes)
}

/// Inflates to exactly `size` bytes. The caller has checked that a buffer of that size is reasonable.
pub(super) fn inflate(inflater: &mut Decompress, packed: &[u8], size: u64) -> Result<Vec<u8>, ArchiveError> {
    // The byte more tells a stream that goes on from one that ends.
    let mut bytes = with_room(size)?;
    let status = inflater
        .decompress_vec(packed, &mut bytes, FlushDecompress::Finish)
        .map_err(|error| ArchiveError::BadData(error.to_string()))?;
    check_end(status, size, bytes.len() as u64)?;
    Ok(bytes)
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
