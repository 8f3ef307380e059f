//! How often a thread has accessed variables in its segment.

use rustc_hash::FxHashMap;

use crate::VariableId;

/// A list of so many is quicker than a table. Most segments have fewer variables.
const FEW: usize = 8;

/// Reads and writes, by variable.
#[derive(Default)]
pub(super) struct Counts {
    few: Vec<(VariableId, (u8, u8))>,
    more: FxHashMap<VariableId, (u8, u8)>,
}

impl Counts {
    pub(super) fn get(&self, variable: VariableId) -> (u8, u8) {
        let found = self.few.iter().find(|(one, _)| *one == variable).map(|(_, counts)| counts);
        found.or_else(|| self.more.get(&variable)).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn add(&mut self, variable: VariableId, (reads, writes): (u8, u8)) {
        let at = self.few.iter().position(|(one, _)| *one == variable).unwrap_or(self.few.len());
        if at == self.few.len() && at < FEW {
            self.few.push((variable, (0, 0)));
        }
        let counts = match self.few.get_mut(at) {
            Some((_, counts)) => counts,
            None => self.more.entry(variable).or_default(),
        };
        *counts = (counts.0.saturating_add(reads), counts.1.saturating_add(writes));
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.few.clear();
        if !self.more.is_empty() {
            // One large segment would make all later ones clear its large table.
            self.more = FxHashMap::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_counted_alike() {
        let mut counts = Counts::default();
        for round in 1..=3 {
            for variable in 0..40 {
                assert_eq!(counts.get(VariableId(variable)), (round - 1, 0));
                counts.add(VariableId(variable), (1, 0));
                assert_eq!(counts.get(VariableId(variable)), (round, 0));
            }
        }
        counts.clear();
        assert!((0..40).all(|variable| counts.get(VariableId(variable)) == (0, 0)));
    }
}
