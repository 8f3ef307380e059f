//! Locks of which there is one for each key: `locks.computeIfAbsent(key, any -> new ReentrantLock())`, or one of a few
//! stripes by the key's hash. Such a lock is called the element of its container under the key, so that two places that
//! look it up by one key name one lock.

use classfile::{Arithmetic, Constant};
use location::MethodName;
use smallvec::SmallVec;

use crate::Program;
use crate::ir::{Body, Op, Value};
use crate::model::numbers::{self, Choice};
use crate::path::{Path, Paths, Step};

/// Longer computations of a position are not followed.
const MAX_PARTS: usize = 24;

/// The path of a lock that is looked up by a key, as it would be written at the instruction `at`.
pub(crate) fn path(program: &Program, body: &Body, paths: &Paths<'_>, lock: Value, at: Value) -> Option<Path> {
    let mut found: Option<Path> = None;
    for origin in origins(body, lock)? {
        let looked_up = match *body.op(origin) {
            // One that is made where there is none is put there.
            Op::New(_) => continue,
            Op::ArrayLoad { array, index, .. } => (array, key(program, body, index)?),
            Op::Call { method, arguments, .. } if numbers::looks_up(&program.names, method) => {
                let &[container, position, ..] = body.operands(arguments) else { return None };
                (container, key(program, body, position)?)
            }
            _ => return None,
        };
        let (container, key) = looked_up;
        let path = paths.of(container, at).then(Step::Element(key));
        if path.is_unknown() || found.as_ref().is_some_and(|found| *found != path) {
            return None;
        }
        found = Some(path);
    }
    found
}

/// The values that a lock may come from.
fn origins(body: &Body, lock: Value) -> Option<SmallVec<[Value; 4]>> {
    let mut all: SmallVec<[Value; 4]> = SmallVec::new();
    let mut pending: SmallVec<[Value; 4]> = smallvec::smallvec![lock];
    while let Some(value) = pending.pop() {
        let value = body.without_casts(value);
        if all.contains(&value) {
            continue;
        }
        all.push(value);
        if all.len() > MAX_PARTS {
            return None;
        }
        if let Op::Phi(operands) = *body.op(value) {
            pending.extend(body.operands(operands).iter().copied());
        }
    }
    all.retain(|value| !matches!(body.op(*value), Op::Phi(_) | Op::Constant(Constant::Null)));
    Some(all)
}

/// The one value that a position is computed from, as a hash is. A neighbour's position, `i + 1`, is another one.
pub(crate) fn key(program: &Program, body: &Body, position: Value) -> Option<Value> {
    let one = hashed(program, body, position)?;
    match *body.op(one) {
        Op::Call { method, arguments, .. } => {
            let given = computed_from(program, body, method, body.operands(arguments));
            Some(given.map_or(one, |given| body.without_casts(given)))
        }
        _ => Some(one),
    }
}

/// The same, as far as the code of one method tells.
fn hashed(program: &Program, body: &Body, position: Value) -> Option<Value> {
    let mut one = None;
    let mut pending: SmallVec<[Value; 8]> = smallvec::smallvec![position];
    for _ in 0..MAX_PARTS {
        let Some(value) = pending.pop() else { return one };
        let value = body.without_casts(value);
        match *body.op(value) {
            Op::Constant(_) | Op::ArrayLength(_) => {}
            Op::GetField { base, field }
                if program.is_final_field(field) && matches!(body.op(base), Op::Parameter(0)) && value != position => {}
            Op::Arithmetic(
                Arithmetic::Remainder
                | Arithmetic::And
                | Arithmetic::Xor
                | Arithmetic::ShiftRight
                | Arithmetic::ShiftRightUnsigned,
                left,
                right,
            ) => pending.extend([left, right]),
            Op::Convert(inner) => pending.push(inner),
            Op::Call { method, arguments, .. }
                if numbers::is_size(&program.names, method) && !body.operands(arguments).is_empty() => {}
            Op::Call { method, arguments, .. } if numbers::hashes(&program.names, method) => {
                pending.extend(body.operands(arguments).iter().copied());
            }
            _ if one.is_none_or(|known| known == value) => one = Some(value),
            _ => return None,
        }
    }
    None
}

/// The keys that one is chosen from, `ascending ? one : two` or the smaller position of two, in an order that tells apart
/// which one is chosen.
pub(crate) fn chosen(program: &Program, body: &Body, value: Value) -> SmallVec<[Value; 2]> {
    match *body.op(value) {
        Op::Phi(operands) => body.operands(operands).iter().map(|key| body.without_casts(*key)).collect(),
        Op::Call { method, arguments, .. } => {
            let [one, two] = *body.operands(arguments) else { return SmallVec::new() };
            let (Some(one), Some(two)) = (key(program, body, one), key(program, body, two)) else {
                return SmallVec::new();
            };
            // Which of two is the smaller one does not depend on their order here.
            let (first, last) = if one < two { (one, two) } else { (two, one) };
            match numbers::chooses(&program.names, method) {
                Some(Choice::Smaller) => smallvec::smallvec![first, last],
                Some(Choice::Larger) => smallvec::smallvec![last, first],
                None => SmallVec::new(),
            }
        }
        _ => SmallVec::new(),
    }
}

/// The argument that a method of the program computes a position from, with nothing else that changes.
fn computed_from(program: &Program, body: &Body, method: MethodName, arguments: &[Value]) -> Option<Value> {
    let target = program.inherited_method(method).filter(|target| {
        let own = program.method(*target);
        let class = program.header(program.class_of(*target));
        program.is_checked(program.class_of(*target))
            && (own.access.is_private() || own.access.is_static() || own.access.is_final() || class.access.is_final())
    })?;
    if body.method == program.method_name(target) {
        return None;
    }
    let callee = program.body(target).ok()??;
    let mut returned = callee.instructions().filter_map(|(_, instruction)| match instruction.op {
        Op::Return(value) => Some(value),
        _ => None,
    });
    let (Some(Some(result)), None) = (returned.next(), returned.next()) else { return None };
    // The position is computed here, and not by another method once more.
    match *callee.op(hashed(program, &callee, result)?) {
        Op::Parameter(position) => arguments.get(usize::from(position)).copied(),
        _ => None,
    }
}

/// A value without the box that it was put into.
pub(crate) fn unboxed(program: &Program, body: &Body, value: Value) -> Value {
    match *body.op(body.without_casts(value)) {
        Op::Call { method, arguments, .. } if numbers::is_box(&program.names, method) => {
            match body.operands(arguments) {
                [inner] => body.without_casts(*inner),
                _ => value,
            }
        }
        _ => value,
    }
}
