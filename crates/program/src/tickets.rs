//! Locks of the program's own making that serve by number: each draws a number, waits until it is called, and calls the next.
//!
//! `int mine = next++; while (serving != mine) wait();` beside `serving++; notifyAll();`, drawn in the same method or in one
//! whose result is what the other waits for. Such methods are wrappers (see `crate::wrapper`) of a lock that goes by the name
//! of the field that says who is served. Numbers that two may draw, by code that takes no lock, make no lock; nor does a
//! method that gives up instead of waiting, or a field that others write, too.

use classfile::{Against, Arithmetic, CallKind, Condition, Constant};
use location::{FieldName, MethodName};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::class::{ClassId, MethodId, Program};
use crate::ir::{BlockId, Body, Op, Value};
use crate::lock::Mode;
use crate::section::Sections;
use crate::wrapper::{WrappedLock, Wrappers};

/// What one method of a class does to the numbers that its object has.
struct Scan {
    method: MethodId,
    /// Fields that go up by one, with the numbers before and after.
    counts: Vec<Count>,
    /// Fields that a loop waits for until they are equal to a number.
    awaited: Vec<(FieldName, Number)>,
    /// The field whose number before, or after, it is that the method returns.
    returned: Option<FieldName>,
    /// Something else is done to these.
    others: Vec<FieldName>,
    branches: bool,
}

struct Count {
    field: FieldName,
    /// No two get the same number.
    is_alone: bool,
    numbers: Vec<Value>,
}

/// What a field is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    /// What has been drawn of this field.
    Drawn(FieldName),
    Parameter(u16),
    Other,
}

/// The wrappers of such locks.
pub(crate) fn find(program: &Program) -> Wrappers {
    let mut wrappers = Wrappers::default();
    let classes: Vec<ClassId> = program.classes().filter(|class| has_two_numbers(program, *class)).collect();
    let found: Vec<Vec<(MethodId, WrappedLock, bool)>> =
        classes.par_iter().map(|class| of_class(program, *class)).collect();
    for (method, lock, is_taking) in found.into_iter().flatten() {
        match is_taking {
            true => wrappers.add_taking(program, method, lock),
            false => wrappers.add_giving(program, method, lock),
        }
    }
    wrappers
}

/// Whether a class has two private numbers, and methods of which some wait.
fn has_two_numbers(program: &Program, class: ClassId) -> bool {
    let is_number = |descriptor: &str| matches!(descriptor, "I" | "J") || is_atomic_number(descriptor);
    let fields = &program.header(class).fields;
    let numbers = fields.iter().filter(|field| {
        let access = field.access;
        access.is_private() && !access.is_static() && is_number(program.names.text(field.descriptor))
    });
    // Two methods touch what is awaited: one waits and one counts on.
    numbers.count() > 1
        && program
            .methods_of(class)
            .filter(|method| !program.mentions[method.index()].reads.is_empty())
            .nth(1)
            .is_some()
}

fn is_atomic_number(descriptor: &str) -> bool {
    matches!(descriptor, "Ljava/util/concurrent/atomic/AtomicInteger;" | "Ljava/util/concurrent/atomic/AtomicLong;")
}

