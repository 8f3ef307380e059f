//! The code of one method, decoded.

use location::{ClassName, Symbol};
use noak::reader::attributes::AttributeContent;
use noak::reader::cpool;

use crate::constant::Pool;
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
    pub(crate) fn decode(raw: &noak::reader::attributes::Code<'_>, pool: &Pool<'_, '_>) -> Result<Code, Error> {
        let mut code = Code {
            max_stack: raw.max_stack(),
            max_locals: raw.max_locals(),
            instructions: Vec::new(),
            handlers: Vec::new(),
            lines: Vec::new(),
            locals: Vec::new(),
        };
        for instruction in raw.raw_instructions() {
            let (at, instruction) = instruction?;
            let pc = at.as_u32();
            code.instructions.push(Instruction { pc, operation: decode::operation(pc, instruction, pool)? });
        }
        for handler in raw.exception_handlers() {
            let catches = match handler.catch_type() {
                Some(class) => Some(pool.class(cpool::Index::new(class.as_u16())?)?),
                None => None,
            };
            code.handlers.push(Handler {
                start: handler.start().as_u32(),
                end: handler.end().as_u32(),
                handler: handler.handler().as_u32(),
                catches,
            });
        }
        for attribute in raw.attributes() {
            let attribute = attribute?;
            let index: cpool::Index<cpool::Utf8<'_>> = cpool::Index::new(attribute.name().as_u16())?;
            match pool.raw.get(index)?.content.as_bytes() {
                b"LineNumberTable" => code.read_lines(attribute.content()),
                b"LocalVariableTable" => code.read_locals(attribute.read_content(pool.raw)?, pool)?,
                _ => {}
            }
        }
        code.lines.sort_unstable();
        Ok(code)
    }

    /// By hand: noak 0.7 takes the offsets of this table for 32 bits wide.
    fn read_lines(&mut self, content: &[u8]) {
        let entries = content.get(2..).unwrap_or_default();
        for entry in entries.chunks_exact(4) {
            let pc = u16::from_be_bytes([entry[0], entry[1]]);
            let line = u16::from_be_bytes([entry[2], entry[3]]);
            self.lines.push((pc.into(), line.into()));
        }
    }

    fn read_locals(&mut self, content: AttributeContent<'_>, pool: &Pool<'_, '_>) -> Result<(), Error> {
        if let AttributeContent::LocalVariableTable(table) = content {
            for local in table.locals() {
                let local = local?;
                let range = local.range();
                self.locals.push(LocalName {
                    start: range.start.as_u32(),
                    end: range.end.as_u32(),
                    slot: local.index(),
                    name: pool.utf8(local.name())?,
                });
            }
        }
        Ok(())
    }
}
