//! Which methods may have a container that synchronizes itself behind an interface: `Map` says nothing of locks, and
//! `new ConcurrentHashMap` does. What is made is seen where it is made, in fields that it was stored to, and in what
//! methods return.

use classfile::Type;
use location::{ClassName, MethodName, Symbol};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::library::supertypes;
use crate::model::{Product, linearize};

/// So many times what is in a field is followed to the field of an object that it is given to.
const MAX_HANDED_ON: usize = 2;

/// Where such containers may be.
#[derive(Default)]
pub(crate) struct Behind {
    /// By method: whether what it calls by an interface may be one.
    methods: Vec<bool>,
    /// By field: whether it may hold one.
    fields: Vec<bool>,
}

impl Behind {
    pub(crate) fn of_method(&self, method: MethodId) -> bool {
        self.methods[method.index()]
    }

    pub(crate) fn of_field(&self, field: FieldId) -> bool {
        self.fields[field.0 as usize]
    }
}

pub(crate) fn behind_interfaces(program: &Program, calls: &Calls) -> Behind {
    let count = program.known_method_count();
    let makers = &makers(program, calls);
    let mut known = vec![false; program.class_of_field.len()];
    if makers.iter().all(Option::is_none) {
        return Behind { methods: vec![false; count], fields: known };
    }
    let methods: Vec<MethodId> = program.methods().collect();
    let made_in = |method: MethodId| calls.numbers(method).iter().filter_map(|call| makers[*call as usize]);
    let kinds = &Kinds::of(program, calls, makers);
    let mut given = given(program, calls, makers, kinds, &methods);
    let holders = |methods: &[MethodId], given: &[bool]| -> Vec<FieldId> {
        let held = methods.par_iter().flat_map_iter(|method| {
            let made: Vec<ClassName> = made_in(*method).collect();
            let is_given = given[method.index()];
            let written = if made.is_empty() && !is_given { &[][..] } else { calls.touched.writes(*method) };
            let holds = |made: &[ClassName], descriptor: Symbol| {
                let kind = classfile::parse_field(program.names.text(descriptor), &program.names);
                matches!(kind, Some(Type::Reference(of)) if made.iter().any(|made| program.is_subtype(*made, of)))
            };
            written.iter().copied().filter(move |field| {
                let descriptor = program.field(*field).descriptor;
                is_given && kinds.held_as.contains(&descriptor) || !made.is_empty() && holds(&made, descriptor)
            })
        });
        held.collect()
    };
    holders(&methods, &given).iter().for_each(|field| known[field.0 as usize] = true);
    // What is in a field is handed on to objects that are made, or they get it by a getter; and from there perhaps once more.
    for _ in 0..MAX_HANDED_ON {
        let is_new = |method: &MethodId| {
            program.method(*method).name == program.roots.constructor
                && !given[method.index()]
                && program.is_checked(program.class_of(*method))
        };
        let takes = |method: &MethodId| is_new(method) && kinds.takes_one(program, program.method(*method).descriptor);
        let reading = methods.par_iter().filter(|method| reads_one(calls, &known, **method));
        let mut handed: Vec<MethodId> = reading
            .flat_map_iter(|method| {
                let askers = if kinds.is_yielded(program, *method) { calls.callers(*method) } else { &[] };
                let given = calls.callees(*method).iter().copied().filter(takes);
                given.chain(askers.iter().copied().filter(is_new))
            })
            .collect();
        handed.sort_unstable();
        handed.dedup();
        if handed.is_empty() {
            break;
        }
        handed.iter().for_each(|method| given[method.index()] = true);
        holders(&handed, &given).iter().for_each(|field| known[field.0 as usize] = true);
    }
    let holds = |method: MethodId| reads_one(calls, &known, method) || made_in(method).next().is_some();
    let mut behind = vec![false; count];
    let found: Vec<MethodId> = methods.into_par_iter().filter(|method| holds(*method)).collect();
    found.iter().for_each(|method| behind[method.index()] = true);
    spread(program, calls, kinds, found, &mut behind);
    hand_down(program, calls, kinds, &mut behind);
    Behind { methods: behind, fields: known }
}

/// Whether a method's code reads one of these fields.
fn reads_one(calls: &Calls, fields: &[bool], method: MethodId) -> bool {
    calls.touched.reads(method).iter().any(|field| fields[field.0 as usize])
}

/// Adds the lambdas and methods that may be given such a container: one of their parameters may hold it.
fn hand_down(program: &Program, calls: &Calls, kinds: &Kinds<'_>, behind: &mut [bool]) {
    let mut known: FxHashMap<Symbol, bool> = FxHashMap::default();
    let mut pending: Vec<MethodId> = program.methods().filter(|method| behind[method.index()]).collect();
    while let Some(method) = pending.pop() {
        for callee in calls.callees(method) {
            if behind[callee.index()] || !program.is_checked(program.class_of(*callee)) {
                continue;
            }
            let descriptor = program.method(*callee).descriptor;
            if *known.entry(descriptor).or_insert_with(|| kinds.takes_one(program, descriptor)) {
                behind[callee.index()] = true;
                pending.push(*callee);
            }
        }
    }
}

