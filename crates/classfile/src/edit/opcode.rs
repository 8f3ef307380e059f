//! Opcodes: how long instructions are and where they jump.

use crate::Error;

/// Opcodes by name, as far as somebody asks for them by name.
#[allow(missing_docs, reason = "the names are those of the JVM specification")]
pub mod op {
    pub const ACONST_NULL: u8 = 1;
    pub const ICONST_0: u8 = 3;
    pub const BIPUSH: u8 = 16;
    pub const SIPUSH: u8 = 17;
    pub const LDC: u8 = 18;
    pub const LDC_W: u8 = 19;
    pub const ILOAD: u8 = 21;
    pub const LLOAD: u8 = 22;
    pub const FLOAD: u8 = 23;
    pub const DLOAD: u8 = 24;
    pub const ALOAD: u8 = 25;
    pub const IALOAD: u8 = 46;
    pub const AALOAD: u8 = 50;
    pub const SALOAD: u8 = 53;
    pub const ISTORE: u8 = 54;
    pub const ASTORE: u8 = 58;
    pub const ISTORE_0: u8 = 59;
    pub const ASTORE_3: u8 = 78;
    pub const IASTORE: u8 = 79;
    pub const LASTORE: u8 = 80;
    pub const DASTORE: u8 = 82;
    pub const SASTORE: u8 = 86;
    pub const POP: u8 = 87;
    pub const POP2: u8 = 88;
    pub const DUP: u8 = 89;
    pub const DUP_X1: u8 = 90;
    pub const DUP_X2: u8 = 91;
    pub const DUP2: u8 = 92;
    pub const DUP2_X1: u8 = 93;
    pub const DUP2_X2: u8 = 94;
    pub const SWAP: u8 = 95;
    pub const IADD: u8 = 96;
    pub const IAND: u8 = 126;
    pub const IINC: u8 = 132;
    pub const IFEQ: u8 = 153;
    pub const IF_ICMPEQ: u8 = 159;
    pub const IF_ACMPEQ: u8 = 165;
    pub const IF_ACMPNE: u8 = 166;
    pub const GOTO: u8 = 167;
    pub const JSR: u8 = 168;
    pub const RET: u8 = 169;
    pub const TABLESWITCH: u8 = 170;
    pub const LOOKUPSWITCH: u8 = 171;
    pub const IRETURN: u8 = 172;
    pub const RETURN: u8 = 177;
    pub const GETSTATIC: u8 = 178;
    pub const PUTSTATIC: u8 = 179;
    pub const GETFIELD: u8 = 180;
    pub const PUTFIELD: u8 = 181;
    pub const INVOKEVIRTUAL: u8 = 182;
    pub const INVOKESPECIAL: u8 = 183;
    pub const INVOKESTATIC: u8 = 184;
    pub const INVOKEINTERFACE: u8 = 185;
    pub const INVOKEDYNAMIC: u8 = 186;
    pub const NEW: u8 = 187;
    pub const ATHROW: u8 = 191;
    pub const MONITORENTER: u8 = 194;
    pub const MONITOREXIT: u8 = 195;
    pub const WIDE: u8 = 196;
    pub const IFNULL: u8 = 198;
    pub const IFNONNULL: u8 = 199;
    pub const GOTO_W: u8 = 200;
    pub const JSR_W: u8 = 201;
}

/// One instruction as it stands in the code.
#[derive(Clone, Copy, Debug)]
pub struct RawInstruction<'a> {
    pub pc: u32,
    pub opcode: u8,
    /// The whole instruction.
    pub bytes: &'a [u8],
}

