//! The recorded form says what the agent's files say, whatever becomes of it on the way.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use trace::{Action, Events, Reader};

use super::*;
use crate::layout::{CHUNK_HEAD, CHUNK_MARK, EVENTS, FREE_MARK, PACKED, ROWS, chunk_head};
use crate::packed::{Block, Keeper, packed_header};
use crate::{Follow, LiveEvents, Row, put_row, record};

const SIZE: usize = 4096;

/// A chunk as the agent leaves it.
struct Chunk {
    thread: u32,
    number: u64,
    records: Vec<u64>,
    mark: u64,
}

fn temporary() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("fissure-recording-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn rows() -> Vec<Row> {
    let thread = |number, name: &str| Row::Thread { number, name: name.to_owned() };
    let name = "value".to_owned();
    vec![thread(1, "main"), thread(2, "other"), Row::Field { number: 1, owner: "Box".to_owned(), name }, Row::End]
}

fn bytes_of(rows: &[Row]) -> Vec<u8> {
    rows.iter().fold(Vec::new(), |mut bytes, row| {
        put_row(&mut bytes, row);
        bytes
    })
}

/// Two threads that take turns at a lock. The first does little and never fills its chunk, though the other one, which it
/// starts, fills several.
fn chunks() -> Vec<Chunk> {
    let head = |operation: u8, more: u64| u64::from(operation) | 1 << 6 | more << 8;
    let lock = |turn: u64| [head(record::ACQUIRE, 0), 7, turn];
    let field = [u64::from(record::FIELD_WRITE) | 1 << 8, 9];
    let release = [head(record::RELEASE_LAST, 0)];
    let mut main = vec![head(record::THREAD_BEGIN, 0), 0, head(record::START, 0), 2];
    let mut others = vec![vec![head(record::THREAD_BEGIN, 1), 0]];
    for turn in 0..120 {
        let to = if turn % 40 == 39 { &mut main } else { others.last_mut().unwrap() };
        to.extend(lock(turn * 2));
        to.extend(field);
        to.extend(release);
        if turn % 30 == 29 {
            others.push(Vec::new());
        }
    }
    let mut all = vec![Chunk { thread: 1, number: 0, records: main, mark: CHUNK_MARK }];
    for (number, records) in others.into_iter().enumerate() {
        all.push(Chunk { thread: 2, number: number as u64 + 1, records, mark: CHUNK_MARK });
    }
    all
}

/// The folder of a JVM with these chunks.
fn write_folder(folder: &Path, chunks: &[Chunk]) {
    let mut events = Vec::new();
    for chunk in chunks {
        let begin = events.len();
        events.extend_from_slice(&chunk.mark.to_le_bytes());
        for number in chunk_head(chunk.thread, SIZE as u32, chunk.number) {
            events.extend_from_slice(&number.to_le_bytes());
        }
        events.resize(begin + CHUNK_HEAD, 0);
        for number in &chunk.records {
            events.extend_from_slice(&number.to_le_bytes());
        }
        assert!(events.len() <= begin + SIZE - 8);
        events.resize(begin + SIZE, 0);
    }
    fs::write(folder.join(EVENTS), events).unwrap();
    fs::write(folder.join(ROWS), bytes_of(&rows())).unwrap();
}

fn packed(chunks: &[&Chunk]) -> Vec<u8> {
    let mut all = packed_header().to_vec();
    let mut block = Block::default();
    block.rows(&bytes_of(&rows()));
    all.extend_from_slice(block.bytes());
    let mut segments: FxHashMap<u32, u64> = FxHashMap::default();
    for chunk in chunks {
        let segment = segments.entry(chunk.thread).or_default();
        block.records(chunk.thread, chunk.number, segment, &chunk.records);
        all.extend_from_slice(block.bytes());
    }
    all
}

struct Told {
    events: Vec<String>,
    problems: Vec<String>,
    lost: u64,
    out_of_order: u64,
}

