//! What is found in a container, or put there for the purpose, and changed later, while others take out what looks unused:
//! `sets.computeIfAbsent(key, ..).add(one)` beside `if (set.isEmpty()) sets.remove(key)`. The change then goes to something
//! that nobody finds any more. Or others end what they take out: `sessions.remove(key).close()`; then it goes to
//! something that is over.

use program::outline::{EventId, Name, Origin, Outline, Start};
use program::summary::{Access, AccessId, Root};
use program::{FieldId, MethodId, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::threads::run_at_once;

/// By container and a variable of its elements, and why: methods that take elements out.
pub(super) type Dropped = FxHashMap<Drop, Vec<MethodId>>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Drop {
    container: Variable,
    of_element: Variable,
    why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Why {
    /// The variable was asked, and the element taken out because of the answer.
    Asked,
    /// The element was taken out, and the variable written then.
    Ended,
}

pub(super) fn dropped(whole: &Whole<'_>, methods: &[MethodId]) -> Dropped {
    let found: Vec<(Drop, MethodId)> = methods
        .par_iter()
        .flat_map_iter(|method| {
            let looking = Looking::at(whole, *method);
            let drops = looking.map(|looking| looking.drops()).unwrap_or_default();
            drops.into_iter().map(|drop| (drop, *method))
        })
        .collect();
    let mut all = Dropped::default();
    for (drop, method) in found {
        all.entry(drop).or_default().push(method);
    }
    all
}

impl Looking<'_> {
    /// Containers that elements are removed from, with what decides, and what becomes of the elements.
    fn drops(&self) -> Vec<Drop> {
        let mut found = Vec::new();
        for drop in self.summary.accesses.iter().filter(|access| access.is_write) {
            let is_removal =
                || drop.is_of_contents() && self.called_at(drop).is_some_and(|name| name.starts_with("remove"));
            let Some(container) = self.variable(drop).filter(|_| is_removal()) else { continue };
            for influence in drop.control.iter().chain(&drop.guards) {
                let Root::Access(asked) = influence.root else { continue };
                let asked = self.variable(self.access(asked)).filter(|asked| *asked != container);
                found.extend(asked.map(|of_element| Drop { container, of_element, why: Why::Asked }));
            }
            let is_of_it = |write: &&Access| {
                write.is_write && write.base == Name::start(Start::Result(drop.event)) && !write.held.is_empty()
            };
            let ends = self.summary.accesses.iter().filter(is_of_it).filter_map(|write| self.variable(write));
            found.extend(ends.map(|of_element| Drop { container, of_element, why: Why::Ended }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The fields of containers in which something was found, or put, that is changed in another section.
    pub(super) fn containers(&self) -> Vec<FieldId> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let changes = self.summary.accesses.iter().filter(|write| write.is_write && !write.is_removal);
        let found = changes.filter_map(|write| {
            let container = write.within.as_deref()?;
            let (_, variable) =
                self.provided(outline, container, write).or_else(|| self.looked_up(container, write))?;
            Some(variable.field())
        });
        found.collect()
    }

    /// Changes of what was found in a container, or put there, in a section that has ended.
    pub(super) fn orphaned(&self, dropped: &Dropped) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method).filter(|_| !dropped.is_empty()) else {
            return found;
        };
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let Some(container) = write.within.as_deref().filter(|_| write.is_write) else { continue };
            // What is taken away from something that is out already is gone either way.
            if write.is_removal || self.way_of(write) == Some(Way::Down) {
                continue;
            }
            let Some(written) = self.shared(write) else { continue };
            let provided = self.provided(outline, container, write);
            let looked_up = || self.looked_up(container, write);
            let by = |(read, variable), why| {
                let drop = Drop { container: variable, of_element: written, why };
                dropped.get(&drop).map(|droppers| (read, variable, droppers))
            };
            let asked = provided.and_then(|found| by(found, Why::Asked));
            let ended = || provided.or_else(looked_up).and_then(|found| by(found, Why::Ended));
            let Some((read, variable, droppers)) = asked.or_else(ended) else { continue };
            let others: Vec<MethodId> = droppers
                .iter()
                .copied()
                .filter(|other| !self.does_the_same(*other, write) && run_at_once(self.whole, self.method, *other))
                .collect();
            // Who takes it out afterwards has asked by then.
            if others.is_empty() || droppers.contains(&self.method) {
                continue;
            }
            let asks = |other: &MethodId| self.asks_what_is_written(*other, write);
            let asks_again = |other: &MethodId| self.tries_again(outline, *other, self.access(read), write);
            if others.iter().all(|other| asks(other) || asks_again(other))
                || self.is_looked_up_again(outline, read, variable)
            {
                continue;
            }
            let first = self.access(read).held.iter().find(|section| !write.held.contains(*section));
            if let Some(first) = first {
                // What locks for itself may be of any class.
                let second = write.held.iter().next().unwrap_or(first);
                let write = AccessId(index as u32);
                found.push(Stale { read, write, first, second, how: Use::Found, variable, written });
            }
        }
        found
    }

    /// The look into a container after which an element is surely there, in a section that the write is not in.
    fn provided(&self, outline: &Outline, container: &Name, write: &Access) -> Option<(AccessId, Variable)> {
        let is_put = |put: &Access| {
            put.is_write
                && put.is_keyed
                && put.is_of_contents()
                && put.base.same(container)
                && put.event != write.event
                && !put.is_removal
                && !put.is_mapped
                && !put.held.is_empty()
                && put.held.intersection(write.held).is_empty()
                && outline.leads_to(put.event, write.event, &[])
        };
        let put = self.summary.accesses.iter().find(|put| is_put(put))?;
        let variable = self.variable(put)?;
        let is_look = |look: &Access| {
            !look.is_write
                && look.event == put.event
                && look.base.same(container)
                && look.is_of_contents()
                && !look.held.intersection(put.held).is_empty()
        };
        let look = self.summary.accesses.iter().position(is_look)?;
        Some((AccessId(look as u32), variable))
    }

    /// The look into a container for the very element, in a section that the write is not in.
    fn looked_up(&self, container: &Name, write: &Access) -> Option<(AccessId, Variable)> {
        let Start::Result(found) = write.base.start else { return None };
        let is_look = |look: &Access| {
            !look.is_write
                && look.event == found
                && look.is_keyed
                && look.is_of_contents()
                && look.base.same(container)
                && !look.held.is_empty()
                && look.held.intersection(write.held).is_empty()
        };
        let look = self.summary.accesses.iter().position(is_look)?;
        Some((AccessId(look as u32), self.variable(&self.summary.accesses[look])?))
    }

    /// Whether those who take an element out do to it what is done here: it is over either way.
    fn does_the_same(&self, other: MethodId, write: &Access) -> bool {
        let summary = self.whole.summaries.summary(other);
        summary.is_some_and(|summary| summary.accesses.iter().any(|one| one.is_write && one.spot == write.spot))
    }

    /// Whether a write goes by something, asked in its own section, that those write who take elements out: a mark that says
    /// that it is out, or the container itself.
    fn asks_what_is_written(&self, other: MethodId, write: &Access) -> bool {
        let Some(summary) = self.whole.summaries.summary(other) else { return false };
        let mut asked = write.control.iter().chain(&write.guards);
        asked.any(|influence| {
            let Root::Access(read) = influence.root else { return false };
            let Some(variable) = self.variable(self.access(read)) else { return false };
            self.is_fresh(influence, variable, write)
                && summary.accesses.iter().any(|access| access.is_write && self.variable(access) == Some(variable))
        })
    }

    /// `for (;;) { entry = find(key); synchronized (entry) { if (!entry.isOut) { entry.count++; return; } } }`: the mark is asked
    /// in the section of the write, and if it is up, the write is reached only by way of another look.
    fn tries_again(&self, outline: &Outline, other: MethodId, look: &Access, write: &Access) -> bool {
        let Some(summary) = self.whole.summaries.summary(other) else { return false };
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let (looked, wanted) = (block_of(look.event), block_of(write.event));
        let is_mark = |event: EventId| {
            let mut reads = self.summary.accesses.iter().filter(|read| read.event == event && !read.is_write);
            reads.any(|read| {
                let variable = self.variable(read);
                !read.held.intersection(write.held).is_empty()
                    && read.base.start == write.base.start
                    && variable.is_some()
                    && summary.accesses.iter().any(|access| access.is_write && self.variable(access) == variable)
            })
        };
        let leads_back = |block: usize| block != wanted && !outline.reaches(block, wanted, looked);
        outline.conditions.iter().any(|condition| {
            let mut sources = condition.sources.iter();
            sources.any(|source| matches!(source.origin, Origin::Event(event) if is_mark(event)))
                && outline.reaches(condition.block as usize, wanted, looked)
                && outline
                    .blocks
                    .successors(condition.block as usize)
                    .any(|next| !next.is_exceptional && (next.block == looked || leads_back(next.block)))
        })
    }

    /// Whether what was found is compared with what the container has at another time.
    fn is_looked_up_again(&self, outline: &Outline, read: AccessId, container: Variable) -> bool {
        let found = self.access(read).event;
        let is_other_look = |origin: Origin| match origin {
            Origin::Event(event) if event != found => {
                let mut looks = self.summary.accesses.iter();
                looks.any(|look| look.event == event && !look.is_write && self.variable(look) == Some(container))
            }
            _ => false,
        };
        outline.conditions.iter().filter_map(|condition| condition.sides.as_deref()).any(|[left, right]| {
            [(left, right), (right, left)].into_iter().any(|(one, other)| {
                one.iter().any(|source| source.origin == Origin::Event(found))
                    && other.iter().any(|source| is_other_look(source.origin))
            })
        })
    }
}
