package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * State of one part of one object, beyond the word that each field has: of a volatile, of a task, of what others wait for.
 * Hangs on the object, or on its entry in the table. There are many, so those who need more have a class of their own.
 */
class FissureMore {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long TURN = U.objectFieldOffset(FissureMore.class, "turn");

    static final int MONITOR = -1;
    static final int CONTENTS = -2;
    static final int ARRAY = -3;
    static final int TASK = -4;
    static final int DONE = -5;
    static final int THREAD = -6;
    static final int HANDLE = -7;

    /** Of which part: the number of a field, or one of the constants. */
    final int key;
    /** The object's number, and its class's. */
    final long id;
    final int type;
    final FissureMore next;

    /** Turns of a lock, numbers of a volatile, arrivals at a barrier. */
    private long turn;

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
}
