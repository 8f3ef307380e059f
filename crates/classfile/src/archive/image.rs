//! A JDK's `lib/modules`: the jimage format, version 1.
//!
//! Only what listing and reading classes needs: the hash table for look-ups by name is passed over, and of jlink's
//! compressions `zip` is undone while `compact-cp` is a reason to skip.
//!
//! The file is a header of seven 4-byte fields, a redirect table, a table of offsets into the locations, the locations
//! (attributes of resources, each a byte with kind and length and then a big-endian value), the strings, and the data.
//! All other numbers are in the byte order of the machine that made the file, which the magic number tells.

use flate2::Decompress;

use super::data::{ReadAt, read_exact_at};
use super::entry::inflate;
use super::error::ArchiveError;
use super::reader::Packed;

const MAGIC: u32 = 0xcafe_dada;
const HEADER_SIZE: usize = 28;
const RESOURCE_MAGIC: u32 = 0xcafe_fafa;
const RESOURCE_HEADER_SIZE: usize = 29;
/// A resource may be compressed more than once, in practice at most twice.
const LAYERS: usize = 4;

/// Kinds of attributes of a location.
const END: usize = 0;
const MODULE: usize = 1;
const PARENT: usize = 2;
const BASE: usize = 3;
const EXTENSION: usize = 4;
const OFFSET: usize = 5;
const PACKED: usize = 6;
const SIZE: usize = 7;
/// Later minor versions may add kinds; the format leaves five bits for them.
const KINDS: usize = 32;

pub(super) fn is_magic(head: &[u8]) -> bool {
    Order::of(head, MAGIC).is_some()
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn of(head: &[u8], magic: u32) -> Option<Order> {
        let head = *head.first_chunk()?;
        if u32::from_le_bytes(head) == magic {
            Some(Order::Little)
        } else if u32::from_be_bytes(head) == magic {
            Some(Order::Big)
        } else {
            None
        }
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        })
    }
}

/// The index of an image, in memory. The data itself is handed in to read a class.
pub(super) struct Image {
    order: Order,
    offsets: Vec<u8>,
    locations: Vec<u8>,
    strings: Vec<u8>,
    /// Where the resources start.
    start: u64,
}

/// A class in an image.
#[derive(Debug)]
pub(super) struct Class {
    /// `java.base/java/lang/Object.class`.
    name: Vec<u8>,
    offset: u64,
    /// 0 if it is not compressed.
    packed: u64,
    size: u64,
}

impl Packed for Class {
    fn name(&self) -> &[u8] {
        &self.name
    }

    fn packed(&self) -> u64 {
        if self.packed == 0 { self.size } else { self.packed }
    }

    fn size(&self) -> u64 {
        self.size
    }
}

const CUT_OFF: ArchiveError = ArchiveError::BadImage("it is cut off");
const BAD_INDEX: ArchiveError = ArchiveError::BadImage("its index is damaged");
const BAD_RESOURCE: ArchiveError = ArchiveError::BadImage("the header of a compressed resource is damaged");

impl Image {
    pub(super) fn open(data: &dyn ReadAt) -> Result<Image, ArchiveError> {
        let mut header = [0; HEADER_SIZE];
        read_exact_at(data, &mut header, 0).map_err(|_| CUT_OFF)?;
        let order = Order::of(&header, MAGIC).ok_or(ArchiveError::BadImage("wrong magic number"))?;
        let field = |index: usize| order.u32(&header, 4 * index).ok_or(CUT_OFF);
        if field(1)? >> 16 != 1 {
            return Err(ArchiveError::BadImage("its format is not version 1"));
        }
        let table = 4 * u64::from(field(4)?);
        let locations = u64::from(field(5)?);
        let strings = u64::from(field(6)?);

        let offsets_at = HEADER_SIZE as u64 + table;
        let start = offsets_at + table + locations + strings;
        if start > data.size() {
            return Err(CUT_OFF);
        }
        // All sizes are below that of the data now.
        let load = |at: u64, size: u64| -> Result<Vec<u8>, ArchiveError> {
            let mut bytes = vec![0; usize::try_from(size).map_err(|_| CUT_OFF)?];
            read_exact_at(data, &mut bytes, at)?;
            Ok(bytes)
        };
        Ok(Image {
            order,
            offsets: load(offsets_at, table)?,
            locations: load(offsets_at + table, locations)?,
            strings: load(offsets_at + table + locations, strings)?,
            start,
        })
    }

