//! 10,000 damaged copies of real classes: whatever is wrong with a class, reading it ends in a value.

mod jdk;

use classfile::{Class, Error};
use location::Names;
use rayon::prelude::*;

const COPIES: u64 = 10_000;
/// Every so many-th class of the JDK is a seed, so that all kinds of classes are among them.
const STRIDE: usize = 97;

/// Reads everything there is to read, also after the first error, which it returns.
fn exercise(bytes: &[u8]) -> Result<(), Error> {
    let names = Names::new();
    let class = Class::read(bytes)?;
    let mut result = class.header(&names).map(drop);
    result = result.and(class.bootstraps(&names).map(drop));
    class.codes(
        &names,
        |_| true,
        |_, code| {
            if let (Ok(()), Err(error)) = (&result, code) {
                result = Err(error);
            }
        },
    );
    let _ = class.references(&names, |_, _| {});
    class.mentions(&names, |_| {});
    let _ = class.module();
    result
}

/// A small generator, so that a failure can be repeated from its number.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as usize % limit
    }
}

/// Cuts the class off, or flips bits, or puts extreme bytes, mostly in its first part, where the structure is densest.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(4) {
        0 => bytes.truncate(random.below(bytes.len())),
        kind => {
            for _ in 0..1 + random.below(8) {
                let range = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(256) };
                let at = 10.min(range - 1) + random.below(range.saturating_sub(10).max(1));
                let at = at.min(bytes.len() - 1);
                if kind == 1 {
                    bytes[at] = if random.below(2) == 0 { 0xff } else { 0 };
                } else {
                    bytes[at] ^= 1 << random.below(8);
                }
            }
        }
    }
}

#[test]
fn damaged_classes_are_values() {
    let contents = jdk::classes();
    let seeds: Vec<_> = contents.sources.iter().step_by(STRIDE).collect();
    for seed in &seeds {
        exercise(&seed.bytes).unwrap_or_else(|error| panic!("{}: {error}", seed.path));
    }

    let results: Vec<_> = (0..COPIES)
        .into_par_iter()
        .map(|number| {
            let mut random = Random(number);
            let seed = seeds[random.below(seeds.len())];
            let mut bytes = seed.bytes.clone();
            damage(&mut bytes, &mut random);
            std::panic::catch_unwind(|| exercise(&bytes)).map_err(|_| format!("copy {number}, of {}", seed.path))
        })
        .collect();

    let panics: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(panics.is_empty(), "{} panics: {:?}", panics.len(), &panics[..panics.len().min(10)]);
    let noticed = results.iter().flatten().filter(|result| result.is_err()).count();
    assert!(noticed > 4_000, "only {noticed} copies were found to be damaged");
}

/// Every prefix of a few classes: each field is cut in two somewhere.
#[test]
fn classes_cut_off_at_every_byte() {
    let contents = jdk::classes();
    let small = contents.sources.iter().filter(|source| source.bytes.len() < 2_000).step_by(1_001);
    for source in small {
        for length in 0..source.bytes.len() {
            assert!(exercise(&source.bytes[..length]).is_err(), "{} cut at {length} passed for whole", source.path);
        }
    }
}
