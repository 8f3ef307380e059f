package java.lang;

import jdk.internal.vm.annotation.DontInline;

/**
 * Arms of branches that a thread did not take: what they would have done, with the objects that the thread has at the
 * branch. Which of them are thought through ({@link FissureThoughts}), what of that is told, and which arms are open.
 *
 * One for each thread that comes to such a branch.
 */
final class FissureArms {
    /** Arms that are open at a time: more only if exceptions left them behind. */
    private static final int MOST_OPEN = 64;
    /** How often one branch is thought through before the thread does something that others can notice. */
    private static final int MOST_TIMES = 8;
    private static final int REMEMBERED = 256;
    /** How often the same is told while nothing orders the thread among others; then with ever longer pauses. */
    private static final int MOST_SAME = 16;
    /** Branches that told nothing so often in a row are thought through more seldom, until they do. */
    private static final int IDLE = 64;
    private static final int VERY_IDLE = 1 << 10;
    /** The same for virtual threads, of which there may be very many. */
    private static final int REMEMBERED_BY_MANY = 32;

    private final FissureThoughts thoughts = new FissureThoughts();
    private final FissureOutcome outcome = thoughts.outcome;

    // Arms that run.
    private final long[] openBranches = new long[MOST_OPEN];
    private final int[] openNumbers = new int[MOST_OPEN];
    private final int[] openJoins = new int[MOST_OPEN];
    private int open;
    private long lastBranch;

    // What was told since the thread did something that others can notice, and how often each branch was thought through.
    private final long[] told;
    private final long[] epochs;
    private final int[] times;
    /** By branch: how often in a row there was nothing to tell. */
    private final int[] idle;
    /** What was told since something ordered the thread among others, and how often. */
    private final long[] same;
    private final int[] timesSame;

    private FissureArms() {
        int remembered = FissureStates.isVirtual(Thread.currentThread()) ? REMEMBERED_BY_MANY : REMEMBERED;
        told = new long[remembered];
        epochs = new long[remembered];
        times = new int[remembered];
        idle = new int[remembered];
        same = new long[remembered];
        timesSame = new int[remembered];
    }

