//! Events as bytes.
//!
//! An event is a tag byte (operation in the low five bits, then whether a stack and a thread follow and whether the
//! site is that of the event before), then thread, site, stack, then the operation's own numbers. In a stream the thread
//! is the chunk's and an order may follow. Every chunk starts anew, so that one can be read without those before it.

use super::bytes::{Bytes, Cursor};
use super::items::{Item, Items};
use super::merge::Decode;
use super::order::{Order, put_order, take_order};
use super::rows::SLACK;
use crate::{
    Access, Action, ActivationId, BarrierId, BranchId, Cause, Event, Interval, LockId, MethodId, Mode, ObjectId, Ran,
    SectionId, SiteId, StackId, SyncKind, Tables, ThreadId, UnitId, VariableId,
};

const OPERATION: u8 = 0x1f;
const HAS_STACK: u8 = 0x20;
const HAS_THREAD: u8 = 0x40;
const SAME_SITE: u8 = 0x80;

const READ: u8 = 0;
const WRITE: u8 = 1;
const ACQUIRE: u8 = 2;
const RELEASE: u8 = 3;
const ACQUIRE_WITH: u8 = 4;
const RELEASE_WITH: u8 = 5;
const START: u8 = 6;
const JOIN: u8 = 7;
const THREAD_BEGIN: u8 = 8;
const THREAD_END: u8 = 9;
const ARRIVE: u8 = 10;
const LEAVE: u8 = 11;
const SYNC: u8 = 12;
const UNIT_BEGIN: u8 = 13;
const UNIT_END: u8 = 14;
const ENTER: u8 = 15;
const EXIT: u8 = 16;
const ARM_BEGIN: u8 = 17;
const ARM_END: u8 = 18;
const NEW: u8 = 19;
const LOST: u8 = 20;
const UNIT_BEGIN_PLAIN: u8 = 21;
/// In a stream: the thread's segments counted up to here, or the next one begins. No events.
const SEGMENT: u8 = 22;
const NEXT_SEGMENT: u8 = 23;

