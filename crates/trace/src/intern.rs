//! Strings to dense numbers and back, for tables of millions of short names.
//!
//! All texts stand in one buffer, so a million names are a few allocations and not a million.

use std::hash::Hasher;

use rustc_hash::FxHasher;

pub(crate) struct Interner {
    text: Vec<u8>,
    /// Invariant: `ends[i]` is where text `i` ends in `text`, and it starts where text `i - 1` ends.
    ends: Vec<usize>,
    /// Open addressing; a number plus one, 0 is free, with half of the hash to spare most comparisons.
    /// Invariant: the length is a power of two, and at least a quarter is free.
    slots: Vec<(u32, u32)>,
}

impl Default for Interner {
    fn default() -> Interner {
        Interner { text: Vec::new(), ends: Vec::new(), slots: vec![(0, 0); 64] }
    }
}

impl Interner {
    /// The number of a text, and whether it is new.
    pub(crate) fn intern(&mut self, text: &[u8]) -> (u32, bool) {
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        let tag = (hash >> 32) as u32;
        let mut at = hash as usize & mask;
        loop {
            let (number, found) = self.slots[at];
            if number == 0 {
                break;
            }
            if found == tag && self.bytes(number - 1) == text {
                return (number - 1, false);
            }
            at = (at + 1) & mask;
        }
        let number = self.ends.len() as u32;
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
        self.slots[at] = (number + 1, tag);
        if self.ends.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        (number, true)
    }

    fn bytes(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![(0, 0); mask + 1];
        for number in 0..self.ends.len() as u32 {
            let hash = hash(self.bytes(number));
            let mut at = hash as usize & mask;
            while slots[at].0 != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = (number + 1, (hash >> 32) as u32);
        }
        self.slots = slots;
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    let hash = hasher.finish();
    // The low bits choose the slot and the high ones the tag: mix them once more.
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_keeps_its_number_while_the_table_grows() {
        let mut interner = Interner::default();
        for round in 0..2 {
            for number in 0..10_000u32 {
                let (found, new) = interner.intern(format!("x{number}").as_bytes());
                assert_eq!((found, new), (number, round == 0));
            }
        }
        assert_eq!(interner.bytes(4711), b"x4711");
    }
}
