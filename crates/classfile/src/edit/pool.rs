//! The constant pool: what is there, and what is added.

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::limit::Limit;
use crate::Error;

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const CLASS: u8 = 7;
const FIELD: u8 = 9;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const INVOKE_DYNAMIC: u8 = 18;

/// A class's constants. New ones go to the end, so that the numbers of the old ones stay.
pub struct ConstantPool<'a> {
    bytes: &'a [u8],
    /// Where each constant starts, with its tag; 0 for those that do not exist.
    offsets: Vec<u32>,
    /// The number of constants, and one.
    count: u16,
    added: Vec<u8>,
    known: FxHashMap<Vec<u8>, u16>,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool of a whole class file, up to where `cursor` then stands.
    pub(super) fn read(bytes: &'a [u8], cursor: &mut Cursor<'a>) -> Result<ConstantPool<'a>, Error> {
        let count = cursor.u16()?;
        let mut offsets = Vec::with_capacity(count.into());
        offsets.push(0);
        while offsets.len() < usize::from(count) {
            // No class file is so long that this would not fit: a method's code, a field and a constant are bounded.
            offsets.push(u32::try_from(cursor.at()).map_err(|_| Error::Malformed("too long".to_owned()))?);
            let tag = cursor.u8()?;
            let length = match tag {
                UTF8 => usize::from(cursor.u16()?),
                INTEGER | 4 | FIELD | METHOD | INTERFACE_METHOD | NAME_AND_TYPE | 17 | 18 => 4,
                5 | 6 => 8,
                CLASS | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                _ => return Err(Error::Malformed(format!("a constant has the unknown tag {tag}"))),
            };
            cursor.take(length)?;
            if matches!(tag, 5 | 6) {
                offsets.push(0);
            }
        }
        Ok(ConstantPool { bytes, offsets, count: count.max(1), added: Vec::new(), known: FxHashMap::default() })
    }

    /// The number of constants, and one.
    pub fn count(&self) -> u16 {
        self.count
    }

    pub(super) fn added(&self) -> &[u8] {
        &self.added
    }

    /// The content of a constant of the class as it was read, if it has this tag.
    fn content(&self, index: u16, tags: &[u8]) -> Option<&'a [u8]> {
        let offset = *self.offsets.get(usize::from(index)).filter(|offset| **offset > 0)? as usize;
        tags.contains(self.bytes.get(offset)?).then(|| &self.bytes[offset + 1..])
    }

    fn number(content: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_be_bytes([*content.get(at)?, *content.get(at + 1)?]))
    }

    /// Text as the class file has it, in modified UTF-8.
    pub fn utf8(&self, index: u16) -> Option<&'a [u8]> {
        let content = self.content(index, &[UTF8])?;
        content.get(2..2 + usize::from(Self::number(content, 0)?))
    }

    /// The name of a class.
    pub fn class(&self, index: u16) -> Option<&'a [u8]> {
        self.utf8(Self::number(self.content(index, &[CLASS])?, 0)?)
    }

    /// Owner, name and descriptor of a field.
    pub fn field(&self, index: u16) -> Option<[&'a [u8]; 3]> {
        self.member(self.content(index, &[FIELD])?)
    }

    /// Owner, name and descriptor of a method.
    pub fn method(&self, index: u16) -> Option<[&'a [u8]; 3]> {
        self.member(self.content(index, &[METHOD, INTERFACE_METHOD])?)
    }

    /// The descriptor of a call site that a bootstrap method makes.
    pub fn call_site(&self, index: u16) -> Option<&'a [u8]> {
        let content = self.content(index, &[INVOKE_DYNAMIC])?;
        let name_and_type = self.content(Self::number(content, 2)?, &[NAME_AND_TYPE])?;
        self.utf8(Self::number(name_and_type, 2)?)
    }

    fn member(&self, content: &[u8]) -> Option<[&'a [u8]; 3]> {
        let name_and_type = self.content(Self::number(content, 2)?, &[NAME_AND_TYPE])?;
        let name = self.utf8(Self::number(name_and_type, 0)?)?;
        let descriptor = self.utf8(Self::number(name_and_type, 2)?)?;
        Some([self.class(Self::number(content, 0)?)?, name, descriptor])
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
        let owner = self.add_class(owner)?;
        let (name, descriptor) = (self.add_utf8(name)?, self.add_utf8(descriptor)?);
        let name_and_type = self.pair(NAME_AND_TYPE, &[name, descriptor])?;
        self.pair(METHOD, &[owner, name_and_type])
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
