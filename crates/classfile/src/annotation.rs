//! Annotations: type and string values, as far as analyses ask for them.
//!
//! Read from the attribute's bytes by a walk of its own: annotations nest, and a recursive reader could be made to
//! run out of stack by a class file of a few kilobytes.

use location::{ClassName, Symbol};

use crate::Error;
use crate::constant::Pool;

/// An annotation on a class, method or field, of class or runtime retention.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The annotation's class, by binary name.
    pub class: ClassName,
    /// String values at the top level, by element name, arrays of strings included.
    pub strings: Vec<(Symbol, Symbol)>,
}

/// Deeper than any compiler writes, shallower than any stack.
const MAX_DEPTH: u32 = 64;

pub(crate) fn read(content: &[u8], pool: &Pool<'_, '_>, into: &mut Vec<Annotation>) -> Result<(), Error> {
    let mut reader = Reader { bytes: content };
    for _ in 0..reader.u16()? {
        let descriptor = pool.utf8(reader.u16()?)?;
        let mut annotation = Annotation { class: class_of(pool, descriptor), strings: Vec::new() };
        for _ in 0..reader.u16()? {
            let name = pool.utf8(reader.u16()?)?;
            reader.value(pool, Some((name, &mut annotation.strings)), 0)?;
        }
        into.push(annotation);
    }
    Ok(())
}

/// `Lpkg/Foo;` is `pkg/Foo`.
fn class_of(pool: &Pool<'_, '_>, descriptor: Symbol) -> ClassName {
    let text = pool.names.text(descriptor);
    let name = text.strip_prefix('L').and_then(|text| text.strip_suffix(';')).unwrap_or(text);
    pool.names.class(name)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn u8(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.bytes.split_first().ok_or_else(truncated)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn u16(&mut self) -> Result<u16, Error> {
        let (first, rest) = self.bytes.split_first_chunk::<2>().ok_or_else(truncated)?;
        self.bytes = rest;
        Ok(u16::from_be_bytes(*first))
    }

    /// Walks over one element value, and keeps its strings if asked.
    fn value(
        &mut self,
        pool: &Pool<'_, '_>,
        mut keep: Option<(Symbol, &mut Vec<(Symbol, Symbol)>)>,
        depth: u32,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Malformed("annotations nested too deeply".to_owned()));
        }
        match self.u8()? {
            b's' => {
                let value = self.u16()?;
                if let Some((name, strings)) = &mut keep {
                    strings.push((*name, pool.utf8(value)?));
                }
            }
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b'c' => {
                self.u16()?;
            }
            b'e' => {
                self.u16()?;
                self.u16()?;
            }
            b'@' => {
                self.u16()?;
                for _ in 0..self.u16()? {
                    self.u16()?;
                    self.value(pool, None, depth + 1)?;
                }
            }
            b'[' => {
                for _ in 0..self.u16()? {
                    let keep = keep.as_mut().map(|(name, strings)| (*name, &mut **strings));
                    self.value(pool, keep, depth + 1)?;
                }
            }
            _ => return Err(Error::Malformed("an annotation has a value of unknown kind".to_owned())),
        }
        Ok(())
    }
}

fn truncated() -> Error {
    Error::Malformed("an annotation is cut short".to_owned())
}
