//! Calls of library methods that are modelled: what the probes around them are told.
//!
//! The models are those of `program`; here they become one number per call, the object it is about, and one more
//! operand.

use program::model::{Access, CallModel, OrderKind, Product, Returns, Section, State, Target, Task, When};

/// What a call does, as probes are told. The subject is what the call is about: mostly the receiver, for static
/// methods an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Call {
    /// The subject is a lock, held when the call returns.
    Lock = 1,
    /// From the start of the call on no longer held.
    Unlock = 2,
    /// Held if the result is true, or not 0.
    TryLock = 3,
    LockShared = 4,
    UnlockShared = 5,
    TryLockShared = 6,
    /// The subject's monitor is given up during the call, all its depth at once.
    Wait = 7,
    /// The same for the lock whose condition the subject is.
    WaitCondition = 8,
    /// Given back in the mode that the operand, a stamp, tells.
    UnlockStamp = 9,
    /// The subject's state.
    Read = 10,
    Write = 11,
    Update = 12,
    /// The result is a condition of the subject.
    Condition = 15,
    /// The result is the shared half of the subject.
    SharedHalf = 16,
    ExclusiveHalf = 17,
    OptimisticRead = 18,
    /// Nobody wrote since the optimistic read, if the result is true.
    Validate = 19,
    /// The value of an atomic.
    AtomicRead = 20,
    AtomicWrite = 21,
    AtomicUpdate = 22,
    /// The variable that the subject names; the operand is the object or array it is in.
    NamedRead = 23,
    NamedWrite = 24,
    NamedUpdate = 25,
    /// Permits of a semaphore; the operand is how many, if it is an `int`.
    Acquire = 26,
    TryAcquire = 27,
    Release = 28,
    /// The subject is a thread, which starts.
    Start = 30,
    /// The subject, a thread, has ended when the call returns.
    Join = 31,
    /// Whether it has, the subject can tell.
    JoinPerhaps = 32,
    /// The operand is handed to the subject, or to a thread or pool of the call's own choice, and will be run. The
    /// result stands for it, if there is one.
    Fork = 33,
    /// The task that the subject is or stands for has ended when the call returns.
    JoinTask = 34,
    /// What came before it is seen by those whose `Await` of the same subject returns.
    Signal = 35,
    Await = 36,
    AwaitIfTrue = 37,
    /// A signal and an await in one.
    Meet = 38,
    /// All tasks of the subject have ended when the call returns.
    JoinAll = 39,
    JoinAllIfTrue = 40,
    /// As `Fork`, for the elements of the operand.
    ForkAll = 41,
    /// As `ForkAll`, and all have ended when the call returns.
    InvokeAll = 42,
    Invoke = 43,
    JoinIfTrue = 44,
    AwaitPerhaps = 45,
    /// Held in this mode instead of that of the operand, a stamp, if the result is not 0.
    ConvertToExclusive = 46,
    ConvertToShared = 47,
    ConvertToOptimistic = 48,
    /// What the result shows is the subject's state: an iterator, a map's keys, a wrapper.
    View = 50,
}

impl Call {
    pub const ALL: &[Call] = &[
        Call::Lock,
        Call::Unlock,
        Call::TryLock,
        Call::LockShared,
        Call::UnlockShared,
        Call::TryLockShared,
        Call::Wait,
        Call::WaitCondition,
        Call::UnlockStamp,
        Call::Read,
        Call::Write,
        Call::Update,
        Call::Condition,
        Call::SharedHalf,
        Call::ExclusiveHalf,
        Call::OptimisticRead,
        Call::Validate,
        Call::AtomicRead,
        Call::AtomicWrite,
        Call::AtomicUpdate,
        Call::NamedRead,
        Call::NamedWrite,
        Call::NamedUpdate,
        Call::Acquire,
        Call::TryAcquire,
        Call::Release,
        Call::Start,
        Call::Join,
        Call::JoinPerhaps,
        Call::Fork,
        Call::JoinTask,
        Call::Signal,
        Call::Await,
        Call::AwaitIfTrue,
        Call::Meet,
        Call::JoinAll,
        Call::JoinAllIfTrue,
        Call::ForkAll,
        Call::InvokeAll,
        Call::Invoke,
        Call::JoinIfTrue,
        Call::AwaitPerhaps,
        Call::ConvertToExclusive,
        Call::ConvertToShared,
        Call::ConvertToOptimistic,
        Call::View,
    ];

