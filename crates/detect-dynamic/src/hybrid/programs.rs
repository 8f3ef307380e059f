//! Small random programs for tests: threads with units, sections, branches, starts and joins, and a run of them as events.

use trace::{
    Access, Action, ActivationId, BranchId, Cause, Event, LockId, Mode, Ran, SectionId, SiteId, StackId, SyncKind,
    ThreadId, UnitId, VariableId,
};

use crate::random::Random;

/// One step of a thread, all branches decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Read(u32),
    Write(u32),
    Acquire(u32, Mode),
    Release(u32, Mode),
    Begin,
    End,
    Start(usize),
    Join(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Step(Step),
    /// The arms, and which of them the run takes; without, it takes none of them.
    Branch {
        arms: Vec<Vec<Item>>,
        taken: Option<usize>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) threads: Vec<Vec<Item>>,
}

/// What may be in a program.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) threads: u64,
    pub(super) variables: u64,
    pub(super) locks: u64,
    /// Accesses of one thread, at most.
    pub(super) accesses: u64,
    pub(super) branches: u64,
    pub(super) starts: bool,
    pub(super) shared: bool,
}

struct Maker<'r> {
    random: &'r mut Random,
    shape: Shape,
    left: u64,
    branches: u64,
}

impl Program {
    pub(super) fn random(random: &mut Random, shape: Shape) -> Program {
        let mut branches = shape.branches;
        let mut threads: Vec<Vec<Item>> = Vec::new();
        for _ in 0..shape.threads {
            let left = 1 + random.below(shape.accesses);
            let mut maker = Maker { random, shape, left, branches };
            threads.push(maker.thread());
            branches = maker.branches;
        }
        if shape.starts {
            for child in 1..threads.len() {
                let parent = random.below(child as u64) as usize;
                if random.one_in(2) {
                    insert(random, &mut threads[parent], Step::Start(child));
                    if random.one_in(3) {
                        let is_start =
                            |item: &Item| matches!(item, Item::Step(Step::Start(started)) if *started == child);
                        let after = threads[parent].iter().position(is_start).map_or(0, |at| at + 1);
                        let mut rest = threads[parent].split_off(after);
                        insert(random, &mut rest, Step::Join(child));
                        threads[parent].extend(rest);
                    }
                }
            }
        }
        Program { threads }
    }

    /// For each branch of all threads, how many ways there are to go on.
    pub(super) fn choices(&self) -> Vec<usize> {
        fn add(items: &[Item], choices: &mut Vec<usize>) {
            for item in items {
                if let Item::Branch { arms, taken } = item {
                    choices.push(arms.len() + usize::from(taken.is_none()));
                    arms.iter().for_each(|arm| add(arm, choices));
                }
            }
        }
        let mut choices = Vec::new();
        self.threads.iter().for_each(|thread| add(thread, &mut choices));
        choices
    }

    /// The decisions of the run.
    pub(super) fn taken(&self) -> Vec<usize> {
        fn add(items: &[Item], decisions: &mut Vec<usize>) {
            for item in items {
                if let Item::Branch { arms, taken } = item {
                    decisions.push(taken.unwrap_or(arms.len()));
                    arms.iter().for_each(|arm| add(arm, decisions));
                }
            }
        }
        let mut decisions = Vec::new();
        self.threads.iter().for_each(|thread| add(thread, &mut decisions));
        decisions
    }

    /// The threads with every branch decided: by number, in the order of [`Program::choices`].
    pub(super) fn decided(&self, decisions: &[usize]) -> Vec<Vec<Step>> {
        fn add(items: &[Item], decisions: &mut std::slice::Iter<usize>, is_taken: bool, steps: &mut Vec<Step>) {
            for item in items {
                match item {
                    Item::Step(step) => steps.extend(is_taken.then_some(*step)),
                    Item::Branch { arms, .. } => {
                        let decision = decisions.next().copied().unwrap_or(0);
                        for (index, arm) in arms.iter().enumerate() {
                            add(arm, decisions, is_taken && index == decision, steps);
                        }
                    }
                }
            }
        }
        let mut decisions = decisions.iter();
        let thread = |items: &Vec<Item>| {
            let mut steps = Vec::new();
            add(items, &mut decisions, true, &mut steps);
            steps
        };
        self.threads.iter().map(thread).collect()
    }

