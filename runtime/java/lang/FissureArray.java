package java.lang;

/**
 * State of an array: one word while threads have it one after the other or only read it; one for each element once it is
 * seen that threads write to it at the same time, or again and again in turn.
 */
final class FissureArray extends FissureMore {
    final FissureEntry entry;
    /** Null while the array has one word. */
    long[] words;
    /** For elements that are read by many. */
    FissureMore[] shared;
    /** The two owners before this one, and what they had done until then. */
    private FissureThread last;
    private FissureThread lastButOne;
    private int lastSyncs;
    private int lastButOneSyncs;
    private static final int MOST_HAND_OVERS = 8;
    /** How often it has gone from a thread that is not over to the next. */
    private int handOvers;

    FissureArray(FissureEntry entry, int type) {
        super(ARRAY, entry.id, type, null);
        this.entry = entry;
    }

    /** Whether the thread had the array and lost it, and did nothing since that could have ordered the two. */
    boolean isContended(FissureThread s) {
        return handOvers >= MOST_HAND_OVERS || last == s && lastSyncs == s.syncs || lastButOne == s && lastButOneSyncs == s.syncs;
    }

    /** The array has a new owner. */
    void setOwner(FissureThread s) {
        if (last != s) {
            if (last != null && !last.isOver) {
                handOvers++;
            }
            lastButOne = last;
            lastButOneSyncs = lastSyncs;
            last = s;
        }
        lastSyncs = s.syncs;
    }
}
