package java.lang;

/** State of a lock. */
final class FissureLock extends FissureMore {
    /**
     * The number of the thread that holds it alone, how often beyond the first time, and how much that thread had lost. A
     * reference to the thread would tell the collector of every section.
     */
    private int holder;
    private int depth;
    private int losses;

    FissureLock(long id, int type, FissureMore next) {
        super(MONITOR, id, type, next);
    }

    /** It is taken. Whether it was held by this thread already, which is no event. */
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

    /** Whether this thread holds it alone. */
    boolean isHeld(FissureThread s) {
        return holder == s.number && losses == s.losses;
    }

    /** Whether it does, and would no longer if it left it now. */
    boolean isHeldOnce(FissureThread s) {
        return isHeld(s) && depth == 0;
    }

    /** It is about to be left. Whether this thread goes on holding it. */
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
}
