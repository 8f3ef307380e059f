//! The runtime's Java and the crates' Rust say the same: what calls mean, which probes there are, what records are.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use fixture::{test_jdk, workspace};
use instrument::{Call, PROBES, flag};

fn source(class: &str) -> String {
    fs::read_to_string(workspace().join(format!("runtime/java/lang/{class}.java"))).unwrap()
}

/// `TRY_LOCK` for `TryLock`.
fn constant(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// Constants of a class, with what stands behind `=`.
fn constants(source: &str) -> BTreeMap<&str, i32> {
    let number = |text: &str| match text.split_once(" << ") {
        Some((one, by)) => Some(one.parse::<i32>().ok()? << by.parse::<i32>().ok()?),
        None => text.parse().ok(),
    };
    let declared = source.lines().filter_map(|line| line.trim().strip_prefix("static final int "));
    declared
        .filter_map(|line| line.trim_end_matches(';').split_once(" = "))
        .filter_map(|(name, value)| Some((name, number(value)?)))
        .collect()
}

#[test]
fn calls_have_the_same_codes() {
    let text = source("FissureCalls");
    let mut expected: BTreeMap<String, i32> =
        Call::ALL.iter().map(|call| (constant(&format!("{call:?}")), call.number())).collect();
    expected.insert("READS_OPERAND".to_owned(), flag::READS_OPERAND);
    expected.insert("WRITES_OPERAND".to_owned(), flag::WRITES_OPERAND);
    expected.insert("WAITS".to_owned(), flag::WAITS);
    expected.insert("PERHAPS".to_owned(), flag::PERHAPS);
    expected.insert("LONGER".to_owned(), flag::LONGER);
    expected.insert("ABOVE".to_owned(), flag::ABOVE);
    let found: BTreeMap<String, i32> =
        constants(&text).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(found, expected);
}

/// Every code stands in a case of the probe before the call, even if there is nothing to do, so that none is forgotten.
#[test]
fn every_call_has_its_case() {
    let text = source("FissureCalls");
    let start = text.find("private static void before(").unwrap();
    let end = text.find("static void after(").unwrap();
    let mut handled: BTreeSet<&str> = BTreeSet::new();
    for part in text[start..end].split("case ").skip(1) {
        let labels = part.split("->").next().unwrap();
        for label in labels.split(',') {
            assert!(handled.insert(label.trim()), "{label} has two cases");
        }
    }
    for call in Call::ALL {
        let name = constant(&format!("{call:?}"));
        assert!(handled.contains(name.as_str()), "{name} has no case");
    }
    assert_eq!(handled.len(), Call::ALL.len());
}

#[test]
fn every_probe_is_there() {
    let class = workspace().join("runtime/java/lang/Fissure.class");
    let output = Command::new(test_jdk().unwrap().program("javap")).args(["-s", "-public"]).arg(class).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let found: BTreeSet<(String, String)> = lines
        .windows(2)
        .filter_map(|two| {
            let name = two[0].strip_prefix("public static ")?.split('(').next()?.rsplit(' ').next()?;
            Some((name.to_owned(), two[1].strip_prefix("descriptor: ")?.to_owned()))
        })
        .collect();
    let expected = PROBES.iter().map(|probe| (probe.name.to_owned(), probe.descriptor.to_owned())).collect();
    assert_eq!(found, expected);
}
