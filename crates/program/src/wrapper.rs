//! Methods that take a lock and leave it taken, or give one back that they did not take.
//!
//! A call of one is a lock operation of its caller: `lockTable(); try { ... } finally { unlockTable(); }`. What such a
//! method returns may be what ends the section, as in `try (Held held = guard.acquire()) { ... }`: the guard itself, or
//! an object or function whose `close` gives the lock back. So may the object that a constructor makes which takes a lock:
//! `try (Held held = new Held(lock)) { ... }`.
//!
//! Wrappers of wrappers are wrappers; those that give back only on some paths are left alone, but for `close`: what was just
//! handed out gives the lock back when it is closed the first time.

use location::{ClassName, FieldName, MethodName, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::class::{MethodId, Program};
use crate::control::comes_by;
use crate::ir::{Body, Constant, Op, Value};
use crate::keyed;
use crate::lock::{self, LockKind, LockOperation, Mode};
use crate::path::{Path, Paths, Root, Step};
use crate::section::{Held, Problem, Section, SectionKind, Sections};

/// Constructors that call others are looked into so deep.
const MAX_DEPTH: usize = 3;

/// What a wrapper does to a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wrapper {
    Takes {
        lock: WrappedLock,
        kind: LockKind,
        mode: Mode,
        hands_out: HandsOut,
    },
    /// Takes it if the result is true.
    Tries {
        lock: WrappedLock,
        kind: LockKind,
        mode: Mode,
    },
    Gives {
        lock: WrappedLock,
        kind: LockKind,
        mode: Option<Mode>,
    },
}

/// What a method that takes a lock returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandsOut {
    /// Nothing that has to do with the lock.
    Nothing,
    /// One of its parameters.
    Parameter(u16),
    /// An object whose `close` gives the lock back.
    Closeable,
    /// A function that gives the lock back.
    Function,
}

/// A lock as the wrapper names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrappedLock {
    start: Start,
    steps: SmallVec<[Step; 2]>,
    /// The parameter that tells which element it is of what the steps lead to.
    key: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    Parameter(u16),
    Static(FieldName),
    Class(ClassName),
}

impl WrappedLock {
    /// `None` if the lock has no name outside the method.
    pub(crate) fn of(program: &Program, body: &Body, path: &Path) -> Option<WrappedLock> {
        let start = match path.root {
            Root::This => Start::Parameter(0),
            Root::Static(field) => Start::Static(field),
            Root::Class(class) => Start::Class(class),
            Root::Value(value) => match *body.op(value) {
                Op::Parameter(position) => Start::Parameter(position),
                _ => return None,
            },
            Root::Unknown => return None,
        };
        let (start, kept) = match (path.root, path.steps.first()) {
            (Root::This, Some(Step::Field(field))) => match given_for(program, body, *field, MAX_DEPTH) {
                Some(position) => (Start::Parameter(position), 1),
                None => (start, 0),
            },
            _ => (start, 0),
        };
        let mut steps: SmallVec<[Step; 2]> = path.steps[kept..].iter().copied().collect();
        let mut key = None;
        if let Some(Step::Element(position)) = steps.last().copied()
            && let Op::Parameter(position) = *body.op(position)
        {
            steps.pop();
            key = Some(position);
        }
        let is_inner = steps.iter().any(|step| matches!(step, Step::Element(_)));
        (!is_inner).then_some(WrappedLock { start, steps, key })
    }

    /// A field of the object that the method is called on, or the object itself.
    pub(crate) fn of_this(field: Option<FieldName>) -> WrappedLock {
        WrappedLock { start: Start::Parameter(0), steps: field.map(Step::Field).into_iter().collect(), key: None }
    }

    /// The parameter that is the lock itself.
    pub(crate) fn given(&self) -> Option<u16> {
        match self.start {
            Start::Parameter(position) if self.steps.is_empty() && self.key.is_none() => Some(position),
            _ => None,
        }
    }

    /// The field that holds it.
    pub(crate) fn field(&self) -> Option<FieldName> {
        match (self.steps.last(), self.start) {
            (Some(Step::Field(field)), _) if self.key.is_none() => Some(*field),
            (None, Start::Static(field)) if self.key.is_none() => Some(field),
            _ => None,
        }
    }