    /// All decisions.
    pub(super) fn all(&self) -> Vec<Vec<usize>> {
        self.choices().iter().fold(vec![Vec::new()], |known, &count| {
            let more = |decisions: Vec<usize>| {
                (0..count).map(move |next| decisions.iter().copied().chain([next]).collect::<Vec<_>>())
            };
            known.into_iter().flat_map(more).collect()
        })
    }

    /// The events of one run, with what did not run. `None` if threads come to wait for each other.
    pub(super) fn run(&self, random: &mut Random, sites: Option<u64>) -> Option<Vec<Event>> {
        let mut branch = 0;
        let lists: Vec<Vec<(Action, bool)>> = self
            .threads
            .iter()
            .map(|items| {
                let mut list = Vec::new();
                emit(items, true, &mut branch, &mut list);
                list
            })
            .collect();
        let mut next = vec![0; lists.len()];
        let is_started = |thread: usize| {
            !self
                .threads
                .iter()
                .flatten()
                .any(|item| matches!(item, Item::Step(Step::Start(child)) if *child == thread))
        };
        let mut is_running: Vec<bool> = (0..lists.len()).map(is_started).collect();
        let mut held: Vec<(usize, u32, Mode)> = Vec::new();
        let mut events = Vec::new();
        while next.iter().zip(&lists).any(|(next, list)| *next < list.len()) {
            let can_go = |thread: &usize| {
                let Some(&(action, ran)) = lists[*thread].get(next[*thread]) else { return false };
                if !is_running[*thread] {
                    return false;
                }
                match action {
                    Action::Acquire { lock, mode, .. } if ran => held.iter().all(|&(other, known, how)| {
                        other == *thread || known != lock.0 || (how == Mode::Shared && mode == Mode::Shared)
                    }),
                    Action::Join { child } => next[child.index()] == lists[child.index()].len(),
                    _ => true,
                }
            };
            let able: Vec<usize> = (0..lists.len()).filter(can_go).collect();
            if able.is_empty() {
                return None;
            }
            let thread = able[random.below(able.len() as u64) as usize];
            let (action, ran) = lists[thread][next[thread]];
            next[thread] += 1;
            match action {
                Action::Acquire { lock, mode, .. } if ran => held.push((thread, lock.0, mode)),
                Action::Release { lock, mode, .. } if ran => {
                    held.iter().position(|known| *known == (thread, lock.0, mode)).map(|at| held.swap_remove(at));
                }
                Action::Start { child } => is_running[child.index()] = true,
                _ => {}
            }
            // The same place in the code of a thread, whichever order the threads run in.
            let number = (thread * 1000 + next[thread]) as u64;
            let site = SiteId(sites.map_or(number + 1, |sites| 1 + number % sites) as u32);
            events.push(Event { thread: ThreadId(thread as u32), site, stack: StackId(0), action });
        }
        Some(events)
    }
}

/// Somewhere between the steps of a thread, outside units, sections and branches.
fn insert(random: &mut Random, items: &mut Vec<Item>, step: Step) {
    let mut depth = 0;
    let mut places = vec![0];
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Step(Step::Begin | Step::Acquire(..)) => depth += 1,
            Item::Step(Step::End | Step::Release(..)) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            places.push(index + 1);
        }
    }
    let place = places[random.below(places.len() as u64) as usize];
    items.insert(place, Item::Step(step));
}

