//! Loops that read arrays which stay in their variables, and do other things as well.
//!
//! Beside each such variable the method keeps the segment in which enough reads of the array were kept. As long as the thread is
//! in that segment, whatever the loop does, a probe has nothing to look at but the two numbers. Another thread that takes the
//! array over meanwhile is not noticed before the segment ends; only a data race does so.

use std::collections::{BTreeMap, BTreeSet};

use classfile::edit::{CodeEditor, op};

use super::loops::{duplicate, effect};

/// A variable that holds arrays.
#[derive(Default)]
pub(super) struct Stamped {
    /// The offsets of reads of its array, in loops.
    pub(super) reads: Vec<u32>,
    /// The offsets of all instructions that change the variable.
    pub(super) stores: Vec<u32>,
}

/// Such variables. What is in `others` has probes of its own.
pub(super) fn find(code: &CodeEditor<'_>, others: &BTreeSet<u32>) -> BTreeMap<u16, Stamped> {
    let mut found: BTreeMap<u16, Stamped> = BTreeMap::new();
    let mut targets: BTreeSet<u32> = code.handler_targets().collect();
    let mut loops = Vec::new();
    for index in 0..code.instruction_count() {
        let pc = code.instruction(index).pc;
        for target in code.jump_targets(index) {
            targets.insert(target);
            if target <= pc {
                loops.push(target..=pc);
            }
        }
    }
    // What lies on the stack, by slot: the variable that a reference comes from and that has it still.
    let mut stack: Vec<Option<u16>> = Vec::new();
    for index in 0..code.instruction_count() {
        let instruction = code.instruction(index);
        if targets.contains(&instruction.pc) {
            stack.clear();
        }
        let operand = || instruction.bytes.get(1).map(|byte| u16::from(*byte)).unwrap_or_default();
        let opcode = instruction.opcode;
        let stored = match opcode {
            op::ASTORE => Some(operand()),
            75..=78 => Some(u16::from(opcode - 75)),
            // Which variable it is does not matter: those that it could be are rare.
            op::WIDE => return BTreeMap::new(),
            _ => None,
        };
        if let Some(local) = stored {
            stack.pop();
            stack.iter_mut().filter(|slot| **slot == Some(local)).for_each(|slot| *slot = None);
            found.entry(local).or_default().stores.push(instruction.pc);
            continue;
        }
        match opcode {
            op::ALOAD => stack.push(Some(operand())),
            42..=45 => stack.push(Some(u16::from(opcode - 42))),
            op::DUP..=op::SWAP => duplicate(opcode, &mut stack),
            _ => {
                if (op::IALOAD..=op::SALOAD).contains(&opcode)
                    && let Some(local) = stack.len().checked_sub(2).and_then(|at| stack[at])
                    && !others.contains(&instruction.pc)
                    && loops.iter().any(|range| range.contains(&instruction.pc))
                {
                    found.entry(local).or_default().reads.push(instruction.pc);
                }
                match effect(opcode) {
                    Some((popped, pushed)) => {
                        stack.truncate(stack.len().saturating_sub(popped));
                        stack.resize(stack.len() + pushed, None);
                    }
                    None => stack.clear(),
                }
            }
        }
    }
    found.retain(|_, stamped| !stamped.reads.is_empty());
    found
}
