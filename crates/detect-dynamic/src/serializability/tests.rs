//! The detector against its plain twin, on random traces; its bounds; what the filter may and may not leave out.

use std::collections::{BTreeSet, HashMap};

use trace::{Action, ActivationId, Cause, Event, LockId, Mode, Tables, ThreadId, UnitId, VariableId};

use super::oracle::Oracle;
use super::paths::Hop;
use super::rules::{Engine, Verdict, Violation};
use crate::Filter;
use crate::random::{Random, Shape, trace};

/// How many random traces: a few in every test run, many when asked.
fn rounds(few: u64, many: u64) -> u64 {
    if std::env::var_os("FISSURE_LONG").is_some() { many } else { few }
}

#[derive(Default)]
struct Verdicts {
    alone: Vec<Violation>,
    together: Vec<Violation>,
}

/// One look, and a second one if a transaction was violated.
fn detect(events: &[Event], lock_conflicts: bool) -> Verdicts {
    let mut engine = Engine::new(lock_conflicts);
    let mut verdicts = look(&mut engine, events);
    if !verdicts.alone.is_empty() {
        let again = look(&mut engine.look_again(), events);
        assert!(again.alone.is_empty(), "violated only the second time, in\n{}", show(events));
        verdicts.together = again.together;
    }
    verdicts
}

fn look(engine: &mut Engine, events: &[Event]) -> Verdicts {
    for event in events {
        engine.on_event(event);
    }
    engine.finish();
    let mut verdicts = Verdicts::default();
    for verdict in engine.verdicts.drain(..) {
        match verdict {
            Verdict::Alone(violation) => verdicts.alone.push(*violation),
            Verdict::Together(violation) => verdicts.together.push(*violation),
        }
    }
    let (_, _, paths) = engine.sizes();
    assert_eq!(paths, 0, "every path is given back when nothing is open");
    verdicts
}

fn show(events: &[Event]) -> String {
    let lines: Vec<String> = events.iter().map(|event| format!("{} {:?}", event.thread.0, event.action)).collect();
    lines.join("\n")
}

fn violated(oracle: &Oracle) -> Vec<(ThreadId, u64)> {
    let mut violated: Vec<_> = oracle
        .judged
        .iter()
        .filter(|judged| !judged.inside && oracle.violated(judged))
        .map(|judged| (judged.thread, judged.begin))
        .collect();
    violated.sort();
    violated
}

fn alone(verdicts: &Verdicts) -> Vec<(ThreadId, u64)> {
    let mut alone: Vec<_> =
        verdicts.alone.iter().map(|violation| (violation.origin.thread, violation.origin.begin)).collect();
    alone.sort();
    alone
}

/// Every hop of a told cycle is an edge of the run, and the hops hang together.
fn check_cycle(oracle: &Oracle, cycle: &[Hop], whole: bool) {
    let node = |moment: u64| moment as usize - 1;
    for (index, hop) in cycle.iter().enumerate() {
        assert!(oracle.ordered(node(hop.from.moment), node(hop.to.moment)), "{hop:?} is no edge");
        assert_eq!(oracle.nodes[node(hop.from.moment)].thread, hop.from.thread);
        assert_eq!(oracle.nodes[node(hop.to.moment)].thread, hop.to.thread);
        let next = &cycle[(index + 1) % cycle.len()];
        assert_eq!(hop.to.thread, next.from.thread, "the cycle is broken after {hop:?}");
        let same = whole && oracle.nodes[node(hop.to.moment)].whole == oracle.nodes[node(next.from.moment)].whole;
        let closing = index + 1 == cycle.len();
        assert!(same || hop.to.moment <= next.from.moment || (closing && !whole), "goes back in time after {hop:?}");
    }
}