impl RawInstruction<'_> {
    /// The operand of an instruction that names a constant by two bytes.
    pub fn constant(&self) -> Option<u16> {
        Some(u16::from_be_bytes([*self.bytes.get(1)?, *self.bytes.get(2)?]))
    }

    pub fn is_return(&self) -> bool {
        (op::IRETURN..=op::RETURN).contains(&self.opcode)
    }

    /// Whether it stores to the first local variable.
    pub(super) fn stores_to_first(&self) -> bool {
        match self.opcode {
            op::ISTORE..=op::ASTORE => self.bytes.get(1) == Some(&0),
            op::ISTORE_0..=op::ASTORE_3 => (self.opcode - op::ISTORE_0).is_multiple_of(4),
            op::WIDE => {
                matches!(self.bytes.get(1), Some(op::ISTORE..=op::ASTORE)) && self.bytes.get(2..4) == Some(&[0, 0])
            }
            _ => false,
        }
    }

    /// Whether the next instruction may come after it.
    pub fn falls_through(&self) -> bool {
        match self.opcode {
            op::GOTO | op::GOTO_W | op::RET..=op::RETURN | op::ATHROW => false,
            op::WIDE => self.bytes.get(1) != Some(&op::RET),
            _ => true,
        }
    }

    /// How it jumps, if it is a jump with one target.
    pub(super) fn jump(&self) -> Option<Jump> {
        match self.opcode {
            op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => Some(Jump::Near),
            op::GOTO_W | op::JSR_W => Some(Jump::Far),
            _ => None,
        }
    }

    /// The target of a jump.
    pub(super) fn target(&self) -> Option<i64> {
        let distance = match self.jump()? {
            Jump::Near => i16::from_be_bytes([self.bytes[1], self.bytes[2]]).into(),
            Jump::Far => i32::from_be_bytes([self.bytes[1], self.bytes[2], self.bytes[3], self.bytes[4]]),
        };
        Some(i64::from(self.pc) + i64::from(distance))
    }

    /// All places in a switch that hold a distance: their offsets from its opcode.
    pub(super) fn switch_distances(&self) -> impl Iterator<Item = usize> + use<> {
        let padding = padding(self.pc);
        let is_table = self.opcode == op::TABLESWITCH;
        let is_switch = is_table || self.opcode == op::LOOKUPSWITCH;
        let first = 1 + padding;
        let (start, step) = if is_table { (first + 12, 4) } else { (first + 12, 8) };
        let end = if is_switch { self.bytes.len() } else { 0 };
        let default = is_switch.then_some(first);
        default.into_iter().chain((start..end).step_by(step))
    }

    /// The target that a switch holds at such a place.
    pub(super) fn switch_target(&self, at: usize) -> i64 {
        let distance =
            self.bytes.get(at..at + 4).map_or(0, |bytes| i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        i64::from(self.pc) + i64::from(distance)
    }

    /// The keys of a switch with the targets that they lead to; the target of all others comes last, without a key.
    pub fn switch_cases(&self) -> Vec<(Option<i32>, u32)> {
        let number = |at: usize| {
            self.bytes.get(at..at + 4).map_or(0, |bytes| i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let mut cases = Vec::new();
        if !self.is_switch() {
            return cases;
        }
        let first = 1 + padding(self.pc);
        let low = number(first + 4);
        for (index, at) in self.switch_distances().skip(1).enumerate() {
            let key = match self.opcode {
                op::TABLESWITCH => low.wrapping_add(index as i32),
                _ => number(at - 4),
            };
            cases.push((Some(key), self.switch_target(at) as u32));
        }
        cases.push((None, self.switch_target(first) as u32));
        cases
    }

    pub fn is_switch(&self) -> bool {
        matches!(self.opcode, op::TABLESWITCH | op::LOOKUPSWITCH)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Jump {
    /// 16 bits.
    Near,
    /// 32 bits.
    Far,
}

/// The bytes between the opcode of a switch at this offset and its operands.
pub(crate) fn padding(pc: u32) -> usize {
    (3 - pc % 4) as usize
}

/// The jump that is taken where this one is not.
pub(super) fn inverted(opcode: u8) -> u8 {
    match opcode {
        op::IFNULL | op::IFNONNULL => opcode ^ 1,
        _ => ((opcode + 1) ^ 1) - 1,
    }
}

/// The length of the instruction at `pc`.
#[inline]
pub(crate) fn length(code: &[u8], pc: usize) -> Result<usize, Error> {
    let bad = |reason| Error::BadCode { pc: pc as u32, reason };
    let opcode = code[pc];
    let length = match opcode {
        op::BIPUSH | op::LDC | op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET | 188 => 2,
        op::SIPUSH | op::LDC_W | 20 | 132 | op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => 3,
        op::GETSTATIC..=op::INVOKESTATIC | op::NEW | 189 | 192 | 193 => 3,
        197 => 4,
        op::INVOKEINTERFACE | 186 | op::GOTO_W | op::JSR_W => 5,
        op::WIDE => match code.get(pc + 1).copied() {
            Some(132) => 6,
            Some(op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET) => 4,
            _ => return Err(bad("`wide` before an instruction that cannot be wide")),
        },
        op::TABLESWITCH | op::LOOKUPSWITCH => {
            let operands = pc + 1 + padding(pc as u32);
            let number = |at: usize| {
                let bytes = code.get(operands + at..operands + at + 4).ok_or(bad("a switch is cut off"))?;
                Ok::<i64, Error>(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into())
            };
            let entries = match opcode {
                op::TABLESWITCH => 12 + 4 * (number(8)? - number(4)? + 1),
                _ => 8 + 8 * number(4)?,
            };
            let is_sound = entries >= if opcode == op::TABLESWITCH { 12 } else { 8 };
            let entries = usize::try_from(entries).ok().filter(|_| is_sound).ok_or(bad("a switch has no such size"))?;
            1 + padding(pc as u32) + entries
        }
        0..=201 => 1,
        _ => return Err(bad("unknown opcode")),
    };
    if length > code.len() - pc {
        return Err(bad("the last instruction is cut off"));
    }
    Ok(length)
}
