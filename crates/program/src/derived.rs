//! Fields that hold a part of another lock: the halves of a `ReadWriteLock`, conditions.
//!
//! `private final Lock reading = pair.readLock();` makes `reading` another name of `pair`, in shared mode. Such fields
//! are set where objects are made, so the initialisers tell: a field counts only if all of them agree. A semaphore that is
//! made with one permit is a lock under its own name.

use classfile::{CallKind, Constant};
use location::{FieldName, Symbol};
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
        let mut derived = DerivedLocks::default();
        for found in program.visit_bodies(wanted, |_, body| derived_fields(program, &body)).into_iter().flatten() {
            for (field, meaning) in found {
                let Some(field) = program.resolve_field(field) else { continue };
                derived
                    .fields
                    .entry(field)
                    .and_modify(|known| *known = known.filter(|known| *known == meaning))
                    .or_insert(Some(meaning));
            }
        }
        derived
    }
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
    let stores: Vec<(FieldName, Value)> = body
        .instructions()
        .filter_map(|(_, instruction)| match instruction.op {
            Op::PutField { base, field, value } if body.this() == Some(base) => Some((field, value)),
            Op::PutStatic { field, value } if field.class == body.method.class => Some((field, value)),
            _ => None,
        })
        .map(|(field, value)| (field, body.without_casts(value)))
        .collect();
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
