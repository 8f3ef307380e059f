//! In which order locks are taken: whether threads can come to wait for each other in a circle.
//!
//! That a unit is atomic holds only if all threads come to an end, so what could keep them from it is said along.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{LockId, ThreadId};

use crate::clock::{Clock, Clocks};

/// A lock was taken while another one was held.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Edge {
    thread: ThreadId,
    clock: Clock,
    from: LockId,
    to: LockId,
    /// All that was held.
    held: Box<[LockId]>,
}

#[derive(Default)]
pub(super) struct LockOrder {
    edges: Vec<Edge>,
    known: FxHashSet<Edge>,
    /// Whether there were more than are kept.
    pub(super) is_cut: bool,
}

impl LockOrder {
    const MOST_EDGES: usize = 1 << 16;
    /// Steps of the search for a circle.
    const MOST_STEPS: u32 = 1_000_000;
    /// Locks of a circle.
    const LONGEST: usize = 4;

    pub(super) fn add(&mut self, thread: ThreadId, clock: Clock, held: &[LockId], to: LockId) {
        let mut all: Vec<LockId> = held.to_vec();
        all.sort_unstable();
        all.dedup();
        for &from in held {
            let edge = Edge { thread, clock, from, to, held: all.clone().into() };
            if self.known.contains(&edge) {
                continue;
            }
            if self.edges.len() >= LockOrder::MOST_EDGES {
                self.is_cut = true;
                return;
            }
            self.known.insert(edge.clone());
            self.edges.push(edge);
        }
    }

    /// Clocks that are still asked for.
    pub(super) fn clocks(&self) -> impl Iterator<Item = Clock> {
        self.edges.iter().map(|edge| edge.clock)
    }

    /// Locks that threads can hold while each waits for the next one's.
    pub(super) fn circle(&self, clocks: &Clocks) -> Option<Vec<LockId>> {
        let mut from: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
        for (number, edge) in self.edges.iter().enumerate() {
            from.entry(edge.from).or_default().push(number);
        }
        let mut steps = LockOrder::MOST_STEPS;
        let mut trail = Vec::new();
        for number in 0..self.edges.len() {
            trail.clear();
            trail.push(number);
            if self.extend(&from, &mut trail, &mut steps, clocks) {
                return Some(trail.iter().map(|&number| self.edges[number].from).collect());
            }
        }
        None
    }

    fn extend(
        &self,
        from: &FxHashMap<LockId, Vec<usize>>,
        trail: &mut Vec<usize>,
        steps: &mut u32,
        clocks: &Clocks,
    ) -> bool {
        let (Some(&first), Some(&last)) = (trail.first(), trail.last()) else { return false };
        if trail.len() > 1 && self.edges[last].to == self.edges[first].from {
            return true;
        }
        if trail.len() == LockOrder::LONGEST {
            return false;
        }
        for &next in from.get(&self.edges[last].to).into_iter().flatten() {
            if *steps == 0 {
                return false;
            }
            *steps -= 1;
            if trail.iter().all(|&known| self.can_meet(known, next, clocks)) {
                trail.push(next);
                if self.extend(from, trail, steps, clocks) {
                    return true;
                }
                trail.pop();
            }
        }
        false
    }

    /// Whether two threads can be there at the same time: neither start, join nor barriers nor a lock keep them apart.
    fn can_meet(&self, one: usize, other: usize, clocks: &Clocks) -> bool {
        let (one, other) = (&self.edges[one], &self.edges[other]);
        one.thread != other.thread
            && !clocks.is_before(one.thread, one.clock, other.clock)
            && !clocks.is_before(other.thread, other.clock, one.clock)
            && one.held.iter().all(|lock| other.held.binary_search(lock).is_err())
    }
}
