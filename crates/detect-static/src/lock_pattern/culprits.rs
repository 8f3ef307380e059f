//! Who writes around the context: a write that is come to with no lock held, of an object that the pair may be about.

use program::outline::{Action, Outline, SectionSet, Start};
use program::thread::EntryId;
use program::{LockKind, MethodId, Place, Variable};
use rustc_hash::FxHashSet;

use super::analysis::Witness;
use super::relation::Relations;
use super::sides::Sides;
use crate::threads::are_beside;

/// Callers are asked what they hold so many calls up.
const MAX_UP: usize = 6;

/// What is given to a method that reads an object back in, as a rule one that was just made.
const INPUT: &str = "java/io/DataInput";
const THREAD: &str = "java/lang/Thread";

impl Relations<'_> {
    /// The writes of a variable that come in between: they do not look first, and are under none of the locks that are held
    /// over both sections, nor under any other on one way that leads to them.
    pub(super) fn culprits(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> Vec<&Place> {
        let method = witness.pair.method;
        let of_this = |place: &Place| {
            let summary = self.summaries.summary(place.method);
            summary.is_some_and(|summary| summary.accesses[place.access.index()].base.start == Start::Parameter(0))
        };
        let is_of_another = |place: &Place| {
            of_this(place)
                && (are_beside(self.analysis.program, method, place.method)
                    || self.reads_in(place.method)
                    || self.is_of_other_thread(method, place.method))
        };
        let mut places = self.left_out(witness, sides, variable);
        places.retain(|place| self.is_blind(place) && !is_of_another(place) && self.is_come_to_freely(place));
        places
    }

    /// Whether a method reads an object in, which nobody else has yet.
    fn reads_in(&self, method: MethodId) -> bool {
        let program = self.analysis.program;
        let input = program.names.class(INPUT);
        let descriptor = program.names.text(program.method(method).descriptor);
        let mut parts = descriptor.split([';', '(', ')', '[']);
        parts.any(|part| {
            let class = part.find('L').map(|start| program.names.class(&part[start + 1..]));
            class.is_some_and(|class| class == input || program.is_subtype(class, input))
        })
    }

    /// Whether both are run by nobody but the thread that they belong to, each by its own.
    fn is_of_other_thread(&self, method: MethodId, other: MethodId) -> bool {
        let program = self.analysis.program;
        let class = program.class_of(method);
        let Some(threads) = self.ground.map(|ground| ground.threads()) else { return false };
        let is_own = |entry: &EntryId| {
            let run = threads.entry(*entry).method;
            run.is_some_and(|run| program.class_of(run) == class)
        };
        class == program.class_of(other)
            && program.is_subtype(program.header(class).name, program.names.class(THREAD))
            && [method, other].iter().all(|method| threads.of_method(*method).iter().all(is_own))
    }

    /// Whether a write is come to on some way with no lock held, as far as callers are known.
    fn is_come_to_freely(&self, place: &Place) -> bool {
        let Some(summary) = self.summaries.summary(place.method) else { return true };
        let held = summary.accesses[place.access.index()].held;
        let is_locked = held.iter().any(|section| summary.sections[section].kind != LockKind::Own);
        !is_locked && self.is_entered_freely(place.method, MAX_UP, &mut FxHashSet::default())
    }

    fn is_entered_freely(&self, method: MethodId, up: usize, asked: &mut FxHashSet<MethodId>) -> bool {
        let Some(ground) = self.ground.filter(|_| up > 0) else { return true };
        if !asked.insert(method) {
            return false;
        }
        let (program, calls) = (ground.program, &ground.calls);
        let is_locked = |outline: &Outline, held: SectionSet| {
            held.iter().any(|section| outline.sections[section].kind != LockKind::Own)
        };
        let mut is_called = false;
        for caller in calls.callers(method) {
            if ground.threads().of_method(*caller).is_empty() {
                continue;
            }
            let Some(outline) = ground.outlines().get(*caller) else { return true };
            for event in &outline.events {
                match &event.action {
                    Action::Call { kind, method: called, .. }
                        if calls.targets(program, *kind, *called).known().contains(&method) => {}
                    // Who runs a lambda, and under what, is not asked.
                    Action::Lambda { method: made, .. }
                        if calls.hierarchy.resolve_name(program, *made) == Some(method) =>
                    {
                        return true;
                    }
                    _ => continue,
                }
                is_called = true;
                if !is_locked(outline, event.held) && self.is_entered_freely(*caller, up - 1, asked) {
                    return true;
                }
            }
        }
        !is_called
    }
}
