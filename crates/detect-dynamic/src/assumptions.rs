//! What is taken for granted about methods and fields: names from outside, numbers in the run.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use trace::{Action, Event, MethodId, Tables, VariableId};

use crate::Detector;

/// One thing that is taken for granted, by its number in the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Assumed {
    /// A call of the method is one step that cannot be moved.
    Atomic(MethodId),
    /// A call of the method can be moved past all that others do.
    Mover(MethodId),
    /// Every access can be moved past all that others do.
    Guarded(VariableId),
}

/// What is taken for granted, by name.
#[derive(Default)]
pub struct Assumptions {
    /// `pkg.Class.method:descriptor`, as events of activations name it.
    atomic: BTreeSet<String>,
    movers: BTreeSet<String>,
    /// `pkg.Class.field`.
    guarded: BTreeSet<String>,
    methods: FxHashSet<MethodId>,
    variables: FxHashSet<VariableId>,
}

impl Assumptions {
    /// Methods as `pkg.Class.method:descriptor`, fields as `pkg.Class.field`.
    pub fn new(atomic: BTreeSet<String>, movers: BTreeSet<String>, guarded: BTreeSet<String>) -> Assumptions {
        Assumptions { atomic, movers, guarded, ..Assumptions::default() }
    }

    fn is_empty(&self) -> bool {
        self.atomic.is_empty() && self.movers.is_empty() && self.guarded.is_empty()
    }

    /// Tells detectors what the events refer to for the first time, before they see the events.
    pub fn tell(&mut self, events: &[Event], tables: &Tables, detectors: &mut [Box<dyn Detector>]) {
        if self.is_empty() {
            return;
        }
        for event in events {
            for assumed in self.of(&event.action, tables) {
                detectors.iter_mut().for_each(|detector| detector.assume(assumed));
            }
        }
    }

    fn of(&mut self, action: &Action, tables: &Tables) -> Vec<Assumed> {
        match *action {
            Action::Enter { method, .. } if self.methods.insert(method) => {
                let name = tables.method_name(method);
                let atomic = self.atomic.contains(&name).then_some(Assumed::Atomic(method));
                let mover = self.movers.contains(&name).then_some(Assumed::Mover(method));
                // What can be moved at all is more than what is one step.
                mover.or(atomic).into_iter().collect()
            }
            Action::Read { variable } | Action::Write { variable } | Action::Sync { variable, .. }
                if !self.guarded.is_empty() && self.variables.insert(variable) =>
            {
                let is_guarded = self.guarded.contains(&tables.variable_name(variable));
                is_guarded.then_some(Assumed::Guarded(variable)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
