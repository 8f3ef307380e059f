//! Measures the readers and the detector on made-up runs, and prints one line a figure.
//!
//! The runs are serializable and yet busy: every unit takes its locks before its first access and keeps them to its last,
//! units of different threads overlap in time, and the same variables go from thread to thread.
//!
//! `cargo run --release -p detect-dynamic --example bench [MILLIONS]`

#![allow(clippy::print_stdout, reason = "printing figures is all it does")]

use std::io::Read;
use std::time::{Duration, Instant};

use detect_dynamic::{DETECTORS, Options, feed};
use trace::{
    Action, ActivationId, Cause, Event, LockId, Mode, OrderedWriter, Reader, SectionId, SiteId, StackId, Tables,
    TextWriter, ThreadId, UnitId, VariableId,
};

fn main() {
    let millions = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(30);
    let length = millions * 1_000_000;
    let base = Run { threads: 8, variables: 1_000, length };
    let binary = base.binary();
    println!(
        "{} threads, {} variables: {:.1} bytes an event",
        base.threads,
        base.variables,
        binary.len() as f64 / length as f64
    );
    let reading = read(&binary);
    println!("binary, reading alone        {}", rate(length, reading));
    println!("binary, 8 threads            {}", rate(length, analyse(&binary)));
    println!("the same by reduction        {}", rate(length, analyse_by("reduction", &binary)));
    println!("the same by hybrid           {}", rate(length, analyse_by("hybrid", &binary)));
    let many = Run { threads: 64, ..base }.binary();
    let (eight, sixty_four) = analyse_in_turn(&binary, &many);
    println!("binary, 64 threads           {}, {}", rate(length, sixty_four), ratio(sixty_four, eight));
    drop(many);
    let wide = Run { variables: 1_000_000, ..base }.binary();
    let (thousand, million) = analyse_in_turn(&binary, &wide);
    println!("binary, 1,000,000 variables  {}, {}", rate(length, million), ratio(million, thousand));
    drop(binary);
    println!("the same, reading alone      {}", rate(length, read(&wide)));
    println!("the same by reduction        {}", rate(length, analyse_by("reduction", &wide)));
    println!("the same by hybrid           {}", rate(length, analyse_by("hybrid", &wide)));
    drop(wide);
    let text = base.text();
    let from_text = analyse(&text);
    println!("text, 8 threads              {}", rate(length, from_text));
    drop(text);
    for part in [length / 10, length] {
        let before = resident();
        // Made while it is read: the trace is never in memory.
        let taken = analyse_from("serializability", Endless::new(Run { length: part, ..base }));
        println!(
            "made while read, {:>9} events: {}, memory grew by {} kB",
            part,
            rate(part, taken),
            resident().saturating_sub(before)
        );
    }
}

#[derive(Clone, Copy)]
struct Run {
    threads: u32,
    variables: u32,
    length: usize,
}

/// Events of a serializable run, one after the other.
struct Events {
    run: Run,
    state: u64,
    made: usize,
    /// For each thread: its unit's events that are still to come, last first.
    plans: Vec<Vec<(Action, SiteId)>>,
    /// For each lock: who holds it.
    holders: Vec<Option<usize>>,
    current: usize,
}

impl Events {
    const LOCKS: u32 = 256;

    fn new(run: Run) -> Events {
        Events {
            run,
            state: 0x9e37_79b9_7f4a_7c15,
            made: 0,
            plans: vec![Vec::new(); run.threads as usize],
            holders: vec![None; Events::LOCKS as usize],
            current: 0,
        }
    }

