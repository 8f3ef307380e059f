//! Whether two writes of a method are made one after the other, for one thing.

use program::MethodId;
use program::outline::Action;
use program::summary::Access;

use super::rules::Asking;

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 3;

impl Asking<'_> {
    /// Whether both happen in one run of the method, and in one round of its loops: what is done in different rounds is
    /// done for different things.
    pub(super) fn may_follow(&self, first: &Access, second: &Access) -> bool {
        let block = |access: &Access| self.outline.events[access.event.index()].block as usize;
        let reaches = |from: usize, to: usize| {
            let mut seen = vec![false; self.outline.blocks.len()];
            let mut pending = vec![from];
            while let Some(block) = pending.pop() {
                if block == to {
                    return true;
                }
                // Blocks are in reverse postorder: an edge to an earlier one begins another round.
                let onward = self.outline.blocks.successors(block).filter(|next| !next.is_exceptional);
                for next in onward.map(|next| next.block).filter(|next| *next > block) {
                    if !std::mem::replace(&mut seen[next], true) {
                        pending.push(next);
                    }
                }
            }
            false
        };
        let leads = |from: &Access, to: &Access| {
            (block(from) != block(to) || from.event <= to.event)
                && reaches(block(from), block(to))
                && self.goes_on(self.method, from, MAX_DEPTH)
        };
        leads(first, second) || leads(second, first)
    }

    /// Whether the method goes on after an access, here or in what it calls: what is undone before an exception is thrown on
    /// is the last that happens.
    fn goes_on(&self, method: MethodId, access: &Access, depth: usize) -> bool {
        let Some(outline) = self.whole.summaries.outline(method) else { return true };
        let Some(event) = outline.events.get(access.event.index()) else { return true };
        if method != self.method && !outline.blocks.may_return(event.block as usize) {
            return false;
        }
        let Action::Call { kind, method: called, .. } = &event.action else { return true };
        if self.whole.program.method_name(method) == access.spot.method || depth == 0 {
            return true;
        }
        let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
        let inside: Vec<(MethodId, &Access)> = targets
            .known()
            .iter()
            .flat_map(|target| {
                let accesses = self.whole.summaries.summary(*target).map(|summary| summary.accesses.as_slice());
                let is_it = |other: &&Access| other.spot == access.spot && other.is_write == access.is_write;
                accesses.unwrap_or_default().iter().filter(is_it).map(|other| (*target, other))
            })
            .collect();
        inside.is_empty() || inside.iter().any(|(target, other)| self.goes_on(*target, other, depth - 1))
    }
}
