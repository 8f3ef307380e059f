//! Puts the streams of threads in one order that the run had.
//!
//! The next event of each thread waits until all that must come before it has been handed out: the turns of a lock, the
//! accesses that a replaced word counts, the reads since the last write, arrivals, the start of a thread, the end of a
//! joined one, lower numbers of a volatile's counter. All these were real moments of the run, so some thread can always
//! go on, unless events are missing. Only chunks that wait are in memory: how many depends on how long a thread may keep
//! its buffer, not on the length of the trace.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use super::arrivals::Arrivals;
use super::counts::Counts;
use super::items::{Item, Items};
use super::order::Order;
use crate::{Action, BarrierId, Event, LockId, Ran, ThreadId, VariableId};

/// How the chunks of threads' streams are read.
pub trait Decode {
    type Chunk;
    /// What is known of a stream while it is read.
    type State;

    /// At the start of a stream.
    fn begin(&self, thread: ThreadId) -> Self::State;

    /// Adds the next events of a chunk, as far as there is room, and none at its end; false if it makes no sense behind
    /// these.
    fn decode(&mut self, state: &mut Self::State, chunk: &Self::Chunk, items: &mut Items) -> bool;

    /// The chunk is over, and another one comes.
    fn end(&self, state: &mut Self::State);

    /// About how many bytes a chunk takes.
    fn bytes(chunk: &Self::Chunk) -> usize;
}

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

struct Stream<D: Decode> {
    chunks: VecDeque<D::Chunk>,
    state: D::State,
    /// Decoded and not yet handed out.
    items: Items,
    segment: u64,
    /// Kept reads and writes of this segment, by variable. Older segments need no entry: having left a segment says
    /// that all its accesses came.
    counts: Counts,
    /// Arms that did not run and are open: what is in them happened to nobody.
    speculated: u32,
    /// Whether the thread is in the queue, as against parked or out of chunks.
    queued: bool,
    /// Threads that are parked until this one goes on.
    awaited_by: Vec<ThreadId>,
}

impl<D: Decode> Stream<D> {
    fn new(state: D::State) -> Stream<D> {
        Stream {
            chunks: VecDeque::new(),
            state,
            items: Items::default(),
            segment: 0,
            counts: Counts::default(),
            speculated: 0,
            queued: false,
            awaited_by: Vec::new(),
        }
    }
}

/// A lock's next turn.
#[derive(Clone, Default)]
struct Turns {
    next: u64,
    /// Whether a thread is parked until its turn comes.
    is_awaited: bool,
}

/// Numbers of a variable's counter that were handed out: all below `next`, and those in `ahead`.
#[derive(Default)]
struct Numbers {
    next: u64,
    ahead: BTreeSet<u64>,
}

/// Merges streams. What reads their chunks is handed in where it is needed, so that its owner can use it, too.
pub struct Merger<D: Decode> {
    /// By thread. Readers see to it that numbers of threads and locks are not far above those that were named.
    streams: Vec<Option<Box<Stream<D>>>>,
    queue: VecDeque<ThreadId>,
    /// Threads that wait for something else than that another one goes on.
    parked: FxHashMap<Wait, Vec<ThreadId>>,
    /// By lock.
    turns: Vec<Turns>,
    /// Reads of fields that are read by many, since the last write.
    reads: FxHashMap<VariableId, u64>,
    numbers: FxHashMap<VariableId, Numbers>,
    arrivals: Arrivals,
    started: FxHashSet<ThreadId>,
    ended: FxHashSet<ThreadId>,
    bytes: usize,
    /// Events handed out although something before them is missing.
    forced: u64,
    /// Chunks that made no sense in spite of their checksum.
    broken: u64,
}

impl<D: Decode> Default for Merger<D> {
    fn default() -> Merger<D> {
        Merger {
            streams: Vec::new(),
            queue: VecDeque::new(),
            parked: FxHashMap::default(),
            turns: Vec::new(),
            reads: FxHashMap::default(),
            numbers: FxHashMap::default(),
            arrivals: Arrivals::default(),
            started: FxHashSet::default(),
            ended: FxHashSet::default(),
            bytes: 0,
            forced: 0,
            broken: 0,
        }
    }
}