    fn random(&mut self, limit: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (((self.state >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A unit: begin, a lock, accesses to variables that the lock guards, release, end.
    fn plan(&mut self) -> Vec<(Action, SiteId)> {
        let lock = self.random(Events::LOCKS);
        let site = 1 + self.random(300) * 8;
        let mut plan = vec![
            (Action::UnitEnd { unit: UnitId(0) }, SiteId(site + 7)),
            (Action::Release { lock: LockId(lock), mode: Mode::Exclusive, cause: Cause::Section }, SiteId(site + 6)),
        ];
        // Which variables a lock guards is fixed, so units on one lock are in order and others do not meet. A unit uses a
        // few of them, however many there are: a program does not do more at once because its heap is larger.
        let per_lock = (self.run.variables / Events::LOCKS).max(1);
        let used: [u32; 4] = std::array::from_fn(|_| lock + self.random(per_lock) * Events::LOCKS);
        for _ in 0..4 + self.random(12) {
            let variable = VariableId(used[self.random(used.len() as u32) as usize]);
            let place = SiteId(site + 2 + self.random(4));
            let action = if self.random(4) == 0 { Action::Write { variable } } else { Action::Read { variable } };
            plan.push((action, place));
        }
        plan.push((
            Action::Acquire {
                lock: LockId(lock),
                mode: Mode::Exclusive,
                cause: Cause::Section,
                section: SectionId(0),
                activation: ActivationId(0),
            },
            SiteId(site + 1),
        ));
        plan.push((Action::UnitBegin { unit: UnitId(0), activation: ActivationId(0) }, SiteId(site)));
        plan
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.made == self.run.length {
            return None;
        }
        loop {
            // A thread runs a few events before another one does.
            if self.random(3) == 0 {
                self.current = self.random(self.run.threads) as usize;
            }
            let thread = self.current;
            if self.plans[thread].is_empty() {
                self.plans[thread] = self.plan();
            }
            let Some(&(action, site)) = self.plans[thread].last() else { continue };
            match action {
                Action::Acquire { lock, .. } => match &mut self.holders[lock.index()] {
                    Some(_) => {
                        self.current = self.random(self.run.threads) as usize;
                        continue;
                    }
                    free => *free = Some(thread),
                },
                Action::Release { lock, .. } => self.holders[lock.index()] = None,
                _ => {}
            }
            self.plans[thread].pop();
            self.made += 1;
            return Some(Event { thread: ThreadId(thread as u32), site, stack: StackId(0), action });
        }
    }
}

impl Run {
    fn tables(self) -> Tables {
        let mut tables = Tables::default();
        for thread in 0..self.threads {
            tables.add_thread(&format!("worker-{thread}"));
        }
        for variable in 0..self.variables.max(Events::LOCKS) {
            tables.add_variable(&format!("bank.Account.balance@{}", variable + 1));
        }
        for lock in 0..Events::LOCKS {
            tables.add_lock(&format!("bank.Account@{}", lock + 1));
        }
        for site in 1..=2408 {
            tables.add_site(&format!("bank.Account.move(Account.java:{site})"));
        }
        tables
    }

    fn binary(self) -> Vec<u8> {
        let tables = self.tables();
        let mut writer = OrderedWriter::new(Vec::new()).expect("a vector can be written");
        for event in Events::new(self) {
            writer.event(&event, &tables).expect("a vector can be written");
        }
        writer.finish(&tables).expect("a vector can be written")
    }

    fn text(self) -> Vec<u8> {
        let tables = self.tables();
        let mut writer = TextWriter::new(Vec::new());
        for event in Events::new(self) {
            writer.event(&event, &tables).expect("a vector can be written");
        }
        writer.finish().expect("a vector can be written")
    }
}

/// A binary trace that is made as it is read.
struct Endless {
    events: Events,
    tables: Tables,
    writer: Option<OrderedWriter<Vec<u8>>>,
    ready: Vec<u8>,
    given: usize,
}

impl Endless {
    fn new(run: Run) -> Endless {
        let writer = OrderedWriter::new(Vec::new()).expect("a vector can be written");
        Endless { events: Events::new(run), tables: run.tables(), writer: Some(writer), ready: Vec::new(), given: 0 }
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.ready.len() {
            let Some(writer) = &mut self.writer else { return Ok(0) };
            for _ in 0..10_000 {
                match self.events.next() {
                    Some(event) => writer.event(&event, &self.tables)?,
                    None => {
                        self.ready = self.writer.take().map_or(Ok(Vec::new()), |writer| writer.finish(&self.tables))?;
                        self.given = 0;
                        break;
                    }
                }
            }
            if let Some(writer) = &mut self.writer {
                self.ready = std::mem::take(writer.output());
                self.given = 0;
            }
        }
        let length = buffer.len().min(self.ready.len() - self.given);
        buffer[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}

fn read(bytes: &[u8]) -> Time {
    let watch = Watch::start();
    let mut reader = Reader::new(bytes).expect("a trace");
    let mut batch = Vec::new();
    let mut count = 0;
    loop {
        reader.next(&mut batch).expect("a trace");
        if batch.is_empty() {
            break;
        }
        count += std::hint::black_box(&batch).len();
    }
    assert!(count > 0);
    watch.stop()
}

fn analyse(bytes: &[u8]) -> Time {
    analyse_by("serializability", bytes)
}

/// Two traces in turn, the best of five each: what else the machine does is the same for both.
fn analyse_in_turn(one: &[u8], other: &[u8]) -> (Time, Time) {
    let times: Vec<(Time, Time)> = (0..5).map(|_| (analyse_once(one), analyse_once(other))).collect();
    (best(times.iter().map(|times| times.0)), best(times.iter().map(|times| times.1)))
}

fn analyse_once(bytes: &[u8]) -> Time {
    analyse_from("serializability", bytes)
}

/// Least time and least processor time, which need not be of the same run.
fn best(times: impl Iterator<Item = Time>) -> Time {
    let least =
        |one: Time, other: Time| Time { wall: one.wall.min(other.wall), processor: one.processor.min(other.processor) };
    times.reduce(least).unwrap_or_default()
}

fn analyse_by(detector: &str, bytes: &[u8]) -> Time {
    // The best of three: another process may have been in the way.
    best((0..3).map(|_| analyse_from(detector, bytes)))
}

fn analyse_from(detector: &str, input: impl Read + Send) -> Time {
    let watch = Watch::start();
    let mut reader = Reader::new(input).expect("a trace");
    let kind = DETECTORS.iter().find(|kind| kind.id == detector).expect("a detector of that name");
    let mut detector = (kind.start)(&Options::default());
    feed(&mut reader, |events| detector.on_events(events)).expect("a trace");
    assert!(reader.problems().is_empty());
    let findings = detector.finish(reader.tables());
    assert!(findings.is_empty(), "the run is serializable");
    watch.stop()
}

/// Reading and judging run side by side, so processor time is more than wall time on an idle machine. Where others run,
/// too, it says more.
#[derive(Clone, Copy, Default)]
struct Time {
    wall: Duration,
    processor: Duration,
}

struct Watch {
    wall: Instant,
    processor: Duration,
}

impl Watch {
    fn start() -> Watch {
        Watch { wall: Instant::now(), processor: processor_time() }
    }

    fn stop(&self) -> Time {
        Time { wall: self.wall.elapsed(), processor: processor_time() - self.processor }
    }
}

/// Processor time of this process; 0 where the system does not tell.
fn processor_time() -> Duration {
    const TICKS_A_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS_A_SECOND)
}

fn rate(events: usize, taken: Time) -> String {
    let wall = taken.wall.as_secs_f64();
    let processor = taken.processor.as_secs_f64();
    format!("{wall:5.2} s, {:5.1} million events a second, processor {processor:5.2} s", events as f64 / wall / 1e6)
}

fn ratio(one: Time, other: Time) -> String {
    let (wall, processor) = (one.wall.as_secs_f64(), one.processor.as_secs_f64());
    let of = (other.wall.as_secs_f64(), other.processor.as_secs_f64());
    format!("{:.2} times, {:.2} of processor time", wall / of.0, processor / of.1)
}

/// Memory of this process in kB, where the system tells it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}
