//! Which calls take and give back locks of `java.util.concurrent.locks`.

use location::{ClassName, MethodName, Names, Symbol};
use rustc_hash::FxHashSet;

use crate::Program;

/// What kind of lock a section is on. The same object can be locked in different ways that do not exclude each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockKind {
    /// `synchronized`
    Monitor,
    /// `Lock`, and the two halves of a `ReadWriteLock`.
    Lock,
    /// `StampedLock`
    Stamped,
    /// One operation of an object that synchronizes itself, by something that no client can hold.
    Own,
    /// The one thread that runs tasks, which is as good as a lock that they hold. No section is on it.
    Turn,
}

/// Whether others can hold the lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    Exclusive,
    /// Other readers may be inside.
    Shared,
    /// Nobody is kept out; `validate` tells afterwards whether somebody was in.
    Optimistic,
}

/// What a call does to the lock that it is called on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockOperation {
    Acquire(LockKind, Mode),
    /// Acquires if the result is true, or not 0.
    TryAcquire(LockKind, Mode),
    /// Turns a lock that is held into one of this mode if the result is not 0.
    Convert(LockKind, Mode),
    /// Gives the lock back, in this mode where the call tells.
    Release(LockKind, Option<Mode>),
    /// Ends an optimistic section.
    Validate,
    /// Lets go and takes again.
    Wait,
}

/// Names of methods that [`operation`] knows. A cheap test before types are known.
pub(crate) fn operation_names(names: &Names) -> FxHashSet<Symbol> {
    const OPERATIONS: [&str; 14] = [
        "lock",
        "lockInterruptibly",
        "tryLock",
        "unlock",
        "writeLock",
        "readLock",
        "writeLockInterruptibly",
        "readLockInterruptibly",
        "tryWriteLock",
        "tryReadLock",
        "tryOptimisticRead",
        "acquire",
        "acquireUninterruptibly",
        "tryAcquire",
    ];
    OPERATIONS.iter().map(|name| names.intern(name)).collect()
}

/// Whether a class is one whose objects are locks only if they have a single permit.
pub(crate) fn is_semaphore(program: &Program, class: ClassName) -> bool {
    program.names.text(class.0) == "java/util/concurrent/Semaphore"
}

/// What the call of `method` does as a lock operation, if it is one. Of a semaphore, if it is a lock.
pub(crate) fn operation(program: &Program, method: MethodName) -> Option<LockOperation> {
    use LockKind::{Lock, Stamped};
    use Mode::{Exclusive, Optimistic, Shared};

    let names = &program.names;
    let name = names.text(method.name);
    let descriptor = names.text(method.descriptor);
    if name.starts_with("await") && is_condition(program, method.class) {
        return Some(LockOperation::Wait);
    }
    if name == "wait" && matches!(descriptor, "()V" | "(J)V" | "(JI)V") {
        return Some(LockOperation::Wait);
    }
    let is_stamped = || is_a(program, method.class, "java/util/concurrent/locks/StampedLock");
    let is_lock = || is_lock(program, method.class);
    if is_semaphore(program, method.class) {
        return match (name, descriptor) {
            ("acquire" | "acquireUninterruptibly", "()V") => Some(LockOperation::Acquire(Lock, Exclusive)),
            ("tryAcquire", "()Z" | "(JLjava/util/concurrent/TimeUnit;)Z") => {
                Some(LockOperation::TryAcquire(Lock, Exclusive))
            }
            ("release", "()V") => Some(LockOperation::Release(Lock, None)),
            _ => None,
        };
    }
    match (name, descriptor) {
        ("lock" | "lockInterruptibly", "()V") if is_lock() => Some(LockOperation::Acquire(Lock, Exclusive)),
        ("tryLock", "()Z" | "(JLjava/util/concurrent/TimeUnit;)Z") if is_lock() => {
            Some(LockOperation::TryAcquire(Lock, Exclusive))
        }
        ("unlock", "()V") if is_lock() => Some(LockOperation::Release(Lock, None)),
        ("writeLock" | "writeLockInterruptibly", "()J") if is_stamped() => {
            Some(LockOperation::Acquire(Stamped, Exclusive))
        }
        ("readLock" | "readLockInterruptibly", "()J") if is_stamped() => Some(LockOperation::Acquire(Stamped, Shared)),
        ("tryWriteLock", _) if is_stamped() => Some(LockOperation::TryAcquire(Stamped, Exclusive)),
        ("tryReadLock", _) if is_stamped() => Some(LockOperation::TryAcquire(Stamped, Shared)),
        ("tryOptimisticRead", _) if is_stamped() => Some(LockOperation::Acquire(Stamped, Optimistic)),
        ("validate", "(J)Z") if is_stamped() => Some(LockOperation::Validate),
        ("tryConvertToWriteLock", "(J)J") if is_stamped() => Some(LockOperation::Convert(Stamped, Exclusive)),
        ("tryConvertToReadLock", "(J)J") if is_stamped() => Some(LockOperation::Convert(Stamped, Shared)),
        ("tryConvertToOptimisticRead", "(J)J") if is_stamped() => Some(LockOperation::Convert(Stamped, Optimistic)),
        ("unlock", "(J)V") if is_stamped() => Some(LockOperation::Release(Stamped, None)),
        ("unlockRead", "(J)V") | ("tryUnlockRead", "()Z") if is_stamped() => {
            Some(LockOperation::Release(Stamped, Some(Shared)))
        }
        ("unlockWrite", "(J)V") | ("tryUnlockWrite", "()Z") if is_stamped() => {
            Some(LockOperation::Release(Stamped, Some(Exclusive)))
        }
        _ => None,
    }
}