    /// The low byte of what probes are told.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// Further facts about a call, in the bits above its number.
pub mod flag {
    /// The call has no receiver.
    pub const STATIC: i32 = 0x100;
    /// The call also reads the operand's state.
    pub const READS_OPERAND: i32 = 0x200;
    /// The call also writes the operand's state.
    pub const WRITES_OPERAND: i32 = 0x400;
    /// The call waits for others if its subject is a queue that can be full or empty.
    pub const WAITS: i32 = 0x800;
    /// The call is what it is said to be only if its subject turns out to be a lock of the platform: its class had not been seen
    /// when the code was rewritten.
    pub const PERHAPS: i32 = 0x1000;
    /// An operation of a lock, by the longer one of its names.
    pub const LONGER: i32 = 0x2000;
    /// The call is of the method of the class above, whatever the subject's own class has.
    pub const ABOVE: i32 = 0x4000;
}

/// One of the values that a call has on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    None,
    Receiver,
    /// Counted from 0, without the receiver.
    Argument(u8),
}

/// What kind of probes a call belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallFamily {
    Locks,
    Threads,
    Contents,
    Arrays,
    /// Buffers of characters that lock nothing: many, and nearly all local.
    Builders,
}

/// A call that gets probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WatchedCall {
    pub(crate) call: Call,
    /// Of [`flag`].
    pub(crate) flags: i32,
    pub(crate) subject: Operand,
    pub(crate) operand: Operand,
    pub(crate) family: CallFamily,
}

/// What the probes around a call are told, if the model says anything that a run should know. `is_thread` is whether the
/// call names a method of threads.
pub(crate) fn watched(model: CallModel, name: &str, descriptor: &str, is_thread: bool) -> Option<WatchedCall> {
    if model.is_lock_operation {
        return lock_operation(name, descriptor);
    }
    if model.sink.is_some() {
        return None;
    }
    started(model)
        .or_else(|| ordered(model, is_thread))
        .or_else(|| viewed(model, descriptor))
        .or_else(|| touched(model, name, descriptor))
}

fn lock_operation(name: &str, descriptor: &str) -> Option<WatchedCall> {
    let gives_object = descriptor.ends_with(';');
    let call = match name {
        "lock" | "lockInterruptibly" | "writeLockInterruptibly" => Call::Lock,
        "tryLock" | "tryWriteLock" => Call::TryLock,
        "unlock" if descriptor == "(J)V" => Call::UnlockStamp,
        "unlock" | "unlockWrite" | "tryUnlockWrite" => Call::Unlock,
        "writeLock" | "asWriteLock" if gives_object => Call::ExclusiveHalf,
        "readLock" | "asReadLock" if gives_object => Call::SharedHalf,
        "asReadWriteLock" => Call::View,
        "writeLock" => Call::Lock,
        "readLock" | "readLockInterruptibly" => Call::LockShared,
        "tryReadLock" => Call::TryLockShared,
        "unlockRead" | "tryUnlockRead" => Call::UnlockShared,
        "tryOptimisticRead" => Call::OptimisticRead,
        "validate" => Call::Validate,
        "tryConvertToWriteLock" => Call::ConvertToExclusive,
        "tryConvertToReadLock" => Call::ConvertToShared,
        "tryConvertToOptimisticRead" => Call::ConvertToOptimistic,
        "newCondition" => Call::Condition,
        "acquire" | "acquireUninterruptibly" => Call::Acquire,
        "tryAcquire" | "drainPermits" => Call::TryAcquire,
        "release" => Call::Release,
        "wait" => Call::Wait,
        "await" | "awaitUninterruptibly" | "awaitNanos" | "awaitUntil" => Call::WaitCondition,
        // Who wakes whom is told by the order in which they hold the lock.
        _ => return None,
    };
    let operand = match call {
        Call::Acquire | Call::TryAcquire | Call::Release if descriptor.starts_with("(I") => Operand::Argument(0),
        Call::UnlockStamp | Call::ConvertToExclusive | Call::ConvertToShared | Call::ConvertToOptimistic => {
            Operand::Argument(0)
        }
        _ => Operand::None,
    };
    let flags = if matches!(name, "lockInterruptibly" | "acquireUninterruptibly") { flag::LONGER } else { 0 };
    Some(WatchedCall { call, flags, subject: Operand::Receiver, operand, family: CallFamily::Locks })
}

fn started(model: CallModel) -> Option<WatchedCall> {
    let start = model.starts?;
    let joins = model.orders.is_some_and(|order| order.kind == OrderKind::JoinStarted && order.when == When::Always);
    let (call, subject, operand) = match (start.task, joins) {
        (Task::Receiver, _) if start.on == program::model::Runner::NewThread => {
            (Call::Start, Operand::Receiver, Operand::None)
        }
        (Task::Receiver, _) => (Call::Fork, Operand::None, Operand::Receiver),
        (Task::Argument(index), false) => (Call::Fork, Operand::Receiver, Operand::Argument(index)),
        (Task::Argument(index), true) => (Call::Invoke, Operand::Receiver, Operand::Argument(index)),
        (Task::ElementsOf(index), false) => (Call::ForkAll, Operand::Receiver, Operand::Argument(index)),
        (Task::ElementsOf(index), true) => (Call::InvokeAll, Operand::Receiver, Operand::Argument(index)),
    };
    Some(WatchedCall { call, flags: 0, subject, operand, family: CallFamily::Threads })
}

