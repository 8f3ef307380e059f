//! A run without a warning has an equivalent serial run; what each refinement gives up; what the filter leaves out.

use std::collections::BTreeSet;

use trace::{
    Access, Action, ActivationId, Cause, Event, LockId, Mode, SectionId, Tables, ThreadId, UnitId, VariableId,
};

use super::rules::Engine;
use super::{Refinement, Without};
use crate::random::{Random, Shape, trace};
use crate::serializability::Oracle;
use crate::{Filter, Options};

fn rounds(few: u64, many: u64) -> u64 {
    if std::env::var_os("FISSURE_LONG").is_some() { many } else { few }
}

/// The units that are warned of.
fn warned(events: &[Event], options: &Options) -> BTreeSet<(ThreadId, UnitId)> {
    let mut engine = Engine::new(options);
    let mut warned = BTreeSet::new();
    for event in events {
        engine.on_event(event);
        for warning in engine.warnings.drain(..) {
            assert!(warning.entry.moment <= warning.commit.moment, "the commit point lies in the unit");
            assert!(warning.commit.moment < warning.offence.moment, "the offence comes after the commit point");
            warned.insert((warning.thread, warning.unit));
        }
    }
    warned
}

fn warns(events: &[Event], options: &Options) -> bool {
    !warned(events, options).is_empty()
}

/// Random traces in which nothing divides a unit, and nothing is speculated.
fn plain_trace(seed: u64) -> Option<Vec<Event>> {
    let mut random = Random::new(seed);
    let longest = if random.one_in(3) { 60 } else { 25 };
    let mut shape = Shape::any(&mut random, 4, longest);
    shape.overlap = false;
    let events = trace(&mut random, shape);
    let divides = |event: &Event| match event.action {
        Action::Acquire { cause, .. } | Action::Release { cause, .. } => cause == Cause::Wait,
        Action::Sync { interval, .. } => interval.is_some(),
        Action::Start { .. }
        | Action::Join { .. }
        | Action::Arrive { .. }
        | Action::Leave { .. }
        | Action::ArmBegin { .. }
        | Action::ThreadEnd => true,
        _ => false,
    };
    // Up to there it is a trace of the wanted kind.
    let end = events.iter().position(divides).unwrap_or(events.len());
    (end > 3).then(|| events[..end].to_vec())
}

fn show(events: &[Event]) -> String {
    let lines: Vec<String> = events.iter().map(|event| format!("{} {:?}", event.thread.0, event.action)).collect();
    lines.join("\n")
}

const SOUND: [Refinement; 3] = [Refinement::ReentrantLocks, Refinement::ProtectedLocks, Refinement::WriteProtectedData];

#[test]
fn a_run_without_a_warning_has_an_equivalent_serial_run() {
    let rounds = rounds(4_000, 300_000);
    let (mut serial, mut quiet, mut wrong) = (0, 0, 0);
    for seed in 0..rounds {
        let Some(events) = plain_trace(seed) else { continue };
        let mut random = Random::new(seed ^ 0xabcd);
        let mut without = Without::default()
            .and(Refinement::SharingStates)
            .and(Refinement::ThreadLocalLocks)
            .and(Refinement::HandedOverLocks);
        for refinement in SOUND {
            if random.one_in(3) {
                without = without.and(refinement);
            }
        }
        let oracle = Oracle::new(&events, true);
        let is_serial = !oracle.has_cycle(&BTreeSet::new());
        let is_quiet = !warns(&events, &Options { without, ..Options::default() });
        assert!(is_serial || !is_quiet, "quiet, and has no serial order:\n{}", show(&events));
        serial += u64::from(is_serial);
        quiet += u64::from(is_quiet);
        let paper = !warns(&events, &Options { without, paper: true, ..Options::default() });
        wrong += u64::from(paper && !is_serial);
    }
    assert!(quiet > rounds / 20, "{quiet} of {rounds} quiet");
    println!("{serial} serial, {quiet} quiet, {wrong} lost in the paper's way");
}

/// More refinements, fewer warnings.
#[test]
fn each_refinement_only_takes_warnings_away() {
    for seed in 0..rounds(1_000, 50_000) {
        let Some(events) = plain_trace(seed) else { continue };
        for paper in [true, false] {
            for refinement in Refinement::ALL {
                // Without the first state of locks there is no second one.
                let rest = match refinement {
                    Refinement::ThreadLocalLocks => Without::default().and(Refinement::HandedOverLocks),
                    _ => Without::default(),
                };
                let with = warned(&events, &Options { without: rest, paper, ..Options::default() });
                let less = warned(&events, &Options { without: rest.and(*refinement), paper, ..Options::default() });
                assert!(with.is_subset(&less), "{refinement:?}, paper {paper}, in\n{}", show(&events));
            }
        }
    }
}

