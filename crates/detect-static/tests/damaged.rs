//! Damaged copies of real classes through the detectors: what is left of them is looked at, and nothing panics.

#[path = "../../program/tests/support/mod.rs"]
mod support;

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use program::{Known, Program};
use support::{Random, damage, real};

const COPIES: u64 = 3_000;

#[test]
fn detectors_look_at_damaged_classes() {
    let detectors: Vec<&Detector> = DETECTORS.iter().collect();
    let classes = real::java_base();
    // Classes with locks, so that there is something to look at.
    let has_locks =
        |source: &&ClassSource| source.path.contains("java/util/concurrent/") || source.path.contains("/nio/ch/");
    let seeds: Vec<&ClassSource> = classes.iter().filter(has_locks).collect();
    assert!(seeds.len() > 300, "only {} classes", seeds.len());
    let mut unreadable = 0;
    for start in (0..COPIES).step_by(100) {
        let sources = (start..start + 100)
            .map(|number| {
                let mut random = Random(number);
                let seed = seeds[random.below(seeds.len())];
                let mut bytes = seed.bytes.clone();
                damage::damage(&mut bytes, &mut random);
                ClassSource { path: format!("{number}, of {}", seed.path), bytes }
            })
            .collect();
        let program = Program::load(sources, Known::default());
        let checked = check(&program, &detectors);
        unreadable += checked.unreadable.len();
    }
    assert!(unreadable > 100, "only {unreadable} methods could not be read");
}
