//! What is left where nobody looks any more: `while ((job = next()) != null) job.run(); release();` beside
//! `synchronized (this) { jobs.add(job); if (!busy) { busy = true; start(); } }`. Who adds leaves it to the one who is at it;
//! but between his last look, which found nothing, and the flag that says so, somebody may still add, and nobody comes for
//! that. The same with an atomic: `jobs.add(job); if (busy.compareAndSet(false, true)) start();`.
//!
//! Who looks once more after he has taken the flag down finds it, and so does who takes it down in the section of the look.

use program::outline::{Action, Condition, EventId, Origin, Outline};
use program::summary::{Access, AccessId};
use program::{MethodId, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::idioms::comes_from;
use super::marks::Move;
use super::rules::{Looking, Stale, Use};
use super::shut::{is_mark, owner};
use super::way::Way;
use crate::threads::run_at_once;

/// By flag and container: methods that add to the container, and leave what they have added to others if the flag is up.
pub(super) type Left = FxHashMap<(Variable, Variable), Vec<MethodId>>;

pub(super) fn left(whole: &Whole<'_>, methods: &[MethodId]) -> Left {
    let found: Vec<((Variable, Variable), MethodId)> = methods
        .par_iter()
        .flat_map_iter(|method| {
            let pairs = Looking::at(whole, *method).map(|looking| looking.leaves_to_others()).unwrap_or_default();
            pairs.into_iter().map(|pair| (pair, *method))
        })
        .collect();
    let mut all = Left::default();
    for (pair, method) in found {
        all.entry(pair).or_default().push(method);
    }
    all
}

impl Looking<'_> {
    /// The flags that a method puts up if they are down once it has added to a container, each with that.
    fn leaves_to_others(&self) -> Vec<(Variable, Variable)> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut found = Vec::new();
        for add in self.summary.accesses.iter().filter(|access| access.is_write && access.is_of_contents()) {
            if !self.adds_one(add) && self.way_of(add) != Some(Way::Up) {
                continue;
            }
            let Some(container) = self.variable(add) else { continue };
            for flag in self.summary.accesses.iter().filter(|access| access.is_write && is_mark(access)) {
                if flag.event == add.event && flag.spot == add.spot || !owner(flag).same(&owner(add)) {
                    continue;
                }
                let is_asked_with_it = || {
                    self.summary.accesses.iter().enumerate().any(|(number, asked)| {
                        !asked.is_write
                            && self.variable(asked) == self.variable(flag)
                            && !asked.held.intersection(add.held).intersection(flag.held).is_empty()
                            && comes_from(&flag.control, AccessId(number as u32))
                    })
                };
                let is_asked_after = || {
                    self.called_at(flag) == Some("compareAndSet")
                        && flag.event != add.event
                        && outline.may_follow(add.event, flag.event)
                };
                if self.moves(flag, None) == Some(Move::Up)
                    && (is_asked_after() || is_asked_with_it())
                    && let Some(variable) = self.variable(flag).filter(|variable| *variable != container)
                {
                    found.push((variable, container));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Flags that are taken down in another section than the one that has found nothing left.
    pub(super) fn stranded(&self, left: &Left) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method).filter(|_| !left.is_empty()) else {
            return found;
        };
        for (index, write) in self.summary.accesses.iter().enumerate() {
            if !write.is_write || !is_mark(write) || self.moves(write, None) != Some(Move::Down) {
                continue;
            }
            let Some(written) = self.shared(write) else { continue };
            for (number, asked) in self.summary.accesses.iter().enumerate() {
                if !asked.is_of_contents()
                    || asked.event == write.event
                    || !asked.held.intersection(write.held).is_empty()
                    || !owner(asked).same(&owner(write))
                {
                    continue;
                }
                let Some(variable) = self.shared(asked) else { continue };
                let Some(adders) = left.get(&(written, variable)) else { continue };
                let adds = |method: &MethodId| *method != self.method && run_at_once(self.whole, self.method, *method);
                let first = asked.held.iter().find(|section| !write.held.contains(*section));
                let second = write.held.iter().find(|section| !asked.held.contains(*section));
                if let (Some(first), Some(second)) = (first, second)
                    && self.is_because_none(outline, asked, write)
                    && !self.is_looked_at_after(outline, variable, write)
                    && adders.iter().any(adds)
                {
                    let (read, write) = (AccessId(number as u32), AccessId(index as u32));
                    found.push(Stale { read, write, first, second, how: Use::Left, variable, written });
                }
            }
        }
        found
    }

    /// `while (!jobs.isEmpty() && busy.compareAndSet(false, true)) run();`: the mark is put up in one step because there is
    /// something, and what comes then asks whether it got something, before the mark is taken down.
    pub(super) fn is_begun_if_any(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let asks = |taking: &Access| {
            self.place_of(&taking.spot).is_some_and(|(there, at)| {
                there.conditions.iter().any(|condition| {
                    condition.absent.is_some()
                        && condition.sources.iter().any(|source| source.origin == Origin::Event(at))
                })
            })
        };
        let begins = |up: &Access| {
            up.is_write
                && self.variable(up) == Some(stale.written)
                && comes_from(&up.control, stale.read)
                && self.called_at(up) == Some("compareAndSet")
                && self.moves(up, None) == Some(Move::Up)
                && (up.event == write.event || outline.may_follow(up.event, write.event))
                && self.summary.accesses.iter().any(|taking| {
                    taking.is_write
                        && self.variable(taking) == Some(stale.variable)
                        && self.way_of(taking) == Some(Way::Down)
                        && outline.may_follow(up.event, taking.event)
                        && asks(taking)
                })
        };
        stale.how == Use::Decides
            && stale.variable != stale.written
            && self.access(stale.read).is_of_contents()
            && self.summary.accesses.iter().any(begins)
    }

    /// Whether a write is done only once a look at a container has found nothing.
    fn is_because_none(&self, outline: &Outline, asked: &Access, write: &Access) -> bool {
        let is_of_container = |origin: Origin| match origin {
            Origin::Event(event) => self
                .summary
                .accesses
                .iter()
                .any(|other| other.event == event && self.variable(other) == self.variable(asked)),
            Origin::Parameter(_) => false,
        };
        let is_about = |condition: &&Condition| {
            let origins = || condition.sources.iter().map(|source| source.origin);
            origins().any(|origin| origin == Origin::Event(asked.event)) && origins().all(is_of_container)
        };
        let block = outline.events[write.event.index()].block as usize;
        outline.conditions.iter().filter(is_about).any(|condition| match self.called_at(asked) {
            Some("isEmpty") => condition.nought.is_some_and(|no| outline.comes_only_by(condition, 1 - no, block)),
            Some("size") => outline.is_because_nought(condition, write.event),
            _ => outline.is_because_absent(condition, write.event),
        })
    }

    /// Whether somebody looks once more after the flag was taken down: the method itself, or all who call it.
    fn is_looked_at_after(&self, outline: &Outline, container: Variable, write: &Access) -> bool {
        let is_here = self.summary.accesses.iter().any(|again| {
            self.variable(again) == Some(container)
                && again.event != write.event
                && outline.may_follow(write.event, again.event)
        });
        let is_by = |caller: &MethodId| {
            let Some(there) = Looking::anywhere(self.whole, *caller) else { return false };
            let Some(outline) = self.whole.summaries.outline(*caller) else { return false };
            let calls = outline.events.iter().enumerate().filter(|(_, event)| match event.action {
                Action::Call { kind, method, .. } => {
                    self.whole.calls.targets(self.whole.program, kind, method).known().contains(&self.method)
                }
                _ => false,
            });
            let calls: Vec<EventId> = calls.map(|(index, _)| EventId(index as u32)).collect();
            let is_looked_at = |call: &EventId| {
                there.summary.accesses.iter().any(|again| {
                    there.variable(again) == Some(container)
                        && again.event != *call
                        && outline.may_follow(*call, again.event)
                })
            };
            !calls.is_empty() && calls.iter().all(is_looked_at)
        };
        let callers = self.whole.calls.callers(self.method);
        is_here || !callers.is_empty() && callers.iter().all(is_by)
    }
}
