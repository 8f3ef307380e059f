//! What single instructions do to locks.

use classfile::CallKind;
use location::MethodName;
use smallvec::SmallVec;

use super::flag::{self, FlagOperation};
use super::{Section, SectionId, SectionKind};
use crate::Program;
use crate::ir::{Body, Instruction, Op, Value, ValueType};
use crate::keyed;
use crate::lock::{self, LockKind, LockOperation, Mode};
use crate::path::{Path, Paths, Root, Step};
use crate::token::TokenOperation;
use crate::wrapper::{HandsOut, WrappedLock, Wrapper};

/// What an instruction does to locks, worked out once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    None,
    Enter(SectionId),
    /// Takes a lock, and yields what ends the section: it is open while that is not null.
    EnterWith(SectionId),
    TryEnter(SectionId),
    /// Takes a lock if the result is false.
    EnterUnless(SectionId),
    /// Turns an open section on the same lock into this one, or fails and leaves it as it is.
    Convert(SectionId),
    Exit(Exit),
    Validate(Path),
    Wait(LockKind, Option<Path>),
}

/// A lock is given back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exit {
    pub(super) kind: LockKind,
    /// Which half, where the call tells.
    pub(super) mode: Option<Mode>,
    pub(super) lock: Path,
    pub(super) object: Value,
}

/// What an instruction does to locks. Opens a section in `list` where it takes one.
pub(super) fn of(
    list: &mut Vec<Section>,
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    value: Value,
    instruction: &Instruction,
) -> Event {
    let mut open = |kind: LockKind, mode: Mode, lock: (Path, Option<Mode>), object: Value, is_tried: bool| {
        let (lock, half) = lock;
        list.push(Section {
            kind: SectionKind::Block(kind),
            lock,
            mode: half.unwrap_or(mode),
            is_half: half.is_some(),
            is_tried,
            start: Some(value),
            objects: smallvec::smallvec![object],
            reentrant: false,
            ends: Vec::new(),
            waits: Vec::new(),
        });
        SectionId(list.len() as u32 - 1)
    };
    match instruction.op {
        Op::MonitorEnter(object) => {
            let lock = (monitor(body, program, paths, object, value), None);
            Event::Enter(open(LockKind::Monitor, Mode::Exclusive, lock, object, false))
        }
        Op::MonitorExit(object) => {
            let lock = monitor(body, program, paths, object, value);
            Event::Exit(Exit { kind: LockKind::Monitor, mode: None, lock, object })
        }
        Op::Call { kind, method, arguments } => {
            if let Some((operation, queue)) = program.tokens.operation(program, body, value) {
                let named = (paths.of(queue, value), None);
                return match operation {
                    TokenOperation::Take => Event::Enter(open(LockKind::Lock, Mode::Exclusive, named, queue, false)),
                    TokenOperation::Poll => Event::EnterWith(open(LockKind::Lock, Mode::Exclusive, named, queue, true)),
                    TokenOperation::Put => {
                        Event::Exit(Exit { kind: LockKind::Lock, mode: None, lock: named.0, object: queue })
                    }
                };
            }
            let operation = lock::operation(program, method).filter(|_| kind != CallKind::Static);
            let Some(operation) = operation else {
                return match flag::operation(body, program, paths, value) {
                    Some((FlagOperation::Raise { when }, lock, object)) => {
                        let section = open(LockKind::Lock, Mode::Exclusive, (lock, None), object, true);
                        if when { Event::TryEnter(section) } else { Event::EnterUnless(section) }
                    }
                    Some((FlagOperation::Lower, lock, object)) => {
                        Event::Exit(Exit { kind: LockKind::Lock, mode: None, lock, object })
                    }
                    None => wrapped(open, body, program, paths, value),
                };
            };
            let Some(&object) = body.operands(arguments).first() else { return Event::None };
            let named = lock_path(body, program, paths, object, value);
            // With more than one permit it keeps nobody out.
            if lock::is_semaphore(program, method.class) && named.1.is_none() {
                return Event::None;
            }
            match operation {
                LockOperation::Acquire(kind, mode) => Event::Enter(open(kind, mode, named, object, false)),
                LockOperation::TryAcquire(kind, mode) => Event::TryEnter(open(kind, mode, named, object, true)),
                LockOperation::Convert(kind, mode) => Event::Convert(open(kind, mode, named, object, true)),
                LockOperation::Release(kind, mode) => {
                    let (lock, half) = named;
                    Event::Exit(Exit { kind, mode: half.or(mode), lock, object })
                }
                LockOperation::Validate => Event::Validate(named.0),
                LockOperation::Wait => wait(body, program, paths, object, value, method),
            }
        }
        _ => Event::None,
    }
}

