//! Writes of a constructor to its own object while nobody but the constructor can have it.
//!
//! The object is marked as fresh right after `super()`. Until the constructor hands it to a call or stores it somewhere, no
//! other thread can access it, and whoever does later comes after what handed it on: the rule of the recorder leaves these
//! accesses out, and no word of them behind.

use classfile::edit::{CodeEditor, ConstantPool, op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{kinds, one_kind};
use super::loops::{duplicate, effect};

const INVOKEDYNAMIC: u8 = 186;
const NEWARRAY: u8 = 188;
const ANEWARRAY: u8 = 189;
const MULTIANEWARRAY: u8 = 197;

/// What lies on the stack, by slot: the variable that a reference comes from. `this` is in the first one.
type Stack = Vec<Option<u16>>;
const THIS: Option<u16> = Some(0);

/// Where a constructor calls the one above, after which `this` is an object.
pub(super) fn completing(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    super_name: &[u8],
    uninitialized: &[bool],
) -> Vec<u32> {
    (1..uninitialized.len())
        .filter(|index| uninitialized[index - 1] && !uninitialized[*index])
        .map(|index| code.instruction(index - 1))
        .filter(|instruction| instruction.opcode == op::INVOKESPECIAL)
        .filter(|instruction| {
            let named = pool.method(instruction.constant().unwrap_or(0));
            named.is_some_and(|[owner, _, _]| owner == super_name)
        })
        .map(|instruction| instruction.pc)
        .collect()
}

/// The offsets of all writes of a constructor to fields that its own class declares which get no probe: those before
/// `this` is an object, and those while nobody else can have it.
pub(crate) fn own_writes(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    name: &[u8],
    super_name: &[u8],
) -> FxHashSet<u32> {
    let uninitialized = code.uninitialized_this(pool, [name, super_name]);
    let mut found = match code.keeps_this() {
        true => behind(code, pool, super_name, &completing(code, pool, super_name, &uninitialized)),
        false => FxHashSet::default(),
    };
    for index in (0..uninitialized.len()).filter(|index| uninitialized[*index]) {
        let instruction = code.instruction(index);
        if instruction.opcode == op::PUTFIELD {
            found.insert(instruction.pc);
        }
    }
    found
}

/// The offsets of such writes behind the calls of the constructor above, if it is known to hand `this` to nobody.
pub(super) fn behind(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    super_name: &[u8],
    completing: &[u32],
) -> FxHashSet<u32> {
    match (completing, super_name) {
        ([pc], b"java/lang/Object") => writes(code, pool, *pc),
        _ => FxHashSet::default(),
    }
}

/// The offsets of such writes in the code behind the call of the constructor above, which is at `completing`. Nothing else
/// may be stored where `this` is.
fn writes(code: &CodeEditor<'_>, pool: &ConstantPool<'_>, completing: u32) -> FxHashSet<u32> {
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
    // What jumps bring to places further on, and what was there when a later jump comes back.
    let mut brought: FxHashMap<u32, Stack> = FxHashMap::default();
    let mut passed: FxHashMap<u32, Stack> = FxHashMap::default();
    let mut falling = Some(Stack::new());
    for index in first..count {
        let pc = code.instruction(index).pc;
        let comes_from = |place: std::ops::Range<usize>| {
            origins.get(&pc).is_some_and(|all| all.iter().any(|from| place.contains(from)))
        };
        let stack = match (falling.take(), brought.remove(&pc)) {
            _ if handlers.contains(&pc) || comes_from(0..first) => None,
            (Some(one), Some(other)) if one == other => Some(one),
            (one, None) | (None, one) => one,
            _ => None,
        };
        let Some(mut stack) = stack else { return outside_loops(found, &origins, index, pc) };
        if comes_from(index..count) {
            passed.insert(pc, stack.clone());
        }
        let Some(writes_own) = step(code, pool, index, &mut stack) else {
            return outside_loops(found, &origins, index, pc);
        };
        if writes_own {
            found.insert(pc);
        }
        for target in code.jump_targets(index) {
            let there = if target <= pc { passed.get(&target) } else { brought.get(&target) };
            match there {
                Some(there) if *there == stack => {}
                None if target > pc => {
                    brought.insert(target, stack.clone());
                }
                // Two ways that differ: what comes there is not followed.
                _ => return outside_loops(found, &origins, index, pc),
            }
        }
        falling = code.instruction(index).falls_through().then_some(stack);
    }
    found
}

/// What was found before nobody knows what goes on at `index`, without what may come after that in another turn of a loop.
fn outside_loops(
    mut found: FxHashSet<u32>,
    origins: &FxHashMap<u32, Vec<usize>>,
    index: usize,
    pc: u32,
) -> FxHashSet<u32> {
    let goes_round = |(target, all): (&u32, &Vec<usize>)| {
        (*target <= pc && all.iter().any(|from| *from >= index)).then_some(*target)
    };
    if let Some(outermost) = origins.iter().filter_map(goes_round).min() {
        found.retain(|write| *write < outermost);
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
        NEWARRAY | ANEWARRAY => {
            take(stack, 1)?;
            stack.push(None);
        }
        MULTIANEWARRAY => {
            take(stack, (*instruction.bytes.get(3)?).into())?;
            stack.push(None);
        }
        op::INVOKEVIRTUAL..=op::INVOKEINTERFACE | INVOKEDYNAMIC => {
            let constant = instruction.constant()?;
            let is_dynamic = instruction.opcode == INVOKEDYNAMIC;
            let descriptor = if is_dynamic { pool.call_site(constant)? } else { pool.method(constant)?[2] };
            let (arguments, result) = kinds(descriptor)?;
            let receiver = usize::from(!is_dynamic && instruction.opcode != op::INVOKESTATIC);
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
