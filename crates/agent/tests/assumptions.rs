//! What is taken for granted, by annotation and by option: each makes a unit right that is not right without it.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use fixture::{Answer, workspace};
use support::{fissure, jdks, temporary};

/// The methods that are reported, and those of them that only `reduction` reports: others may see in a run that what is
/// taken for granted is not so.
fn reported(java: &Path, classes: &Path, options: &[String]) -> (BTreeSet<String>, BTreeSet<String>) {
    let folder = temporary("assumptions");
    let file = folder.join("report.json");
    let mut run = Command::new(fissure());
    run.args(["run", "--format", "json", "--units", "export+synch", "--output"]).arg(&file).args(options);
    let output = run.arg("--").arg(java).arg("-cp").arg(classes).arg("Assume").output().unwrap();
    let report = fs::read_to_string(&file).unwrap_or_else(|trouble| panic!("{trouble}: {output:?}"));
    let _ = fs::remove_dir_all(folder);
    let names: Vec<String> = Answer::all(&report).unwrap().iter().map(Answer::name).collect();
    let all = names.iter().filter_map(|name| Some(name.split_once(' ')?.0.to_owned())).collect();
    let only = names.iter().filter_map(|name| name.strip_suffix(" not-atomic")).map(str::to_owned).collect();
    (all, only)
}

#[test]
fn what_is_taken_for_granted_is_not_reported() {
    let source = workspace().join("fixtures/assumptions/Assume.java");
    let text = fs::read_to_string(&source).unwrap();
    let listed = |word: &str| -> BTreeSet<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("//@ {word}: "))).unwrap();
        line.split(", ").map(str::to_owned).collect()
    };
    let (leaves, finds, unless) = (listed("leaves"), listed("finds"), listed("finds unless configured"));
    let jdk = jdks().into_iter().next().unwrap();
    let classes = temporary("assumptions-classes");
    let javac = Command::new(jdk.program("javac")).args(["-g", "-d"]).arg(&classes).arg(&source).status().unwrap();
    assert!(javac.success());
    let java = jdk.program("java");

    let (all, only) = reported(&java, &classes, &[]);
    assert!(finds.is_subset(&all), "missing {:?}", finds.difference(&all));
    assert!(leaves.is_disjoint(&only), "false {:?}", leaves.intersection(&only));

    let line = 1 + text.lines().position(|line| line.contains("line that the configuration names")).unwrap();
    let line = format!("Assume.java:{line}");
    let options = [
        ["--assume-atomic", "Assume.unmarkedStep"],
        ["--assume-mover", "unmarkedLog"],
        ["--assume-guarded", "Assume.unguarded"],
        ["--no-warn", "Assume.loud"],
        ["--no-warn", &line],
    ];
    let options: Vec<String> = options.concat().into_iter().map(str::to_owned).collect();
    let (all, only) = reported(&java, &classes, &options);
    assert!(unless.is_disjoint(&only), "false {:?}", unless.intersection(&only));
    let rest: BTreeSet<String> = finds.difference(&unless).cloned().collect();
    assert!(rest.is_subset(&all), "missing {:?}", rest.difference(&all));
}

/// A name with a slip in it would otherwise look like a program without mistakes.
#[test]
fn names_that_are_nowhere_are_told() {
    let jdk = jdks().into_iter().next().unwrap();
    let classes = temporary("unknown-names-classes");
    let source = workspace().join("fixtures/assumptions/Assume.java");
    let javac = Command::new(jdk.program("javac")).args(["-g", "-d"]).arg(&classes).arg(&source).status().unwrap();
    assert!(javac.success());
    let mut run = Command::new(fissure());
    run.args(["run", "--units", "configured", "--atomic", "Assume.nothing", "--assume-mover", "nobody", "--"]);
    let output = run.arg(jdk.program("java")).arg("-cp").arg(&classes).arg("Assume").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    for told in ["there is no method `Assume.nothing`", "there is no class, method or field `nobody`"] {
        assert!(said.contains(told), "{said}");
    }
}

/// The same holds for what the code alone makes suspect: for `check`, and for a run that asks about it.
#[test]
fn what_is_taken_for_granted_is_no_suspicion() {
    let folder = workspace().join("fixtures/programs/kennel-feed/kennel");
    let jdk = jdks().into_iter().next().unwrap();
    let classes = temporary("suspicions-classes");
    let sources = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let javac = Command::new(jdk.program("javac")).args(["-g", "-d"]).arg(&classes).args(sources).status().unwrap();
    assert!(javac.success());
    let file = classes.join("report.json");
    let answers = |command: &str, options: &[&str]| -> Vec<String> {
        let mut fissure = Command::new(fissure());
        fissure.args([command, "--format", "json", "--output"]).arg(&file).args(options);
        match command {
            "check" => fissure.arg(&classes),
            _ => fissure.arg("--").arg(jdk.program("java")).arg("-cp").arg(&classes).arg("kennel.Main"),
        };
        let output = fissure.output().unwrap();
        let report = fs::read_to_string(&file).unwrap_or_else(|trouble| panic!("{trouble}: {output:?}"));
        Answer::all(&report).unwrap().iter().map(Answer::name).collect()
    };
    let found = ["kennel.FeedReport.gramsPerDog torn-read".to_owned()];
    let line = folder.join("FeedReport.java");
    let line = 1 + fs::read_to_string(line).unwrap().lines().position(|line| line.contains("feed.grams()")).unwrap();
    let line = format!("FeedReport.java:{line}");
    for command in ["check", "run"] {
        assert_eq!(answers(command, &[]), found);
        for option in [
            &["--assume-atomic", "kennel.FeedReport.gramsPerDog"][..],
            &["--assume-mover", "gramsPerDog"],
            &["--assume-guarded", "kennel.LockedFeed.grams", "--assume-guarded", "kennel.LockedFeed.dogs"],
            &["--no-warn", "kennel.FeedReport"],
            &["--no-warn", &line],
        ] {
            assert!(answers(command, option).is_empty(), "{command} {option:?}");
        }
        // What is granted for something else changes nothing.
        for option in [
            &["--assume-atomic", "kennel.LockedFeed.arrive"][..],
            &["--assume-guarded", "kennel.LockedFeed.grams"],
            &["--no-warn", "kennel.LockedFeed"],
        ] {
            assert_eq!(answers(command, option), found, "{command} {option:?}");
        }
    }
    let _ = fs::remove_dir_all(classes);
}
