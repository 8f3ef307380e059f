//! Fields that hold a part of another lock: the halves of a `ReadWriteLock`, conditions.
//!
//! `private final Lock reading = pair.readLock();` makes `reading` another name of `pair`, in shared mode. Such fields
//! are set where objects are made, so the initialisers tell: a field counts only if all of them agree. A semaphore that is
//! made with one permit is a lock under its own name; so is one that a constructor was given, if every semaphore has one
//! permit that is made to be given.

use classfile::{CallKind, Constant};
use location::{FieldName, MethodName, Symbol};
use rustc_hash::FxHashMap;

use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::ir::{Body, Op, Value};
use crate::lock::{self, Mode};

/// Types of fields that may hold a part of a lock.
const VIEWS: [&str; 5] = [
    "Ljava/util/concurrent/Semaphore;",
    "Ljava/util/concurrent/locks/Lock;",
    "Ljava/util/concurrent/locks/Condition;",
    "Ljava/util/concurrent/locks/ReentrantReadWriteLock$ReadLock;",
    "Ljava/util/concurrent/locks/ReentrantReadWriteLock$WriteLock;",
];

/// What a derived field stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Derived {
    /// A field of the same object that stands for the lock as a whole.
    pub(crate) lock: FieldName,
    /// `None` for a condition.
    pub(crate) mode: Option<Mode>,
}

/// Derived fields of the program. A field that was seen with two meanings has `None`.
#[derive(Default)]
pub(crate) struct DerivedLocks {
    fields: FxHashMap<FieldId, Option<Derived>>,
}

impl DerivedLocks {
    pub(crate) fn get(&self, program: &Program, field: FieldName) -> Option<Derived> {
        if self.fields.is_empty() {
            return None;
        }
        self.fields.get(&program.resolve_field(field)?).copied().flatten()
    }

    pub(crate) fn find(program: &Program) -> DerivedLocks {
        let views: Vec<Symbol> = VIEWS.iter().filter_map(|view| program.names.lookup(view)).collect();
        let has_view = |class: &ClassId| {
            let fields = &program.header(*class).fields;
            !views.is_empty() && fields.iter().any(|field| views.contains(&field.descriptor))
        };
        let candidates: Vec<ClassId> = program.classes().filter(has_view).collect();
        if candidates.is_empty() {
            return DerivedLocks::default();
        }
        let initialisers = ["<init>", "<clinit>"].map(|name| program.names.intern(name));
        let wanted = |method: MethodId| {
            initialisers.contains(&program.method(method).name)
                && candidates.binary_search(&program.class_of(method)).is_ok()
        };
        let visit = |_, body: Body| (derived_fields(program, &body), given_semaphores(program, &body));
        let (mut derived, mut given) = (DerivedLocks::default(), Vec::new());
        for (found, kept) in program.visit_bodies(wanted, visit).into_iter().flatten() {
            derived.add(program, found);
            given.extend(kept);
        }
        if !given.is_empty() {
            let mode = derived.gives_single_permits(program).then_some(Mode::Exclusive);
            derived.add(program, given.into_iter().map(|field| (field, Derived { lock: field, mode })).collect());
        }
        derived
    }

    fn add(&mut self, program: &Program, found: Vec<(FieldName, Derived)>) {
        for (field, meaning) in found {
            let Some(field) = program.resolve_field(field) else { continue };
            self.fields
                .entry(field)
                .and_modify(|known| *known = known.filter(|known| *known == meaning))
                .or_insert(Some(meaning));
        }
    }

    /// Whether every semaphore has one permit that somebody is given: one that is made and not kept for good, or that is
    /// given on by who keeps it.
    fn gives_single_permits(&self, program: &Program) -> bool {
        let is_made =
            |called: &MethodName| called.name == program.roots.constructor && lock::is_semaphore(program, called.class);
        let may_give = |method: MethodId| {
            let mentions = &program.mentions[method.index()];
            mentions.reads.iter().any(|field| is_semaphore(program, *field))
                || mentions.calls.iter().any(|(_, called)| is_made(called))
        };
        let is_single = |body: &Body, value: Value| match *body.op(value) {
            Op::GetField { field, .. } | Op::GetStatic(field) if is_semaphore(program, field) => {
                // One that nobody makes here was given, and counts where it was made.
                let known = self.fields.get(&program.resolve_field(field)?)?;
                Some(known.is_some_and(|known| known.mode.is_some()))
            }
            _ => permits(program, body, value).map(|permits| permits == Some(1)),
        };
        let found = program.visit_bodies(may_give, |method, body| {
            let is_kept = |value: &Value| {
                let name = program.names.text(program.method(method).name);
                name.starts_with('<') && stores(&body).iter().any(|(_, stored)| stored == value)
            };
            let made = body.instructions().map(|(value, _)| value);
            let made = made.filter(|value| matches!(body.op(*value), Op::New(_)) && !is_kept(value));
            let given = given_away(&body).into_iter().filter(|value| !matches!(body.op(*value), Op::New(_)));
            made.chain(given).filter_map(|value| is_single(&body, value)).collect::<Vec<bool>>()
        });
        let mut found = found.into_iter().flatten().flatten().peekable();
        found.peek().is_some() && found.all(|is_single| is_single)
    }
}

