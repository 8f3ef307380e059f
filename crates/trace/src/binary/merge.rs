//! Puts the streams of threads in one order that the run had.
//!
//! The next event of each thread waits until all that must come before it has been handed out: the turns of a lock, the
//! accesses that a replaced word counts, the reads since the last write, arrivals, the start of a thread, the end of a
//! joined one, lower numbers of a volatile's counter. All these were real moments of the run, so some thread can always
//! go on, unless events are missing. Only chunks that wait are in memory: how many depends on how long a thread may keep
//! its buffer, not on the length of the trace.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Decoder, Item, Limits};
use super::order::Order;
use crate::{Action, BarrierId, Event, LockId, ThreadId, VariableId};

/// What a waiting thread waits for. It is woken when something of this kind happens, and looks again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wait {
    Turn(LockId),
    Thread(ThreadId),
    Reads(VariableId),
    Numbers(VariableId),
    Arrivals(BarrierId, u32),
    Start(ThreadId),
    End(ThreadId),
}

struct Stream {
    chunks: VecDeque<Vec<u8>>,
    decoder: Decoder,
    /// Decoded and not yet handed out.
    next: Option<(Event, Order)>,
    segment: u64,
    /// Kept reads and writes of this segment, by variable. Older segments need no entry: having left a segment says
    /// that all its accesses came.
    counts: FxHashMap<VariableId, (u8, u8)>,
    /// Whether the thread is in the queue, as against parked or out of chunks.
    queued: bool,
}

/// Numbers of a variable's counter that were handed out: all below `next`, and those in `ahead`.
#[derive(Default)]
struct Numbers {
    next: u64,
    ahead: BTreeSet<u64>,
}

#[derive(Default)]
pub(super) struct Merger {
    streams: FxHashMap<ThreadId, Stream>,
    queue: VecDeque<ThreadId>,
    parked: FxHashMap<Wait, Vec<ThreadId>>,
    turns: FxHashMap<LockId, u64>,
    /// Reads of fields that are read by many, since the last write.
    reads: FxHashMap<VariableId, u64>,
    numbers: FxHashMap<VariableId, Numbers>,
    arrivals: FxHashMap<(BarrierId, u32), u32>,
    started: FxHashSet<ThreadId>,
    ended: FxHashSet<ThreadId>,
    bytes: usize,
    /// Events handed out although something before them is missing.
    pub(super) forced: u64,
    /// Chunks whose bytes made no sense in spite of their checksum.
    pub(super) broken: u64,
}

impl Merger {
    /// Bytes that wait. Beyond [`Merger::MOST`] something is missing, and order is given up rather than memory.
    pub(super) const MOST: usize = 1 << 28;

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn add(&mut self, thread: ThreadId, payload: Vec<u8>) {
        self.bytes += payload.len();
        let stream = self.streams.entry(thread).or_insert_with(|| Stream {
            chunks: VecDeque::new(),
            decoder: Decoder::new(thread),
            next: None,
            segment: 0,
            counts: FxHashMap::default(),
            queued: false,
        });
        stream.chunks.push_back(payload);
        if !stream.queued && stream.next.is_none() {
            stream.queued = true;
            self.queue.push_back(thread);
        }
    }

    /// Appends events that can come now, up to `limit` in all. Appends none if every thread waits or is out of chunks.
    pub(super) fn drain(&mut self, limits: &Limits, batch: &mut Vec<Event>, limit: usize) {
        while batch.len() < limit {
            let Some(thread) = self.queue.pop_front() else { return };
            self.run(thread, limits, batch, limit);
        }
    }

    /// Hands out one event that waits for something missing. False if none waits.
    pub(super) fn force(&mut self, batch: &mut Vec<Event>) -> bool {
        // The lowest thread, so that the same bytes always give the same order.
        let waiting = self.streams.iter().filter(|(_, stream)| stream.next.is_some() && !stream.queued);
        let Some(thread) = waiting.map(|(&thread, _)| thread).min() else { return false };
        self.parked.retain(|_, threads| {
            threads.retain(|&parked| parked != thread);
            !threads.is_empty()
        });
        self.forced += 1;
        if let Some(stream) = self.streams.get_mut(&thread)
            && let Some((event, order)) = stream.next.take()
        {
            stream.queued = true;
            self.queue.push_back(thread);
            self.emit(event, order, batch);
        }
        true
    }

