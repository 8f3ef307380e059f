package java.lang;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.Lock;
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

    private static final String[] NAMES = {
        "lock()", "tryLock()", "unlock()", "lockInterruptibly()", "acquire()", "tryAcquire()", "release()",
        "acquireUninterruptibly()",
    };

    /**
     * Whether there is nothing to tell of a call: its object may turn out to be no lock, or its class is below one of the
     * platform and has code of its own for the operation, which is watched and tells.
     */
    static boolean isToldElsewhere(FissureThread s, Object lock, int call) {
        boolean isLonger = (call & FissureCalls.LONGER) != 0;
        int name;
        switch (call & 0xff) {
            case FissureCalls.LOCK -> name = isLonger ? 3 : 0;
            case FissureCalls.TRY_LOCK -> name = 1;
            case FissureCalls.UNLOCK -> name = 2;
            case FissureCalls.ACQUIRE -> name = isLonger ? 7 : 4;
            case FissureCalls.TRY_ACQUIRE -> name = 5;
            case FissureCalls.RELEASE -> name = 6;
            default -> {
                return false;
            }
        }
        boolean isOfPlatform = name < 4 ? lock instanceof Lock && lockOf(lock) != lock : lock instanceof Semaphore;
        return isOfPlatform ? (s.facts(lock.getClass()).ownOperations >>> name & 1) != 0 : (call & FissureCalls.PERHAPS) != 0;
    }

    /** A bit for each operation that classes which are watched have code of their own for. */
    static int ownOperations(Class<?> type) {
        int own = 0;
        if (Lock.class.isAssignableFrom(type) || Semaphore.class.isAssignableFrom(type)) {
            for (Class<?> c = type; c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
                for (int name = 0; name < NAMES.length; name++) {
                    own |= Fissure.declares(c.getName(), NAMES[name]) ? 1 << name : 0;
                }
            }
        }
        return own;
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
