//! Critical sections of one method: where each begins, what it locks, where it ends, what is held in between.
//!
//! A forward dataflow over the control-flow graph, exceptions included. A section is one place in the code that takes
//! a lock; on each path it lasts until that lock is given back.

use classfile::{Against, CallKind, Condition};
use smallvec::SmallVec;

use crate::Program;
use crate::ir::{BlockId, Body, Instruction, Op, Value, can_throw};
use crate::lock::{self, LockKind, LockOperation, Mode};
use crate::path::{Path, Paths, Root, Step};

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
    /// The instruction that takes the lock; none for a `synchronized` method.
    pub start: Option<Value>,
    /// The object whose monitor or lock is taken, before it is named by a path.
    pub object: Option<Value>,
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
    /// The result of `tryLock` that says whether it is open.
    condition: Option<Value>,
}

/// Open sections, outermost first.
pub(crate) type HeldList = SmallVec<[Held; 4]>;

/// Where locking is not what a reader of the code would expect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The method returns with the section open: a helper that locks, or a mistake.
    LeavesHeld { section: SectionId, at: Value },
    /// A lock is given back that this method did not take: a helper that unlocks, or a name lost on the way.
    ReleasesUnheld { lock: Path, at: Value },
}

#[derive(Clone, Debug)]
pub struct Sections {
    list: Vec<Section>,
    problems: Vec<Problem>,
    /// What is held where a block starts; `None` if control never gets there.
    entries: Vec<Option<HeldList>>,
    /// By register: what it does to locks.
    events: Vec<Event>,
}

/// What an instruction does to locks, worked out once.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    None,
    Enter(SectionId),
    TryEnter(SectionId),
    Exit(LockKind, Path, Value),
    Validate(Path),
    Wait(LockKind, Option<Path>),
}

impl Sections {
    pub fn of(body: &Body, program: &Program) -> Sections {
        let paths = Paths::new(body, program);
        let mut sections = Sections {
            list: Vec::new(),
            problems: Vec::new(),
            entries: vec![None; body.block_count()],
            events: Vec::new(),
        };
        if body.access.is_synchronized() {
            let root = if body.is_static() { Root::Class(body.method.class) } else { Root::This };
            sections.list.push(Section {
                kind: SectionKind::Method,
                lock: Path::root(root),
                mode: Mode::Exclusive,
                start: None,
                object: None,
                reentrant: false,
                ends: Vec::new(),
                waits: Vec::new(),
            });
        }
        sections.events = body
            .instructions()
            .map(|(value, instruction)| sections_event(&mut sections.list, body, program, &paths, value, instruction))
            .collect();
        if sections.list.is_empty() && sections.events.iter().all(|event| *event == Event::None) {
            sections.entries.fill(Some(HeldList::new()));
            return sections;
        }
        sections.solve(body);
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

    /// The section that an instruction opens.
    pub fn opened_by(&self, value: Value) -> Option<SectionId> {
        match self.events[value.index()] {
            Event::Enter(section) | Event::TryEnter(section) => Some(section),
            _ => None,
        }
    }

    /// Whether an instruction takes, gives back or tries a lock.
    pub fn is_lock_operation(&self, value: Value) -> bool {
        !matches!(self.events[value.index()], Event::None | Event::Wait(..))
    }

    /// Walks the instructions of a block with what is held before each.
    pub fn walk<'s>(&'s self, body: &'s Body, block: BlockId, mut visit: impl FnMut(Value, &Instruction, &[Held])) {
        let Some(mut held) = self.entries[block.index()].clone() else { return };
        for (value, instruction) in body.instructions_of(block) {
            visit(value, instruction, &held);
            self.step(body, value, &mut held);
        }
    }

    /// What is held where a block starts; nothing if control never gets there.
    pub fn held_at_start(&self, block: BlockId) -> &[Held] {
        self.entries[block.index()].as_deref().unwrap_or_default()
    }

    /// What is held before an instruction; `None` if control never gets there.
    pub fn held_at(&self, body: &Body, at: Value) -> Option<HeldList> {
        let block = body.block_of(at);
        let mut held = self.entries[block.index()].clone()?;
        for (value, _) in body.instructions_of(block) {
            if value == at {
                break;
            }
            self.step(body, value, &mut held);
        }
        Some(held)
    }

