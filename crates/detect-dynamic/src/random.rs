//! Random traces for tests: legal ones, with all that makes detectors stumble.

use trace::{
    Access, Action, ActivationId, BarrierId, BranchId, Cause, Event, Interval, LockId, Mode, Ran, SectionId, SiteId,
    StackId, SyncKind, ThreadId, UnitId, VariableId,
};

/// A generator that gives the same numbers for the same seed, everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// Below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What may be in a trace.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) threads: u32,
    pub(crate) variables: u32,
    pub(crate) locks: u32,
    /// Events, those that begin and end units included.
    pub(crate) length: usize,
    /// Whether units of one thread may overlap without one being inside the other.
    pub(crate) overlap: bool,
}

impl Shape {
    pub(crate) fn any(random: &mut Random, most_threads: u64, longest: u64) -> Shape {
        Shape {
            threads: 2 + random.below(most_threads - 1) as u32,
            variables: 1 + random.below(4) as u32,
            locks: 1 + random.below(3) as u32,
            length: 3 + random.below(longest - 2) as usize,
            overlap: random.one_in(4),
        }
    }
}

#[derive(Clone, Default)]
struct Actor {
    running: bool,
    finished: bool,
    units: Vec<UnitId>,
    held: Vec<(LockId, Mode)>,
    waiting: Option<LockId>,
    speculating: bool,
    arrived: Option<u32>,
}

/// A random trace. Locks exclude each other as they should; all else is left to chance.
pub(crate) fn trace(random: &mut Random, shape: Shape) -> Vec<Event> {
    let mut actors = vec![Actor::default(); shape.threads as usize];
    // Some threads run from the beginning, the others are started.
    for (index, actor) in actors.iter_mut().enumerate() {
        actor.running = index == 0 || random.one_in(2);
    }
    // How likely what is: different in every trace, so that extremes come up.
    let reads = 1 + random.below(6);
    let units = 1 + random.below(5);
    let locking = 1 + random.below(8);
    let rare = 6 + random.below(60);
    let mut generation = 0;
    let mut counters = vec![0u64; shape.variables as usize];
    let mut events = Vec::new();
    while events.len() < shape.length {
        let thread = random.below(u64::from(shape.threads)) as usize;
        if !actors[thread].running {
            // Everybody may be over.
            if actors.iter().all(|actor| !actor.running) {
                break;
            }
            continue;
        }
        let Some(action) =
            action(random, shape, &mut actors, thread, (reads, units, locking, rare), &mut generation, &mut counters)
        else {
            continue;
        };
        // Few places, so that violations of one pair of places come up more than once; some unknown.
        let site = SiteId(random.below(12) as u32);
        events.push(Event { thread: ThreadId(thread as u32), site, stack: StackId(0), action });
        if action == Action::ThreadEnd {
            actors[thread] = Actor { finished: true, ..Actor::default() };
        }
    }
    events
}

fn action(
    random: &mut Random,
    shape: Shape,
    actors: &mut [Actor],
    thread: usize,
    (reads, units, locking, rare): (u64, u64, u64, u64),
    generation: &mut u32,
    counters: &mut [u64],
) -> Option<Action> {
    if actors[thread].speculating {
        if random.one_in(3) {
            actors[thread].speculating = false;
            return Some(Action::ArmEnd { branch: BranchId(1) });
        }
        let variable = VariableId(random.below(u64::from(shape.variables)) as u32);
        return Some(match random.below(4) {
            0 => Action::Read { variable },
            1 => Action::Write { variable },
            2 => Action::UnitBegin { unit: UnitId(0), activation: ActivationId(0) },
            _ => Action::Acquire {
                lock: LockId(0),
                mode: Mode::Exclusive,
                cause: Cause::Section,
                section: SectionId(0),
                activation: ActivationId(0),
            },
        });
    }
    if let Some(lock) = actors[thread].waiting {
        if !free(actors, thread, lock, Mode::Exclusive) {
            return None;
        }
        actors[thread].waiting = None;
        return Some(acquire(lock, Mode::Exclusive, Cause::Wait));
    }
    if let Some(generation) = actors[thread].arrived {
        // Leaves only when all that are going to arrive have: nobody arrives at a generation that somebody left.
        actors[thread].arrived = None;
        return Some(Action::Leave { barrier: BarrierId(0), generation });
    }
    if random.one_in(rare) {
        return rare_action(random, shape, actors, thread, generation, counters);
    }
    match random.below(reads + 2 + units + locking) {
        choice if choice < reads => {
            Some(Action::Read { variable: VariableId(random.below(u64::from(shape.variables)) as u32) })
        }
        choice if choice < reads + 2 => {
            Some(Action::Write { variable: VariableId(random.below(u64::from(shape.variables)) as u32) })
        }
        choice if choice < reads + 2 + units => Some(bound(random, shape, &mut actors[thread])),
        _ => lock(random, shape, actors, thread),
    }
}

