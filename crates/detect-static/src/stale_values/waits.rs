//! What is asked before a wait and relied on after it.

use std::cell::LazyCell;

use program::outline::{Action, EventId, Origin, Outline};
use program::summary::{Access, AccessId, Spot};

use super::rules::{Looking, Stale, Use};

/// Waits further down than this are not looked for.
const MAX_DEPTH: usize = 2;

impl Looking<'_> {
    /// Questions that are asked once, before a wait, and whose answer is relied on after it.
    pub(super) fn waits(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for waiting in &self.summary.waits {
            let wait = waiting.event;
            let event = &outline.events[wait.index()];
            let asked: Vec<usize> =
                event.control.iter().map(|condition| outline.conditions[*condition as usize].block as usize).collect();
            let reached = outline.reached_from(wait, |block| asked.contains(&block));
            let asked_before = self.asked_before(wait);
            let by_helper = self.asked_by_helper(wait, MAX_DEPTH);
            for (number, write) in self.summary.accesses.iter().enumerate() {
                let at = &outline.events[write.event.index()];
                let is_after = reached[at.block as usize] || (at.block == event.block && write.event > wait);
                if !write.is_write || !is_after || at.control.iter().any(|condition| !event.control.contains(condition))
                {
                    continue;
                }
                let written = LazyCell::new(|| self.shared(write));
                // What was waited for in a helper is there to be taken, unless it is asked whether it was.
                let is_taken = |read: &&AccessId| {
                    !is_listened_to(outline, write.event) && self.shared(self.access(**read)) == *written
                };
                found.extend(asked_before.iter().chain(by_helper.iter().filter(is_taken)).filter_map(|&read| {
                    let held = self.access(read).held.intersection(write.held).intersection(waiting.sections);
                    let section = held.iter().next()?;
                    let (written, variable) = ((*written)?, self.shared(self.access(read))?);
                    let (first, second) = (section, section);
                    let write = AccessId(number as u32);
                    Some(Stale { read, write, first, second, how: Use::Decides, variable, written })
                }));
            }
        }
        found
    }

    /// The reads that decide whether a method that is called waits, if it can return after the wait without asking again.
    fn asked_by_helper(&self, call: EventId, depth: usize) -> Vec<AccessId> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let Action::Call { kind, method, .. } = &outline.events[call.index()].action else { return Vec::new() };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
        let ([helper], true) = (targets.known(), depth > 0) else { return Vec::new() };
        let (Some(there), Some(inner)) =
            (Looking::anywhere(self.whole, *helper), self.whole.summaries.outline(*helper))
        else {
            return Vec::new();
        };
        let mut spots: Vec<Spot> = Vec::new();
        for waiting in &there.summary.waits {
            let reads = there.asked_before(waiting.event).into_iter();
            for read in reads.chain(there.asked_by_helper(waiting.event, depth - 1)) {
                let read = there.access(read);
                let is_look =
                    |look: &&Access| !look.is_write && look.member == read.member && look.base.same(&read.base);
                let looks: Vec<EventId> =
                    there.summary.accesses.iter().filter(is_look).map(|look| look.event).collect();
                let blocks = asked_with(inner, waiting.event, &looks);
                if may_end(inner, waiting.event, &looks, &blocks) {
                    spots.push(read.spot);
                }
            }
        }
        let is_it = |access: &Access| !access.is_write && access.event == call && spots.contains(&access.spot);
        let reads = self.summary.accesses.iter().enumerate();
        reads.filter(|(_, access)| is_it(access)).map(|(index, _)| AccessId(index as u32)).collect()
    }

    /// The reads that decide whether there is a wait.
    fn asked_before(&self, wait: EventId) -> Vec<AccessId> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let mut events: Vec<EventId> = Vec::new();
        for condition in &outline.events[wait.index()].control {
            let sources = &outline.conditions[*condition as usize].sources;
            events.extend(sources.iter().filter_map(|source| match source.origin {
                Origin::Event(event) => Some(event),
                Origin::Parameter(_) => None,
            }));
        }
        let reads = self.summary.accesses.iter().enumerate();
        reads
            .filter(|(_, access)| !access.is_write && events.contains(&access.event))
            .map(|(index, _)| AccessId(index as u32))
            .collect()
    }
}

/// `while (cars > 0 && colour != wanted) wait();`: the blocks of questions that decide about a wait, are asked again after it,
/// and then lead on to one of the looks unless their own answer is enough. The whole is asked again where these are.
fn asked_with(outline: &Outline, wait: EventId, looks: &[EventId]) -> Vec<usize> {
    let wait = &outline.events[wait.index()];
    let waiting = wait.block as usize;
    let blocks = wait.control.iter().map(|condition| outline.conditions[*condition as usize].block as usize);
    let leads_on = |asked: usize| {
        looks.iter().any(|look| {
            let block = outline.events[look.index()].block as usize;
            block == asked || outline.reaches(asked, block, waiting)
        })
    };
    blocks
        .filter(|asked| *asked != waiting && outline.reaches(waiting, *asked, usize::MAX) && leads_on(*asked))
        .collect()
}

/// Whether a method can go from an event to its end, without an exception and without coming by one of the others, nor
/// through one of the barred blocks.
fn may_end(outline: &Outline, from: EventId, others: &[EventId], barred: &[usize]) -> bool {
    let block_of = |event: EventId| outline.events[event.index()].block as usize;
    let first = block_of(from);
    if others.iter().any(|other| block_of(*other) == first && *other > from) {
        return false;
    }
    let mut seen = vec![first];
    let mut next = 0;
    while let Some(block) = seen.get(next).copied() {
        next += 1;
        let mut following = outline.blocks.successors(block).filter(|next| !next.is_exceptional).peekable();
        if following.peek().is_none() {
            return true;
        }
        for next in following {
            let is_barred = barred.contains(&next.block) || others.iter().any(|other| block_of(*other) == next.block);
            if !is_barred && !seen.contains(&next.block) {
                seen.push(next.block);
            }
        }
    }
    false
}

/// Whether something is decided by what a call yields.
fn is_listened_to(outline: &Outline, call: EventId) -> bool {
    let mut asked = outline.conditions.iter().flat_map(|condition| &condition.sources);
    asked.any(|source| source.origin == Origin::Event(call))
}
