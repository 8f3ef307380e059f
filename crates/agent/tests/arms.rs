//! Recordings tell what the arms of branches would have done that a run did not take, and with which objects. The program is
//! `fixtures/record/Arms.java`. On every JDK of this machine.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use support::{Program, fissure, jdks, record, run, temporary};

/// By case: what the thread does. Objects have letters, branches numbers, in the order in which they come.
const CASES: &[(&str, &str)] = &[
    ("one", "spec(1:0) w(Arms.number@a) merge(1) arm(1:1) merge(1) w(Arms.number@a)"),
    ("oneTaken", "w(Arms.number@a) w(Arms.number@a)"),
    (
        "both",
        "spec(1:0) r(Arms.cell@a) r(Arms$Cell.count@b) w(Arms$Cell.count@b) merge(1) \
         arm(1:1) r(Arms.cell@a) r(Arms$Cell.other@b) w(Arms$Cell.other@b) merge(1)",
    ),
    (
        "section",
        "spec(1:0) acq(java.lang.Object@a) r(Arms.cell@b) r(Arms$Cell.next@c) w(Arms$Cell.count@d) \
         rel(java.lang.Object@a) merge(1) arm(1:1) merge(1)",
    ),
    ("unknownLock", "spec(1:0) r(Arms.cell@a) w(Arms$Cell.other@b) merge(1) arm(1:1) merge(1)"),
    (
        "assigned",
        "r(Arms.shared) spec(1:0) r(Arms$Cell.next@a) w(Arms$Cell.count@b) r(Arms.cell@c) w(Arms$Cell.other@a) \
         merge(1) arm(1:1) merge(1)",
    ),
    (
        "rewritten",
        "r(Arms.shared) r(Arms.shared) r(Arms$Cell.next@a) spec(1:0) w(Arms$Cell.next@a) r(Arms$Cell.next@a) \
         w(Arms$Cell.other@b) merge(1) arm(1:1) merge(1)",
    ),
    ("early", "spec(1:1) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:0) merge(1)"),
    ("earlyNot", "r(Arms.cell@a) w(Arms$Cell.count@b)"),
    (
        "never",
        "spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:1) merge(1)",
    ),
    (
        "once",
        "r(Arms.cell@a) w(Arms$Cell.count@b) spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:1) merge(1)",
    ),
    ("often", "r(Arms.cell@a) w(Arms$Cell.count@b) r(Arms.cell@a) w(Arms$Cell.count@b)"),
    (
        "nested",
        "spec(1:0) spec(2:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(2) spec(2:1) r(Arms.cell@a) \
         w(Arms$Cell.other@b) merge(2) merge(1) arm(1:1) merge(1)",
    ),
    (
        "choice",
        "spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:1) r(Arms.cell@a) w(Arms$Cell.other@b) merge(1)",
    ),
    (
        "choiceOther",
        "spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) spec(1:1) r(Arms.cell@a) w(Arms$Cell.other@b) \
         merge(1) arm(1:2) merge(1)",
    ),
    ("statics", "spec(1:0) w(Arms.total) r(Arms.shared) vw(Arms$Cell.flag@a) merge(1) arm(1:1) merge(1)"),
    ("isNull", "r(Arms.shared) spec(1:0) w(Arms$Cell.count@a) merge(1) arm(1:1) merge(1)"),
    ("fresh", ""),
    (
        "calls",
        "r(Arms.shape@a) spec(1:0) r(Arms.cell@a) r(Arms$Cell.count@b) w(Arms$Cell.count@b) acq(Arms@a) \
         r(Arms.number@a) w(Arms.number@a) rel(Arms@a) r(Arms.cell@a) r(Arms$Round.drawn@c) w(Arms$Round.drawn@c) \
         r(Arms$Cell.count@b) spec(2:0) vw(Arms$Cell.flag@b) merge(2) r(Arms.cell@a) w(Arms$Cell.other@b) merge(1) \
         arm(1:1) merge(1)",
    ),
    (
        "recursive",
        "w(Arms.number@a) spec(1:0) w(Arms.number@a) spec(2:0) w(Arms.number@a) merge(2) merge(1) arm(1:1) merge(1)",
    ),
    (
        "library",
        "spec(1:0) acq(java.util.concurrent.locks.ReentrantLock@a) w(java.util.ArrayList@b{}) \
         rel(java.util.concurrent.locks.ReentrantLock@a) au(java.util.concurrent.atomic.AtomicInteger@c{}) merge(1) \
         arm(1:1) merge(1)",
    ),
    ("tried", "spec(1:0) w(Arms.number@a) merge(1) arm(1:1) merge(1)"),
    ("held", "acq(Arms@a) spec(1:0) w(Arms.number@a) merge(1) arm(1:1) merge(1) rel(Arms@a)"),
    (
        "givenUp",
        "acq(java.lang.Object@a) spec(1:1) w(Arms.number@b) rel(java.lang.Object@a) r(Arms.cell@b) \
         w(Arms$Cell.count@c) merge(1) arm(1:0) rel(java.lang.Object@a) merge(1)",
    ),
    (
        "thrown",
        "spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:1) w(Arms.number@a) w(Arms.number@a) merge(1)",
    ),
    ("late", ""),
    ("again", "spec(1:0) r(Arms.cell@a) w(Arms$Cell.count@b) merge(1) arm(1:1) merge(1)"),
    ("nothing", ""),
];