    /// Sections that an instruction closes, given what is held before it.
    pub fn closed_by(&self, body: &Body, value: Value, held: &[Held]) -> SmallVec<[SectionId; 2]> {
        match &self.events[value.index()] {
            Event::Exit(kind, lock, object) => {
                self.find_exited(body, held, *kind, lock, *object).map(|at| held[at].section).into_iter().collect()
            }
            Event::Validate(lock) => self.find_optimistic(held, lock).map(|at| held[at].section).into_iter().collect(),
            Event::None if matches!(body.op(value), Op::Return(_)) => held
                .iter()
                .map(|held| held.section)
                .filter(|section| self.get(*section).kind == SectionKind::Method)
                .collect(),
            _ => SmallVec::new(),
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

    fn solve(&mut self, body: &Body) {
        let mut entry = HeldList::new();
        if body.access.is_synchronized() {
            entry.push(Held { section: SectionId(0), certain: true, condition: None });
        }
        self.entries[0] = Some(entry);
        let mut pending = vec![false; body.block_count()];
        pending[0] = true;
        let mut edges: Vec<(BlockId, HeldList)> = Vec::new();
        // Blocks are in reverse postorder, so few passes are enough.
        while let Some(first) = pending.iter().position(|pending| *pending) {
            for index in first..pending.len() {
                if !std::mem::take(&mut pending[index]) {
                    continue;
                }
                self.flow(body, BlockId(index as u32), &mut edges);
                for (target, held) in edges.drain(..) {
                    pending[target.index()] |= merge(&mut self.entries[target.index()], held);
                }
            }
        }
    }

    /// What a block hands to those that follow it.
    fn flow(&self, body: &Body, id: BlockId, edges: &mut Vec<(BlockId, HeldList)>) {
        let block = body.block(id);
        let Some(mut held) = self.entries[id.index()].clone() else { return };
        let mut last = None;
        // What is held changes seldom: a handler gets each state once.
        let mut thrown: Option<HeldList> = None;
        for (value, instruction) in body.instructions_of(id) {
            let releases = matches!(self.events[value.index()], Event::Exit(..));
            if !block.handlers.is_empty() && can_throw(&instruction.op) && !releases && thrown.as_ref() != Some(&held) {
                edges.extend(block.handlers.iter().map(|handler| (*handler, held.clone())));
                thrown = Some(held.clone());
            }
            self.step(body, value, &mut held);
            last = Some(value);
        }
        for (edge, successor) in block.successors.iter().enumerate() {
            let mut held = held.clone();
            if let Some(last) = last {
                decide(body, last, edge, &mut held);
            }
            edges.push((*successor, held));
        }
    }

    fn step(&self, body: &Body, value: Value, held: &mut HeldList) {
        match &self.events[value.index()] {
            Event::None | Event::Wait(..) => {}
            Event::Enter(section) => enter(held, Held { section: *section, certain: true, condition: None }),
            Event::TryEnter(section) => {
                enter(held, Held { section: *section, certain: false, condition: Some(value) });
            }
            Event::Exit(kind, lock, object) => {
                if let Some(at) = self.find_exited(body, held, *kind, lock, *object) {
                    held.remove(at);
                }
            }
            Event::Validate(lock) => {
                if let Some(at) = self.find_optimistic(held, lock) {
                    held.remove(at);
                }
            }
        }
    }

    /// The innermost open section that giving back `lock` closes: the one opened through the same register, else the
    /// one whose lock has the same name.
    fn find_exited(&self, body: &Body, held: &[Held], kind: LockKind, lock: &Path, object: Value) -> Option<usize> {
        let object = body.without_casts(object);
        let of_kind = |held: &Held| match self.get(held.section).kind {
            SectionKind::Method => false,
            SectionKind::Block(other) => other == kind,
        };
        let by_register = held.iter().rposition(|held| {
            of_kind(held) && self.get(held.section).object.is_some_and(|opened| body.without_casts(opened) == object)
        });
        by_register.or_else(|| held.iter().rposition(|held| of_kind(held) && self.get(held.section).lock.same(lock)))
    }

    fn find_optimistic(&self, held: &[Held], lock: &Path) -> Option<usize> {
        held.iter().rposition(|held| {
            let section = self.get(held.section);
            section.mode == Mode::Optimistic && section.lock.same(lock)
        })
    }

    /// With what is held known everywhere: reentrancy, ends, waits, problems.
    fn conclude(&mut self, body: &Body) {
        let mut reentrant: Vec<Option<bool>> = vec![None; self.list.len()];
        let mut ends = vec![Vec::new(); self.list.len()];
        let mut waits = vec![Vec::new(); self.list.len()];
        let mut problems = Vec::new();
        for (block, _) in body.blocks() {
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
                if let (Event::Exit(_, lock, _), []) = (&self.events[value.index()], closed.as_slice()) {
                    problems.push(Problem::ReleasesUnheld { lock: lock.clone(), at: value });
                }
                for section in closed {
                    ends[section.index()].push(value);
                }
                for section in self.waited_by(value, held) {
                    waits[section.index()].push(value);
                }
                if let Op::Return(_) = instruction.op {
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
    }
}

fn enter(held: &mut HeldList, entered: Held) {
    held.retain(|held| held.section != entered.section);
    held.push(entered);
}

/// Joins what is held on one more path into what is known; tells whether that changed anything.
fn merge(known: &mut Option<HeldList>, other: HeldList) -> bool {
    let Some(known) = known else {
        *known = Some(other);
        return true;
    };
    let mut changed = false;
    for held in known.iter_mut() {
        match other.iter().find(|other| other.section == held.section) {
            Some(other) => {
                if held.certain && !other.certain {
                    held.certain = false;
                    held.condition = other.condition;
                    changed = true;
                }
            }
            None => {
                changed |= held.certain;
                held.certain = false;
            }
        }
    }
    for held in other {
        if !known.iter().any(|known| known.section == held.section) {
            known.push(Held { certain: false, ..held });
            changed = true;
        }
    }
    changed
}

/// At a branch on the result of `tryLock`: held on the one edge, not held on the other.
fn decide(body: &Body, branch: Value, edge: usize, held: &mut HeldList) {
    let Op::Branch { condition, against: Against::Zero, left, .. } = *body.op(branch) else { return };
    let taken_if_true = match condition {
        Condition::NotEqual => true,
        Condition::Equal => false,
        _ => return,
    };
    // `tryWriteLock` yields a long, which is compared first.
    let result = match *body.op(left) {
        Op::Compare(left, right) if is_zero(body, right) => left,
        _ => left,
    };
    let is_true = (edge == 0) == taken_if_true;
    held.retain(|held| {
        if held.condition == Some(result) {
            held.certain |= is_true;
            return is_true;
        }
        true
    });
}

fn is_zero(body: &Body, value: Value) -> bool {
    matches!(body.op(value), Op::Constant(classfile::Constant::Long(0) | classfile::Constant::Int(0)))
}

/// What an instruction does to locks. Opens a section in `list` where it takes one.
fn sections_event(
    list: &mut Vec<Section>,
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    value: Value,
    instruction: &Instruction,
) -> Event {
    let mut open = |kind: LockKind, mode: Mode, lock: Path, object: Value| {
        list.push(Section {
            kind: SectionKind::Block(kind),
            lock,
            mode,
            start: Some(value),
            object: Some(object),
            reentrant: false,
            ends: Vec::new(),
            waits: Vec::new(),
        });
        SectionId(list.len() as u32 - 1)
    };
    match instruction.op {
        Op::MonitorEnter(object) => {
            Event::Enter(open(LockKind::Monitor, Mode::Exclusive, paths.of(object, value), object))
        }
        Op::MonitorExit(object) => Event::Exit(LockKind::Monitor, paths.of(object, value), object),
        Op::Call { kind, method, arguments } if kind != CallKind::Static => {
            let Some(operation) = lock::operation(program, method) else { return Event::None };
            let object = body.operands(arguments)[0];
            let (lock, part) = lock_path(body, program, paths, object, value);
            match operation {
                LockOperation::Acquire(kind, mode) => Event::Enter(open(kind, part.unwrap_or(mode), lock, object)),
                LockOperation::TryAcquire(kind, mode) => {
                    Event::TryEnter(open(kind, part.unwrap_or(mode), lock, object))
                }
                LockOperation::Release(kind) => Event::Exit(kind, lock, object),
                LockOperation::Validate => Event::Validate(lock),
                LockOperation::Wait => wait(body, program, paths, object, value, method),
            }
        }
        _ => Event::None,
    }
}

fn wait(
    body: &Body,
    program: &Program,
    paths: &Paths<'_>,
    object: Value,
    at: Value,
    method: location::MethodName,
) -> Event {
    if program.names.text(method.name) == "wait" {
        return Event::Wait(LockKind::Monitor, Some(paths.of(object, at)));
    }
    let object = body.without_casts(object);
    let lock = match *body.op(object) {
        Op::GetField { base, field } => {
            program.derived_locks.get(program, field).map(|derived| paths.of(base, at).then(Step::Field(derived.lock)))
        }
        Op::GetStatic(field) => {
            program.derived_locks.get(program, field).map(|derived| Path::root(Root::Static(derived.lock)))
        }
        Op::Call { method, arguments, .. } if lock::view(program, method).is_some() => {
            Some(paths.of(body.operands(arguments)[0], at))
        }
        _ => None,
    };
    Event::Wait(LockKind::Lock, lock)
}

/// The lock behind an object on which `lock()` and the like are called, and which half of it that is.
fn lock_path(body: &Body, program: &Program, paths: &Paths<'_>, object: Value, at: Value) -> (Path, Option<Mode>) {
    let object = body.without_casts(object);
    match *body.op(object) {
        Op::Call { kind, method, arguments } if kind != CallKind::Static => {
            if let Some(Some(mode)) = lock::view(program, method) {
                return (paths.of(body.operands(arguments)[0], at), Some(mode));
            }
        }
        Op::GetField { base, field } => {
            if let Some(derived) = program.derived_locks.get(program, field)
                && let Some(mode) = derived.mode
            {
                return (paths.of(base, at).then(Step::Field(derived.lock)), Some(mode));
            }
        }
        Op::GetStatic(field) => {
            if let Some(derived) = program.derived_locks.get(program, field)
                && let Some(mode) = derived.mode
            {
                return (Path::root(Root::Static(derived.lock)), Some(mode));
            }
        }
        _ => {}
    }
    (paths.of(object, at), None)
}