    pub(super) fn index_size(&self) -> u64 {
        self.start
    }

    /// All classes, sorted by name.
    pub(super) fn classes(&self) -> Result<Vec<Class>, ArchiveError> {
        let mut classes = Vec::with_capacity(self.offsets.len() / 4);
        for at in (0..self.offsets.len()).step_by(4) {
            let location = self.order.u32(&self.offsets, at).ok_or(BAD_INDEX)?;
            let attributes = self.attributes(location as usize).ok_or(BAD_INDEX)?;
            let string = |kind: usize| self.string(attributes[kind]).ok_or(BAD_INDEX);
            if string(EXTENSION)? != b"class" {
                continue;
            }
            let (module, parent, base) = (string(MODULE)?, string(PARENT)?, string(BASE)?);
            let mut name = Vec::with_capacity(module.len() + parent.len() + base.len() + 8);
            for part in [module, parent] {
                if !part.is_empty() {
                    name.extend_from_slice(part);
                    name.push(b'/');
                }
            }
            name.extend_from_slice(base);
            name.extend_from_slice(b".class");
            classes.push(Class {
                name,
                offset: attributes[OFFSET],
                packed: attributes[PACKED],
                size: attributes[SIZE],
            });
        }
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(classes)
    }

    pub(super) fn read(&self, data: &dyn ReadAt, class: &Class) -> Result<Vec<u8>, ArchiveError> {
        let stored = class.packed();
        let at = self.start.checked_add(class.offset).ok_or(ArchiveError::OutOfBounds)?;
        let end = at.checked_add(stored).ok_or(ArchiveError::OutOfBounds)?;
        if end > data.size() {
            return Err(ArchiveError::OutOfBounds);
        }
        let mut bytes = vec![0; usize::try_from(stored).map_err(|_| ArchiveError::OutOfBounds)?];
        read_exact_at(data, &mut bytes, at)?;
        if class.packed == 0 { Ok(bytes) } else { self.unpack(bytes, class.size) }
    }

    /// Undoes one compression after the other, none of which may give more than the final size: `zip` is the last one
    /// that jlink applies, and what it was applied to is smaller than the class.
    fn unpack(&self, mut bytes: Vec<u8>, size: u64) -> Result<Vec<u8>, ArchiveError> {
        for _ in 0..LAYERS {
            let Some(order) = Order::of(&bytes, RESOURCE_MAGIC) else {
                let found = bytes.len() as u64;
                return if found == size { Ok(bytes) } else { Err(ArchiveError::WrongSize { stated: size, found }) };
            };
            if bytes.len() < RESOURCE_HEADER_SIZE {
                return Err(BAD_RESOURCE);
            }
            let unpacked = order.u64(&bytes, 12).ok_or(BAD_RESOURCE)?;
            let method = order.u32(&bytes, 20).ok_or(BAD_RESOURCE)?;
            match self.string(u64::from(method)).ok_or(BAD_RESOURCE)? {
                b"zip" if unpacked <= size.saturating_add(RESOURCE_HEADER_SIZE as u64) => {
                    bytes = inflate(&mut Decompress::new(true), &bytes[RESOURCE_HEADER_SIZE..], unpacked)?;
                }
                b"zip" => return Err(BAD_RESOURCE),
                other => return Err(ArchiveError::Method(format!("jlink's {}", super::name::shown(other)))),
            }
        }
        Err(BAD_RESOURCE)
    }

    fn attributes(&self, location: usize) -> Option<[u64; KINDS]> {
        let mut attributes = [0; KINDS];
        let mut rest = self.locations.get(location..)?;
        loop {
            let (&head, after) = rest.split_first()?;
            let kind = usize::from(head >> 3);
            if kind == END {
                return Some(attributes);
            }
            let (value, after) = after.split_at_checked(usize::from(head & 7) + 1)?;
            attributes[kind] = value.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            rest = after;
        }
    }

    fn string(&self, at: u64) -> Option<&[u8]> {
        let rest = self.strings.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(&rest[..end])
    }
}
