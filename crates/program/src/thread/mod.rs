//! Threads: which code runs as a process of its own, how many of a kind run at once, and which processes reach which
//! methods.
//!
//! An entry is a method where a process begins: a `main`, the code of a task that something starts, a method that a
//! framework calls, and, in an open world, whatever code that is not here may call. A call that starts a task is no
//! call of the task's code. Reflection is not followed.

mod bits;
mod build;
mod callback;
mod element;
mod handle;
mod initial;
mod join;
mod lift;
mod order;
mod reach;
mod reference;
mod show;
mod site;
mod task;
mod times;
mod unseen;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::library::Library;
use crate::model::Instances;
use crate::outline::EventId;
use crate::outlines::Outlines;

pub(crate) use bits::Bits;
pub use show::show_threads;
pub(crate) use site::is_static;
pub use site::{EntryKind, Serial};
pub use task::At;
pub(crate) use task::{fields_read, held_by};

use order::Orders;
use reach::Rows;

/// Who calls the code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum World {
    /// Closed for what a `main` that starts threads reaches, open for the rest.
    #[default]
    Auto,
    /// Only `main`s, what they start, and frameworks.
    Closed,
    /// Two threads call every public method.
    Open,
}

/// Number of an entry in [`Threads::entries`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(pub u32);

impl EntryId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why several processes of one entry run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Many {
    /// A framework, or code that is not here, calls it from many threads.
    ByNature,
    /// One call starts several.
    AtOnce,
    InLoop,
    TwoSites,
    /// The code that starts it runs several times.
    StarterRepeats,
}

/// Where an entry is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartSite {
    pub at: At,
    pub line: Option<u32>,
    /// What it shares its thread with.
    pub serial: Option<Serial>,
}

/// Where a process begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// None for [`EntryKind::Callers`].
    pub method: Option<MethodId>,
    pub kind: EntryKind,
    /// Several at once, or one at a time.
    pub many: Option<Many>,
    /// How many objects there are of a class that a framework makes, for its processes.
    pub(crate) made: Instances,
    pub sites: Vec<StartSite>,
    /// The tasks' objects, where they are known: the method and instruction that make them.
    pub(crate) objects: Vec<Option<(MethodId, u32)>>,
    /// Where the lambdas are made that are its tasks.
    pub(crate) lambdas: Vec<At>,
}

/// Two processes that may be in two methods at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overlap {
    pub first: EntryId,
    pub second: EntryId,
}

/// How an event is ordered with all of an entry's processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordered {
    /// It comes before the first one is started.
    BeforeStart,
    /// It comes after all of them have been waited for.
    AfterJoin,
}

pub struct Threads {
    entries: Vec<Entry>,
    rows: Rows,
    orders: Orders,
    /// By pair of entries, row by row: whether both may run at the same time.
    overlaps: Vec<Bits>,
    /// Starts of tasks that could not be traced back.
    unknown_starts: Vec<StartSite>,
    /// Where lambdas are made that are started.
    pub(crate) started: FxHashSet<At>,
    by_method: FxHashMap<MethodId, EntryId>,
    /// Calls that start a task on an executor of one thread, with its position among the arguments.
    turns: FxHashMap<At, u16>,
    /// What code that is not here may call, in order.
    pub(crate) open: Vec<MethodId>,
    /// Some `main` starts threads, which closes the classes that it reaches.
    pub(crate) has_closed: bool,
    /// By method that runs while a class is initialised and at no other time: the initialiser.
    initial: FxHashMap<MethodId, MethodId>,
    /// Callers of classes that are marked as not made for threads.
    one_caller: Option<EntryId>,
    pub(crate) library: Library,
    /// By entry: whether code that is not here has a part in it; found when it is first asked for.
    from_outside: OnceLock<Vec<bool>>,
}

impl Threads {
    pub fn of(program: &Program, calls: &Calls, outlines: Outlines<'_>, world: World) -> Threads {
        build::threads(program, calls, outlines, world)
    }

