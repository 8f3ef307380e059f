//! The constant pool: what is there, and what is added.

use rustc_hash::FxHashMap;

use super::limit::Limit;
use crate::Error;
use crate::constants::{
    CLASS, Constants, FIELD, INTEGER, INTERFACE_METHOD, INVOKE_DYNAMIC, METHOD, METHOD_HANDLE, METHOD_TYPE,
    NAME_AND_TYPE, UTF8, number, pair,
};
use crate::cursor::Cursor;

/// A class's constants. New ones go to the end, so that the numbers of the old ones stay.
pub struct ConstantPool<'a> {
    read: Constants<'a>,
    /// The number of constants, and one.
    count: u16,
    added: Vec<u8>,
    known: FxHashMap<Vec<u8>, u16>,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool of a whole class file, up to where `cursor` then stands.
    pub(super) fn read(bytes: &'a [u8], cursor: &mut Cursor<'a>) -> Result<ConstantPool<'a>, Error> {
        let count = cursor.clone().u16()?.max(1);
        let read = Constants::read(bytes, cursor)?;
        Ok(ConstantPool { read, count, added: Vec::new(), known: FxHashMap::default() })
    }

    /// The number of constants, and one.
    pub fn count(&self) -> u16 {
        self.count
    }

    pub(super) fn added(&self) -> &[u8] {
        &self.added
    }

    /// Text as the class file has it, in modified UTF-8.
    pub fn utf8(&self, index: u16) -> Option<&'a [u8]> {
        self.read.utf8(index)
    }

    /// The name of a class.
    pub fn class(&self, index: u16) -> Option<&'a [u8]> {
        self.utf8(self.read.one(index, CLASS)?)
    }

    /// Owner, name and descriptor of a field.
    pub fn field(&self, index: u16) -> Option<[&'a [u8]; 3]> {
        self.member(self.read.two(index, FIELD)?)
    }

    /// Owner, name and descriptor of a method.
    pub fn method(&self, index: u16) -> Option<[&'a [u8]; 3]> {
        match self.read.get(index)? {
            (METHOD | INTERFACE_METHOD, content) => self.member(pair(content)?),
            _ => None,
        }
    }

    /// Whether a constant names a method of an interface.
    pub fn is_of_interface(&self, index: u16) -> bool {
        self.read.get(index).is_some_and(|(tag, _)| tag == INTERFACE_METHOD)
    }

    /// The descriptor of a call site that a bootstrap method makes.
    pub fn call_site(&self, index: u16) -> Option<&'a [u8]> {
        let [_, name_and_type] = self.read.two(index, INVOKE_DYNAMIC)?;
        let [_, descriptor] = self.read.two(name_and_type, NAME_AND_TYPE)?;
        self.utf8(descriptor)
    }

    /// The entry among the bootstrap methods that makes a call site.
    pub fn bootstrap_of(&self, index: u16) -> Option<u16> {
        self.read.two(index, INVOKE_DYNAMIC).map(|[entry, _]| entry)
    }

    /// The kind of a method handle, as a class file has it, and the constant of what it stands for.
    pub fn handle(&self, index: u16) -> Option<(u8, u16)> {
        match self.read.get(index)? {
            (METHOD_HANDLE, content) => Some((*content.first()?, number(content, 1)?)),
            _ => None,
        }
    }

    /// The descriptor that a constant has.
    pub fn method_type(&self, index: u16) -> Option<&'a [u8]> {
        self.utf8(self.read.one(index, METHOD_TYPE)?)
    }

    pub fn int(&self, index: u16) -> Option<i32> {
        let [high, low] = self.read.two(index, INTEGER)?;
        Some(i32::from(high) << 16 | i32::from(low))
    }

    fn member(&self, [class, name_and_type]: [u16; 2]) -> Option<[&'a [u8]; 3]> {
        let [name, descriptor] = self.read.two(name_and_type, NAME_AND_TYPE)?;
        Some([self.class(class)?, self.utf8(name)?, self.utf8(descriptor)?])
    }

    fn push(&mut self, constant: &[u8]) -> Result<u16, Limit> {
        let index = self.count;
        if index == u16::MAX {
            return Err(Limit::Constants);
        }
        self.count += 1;
        self.added.extend_from_slice(constant);
        Ok(index)
    }

    fn once(&mut self, constant: Vec<u8>) -> Result<u16, Limit> {
        if let Some(index) = self.known.get(&constant) {
            return Ok(*index);
        }
        let index = self.push(&constant)?;
        self.known.insert(constant, index);
        Ok(index)
    }

    /// A constant for this text, which is in modified UTF-8.
    pub fn add_utf8(&mut self, text: &[u8]) -> Result<u16, Limit> {
        let length = u16::try_from(text.len()).map_err(|_| Limit::Constants)?;
        let mut constant = vec![UTF8];
        constant.extend(length.to_be_bytes());
        constant.extend_from_slice(text);
        self.once(constant)
    }

    pub fn add_class(&mut self, name: &[u8]) -> Result<u16, Limit> {
        let name = self.add_utf8(name)?;
        self.pair(CLASS, &[name])
    }

    /// A method of a class, not of an interface.
    pub fn add_method(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16, Limit> {
        self.add_member(METHOD, [owner, name, descriptor])
    }

    pub fn add_interface_method(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16, Limit> {
        self.add_member(INTERFACE_METHOD, [owner, name, descriptor])
    }

    fn add_member(&mut self, tag: u8, [owner, name, descriptor]: [&[u8]; 3]) -> Result<u16, Limit> {
        let owner = self.add_class(owner)?;
        let (name, descriptor) = (self.add_utf8(name)?, self.add_utf8(descriptor)?);
        let name_and_type = self.pair(NAME_AND_TYPE, &[name, descriptor])?;
        self.pair(tag, &[owner, name_and_type])
    }

    /// A handle of this kind for what a constant stands for.
    pub fn add_handle(&mut self, kind: u8, of: u16) -> Result<u16, Limit> {
        let [high, low] = of.to_be_bytes();
        self.once(vec![METHOD_HANDLE, kind, high, low])
    }

    pub fn add_int(&mut self, value: i32) -> Result<u16, Limit> {
        let mut constant = vec![INTEGER];
        constant.extend(value.to_be_bytes());
        self.once(constant)
    }

    fn pair(&mut self, tag: u8, parts: &[u16]) -> Result<u16, Limit> {
        let mut constant = vec![tag];
        parts.iter().for_each(|part| constant.extend(part.to_be_bytes()));
        self.once(constant)
    }
}
