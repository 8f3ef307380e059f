package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What the recorder knows of one thread, and the end of its buffer.
 *
 * All but {@code shared} is touched by the thread itself alone, with two exceptions: the thread that starts it makes it,
 * and a table that grows copies the reference.
 */
final class FissureThread {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** How many operations of a thread may be between their two probes. */
    private static final int DEEPEST = 64;
    private static final int FIRST_CHUNK = 1 << 12;
    private static final int LARGEST_CHUNK = 1 << 18;
    /** What a chunk's head takes. */
    private static final int HEAD = 64;
    /** Room that is always left for the mark of a chunk's end. */
    private static final int TAIL = 8;
    private static final int BLOCK_OF_IDS = 1 << 10;

    static final int THREAD_SHIFT = 42;
    static final int MOST_THREADS = (1 << 22) - 2;
    private static final long SEGMENTS = (1L << 38) - 1;

    /** The thread's own number in the JVM; -1 fills empty places of the table. */
    final long tid;
    /** Its number in words and records, from 1. */
    final int number;
    /** Not null if the thread writes to chunks that it shares with others, as virtual threads do. */
    final FissureStripe stripe;

    /** The thread's word for a field of which enough reads and writes of this segment were kept. */
    long full;
    /** What marks objects that only this thread can know. */
    long fresh;
    /** Where the next record goes, and where records must end. */
    long next;
    long limit;
    /** The segment that the reader of the buffer knows of. */
    private long written;
    private int size = FIRST_CHUNK;
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
    FissureMore waitingFor;
    boolean waitingShared;
    int waitingSite;
    /** A call on a container that synchronizes itself: the access comes inside the section that the call will be. */
    Object expected;
    int expectedAccess;
    int expectedSite;

    /** The arrays that the thread touched last. */
    FissureArray array0;
    FissureArray array1;
    FissureArray array2;
    FissureArray array3;

    FissureThread(long tid, int number, FissureStripe stripe) {
        this.tid = tid;
        this.number = number;
        this.stripe = stripe;
        this.full = (long) number << THREAD_SHIFT | 15;
        this.fresh = 1L << 63 | (long) number << 41;
    }

    /** The thread's word without counts. */
    long word() {
        return full & ~15L;
    }

    long segment() {
        return full >>> 4 & SEGMENTS;
    }

    void endSegment() {
        full += 16;
        fresh++;
    }

    long newId() {
        if (nextId == lastId) {
            nextId = Fissure.ids(BLOCK_OF_IDS);
            lastId = nextId + BLOCK_OF_IDS;
        }
        return nextId++;
    }

    /** The place of a record of so many longs, or 0 if nothing is recorded any more. Ends with {@link #close}. */
    private long open(int longs) {
        FissureStripe stripe = this.stripe;
        if (stripe != null) {
            return stripe.open(this, longs);
        }
        long at = next;
        return at + longs * 8L <= limit ? at : refill(longs);
    }

    private void close(long at, int longs, long head) {
        // The head is what tells that the record is there, so it comes last.
        if (stripe != null) {
            stripe.close(at, longs, head);
        } else {
            U.putLongRelease(null, at, head);
            next = at + longs * 8L;
        }
    }

    private long refill(int longs) {
        long at = next;
        if (segment() > SEGMENTS >>> 1) {
            Fissure.stop("a thread ended too many segments");
            return 0;
        }
        if (at != 0) {
            U.putLongRelease(null, at, Fissure.END_OF_CHUNK);
        }
        long address = Fissure.newChunk(number, size);
        if (address == 0) {
            next = 0;
            limit = 0;
            return 0;
        }
        next = address + HEAD;
        limit = address + size - TAIL;
        if (size < LARGEST_CHUNK) {
            size <<= 2;
        }
        return next;
    }

    /** The bit that says that a new segment begins with this record. If it is not the next one, a record says which. */
    private long segmentBit() {
        long segment = segment();
        long more = segment - written;
        if (more == 0) {
            return 0;
        }
        if (more != 1) {
            long at = open(2);
            if (at == 0) {
                return 0;
            }
            U.putLong(at + 8, segment);
            close(at, 2, Fissure.SEGMENT);
            written = segment;
            return 0;
        }
        written = segment;
        return Fissure.NEW_SEGMENT;
    }

    private long head(int op, int extra, int site) {
        if (!begun) {
            begin();
        }
        if (waitingFor != null) {
            settleWait();
        }
        if (lost != 0) {
            int count = lost;
            lost = 0;
            endSegment();
            append(Fissure.LOST, 0, 0, count);
        }
        return (long) site << 32 | (long) extra << 8 | segmentBit() | op;
    }

    void append(int op, int extra, int site) {
        long head = head(op, extra, site);
        long at = open(1);
        if (at != 0) {
            close(at, 1, head);
        }
    }

    void append(int op, int extra, int site, long a) {
        long head = head(op, extra, site);
        long at = open(2);
        if (at != 0) {
            U.putLong(at + 8, a);
            close(at, 2, head);
        }
    }

    void append(int op, int extra, int site, long a, long b) {
        long head = head(op, extra, site);
        long at = open(3);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            close(at, 3, head);
        }
    }

    void append(int op, int extra, int site, long a, long b, long c) {
        long head = head(op, extra, site);
        long at = open(4);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            U.putLong(at + 24, c);
            close(at, 4, head);
        }
    }

    void append(int op, int extra, int site, long a, long b, long c, long d) {
        long head = head(op, extra, site);
        long at = open(5);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            U.putLong(at + 24, c);
            U.putLong(at + 32, d);
            close(at, 5, head);
        }
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
        FissureMore lock = waitingFor;
        if (lock != null) {
            waitingFor = null;
            endSegment();
            int op = Fissure.ACQUIRE + (waitingShared ? 3 : 2);
            append(op, lock.type, waitingSite, lock.id, lock.turn(waitingShared), activation);
        }
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
        if (pendingSites == null) {
            pendingObjects = new Object[DEEPEST];
            pendingMores = new FissureMore[DEEPEST];
            pendingNumbers = new long[DEEPEST];
            pendingCalls = new int[DEEPEST];
            pendingSites = new int[DEEPEST];
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
