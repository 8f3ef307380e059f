//! Records in fewer bytes: what the agent does with a full chunk when nobody reads it while the program runs.
//!
//! It costs the thread a few nanoseconds a record, so it knows nothing of what records mean. A record is two bytes, which
//! say where its first number was seen before in this chunk and how long what follows is, and of every other number the
//! difference from one before it. `docs/trace-format.md` has the bytes. A chunk needs no other to be unpacked.

use crate::record;

/// Places for first numbers that were seen; the last one says that the number itself follows.
const HEADS: usize = 1 << 10;
const NEW_HEAD: usize = HEADS - 1;
/// Numbers behind the first whose differences have a length of their own; of a fourth all bytes are there.
const SHORTENED: usize = 3;
/// How many bytes a difference has, by the two bits that say so.
const LENGTHS: [usize; 4] = [0, 2, 4, 8];
/// Most numbers of a record.
const LONGEST: usize = 5;

/// The two bits for a difference, by how many bits it needs.
static CODES: [u8; 65] = {
    let mut codes = [3; 65];
    let mut bits = 0;
    while bits <= 32 {
        codes[bits] = match bits {
            0 => 0,
            1..=16 => 1,
            _ => 2,
        };
        bits += 1;
    }
    codes
};

/// How many numbers a record has, by its operation; 0 if there is no such operation, or the chunk is at its end.
static RECORD_LENGTHS: [u8; 64] = {
    let mut lengths = [0; 64];
    let mut operation = 0;
    while operation < 64 {
        if operation != record::END_OF_CHUNK
            && let Some(length) = record::length(operation)
        {
            lengths[operation as usize] = length as u8;
        }
        operation += 1;
    }
    lengths
};

/// What was seen so far, the same while packing and unpacking.
struct Seen {
    heads: [u64; HEADS],
    /// The number behind the first in the record before, whatever that was: mostly the same object.
    object: u64,
    /// The others in the last record of the same operation.
    others: [[u64; SHORTENED]; 64],
}

impl Seen {
    fn new() -> Seen {
        Seen { heads: [0; HEADS], object: 0, others: [[0; SHORTENED]; 64] }
    }

