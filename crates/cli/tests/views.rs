//! Methods taken to be atomic, the paper's abstraction and the graph of a method, from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fixture::{Fixture, cache, compile, test_jdk, workspace};

fn classes() -> PathBuf {
    classes_of("torn_read/Unmarked.java")
}

fn classes_of(file: &str) -> PathBuf {
    let source = workspace().join("fixtures/static").join(file);
    let fixture = [Fixture::new(file.to_lowercase(), &[source]).expect("a fixture")];
    let compiled = compile(&fixture, &test_jdk().expect("a JDK"), &cache()).expect("it compiles");
    compiled[0].classes.clone()
}

fn fissure(words: &[&str]) -> Output {
    fissure_on(words, &classes())
}

fn fissure_on(words: &[&str], classes: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fissure")).args(words).arg(classes).output().expect("the command starts")
}

/// The graph around the finding of a method.
fn graph_around(classes: &Path, method: &str, options: &[&str]) -> String {
    let report = fissure_on(&[&["check", "--format", "json"][..], options].concat(), classes);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["method"]["name"] == method).expect("it is found");
    let output = fissure_on(&["show", "--graph", found["fingerprint"].as_str().expect("it has one")], classes);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[track_caller]
fn assert_has(graph: &str, parts: &[&str]) {
    for part in parts {
        assert!(graph.contains(part), "{part} in {graph}");
    }
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
    assert_has(
        graph,
        &["a0 [label=\"this.a read, line", "label=\"section on @Atomic", "a0 -> m0;", "a1 -> m0;", "a0 -> result;"],
    );
}

/// From what a getter returns through a local to what a setter is given, with a parameter that comes in on the way.
#[test]
fn what_goes_through_locals_is_drawn() {
    let output = fissure_on(&["show", "--graph", "incX"], &classes_of("stale_value/Dependent.java"));
    let graph = text(&output.stdout);
    assert_has(
        graph,
        &["p1 [label=\"val\"]", "a0 [label=\"this.x read", "a1 [label=\"this.x written", "a0 -> a1;", "p1 -> a1;"],
    );
    assert!(!graph.contains("red") && !graph.contains("note"), "{graph}");
    let output = fissure_on(&["show", "--graph", "replaceX"], &classes_of("stale_value/Dependent.java"));
    assert!(!text(&output.stdout).contains("a0 -> a1"), "{}", text(&output.stdout));
}

#[test]
fn a_finding_is_drawn_with_its_steps() {
    let graph = graph_around(&classes_of("stale_value/Dependent.java"), "incX", &[]);
    assert_has(
        &graph,
        &[
            "a0 [label=\"(1) this.x read, line",
            "s2 [label=\"(2) `this` let go, Dependent.java:",
            "s3 [label=\"(3) thread B: `this.x` written under the same lock, by the same code as (4), Dependent.java:",
            "a1 [label=\"(4) this.x written, line",
            "a0 -> a1 [color=red, penwidth=2];",
            "p1 -> a1;",
            "a0 -> s2 [color=gray, constraint=false];",
            "s3 -> a1 [color=gray, constraint=false];",
        ],
    );
    // Where two values come together, and what is beside the way.
    let graph = graph_around(&classes_of("torn_read/Overlapping.java"), "span", &[]);
    assert_has(
        &graph,
        &["(1) this.low read", "(4) this.high read", "m0 [label=\"(5) meet, line", "a0 -> m0 [color=red, penwidth=2];"],
    );
    assert_has(&graph, &["a1 [label=\"this.step read", "a1 -> m0;"]);
    // One call, in one round and in the next.
    let graph = graph_around(&classes_of("stale_value/Reentered.java"), "run", &[]);
    assert_has(&graph, &["a0 [label=\"(1) this.", "a1 [label=\"(4) this."]);
    // One value decides whether the other one is read.
    let graph = graph_around(&classes_of("torn_read/Steered.java"), "valueOrNone", &[]);
    assert_has(&graph, &["a0 -> a1 [style=dashed, color=red, penwidth=2];"]);
}

#[test]
fn a_finding_of_the_papers_abstraction_is_drawn() {
    let classes = classes_of("stale_value/Dependent.java");
    let graph = graph_around(&classes, "incX", &["--paper", "--detector", "causal-views"]);
    assert_has(&graph, &["digraph \"Dependent.incX\"", "a0 -> a1 [color=red, penwidth=2];"]);
}

#[test]
fn a_finding_that_is_nowhere_cannot_be_drawn() {
    let output = fissure(&["show", "--graph", "0123456789abcdef"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no finding `0123456789abcdef`"), "{}", text(&output.stderr));
}
