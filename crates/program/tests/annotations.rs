//! Annotations and frameworks' entry points in compiled classes.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use classfile::ClassSource;
use fixture::Fixture;
use location::ClassName;
use program::model::{Models, Times};
use program::{Annotations, Guard, Known, Mark, Program};

fn program() -> Program {
    let folder = fixture::workspace().canonicalize().unwrap().join("fixtures/annotations");
    let fixtures = Fixture::all(&folder).unwrap();
    let compiled = fixture::compile(&fixtures, &fixture::test_jdk().unwrap(), &fixture::cache()).unwrap();
    let files = compiled.iter().flat_map(|compiled| fixture::class_files(&compiled.classes));
    Program::load(files.map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default())
}

fn field(program: &Program, name: &str) -> Annotations {
    let field = program.resolve_field(program.names.field("Annotated", name, "I")).unwrap();
    program.annotations_of_field(field)
}

#[test]
fn annotations_of_any_package() {
    let program = program();
    let class = program.class(program.names.class("Annotated")).unwrap();
    assert!(program.annotations_of_class(class).has(Mark::ThreadSafe));
    let method = |name: &str, descriptor: &str| {
        let method = program.declared_method(program.names.method("Annotated", name, descriptor)).unwrap();
        program.annotations_of_method(method)
    };
    assert_eq!(method("add", "(I)V").marks(), [Mark::Atomic]);
    assert!(method("clear", "()V").is_empty());
    assert_eq!(field(&program, "count").guards(), [Guard::Field(program.names.intern("lock"))]);
    let two = [Guard::This, Guard::Class(program.names.intern("Annotated"))];
    assert_eq!(field(&program, "total").guards(), two);
    assert!(field(&program, "plain").is_empty());
}

#[test]
fn entry_points_of_frameworks() {
    let program = program();
    let models = Models::new(&program.names);
    let mut supertypes = |class: ClassName, tell: &mut dyn FnMut(ClassName)| {
        let Some(class) = program.class(class) else { return };
        let header = program.header(class);
        header.super_class.iter().chain(&header.interfaces).copied().for_each(tell);
    };
    let mut called = |class: &str| -> Vec<(String, Times)> {
        let header = program.header(program.class(program.names.class(class)).unwrap());
        let found = models.entry_points(&program.names, header, &mut supertypes);
        let name = |index: usize| program.names.text(header.methods[index].name).to_owned();
        found.iter().map(|entry| (name(entry.method), entry.times)).collect()
    };
    let expected = [("show".to_owned(), Times::ManyAtOnce), ("refresh".to_owned(), Times::Repeatedly)];
    assert_eq!(called("Annotated"), expected);
    assert_eq!(called("Handler"), [("handle".to_owned(), Times::ManyAtOnce)]);
    assert_eq!(called("GetMapping"), []);
}
