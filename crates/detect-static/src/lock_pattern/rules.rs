//! How facts move through one method: forward over the control-flow graph, exceptions included, to a fixed point.

use std::collections::{BTreeMap, BTreeSet};

use location::{ClassName, FieldName};
use program::{MethodId, Root, SectionId};
use smallvec::SmallVec;

use super::name::Name;
use super::skeleton::{Action, Forget, Skeleton};
use super::state::{Holder, LockId, Locks, Scope, Stack, State, TakeId};
use super::summary::{Pair, Via};

/// One taking of a lock, as the method sees it.
#[derive(Clone, Debug)]
pub(super) struct Take {
    pub(super) lock: LockId,
    pub(super) via: Via,
    /// What the object must be that the lock's name starts from.
    pub(super) bound: Option<ClassName>,
}

/// What a call does, from the caller's side.
#[derive(Clone, Default, Debug)]
pub(super) struct Effects {
    pub(super) takes: Vec<TakeId>,
    /// Pairs of the callees, by the caller's names for the two locks: the target and its number there.
    pub(super) twice: Vec<(LockId, LockId, MethodId, u32)>,
    /// Locks that the call returns with.
    pub(super) acquires: SmallVec<[Option<LockId>; 1]>,
    pub(super) gives_back: SmallVec<[Option<LockId>; 1]>,
    /// Fields that some callee stores to.
    pub(super) stores: SmallVec<[FieldName; 1]>,
    /// Whether it may run its functions several times.
    pub(super) repeats: bool,
}

/// A method with its locks and the effects of its calls.
pub(super) struct Prepared<'s> {
    pub(super) skeleton: &'s Skeleton,
    pub(super) locks: Locks,
    pub(super) takes: Vec<Take>,
    /// By section: its lock, and the taking that it is unless the lock is `*` or the section excludes nobody.
    pub(super) sections: Vec<(Option<LockId>, Option<TakeId>)>,
    /// By call.
    pub(super) calls: Vec<Effects>,
}

/// What is asked of a pair of takings: are both of one lock, or, for the variant, of any two?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    OneLock,
    AnyTwo,
}

/// A pair with its context, in the method that has the context.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Confirmed {
    pub(super) context: Holder,
    pub(super) found: Found,
}

/// A pair: in the method itself, or in something that it calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Found {
    Here {
        first: TakeId,
        second: TakeId,
    },
    /// By this call, in this target, under this number there.
    Below {
        call: u32,
        target: MethodId,
        twice: u32,
        locks: (LockId, LockId),
    },
}

/// What came of one method.
#[derive(Default)]
pub(super) struct Outcome {
    /// T of the method as a whole.
    pub(super) open: BTreeSet<Found>,
    /// P.
    pub(super) confirmed: BTreeSet<Confirmed>,
    /// What every return leaves held; `None` if the method never returns.
    pub(super) left_held: Option<BTreeSet<Holder>>,
    pub(super) gives_back: BTreeSet<Option<LockId>>,
}

/// More first takings than this are not told apart for one second taking.
const MAX_FIRSTS: usize = 4;

pub(super) fn flow(prepared: &Prepared<'_>, pattern: Pattern, is_compatible: &dyn Fn(&Take, &Take) -> bool) -> Outcome {
    let blocks = &prepared.skeleton.blocks;
    let mut entries: Vec<Option<State>> = vec![None; blocks.len()];
    let mut stack = Stack::new();
    for (index, section) in prepared.skeleton.sections.iter().enumerate() {
        if section.is_method {
            let holder = Holder::Own(section_id(prepared, index));
            stack.scopes.push(Scope::new(holder, prepared.sections[index].0));
        }
    }
    entries[0] = Some(State::of(stack));
    let mut flow = Flow { prepared, pattern, is_compatible, outcome: Outcome::default(), firsts: BTreeMap::new() };
    let mut pending = vec![false; blocks.len()];
    pending[0] = true;
    while let Some(first) = pending.iter().position(|pending| *pending) {
        for index in first..pending.len() {
            if !std::mem::take(&mut pending[index]) {
                continue;
            }
            let Some(state) = entries[index].clone() else { continue };
            flow.block(index, state, |target, state| {
                let known = entries[target].get_or_insert_default();
                pending[target] |= known.join(state);
            });
        }
    }
    flow.outcome
}

/// Sections are numbered as they were when the skeleton was made.
fn section_id(prepared: &Prepared<'_>, index: usize) -> SectionId {
    prepared.skeleton.section_ids[index]
}

