//! Why an archive, or an entry of one, was not read.

use std::fmt;
use std::io;

/// What is wrong with an archive or an entry. Its text is the reason that a report gives.
#[derive(Debug)]
pub enum ArchiveError {
    Io(io::Error),
    /// The record at the end that every zip file has is missing.
    NoDirectory,
    /// The directory of the archive cannot be read to its end.
    BadDirectory(String),
    /// The entry is not where the directory says.
    BadHeader {
        offset: u64,
    },
    /// The entry, or its data, would lie beyond the end of the archive.
    OutOfBounds,
    Encrypted,
    /// A compression that is neither "stored" nor "deflate".
    Method(String),
    BadData(String),
    WrongSize {
        stated: u64,
        found: u64,
    },
    /// More data than the directory states.
    TooLong {
        stated: u64,
    },
    WrongChecksum {
        stated: u32,
        found: u32,
    },
    NotAClass([u8; 4]),
    TooShortForAClass(usize),
    /// The image is of a format that this reader does not know, or is damaged.
    BadImage(&'static str),
    TooDeep {
        limit: usize,
    },
    Total {
        limit: u64,
    },
    Entries {
        limit: usize,
    },
    Ratio {
        packed: u64,
        size: u64,
        limit: u64,
    },
    ClassTooLarge {
        size: u64,
        limit: u64,
    },
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ArchiveError::*;
        match self {
            Io(error) => write!(f, "cannot be read: {error}"),
            NoDirectory => write!(f, "not a zip archive, or cut off: it has no directory at its end"),
            BadDirectory(detail) => write!(f, "damaged archive: its directory cannot be read ({detail})"),
            BadHeader { offset } => write!(f, "damaged archive: no entry at offset {offset}"),
            OutOfBounds => write!(f, "damaged archive: the entry reaches beyond the end of the archive"),
            Encrypted => write!(f, "encrypted"),
            Method(method) => write!(f, "compressed with {method}, which is not supported"),
            BadData(detail) => write!(f, "damaged entry: {detail}"),
            WrongSize { stated, found } => {
                write!(f, "damaged entry: {found} bytes where the archive states {stated}")
            }
            TooLong { stated } => write!(f, "damaged entry: more data than the {stated} bytes that the archive states"),
            WrongChecksum { stated, found } => {
                write!(f, "damaged entry: checksum {found:08x} where the archive states {stated:08x}")
            }
            NotAClass([a, b, c, d]) => {
                write!(f, "not a class file: it starts with {a:02x} {b:02x} {c:02x} {d:02x}, not ca fe ba be")
            }
            TooShortForAClass(0) => write!(f, "not a class file: it is empty"),
            TooShortForAClass(size) => write!(f, "not a class file: it has only {size} bytes"),
            BadImage(detail) => write!(f, "JDK image not readable: {detail}"),
            TooDeep { limit } => write!(f, "lies more than {limit} archives deep, which is the limit"),
            Total { limit } => {
                write!(f, "not read, nor anything after it: the limit of {} in total is reached", Bytes(*limit))
            }
            Entries { limit } => {
                write!(f, "has more than {limit} classes and archives, which is the limit; the rest was not read")
            }
            Ratio { packed, size, limit } => {
                write!(f, "{} packed in {} is beyond the limit of {limit} to 1", Bytes(*size), Bytes(*packed))
            }
            ClassTooLarge { size, limit } => {
                write!(f, "a class of {} is beyond the limit of {}", Bytes(*size), Bytes(*limit))
            }
        }
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ArchiveError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> ArchiveError {
        ArchiveError::Io(error)
    }
}

/// A number of bytes in the largest unit in which it is at least 1.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 30 => write!(f, "{} GiB", bytes >> 30),
            bytes if bytes >= 1 << 20 => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
