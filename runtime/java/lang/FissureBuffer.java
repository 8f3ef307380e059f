package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/** The end of a thread's records, and the segment that they are of. */
class FissureBuffer {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int FIRST_CHUNK = 1 << 12;
    private static final int LARGEST_CHUNK = 1 << 18;
    /** What a chunk's head takes. */
    private static final int HEAD = 64;
    /** Room that is always left for the mark of a chunk's end. */
    private static final int TAIL = 8;

    static final int THREAD_SHIFT = 42;
    /** So that no thread's word is negative. */
    static final int MOST_THREADS = (1 << 21) - 2;
    static final long SEGMENTS = (1L << 38) - 1;

    /** The thread's number in words and records, from 1. */
    final int number;
    /** Not null if the thread writes to chunks that it shares with others, as virtual threads do. */
    private final FissureStripe stripe;

    /** The thread's word for a field of which enough reads and writes of this segment were kept. */
    long full;
    /** The segment that the reader of the records knows of. */
    private long written;
    /** Where the next record goes, and where records must end. */
    private long next;
    private long limit;
    /** Where the chunk begins that has both, and how long the next one is. */
    private long chunk;
    private int size = FIRST_CHUNK;

    FissureBuffer(int number, FissureStripe stripe) {
        this.number = number;
        this.stripe = stripe;
        // If all are kept, no word is ever the same.
        this.full = (long) number << THREAD_SHIFT | (Fissure.keepsAll ? 0 : 15);
    }

    /** The thread's word without counts. */
    long word() {
        return full & ~15L;
    }

    long segment() {
        return full >>> 4 & SEGMENTS;
    }

    /** The segment as a number that is not 0. It takes billions of segments for one to come again. */
    @ForceInline
    final int segmentStamp() {
        return (int) (full >>> 4) | 1 << 31;
    }

    /** The bit that says that a new segment begins with the next record. If it is not the next one, a record says which. */
    @ForceInline
    final long segmentBit() {
        long segment = segment();
        long more = segment - written;
        written = segment;
        if (more > 1) {
            tellSegment(segment);
            return 0;
        }
        return more == 0 ? 0 : Fissure.NEW_SEGMENT;
    }

    @DontInline
    private void tellSegment(long segment) {
        write(Fissure.SEGMENT, segment);
    }

    // A record's first number tells that it is there, so it is written last. Nothing is written once recording has stopped.

    final void write(long head) {
        long at = open(1);
        if (at != 0) {
            close(at, 1, head);
        }
    }

    final void write(long head, long a) {
        long at = open(2);
        if (at != 0) {
            U.putLong(at + 8, a);
            close(at, 2, head);
        }
    }

    final void write(long head, long a, long b) {
        long at = open(3);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            close(at, 3, head);
        }
    }

    final void write(long head, long a, long b, long c) {
        long at = open(4);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            U.putLong(at + 24, c);
            close(at, 4, head);
        }
    }

    final void write(long head, long a, long b, long c, long d) {
        long at = open(5);
        if (at != 0) {
            U.putLong(at + 8, a);
            U.putLong(at + 16, b);
            U.putLong(at + 24, c);
            U.putLong(at + 32, d);
            close(at, 5, head);
        }
    }

    /** The place of a record of so many longs, or 0 if nothing is recorded any more. Ends with {@link #close}. */
    @ForceInline
    private long open(int longs) {
        FissureStripe stripe = this.stripe;
        if (stripe != null) {
            return stripe.open(number, longs);
        }
        long at = next;
        return at + longs * 8L <= limit ? at : refill();
    }

    @ForceInline
    private void close(long at, int longs, long head) {
        if (stripe != null) {
            stripe.close(at, longs, head);
        } else {
            U.putLongRelease(null, at, head);
            next = at + longs * 8L;
        }
    }

    @DontInline
    private long refill() {
        if (segment() > SEGMENTS >>> 1) {
            Fissure.stop("a thread ended too many segments");
            return 0;
        }
        if (next != 0) {
            U.putLongRelease(null, next, Fissure.END_OF_CHUNK);
        }
        long last = chunk;
        chunk = 0;
        long address = Fissure.newChunk(number, size, last);
        if (address == 0) {
            next = 0;
            limit = 0;
            return 0;
        }
        chunk = address;
        next = address + HEAD;
        limit = address + size - TAIL;
        if (size < LARGEST_CHUNK) {
            size <<= 2;
        }
        return next;
    }

    /** Nothing more is written by this thread. */
    final void endChunk() {
        long last = chunk;
        if (last != 0) {
            U.putLongRelease(null, next, Fissure.END_OF_CHUNK);
            chunk = 0;
            next = 0;
            limit = 0;
            Fissure.chunk(number, 0, last);
        }
    }
}
