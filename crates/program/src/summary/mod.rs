//! Summaries: what a call of a method does, callees included.
//!
//! A summary is an outline with the callees' summaries put in at the calls: sections, accesses and how values flow
//! between them, named from the caller's side. What a caller cannot name (an object that the callee made or found for
//! itself) stays without a name. Made bottom-up over the components of the call graph; inside a component from what is
//! known so far, a few rounds.
//!
//! Summaries are bounded: beyond [`MAX_SECTIONS`] or an [`Extent`] they are cut and say so.

mod compose;
mod cursor;
mod decide;
mod element;
mod emptied;
mod explore;
mod functions;
mod giving;
mod handed;
mod handle;
mod holding;
mod influences;
mod inside;
mod instantiate;
mod library;
mod looked;
mod map_part;
mod named;
mod order;
mod receiver;
mod returned;
mod summaries;
mod taken;
mod thread_name;
mod through;
mod twins;
mod uses;
mod waits;
mod within;

use std::borrow::Cow;
use std::cmp::Ordering;

use location::{ClassName, MethodName};
use smallvec::SmallVec;

use crate::lock::{LockKind, Mode};
use crate::outline::{EventId, Key, Member, Name, NameStep, SectionSet, Shared, Start};

pub(crate) use cursor::{is_cursor, is_stepping};
pub use explore::Met;
pub(crate) use handle::Handles;
pub use holding::{Holding, Holdings};
pub use influences::{Comparisons, Influences};
pub(crate) use instantiate::half;
pub use order::components;
pub(crate) use order::{Components, components_of};
pub use summaries::{Scope, Summaries};
pub use uses::{LateUse, LateUseKind};

pub const MAX_SECTIONS: usize = 64;

/// How much a summary has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Accesses in all, at most.
    pub accesses: usize,
    /// From how many on callees add none: what the method does itself is to have room.
    pub callees: usize,
    /// Whether accesses that a callee itself has no name for are among them. They say which fields a section touches of
    /// some object, and nothing more; of long chains of calls they are most of what there is.
    pub has_nameless: bool,
}

impl Extent {
    /// For single methods and what they call.
    pub const NEAR: Extent = Extent { accesses: 96, callees: 96, has_nameless: true };

    /// For all of a program of a few classes.
    pub const SMALL: Extent = Extent { accesses: 144, callees: 96, has_nameless: true };

    /// For all of a large program.
    pub const LARGE: Extent = Extent { accesses: 96, callees: 48, has_nameless: false };

    /// Whether what tasks do that are objects of classes of their own is put in where they are started. In large programs
    /// they start each other in circles.
    pub(super) fn follows_tasks(self) -> bool {
        self.has_nameless
    }
}

/// Number of an access in [`Summary::accesses`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccessId(pub u32);

impl AccessId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value comes from, as the caller of the summarised method sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    Parameter(u16),
    Access(AccessId),
}

impl Root {
    /// Parameters come first. Roots are compared more often than anything else: one number does it.
    #[inline]
    fn place(self) -> u64 {
        match self {
            Root::Parameter(position) => u64::from(position),
            Root::Access(access) => u64::from(access.0) | 1 << 32,
        }
    }
}

impl Ord for Root {
    #[inline]
    fn cmp(&self, other: &Root) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Root {
    #[inline]
    fn partial_cmp(&self, other: &Root) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One origin of a value, and the sections open there that have ended since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Influence {
    pub root: Root,
    pub ended: SectionSet,
}

/// Values that differ only if what they tell apart differs, too.
pub type Keys = Shared<Key>;

/// A place in the code that a summary remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Spot {
    pub method: MethodName,
    pub pc: u32,
    pub line: Option<u32>,
}

/// A section that the method, or something it calls, goes through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummarySection {
    pub lock: Name,
    pub kind: LockKind,
    pub mode: Mode,
    /// Where the lock is taken.
    pub spot: Spot,
    /// Line of the end, in the method of `spot`.
    pub end_line: Option<u32>,
    /// The call in the summarised method that leads to it; none if it is the method's own.
    pub call: Option<EventId>,
    /// Sections that are open around it.
    pub inside: SectionSet,
    /// Whether it is the whole of a `synchronized` method.
    pub is_method: bool,
}

/// A read or write that the method, or something it calls, does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    pub base: Name,
    pub member: Member,
    pub is_write: bool,
    pub spot: Spot,
    /// The event in the summarised method that it belongs to.
    pub event: EventId,
    /// Sections that are open on every path there.
    pub held: SectionSet,
    /// Where a written value comes from.
    pub value: Influences,
    /// Where the object and the position in it come from.
    pub address: Influences,
    /// Where the outcome of the conditions comes from that decide whether it happens.
    pub control: Influences,
    /// Where the questions come from that calls before it ask, throwing if the answer is no.
    pub guards: Influences,
    /// Where the questions come from that were waited for before it, here or in calls.
    pub awaited: Influences,
    /// A write that makes sure by itself that what it was told to expect still holds: where that comes from.
    pub expects: Influences,
    /// A write that depends on what is there at that moment: `computeIfAbsent`, `compareAndSet`, an `add` whose answer
    /// counts.
    pub is_compound: bool,
    /// Of a compound write: it is one only as far as somebody asks what it tells, and the method passes that on.
    pub is_passed_on: bool,
    /// A write that changes nothing the second time, and tells: `Set.add`, `putIfAbsent`.
    pub is_repeatable: bool,
    /// A write for one key that does nothing if the key has something already, and whose answer counts.
    pub is_refusing: bool,
    /// Of a library object: it removes the object that it is given, and nothing else.
    pub is_removal: bool,
    /// Of a removal: what it is given is a key, and what goes is whatever stands under it.
    pub is_mapped: bool,
    /// Of a library object: it touches what one key or element stands for, and no more.
    pub is_keyed: bool,
    /// The key or position that it touches, where that has a name; or the parts of the key.
    pub keys: Keys,
    /// Of a map: it reads which keys there are, and no more.
    pub is_of_keys: bool,
    /// Of a map: it reads what there is under the keys, one after the other.
    pub is_of_values: bool,
    /// It touches each element of something in turn: what it tells, it tells of all of them.
    pub is_of_each: bool,
    /// The code that has it was given the object and has no name for the variable: this method is the first that has.
    pub is_given: bool,
    /// The container that has the object that the base starts with.
    pub within: Option<Box<Name>>,
    /// Of a write: the comparisons that must have come out in one way for it to happen.
    pub compared: Comparisons,
}

