package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * State of an array: one word while threads have it one after the other or only read it; one for each element once it is
 * seen that threads write to it at the same time, or again and again in turn.
 */
final class FissureArray extends FissureWord {
    private static final Unsafe U = Unsafe.getUnsafe();
    final FissureEntry entry;
    /** Null while the array has one word. */
    long[] words;
    /** For elements that are read by many. */
    FissureReads[] shared;
    /** While it has one word and is read by many: where threads that read it often note that. */
    private FissureView views;
    private static final int MOST_VIEWS = 16;
    /** Reads that are kept before a thread gets one. */
    private static final int MANY = 32;
    /**
     * The last two owners by number, and what they had done until then. References would keep all that is known of a
     * thread as long as the array is there.
     */
    private int last;
    private int lastButOne;
    private int lastSyncs;
    private int lastButOneSyncs;
    private static final int MOST_HAND_OVERS = 8;
    /** How often it has gone from a thread that is not over to the next. */
    private int handOvers;

    FissureArray(FissureEntry entry, int type) {
        super(ARRAY, entry.id, type, null);
        this.entry = entry;
    }

    /** While it has one word: it is not known to which elements the reads of a segment were. */
    @Override
    boolean notesAll() {
        return true;
    }

    /** Where the thread notes its reads, or null. */
    FissureView view(int thread) {
        FissureView view = views;
        while (view != null && view.thread != thread) {
            view = view.next;
        }
        return view;
    }

    /** With the lock held, after a read that has this word: if there are many, the thread notes its next ones by itself. */
    void makeView(FissureThread s, long shared, long last) {
        int count = 0;
        for (FissureView view = views; view != null; view = view.next) {
            count++;
        }
        if (reads > MANY && count < MOST_VIEWS && view(s.number) == null) {
            FissureView made = new FissureView(s.number, this, views, shared, last);
            // Others look for theirs meanwhile.
            U.storeFence();
            views = made;
        }
    }

    /** With the lock held: puts the last reads that threads noted by themselves in the place of their earlier ones. */
    void putLast(long[] words) {
        // What a thread that is over did is there.
        U.loadFence();
        for (int at = 0; words != null && at < words.length; at++) {
            FissureView view = words[at] == 0 ? null : view((int) (words[at] >>> FissureThread.THREAD_SHIFT));
            if (view != null) {
                words[at] = view.last;
            }
        }
    }

    /** With the lock held: it is no longer read by many, as one. */
    void dropViews() {
        for (FissureView view = views; view != null; view = view.next) {
            // Threads keep theirs until they need the place.
            view.array = null;
        }
        views = null;
    }

    /** Whether the thread had the array and lost it, and did nothing since that could have ordered the two. */
    boolean isContended(FissureThread s) {
        return handOvers >= MOST_HAND_OVERS || last == s.number && lastSyncs == s.syncs
                || lastButOne == s.number && lastButOneSyncs == s.syncs;
    }

    /** The array has a new owner. */
    void setOwner(FissureThread s) {
        if (last != s.number) {
            if (last != 0 && !FissureStates.isOver(last)) {
                handOvers++;
            }
            lastButOne = last;
            lastButOneSyncs = lastSyncs;
            last = s.number;
        }
        lastSyncs = s.syncs;
    }
}
