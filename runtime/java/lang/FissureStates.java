package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/** What is known of each thread, by the thread's own number. */
final class FissureStates {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long TID = U.objectFieldOffset(Thread.class, "tid");
    private static final int STRIPES = 64;
    private static final FissureStripe[] stripes = new FissureStripe[STRIPES];

    /** Stands for a thread of which nothing is known. */
    static final FissureThread NOBODY = new FissureThread(-1, 0, null);
    /** Fills places of the table whose thread is over, so that those behind it are found. */
    private static final FissureThread GONE = new FissureThread(-2, 0, null);
    /** Its lock is held while the table changes. */
    private static final FissureReads GLOBAL = new FissureReads(0, 0, 0, null);
    /** With open addressing; {@link #NOBODY} where nothing is. */
    private static FissureThread[] threads = empty(256);
    /** Places of the table that are not empty, and those of them whose thread is over. */
    private static int threadCount;
    private static int goneCount;
    private static int lastThread;
    /** A bit for each thread that is over, by its number. */
    private static long[] over = new long[16];
    /** How many bytes all threads together may have to remember what they know. */
    private static final long ROOM = Runtime.getRuntime().maxMemory() / 16;

    static {
        // Nothing is recorded of nobody.
        NOBODY.busy = true;
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new FissureStripe();
        }
    }

    private FissureStates() {
    }

    /** The state of this thread, or one that stands for none. */
    @ForceInline
    static FissureThread current() {
        long tid = U.getLong(Thread.currentThread(), TID);
        FissureThread[] all = threads;
        FissureThread s = all[home(tid, all.length - 1)];
        return s.tid == tid ? s : search(all, tid);
    }

    /**
     * Spreads numbers that follow each other. As they are, they fill the table in one piece, and who is not there is looked
     * for in all of it.
     */
    @ForceInline
    private static int home(long tid, int mask) {
        return (int) (tid * 0x9e3779b97f4a7c15L >>> 36) & mask;
    }

    private static FissureThread search(FissureThread[] all, long tid) {
        int mask = all.length - 1;
        for (int at = home(tid, mask); all[at] != NOBODY; at = at + 1 & mask) {
            if (all[at].tid == tid) {
                return all[at];
            }
        }
        return NOBODY;
    }

    /** The state of a thread, made if there is none. */
    static FissureThread of(Thread thread) {
        long tid = U.getLong(thread, TID);
        FissureThread found = search(threads, tid);
        if (found != NOBODY) {
            return found;
        }
        boolean isVirtual = isVirtual(thread);
        FissureThread made;
        Fissure.spin(GLOBAL, FissureReads.LOCK);
        try {
            found = search(threads, tid);
            if (found != NOBODY) {
                return found;
            }
            if (lastThread == FissureThread.MOST_THREADS) {
                Fissure.on = false;
                return null;
            }
            made = new FissureThread(tid, lastThread + 1, isVirtual ? stripes[(int) tid & STRIPES - 1] : null);
            lastThread++;
            if ((threadCount + 1) * 2 > threads.length) {
                grow();
            }
            put(threads, made);
            threadCount++;
        } finally {
            GLOBAL.lock = 0;
        }
        Fissure.row(2, made.number, thread.getName());
        return made;
    }

    static boolean isVirtual(Thread thread) {
        Class<?> above = thread.getClass().getSuperclass();
        return above != null && above.getName().equals("java.lang.BaseVirtualThread");
    }

    private static void put(FissureThread[] all, FissureThread s) {
        int mask = all.length - 1;
        int at = home(s.tid, mask);
        while (all[at] != NOBODY) {
            at = at + 1 & mask;
        }
        U.storeFence();
        all[at] = s;
    }

    private static void grow() {
        int live = threadCount - goneCount + 1;
        int length = threads.length;
        while (length < live * 4) {
            length *= 2;
        }
        FissureThread[] other = empty(length);
        for (FissureThread s : threads) {
            if (s != NOBODY && s != GONE) {
                put(other, s);
            }
        }
        threadCount -= goneCount;
        goneCount = 0;
        U.storeFence();
        threads = other;
    }

    /** Whether the thread of this number has ended, and all that it wrote is there. */
    static boolean isOver(int number) {
        long[] over = FissureStates.over;
        return number >>> 6 < over.length && (over[number >>> 6] >>> number & 1) != 0;
    }

    /** Whether each of the threads could have so many bytes. */
    static boolean hasRoomFor(long bytes) {
        return bytes * (threadCount - goneCount) <= ROOM;
    }

    static void remove(FissureThread s) {
        Fissure.spin(GLOBAL, FissureReads.LOCK);
        try {
            int at64 = s.number >>> 6;
            if (at64 >= over.length) {
                long[] larger = new long[at64 * 2];
                System.arraycopy(over, 0, larger, 0, over.length);
                over = larger;
            }
            over[at64] |= 1L << s.number;
            FissureThread[] all = threads;
            int mask = all.length - 1;
            for (int at = home(s.tid, mask); all[at] != NOBODY; at = at + 1 & mask) {
                if (all[at] == s) {
                    all[at] = GONE;
                    goneCount++;
                    return;
                }
            }
        } finally {
            GLOBAL.lock = 0;
        }
    }

    /** Has all threads give back what they can do without. */
    static void forget() {
        for (FissureThread s : threads) {
            s.forget();
        }
    }

    private static FissureThread[] empty(int length) {
        FissureThread[] all = new FissureThread[length];
        for (int i = 0; i < length; i++) {
            all[i] = NOBODY;
        }
        return all;
    }
}
