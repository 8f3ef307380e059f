//! What records mean: the events that they tell of.

use trace::{
    Access, Action, ActivationId, BranchId, Cause, Event, Interval, Items, LockId, Mode, ObjectId, Order, Ran,
    SectionId, StackId, SyncKind, ThreadEvents, ThreadId,
};

use crate::names::Names;
use crate::record::{self, Record, Word};

/// Where events go.
pub(crate) trait Sink {
    fn push(&mut self, event: Event, segment: u64, order: Order);
}

/// To be written.
impl Sink for ThreadEvents {
    #[inline(always)]
    fn push(&mut self, event: Event, segment: u64, order: Order) {
        ThreadEvents::push(self, &event, segment, order);
    }
}

/// To be put in order.
impl Sink for Items {
    #[inline(always)]
    fn push(&mut self, event: Event, segment: u64, order: Order) {
        Items::push(self, event, segment, order);
    }
}

/// Locks that a thread's list has room for, as in the runtime.
const MOST_HELD: usize = 16;

/// What a thread's records leave unsaid, since those before say it.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) segment: u64,
    /// The activations around the innermost one, and that one.
    pub(crate) activations: Vec<u64>,
    /// Locks that it took for itself and did not leave yet, with their turns.
    pub(crate) held: Vec<(LockId, u64)>,
}

/// Makes events of records, and keeps the numbers of both sides together.
#[derive(Default)]
pub(crate) struct Meaning {
    pub(crate) names: Names,
    /// Records that made no sense.
    pub(crate) broken: u64,
}

impl Meaning {
    #[inline]
    pub(crate) fn record(&mut self, state: &mut State, thread: ThreadId, record: Record<'_>, sink: &mut impl Sink) {
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
                let variable = self.names.variable(record::FIELD, record.extra, record.numbers[0], 0);
                return self.push(sink, state, thread, record.site, Action::Read { variable }, Order::Free);
            }
            record::FIELD_WRITE => {
                let variable = self.names.variable(record::FIELD, record.extra, record.numbers[0], 0);
                return self.push(sink, state, thread, record.site, Action::Write { variable }, Order::Free);
            }
            record::ACQUIRE => {
                let (action, turn) = self.acquire(state, record, Mode::Exclusive, Cause::Section);
                return self.push(sink, state, thread, record.site, action, Order::Turn(turn));
            }
            record::RELEASE_LAST => {
                if let Some((lock, turn)) = state.held.pop() {
                    let action = Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section };
                    return self.push(sink, state, thread, record.site, action, Order::Turn(turn + 1));
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
        self.push(sink, state, thread, if has_site { record.site } else { u32::MAX }, action, order);
    }

    #[inline(always)]
    fn push(&self, sink: &mut impl Sink, state: &State, thread: ThreadId, site: u32, action: Action, order: Order) {
        let site = self.names.site(site);
        sink.push(Event { thread, site, stack: StackId(0), action }, state.segment, order);
    }

    #[inline(always)]
    fn acquire(&mut self, state: &mut State, record: Record<'_>, mode: Mode, cause: Cause) -> (Action, u64) {
        let (lock, turn) = (self.names.lock(record.extra, record.numbers[0]), record.numbers[1]);
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
                let lock = self.names.lock(extra, numbers[0]);
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
                    SyncKind::Volatile => self.names.variable(record::FIELD, extra, numbers[0], 0),
                    SyncKind::Atomic | SyncKind::Modelled => {
                        self.names.variable(record::CONTENTS, extra, numbers[0], 0)
                    }
                };
                let interval = Interval::new(numbers[1], numbers[2]);
                (Action::Sync { variable, access, kind, interval }, Order::Free)
            }
            record::THREAD_BEGIN => (Action::ThreadBegin, if extra == 1 { Order::AfterStart } else { Order::Free }),
            record::THREAD_END => (Action::ThreadEnd, Order::Free),
            record::START => (Action::Start { child: self.names.thread(numbers[0] as u32) }, Order::Free),
            record::JOIN => (Action::Join { child: self.names.thread(numbers[0] as u32) }, Order::Free),
            record::ARRIVE | record::ARRIVE_UNNUMBERED => {
                let barrier = self.names.barrier(extra, numbers[0]);
                let order = numbers.get(2).map_or(Order::Free, |number| Order::Arrival(*number as u32));
                (Action::Arrive { barrier, generation: numbers[1] as u32 }, order)
            }
            record::LEAVE => {
                let barrier = self.names.barrier(extra, numbers[0]);
                (Action::Leave { barrier, generation: numbers[1] as u32 }, Order::AfterArrivals(numbers[2] as u32))
            }
            record::UNIT_BEGIN => {
                let unit = self.names.unit(numbers[0] as u32);
                (Action::UnitBegin { unit, activation: ActivationId(numbers[1]) }, Order::Free)
            }
            record::UNIT_END => (Action::UnitEnd { unit: self.names.unit(numbers[0] as u32) }, Order::Free),
            record::ENTER => {
                let method = self.names.method(record.site);
                (Action::Enter { activation: ActivationId(numbers[0]), method }, Order::Free)
            }
            record::EXIT => (Action::Exit { activation: ActivationId(numbers[0]) }, Order::Free),
            record::ARM | record::ARM_SPECULATED => {
                let ran = if operation == record::ARM { Ran::Yes } else { Ran::Speculated };
                (Action::ArmBegin { branch: BranchId(numbers[0]), arm: extra, ran }, Order::Free)
            }
            record::ARM_END => (Action::ArmEnd { branch: BranchId(numbers[0]) }, Order::Free),
            record::SPECULATED_ACQUIRE | record::SPECULATED_ACQUIRE_SHARED => {
                let (mode, cause) = how(operation - record::SPECULATED_ACQUIRE);
                let lock = self.names.lock(extra, numbers[0]);
                let section = SectionId(record.site.wrapping_add(1));
                let activation = ActivationId(state.activations.last().copied().unwrap_or_default());
                (Action::Acquire { lock, mode, cause, section, activation }, Order::Free)
            }
            record::SPECULATED_RELEASE | record::SPECULATED_RELEASE_SHARED => {
                let (mode, cause) = how(operation - record::SPECULATED_RELEASE);
                (Action::Release { lock: self.names.lock(extra, numbers[0]), mode, cause }, Order::Free)
            }
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
        let variable = self.names.variable(kind, extra, numbers[0], index);
        let action = if (operation - kind) / 3 == 0 { Action::Read { variable } } else { Action::Write { variable } };
        let order = match *rest {
            [] => Order::Free,
            [word] => {
                let Word { thread, segment, reads, writes } = Word::new(word);
                Order::AfterWord { thread: self.names.thread(thread), segment, reads, writes }
            }
            [word, count, ..] => {
                let Word { thread, segment, reads, .. } = Word::new(word);
                Order::AfterReads { thread: self.names.thread(thread), segment, reads, count }
            }
        };
        (action, order)
    }
}

fn how(bits: u8) -> (Mode, Cause) {
    let mode = if bits & 1 == 0 { Mode::Exclusive } else { Mode::Shared };
    let cause = if bits & 2 == 0 { Cause::Section } else { Cause::Wait };
    (mode, cause)
}
