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
        let (models, (fields, ends, users)) = rayon::join(|| models(program, calls), || fields(program, calls));
        Library { models, fields, ends, users }
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

type Fields = (FxHashMap<FieldName, FieldId>, Vec<u32>, Vec<MethodId>);

/// The fields that are named; the users of each field, field by field, and where those of each end.
fn fields(program: &Program, calls: &Calls) -> Fields {
    let mut numbers: FxHashMap<FieldName, u32> = FxHashMap::default();
    let mut names: Vec<FieldName> = Vec::new();
    // The names that each method's code has, by number; those of methods that are only known count as named.
    let mut uses: Vec<(u32, MethodId)> = Vec::new();
    for (index, mentions) in calls.mentions.iter().enumerate() {
        for field in mentions.reads.iter().chain(&mentions.writes) {
            let number = *numbers.entry(*field).or_insert_with(|| {
                names.push(*field);
                names.len() as u32 - 1
            });
            if index < program.method_count() {
                uses.push((number, MethodId(index as u32)));
            }
        }
    }
    drop(numbers);
    let found: Vec<Option<FieldId>> = names.par_iter().map(|field| program.resolve_field(*field)).collect();
    let mut counts = vec![0; program.class_of_field.len()];
    for field in uses.iter().filter_map(|(number, _)| found[*number as usize]) {
        counts[field.0 as usize] += 1;
    }
    let mut next: Vec<u32> = Vec::with_capacity(counts.len());
    let mut sum = 0;
    for count in counts {
        next.push(sum);
        sum += count;
    }
    let starts = next.clone();
    // A method may name one field in several ways; those of one method come one after the other.
    let mut users = vec![MethodId(0); sum as usize];
    for (number, method) in uses {
        let Some(FieldId(field)) = found[number as usize] else { continue };
        let at = next[field as usize];
        if at == starts[field as usize] || users[at as usize - 1] != method {
            users[at as usize] = method;
            next[field as usize] += 1;
        }
    }
    let mut kept = Vec::with_capacity(users.len());
    let mut ends = Vec::with_capacity(starts.len());
    for (start, end) in starts.into_iter().zip(next) {
        kept.extend_from_slice(&users[start as usize..end as usize]);
        ends.push(kept.len() as u32);
    }
    let fields = names.into_iter().zip(found).filter_map(|(name, field)| Some((name, field?))).collect();
    (fields, ends, kept)
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
