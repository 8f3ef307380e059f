//! A set of strings in one piece of memory.
//!
//! Reading a large program meets millions of names, most of them again and again. A hash set of strings would take a
//! small piece of memory for each one that is kept, which slows down every later allocation between them.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

/// Strings, each once, in the order in which they came.
#[derive(Default)]
pub(crate) struct Texts {
    all: String,
    /// Where each string ends; it starts where the one before ends.
    ends: Vec<usize>,
    /// The numbers of strings by their hash, or the next free number above that if two have the same.
    by_hash: FxHashMap<u64, usize>,
}

impl Texts {
    /// Whether it is new.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        let mut hash = hasher.finish();
        while let Some(number) = self.by_hash.get(&hash) {
            if self.text(*number) == text {
                return false;
            }
            hash = hash.wrapping_add(1);
        }
        self.by_hash.insert(hash, self.ends.len());
        self.all.push_str(text);
        self.ends.push(self.all.len());
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.text(number))
    }

    fn text(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[number]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_kept_once() {
        let mut texts = Texts::default();
        let words = ["b", "a", "", "ab", "b", "", "é", "a"];
        let new: Vec<bool> = words.iter().map(|word| texts.insert(word)).collect();
        assert_eq!(new, [true, true, true, true, false, false, true, false]);
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["b", "a", "", "ab", "é"]);
    }

    #[test]
    fn texts_of_one_hash_are_kept_apart() {
        let mut texts = Texts::default();
        assert!(texts.insert("a") && texts.insert("b"));
        // As if all three had the hash of the last.
        let mut hasher = FxHasher::default();
        "c".hash(&mut hasher);
        let hash = hasher.finish();
        texts.by_hash = [(hash, 0), (hash.wrapping_add(1), 1)].into_iter().collect();
        assert!(texts.insert("c"));
        assert!(!texts.insert("c"));
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