fn of_class(program: &Program, class: ClassId) -> Vec<(MethodId, WrappedLock, bool)> {
    let methods: Vec<MethodId> = program.methods_of(class).collect();
    let wanted: Vec<MethodId> =
        methods.into_iter().filter(|method| program.method(*method).name != program.roots.constructor).collect();
    let scans = program.bodies_of(&wanted, &|method, body: Body| Scan::of(program, method, &body));
    let Ok(scans) = scans.into_iter().collect::<Result<Vec<Scan>, _>>() else { return Vec::new() };
    let is_touched = |field: FieldName| scans.iter().any(|scan| scan.others.contains(&field));
    let counting = |field: FieldName| -> Vec<(&Scan, &Count)> {
        let all = scans.iter().flat_map(|scan| scan.counts.iter().map(move |count| (scan, count)));
        all.filter(|(_, count)| count.field == field).collect()
    };
    let mut found = Vec::new();
    for scan in &scans {
        let [(serving, number)] = *scan.awaited.as_slice() else { continue };
        let (drawn, drawing) = match number {
            Number::Drawn(drawn) => (drawn, scan),
            Number::Parameter(position) => {
                let Some(drawing) = drawn_for(program, &scans, scan.method, position) else { continue };
                let Some(drawn) = drawing.returned else { continue };
                (drawn, drawing)
            }
            Number::Other => continue,
        };
        let draws = counting(drawn);
        let steps = counting(serving);
        let is_drawn_alone = matches!(draws.as_slice(), [(by, count)] if by.method == drawing.method && count.is_alone);
        let is_step = |(by, _): &(&Scan, &Count)| {
            by.method != scan.method && by.method != drawing.method && !by.branches && by.counts.len() == 1
        };
        let is_own = |field: FieldName| !is_touched(field) && !is_named_elsewhere(program, class, field);
        if drawn == serving
            || !is_drawn_alone
            || steps.is_empty()
            || !steps.iter().all(is_step)
            || !is_own(drawn)
            || !is_own(serving)
        {
            continue;
        }
        let lock = || WrappedLock::of_this(Some(serving));
        found.push((scan.method, lock(), true));
        for (step, _) in steps {
            if !found.iter().any(|(method, ..)| *method == step.method) {
                found.push((step.method, lock(), false));
            }
        }
    }
    found
}

/// Whether other classes name a field: of the same source, where they may.
fn is_named_elsewhere(program: &Program, class: ClassId, field: FieldName) -> bool {
    let names = |method: MethodId| {
        let mentions = &program.mentions[method.index()];
        mentions.reads.contains(&field) || mentions.writes.contains(&field)
    };
    program.methods().filter(|method| program.class_of(*method) != class).any(names)
}

/// The method of the class that draws what all callers of another one give it to wait for, on the same object.
fn drawn_for<'s>(program: &Program, scans: &'s [Scan], waiting: MethodId, position: u16) -> Option<&'s Scan> {
    let name = program.method_name(waiting);
    let calls = |method: MethodId| {
        let mentions = &program.mentions[method.index()];
        mentions.calls.iter().any(|(_, called)| program.inherited_method(*called) == Some(waiting))
    };
    let is_function = program.methods().any(|method| {
        let lambdas = &program.mentions[method.index()].lambdas;
        lambdas.iter().any(|made| made.name == name.name && program.inherited_method(*made) == Some(waiting))
    });
    let is_same = |body: &Body, one: Value, other: Value| match (*body.op(one), *body.op(other)) {
        _ if one == other => true,
        (Op::GetField { base, field }, Op::GetField { base: second, field: twin }) => {
            base == second && field == twin && program.is_final_field(field)
        }
        _ => false,
    };
    let given = |_, body: Body| {
        let mut given = Vec::new();
        for (_, instruction) in body.instructions() {
            let Op::Call { kind, method, arguments } = instruction.op else { continue };
            if kind == CallKind::Static || program.inherited_method(method) != Some(waiting) {
                continue;
            }
            let arguments = body.operands(arguments);
            given.push(match *body.op(body.without_casts(arguments[usize::from(position)])) {
                Op::Call { kind, method, arguments: drawn } if kind != CallKind::Static => {
                    let on = body.operands(drawn)[0];
                    program.inherited_method(method).filter(|_| is_same(&body, on, arguments[0]))
                }
                _ => None,
            });
        }
        given
    };
    let found = program.visit_bodies(|method| !is_function && calls(method), given);
    let mut drawing: Vec<Option<MethodId>> = found.into_iter().collect::<Result<Vec<_>, _>>().ok()?.concat();
    drawing.sort_unstable();
    drawing.dedup();
    let [Some(drawing)] = *drawing.as_slice() else { return None };
    scans.iter().find(|scan| scan.method == drawing)
}

