//! Records and rows in, a binary trace out.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use trace::{
    Access, Action, ActivationId, BarrierId, Cause, Event, Frame, Interval, LockId, MethodId, Mode, ObjectId, Order,
    Part, SectionId, SiteId, StackId, StreamWriter, StringId, SyncKind, Tables, Thing, ThreadEvents, ThreadId, UnitId,
    VariableId,
};

use crate::by_object::ByObject;
use crate::record::{self, Record, Word};
use crate::rows::Row;

/// Events of a thread that go into one chunk of the trace.
const CHUNK: u32 = 4096;

/// Locks that a thread's list has room for, as in the runtime.
const MOST_HELD: usize = 16;

/// What a thread's records leave unsaid, since those before say it.
#[derive(Clone, Default)]
struct State {
    segment: u64,
    /// The activations around the innermost one, and that one.
    activations: Vec<u64>,
    /// Locks that it took for itself and did not leave yet, with their turns.
    held: Vec<(LockId, u64)>,
}

/// Makes a trace of records, and keeps the numbers of both sides together.
pub struct Converter {
    writer: StreamWriter<Vec<u8>>,
    tables: Tables,
    strings: FxHashMap<String, StringId>,
    /// By the numbers of the recording.
    classes: Vec<StringId>,
    fields: Vec<StringId>,
    sites: Vec<SiteId>,
    methods: FxHashMap<SiteId, MethodId>,
    units: FxHashMap<u32, UnitId>,
    threads: Vec<Option<ThreadId>>,
    /// By kind, field or class and index.
    variables: ByObject,
    locks: ByObject,
    barriers: FxHashMap<u64, BarrierId>,
    /// By the thread's number in the recording.
    states: Vec<State>,
    pending: ThreadEvents,
    events: u64,
    broken: u64,
}

impl Converter {
    pub fn new() -> io::Result<Converter> {
        Ok(Converter {
            writer: StreamWriter::new(Vec::new())?,
            tables: Tables::default(),
            strings: FxHashMap::default(),
            classes: Vec::new(),
            fields: Vec::new(),
            sites: Vec::new(),
            methods: FxHashMap::default(),
            units: FxHashMap::default(),
            threads: Vec::new(),
            variables: ByObject::default(),
            locks: ByObject::default(),
            barriers: FxHashMap::default(),
            states: Vec::new(),
            pending: ThreadEvents::new(ThreadId::default()),
            events: 0,
            broken: 0,
        })
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Records that made no sense.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// The trace's bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.output())
    }

    /// Writes the trace's bytes since the last call.
    pub fn write_to(&mut self, output: &mut impl Write) -> io::Result<()> {
        let made = self.writer.output();
        output.write_all(made)?;
        made.clear();
        Ok(())
    }

