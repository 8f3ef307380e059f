//! Open units and their phases.

use rustc_hash::FxHashMap;
use trace::{Access, LockId, MethodId, SiteId, StackId, ThreadId, UnitId, VariableId};

use super::chains::Chain;
use super::state::Held;

/// The number of an event in the run, from 1.
pub(super) type Moment = u64;

/// Where and when something was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub(super) moment: Moment,
    pub(super) site: SiteId,
    pub(super) stack: StackId,
    /// The units that were open, where the trace has no stacks.
    pub(super) within: Chain,
    pub(super) deed: Deed,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Deed {
    Begin,
    Read(VariableId),
    Write(VariableId),
    Update(VariableId),
    Acquire(LockId),
    Release(LockId),
    /// A call of what is taken to be atomic.
    Call(MethodId),
}

impl Deed {
    pub(super) fn access(access: Access, variable: VariableId) -> Deed {
        match access {
            Access::Read => Deed::Read(variable),
            Access::Write => Deed::Write(variable),
            Access::Update => Deed::Update(variable),
        }
    }
}

/// How a step can be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mover {
    Both,
    Right,
    Left,
    Non,
}

/// A step that does not fit, with all that a report needs.
#[derive(Clone, Debug)]
pub(super) struct Warning {
    pub(super) thread: ThreadId,
    pub(super) unit: UnitId,
    pub(super) entry: Point,
    pub(super) commit: Point,
    pub(super) offence: Point,
    /// Another thread's last access to the variable, where it is known.
    pub(super) other: Option<(ThreadId, Point)>,
    /// Shared variables that the unit touched so far.
    pub(super) variables: Vec<VariableId>,
}

/// What was done to a variable or a lock while it looked harmless.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relied {
    pub(super) on: On,
    pub(super) held: Held,
    /// The first step that would be a commit point.
    first: Option<Point>,
    /// The last step that would be wrong after a commit point.
    last: Option<Point>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum On {
    Read(VariableId),
    Write(VariableId),
    Lock(LockId),
}

/// At most one [`Relied`] for each thing and what was held.
#[derive(Default)]
struct Reliances {
    steps: Vec<Relied>,
    /// Where each stands. Empty while there are few: looking at them one by one is faster then.
    places: FxHashMap<(On, Held), usize>,
}

impl Reliances {
    const FEW: usize = 16;

    fn of(&mut self, on: On, held: Held) -> &mut Relied {
        let known = if self.steps.len() <= Reliances::FEW {
            self.steps.iter().rposition(|relied| relied.on == on && relied.held == held)
        } else {
            self.places.get(&(on, held)).copied()
        };
        let place = known.unwrap_or_else(|| {
            self.steps.push(Relied { on, held, first: None, last: None });
            let place = self.steps.len() - 1;
            if place == Reliances::FEW {
                self.index();
            } else if place > Reliances::FEW {
                self.places.insert((on, held), place);
            }
            place
        });
        &mut self.steps[place]
    }

    /// Takes those out that are `lost`.
    fn take(&mut self, mut lost: impl FnMut(&Relied) -> bool) -> Vec<Relied> {
        let taken: Vec<Relied> = self.steps.extract_if(.., |relied| lost(relied)).collect();
        if !taken.is_empty() {
            self.index();
        }
        taken
    }

    fn index(&mut self) {
        self.places.clear();
        if self.steps.len() > Reliances::FEW {
            self.places.extend(self.steps.iter().enumerate().map(|(place, relied)| ((relied.on, relied.held), place)));
        }
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.places.clear();
    }
}

/// A unit that is open.
pub(super) struct Block {
    pub(super) unit: UnitId,
    /// Its own entry is within what it is part of.
    pub(super) entry: Point,
    /// The step after which only such are right that may be done earlier.
    commit: Option<Point>,
    /// The last step that is right only before the commit point, or is the commit point.
    last: Option<Point>,
    warned: bool,
    /// Kept unless the paper's way is asked for.
    relied: Reliances,
    pub(super) variables: Vec<VariableId>,
}

/// More variables than this say nothing about the unit.
const MOST_VARIABLES: usize = 8;

impl Block {
    pub(super) fn new(unit: UnitId, entry: Point) -> Block {
        Block {
            unit,
            entry,
            commit: None,
            last: None,
            warned: false,
            relied: Reliances::default(),
            variables: Vec::new(),
        }
    }

    /// The same with another unit: there are very many, and each needs some room.
    pub(super) fn again(mut self, unit: UnitId, entry: Point) -> Block {
        self.divide();
        self.variables.clear();
        Block { unit, entry, warned: false, ..self }
    }

    /// Begins a new phase: what came before and what comes after are not one.
    pub(super) fn divide(&mut self) {
        (self.commit, self.last) = (None, None);
        self.relied.clear();
    }

    pub(super) fn touch(&mut self, variable: VariableId) {
        if self.variables.len() < MOST_VARIABLES && !self.variables.contains(&variable) {
            self.variables.push(variable);
        }
    }

    /// Takes a step, which comes after all others so far; the commit point and the step if they do not fit together.
    pub(super) fn step(&mut self, mover: Mover, point: Point) -> Option<(Point, Point)> {
        let before = self.commit;
        if matches!(mover, Mover::Left | Mover::Non) && before.is_none() {
            self.commit = Some(point);
        }
        if matches!(mover, Mover::Right | Mover::Non) {
            self.last = Some(point);
            if let Some(commit) = before {
                return (!std::mem::replace(&mut self.warned, true)).then_some((commit, point));
            }
        }
        None
    }

    /// Puts a commit point and a step that must not come after one into the phase, wherever in it they belong.
    fn join(&mut self, first: Option<Point>, last: Option<Point>) -> Option<(Point, Point)> {
        let earliest = [self.commit, first].into_iter().flatten().min_by_key(|point| point.moment);
        let latest = [self.last, last].into_iter().flatten().max_by_key(|point| point.moment);
        (self.commit, self.last) = (earliest, latest);
        let wrong = earliest.zip(latest).filter(|(commit, offence)| commit.moment < offence.moment)?;
        (!std::mem::replace(&mut self.warned, true)).then_some(wrong)
    }

    /// Notes a step that could be moved both ways, as far as was known.
    pub(super) fn rely(&mut self, on: On, held: Held, point: Point) {
        let relied = self.relied.of(on, held);
        match point.deed {
            Deed::Acquire(_) => relied.last = Some(point),
            Deed::Release(_) => relied.first = relied.first.or(Some(point)),
            Deed::Begin | Deed::Read(_) | Deed::Write(_) | Deed::Update(_) | Deed::Call(_) => {
                relied.first = relied.first.or(Some(point));
                relied.last = Some(point);
            }
        }
    }

    /// Judges steps again that cannot be moved both ways after all.
    pub(super) fn recheck(&mut self, mut holds: impl FnMut(&Relied) -> bool) -> Option<(Point, Point)> {
        let mut wrong = None;
        for relied in self.relied.take(|relied| !holds(relied)) {
            let found = self.join(relied.first, relied.last);
            wrong = wrong.or(found);
        }
        wrong
    }

    pub(super) fn relies(&self) -> bool {
        !self.relied.steps.is_empty()
    }
}