fn is_semaphore(program: &Program, field: FieldName) -> bool {
    program.names.text(field.descriptor) == VIEWS[0]
}

/// The fields in which a constructor keeps a semaphore that it was given.
fn given_semaphores(program: &Program, body: &Body) -> Vec<FieldName> {
    let given = stores(body)
        .into_iter()
        .filter(|(field, value)| matches!(body.op(*value), Op::Parameter(_)) && is_semaphore(program, *field));
    given.map(|(field, _)| field).collect()
}

/// What a method does with values other than to call them: it gives, keeps or returns them.
fn given_away(body: &Body) -> Vec<Value> {
    let mut given = Vec::new();
    for (_, instruction) in body.instructions() {
        match instruction.op {
            Op::Call { kind, arguments, .. } => {
                given.extend(&body.operands(arguments)[usize::from(kind != CallKind::Static)..]);
            }
            Op::CallDynamic { arguments, .. } => given.extend(body.operands(arguments)),
            Op::PutField { value, .. } | Op::PutStatic { value, .. } | Op::Return(Some(value)) => given.push(value),
            Op::ArrayStore { value, .. } => given.push(value),
            _ => {}
        }
    }
    given.iter().map(|value| body.without_casts(*value)).collect()
}

/// What a method stores to fields of its own object or class.
fn stores(body: &Body) -> Vec<(FieldName, Value)> {
    let stores = body.instructions().filter_map(|(_, instruction)| match instruction.op {
        Op::PutField { base, field, value } if body.this() == Some(base) => Some((field, value)),
        Op::PutStatic { field, value } if field.class == body.method.class => Some((field, value)),
        _ => None,
    });
    stores.map(|(field, value)| (field, body.without_casts(value))).collect()
}

/// With how many permits a semaphore is made, if the value is one that is made here.
fn permits(program: &Program, body: &Body, value: Value) -> Option<Option<i32>> {
    let Op::New(class) = *body.op(value) else { return None };
    if !lock::is_semaphore(program, class) {
        return None;
    }
    let made = body.instructions().find_map(|(_, instruction)| match instruction.op {
        Op::Call { method, arguments, .. } if program.names.text(method.name) == "<init>" => {
            let arguments = body.operands(arguments);
            (arguments.first() == Some(&value)).then(|| arguments.get(1).copied()).flatten()
        }
        _ => None,
    });
    Some(made.and_then(|count| match *body.op(count) {
        Op::Constant(Constant::Int(count)) => Some(count),
        _ => None,
    }))
}

fn derived_fields(program: &Program, body: &Body) -> Vec<(FieldName, Derived)> {
    let stores = stores(body);
    let view_of = |value: Value| match *body.op(value) {
        Op::Call { kind, method, arguments } if kind != CallKind::Static => {
            lock::view(program, method).map(|mode| (body.without_casts(body.operands(arguments)[0]), mode))
        }
        _ => None,
    };
    let mut derived = Vec::new();
    for (field, value) in &stores {
        if let Some(permits) = permits(program, body, *value) {
            let mode = (permits == Some(1)).then_some(Mode::Exclusive);
            derived.push((*field, Derived { lock: *field, mode }));
            continue;
        }
        let Some((whole, mode)) = view_of(*value) else { continue };
        let held = match *body.op(whole) {
            Op::GetField { base, field } if body.this() == Some(base) => Some(field),
            Op::GetStatic(field) if field.class == body.method.class => Some(field),
            _ => None,
        };
        let lock = held
            .or_else(|| stores.iter().find(|(_, stored)| *stored == whole).map(|(field, _)| *field))
            // The whole lock is in no field: the first field that holds a part of it stands for it.
            .or_else(|| {
                stores
                    .iter()
                    .find(|(_, stored)| view_of(*stored).is_some_and(|(of, _)| of == whole))
                    .map(|(field, _)| *field)
            });
        if let Some(lock) = lock {
            derived.push((*field, Derived { lock, mode }));
        }
    }
    derived
}
