//! What a model says about one call. The words that tables are written in are in `line.rs`.
//!
//! Arguments are counted from 0 without the receiver.

/// What others can see of a call, and what it does to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallModel {
    /// The section that the call is on its receiver.
    pub section: Section,
    /// What kind of state [`CallModel::access`] and the arguments' accesses are about.
    pub state: State,
    /// Whose state [`CallModel::access`] is about.
    pub target: Target,
    pub access: Access,
    /// Arguments whose state the call reads (`addAll`).
    pub reads_arguments: Arguments,
    /// Arguments whose state the call writes (`drainTo`, `Collections.sort`).
    pub writes_arguments: Arguments,
    /// Whether the call is one step for all others, whatever it reads and writes.
    pub is_atomic: bool,
    /// Goes from element to element, so that it is one step only where something excludes others from all of them.
    pub is_traversal: bool,
    pub revalidates: Option<Revalidation>,
    /// The argument that is the key, index or element which alone is touched.
    pub key: Option<u8>,
    pub returns: Returns,
    /// Functions given as arguments that run in this thread before the call returns.
    pub runs: Arguments,
    /// Whether those functions run inside the section that the call is.
    pub runs_inside: bool,
    pub starts: Option<Start>,
    /// The argument that the object made (or returned) will run when it is itself started: `new Thread(task)`.
    pub wraps: Option<u8>,
    pub orders: Option<Order>,
    /// What has ended when the future that the call gives has.
    pub after: Option<After>,
    /// What is special about the object that the call makes.
    pub product: Option<Product>,
    pub sink: Option<Sink>,
    /// Takes, gives back or hands out a lock: the analysis of sections knows what it does.
    pub is_lock_operation: bool,
}

impl CallModel {
    /// Reads and writes in one step: the cure of check-then-act, not the disease.
    pub fn is_compound(self) -> bool {
        self.is_atomic && self.access == Access::Update
    }

    /// The same call on an object that is known to synchronize in another way than its class tells, such as a view
    /// ([`Returns::View`]) or a wrapper ([`Product::Synchronized`]).
    pub fn within(self, section: Section) -> CallModel {
        let is_atomic = match section {
            Section::None => false,
            Section::Monitor => true,
            Section::Own => !self.is_traversal,
        };
        let runs_inside = is_atomic && !self.runs.is_empty();
        CallModel { section, is_atomic, runs_inside, ..self }
    }

    /// The state that the call touches, the target's first.
    pub fn effects(self) -> impl Iterator<Item = Effect> {
        let own = (self.target, self.access);
        let argument = move |index: u8| {
            let access = match (self.reads_arguments.contains(index), self.writes_arguments.contains(index)) {
                (false, false) => Access::None,
                (true, false) => Access::Read,
                (false, true) => Access::Write,
                (true, true) => Access::Update,
            };
            (Target::Argument(index), access)
        };
        std::iter::once(own)
            .chain((0..Arguments::LIMIT).map(argument))
            .filter(|(_, access)| *access != Access::None)
            .map(move |(target, access)| Effect { target, state: self.state, access })
    }
}

/// How a call on an object excludes others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Section {
    /// Not at all.
    None,
    /// On the object's monitor: `synchronized (x)` by a client covers it.
    Monitor,
    /// On something that no client can hold.
    Own,
}

/// The abstract variable that stands for what an object holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Of a collection, a map, or a stream of bytes.
    Contents,
    /// Of an atomic, an adder, a generator.
    Value,
    /// Of a buffer of characters.
    Chars,
    /// Of an array.
    Elements,
}

impl State {
    /// As reports call it: "contents of `table`".
    pub fn word(self) -> &'static str {
        match self {
            State::Contents => "contents",
            State::Value => "value",
            State::Chars => "characters",
            State::Elements => "elements",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    None,
    Read,
    /// May also tell what was there before; see [`CallModel::returns`].
    Write,
    /// What it writes depends on what it reads.
    Update,
}

impl Access {
    pub fn reads(self) -> bool {
        matches!(self, Access::Read | Access::Update)
    }

    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::Update)
    }
}

/// Whose state is touched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    Receiver,
    /// The object that the receiver was taken from: an iterator's list.
    Viewed,
    /// The variable that the receiver names: of a field updater, a field of the first argument; of a `VarHandle`,
    /// the variable at the leading arguments.
    Named,
    Argument(u8),
}