/// What the thread `runner` does, in the words of [`CASES`], without what reflection needs.
fn told(text: &str) -> String {
    let mut objects: BTreeMap<String, char> = BTreeMap::new();
    let mut branches: BTreeMap<String, usize> = BTreeMap::new();
    let mut told = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("runner|")) {
        let operation = line.split('|').nth(1).unwrap();
        let operation = operation.find("){").map_or(operation, |end| &operation[..=end]);
        let (word, inside) = operation.split_once('(').unwrap_or((operation, ""));
        if matches!(word, "birth" | "death" | "new") || inside.starts_with("java.lang.Object[]") {
            continue;
        }
        if matches!(word, "spec" | "arm" | "merge") {
            let end = inside.find([':', ')']).unwrap();
            let next = branches.len() + 1;
            let number = *branches.entry(inside[..end].to_owned()).or_insert(next);
            told.push(format!("{word}({number}{}", &inside[end..]));
            continue;
        }
        told.push(match operation.split_once('@') {
            Some((before, after)) => {
                let digits = after.chars().take_while(char::is_ascii_digit).count();
                let next = char::from(b'a' + objects.len() as u8);
                let letter = *objects.entry(after[..digits].to_owned()).or_insert(next);
                format!("{before}@{letter}{}", &after[digits..])
            }
            None => operation.to_owned(),
        });
    }
    told.join(" ")
}

#[test]
fn arms_that_are_not_taken_are_told() {
    for jdk in jdks() {
        for (case, expected) in CASES {
            let program = Program::named("Arms");
            let alone = run(&jdk, &program, &[case]);
            let recorded = record(&jdk, &program, &[case], &["--speculate"]);
            assert_eq!(told(&recorded.text), *expected, "{case} on {}: {}", jdk.version, recorded.stderr);
            assert_eq!((recorded.stdout, recorded.code), (alone.stdout, alone.code), "{case} on {}", jdk.version);
            assert_eq!(recorded.order_unknown, 0, "{case} on {}: {}", jdk.version, recorded.stderr);
        }
    }
}

/// Nothing of it is there unless somebody asks.
#[test]
fn no_arms_are_told_by_default() {
    let recorded = record(&jdks()[0], &Program::named("Arms"), &["both"], &[]);
    assert_eq!(told(&recorded.text), "r(Arms.cell@a) r(Arms$Cell.other@b) w(Arms$Cell.other@b)");
}

/// Programs do with arms what they do alone, and their recordings have the order of what did happen.
#[test]
fn programs_with_arms_end_as_they_do_alone() {
    for jdk in jdks() {
        for (program, arguments) in [
            ("Counter", &[][..]),
            ("Constant", &[][..]),
            ("Ends", &["7"][..]),
            ("Ends", &["throw"][..]),
            ("Deep", &[][..]),
            ("Waiting", &[][..]),
            ("Shapes", &[][..]),
            ("Tasks", &[][..]),
            ("Ordered", &[][..]),
            ("Locks", &[][..]),
            ("Names", &[][..]),
            ("Handles", &[][..]),
            ("Loaders", &["20"][..]),
            ("Threads", &["platform", "20"][..]),
            ("Readers", &["3"][..]),
        ] {
            // Where the stack ends, a probe may, too.
            let is_whole = program != "Deep";
            let program = Program::named(program);
            let alone = run(&jdk, &program, arguments);
            let recorded = record(&jdk, &program, arguments, &["--speculate"]);
            assert_eq!(alone.stdout, recorded.stdout, "{program:?} {arguments:?} on {}", jdk.version);
            assert_eq!(alone.code, recorded.code, "{program:?} {arguments:?} on {}: {}", jdk.version, recorded.stderr);
            if is_whole {
                assert_eq!(recorded.order_unknown, 0, "{program:?} on {}: {}", jdk.version, recorded.stderr);
                assert!(!recorded.text.contains("|lost"), "{program:?} on {}", jdk.version);
                is_balanced(&recorded.text);
            }
        }
    }
}

/// Every arm that ends has begun, and what is in one that did not run is ended in it.
fn is_balanced(text: &str) {
    let mut open: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split('|');
        let (thread, operation) = (fields.next().unwrap(), fields.next().unwrap());
        let arms = open.entry(thread).or_default();
        let inside = |operation: &'static str| line[thread.len() + 1..].strip_prefix(operation);
        if let Some(branch) = inside("spec(").or_else(|| inside("arm(")) {
            arms.push(branch.split(':').next().unwrap());
        } else if let Some(branch) = operation.strip_prefix("merge(") {
            assert_eq!(arms.pop(), branch.strip_suffix(')'), "{line}");
        }
    }
}

/// Both forms of a trace, and analysis, take them.
#[test]
fn arms_go_through_all_forms_of_a_trace() {
    let folder = temporary("arms");
    let [recorded, binary] = ["recorded", "binary"].map(|name| folder.join(name));
    let jdk = &jdks()[0];
    let fissure = |arguments: &[&str]| {
        let output = Command::new(fissure()).current_dir(&folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let java = jdk.program("java").display().to_string();
    let program = Program::named("Arms").arguments();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    fissure(&[&["record", "--speculate", "-o", "recorded", "--", &java][..], &program, &["calls"]].concat());
    fissure(&["trace", "recorded", "--to", "binary", "-o", "binary"]);
    let text = |path: &std::path::Path| support::text_of(path);
    assert_eq!(text(&recorded), text(&binary));
    assert!(text(&binary).contains("|spec("));
    fissure(&["analyze", "binary"]);
    let _ = fs::remove_dir_all(&folder);
}
