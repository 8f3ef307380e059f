//! Constants that code can load, and bootstrap methods.

use location::{ClassName, FieldName, MethodName, Names, Symbol, SymbolCell};

use crate::class::Attributes;
use crate::constants::{self as tag, Constants, malformed, misnamed, number, pair};
use crate::cursor::Cursor;
use crate::text::text;
use crate::{Code, Error};

/// A constant as code loads it. Floating-point values are kept as bits, so that they can be compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    Null,
    Int(i32),
    Long(i64),
    Float(u32),
    Double(u64),
    String(Symbol),
    Class(ClassName),
    MethodType(Symbol),
    Handle(MethodHandle),
    /// Computed at first use by a bootstrap method; the descriptor gives its type.
    Dynamic {
        descriptor: Symbol,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HandleKind {
    GetField,
    GetStatic,
    PutField,
    PutStatic,
    InvokeVirtual,
    InvokeStatic,
    InvokeSpecial,
    NewInvokeSpecial,
    InvokeInterface,
}

/// What a method handle points to. Fields are in the same form: class, name, descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodHandle {
    pub kind: HandleKind,
    pub member: MethodName,
}

/// A bootstrap method with its static arguments. Arguments that cannot be read are left out of the class as a whole.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    pub handle: MethodHandle,
    pub arguments: Vec<Constant>,
}

/// Reads entries of one class's constant pool as interned names.
#[derive(Clone, Copy)]
pub(crate) struct Pool<'r, 'a> {
    pub(crate) raw: &'r Constants<'a>,
    pub(crate) names: &'r Names,
    pub(crate) known: &'r [SymbolCell],
}

/// By constant of one class: its symbol, once somebody asked. Code names the same few constants again and again, and
/// whoever reads a class more than once need not look them up again.
pub(crate) type Symbols = Box<[SymbolCell]>;

