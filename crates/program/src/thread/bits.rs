//! Sets of small numbers.

use smallvec::SmallVec;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Bits(SmallVec<[u64; 2]>);

impl Bits {
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// Adds all of the other; tells whether that changed anything.
    pub(crate) fn add(&mut self, other: &Bits) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }

    pub(crate) fn remove(&mut self, other: &Bits) {
        for (word, less) in self.0.iter_mut().zip(&other.0) {
            *word &= !less;
        }
    }

    /// Keeps what the other has as well.
    pub(crate) fn keep(&mut self, other: &Bits) {
        for (index, word) in self.0.iter_mut().enumerate() {
            *word &= other.0.get(index).copied().unwrap_or(0);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit)
        })
    }

    /// Equal sets have equal words.
    pub(crate) fn trimmed(mut self) -> Bits {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    fn set(numbers: &[usize]) -> Bits {
        let mut bits = Bits::default();
        numbers.iter().for_each(|number| bits.insert(*number));
        bits
    }

    #[test]
    fn they_are_sets() {
        let mut bits = set(&[1, 64, 200]);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [1, 64, 200]);
        assert!(bits.contains(64) && !bits.contains(65) && !bits.contains(5_000));
        assert!(bits.add(&set(&[2, 300])) && !bits.add(&set(&[2])));
        bits.remove(&set(&[300, 1, 999]));
        assert_eq!(bits.clone().trimmed(), set(&[2, 64, 200]));
        bits.keep(&set(&[64]));
        assert_eq!(bits.trimmed(), set(&[64]));
        assert!(Bits::default().is_empty() && set(&[]).iter().next().is_none());
    }
}
