//! The events of a run.
//!
//! [`Action`] is exhaustive on purpose: a new kind of event must break every detector until it has answered.

use std::num::NonZeroU64;

use crate::{
    ActivationId, BarrierId, BranchId, LockId, MethodId, ObjectId, SectionId, SiteId, StackId, ThreadId, UnitId,
    VariableId,
};

/// One thing that one thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub thread: ThreadId,
    pub site: SiteId,
    pub stack: StackId,
    pub action: Action,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    Exclusive,
    /// The read half of a read-write lock: holders do not exclude each other.
    Shared,
}

/// Why a lock is acquired or released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The code enters or leaves a section.
    Section,
    /// `wait` gives the lock up, all its depth at once, and takes it again.
    Wait,
}

/// What an access does to the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
    /// Reads and writes in one step, as a compare-and-set does.
    Update,
}

impl Access {
    pub fn writes(self) -> bool {
        match self {
            Access::Read => false,
            Access::Write | Access::Update => true,
        }
    }
}

/// What kind of variable is accessed without a lock but with an order of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncKind {
    Volatile,
    /// `java.util.concurrent.atomic`, `VarHandle`.
    Atomic,
    /// A call on a library object that synchronizes itself, seen as one access to its contents.
    Modelled,
}

/// Numbers taken from the variable's own counter before and after an access.
/// Of two accesses with overlapping intervals nobody knows which came first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    before: u64,
    /// One more than the number, so that no interval at all needs no room of its own: events are many.
    after: NonZeroU64,
}

impl Interval {
    /// `None` if the second number is below the first, or beyond all numbers that are counted to.
    pub fn new(before: u64, after: u64) -> Option<Interval> {
        let after = NonZeroU64::new(after.checked_add(1)?)?;
        (before < after.get()).then_some(Interval { before, after })
    }

    pub fn before(self) -> u64 {
        self.before
    }

    pub fn after(self) -> u64 {
        self.after.get() - 1
    }
}

/// Whether the events of an arm happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ran {
    Yes,
    /// Filled in from a summary of code that the run did not enter.
    Speculated,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The thread's first event.
    ThreadBegin,
    /// The thread's last event.
    ThreadEnd,
    Start {
        child: ThreadId,
    },
    /// The thread has seen that `child` is over.
    Join {
        child: ThreadId,
    },
    /// Comes before every [`Action::Leave`] of the same barrier and generation.
    Arrive {
        barrier: BarrierId,
        generation: u32,
    },
    Leave {
        barrier: BarrierId,
        generation: u32,
    },
    Read {
        variable: VariableId,
    },
    Write {
        variable: VariableId,
    },
    /// A volatile, atomic or modelled access. Without an interval the order of the trace is the order of the accesses.
    Sync {
        variable: VariableId,
        access: Access,
        kind: SyncKind,
        interval: Option<Interval>,
    },
    Acquire {
        lock: LockId,
        mode: Mode,
        cause: Cause,
        section: SectionId,
        activation: ActivationId,
    },
    Release {
        lock: LockId,
        mode: Mode,
        cause: Cause,
    },
    UnitBegin {
        unit: UnitId,
        activation: ActivationId,
    },
    /// Ends the latest open unit of that name, else the latest open unit.
    UnitEnd {
        unit: UnitId,
    },
    /// A method is entered whose activation other events refer to.
    Enter {
        activation: ActivationId,
        method: MethodId,
    },
    Exit {
        activation: ActivationId,
    },
    /// Until the matching [`Action::ArmEnd`] the thread's events belong to this arm of a branch. Arms nest.
    ArmBegin {
        branch: BranchId,
        arm: u32,
        ran: Ran,
    },
    ArmEnd {
        branch: BranchId,
    },
    /// The thread created the object; nobody else can know it yet.
    New {
        object: ObjectId,
    },
    /// Events are missing here: of this thread, or of every thread if `all` is set.
    Lost {
        events: u64,
        all: bool,
    },
}

impl Event {
    /// An event at an unknown place.
    pub fn new(thread: ThreadId, action: Action) -> Event {
        Event { thread, site: SiteId(0), stack: StackId(0), action }
    }
}
