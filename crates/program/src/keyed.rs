//! Locks of which there is one for each key: `locks.computeIfAbsent(key, any -> new ReentrantLock())`, or one of a few
//! stripes by the key's hash. Such a lock is called the element of its container under the key, so that two places that
//! look it up by one key name one lock.

use classfile::{Arithmetic, Constant};
use smallvec::SmallVec;

use crate::Program;
use crate::ir::{Body, Op, Value};
use crate::model::numbers;
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
