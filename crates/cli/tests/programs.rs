//! `fissure check` on the programs with known truth. What it gets wrong today is listed in `fixtures/programs/wrong.txt`,
//! so that a change shows, whichever way it goes.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use fixture::{Answer, Fixture, Truth, cache, compile, programs, test_jdk, workspace};

const FOLDER: &str = "fixtures/programs";

#[test]
fn check_gets_wrong_what_the_list_says() {
    let top = workspace().canonicalize().expect("the project is there");
    let list = fs::read_to_string(top.join(FOLDER).join("wrong.txt")).expect("there is a list");
    let listed: BTreeSet<&str> = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let (fixtures, truths): (Vec<Fixture>, Vec<Truth>) =
        programs(&top.join(FOLDER)).expect("there are programs").into_iter().unzip();
    let compiled = compile(&fixtures, &test_jdk().expect("there is a JDK"), &cache()).expect("they compile");

    let mut wrong = BTreeSet::new();
    for (one, truth) in compiled.iter().zip(&truths) {
        let name = &one.fixture.name;
        let mut fissure = Command::new(env!("CARGO_BIN_EXE_fissure"));
        fissure.args(["check", "--format", "json"]).arg(&one.classes).stdin(Stdio::null());
        let output = fissure.output().expect("the command starts");
        let report = String::from_utf8_lossy(&output.stdout);
        let answers = Answer::all(&report).unwrap_or_else(|error| panic!("{name}: {error:#}: {output:?}"));
        let score = truth.score(&answers);
        for (violation, _) in truth.violations.iter().zip(score.found).filter(|(_, found)| !found) {
            wrong.insert(format!("missed {name}: {}", violation.name()));
        }
        wrong.extend(score.wrong.iter().map(|answer| format!("false {name}: {}", answer.name())));
    }
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

/// A line of a truth is one that code stands on: a program that was edited without its truth is told.
#[test]
fn truths_name_lines_of_code() {
    for (fixture, truth) in programs(&workspace().join(FOLDER)).expect("there are programs") {
        for violation in &truth.violations {
            for place in violation.first.iter().chain(&violation.second) {
                let (file, line) = place.split_once(':').expect("a file and a line");
                let line: usize = line.parse().expect("a number");
                let source = fixture.files.iter().find(|source| source.name == file);
                let text = source.and_then(|source| source.text.lines().nth(line - 1)).unwrap_or_default().trim();
                assert!(text.len() > 1 && !text.starts_with(['*', '/']), "{}: {place}: `{text}`", fixture.name);
            }
        }
    }
}
