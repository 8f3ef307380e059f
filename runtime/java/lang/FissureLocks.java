package java.lang;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.misc.Unsafe;

/** Which object stands for a lock. */
final class FissureLocks {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long OWNER =
            U.objectFieldOffset(AbstractOwnableSynchronizer.class, "exclusiveOwnerThread");

    private static final long GENERATION = U.objectFieldOffset(CyclicBarrier.class, "generation");

    private FissureLocks() {
    }

    /** Both halves of a lock and its conditions have one inner object in common, which stands for them all. */
    static Object lockOf(Object lock) {
        long offset = FissureClass.ALL.get(lock.getClass()).lockOffset;
        Object inner = offset > 0 ? U.getReference(lock, offset) : null;
        return inner == null ? lock : inner;
    }

    /**
     * Whether the thread can give the lock back; if not, the call that does will throw or refuse. Of a lock that does not
     * know its owner: whether anybody can.
     */
    static boolean isHeld(Object lock, boolean shared) {
        if (lock instanceof StampedLock stamped) {
            return shared ? stamped.isReadLocked() : stamped.isWriteLocked();
        }
        return shared || !(lock instanceof AbstractOwnableSynchronizer)
                || U.getReference(lock, OWNER) == Thread.currentThread();
    }

    static boolean isShared(Object lock) {
        return FissureClass.ALL.get(lock.getClass()).isSharedLock;
    }

    private static final long LOCK = 1;
    private static final long COUNTER = 2;

    /**
     * Whether a semaphore is one that threads use as a lock: it had one permit when it was first seen, nobody had given
     * one before, and never more than one is asked for or there. Else it counts, for good.
     */
    static boolean isUsedAsLock(FissureThread s, Object semaphore, long permits, boolean acquires) {
        FissureWord of = FissureIdentity.word(s, semaphore, FissureMore.DONE);
        if (of.word == 0) {
            boolean isOne = acquires && permits <= 1 && semaphore instanceof Semaphore known && known.availablePermits() == 1;
            U.compareAndSetLong(of, FissureWord.WORD, 0, isOne ? LOCK : COUNTER);
        }
        boolean isMore = permits > 1 || !acquires && ((Semaphore) semaphore).availablePermits() > 0;
        if (of.word == LOCK && isMore) {
            of.word = COUNTER;
        }
        return of.word == LOCK;
    }

    /** The pool that others wrap. */
    static Object innermost(Object pool) {
        return lockOf(pool);
    }

    /** What stands for one meeting at a barrier that is used again. A phaser stands for all of its own. */
    static Object meetingOf(Object barrier) {
        Object generation = barrier instanceof CyclicBarrier ? U.getReferenceVolatile(barrier, GENERATION) : null;
        return generation == null ? barrier : generation;
    }

    /** The monitor that each call on this container holds. */
    static Object monitorOf(Object container) {
        return lockOf(container);
    }
}
