//! What lies where before each branch, as far as the verifier of the JVM would say: which variables may be handed over, and
//! how deep the stack is.

use classfile::Error;
use classfile::edit::{CodeEditor, ConstantPool, Frame, LocalType, RawInstruction, Slot, op};
use rustc_hash::FxHashMap;

use crate::method::{effect_of, local_of};

/// By offset, for branches alone: variables and the stack. `None` if frames are missing, as in classes that are too old.
pub(crate) fn at_branches(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    initial: &[LocalType],
) -> Result<Option<FxHashMap<u32, Frame>>, Error> {
    let frames: FxHashMap<u32, Frame> = code.frames(initial)?.into_iter().map(|frame| (frame.pc, frame)).collect();
    let count = code.instruction_count();
    let has_frames = (0..count).flat_map(|index| code.jump_targets(index)).all(|pc| frames.contains_key(&pc));
    if !has_frames {
        return Ok(None);
    }
    let mut found = FxHashMap::default();
    let mut now = Some(Frame { pc: 0, locals: CodeEditor::slots_of(initial), stack: Vec::new() });
    for index in 0..count {
        let instruction = code.instruction(index);
        if let Some(frame) = frames.get(&instruction.pc) {
            now = Some(frame.clone());
        }
        let Some(frame) = &mut now else { continue };
        let is_branch = instruction.is_switch() || !code.jump_targets(index).is_empty() && instruction.falls_through();
        if is_branch {
            found.insert(instruction.pc, Frame { pc: instruction.pc, ..frame.clone() });
        }
        if !instruction.falls_through() || step(instruction, pool, frame).is_none() {
            now = None;
        }
    }
    Ok(Some(found))
}

/// What an instruction does; `None` if it makes no sense.
fn step(instruction: RawInstruction<'_>, pool: &ConstantPool<'_>, frame: &mut Frame) -> Option<()> {
    let opcode = instruction.opcode;
    if let Some((is_store, is_reference, width, local)) = local_of(instruction) {
        let local = usize::from(local);
        if is_store {
            let value = if is_reference { *frame.stack.last()? } else { Slot::Other };
            frame.stack.truncate(frame.stack.len().checked_sub(width)?);
            if frame.locals.len() < local + width {
                frame.locals.resize(local + width, Slot::Other);
            }
            frame.locals[local] = value;
            if width == 2 {
                frame.locals[local + 1] = Slot::Other;
            }
        } else {
            let value = if is_reference { *frame.locals.get(local)? } else { Slot::Other };
            frame.stack.resize(frame.stack.len() + width, value);
        }
        return Some(());
    }
    match opcode {
        op::DUP..=op::SWAP => {
            let top = frame.stack.len();
            let needed = match opcode {
                op::DUP => 1,
                op::DUP_X1 | op::DUP2 | op::SWAP => 2,
                op::DUP_X2 | op::DUP2_X1 => 3,
                _ => 4,
            };
            let stack = &mut frame.stack;
            if top < needed {
                return None;
            }
            match opcode {
                op::DUP => stack.push(stack[top - 1]),
                op::DUP_X1 => stack.insert(top - 2, stack[top - 1]),
                op::DUP_X2 => stack.insert(top - 3, stack[top - 1]),
                op::SWAP => stack.swap(top - 1, top - 2),
                _ => {
                    let two = [stack[top - 2], stack[top - 1]];
                    let at = top - needed;
                    let at = if opcode == op::DUP2 { top } else { at };
                    stack.splice(at..at, two);
                }
            }
            return Some(());
        }
        op::NEW => {
            frame.stack.push(Slot::New(instruction.pc));
            return Some(());
        }
        _ => {}
    }
    let effect = effect_of(instruction, pool)?;
    let below = frame.stack.len().checked_sub(effect.popped)?;
    if effect.makes_complete {
        let made = *frame.stack.get(below)?;
        for slot in frame.stack.iter_mut().chain(&mut frame.locals) {
            if *slot == made && made != Slot::Other {
                *slot = Slot::Reference;
            }
        }
    }
    frame.stack.truncate(below);
    let value = if effect.gives_reference { Slot::Reference } else { Slot::Other };
    frame.stack.resize(below + effect.pushed, value);
    Some(())
}