    /**
     * A branch that may have something to tell: {@code taken} is the arm that the thread takes, or the key if it is a switch.
     * Gives what the method is to keep: where its first open arm is.
     */
    @DontInline
    static int branch(
            FissureThread s, boolean isSwitch, int taken, int base, int count, int number,
            Object a, Object b, Object c, Object d, Object e, Object f) {
        if (!Fissure.take(s)) {
            return base;
        }
        try {
            FissureArms arms = s.arms;
            if (arms == null) {
                FissureRoom.check(16 << 10);
                arms = s.arms = new FissureArms();
            }
            FissureBranch branch = arms.isDue(s, number) ? FissureBranch.of(number) : null;
            if (branch == null) {
                return base;
            }
            try {
                Object[] registers = arms.thoughts.registers(branch.registers);
                registers[0] = a;
                registers[1] = b;
                registers[2] = c;
                registers[3] = d;
                registers[4] = e;
                registers[5] = f;
                return arms.tell(s, branch, isSwitch ? branch.armOf(taken) : taken, base, count);
            } finally {
                arms.thoughts.clear();
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
            return base;
        } finally {
            s.busy = false;
        }
    }

    /** The arms that come together here are over; with -1, all that the method has open. */
    @DontInline
    static int joined(FissureThread s, int base, int join) {
        if (!Fissure.take(s)) {
            return base;
        }
        try {
            FissureArms arms = s.arms;
            return arms == null ? 0 : arms.close(s, base, join);
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
            return base;
        } finally {
            s.busy = false;
        }
    }

    /** The thread begins a task: no arm of code that ran before is open. */
    void closeAll(FissureThread s) {
        closeTo(s, 0);
    }

    private int close(FissureThread s, int base, int join) {
        int first = base - 1;
        if (join >= 0) {
            while (first < open && openJoins[first] != join) {
                first++;
            }
        }
        closeTo(s, first);
        return open < base ? 0 : base;
    }

    private void closeTo(FissureThread s, int least) {
        if (open > least) {
            s.breakSegment();
        }
        while (open > least) {
            open--;
            s.append(Fissure.ARM_END, 0, -1, openBranches[open]);
        }
    }

    private boolean isDue(FissureThread s, int number) {
        if (Fissure.keepsAll) {
            return true;
        }
        int at = number & times.length - 1;
        long epoch = ((long) s.syncs << 32 | number & 0xffffffffL) ^ s.activation * 0x9e3779b97f4a7c15L;
        if (epochs[at] != epoch) {
            epochs[at] = epoch;
            times[at] = 0;
        }
        if (times[at]++ >= MOST_TIMES) {
            return false;
        }
        int quiet = idle[at]++;
        return quiet < IDLE || (quiet & (quiet < VERY_IDLE ? 7 : 63)) == 0;
    }

    private int tell(FissureThread s, FissureBranch branch, int taken, int base, int count) {
        outcome.events = 0;
        for (int arm = 0; arm < branch.arms.length; arm++) {
            boolean isOver = arm == branch.stays && (count < 0 || count > 1);
            if (arm == taken || branch.arms[arm].length == 0 || isOver) {
                continue;
            }
            thoughts.arm(s, branch, arm, arm == branch.stays ? count : 0);
        }
        if (outcome.events == 0 || !isNew(s, branch)) {
            return base;
        }
        idle[branch.number & idle.length - 1] = 0;
        s.begin();
        if (base > 0) {
            // A loop is here again, and its last turn did not come to where the arms meet.
            int first = base - 1;
            while (first < open && openNumbers[first] != branch.number) {
                first++;
            }
            closeTo(s, first);
        }
        long id = (long) s.number << 40 | ++lastBranch & 0xffffffffffL;
        s.breakSegment();
        append(s, id);
        s.breakSegment();
        s.append(Fissure.ARM, taken, branch.site, id);
        if ((branch.empty >>> taken & 1) != 0) {
            s.append(Fissure.ARM_END, 0, branch.site, id);
            return open < base ? 0 : base;
        }
        if (open == MOST_OPEN) {
            closeTo(s, 0);
        }
        int first = base > 0 && base <= open ? base : open + 1;
        openBranches[open] = id;
        openNumbers[open] = branch.number;
        openJoins[open] = branch.join;
        open++;
        return first;
    }

    /** Whether the same was not told already, of the same objects, since the thread did something that others can notice. */
    private boolean isNew(FissureThread s, FissureBranch branch) {
        if (Fissure.keepsAll) {
            return true;
        }
        long hash = ((long) s.orders << 32 | branch.number) ^ s.heldLocks() * 0x9e3779b97f4a7c15L;
        for (int i = 0; i < outcome.events; i++) {
            hash = (hash ^ outcome.ids[i]) * 0x9e3779b97f4a7c15L;
            hash = (hash ^ hash >>> 32 ^ outcome.operations[i] ^ (long) outcome.sites[i] << 8) * 0xbf58476d1ce4e5b9L;
        }
        int at = (int) (hash >>> 40) & told.length - 1;
        long here = (hash ^ (long) s.syncs << 32 ^ s.activation) * 0x9e3779b97f4a7c15L;
        if (told[at] == here) {
            return false;
        }
        told[at] = here;
        if (same[at] != hash) {
            same[at] = hash;
            timesSame[at] = 0;
        }
        int count = ++timesSame[at];
        return count <= MOST_SAME || (count & count - 1) == 0;
    }

    private void append(FissureThread s, long id) {
        // Each branch inside has a number of its own, by how deep it is.
        long[] inside = null;
        int depth = 0;
        for (int i = 0; i < outcome.events; i++) {
            int operation = outcome.operations[i];
            switch (operation) {
                case Fissure.ARM_SPECULATED -> {
                    long number = id;
                    if (depth > 0) {
                        if (inside == null) {
                            inside = new long[FissureOutcome.DEEPEST + 2];
                        }
                        if (outcome.ids[i] != 0 || inside[depth] == 0) {
                            inside[depth] = (long) s.number << 40 | ++lastBranch & 0xffffffffffL;
                        }
                        number = inside[depth];
                    }
                    depth++;
                    s.append(operation, outcome.extras[i], outcome.sites[i], number);
                }
                case Fissure.ARM_END -> {
                    depth--;
                    s.append(operation, 0, outcome.sites[i], depth == 0 ? id : inside[depth]);
                }
                case Fissure.VOLATILE, Fissure.VOLATILE + 1, Fissure.ATOMIC, Fissure.ATOMIC + 1, Fissure.ATOMIC + 2,
                        Fissure.MODELLED, Fissure.MODELLED + 1, Fissure.MODELLED + 2 ->
                    // No numbers of the variable's own: the second is below the first.
                    s.append(operation, outcome.extras[i], outcome.sites[i], outcome.ids[i], 1, 0);
                default -> s.append(operation, outcome.extras[i], outcome.sites[i], outcome.ids[i]);
            }
        }
    }
}