/// Writes the events of one chunk.
pub(super) struct Encoder {
    pub(super) bytes: Bytes,
    pub(super) count: u32,
    thread: Option<ThreadId>,
    site: SiteId,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder { bytes: Bytes::default(), count: 0, thread: None, site: SiteId(0) }
    }

    /// For a chunk of one thread's events.
    pub(super) fn of_thread(thread: ThreadId) -> Encoder {
        Encoder { thread: Some(thread), ..Encoder::new() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.thread = None;
        self.site = SiteId(0);
    }

    pub(super) fn set_thread(&mut self, thread: ThreadId) {
        self.thread = Some(thread);
    }

    #[inline(always)]
    pub(super) fn segment(&mut self, segment: u64, is_next: bool) {
        self.bytes.reserve();
        self.bytes.push(if is_next { NEXT_SEGMENT } else { SEGMENT } | SAME_SITE);
        if !is_next {
            self.bytes.put(segment);
        }
    }

    // With an event that the caller has just made, all but its own numbers is known when this is compiled.
    #[inline(always)]
    pub(super) fn event(&mut self, event: &Event) {
        self.count += 1;
        self.bytes.reserve();
        let at = self.bytes.len();
        let mut tag = 0;
        self.bytes.push(0);
        if self.thread != Some(event.thread) {
            tag |= HAS_THREAD;
            self.bytes.put(u64::from(event.thread.0));
            self.thread = Some(event.thread);
        }
        if self.site == event.site {
            tag |= SAME_SITE;
        } else {
            self.bytes.put(u64::from(event.site.0));
            self.site = event.site;
        }
        if event.stack != StackId(0) {
            tag |= HAS_STACK;
            self.bytes.put(u64::from(event.stack.0));
        }
        let operation = self.action(event.action);
        self.bytes.set(at, tag | operation);
    }

    /// The order of the event before, in a stream.
    #[inline(always)]
    pub(super) fn order(&mut self, order: Order) {
        put_order(&mut self.bytes, order);
    }

    #[inline(always)]
    fn action(&mut self, action: Action) -> u8 {
        let bytes = &mut self.bytes;
        match action {
            Action::Read { variable } => {
                bytes.put(u64::from(variable.0));
                READ
            }
            Action::Write { variable } => {
                bytes.put(u64::from(variable.0));
                WRITE
            }
            Action::Acquire { lock, mode, cause, section, activation } => {
                bytes.put(u64::from(lock.0));
                let plain = mode == Mode::Exclusive && cause == Cause::Section;
                if plain && section == SectionId(0) && activation == ActivationId(0) {
                    return ACQUIRE;
                }
                bytes.push(how_held(mode, cause));
                bytes.put(u64::from(section.0));
                bytes.put(activation.0);
                ACQUIRE_WITH
            }
            Action::Release { lock, mode, cause } => {
                bytes.put(u64::from(lock.0));
                if mode == Mode::Exclusive && cause == Cause::Section {
                    return RELEASE;
                }
                bytes.push(how_held(mode, cause));
                RELEASE_WITH
            }
            Action::Start { child } => {
                bytes.put(u64::from(child.0));
                START
            }
            Action::Join { child } => {
                bytes.put(u64::from(child.0));
                JOIN
            }
            Action::ThreadBegin => THREAD_BEGIN,
            Action::ThreadEnd => THREAD_END,
            Action::Arrive { barrier, generation } => {
                bytes.put(u64::from(barrier.0));
                bytes.put(u64::from(generation));
                ARRIVE
            }
            Action::Leave { barrier, generation } => {
                bytes.put(u64::from(barrier.0));
                bytes.put(u64::from(generation));
                LEAVE
            }
            Action::Sync { variable, access, kind, interval } => {
                let access = match access {
                    Access::Read => 0,
                    Access::Write => 1,
                    Access::Update => 2,
                };
                let kind = match kind {
                    SyncKind::Volatile => 0,
                    SyncKind::Atomic => 1,
                    SyncKind::Modelled => 2,
                };
                bytes.put(u64::from(variable.0));
                bytes.push(access | kind << 2 | u8::from(interval.is_some()) << 4);
                if let Some(interval) = interval {
                    bytes.put(interval.before());
                    bytes.put(interval.after() - interval.before());
                }
                SYNC
            }
            Action::UnitBegin { unit, activation } => {
                bytes.put(u64::from(unit.0));
                if activation == ActivationId(0) {
                    return UNIT_BEGIN_PLAIN;
                }
                bytes.put(activation.0);
                UNIT_BEGIN
            }
            Action::UnitEnd { unit } => {
                bytes.put(u64::from(unit.0));
                UNIT_END
            }
            Action::Enter { activation, method } => {
                bytes.put(activation.0);
                bytes.put(u64::from(method.0));
                ENTER
            }
            Action::Exit { activation } => {
                bytes.put(activation.0);
                EXIT
            }
            Action::ArmBegin { branch, arm, ran } => {
                bytes.put(branch.0);
                bytes.put(u64::from(arm));
                bytes.push(u8::from(ran == Ran::Speculated));
                ARM_BEGIN
            }
            Action::ArmEnd { branch } => {
                bytes.put(branch.0);
                ARM_END
            }
            Action::New { object } => {
                bytes.put(object.0);
                NEW
            }
            Action::Lost { events, all } => {
                bytes.put(events);
                bytes.push(u8::from(all));
                LOST
            }
        }
    }
}

#[inline]
fn how_held(mode: Mode, cause: Cause) -> u8 {
    u8::from(mode == Mode::Shared) | u8::from(cause == Cause::Wait) << 1
}

/// How large the ids of events may be: one that is far beyond its table is damage that the checksum did not see.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) threads: u32,
    variables: u32,
    locks: u32,
    sites: u32,
    stacks: u32,
    units: u32,
    barriers: u32,
    strings: u32,
}

impl Limits {
    pub(super) fn of(tables: &Tables) -> Limits {
        let limit = |length: usize| u32::try_from(length + SLACK).unwrap_or(u32::MAX);
        Limits {
            threads: limit(tables.threads.len()),
            variables: limit(tables.variables.len()),
            locks: limit(tables.locks.len()),
            sites: limit(tables.sites.len()),
            stacks: limit(tables.stacks.len()),
            units: limit(tables.units.len()),
            barriers: limit(tables.barriers.len()),
            strings: limit(tables.strings.len()),
        }
    }
}

impl Decode for Limits {
    type Chunk = Vec<u8>;
    type State = Decoder;

    fn begin(&self, thread: ThreadId) -> Decoder {
        Decoder::new(thread)
    }

    fn decode(&mut self, decoder: &mut Decoder, chunk: &Vec<u8>, items: &mut Items) -> bool {
        decoder.stream(chunk, self, items).is_some()
    }

    fn end(&self, decoder: &mut Decoder) {
        *decoder = Decoder::new(decoder.thread);
    }

