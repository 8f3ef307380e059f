package java.lang;

import jdk.internal.vm.annotation.DontInline;

/**
 * What the recorder knows of one thread.
 *
 * All of it is touched by the thread itself alone, with two exceptions: the thread that starts it makes it,
 * and a table that grows copies the reference.
 */
final class FissureThread extends FissureMemory {
    /** How many operations of a thread may be between their two probes, at first and at most. */
    private static final int FIRST_DEEPEST = 4;
    private static final int DEEPEST = 64;
    private static final int BLOCK_OF_IDS = 1 << 10;
    /** Other threads whose segments a thread remembers to have reached it. */
    private static final int LEARNED = 16;
    /** Locks that a thread remembers to hold, as in crates/recording/src/convert.rs. */
    private static final int MOST_HELD = 16;

    /** The thread's own number in the JVM; -1 fills empty places of the table. */
    final long tid;
    /** What marks objects that only this thread can know. */
    long fresh;
    /** Segments that ended because of what the thread did, and not because of a word that it found. */
    int syncs;
    /** How often it was ordered among others, by a start, a join or something like a barrier. */
    int orders;
    /** How often something of this thread was lost: what it knew of the locks it holds counts no more. */
    int losses;
    private long nextId;
    private long lastId;
    /** Whether the thread is inside the recorder, whose own accesses are no events. */
    boolean busy;
    /** Whether its first event comes after a recorded start. */
    boolean started;
    boolean begun;
    /** Events that could not be written. */
    int lost;
    /** The innermost activation that is told, and those around it. */
    long activation;
    private long[] activations;
    private int depth;
    private int activationCount;

    /** Operations between their two probes, innermost last. */
    Object[] pendingObjects;
    FissureMore[] pendingMores;
    long[] pendingNumbers;
    int[] pendingSites;
    int[] pendingCalls;
    int pending;
    /** The lock that the thread gave up to wait, until it has it again. */
    FissureLock waitingFor;
    int waitingDepth;
    boolean waitingShared;
    int waitingSite;
    /** A call on a container that synchronizes itself: the access comes inside the section that the call will be. */
    Object expected;
    int expectedAccess;
    int expectedSite;

    /** Arms of branches, once it comes to one of which there is something to tell. */
    FissureArms arms;

    /** Words of other threads: the latest segment of each that has reached this thread. */
    private long[] learned;

    /**
     * The objects whose locks the thread holds alone, by number, innermost last, each with its turn behind it; the reader
     * of its records keeps the same list.
     */
    private long[] held;
    private int heldCount;

    /** What is known of the classes of objects that the thread asked about last. */
    private FissureClass.Facts facts0;
    private FissureClass.Facts facts1;

    /** Objects without a field for their number that the thread asked about last. */
    private FissureEntry entry0;
    private FissureEntry entry1;
    private FissureEntry entry2;
    private FissureEntry entry3;
    private int nextEntry;

    FissureThread(long tid, int number, FissureStripe stripe) {
        super(number, stripe);
        this.tid = tid;
        this.fresh = 1L << 63 | (long) number << 41;
    }

    void endSegment() {
        breakSegment();
        syncs++;
    }

    /** Others may know from now on what only this thread knew. */
    void publish() {
        fresh++;
    }

    /** Whether the segment of another thread's word has reached this thread before. */
    boolean hasLearned(long word) {
        long[] learned = this.learned;
        if (learned == null) {
            return false;
        }
        long last = learned[(int) (word >>> THREAD_SHIFT) & LEARNED - 1];
        return last >>> THREAD_SHIFT == word >>> THREAD_SHIFT && (last | 15) >= (word | 15);
    }

    /** The segment of another thread's word has reached this thread. One that is forgotten again costs a segment. */
    void learn(long word) {
        long[] learned = this.learned;
        if (learned == null) {
            learned = this.learned = new long[LEARNED];
        }
        int at = (int) (word >>> THREAD_SHIFT) & LEARNED - 1;
        if (last(learned[at], word) < word) {
            learned[at] = word;
        }
    }

    /** A thread that starts this one hands on what has reached it, and itself. */
    void learnAll(FissureThread parent) {
        if (parent.learned != null) {
            learned = parent.learned.clone();
        }
        learn(parent.word());
    }

    /** The word of a segment that the thread of this number does not get to any more. */
    static long lastWord(long number) {
        return number << THREAD_SHIFT | SEGMENTS << 4;
    }

