//! Single detectors on the fixtures that speak of them: what is told of a mistake that another rule tells better, the
//! paper's own pattern without any refinement, and its variant with two locks.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, LockPatternOptions, Options, check_with};
use fixture::Mode;
use program::{CallGraph, Known, Program, Settings};

fn check(mode: Mode, lock_pattern: LockPatternOptions) {
    check_detector("lock-pattern", mode, lock_pattern, false);
}

fn check_detector(detector: &str, mode: Mode, lock_pattern: LockPatternOptions, notes: bool) {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|known| known.name == detector).collect();
    let mut settings = Settings { paper: lock_pattern.paper, ..Settings::default() };
    if lock_pattern.paper {
        settings.call_graph = CallGraph::Hierarchy;
    }
    fixture::check_mode("fixtures/static", mode, |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        check_with(&program, &detectors, Options { settings: settings.clone(), lock_pattern, notes }).findings
    });
}

/// Without other detectors, whose rules may say more about the same mistake.
#[test]
fn the_pattern_alone() {
    check(Mode { name: "alone", also: Some("reacquired-lock") }, LockPatternOptions::default());
}

#[test]
fn the_pattern_of_the_paper() {
    check(Mode { name: "paper", also: None }, LockPatternOptions { paper: true, ..LockPatternOptions::default() });
}

#[test]
fn any_two_locks() {
    check(
        Mode { name: "variant", also: Some("reacquired-lock") },
        LockPatternOptions { variant: true, ..LockPatternOptions::default() },
    );
}

/// With what little speaks for.
#[test]
fn weak_too() {
    check_detector("stale-values", Mode { name: "weak", also: None }, LockPatternOptions::default(), true);
}

/// With the pairs that nobody can break today, or that have nothing to do with each other.
#[test]
fn notes_too() {
    check_detector(
        "lock-pattern",
        Mode { name: "notes", also: Some("reacquired-lock") },
        LockPatternOptions::default(),
        true,
    );
}
