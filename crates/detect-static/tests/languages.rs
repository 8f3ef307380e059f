//! Kotlin and Scala: the same detectors on what other compilers make.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use fixture::{compare_findings, foreign};
use program::{Known, Program};

#[test]
fn findings_in_kotlin_and_scala_are_those_that_the_fixtures_mark() {
    let Some(programs) = foreign().expect("the fixtures compile") else { return };
    let detectors: Vec<&Detector> = DETECTORS.iter().collect();
    let mut failures = Vec::new();
    for one in programs {
        let files = fixture::class_files(&one.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", one.fixture.name);
        let checked = check(&program, &detectors);
        assert_eq!(checked.unreadable, [], "{}", one.fixture.name);
        if let Err(differences) = compare_findings(&one.fixture, None, &checked.findings) {
            failures.push(format!("{}\n{differences}", one.fixture.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
