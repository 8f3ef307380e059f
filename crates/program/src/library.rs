//! What the library says of each method that the program names, and which field each reference means: asked once, kept.

use location::{ClassName, FieldName, MethodName};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::model::CallModel;

#[derive(Default)]
pub(crate) struct Library {
    models: FxHashMap<MethodName, CallModel>,
    fields: FxHashMap<FieldName, FieldId>,
    /// By field: where its users end in `users`.
    ends: Vec<u32>,
    /// Methods whose code names a field, field by field, in order.
    users: Vec<MethodId>,
}

impl Library {
    pub(crate) fn of(program: &Program, calls: &Calls) -> Library {
        let mut seen: FxHashSet<MethodName> = FxHashSet::default();
        let mut seen_fields: FxHashSet<FieldName> = FxHashSet::default();
        let (mut methods, mut fields) = (Vec::new(), Vec::new());
        for mentions in calls.mentions.iter() {
            let called = mentions.calls.iter().map(|(_, method)| *method).chain(mentions.lambdas.iter().copied());
            methods.extend(called.filter(|method| seen.insert(*method)));
            let touched = mentions.reads.iter().chain(&mentions.writes).copied();
            fields.extend(touched.filter(|field| seen_fields.insert(*field)));
        }
        let models: Vec<(MethodName, CallModel)> = methods
            .par_iter()
            .filter(|method| !is_own_code(program, calls, **method))
            .filter_map(|method| Some((*method, calls.model(program, *method, method.class)?)))
            .collect();
        let fields: Vec<(FieldName, FieldId)> =
            fields.par_iter().filter_map(|field| Some((*field, program.resolve_field(*field)?))).collect();
        let fields: FxHashMap<FieldName, FieldId> = fields.into_iter().collect();
        let (ends, users) = users(program, calls, &fields);
        Library { models: models.into_iter().collect(), fields, ends, users }
    }

    /// The methods whose code reads or writes a field, in order.
    pub(crate) fn users(&self, field: FieldId) -> &[MethodId] {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let index = field.0 as usize;
        &self.users[if index == 0 { 0 } else { end(index - 1) }..end(index)]
    }

    /// What the library says of a call; nothing if the program has code of its own for it.
    pub(crate) fn model(&self, method: MethodName) -> Option<CallModel> {
        self.models.get(&method).copied()
    }

    pub(crate) fn field(&self, field: FieldName) -> Option<FieldId> {
        self.fields.get(&field).copied()
    }
}

/// The users of each field, field by field, and where those of each end.
fn users(program: &Program, calls: &Calls, fields: &FxHashMap<FieldName, FieldId>) -> (Vec<u32>, Vec<MethodId>) {
    let mut uses: Vec<(FieldId, MethodId)> = Vec::new();
    for method in program.methods() {
        let mentions = &calls.mentions[method.index()];
        let named = mentions.reads.iter().chain(&mentions.writes).filter_map(|field| fields.get(field));
        uses.extend(named.map(|field| (*field, method)));
    }
    uses.par_sort_unstable();
    uses.dedup();
    let mut ends = vec![0; program.class_of_field.len()];
    for (index, (field, _)) in uses.iter().enumerate() {
        ends[field.0 as usize] = index as u32 + 1;
    }
    for index in 1..ends.len() {
        ends[index] = ends[index].max(ends[index - 1]);
    }
    (ends, uses.into_iter().map(|(_, method)| method).collect())
}

/// Whether the named method is code of the program.
fn is_own_code(program: &Program, calls: &Calls, method: MethodName) -> bool {
    calls
        .hierarchy
        .resolve_name(program, method)
        .is_some_and(|found| program.is_checked(program.class_of(found)) && program.method(found).has_code)
}

impl Calls {
    /// Whether objects of a class never change.
    pub fn is_immutable(&self, program: &Program, class: ClassName) -> bool {
        self.models.is_immutable(&program.names, class, &mut supertypes(program))
    }

    /// The method that runs when an object of this class is started, or called as a function.
    pub(crate) fn task_entry(&self, program: &Program, class: ClassName) -> Option<MethodName> {
        self.models.task_entry(&program.names, class, &mut supertypes(program))
    }
}

/// Tells the direct supertypes of a class.
pub(crate) fn supertypes(program: &Program) -> impl FnMut(ClassName, &mut dyn FnMut(ClassName)) + '_ {
    |class, tell| {
        if let Some(class) = program.class(class) {
            let header = program.header(class);
            header.super_class.iter().chain(&header.interfaces).for_each(|parent| tell(*parent));
        }
    }
}

/// Whether a method has code that is checked.
pub(crate) fn is_checked_code(program: &Program, method: MethodId) -> bool {
    program.is_checked(program.class_of(method)) && program.method(method).has_code
}