impl<D: Decode> Merger<D> {
    /// Bytes that wait. If they are far too many something is missing, and order is given up rather than memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Events handed out although something before them is missing.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Chunks that made no sense from some point on.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Adds the next chunk of a thread.
    pub fn add(&mut self, decode: &D, thread: ThreadId, chunk: D::Chunk) {
        self.bytes += D::bytes(&chunk);
        let stream = self.stream(decode, thread);
        stream.chunks.push_back(chunk);
        if !stream.queued && stream.items.is_empty() {
            stream.queued = true;
            self.queue.push_back(thread);
        }
    }

    fn stream(&mut self, decode: &D, thread: ThreadId) -> &mut Stream<D> {
        let at = thread.0 as usize;
        if self.streams.len() <= at {
            self.streams.resize_with(at + 1, || None);
        }
        self.streams[at].get_or_insert_with(|| Box::new(Stream::new(decode.begin(thread))))
    }

    /// Appends events that can come now, up to `limit` in all. Appends none if every thread waits or is out of chunks.
    pub fn drain(&mut self, decode: &mut D, batch: &mut Vec<Event>, limit: usize) {
        while batch.len() < limit {
            let Some(thread) = self.queue.pop_front() else { return };
            self.run(thread, decode, batch, limit);
        }
    }

    /// Hands out one event that waits for something missing. False if none waits.
    pub fn force(&mut self, batch: &mut Vec<Event>) -> bool {
        // The lowest thread, so that the same bytes always give the same order.
        let is_waiting = |stream: &Stream<D>| !stream.items.is_empty() && !stream.queued;
        let Some(at) = self.streams.iter().position(|stream| stream.as_deref().is_some_and(is_waiting)) else {
            return false;
        };
        let thread = ThreadId(at as u32);
        self.parked.retain(|_, threads| {
            threads.retain(|&parked| parked != thread);
            !threads.is_empty()
        });
        for stream in self.streams.iter_mut().flatten() {
            stream.awaited_by.retain(|&parked| parked != thread);
        }
        self.forced += 1;
        if let Some(mut stream) = self.streams[at].take() {
            if let Some(&Item { event, order, .. }) = stream.items.next() {
                stream.queued = true;
                self.queue.push_back(thread);
                stream.items.pass();
                batch.push(event);
                self.emit(&mut stream, thread, event.action, order);
            }
            self.streams[at] = Some(stream);
        }
        true
    }

    /// Hands out events of one thread until it must wait.
    fn run(&mut self, thread: ThreadId, decode: &mut D, batch: &mut Vec<Event>, limit: usize) {
        // Apart meanwhile, so that it need not be looked up for each event.
        let Some(mut stream) = self.streams.get_mut(thread.0 as usize).and_then(Option::take) else { return };
        self.run_apart(thread, &mut stream, decode, batch, limit);
        let is_over = stream.items.is_empty() && stream.chunks.is_empty() && self.ended.contains(&thread);
        if !is_over {
            self.streams[thread.0 as usize] = Some(stream);
        }
    }

    fn run_apart(
        &mut self,
        thread: ThreadId,
        stream: &mut Stream<D>,
        decode: &mut D,
        batch: &mut Vec<Event>,
        limit: usize,
    ) {
        loop {
            if batch.len() >= limit {
                self.queue.push_front(thread);
                return;
            }
            if stream.items.is_empty() {
                self.advance(stream, decode);
            }
            let Some(item) = stream.items.next() else {
                stream.queued = false;
                return;
            };
            if stream.segment != item.segment {
                stream.segment = item.segment;
                stream.counts.clear();
                // Others may wait for no more than that, and this thread may now wait for them.
                self.wake_all(&mut stream.awaited_by);
            }
            if let Some(wait) = self.wait(&item.event, &item.order) {
                stream.queued = false;
                self.park(decode, thread, wait);
                return;
            }
            batch.push(item.event);
            let (action, order) = (item.event.action, item.order);
            stream.items.pass();
            self.emit(stream, thread, action, order);
        }
    }

    fn park(&mut self, decode: &D, thread: ThreadId, wait: Wait) {
        match wait {
            Wait::Thread(other) => return self.stream(decode, other).awaited_by.push(thread),
            Wait::Turn(lock) => self.turns(lock).is_awaited = true,
            _ => {}
        }
        self.parked.entry(wait).or_default().push(thread);
    }

