//! Critical sections of one method: where each begins, what it locks, where it ends, what is held in between.
//!
//! A section is one place in the code that takes a lock; on each path it lasts until that lock is given back. What single
//! instructions do to locks is in `event`, how that flows along paths in `flow`.

mod alternatives;
mod event;
mod flag;
mod flow;

use smallvec::SmallVec;

use crate::Program;
use crate::ir::{BlockId, Body, Instruction, Op, Value};
use crate::lock::{LockKind, Mode};
use crate::path::{Path, Paths, Root};
pub(crate) use event::told;
use event::{Event, Exit};
use flow::State;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectionId(u32);

impl SectionId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a section is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionKind {
    /// A `synchronized` method: the section is the whole method.
    Method,
    /// From an instruction to what ends it.
    Block(LockKind),
}

#[derive(Clone, Debug)]
pub struct Section {
    pub kind: SectionKind,
    pub lock: Path,
    pub mode: Mode,
    /// Whether it is a half of a read/write lock that is taken.
    pub is_half: bool,
    /// Whether the lock may be refused, as by `tryLock`.
    pub is_tried: bool,
    /// The instruction that takes the lock, or the first of those that do so in each other's stead; none for a
    /// `synchronized` method.
    pub start: Option<Value>,
    /// The objects whose monitor or lock is taken, before they are named by a path: several where one of several places
    /// takes the lock.
    pub objects: SmallVec<[Value; 1]>,
    /// Whether the lock is held already whenever control comes here.
    pub reentrant: bool,
    /// Instructions that give the lock back, in the order of code.
    pub ends: Vec<Value>,
    /// Calls inside that let the lock go and take it again.
    pub waits: Vec<Value>,
}

impl Section {
    pub fn lock_kind(&self) -> LockKind {
        match self.kind {
            SectionKind::Method => LockKind::Monitor,
            SectionKind::Block(kind) => kind,
        }
    }
}

/// A section that is open at some point of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub section: SectionId,
    /// Open on every path to here, as against on some.
    pub certain: bool,
    /// What tells whether it is open, where it is not certain.
    test: Option<flow::Test>,
}

impl Held {
    /// Whether it is open just where this value is true.
    pub(crate) fn is_told_by(&self, value: Value) -> bool {
        self.test.is_some_and(|test| test.is_truth_of(value))
    }
}

/// Where locking is not what a reader of the code would expect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The method returns or throws with the section open: a helper that locks, or a mistake.
    LeavesHeld { section: SectionId, at: Value },
    /// A lock is given back that this method did not take: a helper that unlocks, or a name lost on the way.
    ReleasesUnheld { lock: Path, at: Value },
    /// There are so many sections and branches that they are not followed: the method counts as having no section.
    TooComplex,
}

/// More than this many sections times blocks are not followed. The product bounds time and memory.
const MAX_SECTIONS_IN_BLOCKS: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Sections {
    list: Vec<Section>,
    problems: Vec<Problem>,
    /// Calls that wait for a condition when nobody can tell which lock it belongs to.
    unknown_waits: Vec<Value>,
    /// What is held where a block starts; `None` if control never gets there.
    entries: Vec<Option<State>>,
    /// By register: what it does to locks.
    events: Vec<Event>,
}

impl Sections {
    pub fn of(body: &Body, program: &Program) -> Sections {
        let paths = Paths::new(body, program);
        let mut sections = Sections {
            list: Vec::new(),
            problems: Vec::new(),
            unknown_waits: Vec::new(),
            entries: vec![None; body.block_count()],
            events: Vec::new(),
        };
        if body.access.is_synchronized() {
            let root = if body.is_static() { Root::Class(body.method.class) } else { Root::This };
            sections.list.push(Section {
                kind: SectionKind::Method,
                lock: Path::root(root),
                mode: Mode::Exclusive,
                is_half: false,
                is_tried: false,
                start: None,
                objects: SmallVec::new(),
                reentrant: false,
                ends: Vec::new(),
                waits: Vec::new(),
            });
        }
        sections.events = body
            .instructions()
            .map(|(value, instruction)| event::of(&mut sections.list, body, program, &paths, value, instruction))
            .collect();
        if sections.list.is_empty() && sections.events.iter().all(|event| *event == Event::None) {
            sections.entries.fill(Some(State::default()));
            return sections;
        }
        if sections.list.len().saturating_mul(body.block_count()) > MAX_SECTIONS_IN_BLOCKS {
            sections.list.clear();
            sections.events.fill(Event::None);
            sections.entries.fill(Some(State::default()));
            sections.problems.push(Problem::TooComplex);
            return sections;
        }
        sections.entries = flow::solve(body, &sections);
        if alternatives::unite(body, &mut sections) {
            sections.entries = flow::solve(body, &sections);
        }
        sections.conclude(body);
        sections
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SectionId, &Section)> {
        self.list.iter().enumerate().map(|(index, section)| (SectionId(index as u32), section))
    }

