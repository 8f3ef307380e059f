//! Loops that touch the same arrays from beginning to end and nothing else that is watched.
//!
//! Before such a loop it is asked once whether enough accesses to its arrays were kept: then no probe in it would do anything.
//! The compiler can tell the two cases apart outside the loop, and has one without probes. In the other case it is asked again
//! in the first turns: a loop that is the first to touch an array is quiet from its second turn on.

use std::collections::BTreeMap;

use classfile::edit::{CodeEditor, ConstantPool, op};

use super::calls::one_kind;

/// The array is read, written.
const READ: i32 = 1;
const WRITE: i32 = 2;

pub(super) struct Loop {
    /// The offset of the instruction after which it begins.
    pub(super) before: u32,
    /// The offset of its first instruction.
    pub(super) header: u32,
    /// Local variables that hold the arrays, and what is done to them.
    pub(super) arrays: BTreeMap<u16, i32>,
    /// The offsets of all accesses to them.
    pub(super) accesses: Vec<u32>,
}

/// All such loops, in the order of code.
pub(super) fn find(code: &CodeEditor<'_>, pool: &ConstantPool<'_>) -> Vec<Loop> {
    // From header to the last instruction that jumps back to it, by position.
    let mut ranges: BTreeMap<u32, usize> = BTreeMap::new();
    let mut jumps = Vec::new();
    for index in 0..code.instruction_count() {
        let pc = code.instruction(index).pc;
        for target in code.jump_targets(index) {
            jumps.push((index, target));
            if target <= pc {
                ranges.insert(target, index);
            }
        }
    }
    let found = ranges.into_iter().filter_map(|(header, last)| {
        let first = (0..code.instruction_count()).find(|index| code.instruction(*index).pc == header)?;
        let before = code.instruction(first.checked_sub(1)?);
        let end = code.instruction(last).pc;
        let is_inside = |pc: u32| (header..=end).contains(&pc);
        // It is entered from above and nowhere else.
        let is_closed = jumps.iter().all(|(from, to)| !is_inside(*to) || (first..=last).contains(from))
            && !code.handler_targets().any(is_inside);
        if !before.falls_through() || !is_closed {
            return None;
        }
        let targets: Vec<u32> = jumps.iter().map(|(_, to)| *to).filter(|to| is_inside(*to)).collect();
        let (arrays, accesses) = arrays(code, pool, first..=last, &targets)?;
        Some(Loop { before: before.pc, header, arrays, accesses })
    });
    found.collect()
}

type Arrays = (BTreeMap<u16, i32>, Vec<u32>);

/// The arrays of a loop, if it touches nothing else, and none of them comes from a variable that changes in it.
fn arrays(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    range: std::ops::RangeInclusive<usize>,
    targets: &[u32],
) -> Option<Arrays> {
    let mut arrays = BTreeMap::new();
    let mut accesses = Vec::new();
    let mut stored = Vec::new();
    // What lies on the stack, by slot: the variable that a reference comes from. Below all is what is not known.
    let mut stack: Vec<Option<u16>> = Vec::new();
    for index in range {
        let instruction = code.instruction(index);
        if targets.contains(&instruction.pc) {
            stack.clear();
        }
        let operand = || instruction.bytes.get(1).map(|byte| u16::from(*byte));
        let opcode = instruction.opcode;
        match opcode {
            op::ALOAD => stack.push(Some(operand()?)),
            42..=45 => stack.push(Some(u16::from(opcode - 42))),
            op::ASTORE => stored.push(operand()?),
            75..=78 => stored.push(u16::from(opcode - 75)),
            op::IALOAD..=op::SALOAD | op::IASTORE..=op::SASTORE => {
                let is_write = opcode >= op::IASTORE;
                let value = if !is_write {
                    0
                } else if matches!(opcode, op::LASTORE | op::DASTORE) {
                    2
                } else {
                    1
                };
                let at = stack.len().checked_sub(value + 2)?;
                *arrays.entry(stack[at]?).or_insert(0) |= if is_write { WRITE } else { READ };
                accesses.push(instruction.pc);
            }
            _ => {}
        }
        match opcode {
            op::ALOAD | 42..=45 => {}
            op::DUP..=op::SWAP => duplicate(opcode, &mut stack),
            _ => {
                let (popped, pushed) = match opcode {
                    op::INVOKESTATIC => call(pool.method(instruction.constant()?)?)?,
                    _ => effect(opcode)?,
                };
                stack.truncate(stack.len().saturating_sub(popped));
                stack.resize(stack.len() + pushed, None);
            }
        }
    }
    let is_kept = arrays.keys().all(|array| !stored.contains(array));
    (is_kept && !arrays.is_empty()).then_some((arrays, accesses))
}

