//! Which methods may have a container that synchronizes itself behind an interface: `Map` says nothing of locks, and
//! `new ConcurrentHashMap` does. What is made is seen where it is made, in fields that it was stored to, and in what
//! methods return.

use classfile::Type;
use location::{ClassName, MethodName};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::library::supertypes;
use crate::model::{Product, linearize};

/// So many times what is in a field is followed to the field of an object that it is given to.
const MAX_HANDED_ON: usize = 2;

/// By method.
pub(crate) fn behind_interfaces(program: &Program, calls: &Calls) -> Vec<bool> {
    let count = program.known_method_count();
    let makers = makers(program, calls);
    if makers.is_empty() {
        return vec![false; count];
    }
    let methods: Vec<MethodId> = program.methods().collect();
    let made_in =
        |method: MethodId| calls.mentions[method.index()].calls.iter().filter_map(|(_, call)| makers.get(call));
    let mut given = given(program, calls, &makers, &methods);
    let classes: FxHashSet<ClassName> = makers.values().copied().collect();
    let classes = &classes;
    let holders = |methods: &[MethodId], given: &[bool]| -> FxHashSet<FieldId> {
        let held = methods.par_iter().flat_map_iter(|method| {
            let made: Vec<ClassName> = made_in(*method).copied().collect();
            let is_given = given[method.index()];
            let written = if made.is_empty() && !is_given { &[][..] } else { calls.writes(*method) };
            let fits = move |of: ClassName| {
                made.iter().any(|made| program.is_subtype(*made, of))
                    || is_given
                        && of != program.roots.object
                        && classes.iter().any(|made| program.is_subtype(*made, of))
            };
            written.iter().filter_map(move |field| {
                let kind = classfile::parse_field(program.names.text(field.descriptor), &program.names);
                matches!(kind, Some(Type::Reference(class)) if fits(class)).then(|| program.resolve_field(*field))?
            })
        });
        held.collect()
    };
    let mut known = holders(&methods, &given);
    // What is in a field is handed on to objects that are made, and from there perhaps once more.
    let types = above(program, calls, classes);
    for _ in 0..MAX_HANDED_ON {
        let reads = |method: &&MethodId| {
            calls
                .reads(**method)
                .iter()
                .any(|field| program.resolve_field(*field).is_some_and(|id| known.contains(&id)))
        };
        let takes = |method: &MethodId| {
            program.method(*method).name == program.roots.constructor
                && program.is_checked(program.class_of(*method))
                && takes_one(program, &types, *method)
        };
        let reading = methods.par_iter().filter(reads);
        let handed: Vec<MethodId> =
            reading.flat_map_iter(|method| calls.callees(*method).iter().copied().filter(takes)).collect();
        let mut handed: Vec<MethodId> = handed.into_iter().filter(|method| !given[method.index()]).collect();
        handed.sort_unstable();
        handed.dedup();
        if handed.is_empty() {
            break;
        }
        handed.iter().for_each(|method| given[method.index()] = true);
        known.extend(holders(&handed, &given));
    }
    let holders = known;
    let holds = |method: MethodId| {
        made_in(method).next().is_some()
            || calls
                .reads(method)
                .iter()
                .any(|field| program.resolve_field(*field).is_some_and(|id| holders.contains(&id)))
    };
    let mut behind = vec![false; count];
    let found: Vec<MethodId> = methods.into_par_iter().filter(|method| holds(*method)).collect();
    found.iter().for_each(|method| behind[method.index()] = true);
    spread(program, calls, &makers, found, &mut behind);
    hand_down(program, calls, classes, &mut behind);
    behind
}

