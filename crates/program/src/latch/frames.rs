//! The way of a process to an event.

use std::sync::PoisonError;

use rustc_hash::FxHashSet;

use super::MAX_DEPTH;
use crate::class::MethodId;
use crate::outline::{Action, Event, EventId, Outline};
use crate::thread::{At, EntryId};
use crate::whole::Whole;

/// More methods than this are not looked through for one call.
const MAX_METHODS: usize = 300;

/// A method on the way of a process to an event, and its events that lead there.
pub(super) struct Frame<'w> {
    pub(super) method: MethodId,
    pub(super) outline: &'w Outline,
    pub(super) leading: Vec<EventId>,
}

impl Whole<'_> {
    /// The methods that a process goes through to an event, as long as there is one way, each with what leads there; but for
    /// what start or join order with another entry.
    pub(super) fn frames(&self, process: EntryId, at: At, other: EntryId) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        let mut next = self.threads().entry(process).method;
        while let Some(method) = next.take()
            && let Some(outline) = self.outlines().get(method)
            && frames.len() < MAX_DEPTH
        {
            let leading = if method == at.method { vec![at.event] } else { self.leading(method, outline, at) };
            let is_apart = |event: &EventId| {
                let at = At { method, event: *event };
                self.threads().ordered(self.outlines(), process, at, other).is_some()
            };
            let leading: Vec<EventId> = match leading.as_slice() {
                [_] => leading,
                _ => leading.into_iter().filter(|event| !is_apart(event)).collect(),
            };
            if let ([only], true) = (leading.as_slice(), method != at.method)
                && let Event { action: Action::Call { kind, method: called, .. }, in_loop: false, .. } =
                    &outline.events[only.index()]
                && let [target] = self.calls.targets(self.program, *kind, *called).known()
            {
                next = Some(*target);
            }
            if leading.is_empty() {
                break;
            }
            frames.push(Frame { method, outline, leading });
        }
        frames
    }

    /// The events of a method that lead to one of a callee.
    pub(super) fn leading(&self, method: MethodId, outline: &Outline, at: At) -> Vec<EventId> {
        let leads = |(index, event): &(usize, &Event)| {
            let targets = match &event.action {
                Action::Call { kind, method, .. } => self.calls.targets(self.program, *kind, *method),
                Action::Lambda { method: made, .. } => {
                    // To start something that gets there is not to get there.
                    if self.threads().started.contains(&At { method, event: EventId(*index as u32) }) {
                        return false;
                    }
                    self.calls.lambda_targets(self.program, *made)
                }
                _ => return false,
            };
            targets.known().iter().any(|target| self.reaches(*target, at.method))
        };
        let events = outline.events.iter().enumerate().filter(leads);
        events.map(|(index, _)| EventId(index as u32)).collect()
    }

    /// Whether calls lead from one method to another one. The same few are asked again for each access in between.
    fn reaches(&self, from: MethodId, to: MethodId) -> bool {
        let known = || self.reaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaches) = known().get(&(from, to)) {
            return *reaches;
        }
        let reaches = self.find_way(from, to);
        known().insert((from, to), reaches);
        reaches
    }

    fn find_way(&self, from: MethodId, to: MethodId) -> bool {
        let mut seen: FxHashSet<MethodId> = FxHashSet::default();
        let mut pending = vec![from];
        while let Some(method) = pending.pop() {
            if method == to {
                return true;
            }
            if seen.len() < MAX_METHODS && seen.insert(method) {
                // The code of a function that a thread begins with is run by that thread.
                let is_begun = |callee: &MethodId| {
                    self.program.method(*callee).access.is_synthetic()
                        && self.threads().beginning_with(*callee).is_some()
                };
                pending.extend(self.calls.callees(method).iter().copied().filter(|callee| !is_begun(callee)));
            }
        }
        // Who has looked at so many does not know.
        seen.len() >= MAX_METHODS
    }
}
