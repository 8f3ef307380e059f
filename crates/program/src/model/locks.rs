//! Locks. What each operation does is known where sections are found; here they are only told from other calls.

use super::call::State::Value;
use super::line::{Line, Table, does, locks, table};

const LOCK: &[Line] = &[locks("lock lockInterruptibly tryLock unlock newCondition")];
const PAIR: &[Line] = &[locks("readLock writeLock")];

const REENTRANT: &[Line] =
    &[does("isHeldByCurrentThread getHoldCount isLocked isFair hasQueuedThreads getQueueLength")];

const STAMPED: &[Line] = &[
    locks("readLock readLockInterruptibly tryReadLock writeLock writeLockInterruptibly tryWriteLock"),
    locks("tryOptimisticRead validate unlock unlockRead unlockWrite tryUnlockRead tryUnlockWrite"),
    locks("tryConvertToWriteLock tryConvertToReadLock tryConvertToOptimisticRead"),
    locks("asReadLock asWriteLock asReadWriteLock"),
    does("isReadLocked isWriteLocked getReadLockCount"),
];

const SEMAPHORE: &[Line] = &[
    locks("acquire acquireUninterruptibly tryAcquire release drainPermits"),
    does("availablePermits isFair hasQueuedThreads getQueueLength"),
];

const CONDITION: &[Line] = &[locks("await awaitUninterruptibly awaitNanos awaitUntil"), locks("signal signalAll")];

const PACKAGE: &str = "java/util/concurrent/locks";

pub(crate) const TABLES: &[Table] = &[
    table("java/lang", "Object", Value, &[&[locks("wait notify notifyAll")]]),
    table(PACKAGE, "Lock", Value, &[LOCK]),
    table(PACKAGE, "ReentrantLock", Value, &[REENTRANT]),
    table(PACKAGE, "ReadWriteLock", Value, &[PAIR]),
    table(PACKAGE, "StampedLock", Value, &[STAMPED]),
    table(PACKAGE, "Condition", Value, &[CONDITION]),
    table(PACKAGE, "LockSupport", Value, &[&[does("park parkNanos parkUntil unpark")]]),
    table("java/util/concurrent", "Semaphore", Value, &[SEMAPHORE]),
];