impl Scan {
    fn of(program: &Program, method: MethodId, body: &Body) -> Scan {
        let mut scan = Scan {
            method,
            counts: Vec::new(),
            awaited: Vec::new(),
            returned: None,
            others: Vec::new(),
            branches: false,
        };
        scan.count(program, body);
        let mut returned = FxHashSet::default();
        for (block, _) in body.blocks() {
            for (_, instruction) in body.instructions_of(block) {
                match instruction.op {
                    Op::Branch { condition, against, left, right } => {
                        scan.branches = true;
                        scan.compared(program, body, block, (condition, against), left, right);
                    }
                    Op::Switch { .. } => scan.branches = true,
                    Op::Return(result) => {
                        returned.insert(result.and_then(|result| scan.drawn(result)));
                    }
                    _ => {}
                }
            }
        }
        if returned.len() == 1 {
            scan.returned = returned.into_iter().next().flatten();
        }
        scan
    }

    /// The field of which a number was drawn.
    fn drawn(&self, number: Value) -> Option<FieldName> {
        self.counts.iter().find(|count| count.numbers.contains(&number)).map(|count| count.field)
    }

    fn count(&mut self, program: &Program, body: &Body) {
        let sections = Sections::of(body, program);
        let held_at = |at: Value| {
            let mut found = Vec::new();
            sections.walk(body, body.block_of(at), |value, _, held| {
                if value == at {
                    let certain =
                        held.iter().filter(|held| held.certain && sections.get(held.section).mode == Mode::Exclusive);
                    found = certain.map(|held| held.section).collect();
                }
            });
            found
        };
        for (block, _) in body.blocks() {
            for (at, instruction) in body.instructions_of(block) {
                match instruction.op {
                    Op::PutField { base, field, value } if is_this(body, base) => {
                        match read_before(body, value, |old| is_field(body, old, field)) {
                            Some(old) => {
                                let (from, to) = (held_at(old), held_at(at));
                                let is_alone = from.iter().any(|section| to.contains(section));
                                self.counts.push(Count { field, is_alone, numbers: vec![old, value] });
                            }
                            None => self.others.push(field),
                        }
                    }
                    Op::PutField { field, .. } => self.others.push(field),
                    Op::Call { kind, method, arguments } if kind != CallKind::Static => {
                        let given = body.operands(arguments);
                        let called = atomic(program, body, given[0]);
                        self.others.extend(given.iter().skip(1).filter_map(|given| atomic(program, body, *given)));
                        if let Some(field) = called {
                            self.count_atomic(program, body, at, field, method, given);
                        }
                    }
                    // The object itself goes elsewhere.
                    Op::CallDynamic { .. }
                    | Op::Call { .. }
                    | Op::PutStatic { .. }
                    | Op::ArrayStore { .. }
                    | Op::Return(_) => {
                        body.for_each_operand(&instruction.op, |value| {
                            self.others.extend(atomic(program, body, value))
                        });
                    }
                    _ => {}
                }
            }
        }
    }

    fn count_atomic(
        &mut self,
        program: &Program,
        body: &Body,
        at: Value,
        field: FieldName,
        method: MethodName,
        given: &[Value],
    ) {
        let is_read = |old: Value| match *body.op(old) {
            Op::Call { method, arguments, .. } => {
                is_get(program, method) && atomic(program, body, body.operands(arguments)[0]) == Some(field)
            }
            _ => false,
        };
        match (program.names.text(method.name), given) {
            ("getAndIncrement" | "incrementAndGet", _) => {
                self.counts.push(Count { field, is_alone: true, numbers: vec![at] });
            }
            ("set" | "lazySet" | "setRelease", [_, value]) if read_before(body, *value, is_read).is_some() => {
                self.counts.push(Count { field, is_alone: false, numbers: Vec::new() });
            }
            _ if is_get(program, method) => {}
            _ => self.others.push(field),
        }
    }