struct Flow<'f> {
    prepared: &'f Prepared<'f>,
    pattern: Pattern,
    is_compatible: &'f dyn Fn(&Take, &Take) -> bool,
    outcome: Outcome,
    /// By second taking and scope: the first takings that were noted.
    firsts: BTreeMap<(TakeId, Holder), Vec<TakeId>>,
}

impl Flow<'_> {
    fn block(&mut self, index: usize, mut state: State, mut hand_over: impl FnMut(usize, State)) {
        let prepared = self.prepared;
        let block = &prepared.skeleton.blocks[index];
        let open_in = |target: u32| prepared.skeleton.blocks[target as usize].open.as_slice();
        // Whether handlers have the state as it is.
        let mut is_thrown = false;
        for action in &block.actions {
            match action {
                Action::Throw => {
                    for handler in block.handlers.iter().filter(|_| !is_thrown) {
                        hand_over(*handler as usize, state.clone().only_open(open_in(*handler)));
                    }
                    is_thrown = true;
                    continue;
                }
                Action::Forget(forget) => {
                    let changes = |lock: LockId| forget.changes(&prepared.locks.get(lock).path);
                    for stack in state.stacks_mut() {
                        is_thrown &= !stack.forget(changes);
                    }
                    continue;
                }
                Action::Wait(section) => {
                    for stack in state.stacks_mut() {
                        if let Some(at) = stack.position(Holder::Own(*section)) {
                            stack.begin_anew(at);
                        }
                    }
                }
                Action::Leave(section) => {
                    let take = prepared.sections[section.index()].1;
                    for stack in state.stacks_mut() {
                        if let Some(at) = stack.position(Holder::Own(*section)) {
                            stack.leave(at, take);
                        }
                    }
                }
                Action::Enter(section) => {
                    let (lock, take) = prepared.sections[section.index()];
                    for stack in state.stacks_mut() {
                        if let Some(take) = take {
                            self.taken(stack, take);
                        }
                        stack.scopes.push(Scope::new(Holder::Own(*section), lock));
                    }
                }
                Action::GiveBack(lock, kind) => {
                    let lock = prepared.locks.find(lock, *kind);
                    state.stacks_mut().for_each(|stack| self.give_back(stack, lock));
                }
                Action::Call(call) => {
                    for stack in state.stacks_mut() {
                        self.call(stack, *call);
                    }
                }
                Action::Run(..) => {}
                Action::Return => self.returns(&state),
            }
            is_thrown = false;
        }
        let Some((last, others)) = block.successors.split_last() else { return };
        for successor in others {
            hand_over(*successor as usize, state.clone().only_open(open_in(*successor)));
        }
        hand_over(*last as usize, state.only_open(open_in(*last)));
    }

    /// Taking a lock that was let go before inside an open section makes it a witness of that section, unless the lock is
    /// held all the time: `T' = T ∪ (R ∩ {e})`, and `P' = P ∪ (Ts \ {e})` for every section around.
    fn taken(&mut self, stack: &Stack, second: TakeId) {
        let take = &self.prepared.takes[second.0 as usize];
        if stack.holds(take.lock) {
            return;
        }
        for scope in &stack.scopes {
            let firsts: SmallVec<[TakeId; 4]> = match self.pattern {
                Pattern::OneLock => scope.takings(take.lock).collect(),
                Pattern::AnyTwo => {
                    let is_pair = |first: &TakeId| self.is_pair(self.prepared.take(*first).lock, take.lock);
                    scope.released.iter().map(|(_, take)| *take).filter(is_pair).collect()
                }
            };
            for first in firsts {
                let earlier = &self.prepared.takes[first.0 as usize];
                if stack.holds(earlier.lock) || !(self.is_compatible)(earlier, take) {
                    continue;
                }
                let noted = self.firsts.entry((second, scope.holder)).or_default();
                if noted.contains(&first) || noted.len() >= MAX_FIRSTS && self.pattern == Pattern::OneLock {
                    continue;
                }
                noted.push(first);
                self.note(scope.holder, Found::Here { first, second });
            }
        }
    }

    /// Whether two locks are one, or both have a name outside the method: what a call yields is another object each time.
    fn is_pair(&self, first: LockId, second: LockId) -> bool {
        let is_named = |lock: LockId| match self.prepared.locks.get(lock).path.root {
            Root::Value(value) => self.prepared.skeleton.parameters.contains(&value),
            Root::Unknown => false,
            Root::This | Root::Class(_) | Root::Static(_) => true,
        };
        first == second || is_named(first) && is_named(second)
    }

    fn note(&mut self, scope: Holder, found: Found) {
        match scope {
            Holder::Method => self.outcome.open.insert(found),
            context => self.outcome.confirmed.insert(Confirmed { context, found }),
        };
    }

    /// A call is a section on all locks that its targets take: with L what they are called here, `R' = R ∪ L` and
    /// `T' = T ∪ (R ∩ L)`, where neither R nor L keeps what the targets may have given another meaning.
    fn call(&mut self, stack: &mut Stack, call: u32) {
        let effects = &self.prepared.calls[call as usize];
        let changes = |lock: LockId| {
            let path = &self.prepared.locks.get(lock).path;
            effects.stores.iter().any(|field| Forget::Field(*field).changes(path))
        };
        // What is held before the call may be held throughout, whatever the targets assign.
        for (first, second, target, twice) in &effects.twice {
            if stack.holds(*first) || stack.holds(*second) {
                continue;
            }
            let found = Found::Below { call, target: *target, twice: *twice, locks: (*first, *second) };
            self.note(stack.context().unwrap_or(Holder::Method), found);
        }
        if !effects.stores.is_empty() {
            stack.forget(changes);
        }
        for lock in &effects.gives_back {
            self.give_back(stack, *lock);
        }
        for _ in 0..if effects.repeats { 2 } else { 1 } {
            let fresh: SmallVec<[TakeId; 8]> = effects.takes.iter().copied().collect();
            for take in &fresh {
                self.taken(stack, *take);
            }
            for take in fresh {
                let lock = self.prepared.takes[take.0 as usize].lock;
                if !stack.holds(lock) && !changes(lock) && !effects.acquires.contains(&Some(lock)) {
                    stack.innermost().release(lock, take);
                }
            }
        }
        for lock in &effects.acquires {
            // A loop that takes without giving back is not followed round after round.
            if stack.position(Holder::Call(call)).is_none() {
                stack.scopes.push(Scope::new(Holder::Call(call), *lock));
            }
        }
    }

    /// A lock is given back that this method did not take itself: a call before did, or the caller did.
    fn give_back(&mut self, stack: &mut Stack, lock: Option<LockId>) {
        let is_from_call = |scope: &Scope| matches!(scope.holder, Holder::Call(_));
        let at = match lock {
            Some(_) => stack.scopes.iter().rposition(|scope| is_from_call(scope) && scope.lock == lock),
            None => None,
        };
        // An object that gives the lock back when it is closed has its own name for it.
        let at = at.or_else(|| stack.scopes.iter().rposition(is_from_call));
        match at {
            Some(at) => {
                let take = match (stack.scopes[at].holder, stack.scopes[at].lock) {
                    (Holder::Call(call), Some(lock)) => {
                        let takes = &self.prepared.calls[call as usize].takes;
                        takes.iter().copied().find(|take| self.prepared.takes[take.0 as usize].lock == lock)
                    }
                    _ => None,
                };
                stack.leave(at, take);
            }
            None => {
                self.outcome.gives_back.insert(lock);
            }
        }
    }

    fn returns(&mut self, state: &State) {
        for stack in state.stacks() {
            let held: BTreeSet<Holder> = stack
                .scopes
                .iter()
                .map(|scope| scope.holder)
                .filter(|holder| match holder {
                    Holder::Method => false,
                    Holder::Own(section) => !self.prepared.skeleton.sections[section.index()].is_method,
                    Holder::Call(_) => true,
                })
                .collect();
            self.outcome.left_held = Some(match self.outcome.left_held.take() {
                Some(known) => known.intersection(&held).copied().collect(),
                None => held,
            });
        }
    }
}

impl Prepared<'_> {
    pub(super) fn take(&self, take: TakeId) -> &Take {
        &self.takes[take.0 as usize]
    }

    pub(super) fn pair(&self, first: TakeId, second: TakeId) -> Pair {
        Pair { method: self.skeleton.method, first: self.take(first).via, second: self.take(second).via }
    }

    /// A lock's name outside the method.
    pub(super) fn outside(&self, lock: LockId, bound: Option<ClassName>) -> Option<Name> {
        let lock = self.locks.get(lock);
        self.skeleton.outside(&lock.path, lock.kind, bound)
    }
}
