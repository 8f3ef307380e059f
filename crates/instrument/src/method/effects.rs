//! What instructions take from the stack and put there, whatever else they do.

use classfile::Kind;
use classfile::edit::{ConstantPool, RawInstruction, op};

use super::calls::{kinds, one_kind};
use super::loops::effect;

/// In slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Effect {
    pub(crate) popped: usize,
    pub(crate) pushed: usize,
    pub(crate) gives_reference: bool,
    /// Whether it is a constructor's call, which makes an object of what lies deepest of what it takes.
    pub(crate) makes_complete: bool,
}

/// Of all instructions but those that only move values: loads, stores, `dup` and its like, `new`. `None` if it makes no
/// sense.
pub(crate) fn effect_of(instruction: RawInstruction<'_>, pool: &ConstantPool<'_>) -> Option<Effect> {
    let slots = |kind: Kind| if kind.is_wide() { 2 } else { 1 };
    let plain =
        |popped, pushed, gives_reference| Some(Effect { popped, pushed, gives_reference, makes_complete: false });
    let opcode = instruction.opcode;
    match opcode {
        op::GETSTATIC..=op::PUTFIELD => {
            let [_, _, descriptor] = pool.field(instruction.constant()?)?;
            let (kind, _) = one_kind(descriptor)?;
            let object = usize::from(opcode >= op::GETFIELD);
            match opcode {
                op::GETSTATIC | op::GETFIELD => plain(object, slots(kind), kind == Kind::Reference),
                _ => plain(object + slots(kind), 0, false),
            }
        }
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => {
            let constant = instruction.constant()?;
            let (name, descriptor) = match opcode {
                op::INVOKEDYNAMIC => (&b""[..], pool.call_site(constant)?),
                _ => {
                    let [_, name, descriptor] = pool.method(constant)?;
                    (name, descriptor)
                }
            };
            let (arguments, result) = kinds(descriptor)?;
            let receiver = usize::from(!matches!(opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC));
            Some(Effect {
                popped: receiver + arguments.into_iter().map(slots).sum::<usize>(),
                pushed: result.map_or(0, slots),
                gives_reference: result == Some(Kind::Reference),
                makes_complete: name == b"<init>",
            })
        }
        op::ACONST_NULL => plain(0, 1, true),
        // What the constant is, does not matter: a number that is taken for a reference is never used as one.
        op::LDC | op::LDC_W => {
            let index = match opcode {
                op::LDC => u16::from(*instruction.bytes.get(1)?),
                _ => instruction.constant()?,
            };
            plain(0, 1, pool.class(index).is_some())
        }
        // An element that is a reference, a new array, a cast; the others give numbers.
        op::AALOAD => plain(2, 1, true),
        188 | 189 | 192 => plain(1, 1, true),
        193 => plain(1, 1, false),
        197 => plain(usize::from(*instruction.bytes.get(3)?), 1, true),
        op::MONITORENTER | op::MONITOREXIT | op::TABLESWITCH | op::LOOKUPSWITCH => plain(1, 0, false),
        op::WIDE if instruction.bytes.get(1) == Some(&op::IINC) => plain(0, 0, false),
        _ => {
            let (popped, pushed) = effect(opcode)?;
            plain(popped, pushed, false)
        }
    }
}

/// Of a load or store: whether it is a store, whether it is of a reference, how many slots it moves, and the variable.
pub(crate) fn local_of(instruction: RawInstruction<'_>) -> Option<(bool, bool, usize, u16)> {
    let (opcode, long) = match instruction.opcode {
        op::WIDE => (*instruction.bytes.get(1)?, true),
        opcode => (opcode, false),
    };
    let operand = || match long {
        true => Some(u16::from_be_bytes([*instruction.bytes.get(2)?, *instruction.bytes.get(3)?])),
        false => instruction.bytes.get(1).map(|byte| u16::from(*byte)),
    };
    // The kinds stand in the order `int`, `long`, `float`, `double`, reference.
    let (is_store, kind, local) = match opcode {
        op::ILOAD..=op::ALOAD => (false, opcode - op::ILOAD, operand()?),
        26..=45 if !long => (false, (opcode - 26) / 4, u16::from((opcode - 26) % 4)),
        op::ISTORE..=op::ASTORE => (true, opcode - op::ISTORE, operand()?),
        op::ISTORE_0..=op::ASTORE_3 if !long => {
            (true, (opcode - op::ISTORE_0) / 4, u16::from((opcode - op::ISTORE_0) % 4))
        }
        _ => return None,
    };
    Some((is_store, kind == 4, if matches!(kind, 1 | 3) { 2 } else { 1 }, local))
}
