package java.lang;

/**
 * Where one thread notes its reads of an array that many read, as one: nobody else writes to it, so that it takes no lock.
 * For arrays that are read again and again.
 */
final class FissureView {
    /** The thread's number. */
    final int thread;
    /** The array, until it is no longer read by many. */
    FissureArray array;
    /** The other threads that have one. */
    final FissureView next;
    /** The array's word while it is read by many, and the thread's word of its last read. */
    final long shared;
    long last;
    /** So that two threads that write to theirs do not write to one line of the processor's cache. */
    long unused0;
    long unused1;
    long unused2;
    long unused3;

    FissureView(int thread, FissureArray array, FissureView next, long shared, long last) {
        this.thread = thread;
        this.array = array;
        this.next = next;
        this.shared = shared;
        this.last = last;
    }
}
