//! What a thread is in the middle of: the locks it holds, and the units that it has begun.

use trace::{ActivationId, BarrierId, Cause, LockId};

use super::records::{Access, Held, Moment};
use crate::lockset::{Holds, LockSet, LockSets};

#[derive(Default)]
pub(super) struct Thread {
    pub(super) holds: Holds,
    pub(super) activations: Vec<Activation>,
    /// When the thread took the first of the locks that it holds.
    pub(super) section: Option<Moment>,
    pub(super) arms: Vec<bool>,
    /// Where it has arrived and not left.
    pub(super) meeting: Option<(BarrierId, u32)>,
    /// Whether it does something for all who have arrived.
    pub(super) is_acting: bool,
}

pub(super) struct Activation {
    pub(super) id: ActivationId,
    pub(super) open: Vec<Open>,
}

/// First parts of one suspicion that wait for a second.
pub(super) struct Open {
    pub(super) suspicion: usize,
    pub(super) firsts: Vec<First>,
}

#[derive(Clone, Copy)]
pub(super) struct First {
    pub(super) access: Access,
    /// What has been held ever since.
    pub(super) held: Held,
    /// What was held then.
    pub(super) locks: LockSet,
    /// The activation inside that of the unit that the access belongs to, as far as these are watched.
    pub(super) inside: Option<ActivationId>,
    /// Whether a second part came after it.
    pub(super) is_followed: bool,
}

impl First {
    pub(super) fn new(access: Access, held: Held) -> First {
        First { access, held, locks: held.any, inside: None, is_followed: false }
    }
}

impl Open {
    /// Different first accesses that one activation waits with.
    const MOST_FIRSTS: usize = 16;

    /// Adds a first part, or puts it in place of the one before it at the same place, which it gives back.
    pub(super) fn add(&mut self, first: First) -> Option<First> {
        match self.firsts.iter_mut().find(|known| known.access.site == first.access.site) {
            Some(known) => Some(std::mem::replace(known, first)),
            None => {
                if self.firsts.len() < Open::MOST_FIRSTS {
                    self.firsts.push(first);
                }
                None
            }
        }
    }
}

impl Thread {
    /// The latest activation of the method of a suspicion, and the one that is open right inside it.
    pub(super) fn open(&mut self, suspicion: usize) -> Option<(&mut Open, Option<ActivationId>)> {
        let has = |activation: &Activation| activation.open.iter().any(|open| open.suspicion == suspicion);
        let index = self.activations.iter().rposition(has)?;
        let inside = self.activations.get(index + 1).map(|activation| activation.id);
        let open = self.activations[index].open.iter_mut().find(|open| open.suspicion == suspicion)?;
        Some((open, inside))
    }

    /// Leaves an activation and all inside it. Gives the first parts that were waiting there.
    pub(super) fn exit(&mut self, activation: ActivationId) -> Vec<(usize, First)> {
        let Some(index) = self.activations.iter().rposition(|open| open.id == activation) else { return Vec::new() };
        let left = self.activations.drain(index..).flat_map(|activation| activation.open);
        left.flat_map(|open| open.firsts.into_iter().map(move |first| (open.suspicion, first))).collect()
    }

    /// What comes before and what comes after are not one unit.
    pub(super) fn divide(&mut self) {
        for open in self.activations.iter_mut().flat_map(|activation| &mut activation.open) {
            open.firsts.clear();
        }
    }

    /// A lock is no longer held, at least not in the way it was.
    pub(super) fn let_go(&mut self, lock: LockId, cause: Cause, sets: &mut LockSets) {
        if self.holds.any(sets).is_empty() || cause == Cause::Wait {
            self.section = None;
        }
        // A lock with two modes may still be held in the other one, which keeps others out as before or less.
        let (any, alone) = (self.holds.any(sets), self.holds.exclusive(sets));
        for open in self.activations.iter_mut().flat_map(|activation| &mut activation.open) {
            for first in &mut open.firsts {
                if !sets.locks(any).contains(&lock) {
                    first.held.any = sets.without(first.held.any, lock);
                }
                if !sets.locks(alone).contains(&lock) {
                    first.held.alone = sets.without(first.held.alone, lock);
                }
            }
        }
    }
}
