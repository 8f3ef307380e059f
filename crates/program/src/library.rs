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
}

impl Library {
    pub(crate) fn of(program: &Program, calls: &Calls) -> Library {
        let mut seen: FxHashSet<MethodName> = FxHashSet::default();
        let mut seen_fields: FxHashSet<FieldName> = FxHashSet::default();
        let (mut methods, mut fields) = (Vec::new(), Vec::new());
        for mentions in &calls.mentions {
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
        Library { models: models.into_iter().collect(), fields: fields.into_iter().collect() }
    }

    /// What the library says of a call; nothing if the program has code of its own for it.
    pub(crate) fn model(&self, method: MethodName) -> Option<CallModel> {
        self.models.get(&method).copied()
    }

    pub(crate) fn field(&self, field: FieldName) -> Option<FieldId> {
        self.fields.get(&field).copied()
    }
}

/// Whether the named method is code of the program.
fn is_own_code(program: &Program, calls: &Calls, method: MethodName) -> bool {
    calls
        .hierarchy
        .resolve_name(program, method)
        .is_some_and(|found| program.is_checked(program.class_of(found)) && program.method(found).has_code)
}

impl Calls {
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
