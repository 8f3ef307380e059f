//! Methods taken to be atomic, the paper's abstraction and the graph of a method, from outside.

use std::path::PathBuf;
use std::process::{Command, Output};

use fixture::{Fixture, cache, compile, test_jdk, workspace};

fn classes() -> PathBuf {
    let source = workspace().join("fixtures/static/torn_read/Unmarked.java");
    let fixture = [Fixture::new("unmarked".to_owned(), &[source]).expect("a fixture")];
    let compiled = compile(&fixture, &test_jdk().expect("a JDK"), &cache()).expect("it compiles");
    compiled[0].classes.clone()
}

fn fissure(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fissure")).args(words).arg(classes()).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn methods_can_be_named_atomic() {
    let named = ["--atomic", "getA", "--atomic", "Unmarked.getB", "--atomic", "setPair"];
    for paper in [&[][..], &["--paper"]] {
        let output = fissure(&[&["check", "--detector", "causal-views"][..], paper].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        let output = fissure(&[&["check", "--detector", "causal-views"][..], paper, &named].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("[torn-read]"), "{}", text(&output.stdout));
    }
    let output = fissure(&[&["check", "--detector", "view-consistency"][..], &named].concat());
    assert!(text(&output.stdout).contains("[torn-read]"), "{}", text(&output.stdout));
}

#[test]
fn a_method_that_is_nowhere_cannot_be_atomic() {
    let output = fissure(&["check", "--atomic", "getZ"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no method `getZ`; did you mean `get"), "{}", text(&output.stderr));
}

#[test]
fn what_depends_on_what_is_drawn() {
    let output = fissure(&["show", "--graph", "--atomic", "getA", "--atomic", "getB", "areEqual"]);
    let graph = text(&output.stdout);
    assert!(graph.starts_with("digraph \"Unmarked.areEqual\" {\n") && graph.ends_with("}\n"), "{graph}");
    for part in
        ["a0 [label=\"this.a read, line", "label=\"section on @Atomic", "a0 -> m0;", "a1 -> m0;", "a0 -> result;"]
    {
        assert!(graph.contains(part), "{part} in {graph}");
    }
}