    fn turns(&mut self, lock: LockId) -> &mut Turns {
        let at = lock.0 as usize;
        if self.turns.len() <= at {
            self.turns.resize(at + 1, Turns::default());
        }
        &mut self.turns[at]
    }

    /// What must come before this event and has not yet.
    #[inline(always)]
    fn wait(&self, event: &Event, order: &Order) -> Option<Wait> {
        match *order {
            Order::Free | Order::Arrival(_) => {}
            Order::Turn(turn) => {
                if let Action::Acquire { lock, .. } | Action::Release { lock, .. } = event.action
                    && turn > self.turns.get(lock.0 as usize).map_or(0, |turns| turns.next)
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
                    && !self.arrivals.have(barrier, generation, count)
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
        let Some(Some(stream)) = self.streams.get(thread.0 as usize) else { return self.ended.contains(&thread) };
        let has_counted = || {
            let counts = stream.counts.get(variable);
            counts.0 >= counted.0 && counts.1 >= counted.1
        };
        stream.segment > segment || stream.segment == segment && has_counted() || self.ended.contains(&thread)
    }

    /// Notes what an event brings about that is handed out, and wakes who waited for that.
    #[inline]
    fn emit(&mut self, stream: &mut Stream<D>, thread: ThreadId, action: Action, order: Order) {
        if let (Order::Turn(turn), Action::Acquire { lock, .. } | Action::Release { lock, .. }) = (order, action) {
            let turns = self.turns(lock);
            turns.next = turns.next.max(turn.saturating_add(1));
            if std::mem::take(&mut turns.is_awaited) {
                self.wake(Wait::Turn(lock));
            }
        }
        match action {
            Action::ArmBegin { ran: Ran::Speculated, .. } => stream.speculated += 1,
            Action::ArmEnd { .. } => stream.speculated = stream.speculated.saturating_sub(1),
            Action::Read { .. } | Action::Write { .. } if stream.speculated > 0 => {}
            Action::Read { variable } => {
                stream.counts.add(variable, (1, 0));
                if matches!(order, Order::AfterWord { writes: 0, .. }) {
                    *self.reads.entry(variable).or_insert(0) += 1;
                    self.wake(Wait::Reads(variable));
                }
            }
            Action::Write { variable } => {
                if !self.reads.is_empty() {
                    self.reads.remove(&variable);
                }
                stream.counts.add(variable, (0, 1));
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
                let number = if let Order::Arrival(number) = order { Some(number) } else { None };
                self.arrivals.add(barrier, generation, number);
                self.wake(Wait::Arrivals(barrier, generation));
            }
            Action::Leave { barrier, generation } => {
                // Forced out of turn, what it waited for can come no more.
                if let Order::AfterArrivals(count) = order
                    && !self.arrivals.have(barrier, generation, count)
                {
                    self.arrivals.give_up(barrier, generation, count);
                    self.wake(Wait::Arrivals(barrier, generation));
                }
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
        self.wake_all(&mut stream.awaited_by);
    }

    /// Decodes the stream's next events. None are there if it is out of chunks.
    fn advance(&mut self, stream: &mut Stream<D>, decode: &mut D) {
        while let Some(chunk) = stream.chunks.front() {
            stream.items.clear();
            let is_sound = decode.decode(&mut stream.state, chunk, &mut stream.items);
            if is_sound && !stream.items.is_empty() {
                return;
            }
            self.broken += u64::from(!is_sound);
            self.bytes -= D::bytes(chunk);
            stream.chunks.pop_front();
            decode.end(&mut stream.state);
            if !stream.items.is_empty() {
                return;
            }
        }
    }

    fn wake(&mut self, wait: Wait) {
        if let Some(mut threads) = self.parked.remove(&wait) {
            self.wake_all(&mut threads);
        }
    }

    #[inline]
    fn wake_all(&mut self, threads: &mut Vec<ThreadId>) {
        // Nearly always nobody waits, and even to go over nobody costs something.
        if threads.is_empty() {
            return;
        }
        for thread in threads.drain(..) {
            if let Some(Some(stream)) = self.streams.get_mut(thread.0 as usize) {
                stream.queued = true;
                self.queue.push_back(thread);
            }
        }
    }
}

fn variable_of(event: &Event) -> Option<VariableId> {
    match event.action {
        Action::Read { variable } | Action::Write { variable } => Some(variable),
        _ => None,
    }
}
