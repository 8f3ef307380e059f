//! Sharing: for each field, whether threads can get in each other's way there, and if not, why not.
//!
//! The reference that a field holds and the contents of the container or array behind it are two answers. Objects are
//! told apart by class alone, but for tasks that keep to themselves.

mod access;
mod construct;
mod decide;
mod escape;
mod local;
mod own;
mod show;

use std::ops::Index;
use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use crate::annotation::Mark;
use crate::calls::Calls;
use crate::captured::Captured;
use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::outline::Argument;
use crate::outlines::Outlines;
use crate::thread::{At, EntryId, EntryKind, Overlap, Threads};

pub use show::{show_field, show_making};

use access::Touched;
use decide::Named;
use escape::Flows;

/// Whether a variable is shared; if not, why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    Final,
    /// Written only while its object is made, before others know the object; or never.
    EffectivelyImmutable,
    /// A table that a compiler or another tool has put into the class and fills when it is first asked for. Whoever
    /// fills it fills it alike, and nobody could mend it.
    CompilersOwn,
    /// An annotation says that threads do not share it.
    Promised(Mark),
    /// No thread comes there.
    Unreached,
    /// One process alone touches it.
    OneThread(EntryId),
    /// Each process of this entry has an object of its own and touches no other.
    OwnTask(EntryId),
    /// Objects of the class never leave the thread that makes them.
    Confined,
    /// This process writes it, and only before it starts the others that read it, or after it has waited for them.
    WrittenBeforeStart(EntryId),
    /// The same of all that this process does with it, while one of the others writes it as well.
    TouchedBeforeStart(EntryId),
    /// No two of the processes that touch it do so at the same time.
    NeverAtOnce,
    /// One process alone writes it; others read it.
    SingleWriter(EntryId),
    /// Objects of the class are only held by this private field, and made where it is.
    OwnedBy(FieldId),
    Shared(Overlap),
}

impl Sharing {
    /// Whether two threads may touch it, one of them writing, be it one after the other: what one finds there, another one
    /// may have left.
    pub fn is_shared(self) -> bool {
        matches!(
            self,
            Sharing::Shared(_) | Sharing::SingleWriter(_) | Sharing::OwnedBy(_) | Sharing::TouchedBeforeStart(_)
        )
    }
}

/// What of a field is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Itself,
    /// What the container or array holds that the field refers to.
    Contents,
    /// What containers and the like hold that are elements of that one.
    Within,
}

/// An event that touches a field, or the contents of what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldAccess {
    pub at: At,
    pub is_write: bool,
    pub part: Part,
    /// While the object is made, before others know it.
    pub is_initial: bool,
}

impl FieldAccess {
    /// What names the object that the field, or what holds the contents, belongs to, of the arguments of a call: a handle is
    /// called with the object that it works on.
    pub(crate) fn touched<'a>(&self, arguments: &'a [Argument]) -> Option<&'a Argument> {
        match self.part {
            Part::Itself => arguments.get(1),
            Part::Contents | Part::Within => arguments.first(),
        }
    }
}

/// The answers that have been found so far, and what they were found from.
pub struct Answers {
    /// By method: the fields that it touches, and where objects go in it.
    touched: Slots<Box<Touched>>,
    flows: Slots<Box<Flows>>,
    /// By method: whether it runs before others know its object.
    making: Slots<bool>,
    /// By field.
    accesses: Slots<Box<[FieldAccess]>>,
    fields: Slots<Answer>,
    /// By class: whether other threads may know its objects, and the field that alone holds them.
    is_out: Slots<bool>,
    owners: Slots<Option<FieldId>>,
    /// Classes with objects that other threads know from the start.
    known: OnceLock<FxHashSet<ClassId>>,
    /// Methods that start threads.
    starting: OnceLock<FxHashSet<MethodId>>,
}

/// Of a field itself, of the contents of what it holds, and of what is within those.
type Answer = (Sharing, Option<Sharing>, Option<Sharing>);

/// Slots by number, a row of which gets room when somebody asks for one: of most rows nobody does.
struct Slots<T>(Box<[OnceLock<Row<T>>]>);

type Row<T> = Box<[OnceLock<T>]>;

/// A row has so many slots.
const ROW: usize = 16;

fn slots<T>(count: usize) -> Slots<T> {
    Slots((0..count.div_ceil(ROW)).map(|_| OnceLock::new()).collect())
}

impl<T> Index<usize> for Slots<T> {
    type Output = OnceLock<T>;

    fn index(&self, index: usize) -> &OnceLock<T> {
        &self.0[index / ROW].get_or_init(|| (0..ROW).map(|_| OnceLock::new()).collect())[index % ROW]
    }
}

