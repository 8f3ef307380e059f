//! Reads of a field that are followed by a write of the same field, with nothing but computing in between: `count++`.
//!
//! Both get one probe, before the read. It tells of both accesses, in their order; nothing else is told in between, and the
//! write comes for sure. Only where accesses may be left out: if all are kept, each has its own probe.

use super::loops::{duplicate, effect};
use super::*;

/// Instructions that compute and may throw: division, remainder, the length of an array, a cast.
const THROWING: [u8; 6] = [108, 109, 112, 113, 190, 192];

/// A read that a write may follow: where it is, the number of its object, and the constant that names the field.
type Read = (u32, u16, u16);

/// What is known in a stretch of code that is entered at its beginning alone: every object has a number.
#[derive(Default)]
struct Known {
    /// By slot. Below all is what is not known.
    stack: Vec<Option<u16>>,
    locals: FxHashMap<u16, u16>,
    last: u16,
    open: Option<Read>,
}

impl Known {
    fn number(&mut self) -> u16 {
        // A method has fewer instructions.
        self.last = self.last.wrapping_add(1);
        self.last
    }

    fn load(&mut self, local: u16) {
        let number = match self.locals.get(&local) {
            Some(number) => *number,
            None => self.number(),
        };
        self.locals.insert(local, number);
        self.stack.push(Some(number));
    }

    fn store(&mut self, local: u16) {
        let number = match self.stack.pop().flatten() {
            Some(number) => number,
            None => self.number(),
        };
        self.locals.insert(local, number);
    }

    fn pop(&mut self, slots: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(slots));
    }

    fn push(&mut self, slots: usize) {
        self.stack.resize(self.stack.len() + slots, None);
    }

    /// Something is told here, or thrown, or done that is not known.
    fn forget(&mut self) {
        self.stack.clear();
        self.open = None;
    }
}

impl MethodRewriter<'_, '_, '_> {
    pub(super) fn join_updates(&mut self) -> Result<(), Failure> {
        if !self.context.plan.joins_updates {
            return Ok(());
        }
        let count = self.code.instruction_count();
        let mut targets: FxHashSet<u32> = self.code.handler_targets().collect();
        targets.extend((0..count).flat_map(|index| self.code.jump_targets(index)));
        let mut known = Known::default();
        for index in 0..count {
            let instruction = self.code.instruction(index);
            if targets.contains(&instruction.pc) {
                known.forget();
                known.locals.clear();
            }
            let operand = || instruction.bytes.get(1).map(|byte| u16::from(*byte)).unwrap_or_default();
            match instruction.opcode {
                op::ALOAD => known.load(operand()),
                opcode @ 42..=45 => known.load(u16::from(opcode - 42)),
                op::ASTORE => known.store(operand()),
                opcode @ 75..=78 => known.store(u16::from(opcode - 75)),
                opcode @ op::DUP..=op::SWAP => duplicate(opcode, &mut known.stack),
                op::GETFIELD => self.read_before_write(instruction, &mut known)?,
                op::PUTFIELD => self.write_after_read(instruction, &mut known),
                opcode => {
                    let is_access =
                        (op::IALOAD..=op::SALOAD).contains(&opcode) || (op::IASTORE..=op::SASTORE).contains(&opcode);
                    match effect(opcode) {
                        Some((popped, pushed)) if !is_access => {
                            known.pop(popped);
                            known.push(pushed);
                            let jumps = !self.code.jump_targets(index).is_empty();
                            if THROWING.contains(&opcode) || jumps {
                                known.open = None;
                            }
                        }
                        _ => {
                            known.forget();
                            if opcode == op::WIDE {
                                known.locals.clear();
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn read_before_write(&mut self, instruction: RawInstruction<'_>, known: &mut Known) -> Result<(), Failure> {
        let object = known.stack.pop().flatten();
        let found = self.field(instruction, false)?;
        known.push(self.slots(instruction));
        match found {
            // It has no probe, and is there, since it was asked before.
            None if known.open.is_some_and(|(_, same, _)| object == Some(same)) => {}
            Some((_, FieldKind::Plain | FieldKind::Unknown, _)) if !self.is_reference(instruction) => {
                known.open = object.map(|object| (instruction.pc, object, instruction.constant().unwrap_or(0)));
            }
            _ => known.open = None,
        }
        Ok(())
    }

    fn write_after_read(&mut self, instruction: RawInstruction<'_>, known: &mut Known) {
        known.pop(self.slots(instruction));
        let object = known.stack.pop().flatten();
        let Some((read, of, constant)) = known.open.take() else { return };
        let is_same = object == Some(of) && instruction.constant() == Some(constant);
        if is_same && !self.unescaped.contains(&instruction.pc) {
            self.updates.insert(read, instruction.pc);
            self.updating.insert(instruction.pc);
        }
    }

    /// How many slots the value of a field takes.
    fn slots(&self, instruction: RawInstruction<'_>) -> usize {
        let named = self.class.pool.field(instruction.constant().unwrap_or(0));
        if named.is_some_and(|[_, _, descriptor]| matches!(descriptor, b"J" | b"D")) { 2 } else { 1 }
    }
}