    pub fn get(&self, section: SectionId) -> &Section {
        &self.list[section.index()]
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Calls that wait for a condition when nobody can tell which of the held locks it belongs to.
    pub fn unknown_waits(&self) -> &[Value] {
        &self.unknown_waits
    }

    /// The section that an instruction opens.
    pub fn opened_by(&self, value: Value) -> Option<SectionId> {
        match self.events[value.index()] {
            Event::Enter(section)
            | Event::EnterWith(section)
            | Event::TryEnter(section)
            | Event::EnterUnless(section)
            | Event::Convert(section) => Some(section),
            _ => None,
        }
    }

    /// Whether an instruction takes, gives back or tries a lock.
    pub fn is_lock_operation(&self, value: Value) -> bool {
        !matches!(self.events[value.index()], Event::None | Event::Wait(..))
    }

    /// The kind and, where the call tells, the mode of a lock that an instruction gives back.
    pub(crate) fn given_back(&self, value: Value) -> Option<(LockKind, Option<Mode>)> {
        match &self.events[value.index()] {
            Event::Exit(exit) => Some((exit.kind, exit.mode)),
            _ => None,
        }
    }

    /// Whether a lock operation is the call of a method that does other things, too.
    pub(crate) fn is_wrapper(&self, body: &Body, program: &Program, value: Value) -> bool {
        self.is_lock_operation(value)
            && matches!(*body.op(value), Op::Call { method, .. } if crate::lock::operation(program, method).is_none())
    }

    /// Walks the instructions of a block with what is held before each.
    pub fn walk<'s>(&'s self, body: &'s Body, block: BlockId, mut visit: impl FnMut(Value, &Instruction, &[Held])) {
        let Some(mut state) = self.entries[block.index()].clone() else { return };
        for (value, instruction) in body.instructions_of(block) {
            visit(value, instruction, &state.held);
            state.step(self, body, value);
        }
    }

    /// What is held where a block starts; nothing if control never gets there.
    pub fn held_at_start(&self, block: BlockId) -> &[Held] {
        self.entries[block.index()].as_ref().map(|state| state.held.as_slice()).unwrap_or_default()
    }

    /// What is held before an instruction; `None` if control never gets there.
    pub fn held_at(&self, body: &Body, at: Value) -> Option<SmallVec<[Held; 4]>> {
        let block = body.block_of(at);
        let mut state = self.entries[block.index()].clone()?;
        for (value, _) in body.instructions_of(block).take_while(|(value, _)| *value != at) {
            state.step(self, body, value);
        }
        Some(state.held)
    }

    /// Sections that an instruction closes, given what is held before it.
    pub fn closed_by(&self, body: &Body, value: Value, held: &[Held]) -> SmallVec<[SectionId; 2]> {
        match &self.events[value.index()] {
            Event::Exit(exit) => self.exited(body, held, exit),
            Event::Validate(lock) => held
                .iter()
                .rfind(|held| {
                    let section = self.get(held.section);
                    section.mode == Mode::Optimistic && section.lock.same(lock)
                })
                .map(|held| held.section)
                .into_iter()
                .collect(),
            Event::None if matches!(body.op(value), Op::Return(_)) => held
                .iter()
                .map(|held| held.section)
                .filter(|section| self.get(*section).kind == SectionKind::Method)
                .collect(),
            _ => SmallVec::new(),
        }
    }

    /// The lock that a waiting call lets go, where it has a name.
    pub fn wait(&self, value: Value) -> Option<(LockKind, &Path)> {
        match &self.events[value.index()] {
            Event::Wait(kind, Some(lock)) => Some((*kind, lock)),
            _ => None,
        }
    }

    /// Sections whose lock a call lets go and takes again, given what is held before it.
    pub fn waited_by(&self, value: Value, held: &[Held]) -> SmallVec<[SectionId; 2]> {
        let Event::Wait(kind, lock) = &self.events[value.index()] else { return SmallVec::new() };
        let of_kind = |held: &&Held| self.get(held.section).lock_kind() == *kind;
        match lock {
            Some(lock) => held
                .iter()
                .filter(of_kind)
                .map(|held| held.section)
                .filter(|section| self.get(*section).lock.same(lock))
                .collect(),
            // A condition of unknown origin belongs to the one lock that is held, if it is one.
            None => {
                let mut locks: SmallVec<[SectionId; 2]> =
                    held.iter().filter(of_kind).map(|held| held.section).collect();
                if locks.iter().any(|section| !self.get(*section).lock.same(&self.get(locks[0]).lock)) {
                    locks.clear();
                }
                locks
            }
        }
    }