/// One object's state that a call touches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effect {
    pub target: Target,
    pub state: State,
    pub access: Access,
}

/// A set of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Arguments(u8);

impl Arguments {
    /// Tables speak of no argument beyond this many.
    pub const LIMIT: u8 = 8;
    pub const NONE: Arguments = Arguments(0);

    pub const fn with(self, index: u8) -> Arguments {
        Arguments(self.0 | 1 << index)
    }

    pub const fn contains(self, index: u8) -> bool {
        index < Arguments::LIMIT && self.0 & 1 << index != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..Arguments::LIMIT).filter(move |index| self.contains(*index))
    }
}

/// How a write makes sure that an earlier read still holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Revalidation {
    /// Writes only if the state still equals this argument.
    Expects(u8),
    /// Does nothing if there is nothing to do; the result tells, if it is used.
    ByResult,
}

/// Where the result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Returns {
    /// Nothing, or something that the state has no part in.
    Unrelated,
    /// Depends on the receiver and the arguments themselves, and on no state.
    Computed,
    /// A value read from the state.
    FromState,
    /// Taken out of the state: the caller owns it.
    Removed,
    /// How many were taken out of the state and put into this argument: the caller owns them.
    RemovedInto(u8),
    /// What was there before this argument; the caller owns it if that argument is null.
    Replaced(u8),
    /// A new object that only the caller has. What it holds comes from the state that the call reads.
    Fresh,
    /// The receiver itself.
    Receiver,
    /// This argument itself, or a thin layer over it: an array's list, a map's set.
    Argument(u8),
    /// Later operations on the result touch the same state of the same object, each as such a section.
    View(Section),
}

/// What a call starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    pub task: Task,
    pub times: Times,
    pub on: Runner,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Task {
    Receiver,
    Argument(u8),
    /// Each element of a collection.
    ElementsOf(u8),
}

/// How often one call runs its task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Times {
    Once,
    /// Several runs at the same time.
    ManyAtOnce,
    /// Again and again, one run after the other.
    Repeatedly,
}

/// What runs a task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Runner {
    NewThread,
    /// The executor or timer that is the receiver.
    Receiver,
    /// The executor that is this argument.
    Argument(u8),
    /// `ForkJoinPool.commonPool()`, or the pool of the caller.
    CommonPool,
    /// The one thread that handles the events of a user interface.
    EventThread,
    /// The thread that completes the future that is the receiver, or the caller.
    Completer,
}

/// What is known to have happened when a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Order {
    pub kind: OrderKind,
    pub when: When,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OrderKind {
    /// The task that is the receiver, or that it stands for, has ended.
    Join,
    /// Every task given to the receiver has ended.
    JoinAll,
    /// Every task that this call started has ended.
    JoinStarted,
    /// What came before, others see after their [`OrderKind::Await`] of the same object.
    Signal,
    Await,
    /// A signal and an await of the same object in one.
    Meet,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum When {
    Always,
    /// Only where the result is true.
    IfTrue,
    /// Not if the time ran out, and the result does not tell.
    Perhaps,
}

/// What a future that a call gives comes after.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum After {
    /// The future that the call is made on.
    Receiver,
    /// That one and the first argument.
    Both,
    /// Some of them, or none if time runs out: it tells nothing.
    Any,
}

/// What is special about an object that a call makes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Product {
    /// Each call on it is a section on its own monitor; its contents are those of argument 0.
    Synchronized,
    /// Each call on it is a section of its own that no client can hold.
    Concurrent,
    /// Shows the contents of argument 0 and cannot change them.
    Unmodifiable,
    /// A container that never changes.
    Immutable,
    /// Its later operations run their functions on many threads.
    ParallelStream,
    /// Its later operations run their functions in the caller.
    SequentialStream,
    Executor(Pool),
}

/// How many tasks of an executor run at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pool {
    /// One after the other.
    Single,
    /// One after the other if this argument is 1.
    Sized(u8),
    Many,
    /// In the thread that hands the task over.
    Caller,
    /// As the executor that is this argument.
    Like(u8),
}

/// Output that only people see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sink {
    /// A logger.
    Log,
    /// A printer: a sink if it prints to the console.
    Print,
}