    /// `main`s first, then tasks, frameworks and open callers, each in the order of methods.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = EntryId> {
        (0..self.entries.len() as u32).map(EntryId)
    }

    pub fn entry(&self, entry: EntryId) -> &Entry {
        &self.entries[entry.index()]
    }

    /// Whether an entry stands for code that is not here and calls objects which no two threads use.
    pub fn is_one_caller(&self, entry: EntryId) -> bool {
        self.one_caller == Some(entry)
    }

    /// The entry that begins with a method.
    pub(crate) fn beginning_with(&self, method: MethodId) -> Option<&Entry> {
        self.by_method.get(&method).map(|entry| self.entry(*entry))
    }

    /// The entries that reach a method, in order.
    pub fn of_method(&self, method: MethodId) -> &[EntryId] {
        self.rows.of(method)
    }

    /// Whether two methods can run at the same time in two threads, and in which.
    pub fn may_overlap(&self, first: MethodId, second: MethodId) -> Option<Overlap> {
        if self.are_of_one_initialiser(first, second) {
            return None;
        }
        self.of_method(first).iter().find_map(|first| {
            let second = self.of_method(second).iter().find(|second| self.overlap(*first, **second))?;
            Some(Overlap { first: *first, second: *second })
        })
    }

    /// Whether two methods run while one class is initialised, and at no other time: one thread does that.
    pub fn are_of_one_initialiser(&self, first: MethodId, second: MethodId) -> bool {
        self.initial.get(&first).is_some_and(|initialiser| self.initial.get(&second) == Some(initialiser))
    }

    /// The initialiser that alone leads to a method.
    pub fn initialiser_of(&self, method: MethodId) -> Option<MethodId> {
        self.initial.get(&method).copied()
    }

    /// Whether processes of two entries, or two of one, can run at the same time.
    pub fn overlap(&self, first: EntryId, second: EntryId) -> bool {
        self.overlaps[first.index()].contains(second.index())
    }

    /// Whether a method may be run by a thread of code that is not here: called by it, or started, over however many
    /// threads.
    pub fn is_from_outside(&self, method: MethodId) -> bool {
        let from_outside = self.from_outside.get_or_init(|| self.entries_from_outside());
        self.of_method(method).iter().any(|entry| from_outside[entry.index()])
    }

    fn entries_from_outside(&self) -> Vec<bool> {
        let is_unseen = |entry: &Entry| matches!(entry.kind, EntryKind::Callers | EntryKind::Framework);
        let mut outside: Vec<bool> = self.entries.iter().map(is_unseen).collect();
        loop {
            let is_started = |entry: &Entry| {
                let mut starters = entry.sites.iter().flat_map(|site| self.of_method(site.at.method));
                starters.any(|starter| outside[starter.index()])
            };
            let next: Vec<bool> =
                self.entries.iter().zip(&outside).map(|(entry, known)| *known || is_started(entry)).collect();
            if next == outside {
                return outside;
            }
            outside = next;
        }
    }

    /// How an event of a method, when `process` runs it, is ordered with all processes of `other`.
    pub fn ordered(&self, outlines: Outlines<'_>, process: EntryId, at: At, other: EntryId) -> Option<Ordered> {
        self.orders.ordered(outlines, process, at, other)
    }

    /// Whether what is started at one place may still be running when its only process comes to start something at another.
    pub fn may_still_run(&self, started: At, starting: At) -> bool {
        self.orders.may_still_run(&self.rows, started, starting)
    }

    /// Whether an event happens before anything is started by the process that runs it, whichever that is.
    pub fn is_before_start(&self, outlines: Outlines<'_>, method: MethodId, event: EventId) -> bool {
        self.is_always(outlines, method, event, Ordered::BeforeStart)
    }

    /// Whether an event happens after everything that was started by the process that runs it is over.
    pub fn is_after_join(&self, outlines: Outlines<'_>, method: MethodId, event: EventId) -> bool {
        self.is_always(outlines, method, event, Ordered::AfterJoin)
    }

    fn is_always(&self, outlines: Outlines<'_>, method: MethodId, event: EventId, wanted: Ordered) -> bool {
        let at = At { method, event };
        let processes = self.of_method(method);
        !processes.is_empty()
            && processes.iter().all(|process| {
                let others = self.orders.started_by(*process);
                !others.is_empty()
                    && others.iter().all(|other| self.ordered(outlines, *process, at, *other) == Some(wanted))
            })
    }

    /// The position of the executor among a call's arguments, if the call starts a task and the executor has one thread.
    pub(crate) fn taking_turns(&self, call: At) -> Option<usize> {
        self.turns.get(&call).map(|position| usize::from(*position))
    }

    /// Starts of tasks of which some could not be traced back to code.
    pub fn unknown_starts(&self) -> &[StartSite] {
        &self.unknown_starts
    }

    /// As a report names it: `main`, `thread Worker.run`.
    pub fn describe(&self, program: &Program, entry: EntryId) -> String {
        let entry = self.entry(entry);
        let word = match entry.kind {
            EntryKind::Main => "",
            EntryKind::Thread => "thread ",
            EntryKind::Pool => "pool task ",
            EntryKind::SingleThread => "executor task ",
            EntryKind::Timer => "timer task ",
            EntryKind::Future => "future's ",
            EntryKind::Parallel => "parallel stream's ",
            EntryKind::EventThread => "event thread's ",
            EntryKind::Framework => "framework's ",
            EntryKind::Callers => "any caller",
        };
        let name = entry.method.map(|method| program.names.readable_method(program.method_name(method)));
        format!("{word}{}", name.unwrap_or_default())
    }
}

/// Entries in order.
pub(crate) type EntryList = SmallVec<[EntryId; 2]>;
