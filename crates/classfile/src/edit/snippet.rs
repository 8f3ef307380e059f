//! A piece of straight-line code to be inserted.

use super::limit::Limit;
use super::opcode::op;
use super::pool::ConstantPool;
use crate::Kind;

/// From this many constants on, numbers are computed rather than made constants, so that room is left.
const CROWDED: u16 = 50_000;

/// Instructions, and how deep the stack gets on top of what lies on it where they are inserted.
#[derive(Clone, Default, Debug)]
pub struct Snippet {
    bytes: Vec<u8>,
    depth: i32,
    highest: i32,
}

impl Snippet {
    pub fn new() -> Snippet {
        Snippet::default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.depth = 0;
        self.highest = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The most slots that it needs above the stack it starts on.
    pub(super) fn highest(&self) -> u16 {
        u16::try_from(self.highest).unwrap_or(u16::MAX)
    }

    fn moves(&mut self, slots: i32) {
        self.depth += slots;
        self.highest = self.highest.max(self.depth);
    }

    /// An instruction without operands, which adds so many slots to the stack.
    pub fn simple(&mut self, opcode: u8, slots: i32) -> &mut Snippet {
        self.bytes.push(opcode);
        self.moves(slots);
        self
    }

    pub fn dup(&mut self) -> &mut Snippet {
        self.simple(op::DUP, 1)
    }

    pub fn push_null(&mut self) -> &mut Snippet {
        self.simple(op::ACONST_NULL, 1)
    }

    pub fn push_int(&mut self, value: i32, pool: &mut ConstantPool<'_>) -> Result<&mut Snippet, Limit> {
        match value {
            // The constants from -1 to 5 have opcodes of their own, in a row.
            -1..=5 => {
                self.simple((i32::from(op::ICONST_0) + value) as u8, 1);
            }
            -128..=127 => {
                self.bytes.extend([op::BIPUSH, value as u8]);
                self.moves(1);
            }
            -32_768..=32_767 => {
                self.bytes.push(op::SIPUSH);
                self.bytes.extend((value as i16).to_be_bytes());
                self.moves(1);
            }
            _ if pool.count() < CROWDED => {
                let constant = pool.add_int(value)?;
                self.load_constant(constant);
            }
            _ => {
                let low = value & 0x3fff;
                let constant = pool.add_int(value - low)?;
                self.load_constant(constant);
                self.bytes.push(op::SIPUSH);
                self.bytes.extend((low as i16).to_be_bytes());
                self.moves(1);
                self.simple(op::IADD, -1);
            }
        }
        Ok(self)
    }

    /// Pushes a constant of one slot.
    pub fn load_constant(&mut self, constant: u16) -> &mut Snippet {
        match u8::try_from(constant) {
            Ok(short) => self.bytes.extend([op::LDC, short]),
            Err(_) => {
                self.bytes.push(op::LDC_W);
                self.bytes.extend(constant.to_be_bytes());
            }
        }
        self.moves(1);
        self
    }

    pub fn load(&mut self, kind: Kind, local: u16) -> &mut Snippet {
        self.local(op::ILOAD, kind, local);
        self.moves(if kind.is_wide() { 2 } else { 1 });
        self
    }

    pub fn store(&mut self, kind: Kind, local: u16) -> &mut Snippet {
        self.local(op::ISTORE, kind, local);
        self.moves(if kind.is_wide() { -2 } else { -1 });
        self
    }

    /// An instruction that names a constant, which adds so many slots to the stack.
    pub fn naming(&mut self, opcode: u8, constant: u16, slots: i32) -> &mut Snippet {
        self.bytes.push(opcode);
        self.bytes.extend(constant.to_be_bytes());
        self.moves(slots);
        self
    }

    /// Calls a method of an interface, which takes so many slots with its receiver.
    pub fn call_interface(&mut self, constant: u16, taken: u8, given: u16) -> &mut Snippet {
        self.naming(op::INVOKEINTERFACE, constant, i32::from(given) - i32::from(taken));
        self.bytes.extend([taken, 0]);
        self
    }

    /// Adds one to a local variable.
    pub fn increment(&mut self, local: u16) -> &mut Snippet {
        match u8::try_from(local) {
            Ok(short) => self.bytes.extend([op::IINC, short, 1]),
            Err(_) => {
                self.bytes.extend([op::WIDE, op::IINC]);
                self.bytes.extend(local.to_be_bytes());
                self.bytes.extend([0, 1]);
            }
        }
        self
    }

    fn local(&mut self, of_int: u8, kind: Kind, local: u16) {
        // The opcodes of one family stand in this order.
        let opcode = of_int
            + match kind {
                Kind::Int => 0,
                Kind::Long => 1,
                Kind::Float => 2,
                Kind::Double => 3,
                Kind::Reference => 4,
            };
        match u8::try_from(local) {
            Ok(short) => self.bytes.extend([opcode, short]),
            Err(_) => {
                self.bytes.extend([op::WIDE, opcode]);
                self.bytes.extend(local.to_be_bytes());
            }
        }
    }

    /// Calls a method that takes so many slots from the stack and gives so many back.
    pub fn call_static(&mut self, method: u16, slots: u16, given: u16) -> &mut Snippet {
        self.bytes.push(op::INVOKESTATIC);
        self.bytes.extend(method.to_be_bytes());
        self.moves(-i32::from(slots));
        self.moves(given.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_from_where_it_starts() {
        let mut snippet = Snippet::new();
        snippet.store(Kind::Long, 300).simple(op::DUP2, 2).dup().load(Kind::Long, 300).call_static(7, 3, 0);
        assert_eq!(snippet.highest(), 3);
        assert_eq!(snippet.bytes(), [196, 55, 1, 44, 92, 89, 196, 22, 1, 44, 184, 0, 7]);
    }
}