/// Whether the run is not serializable, and whether it has both kinds of findings.
fn check(events: &[Event], lock_conflicts: bool, overlap: bool) -> (bool, bool) {
    let oracle = Oracle::new(events, lock_conflicts);
    let verdicts = detect(events, lock_conflicts);
    let expected = violated(&oracle);
    assert_eq!(alone(&verdicts), expected, "violated on their own, in\n{}", show(events));
    let spoilt_nodes: BTreeSet<usize> = oracle
        .judged
        .iter()
        .filter(|judged| oracle.violated(judged))
        .flat_map(|judged| judged.nodes.iter().copied())
        .collect();
    let spoilt: BTreeSet<usize> = spoilt_nodes.iter().map(|&node| oracle.nodes[node].whole).collect();
    let cyclic = oracle.has_cycle(&BTreeSet::new());
    let told = !verdicts.alone.is_empty() || !verdicts.together.is_empty();
    // Of overlapping units only the oldest is whole in the order of transactions: there a unit can be violated on its
    // own without a cycle.
    assert!(told == cyclic || overlap && told, "serializable at all, in\n{}", show(events));
    for violation in &verdicts.alone {
        check_cycle(&oracle, &violation.cycle, false);
        let (first, last) = (violation.cycle.first().unwrap(), violation.cycle.last().unwrap());
        let fits = oracle.judged.iter().any(|unit| {
            let within = |moment: u64| unit.nodes.contains(&(moment as usize - 1));
            (unit.thread, unit.begin) == (violation.origin.thread, violation.origin.begin)
                && (within(first.from.moment) && within(last.to.moment))
                && !within(first.to.moment)
                && !within(last.from.moment)
        });
        assert!(fits, "the cycle is not one of the unit, in\n{}", show(events));
    }
    for violation in &verdicts.together {
        check_cycle(&oracle, &violation.cycle, true);
        for hop in &violation.cycle {
            for moment in [hop.from.moment, hop.to.moment] {
                assert!(
                    !spoilt_nodes.contains(&(moment as usize - 1)),
                    "a joint finding with a violated transaction, in\n{}",
                    show(events)
                );
            }
        }
    }
    let joint = oracle.has_cycle(&spoilt);
    assert_eq!(!verdicts.together.is_empty(), joint, "a joint cycle, in\n{}", show(events));
    (cyclic, joint && !verdicts.alone.is_empty())
}

#[test]
fn long_random_traces_are_judged_as_by_the_plain_graph() {
    let rounds = rounds(2_000, 100_000);
    let (mut cyclic, mut both) = (0, 0);
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let longest = if random.one_in(4) { 120 } else { 40 };
        let shape = Shape::any(&mut random, 8, longest);
        let events = trace(&mut random, shape);
        for lock_conflicts in [false, true] {
            let (is_cyclic, has_both) = check(&events, lock_conflicts, shape.overlap);
            cyclic += u64::from(is_cyclic);
            both += u64::from(has_both);
        }
    }
    // Both answers must come up often, or the comparison says nothing.
    assert!(cyclic > rounds / 4 && cyclic < rounds * 2 - rounds / 4, "{cyclic} of {} cyclic", rounds * 2);
    assert!(both > 0, "no run with both kinds of findings");
}

#[test]
fn joint_cycles_are_told_beside_violated_units() {
    let rounds = rounds(4_000, 200_000);
    let mut both = 0;
    for seed in 0..rounds {
        let mut random = Random::new(seed + 31);
        // Units of two or three accesses, so that most are not violated and many meet.
        let (threads, variables) = (3 + random.below(4), 3 + random.below(6));
        let mut left = vec![0; threads as usize];
        let mut events = Vec::new();
        for _ in 0..20 + random.below(40) {
            let number = random.below(threads) as usize;
            let thread = ThreadId(number as u32);
            if left[number] == 0 {
                left[number] = 2 + random.below(2);
                events.push(Event::new(thread, begin()));
            }
            let variable = VariableId(random.below(variables) as u32);
            let action = if random.one_in(2) { Action::Write { variable } } else { Action::Read { variable } };
            events.push(Event::new(thread, action));
            left[number] -= 1;
            if left[number] == 0 {
                events.push(Event::new(thread, Action::UnitEnd { unit: UnitId(0) }));
            }
        }
        let (_, has_both) = check(&events, false, false);
        both += u64::from(has_both);
    }
    assert!(both > rounds / 50, "{both} of {rounds} with both kinds of findings");
}

