//! What a class's code names: methods it calls, fields it touches, classes it makes. Without decoding operands that
//! nobody asked for.

use location::{ClassName, FieldName, MethodName, Names};

use crate::constant::Pool;
use crate::constants as tag;
use crate::cursor::Cursor;
use crate::edit::{length, op};
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
        let mut resolver = Resolver { pool: self.pool(names), class: self, bootstraps: None, known: Vec::new() };
        for (index, content) in self.raw_codes().enumerate() {
            let Some(content) = content? else { continue };
            let mut cursor = Cursor::new(content);
            let (_max_stack, _max_locals) = (cursor.u16()?, cursor.u16()?);
            let code = cursor.block()?;
            let mut pc = 0;
            while pc < code.len() {
                let Ok(length) = length(code, pc) else {
                    visit(index, Reference::Trouble);
                    break;
                };
                if let Some(reference) = resolver.resolve(&code[pc..pc + length]) {
                    visit(index, reference);
                }
                pc += length;
            }
        }
        Ok(())
    }
}

struct Resolver<'r, 'a> {
    pool: Pool<'r, 'a>,
    class: &'r Class<'a>,
    /// Read when the first one is asked for.
    bootstraps: Option<Vec<Bootstrap>>,
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

impl Resolver<'_, '_> {
    #[inline]
    fn resolve(&mut self, instruction: &[u8]) -> Option<Reference> {
        let opcode = instruction[0];
        if opcode == op::MONITORENTER {
            return Some(Reference::Monitor);
        }
        if !(op::GETSTATIC..=op::NEW).contains(&opcode) {
            return None;
        }
        let index = u16::from_be_bytes([*instruction.get(1)?, *instruction.get(2)?]);
        let reference = match (opcode, self.named(index)?) {
            (op::GETSTATIC | op::GETFIELD, Named::Field(field)) => Reference::Read(field),
            (op::PUTSTATIC | op::PUTFIELD, Named::Field(field)) => Reference::Write(field),
            (op::INVOKEVIRTUAL..=op::INVOKEINTERFACE, Named::Method(method)) => {
                Reference::Call(call_kind(opcode), method)
            }
            (op::INVOKEDYNAMIC, Named::Lambda(method)) => Reference::Lambda(method),
            (op::NEW, Named::Class(class)) => Reference::New(class),
            _ => return None,
        };
        Some(reference)
    }

    fn named(&mut self, index: u16) -> Option<Named> {
        let at = usize::from(index);
        if self.known.is_empty() {
            self.known.resize(self.pool.raw.count(), None);
        }
        let known = *self.known.get(at)?;
        known.unwrap_or_else(|| {
            let found = self.look_up(index);
            self.known[at] = Some(found);
            found
        })
    }

    fn look_up(&mut self, index: u16) -> Option<Named> {
        let (tag, content) = self.pool.raw.get(index)?;
        match tag {
            tag::METHOD | tag::INTERFACE_METHOD => self.pool.method(index).ok().map(Named::Method),
            tag::FIELD => self.pool.field(index).ok().map(Named::Field),
            tag::CLASS => self.pool.class(index).ok().map(Named::Class),
            tag::INVOKE_DYNAMIC => {
                let (names, class) = (self.pool.names, self.class);
                let bootstraps = self.bootstraps.get_or_insert_with(|| class.bootstraps(names).unwrap_or_default());
                let bootstrap = bootstraps.get(usize::from(tag::number(content, 0)?))?;
                bootstrap.lambda(names).map(|handle| Named::Lambda(handle.member))
            }
            _ => None,
        }
    }
}

/// The kind of call that one of the opcodes for calls makes.
pub(crate) fn call_kind(opcode: u8) -> CallKind {
    match opcode {
        op::INVOKESPECIAL => CallKind::Special,
        op::INVOKESTATIC => CallKind::Static,
        op::INVOKEINTERFACE => CallKind::Interface,
        _ => CallKind::Virtual,
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
