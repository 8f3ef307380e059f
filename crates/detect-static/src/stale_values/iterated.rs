//! What an iterator came to and takes out: `job = cards.next(); if (job.fits()) { cards.remove(); return job; }`. On a container
//! that locks by itself, two threads may come to the same element, and an iterator does not say who has taken it out: both
//! go on with it. The same where the container is told to take it out, and nobody asks whether it has.

use program::LockKind;
use program::outline::{Action, EventId, Object, Origin, Outline, Source, Start};
use program::summary::{Access, AccessId};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::threads::run_at_once;

impl Looking<'_> {
    /// Elements that are given out although another thread may have taken the same one.
    pub(super) fn iterated(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let taken_by = self.taken_by(outline, write);
            if taken_by.is_none() && !self.is_removed_unasked(outline, write) {
                continue;
            }
            for (number, read) in self.summary.accesses.iter().enumerate() {
                let id = AccessId(number as u32);
                let Some((next, iterator)) = self.came_to(outline, read).filter(|_| !read.is_write) else {
                    continue;
                };
                let is_it = match taken_by {
                    Some(own) => own == iterator && next == read.event,
                    None => comes_from(&write.address, id) && outline.may_follow(next, write.event),
                };
                if !is_it || !read.held.intersection(write.held).is_empty() {
                    continue;
                }
                let Some(variable) = self.shared(write).filter(|variable| self.variable(read) == Some(*variable))
                else {
                    continue;
                };
                let second = write.held.iter().next();
                let lock = |section: usize| &self.summary.sections[section].lock;
                let first = second.and_then(|second| {
                    let is_of_it = |first: &usize| *first != second && lock(*first).same(lock(second));
                    (0..self.summary.sections.len()).find(is_of_it)
                });
                if let (Some(first), Some(second)) = (first, second)
                    && self.summary.sections[second].kind == LockKind::Own
                    && self.is_given_out(outline, (id, next), write)
                    && !self.is_taken_by_winner(next, write)
                    && run_at_once(self.whole, self.method, self.method)
                {
                    let write = AccessId(index as u32);
                    let how = Use::Iterated;
                    found.push(Stale { read: id, write, first, second, how, variable, written: variable });
                }
            }
        }
        found
    }

    /// The event by which an iterator comes to what was read, and the one that yields the iterator. One that goes over a copy
    /// has read all when it is made.
    fn came_to(&self, outline: &Outline, read: &Access) -> Option<(EventId, EventId)> {
        let next = |at: EventId| Some((at, self.iterator_of(outline, at, "next")?));
        let mut events = (0..outline.events.len()).map(|event| EventId(event as u32));
        next(read.event).or_else(|| events.find_map(|at| next(at).filter(|(_, iterator)| *iterator == read.event)))
    }

    /// The iterator that takes out what it came to last, if a write is that.
    fn taken_by(&self, outline: &Outline, write: &Access) -> Option<EventId> {
        let is_it = write.is_write && write.is_of_contents();
        is_it.then(|| self.iterator_of(outline, write.event, "remove"))?
    }

    /// Whether a write takes one element out of its container, and nobody asks whether it was still there.
    fn is_removed_unasked(&self, outline: &Outline, write: &Access) -> bool {
        if !write.is_write || !write.is_removal || !write.is_of_contents() || is_asked(outline, write.event) {
            return false;
        }
        if self.whole.program.method_name(self.method) == write.spot.method {
            return true;
        }
        let below = self.whole.calls.hierarchy.resolve_name(self.whole.program, write.spot.method);
        below.and_then(|below| self.whole.summaries.outline(below)).is_some_and(|below| {
            let removing = below.events.iter().position(|event| event.pc == write.spot.pc);
            removing.is_some_and(|removing| !is_asked(below, EventId(removing as u32)))
        })
    }

    /// The object that an event calls this operation of an iterator on.
    pub(super) fn iterator_of(&self, outline: &Outline, event: EventId, wanted: &str) -> Option<EventId> {
        let names = &self.whole.program.names;
        match &outline.events[event.index()].action {
            Action::Call { method, arguments, .. }
                if names.text(method.name) == wanted && names.text(method.descriptor).starts_with("()") =>
            {
                match arguments.first()?.objects.as_slice() {
                    [Object::Event(iterator)] => Some(*iterator),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the element is returned, or put somewhere, after it was taken out: who only clears up does so twice.
    fn is_given_out(&self, outline: &Outline, (read, next): (AccessId, EventId), write: &Access) -> bool {
        let is_put = |put: &Access| {
            put.is_write
                && put.event != write.event
                && comes_from(&put.value, read)
                && outline.leads_to(write.event, put.event, &[next])
        };
        outline.returned.contains(&Object::Event(next)) || self.summary.accesses.iter().any(is_put)
    }

    /// Whether it is taken out only by who has won a step that one thread alone can take: on the element, or for it.
    fn is_taken_by_winner(&self, next: EventId, write: &Access) -> bool {
        self.summary.accesses.iter().any(|step| {
            let is_of_element = step.base.start == Start::Result(next);
            step.is_write
                && step.event != write.event
                && (step.is_compound || is_of_element)
                && self.is_granted_by(step, write.event)
        })
    }
}

/// Whether anything is done with what an event yields.
fn is_asked(outline: &Outline, event: EventId) -> bool {
    let is_it = |source: &Source| source.origin == Origin::Event(event);
    let is_used = outline.events.iter().any(|other| match &other.action {
        Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
            arguments.iter().any(|argument| argument.sources.iter().any(is_it))
        }
        Action::Write { stored, .. } => stored.sources.iter().any(is_it),
        Action::Read { .. } | Action::Wait(_) => false,
    });
    is_used
        || outline.result.iter().any(is_it)
        || outline.conditions.iter().any(|condition| condition.sources.iter().any(is_it))
}