/// Calls that touch nothing: what they take and give, in slots.
fn call([owner, _, descriptor]: [&[u8]; 3]) -> Option<(usize, usize)> {
    if !matches!(owner, b"java/lang/Math" | b"java/lang/StrictMath") {
        return None;
    }
    let mut rest = descriptor.strip_prefix(b"(")?;
    let mut popped = 0;
    while rest.first()? != &b')' {
        let (kind, length) = one_kind(rest)?;
        popped += if kind.is_wide() { 2 } else { 1 };
        rest = &rest[length..];
    }
    let (kind, _) = one_kind(&rest[1..])?;
    Some((popped, if kind.is_wide() { 2 } else { 1 }))
}

pub(super) fn duplicate(opcode: u8, stack: &mut Vec<Option<u16>>) {
    // What lies deeper is not known.
    while stack.len() < 4 {
        stack.insert(0, None);
    }
    let top = stack.len();
    match opcode {
        op::DUP => stack.push(stack[top - 1]),
        op::DUP_X1 => stack.insert(top - 2, stack[top - 1]),
        op::DUP_X2 => stack.insert(top - 3, stack[top - 1]),
        op::SWAP => stack.swap(top - 1, top - 2),
        _ => {
            let two = [stack[top - 2], stack[top - 1]];
            let at = match opcode {
                op::DUP2 => top,
                op::DUP2_X1 => top - 3,
                _ => top - 4,
            };
            stack.splice(at..at, two);
        }
    }
}

/// What an instruction takes from the stack and puts there, in slots. `None` for all that does more than compute.
pub(super) fn effect(opcode: u8) -> Option<(usize, usize)> {
    // Of an instruction that exists for `int`, `long`, `float` and `double` in this order.
    let wide = |first: u8| (opcode - first) % 2 == 1;
    let slots = |wide: bool| if wide { 2 } else { 1 };
    Some(match opcode {
        0 | 132 | op::GOTO => (0, 0),
        1..=8 | 11..=13 | 16..=19 | 21 | 23 | 26..=29 | 34..=37 => (0, 1),
        9 | 10 | 14 | 15 | 20 | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        46..=53 => (2, slots(matches!(opcode, 47 | 49))),
        54 | 56 | 58 | 59..=62 | 67..=70 | 75..=78 | op::POP => (1, 0),
        55 | 57 | 63..=66 | 71..=74 | op::POP2 => (2, 0),
        79..=86 => (if matches!(opcode, op::LASTORE | op::DASTORE) { 4 } else { 3 }, 0),
        // Add to remainder, then the signs turned.
        96..=115 => (2 * slots(wide(96)), slots(wide(96))),
        116..=119 => (slots(wide(116)), slots(wide(116))),
        // Shifts are by an `int`.
        120..=125 => (1 + slots(wide(120)), slots(wide(120))),
        126..=131 => (2 * slots(wide(126)), slots(wide(126))),
        133 | 135 | 140 | 141 => (1, 2),
        134 | 139 | 145..=147 | 190 | 192 => (1, 1),
        136 | 137 | 142 | 144 => (2, 1),
        138 | 143 => (2, 2),
        148 | 151 | 152 => (4, 1),
        149 | 150 => (2, 1),
        153..=158 | 198 | 199 => (1, 0),
        159..=166 => (2, 0),
        _ => return None,
    })
}
