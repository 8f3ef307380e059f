//! Which calls may assign a field that the name of a lock goes through.

use location::{FieldName, MethodName, Symbol};
use program::ir::CallKind;
use program::{Calls, MethodId, Path, Program, Root, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::name::{Argument, declared};
use super::skeleton::Skeleton;

/// Assignments further down than this many calls are not seen.
const MAX_DEPTH: usize = 6;

#[derive(Default)]
pub(super) struct Stores {
    by_method: FxHashMap<MethodId, SmallVec<[FieldName; 1]>>,
}

impl Stores {
    pub(super) fn of(program: &Program, calls: &Calls, skeletons: &[Skeleton]) -> Stores {
        let named = fields_in_names(program, skeletons);
        let mut stores = Stores::default();
        if named.is_empty() {
            return stores;
        }
        let constructor = program.names.intern("<init>");
        let mut numbers: FxHashMap<FieldName, usize> = FxHashMap::default();
        let mut writers: Vec<(FieldName, Vec<MethodId>)> = Vec::new();
        // Most code names no such field, and that is told by the plain name.
        let plain: FxHashSet<Symbol> = named.iter().map(|field| field.name).collect();
        for method in program.methods() {
            for field in calls.writes(method).iter().filter(|field| plain.contains(&field.name)) {
                let field = declared(program, *field);
                // A constructor sets up an object that nobody has locked yet.
                let own = program.method_name(method);
                if named.contains(&field) && !(own.name == constructor && own.class == field.class) {
                    let number = *numbers.entry(field).or_insert_with(|| {
                        writers.push((field, Vec::new()));
                        writers.len() - 1
                    });
                    writers[number].1.push(method);
                }
            }
        }
        for (field, writers) in writers {
            let mut seen: FxHashSet<MethodId> = writers.iter().copied().collect();
            let mut edge = writers;
            for _ in 0..MAX_DEPTH {
                let mut further = Vec::new();
                for method in edge.drain(..) {
                    stores.by_method.entry(method).or_default().push(field);
                    further.extend(calls.callers(method).iter().copied().filter(|caller| seen.insert(*caller)));
                }
                edge = further;
            }
        }
        stores
    }

    /// The fields that a call may assign.
    pub(super) fn of_call(
        &self,
        program: &Program,
        calls: &Calls,
        kind: CallKind,
        method: MethodName,
    ) -> SmallVec<[FieldName; 1]> {
        let mut fields: SmallVec<[FieldName; 1]> = SmallVec::new();
        if self.by_method.is_empty() {
            return fields;
        }
        for target in calls.targets(program, kind, method).known() {
            for field in self.by_method.get(target).into_iter().flatten() {
                if !fields.contains(field) {
                    fields.push(*field);
                }
            }
        }
        fields
    }
}

/// Fields that can be assigned and that the names of locks, or of what is given to calls, go through.
fn fields_in_names(program: &Program, skeletons: &[Skeleton]) -> FxHashSet<FieldName> {
    let mut fields = FxHashSet::default();
    let mut add = |path: &Path| {
        if let Root::Static(field) = path.root {
            fields.insert(field);
        }
        for step in &path.steps {
            if let Step::Field(field) = step {
                fields.insert(*field);
            }
        }
    };
    for skeleton in skeletons {
        skeleton.sections.iter().for_each(|section| add(&section.lock));
        for argument in skeleton.calls.iter().flat_map(|call| &call.arguments) {
            if let Argument::Object(path, _) = argument {
                add(path);
            }
        }
    }
    fields.retain(|field| !program.is_final_field(*field));
    fields
}
