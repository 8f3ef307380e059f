//! What is told of large programs that others call: fixtures, taken as if they had many classes around them.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check_with};
use program::{Known, LARGE, Program, Settings};

#[test]
fn findings_are_those_that_the_fixtures_mark() {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    fixture::check_findings("fixtures/large", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        assert!(program.class_count() < LARGE, "{} is large by itself", compiled.describe());
        check_with(&program, &detectors, Settings { large: Some(0), ..Settings::default() }).findings
    });
}
