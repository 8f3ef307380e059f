//! What is kept of a class that was read, so that its code is found again without a second look at its tables.

use location::{Names, SymbolCell};

use crate::class::Attributes;
use crate::constant::{Bootstrap, Pool, Symbols};
use crate::constants::Constants;
use crate::cursor::Cursor;
use crate::{Code, Error};

/// Where the parts of a class file lie, and the symbols of its constants. The bytes are kept elsewhere.
#[derive(Default)]
pub struct KnownClass {
    /// Where each constant starts.
    offsets: Box<[u32]>,
    symbols: Symbols,
    /// Where the attributes of each method start, and those of the class.
    methods: Box<[u32]>,
    attributes: u32,
}

impl KnownClass {
    pub(crate) fn new(offsets: Box<[u32]>, symbols: Symbols, methods: Box<[u32]>, attributes: u32) -> KnownClass {
        KnownClass { offsets, symbols, methods, attributes }
    }

    /// The class again, with the same bytes.
    pub fn again<'a>(&'a self, bytes: &'a [u8]) -> ClassAgain<'a> {
        ClassAgain { known: self, bytes, constants: Constants::known(bytes, &self.offsets) }
    }
}

/// A class that was read before. All that is asked has to be asked with the same names as before.
pub struct ClassAgain<'a> {
    known: &'a KnownClass,
    bytes: &'a [u8],
    constants: Constants<'a>,
}

impl<'a> ClassAgain<'a> {
    pub fn bootstraps(&self, names: &Names) -> Result<Vec<Bootstrap>, Error> {
        self.pool(names).bootstraps(&self.attributes(self.known.attributes)?)
    }

    /// The decoded code of the method at `index` in [`crate::Header::methods`]; `None` if it has none.
    pub fn code(&self, index: usize, names: &Names) -> Result<Option<Code>, Error> {
        match self.known.methods.get(index) {
            Some(start) => self.pool(names).code(&self.attributes(*start)?),
            None => Ok(None),
        }
    }

    fn attributes(&self, start: u32) -> Result<Attributes<'a>, Error> {
        let mut cursor = Cursor::new(self.bytes);
        cursor.take(start as usize)?;
        Attributes::read(&mut cursor)
    }

    fn pool<'r>(&'r self, names: &'r Names) -> Pool<'r, 'a> {
        let known: &[SymbolCell] = &self.known.symbols;
        Pool { raw: &self.constants, names, known }
    }
}
