//! Locks of the program's own making: a flag that one method waits for and puts up, and another one takes down.
//!
//! `while (!busy.compareAndSet(false, true)) Thread.onSpinWait();` beside `busy.set(false)`, or, under the monitor of the
//! object, `while (busy) wait(); busy = true;` beside `busy = false; notify();`. Such methods do nothing else; they are
//! wrappers of a lock (see `crate::wrapper`) that is the flag, or the object that has it. A method that gives up instead of
//! waiting, and a flag that others write, too, make no lock.

use classfile::Constant;
use location::{FieldName, MethodName};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::class::{ClassId, MethodId, Program};
use crate::ir::{BlockId, Body, Op, Value};
use crate::wrapper::{WrappedLock, Wrappers};

/// What a method does with a flag of its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// Waits until it is down, and puts it up.
    Takes(Flag),
    /// Takes it down.
    Gives(Flag),
    /// Something else, which no lock has.
    Other(FieldName),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Flag {
    field: FieldName,
    /// An `AtomicBoolean`; else a field under the monitor of its object.
    is_atomic: bool,
}

/// The wrappers of such locks.
pub(crate) fn find(program: &Program) -> Wrappers {
    let names = ["wait", "notify", "notifyAll"].map(|name| program.names.intern(name));
    let is_waiting = |called: &MethodName| called.class == program.roots.flag || names.contains(&called.name);
    let passes = ["java/lang/Thread", "java/util/concurrent/locks/LockSupport"].map(|class| program.names.class(class));
    // What a half of a lock may call and write.
    let may_be_half = |method: MethodId| {
        let own = program.method(method);
        let named = &program.mentions[method.index()];
        let is_plain = |called: &MethodName| is_waiting(called) || passes.contains(&called.class);
        own.has_code
            && named.writes.len() <= 1
            && named.lambdas.is_empty()
            && named.calls.iter().any(|(_, called)| is_waiting(called))
            && named.calls.iter().all(|(_, called)| is_plain(called))
            && own.name != program.roots.constructor
    };
    // All methods of a class are asked if it may have both halves: another one may write the flag.
    let classes: Vec<ClassId> = program.classes().collect();
    let has_both = |class: &ClassId| program.methods_of(*class).filter(|method| may_be_half(*method)).nth(1).is_some();
    let classes: FxHashSet<ClassId> = classes.into_par_iter().filter(has_both).collect();
    if classes.is_empty() {
        return Wrappers::default();
    }
    let wanted = |method: MethodId| {
        classes.contains(&program.class_of(method)) && program.method(method).name != program.roots.constructor
    };
    let found = program.visit_bodies(wanted, |method, body| {
        halves(program, method, &body).into_iter().map(|half| (method, half)).collect::<Vec<_>>()
    });
    let found: Vec<(MethodId, Half)> = found.into_iter().filter_map(Result::ok).flatten().collect();
    let mut wrappers = Wrappers::default();
    for (method, half) in &found {
        let (Half::Takes(flag) | Half::Gives(flag)) = *half else { continue };
        let has = |wanted: Half| found.iter().any(|(_, half)| *half == wanted);
        if !has(Half::Takes(flag)) || !has(Half::Gives(flag)) || has(Half::Other(flag.field)) {
            continue;
        }
        let lock = WrappedLock::of_this(Some(flag.field).filter(|_| flag.is_atomic));
        match half {
            Half::Takes(_) => wrappers.add_taking(program, *method, lock),
            _ => wrappers.add_giving(program, *method, lock),
        }
    }
    wrappers
}

/// What a method does with flags of its object.
fn halves(program: &Program, method: MethodId, body: &Body) -> Vec<Half> {
    let scan = Scan::of(program, body);
    let touched = || scan.ups.iter().chain(&scan.downs).map(|(flag, _)| Half::Other(flag.field));
    let is_plain = !program.method(method).access.is_static()
        && program.names.text(program.method(method).descriptor).ends_with(")V")
        && !scan.does_more;
    let is_in_monitor = program.method(method).access.is_synchronized();
    match (scan.ups.as_slice(), scan.downs.as_slice()) {
        ([(flag, block)], []) if is_plain => {
            let is_taking = match flag.is_atomic {
                true => is_in_loop(body, *block) && program.is_final_field(flag.field),
                false => {
                    let is_asked =
                        |(field, asked): &(FieldName, BlockId)| *field == flag.field && is_in_loop(body, *asked);
                    is_in_monitor
                        && !is_in_loop(body, *block)
                        && scan.waits.iter().any(|block| is_in_loop(body, *block))
                        && scan.reads.iter().any(is_asked)
                }
            };
            if is_taking { vec![Half::Takes(*flag)] } else { touched().collect() }
        }
        ([], [(flag, _)])
            if is_plain && (flag.is_atomic || is_in_monitor && scan.notifies) && scan.waits.is_empty() =>
        {
            vec![Half::Gives(*flag)]
        }
        _ => touched().collect(),
    }
}