    /// Hands out events of one thread until it must wait.
    fn run(&mut self, thread: ThreadId, limits: &Limits, batch: &mut Vec<Event>, limit: usize) {
        loop {
            let Some(stream) = self.streams.get_mut(&thread) else { return };
            if batch.len() >= limit {
                self.queue.push_front(thread);
                return;
            }
            let segment = stream.segment;
            if stream.next.is_none() && !advance(stream, &mut self.bytes, &mut self.broken, thread, limits) {
                stream.queued = false;
                return;
            }
            if stream.segment != segment {
                // Others may wait for no more than that, and this thread may now wait for them.
                self.wake(Wait::Thread(thread));
            }
            let Some(stream) = self.streams.get_mut(&thread) else { return };
            let Some((event, order)) = stream.next else { continue };
            if let Some(wait) = self.wait(&event, order) {
                if let Some(stream) = self.streams.get_mut(&thread) {
                    stream.queued = false;
                }
                self.parked.entry(wait).or_default().push(thread);
                return;
            }
            if let Some(stream) = self.streams.get_mut(&thread) {
                stream.next = None;
            }
            self.emit(event, order, batch);
        }
    }

    /// What must come before this event and has not yet.
    fn wait(&self, event: &Event, order: Order) -> Option<Wait> {
        match order {
            Order::Free => {}
            Order::Turn(turn) => {
                if let Action::Acquire { lock, .. } | Action::Release { lock, .. } = event.action
                    && turn > self.turns.get(&lock).copied().unwrap_or(0)
                {
                    return Some(Wait::Turn(lock));
                }
            }
            Order::AfterWord { thread, segment, reads, writes } => {
                let variable = variable_of(event)?;
                if thread != event.thread && !self.came(variable, thread, segment, (reads, writes)) {
                    return Some(Wait::Thread(thread));
                }
            }
            Order::AfterReads { thread, segment, reads, count } => {
                let variable = variable_of(event)?;
                if thread != event.thread && !self.came(variable, thread, segment, (reads, 0)) {
                    return Some(Wait::Thread(thread));
                }
                if self.reads.get(&variable).copied().unwrap_or(0) < count {
                    return Some(Wait::Reads(variable));
                }
            }
            Order::AfterArrivals(count) => {
                if let Action::Leave { barrier, generation } = event.action
                    && self.arrivals.get(&(barrier, generation)).copied().unwrap_or(0) < count
                {
                    return Some(Wait::Arrivals(barrier, generation));
                }
            }
            Order::AfterStart => {
                if !self.started.contains(&event.thread) {
                    return Some(Wait::Start(event.thread));
                }
            }
        }
        match event.action {
            Action::Join { child } if !self.ended.contains(&child) => Some(Wait::End(child)),
            Action::Sync { variable, interval: Some(interval), .. }
                if self.numbers.get(&variable).map_or(0, |numbers| numbers.next) < interval.before() =>
            {
                Some(Wait::Numbers(variable))
            }
            _ => None,
        }
    }

    /// Whether the accesses that a word counts were handed out.
    fn came(&self, variable: VariableId, thread: ThreadId, segment: u64, counted: (u8, u8)) -> bool {
        let Some(stream) = self.streams.get(&thread) else { return self.ended.contains(&thread) };
        let counts = stream.counts.get(&variable).copied().unwrap_or((0, 0));
        stream.segment > segment
            || stream.segment == segment && counts.0 >= counted.0 && counts.1 >= counted.1
            || self.ended.contains(&thread)
    }

