//! How facts move: forward over the control-flow graph, exceptions included, to a fixed point.

use std::collections::BTreeSet;

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
    let mut found = BTreeSet::new();
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
    found.into_iter().collect()
}

struct Rules<'r> {
    body: &'r Body,
    sections: &'r Sections,
}

impl Rules<'_> {
    fn flow(
        &self,
        block: BlockId,
        mut state: State,
        found: &mut BTreeSet<Witness>,
        mut hand_over: impl FnMut(BlockId, State),
    ) {
        let edges = self.body.block(block);
        self.sections.walk(self.body, block, |value, instruction, held| {
            let closed = self.sections.closed_by(self.body, value, held);
            let opened = self.sections.opened_by(value);
            if can_throw(&instruction.op) && closed.is_empty() {
                for handler in &edges.handlers {
                    hand_over(*handler, self.only_open(&state, *handler));
                }
            }
            for stack in state.stacks_mut() {
                self.forget(stack, value, &instruction.op);
                for section in &closed {
                    leave(stack, *section, self.sections);
                }
                if let Some(section) = opened {
                    enter(stack, section, self.sections);
                }
                if let Op::Return(_) = instruction.op {
                    found.extend(&stack.scopes[0].witnesses);
                }
            }
        });
        if matches!(self.body.terminator(block).map(|last| self.body.op(last)), Some(Op::Throw(_))) {
            // An exception leaves the method: what was seen until then was seen.
            for stack in state.stacks() {
                let mut stack = stack.clone();
                while let Some(section) = stack.scopes.last().and_then(|scope| scope.section) {
                    leave(&mut stack, section, self.sections);
                }
                found.extend(&stack.scopes[0].witnesses);
            }
        }
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

/// Taking a lock that was let go before in an enclosing scope makes it a candidate there.
fn enter(stack: &mut Stack, section: SectionId, sections: &Sections) {
    let own = sections.get(section);
    for scope in &mut stack.scopes {
        for first in &scope.released {
            let earlier = sections.get(*first);
            if earlier.lock_kind() == own.lock_kind() && earlier.lock.same(&own.lock) {
                scope.twice.insert(Twice { first: *first, second: section });
            }
        }
    }
    stack.scopes.push(Scope { section: Some(section), ..Scope::default() });
}

/// `R' = R ∪ Rs ∪ {e}`, `P' = P ∪ ((Ps ∪ Ts) \ {e})`; T has grown when the locks were taken.
fn leave(stack: &mut Stack, section: SectionId, sections: &Sections) {
    let Some(at) = stack.scopes.iter().rposition(|scope| scope.section == Some(section)) else { return };
    if at == 0 {
        return;
    }
    let inner = stack.scopes.remove(at);
    let outer = &mut stack.scopes[at - 1];
    let context = sections.get(section);
    let is_context = |witness: SectionId| {
        let witness = sections.get(witness);
        witness.lock_kind() == context.lock_kind() && witness.lock.same(&context.lock)
    };
    outer.released.extend(inner.released);
    if !inner.renamed {
        outer.released.insert(section);
    }
    outer.witnesses.extend(inner.witnesses.iter().filter(|witness| !is_context(witness.twice.second)));
    outer.witnesses.extend(
        inner
            .twice
            .iter()
            .filter(|twice| !is_context(twice.second))
            .map(|twice| Witness { twice: *twice, context: section }),
    );
}