    /// Whether there is one for each key.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Whether a field holds it.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.start, Start::Static(_)) || matches!(self.steps.last(), Some(Step::Field(_)))
    }

    /// The lock as the caller names it.
    pub(crate) fn in_caller(
        &self,
        program: &Program,
        body: &Body,
        paths: &Paths<'_>,
        arguments: &[Value],
        at: Value,
    ) -> Path {
        let start = match self.start {
            Start::Parameter(position) => match arguments.get(usize::from(position)) {
                Some(argument) => paths.of(*argument, at),
                None => Path::root(Root::Unknown),
            },
            Start::Static(field) => Path::root(Root::Static(field)),
            Start::Class(class) => Path::root(Root::Class(class)),
        };
        let path = self.steps.iter().fold(start, |path, step| path.then(*step));
        let Some(key) = self.key else { return path };
        match arguments.get(usize::from(key)).and_then(|given| keyed::key(program, body, *given)) {
            Some(key) => path.then(Step::Element(key)),
            None => Path::root(Root::Unknown),
        }
    }
}

/// The wrappers of the program.
#[derive(Default)]
pub(crate) struct Wrappers {
    methods: FxHashMap<MethodId, Wrapper>,
    /// Names and descriptors of the methods, for a quick no.
    names: FxHashSet<(Symbol, Symbol)>,
    /// Classes with a constructor that takes a lock.
    held: FxHashSet<ClassName>,
    /// Methods `close` that give a lock back on some paths.
    closing: FxHashSet<MethodId>,
}

impl Wrappers {
    /// The wrapper that a call runs, as far as the class that it names tells.
    pub(crate) fn get(&self, program: &Program, called: MethodName) -> Option<&Wrapper> {
        if !self.names.contains(&(called.name, called.descriptor)) {
            return None;
        }
        self.methods.get(&program.inherited_method(called)?)
    }

    pub(crate) fn add(&mut self, program: &Program, method: MethodId, wrapper: Wrapper) {
        let name = program.method_name(method);
        self.names.insert((name.name, name.descriptor));
        if name.name == program.roots.constructor {
            self.held.insert(name.class);
        }
        self.methods.insert(method, wrapper);
    }

    /// Adds a method that takes a lock of the program's own making.
    pub(crate) fn add_taking(&mut self, program: &Program, method: MethodId, lock: WrappedLock) {
        let (kind, mode, hands_out) = (LockKind::Lock, Mode::Exclusive, HandsOut::Nothing);
        self.add(program, method, Wrapper::Takes { lock, kind, mode, hands_out });
    }

    /// Adds a method that gives one back.
    pub(crate) fn add_giving(&mut self, program: &Program, method: MethodId, lock: WrappedLock) {
        self.add(program, method, Wrapper::Gives { lock, kind: LockKind::Lock, mode: None });
    }

    /// The wrappers among these methods that are not known yet.
    pub(crate) fn find(program: &Program, among: impl Fn(MethodId) -> bool + Sync) -> Wrappers {
        let wanted = |method: MethodId| {
            among(method)
                && !program.method(method).access.is_synchronized()
                && !program.wrappers.methods.contains_key(&method)
        };
        let found: Vec<(MethodId, Found)> = program
            .visit_bodies(wanted, |method, body| Some((method, Found::of(program, &body)?)))
            .into_iter()
            .filter_map(|found| found.ok().flatten())
            .collect();
        let mut wrappers = Wrappers::default();
        for (method, found) in &found {
            match found {
                Found::Whole(wrapper) => wrappers.add(program, *method, wrapper.clone()),
                Found::Closes => _ = wrappers.closing.insert(*method),
                Found::Takes { .. } => {}
            }
        }
        for (method, found) in found {
            let Found::Takes { lock, kind, mode, returned } = found else { continue };
            let hands_out = match returned {
                Some(Returned::Parameter(position)) => HandsOut::Parameter(position),
                Some(Returned::New(class)) if wrappers.closes(program, class) => HandsOut::Closeable,
                Some(Returned::Function(method)) if wrappers.gives_back(program, method) => HandsOut::Function,
                Some(Returned::Handed(hands_out)) => hands_out,
                _ => HandsOut::Nothing,
            };
            wrappers.add(program, method, Wrapper::Takes { lock, kind, mode, hands_out });
        }
        wrappers
    }

    /// Whether `close()` of a class gives a lock back.
    fn closes(&self, program: &Program, class: ClassName) -> bool {
        let (name, descriptor) = (program.names.intern("close"), program.names.intern("()V"));
        let close = MethodName { class, name, descriptor };
        let is_closing =
            |method: MethodId| self.closing.contains(&method) || program.wrappers.closing.contains(&method);
        self.gives_back(program, close) || program.inherited_method(close).is_some_and(is_closing)
    }

