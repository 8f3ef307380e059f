//! What a thread's stream says about the place of its events among those of others.

use super::bytes::{Bytes, Cursor};
use super::events::{Limits, id};
use crate::ThreadId;

/// What a thread's stream says about the place of an event among the events of other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Nothing: program order decides.
    Free,
    /// The turn in the sequence of all acquires and releases of this lock, from 0.
    Turn(u64),
    /// An access that found another thread's word on its field: it comes after the accesses that this word counts.
    AfterWord { thread: ThreadId, segment: u64, reads: u8, writes: u8 },
    /// A write that found its field read by many: it comes after the read that made the field so, which this word
    /// counts, and after that many reads since then, itself included. Each of them is itself [`Order::AfterWord`] with
    /// no writes.
    AfterReads { thread: ThreadId, segment: u64, reads: u8, count: u64 },
    /// The number of an arrival among those of its generation, from 0.
    Arrival(u32),
    /// A leave comes after all arrivals of its generation with lower numbers; of arrivals without numbers, after so many.
    AfterArrivals(u32),
    /// The thread's first event comes after the event that started it.
    AfterStart,
}

#[inline(always)]
pub(super) fn put_order(bytes: &mut Bytes, order: Order) {
    match order {
        Order::Free => bytes.push(0),
        Order::Turn(turn) => {
            bytes.push(1);
            bytes.put(turn);
        }
        Order::AfterWord { thread, segment, reads, writes } => {
            bytes.push(2);
            bytes.put(u64::from(thread.0));
            bytes.put(segment);
            bytes.push(reads << 4 | writes & 0xf);
        }
        Order::AfterReads { thread, segment, reads, count } => {
            bytes.push(3);
            bytes.put(u64::from(thread.0));
            bytes.put(segment);
            bytes.push(reads << 4);
            bytes.put(count);
        }
        Order::AfterArrivals(count) => {
            bytes.push(4);
            bytes.put(u64::from(count));
        }
        Order::AfterStart => bytes.push(5),
        Order::Arrival(number) => {
            bytes.push(6);
            bytes.put(u64::from(number));
        }
    }
}

/// Every part goes to its place at once.
#[inline(always)]
pub(super) fn take_order(cursor: &mut Cursor<'_>, limits: &Limits, order: &mut Order) -> Option<()> {
    match cursor.byte()? {
        0 => *order = Order::Free,
        1 => *order = Order::Turn(cursor.u64()?),
        2 => {
            let thread = ThreadId(id(cursor, limits.threads)?);
            let segment = cursor.u64()?;
            let counts = cursor.byte()?;
            *order = Order::AfterWord { thread, segment, reads: counts >> 4, writes: counts & 0xf };
        }
        3 => {
            let thread = ThreadId(id(cursor, limits.threads)?);
            let segment = cursor.u64()?;
            let reads = cursor.byte()? >> 4;
            *order = Order::AfterReads { thread, segment, reads, count: cursor.u64()? };
        }
        4 => *order = Order::AfterArrivals(cursor.u32()?),
        5 => *order = Order::AfterStart,
        6 => *order = Order::Arrival(cursor.u32()?),
        _ => return None,
    }
    Some(())
}