#[test]
fn small_random_traces_are_judged_as_by_trying_every_serial_order() {
    let rounds = rounds(2_000, 100_000);
    let mut cyclic = 0;
    for seed in 0..rounds {
        let mut random = Random::new(seed + 1_000_000_007);
        let mut shape = Shape::any(&mut random, 4, 30);
        shape.overlap = false;
        shape.variables = shape.variables.min(2);
        let mut events = trace(&mut random, shape);
        for lock_conflicts in [false, true] {
            let mut oracle = Oracle::new(&events, lock_conflicts);
            while oracle.nodes.len() > 9 {
                events.pop();
                oracle = Oracle::new(&events, lock_conflicts);
            }
            let verdicts = detect(&events, lock_conflicts);
            let wholes: Vec<usize> = oracle.nodes.iter().map(|node| node.whole).collect();
            let serializable = oracle.some_serial_order(&wholes);
            let told = !verdicts.alone.is_empty() || !verdicts.together.is_empty();
            assert_eq!(told, !serializable, "in\n{}", show(&events));
            cyclic += u64::from(!serializable);
            let mut expected = Vec::new();
            for judged in oracle.judged.iter().filter(|judged| !judged.inside) {
                // This one whole, every other event by itself.
                let group: Vec<usize> = (0..oracle.nodes.len())
                    .map(|node| if judged.nodes.contains(&node) { usize::MAX } else { node })
                    .collect();
                if !oracle.some_serial_order(&group) {
                    expected.push((judged.thread, judged.begin));
                }
            }
            expected.sort();
            assert_eq!(alone(&verdicts), expected, "in\n{}", show(&events));
        }
    }
    assert!(cyclic > rounds / 20, "{cyclic} of {} not serializable", rounds * 2);
}

/// The verdicts, with moments told apart from what was left out: by thread and number of the unit in its thread.
fn judged_units(events: &[Event], lock_conflicts: bool) -> (BTreeSet<(ThreadId, usize)>, bool) {
    let mut engine = Engine::new(lock_conflicts);
    let mut begun = vec![0; 16];
    let mut held: HashMap<(ThreadId, LockId), usize> = HashMap::new();
    let mut violated = BTreeSet::new();
    let mut take = |engine: &mut Engine, thread: Option<usize>, begun: &[usize]| {
        for verdict in engine.verdicts.drain(..) {
            match verdict {
                Verdict::Alone(violation) => {
                    let thread = thread.unwrap_or(violation.origin.thread.index());
                    violated.insert((violation.origin.thread, begun[thread]));
                }
                Verdict::Together(_) => {}
            }
        }
    };
    for event in events {
        engine.on_event(event);
        // A verdict comes with the end of its transaction: all bounds of the thread up to now number it.
        take(&mut engine, Some(event.thread.index()), &begun);
        // What the filter may leave out does not count.
        let counts = match event.action {
            Action::Read { .. } | Action::Write { .. } => false,
            Action::Acquire { lock, mode: Mode::Exclusive, cause: Cause::Section, .. } => {
                let depth = held.entry((event.thread, lock)).or_default();
                *depth += 1;
                *depth == 1
            }
            Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section } => {
                let depth = held.entry((event.thread, lock)).or_default();
                *depth = depth.saturating_sub(1);
                *depth == 0
            }
            _ => true,
        };
        begun[event.thread.index()] += usize::from(counts);
    }
    engine.finish();
    take(&mut engine, None, &begun);
    (violated, !detect(events, lock_conflicts).together.is_empty())
}

fn filtered(events: &[Event], mut filter: Filter) -> Vec<Event> {
    let tables = Tables::default();
    events.iter().copied().filter(|event| filter.keeps(event, &tables)).collect()
}

#[test]
fn the_filter_changes_no_verdict() {
    let (mut dropped, mut all, mut cyclic) = (0, 0, 0);
    for seed in 0..rounds(2_000, 100_000) {
        let mut random = Random::new(seed + 77);
        let shape = Shape { overlap: false, ..Shape::any(&mut random, 6, 150) };
        let events = trace(&mut random, shape);
        for lock_conflicts in [false, true] {
            let whole = judged_units(&events, lock_conflicts);
            for filter in [Filter::for_serializability(), Filter::new()] {
                let kept = filtered(&events, filter);
                assert_eq!(judged_units(&kept, lock_conflicts), whole, "in\n{}", show(&events));
                dropped += events.len() - kept.len();
                all += events.len();
            }
            cyclic += u64::from(whole.1 || !whole.0.is_empty());
        }
    }
    assert!(dropped * 50 > all, "only {dropped} of {all} events left out");
    assert!(cyclic > 500);
}