    /// The call of a wrapper that a value comes from, and what it hands out. A parameter that is handed out is followed.
    pub(crate) fn source(&self, program: &Program, body: &Body, value: Value) -> (Value, HandsOut) {
        let mut value = body.without_casts(value);
        for _ in 0..100 {
            if let Op::New(class) = *body.op(value) {
                return self.constructor_of(program, body, value, class).unwrap_or((value, HandsOut::Nothing));
            }
            let Op::Call { method, arguments, .. } = *body.op(value) else { break };
            let Some(Wrapper::Takes { hands_out, .. }) = self.get(program, method) else { break };
            let HandsOut::Parameter(position) = *hands_out else { return (value, *hands_out) };
            let Some(argument) = body.operands(arguments).get(usize::from(position)) else { break };
            value = body.without_casts(*argument);
        }
        (value, HandsOut::Nothing)
    }

    /// The call of a constructor that takes a lock for the object that it makes.
    fn constructor_of(
        &self,
        program: &Program,
        body: &Body,
        made: Value,
        class: ClassName,
    ) -> Option<(Value, HandsOut)> {
        if !self.held.contains(&class) {
            return None;
        }
        body.instructions().find_map(|(value, instruction)| {
            let Op::Call { method, arguments, .. } = instruction.op else { return None };
            let is_it = method.name == program.roots.constructor && body.operands(arguments).first() == Some(&made);
            match self.get(program, method).filter(|_| is_it)? {
                Wrapper::Takes { hands_out, .. } => Some((value, *hands_out)),
                Wrapper::Tries { .. } | Wrapper::Gives { .. } => None,
            }
        })
    }

    /// Whether this call, on something that was handed out, gives the lock back.
    pub(crate) fn ends(&self, program: &Program, called: MethodName, hands_out: HandsOut) -> bool {
        match hands_out {
            HandsOut::Nothing | HandsOut::Parameter(_) => false,
            HandsOut::Closeable => is_close(program, called),
            HandsOut::Function => program.names.text(called.descriptor) == "()V",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.closing.is_empty()
    }

    /// Whether a call may run one of these, by its name; of constructors many have one name.
    pub(crate) fn may_be(&self, program: &Program, called: MethodName) -> bool {
        self.names.contains(&(called.name, called.descriptor))
            && (called.name != program.roots.constructor || self.held.contains(&called.class))
    }

    pub(crate) fn extend(&mut self, more: Wrappers) {
        self.methods.extend(more.methods);
        self.names.extend(more.names);
        self.held.extend(more.held);
        self.closing.extend(more.closing);
    }

    fn gives_back(&self, program: &Program, method: MethodName) -> bool {
        matches!(lock::operation(program, method), Some(LockOperation::Release(..)))
            || [self, &program.wrappers]
                .iter()
                .any(|known| matches!(known.get(program, method), Some(Wrapper::Gives { .. })))
    }
}

fn is_close(program: &Program, method: MethodName) -> bool {
    program.names.text(method.name) == "close" && program.names.text(method.descriptor) == "()V"
}

/// The parameter that a constructor keeps in a field of its object, itself or by another constructor that it calls.
fn given_for(program: &Program, body: &Body, field: FieldName, depth: usize) -> Option<u16> {
    if body.method.name != program.roots.constructor {
        return None;
    }
    let parameter = |value: Value| match *body.op(body.without_casts(value)) {
        Op::Parameter(position) => Some(position),
        _ => None,
    };
    let is_it = |own: FieldName| program.resolve_field(own) == program.resolve_field(field);
    let mut stored = body.instructions().filter_map(|(_, instruction)| match instruction.op {
        Op::PutField { base, field, value } if is_it(field) && Some(base) == body.this() => Some(value),
        _ => None,
    });
    if let Some(first) = stored.next() {
        return parameter(first).filter(|_| stored.next().is_none());
    }
    let (other, given) = body.instructions().find_map(|(_, instruction)| match instruction.op {
        Op::Call { method, arguments, .. } if method.name == program.roots.constructor => {
            let given = body.operands(arguments);
            (given.first().copied() == body.this()).then_some((method, given))
        }
        _ => None,
    })?;
    let other = program.body(program.declared_method(other)?).ok()??;
    let position = given_for(program, &other, field, depth.checked_sub(1)?)?;
    parameter(*given.get(usize::from(position))?)
}

/// What one body shows.
enum Found {
    Takes {
        lock: WrappedLock,
        kind: LockKind,
        mode: Mode,
        returned: Option<Returned>,
    },
    Whole(Wrapper),
    /// A method `close` that gives a lock back on some paths.
    Closes,
}

/// What a method returns, the same on all paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Parameter(u16),
    New(ClassName),
    Function(MethodName),
    /// What another wrapper handed out.
    Handed(HandsOut),
}

