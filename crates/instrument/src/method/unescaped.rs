//! Writes of a constructor to its own object while nobody but the constructor can have it.
//!
//! The object is marked as fresh right after `super()`. Until the constructor hands it to a call or stores it somewhere, no
//! other thread can access it, and whoever does later comes after what handed it on: the rule of the recorder leaves these
//! accesses out, and no word of them behind.

use classfile::edit::{CodeEditor, ConstantPool, op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{kinds, one_kind};
use super::loops::{duplicate, effect};

/// What lies on the stack, by slot: the variable that a reference comes from. `this` is in the first one.
type Stack = Vec<Option<u16>>;
const THIS: Option<u16> = Some(0);

/// The offsets of such writes in the code behind the call of the constructor above, which is at `completing`. Nothing else
/// may be stored where `this` is.
pub(super) fn writes(code: &CodeEditor<'_>, pool: &ConstantPool<'_>, completing: u32) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    let count = code.instruction_count();
    let Some(first) = (0..count).find(|index| code.instruction(*index).pc > completing) else { return found };
    let mut origins: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for index in 0..count {
        for target in code.jump_targets(index) {
            origins.entry(target).or_default().push(index);
        }
    }
    let handlers: FxHashSet<u32> = code.handler_targets().collect();
    // What jumps bring to places further on.
    let mut brought: FxHashMap<u32, Stack> = FxHashMap::default();
    let mut falling = Some(Stack::new());
    for index in first..count {
        let pc = code.instruction(index).pc;
        let comes_from_elsewhere = |from: &Vec<usize>| from.iter().any(|from| !(first..index).contains(from));
        if handlers.contains(&pc) || origins.get(&pc).is_some_and(comes_from_elsewhere) {
            break;
        }
        let stack = match (falling.take(), brought.remove(&pc)) {
            (Some(one), Some(other)) if one == other => Some(one),
            (one, None) | (None, one) => one,
            _ => None,
        };
        let Some(mut stack) = stack else { break };
        let Some(writes_own) = step(code, pool, index, &mut stack) else { break };
        if writes_own {
            found.insert(pc);
        }
        for target in code.jump_targets(index) {
            match brought.get(&target) {
                // Two ways that differ: what comes there is not followed.
                Some(other) if *other != stack => return found,
                _ => brought.insert(target, stack.clone()),
            };
        }
        falling = code.instruction(index).falls_through().then_some(stack);
    }
    found
}

/// Does what an instruction does to the stack; whether it writes to a field of `this`. `None` if `this` may get away, or
/// it is not known what the instruction does.
fn step(code: &CodeEditor<'_>, pool: &ConstantPool<'_>, index: usize, stack: &mut Stack) -> Option<bool> {
    let instruction = code.instruction(index);
    let slots = |wide: bool| if wide { 2 } else { 1 };
    let wide = |descriptor: &[u8]| Some(one_kind(descriptor)?.0.is_wide());
    // All that is taken and must not be `this`.
    let take = |stack: &mut Stack, count: usize| {
        let rest = stack.len().checked_sub(count)?;
        let gets_away = stack[rest..].contains(&THIS);
        stack.truncate(rest);
        (!gets_away).then_some(())
    };
    match instruction.opcode {
        op::ALOAD => stack.push(Some((*instruction.bytes.get(1)?).into())),
        42..=45 => stack.push(Some((instruction.opcode - 42).into())),
        op::DUP..=op::SWAP => duplicate(instruction.opcode, stack),
        op::GETSTATIC => {
            let [_, _, descriptor] = pool.field(instruction.constant()?)?;
            stack.resize(stack.len() + slots(wide(descriptor)?), None);
        }
        op::PUTSTATIC => {
            let [_, _, descriptor] = pool.field(instruction.constant()?)?;
            take(stack, slots(wide(descriptor)?))?;
        }
        op::GETFIELD => {
            let [_, _, descriptor] = pool.field(instruction.constant()?)?;
            stack.pop()?;
            stack.resize(stack.len() + slots(wide(descriptor)?), None);
        }
        op::PUTFIELD => {
            let [_, _, descriptor] = pool.field(instruction.constant()?)?;
            let value = slots(wide(descriptor)?);
            let object = stack.len().checked_sub(value + 1)?;
            let is_own = stack[object] == THIS;
            if is_own {
                // To store `this` in itself hands it to nobody.
                stack.truncate(object);
            } else {
                take(stack, value + 1)?;
            }
            return Some(is_own);
        }
        op::NEW => stack.push(None),
        op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => {
            let [_, _, descriptor] = pool.method(instruction.constant()?)?;
            let (arguments, result) = kinds(descriptor)?;
            let receiver = usize::from(instruction.opcode != op::INVOKESTATIC);
            let count: usize = arguments.iter().map(|kind| slots(kind.is_wide())).sum();
            take(stack, count + receiver)?;
            if let Some(kind) = result {
                stack.resize(stack.len() + slots(kind.is_wide()), None);
            }
        }
        // A copy in another variable is not followed.
        op::ASTORE | 75..=78 => take(stack, 1)?,
        op::IASTORE..=op::SASTORE => take(stack, effect(instruction.opcode)?.0)?,
        op::RETURN => stack.clear(),
        // Comparisons of references.
        165 | op::IF_ACMPNE => stack.truncate(stack.len().checked_sub(2)?),
        op::IFNULL | op::IFNONNULL => stack.truncate(stack.len().checked_sub(1)?),
        opcode => {
            let (popped, pushed) = effect(opcode)?;
            take(stack, popped)?;
            stack.resize(stack.len() + pushed, None);
        }
    }
    Some(false)
}