/// What such containers may be declared as.
struct Kinds<'p> {
    /// Their classes, and all above.
    ancestors: FxHashSet<ClassName>,
    /// The same as descriptors of fields have it, but for any object.
    held_as: FxHashSet<Symbol>,
    /// Those of which the library says something.
    modelled: FxHashSet<&'p str>,
}

impl<'p> Kinds<'p> {
    fn of(program: &'p Program, calls: &Calls, makers: &[Option<ClassName>]) -> Kinds<'p> {
        let classes: FxHashSet<ClassName> = makers.iter().copied().flatten().collect();
        let ancestors: FxHashSet<ClassName> =
            classes.into_iter().flat_map(|class| linearize(class, &mut supertypes(program))).collect();
        let but_object = || ancestors.iter().filter(|class| **class != program.roots.object);
        let names = &program.names;
        let is_modelled = |class: &&ClassName| !calls.models.ancestry(**class, &mut |_, _| {}).is_empty();
        Kinds {
            held_as: but_object().filter_map(|class| names.lookup(&format!("L{};", names.text(class.0)))).collect(),
            modelled: but_object().filter(is_modelled).map(|class| names.text(class.0)).collect(),
            ancestors,
        }
    }

    /// Whether a method may return one, and says so.
    fn is_yielded(&self, program: &Program, method: MethodId) -> bool {
        let result = returned(program, program.method_name(method));
        result.is_some_and(|class| class != program.roots.object && self.ancestors.contains(&class))
    }

    /// Whether a method takes one of those of which the library says something.
    fn takes_one(&self, program: &Program, descriptor: Symbol) -> bool {
        let parameters = program.names.text(descriptor).split(')').next().unwrap_or_default();
        classfile::classes_in(parameters).any(|class| self.modelled.contains(class))
    }
}

/// By method: whether it gets one from a call, or is a constructor that one is given to.
fn given(
    program: &Program,
    calls: &Calls,
    makers: &[Option<ClassName>],
    kinds: &Kinds<'_>,
    methods: &[MethodId],
) -> Vec<bool> {
    let mut given = vec![false; program.known_method_count()];
    let makes = |method: &MethodId| calls.numbers(*method).iter().any(|call| makers[*call as usize].is_some());
    let making: Vec<MethodId> = methods.par_iter().copied().filter(makes).collect();
    spread(program, calls, kinds, making.clone(), &mut given);
    let got = methods.iter().copied().filter(|method| given[method.index()]).collect::<Vec<_>>();
    for caller in making.into_iter().chain(got) {
        for callee in calls.callees(caller) {
            let own = program.method(*callee);
            if own.name == program.roots.constructor && program.names.text(own.descriptor).contains('L') {
                given[callee.index()] = true;
            }
        }
    }
    given
}

/// By call: what it makes, if it is a constructor of a class that synchronizes itself, or wraps something so.
fn makers(program: &Program, calls: &Calls) -> Vec<Option<ClassName>> {
    let made = calls.distinct().map(|(_, method, _)| {
        if method.name == program.roots.constructor {
            let ancestry = calls.models.ancestry(method.class, &mut supertypes(program));
            return calls.models.is_guarded(&ancestry).then_some(method.class);
        }
        let model = calls.modelled.get(&method)?.as_ref()?;
        returned(program, method).filter(|_| model.product == Some(Product::Synchronized))
    });
    made.collect()
}

/// What a method returns, if that is an object.
pub(crate) fn returned(program: &Program, method: MethodName) -> Option<ClassName> {
    let descriptor = program.names.text(method.descriptor);
    let result = &descriptor[descriptor.find(')')? + 1..];
    match classfile::parse_field(result, &program.names) {
        Some(Type::Reference(class)) => Some(class),
        _ => None,
    }
}

/// Adds the callers of methods that may return such a container.
fn spread(program: &Program, calls: &Calls, kinds: &Kinds<'_>, found: Vec<MethodId>, behind: &mut [bool]) {
    let object = program.roots.object;
    let mut returns = vec![false; behind.len()];
    let mut pending = found;
    let mut is_first = true;
    while !pending.is_empty() {
        let mut next = Vec::new();
        for method in pending {
            let result = returned(program, program.method_name(method));
            // What is handed on as any object is followed one call up and no further.
            let may_return =
                result.is_some_and(|class| kinds.ancestors.contains(&class) && (is_first || class != object));
            if may_return && !std::mem::replace(&mut returns[method.index()], true) {
                next.extend(calls.callers(method).iter().copied());
            }
        }
        next.sort_unstable();
        next.dedup();
        next.iter().for_each(|caller| behind[caller.index()] = true);
        pending = next;
        is_first = false;
    }
}
