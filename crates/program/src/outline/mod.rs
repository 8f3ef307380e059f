//! Outlines: what one method does that others can notice, without its instructions.
//!
//! An outline keeps the method's sections, its accesses and calls in the order of code, and how values flow between
//! them: from parameters, reads and results of calls to writes, arguments, conditions and the method's own result. It
//! follows from the bytes of the method's class alone, so it can be kept from one run to the next; what callees do is
//! put in later (see `crate::summary`).

mod agree;
mod awaited;
mod build;
mod choices;
mod conditions;
mod dominators;
mod flow;
mod key;
mod meeting;
mod narrow;
mod objects;
mod order;
mod shared;
mod told;
mod waits;

use classfile::CallKind;
use location::{ClassName, FieldName, MethodName, Symbol};
use smallvec::SmallVec;

pub use awaited::Awaited;
pub use build::outline;
pub use key::{Key, KeyStart};
pub(crate) use meeting::computations;
pub use meeting::{Meeting, MeetingKind, meetings};
pub use narrow::{Known, Narrowing};
pub use objects::{Object, Objects};
pub use order::{Blocks, Successor};
pub use shared::{Shared, Steps};

use crate::lock::{LockKind, Mode};
use crate::model::State;

/// Number of an event in [`Outline::events`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub u32);

impl EventId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sections of one method as a set of bits; sections beyond the 64th are in no set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct SectionSet(pub u64);

impl SectionSet {
    pub fn insert(&mut self, section: usize) {
        if section < 64 {
            self.0 |= 1 << section;
        }
    }

    pub fn contains(self, section: usize) -> bool {
        section < 64 && self.0 >> section & 1 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn union(self, other: SectionSet) -> SectionSet {
        SectionSet(self.0 | other.0)
    }

    pub fn without(self, other: SectionSet) -> SectionSet {
        SectionSet(self.0 & !other.0)
    }

    pub fn intersection(self, other: SectionSet) -> SectionSet {
        SectionSet(self.0 & other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let section = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (section < 64).then_some(section as usize)
        })
    }
}

/// Where a name starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// Parameter by position; 0 is `this` in an instance method.
    Parameter(u16),
    Static(FieldName),
    Class(ClassName),
    /// Made here, by the instruction with this number.
    New(u32),
    /// What a call returned.
    Result(EventId),
    /// The element at hand of a stream that a call returned.
    Element(EventId),
    /// Some other register of this method.
    Local(u32),
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameStep {
    Field(FieldName),
    /// An element at a fixed position.
    Constant(i32),
    /// An element at the position, or under the key, that a value tells.
    Element(Key),
    /// Some element: which one is known where the name comes from, and not here.
    Some,
}

/// The name of an object: a [`crate::Path`] without registers, so that it means something outside its method.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    pub start: Start,
    pub steps: Steps,
}

impl Name {
    pub fn start(start: Start) -> Name {
        Name { start, steps: Steps::default() }
    }

    pub fn is_unknown(&self) -> bool {
        self.start == Start::Unknown
    }

    /// What these steps lead to from here.
    pub fn then(&self, steps: &[NameStep]) -> Name {
        Name { start: self.start, steps: self.steps.then(steps) }
    }

    /// The name with other keys for its elements; none if one of them has no other.
    pub fn with_keys(self, mut other: impl FnMut(Key) -> Option<Key>) -> Option<Name> {
        if !self.steps.iter().any(|step| matches!(step, NameStep::Element(_))) {
            return Some(self);
        }
        let steps = self.steps.iter().map(|&step| match step {
            NameStep::Element(key) => other(key).map(NameStep::Element),
            _ => Some(step),
        });
        Some(Name { start: self.start, steps: steps.collect::<Option<_>>()? })
    }

    /// The object that the last step is taken from.
    pub fn owner(&self) -> Name {
        Name { start: self.start, steps: self.steps.without_last() }
    }

    /// Whether both name one object: equal, and known.
    pub fn same(&self, other: &Name) -> bool {
        !self.is_unknown() && self == other
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    Parameter(u16),
    /// A read, or the result of a call.
    Event(EventId),
}

/// One origin of a value, and the sections that were open there and have ended on the way from there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    pub origin: Origin,
    pub ended: SectionSet,
}

/// All origins of a value, sorted by origin, each once.
pub type Sources = SmallVec<[Source; 1]>;