/// Threads create objects, use them, publish them in a shared variable, and use what others published.
fn objects(random: &mut Random) -> (Vec<Event>, Tables) {
    const OBJECTS: u32 = 6;
    const THREADS: u64 = 3;
    let mut tables = Tables::default();
    let fields: Vec<VariableId> = (1..=OBJECTS).map(|object| tables.add_variable(&format!("f@{object}"))).collect();
    let places: Vec<VariableId> = (1..=OBJECTS).map(|object| tables.add_variable(&format!("place{object}"))).collect();
    // Which threads know an object, and whether it can be got from its place.
    let mut known = vec![[false; THREADS as usize]; OBJECTS as usize];
    let mut published = vec![false; OBJECTS as usize];
    let mut created = 0;
    let mut open = [false; THREADS as usize];
    let mut events = Vec::new();
    for _ in 0..300 {
        let thread = random.below(THREADS) as usize;
        let object = random.below(u64::from(OBJECTS)) as usize;
        let access = |variable, writes| if writes { Action::Write { variable } } else { Action::Read { variable } };
        let action = match random.below(8) {
            0 if created < OBJECTS as usize => {
                known[created][thread] = true;
                created += 1;
                Action::New { object: trace::ObjectId(created as u64) }
            }
            1 => {
                open[thread] = !open[thread];
                if open[thread] { begin() } else { Action::UnitEnd { unit: UnitId(0) } }
            }
            2 if known[object][thread] => {
                published[object] = true;
                access(places[object], true)
            }
            3 if published[object] => {
                known[object][thread] = true;
                access(places[object], false)
            }
            _ if known[object][thread] => access(fields[object], random.one_in(2)),
            _ => continue,
        };
        events.push(Event::new(ThreadId(thread as u32), action));
    }
    (events, tables)
}

#[test]
fn the_first_use_of_a_fresh_object_can_be_left_out() {
    let (mut shorter, mut cyclic) = (0, 0);
    for seed in 0..rounds(3_000, 100_000) {
        let (events, tables) = objects(&mut Random::new(seed + 5));
        let mut filter = Filter::for_serializability();
        let kept: Vec<Event> = events.iter().copied().filter(|event| filter.keeps(event, &tables)).collect();
        let mut knows_nothing_of_creation = Filter::for_serializability();
        let more = events.iter().filter(|event| {
            matches!(event.action, Action::New { .. }) || knows_nothing_of_creation.keeps(event, &tables)
        });
        shorter += u64::from(kept.len() < more.count());
        let whole = judged_units(&events, false);
        assert_eq!(judged_units(&kept, false), whole, "in\n{}", show(&events));
        cyclic += u64::from(whole.1 || !whole.0.is_empty());
    }
    assert!(shorter > 1_000 && cyclic > 200, "{shorter} traces made shorter, {cyclic} not serializable");
}

#[test]
fn a_filter_that_does_not_end_segments_at_foreign_words_loses_violations() {
    let mut lost = 0;
    for seed in 0..2_000 {
        let mut random = Random::new(seed + 77);
        let shape = Shape { overlap: false, ..Shape::any(&mut random, 6, 150) };
        let events = trace(&mut random, shape);
        let kept = filtered(&events, Filter::looser());
        lost += u64::from(judged_units(&kept, false) != judged_units(&events, false));
    }
    assert!(lost > 0, "the clause would not be needed");
    println!("{lost} of 2000 traces judged otherwise by the looser rule");
}

fn begin() -> Action {
    Action::UnitBegin { unit: UnitId(0), activation: ActivationId(0) }
}

