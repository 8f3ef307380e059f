//! What is told of large programs that others call: fixtures, taken as if they had many classes around them.

use std::path::Path;

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, LockPatternOptions, Options, check_with, suspect};
use finding::Finding;
use fixture::{Fixture, cache, class_files, compile, programs, test_jdk, workspace};
use program::{Known, LARGE, Program, Settings};

fn detectors() -> Vec<&'static Detector> {
    DETECTORS.iter().filter(|detector| detector.default).collect()
}

fn settings() -> Settings {
    Settings { large: Some(0), ..Settings::default() }
}

/// With all that large programs are told, should somebody ask.
fn asked() -> Options {
    let lock_pattern = LockPatternOptions { is_asked: true, ..LockPatternOptions::default() };
    Options { settings: settings(), lock_pattern, ..Options::default() }
}

fn load(classes: &Path) -> Program {
    let sources = class_files(classes).into_iter().map(|(path, bytes)| ClassSource { path, bytes });
    Program::load(sources.collect(), Known::default())
}

#[test]
fn findings_are_those_that_the_fixtures_mark() {
    fixture::check_findings("fixtures/large", |compiled| {
        let program = load(&compiled.classes);
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        assert!(program.class_count() < LARGE, "{} is large by itself", compiled.describe());
        check_with(&program, &detectors(), asked()).findings
    });
}

/// Too few of them are mistakes in large programs, so that somebody has to ask for them.
#[test]
fn lock_pattern_is_told_of_large_programs_if_it_is_asked_for() {
    let jdk = test_jdk().unwrap();
    let fixtures = Fixture::all(&workspace().join("fixtures/large")).unwrap();
    let has_pattern = |finding: &&Finding| finding.detectors.contains(&"lock-pattern");
    let count = |findings: Vec<Finding>| findings.iter().filter(has_pattern).count();
    let mut told = 0;
    for compiled in compile(&fixtures, &jdk, &cache()).unwrap() {
        let program = load(&compiled.classes);
        told += count(check_with(&program, &detectors(), asked()).findings);
        assert_eq!(count(check_with(&program, &detectors(), settings()).findings), 0, "{}", compiled.describe());
    }
    assert!(told > 0);
}

/// Fixtures of which more is told than if everything were summarised: which fields hand objects on is found with the first
/// summaries, and those who only take an object out of such a field and give it on are none of these.
const TOLD_MORE: [&str; 1] = ["stale_value/Trays.java"];

/// Methods that are ruled out by their outlines are told nothing of if they are summarised, either.
#[test]
fn what_is_ruled_out_beforehand_is_not_told() {
    let jdk = test_jdk().unwrap();
    let folder = |name: &str| workspace().join("fixtures").join(name);
    let mut fixtures: Vec<Fixture> =
        ["large", "static"].iter().flat_map(|name| Fixture::all(&folder(name)).unwrap()).collect();
    fixtures.extend(programs(&folder("programs")).unwrap().into_iter().map(|(program, _)| program));
    let mut told = 0;
    let mut differences = Vec::new();
    for compiled in compile(&fixtures, &jdk, &cache()).unwrap() {
        let program = load(&compiled.classes);
        let names = |findings: Vec<Finding>| -> Vec<String> {
            let name = |finding: &Finding| {
                let method = &finding.method;
                format!("{} {}.{} {:?}", finding.rule.id, method.class, method.name, finding.variables)
            };
            findings.iter().map(name).collect()
        };
        let narrow = names(check_with(&program, &detectors(), asked()).findings);
        let whole = names(suspect(&program, &detectors(), asked()).checked.findings);
        told += whole.len();
        let is_more = TOLD_MORE.contains(&compiled.fixture.name.as_str());
        if (narrow != whole) != is_more {
            differences.push(format!("{}: {narrow:?}, in full {whole:?}", compiled.describe()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(told > 300, "{told} findings say little");
}
