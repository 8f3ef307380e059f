//! What is tracked: for each open section, which locks were taken and let go inside it.

use program::{Path, SectionId};
use smallvec::SmallVec;

/// Number of a lock in one method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LockId(pub(super) u32);

/// Number of a taking in one method: a section of its own, or one lock that a call takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TakeId(pub(super) u32);

/// What holds a lock, from where it is taken on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Holder {
    /// Nothing: the method as a whole.
    Method,
    Own(SectionId),
    /// A call that takes a lock and returns with it.
    Call(u32),
}

/// The facts of one scope: the method, or an open section.
///
/// Of the paper's ⟨R, T, P⟩ only R is kept. All open scopes are known when a lock is taken, so T and P, which the paper
/// carries outwards until the context ends, are settled at once; a context that never ends counts, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scope {
    pub(super) holder: Holder,
    /// The lock that is held, unless it has no name.
    pub(super) lock: Option<LockId>,
    /// Whether what the lock's name goes through was assigned since.
    pub(super) renamed: bool,
    /// R: locks that were taken and let go in here and still have their names, sorted.
    pub(super) released: Vec<(LockId, TakeId)>,
}

impl Scope {
    pub(super) fn new(holder: Holder, lock: Option<LockId>) -> Scope {
        Scope { holder, lock, renamed: false, released: Vec::new() }
    }

    pub(super) fn release(&mut self, lock: LockId, take: TakeId) {
        if let Err(at) = self.released.binary_search(&(lock, take)) {
            self.released.insert(at, (lock, take));
        }
    }

    /// The takings of a lock, in the order of their numbers.
    pub(super) fn takings(&self, lock: LockId) -> impl Iterator<Item = TakeId> + '_ {
        let from = self.released.partition_point(|(known, _)| *known < lock);
        self.released[from..].iter().take_while(move |(known, _)| *known == lock).map(|(_, take)| *take)
    }
}

/// Scopes from the method inwards, on one way of having come here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stack {
    pub(super) scopes: SmallVec<[Scope; 3]>,
}

impl Stack {
    pub(super) fn new() -> Stack {
        Stack { scopes: [Scope::new(Holder::Method, None)].into_iter().collect() }
    }

    /// Whether a lock is held all the time.
    pub(super) fn holds(&self, lock: LockId) -> bool {
        self.scopes.iter().any(|scope| scope.lock == Some(lock) && !scope.renamed)
    }

    pub(super) fn innermost(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The innermost scope that holds something.
    pub(super) fn context(&self) -> Option<Holder> {
        self.scopes.last().map(|scope| scope.holder).filter(|holder| *holder != Holder::Method)
    }

    pub(super) fn position(&self, holder: Holder) -> Option<usize> {
        self.scopes.iter().rposition(|scope| scope.holder == holder)
    }

    /// Closes a scope: `R' = R ∪ Rs ∪ {e}`, as far as the locks still have their names.
    pub(super) fn leave(&mut self, at: usize, take: Option<TakeId>) {
        if at == 0 || at >= self.scopes.len() {
            return;
        }
        let inner = self.scopes.remove(at);
        let outer = &mut self.scopes[at - 1];
        for (lock, take) in inner.released {
            outer.release(lock, take);
        }
        if let (Some(lock), Some(take), false) = (inner.lock, take, inner.renamed) {
            outer.release(lock, take);
        }
    }

    /// To wait is to let go and to take again: what was released before and what comes after are not one step of this
    /// context, though they may be of an outer one. The lock itself is no witness, since the code says that it lets go.
    pub(super) fn begin_anew(&mut self, at: usize) {
        if at > 0 {
            let released = std::mem::take(&mut self.scopes[at].released);
            for (lock, take) in released {
                self.scopes[at - 1].release(lock, take);
            }
        }
    }

    /// An assignment takes names away: what was locked under such a name may be another object next time. Tells whether
    /// there was any.
    pub(super) fn forget(&mut self, changes: impl Fn(LockId) -> bool) -> bool {
        let mut changed = false;
        for scope in &mut self.scopes {
            let before = (scope.renamed, scope.released.len());
            scope.released.retain(|(lock, _)| !changes(*lock));
            scope.renamed = scope.renamed || scope.lock.is_some_and(&changes);
            changed |= before != (scope.renamed, scope.released.len());
        }
        changed
    }

    /// Whether the same sections are open, in the same order.
    fn is_like(&self, other: &Stack) -> bool {
        self.scopes.len() == other.scopes.len()
            && self.scopes.iter().zip(&other.scopes).all(|(a, b)| a.holder == b.holder)
    }

    /// Whether they differ at most in what calls left held.
    fn is_near(&self, other: &Stack) -> bool {
        let own = |stack: &Stack| -> SmallVec<[Holder; 4]> {
            let holders = stack.scopes.iter().map(|scope| scope.holder);
            holders.filter(|holder| !matches!(holder, Holder::Call(_))).collect()
        };
        !self.is_like(other) && own(self) == own(other)
    }

    /// Closes what calls left held and is not held in the other.
    fn keep_calls_of(&mut self, other: &Stack) -> bool {
        let mut changed = false;
        for at in (1..self.scopes.len()).rev() {
            let holder = self.scopes[at].holder;
            if matches!(holder, Holder::Call(_)) && other.position(holder).is_none() {
                self.leave(at, None);
                changed = true;
            }
        }
        changed
    }

    fn join(&mut self, other: &Stack) -> bool {
        let mut changed = false;
        for (scope, other) in self.scopes.iter_mut().zip(&other.scopes) {
            let before = (scope.renamed, scope.released.len());
            scope.renamed |= other.renamed;
            for (lock, take) in &other.released {
                scope.release(*lock, *take);
            }
            changed |= before != (scope.renamed, scope.released.len());
        }
        changed
    }
}

/// Ways of having come to a point of the code that differ in which sections are open. Where locking is structured
/// there is one.
#[derive(Clone, Default, Debug)]
pub(super) struct State {
    stacks: SmallVec<[Stack; 1]>,
}

/// Beyond this many, further ways are not followed.
const MAX_STACKS: usize = 16;

impl State {
    pub(super) fn of(stack: Stack) -> State {
        State { stacks: [stack].into_iter().collect() }
    }

