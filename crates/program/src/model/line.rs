//! The words that tables are written in.
//!
//! A [`Line`] says what some methods do; a [`Table`] gives lines to some classes. Both hold lists separated by spaces:
//! a method is its name alone, whatever its parameters, or its name with the simple names of its erased parameter
//! types: `"size isEmpty remove(Object,Object)"`.

use super::call::{
    Access, After, Arguments, Order, OrderKind, Pool, Product, Revalidation, Runner, Section, Sink, Start, State,
    Target, Task, Times, When,
};

/// What the methods of one line do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) methods: &'static str,
    pub(crate) access: Access,
    pub(crate) reads_arguments: Arguments,
    pub(crate) writes_arguments: Arguments,
    pub(crate) is_traversal: bool,
    pub(crate) is_static: bool,
    pub(crate) revalidates: Option<Checks>,
    pub(crate) key: Option<u8>,
    pub(crate) gives: Gives,
    pub(crate) runs: Arguments,
    /// The functions run outside the section, perhaps more than once.
    pub(crate) runs_outside: bool,
    pub(crate) starts: Option<Start>,
    pub(crate) wraps: Option<u8>,
    pub(crate) orders: Option<Order>,
    pub(crate) after: Option<After>,
    pub(crate) product: Option<Product>,
    pub(crate) sink: Option<Sink>,
    pub(crate) is_lock_operation: bool,
    /// The first Java release that has these methods, if it is later than 17.
    pub(crate) since: u8,
}

/// [`Revalidation`], with arguments that may be counted from the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checks {
    Expects(u8),
    ExpectsLastBut(u8),
    ByResult,
}

/// [`super::Returns`], before it is known what the receiver locks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gives {
    Unrelated,
    Computed,
    FromState,
    Removed,
    RemovedInto(u8),
    Replaced(u8),
    ReplacedByLast,
    Fresh,
    Receiver,
    Argument(u8),
    /// A container over the same state, as well synchronized as the receiver.
    Part,
    /// An iterator, an entry, a stream: often less synchronized than what it goes over.
    Cursor,
}

/// Touches nothing, as far as other words on the line do not say so.
pub(crate) const fn does(methods: &'static str) -> Line {
    Line {
        methods,
        access: Access::None,
        reads_arguments: Arguments::NONE,
        writes_arguments: Arguments::NONE,
        is_traversal: false,
        is_static: false,
        revalidates: None,
        key: None,
        gives: Gives::Unrelated,
        runs: Arguments::NONE,
        runs_outside: false,
        starts: None,
        wraps: None,
        orders: None,
        after: None,
        product: None,
        sink: None,
        is_lock_operation: false,
        since: 0,
    }
}

/// A function of its receiver and arguments, and of nothing that can change.
pub(crate) const fn computes(methods: &'static str) -> Line {
    Line { gives: Gives::Computed, ..does(methods) }
}

/// Reads the state and returns what it read.
pub(crate) const fn reads(methods: &'static str) -> Line {
    Line { access: Access::Read, gives: Gives::FromState, ..does(methods) }
}

/// Writes the state and tells nothing of it.
pub(crate) const fn writes(methods: &'static str) -> Line {
    Line { access: Access::Write, ..does(methods) }
}

/// Writes what depends on what it reads, and tells what it read.
pub(crate) const fn updates(methods: &'static str) -> Line {
    Line { access: Access::Update, gives: Gives::FromState, ..does(methods) }
}

/// Takes something out of the state and hands it over.
pub(crate) const fn removes(methods: &'static str) -> Line {
    Line { access: Access::Update, gives: Gives::Removed, ..does(methods) }
}

/// Hands out a container over the same state.
pub(crate) const fn part(methods: &'static str) -> Line {
    Line { gives: Gives::Part, ..does(methods) }
}

/// Hands out an iterator, an entry or a stream over the same state.
pub(crate) const fn cursor(methods: &'static str) -> Line {
    Line { gives: Gives::Cursor, ..does(methods) }
}

/// A static method or constructor; it is no section on anything.
pub(crate) const fn function(methods: &'static str) -> Line {
    Line { is_static: true, ..does(methods) }
}

/// A static method or constructor that makes something new.
pub(crate) const fn makes(methods: &'static str) -> Line {
    Line { is_static: true, gives: Gives::Fresh, ..does(methods) }
}

/// Takes, gives back or hands out a lock.
pub(crate) const fn locks(methods: &'static str) -> Line {
    Line { is_lock_operation: true, ..does(methods) }
}

/// A logger's method.
pub(crate) const fn logs(methods: &'static str) -> Line {
    Line { sink: Some(Sink::Log), ..does(methods) }
}

/// Waits until the task that the receiver is, or stands for, has ended.
pub(crate) const fn joins(methods: &'static str) -> Line {
    does(methods).orders(OrderKind::Join, When::Always)
}

impl Line {
    /// Only this argument (a key, an index, an element) is touched.
    pub(crate) const fn key(self, argument: u8) -> Line {
        Line { key: Some(argument), ..self }
    }

    pub(crate) const fn gives(self, gives: Gives) -> Line {
        Line { gives, ..self }
    }

    /// Goes from element to element.
    pub(crate) const fn each(self) -> Line {
        Line { is_traversal: true, ..self }
    }

    pub(crate) const fn reading(self, argument: u8) -> Line {
        Line { reads_arguments: self.reads_arguments.with(argument), ..self }
    }

