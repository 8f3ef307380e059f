//! Constants that code can load, and bootstrap methods.

use std::cell::RefCell;

use location::{ClassName, FieldName, MethodName, Names, Symbol};
use noak::reader::cpool::{self, ConstantPool, Item};

use crate::Error;
use crate::text::text;

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
    pub(crate) raw: &'r ConstantPool<'a>,
    pub(crate) names: &'r Names,
    pub(crate) known: &'r Symbols,
}

/// By constant of one class: its symbol, once somebody asked. Code names the same few constants again and again, and
/// whoever reads a class more than once need not look them up again.
#[derive(Clone, Default)]
pub struct Symbols(RefCell<Vec<Option<Symbol>>>);

impl Symbols {
    /// What is known, to be kept.
    pub fn into_kept(self) -> KeptSymbols {
        KeptSymbols(self.0.into_inner().into_boxed_slice())
    }
}

/// The symbols of a class that was read before.
#[derive(Clone, Default, Debug)]
pub struct KeptSymbols(Box<[Option<Symbol>]>);

impl KeptSymbols {
    pub fn known(&self) -> Symbols {
        Symbols(RefCell::new(self.0.to_vec()))
    }
}

impl<'a> Pool<'_, 'a> {
    pub(crate) fn utf8<'i>(&self, index: cpool::Index<cpool::Utf8<'i>>) -> Result<Symbol, Error> {
        let at = usize::from(index.as_u16());
        if let Some(Some(symbol)) = self.known.0.borrow().get(at) {
            return Ok(*symbol);
        }
        // The index type carries a lifetime that means nothing here; local variable tables have `'static`.
        let index: cpool::Index<cpool::Utf8<'a>> = cpool::Index::new(index.as_u16())?;
        let symbol = self.names.intern(&text(self.raw.get(index)?.content));
        let mut known = self.known.0.borrow_mut();
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        known[at] = Some(symbol);
        Ok(symbol)
    }

    pub(crate) fn class(&self, index: cpool::Index<cpool::Class<'a>>) -> Result<ClassName, Error> {
        Ok(ClassName(self.utf8(self.raw.get(index)?.name)?))
    }

    pub(crate) fn field(&self, index: cpool::Index<cpool::FieldRef<'a>>) -> Result<FieldName, Error> {
        let field = self.raw.get(index)?;
        let (name, descriptor) = self.name_and_type(field.name_and_type)?;
        Ok(FieldName { class: self.class(field.class)?, name, descriptor })
    }

    /// A method of a class or of an interface.
    pub(crate) fn method(&self, index: cpool::Index<Item<'a>>) -> Result<MethodName, Error> {
        let (class, name_and_type) = match self.raw.get(index)? {
            Item::MethodRef(method) => (method.class, method.name_and_type),
            Item::InterfaceMethodRef(method) => (method.class, method.name_and_type),
            _ => return Err(Error::Malformed("a call names a constant that is no method".to_owned())),
        };
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Ok(MethodName { class: self.class(class)?, name, descriptor })
    }

    pub(crate) fn name_and_type(&self, index: cpool::Index<cpool::NameAndType<'a>>) -> Result<(Symbol, Symbol), Error> {
        let entry = self.raw.get(index)?;
        Ok((self.utf8(entry.name)?, self.utf8(entry.descriptor)?))
    }

    pub(crate) fn constant(&self, index: cpool::Index<Item<'a>>) -> Result<Constant, Error> {
        Ok(match self.raw.get(index)? {
            Item::Integer(value) => Constant::Int(value.value),
            Item::Long(value) => Constant::Long(value.value),
            Item::Float(value) => Constant::Float(value.value.to_bits()),
            Item::Double(value) => Constant::Double(value.value.to_bits()),
            Item::String(value) => Constant::String(self.utf8(value.string)?),
            Item::Class(value) => Constant::Class(ClassName(self.utf8(value.name)?)),
            Item::MethodType(value) => Constant::MethodType(self.utf8(value.descriptor)?),
            Item::MethodHandle(value) => Constant::Handle(self.handle(value)?),
            Item::Dynamic(value) => Constant::Dynamic { descriptor: self.name_and_type(value.name_and_type)?.1 },
            _ => return Err(Error::Malformed("code loads a constant that cannot be loaded".to_owned())),
        })
    }

    pub(crate) fn handle(&self, handle: &cpool::MethodHandle<'a>) -> Result<MethodHandle, Error> {
        let kind = match handle.kind {
            cpool::MethodKind::GetField => HandleKind::GetField,
            cpool::MethodKind::GetStatic => HandleKind::GetStatic,
            cpool::MethodKind::PutField => HandleKind::PutField,
            cpool::MethodKind::PutStatic => HandleKind::PutStatic,
            cpool::MethodKind::InvokeVirtual => HandleKind::InvokeVirtual,
            cpool::MethodKind::InvokeStatic => HandleKind::InvokeStatic,
            cpool::MethodKind::InvokeSpecial => HandleKind::InvokeSpecial,
            cpool::MethodKind::NewInvokeSpecial => HandleKind::NewInvokeSpecial,
            cpool::MethodKind::InvokeInterface => HandleKind::InvokeInterface,
        };
        let member = match self.raw.get(handle.reference)? {
            Item::FieldRef(field) => {
                let (name, descriptor) = self.name_and_type(field.name_and_type)?;
                MethodName { class: self.class(field.class)?, name, descriptor }
            }
            _ => self.method(handle.reference)?,
        };
        Ok(MethodHandle { kind, member })
    }
}