    /// Ends the trace; what was not yet taken.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.writer.finish()
    }

    pub(crate) fn row(&mut self, row: &Row) {
        match row {
            Row::Class { number, name } => {
                let name = self.string(&readable_class(name));
                put(&mut self.classes, *number, name);
            }
            Row::Thread { number, name } => {
                // A thread without a name has its number.
                let name = if name.is_empty() { format!("thread {number}") } else { name.clone() };
                let thread = self.tables.add_thread(&name);
                put(&mut self.threads, *number, Some(thread));
            }
            Row::Field { number, owner, name } => {
                let name = self.string(&format!("{}.{name}", owner.replace('/', ".")));
                put(&mut self.fields, *number, name);
            }
            Row::Site { number, class, method, descriptor, file, line, offset } => {
                let class = class.replace('/', ".");
                let frame = Frame {
                    class: self.string(&class),
                    method: self.string(method),
                    descriptor: self.string(descriptor),
                    file: self.string(file),
                    line: *line,
                    pc: *offset,
                };
                let site = self.tables.push_site(frame);
                put(&mut self.sites, *number, site);
            }
            Row::Unit { number, name } => {
                let unit = self.tables.add_unit(name);
                self.units.insert(*number, unit);
            }
            Row::Note { .. } | Row::Classes { .. } | Row::End => {}
        }
    }

    /// Some records of a chunk: of one thread, or if that is 0, of those that take turns, of whom `writer` is the last.
    pub(crate) fn chunk(&mut self, thread: u32, writer: &mut u32, numbers: &[u64]) -> io::Result<()> {
        if thread != 0 {
            return self.records(thread, numbers);
        }
        let mut start = 0;
        let mut at = 0;
        while at < numbers.len() {
            let operation = record::operation(numbers[at]);
            let Some(length) = record::length(operation) else { break };
            if operation == record::WRITER {
                self.records(*writer, &numbers[start..at])?;
                *writer = numbers[at + 1] as u32;
                start = at + length;
            }
            at += length;
        }
        self.records(*writer, &numbers[start..])
    }

    /// The thread is in this segment, whatever its records said so far.
    pub(crate) fn set_segment(&mut self, thread: u32, segment: u64) {
        at(&mut self.states, thread).segment = segment;
    }

    /// Records are missing, nobody knows whose: what they left unsaid counts no more. Stands in the trace as damage of so many
    /// events.
    pub(crate) fn lose(&mut self, events: u32) -> io::Result<()> {
        for state in &mut self.states {
            state.activations.clear();
            state.held.clear();
        }
        self.writer.damage(events)
    }

    /// Some records of one thread, in its order. What they refer to has its rows already.
    pub(crate) fn records(&mut self, number: u32, records: &[u64]) -> io::Result<()> {
        let thread = self.thread(number);
        self.pending.begin(thread);
        let mut state = std::mem::take(at(&mut self.states, number));
        let mut rest = records;
        while let Some(&head) = rest.first() {
            let Some(length) = record::length(record::operation(head)) else {
                self.broken += 1;
                break;
            };
            let Some((numbers, others)) = rest.split_at_checked(length) else { break };
            rest = others;
            self.record(&mut state, thread, Record::new(numbers));
            if self.pending.count() >= CHUNK {
                self.flush()?;
            }
        }
        *at(&mut self.states, number) = state;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending.count() > 0 {
            self.events += u64::from(self.pending.count());
            self.writer.write(&mut self.pending, &self.tables)?;
        }
        Ok(())
    }

    #[inline]
    fn record(&mut self, state: &mut State, thread: ThreadId, record: Record<'_>) {
        if record.begins_segment {
            state.segment += 1;
        }
        match record.operation {
            record::SEGMENT => {
                state.segment = record.numbers[0];
                return;
            }
            record::ENTER => state.activations.push(record.numbers[0]),
            record::EXIT => {
                state.activations.pop();
            }
            record::LOST => state.held.clear(),
            _ => {}
        }
        // Most records are one of these; apart, each is a few stores.
        match record.operation {
            record::FIELD => {
                let variable = self.variable(record::FIELD, record.extra, record.numbers[0], 0);
                return self.push(state, thread, record.site, Action::Read { variable }, Order::Free);
            }
            record::FIELD_WRITE => {
                let variable = self.variable(record::FIELD, record.extra, record.numbers[0], 0);
                return self.push(state, thread, record.site, Action::Write { variable }, Order::Free);
            }
            record::ACQUIRE => {
                let (action, turn) = self.acquire(state, record, Mode::Exclusive, Cause::Section);
                return self.push(state, thread, record.site, action, Order::Turn(turn));
            }
            record::RELEASE_LAST => {
                if let Some((lock, turn)) = state.held.pop() {
                    let action = Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section };
                    return self.push(state, thread, record.site, action, Order::Turn(turn + 1));
                }
            }
            _ => {}
        }
        let Some((action, order)) = self.action(state, record) else {
            self.broken += 1;
            return;
        };
        let has_site =
            !matches!(record.operation, record::THREAD_BEGIN | record::THREAD_END | record::LOST | record::NEW);
        self.push(state, thread, if has_site { record.site } else { u32::MAX }, action, order);
    }

    /// A site that is none has no row.
    #[inline(always)]
    fn push(&mut self, state: &State, thread: ThreadId, site: u32, action: Action, order: Order) {
        let site = self.sites.get(site as usize).copied().unwrap_or_default();
        self.pending.push(&Event { thread, site, stack: StackId(0), action }, state.segment, order);
    }

    #[inline(always)]
    fn acquire(&mut self, state: &mut State, record: Record<'_>, mode: Mode, cause: Cause) -> (Action, u64) {
        let (lock, turn) = (self.lock(record.extra, record.numbers[0]), record.numbers[1]);
        if mode == Mode::Exclusive && state.held.len() < MOST_HELD {
            state.held.push((lock, turn));
        }
        // 0 is no section, and no activation.
        let section = SectionId(record.site.wrapping_add(1));
        let activation = ActivationId(state.activations.last().copied().unwrap_or_default());
        (Action::Acquire { lock, mode, cause, section, activation }, turn)
    }

    #[inline(never)]
    fn action(&mut self, state: &mut State, record: Record<'_>) -> Option<(Action, Order)> {
        let Record { operation, extra, numbers, .. } = record;
        Some(match operation {
            record::FIELD..=record::LAST_ACCESS => self.access(record),
            record::ACQUIRE..record::RELEASE => {
                let (mode, cause) = how(operation - record::ACQUIRE);
                let (action, turn) = self.acquire(state, record, mode, cause);
                (action, Order::Turn(turn))
            }
            record::RELEASE..record::VOLATILE => {
                let (mode, cause) = how(operation - record::RELEASE);
                let lock = self.lock(extra, numbers[0]);
                let held = &mut state.held;
                if let (Mode::Exclusive, Some(index)) = (mode, held.iter().rposition(|(one, _)| *one == lock)) {
                    held.remove(index);
                }
                (Action::Release { lock, mode, cause }, Order::Turn(numbers[1]))
            }
            record::VOLATILE..=record::LAST_SYNC => {
                let (kind, base) = match operation {
                    record::VOLATILE..record::ATOMIC => (SyncKind::Volatile, record::VOLATILE),
                    record::ATOMIC..record::MODELLED => (SyncKind::Atomic, record::ATOMIC),
                    _ => (SyncKind::Modelled, record::MODELLED),
                };
                let access = match operation - base {
                    0 => Access::Read,
                    1 => Access::Write,
                    _ => Access::Update,
                };
                let variable = match kind {
                    SyncKind::Volatile => self.variable(record::FIELD, extra, numbers[0], 0),
                    SyncKind::Atomic | SyncKind::Modelled => self.variable(record::CONTENTS, extra, numbers[0], 0),
                };
                let interval = Interval::new(numbers[1], numbers[2]);
                (Action::Sync { variable, access, kind, interval }, Order::Free)
            }
            record::THREAD_BEGIN => (Action::ThreadBegin, if extra == 1 { Order::AfterStart } else { Order::Free }),
            record::THREAD_END => (Action::ThreadEnd, Order::Free),
            record::START => (Action::Start { child: self.thread(numbers[0] as u32) }, Order::Free),
            record::JOIN => (Action::Join { child: self.thread(numbers[0] as u32) }, Order::Free),
            record::ARRIVE => {
                let barrier = self.barrier(extra, numbers[0]);
                (Action::Arrive { barrier, generation: numbers[1] as u32 }, Order::Free)
            }
            record::LEAVE => {
                let barrier = self.barrier(extra, numbers[0]);
                (Action::Leave { barrier, generation: numbers[1] as u32 }, Order::AfterArrivals(numbers[2] as u32))
            }
            record::UNIT_BEGIN => {
                let unit = self.unit(numbers[0] as u32);
                (Action::UnitBegin { unit, activation: ActivationId(numbers[1]) }, Order::Free)
            }
            record::UNIT_END => (Action::UnitEnd { unit: self.unit(numbers[0] as u32) }, Order::Free),
            record::ENTER => {
                let method = self.method(record.site);
                (Action::Enter { activation: ActivationId(numbers[0]), method }, Order::Free)
            }
            record::EXIT => (Action::Exit { activation: ActivationId(numbers[0]) }, Order::Free),
            record::NEW => (Action::New { object: ObjectId(numbers[0]) }, Order::Free),
            record::LOST => (Action::Lost { events: numbers[0], all: false }, Order::Free),
            _ => return None,
        })
    }

    #[inline]
    fn access(&mut self, record: Record<'_>) -> (Action, Order) {
        let Record { operation, extra, numbers, .. } = record;
        let (kind, rest) = match operation {
            record::FIELD..record::ELEMENT => (record::FIELD, &numbers[1..]),
            record::ELEMENT..record::CONTENTS => (record::ELEMENT, &numbers[2..]),
            _ => (record::CONTENTS, &numbers[1..]),
        };
        let index = if kind == record::ELEMENT { numbers[1] as u32 } else { 0 };
        let variable = self.variable(kind, extra, numbers[0], index);
        let action = if (operation - kind) / 3 == 0 { Action::Read { variable } } else { Action::Write { variable } };
        let order = match *rest {
            [] => Order::Free,
            [word] => {
                let Word { thread, segment, reads, writes } = Word::new(word);
                Order::AfterWord { thread: self.thread(thread), segment, reads, writes }
            }
            [word, count, ..] => {
                let Word { thread, segment, reads, .. } = Word::new(word);
                Order::AfterReads { thread: self.thread(thread), segment, reads, count }
            }
        };
        (action, order)
    }

    #[inline]
    fn variable(&mut self, kind: u8, name: u32, object: u64, index: u32) -> VariableId {
        // A name has 24 bits, a kind six.
        let key = u64::from(kind) << 56 | u64::from(name) << 32 | u64::from(index);
        let has_many = kind == record::ELEMENT;
        match self.variables.get(object, key, has_many) {
            Some(variable) => VariableId(variable),
            None => self.new_variable(kind, name, object, index, key, has_many),
        }
    }

    #[cold]
    fn new_variable(&mut self, kind: u8, name: u32, object: u64, index: u32, key: u64, has_many: bool) -> VariableId {
        let (names, part) = match kind {
            record::FIELD => (&self.fields, Part::Whole),
            record::ELEMENT => (&self.classes, Part::Element(index)),
            _ => (&self.classes, Part::Contents),
        };
        let name_id = names.get(name as usize).copied().unwrap_or_default();
        let variable = self.tables.push_variable(Thing { name: name_id, object: ObjectId(object), part });
        self.variables.insert(object, key, has_many, variable.0);
        variable
    }

    #[inline]
    fn lock(&mut self, class: u32, object: u64) -> LockId {
        if let Some(lock) = self.locks.get(object, 0, false) {
            return LockId(lock);
        }
        let name = self.classes.get(class as usize).copied().unwrap_or_default();
        let lock = self.tables.push_lock(Thing { name, object: ObjectId(object), part: Part::Whole });
        self.locks.insert(object, 0, false, lock.0);
        lock
    }

    fn barrier(&mut self, class: u32, object: u64) -> BarrierId {
        if let Some(&barrier) = self.barriers.get(&object) {
            return barrier;
        }
        let name = self.classes.get(class as usize).copied().unwrap_or_default();
        let name = format!("{}@{object}", self.tables.string(name));
        let barrier = self.tables.add_barrier(&name);
        self.barriers.insert(object, barrier);
        barrier
    }

    fn unit(&mut self, number: u32) -> UnitId {
        self.units.get(&number).copied().unwrap_or_default()
    }

    fn method(&mut self, site: u32) -> MethodId {
        let site = self.sites.get(site as usize).copied().unwrap_or_default();
        if let Some(&method) = self.methods.get(&site) {
            return method;
        }
        let name = match self.tables.frame(site) {
            Some(frame) => {
                let text = |id| self.tables.string(id);
                format!("{}.{}:{}", text(frame.class), text(frame.method), text(frame.descriptor))
            }
            None => String::new(),
        };
        let method = MethodId(self.string(&name).0);
        self.methods.insert(site, method);
        method
    }

    /// A thread by its number in the recording. One without a row gets a name that says so.
    #[inline]
    fn thread(&mut self, number: u32) -> ThreadId {
        if let Some(Some(thread)) = self.threads.get(number as usize) {
            return *thread;
        }
        let thread = self.tables.add_thread(&format!("thread {number}"));
        put(&mut self.threads, number, Some(thread));
        thread
    }

    fn string(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.tables.add_string(text);
        self.strings.insert(text.to_owned(), id);
        id
    }
}

fn how(bits: u8) -> (Mode, Cause) {
    let mode = if bits & 1 == 0 { Mode::Exclusive } else { Mode::Shared };
    let cause = if bits & 2 == 0 { Cause::Section } else { Cause::Wait };
    (mode, cause)
}

fn put<T: Clone + Default>(table: &mut Vec<T>, number: u32, value: T) {
    *at(table, number) = value;
}

fn at<T: Clone + Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    let number = number as usize;
    if table.len() <= number {
        table.resize(number + 1, T::default());
    }
    &mut table[number]
}

/// `int[]` for the JVM's `[I`.
fn readable_class(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.to_owned();
    }
    let element = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        object => object.strip_prefix('L').and_then(|object| object.strip_suffix(';')).unwrap_or(object),
    };
    element.to_owned() + &"[]".repeat(dimensions)
}
