package java.lang;

import java.lang.ref.WeakReference;

/** The heap is the application's: where it gets short, the recorder gives back what it can, and stops if that is too little. */
final class FissureRoom {
    private static final long ALL = Runtime.getRuntime().maxMemory();
    /** What is left to the application: collectors need some megabytes to get on, if the heap has them. */
    private static final long LEFT = Math.max(ALL / 8, Math.min(6 << 20, ALL / 4));
    /** If more than this may be in use, it is time to look; if nearly as much is, to stop. */
    private static final long MUCH = ALL - LEFT;
    private static final long TOO_MUCH = MUCH - LEFT / 4;
    /** Of the time, so much may go into collections that are made to look. */
    private static final int SELDOM = 30;

    /** Nobody else knows its object: it is gone after the next collection. */
    private static volatile WeakReference<Object> sinceLast = new WeakReference<>(new Object());
    /** Counts the bytes that the recorder has kept. Its lock is held by the thread that looks. */
    private static final FissureReads KEPT = new FissureReads(0, 0, 0, null);
    /** In use after the last collection, and what was kept by then. */
    private static volatile long used;
    private static volatile long keptThen;
    /** Kept when somebody looked last, and when that may be done again. */
    private static long keptAtLook;
    private static long nextLook = System.nanoTime();

    private FissureRoom() {
    }

    /** The recorder is about to keep so many bytes. */
    static void check(int bytes) {
        long kept = KEPT.take(bytes) + bytes;
        if (sinceLast.refersTo(null)) {
            start();
        }
        if (used + kept - keptThen > MUCH) {
            look(kept);
        }
    }

    /** A collection is over. */
    private static void start() {
        sinceLast = new WeakReference<>(new Object());
        keptThen = KEPT.turns();
        used = inUse();
    }

    private static void look(long kept) {
        long begun = System.nanoTime();
        boolean isTooSoon = begun - nextLook < 0 && kept - keptAtLook < ALL / 16;
        if (KEPT.lock != 0 || isTooSoon) {
            return;
        }
        KEPT.lock = 1;
        giveBack();
        // Much of what is in use may be garbage.
        Fissure.collect(true);
        start();
        keptAtLook = keptThen;
        long now = System.nanoTime();
        nextLook = now + SELDOM * (now - begun);
        if (used > TOO_MUCH) {
            stop();
        }
        KEPT.lock = 0;
    }

    /** There is no room at all, or too little. What hangs on objects of the application stays with them. */
    static void stop() {
        if (Fissure.on) {
            Fissure.stop("the heap is too short for it");
            giveBack();
            FissureTable.clear();
        }
    }

    private static void giveBack() {
        FissureTable.sweep();
        FissureStates.forget();
    }

    private static long inUse() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
