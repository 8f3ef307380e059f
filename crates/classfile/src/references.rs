//! What a class's code names: methods it calls, fields it touches, classes it makes. Without decoding operands that
//! nobody asked for.

use location::{ClassName, FieldName, MethodName, Names};
use noak::reader::attributes::{AttributeContent, RawInstruction};
use noak::reader::cpool::{self, Item};

use crate::constant::Pool;
use crate::{Bootstrap, CallKind, Class, Constant, Error};

/// One mention in a method's code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reference {
    Call(CallKind, MethodName),
    /// The method behind a lambda or method reference.
    Lambda(MethodName),
    Read(FieldName),
    Write(FieldName),
    New(ClassName),
    /// A monitor is entered.
    Monitor,
    /// The code cannot be decoded from here on.
    Trouble,
}

impl Class<'_> {
    /// Calls `visit` with the position of a method in [`crate::Header::methods`] and each thing that its code names,
    /// in the order of code. Code that cannot be decoded names what stands before the trouble; without bootstrap methods
    /// that can be read there are no lambdas.
    pub fn references(&self, names: &Names, mut visit: impl FnMut(usize, Reference)) -> Result<(), Error> {
        let bootstraps = self.bootstraps(names).unwrap_or_default();
        let mut resolver = Resolver { pool: self.pool(names), bootstraps, known: Vec::new() };
        for (index, method) in self.raw().methods().into_iter().enumerate() {
            for attribute in method?.attributes() {
                let attribute = attribute?;
                if self.raw().pool().get(attribute.name())?.content.as_bytes() != b"Code" {
                    continue;
                }
                let AttributeContent::Code(code) = attribute.read_content(self.raw().pool())? else { continue };
                for instruction in code.raw_instructions() {
                    let Ok((_, instruction)) = instruction else {
                        visit(index, Reference::Trouble);
                        break;
                    };
                    if let Some(reference) = resolver.resolve(&instruction) {
                        visit(index, reference);
                    }
                }
            }
        }
        Ok(())
    }
}

struct Resolver<'r, 'a> {
    pool: Pool<'r, 'a>,
    bootstraps: Vec<Bootstrap>,
    /// By constant: what it names, once it has been looked at.
    known: Vec<Option<Option<Named>>>,
}

#[derive(Clone, Copy)]
enum Named {
    Method(MethodName),
    Field(FieldName),
    Class(ClassName),
    Lambda(MethodName),
}

impl<'a> Resolver<'_, 'a> {
    fn resolve(&mut self, instruction: &RawInstruction<'_>) -> Option<Reference> {
        match instruction {
            RawInstruction::InvokeVirtual { index } => self.call(CallKind::Virtual, index.as_u16()),
            RawInstruction::InvokeInterface { index, .. } => self.call(CallKind::Interface, index.as_u16()),
            RawInstruction::InvokeSpecial { index } => self.call(CallKind::Special, index.as_u16()),
            RawInstruction::InvokeStatic { index } => self.call(CallKind::Static, index.as_u16()),
            RawInstruction::InvokeDynamic { index } => match self.named(index.as_u16())? {
                Named::Lambda(method) => Some(Reference::Lambda(method)),
                _ => None,
            },
            RawInstruction::GetField { index } | RawInstruction::GetStatic { index } => {
                self.field(index.as_u16()).map(Reference::Read)
            }
            RawInstruction::PutField { index } | RawInstruction::PutStatic { index } => {
                self.field(index.as_u16()).map(Reference::Write)
            }
            RawInstruction::New { index } => match self.named(index.as_u16())? {
                Named::Class(class) => Some(Reference::New(class)),
                _ => None,
            },
            RawInstruction::MonitorEnter => Some(Reference::Monitor),
            _ => None,
        }
    }

    fn call(&mut self, kind: CallKind, index: u16) -> Option<Reference> {
        match self.named(index)? {
            Named::Method(method) => Some(Reference::Call(kind, method)),
            _ => None,
        }
    }

    fn field(&mut self, index: u16) -> Option<FieldName> {
        match self.named(index)? {
            Named::Field(field) => Some(field),
            _ => None,
        }
    }

    fn named(&mut self, index: u16) -> Option<Named> {
        let at = usize::from(index);
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        if self.known[at].is_none() {
            self.known[at] = Some(self.look_up(index));
        }
        self.known[at].flatten()
    }

    fn look_up(&self, index: u16) -> Option<Named> {
        let at: cpool::Index<Item<'a>> = cpool::Index::new(index).ok()?;
        match self.pool.raw.get(at).ok()? {
            Item::MethodRef(_) | Item::InterfaceMethodRef(_) => self.pool.method(at).ok().map(Named::Method),
            Item::FieldRef(_) => self.pool.field(cpool::Index::new(index).ok()?).ok().map(Named::Field),
            Item::Class(_) => self.pool.class(cpool::Index::new(index).ok()?).ok().map(Named::Class),
            Item::InvokeDynamic(dynamic) => {
                let bootstrap = self.bootstraps.get(usize::from(dynamic.bootstrap_method_attr))?;
                bootstrap.lambda(self.pool.names).map(|handle| Named::Lambda(handle.member))
            }
            _ => None,
        }
    }
}

impl Bootstrap {
    /// The method behind a lambda or method reference, if this bootstrap method makes one.
    pub fn lambda(&self, names: &Names) -> Option<crate::MethodHandle> {
        if names.text(self.handle.member.class.0) != "java/lang/invoke/LambdaMetafactory" {
            return None;
        }
        match self.arguments.get(1) {
            Some(Constant::Handle(handle)) => Some(*handle),
            _ => None,
        }
    }
}
