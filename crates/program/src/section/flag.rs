//! Flags that keep others out: `if (!busy.compareAndSet(false, true)) return; try { ... } finally { busy.set(false); }`.
//!
//! Such a flag is a lock that is tried, if the same method takes it down again. One that stays up is a switch.

use classfile::Constant;

use crate::Program;
use crate::ir::{Body, Op, Value};
use crate::path::{Path, Paths};

/// What a call does to a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlagOperation {
    /// Puts it up if it was down; it was if the result is this.
    Raise {
        when: bool,
    },
    Lower,
}

/// What an instruction does to a flag that the method puts up and takes down.
pub(super) fn operation(
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    value: Value,
) -> Option<(FlagOperation, Path, Value)> {
    let (operation, flag) = plain(body, program, value)?;
    let path = paths.of(flag, value);
    if path.is_unknown() {
        return None;
    }
    // Down again where it was put up, and up where it is taken down.
    let mut others = body.instructions().filter_map(|(other, _)| {
        let (found, object) = plain(body, program, other)?;
        paths.of(object, other).same(&path).then_some(found)
    });
    let has_other = match operation {
        FlagOperation::Raise { .. } => others.any(|other| other == FlagOperation::Lower),
        FlagOperation::Lower => others.any(|other| matches!(other, FlagOperation::Raise { .. })),
    };
    has_other.then_some((operation, path, flag))
}

/// The same without asking for the other half.
fn plain(body: &Body, program: &Program, value: Value) -> Option<(FlagOperation, Value)> {
    let Op::Call { method, arguments, .. } = *body.op(value) else { return None };
    if method.class != program.roots.flag {
        return None;
    }
    let given = body.operands(arguments);
    let constant = |value: Value| match *body.op(body.without_casts(value)) {
        Op::Constant(Constant::Int(number)) => Some(number != 0),
        _ => None,
    };
    let name = program.names.text(method.name);
    let operation = match *given {
        [_, expected, next] if name.starts_with("compareAndSet") || name.starts_with("weakCompareAndSet") => {
            match (constant(expected)?, constant(next)?) {
                (false, true) => FlagOperation::Raise { when: true },
                (true, false) => FlagOperation::Lower,
                _ => return None,
            }
        }
        [_, next] if name == "getAndSet" => match constant(next)? {
            true => FlagOperation::Raise { when: false },
            false => FlagOperation::Lower,
        },
        [_, next] if matches!(name, "set" | "lazySet" | "setRelease") && constant(next) == Some(false) => {
            FlagOperation::Lower
        }
        _ => return None,
    };
    Some((operation, *given.first()?))
}
