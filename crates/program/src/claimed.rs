//! Locks of the program's own making that are tried: a field that one method sets if it is free, and says so, and another one
//! frees.
//!
//! Under the monitor of the object, `if (owner != null) return false; owner = by; return true;` beside `owner = null;`, or the
//! same with a flag. Who was told yes is alone until he gives the claim back. Such methods are wrappers (see
//! `crate::wrapper`) of a lock that goes by the name of the field. A method that does not look, or says yes to all, and a
//! field that others write, too, make no lock.

use classfile::{Against, Condition, Constant};
use location::FieldName;
use rayon::prelude::*;

use crate::class::{ClassId, MethodId, Program};
use crate::ir::{BlockId, Body, Op, Value};
use crate::lock::{LockKind, Mode};
use crate::wrapper::{WrappedLock, Wrapper, Wrappers};

/// What a method does with a field of its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// Sets it if it is free, and tells whether it did.
    Tries(FieldName),
    Frees(FieldName),
    /// Something else, which no claim has.
    Other(FieldName),
}

/// The wrappers of such locks.
pub(crate) fn find(program: &Program) -> Wrappers {
    let classes: Vec<ClassId> = program.classes().collect();
    let may_try = |method: MethodId| {
        let own = program.method(method);
        own.access.is_synchronized()
            && !own.access.is_static()
            && own.has_code
            && program.names.text(own.descriptor).ends_with(")Z")
            && !program.mentions[method.index()].writes.is_empty()
    };
    let has_try = |class: &ClassId| program.methods_of(*class).any(may_try);
    let classes: Vec<ClassId> = classes.into_par_iter().filter(has_try).collect();
    let found: Vec<Vec<(MethodId, Half)>> = classes.par_iter().map(|class| of_class(program, *class)).collect();
    let mut wrappers = Wrappers::default();
    for (method, half) in found.into_iter().flatten() {
        match half {
            Half::Tries(field) => {
                let lock = WrappedLock::of_this(Some(field));
                wrappers.add(program, method, Wrapper::Tries { lock, kind: LockKind::Lock, mode: Mode::Exclusive });
            }
            Half::Frees(field) => wrappers.add_giving(program, method, WrappedLock::of_this(Some(field))),
            Half::Other(_) => {}
        }
    }
    wrappers
}

fn of_class(program: &Program, class: ClassId) -> Vec<(MethodId, Half)> {
    let is_maker = |method: &MethodId| program.method(*method).name == program.roots.constructor;
    let methods: Vec<MethodId> = program.methods_of(class).filter(|method| !is_maker(method)).collect();
    let halves = program.bodies_of(&methods, &|method, body: Body| {
        halves(program, method, &body).into_iter().map(|half| (method, half)).collect::<Vec<_>>()
    });
    let Ok(halves) = halves.into_iter().collect::<Result<Vec<_>, _>>() else { return Vec::new() };
    let halves = halves.concat();
    let has = |wanted: Half| halves.iter().any(|(_, half)| *half == wanted);
    let is_lock = |field: FieldName| {
        has(Half::Tries(field))
            && has(Half::Frees(field))
            && !has(Half::Other(field))
            && is_private(program, class, field)
    };
    let is_of_lock = |half: &Half| match *half {
        Half::Tries(field) | Half::Frees(field) => is_lock(field),
        Half::Other(_) => false,
    };
    halves.iter().filter(|(_, half)| is_of_lock(half)).copied().collect()
}

/// Whether a field is its class's own, and no class beside that writes it.
fn is_private(program: &Program, class: ClassId, field: FieldName) -> bool {
    let is_own = program
        .resolve_field(field)
        .is_some_and(|field| program.class_of_field(field) == class && program.field(field).access.is_private());
    let writes = |method: MethodId| program.mentions[method.index()].writes.contains(&field);
    is_own && !program.methods().filter(|method| program.class_of(*method) != class).any(writes)
}

