//! Strings by number. Each is kept once, stays where it is, and is found by its number without a lock.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Threads that look for different strings mostly come to different shards.
const SHARDS: usize = 64;

/// The first piece has so many places, each further one twice as many as the one before.
const FIRST_PIECE: usize = 1 << 10;
const PIECES: usize = 23;

type Piece = Box<[OnceLock<Box<str>>]>;

/// A thread remembers so many numbers that it was told last: most names are asked for again and again.
const REMEMBERED: usize = 1 << 14;

thread_local! {
    /// By a part of the hash: all that is kept of it, and the number, of whichever interner. It counts if it is that of the
    /// string that is looked for; of most others the hash tells that it is not, so that nobody has to look at the string.
    static LAST: [Cell<(u32, u32)>; REMEMBERED] = const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

pub(crate) struct Interner {
    /// Hash and number of each string, by hash.
    shards: [Mutex<HashTable<(u32, NonZeroU32)>>; SHARDS],
    /// The strings by number.
    pieces: [OnceLock<Piece>; PIECES],
    /// The next number.
    next: AtomicU32,
}

impl Interner {
    pub(crate) fn new() -> Interner {
        Interner {
            shards: std::array::from_fn(|_| Mutex::default()),
            pieces: std::array::from_fn(|_| OnceLock::new()),
            next: AtomicU32::new(1),
        }
    }

    pub(crate) fn intern(&self, text: &str) -> NonZeroU32 {
        let (hash, short) = hash(text);
        LAST.with(|last| {
            let last = &last[short as usize % REMEMBERED];
            let (known, number) = last.get();
            match NonZeroU32::new(number).filter(|_| known == short) {
                Some(number) if self.known_text(number) == Some(text) => number,
                _ => {
                    let number = self.find_or_add(text, hash, short);
                    last.set((short, number.get()));
                    number
                }
            }
        })
    }

    fn find_or_add(&self, text: &str, hash: u64, short: u32) -> NonZeroU32 {
        // A thread that panicked here has left a table that is whole.
        let mut shard = self.shard(hash).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, number)) = shard.find(spread(short), |known| self.is(known, short, text)) {
            return *number;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let number = NonZeroU32::new(number).expect("fewer strings than numbers");
        let (piece, place) = place(number);
        let piece = self.pieces[piece].get_or_init(|| (0..size(piece)).map(|_| OnceLock::new()).collect());
        let _ = piece[place].set(text.into());
        shard.insert_unique(spread(short), (short, number), |(short, _)| spread(*short));
        number
    }

    /// The number of a string that was interned before, if it was.
    pub(crate) fn lookup(&self, text: &str) -> Option<NonZeroU32> {
        let (hash, short) = hash(text);
        let shard = self.shard(hash).lock().unwrap_or_else(PoisonError::into_inner);
        shard.find(spread(short), |known| self.is(known, short, text)).map(|(_, number)| *number)
    }

    pub(crate) fn text(&self, number: NonZeroU32) -> &str {
        self.known_text(number).expect("numbers come from this interner")
    }

    fn known_text(&self, number: NonZeroU32) -> Option<&str> {
        let (piece, place) = place(number);
        Some(self.pieces[piece].get()?[place].get()?)
    }

    fn is(&self, (known, number): &(u32, NonZeroU32), short: u32, text: &str) -> bool {
        *known == short && self.text(*number) == text
    }

    fn shard(&self, hash: u64) -> &Mutex<HashTable<(u32, NonZeroU32)>> {
        // The table itself goes by the bits below these.
        &self.shards[(hash >> 32) as usize % SHARDS]
    }
}

fn hash_of(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

/// The hash, and a part of it that is kept with the number: a table that grows need not look at texts.
fn hash(text: &str) -> (u64, u32) {
    let hash = hash_of(text);
    (hash, (hash >> 20) as u32)
}

/// What a table goes by, which uses the lowest and the highest bits.
fn spread(short: u32) -> u64 {
    u64::from(short).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

fn size(piece: usize) -> usize {
    FIRST_PIECE << piece
}

/// The piece that a number is in, and where in it.
fn place(number: NonZeroU32) -> (usize, usize) {
    let from_zero = number.get() as usize - 1;
    let piece = (from_zero / FIRST_PIECE + 1).ilog2() as usize;
    (piece, from_zero - FIRST_PIECE * ((1 << piece) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for number in 1..=FIRST_PIECE * 9 {
            assert_eq!(place(NonZeroU32::new(number as u32).unwrap()), expected, "{number}");
            expected.1 += 1;
            if expected.1 == size(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        let (piece, place) = place(NonZeroU32::MAX);
        assert!(piece < PIECES && place < size(piece));
    }

    #[test]
    fn threads_agree_on_numbers() {
        let interner = Interner::new();
        let texts: Vec<String> = (0..5_000).map(|number| format!("name{number}")).collect();
        let all: Vec<Vec<NonZeroU32>> = std::thread::scope(|scope| {
            let one = |backwards: bool| {
                let (interner, texts) = (&interner, &texts);
                scope.spawn(move || {
                    let number = |text: &String| interner.intern(text);
                    match backwards {
                        true => texts.iter().rev().map(number).rev().collect(),
                        false => texts.iter().map(number).collect(),
                    }
                })
            };
            let threads = [one(false), one(true), one(false)];
            threads.map(|thread| thread.join().unwrap()).into()
        });
        assert!(all.iter().all(|numbers| *numbers == all[0]));
        for (text, number) in texts.iter().zip(&all[0]) {
            assert_eq!(interner.text(*number), text);
            assert_eq!(interner.lookup(text), Some(*number));
        }
        assert_eq!(interner.lookup("nowhere"), None);
    }
}
