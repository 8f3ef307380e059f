//! The data of one entry: read, inflated, checked.

use std::cell::RefCell;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use rawzip::CompressionMethod;

use super::data::{ReadAt, Window, read_exact_at};
use super::error::ArchiveError;
use super::zip::Entry;

const HEADER_SIZE: usize = 30;
const HEADER_MAGIC: [u8; 4] = *b"PK\x03\x04";

/// What a thread uses again for every entry. Setting up an inflater costs more than inflating a small class.
struct Scratch {
    inflater: Decompress,
    packed: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> =
        RefCell::new(Scratch { inflater: Decompress::new(false), packed: Vec::new() });
}

/// A larger buffer than this is not kept.
const SCRATCH_KEPT: usize = 1 << 20;

/// The entry's bytes, at most [`Entry::size`] of them.
pub(super) fn read(data: &dyn ReadAt, entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
    check_readable(entry)?;
    SCRATCH.with_borrow_mut(|Scratch { inflater, packed }| {
        let bytes = match data.in_memory() {
            Some(whole) => unpack(inflater, locate_in_memory(whole, entry)?, entry)?,
            None => {
                let range = load(data, entry, packed)?;
                let bytes = unpack(inflater, &packed[range], entry);
                if packed.capacity() > SCRATCH_KEPT {
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

fn locate_in_memory<'a>(whole: &'a [u8], entry: &Entry) -> Result<&'a [u8], ArchiveError> {
    let offset = usize::try_from(entry.offset).map_err(|_| ArchiveError::OutOfBounds)?;
    let packed = usize::try_from(entry.packed).map_err(|_| ArchiveError::OutOfBounds)?;
    let header = whole.get(offset..).filter(|rest| packed <= rest.len()).ok_or(ArchiveError::OutOfBounds)?;
    let data = header.get(header_length(header, entry)?..).ok_or(ArchiveError::OutOfBounds)?;
    data.get(..packed).ok_or(ArchiveError::OutOfBounds)
}

/// Reads header and data into `buffer`, nearly always with one call, and says where in it the data is.
fn load(data: &dyn ReadAt, entry: &Entry, buffer: &mut Vec<u8>) -> Result<std::ops::Range<usize>, ArchiveError> {
    /// Room for the header's extra field, whose length only the header itself tells. Signed and aligned jars have more.
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

fn unpack(inflater: &mut Decompress, packed: &[u8], entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
    if entry.method == CompressionMethod::STORE {
        if entry.packed != entry.size {
            return Err(ArchiveError::WrongSize { stated: entry.size, found: entry.packed });
        }
        return Ok(packed.to_vec());
    }
    inflater.reset(false);
    inflate(inflater, packed, entry.size)
}

/// Inflates to exactly `size` bytes. The caller has checked that a buffer of that size is reasonable.
pub(super) fn inflate(inflater: &mut Decompress, packed: &[u8], size: u64) -> Result<Vec<u8>, ArchiveError> {
    // One byte more than stated, so that a stream that goes on is told from one that ends.
    let room = usize::try_from(size).ok().and_then(|size| size.checked_add(1)).ok_or(ArchiveError::OutOfBounds)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| ArchiveError::BadData(format!("no memory for {size} bytes")))?;
    let status = inflater
        .decompress_vec(packed, &mut bytes, FlushDecompress::Finish)
        .map_err(|error| ArchiveError::BadData(error.to_string()))?;
    let found = bytes.len() as u64;
    match status {
        _ if found > size => Err(ArchiveError::TooLong { stated: size }),
        Status::StreamEnd if found == size => Ok(bytes),
        Status::StreamEnd => Err(ArchiveError::WrongSize { stated: size, found }),
        Status::Ok | Status::BufError => Err(ArchiveError::BadData("the compressed data is cut off".into())),
    }
}

fn check_sum(bytes: &[u8], stated: u32) -> Result<(), ArchiveError> {
    let mut checksum = Crc::new();
    checksum.update(bytes);
    let found = checksum.sum();
    if found != stated {
        return Err(ArchiveError::WrongChecksum { stated, found });
    }
    Ok(())
}