/// What an access touches: a field, a static field, the elements of an array, the state of a library object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Member {
    Field(FieldName),
    Static(FieldName),
    Elements,
    /// What a library object holds: the contents of a collection, the value of an atomic.
    State(State),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    pub name: Name,
    pub sources: Sources,
    /// The class of the object, where this method makes it itself.
    pub made: Option<ClassName>,
    /// What it may be.
    pub objects: Objects,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Read {
        base: Name,
        member: Member,
        /// Where the object and the position in it come from.
        address: Sources,
    },
    Write {
        base: Name,
        member: Member,
        address: Sources,
        value: Sources,
        /// What is stored, for reasoning about hand-over, escape and what a field can hold.
        stored: Box<Argument>,
    },
    Call {
        kind: CallKind,
        method: MethodName,
        arguments: Vec<Argument>,
    },
    /// A lambda or method reference is made; it may run later, elsewhere. The arguments are what it captures.
    Lambda {
        kind: CallKind,
        method: MethodName,
        /// The method of the interface by which it is called: class and name; the descriptor is that of the making.
        by: MethodName,
        arguments: Vec<Argument>,
    },
    /// A lock is let go and taken again: that of these sections, or one that only callers hold.
    Wait(SectionSet),
}

/// Something that the method does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub pc: u32,
    pub line: Option<u32>,
    pub action: Action,
    /// Sections that are open here on every path.
    pub held: SectionSet,
    /// Sections that are open here on some path only.
    pub perhaps: SectionSet,
    /// Conditions that decide whether it happens, by number in [`Outline::conditions`].
    pub control: Shared<u32>,
    /// Those of them that compare two values and let it happen only if the values agree.
    pub agreed: Shared<u32>,
    /// Those that let it happen only if the values differ. One by size is in both if the first value must be the larger.
    pub differed: Shared<u32>,
    /// Sections whose lock a wait lets go between a condition and here, by condition.
    pub waited: Shared<(u32, SectionSet)>,
    /// Number of its block in [`Outline::blocks`].
    pub block: u32,
    /// Whether it can happen again in the same call.
    pub in_loop: bool,
    /// Of an access to an array: the position.
    pub key: Option<Key>,
}

/// A section of the method itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineSection {
    pub lock: Name,
    /// What the object that the lock's name starts with may be, where paths meet.
    pub objects: Objects,
    /// The names that the lock may have where paths meet, if getters tell it on all of them.
    pub told: SmallVec<[Name; 2]>,
    /// Of a lock of which there is one for each key: the keys that it may be for, if one of several. What is chosen among
    /// the same keys in another way has them in another order.
    pub keys: SmallVec<[Key; 2]>,
    pub kind: LockKind,
    pub mode: Mode,
    /// Whether it is the whole of a `synchronized` method.
    pub is_method: bool,
    pub reentrant: bool,
    pub pc: u32,
    pub line: Option<u32>,
    /// Line of the end on the way without exceptions.
    pub end_line: Option<u32>,
    /// The blocks that end it, with the lines.
    pub ends: SmallVec<[(u32, Option<u32>); 2]>,
    /// Sections that are open where this one begins.
    pub inside: SectionSet,
}

/// A branch, and what its outcome depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    pub line: Option<u32>,
    pub sources: Sources,
    /// Where the two sides come from, if it compares two values that both come from somewhere.
    pub sides: Option<Box<[Sources; 2]>>,
    /// What it compares tells only a part of these: `now % 2 == seen % 2`.
    pub is_of_parts: bool,
    /// It asks which of two is larger, and not whether they are equal.
    pub is_by_size: bool,
    /// Of a question whether there is something: the number of the successor that follows if there is nothing.
    pub absent: Option<u8>,
    /// Of a question whether a number is nought: the number of the successor that follows if it is.
    pub nought: Option<u8>,
    /// Whether the block that follows then ends with an exception that is thrown.
    pub throws_at_nought: bool,
    /// Sections that are open where it is decided.
    pub held: SectionSet,
    /// Number of its block in [`Outline::blocks`].
    pub block: u32,
}

impl Outline {
    /// What the code has made sure of about the receiver of a call.
    pub fn known_of_receiver(&self, call: EventId) -> Option<&Known> {
        let at = self.narrowed.binary_search_by_key(&call, |(call, _)| *call).ok()?;
        Some(&self.narrowed[at].1)
    }

    /// By block: whether control can get there from the event, without going through a barred block on the way.
    pub fn reached_from(&self, event: EventId, is_barred: impl Fn(usize) -> bool) -> Vec<bool> {
        self.reached(self.events[event.index()].block as usize, is_barred)
    }

    /// By block: whether control gets there only if an event ends without an exception.
    pub fn follows_surely(&self, event: EventId) -> Vec<bool> {
        let passed = self.events[event.index()].block as usize;
        let mut reached = vec![false; self.blocks.len()];
        let mut pending = vec![0];
        if let Some(entry) = reached.first_mut() {
            *entry = true;
        }
        while let Some(block) = pending.pop() {
            for next in self.blocks.successors(block) {
                let is_left_well = block == passed && !next.is_exceptional;
                if !is_left_well && !std::mem::replace(&mut reached[next.block], true) {
                    pending.push(next.block);
                }
            }
        }
        reached.into_iter().map(|is_reached| !is_reached).collect()
    }