impl<'a> Pool<'_, 'a> {
    #[inline]
    pub(crate) fn utf8(&self, index: u16) -> Result<Symbol, Error> {
        let known = self.known.get(usize::from(index)).ok_or_else(|| misnamed(index))?;
        if let Some(symbol) = known.get() {
            return Ok(symbol);
        }
        let symbol = self.names.intern(&text(self.raw.utf8(index).ok_or_else(|| misnamed(index))?));
        known.set(symbol);
        Ok(symbol)
    }

    pub(crate) fn class(&self, index: u16) -> Result<ClassName, Error> {
        let name = self.raw.one(index, tag::CLASS).ok_or_else(|| misnamed(index))?;
        Ok(ClassName(self.utf8(name)?))
    }

    pub(crate) fn field(&self, index: u16) -> Result<FieldName, Error> {
        let [class, member] = self.raw.two(index, tag::FIELD).ok_or_else(|| misnamed(index))?;
        let (name, descriptor) = self.name_and_type(member)?;
        Ok(FieldName { class: self.class(class)?, name, descriptor })
    }

    /// A method of a class or of an interface.
    pub(crate) fn method(&self, index: u16) -> Result<MethodName, Error> {
        match self.raw.get(index) {
            Some((tag::METHOD | tag::INTERFACE_METHOD, content)) => self.member(pair(content), index),
            _ => Err(malformed("a call names a constant that is no method")),
        }
    }

    fn member(&self, parts: Option<[u16; 2]>, index: u16) -> Result<MethodName, Error> {
        let [class, member] = parts.ok_or_else(|| misnamed(index))?;
        let (name, descriptor) = self.name_and_type(member)?;
        Ok(MethodName { class: self.class(class)?, name, descriptor })
    }

    pub(crate) fn name_and_type(&self, index: u16) -> Result<(Symbol, Symbol), Error> {
        let [name, descriptor] = self.raw.two(index, tag::NAME_AND_TYPE).ok_or_else(|| misnamed(index))?;
        Ok((self.utf8(name)?, self.utf8(descriptor)?))
    }

    /// Of a call site that a bootstrap method makes: the number of the bootstrap method, name and descriptor.
    pub(crate) fn call_site(&self, index: u16) -> Result<(u16, Symbol, Symbol), Error> {
        let [bootstrap, member] = self.raw.two(index, tag::INVOKE_DYNAMIC).ok_or_else(|| misnamed(index))?;
        let (name, descriptor) = self.name_and_type(member)?;
        Ok((bootstrap, name, descriptor))
    }

    pub(crate) fn constant(&self, index: u16) -> Result<Constant, Error> {
        let four = |content: &[u8]| content.first_chunk().copied().ok_or_else(|| misnamed(index));
        let eight = |content: &[u8]| content.first_chunk().copied().ok_or_else(|| misnamed(index));
        let one = |content: &[u8]| number(content, 0).ok_or_else(|| misnamed(index));
        let (tag, content) = self.raw.get(index).ok_or_else(|| misnamed(index))?;
        Ok(match tag {
            tag::INTEGER => Constant::Int(i32::from_be_bytes(four(content)?)),
            tag::LONG => Constant::Long(i64::from_be_bytes(eight(content)?)),
            tag::FLOAT => Constant::Float(u32::from_be_bytes(four(content)?)),
            tag::DOUBLE => Constant::Double(u64::from_be_bytes(eight(content)?)),
            tag::STRING => Constant::String(self.utf8(one(content)?)?),
            tag::CLASS => Constant::Class(ClassName(self.utf8(one(content)?)?)),
            tag::METHOD_TYPE => Constant::MethodType(self.utf8(one(content)?)?),
            tag::METHOD_HANDLE => Constant::Handle(self.handle(index)?),
            tag::DYNAMIC => {
                let member = number(content, 2).ok_or_else(|| misnamed(index))?;
                Constant::Dynamic { descriptor: self.name_and_type(member)?.1 }
            }
            _ => return Err(malformed("code loads a constant that cannot be loaded")),
        })
    }

    pub(crate) fn handle(&self, index: u16) -> Result<MethodHandle, Error> {
        let Some((tag::METHOD_HANDLE, &[kind, high, low, ..])) = self.raw.get(index) else {
            return Err(misnamed(index));
        };
        let kind = match kind {
            1 => HandleKind::GetField,
            2 => HandleKind::GetStatic,
            3 => HandleKind::PutField,
            4 => HandleKind::PutStatic,
            5 => HandleKind::InvokeVirtual,
            6 => HandleKind::InvokeStatic,
            7 => HandleKind::InvokeSpecial,
            8 => HandleKind::NewInvokeSpecial,
            9 => HandleKind::InvokeInterface,
            _ => return Err(malformed("a method handle is of unknown kind")),
        };
        let reference = u16::from_be_bytes([high, low]);
        let member = match self.raw.get(reference) {
            Some((tag::FIELD, content)) => self.member(pair(content), reference)?,
            _ => self.method(reference)?,
        };
        Ok(MethodHandle { kind, member })
    }

    /// The decoded code of a method with these attributes; `None` if it has none.
    pub(crate) fn code(&self, attributes: &Attributes<'a>) -> Result<Option<Code>, Error> {
        attributes.code(self.raw)?.map(|content| Code::decode(content, self)).transpose()
    }

    /// The bootstrap methods of a class with these attributes.
    pub(crate) fn bootstraps(&self, attributes: &Attributes<'a>) -> Result<Vec<Bootstrap>, Error> {
        let mut bootstraps = Vec::new();
        for attribute in attributes.named(self.raw) {
            let (name, content) = attribute?;
            if name != b"BootstrapMethods" {
                continue;
            }
            let mut cursor = Cursor::new(content);
            for _ in 0..cursor.u16()? {
                let handle = self.handle(cursor.u16()?)?;
                let mut arguments = Vec::new();
                for _ in 0..cursor.u16()? {
                    arguments.push(self.constant(cursor.u16()?)?);
                }
                bootstraps.push(Bootstrap { handle, arguments });
            }
        }
        Ok(bootstraps)
    }
}
