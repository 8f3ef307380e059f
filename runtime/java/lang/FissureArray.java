package java.lang;

/**
 * State of an array: one word while threads have it one after the other or only read it; one for each element once it is
 * seen that threads write to it at the same time, or again and again in turn.
 */
final class FissureArray extends FissureWord {
    final FissureEntry entry;
    /** Null while the array has one word. */
    long[] words;
    /** For elements that are read by many. */
    FissureReads[] shared;
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