/// What a method does with fields of its object that it writes.
fn halves(program: &Program, method: MethodId, body: &Body) -> Vec<Half> {
    let mut written: Vec<(FieldName, Value, Value, bool)> = Vec::new();
    for (at, instruction) in body.instructions() {
        if let Op::PutField { base, field, value } = instruction.op
            && is_claim(program, field)
        {
            written.push((field, at, value, is_this(body, base)));
        }
    }
    let access = program.method(method).access;
    let is_in_monitor = access.is_synchronized() && !access.is_static();
    let half = |(field, at, value, is_own): &(FieldName, Value, Value, bool)| {
        let is_only = written.iter().filter(|(other, ..)| other == field).count() == 1;
        match is_in_monitor && *is_own && is_only {
            true if is_free(body, *value) && !branches(body) => Half::Frees(*field),
            true if !is_free(body, *value) && is_try(program, body, *field, *at) => Half::Tries(*field),
            _ => Half::Other(*field),
        }
    };
    written.iter().map(half).collect()
}

/// Whether a field can tell who has a claim, or that somebody has.
fn is_claim(program: &Program, field: FieldName) -> bool {
    let descriptor = program.names.text(field.descriptor);
    descriptor == "Z" || descriptor.starts_with('L')
}

fn is_free(body: &Body, value: Value) -> bool {
    matches!(*body.op(value), Op::Constant(Constant::Null | Constant::Int(0)))
}

fn branches(body: &Body) -> bool {
    body.instructions().any(|(_, instruction)| matches!(instruction.op, Op::Branch { .. } | Op::Switch { .. }))
}

/// Whether a method comes to set the field only if that was free, and returns true if and only if it did.
fn is_try(program: &Program, body: &Body, field: FieldName, set: Value) -> bool {
    if !program.names.text(body.method.descriptor).ends_with(")Z") {
        return false;
    }
    let is_asked = |value: Value| match *body.op(value) {
        Op::GetField { base, field: asked } => asked == field && is_this(body, base),
        _ => false,
    };
    let block = body.block_of(set);
    let is_guarded = body.blocks().any(|(asking, edges)| {
        let Some(Op::Branch { condition, against: Against::Null | Against::Zero, left, .. }) =
            body.terminator(asking).map(|end| body.op(end))
        else {
            return false;
        };
        let free = match condition {
            Condition::Equal => 0,
            Condition::NotEqual => 1,
            _ => return false,
        };
        let free = edges.successors.get(free).copied();
        is_asked(*left)
            && free.is_some_and(|free| !reached(body, BlockId::ENTRY, Some((asking, free)), None)[block.index()])
    });
    let after = reached(body, block, None, None);
    let around = reached(body, BlockId::ENTRY, None, Some(block));
    let is_told = |(value, instruction): (Value, &crate::ir::Instruction)| {
        let Op::Return(Some(result)) = instruction.op else { return true };
        let at = body.block_of(value).index();
        match *body.op(result) {
            Op::Constant(Constant::Int(0)) => !after[at],
            Op::Constant(Constant::Int(_)) => !around[at],
            _ => false,
        }
    };
    is_guarded && body.instructions().all(is_told)
}

/// By block: whether control comes there from a block, not by way of an edge, nor through a block.
fn reached(body: &Body, from: BlockId, edge: Option<(BlockId, BlockId)>, barrier: Option<BlockId>) -> Vec<bool> {
    let mut seen = vec![false; body.block_count()];
    let mut pending = vec![from];
    while let Some(block) = pending.pop() {
        if barrier == Some(block) || std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        let edges = body.block(block);
        pending.extend(edges.successors.iter().filter(|next| edge != Some((block, **next))).copied());
        pending.extend(edges.handlers.iter().copied());
    }
    seen
}

fn is_this(body: &Body, value: Value) -> bool {
    !body.is_static() && matches!(body.op(body.without_casts(value)), Op::Parameter(0))
}