    private static long last(long learned, long word) {
        return learned >>> THREAD_SHIFT == word >>> THREAD_SHIFT ? learned : 0;
    }

    FissureClass.Facts facts(Class<?> type) {
        FissureClass.Facts facts = facts0;
        if (facts != null && facts.type.get() == type) {
            return facts;
        }
        facts = facts1;
        if (facts == null || facts.type.get() != type) {
            // The older one goes. Nothing is stored where either is right, since the collector is told of each store.
            facts = FissureClass.ALL.get(type);
            facts1 = facts0;
            facts0 = facts;
        }
        return facts;
    }

    /** The entry of an object that has no field for its number. */
    FissureEntry entry(Object o) {
        FissureEntry entry = lastEntry(o);
        if (entry == null) {
            entry = FissureTable.of(this, o);
            switch (nextEntry++ & 3) {
                case 0 -> entry0 = entry;
                case 1 -> entry1 = entry;
                case 2 -> entry2 = entry;
                default -> entry3 = entry;
            }
        }
        return entry;
    }

    /** The same if it was asked for lately, else null. To compute an object's hash is slow while it is locked. */
    FissureEntry lastEntry(Object o) {
        FissureEntry entry = entry0;
        if (entry != null && entry.get() == o) {
            return entry;
        }
        entry = entry1;
        if (entry != null && entry.get() == o) {
            return entry;
        }
        entry = entry2;
        if (entry != null && entry.get() == o) {
            return entry;
        }
        entry = entry3;
        return entry != null && entry.get() == o ? entry : null;
    }

    /** The thread has taken a lock for itself in this turn, and that is written. */
    private void hold(FissureMore lock, long turn) {
        int end = heldCount * 2;
        if (held == null) {
            held = new long[4];
        } else if (end == held.length && heldCount < MOST_HELD) {
            long[] larger = new long[MOST_HELD * 2];
            System.arraycopy(held, 0, larger, 0, end);
            held = larger;
        }
        if (heldCount < MOST_HELD) {
            held[end] = lock.id;
            held[end + 1] = turn;
            heldCount++;
        }
    }

    /** Whether a lock that is left in this turn is the one that was taken last, and in the turn before. */
    private boolean holdsLast(FissureMore lock, long turn) {
        int end = heldCount * 2;
        return end > 0 && held[end - 2] == lock.id && held[end - 1] + 1 == turn;
    }

    private void unhold(FissureMore lock) {
        for (int at = heldCount * 2 - 2; at >= 0; at -= 2) {
            if (held[at] == lock.id) {
                heldCount--;
                System.arraycopy(held, at + 2, held, at, heldCount * 2 - at);
                return;
            }
        }
    }

    /** A number for the locks that it holds alone. */
    long heldLocks() {
        long all = 0;
        for (int at = heldCount * 2 - 2; at >= 0; at -= 2) {
            all = all * 31 + held[at];
        }
        return all;
    }

    long newId() {
        if (nextId == lastId) {
            nextId = Fissure.ids(BLOCK_OF_IDS);
            lastId = nextId + BLOCK_OF_IDS;
        }
        return nextId++;
    }

    /** The first number of the next record. */
    private long head(int op, int extra, int site) {
        if (!begun || waitingFor != null || lost != 0) {
            tellFirst();
        }
        return (long) site << 32 | (long) extra << 8 | segmentBit() | op;
    }

    /** What comes before the next record. */
    @DontInline
    private void tellFirst() {
        begin();
        settleWait();
        tellLost();
    }

    /** After a loss the reader knows of no lock that is held. */
    private void tellLost() {
        if (lost != 0) {
            int count = lost;
            lost = 0;
            endSegment();
            append(Fissure.LOST, 0, 0, count);
            heldCount = 0;
        }
    }

    void append(int op, int extra, int site) {
        write(head(op, extra, site));
    }

    void append(int op, int extra, int site, long a) {
        write(head(op, extra, site), a);
    }

    void append(int op, int extra, int site, long a, long b) {
        write(head(op, extra, site), a, b);
    }

    void append(int op, int extra, int site, long a, long b, long c) {
        write(head(op, extra, site), a, b, c);
    }

    void append(int op, int extra, int site, long a, long b, long c, long d) {
        write(head(op, extra, site), a, b, c, d);
    }

    /** The thread's first event. */
    void begin() {
        if (!begun) {
            begun = true;
            append(Fissure.THREAD_BEGIN, started ? 1 : 0, 0, tid);
        }
    }

