//! Streams of threads are put in an order that the run had.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Random, read};
use trace::{
    Access, Action, ActivationId, BarrierId, Cause, Event, Interval, LockId, Mode, Order, SectionId, StreamWriter,
    SyncKind, Tables, ThreadId, VariableId,
};

/// A run with a total order, from which each thread's stream is cut as a recorder would write it.
struct Recorded {
    events: Vec<Event>,
    streams: Vec<Vec<(Event, u64, Order)>>,
}

/// Word of a field, as a recorder keeps it: thread, segment, reads, writes.
type Word = (usize, u64, u8, u8);

const THREADS: usize = 5;

fn record(random: &mut Random, length: usize) -> Recorded {
    let mut recorded = Recorded { events: Vec::new(), streams: vec![Vec::new(); THREADS] };
    let mut turns = [0u64; 3];
    let mut holders: [Option<usize>; 3] = [None; 3];
    let mut words: [Option<Word>; 4] = [None; 4];
    let mut segments = [0u64; THREADS];
    let mut counters = [0u64; 2];
    let mut started = [true, false, false, false, false];
    let mut ended = [false; THREADS];
    let push = |recorded: &mut Recorded, thread: usize, action: Action, segment: u64, order: Order| {
        let event = Event::new(ThreadId(thread as u32), action);
        recorded.events.push(event);
        recorded.streams[thread].push((event, segment, order));
    };
    push(&mut recorded, 0, Action::ThreadBegin, 0, Order::Free);
    while recorded.events.len() < length {
        let thread = random.below(THREADS as u64) as usize;
        if !started[thread] || ended[thread] {
            continue;
        }
        let mut segment = segments[thread];
        match random.below(12) {
            0..=5 => {
                let field = random.below(4) as usize;
                let writes = random.below(2) == 0;
                let variable = VariableId(field as u32);
                let action = if writes { Action::Write { variable } } else { Action::Read { variable } };
                let (order, mine) = match words[field] {
                    Some((owner, at, reads, written)) if owner == thread && at == segment => {
                        (Order::Free, (reads, written))
                    }
                    Some((owner, ..)) if owner == thread => (Order::Free, (0, 0)),
                    Some((owner, at, reads, written)) => {
                        // A segment ends where another thread's word is met, so that no word is ever made twice.
                        segments[thread] += 1;
                        segment = segments[thread];
                        let owner = ThreadId(owner as u32);
                        (Order::AfterWord { thread: owner, segment: at, reads, writes: written }, (0, 0))
                    }
                    None => (Order::Free, (0, 0)),
                };
                if mine.0 + mine.1 >= 12 {
                    continue;
                }
                let counts = (mine.0 + u8::from(!writes), mine.1 + u8::from(writes));
                words[field] = Some((thread, segment, counts.0, counts.1));
                push(&mut recorded, thread, action, segment, order);
            }
            6 | 7 => {
                let number = random.below(3) as usize;
                let lock = LockId(number as u32);
                let action = match holders[number] {
                    None => Action::Acquire {
                        lock,
                        mode: Mode::Exclusive,
                        cause: Cause::Section,
                        section: SectionId(0),
                        activation: ActivationId(0),
                    },
                    Some(holder) if holder == thread => {
                        Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section }
                    }
                    Some(_) => continue,
                };
                holders[number] = if holders[number].is_none() { Some(thread) } else { None };
                push(&mut recorded, thread, action, segment, Order::Turn(turns[number]));
                turns[number] += 1;
                segments[thread] += 1;
            }
            8 => {
                let field = random.below(2) as usize;
                let before = counters[field];
                counters[field] += 2;
                let action = Action::Sync {
                    variable: VariableId(10 + field as u32),
                    access: Access::Update,
                    kind: SyncKind::Volatile,
                    interval: Interval::new(before, before + 1),
                };
                push(&mut recorded, thread, action, segment, Order::Free);
                segments[thread] += 1;
            }
            9 => {
                let child = random.below(THREADS as u64) as usize;
                if !started[child] {
                    started[child] = true;
                    push(&mut recorded, thread, Action::Start { child: ThreadId(child as u32) }, segment, Order::Free);
                    push(&mut recorded, child, Action::ThreadBegin, 0, Order::AfterStart);
                } else if ended[child] {
                    push(&mut recorded, thread, Action::Join { child: ThreadId(child as u32) }, segment, Order::Free);
                }
            }
            10 if thread != 0 && random.below(20) == 0 && !holders.contains(&Some(thread)) => {
                ended[thread] = true;
                push(&mut recorded, thread, Action::ThreadEnd, segment, Order::Free);
            }
            _ => {
                // A barrier that all running threads pass together.
                if random.below(10) == 0 {
                    let generation = recorded.events.len() as u32;
                    let barrier = BarrierId(0);
                    let there: Vec<usize> = (0..THREADS).filter(|&one| started[one] && !ended[one]).collect();
                    for (number, &one) in there.iter().enumerate() {
                        let action = Action::Arrive { barrier, generation };
                        push(&mut recorded, one, action, segments[one], Order::Arrival(number as u32));
                    }
                    let order = Order::AfterArrivals(there.len() as u32);
                    for &one in there.iter().rev() {
                        push(&mut recorded, one, Action::Leave { barrier, generation }, segments[one], order);
                        segments[one] += 1;
                    }
                }
            }
        }
    }
    recorded
}