    pub(super) fn stacks(&self) -> impl Iterator<Item = &Stack> {
        self.stacks.iter()
    }

    pub(super) fn stacks_mut(&mut self) -> impl Iterator<Item = &mut Stack> {
        self.stacks.iter_mut()
    }

    /// The state without sections that are not open in the target: on the edge where `tryLock` failed nothing was taken.
    pub(super) fn only_open(mut self, open: &[SectionId]) -> State {
        for stack in self.stacks_mut() {
            stack.scopes.retain(|scope| match scope.holder {
                Holder::Own(section) => open.contains(&section),
                Holder::Method | Holder::Call(_) => true,
            });
        }
        self
    }

    /// Joins by union; tells whether that changed anything. A lock that a call left held counts while it is held on
    /// every path.
    pub(super) fn join(&mut self, other: State) -> bool {
        let mut changed = false;
        for mut stack in other.stacks {
            if let Some(near) = self.stacks.iter_mut().find(|known| known.is_near(&stack)) {
                changed |= near.keep_calls_of(&stack);
                stack.keep_calls_of(near);
            }
            match self.stacks.iter().position(|known| known.is_like(&stack)) {
                Some(known) => changed |= self.stacks[known].join(&stack),
                None if self.stacks.len() < MAX_STACKS => {
                    self.stacks.push(stack);
                    changed = true;
                }
                None => {}
            }
        }
        changed
    }
}

/// The locks of one method, each name and kind once.
#[derive(Default)]
pub(super) struct Locks {
    list: Vec<super::name::Lock>,
    numbers: rustc_hash::FxHashMap<super::name::Lock, LockId>,
}

impl Locks {
    /// The number of a lock; `None` for `*`, which equals nothing.
    pub(super) fn number(&mut self, path: Path, kind: program::LockKind) -> Option<LockId> {
        if path.is_unknown() {
            return None;
        }
        let lock = super::name::Lock { path, kind };
        if let Some(known) = self.numbers.get(&lock) {
            return Some(*known);
        }
        let number = LockId(self.list.len() as u32);
        self.list.push(lock.clone());
        self.numbers.insert(lock, number);
        Some(number)
    }

    /// The number of a lock that has one.
    pub(super) fn find(&self, path: &Path, kind: program::LockKind) -> Option<LockId> {
        self.numbers.get(&super::name::Lock { path: path.clone(), kind }).copied()
    }

    pub(super) fn get(&self, lock: LockId) -> &super::name::Lock {
        &self.list[lock.0 as usize]
    }
}
