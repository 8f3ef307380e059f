package java.lang;

import jdk.internal.misc.Unsafe;

/** State of a field or element that is read by many. */
class FissureReads extends FissureMore {
    private static final Unsafe U = Unsafe.getUnsafe();
    static final long LOCK = U.objectFieldOffset(FissureReads.class, "lock");
    private static final int MOST_READERS = 16;

    /** Held while the fields below change. */
    volatile int lock;
    /** The word of the read that made it so, and how many reads were kept since. */
    long base;
    long reads;
    /** The words of two readers, and those of more: a hash table by the thread's number behind their count. */
    private long first;
    private long second;
    private long[] others;

    FissureReads(int key, long id, int type, FissureMore next) {
        super(key, id, type, next);
    }

    /** Gives the lock back. Who takes it next sees what was done, and nobody has to wait until it is seen. */
    final void unlock() {
        U.putIntRelease(this, LOCK, 0);
    }

    /** The reader's word, or 0. May be out of date unless the lock is held. */
    final long reader(int thread) {
        long word = first;
        if (isOf(word, thread)) {
            return word;
        }
        word = second;
        if (isOf(word, thread)) {
            return word;
        }
        long[] others = this.others;
        return others == null ? 0 : others[place(others, thread)];
    }

    /**
     * With the lock held. Readers that are over make room for others; if too many are alive, this one is not noted, and
     * more of its reads are kept than needed. Of a state that must note all: the words that may have been dropped.
     */
    final long[] setReader(int thread, long word) {
        if (isOf(first, thread) || first == 0) {
            first = word;
            return null;
        }
        if (isOf(second, thread) || second == 0) {
            second = word;
            return null;
        }
        long[] others = this.others;
        if (others != null && others[place(others, thread)] != 0) {
            others[place(others, thread)] = word;
            return null;
        }
        if (isOver(first)) {
            long[] dropped = notesAll() ? new long[] {first} : null;
            first = word;
            return dropped;
        }
        if (isOver(second)) {
            long[] dropped = notesAll() ? new long[] {second} : null;
            second = word;
            return dropped;
        }
        long[] dropped = null;
        if (others == null || others[0] * 2 >= others.length - 1) {
            dropped = notesAll() ? others : null;
            others = withRoom(others);
            if (others[0] + 2 >= MOST_READERS && !notesAll()) {
                return dropped;
            }
        }
        others[place(others, thread)] = word;
        others[0]++;
        return dropped;
    }

    /** Drops readers that are over, and makes a table as large as the others need. */
    private long[] withRoom(long[] old) {
        int count = 0;
        for (int at = 1; old != null && at < old.length; at++) {
            if (old[at] != 0 && !isOver(old[at])) {
                count++;
            }
        }
        int length = 4;
        while (length <= count * 2) {
            length *= 2;
        }
        long[] all = new long[length + 1];
        for (int at = 1; old != null && at < old.length; at++) {
            if (old[at] != 0 && !isOver(old[at])) {
                all[place(all, (int) (old[at] >>> FissureThread.THREAD_SHIFT))] = old[at];
            }
        }
        all[0] = count;
        // Others may look things up meanwhile.
        U.storeFence();
        others = all;
        return all;
    }

    /** Whether a write must come after each reader, and not after so many reads. */
    boolean notesAll() {
        return false;
    }

    /** Whether the thread of a word has ended. */
    static boolean isOver(long word) {
        return FissureStates.isOver((int) (word >>> FissureThread.THREAD_SHIFT));
    }

    private static boolean isOf(long word, int thread) {
        return word >>> FissureThread.THREAD_SHIFT == thread;
    }

    /** Where the thread's word is, or the empty place where it would be. */
    private static int place(long[] all, int thread) {
        int mask = all.length - 2;
        int at = thread & mask;
        while (all[at + 1] != 0 && !isOf(all[at + 1], thread)) {
            at = at + 1 & mask;
        }
        return at + 1;
    }

    /** With the lock held: the words of the readers that are noted, and 0 in empty places. */
    final long[] readers() {
        int more = others == null ? 0 : others.length - 1;
        long[] all = new long[more + 2];
        all[0] = first;
        all[1] = second;
        if (more > 0) {
            System.arraycopy(others, 1, all, 2, more);
        }
        return all;
    }

    /** With the lock held. */
    final void clearReaders() {
        first = 0;
        second = 0;
        others = null;
    }
}