/// What the call of a wrapper does to locks; see `crate::wrapper`.
fn wrapped(
    mut open: impl FnMut(LockKind, Mode, (Path, Option<Mode>), Value, bool) -> SectionId,
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    at: Value,
) -> Event {
    let Op::Call { kind: call, method, arguments } = *body.op(at) else { return Event::None };
    if program.wrappers.is_empty() {
        return Event::None;
    }
    let given: SmallVec<[(Value, HandsOut); 4]> =
        body.operands(arguments).iter().map(|argument| program.wrappers.source(program, body, *argument)).collect();
    let objects: SmallVec<[Value; 4]> = given.iter().map(|(object, _)| *object).collect();
    let found = program.wrappers.get(program, method).or_else(|| {
        // The variable may have a wider type than the wrapper that it holds.
        let receiver = objects.first().filter(|_| call != CallKind::Static)?;
        match body.instruction(*receiver).value_type {
            ValueType::Reference(class) => program.wrappers.get(program, MethodName { class, ..method }),
            _ => None,
        }
    });
    match found {
        Some(Wrapper::Takes { lock, kind, mode, hands_out }) => {
            let section = open(*kind, *mode, wrapped_lock(body, program, paths, lock, &objects, at), at, false);
            match hands_out {
                _ if method.name == program.roots.constructor => Event::Enter(section),
                HandsOut::Nothing => Event::Enter(section),
                HandsOut::Parameter(_) | HandsOut::Closeable | HandsOut::Function => Event::EnterWith(section),
            }
        }
        Some(Wrapper::Tries { lock, kind, mode }) => {
            Event::TryEnter(open(*kind, *mode, wrapped_lock(body, program, paths, lock, &objects, at), at, true))
        }
        Some(Wrapper::Gives { lock, kind, mode }) => {
            let object = objects.first().copied().unwrap_or(at);
            let (lock, half) = wrapped_lock(body, program, paths, lock, &objects, at);
            Event::Exit(Exit { kind: *kind, mode: half.or(*mode), lock, object })
        }
        None => match given.first() {
            Some((taken, hands_out))
                if call != CallKind::Static && program.wrappers.ends(program, method, *hands_out) =>
            {
                match *body.op(*taken) {
                    Op::Call { method, arguments, .. } => match program.wrappers.get(program, method) {
                        Some(Wrapper::Takes { lock, kind, mode, .. }) => {
                            let (_, half) = wrapped_lock(body, program, paths, lock, body.operands(arguments), *taken);
                            let (mode, lock) = (Some(half.unwrap_or(*mode)), Path::root(Root::Unknown));
                            Event::Exit(Exit { kind: *kind, mode, lock, object: *taken })
                        }
                        _ => Event::None,
                    },
                    _ => Event::None,
                }
            }
            _ => Event::None,
        },
    }
}

/// The lock of a wrapper as its caller names it, and which half of it the caller gave: `take(pair.readLock())`.
fn wrapped_lock(
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    lock: &WrappedLock,
    arguments: &[Value],
    at: Value,
) -> (Path, Option<Mode>) {
    match lock.given().and_then(|position| arguments.get(usize::from(position))) {
        Some(given) => lock_path(body, program, paths, *given, at),
        None => (lock.in_caller(program, body, paths, arguments, at), None),
    }
}

