//! The search against plain twins on small random programs, and the bounds of what is kept.

use std::collections::BTreeSet;

use super::engine::{Engine, GivenUp, Manner};
use super::oracle::{Orders, Rule, Unit, units};
use super::programs::{Item, Program, Shape};
use crate::Options;
use crate::random::Random;

/// A few in every test run, many when asked.
fn rounds(few: u64, many: u64) -> u64 {
    if std::env::var_os("FISSURE_LONG").is_some() { many } else { few }
}

fn manner() -> Manner {
    Manner::new(&Options::default(), true)
}

/// Everything on its own, however alike.
fn exact() -> Manner {
    let mut manner = manner();
    manner.limits.alike = 1000;
    manner
}

/// Units by thread and number.
type Units = BTreeSet<(usize, usize)>;

fn key(unit: &Unit) -> (usize, usize) {
    (unit.thread, unit.number)
}

/// The units that the detector finds disturbed, and whether there are joint findings.
fn found(events: &[trace::Event], manner: Manner) -> (Units, bool) {
    let mut engine = Engine::new(manner);
    events.iter().for_each(|event| engine.on_event(event));
    engine.finish();
    let disturbed = engine.is_disturbed();
    let mut found = Units::new();
    for thread in 0..8 {
        let sequence = engine.forest.sequence(trace::ThreadId(thread));
        let units = sequence.iter().filter(|id| !engine.forest.trees[**id as usize].spans.is_empty());
        let wrong = units.enumerate().filter(|(_, id)| disturbed[**id as usize]);
        found.extend(wrong.map(|(number, _)| (thread as usize, number)));
    }
    assert_eq!(engine.given_up, GivenUp::default());
    (found, engine.violations.iter().any(|violation| violation.is_joint))
}

fn shape(random: &mut Random) -> Shape {
    Shape {
        threads: 2 + random.below(3),
        variables: 1 + random.below(3),
        locks: 1 + random.below(3),
        accesses: 2 + random.below(4),
        branches: random.below(3),
        starts: random.one_in(3),
        shared: random.one_in(4),
    }
}

/// What the twins say of a program in which threads never wait for each other for ever.
struct Truth {
    /// Units that some order disturbs, whichever arms are taken; those that the written rule names; those that some
    /// order of what ran disturbs.
    disturbed: Units,
    ruled: Units,
    disturbed_in_run: Units,
    /// Whether two units that the rule does not name have no order.
    is_skewed: bool,
}

fn truth(program: &Program) -> Option<Truth> {
    let mut truth =
        Truth { disturbed: Units::new(), ruled: Units::new(), disturbed_in_run: Units::new(), is_skewed: false };
    let all: Vec<_> = program.all().iter().map(|decisions| program.decided(decisions)).collect();
    let run = program.decided(&program.taken());
    for threads in &all {
        let orders = Orders::new(threads);
        if orders.can_get_stuck() {
            return None;
        }
        let rule = Rule::new(threads);
        for unit in units(threads) {
            if orders.can_disturb(unit) {
                truth.disturbed.insert(key(&unit));
                if *threads == run {
                    truth.disturbed_in_run.insert(key(&unit));
                }
            }
            if rule.disturbs(unit) {
                truth.ruled.insert(key(&unit));
            }
        }
    }
    for threads in &all {
        let orders = Orders::new(threads);
        let quiet: Vec<Unit> = units(threads).into_iter().filter(|unit| !truth.ruled.contains(&key(unit))).collect();
        for (index, one) in quiet.iter().enumerate() {
            let others = quiet[index + 1..].iter().filter(|other| other.thread != one.thread);
            truth.is_skewed |= others.into_iter().any(|other| orders.can_skew([*one, *other]));
        }
    }
    Some(truth)
}

/// Of 58,182 programs (`FISSURE_LONG`) all verdicts are those of the written rule, none is wrong, and 4 units are missed: they hold a
/// lock from p to q, and the way leads on to a thread that another one starts or joins in between.
#[test]
fn units_are_judged_as_if_every_order_was_tried() {
    let (mut tried, mut broken, mut missed, mut skewed, mut not_told) = (0, 0, 0, 0, 0);
    for seed in 0..rounds(5_000, 60_000) {
        let random = &mut Random::new(seed);
        let shape = shape(random);
        let program = Program::random(random, shape);
        let Some(events) = program.run(random, None) else { continue };
        let Some(truth) = truth(&program) else { continue };
        tried += 1;
        broken += u32::from(!truth.disturbed.is_empty());
        let (found, is_joint) = found(&events, exact());
        assert_eq!(found, truth.ruled, "seed {seed}: as the rule is written, in {program:?}");
        assert!(found.is_subset(&truth.disturbed), "seed {seed}: {found:?} wrong, in {program:?}");
        if shape.starts {
            missed += truth.disturbed.difference(&found).count();
        } else {
            assert_eq!(found, truth.disturbed, "seed {seed}: missed, in {program:?}");
        }
        assert!(truth.is_skewed || !is_joint, "seed {seed}: no joint finding, in {program:?}");
        if shape.threads == 2 && program.choices().is_empty() {
            skewed += u32::from(truth.is_skewed);
            not_told += u32::from(truth.is_skewed && !is_joint);
        }
    }
    println!(
        "{tried} programs, {broken} with units that can be disturbed, {missed} units missed; {skewed} skewed, {not_told} not told"
    );
    assert!(tried > 4_500 && broken > tried / 3 && broken < tried * 2 / 3 && skewed > 5, "{tried} {broken} {skewed}");
    assert!(missed <= 1 + tried as usize / 10_000, "{missed} of {tried} missed");
    // Where one of the two units holds a lock from its first to its last access that the other one takes, too.
    assert!(not_told <= 1 + skewed / 20, "{not_told} of {skewed} not told");
}

