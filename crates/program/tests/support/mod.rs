//! What several tests need: real classes, classes made by hand, and the laws that every body keeps.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod assembler;
pub(crate) mod damage;
pub(crate) mod laws;
pub(crate) mod real;

/// A small generator, so that a failure can be repeated from its number.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as usize % limit
    }
}