    /// Hands out an event, notes what it brings about, and wakes who waited for that.
    fn emit(&mut self, event: Event, order: Order, batch: &mut Vec<Event>) {
        let thread = event.thread;
        batch.push(event);
        if let (Order::Turn(turn), Action::Acquire { lock, .. } | Action::Release { lock, .. }) = (order, event.action)
        {
            let next = self.turns.entry(lock).or_insert(0);
            *next = (*next).max(turn.saturating_add(1));
            self.wake(Wait::Turn(lock));
        }
        match event.action {
            Action::Read { variable } => {
                self.count(thread, variable, (1, 0));
                if matches!(order, Order::AfterWord { writes: 0, .. }) {
                    *self.reads.entry(variable).or_insert(0) += 1;
                    self.wake(Wait::Reads(variable));
                }
            }
            Action::Write { variable } => {
                self.reads.remove(&variable);
                self.count(thread, variable, (0, 1));
            }
            Action::Sync { variable, interval: Some(interval), .. } => {
                let numbers = self.numbers.entry(variable).or_default();
                // Forced out of turn, nothing below can come any more.
                numbers.next = numbers.next.max(interval.before());
                numbers.ahead.extend([interval.before(), interval.after()]);
                while numbers.ahead.first().is_some_and(|&first| first <= numbers.next) {
                    if numbers.ahead.pop_first() == Some(numbers.next) {
                        numbers.next += 1;
                    }
                }
                self.wake(Wait::Numbers(variable));
            }
            Action::Arrive { barrier, generation } => {
                *self.arrivals.entry((barrier, generation)).or_insert(0) += 1;
                // Nobody arrives at a generation while others have yet to leave the one two before it.
                if let Some(old) = generation.checked_sub(2) {
                    self.arrivals.remove(&(barrier, old));
                }
                self.wake(Wait::Arrivals(barrier, generation));
            }
            Action::Start { child } => {
                self.started.insert(child);
                self.wake(Wait::Start(child));
            }
            Action::ThreadBegin => {
                self.started.remove(&thread);
            }
            Action::ThreadEnd => {
                self.ended.insert(thread);
                self.wake(Wait::End(thread));
            }
            _ => {}
        }
        self.wake(Wait::Thread(thread));
        if event.action == Action::ThreadEnd {
            let over = self.streams.get(&thread).is_some_and(|stream| stream.chunks.is_empty());
            if over {
                self.queue.retain(|&queued| queued != thread);
                self.streams.remove(&thread);
            }
        }
    }

    fn count(&mut self, thread: ThreadId, variable: VariableId, more: (u8, u8)) {
        if let Some(stream) = self.streams.get_mut(&thread) {
            let counts = stream.counts.entry(variable).or_insert((0, 0));
            *counts = (counts.0.saturating_add(more.0), counts.1.saturating_add(more.1));
        }
    }

    fn wake(&mut self, wait: Wait) {
        for thread in self.parked.remove(&wait).into_iter().flatten() {
            if let Some(stream) = self.streams.get_mut(&thread) {
                stream.queued = true;
                self.queue.push_back(thread);
            }
        }
    }
}

/// Decodes up to the stream's next event. False if it is out of chunks.
fn advance(stream: &mut Stream, bytes: &mut usize, broken: &mut u64, thread: ThreadId, limits: &Limits) -> bool {
    while let Some(chunk) = stream.chunks.front() {
        match stream.decoder.stream(chunk, limits) {
            Some(Some(Item::Event(event, order))) => {
                stream.next = Some((event, order));
                return true;
            }
            Some(Some(Item::Segment(segment))) => {
                if segment != stream.segment {
                    stream.segment = segment;
                    stream.counts.clear();
                }
                continue;
            }
            Some(None) => {}
            None => *broken += 1,
        }
        *bytes -= chunk.len();
        stream.chunks.pop_front();
        stream.decoder = Decoder::new(thread);
    }
    false
}

fn variable_of(event: &Event) -> Option<VariableId> {
    match event.action {
        Action::Read { variable } | Action::Write { variable } => Some(variable),
        _ => None,
    }
}
