//! Whether two fields may hold one lock, as far as constructors tell.

use location::FieldName;
use program::ir::{Body, Op, Value};
use rustc_hash::FxHashMap;

use super::analysis::Analysis;

/// By final field: the fields that it is set to what they hold.
pub(super) struct Sources<'s> {
    analysis: &'s Analysis<'s>,
    known: FxHashMap<FieldName, Vec<FieldName>>,
}

impl<'s> Sources<'s> {
    pub(super) fn new(analysis: &'s Analysis<'s>) -> Sources<'s> {
        Sources { analysis, known: FxHashMap::default() }
    }

    /// Whether they are one field, one was set to what the other holds, or both to what a third one holds.
    pub(super) fn may_be_one(&mut self, one: FieldName, other: FieldName) -> bool {
        if one == other {
            return true;
        }
        for field in [one, other] {
            let analysis = self.analysis;
            self.known.entry(field).or_insert_with(|| of_field(analysis, field));
        }
        let (first, second) = (&self.known[&one], &self.known[&other]);
        first.contains(&other) || second.contains(&one) || first.iter().any(|source| second.contains(source))
    }
}

/// `mutex = owner.mutex`, or `new Part(owner.mutex)` where the constructor keeps what it is given.
fn of_field(analysis: &Analysis<'_>, field: FieldName) -> Vec<FieldName> {
    let program = analysis.program;
    let mut found = Vec::new();
    let Some(class) = program.resolve_field(field).map(|field| program.class_of_field(field)) else { return found };
    if !program.is_final_field(field) {
        return found;
    }
    for constructor in program.methods_of(class) {
        let name = program.method_name(constructor);
        if program.names.text(name.name) != "<init>" {
            continue;
        }
        let Some(body) = program.body(constructor).ok().flatten() else { continue };
        for (_, instruction) in body.instructions() {
            let Op::PutField { field: set, value, .. } = instruction.op else { continue };
            if set != field {
                continue;
            }
            let Op::Parameter(position) = *body.op(body.without_casts(value)) else {
                found.extend(field_read(&body, value));
                continue;
            };
            let callers = analysis.calls.callers(constructor).iter();
            for caller in callers.filter_map(|caller| program.body(*caller).ok().flatten()) {
                found.extend(caller.instructions().filter_map(|(_, instruction)| match instruction.op {
                    Op::Call { method, arguments, .. } if method == name => {
                        field_read(&caller, *caller.operands(arguments).get(usize::from(position))?)
                    }
                    _ => None,
                }));
            }
        }
    }
    found
}

/// The field that a register is read from.
fn field_read(body: &Body, value: Value) -> Option<FieldName> {
    match *body.op(body.without_casts(value)) {
        Op::GetField { field, .. } => Some(field),
        _ => None,
    }
}
