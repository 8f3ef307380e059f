//! What a `module-info` class says, as far as anyone here asks: its name, its version and what it exports.

use noak::reader::cpool::{self, Module as ModuleName, Package, Utf8};

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
        for attribute in self.raw().attributes() {
            let attribute = attribute?;
            if self.raw().pool().get(attribute.name())?.content.as_bytes() == b"Module" {
                return self.declaration(Numbers { rest: attribute.content() }).map(Some);
            }
        }
        Ok(None)
    }

    /// By hand: a required module without version has an index of 0, where `noak` insists on a constant.
    fn declaration(&self, mut numbers: Numbers<'_>) -> Result<Module, Error> {
        let pool = self.raw().pool();
        let name = pool.get(cpool::Index::<ModuleName<'_>>::new(numbers.next()?)?)?.name;
        let _flags = numbers.next()?;
        let version = match numbers.next()? {
            0 => None,
            index => Some(self.string(cpool::Index::new(index)?)?),
        };
        for _required in 0..numbers.next()? {
            let (_module, _flags, _version) = (numbers.next()?, numbers.next()?, numbers.next()?);
        }
        let mut exports = Vec::new();
        for _exported in 0..numbers.next()? {
            let package = pool.get(cpool::Index::<Package<'_>>::new(numbers.next()?)?)?.name;
            let _flags = numbers.next()?;
            let targets = numbers.next()?;
            for _target in 0..targets {
                numbers.next()?;
            }
            if targets == 0 {
                exports.push(self.string(package)?);
            }
        }
        Ok(Module { name: self.string(name)?, version, exports })
    }

    fn string(&self, index: cpool::Index<Utf8<'_>>) -> Result<String, Error> {
        let index = cpool::Index::<Utf8<'_>>::new(index.as_u16())?;
        Ok(text(self.raw().pool().get(index)?.content).into_owned())
    }
}

/// The numbers of two bytes that make up the attribute.
struct Numbers<'a> {
    rest: &'a [u8],
}

impl Numbers<'_> {
    fn next(&mut self) -> Result<u16, Error> {
        match self.rest.split_first_chunk() {
            Some((number, rest)) => {
                self.rest = rest;
                Ok(u16::from_be_bytes(*number))
            }
            None => Err(Error::Malformed("the declaration of a module is cut off".to_owned())),
        }
    }
}