/// Adds the lambdas and methods that may be given such a container: one of their parameters may hold it.
fn hand_down(program: &Program, calls: &Calls, classes: &FxHashSet<ClassName>, behind: &mut [bool]) {
    let types = above(program, calls, classes);
    let mut pending: Vec<MethodId> = program.methods().filter(|method| behind[method.index()]).collect();
    while let Some(method) = pending.pop() {
        for callee in calls.callees(method) {
            let is_own = program.is_checked(program.class_of(*callee));
            if is_own && !behind[callee.index()] && takes_one(program, &types, *callee) {
                behind[callee.index()] = true;
                pending.push(*callee);
            }
        }
    }
}

/// What such containers may be declared as, as descriptors have it.
fn above(program: &Program, calls: &Calls, classes: &FxHashSet<ClassName>) -> Vec<String> {
    let above: FxHashSet<ClassName> =
        classes.iter().flat_map(|class| linearize(*class, &mut supertypes(program))).collect();
    let is_modelled =
        |class: &ClassName| *class != program.roots.object && !calls.models.ancestry(*class, &mut |_, _| {}).is_empty();
    above.into_iter().filter(is_modelled).map(|class| format!("L{};", program.names.text(class.0))).collect()
}

/// Whether a method takes one of these types.
fn takes_one(program: &Program, types: &[String], method: MethodId) -> bool {
    let descriptor = program.names.text(program.method(method).descriptor);
    let parameters = descriptor.split(')').next().unwrap_or_default();
    types.iter().any(|kind| parameters.contains(kind.as_str()))
}

/// By method: whether it gets one from a call, or is a constructor that one is given to.
fn given(
    program: &Program,
    calls: &Calls,
    makers: &FxHashMap<MethodName, ClassName>,
    methods: &[MethodId],
) -> Vec<bool> {
    let mut given = vec![false; program.known_method_count()];
    let makes =
        |method: &MethodId| calls.mentions[method.index()].calls.iter().any(|(_, call)| makers.contains_key(call));
    let making: Vec<MethodId> = methods.par_iter().copied().filter(makes).collect();
    spread(program, calls, makers, making.clone(), &mut given);
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

/// Constructors of classes that synchronize themselves, and calls that wrap something so; each with what it makes.
fn makers(program: &Program, calls: &Calls) -> FxHashMap<MethodName, ClassName> {
    let constructor = program.names.intern("<init>");
    let found: Vec<(MethodName, ClassName)> = calls
        .modelled
        .par_iter()
        .filter_map(|(method, model)| {
            if method.name == constructor {
                let ancestry = calls.models.ancestry(method.class, &mut supertypes(program));
                return calls.models.is_guarded(&ancestry).then_some((*method, method.class));
            }
            let is_wrapper = model.as_ref().is_some_and(|model| model.product == Some(Product::Synchronized));
            let result = returned(program, *method).filter(|_| is_wrapper)?;
            Some((*method, result))
        })
        .collect();
    found.into_iter().collect()
}

/// What a method returns, if that is an object.
fn returned(program: &Program, method: MethodName) -> Option<ClassName> {
    let descriptor = program.names.text(method.descriptor);
    let result = &descriptor[descriptor.find(')')? + 1..];
    match classfile::parse_field(result, &program.names) {
        Some(Type::Reference(class)) => Some(class),
        _ => None,
    }
}

/// Adds the callers of methods that may return such a container.
fn spread(
    program: &Program,
    calls: &Calls,
    makers: &FxHashMap<MethodName, ClassName>,
    found: Vec<MethodId>,
    behind: &mut [bool],
) {
    let classes: FxHashSet<ClassName> = makers.values().copied().collect();
    let ancestors: FxHashSet<ClassName> =
        classes.into_iter().flat_map(|class| linearize(class, &mut supertypes(program))).collect();
    let object = program.names.class("java/lang/Object");
    let mut returns = vec![false; behind.len()];
    let mut pending = found;
    let mut is_first = true;
    while !pending.is_empty() {
        let mut next = Vec::new();
        for method in pending {
            let result = returned(program, program.method_name(method));
            // What is handed on as any object is followed one call up and no further.
            let may_return = result.is_some_and(|class| ancestors.contains(&class) && (is_first || class != object));
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