#[test]
fn what_the_filter_leaves_out_changes_no_verdict() {
    let tables = Tables::default();
    let (mut left_out, mut same, mut other) = (0, 0, 0);
    for seed in 0..rounds(2_000, 100_000) {
        let mut random = Random::new(seed + 77);
        let shape = Shape::any(&mut random, 5, 80);
        let events = trace(&mut random, shape);
        let mut filter = Filter::new();
        let kept: Vec<Event> = events.iter().copied().filter(|event| filter.keeps(event, &tables)).collect();
        left_out += events.len() - kept.len();
        for paper in [true, false] {
            let without = Without::default().and(Refinement::SharingStates);
            let options = Options { paper, without, ..Options::default() };
            assert_eq!(warned(&kept, &options), warned(&events, &options), "in\n{}", show(&events));
            // A reader that comes back to what another thread has read since is left out, too. So data may look
            // unshared for longer, which takes warnings away.
            let options = Options { paper, ..Options::default() };
            let (few, all) = (warned(&kept, &options), warned(&events, &options));
            assert!(few.is_subset(&all), "in\n{}", show(&events));
            (same, other) = (same + usize::from(few == all), other + usize::from(few != all));
        }
    }
    assert!(left_out > 500, "{left_out} events left out");
    assert!(other * 20 < same, "{other} verdicts lost, {same} the same");
}

fn thread(number: u32, actions: &[Action]) -> Vec<Event> {
    actions.iter().map(|&action| Event::new(ThreadId(number), action)).collect()
}

fn acq(lock: u32) -> Action {
    Action::Acquire {
        lock: LockId(lock),
        mode: Mode::Exclusive,
        cause: Cause::Section,
        section: SectionId(0),
        activation: ActivationId(0),
    }
}

fn rel(lock: u32) -> Action {
    Action::Release { lock: LockId(lock), mode: Mode::Exclusive, cause: Cause::Section }
}

const X: VariableId = VariableId(0);
const BEGIN: Action = Action::UnitBegin { unit: UnitId(1), activation: ActivationId(0) };
const END: Action = Action::UnitEnd { unit: UnitId(1) };

/// What the sharing states give up: the first two threads to come are believed to be alone.
#[test]
fn data_that_is_shared_later_is_missed_by_the_sharing_states() {
    let (read, write) = (Action::Read { variable: X }, Action::Write { variable: X });
    let mut events = thread(0, &[BEGIN, read, write, END]);
    events.extend(thread(1, &[write]));
    assert!(!warns(&events, &Options::default()));
    assert!(warns(
        &events,
        &Options { without: Without::default().and(Refinement::SharingStates), ..Options::default() }
    ));
}

/// What the states of locks give up: a unit that lets a lock go before anybody else takes it.
#[test]
fn locks_that_are_shared_later_are_missed_by_their_states() {
    let mut events = thread(0, &[BEGIN, acq(0), rel(0), acq(0), rel(0), END]);
    events.extend(thread(1, &[acq(0), rel(0)]));
    assert!(!warns(&events, &Options::default()));
    let without = Without::default().and(Refinement::ThreadLocalLocks);
    assert!(warns(&events, &Options { without, ..Options::default() }));

    let mut events = thread(1, &[acq(0), rel(0)]);
    events.extend(thread(0, &[BEGIN, acq(0), rel(0), acq(0), rel(0), END]));
    assert!(!warns(&events, &Options::default()));
    let without = Without::default().and(Refinement::HandedOverLocks);
    assert!(warns(&events, &Options { without, ..Options::default() }));
}

/// A unit whose variable loses its lock while it is open.
#[test]
fn an_access_is_judged_again_when_its_lock_is_lost() {
    let write = Action::Write { variable: X };
    let volatile = Action::Sync {
        variable: VariableId(1),
        access: Access::Write,
        kind: trace::SyncKind::Volatile,
        interval: None,
    };
    let mut events = Vec::new();
    for number in [1, 2, 3] {
        events.extend(thread(number, &[acq(0), write, rel(0), volatile]));
    }
    events.extend(thread(0, &[acq(0), BEGIN, write, volatile]));
    events.extend(thread(1, &[write]));
    events.extend(thread(0, &[END, rel(0)]));
    assert!(warns(&events, &Options::default()));
    assert!(!warns(&events, &Options { paper: true, ..Options::default() }));
}