impl Answers {
    pub fn new(program: &Program) -> Answers {
        let (methods, fields) = (program.known_method_count(), program.class_of_field.len());
        let classes = program.known_class_count();
        Answers {
            touched: slots(methods),
            flows: slots(methods),
            making: slots(methods),
            accesses: slots(fields),
            fields: slots(fields),
            is_out: slots(classes),
            owners: slots(classes),
            known: OnceLock::new(),
            starting: OnceLock::new(),
        }
    }
}

/// Answers for all fields that the program touches, each found when it is first asked for. One thread finds one answer:
/// to wait for others there could be to wait for oneself.
#[derive(Clone, Copy)]
pub struct Sharings<'s> {
    program: &'s Program,
    calls: &'s Calls,
    outlines: Outlines<'s>,
    threads: &'s Threads,
    captured: &'s Captured,
    answers: &'s Answers,
}

impl<'s> Sharings<'s> {
    pub fn new(
        program: &'s Program,
        calls: &'s Calls,
        outlines: Outlines<'s>,
        threads: &'s Threads,
        captured: &'s Captured,
        answers: &'s Answers,
    ) -> Sharings<'s> {
        Sharings { program, calls, outlines, threads, captured, answers }
    }

    /// Whether the field itself is shared; none if nothing touches it.
    pub fn field(self, field: FieldId) -> Option<Sharing> {
        Some(self.answer(field)?.0)
    }

    /// Whether the contents of the container or array that the field holds are shared; none if nothing touches them.
    pub fn contents(self, field: FieldId) -> Option<Sharing> {
        self.answer(field)?.1
    }

    /// Whether the contents of its elements are shared; none if nothing touches them.
    pub fn within(self, field: FieldId) -> Option<Sharing> {
        self.answer(field)?.2
    }

    /// The same of a field and of its contents, with the threads that a reader would look at first.
    pub fn told(self, field: FieldId) -> Option<(Sharing, Option<Sharing>)> {
        let is_touched = !self.accesses(field).is_empty();
        let told = |(itself, contents, _): Answer| (itself, contents);
        is_touched.then(|| told(self.decide_field(field, Named::Nearest)))
    }

    fn answer(self, field: FieldId) -> Option<Answer> {
        let is_touched = !self.accesses(field).is_empty();
        is_touched
            .then(|| *self.answers.fields[field.0 as usize].get_or_init(|| self.decide_field(field, Named::First)))
    }

    /// All events that touch the field or its contents, in the order of methods.
    pub fn accesses(self, field: FieldId) -> &'s [FieldAccess] {
        self.answers.accesses[field.0 as usize].get_or_init(|| self.find_accesses(field))
    }
}

/// The reason in one line, as a report says it.
pub fn describe(program: &Program, threads: &Threads, sharing: Sharing) -> String {
    let name = |entry: EntryId| threads.describe(program, entry);
    match sharing {
        Sharing::Final => "never changes: it is final".to_owned(),
        Sharing::EffectivelyImmutable => "never changes: only written while its object is made".to_owned(),
        Sharing::CompilersOwn => "not shared: the compiler keeps it for itself".to_owned(),
        Sharing::Promised(mark) => format!("not shared: marked `@{}`", mark.name()),
        Sharing::Unreached => "not shared: no thread comes there".to_owned(),
        Sharing::OneThread(entry) => format!("not shared: only {} touches it", name(entry)),
        Sharing::OwnTask(entry) => format!("not shared: each {} has an object of its own", name(entry)),
        Sharing::Confined => "not shared: its objects never leave the thread that makes them".to_owned(),
        Sharing::WrittenBeforeStart(entry) => {
            format!(
                "ordered: {} writes it only before it starts the others or after it has waited for them",
                name(entry)
            )
        }
        Sharing::TouchedBeforeStart(entry) => {
            format!(
                "ordered: {} touches it only before it starts the others or after it has waited for them",
                name(entry)
            )
        }
        Sharing::NeverAtOnce => "ordered: those who touch it never do so at the same time".to_owned(),
        Sharing::SingleWriter(entry) => format!("written by {} alone, read by others", name(entry)),
        Sharing::OwnedBy(field) => {
            format!("owned: its objects are only held by `{}`", program.readable_field(field))
        }
        Sharing::Shared(Overlap { first, second }) if first == second => match threads.entry(first).kind {
            EntryKind::Callers => "shared: two callers at once".to_owned(),
            _ => format!("shared: several of {} at once", name(first)),
        },
        Sharing::Shared(Overlap { first, second }) => format!("shared: {} and {}", name(first), name(second)),
    }
}