impl Found {
    /// A method that tries to take a lock and returns whether it has.
    fn tried(
        program: &Program,
        body: &Body,
        sections: &Sections,
        open: &[Vec<Held>],
        results: &[Option<Value>],
    ) -> Option<Found> {
        if !program.names.text(body.method.descriptor).ends_with(")Z") {
            return None;
        }
        let mut taken: Option<&Section> = None;
        for (held, result) in open.iter().zip(results) {
            let result = body.without_casts((*result)?);
            let constant = match body.op(result) {
                Op::Constant(Constant::Int(number)) => Some(*number != 0),
                _ => None,
            };
            let [held] = held.as_slice() else {
                if held.is_empty() && constant == Some(false) {
                    continue;
                }
                return None;
            };
            let section = sections.get(held.section);
            let is_told = held.is_told_by(result) || held.certain && constant == Some(true);
            let is_one = taken.is_none_or(|taken| taken.lock.same(&section.lock) && taken.mode == section.mode);
            if !section.is_tried || !is_told || !is_one {
                return None;
            }
            taken = Some(section);
        }
        let section = taken.filter(|section| section.mode != Mode::Optimistic)?;
        let SectionKind::Block(kind) = section.kind else { return None };
        let lock = WrappedLock::of(program, body, &section.lock)?;
        Some(Found::Whole(Wrapper::Tries { lock, kind, mode: section.mode }))
    }

    fn of(program: &Program, body: &Body) -> Option<Found> {
        let sections = Sections::of(body, program);
        let mut open = Vec::new();
        let mut returned = Vec::new();
        let mut results = Vec::new();
        let mut branches = false;
        for (block, _) in body.blocks() {
            sections.walk(body, block, |_, instruction, held| match instruction.op {
                Op::Return(result) => {
                    open.push(held.to_vec());
                    results.push(result);
                    returned.push(result.and_then(|result| Returned::of(program, body, result)));
                }
                Op::Branch { .. } | Op::Switch { .. } => branches = true,
                _ => {}
            });
        }
        if let Some(found) = Found::tried(program, body, &sections, &open, &results) {
            return Some(found);
        }
        let (first, others) = open.split_first()?;
        let gives: Vec<(&Path, Value)> = sections
            .problems()
            .iter()
            .filter_map(|problem| match problem {
                Problem::ReleasesUnheld { lock, at } => Some((lock, *at)),
                Problem::LeavesHeld { .. } | Problem::TooComplex => None,
            })
            .collect();
        match (first.as_slice(), gives.as_slice()) {
            ([held], []) => {
                let section = sections.get(held.section);
                let same = |other: &Vec<Held>| match other.as_slice() {
                    [other] => {
                        let other_section = sections.get(other.section);
                        other.certain && other_section.lock.same(&section.lock) && other_section.mode == section.mode
                    }
                    _ => false,
                };
                let SectionKind::Block(kind) = section.kind else { return None };
                let is_plain = held.certain && section.mode != Mode::Optimistic;
                if !is_plain || kind == LockKind::Monitor || !others.iter().all(same) {
                    return None;
                }
                let lock = WrappedLock::of(program, body, &section.lock)?;
                let is_one = returned.iter().all(|other| *other == returned[0]);
                let returned = match body.method.name == program.roots.constructor {
                    true => Some(Returned::New(body.method.class)),
                    false => returned[0].filter(|_| is_one),
                };
                Some(Found::Takes { lock, kind, mode: section.mode, returned })
            }
            ([], [(lock, at), rest @ ..])
                if (!branches || comes_by(body, gives.iter().map(|(_, at)| *at)))
                    && others.iter().all(Vec::is_empty) =>
            {
                let (kind, mode) = sections.given_back(*at)?;
                let is_one = rest.iter().all(|(other, _)| other.same(lock));
                (is_one && kind != LockKind::Monitor).then_some(())?;
                Some(Found::Whole(Wrapper::Gives { lock: WrappedLock::of(program, body, lock)?, kind, mode }))
            }
            ([], [_, ..]) if is_close(program, body.method) => Some(Found::Closes),
            _ => None,
        }
    }
}

impl Returned {
    fn of(program: &Program, body: &Body, result: Value) -> Option<Returned> {
        let (result, handed) = program.wrappers.source(program, body, result);
        if handed != HandsOut::Nothing {
            return Some(Returned::Handed(handed));
        }
        match *body.op(result) {
            Op::Parameter(position) => Some(Returned::Parameter(position)),
            Op::New(class) => Some(Returned::New(class)),
            Op::CallDynamic { dynamic, .. } => {
                body.dynamic(dynamic).lambda.map(|handle| Returned::Function(handle.member))
            }
            _ => None,
        }
    }
}
