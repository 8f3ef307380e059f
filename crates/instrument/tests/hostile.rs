//! Damaged classes: refused or rewritten, but never a panic.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use fixture::test_jdk;
use instrument::{Families, Plan, Sites, instrument};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn damaged_classes_never_panic() {
    let mut contents = support::contents(&test_jdk().unwrap().home.join("lib/modules"));
    contents.sources.retain(|source| source.path.contains("/java.base/"));
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let plan = Plan { families: Families::ALL, joins_updates: true, speculates: true, ..Plan::default() };
    let rounds = if support::is_long() { 100_000 } else { 3_000 };
    let (mut rewritten, mut refused) = (0, 0);
    for _ in 0..rounds {
        let source = &contents.sources[random.below(contents.sources.len())];
        let mut bytes = source.bytes.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(8) {
                0 => bytes.truncate(at.max(1)),
                1..4 => bytes[at] = random.below(256) as u8,
                4..6 => bytes[at] ^= 1 << random.below(8),
                _ => bytes[at] = [0, 1, 127, 128, 255][random.below(5)],
            }
        }
        match instrument(&bytes, &plan, &mut Sites::new()) {
            Ok(_) => rewritten += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(rewritten > rounds / 10 && refused > rounds / 10, "{rewritten} rewritten, {refused} refused");
}
