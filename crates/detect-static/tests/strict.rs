//! What `--strict` tells on the fixtures that speak of it, both ways.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check_with};
use program::{Known, Program, Settings};

#[test]
fn strict_findings_are_those_that_the_fixtures_mark() {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.name == "stale-values").collect();
    fixture::check_findings("fixtures/strict", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        check_with(&program, &detectors, Settings { strict: true, ..Settings::default() }).findings
    });
}