fn names() -> Tables {
    let mut tables = Tables::default();
    for number in 0..THREADS {
        tables.add_thread(&format!("T{number}"));
    }
    for number in 0..12 {
        tables.add_variable(&format!("x{number}"));
        tables.add_lock(&format!("l{number}"));
    }
    tables.add_barrier("gate");
    tables
}

/// The streams in chunks of random size, threads in random order.
fn write(random: &mut Random, streams: &[Vec<(Event, u64, Order)>]) -> Vec<u8> {
    let tables = names();
    let mut writer = StreamWriter::new(Vec::new()).unwrap();
    let mut done = vec![0; streams.len()];
    while done.iter().zip(streams).any(|(done, stream)| *done < stream.len()) {
        let thread = random.below(streams.len() as u64) as usize;
        let left = &streams[thread][done[thread]..];
        let count = left.len().min(1 + random.below(60) as usize);
        if count > 0 {
            writer.chunk(ThreadId(thread as u32), &left[..count], &tables).unwrap();
            done[thread] += count;
        }
    }
    writer.finish().unwrap()
}

/// What two events have in common if their order matters.
fn tied(one: &Event, other: &Event) -> bool {
    if one.thread == other.thread {
        return true;
    }
    let touched = |event: &Event| match event.action {
        Action::Read { variable } | Action::Write { variable } | Action::Sync { variable, .. } => Some((0, variable.0)),
        Action::Acquire { lock, .. } | Action::Release { lock, .. } => Some((1, lock.0)),
        _ => None,
    };
    if touched(one).is_some() && touched(one) == touched(other) {
        return true;
    }
    match (one.action, other.action) {
        (Action::Start { child }, _) => child == other.thread,
        (_, Action::Join { child }) => child == one.thread,
        (Action::Arrive { generation: first, .. }, Action::Leave { generation: second, .. }) => first == second,
        _ => false,
    }
}

#[test]
fn merged_streams_agree_with_the_run_wherever_order_matters() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let recorded = record(&mut random, 400);
        let whole = read(&write(&mut random, &recorded.streams)).unwrap();
        assert!(whole.problems.is_empty(), "seed {seed}: {:?}", whole.problems);
        assert_eq!(whole.out_of_order, 0, "seed {seed}");
        assert_eq!(whole.events.len(), recorded.events.len());
        // Each event of the merged order is matched with the same thread's event of the same number in the run.
        let mut numbers = [0; THREADS];
        let mut merged = Vec::new();
        for event in &whole.events {
            let thread = event.thread.index();
            let mut of_thread = recorded.events.iter().enumerate().filter(|(_, other)| other.thread == event.thread);
            let (position, original) = of_thread.nth(numbers[thread]).unwrap();
            numbers[thread] += 1;
            assert_eq!(event, original, "seed {seed}: program order");
            merged.push(position);
        }
        for later in 0..merged.len() {
            for earlier in 0..later {
                let (first, second) = (merged[earlier], merged[later]);
                if first > second {
                    let swapped = (&recorded.events[second], &recorded.events[first]);
                    assert!(!tied(swapped.0, swapped.1), "seed {seed}: {swapped:?} changed places");
                }
            }
        }
    }
}

#[test]
fn streams_with_a_missing_chunk_are_merged_as_far_as_possible() {
    let mut random = Random::new(9);
    let mut recorded = record(&mut random, 600);
    // The second quarter of one thread's events never reached the disk.
    let length = recorded.streams[0].len();
    recorded.streams[0].drain(length / 4..length / 2);
    let count: usize = recorded.streams.iter().map(Vec::len).sum();
    let whole = read(&write(&mut random, &recorded.streams)).unwrap();
    assert_eq!(whole.events.len(), count, "nothing that was written is lost");
    assert!(whole.out_of_order > 0, "and it is told that the order is in doubt");
}