    #[inline(always)]
    fn place(head: u64) -> usize {
        ((head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize).min(NEW_HEAD - 1)
    }

    #[inline(always)]
    fn before(&mut self, operation: u8, at: usize) -> &mut u64 {
        if at == 0 { &mut self.object } else { &mut self.others[usize::from(operation)][at] }
    }
}

/// Small for numbers on both sides of 0.
#[inline(always)]
fn folded(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

#[inline(always)]
fn unfolded(difference: u64) -> u64 {
    difference >> 1 ^ (difference & 1).wrapping_neg()
}

#[inline(always)]
fn put(out: &mut [u8], at: usize, number: u64) {
    out[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Appends the whole records that the numbers begin with; how many of them are events. Counts the segments that they begin,
/// if they are all of one thread.
pub(crate) fn pack(numbers: &[u64], segment: &mut u64, out: &mut Vec<u8>) -> u32 {
    let mut seen = Seen::new();
    let mut events = 0;
    let start = out.len();
    // No number takes more than eight bytes, and no record more than two beside; eight are written at once.
    out.resize(start + numbers.len() * 10 + 16, 0);
    let mut at = start;
    let mut rest = numbers;
    while let Some(&head) = rest.first() {
        let operation = record::operation(head);
        let length = usize::from(RECORD_LENGTHS[usize::from(operation)]);
        if head == 0 || operation == record::END_OF_CHUNK || length > rest.len() {
            break;
        }
        let place = Seen::place(head);
        let known = seen.heads[place] == head;
        let mut codes = if known { place } else { NEW_HEAD } << (2 * SHORTENED);
        let begin = at;
        at += 2;
        if !known {
            seen.heads[place] = head;
            put(out, at, head);
            at += 8;
        }
        if length == 0 {
            // It makes no sense, and neither does what is behind it. A reader counts it.
            out[begin..begin + 2].copy_from_slice(&(codes as u16).to_le_bytes());
            break;
        }
        *segment = segment.wrapping_add(head >> 6 & 1);
        match operation {
            record::SEGMENT => *segment = rest[1],
            record::WRITER => {}
            _ => events += 1,
        }
        for (index, &number) in rest[1..length].iter().enumerate() {
            if index == SHORTENED {
                put(out, at, number);
                at += 8;
                break;
            }
            let before = seen.before(operation, index);
            let difference = folded(number.wrapping_sub(*before));
            *before = number;
            let code = CODES[64 - difference.leading_zeros() as usize];
            put(out, at, difference);
            at += LENGTHS[usize::from(code & 3)];
            codes |= usize::from(code) << (2 * index);
        }
        out[begin..begin + 2].copy_from_slice(&(codes as u16).to_le_bytes());
        rest = &rest[length..];
    }
    out.truncate(at);
    events
}

/// The numbers that were packed; `None` if the bytes make no sense.
pub(crate) fn unpack(bytes: &[u8], numbers: &mut Vec<u64>) -> Option<()> {
    let mut seen = Seen::new();
    let mut rest = bytes;
    numbers.clear();
    while !rest.is_empty() {
        let codes = usize::from(u16::from_le_bytes(*rest.split_first_chunk()?.0));
        rest = &rest[2..];
        let place = codes >> (2 * SHORTENED);
        let head = if place == NEW_HEAD {
            let head = take(&mut rest, 8)?;
            seen.heads[Seen::place(head)] = head;
            head
        } else {
            seen.heads[place]
        };
        let operation = record::operation(head);
        let length = usize::from(RECORD_LENGTHS[usize::from(operation)]);
        numbers.push(head);
        if head == 0 || length == 0 {
            // What makes no sense ends the chunk.
            return if head != 0 && rest.is_empty() { Some(()) } else { None };
        }
        for index in 0..length - 1 {
            if index == SHORTENED {
                numbers.push(take(&mut rest, 8)?);
                break;
            }
            let difference = take(&mut rest, LENGTHS[codes >> (2 * index) & 3])?;
            let before = seen.before(operation, index);
            *before = before.wrapping_add(unfolded(difference));
            numbers.push(*before);
        }
    }
    Some(())
}

#[inline(always)]
fn take(rest: &mut &[u8], length: usize) -> Option<u64> {
    let number = match rest.first_chunk::<8>() {
        Some(eight) => {
            let number = u64::from_le_bytes(*eight);
            if length == 8 { number } else { number & ((1 << (8 * length)) - 1) }
        }
        None => {
            let mut eight = [0; 8];
            eight[..length].copy_from_slice(rest.get(..length)?);
            u64::from_le_bytes(eight)
        }
    };
    *rest = rest.get(length..)?;
    Some(number)
}

const _: () = assert!(LONGEST == SHORTENED + 2, "a record has at most one number that is not shortened");

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of all operations, with numbers of all sizes, and some that come again and again.
    fn records(seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let operations: Vec<u8> =
            (1..63).filter(|operation| record::length(*operation).is_some_and(|length| length > 0)).collect();
        let mut numbers = Vec::new();
        for _ in 0..next() % 5000 {
            let operation = operations[next() as usize % operations.len()];
            let site = next() % (1 << (next() % 32));
            numbers.push(u64::from(operation) | (next() & 1) << 6 | (next() & 3) << 8 | site << 32);
            for _ in 1..record::length(operation).unwrap_or_default() {
                let bits = next() % 65;
                numbers.push(if bits == 0 { 0 } else { next() >> (64 - bits) });
            }
        }
        numbers
    }

    #[test]
    fn records_survive() {
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        for seed in 1..200 {
            let numbers = records(seed);
            bytes.clear();
            let mut segment = 0;
            let events = pack(&numbers, &mut segment, &mut bytes);
            assert_eq!(unpack(&bytes, &mut again), Some(()));
            assert_eq!(again, numbers);
            let mut at = 0;
            let (mut counted, mut segments) = (0, 0);
            while at < numbers.len() {
                let operation = record::operation(numbers[at]);
                segments = u64::wrapping_add(segments, numbers[at] >> 6 & 1);
                match operation {
                    record::SEGMENT => segments = numbers[at + 1],
                    record::WRITER => {}
                    _ => counted += 1,
                }
                at += record::length(operation).unwrap_or_default();
            }
            assert_eq!((events, segment), (counted, segments));
        }
    }

    #[test]
    fn what_is_not_whole_is_left_out_and_what_makes_no_sense_ends_a_chunk() {
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        let acquire = u64::from(record::ACQUIRE);
        for (numbers, kept, events) in [
            (&[acquire, 1, 2, acquire, 3][..], &[acquire, 1, 2][..], 1),
            (&[acquire, 1, 2, 0, 5, 6], &[acquire, 1, 2], 1),
            (&[acquire, 1, 2, u64::from(record::END_OF_CHUNK), 9], &[acquire, 1, 2], 1),
            (&[acquire, 1, 2, 60, 9], &[acquire, 1, 2, 60], 1),
            (&[], &[], 0),
        ] {
            bytes.clear();
            assert_eq!(pack(numbers, &mut 0, &mut bytes), events);
            assert_eq!(unpack(&bytes, &mut again), Some(()));
            assert_eq!(again, kept);
        }
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut again = Vec::new();
        for seed in 1..2000u64 {
            let mut state = seed;
            let bytes: Vec<u8> = (0..seed % 97)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let _ = unpack(&bytes, &mut again);
        }
    }
}