    pub(crate) const fn writing(self, argument: u8) -> Line {
        Line { writes_arguments: self.writes_arguments.with(argument), ..self }
    }

    /// Writes only if the state still equals this argument.
    pub(crate) const fn expecting(self, argument: u8) -> Line {
        Line { revalidates: Some(Checks::Expects(argument)), ..self }
    }

    /// Writes only if the state still equals the argument this many before the last.
    pub(crate) const fn expecting_last_but(self, back: u8) -> Line {
        Line { revalidates: Some(Checks::ExpectsLastBut(back)), ..self }
    }

    /// Does nothing if there is nothing to do, and the result tells.
    pub(crate) const fn telling(self) -> Line {
        Line { revalidates: Some(Checks::ByResult), ..self }
    }

    /// Calls this argument, in this thread, before it returns.
    pub(crate) const fn runs(self, argument: u8) -> Line {
        Line { runs: self.runs.with(argument), ..self }
    }

    /// Calls its functions outside its section.
    pub(crate) const fn outside(self) -> Line {
        Line { runs_outside: true, ..self }
    }

    pub(crate) const fn starts(self, task: Task, times: Times, on: Runner) -> Line {
        Line { starts: Some(Start { task, times, on }), ..self }
    }

    /// What it makes runs this argument when it is started itself.
    pub(crate) const fn wraps(self, argument: u8) -> Line {
        Line { wraps: Some(argument), ..self }
    }

    pub(crate) const fn orders(self, kind: OrderKind, when: When) -> Line {
        Line { orders: Some(Order { kind, when }), ..self }
    }

    /// What it gives has ended only after this.
    pub(crate) const fn after(self, after: After) -> Line {
        Line { after: Some(after), ..self }
    }

    pub(crate) const fn product(self, product: Product) -> Line {
        Line { product: Some(product), ..self }
    }

    pub(crate) const fn pool(self, pool: Pool) -> Line {
        self.product(Product::Executor(pool))
    }

    pub(crate) const fn prints(self) -> Line {
        Line { sink: Some(Sink::Print), ..self }
    }

    pub(crate) const fn since(self, release: u8) -> Line {
        Line { since: release, ..self }
    }

    /// Each method of the line, as its name and, if given, its parameters.
    pub(crate) fn specs(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> + use<> {
        self.methods.split_ascii_whitespace().map(|spec| match spec.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (spec, None),
        })
    }
}

/// How all methods called on an object synchronize, inherited ones included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discipline {
    pub(crate) section: Section,
    /// Of iterators, entries and streams.
    pub(crate) cursors: Section,
    /// Whether what goes from element to element is one step.
    pub(crate) traversals: Traversals,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traversals {
    Whole,
    StepByStep,
}

/// Each call holds the object's monitor; iterators do not.
pub(crate) const MONITOR: Discipline =
    Discipline { section: Section::Monitor, cursors: Section::None, traversals: Traversals::Whole };

/// Each call is a step of its own, under no lock that a client could hold; so are the steps of iterators.
pub(crate) const OWN: Discipline =
    Discipline { section: Section::Own, cursors: Section::Own, traversals: Traversals::StepByStep };

/// As [`OWN`], and what goes over all elements is one step as well.
pub(crate) const OWN_WHOLE: Discipline = Discipline { traversals: Traversals::Whole, ..OWN };

/// Where a table's classes come from, for the test that they exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Jdk,
    /// A library that analysed programs may bring along.
    Library,
}

/// Classes of one package, and the lines that apply to them and to what extends them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// With slashes.
    pub(crate) package: &'static str,
    pub(crate) classes: &'static str,
    pub(crate) state: State,
    pub(crate) target: Target,
    pub(crate) discipline: Option<Discipline>,
    pub(crate) lines: &'static [&'static [Line]],
    pub(crate) origin: Origin,
    pub(crate) since: u8,
}

pub(crate) const fn table(
    package: &'static str,
    classes: &'static str,
    state: State,
    lines: &'static [&'static [Line]],
) -> Table {
    Table { package, classes, state, target: Target::Receiver, discipline: None, lines, origin: Origin::Jdk, since: 0 }
}

impl Table {
    pub(crate) const fn locked(self, discipline: Discipline) -> Table {
        Table { discipline: Some(discipline), ..self }
    }

    /// The state belongs to something else than the receiver.
    pub(crate) const fn of(self, target: Target) -> Table {
        Table { target, ..self }
    }

    pub(crate) const fn library(self) -> Table {
        Table { origin: Origin::Library, ..self }
    }

    pub(crate) const fn since(self, release: u8) -> Table {
        Table { since: release, ..self }
    }

    /// Binary names of the classes.
    pub(crate) fn class_names(&self) -> impl Iterator<Item = String> + use<> {
        let package = self.package;
        self.classes.split_ascii_whitespace().map(move |class| format!("{package}/{class}"))
    }
}

impl Checks {
    /// With arguments counted from the first; `count` is how many there are.
    pub(crate) fn resolve(self, count: usize) -> Option<Revalidation> {
        match self {
            Checks::Expects(argument) => Some(Revalidation::Expects(argument)),
            Checks::ExpectsLastBut(back) => {
                let argument = count.checked_sub(1 + usize::from(back))?;
                Some(Revalidation::Expects(u8::try_from(argument).ok()?))
            }
            Checks::ByResult => Some(Revalidation::ByResult),
        }
    }
}