impl Maker<'_> {
    fn thread(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while self.left > 0 {
            if self.random.below(4) < 3 {
                items.push(Item::Step(Step::Begin));
                self.some(&mut items, 0);
                items.push(Item::Step(Step::End));
            } else {
                self.some(&mut items, 0);
            }
        }
        items
    }

    /// At least one access.
    fn some(&mut self, items: &mut Vec<Item>, depth: u32) {
        if depth < 3 && self.random.one_in(3) {
            self.section(items, depth);
        } else {
            self.access(items);
        }
        while !self.random.one_in(if depth == 0 { 6 } else { 3 }) && self.left > 0 {
            match self.random.below(6) {
                0 | 1 if depth < 3 => self.section(items, depth),
                2 if self.branches > 0 => self.branch(items, depth),
                _ => self.access(items),
            }
        }
    }

    fn section(&mut self, items: &mut Vec<Item>, depth: u32) {
        let lock = self.random.below(self.shape.locks) as u32;
        let is_shared = self.shape.shared && self.random.one_in(3);
        let mode = if is_shared { Mode::Shared } else { Mode::Exclusive };
        items.push(Item::Step(Step::Acquire(lock, mode)));
        self.some(items, depth + 1);
        items.push(Item::Step(Step::Release(lock, mode)));
    }

    fn branch(&mut self, items: &mut Vec<Item>, depth: u32) {
        self.branches -= 1;
        let count = 1 + self.random.below(2);
        let mut arms = Vec::new();
        for _ in 0..count {
            let mut arm = Vec::new();
            self.left += 1;
            self.some(&mut arm, depth + 1);
            arms.push(arm);
        }
        let taken = (count > 1 || self.random.one_in(2)).then(|| self.random.below(count) as usize);
        items.push(Item::Branch { arms, taken });
    }

    fn access(&mut self, items: &mut Vec<Item>) {
        self.left = self.left.saturating_sub(1);
        let variable = self.random.below(self.shape.variables) as u32;
        items.push(Item::Step(if self.random.one_in(2) { Step::Write(variable) } else { Step::Read(variable) }));
    }
}

fn emit(items: &[Item], ran: bool, branches: &mut u32, list: &mut Vec<(Action, bool)>) {
    for item in items {
        match item {
            Item::Step(step) => list.push((action(*step), ran)),
            Item::Branch { arms, taken } => {
                *branches += 1;
                let branch = BranchId(u64::from(*branches));
                let others = (0..arms.len()).filter(|index| !ran || Some(*index) != *taken);
                for index in others {
                    list.push((Action::ArmBegin { branch, arm: index as u32, ran: Ran::Speculated }, ran));
                    emit(&arms[index], false, branches, list);
                    list.push((Action::ArmEnd { branch }, ran));
                }
                if let Some(index) = taken.filter(|_| ran) {
                    list.push((Action::ArmBegin { branch, arm: index as u32, ran: Ran::Yes }, ran));
                    emit(&arms[index], true, branches, list);
                    list.push((Action::ArmEnd { branch }, ran));
                }
            }
        }
    }
}

fn action(step: Step) -> Action {
    match step {
        // Every third variable is a volatile.
        Step::Read(variable) | Step::Write(variable) if variable % 3 == 2 => {
            let access = if matches!(step, Step::Write(_)) { Access::Write } else { Access::Read };
            Action::Sync { variable: VariableId(variable), access, kind: SyncKind::Volatile, interval: None }
        }
        Step::Read(variable) => Action::Read { variable: VariableId(variable) },
        Step::Write(variable) => Action::Write { variable: VariableId(variable) },
        Step::Acquire(lock, mode) => Action::Acquire {
            lock: LockId(lock),
            mode,
            cause: Cause::Section,
            section: SectionId(0),
            activation: ActivationId(0),
        },
        Step::Release(lock, mode) => Action::Release { lock: LockId(lock), mode, cause: Cause::Section },
        Step::Begin => Action::UnitBegin { unit: UnitId(1), activation: ActivationId(0) },
        Step::End => Action::UnitEnd { unit: UnitId(1) },
        Step::Start(child) => Action::Start { child: ThreadId(child as u32) },
        Step::Join(child) => Action::Join { child: ThreadId(child as u32) },
    }
}
