//! What the JDK's classes look like, with no JDK at hand: their hierarchy and their members, without code.
//!
//! The model is part of the binary, so that every machine says the same. It is made by `./x jdk-model` and read in
//! place: nothing is unpacked at the start, and a look-up decodes the one class that was asked for.
//!
//! # Format
//!
//! All fixed numbers have four bytes, least first: the magic number, the major version of class files, the number of
//! classes, the size of the records, the size of the strings; then a byte with the length of the version and its text.
//! The index follows, with the place of each class's record, sorted by the names of classes, then the records and the
//! strings. In records, numbers have seven bits per byte, the lowest first, and a string is its place among the strings,
//! where its length stands before its text. A record is:
//!
//! - the name, the access flags, the superclass, which is 0 for none and else one more than its place;
//! - the number of interfaces, and each;
//! - the number of fields, and of each its name, descriptor and access flags;
//! - the number of methods, and the same of each.

mod write;

use classfile::{Access, Field, Header, Method};
use location::{ClassName, Names, Symbol};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use write::{encode, select};

static EMBEDDED: &[u8] = include_bytes!("../../data/jdk17.bin");

/// Tells a model of this format from anything else.
const MAGIC: [u8; 4] = *b"fjd1";

/// A thread decodes at least so many classes of those that are looked up together.
const DECODED_AT_LEAST: usize = 64;

/// A model of a JDK's classes.
#[derive(Clone, Copy, Debug)]
pub struct Jdk<'a> {
    version: &'a str,
    major_version: u16,
    index: &'a [[u8; 4]],
    records: &'a [u8],
    strings: &'a [u8],
}

impl Jdk<'static> {
    /// The model that is part of this program.
    pub fn embedded() -> Jdk<'static> {
        // A test reads all of it, so the other case cannot come.
        Jdk::read(EMBEDDED).unwrap_or(Jdk { version: "none", major_version: 0, index: &[], records: &[], strings: &[] })
    }
}

impl<'a> Jdk<'a> {
    /// A model from its bytes; `None` if they are no model. Damage inside of it shows later, as classes that are not
    /// there.
    pub fn read(bytes: &'a [u8]) -> Option<Jdk<'a>> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (head, rest) = rest.split_at_checked(16)?;
        let (head, _) = head.as_chunks();
        let [major_version, classes, records, strings] = *head else { return None };
        let size = |number: [u8; 4]| usize::try_from(u32::from_le_bytes(number)).ok();
        let (&length, rest) = rest.split_first()?;
        let (version, rest) = rest.split_at_checked(length.into())?;
        let (index, rest) = rest.split_at_checked(size(classes)?.checked_mul(4)?)?;
        let (records, rest) = rest.split_at_checked(size(records)?)?;
        let strings = rest.get(..size(strings)?)?;
        Some(Jdk {
            version: std::str::from_utf8(version).ok()?,
            major_version: u16::try_from(u32::from_le_bytes(major_version)).ok()?,
            index: index.as_chunks().0,
            records,
            strings,
        })
    }

