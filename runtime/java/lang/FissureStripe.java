package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * A chunk that several threads write to in turn. Virtual threads are too many to have one each.
 * A thread belongs to one stripe for good, so that its records stay in order.
 */
final class FissureStripe {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long LOCK = U.objectFieldOffset(FissureStripe.class, "lock");
    private static final int SIZE = 1 << 16;
    private static final int HEAD = 64;

    private volatile int lock;
    private long next;
    private long limit;
    /** Where the chunk begins that has both. */
    private long chunk;
    /** Whose records come now. */
    private int writer;

    /** Locks the stripe, and makes room for a record of this thread. Unlocked again if there is none. */
    long open(int thread, int longs) {
        Fissure.spin(this, LOCK);
        long need = (longs + 2) * 8L;
        if (next + need > limit) {
            if (next != 0) {
                U.putLongRelease(null, next, Fissure.END_OF_CHUNK);
            }
            long full = chunk;
            chunk = 0;
            long address = Fissure.newChunk(0, SIZE, full);
            if (address == 0) {
                next = 0;
                limit = 0;
                lock = 0;
                return 0;
            }
            chunk = address;
            next = address + HEAD;
            limit = address + SIZE - 8;
            writer = 0;
        }
        if (writer != thread) {
            writer = thread;
            U.putLong(next + 8, thread);
            U.putLongRelease(null, next, Fissure.WRITER);
            next += 16;
        }
        return next;
    }

    void close(long at, int longs, long head) {
        U.putLongRelease(null, at, head);
        next = at + longs * 8L;
        lock = 0;
    }
}