/// What a body has that matters here.
#[derive(Default)]
struct Scan {
    ups: Vec<(Flag, BlockId)>,
    downs: Vec<(Flag, BlockId)>,
    reads: Vec<(FieldName, BlockId)>,
    waits: Vec<BlockId>,
    notifies: bool,
    /// It writes something else, or calls what does not only let time pass.
    does_more: bool,
}

impl Scan {
    fn of(program: &Program, body: &Body) -> Scan {
        let mut scan = Scan::default();
        for (block, _) in body.blocks() {
            for (_, instruction) in body.instructions_of(block) {
                match instruction.op {
                    Op::PutField { base, field, value } => {
                        let is_own = is_this(body, base);
                        let is_flag = program.names.text(field.descriptor) == "Z";
                        let flag = Flag { field, is_atomic: false };
                        match constant(body, value).filter(|_| is_own && is_flag) {
                            Some(true) => scan.ups.push((flag, block)),
                            Some(false) => scan.downs.push((flag, block)),
                            None => {
                                scan.does_more = true;
                                // Nobody knows whether this takes it down.
                                scan.ups.push((flag, block));
                                scan.downs.push((flag, block));
                            }
                        }
                    }
                    Op::GetField { base, field } if is_this(body, base) => scan.reads.push((field, block)),
                    Op::PutStatic { .. } | Op::ArrayStore { .. } | Op::CallDynamic { .. } => scan.does_more = true,
                    Op::Call { method, arguments, .. } => {
                        scan.call(program, body, block, method, body.operands(arguments))
                    }
                    _ => {}
                }
            }
        }
        scan
    }

    fn call(&mut self, program: &Program, body: &Body, block: BlockId, method: MethodName, given: &[Value]) {
        let name = program.names.text(method.name);
        if method.class != program.roots.flag {
            match (name, program.names.text(method.class.0)) {
                ("wait", _) => self.waits.push(block),
                ("notify" | "notifyAll", _) => self.notifies = true,
                (_, "java/lang/Thread" | "java/util/concurrent/locks/LockSupport") => {}
                _ => self.does_more = true,
            }
            return;
        }
        let object = given.first().map(|object| body.op(body.without_casts(*object)));
        let Some(Op::GetField { base, field }) = object.filter(|_| name != "<init>") else { return };
        let flag = Flag { field: *field, is_atomic: true };
        if !is_this(body, *base) {
            self.does_more = true;
            return;
        }
        let is_raised = match given {
            [_, expected, next] => (constant(body, *expected) == Some(false)).then(|| constant(body, *next)).flatten(),
            [_, next] => constant(body, *next),
            _ if name == "get" => return,
            _ => None,
        };
        match is_raised {
            Some(true) if name != "set" => self.ups.push((flag, block)),
            Some(false) if given.len() == 2 => self.downs.push((flag, block)),
            _ => {
                self.does_more = true;
                self.ups.push((flag, block));
                self.downs.push((flag, block));
            }
        }
    }
}

fn is_this(body: &Body, value: Value) -> bool {
    matches!(body.op(body.without_casts(value)), Op::Parameter(0))
}

fn constant(body: &Body, value: Value) -> Option<bool> {
    match *body.op(body.without_casts(value)) {
        Op::Constant(Constant::Int(number)) => Some(number != 0),
        _ => None,
    }
}

/// Whether control can come back to a block.
fn is_in_loop(body: &Body, block: BlockId) -> bool {
    let mut seen = FxHashSet::default();
    let mut pending: Vec<BlockId> = body.block(block).successors.iter().copied().collect();
    while let Some(next) = pending.pop() {
        if next == block {
            return true;
        }
        if seen.insert(next) {
            // A wait that is interrupted goes on in a handler.
            pending.extend(body.block(next).successors.iter().chain(&body.block(next).handlers).copied());
        }
    }
    false
}
