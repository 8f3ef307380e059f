//! What the library says of each method that the program names: asked once, kept.

use location::{ClassName, MethodName};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::model::CallModel;

#[derive(Default)]
pub(crate) struct Library {
    models: FxHashMap<MethodName, CallModel>,
}

impl Library {
    pub(crate) fn of(program: &Program, calls: &Calls) -> Library {
        Library { models: models(program, calls) }
    }

    /// What the library says of a call; nothing if the program has code of its own for it.
    pub(crate) fn model(&self, method: MethodName) -> Option<CallModel> {
        self.models.get(&method).copied()
    }
}

/// What the library says of each method that is named and is no code of the program.
fn models(program: &Program, calls: &Calls) -> FxHashMap<MethodName, CallModel> {
    let lambdas = calls.mentions.iter().flat_map(|mentions| &mentions.lambdas);
    let others: FxHashSet<MethodName> =
        lambdas.filter(|lambda| !calls.modelled.contains_key(lambda)).copied().collect();
    let called = calls.modelled.par_iter().filter_map(|(method, model)| Some((*method, **model.as_ref()?)));
    let others =
        others.into_par_iter().filter_map(|method| Some((method, calls.model(program, method, method.class)?)));
    // Of few methods the library says anything, so whose code it is comes last.
    let models: Vec<(MethodName, CallModel)> =
        called.chain(others).filter(|(method, _)| !is_own_code(program, calls, *method)).collect();
    models.into_iter().collect()
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

    /// Whether the methods of a library class look at nothing but the object and what they are given.
    pub fn is_value(&self, program: &Program, class: ClassName) -> bool {
        self.models.is_value(&program.names, class)
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