    /// As reports tell it: `embedded 17`.
    pub fn version(&self) -> &'a str {
        self.version
    }

    pub fn class_count(&self) -> usize {
        self.index.len()
    }

    /// The names of all classes, in order.
    pub fn class_names(&self) -> impl Iterator<Item = &'a str> {
        let jdk = *self;
        self.index.iter().filter_map(move |place| jdk.name_at(*place))
    }

    /// The class of this binary name. No method has code, and there are no annotations.
    pub fn class(&self, name: &str, names: &Names) -> Option<Header> {
        self.decode(name, &mut Interned::new(names))
    }

    /// The same for many classes at once, in parallel.
    pub fn classes(&self, wanted: &[&str], names: &Names) -> Vec<Option<Header>> {
        let decode = |interned: &mut Interned<'_>, name: &&str| self.decode(name, interned);
        wanted.par_iter().with_min_len(DECODED_AT_LEAST).map_init(|| Interned::new(names), decode).collect()
    }

    fn decode(&self, name: &str, interned: &mut Interned<'_>) -> Option<Header> {
        // A record that cannot be read is as good as any other: the search ends somewhere.
        let found = self.index.binary_search_by(|place| self.name_at(*place).unwrap_or_default().cmp(name)).ok()?;
        let mut record = self.record(*self.index.get(found)?)?;
        let name = ClassName(record.symbol(interned)?);
        let access = record.access()?;
        let super_class = match record.number()? {
            0 => None,
            place => Some(ClassName(interned.symbol(self, place - 1)?)),
        };
        let mut interfaces = Vec::new();
        for _ in 0..record.number()? {
            interfaces.push(ClassName(record.symbol(interned)?));
        }
        let mut fields = Vec::new();
        for _ in 0..record.number()? {
            let (name, descriptor, access) = record.member(interned)?;
            fields.push(Field { name, descriptor, access, annotations: Vec::new() });
        }
        let mut methods = Vec::new();
        for _ in 0..record.number()? {
            let (name, descriptor, access) = record.member(interned)?;
            methods.push(Method { name, descriptor, access, annotations: Vec::new(), has_code: false });
        }
        Some(Header {
            name,
            super_class,
            interfaces,
            access,
            major_version: self.major_version,
            source_file: None,
            enclosing: None,
            annotations: Vec::new(),
            fields,
            methods,
        })
    }

    fn record(&self, place: [u8; 4]) -> Option<Record<'a>> {
        let place = usize::try_from(u32::from_le_bytes(place)).ok()?;
        Some(Record { jdk: *self, rest: self.records.get(place..)? })
    }

    fn name_at(&self, place: [u8; 4]) -> Option<&'a str> {
        self.record(place)?.string()
    }

    fn string(&self, place: u32) -> Option<&'a str> {
        let mut rest = self.strings.get(usize::try_from(place).ok()?..)?;
        let length = number(&mut rest)?;
        std::str::from_utf8(rest.get(..usize::try_from(length).ok()?)?).ok()
    }
}

/// What is left to read of a class.
struct Record<'a> {
    jdk: Jdk<'a>,
    rest: &'a [u8],
}

impl<'a> Record<'a> {
    fn number(&mut self) -> Option<u32> {
        number(&mut self.rest)
    }

    fn string(&mut self) -> Option<&'a str> {
        let place = self.number()?;
        self.jdk.string(place)
    }

    fn access(&mut self) -> Option<Access> {
        Some(Access::from_bits(u16::try_from(self.number()?).ok()?))
    }

    fn symbol(&mut self, interned: &mut Interned<'_>) -> Option<Symbol> {
        let place = self.number()?;
        interned.symbol(&self.jdk, place)
    }

    fn member(&mut self, interned: &mut Interned<'_>) -> Option<(Symbol, Symbol, Access)> {
        Some((self.symbol(interned)?, self.symbol(interned)?, self.access()?))
    }
}

/// Strings of the model that were interned before: most names and descriptors are those of many methods.
struct Interned<'n> {
    names: &'n Names,
    /// By the place of the string.
    symbols: FxHashMap<u32, Symbol>,
}

impl Interned<'_> {
    fn new(names: &Names) -> Interned<'_> {
        Interned { names, symbols: FxHashMap::default() }
    }

    fn symbol(&mut self, jdk: &Jdk<'_>, place: u32) -> Option<Symbol> {
        if let Some(symbol) = self.symbols.get(&place) {
            return Some(*symbol);
        }
        let symbol = self.names.intern(jdk.string(place)?);
        self.symbols.insert(place, symbol);
        Some(symbol)
    }
}

/// A number of seven bits per byte, the lowest first; `None` at the end, or if it is larger than any that is written.
fn number(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21] {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
