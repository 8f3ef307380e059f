//! All detectors that run by default on all fixtures, both ways: every finding is marked and every mark is found.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use finding::Finding;
use program::{Known, Program};

#[test]
fn findings_are_those_that_the_fixtures_mark() {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    fixture::check_findings("fixtures/static", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        let checked = check(&program, &detectors);
        assert_eq!(checked.unreadable, [], "{}", compiled.describe());
        let is_of_value = |finding: &&Finding| ["stale-value", "check-then-act"].contains(&finding.rule.id);
        for finding in checked.findings.iter().filter(is_of_value) {
            assert!(!finding.variables.is_empty(), "{}: no variable: {}", compiled.describe(), finding.message);
        }
        checked.findings
    });
}
