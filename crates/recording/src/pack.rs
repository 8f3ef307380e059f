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
pub(crate) type Lengths = [u8; 4];
const LENGTHS: Lengths = [0, 1, 3, 8];
/// Most numbers of a record.
const LONGEST: usize = 5;
/// Room for any record: two bytes and five numbers, the last of which may be followed by nothing of eight bytes.
const ROOM: usize = 64;

/// The lengths in traces of a version.
pub(crate) fn lengths_of(version: u16) -> Lengths {
    if version == 1 { [0, 2, 4, 8] } else { LENGTHS }
}

/// The two bits for a difference.
#[inline(always)]
fn code_of(difference: u64) -> usize {
    // Without a branch: which it is changes from record to record.
    usize::from(difference != 0) + usize::from(difference > 0xff) + usize::from(difference > 0xff_ffff)
}

/// How many bytes go with a code, without a look at memory.
#[inline(always)]
fn length_of(code: usize) -> usize {
    (u32::from_le_bytes(LENGTHS) >> (8 * code)) as usize & 0xff
}

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
fn put(room: &mut [u8; ROOM], at: usize, number: u64) {
    // What a record takes ends before: the compiler need not ask.
    let at = at.min(ROOM - 8);
    room[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// How much room so many numbers may need, packed.
pub(crate) fn most_bytes(numbers: usize) -> usize {
    numbers * 10 + ROOM
}

/// What came of packing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub(crate) events: u32,
    pub(crate) bytes: usize,
}

/// Packs the whole records that the numbers begin with into `out`, which has [`most_bytes`]. Counts the segments that they
/// begin, if they are all of one thread.
// On its own: put into what calls it, it took nearly twice as long.
#[inline(never)]
pub(crate) fn pack(numbers: &[u64], segment: &mut u64, out: &mut [u8]) -> Count {
    let mut seen = Seen::new();
    let mut events = 0;
    let mut segments = *segment;
    let mut done = 0;
    let mut rest = numbers;
    while let Some(&head) = rest.first() {
        let operation = record::operation(head);
        let length = usize::from(RECORD_LENGTHS[usize::from(operation)]);
        let Some(room) = out.get_mut(done..).and_then(|rest| rest.first_chunk_mut::<ROOM>()) else { break };
        if head == 0 || operation == record::END_OF_CHUNK || length > rest.len() {
            break;
        }
        let place = Seen::place(head);
        let known = seen.heads[place] == head;
        let mut codes = if known { place } else { NEW_HEAD } << (2 * SHORTENED);
        let mut at = 2;
        if !known {
            seen.heads[place] = head;
            put(room, at, head);
            at += 8;
        }
        if length == 0 {
            // It makes no sense, and neither does what is behind it. A reader counts it.
            room[..2].copy_from_slice(&(codes as u16).to_le_bytes());
            done += at;
            break;
        }
        segments = segments.wrapping_add(head >> 6 & 1);
        match operation {
            record::SEGMENT => segments = rest[1],
            record::WRITER => {}
            _ => events += 1,
        }
        for (index, &number) in rest[1..length].iter().enumerate() {
            if index == SHORTENED {
                put(room, at, number);
                at += 8;
                break;
            }
            let before = seen.before(operation, index);
            let difference = folded(number.wrapping_sub(*before));
            *before = number;
            let code = code_of(difference);
            put(room, at, difference);
            at += length_of(code);
            codes |= code << (2 * index);
        }
        room[..2].copy_from_slice(&(codes as u16).to_le_bytes());
        done += at;
        rest = &rest[length..];
    }
    *segment = segments;
    Count { events, bytes: done }
}

/// The numbers that were packed; `None` if the bytes make no sense.
pub(crate) fn unpack(bytes: &[u8], lengths: Lengths, numbers: &mut Vec<u64>) -> Option<()> {
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
            let difference = take(&mut rest, usize::from(lengths[codes >> (2 * index) & 3]))?;
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

    /// Packs into bytes that had something else before.
    fn packed(numbers: &[u64], segment: &mut u64, bytes: &mut Vec<u8>) -> u32 {
        bytes.clear();
        bytes.resize(most_bytes(numbers.len()), 0xa5);
        let Count { events, bytes: length } = pack(numbers, segment, bytes);
        bytes.truncate(length);
        events
    }

    #[test]
    fn lengths_are_what_the_bits_say() {
        for bits in 0..64 {
            for difference in [(1u64 << bits) - 1, 1 << bits, 1 << bits | 1] {
                let length = length_of(code_of(difference));
                let needed = (64 - difference.leading_zeros() as usize).div_ceil(8);
                assert_eq!(Some(length), LENGTHS.iter().map(|one| usize::from(*one)).find(|one| *one >= needed));
            }
        }
    }

    /// Traces of the first version are still read: a read of object 5, whose number has two bytes there.
    #[test]
    fn the_first_version_is_read() {
        let head = u64::from(record::FIELD) | 7 << 32;
        let mut bytes = (((NEW_HEAD << 6) | 1) as u16).to_le_bytes().to_vec();
        bytes.extend(head.to_le_bytes());
        bytes.extend([10, 0]);
        let mut again = Vec::new();
        assert_eq!(unpack(&bytes, lengths_of(1), &mut again), Some(()));
        assert_eq!(again, [head, 5]);
    }

    #[test]
    fn records_survive() {
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        for seed in 1..200 {
            let numbers = records(seed);
            let mut segment = 0;
            let events = packed(&numbers, &mut segment, &mut bytes);
            assert_eq!(unpack(&bytes, LENGTHS, &mut again), Some(()));
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
            (&[acquire, 1, 2, 39, 9], &[acquire, 1, 2, 39], 1),
            (&[], &[], 0),
        ] {
            assert_eq!(packed(numbers, &mut 0, &mut bytes), events);
            assert_eq!(unpack(&bytes, LENGTHS, &mut again), Some(()));
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
            let _ = unpack(&bytes, lengths_of((seed % 2) as u16 + 1), &mut again);
        }
    }
}
