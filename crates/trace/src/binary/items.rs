//! Events of a stream that are decoded and not yet handed out.
//!
//! They are written part by part, each to its place, and handed out as a whole. A processor waits where these two are close
//! together, so some events are decoded at a time.

use super::order::Order;
use crate::{Action, Event, SiteId, StackId, ThreadId};

/// An event of a stream, with what is known of its place.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) event: Event,
    pub(super) segment: u64,
    pub(super) order: Order,
}

const EMPTY: Item = Item {
    event: Event { thread: ThreadId(0), site: SiteId(0), stack: StackId(0), action: Action::ThreadBegin },
    segment: 0,
    order: Order::Free,
};

/// Threads may be very many, and most of these do little.
const FIRST: usize = 4;
/// Enough for all that the processor has under way, and no more than its nearest cache has room for.
const MOST: usize = 64;

/// Events that are decoded and not yet handed out.
#[derive(Default)]
pub struct Items {
    room: Vec<Item>,
    count: usize,
    at: usize,
}

impl Items {
    /// The next one to be handed out.
    #[inline]
    pub(super) fn next(&self) -> Option<&Item> {
        self.room[..self.count].get(self.at)
    }

    /// That one is handed out.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.count
    }

    /// Begins anew, with more room if there was too little.
    pub(super) fn clear(&mut self) {
        if self.count == self.room.len() && self.count < MOST {
            self.room.resize((self.count * 4).max(FIRST), EMPTY);
        }
        (self.count, self.at) = (0, 0);
    }

    /// Where the next one is to be written, if there is room.
    #[inline(always)]
    pub(super) fn place(&mut self) -> Option<&mut Item> {
        self.room.get_mut(self.count)
    }

    /// The one at that place is whole.
    #[inline(always)]
    pub(super) fn add(&mut self) {
        self.count += 1;
    }

    /// Whether there is room for one more.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.count < self.room.len()
    }

    /// Adds an event, with its segment and its order, for which there must be room.
    // With an event that the caller has just made, every part goes to its place at once.
    #[inline(always)]
    pub fn push(&mut self, event: Event, segment: u64, order: Order) {
        if let Some(item) = self.room.get_mut(self.count) {
            *item = Item { event, segment, order };
            self.count += 1;
        }
    }
}