/// Begins or ends a unit.
fn bound(random: &mut Random, shape: Shape, actor: &mut Actor) -> Action {
    let open = actor.units.len() as u64;
    if open > 0 && random.below(4) < 1 + open {
        let index = if shape.overlap { random.below(open) as usize } else { actor.units.len() - 1 };
        return Action::UnitEnd { unit: actor.units.remove(index) };
    }
    if open == 0 && random.one_in(10) {
        // An end that nobody began.
        return Action::UnitEnd { unit: UnitId(0) };
    }
    let unit =
        if shape.overlap { UnitId(1 + open as u32 + random.below(3) as u32) } else { UnitId(random.below(3) as u32) };
    if shape.overlap && actor.units.contains(&unit) {
        return Action::Enter { activation: ActivationId(1), method: trace::MethodId(0) };
    }
    actor.units.push(unit);
    Action::UnitBegin { unit, activation: ActivationId(0) }
}

fn lock(random: &mut Random, shape: Shape, actors: &mut [Actor], thread: usize) -> Option<Action> {
    let held = actors[thread].held.len() as u64;
    if held > 0 && random.below(3) < 2 {
        let (lock, mode) = actors[thread].held.remove(random.below(held) as usize);
        return Some(Action::Release { lock, mode, cause: Cause::Section });
    }
    let lock = LockId(random.below(u64::from(shape.locks)) as u32);
    let mode = if random.one_in(3) { Mode::Shared } else { Mode::Exclusive };
    if !free(actors, thread, lock, mode) {
        return None;
    }
    actors[thread].held.push((lock, mode));
    Some(acquire(lock, mode, Cause::Section))
}

fn acquire(lock: LockId, mode: Mode, cause: Cause) -> Action {
    Action::Acquire { lock, mode, cause, section: SectionId(0), activation: ActivationId(0) }
}

/// Whether no other thread holds the lock in a way that excludes this.
fn free(actors: &[Actor], thread: usize, lock: LockId, mode: Mode) -> bool {
    actors.iter().enumerate().all(|(other, actor)| {
        other == thread
            || actor.waiting == Some(lock)
            || actor.held.iter().all(|&(held, how)| held != lock || (how == Mode::Shared && mode == Mode::Shared))
    })
}

fn rare_action(
    random: &mut Random,
    shape: Shape,
    actors: &mut [Actor],
    thread: usize,
    generation: &mut u32,
    counters: &mut [u64],
) -> Option<Action> {
    let other = random.below(u64::from(shape.threads)) as usize;
    match random.below(10) {
        0 | 1 => {
            if actors[other].running || actors[other].finished {
                return None;
            }
            actors[other].running = true;
            Some(Action::Start { child: ThreadId(other as u32) })
        }
        2 | 3 => {
            // Now and then a thread that goes on is joined: that must not confuse anybody.
            let over = actors[other].finished || random.one_in(4);
            (over && other != thread).then_some(Action::Join { child: ThreadId(other as u32) })
        }
        4 => (thread != 0).then_some(Action::ThreadEnd),
        5 => {
            actors[thread].speculating = true;
            Some(Action::ArmBegin { branch: BranchId(1), arm: 0, ran: Ran::Speculated })
        }
        6 => {
            if random.one_in(3) {
                *generation += 1;
            }
            actors[thread].arrived = Some(*generation);
            Some(Action::Arrive { barrier: BarrierId(0), generation: *generation })
        }
        7 => {
            let &(lock, _) = actors[thread].held.iter().find(|&&(_, mode)| mode == Mode::Exclusive)?;
            actors[thread].waiting = Some(lock);
            Some(Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Wait })
        }
        8 => {
            let variable = random.below(u64::from(shape.variables)) as u32;
            // Variables of their own: one that is accessed both with and without numbers has no order between the two.
            let counter = &mut counters[variable as usize];
            let before = *counter;
            *counter += 1 + random.below(3);
            let interval = Interval::new(before, before + random.below(8));
            Some(Action::Sync {
                variable: VariableId(100 + variable),
                access: [Access::Read, Access::Write, Access::Update][random.below(3) as usize],
                kind: SyncKind::Atomic,
                interval,
            })
        }
        _ => Some(Action::Sync {
            variable: VariableId(random.below(u64::from(shape.variables)) as u32),
            access: [Access::Read, Access::Write, Access::Update][random.below(3) as usize],
            kind: SyncKind::Volatile,
            interval: None,
        }),
    }
}
