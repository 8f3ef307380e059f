//! What is known of variables and locks: who uses them, and under which locks.

use trace::ThreadId;

use super::{Refinement, Without};
use crate::lockset::{LockSet, LockSets};

/// Who uses a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    Untouched,
    /// The thread that used it first, and no other.
    Local(ThreadId),
    /// Handed over: since its first access this thread and no other.
    HandedOver(ThreadId),
    /// Read by several, and not written since.
    ReadShared,
    Shared,
}

/// A variable. The sets mean something once it is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Variable {
    pub(super) sharing: Sharing,
    /// Held on every access, in any mode.
    pub(super) on_access: LockSet,
    /// Held alone on every write.
    pub(super) on_write: LockSet,
}

/// What a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Held {
    pub(super) any: LockSet,
    pub(super) exclusive: LockSet,
}

impl Variable {
    pub(super) const UNTOUCHED: Variable =
        Variable { sharing: Sharing::Untouched, on_access: LockSet::EMPTY, on_write: LockSet::EMPTY };

    /// Notes an access.
    pub(super) fn access(&mut self, thread: ThreadId, writes: bool, held: Held, without: Without, sets: &mut LockSets) {
        let next = match self.sharing {
            Sharing::Shared => Sharing::Shared,
            _ if without.contains(Refinement::SharingStates) => Sharing::Shared,
            Sharing::Untouched => Sharing::Local(thread),
            Sharing::Local(owner) if owner == thread => Sharing::Local(owner),
            Sharing::Local(_) => Sharing::HandedOver(thread),
            Sharing::HandedOver(owner) if owner == thread => Sharing::HandedOver(owner),
            Sharing::HandedOver(_) | Sharing::ReadShared if writes => Sharing::Shared,
            Sharing::HandedOver(_) | Sharing::ReadShared => Sharing::ReadShared,
        };
        if next == Sharing::Shared {
            let alone = if writes { held.exclusive } else { held.any };
            if self.sharing == Sharing::Shared {
                self.on_access = sets.meet(self.on_access, held.any);
                if writes {
                    self.on_write = sets.meet(self.on_write, held.exclusive);
                }
            } else {
                (self.on_access, self.on_write) = (held.any, alone);
            }
        }
        self.sharing = next;
    }

    /// Whether an access under these locks can be moved both ways, as far as is known.
    pub(super) fn is_guarded(&self, writes: bool, held: Held, without: Without, sets: &mut LockSets) -> bool {
        if self.sharing != Sharing::Shared {
            return true;
        }
        match writes {
            false if without.contains(Refinement::WriteProtectedData) => {
                let always = sets.meet(self.on_access, self.on_write);
                sets.intersect(always, held.any)
            }
            false => sets.intersect(self.on_write, held.any),
            true => sets.intersect(self.on_access, held.exclusive),
        }
    }
}

/// Who takes a lock, and under which others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub(super) sharing: LockSharing,
    /// Held alone whenever it was taken since it is shared. Never has the lock itself, or it would guard itself.
    pub(super) under: LockSet,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LockSharing {
    Untouched,
    Local(ThreadId),
    HandedOver(ThreadId),
    Shared,
}

impl Lock {
    pub(super) const UNTOUCHED: Lock = Lock { sharing: LockSharing::Untouched, under: LockSet::EMPTY };

    /// Notes that the lock is taken by a thread that holds `others` alone.
    pub(super) fn take(&mut self, thread: ThreadId, others: LockSet, without: Without, sets: &mut LockSets) {
        let local = !without.contains(Refinement::ThreadLocalLocks);
        let handed = !without.contains(Refinement::HandedOverLocks);
        let next = match self.sharing {
            LockSharing::Untouched if local => LockSharing::Local(thread),
            LockSharing::Local(owner) if owner == thread => LockSharing::Local(owner),
            LockSharing::Local(_) if handed => LockSharing::HandedOver(thread),
            LockSharing::HandedOver(owner) if owner == thread => LockSharing::HandedOver(owner),
            _ => LockSharing::Shared,
        };
        if next == LockSharing::Shared {
            self.under = if self.sharing == LockSharing::Shared { sets.meet(self.under, others) } else { others };
        }
        self.sharing = next;
    }

    /// Whether it is shared, and under no other lock always. That never changes again.
    pub(super) fn is_taken_freely(&self) -> bool {
        self.sharing == LockSharing::Shared && self.under.is_empty()
    }

    /// Whether taking it and letting it go is as good as nothing, as far as is known.
    pub(super) fn is_idle(&self, without: Without) -> bool {
        match self.sharing {
            LockSharing::Untouched | LockSharing::Local(_) | LockSharing::HandedOver(_) => true,
            LockSharing::Shared => !without.contains(Refinement::ProtectedLocks) && !self.under.is_empty(),
        }
    }
}
