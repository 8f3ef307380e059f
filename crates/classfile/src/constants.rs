//! Where the constants of a class file lie, and what stands there. Nothing is made of them before somebody asks.

use std::borrow::Cow;

use crate::Error;
use crate::cursor::Cursor;
use crate::text::is_text;

pub(crate) const UTF8: u8 = 1;
pub(crate) const INTEGER: u8 = 3;
pub(crate) const FLOAT: u8 = 4;
pub(crate) const LONG: u8 = 5;
pub(crate) const DOUBLE: u8 = 6;
pub(crate) const CLASS: u8 = 7;
pub(crate) const STRING: u8 = 8;
pub(crate) const FIELD: u8 = 9;
pub(crate) const METHOD: u8 = 10;
pub(crate) const INTERFACE_METHOD: u8 = 11;
pub(crate) const NAME_AND_TYPE: u8 = 12;
pub(crate) const METHOD_HANDLE: u8 = 15;
pub(crate) const METHOD_TYPE: u8 = 16;
pub(crate) const DYNAMIC: u8 = 17;
pub(crate) const INVOKE_DYNAMIC: u8 = 18;
pub(crate) const MODULE: u8 = 19;
pub(crate) const PACKAGE: u8 = 20;

/// The constants of one class file.
pub(crate) struct Constants<'a> {
    bytes: &'a [u8],
    /// Where each constant starts, with its tag; 0 for those that do not exist.
    offsets: Cow<'a, [u32]>,
}

impl<'a> Constants<'a> {
    /// Reads the constants of a whole class file, up to where `cursor` then stands.
    pub(crate) fn read(bytes: &'a [u8], cursor: &mut Cursor<'a>) -> Result<Constants<'a>, Error> {
        let count = usize::from(cursor.u16()?);
        // A file of a few bytes may promise many.
        let mut offsets = Vec::with_capacity(count.min(bytes.len() / 3));
        offsets.push(0);
        while offsets.len() < count {
            // No class file is so long that this would not fit: a method's code, a field and a constant are bounded.
            offsets.push(u32::try_from(cursor.at()).map_err(|_| malformed("it is too long"))?);
            let tag = cursor.u8()?;
            let length = match tag {
                UTF8 => {
                    let length = usize::from(cursor.u16()?);
                    if !is_text(cursor.take(length)?) {
                        return Err(malformed("a constant is not in modified UTF-8"));
                    }
                    continue;
                }
                INTEGER | FLOAT | FIELD | METHOD | INTERFACE_METHOD | NAME_AND_TYPE | DYNAMIC | INVOKE_DYNAMIC => 4,
                LONG | DOUBLE => 8,
                CLASS | STRING | METHOD_TYPE | MODULE | PACKAGE => 2,
                METHOD_HANDLE => 3,
                _ => return Err(Error::Malformed(format!("a constant has the unknown tag {tag}"))),
            };
            cursor.take(length)?;
            if matches!(tag, LONG | DOUBLE) {
                offsets.push(0);
            }
        }
        Ok(Constants { bytes, offsets: Cow::Owned(offsets) })
    }

    /// Those of a file that was read before, by where they start.
    pub(crate) fn known(bytes: &'a [u8], offsets: &'a [u32]) -> Constants<'a> {
        Constants { bytes, offsets: Cow::Borrowed(offsets) }
    }

    /// Where they start.
    pub(crate) fn into_offsets(self) -> Box<[u32]> {
        self.offsets.into_owned().into_boxed_slice()
    }

    /// The number of constants, and one.
    pub(crate) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// The tag of a constant, if it exists, and what follows the tag, up to the end of the file.
    #[inline]
    pub(crate) fn get(&self, index: u16) -> Option<(u8, &'a [u8])> {
        let offset = *self.offsets.get(usize::from(index)).filter(|offset| **offset > 0)? as usize;
        let (tag, content) = self.bytes.get(offset..)?.split_first()?;
        Some((*tag, content))
    }

    #[inline]
    fn content(&self, index: u16, tag: u8) -> Option<&'a [u8]> {
        self.get(index).filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// Text as the class file has it, in modified UTF-8.
    #[inline]
    pub(crate) fn utf8(&self, index: u16) -> Option<&'a [u8]> {
        let content = self.content(index, UTF8)?;
        content.get(2..2 + usize::from(number(content, 0)?))
    }

    /// The one number that a constant with this tag has, which is that of another constant.
    #[inline]
    pub(crate) fn one(&self, index: u16, tag: u8) -> Option<u16> {
        number(self.content(index, tag)?, 0)
    }

    /// The two numbers that a constant with this tag has.
    #[inline]
    pub(crate) fn two(&self, index: u16, tag: u8) -> Option<[u16; 2]> {
        pair(self.content(index, tag)?)
    }

    /// All constants that exist.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let offsets = self.offsets.iter().filter(|offset| **offset > 0);
        offsets.filter_map(|offset| self.bytes.get(*offset as usize..)?.split_first().map(|(tag, rest)| (*tag, rest)))
    }
}

/// The number of two bytes at a place.
#[inline]
pub(crate) fn number(content: &[u8], at: usize) -> Option<u16> {
    content.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// The two numbers that stand first.
#[inline]
pub(crate) fn pair(content: &[u8]) -> Option<[u16; 2]> {
    Some([number(content, 0)?, number(content, 2)?])
}

#[cold]
pub(crate) fn malformed(reason: &str) -> Error {
    Error::Malformed(reason.to_owned())
}

/// A constant is named that does not exist, or is of another kind than is due there.
#[cold]
pub(crate) fn misnamed(index: u16) -> Error {
    Error::Malformed(format!("constant {index} is not what is due where it is named"))
}