    fn bytes(chunk: &Vec<u8>) -> usize {
        chunk.len()
    }
}

/// Reads the events of one chunk, in as many calls as the caller likes.
#[derive(Clone, Copy)]
pub(super) struct Decoder {
    position: usize,
    thread: ThreadId,
    site: SiteId,
    segment: u64,
}

impl Decoder {
    pub(super) fn new(thread: ThreadId) -> Decoder {
        Decoder { position: 0, thread, site: SiteId(0), segment: 0 }
    }

    /// Appends events until `batch` has `limit` or the payload ends. `None` if the bytes make no sense.
    pub(super) fn ordered(
        &mut self,
        payload: &[u8],
        limits: &Limits,
        batch: &mut Vec<Event>,
        limit: usize,
    ) -> Option<()> {
        let mut cursor = Cursor::new(payload.get(self.position..)?);
        while cursor.left() > 0 && batch.len() < limit {
            let tag = cursor.byte()?;
            let event = self.event(tag, &mut cursor, limits)?;
            batch.push(event);
        }
        self.position = payload.len() - cursor.left();
        Some(())
    }

    /// The next items of a stream; none at the end of the payload. `None` if the bytes behind these items make no sense.
    pub(super) fn stream(&mut self, payload: &[u8], limits: &Limits, items: &mut Items) -> Option<()> {
        let mut cursor = Cursor::new(payload.get(self.position..)?);
        while cursor.left() > 0 {
            let Some(item) = items.place() else { break };
            let tag = cursor.byte()?;
            if matches!(tag & OPERATION, SEGMENT | NEXT_SEGMENT) {
                let is_next = tag & OPERATION == NEXT_SEGMENT;
                self.segment = if is_next { self.segment.checked_add(1)? } else { cursor.u64()? };
                continue;
            }
            if tag & HAS_THREAD != 0 {
                return None;
            }
            self.item(tag, &mut cursor, limits, item)?;
            items.add();
        }
        self.position = payload.len() - cursor.left();
        Some(())
    }

    /// Every part goes to its place at once: see [`Items`].
    #[inline(always)]
    fn item(&mut self, tag: u8, cursor: &mut Cursor<'_>, limits: &Limits, item: &mut Item) -> Option<()> {
        if tag & SAME_SITE == 0 {
            self.site = SiteId(id(cursor, limits.sites)?);
        }
        let stack = if tag & HAS_STACK != 0 { StackId(id(cursor, limits.stacks)?) } else { StackId(0) };
        item.segment = self.segment;
        let event = &mut item.event;
        (event.thread, event.site, event.stack) = (self.thread, self.site, stack);
        match tag & OPERATION {
            READ => event.action = Action::Read { variable: VariableId(id(cursor, limits.variables)?) },
            WRITE => event.action = Action::Write { variable: VariableId(id(cursor, limits.variables)?) },
            ACQUIRE_WITH => {
                let lock = LockId(id(cursor, limits.locks)?);
                let (mode, cause) = take_how_held(cursor)?;
                let (section, activation) = (SectionId(cursor.u32()?), ActivationId(cursor.u64()?));
                event.action = Action::Acquire { lock, mode, cause, section, activation };
            }
            RELEASE => {
                let lock = LockId(id(cursor, limits.locks)?);
                event.action = Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section };
            }
            other => event.action = take_other(other, cursor, limits)?,
        }
        take_order(cursor, limits, &mut item.order)
    }

    // Most of reading is here: as a call it would write each event to memory twice.
    #[inline(always)]
    fn event(&mut self, tag: u8, cursor: &mut Cursor<'_>, limits: &Limits) -> Option<Event> {
        if tag & HAS_THREAD != 0 {
            self.thread = ThreadId(id(cursor, limits.threads)?);
        }
        if tag & SAME_SITE == 0 {
            self.site = SiteId(id(cursor, limits.sites)?);
        }
        let stack = if tag & HAS_STACK != 0 { StackId(id(cursor, limits.stacks)?) } else { StackId(0) };
        // Reads and writes alternate at random: one way for both, without a branch between them.
        if tag & OPERATION <= WRITE {
            let variable = VariableId(id(cursor, limits.variables)?);
            let action = if tag & OPERATION == READ { Action::Read { variable } } else { Action::Write { variable } };
            return Some(Event { thread: self.thread, site: self.site, stack, action });
        }
        let action = take_other(tag & OPERATION, cursor, limits)?;
        Some(Event { thread: self.thread, site: self.site, stack, action })
    }
}