/// What a production run merges and leaves out makes it say less, never more.
#[test]
fn what_is_alike_stands_together() {
    let (mut units, mut lost) = (0, 0);
    for seed in 0..rounds(1_500, 20_000) {
        let random = &mut Random::new(seed);
        let shape = Shape { accesses: 6, ..shape(random) };
        let program = Program::random(random, shape);
        let Some(events) = program.run(random, Some(3)) else { continue };
        let ((whole, _), (merged, _)) = (found(&events, exact()), found(&events, manner()));
        assert!(merged.is_subset(&whole), "seed {seed}: {merged:?} and {whole:?}, in {program:?}");
        units += whole.len();
        lost += whole.len() - merged.len();
    }
    println!("{units} units, {lost} of them lost");
    assert!(units > 1_000 && lost * 100 <= units, "{lost} of {units}");
}

#[test]
fn without_what_did_not_run_the_arms_that_were_taken_are_judged() {
    let mut apart = 0;
    for seed in 0..rounds(600, 10_000) {
        let random = &mut Random::new(seed);
        let shape = Shape { branches: 2, starts: false, threads: 2 + random.below(2), ..shape(random) };
        let program = Program::random(random, shape);
        let Some(events) = program.run(random, None) else { continue };
        let Some(truth) = truth(&program) else { continue };
        let (found, _) = found(&events, Manner { speculates: false, ..exact() });
        assert_eq!(found, truth.disturbed_in_run, "seed {seed}: in {program:?}");
        apart += u32::from(truth.disturbed_in_run != truth.disturbed);
    }
    assert!(apart > 20, "{apart}");
}

/// The rule of the paper is kept as it is: of 8,745 programs (`FISSURE_LONG`) without branches and starts it is wrong of 249 and
/// misses something in 155.
#[test]
fn the_rule_of_the_paper_is_neither_sound_nor_complete() {
    let (mut tried, mut wrong, mut missed) = (0, 0, 0);
    for seed in 0..rounds(1_000, 9_000) {
        let random = &mut Random::new(seed);
        let shape = Shape { branches: 0, starts: false, shared: false, ..shape(random) };
        let program = Program::random(random, shape);
        let Some(events) = program.run(random, None) else { continue };
        let Some(truth) = truth(&program) else { continue };
        tried += 1;
        let (found, _) = found(&events, Manner { paper: true, ..exact() });
        wrong += u32::from(!found.is_subset(&truth.disturbed));
        missed += u32::from(!truth.disturbed.is_subset(&found));
    }
    println!("{tried} programs: {wrong} wrong, {missed} missed");
    assert!(wrong * 5 < tried && missed * 5 < tried && wrong > 0 && missed > 0, "{tried} {wrong} {missed}");
}

/// A loop makes one kind of tree, however often it runs; where there is no room, older trees are given up.
#[test]
fn memory_is_bounded() {
    let random = &mut Random::new(7);
    let shape = Shape { threads: 2, variables: 3, locks: 1, accesses: 6, branches: 2, starts: false, shared: false };
    let mut program = Program::random(random, shape);
    let once = program.threads.clone();
    for _ in 0..200 {
        for (thread, items) in once.iter().enumerate() {
            program.threads[thread].extend(items.iter().cloned());
        }
    }
    let has_units =
        program.threads.iter().flatten().any(|item| matches!(item, Item::Step(super::programs::Step::Begin)));
    assert!(has_units);
    let events = program.run(random, Some(1)).expect("it comes to an end");
    let mut engine = Engine::new(manner());
    events.iter().for_each(|event| engine.on_event(event));
    engine.end_all();
    assert!(engine.forest.trees.len() <= 40, "{} kinds of trees", engine.forest.trees.len());
    let mut engine = Engine::new(Manner { most_bytes: 20_000, ..exact() });
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let program = Program::random(random, shape);
        let events = program.run(random, None).unwrap_or_default();
        events.iter().for_each(|event| engine.on_event(event));
    }
    engine.finish();
    assert!(engine.given_up.forests > 0 && engine.forest.bytes() < 20_000);
}
