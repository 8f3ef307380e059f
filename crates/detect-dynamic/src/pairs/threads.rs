//! What a thread is in the middle of: the locks it holds, and the units that it has begun.

use std::sync::Arc;

use trace::{ActivationId, Cause, ThreadId};

use super::Entered;
use super::records::{Access, Held, Index, Manner, Moment};
use super::seen::Unit;
use crate::clock::{Clock, Meeting};
use crate::lockset::{Holds, LockSets, Stamp};

#[derive(Default)]
pub(super) struct Thread {
    pub(super) holds: Holds,
    pub(super) activations: Vec<Activation>,
    /// The manner of its latest access, and what that goes by.
    pub(super) manner: Option<(Held, Clock, Manner)>,
    /// When the thread took the first of the locks that it holds.
    pub(super) section: Option<Moment>,
    pub(super) arms: Vec<bool>,
    /// Where it has arrived and not left.
    pub(super) meeting: Option<Meeting>,
    /// Whether it does something for all who have arrived.
    pub(super) is_acting: bool,
}

pub(super) struct Activation {
    pub(super) id: ActivationId,
    pub(super) entered: Arc<Entered>,
    /// When it began, by the locks that were taken and let go.
    pub(super) stamps: (Stamp, Stamp),
    pub(super) open: Vec<Open>,
}

/// First parts of one suspicion that wait for a second.
pub(super) struct Open {
    pub(super) suspicion: usize,
    pub(super) firsts: Vec<First>,
    /// Whether those that there were ended where threads start or meet, and there was none since.
    pub(super) is_divided: bool,
}

#[derive(Clone, Copy)]
pub(super) struct First {
    pub(super) access: Access,
    /// What was held then.
    pub(super) held: Held,
    /// When that was, by the locks that were taken and let go.
    pub(super) stamps: (Stamp, Stamp),
    /// The activation inside that of the unit that the access belongs to, as far as these are watched.
    pub(super) inside: Option<ActivationId>,
    /// Whether a second part came after it.
    pub(super) is_followed: bool,
}

impl First {
    pub(super) fn new(access: Access, held: Held, holds: &Holds) -> First {
        First { access, held, stamps: holds.stamps(), inside: None, is_followed: false }
    }

    /// What has been held ever since.
    pub(super) fn held_since(&self, holds: &Holds, sets: &mut LockSets) -> Held {
        if self.stamps.1 == holds.stamps().1 {
            return self.held;
        }
        let (any, alone) = holds.ever_since(self.stamps, sets);
        Held { any, alone }
    }
}

impl Open {
    /// Different first accesses that one activation waits with.
    const MOST_FIRSTS: usize = 16;

    /// Adds a first part, or puts it in place of the one before it at the same place, which it gives back.
    pub(super) fn add(&mut self, first: First) -> Option<First> {
        self.is_divided = false;
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
    pub(super) fn held(&mut self, sets: &mut LockSets) -> Held {
        Held { any: self.holds.any(sets), alone: self.holds.exclusive(sets) }
    }

    pub(super) fn manner(&mut self, thread: ThreadId, held: Held, clock: Clock, index: &mut Index) -> Manner {
        match self.manner {
            Some((known_held, known_clock, manner)) if (known_held, known_clock) == (held, clock) => manner,
            _ => {
                let manner = index.manner(thread, held, clock);
                self.manner = Some((held, clock, manner));
                manner
            }
        }
    }

    /// The latest activation of the method of a suspicion, and the one that is open right inside it.
    pub(super) fn open(&mut self, suspicion: usize) -> Option<(&mut Open, Option<ActivationId>)> {
        let has = |activation: &Activation| activation.open.iter().any(|open| open.suspicion == suspicion);
        let index = self.activations.iter().rposition(has)?;
        let inside = self.activations.get(index + 1).map(|activation| activation.id);
        let open = self.activations[index].open.iter_mut().find(|open| open.suspicion == suspicion)?;
        Some((open, inside))
    }

    /// Adds the units that a second part makes with the first parts that wait for it. Whether threads met after the
    /// latest of these.
    pub(super) fn units(
        &mut self,
        suspicion: usize,
        thread: ThreadId,
        second: Access,
        sets: &mut LockSets,
        units: &mut Vec<Unit>,
    ) -> bool {
        let holds = std::mem::take(&mut self.holds);
        let mut is_divided = false;
        if let Some((open, inside)) = self.open(suspicion) {
            is_divided = open.is_divided;
            for first in &mut open.firsts {
                first.is_followed = true;
                // What is all done by one call is that call's business.
                if inside.is_none() || first.inside != inside {
                    let held = first.held_since(&holds, sets);
                    units.push(Unit::new(thread, first, thread, second, held));
                }
            }
        }
        self.holds = holds;
        is_divided
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
            open.is_divided |= !open.firsts.is_empty();
            open.firsts.clear();
        }
    }

    /// A lock is no longer held, at least not in the way it was.
    pub(super) fn let_go(&mut self, cause: Cause) {
        if cause == Cause::Wait || self.holds.is_free() {
            self.section = None;
        }
    }
}