    /**
     * A thread that waited and does something again has its lock again: by the probe behind the wait, or by whatever
     * comes after an exception out of it.
     */
    void settleWait() {
        FissureLock lock = waitingFor;
        if (lock != null) {
            waitingFor = null;
            lock.hasAgain(this, waitingDepth);
            endSegment();
            acquired(2, lock, waitingShared, waitingSite);
        }
    }

    /** Writes that a lock is taken; {@code how} is 0, or 2 if it is taken again after a wait. */
    void acquired(int how, FissureMore lock, boolean shared, int site) {
        long turn = lock.turn(shared);
        append(Fissure.ACQUIRE + how + (shared ? 1 : 0), lock.type, site, lock.id, turn);
        if (!shared) {
            hold(lock, turn);
        }
    }

    /** Writes that a lock is left; {@code how} is 0, or 2 if it is left to wait. */
    void released(int how, FissureMore lock, boolean shared, int site) {
        long turn = lock.turn(shared);
        if (shared) {
            append(Fissure.RELEASE + how + 1, lock.type, site, lock.id, turn);
            return;
        }
        tellLost();
        if (how == 0 && holdsLast(lock, turn)) {
            append(Fissure.RELEASE_LAST, 0, site);
            heldCount--;
            return;
        }
        append(Fissure.RELEASE + how, lock.type, site, lock.id, turn);
        unhold(lock);
    }

    void enter(int site) {
        long[] all = activations;
        if (all == null) {
            all = activations = new long[16];
        } else if (depth == all.length) {
            long[] larger = new long[depth * 2];
            System.arraycopy(all, 0, larger, 0, depth);
            all = activations = larger;
        }
        all[depth++] = activation;
        activation = (long) number << 40 | ++activationCount & 0xffffffffL;
        append(Fissure.ENTER, 0, site, activation);
    }

    void exit(int site) {
        if (depth > 0) {
            append(Fissure.EXIT, 0, site, activation);
            activation = activations[--depth];
        }
    }

    void push(Object object, FissureMore more, long number, int call, int site) {
        if (pendingSites == null || pending == pendingSites.length && pending < DEEPEST) {
            makeRoom();
        }
        if (pending == DEEPEST) {
            // So deep only if exceptions left many behind: the oldest half is forgotten.
            int half = DEEPEST / 2;
            for (int i = 0; i < half; i++) {
                FissureCalls.orphan(this, i);
            }
            System.arraycopy(pendingObjects, half, pendingObjects, 0, half);
            System.arraycopy(pendingMores, half, pendingMores, 0, half);
            System.arraycopy(pendingNumbers, half, pendingNumbers, 0, half);
            System.arraycopy(pendingCalls, half, pendingCalls, 0, half);
            System.arraycopy(pendingSites, half, pendingSites, 0, half);
            pending = half;
        }
        int at = pending++;
        pendingObjects[at] = object;
        pendingMores[at] = more;
        pendingNumbers[at] = number;
        pendingCalls[at] = call;
        pendingSites[at] = site;
    }

    /** Threads are many, and most need little. */
    private void makeRoom() {
        int room = pendingSites == null ? FIRST_DEEPEST : pending * 4;
        Object[] objects = new Object[room];
        FissureMore[] mores = new FissureMore[room];
        long[] numbers = new long[room];
        int[] calls = new int[room];
        int[] sites = new int[room];
        if (pendingSites != null) {
            System.arraycopy(pendingObjects, 0, objects, 0, pending);
            System.arraycopy(pendingMores, 0, mores, 0, pending);
            System.arraycopy(pendingNumbers, 0, numbers, 0, pending);
            System.arraycopy(pendingCalls, 0, calls, 0, pending);
            System.arraycopy(pendingSites, 0, sites, 0, pending);
        }
        pendingObjects = objects;
        pendingMores = mores;
        pendingNumbers = numbers;
        pendingCalls = calls;
        pendingSites = sites;
    }

    /** Takes back what was pushed at this site, and what was left behind above it. -1 if there is nothing. */
    int pop(int site) {
        int at = pending - 1;
        while (at >= 0 && pendingSites[at] != site) {
            at--;
        }
        if (at >= 0) {
            while (pending > at + 1) {
                pending--;
                FissureCalls.orphan(this, pending);
                pendingObjects[pending] = null;
                pendingMores[pending] = null;
            }
            pending = at;
        }
        return at;
    }
}