fn wait(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value, method: MethodName) -> Event {
    if program.names.text(method.name) == "wait" {
        return Event::Wait(LockKind::Monitor, Some(monitor(body, program, paths, object, at)));
    }
    let object = body.without_casts(object);
    let lock = match *body.op(object) {
        Op::GetField { base, field } => {
            program.derived_locks.get(program, field).map(|derived| paths.of(base, at).then(Step::Field(derived.lock)))
        }
        Op::GetStatic(field) => {
            program.derived_locks.get(program, field).map(|derived| Path::root(Root::Static(derived.lock)))
        }
        Op::Call { method, arguments, .. } if lock::view(program, method).is_some() => {
            Some(paths.of(body.operands(arguments)[0], at))
        }
        _ => None,
    };
    Event::Wait(LockKind::Lock, lock)
}

/// The path of a lock, which a getter may have told, or which was looked up by a key.
fn gotten(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value) -> Path {
    told(body, program, paths, object, at)
        .or_else(|| keyed::path(program, body, paths, object, at))
        .unwrap_or_else(|| paths.of(object, at))
}

/// The path of a lock that a getter has told.
pub(crate) fn told(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value) -> Option<Path> {
    let Op::Call { method, arguments, .. } = *body.op(body.without_casts(object)) else { return None };
    let lock = program.getters.get(program, method)?;
    Some(lock.in_caller(program, body, paths, body.operands(arguments), at))
}

/// The path of an object whose monitor is used. Only one that is nothing but a lock is called by the key that it was
/// looked up by; others have a name already.
fn monitor(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value) -> Path {
    match body.instruction(object).value_type {
        ValueType::Reference(class) if class == program.roots.object => gotten(body, program, paths, object, at),
        _ => told(body, program, paths, object, at).unwrap_or_else(|| paths.of(object, at)),
    }
}

/// The whole lock of a path that ends with a field which holds a half of it.
fn half(program: &Program, path: Path) -> (Path, Option<Mode>) {
    let field = match (path.steps.last(), path.root) {
        (Some(Step::Field(field)), _) => *field,
        (None, Root::Static(field)) => field,
        _ => return (path, None),
    };
    match program.derived_locks.get(program, field) {
        Some(derived) if derived.mode.is_some() => {
            let mut whole = path;
            match whole.steps.pop() {
                Some(_) => whole.steps.push(Step::Field(derived.lock)),
                None => whole.root = Root::Static(derived.lock),
            }
            (whole, derived.mode)
        }
        _ => (path, None),
    }
}

/// The lock behind an object on which `lock()` and the like are called, and which half of it that is.
fn lock_path(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value) -> (Path, Option<Mode>) {
    let object = body.without_casts(object);
    match *body.op(object) {
        Op::Call { kind, method, arguments } => {
            let whole = body.operands(arguments).first().filter(|_| kind != CallKind::Static);
            if let (Some(whole), Some(Some(mode))) = (whole, lock::view(program, method)) {
                return (gotten(body, program, paths, *whole, at), Some(mode));
            }
            return half(program, gotten(body, program, paths, object, at));
        }
        Op::GetField { base, field } => {
            if let Some(derived) = program.derived_locks.get(program, field)
                && let Some(mode) = derived.mode
            {
                return (paths.of(base, at).then(Step::Field(derived.lock)), Some(mode));
            }
        }
        Op::GetStatic(field) => {
            if let Some(derived) = program.derived_locks.get(program, field)
                && let Some(mode) = derived.mode
            {
                return (Path::root(Root::Static(derived.lock)), Some(mode));
            }
        }
        _ => {}
    }
    (gotten(body, program, paths, object, at), None)
}