fn ordered(model: CallModel, is_thread: bool) -> Option<WatchedCall> {
    let order = model.orders?;
    let call = match (order.kind, order.when) {
        (OrderKind::Join, When::Always) if is_thread => Call::Join,
        (OrderKind::Join, When::Always) => Call::JoinTask,
        (OrderKind::Join, When::IfTrue) => Call::JoinIfTrue,
        (OrderKind::Join, When::Perhaps) => Call::JoinPerhaps,
        (OrderKind::JoinAll, When::Always) => Call::JoinAll,
        (OrderKind::JoinAll, _) => Call::JoinAllIfTrue,
        (OrderKind::Signal, _) => Call::Signal,
        (OrderKind::Await, When::Always) => Call::Await,
        (OrderKind::Await, When::IfTrue) => Call::AwaitIfTrue,
        (OrderKind::Await, When::Perhaps) => Call::AwaitPerhaps,
        (OrderKind::Meet, _) => Call::Meet,
        (OrderKind::JoinStarted, _) => return None,
    };
    let (subject, operand, family) = (Operand::Receiver, Operand::None, CallFamily::Threads);
    Some(WatchedCall { call, flags: 0, subject, operand, family })
}

fn viewed(model: CallModel, descriptor: &str) -> Option<WatchedCall> {
    if !descriptor.ends_with(';') {
        return None;
    }
    let subject = match (model.product, model.returns) {
        (Some(Product::Synchronized | Product::Unmodifiable), _) => Operand::Argument(0),
        (_, Returns::View(_)) if model.access == Access::None => Operand::Receiver,
        // Elsewhere the argument is handed through as it is.
        (_, Returns::Argument(index)) if matches!(model.state, State::Contents | State::Elements) => {
            Operand::Argument(index)
        }
        _ => return None,
    };
    let family = family(model);
    Some(WatchedCall { call: Call::View, flags: 0, subject, operand: Operand::None, family })
}

fn touched(model: CallModel, name: &str, descriptor: &str) -> Option<WatchedCall> {
    let mut effects = model.effects();
    let first = effects.next()?;
    let second = effects.next();
    let operand_of = |target| match target {
        Target::Receiver | Target::Viewed | Target::Named => Operand::Receiver,
        Target::Argument(index) => Operand::Argument(index),
    };
    let call = match (first.target, model.state, first.access) {
        (Target::Named, _, Access::Read) => Call::NamedRead,
        (Target::Named, _, Access::Write) => Call::NamedWrite,
        (Target::Named, _, _) => Call::NamedUpdate,
        (Target::Receiver, State::Value, Access::Read) => Call::AtomicRead,
        (Target::Receiver, State::Value, Access::Write) => Call::AtomicWrite,
        (Target::Receiver, State::Value, _) => Call::AtomicUpdate,
        (_, _, Access::Read) => Call::Read,
        (_, _, Access::Write) => Call::Write,
        (_, _, _) => Call::Update,
    };
    let (operand, flags) = match (second, model.key) {
        _ if first.target == Target::Named => (Operand::Argument(0), 0),
        (Some(second), _) => (operand_of(second.target), flags(second.access)),
        (None, Some(key)) => (Operand::Argument(key), 0),
        (None, None) => (Operand::None, 0),
    };
    let flags = flags | if waits(name, descriptor) { flag::WAITS } else { 0 };
    Some(WatchedCall { call, flags, subject: operand_of(first.target), operand, family: family(model) })
}

/// Of a queue: whether the call waits until it can be done, perhaps for some time only.
fn waits(name: &str, descriptor: &str) -> bool {
    match name {
        "put" | "putFirst" | "putLast" | "take" | "takeFirst" | "takeLast" | "transfer" => true,
        "offer" | "offerFirst" | "offerLast" | "poll" | "pollFirst" | "pollLast" | "tryTransfer" => {
            descriptor.contains("JLjava/util/concurrent/TimeUnit;)")
        }
        _ => false,
    }
}

fn flags(access: Access) -> i32 {
    let reads = if access.reads() { flag::READS_OPERAND } else { 0 };
    let writes = if access.writes() { flag::WRITES_OPERAND } else { 0 };
    reads | writes
}

fn family(model: CallModel) -> CallFamily {
    match (model.state, model.section) {
        (State::Elements, _) => CallFamily::Arrays,
        (State::Chars, Section::None) => CallFamily::Builders,
        _ => CallFamily::Contents,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_a_number_of_its_own() {
        assert!(Call::ALL.is_sorted_by(|a, b| a.number() < b.number()));
    }
}
