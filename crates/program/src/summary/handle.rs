//! Field updaters and `VarHandle`s: which field each stands for, told where it is made.

use location::FieldName;
use rustc_hash::{FxHashMap, FxHashSet};

use super::compose::{Composing, extend};
use crate::class::{FieldId, Program};
use crate::ir::{Body, Constant, Op};
use crate::outline::{Argument, Member, Name, NameStep, Start};
use crate::touched::Touched;

/// What the handles of the program stand for.
#[derive(Default)]
pub(crate) struct Handles {
    /// By field that holds a handle: the field that the handle stands for.
    by_holder: FxHashMap<FieldId, FieldName>,
    /// By field that some handle stands for: the fields that hold such handles, in order.
    holders: FxHashMap<FieldId, Vec<FieldId>>,
}

const HANDLES: [&str; 4] = [
    "Ljava/lang/invoke/VarHandle;",
    "Ljava/util/concurrent/atomic/AtomicIntegerFieldUpdater;",
    "Ljava/util/concurrent/atomic/AtomicLongFieldUpdater;",
    "Ljava/util/concurrent/atomic/AtomicReferenceFieldUpdater;",
];

impl Handles {
    pub(crate) fn of(program: &Program, touched: &Touched) -> Handles {
        let types: Vec<_> = HANDLES.iter().filter_map(|name| program.names.lookup(name)).collect();
        let holders: FxHashSet<FieldId> = (0..program.class_of_field.len() as u32)
            .map(FieldId)
            .filter(|field| types.contains(&program.field(*field).descriptor))
            .collect();
        if holders.is_empty() {
            return Handles::default();
        }
        let holder = |field: FieldName| {
            let is_handle = types.contains(&field.descriptor);
            is_handle.then(|| program.resolve_field(field)).flatten().filter(|field| holders.contains(field))
        };
        let found = program.visit_bodies_of(&touched.writers_of(&holders), |_, body| made(program, &body, &holder));
        let found: Vec<(FieldId, FieldName)> = found.into_iter().flatten().flatten().collect();
        let mut holders: FxHashMap<FieldId, Vec<FieldId>> = FxHashMap::default();
        for (holder, handled) in &found {
            let known = program.resolve_field(*handled).map(|handled| holders.entry(handled).or_default());
            if let Some(known) = known.filter(|known| !known.contains(holder)) {
                known.push(*holder);
            }
        }
        Handles { by_holder: found.into_iter().collect(), holders }
    }

    /// The field that what is in a field stands for.
    pub(crate) fn get(&self, holder: FieldId) -> Option<FieldName> {
        self.by_holder.get(&holder).copied()
    }

    /// Whether some handle stands for a field.
    pub(super) fn has(&self, field: FieldId) -> bool {
        self.holders.contains_key(&field)
    }

    /// The fields that hold handles of a field.
    pub(crate) fn holders_of(&self, field: FieldId) -> &[FieldId] {
        self.holders.get(&field).map_or(&[], Vec::as_slice)
    }
}

fn made(program: &Program, body: &Body, holder: &impl Fn(FieldName) -> Option<FieldId>) -> Vec<(FieldId, FieldName)> {
    let mut found = Vec::new();
    for (_, instruction) in body.instructions() {
        let (Op::PutField { field, value, .. } | Op::PutStatic { field, value }) = instruction.op else { continue };
        let Some(field) = holder(field) else { continue };
        let Op::Call { method, arguments, .. } = *body.op(body.without_casts(value)) else { continue };
        if !matches!(program.names.text(method.name), "newUpdater" | "findVarHandle" | "findStaticVarHandle") {
            continue;
        }
        let given = body.operands(arguments).iter().map(|argument| *body.op(*argument));
        let (mut class, mut name) = (None, None);
        for op in given {
            match op {
                Op::Constant(Constant::Class(given)) => class = class.or(Some(given)),
                Op::Constant(Constant::String(given)) => name = Some(given),
                _ => {}
            }
        }
        let (Some(class), Some(name)) = (class.and_then(|class| program.class(class)), name) else { continue };
        let target = program.fields_of(class).find(|field| program.field(*field).name == name);
        found.extend(target.map(|target| {
            let descriptor = program.field(target).descriptor;
            (field, FieldName { class: program.header(class).name, name, descriptor })
        }));
    }
    found
}

/// The variable that a call on a handle touches.
pub(super) struct Named {
    pub(super) base: Name,
    pub(super) member: Member,
    /// What stands for the variable as the lock of its own operations.
    pub(super) lock: Name,
}

impl Composing<'_, '_> {
    /// The variable that a call on a field updater or `VarHandle` touches.
    pub(super) fn named(&self, arguments: &[Argument]) -> Option<Named> {
        let handle = self.settle(&arguments.first()?.name);
        let field = self.holdings.handle(self.program, crate::variable::holder(&handle)?)?;
        let id = self.program.resolve_field(field)?;
        if self.program.field(id).access.is_static() {
            let lock = Name::start(Start::Static(field));
            return Some(Named { base: Name::start(Start::Unknown), member: Member::Static(field), lock });
        }
        let base = self.settle(&arguments.get(1)?.name);
        let lock = extend(base.clone(), &[NameStep::Field(field)]);
        Some(Named { base, member: Member::Field(field), lock })
    }
}
