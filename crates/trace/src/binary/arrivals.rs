//! Which arrivals at a barrier were handed out.
//!
//! Arrivals have numbers, taken before they are written, and a leave comes after all below its own. Only to count them
//! would not do: one that comes later could stand in for one that came before.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::BarrierId;

type Key = (BarrierId, u32);

/// By barrier and generation.
#[derive(Default)]
pub(super) struct Arrivals {
    /// All below these were handed out. There is one for each task, so it is small.
    next: FxHashMap<Key, u32>,
    /// Those above that were handed out, too: few, and soon below.
    ahead: FxHashMap<Key, BTreeSet<u32>>,
}

impl Arrivals {
    /// Whether all arrivals below this number were handed out.
    pub(super) fn have(&self, barrier: BarrierId, generation: u32, below: u32) -> bool {
        self.next.get(&(barrier, generation)).copied().unwrap_or(0) >= below
    }

    /// One is handed out. Traces of the first version have no numbers: there each is the next.
    pub(super) fn add(&mut self, barrier: BarrierId, generation: u32, number: Option<u32>) {
        let key = (barrier, generation);
        let next = self.next.entry(key).or_insert(0);
        match number {
            Some(number) if number > *next => {
                self.ahead.entry(key).or_default().insert(number);
                return;
            }
            // It was given up already.
            Some(number) if number < *next => return,
            _ => *next = next.saturating_add(1),
        }
        self.catch_up(key);
        // Nobody arrives at a generation while others have yet to leave the one two before it.
        if let Some(old) = generation.checked_sub(2) {
            self.next.remove(&(barrier, old));
            self.ahead.remove(&(barrier, old));
        }
    }

    /// What is missing below this number never comes: its thread was killed before it wrote it.
    pub(super) fn give_up(&mut self, barrier: BarrierId, generation: u32, below: u32) {
        let key = (barrier, generation);
        let next = self.next.entry(key).or_insert(0);
        *next = below.max(*next);
        self.catch_up(key);
    }

    fn catch_up(&mut self, key: Key) {
        let (Some(next), Some(ahead)) = (self.next.get_mut(&key), self.ahead.get_mut(&key)) else { return };
        while ahead.first().is_some_and(|first| first <= next) {
            if ahead.pop_first() == Some(*next) {
                *next = next.saturating_add(1);
            }
        }
        if ahead.is_empty() {
            self.ahead.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: BarrierId = BarrierId(3);

    #[test]
    fn a_later_one_does_not_stand_in_for_an_earlier_one() {
        let mut arrivals = Arrivals::default();
        arrivals.add(GATE, 1, Some(2));
        arrivals.add(GATE, 1, Some(1));
        assert!(!arrivals.have(GATE, 1, 1));
        arrivals.add(GATE, 1, Some(0));
        assert!(arrivals.have(GATE, 1, 3) && !arrivals.have(GATE, 1, 4) && arrivals.ahead.is_empty());
        assert!(!arrivals.have(GATE, 0, 1));
    }

    #[test]
    fn one_that_never_comes_is_given_up_and_not_counted_if_it_does() {
        let mut arrivals = Arrivals::default();
        arrivals.add(GATE, 0, Some(2));
        arrivals.give_up(GATE, 0, 2);
        assert!(arrivals.have(GATE, 0, 3));
        arrivals.add(GATE, 0, Some(1));
        assert!(!arrivals.have(GATE, 0, 4));
    }

    #[test]
    fn without_numbers_they_are_counted() {
        let mut arrivals = Arrivals::default();
        arrivals.add(GATE, 5, None);
        assert!(arrivals.have(GATE, 5, 1) && !arrivals.have(GATE, 5, 2));
        arrivals.add(GATE, 7, None);
        assert!(!arrivals.have(GATE, 5, 1), "what nobody can ask for any more is forgotten");
    }
}
