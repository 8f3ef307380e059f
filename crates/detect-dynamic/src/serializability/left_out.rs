//! Transactions that a second look at a run does without.
//!
//! A joint finding is a cycle of transactions none of which was violated on its own. In one look that can be overlooked:
//! of the ways from one transaction to another the tables keep one, and that may lead through a violated transaction
//! beside a way that does not; and a variable keeps its last accesses alone. Without the violated transactions, every
//! cycle that is left is a joint one.

use rustc_hash::FxHashMap;
use trace::ThreadId;

use super::state::Moment;

/// The first and the last moment of whole transactions in which one was violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spoilt {
    pub(super) thread: ThreadId,
    pub(super) begin: Moment,
    pub(super) end: Moment,
}

/// For each thread what is left out and still to come, last first. Invariant: apart from each other.
#[derive(Default)]
pub(super) struct LeftOut {
    to_come: FxHashMap<ThreadId, Vec<(Moment, Moment)>>,
}

impl LeftOut {
    pub(super) fn new(mut spoilt: Vec<Spoilt>) -> LeftOut {
        spoilt.sort_by_key(|one| (one.thread, std::cmp::Reverse(one.end)));
        let mut left_out = LeftOut::default();
        for one in spoilt {
            let known = left_out.to_come.entry(one.thread).or_default();
            match known.last_mut() {
                // Units may overlap or lie in one another.
                Some((begin, _)) if *begin <= one.end => *begin = (*begin).min(one.begin),
                _ => known.push((one.begin, one.end)),
            }
        }
        left_out
    }

    /// Whether the whole transaction that a thread begins now is left out. Asked in the order of the run.
    pub(super) fn has(&mut self, thread: ThreadId, begin: Moment) -> bool {
        let Some(to_come) = self.to_come.get_mut(&thread) else { return false };
        while to_come.last().is_some_and(|&(_, end)| end < begin) {
            to_come.pop();
        }
        to_come.last().is_some_and(|&(first, _)| first <= begin)
    }
}
