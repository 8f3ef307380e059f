package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * State of one part of one object, beyond the word that each field has: of its monitor, of a volatile, of contents, of a
 * field that is read by many or has no word of its own. Hangs on the object, or on its entry in the table.
 */
class FissureMore {
    private static final Unsafe U = Unsafe.getUnsafe();
    static final long WORD = U.objectFieldOffset(FissureMore.class, "word");
    private static final long TURN = U.objectFieldOffset(FissureMore.class, "turn");
    static final long LOCK = U.objectFieldOffset(FissureMore.class, "lock");

    static final int MONITOR = -1;
    static final int CONTENTS = -2;
    static final int ARRAY = -3;
    static final int TASK = -4;
    static final int DONE = -5;
    static final int THREAD = -6;

    /** Of which part: the number of a field, or one of the constants. */
    final int key;
    /** The object's number, and its class's. */
    final long id;
    final int type;
    final FissureMore next;

    /** The word of contents, and of a field whose class could not have one for it. */
    long word;
    /** Turns of a lock, numbers of a volatile, arrivals at a barrier. */
    private long turn;

    /**
     * Of a lock: the number of the thread that holds it alone, how often beyond the first time, and how much that thread
     * had lost. A reference to the thread would tell the collector of every section.
     */
    private int holder;
    private int depth;
    private int losses;

    /** Held while the fields below change. */
    volatile int lock;
    /** While the field is read by many: the word of the read that made it so, and how many reads were kept since. */
    long base;
    long reads;
    /** The words of readers, in a hash table by the thread's number. */
    private long[] readers;
    private int readerCount;

    FissureMore(int key, long id, int type, FissureMore next) {
        this.key = key;
        this.id = id;
        this.type = type;
        this.next = next;
    }

    /** The next number; of a lock, by its holder. */
    long turn(boolean shared) {
        if (shared) {
            return U.getAndAddLong(this, TURN, 1);
        }
        // Nobody else can be here: the thread holds the lock alone.
        return turn++;
    }

    /** The next so many numbers. */
    long take(int count) {
        return U.getAndAddLong(this, TURN, count);
    }

    long turns() {
        return U.getLongVolatile(this, TURN);
    }

    /** A lock is taken. Whether it was held by this thread already, which is no event. */
    boolean takenAgain(FissureThread s) {
        if (holder == s.number && losses == s.losses && !Fissure.keepsAll) {
            depth++;
            return true;
        }
        holder = s.number;
        losses = s.losses;
        depth = 0;
        return false;
    }

    /** A lock is about to be left. Whether this thread goes on holding it. */
    boolean keptOn(FissureThread s) {
        if (holder != s.number || losses != s.losses) {
            return false;
        }
        if (depth > 0) {
            depth--;
            return true;
        }
        holder = 0;
        return false;
    }

    /** The thread waits: how deep it holds the lock, for when it has it again. */
    int giveUp() {
        int deep = depth;
        holder = 0;
        depth = 0;
        return deep;
    }

    void hasAgain(FissureThread s, int deep) {
        holder = s.number;
        losses = s.losses;
        depth = deep;
    }

    /** The reader's word, or 0. May be out of date unless the lock is held. */
    long reader(int thread) {
        long[] all = readers;
        if (all == null) {
            return 0;
        }
        int mask = all.length - 1;
        for (int at = thread & mask; all[at] != 0; at = at + 1 & mask) {
            if (all[at] >>> FissureThread.THREAD_SHIFT == thread) {
                return all[at];
            }
        }
        return 0;
    }

    /**
     * With the lock held. Threads that are over make room for others; if too many are alive, the reader is not noted, and
     * more of its reads are kept than needed.
     */
    void setReader(int thread, long word) {
        long[] all = readers;
        if (all == null) {
            all = readers = new long[4];
        }
        int at = place(all, thread);
        if (all[at] == 0) {
            if (readerCount * 2 >= all.length) {
                all = withRoom();
                if (readerCount >= mostReaders()) {
                    return;
                }
                at = place(all, thread);
            }
            readerCount++;
        }
        all[at] = word;
    }

    /** Drops readers that are over, and makes the table as large as the others need. */
    private long[] withRoom() {
        long[] old = readers;
        int count = 0;
        for (long word : old) {
            if (word != 0 && !isOver(word)) {
                count++;
            }
        }
        int length = 4;
        while (length <= count * 2) {
            length *= 2;
        }
        // Others may look things up meanwhile: they have the old one.
        long[] all = new long[length];
        for (long word : old) {
            if (word != 0 && !isOver(word)) {
                all[place(all, (int) (word >>> FissureThread.THREAD_SHIFT))] = word;
            }
        }
        readerCount = count;
        U.storeFence();
        readers = all;
        return all;
    }

    static boolean isOver(long word) {
        return FissureStates.isOver((int) (word >>> FissureThread.THREAD_SHIFT));
    }

    /** How many readers are noted at most. */
    int mostReaders() {
        return 16;
    }

    private static int place(long[] all, int thread) {
        int mask = all.length - 1;
        int at = thread & mask;
        while (all[at] != 0 && all[at] >>> FissureThread.THREAD_SHIFT != thread) {
            at = at + 1 & mask;
        }
        return at;
    }

    /** With the lock held: the words of the readers that are noted, and 0 in empty places. */
    long[] readers() {
        return readers;
    }

    /** With the lock held. */
    void clearReaders() {
        readers = null;
        readerCount = 0;
    }
}
