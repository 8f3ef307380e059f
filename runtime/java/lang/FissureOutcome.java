package java.lang;

/**
 * What arms that a thread did not take would have done, as events in the making: accesses, and the sections and arms that
 * they are in. An operation of records, or one of three for arms, with its number of a field or class, its site and its
 * object.
 */
final class FissureOutcome {
    /** Events of the arms of one branch, and how deep sections and branches may nest in them. */
    private static final int MOST_EVENTS = 192;
    static final int DEEPEST = 16;

    /** Where a section was not entered because nobody can say which lock it takes. */
    private static final int DROPPED = 1;
    /** The thread holds the lock already, or there was no room to tell. */
    private static final int SILENT = 2;
    private static final int SHARED = 4;
    private static final int NOT_LEFT = 0;

    final int[] operations = new int[MOST_EVENTS];
    final int[] extras = new int[MOST_EVENTS];
    final int[] sites = new int[MOST_EVENTS];
    final long[] ids = new long[MOST_EVENTS];
    int events;

    private final Object[] locks = new Object[DEEPEST];
    private final FissureLock[] states = new FissureLock[DEEPEST];
    private final int[] how = new int[DEEPEST];
    /** How many arms were around the place where it was left, if that was in an arm further inside. */
    private final int[] leftIn = new int[DEEPEST];
    private int sections;
    /** Sections that are not entered: nothing in them is told. */
    private int dropped;

    /** Whether something had no room: nothing that follows is told. */
    boolean isFull;

    /** Branches inside: how many sections there were where the arm began, and the event that it began with. */
    private final int[] sectionsBefore = new int[DEEPEST];
    private final int[] begins = new int[DEEPEST];
    private int nested;
    /** By how deep a branch is: whether no arm of it was told yet. */
    private final boolean[] isFirst = new boolean[DEEPEST];

    /** The first event of an arm of the branch itself. False if there is no room for another arm. */
    boolean begin(int arm, int site) {
        sections = 0;
        dropped = 0;
        nested = 0;
        isFull = false;
        return open(arm, site);
    }

    /** The arm is over that began with an event. */
    void end(int begin, int site) {
        leaveTo(0, site);
        close(begin);
    }

    /** Keeps no object of the application alive. */
    void clear() {
        for (int i = 0; i < DEEPEST; i++) {
            locks[i] = null;
            states[i] = null;
        }
    }

    boolean isTold() {
        return dropped == 0;
    }

    int sections() {
        return sections;
    }

    // Branches inside.

    int nested() {
        return nested;
    }

    /** The next arm is the first of a new branch. */
    void branch() {
        isFirst[nested] = true;
    }

    boolean beginNested(int arm, int site) {
        if (nested == DEEPEST - 1 || !open(arm, site)) {
            return false;
        }
        ids[events - 1] = isFirst[nested] ? 1 : 0;
        isFirst[nested] = false;
        sectionsBefore[nested] = sections;
        begins[nested] = events - 1;
        nested++;
        return true;
    }

    /** An arm inside is over: what it took is given back. */
    void endNested() {
        leaveTo(sectionsBefore[nested - 1], -1);
        nested--;
        for (int i = 0; i < sections; i++) {
            // It may have left what was taken before it; the next arm has it still.
            if (leftIn[i] > nested) {
                leftIn[i] = NOT_LEFT;
                dropped += (how[i] & DROPPED) != 0 ? 1 : 0;
            }
        }
        close(begins[nested]);
    }

    private boolean open(int arm, int site) {
        if (events > MOST_EVENTS - 2 * DEEPEST - 2) {
            return false;
        }
        put(Fissure.ARM_SPECULATED, arm, site, 0);
        return true;
    }

    /** Ends the arm that began with an event, or takes it back if nothing happens in it. */
    private void close(int begin) {
        if (events == begin + 1) {
            events = begin;
            isFirst[nested] |= ids[begin] != 0;
        } else {
            put(Fissure.ARM_END, 0, sites[begin], 0);
        }
    }

    /** Room is left for the ends of all arms and sections. Once something had none, nothing that follows is told. */
    boolean add(int operation, int extra, int site, long id) {
        isFull |= events >= MOST_EVENTS - 2 * DEEPEST;
        boolean isTold = dropped == 0 && !isFull;
        if (isTold) {
            put(operation, extra, site, id);
        }
        return isTold;
    }

    private void put(int operation, int extra, int site, long id) {
        operations[events] = operation;
        extras[events] = extra;
        sites[events] = site;
        ids[events] = id;
        events++;
    }

    // Sections.

    void enter(FissureThread s, Object lock, boolean shared, int site) {
        if (sections == DEEPEST) {
            // What comes now would look as if it held less.
            isFull = true;
            return;
        }
        FissureLock state = lock == null ? null : FissureIdentity.monitor(s, lock);
        int kind = shared ? SHARED : 0;
        if (state == null) {
            kind |= DROPPED;
            dropped++;
        } else {
            int operation = shared ? Fissure.SPECULATED_ACQUIRE_SHARED : Fissure.SPECULATED_ACQUIRE;
            boolean isHeld = state.isHeld(s) || isEntered(lock);
            kind |= isHeld || !add(operation, state.type, site, state.id) ? SILENT : 0;
        }
        locks[sections] = lock;
        states[sections] = state;
        how[sections] = kind;
        leftIn[sections] = NOT_LEFT;
        sections++;
    }

    private boolean isEntered(Object lock) {
        for (int i = 0; i < sections; i++) {
            if (locks[i] == lock && leftIn[i] == NOT_LEFT) {
                return true;
            }
        }
        return false;
    }

    void leave(FissureThread s, Object lock, boolean shared, int site) {
        int at = sections - 1;
        while (at >= 0 && (locks[at] != lock || leftIn[at] != NOT_LEFT)) {
            at--;
        }
        if (at >= 0) {
            leaveAt(at, site);
        } else if (lock != null) {
            FissureLock state = FissureIdentity.monitor(s, lock);
            if (state.isHeldOnce(s)) {
                add(shared ? Fissure.SPECULATED_RELEASE_SHARED : Fissure.SPECULATED_RELEASE, state.type, site, state.id);
            }
        }
    }

    /** Leaves all sections beyond so many. */
    void leaveTo(int least, int site) {
        while (sections > least) {
            leaveLast(site);
        }
    }

    private void leaveLast(int site) {
        if (leftIn[sections - 1] == NOT_LEFT) {
            leaveAt(sections - 1, site);
        } else {
            sections--;
        }
    }

    private void leaveAt(int at, int site) {
        int kind = how[at];
        FissureLock state = states[at];
        if ((kind & DROPPED) != 0) {
            dropped--;
        } else if ((kind & SILENT) == 0) {
            // There is room: it was left when the lock was taken.
            int operation = (kind & SHARED) != 0 ? Fissure.SPECULATED_RELEASE_SHARED : Fissure.SPECULATED_RELEASE;
            put(operation, state.type, site, state.id);
        }
        if (at == sections - 1 && (nested == 0 || at >= sectionsBefore[nested - 1])) {
            sections--;
        } else {
            // At least 1, so that it is left in some arm.
            leftIn[at] = nested + 1;
        }
    }
}
