//! Reading big-endian numbers from bytes that may end anywhere.

use crate::Error;

#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..length)) {
            Some(taken) => {
                self.at += length;
                Ok(taken)
            }
            None => Err(self.ended(length)),
        }
    }

    #[inline]
    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(taken) => {
                self.at += LENGTH;
                Ok(*taken)
            }
            None => Err(self.ended(LENGTH)),
        }
    }

    #[cold]
    fn ended(&self, due: usize) -> Error {
        Error::Malformed(format!("it ends at {}, where {due} more bytes are due", self.bytes.len()))
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    /// A block that starts with its length in four bytes.
    #[inline]
    pub(crate) fn block(&mut self) -> Result<&'a [u8], Error> {
        let length = self.u32()?;
        self.take(length as usize)
    }
}
