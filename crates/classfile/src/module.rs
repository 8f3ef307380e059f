//! What a `module-info` class says, as far as anyone here asks: its name, its version and what it exports.

use crate::constants::{MODULE, PACKAGE, misnamed};
use crate::cursor::Cursor;
use crate::text::text;
use crate::{Class, Error};

/// A module by its own declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    pub name: String,
    pub version: Option<String>,
    /// Packages that every other module may use, with slashes. Exports to some modules only are left out.
    pub exports: Vec<String>,
}

impl Class<'_> {
    /// The module that this class declares; `None` for an ordinary class.
    pub fn module(&self) -> Result<Option<Module>, Error> {
        for attribute in self.attributes() {
            let (name, content) = attribute?;
            if name == b"Module" {
                return self.declaration(Cursor::new(content)).map(Some);
            }
        }
        Ok(None)
    }

    fn declaration(&self, mut numbers: Cursor<'_>) -> Result<Module, Error> {
        let name = self.string_of(numbers.u16()?, MODULE)?;
        let _flags = numbers.u16()?;
        let version = match numbers.u16()? {
            0 => None,
            index => Some(self.string(index)?),
        };
        for _required in 0..numbers.u16()? {
            let (_module, _flags, _version) = (numbers.u16()?, numbers.u16()?, numbers.u16()?);
        }
        let mut exports = Vec::new();
        for _exported in 0..numbers.u16()? {
            let package = numbers.u16()?;
            let _flags = numbers.u16()?;
            let targets = numbers.u16()?;
            for _target in 0..targets {
                numbers.u16()?;
            }
            if targets == 0 {
                exports.push(self.string_of(package, PACKAGE)?);
            }
        }
        Ok(Module { name, version, exports })
    }

    /// The name that a constant of this kind has.
    fn string_of(&self, index: u16, tag: u8) -> Result<String, Error> {
        self.string(self.constants().one(index, tag).ok_or_else(|| misnamed(index))?)
    }

    fn string(&self, index: u16) -> Result<String, Error> {
        let bytes = self.constants().utf8(index).ok_or_else(|| misnamed(index))?;
        Ok(text(bytes).into_owned())
    }
}