#[test]
fn a_million_threads_come_and_go_in_a_few_slots() {
    let main = ThreadId(0);
    let shared = VariableId(0);
    let mut engine = Engine::new(false);
    let mut event = |thread: ThreadId, action: Action| engine.on_event(&Event::new(thread, action));
    // A unit that stays open over all of them and reaches the first ones.
    event(main, Action::Write { variable: VariableId(1) });
    for number in 1..=1_000_000u32 {
        let child = ThreadId(number);
        if number % 1000 == 1 {
            event(main, begin());
        }
        event(main, Action::Start { child });
        event(child, begin());
        event(child, Action::Read { variable: shared });
        event(child, Action::Write { variable: shared });
        event(child, Action::UnitEnd { unit: UnitId(0) });
        if number % 3 == 0 {
            event(child, Action::ThreadEnd);
        }
        if number % 1000 == 0 {
            event(main, Action::UnitEnd { unit: UnitId(0) });
        }
        if number % 3 != 0 {
            event(main, Action::Join { child });
        }
    }
    engine.finish();
    let (slots, columns, paths) = engine.sizes();
    assert!(slots <= 1_010, "{slots} slots");
    assert!(columns <= 8, "{columns} columns");
    assert_eq!(paths, 0);
    // Every unit of the main thread starts children and waits for them: each is violated by them.
    let violated = engine.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Alone(_))).count();
    assert_eq!(violated, 1_000);
}

#[test]
fn the_table_of_variables_is_as_large_as_open_units_need() {
    let [a, b] = [ThreadId(0), ThreadId(1)];
    let mut engine = Engine::new(false);
    for number in 0..300_000 {
        engine.on_event(&Event::new(a, begin()));
        engine.on_event(&Event::new(b, begin()));
        for offset in 0..4 {
            engine.on_event(&Event::new(a, Action::Write { variable: VariableId(number * 4 + offset) }));
            // Not in order with the other unit: what it writes was written long ago.
            let old = VariableId((number * 4 + offset).saturating_sub(1_000));
            engine.on_event(&Event::new(b, Action::Read { variable: old }));
        }
        engine.on_event(&Event::new(a, Action::UnitEnd { unit: UnitId(0) }));
        engine.on_event(&Event::new(b, Action::UnitEnd { unit: UnitId(0) }));
    }
    let (room, crowds) = engine.variables.sizes();
    assert!(room < 5_000, "room for {room} variables");
    assert_eq!(crowds, 0);

    // A unit that uses very many, all of which another one comes between.
    let many = 100_000;
    engine.on_event(&Event::new(a, begin()));
    for number in 0..many {
        engine.on_event(&Event::new(a, Action::Read { variable: VariableId(number) }));
    }
    let (room, _) = engine.variables.sizes();
    assert!(room > many as usize && room < 40 * many as usize, "room for {room} variables");
    for number in 0..many {
        engine.on_event(&Event::new(b, Action::Write { variable: VariableId(number) }));
    }
    assert!(engine.verdicts.is_empty());
    engine.on_event(&Event::new(a, Action::Read { variable: VariableId(many / 2) }));
    engine.on_event(&Event::new(a, Action::UnitEnd { unit: UnitId(0) }));
    assert_eq!(engine.verdicts.len(), 1);
}

#[test]
fn a_slot_is_not_used_again_while_an_open_unit_reaches_its_thread() {
    let [a, b, c] = [ThreadId(0), ThreadId(1), ThreadId(2)];
    let [x, y] = [VariableId(0), VariableId(1)];
    let mut engine = Engine::new(false);
    let mut event = |thread: ThreadId, action: Action| engine.on_event(&Event::new(thread, action));
    event(a, begin());
    event(a, Action::Write { variable: x });
    event(b, Action::Read { variable: x });
    event(b, Action::Write { variable: y });
    event(b, Action::ThreadEnd);
    // Were c given the slot of b, its write would look like b's own.
    event(c, Action::Write { variable: y });
    event(c, Action::ThreadEnd);
    event(a, Action::Read { variable: y });
    event(a, Action::UnitEnd { unit: UnitId(0) });
    assert_eq!(engine.verdicts.len(), 1);
    let Verdict::Alone(violation) = &engine.verdicts[0] else { panic!("a joint finding") };
    let threads: Vec<ThreadId> = violation.cycle.iter().map(|hop| hop.to.thread).collect();
    assert_eq!(threads, [b, c, a]);
}
