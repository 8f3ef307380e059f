//! Which calls may assign a field that the name of a lock goes through.

use location::{FieldName, MethodName};
use program::ir::CallKind;
use program::{Calls, FieldId, MethodId, Path, Program, Root, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::name::Argument;
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
        let mut named: Vec<FieldId> = named.into_iter().filter_map(|field| program.resolve_field(field)).collect();
        named.sort_unstable();
        for field in named {
            let writers = calls.writers(field).iter().copied();
            let field = program.field_name(field);
            // A constructor sets up an object that nobody has locked yet.
            let makes = |method: &MethodId| {
                let own = program.method_name(*method);
                own.name == constructor && own.class == field.class
            };
            let mut edge: Vec<MethodId> = writers.filter(|method| !makes(method)).collect();
            let mut seen: FxHashSet<MethodId> = edge.iter().copied().collect();
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