/// What is neither a read nor a write.
#[inline(always)]
fn take_other(operation: u8, cursor: &mut Cursor<'_>, limits: &Limits) -> Option<Action> {
    Some(match operation {
        ACQUIRE => Action::Acquire {
            lock: LockId(id(cursor, limits.locks)?),
            mode: Mode::Exclusive,
            cause: Cause::Section,
            section: SectionId(0),
            activation: ActivationId(0),
        },
        RELEASE => {
            Action::Release { lock: LockId(id(cursor, limits.locks)?), mode: Mode::Exclusive, cause: Cause::Section }
        }
        UNIT_BEGIN_PLAIN => Action::UnitBegin { unit: UnitId(id(cursor, limits.units)?), activation: ActivationId(0) },
        UNIT_END => Action::UnitEnd { unit: UnitId(id(cursor, limits.units)?) },
        rare => take_rare(rare, cursor, limits)?,
    })
}

#[inline(always)]
pub(super) fn id(cursor: &mut Cursor<'_>, limit: u32) -> Option<u32> {
    cursor.u32().filter(|&id| id < limit)
}

/// The operations that are not worth a place in the inner loop.
#[inline(never)]
fn take_rare(operation: u8, cursor: &mut Cursor<'_>, limits: &Limits) -> Option<Action> {
    Some(match operation {
        ACQUIRE_WITH => {
            let lock = LockId(id(cursor, limits.locks)?);
            let (mode, cause) = take_how_held(cursor)?;
            let section = SectionId(cursor.u32()?);
            Action::Acquire { lock, mode, cause, section, activation: ActivationId(cursor.u64()?) }
        }
        RELEASE_WITH => {
            let lock = LockId(id(cursor, limits.locks)?);
            let (mode, cause) = take_how_held(cursor)?;
            Action::Release { lock, mode, cause }
        }
        START => Action::Start { child: ThreadId(id(cursor, limits.threads)?) },
        JOIN => Action::Join { child: ThreadId(id(cursor, limits.threads)?) },
        THREAD_BEGIN => Action::ThreadBegin,
        THREAD_END => Action::ThreadEnd,
        ARRIVE => Action::Arrive { barrier: BarrierId(id(cursor, limits.barriers)?), generation: cursor.u32()? },
        LEAVE => Action::Leave { barrier: BarrierId(id(cursor, limits.barriers)?), generation: cursor.u32()? },
        SYNC => {
            let variable = VariableId(id(cursor, limits.variables)?);
            let how = cursor.byte()?;
            let access = match how & 3 {
                0 => Access::Read,
                1 => Access::Write,
                2 => Access::Update,
                _ => return None,
            };
            let kind = match how >> 2 & 3 {
                0 => SyncKind::Volatile,
                1 => SyncKind::Atomic,
                2 => SyncKind::Modelled,
                _ => return None,
            };
            let interval = if how & 0x10 == 0 {
                None
            } else {
                let before = cursor.u64()?;
                Some(Interval::new(before, before.checked_add(cursor.u64()?)?)?)
            };
            Action::Sync { variable, access, kind, interval }
        }
        UNIT_BEGIN => {
            Action::UnitBegin { unit: UnitId(id(cursor, limits.units)?), activation: ActivationId(cursor.u64()?) }
        }
        ENTER => {
            let activation = ActivationId(cursor.u64()?);
            Action::Enter { activation, method: MethodId(id(cursor, limits.strings)?) }
        }
        EXIT => Action::Exit { activation: ActivationId(cursor.u64()?) },
        ARM_BEGIN => {
            let branch = BranchId(cursor.u64()?);
            let arm = cursor.u32()?;
            let ran = if cursor.byte()? == 0 { Ran::Yes } else { Ran::Speculated };
            Action::ArmBegin { branch, arm, ran }
        }
        ARM_END => Action::ArmEnd { branch: BranchId(cursor.u64()?) },
        NEW => Action::New { object: ObjectId(cursor.u64()?) },
        LOST => Action::Lost { events: cursor.u64()?, all: cursor.byte()? != 0 },
        _ => return None,
    })
}

fn take_how_held(cursor: &mut Cursor<'_>) -> Option<(Mode, Cause)> {
    let how = cursor.byte()?;
    let mode = if how & 1 == 0 { Mode::Exclusive } else { Mode::Shared };
    let cause = if how & 2 == 0 { Cause::Section } else { Cause::Wait };
    Some((mode, cause))
}
