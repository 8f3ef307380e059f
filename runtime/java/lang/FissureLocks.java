package java.lang;

import jdk.internal.misc.Unsafe;

/** Which object stands for a lock. */
final class FissureLocks {
    private static final Unsafe U = Unsafe.getUnsafe();

    private FissureLocks() {
    }

    /** Both halves of a lock and its conditions have one inner object in common, which stands for them all. */
    static Object lockOf(Object lock) {
        long offset = FissureClass.ALL.get(lock.getClass()).lockOffset;
        Object inner = offset > 0 ? U.getReference(lock, offset) : null;
        return inner == null ? lock : inner;
    }

    static boolean isShared(Object lock) {
        return FissureClass.ALL.get(lock.getClass()).isSharedLock;
    }

    /** The monitor that each call on this container holds. */
    static Object monitorOf(Object container) {
        return lockOf(container);
    }
}
