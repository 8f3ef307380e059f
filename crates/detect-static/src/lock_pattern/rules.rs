//! How facts move: forward over the control-flow graph, exceptions included, to a fixed point.

use std::collections::BTreeMap;

use program::ir::{BlockId, Body, Op, Value, can_throw};
use program::{Path, SectionId, SectionKind, Sections};

use super::state::{Scope, Stack, State, Twice, Witness};

/// All witnesses of a method.
pub(super) fn witnesses(body: &Body, sections: &Sections) -> Vec<Witness> {
    let rules = Rules { body, sections };
    let mut entries: Vec<Option<State>> = vec![None; body.block_count()];
    let mut stack = Stack::new();
    for (id, section) in sections.iter() {
        if section.kind == SectionKind::Method {
            stack.scopes.push(Scope { section: Some(id), ..Scope::default() });
        }
    }
    entries[0] = Some(State::of(stack));
    let mut found = Found::new();
    let mut pending = vec![false; body.block_count()];
    pending[0] = true;
    while let Some(first) = pending.iter().position(|pending| *pending) {
        for index in first..pending.len() {
            if !std::mem::take(&mut pending[index]) {
                continue;
            }
            let Some(state) = entries[index].clone() else { continue };
            rules.flow(BlockId::from_index(index), state, &mut found, |target, state| {
                let known = entries[target.index()].get_or_insert_default();
                pending[target.index()] |= known.join(state);
            });
        }
    }
    found.into_iter().map(|(second, (first, context))| Witness { twice: Twice { first, second }, context }).collect()
}

/// Witnesses by the section that takes the lock again: the first before it, and the context.
type Found = BTreeMap<SectionId, (SectionId, SectionId)>;

struct Rules<'r> {
    body: &'r Body,
    sections: &'r Sections,
}

impl Rules<'_> {
    fn flow(&self, block: BlockId, mut state: State, found: &mut Found, mut hand_over: impl FnMut(BlockId, State)) {
        let edges = self.body.block(block);
        self.sections.walk(self.body, block, |value, instruction, held| {
            let closed = self.sections.closed_by(self.body, value, held);
            let opened = self.sections.opened_by(value);
            if can_throw(&instruction.op) && closed.is_empty() {
                for handler in &edges.handlers {
                    hand_over(*handler, self.only_open(&state, *handler));
                }
            }
            let waited = self.sections.waited_by(value, held);
            for stack in state.stacks_mut() {
                self.forget(stack, value, &instruction.op);
                for section in &waited {
                    begin_anew(stack, *section);
                }
                for section in &closed {
                    leave(stack, *section);
                }
                if let Some(section) = opened {
                    enter(stack, section, self.sections, found);
                }
            }
        });
        for successor in &edges.successors {
            hand_over(*successor, self.only_open(&state, *successor));
        }
    }

    /// The state without scopes that are not open in the target: on the edge where `tryLock` failed nothing was taken.
    fn only_open(&self, state: &State, target: BlockId) -> State {
        let mut state = state.clone();
        let held = self.sections.held_at_start(target);
        for stack in state.stacks_mut() {
            stack
                .scopes
                .retain(|scope| scope.section.is_none_or(|section| held.iter().any(|held| held.section == section)));
        }
        state
    }

    /// An assignment takes a lock's name away: what was locked under that name may be another object next time.
    fn forget(&self, stack: &mut Stack, value: Value, op: &Op) {
        let changes = |lock: &Path| match *op {
            Op::PutField { field, .. } | Op::PutStatic { field, .. } => lock.goes_through(field),
            Op::ArrayStore { .. } => lock.goes_through_elements(),
            _ => lock.depends_on(value),
        };
        for scope in &mut stack.scopes {
            scope.released.retain(|section| !changes(&self.sections.get(*section).lock));
            scope.renamed |= scope.section.is_some_and(|section| changes(&self.sections.get(section).lock));
        }
    }
}

/// Taking a lock that was let go before inside an open section makes it a witness of that section, unless the lock is
/// held all the time: `T' = T ∪ (R ∩ {e})`, and `P' = P ∪ (Ts \ {e})` for every section around.
fn enter(stack: &mut Stack, section: SectionId, sections: &Sections, found: &mut Found) {
    let own = sections.get(section);
    let is_own_lock = |other: SectionId| {
        let other = sections.get(other);
        other.lock_kind() == own.lock_kind() && other.lock.same(&own.lock)
    };
    let is_held = stack.scopes.iter().any(|scope| scope.section.is_some_and(is_own_lock));
    for scope in stack.scopes.iter().filter(|_| !is_held) {
        let Some(context) = scope.section else { continue };
        // Of several first sections one is told, so one is kept.
        if let Some(first) = scope.released.iter().find(|first| is_own_lock(**first)) {
            let witness = (*first, context);
            found.entry(section).and_modify(|known| *known = witness.min(*known)).or_insert(witness);
        }
    }
    stack.scopes.push(Scope { section: Some(section), ..Scope::default() });
}

/// To wait is to let go and to take again: what was released before and what comes after are not one step of this
/// context, though they may be of an outer one. The lock itself is no witness, since the code says that it lets go.
fn begin_anew(stack: &mut Stack, section: SectionId) {
    let Some(at) = stack.scopes.iter().rposition(|scope| scope.section == Some(section)) else { return };
    if at > 0 {
        let released = std::mem::take(&mut stack.scopes[at].released);
        stack.scopes[at - 1].released.extend(released);
    }
}

/// `R' = R ∪ Rs ∪ {e}`, as far as the locks still have their names.
fn leave(stack: &mut Stack, section: SectionId) {
    let Some(at) = stack.scopes.iter().rposition(|scope| scope.section == Some(section)) else { return };
    if at == 0 {
        return;
    }
    let inner = stack.scopes.remove(at);
    let outer = &mut stack.scopes[at - 1];
    outer.released.extend(inner.released);
    if !inner.renamed {
        outer.released.insert(section);
    }
}
