//! What is linked when a program is loaded, held against plain twins that go by names, on real classes.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use location::{ClassName, FieldName};
use program::{CallGraph, Calls, FieldId, Known, MethodId, Program};
use support::real;

/// Subtypes of every so many classes are looked for: all would take a minute.
const EVERY: usize = 49;

fn program() -> Program {
    Program::load(real::java_base(), Known::default())
}

/// What a class extends and implements, by name.
fn parents(program: &Program, class: ClassName) -> Vec<ClassName> {
    let Some(class) = program.class(class) else { return Vec::new() };
    let header = program.header(class);
    header.super_class.iter().chain(&header.interfaces).copied().collect()
}

fn ancestors(program: &Program, class: ClassName) -> BTreeSet<String> {
    let (mut all, mut pending) = (BTreeSet::new(), vec![class]);
    while let Some(class) = pending.pop() {
        if all.insert(program.names.text(class.0).to_owned()) {
            pending.extend(parents(program, class));
        }
    }
    all
}

#[test]
fn subtypes_are_those_that_names_tell() {
    let program = program();
    let classes: Vec<ClassName> = program.classes().map(|class| program.header(class).name).step_by(EVERY).collect();
    let asked =
        classes.iter().copied().chain(["java/util/Map", "java/lang/Runnable"].map(|name| program.names.class(name)));
    let asked: Vec<ClassName> = asked.collect();
    let mut found = 0;
    for class in program.classes().map(|class| program.header(class).name) {
        let expected = ancestors(&program, class);
        for ancestor in &asked {
            let is_object = program.names.text(ancestor.0) == "java/lang/Object";
            let is_expected = is_object || expected.contains(program.names.text(ancestor.0));
            let is_subtype = program.is_subtype(class, *ancestor);
            assert_eq!(is_subtype, is_expected, "{:?}", [class, *ancestor].map(|class| program.names.text(class.0)));
            found += usize::from(is_subtype && class != *ancestor);
        }
    }
    assert!(found > 100, "only {found} subtypes");
}

/// The field that a name means: the class's own, or else one of those above it.
fn declared(program: &Program, name: FieldName) -> BTreeSet<FieldId> {
    let own = |class: ClassName| {
        let class = program.class(class)?;
        program.fields_of(class).find(|field| {
            let field = program.field(*field);
            (field.name, field.descriptor) == (name.name, name.descriptor)
        })
    };
    if let Some(found) = own(name.class) {
        return BTreeSet::from([found]);
    }
    let (mut all, mut seen, mut pending) = (BTreeSet::new(), BTreeSet::new(), parents(program, name.class));
    while let Some(class) = pending.pop() {
        if seen.insert(program.names.text(class.0).to_owned()) {
            match own(class) {
                Some(found) => drop(all.insert(found)),
                None => pending.extend(parents(program, class)),
            }
        }
    }
    all
}

#[test]
fn those_who_name_a_field_are_those_whose_code_does() {
    let program = program();
    let calls = Calls::of(&program, CallGraph::default());
    let mut users: BTreeMap<FieldId, BTreeSet<MethodId>> = BTreeMap::new();
    let mut writers: BTreeMap<FieldId, BTreeSet<MethodId>> = BTreeMap::new();
    let mut inherited = 0;
    for method in program.methods() {
        for (named, is_write) in [(calls.reads(method), false), (calls.writes(method), true)] {
            for name in named {
                let meant = declared(&program, *name);
                let found = program.resolve_field(*name);
                assert!(
                    found.map_or(meant.is_empty(), |found| meant.contains(&found)),
                    "{:?}",
                    program.names.text(name.name)
                );
                let Some(field) = found else { continue };
                inherited += usize::from(program.field_name(field) != *name);
                users.entry(field).or_default().insert(method);
                if is_write {
                    writers.entry(field).or_default().insert(method);
                }
            }
        }
    }
    assert!(inherited > 100, "only {inherited} fields are inherited");
    for field in program.classes().flat_map(|class| program.fields_of(class)) {
        let of = |all: &BTreeMap<FieldId, BTreeSet<MethodId>>| -> Vec<MethodId> {
            all.get(&field).into_iter().flatten().copied().collect()
        };
        assert_eq!(calls.users(field), of(&users), "{:?}", program.names.text(program.field(field).name));
        assert_eq!(calls.writers(field), of(&writers), "{:?}", program.names.text(program.field(field).name));
    }
}