    /// A branch that asks whether a field is equal to something. One that the method returns by alone, if it is, waits for it.
    fn compared(
        &mut self,
        program: &Program,
        body: &Body,
        block: BlockId,
        (condition, against): (Condition, Against),
        left: Value,
        right: Option<Value>,
    ) {
        let (left, right) = match (against, right, *body.op(left)) {
            (Against::Int, Some(right), _) => (left, right),
            (Against::Zero, _, Op::Compare(left, right)) => (left, right),
            _ => return,
        };
        let equal = match condition {
            Condition::Equal => 0,
            Condition::NotEqual => 1,
            _ => return,
        };
        let Some(equal) = body.block(block).successors.get(equal).copied() else { return };
        let asked = |value: Value| match *body.op(value) {
            Op::GetField { base, field } if is_this(body, base) => Some(field),
            Op::Call { method, arguments, .. } if is_get(program, method) => {
                atomic(program, body, *body.operands(arguments).first()?)
            }
            _ => None,
        };
        let number = |value: Value| match (self.drawn(value), *body.op(value)) {
            (Some(field), _) => Number::Drawn(field),
            (None, Op::Parameter(position)) => Number::Parameter(position),
            _ => Number::Other,
        };
        let (field, number) = match (number(left), number(right)) {
            (Number::Other, number) => (asked(left), number),
            (number, _) => (asked(right), number),
        };
        let is_waiting = || number != Number::Other && !returns_around(body, block, equal);
        if let Some(field) = field.filter(|_| is_waiting()) {
            self.awaited.push((field, number));
        }
    }
}

/// Whether a method may return without having gone from one block to another.
fn returns_around(body: &Body, from: BlockId, to: BlockId) -> bool {
    let mut seen = vec![false; body.block_count()];
    let mut pending = vec![BlockId::ENTRY];
    while let Some(block) = pending.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        let is_end = body.terminator(block).is_some_and(|end| matches!(body.op(end), Op::Return(_)));
        if is_end {
            return true;
        }
        let edges = body.block(block);
        pending.extend(edges.successors.iter().filter(|next| block != from || **next != to).copied());
        pending.extend(edges.handlers.iter().copied());
    }
    false
}

/// The number that another one is one more than, if it was read as wanted.
fn read_before(body: &Body, value: Value, is_read: impl Fn(Value) -> bool) -> Option<Value> {
    let is_one = |value: Value| matches!(*body.op(value), Op::Constant(Constant::Int(1) | Constant::Long(1)));
    match *body.op(value) {
        Op::Arithmetic(Arithmetic::Add, left, right) if is_one(right) && is_read(left) => Some(left),
        Op::Arithmetic(Arithmetic::Add, left, right) if is_one(left) && is_read(right) => Some(right),
        _ => None,
    }
}

fn is_field(body: &Body, value: Value, field: FieldName) -> bool {
    matches!(*body.op(value), Op::GetField { base, field: read } if read == field && is_this(body, base))
}

/// The field that holds the atomic number which a value is.
fn atomic(program: &Program, body: &Body, value: Value) -> Option<FieldName> {
    match *body.op(body.without_casts(value)) {
        Op::GetField { base, field }
            if is_this(body, base)
                && is_atomic_number(program.names.text(field.descriptor))
                && program.is_final_field(field) =>
        {
            Some(field)
        }
        _ => None,
    }
}

fn is_get(program: &Program, method: MethodName) -> bool {
    matches!(program.names.text(method.name), "get" | "intValue" | "longValue" | "getAcquire" | "getPlain")
}

fn is_this(body: &Body, value: Value) -> bool {
    matches!(body.op(body.without_casts(value)), Op::Parameter(0)) && !body.is_static()
}
