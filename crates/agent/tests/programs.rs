//! `fissure run` on the programs with known truth. What it gets wrong today is listed in `fixtures/programs/wrong-run.txt`.
//! Some programs run once, and all of them many times in the long test: the answer must not depend on the schedule.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use fixture::{Answer, Fixture, Truth, cache, compile, programs, test_jdk, workspace};
use support::{Program, fissure, jdks, temporary};

const FOLDER: &str = "fixtures/programs";

#[test]
fn run_gets_wrong_what_the_list_says() {
    let top = workspace().canonicalize().unwrap();
    let list = fs::read_to_string(top.join(FOLDER).join("wrong-run.txt")).unwrap();
    let listed: BTreeSet<&str> = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let (fixtures, truths): (Vec<Fixture>, Vec<Truth>) = programs(&top.join(FOLDER)).unwrap().into_iter().unzip();
    let jdk = test_jdk().unwrap();
    let compiled = compile(&fixtures, &jdk, &cache()).unwrap();
    let is_long = std::env::var_os("FISSURE_LONG").is_some();
    let (rounds, step) = if is_long { (20, 1) } else { (1, 8) };
    let mut wrong: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..rounds {
        for (one, truth) in compiled.iter().zip(&truths).step_by(step) {
            for answer in score(&jdk.program("java"), &one.fixture.name, &one.classes, truth) {
                *wrong.entry(answer).or_default() += 1;
            }
        }
    }
    let worse: Vec<String> = wrong
        .iter()
        .filter(|(answer, _)| !listed.contains(answer.as_str()))
        .map(|(answer, times)| format!("{answer} ({times} of {rounds})"))
        .collect();
    assert!(worse.is_empty(), "change {FOLDER}/wrong-run.txt if this is meant\nadd:\n{}", worse.join("\n"));
    if is_long {
        let better: Vec<&&str> = listed.iter().filter(|listed| !wrong.contains_key(**listed)).collect();
        assert!(better.is_empty(), "no longer wrong in {rounds} rounds: {better:?}");
    }
}

/// Fields of one object that handles name are told from each other: a change of the one is none of the other.
#[test]
fn handles_name_variables() {
    for jdk in jdks() {
        let observed = |arguments: &[&str]| {
            let mut run = Command::new(fissure());
            run.args(["run", "--min-evidence", "observed", "--"]).arg(jdk.program("java"));
            let output = run.args(Program::named("Indices").arguments()).args(arguments).output().unwrap();
            String::from_utf8(output.stderr).unwrap()
        };
        let same = observed(&["same"]);
        assert!(same.contains("Indices.take"), "on {}: {same}", jdk.version);
        let other = observed(&[]);
        assert!(!other.contains("Indices.take"), "on {}: {other}", jdk.version);
    }
}

/// What one run got wrong.
fn score(java: &Path, name: &str, classes: &Path, truth: &Truth) -> Vec<String> {
    let folder = temporary("run");
    let file = folder.join("report.json");
    let mut run = Command::new(fissure());
    run.args(["run", "--format", "json", "--output"]).arg(&file).arg("--").arg(java).arg("-cp").arg(classes);
    run.arg(&truth.main).args(&truth.args).stdin(Stdio::null());
    let output = run.output().unwrap();
    let report = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}: {output:?}"));
    let _ = fs::remove_dir_all(folder);
    let answers = Answer::all(&report).unwrap_or_else(|error| panic!("{name}: {error:#}: {output:?}"));
    let score = truth.score(&answers);
    let missed = truth.violations.iter().zip(&score.found).filter(|(violation, found)| !**found && violation.reachable);
    let mut wrong: Vec<String> = missed.map(|(violation, _)| format!("missed {name}: {}", violation.name())).collect();
    wrong.extend(score.wrong.iter().map(|answer| format!("false {name}: {}", answer.name())));
    wrong
}
