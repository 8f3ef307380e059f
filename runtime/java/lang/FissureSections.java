package java.lang;

import java.util.concurrent.locks.StampedLock;

/** Locks that are taken and left, whatever they are: each is an event unless the thread holds the lock already. */
final class FissureSections {
    private FissureSections() {
    }

    static void entered(Object lock, int site) {
        if (lock == null) {
            return;
        }
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            acquire(s, FissureIdentity.monitor(s, lock), false, true, site);
            Object expected = s.expected;
            if (expected != null && FissureLocks.monitorOf(expected) == lock) {
                s.expected = null;
                FissureCalls.touch(s, expected, s.expectedAccess, s.expectedSite);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }

    static void leaving(Object lock, int site) {
        if (lock == null) {
            return;
        }
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                release(s, FissureIdentity.monitor(s, lock), false, true, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }

    static void acquire(FissureThread s, FissureLock lock, boolean shared, boolean reentrant, int site) {
        s.settleWait();
        if (!shared && reentrant && lock.takenAgain(s)) {
            return;
        }
        s.endSegment();
        s.acquired(0, lock, shared, site);
    }

    static void release(FissureThread s, FissureLock lock, boolean shared, boolean reentrant, int site) {
        s.settleWait();
        if (!shared && reentrant && lock.keptOn(s)) {
            return;
        }
        s.endSegment();
        s.released(0, lock, shared, site);
    }

    static void acquire(FissureThread s, FissureLock lock, boolean shared, int site) {
        acquire(s, lock, shared, false, site);
    }

    static void release(FissureThread s, FissureLock lock, boolean shared, int site) {
        release(s, lock, shared, false, site);
    }

    static void waits(FissureThread s, FissureLock lock, int site) {
        s.endSegment();
        s.released(2, lock, false, site);
        s.waitingFor = lock;
        s.waitingDepth = lock.giveUp();
        s.waitingShared = false;
        s.waitingSite = site;
    }

    /** A stamped lock is held in another mode than before. */
    static void converted(FissureThread s, FissureLock lock, long stamp, boolean toShared, int site) {
        boolean wasShared = StampedLock.isReadLockStamp(stamp);
        boolean wasExclusive = StampedLock.isWriteLockStamp(stamp);
        if (wasShared && !toShared) {
            // Nobody else has it in either mode now.
            release(s, lock, true, site);
        }
        if (toShared ? !wasShared : !wasExclusive) {
            acquire(s, lock, toShared, site);
        }
    }
}