    /// The innermost open section that giving back a lock closes: the one opened through the same register, else the
    /// one whose lock has the same name, else one whose register may have become this one where paths met. If that one is open on some paths only, then so may be others that took the
    /// lock on other paths: `if (patient) lock.lock(); else if (!lock.tryLock()) return;`
    fn exited(&self, body: &Body, held: &[Held], exit: &Exit) -> SmallVec<[SectionId; 2]> {
        let object = body.without_casts(exit.object);
        let of_kind = |section: &Section| {
            section.kind == SectionKind::Block(exit.kind)
                && section.mode != Mode::Optimistic
                && exit.mode.is_none_or(|mode| mode == section.mode)
        };
        let by_register =
            |section: &Section| section.objects.iter().any(|opened| body.without_casts(*opened) == object);
        let by_name = |section: &Section| section.lock.same(&exit.lock);
        let matching = |is_it: &dyn Fn(&Section) -> bool| {
            held.iter().rposition(|held| of_kind(self.get(held.section)) && is_it(self.get(held.section)))
        };
        let origins = match body.op(object) {
            Op::Phi(_) => origins(body, object),
            _ => SmallVec::new(),
        };
        let by_origin =
            |section: &Section| section.objects.iter().any(|opened| origins.contains(&body.without_casts(*opened)));
        let innermost = matching(&by_register).or_else(|| matching(&by_name)).or_else(|| matching(&by_origin));
        let Some(innermost) = innermost else { return SmallVec::new() };
        let mut exited: SmallVec<[SectionId; 2]> = smallvec::smallvec![held[innermost].section];
        if !held[innermost].certain {
            for other in held[..innermost].iter().rev() {
                let section = self.get(other.section);
                if of_kind(section) && (by_register(section) || by_name(section) || by_origin(section)) {
                    if other.certain {
                        break;
                    }
                    exited.push(other.section);
                }
            }
        }
        exited
    }

    /// With what is held known everywhere: reentrancy, ends, waits, problems.
    fn conclude(&mut self, body: &Body) {
        let mut reentrant: Vec<Option<bool>> = vec![None; self.list.len()];
        let mut ends = vec![Vec::new(); self.list.len()];
        let mut waits = vec![Vec::new(); self.list.len()];
        let mut problems = Vec::new();
        let mut unknown_waits = Vec::new();
        for (block, edges) in body.blocks() {
            self.walk(body, block, |value, instruction, held| {
                if let Some(section) = self.opened_by(value) {
                    let own = self.get(section);
                    let inside = held.iter().any(|held| {
                        let outer = self.get(held.section);
                        held.certain
                            && held.section != section
                            && outer.lock_kind() == own.lock_kind()
                            && outer.mode == own.mode
                            && outer.lock.same(&own.lock)
                    });
                    let known = &mut reentrant[section.index()];
                    *known = Some(known.unwrap_or(true) && inside);
                }
                let closed = self.closed_by(body, value, held);
                if let (Event::Exit(exit), []) = (&self.events[value.index()], closed.as_slice()) {
                    problems.push(Problem::ReleasesUnheld { lock: exit.lock.clone(), at: value });
                }
                for section in closed {
                    ends[section.index()].push(value);
                }
                let waited = self.waited_by(value, held);
                if let (Event::Wait(..), []) = (&self.events[value.index()], waited.as_slice()) {
                    unknown_waits.push(value);
                }
                for section in waited {
                    waits[section.index()].push(value);
                }
                let leaves = match instruction.op {
                    Op::Return(_) => true,
                    Op::Throw(_) => edges.handlers.is_empty(),
                    _ => false,
                };
                if leaves {
                    for held in held {
                        let section = self.get(held.section);
                        if section.kind != SectionKind::Method && section.mode != Mode::Optimistic {
                            problems.push(Problem::LeavesHeld { section: held.section, at: value });
                        }
                    }
                }
            });
        }
        for (index, section) in self.list.iter_mut().enumerate() {
            section.reentrant = reentrant[index].unwrap_or(false);
            section.ends = std::mem::take(&mut ends[index]);
            section.waits = std::mem::take(&mut waits[index]);
        }
        self.problems = problems;
        self.unknown_waits = unknown_waits;
    }
}

/// The values that a phi may stand for, through other phis.
fn origins(body: &Body, phi: Value) -> SmallVec<[Value; 4]> {
    const MAX_ORIGINS: usize = 64;
    let mut origins: SmallVec<[Value; 4]> = smallvec::smallvec![phi];
    let mut next = 0;
    while let Some(&origin) = origins.get(next) {
        next += 1;
        let Op::Phi(operands) = *body.op(origin) else { continue };
        for operand in body.operands(operands) {
            let operand = body.without_casts(*operand);
            if origins.len() < MAX_ORIGINS && !origins.contains(&operand) {
                origins.push(operand);
            }
        }
    }
    origins
}