    /// By block: whether control gets there only if an event ends with an exception. Empty if it gets to none.
    pub fn follows_exception(&self, event: EventId) -> Vec<bool> {
        let thrown = self.events[event.index()].block as usize;
        let next = self.blocks.successors(thrown).filter(|next| next.is_exceptional).map(|next| next.block);
        let handlers: SmallVec<[usize; 2]> = next.filter(|block| self.caught.contains(&(*block as u32))).collect();
        if handlers.is_empty() {
            return Vec::new();
        }
        let otherwise = self.reached(0, |block| handlers.contains(&block));
        let mut only = vec![false; self.blocks.len()];
        for handler in handlers {
            only[handler] = true;
            for (block, is_reached) in self.reached(handler, |_| false).into_iter().enumerate() {
                only[block] |= is_reached;
            }
        }
        only.iter().zip(otherwise).enumerate().map(|(block, (only, other))| *only && !other && block != 0).collect()
    }

    fn reached(&self, from: usize, is_barred: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            for next in self.blocks.successors(block) {
                if !is_barred(next.block) && !std::mem::replace(&mut reached[next.block], true) {
                    pending.push(next.block);
                }
            }
        }
        reached
    }

    /// Whether control can get from one block to another one without going through a third on the way.
    pub fn reaches(&self, from: usize, to: usize, barred: usize) -> bool {
        self.leads(from, to, |block| block == barred)
    }

    /// The same without going through any that is barred. Ends where it gets there, which is mostly soon.
    fn leads(&self, from: usize, to: usize, is_barred: impl Fn(usize) -> bool) -> bool {
        let mut reached = vec![false; self.blocks.len()];
        let mut pending = Vec::with_capacity(reached.len());
        pending.push(from);
        while let Some(block) = pending.pop() {
            for next in self.blocks.successors(block) {
                if !reached[next.block] && !is_barred(next.block) {
                    if next.block == to {
                        return true;
                    }
                    reached[next.block] = true;
                    pending.push(next.block);
                }
            }
        }
        false
    }

    /// Whether control can come back to a block without coming by another one.
    pub(crate) fn comes_back(&self, block: usize, other: usize) -> bool {
        block != other && self.leads(block, block, |barred| barred == other)
    }

    /// The line where a section of the method ends on the way to an event.
    pub fn end_before(&self, section: &OutlineSection, event: EventId) -> Option<u32> {
        let wanted = self.events[event.index()].block as usize;
        let leads = |block: usize| block == wanted || self.leads(block, wanted, |_| false);
        let end = section.ends.iter().find(|(block, _)| leads(*block as usize));
        end.map_or(section.end_line, |(_, line)| *line)
    }

    /// Whether control can get from one event to another one without coming by any of the `stops` on the way, nor by the
    /// first one again.
    pub fn leads_to(&self, first: EventId, second: EventId, stops: &[EventId]) -> bool {
        let block_of = |event: EventId| self.events[event.index()].block as usize;
        let (from, to) = (block_of(first), block_of(second));
        let stops_in = |block: usize, range: std::ops::Range<EventId>| {
            stops.iter().any(|stop| block_of(*stop) == block && range.contains(stop))
        };
        let after = EventId(first.0 + 1);
        if from == to && first < second {
            return !stops_in(from, after..second);
        }
        if stops_in(from, after..EventId(u32::MAX)) || stops_in(to, EventId(0)..second) {
            return false;
        }
        let is_barred = |block: usize| block != to && (block == from || stops_in(block, EventId(0)..EventId(u32::MAX)));
        self.leads(from, to, is_barred)
    }

    /// Whether one event can happen after another one in the same call.
    pub fn may_follow(&self, first: EventId, second: EventId) -> bool {
        let block_of = |event: EventId| self.events[event.index()].block as usize;
        let (from, to) = (block_of(first), block_of(second));
        if from == to && first < second {
            return true;
        }
        self.reaches(from, to, usize::MAX)
    }
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outline {
    /// The source's names of the parameters, `this` included, where the class file tells.
    pub parameters: SmallVec<[Option<Symbol>; 4]>,
    pub sections: Vec<OutlineSection>,
    /// In the order of code.
    pub events: Vec<Event>,
    pub conditions: Vec<Condition>,
    /// Waits, and the lock that each lets go, where it has a name.
    pub waits: Vec<(EventId, Name, LockKind)>,
    /// Conditions that decide whether the method throws instead of returning.
    pub refusals: SmallVec<[u32; 2]>,
    /// Conditions that the method waits for.
    pub awaited: Vec<Awaited>,
    /// Blocks that begin the handler of an exception after which the method goes on.
    pub caught: SmallVec<[u32; 2]>,
    /// Where what the method returns comes from.
    pub result: Sources,
    /// The name of what it returns, if all returns agree.
    pub returns: Option<Name>,
    /// The class of what it returns, if it always makes a new object of one class.
    pub makes: Option<ClassName>,
    /// What it may return.
    pub returned: Objects,
    /// Calls before which the code makes sure of the receiver's class, and what it is then.
    pub narrowed: Vec<(EventId, Known)>,
    pub blocks: Blocks,
}
