//! `fissure check` on tiny programs, each about one condition. A method whose name starts with `bad` has a violation, one
//! whose name starts with `good` is correct. What the command gets wrong today is listed in `fixtures/conditions/wrong.txt`,
//! so that a change shows, whichever way it goes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fixture::{Fixture, JavaFile, cache, compile, test_jdk, workspace};
use serde_json::Value;

const FOLDER: &str = "fixtures/conditions";

#[test]
fn check_gets_wrong_what_the_list_says() {
    let top = workspace().canonicalize().expect("the project is there");
    let list = fs::read_to_string(top.join(FOLDER).join("wrong.txt")).expect("there is a list");
    let listed: BTreeSet<&str> = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    // All programs are one fixture, which compiles much faster than hundreds of them. Each has a package of its own.
    let fixtures = Fixture::all(&top.join(FOLDER)).expect("there are programs");
    let compiled = compile(&fixtures, &test_jdk().expect("there is a JDK"), &cache()).expect("they compile");
    let [all] = &compiled[..] else { panic!("{FOLDER} is one fixture for one release") };

    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(file) = all.fixture.files.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(mistakes(file, &all.classes));
        }
        wrong
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let wrong: BTreeSet<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("every program is checked")).collect()
    });
    let wrong: BTreeSet<&str> = wrong.iter().map(String::as_str).collect();
    let worse: Vec<_> = wrong.difference(&listed).copied().collect();
    let better: Vec<_> = listed.difference(&wrong).copied().collect();
    assert!(
        worse.is_empty() && better.is_empty(),
        "change {FOLDER}/wrong.txt if this is meant\nadd:\n{}\nremove:\n{}",
        worse.join("\n"),
        better.join("\n")
    );
}

/// The lines of the list for one program.
fn mistakes(file: &JavaFile, classes: &Path) -> Vec<String> {
    let name = file.name.trim_end_matches(".java");
    let methods = methods(&file.text);
    assert!(!methods.is_empty(), "{name}: no method says whether it is good or bad");
    let mut fissure = Command::new(env!("CARGO_BIN_EXE_fissure"));
    fissure.args(["check", "--format", "json", "--jobs", "1"]).arg(classes.join(name)).stdin(Stdio::null());
    let output = fissure.output().expect("the command starts");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}: {output:?}"));
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{name}: no findings: {output:?}"));

    let reported: BTreeSet<&str> = findings.iter().filter_map(|finding| written(&finding["method"]["name"])).collect();
    let steps = findings.iter().flat_map(|finding| finding["steps"].as_array().into_iter().flatten());
    let stepped_in = steps.filter(|step| step["thread"] == "A").filter_map(|step| written(&step["method"]));
    let told: BTreeSet<&str> = reported.iter().copied().chain(stepped_in).collect();
    let mistake = |method: &str| match method.starts_with("bad") {
        true => (!told.contains(method)).then(|| format!("missed {name}.{method}")),
        false => reported.contains(method).then(|| format!("false {name}.{method}")),
    };
    methods.into_iter().filter_map(mistake).collect()
}

/// The methods of a program that are good or bad by their names.
fn methods(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // What is called like that is also declared, so every name before a parenthesis will do.
    let names = text.match_indices('(').map(|(at, _)| text[..at].rsplit(|c| !is_part(c)).next().unwrap_or_default());
    let is_verdict = |name: &&str| {
        let rest = name.strip_prefix("bad").or_else(|| name.strip_prefix("good"));
        rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
    };
    names.filter(is_verdict).collect()
}

/// The method that this code is written in: `put` of `put` and of `lambda$put$0`.
fn written(method: &Value) -> Option<&str> {
    let method = method.as_str()?;
    let lambda = method.strip_prefix("lambda$").and_then(|rest| rest.split_once('$'));
    Some(lambda.map_or(method, |(name, _)| name))
}
