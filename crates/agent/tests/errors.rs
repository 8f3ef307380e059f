//! The mistakes that the literature on reduction found, in programs of our own, and each done right beside it.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fixture::{Answer, workspace};
use support::{fissure, jdks, temporary};

/// A program with what it says about itself.
struct Error {
    main: String,
    units: String,
    finds: String,
    leaves: String,
}

fn errors(folder: &Path) -> Vec<Error> {
    let mut errors = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let said = |word: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix("//@ ")?.strip_prefix(word)?.strip_prefix(": ").map(str::to_owned))
        };
        if let (Some(units), Some(finds), Some(leaves)) = (said("units"), said("finds"), said("leaves")) {
            let main = path.file_stem().unwrap().to_string_lossy().into_owned();
            errors.push(Error { main, units, finds, leaves });
        }
    }
    errors.sort_by(|a, b| a.main.cmp(&b.main));
    errors
}

/// The methods that a run reports.
fn reported(java: &Path, classes: &Path, error: &Error, options: &[&str]) -> BTreeSet<String> {
    let folder = temporary("errors");
    let file = folder.join("report.json");
    let mut run = Command::new(fissure());
    run.args(["run", "--format", "json", "--units", &error.units, "--output"]).arg(&file).args(options);
    let output = run.arg("--").arg(java).arg("-cp").arg(classes).arg(&error.main).output().unwrap();
    let report = fs::read_to_string(&file).unwrap_or_else(|trouble| panic!("{}: {trouble}: {output:?}", error.main));
    let _ = fs::remove_dir_all(folder);
    Answer::all(&report).unwrap().iter().map(|answer| answer.name().split(' ').next().unwrap().to_owned()).collect()
}

fn compiled(folder: &Path) -> (PathBuf, PathBuf) {
    let jdk = jdks().into_iter().next().unwrap();
    let classes = temporary("errors-classes");
    let sources = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let javac = Command::new(jdk.program("javac")).args(["-g", "-d"]).arg(&classes).args(sources).status().unwrap();
    assert!(javac.success());
    (jdk.program("java"), classes)
}

#[test]
fn each_mistake_is_found_and_its_cure_is_not() {
    let folder = workspace().join("fixtures/errors");
    let (java, classes) = compiled(&folder);
    let errors = errors(&folder);
    assert_eq!(errors.len(), 6);
    for error in &errors {
        let reported = reported(&java, &classes, error, &[]);
        assert!(reported.contains(&error.finds), "{}: {reported:?}", error.main);
        assert!(!reported.contains(&error.leaves), "{}: {reported:?}", error.main);
    }
}
