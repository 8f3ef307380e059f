//! The algebra of views: sets, which of them are maximal, and which of two tear a third one apart.

/// A sorted set without doubles.
pub(crate) type Set<T> = Vec<T>;

pub(crate) fn set<T: Ord>(elements: impl IntoIterator<Item = T>) -> Set<T> {
    let mut set: Set<T> = elements.into_iter().collect();
    set.sort_unstable();
    set.dedup();
    set
}

fn intersection<T: Ord + Copy>(a: &[T], b: &[T]) -> Set<T> {
    a.iter().copied().filter(|element| b.binary_search(element).is_ok()).collect()
}

pub(crate) fn difference<T: Ord + Copy>(a: &[T], b: &[T]) -> Set<T> {
    a.iter().copied().filter(|element| b.binary_search(element).is_err()).collect()
}

fn is_inside<T: Ord + Copy>(a: &[T], b: &[T]) -> bool {
    a.len() <= b.len() && a.iter().all(|element| b.binary_search(element).is_ok())
}

/// The views that are inside no other; of equal ones the first.
pub(crate) fn maximal<T: Ord + Copy>(views: &[Set<T>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..views.len()).collect();
    order.sort_by_key(|index| (std::cmp::Reverse(views[*index].len()), *index));
    let mut kept: Vec<usize> = Vec::new();
    for index in order {
        if kept.iter().all(|larger| !is_inside(&views[index], &views[*larger])) {
            kept.push(index);
        }
    }
    kept.sort_unstable();
    kept
}

/// Pairs of views that each have something of `whole` that the other has not; empty if the overlaps form a chain.
pub(crate) fn torn<T: Ord + Copy>(whole: &[T], views: &[Set<T>]) -> Vec<(usize, usize)> {
    let mut overlaps: Vec<(Set<T>, usize)> = Vec::new();
    for (index, view) in views.iter().enumerate() {
        let overlap = intersection(whole, view);
        if !overlap.is_empty() {
            overlaps.push((overlap, index));
        }
    }
    overlaps.sort_by(|(a, first), (b, second)| a.len().cmp(&b.len()).then(first.cmp(second)));
    // By size, a chain has each inside the next.
    if overlaps.windows(2).all(|two| is_inside(&two[0].0, &two[1].0)) {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for (position, (small, first)) in overlaps.iter().enumerate() {
        for (large, second) in &overlaps[position + 1..] {
            if !is_inside(small, large) {
                pairs.push((*first.min(second), *first.max(second)));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Small numbers from a seed, the same every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }

        fn set(&mut self) -> Set<u8> {
            let size = self.below(5);
            set((0..size).map(|_| self.below(6) as u8))
        }
    }

    fn as_set(set: &Set<u8>) -> BTreeSet<u8> {
        set.iter().copied().collect()
    }

    #[test]
    fn both_agree_with_the_definitions_on_random_views() {
        let mut random = Random(7);
        for round in 0..20_000 {
            let count = random.below(6);
            let views: Vec<Set<u8>> = (0..count).map(|_| random.set()).collect();
            let whole = random.set();
            let sets: Vec<BTreeSet<u8>> = views.iter().map(as_set).collect();
            let mut plain = Vec::new();
            for first in 0..sets.len() {
                for second in first + 1..sets.len() {
                    let a: BTreeSet<u8> = sets[first].intersection(&as_set(&whole)).copied().collect();
                    let b: BTreeSet<u8> = sets[second].intersection(&as_set(&whole)).copied().collect();
                    if !a.is_empty() && !b.is_empty() && !a.is_subset(&b) && !b.is_subset(&a) {
                        plain.push((first, second));
                    }
                }
            }
            assert_eq!(torn(&whole, &views), plain, "round {round}: {whole:?} and {views:?}");
            let largest: Vec<usize> = (0..sets.len())
                .filter(|one| {
                    (0..sets.len()).all(|other| {
                        let is_larger = sets[*one].is_subset(&sets[other]) && sets[*one] != sets[other];
                        let is_double = sets[*one] == sets[other] && other < *one;
                        !is_larger && !is_double
                    })
                })
                .collect();
            assert_eq!(maximal(&views), largest, "round {round}: {views:?}");
        }
    }
}