fn read(input: impl Read) -> Told {
    let mut reader = Reader::new(input).unwrap();
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.next(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        events.extend(batch.iter().map(|event| match event.action {
            Action::Lost { all: true, .. } => "lost".to_owned(),
            _ => format!("{} {:?}", reader.tables().thread_name(event.thread), event.action),
        }));
    }
    let problems = reader.problems();
    Told {
        events,
        problems: problems.listed().iter().map(|problem| problem.message.clone()).collect(),
        lost: problems.lost_events(),
        out_of_order: reader.out_of_order(),
    }
}

fn read_packed(bytes: Vec<u8>) -> Told {
    read(Unpacked::new(Source::Bytes(bytes)).unwrap())
}

#[test]
fn it_says_what_the_agents_files_say() {
    let chunks = chunks();
    let folder = temporary();
    write_folder(&folder, &chunks);
    let expected = read(Follow::new(&folder).unwrap().reader(|| false));
    assert!(expected.problems.is_empty() && expected.out_of_order == 0 && expected.events.len() == 363);
    // What is full is packed by the agent, in the order in which it became full; the rest is added at the end.
    for full in 0..chunks.len() {
        let trace = folder.join("t.trace");
        let done: Vec<&Chunk> = chunks[1..].iter().take(full).collect();
        fs::write(&trace, packed(&done)).unwrap();
        let left = chunks.iter().map(|chunk| {
            let mark = if done.iter().any(|done| done.number == chunk.number) { FREE_MARK } else { CHUNK_MARK };
            Chunk { mark, records: chunk.records.clone(), ..*chunk }
        });
        write_folder(&folder, &left.collect::<Vec<Chunk>>());
        let about = Keeper::new(&folder).finish(&trace).unwrap();
        assert_eq!((about.events, about.ended), (expected.events.len() as u64, true));
        for source in [Source::File(File::open(&trace).unwrap()), Source::Bytes(fs::read(&trace).unwrap())] {
            let told = read(Unpacked::new(source).unwrap());
            assert_eq!((told.events.len(), told.out_of_order), (expected.events.len(), 0));
            assert!(told.problems.is_empty(), "{:?}", told.problems);
            let of = |told: &[String], thread: &str| -> Vec<String> {
                told.iter().filter(|event| event.starts_with(thread)).cloned().collect()
            };
            for thread in ["main", "other"] {
                assert_eq!(of(&told.events, thread), of(&expected.events, thread));
            }
            let locks = |told: &[String]| -> Vec<String> {
                told.iter().filter(|event| event.contains("cquire")).cloned().collect()
            };
            assert_eq!(locks(&told.events), locks(&expected.events));
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The JVM was killed while a thread appended a block. Its chunk is still there, and nothing is lost.
#[test]
fn a_block_that_was_being_written_is_written_again() {
    let chunks = chunks();
    let folder = temporary();
    write_folder(&folder, &chunks);
    let begun = packed(&[&chunks[1]]);
    let end = begun.len() - 1;
    let start = packed(&[]).len();
    for cut in (start..end).step_by(13) {
        let trace = folder.join(PACKED);
        fs::write(&trace, &begun[..cut]).unwrap();
        let about = Keeper::new(&folder).finish(&trace).unwrap();
        assert_eq!(about.events, 363, "cut at {cut}");
        let told = read_packed(fs::read(&trace).unwrap());
        let gaps = told.events.iter().filter(|event| *event == "lost").count();
        assert_eq!((told.events.len() - gaps, told.out_of_order, told.lost), (363, 0, 0), "cut at {cut}");
        // Of less than a head nobody knows what it was.
        assert_eq!(told.problems.len(), usize::from(cut > start && cut < start + BLOCK_HEAD), "{:?}", told.problems);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_trace_that_was_cut_off_says_so() {
    let chunks = chunks();
    let told = read_packed(packed(&chunks.iter().collect::<Vec<&Chunk>>()));
    assert_eq!(told.problems, ["the trace has no end mark: its recording was cut off"]);
    assert_eq!((told.events.len(), told.out_of_order), (363, 0));
    for cut in 0..HEADER {
        assert!(Unpacked::new(Source::Bytes(packed_header()[..cut].to_vec())).is_err());
    }
    let told = read_packed(packed_header().to_vec());
    assert_eq!((told.events.len(), told.problems.len()), (0, 1));
}

/// One block that is damaged anywhere costs its own events, and all others are found.
#[test]
fn damage_costs_one_block() {
    let chunks = chunks();
    let all: Vec<&Chunk> = chunks.iter().collect();
    let whole = packed(&all);
    let start = packed(&all[..2]).len();
    let end = packed(&all[..3]).len();
    for at in (start..end).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let told = read_packed(bytes);
        assert!(told.problems.len() >= 2, "{at}: {:?}", told.problems);
        let gaps = told.events.iter().filter(|event| *event == "lost").count();
        assert_eq!((told.events.len() - gaps, gaps), (363 - 87, 1), "at {}: {:?}", at - start, told.problems);
    }
}

/// Two threads arrive at one barrier, and the main thread leaves it.
fn arrivals(first: &[u64], second: &[u64], leave_after: u64) -> Vec<Chunk> {
    let head = |operation: u8, more: u64| u64::from(operation) | 1 << 6 | more << 8;
    let barrier = |operation: u8, numbers: &[u64]| [&[head(operation, 0), 7, 1], numbers].concat();
    let arrive =
        |numbers: &[u64]| barrier(if numbers.is_empty() { record::ARRIVE_UNNUMBERED } else { record::ARRIVE }, numbers);
    let main = barrier(record::LEAVE, &[leave_after]);
    let all = [(1, main), (2, arrive(first)), (3, arrive(second))];
    let chunk = |(number, (thread, records))| Chunk { thread, number: number as u64, records, mark: CHUNK_MARK };
    all.into_iter().enumerate().map(chunk).collect()
}

/// A leave comes after the arrival that it names, and not after as many others.
#[test]
fn a_leave_comes_after_the_arrivals_of_lower_numbers() {
    for (first, second, leave_after, order, out_of_order) in [
        (&[0][..], &[1][..], 1, ["arrive", "leave", "arrive"], 0),
        (&[1], &[0], 1, ["arrive", "arrive", "leave"], 0),
        // Traces of older versions count.
        (&[], &[], 1, ["arrive", "leave", "arrive"], 0),
        (&[], &[], 2, ["arrive", "arrive", "leave"], 0),
        // A thread that was killed never wrote the arrival of number 0.
        (&[1], &[2], 3, ["arrive", "arrive", "leave"], 1),
    ] {
        let chunks = arrivals(first, second, leave_after);
        let told = read_packed(packed(&chunks.iter().collect::<Vec<_>>()));
        let name = |event: &String| if event.contains("Arrive") { "arrive" } else { "leave" };
        let names: Vec<&str> = told.events.iter().map(name).collect();
        assert_eq!((names.as_slice(), told.out_of_order), (order.as_slice(), out_of_order), "{:?}", told.events);
    }
}

/// Records that become events when their turn comes tell the same as the trace that is made of them.
#[test]
fn events_are_the_same_without_a_trace_in_between() {
    let folder = temporary();
    write_folder(&folder, &chunks());
    let expected = read(Follow::new(&folder).unwrap().reader(|| false));
    let mut follow = Follow::consuming(&folder).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    while follow.poll().unwrap() {
        sender.send(Ok(follow.pieces())).unwrap();
    }
    drop(sender);
    let mut live = LiveEvents::new(receiver);
    let (mut told, mut batch) = (Vec::new(), Vec::new());
    loop {
        live.fill(&mut batch, 16).unwrap();
        if batch.is_empty() {
            break;
        }
        let tables = live.tables();
        told.extend(batch.iter().map(|event| format!("{} {:?}", tables.thread_name(event.thread), event.action)));
    }
    fs::remove_dir_all(folder).unwrap();
    assert_eq!((told, live.out_of_order(), live.broken()), (expected.events, 0, 0));
}

#[test]
fn what_a_newer_version_wrote_is_refused() {
    let mut newer = packed_header().to_vec();
    newer[8] += 1;
    let refused = Unpacked::new(Source::Bytes(newer)).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|message| message.contains("use a newer fissure")));
}
