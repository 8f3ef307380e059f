//! The code of one method, decoded.

use location::{ClassName, Symbol};

use crate::class::Attributes;
use crate::constant::Pool;
use crate::constants::misnamed;
use crate::cursor::Cursor;
use crate::edit::length;
use crate::instruction::Instruction;
use crate::{Error, decode};

/// An entry of the exception table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    pub start: u32,
    /// First offset that is no longer covered.
    pub end: u32,
    pub handler: u32,
    /// `None` catches everything.
    pub catches: Option<ClassName>,
}

/// The name of a local variable over a range of offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalName {
    pub start: u32,
    pub end: u32,
    pub slot: u16,
    pub name: Symbol,
}

#[derive(Clone, Debug)]
pub struct Code {
    pub max_stack: u16,
    pub max_locals: u16,
    pub instructions: Vec<Instruction>,
    pub handlers: Vec<Handler>,
    /// First offset and line, sorted by offset.
    pub lines: Vec<(u32, u32)>,
    pub locals: Vec<LocalName>,
}

impl Code {
    /// From the content of the attribute.
    pub(crate) fn decode(content: &[u8], pool: &Pool<'_, '_>) -> Result<Code, Error> {
        let mut cursor = Cursor::new(content);
        let (max_stack, max_locals) = (cursor.u16()?, cursor.u16()?);
        let bytes = cursor.block()?;
        // Most instructions take one to three bytes.
        let mut instructions = Vec::with_capacity(bytes.len() / 2 + 1);
        let mut pc = 0;
        while pc < bytes.len() {
            let end = pc + length(bytes, pc)?;
            let operation = decode::operation(pc as u32, &bytes[pc..end], pool)?;
            instructions.push(Instruction { pc: pc as u32, operation });
            pc = end;
        }
        let count = cursor.u16()?;
        let mut handlers = Vec::with_capacity(usize::from(count).min(content.len() / 8));
        for _ in 0..count {
            let [start, end, handler] = [cursor.u16()?, cursor.u16()?, cursor.u16()?].map(u32::from);
            let catches = match cursor.u16()? {
                0 => None,
                class => Some(pool.class(class)?),
            };
            handlers.push(Handler { start, end, handler, catches });
        }
        let mut code = Code { max_stack, max_locals, instructions, handlers, lines: Vec::new(), locals: Vec::new() };
        for (name, content) in Attributes::read(&mut cursor)? {
            match pool.raw.utf8(name).ok_or_else(|| misnamed(name))? {
                b"LineNumberTable" => code.read_lines(content),
                b"LocalVariableTable" => code.read_locals(content, pool)?,
                _ => {}
            }
        }
        code.lines.sort_unstable();
        Ok(code)
    }

    /// What is left of a table that was cut off counts.
    fn read_lines(&mut self, content: &[u8]) {
        let entries = content.get(2..).unwrap_or_default();
        self.lines.reserve(entries.len() / 4);
        for entry in entries.chunks_exact(4) {
            let pc = u16::from_be_bytes([entry[0], entry[1]]);
            let line = u16::from_be_bytes([entry[2], entry[3]]);
            self.lines.push((pc.into(), line.into()));
        }
    }

    fn read_locals(&mut self, content: &[u8], pool: &Pool<'_, '_>) -> Result<(), Error> {
        let mut cursor = Cursor::new(content);
        for _ in 0..cursor.u16()? {
            let (start, length) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let name = pool.utf8(cursor.u16()?)?;
            let _descriptor = cursor.u16()?;
            self.locals.push(LocalName { start, end: start + length, slot: cursor.u16()?, name });
        }
        Ok(())
    }
}
