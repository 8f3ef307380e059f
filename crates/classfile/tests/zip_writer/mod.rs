//! Writes zip files, also wrong ones: every field can be set to something else than the truth.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::io::{self, Write};

use classfile::archive::{ArchiveReader, Contents, Kind, Limits, ReadAt};
use flate2::{Compression, Crc, write::DeflateEncoder};

pub const STORED: u16 = 0;
pub const DEFLATED: u16 = 8;

/// One entry; the fields are what the archive will claim.
#[derive(Clone)]
pub struct File {
    pub name: Vec<u8>,
    pub packed: Vec<u8>,
    pub size: u64,
    pub checksum: u32,
    pub method: u16,
    pub flags: u16,
    /// Extra field of the header before the data, and of the directory.
    pub extra: Vec<u8>,
    pub directory_extra: Vec<u8>,
    /// Sizes and checksum follow the data instead of being in its header.
    pub has_descriptor: bool,
    pub mode: u32,
    /// Sizes that only the header before the data states.
    pub header_size: Option<u32>,
}

pub fn stored(name: impl AsRef<[u8]>, data: &[u8]) -> File {
    let mut checksum = Crc::new();
    checksum.update(data);
    File {
        name: name.as_ref().to_vec(),
        packed: data.to_vec(),
        size: data.len() as u64,
        checksum: checksum.sum(),
        method: STORED,
        flags: 0,
        extra: Vec::new(),
        directory_extra: Vec::new(),
        has_descriptor: false,
        mode: 0,
        header_size: None,
    }
}

pub fn deflated(name: impl AsRef<[u8]>, data: &[u8]) -> File {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    File { packed: encoder.finish().unwrap(), method: DEFLATED, ..stored(name, data) }
}

/// Bytes that start like a class and differ by `content`.
pub fn class(content: &str) -> Vec<u8> {
    [&[0xca, 0xfe, 0xba, 0xbe], content.as_bytes()].concat()
}

/// A zip file being written.
#[derive(Default)]
pub struct Zip {
    pub bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u64,
    comment: Vec<u8>,
}

impl Zip {
    pub fn of(files: &[File]) -> Vec<u8> {
        let mut zip = Zip::default();
        for file in files {
            zip.add(file);
        }
        zip.finish()
    }

    /// Writes header and data, lists the entry, and says where it is.
    pub fn add(&mut self, file: &File) -> u64 {
        let offset = self.bytes.len() as u64;
        let flags = file.flags | if file.has_descriptor { 1 << 3 } else { 0 };
        let (checksum, packed, size) = if file.has_descriptor {
            (0, 0, 0)
        } else {
            (file.checksum, narrow(file.packed.len() as u64), file.header_size.unwrap_or(narrow(file.size)))
        };
        self.bytes.extend(b"PK\x03\x04");
        put16(&mut self.bytes, &[20, flags, file.method, 0, 0]);
        put32(&mut self.bytes, &[checksum, packed, size]);
        put16(&mut self.bytes, &[file.name.len() as u16, file.extra.len() as u16]);
        self.bytes.extend(&file.name);
        self.bytes.extend(&file.extra);
        self.bytes.extend(&file.packed);
        if file.has_descriptor {
            self.bytes.extend(b"PK\x07\x08");
            put32(&mut self.bytes, &[file.checksum, narrow(file.packed.len() as u64), narrow(file.size)]);
        }
        self.list(file, file.packed.len() as u64, offset);
        offset
    }

    /// Lists an entry that lies at `offset`, which may be inside another one.
    pub fn list(&mut self, file: &File, packed: u64, offset: u64) {
        let mut extra = file.directory_extra.clone();
        if file.size >= u64::from(u32::MAX) {
            extra.extend([1, 0, 8, 0]);
            extra.extend(file.size.to_le_bytes());
        }
        let flags = file.flags | if file.has_descriptor { 1 << 3 } else { 0 };
        self.directory.extend(b"PK\x01\x02");
        put16(&mut self.directory, &[0x0314, 20, flags, file.method, 0, 0]);
        put32(&mut self.directory, &[file.checksum, narrow(packed), narrow(file.size)]);
        put16(&mut self.directory, &[file.name.len() as u16, extra.len() as u16, 0, 0, 0]);
        put32(&mut self.directory, &[file.mode << 16, narrow(offset)]);
        self.directory.extend(&file.name);
        self.directory.extend(extra);
        self.count += 1;
    }

    pub fn comment(mut self, comment: &[u8]) -> Zip {
        self.comment = comment.to_vec();
        self
    }

    /// Writes the directory. More than 65,535 entries make it a zip64 file.
    pub fn finish(mut self) -> Vec<u8> {
        let start = self.bytes.len() as u64;
        let size = self.directory.len() as u64;
        self.bytes.append(&mut self.directory);
        if self.count > 0xffff {
            let record = self.bytes.len() as u64;
            self.bytes.extend(b"PK\x06\x06");
            self.bytes.extend(44u64.to_le_bytes());
            put16(&mut self.bytes, &[45, 45]);
            put32(&mut self.bytes, &[0, 0]);
            for number in [self.count, self.count, size, start] {
                self.bytes.extend(number.to_le_bytes());
            }
            self.bytes.extend(b"PK\x06\x07\0\0\0\0");
            self.bytes.extend(record.to_le_bytes());
            self.bytes.extend(1u32.to_le_bytes());
        }
        let count = self.count.min(0xffff) as u16;
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        put16(&mut self.bytes, &[count, count]);
        put32(&mut self.bytes, &[narrow(size), narrow(start)]);
        put16(&mut self.bytes, &[self.comment.len() as u16]);
        self.bytes.append(&mut self.comment);
        self.bytes
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
}

fn put32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
}

/// Data that is read piece by piece, as a file is.
struct Positioned<'a>(&'a [u8]);

impl ReadAt for Positioned<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

/// Reads an archive with the given limits, from memory and as if from a file.
pub fn read_with(limits: Limits, bytes: Vec<u8>) -> Contents {
    let mut contents = Contents::default();
    ArchiveReader::new(limits.clone(), None).read("a.jar", Kind::Archive, &bytes, &mut contents);
    let mut again = Contents::default();
    ArchiveReader::new(limits, None).read("a.jar", Kind::Archive, &Positioned(&bytes), &mut again);
    assert_eq!(contents.sources.len(), again.sources.len());
    for (one, other) in contents.sources.iter().zip(&again.sources) {
        assert_eq!((&one.path, &one.bytes), (&other.path, &other.bytes));
    }
    assert_eq!(skipped(&contents), skipped(&again));
    contents
}

pub fn read(bytes: Vec<u8>) -> Contents {
    read_with(Limits::default(), bytes)
}

/// Paths with what follows the magic number.
pub fn classes(contents: &Contents) -> Vec<(&str, &str)> {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    contents.sources.iter().map(|source| (source.path.as_str(), text(&source.bytes[4..]))).collect()
}

pub fn skipped(contents: &Contents) -> Vec<(&str, &str)> {
    contents.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason.as_str())).collect()
}