/// A call that yields a view of a lock: the half of a `ReadWriteLock`, or a condition.
pub(crate) fn view(program: &Program, method: MethodName) -> Option<Option<Mode>> {
    let names = &program.names;
    let of_pair = || {
        is_a(program, method.class, "java/util/concurrent/locks/ReadWriteLock")
            || is_a(program, method.class, "java/util/concurrent/locks/ReentrantReadWriteLock")
    };
    let of_stamped = || is_a(program, method.class, "java/util/concurrent/locks/StampedLock");
    match names.text(method.name) {
        "readLock" if of_pair() => Some(Some(Mode::Shared)),
        "writeLock" if of_pair() => Some(Some(Mode::Exclusive)),
        "asReadLock" if of_stamped() => Some(Some(Mode::Shared)),
        "asWriteLock" if of_stamped() => Some(Some(Mode::Exclusive)),
        "newCondition" if is_lock(program, method.class) => Some(None),
        _ => None,
    }
}

fn is_lock(program: &Program, class: ClassName) -> bool {
    const LOCKS: [&str; 4] = [
        "java/util/concurrent/locks/Lock",
        "java/util/concurrent/locks/ReentrantLock",
        "java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock",
        "java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock",
    ];
    LOCKS.iter().any(|lock| is_a(program, class, lock))
}

/// Whether objects of a class are locks, or locks can be had from them.
pub(crate) fn is_lockable(program: &Program, class: ClassName) -> bool {
    const OTHERS: [&str; 3] = [
        "java/util/concurrent/locks/ReadWriteLock",
        "java/util/concurrent/locks/ReentrantReadWriteLock",
        "java/util/concurrent/locks/StampedLock",
    ];
    is_lock(program, class) || is_semaphore(program, class) || OTHERS.iter().any(|other| is_a(program, class, other))
}

fn is_condition(program: &Program, class: ClassName) -> bool {
    is_a(program, class, "java/util/concurrent/locks/Condition")
}

/// Whether a class is, extends or implements the named one. Works without the JDK's own classes: an application class
/// names its ancestors itself.
fn is_a(program: &Program, class: ClassName, ancestor: &str) -> bool {
    match program.names.lookup(ancestor) {
        Some(ancestor) => program.is_subtype(class, ClassName(ancestor)),
        None => false,
    }
}
