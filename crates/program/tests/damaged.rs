//! 10,000 damaged copies of real classes, through all that is made of a class: whatever is wrong, the answer is a value,
//! and it comes in time. Bodies that are made all the same keep the laws.

mod support;

use std::time::{Duration, Instant};

use classfile::ClassSource;
use program::{ControlDependence, Known, Paths, Program, Sections, show_method};
use rayon::prelude::*;
use support::{Random, damage, laws, real};

const COPIES: u64 = 10_000;
/// In a long test.
const MANY_COPIES: u64 = 100_000;
/// Every so many-th class is a seed, so that all kinds of classes are among them.
const STRIDE: usize = 37;
/// Far above what any copy needs, so that only what hangs or grows without bound exceeds it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a copy: methods that were translated, and things that were refused.
#[derive(Default)]
struct Outcome {
    translated: usize,
    refused: usize,
}

fn exercise(bytes: Vec<u8>) -> Outcome {
    let program = Program::load(vec![ClassSource { path: "Damaged.class".to_owned(), bytes }], Known::default());
    let mut outcome = Outcome { translated: 0, refused: program.skipped().len() };
    let results = program.visit_bodies(
        |_| true,
        |_, body| {
            laws::check(&body).unwrap_or_else(|broken| panic!("{broken}"));
            let sections = Sections::of(&body, &program);
            ControlDependence::of(&body);
            let paths = Paths::new(&body, &program);
            for (value, _) in body.instructions() {
                paths.of(value, value).readable(&body, &program.names);
                sections.held_at(&body, value);
            }
        },
    );
    for result in results {
        match result {
            Ok(()) => outcome.translated += 1,
            Err(_) => outcome.refused += 1,
        }
    }
    if let Some(method) = program.methods().last() {
        show_method(&program, method);
    }
    outcome
}

#[test]
fn damaged_classes_are_values() {
    let classes = real::java_base();
    let seeds: Vec<&ClassSource> =
        classes.iter().filter(|source| source.bytes.len() < 60_000).step_by(STRIDE).collect();
    let copies = if real::is_long() { MANY_COPIES } else { COPIES };
    let results: Vec<Result<Outcome, String>> = (0..copies)
        .into_par_iter()
        .map(|number| {
            let mut random = Random(number);
            let seed = seeds[random.below(seeds.len())];
            let mut bytes = seed.bytes.clone();
            damage::damage(&mut bytes, &mut random);
            let start = Instant::now();
            let outcome = std::panic::catch_unwind(|| exercise(bytes));
            let name = || format!("copy {number}, of {}", seed.path);
            match outcome {
                Ok(outcome) if start.elapsed() < PATIENCE => Ok(outcome),
                Ok(_) => Err(format!("{} took {:?}", name(), start.elapsed())),
                Err(_) => Err(format!("{} panicked", name())),
            }
        })
        .collect();
    let failures: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failures.is_empty(), "{}: {:#?}", failures.len(), &failures[..failures.len().min(10)]);
    let refused = results.iter().flatten().filter(|outcome| outcome.refused > 0).count();
    let translated: usize = results.iter().flatten().map(|outcome| outcome.translated).sum();
    assert!(refused > 4_000, "only {refused} copies were found to be damaged");
    assert!(translated > 10_000, "only {translated} methods of damaged copies were translated");
}
