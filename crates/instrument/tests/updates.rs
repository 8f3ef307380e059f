//! Which reads and writes of a field share a probe.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::process::Command;

use fixture::{class_files, test_jdk};
use instrument::{Plan, Sites, instrument};
use support::{folder, run};

const SOURCE: &str = include_str!("java/Updates.java");

/// Methods and how often they call the probe, by the class rewritten so.
fn joined(test: &str, joins_updates: bool) -> Vec<String> {
    let folder = folder(&format!("updates-{test}"));
    fs::write(folder.join("Updates.java"), SOURCE).unwrap();
    let jdk = test_jdk().unwrap();
    run(Command::new(jdk.program("javac")).current_dir(&folder).args(["-d", "out", "Updates.java"]));
    let plan = Plan { joins_updates, ..Plan::default() };
    for (path, bytes) in class_files(&folder.join("out")) {
        let rewritten = instrument(&bytes, &plan, &mut Sites::new()).unwrap().unwrap();
        assert_eq!(rewritten.left_alone, []);
        fs::write(folder.join("out").join(path.rsplit('/').next().unwrap()), rewritten.bytes).unwrap();
    }
    let shown =
        Command::new(jdk.program("javap")).current_dir(&folder).args(["-p", "-c", "out/Updates.class"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    let mut method = String::new();
    let mut found = Vec::new();
    for line in shown.lines() {
        let is_head = line.starts_with("  ") && !line.starts_with("   ");
        if let Some((head, _)) = line.split_once('(').filter(|_| is_head) {
            method = head.rsplit(' ').next().unwrap().to_owned();
        } else if line.contains("java/lang/Fissure.update:") {
            found.push(method.clone());
        }
    }
    found
}

#[test]
fn what_is_read_and_written_in_one_go_has_one_probe() {
    let marked = SOURCE.lines().filter_map(|line| line.strip_suffix(" { // joined"));
    let expected: Vec<&str> = marked.map(|head| head.split('(').next().unwrap().rsplit(' ').next().unwrap()).collect();
    assert_eq!(joined("some", true), expected);
}

#[test]
fn where_all_accesses_are_kept_each_has_its_own() {
    assert_eq!(joined("none", false), [] as [String; 0]);
}