impl Access {
    /// The parameter that is the library object or array whose contents are touched: a variable only for callers.
    pub fn bare_parameter(&self) -> Option<u16> {
        match (self.member, &self.base) {
            (Member::Elements | Member::State(_), Name { start: Start::Parameter(position), steps })
                if steps.is_empty() && self.within.is_none() =>
            {
                Some(*position)
            }
            _ => None,
        }
    }

    /// Whether the method has no name for what it touches, and does not go over all of its kind.
    fn is_nameless(&self) -> bool {
        self.base.start == Start::Unknown
            && !matches!(self.member, Member::Static(_))
            && self.within.is_none()
            && !self.is_of_each
    }

    /// Whether it touches what a library container has.
    pub fn is_of_contents(&self) -> bool {
        self.member == Member::State(crate::model::State::Contents)
    }

    /// The object, as some element of its container if it is one.
    pub fn object(&self) -> Cow<'_, Name> {
        match &self.within {
            None => Cow::Borrowed(&self.base),
            Some(container) => {
                let name = container.then(&[NameStep::Some]);
                Cow::Owned(name.then(&self.base.steps))
            }
        }
    }
}

/// A lock that is let go and taken again, by the method or by something it calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The event in the summarised method that it belongs to.
    pub event: EventId,
    pub lock: Name,
    pub kind: LockKind,
    /// The sections that are open there on that lock.
    pub sections: SectionSet,
}

/// A function that the method is given, and runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub parameter: u16,
    /// Where what it is given comes from.
    pub given: Influences,
    /// What it is given, one after the other.
    pub names: SmallVec<[Name; 1]>,
    /// Sections that are open around it.
    pub held: SectionSet,
}

/// A function that a method hands out for others to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handed {
    pub method: MethodName,
    /// What it has captured.
    pub names: Vec<Name>,
    /// Where that comes from.
    pub given: Influences,
}

/// Two values that were compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    pub sides: [Influences; 2],
    /// They were equal, or stood in some order; else they differed.
    pub are_equal: bool,
    /// Only a part of what they came from was: they may be equal, and that not.
    pub is_of_parts: bool,
    /// Where they were compared by size: the side that was the larger, or equal.
    pub larger: Option<u8>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    pub sections: Vec<SummarySection>,
    pub accesses: Vec<Access>,
    pub waits: Vec<Waiting>,
    /// Functions among the parameters that it runs before it returns.
    pub runs: Vec<Run>,
    /// Where the result comes from.
    pub result: Influences,
    /// Where the conditions come from that decide whether it throws instead of returning.
    pub refusals: Influences,
    /// Where the conditions come from that it waits for before it returns.
    pub awaited: Influences,
    /// The name of the result, if a caller can name it.
    pub returns: Option<Name>,
    /// The container that the result is an element of.
    pub within: Option<Box<Name>>,
    /// How the method calls what it returns, or what is in the `Optional` that it returns, if that is something that it
    /// has found.
    pub found: Option<Start>,
    /// The class of the result, if it is always a new object of one class.
    pub makes: Option<ClassName>,
    /// It returns what it took out of a container, or a new object that it has not shown to others: the caller owns it.
    pub hands_over: bool,
    /// The same of the elements of the container that it returns.
    pub hands_over_elements: bool,
    /// The function that it returns, if it always makes the same one.
    pub function: Option<Box<Handed>>,
    /// Events that yield what was taken out of a container, in order.
    pub taken: Vec<EventId>,
    /// Something was left out because there was too much.
    pub is_cut: bool,
    /// An access depends on one that follows: code that comes after a loop may stand before the loop's own.
    pub(crate) looks_ahead: bool,
}

impl Summary {
    /// What the result comes from, and nothing else: the reads, with nothing that led to them.
    fn answer(&self) -> Summary {
        let mut accesses: Vec<Access> = Vec::new();
        let mut result = influences::Gathering::default();
        for influence in &self.result {
            let root = match influence.root {
                Root::Access(read) => {
                    let none = Influences::default;
                    let known = self.accesses[read.index()].clone();
                    accesses.push(Access { value: none(), address: none(), control: none(), guards: none(), ..known });
                    Root::Access(AccessId(accesses.len() as u32 - 1))
                }
                parameter => parameter,
            };
            result.add(Influence { root, ended: influence.ended });
        }
        for access in &mut accesses {
            (access.awaited, access.expects) = (Influences::default(), Influences::default());
            access.compared = Comparisons::default();
        }
        Summary { sections: self.sections.clone(), accesses, result: result.finish(), ..Summary::default() }
    }

    /// Whether a caller notices nothing of what the method does, but perhaps a new object that it returns.
    fn is_idle(&self) -> bool {
        self.accesses.is_empty()
            && self.sections.is_empty()
            && self.waits.is_empty()
            && self.runs.is_empty()
            && self.function.is_none()
            && [&self.result, &self.refusals, &self.awaited].into_iter().all(|from| from.is_empty())
    }
}
