//! What a method's callers need to know: which locks a call takes, and which it takes twice.

use program::MethodId;
use smallvec::SmallVec;

use super::name::Name;

/// Calls, from the outermost inwards: each a method and the number of the call in its skeleton.
pub(super) type Chain = SmallVec<[(MethodId, u32); 2]>;

/// How a method comes to take a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Via {
    /// By a section of its own.
    Own(u32),
    /// By a call (its number in the skeleton), through this taking of this method.
    Call { call: u32, target: MethodId, taken: u32 },
    /// By a call of a library method, which is a section by itself.
    Library { call: u32 },
}

/// A lock that the method or something it calls takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Taken {
    pub(super) name: Name,
    pub(super) via: Via,
    /// How many calls down.
    pub(super) depth: u16,
}

/// Two takings in sequence that come together in one method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Pair {
    pub(super) method: MethodId,
    pub(super) first: Via,
    pub(super) second: Via,
}

/// A pair that a method goes through outside its own sections: a witness, if a caller has a context for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Twice {
    /// The lock that is taken first, and second; the same but for the variant.
    pub(super) names: (Name, Name),
    pub(super) pair: Pair,
    /// The calls that lead from the method to the pair's own: each a number in the skeleton of the method it is in.
    pub(super) calls: Chain,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Summary {
    /// LOCKSHELD: every lock that the method or something it calls takes, and that a caller can name.
    pub(super) taken: Vec<Taken>,
    /// FINAL_T.
    pub(super) twice: Vec<Twice>,
    /// Locks that the method returns with.
    pub(super) acquires: Vec<Name>,
    /// Locks that it gives back and did not take; `None` for one that callers cannot name.
    pub(super) gives_back: Vec<Option<Name>>,
}
