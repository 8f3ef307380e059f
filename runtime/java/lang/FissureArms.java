package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Arms of branches that a thread did not take: what they would have done, with the objects that the thread has at the
 * branch. They are thought through, never run: fields are read where they lie, and what cannot be known is left out.
 *
 * One for each thread that comes to such a branch. crates/instrument/src/arms/code.rs has the same operations.
 */
final class FissureArms {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final int READ = 1;
    private static final int WRITE = 2;
    private static final int READ_STATIC = 3;
    private static final int WRITE_STATIC = 4;
    private static final int ENTER = 5;
    private static final int LEAVE = 6;
    private static final int BRANCH = 7;
    private static final int BEGIN = 8;
    private static final int END = 9;
    private static final int AGAIN = 10;
    private static final int CLASS = 11;
    private static final int CALL = 12;
    private static final int INVOKE = 13;

    /** Events of the arms of one branch, and how deep sections and branches may nest in them. */
    private static final int MOST_EVENTS = 192;
    private static final int DEEPEST = 16;
    /** How deep calls may be in an arm, and how many registers and operations there are in all. */
    private static final int MOST_CALLS = 3;
    private static final int MOST_REGISTERS = 2_000;
    private static final int MOST_OPERATIONS = 1_000;
    /** Values that an arm writes and may read again. */
    private static final int MOST_WRITTEN = 32;
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

    /** Where a section was not entered because nobody can say which lock it takes. */
    private static final int DROPPED = 1;
    /** The thread holds the lock already, or there was no room to tell. */
    private static final int SILENT = 2;
    private static final int SHARED = 4;
    private static final int NOT_LEFT = 0;

    private Object[] registers = new Object[32];
    /** Registers that are in use, and the most that were since they were cleared. */
    private int top;
    private int highest;
    private int calls;
    private final FissureCallee[] called = new FissureCallee[MOST_CALLS];
    private int fuel;

    // What the arms do. An operation of records, or one of the three below, with its number of a field or class, its site and
    // its object.
    private final int[] operations = new int[MOST_EVENTS];
    private final int[] extras = new int[MOST_EVENTS];
    private final int[] sites = new int[MOST_EVENTS];
    private final long[] ids = new long[MOST_EVENTS];
    private int events;

    private final Object[] locks = new Object[DEEPEST];
    private final FissureLock[] states = new FissureLock[DEEPEST];
    private final int[] how = new int[DEEPEST];
    /** How many arms were around the place where it was left, if that was in an arm further inside. */
    private final int[] leftIn = new int[DEEPEST];
    private int sections;
    /** Sections that are not entered: nothing in them is told. */
    private int dropped;

    /** Whether something had no room. */
    private boolean isFull;

    /** Branches inside: how many sections there were where the arm began, and the event that it began with. */
    private final int[] sectionsBefore = new int[DEEPEST];
    private final int[] begins = new int[DEEPEST];
    private int nested;
    /** By how deep a branch is: whether no arm of it was told yet. */
    private final boolean[] isFirst = new boolean[DEEPEST];

    private final Object[] writtenTo = new Object[MOST_WRITTEN];
    private final Object[] written = new Object[MOST_WRITTEN];
    private final int[] writtenFields = new int[MOST_WRITTEN];
    private int writes;
    /** Whether an arm has made an object known to others. */
    private boolean published;

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
                Object[] registers = arms.registers(branch.registers);
                registers[0] = a;
                registers[1] = b;
                registers[2] = c;
                registers[3] = d;
                registers[4] = e;
                registers[5] = f;
                return arms.tell(s, branch, isSwitch ? branch.armOf(taken) : taken, base, count);
            } finally {
                arms.clear();
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

    private Object[] registers(int count) {
        if (count > registers.length) {
            registers = new Object[count + 32];
        }
        top = count;
        highest = count;
        return registers;
    }

    /** Keeps no object of the application alive. */
    private void clear() {
        for (int i = 0; i < highest; i++) {
            registers[i] = null;
        }
        for (int i = 0; i < DEEPEST; i++) {
            locks[i] = null;
            states[i] = null;
        }
        forgetWrites();
    }

    private int tell(FissureThread s, FissureBranch branch, int taken, int base, int count) {
        events = 0;
        for (int arm = 0; arm < branch.arms.length; arm++) {
            boolean isOver = arm == branch.stays && (count < 0 || count > 1);
            if (arm == taken || branch.arms[arm].length == 0 || isOver) {
                continue;
            }
            sections = 0;
            dropped = 0;
            nested = 0;
            calls = 0;
            fuel = MOST_OPERATIONS;
            isFull = false;
            published = false;
            forgetWrites();
            int before = events;
            if (begin(arm, branch.site)) {
                think(s, branch.arms[arm], branch.names, 0, arm == branch.stays ? count : 0);
                leaveAll(branch.site);
                end(before);
            }
        }
        if (events == 0 || !isNew(s, branch)) {
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
        for (int i = 0; i < events; i++) {
            hash = (hash ^ ids[i]) * 0x9e3779b97f4a7c15L;
            hash = (hash ^ hash >>> 32 ^ operations[i] ^ (long) sites[i] << 8) * 0xbf58476d1ce4e5b9L;
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
        for (int i = 0; i < events; i++) {
            int operation = operations[i];
            switch (operation) {
                case Fissure.ARM_SPECULATED -> {
                    long number = id;
                    if (depth > 0) {
                        if (inside == null) {
                            inside = new long[DEEPEST + 2];
                        }
                        if (ids[i] != 0 || inside[depth] == 0) {
                            inside[depth] = (long) s.number << 40 | ++lastBranch & 0xffffffffffL;
                        }
                        number = inside[depth];
                    }
                    depth++;
                    s.append(operation, extras[i], sites[i], number);
                }
                case Fissure.ARM_END -> {
                    depth--;
                    s.append(operation, 0, sites[i], depth == 0 ? id : inside[depth]);
                }
                case Fissure.VOLATILE, Fissure.VOLATILE + 1, Fissure.ATOMIC, Fissure.ATOMIC + 1, Fissure.ATOMIC + 2,
                        Fissure.MODELLED, Fissure.MODELLED + 1, Fissure.MODELLED + 2 ->
                    // No numbers of the variable's own: the second is below the first.
                    s.append(operation, extras[i], sites[i], ids[i], 1, 0);
                default -> s.append(operation, extras[i], sites[i], ids[i]);
            }
        }
    }

    private void forgetWrites() {
        for (int i = 0; i < writes; i++) {
            writtenTo[i] = null;
            written[i] = null;
        }
        writes = 0;
    }

    // Thinking an arm through.

    /**
     * Goes through code whose registers begin at {@code base}. Sections that are open at its end stay open; branches do not.
     * {@code count} is how often the loop ran that the code is a turn of. False if nobody knows what comes after it.
     */
    private boolean think(FissureThread s, int[] code, String[] names, int base, int count) {
        int around = nested;
        int at = 0;
        while (at < code.length) {
            if (--fuel < 0) {
                unnest(around);
                return false;
            }
            switch (code[at]) {
                case READ -> {
                    int to = code[at + 1];
                    Object value = read(s, registers[base + code[at + 2]], code[at + 3], code[at + 4], to >= 0);
                    set(base, to, value);
                    at += 5;
                }
                case WRITE -> {
                    write(s, registers[base + code[at + 1]], code[at + 2], get(base, code[at + 3]), code[at + 4]);
                    at += 5;
                }
                case READ_STATIC -> {
                    int to = code[at + 1];
                    set(base, to, readStatic(s, code[at + 2], code[at + 3], to >= 0));
                    at += 4;
                }
                case WRITE_STATIC -> {
                    writeStatic(s, code[at + 1], get(base, code[at + 2]), code[at + 3]);
                    at += 4;
                }
                case ENTER -> {
                    enter(s, get(base, code[at + 1]), false, code[at + 2]);
                    at += 3;
                }
                case LEAVE -> {
                    leave(s, get(base, code[at + 1]), false, code[at + 2]);
                    at += 3;
                }
                case BRANCH -> {
                    // The next arm is the first of a new branch.
                    isFirst[nested] = true;
                    at++;
                }
                case BEGIN -> {
                    if (nested == DEEPEST - 1 || !begin(code[at + 1], code[at + 2])) {
                        unnest(around);
                        return false;
                    }
                    ids[events - 1] = isFirst[nested] ? 1 : 0;
                    isFirst[nested] = false;
                    sectionsBefore[nested] = sections;
                    begins[nested] = events - 1;
                    nested++;
                    at += 3;
                }
                case END -> {
                    endNested();
                    at++;
                }
                case AGAIN -> {
                    if (count > 0) {
                        unnest(around);
                        return true;
                    }
                    at++;
                }
                case CLASS -> {
                    set(base, code[at + 1], FissureSpot.loaded(names[code[at + 2]]));
                    at += 3;
                }
                case CALL -> {
                    call(s, get(base, code[at + 1]), code[at + 2], code[at + 3]);
                    at += 4;
                }
                case INVOKE -> {
                    if (!invoke(s, code, at, base)) {
                        at = endOfArm(code, at);
                        if (at < 0) {
                            unnest(around);
                            return false;
                        }
                    } else {
                        at += 5 + code[at + 4];
                    }
                }
                default -> {
                    unnest(around);
                    return false;
                }
            }
        }
        unnest(around);
        return true;
    }

    private Object get(int base, int register) {
        return register < 0 ? null : registers[base + register];
    }

    private void set(int base, int register, Object value) {
        if (register >= 0) {
            registers[base + register] = value;
        }
    }

    /** Where the arm ends that has the operation at a place; -1 if it is in none. */
    private static int endOfArm(int[] code, int from) {
        int depth = 0;
        int at = from;
        while (at < code.length) {
            switch (code[at]) {
                case BEGIN -> depth++;
                case END -> {
                    if (depth-- == 0) {
                        return at;
                    }
                }
                default -> {
                }
            }
            at += length(code, at);
        }
        return -1;
    }

    private static int length(int[] code, int at) {
        return switch (code[at]) {
            case READ, WRITE -> 5;
            case READ_STATIC, WRITE_STATIC, CALL -> 4;
            case ENTER, LEAVE, BEGIN, CLASS -> 3;
            case INVOKE -> 5 + code[at + 4];
            default -> 1;
        };
    }

    /** A call of a method with code that is watched. False if nobody knows what comes after it. */
    private boolean invoke(FissureThread s, int[] code, int at, int base) {
        boolean isDispatched = code[at + 1] != 0;
        int count = code[at + 4];
        Object receiver = isDispatched ? get(base, code[at + 5]) : null;
        if (isDispatched && receiver == null || calls == MOST_CALLS) {
            return true;
        }
        FissureCallee callee = FissureCallee.of(s, isDispatched ? receiver.getClass() : null, code[at + 2]);
        if (callee.code == null) {
            return true;
        }
        for (int i = 0; i < calls; i++) {
            if (called[i] == callee) {
                // It calls itself: once is enough.
                return true;
            }
        }
        int first = top;
        int needed = first + callee.registers;
        if (needed > MOST_REGISTERS) {
            return true;
        }
        if (needed > registers.length) {
            Object[] larger = new Object[needed + 64];
            System.arraycopy(registers, 0, larger, 0, registers.length);
            registers = larger;
        }
        top = needed;
        highest = Math.max(highest, top);
        for (int i = first; i < needed; i++) {
            registers[i] = null;
        }
        for (int i = 0; i < callee.handed.length; i++) {
            int slot = callee.handed[i];
            registers[first + i] = slot < count ? get(base, code[at + 5 + slot]) : null;
        }
        called[calls] = callee;
        int before = sections;
        calls++;
        boolean ends = think(s, callee.code, callee.names, first, 0) && callee.ends;
        calls--;
        top = first;
        if (!ends) {
            while (sections > before) {
                leaveLast(-1);
            }
        }
        Object result = get(first, callee.result);
        set(base, code[at + 3], result);
        return ends;
    }

    private void unnest(int least) {
        while (nested > least) {
            endNested();
        }
    }

    /** An arm inside is over: what it took is given back, and nobody knows whether it wrote what it wrote. */
    private void endNested() {
        while (sections > sectionsBefore[nested - 1]) {
            leaveLast(-1);
        }
        nested--;
        for (int i = 0; i < sections; i++) {
            // It may have left what was taken before it; the next arm has it still.
            if (leftIn[i] > nested) {
                leftIn[i] = NOT_LEFT;
                dropped += (how[i] & DROPPED) != 0 ? 1 : 0;
            }
        }
        end(begins[nested]);
        for (int i = 0; i < writes; i++) {
            written[i] = null;
        }
    }

    private boolean begin(int arm, int site) {
        if (events > MOST_EVENTS - 2 * DEEPEST - 2) {
            return false;
        }
        put(Fissure.ARM_SPECULATED, arm, site, 0);
        return true;
    }

    /** Ends the arm that began with an event, or takes it back if nothing happens in it. */
    private void end(int begin) {
        if (events == begin + 1) {
            events = begin;
            isFirst[nested] |= ids[begin] != 0;
        } else {
            put(Fissure.ARM_END, 0, sites[begin], 0);
        }
    }

    private void put(int operation, int extra, int site, long id) {
        operations[events] = operation;
        extras[events] = extra;
        sites[events] = site;
        ids[events] = id;
        events++;
    }

    /** Room is left for the ends of all arms and sections. Once something had none, nothing that follows is told. */
    private boolean add(int operation, int extra, int site, long id) {
        isFull |= events >= MOST_EVENTS - 2 * DEEPEST;
        boolean isTold = dropped == 0 && !isFull;
        if (isTold) {
            put(operation, extra, site, id);
        }
        return isTold;
    }

    private Object read(FissureThread s, Object o, int ref, int site, boolean isWanted) {
        FissureSpot spot = o == null ? null : FissureSpot.of(o, ref);
        Object holder = spot == null ? null : spot.holder(o, false);
        if (holder == null) {
            return null;
        }
        access(s, o, ref, site, false);
        return isWanted ? value(spot, holder, ref) : null;
    }

    private void write(FissureThread s, Object o, int ref, Object value, int site) {
        FissureSpot spot = o == null ? null : FissureSpot.of(o, ref);
        Object holder = spot == null ? null : spot.holder(o, false);
        if (holder != null) {
            access(s, o, ref, site, true);
            note(s, spot, holder, o, ref, value);
        }
    }

    private Object readStatic(FissureThread s, int ref, int site, boolean isWanted) {
        FissureSpot spot = FissureSpot.of(null, ref);
        Object holder = spot == null ? null : spot.holder(null, true);
        if (holder == null) {
            return null;
        }
        access(s, null, ref, site, false);
        return isWanted ? value(spot, holder, ref) : null;
    }

    private void writeStatic(FissureThread s, int ref, Object value, int site) {
        FissureSpot spot = FissureSpot.of(null, ref);
        Object holder = spot == null ? null : spot.holder(null, true);
        if (holder != null) {
            access(s, null, ref, site, true);
            note(s, spot, holder, null, ref, value);
        }
    }

    /** The access as an event, unless nobody else can know the object. */
    private void access(FissureThread s, Object o, int ref, int site, boolean write) {
        FissureRef r = FissureRefs.of(s, o, ref);
        if (r == null || FissureRefs.isIgnored(ref)) {
            return;
        }
        if (o != null && !published && r.idOffset > 0 && U.getLong(o, r.idOffset) == s.fresh) {
            return;
        }
        if (write && (r.isReference || r.isVolatile)) {
            published = true;
        }
        if (dropped == 0) {
            long id = r.of != null ? 0 : FissureIdentity.id(s, o, r);
            int plain = write ? Fissure.FIELD + Fissure.WRITE : Fissure.FIELD;
            add(r.isVolatile ? Fissure.VOLATILE + (write ? 1 : 0) : plain, r.field, site, id);
        }
    }

    /** An arm's own writes come before what a field has. */
    private Object value(FissureSpot spot, Object holder, int ref) {
        if (writes > 0) {
            FissureRef r = FissureRefs.of(null, holder instanceof Class<?> ? null : holder, ref);
            for (int i = writes - 1; r != null && i >= 0; i--) {
                if (writtenTo[i] == holder && writtenFields[i] == r.field) {
                    return written[i];
                }
            }
        }
        return spot.value(holder);
    }

    private void note(FissureThread s, FissureSpot spot, Object holder, Object o, int ref, Object value) {
        FissureRef r = spot.isReference ? FissureRefs.of(s, o, ref) : null;
        if (r == null) {
            return;
        }
        if (writes == MOST_WRITTEN) {
            isFull = true;
            return;
        }
        writtenTo[writes] = holder;
        writtenFields[writes] = r.field;
        written[writes] = value;
        writes++;
    }

    // Sections.

    private void enter(FissureThread s, Object lock, boolean shared, int site) {
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

    private void leave(FissureThread s, Object lock, boolean shared, int site) {
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

    private void leaveAll(int site) {
        while (sections > 0) {
            leaveLast(site);
        }
    }

    // Calls that are modelled.

    private void call(FissureThread s, Object subject, int call, int site) {
        int operation = call & 0xff;
        switch (operation) {
            case FissureCalls.LOCK, FissureCalls.LOCK_SHARED -> {
                boolean shared = subject != null
                        && (operation == FissureCalls.LOCK_SHARED || FissureLocks.isShared(subject));
                enter(s, lockOf(subject), shared, site);
            }
            case FissureCalls.UNLOCK, FissureCalls.UNLOCK_SHARED -> {
                boolean shared = subject != null
                        && (operation == FissureCalls.UNLOCK_SHARED || FissureLocks.isShared(subject));
                leave(s, lockOf(subject), shared, site);
            }
            case FissureCalls.ATOMIC_READ, FissureCalls.ATOMIC_WRITE, FissureCalls.ATOMIC_UPDATE -> {
                if (subject != null && dropped == 0) {
                    FissureMore of = FissureIdentity.more(s, subject, FissureMore.CONTENTS);
                    add(Fissure.ATOMIC + operation - FissureCalls.ATOMIC_READ, of.type, site, of.id);
                }
            }
            case FissureCalls.READ, FissureCalls.WRITE, FissureCalls.UPDATE -> {
                if (subject != null && !subject.getClass().isArray() && dropped == 0) {
                    contents(s, FissureCalls.viewed(s, subject), operation - FissureCalls.READ, site);
                }
            }
            default -> {
            }
        }
        published |= operation != FissureCalls.READ && operation != FissureCalls.ATOMIC_READ;
    }

    /** What stands for a lock of the platform. Of others nobody knows here what they do. */
    private static Object lockOf(Object subject) {
        boolean isOfPlatform = subject instanceof java.util.concurrent.locks.Lock
                || subject instanceof java.util.concurrent.locks.StampedLock;
        if (!isOfPlatform) {
            return null;
        }
        Object lock = FissureLocks.lockOf(subject);
        return lock != subject || subject instanceof java.util.concurrent.locks.StampedLock ? lock : null;
    }

    private void contents(FissureThread s, Object container, int access, int site) {
        int section = s.facts(container.getClass()).section;
        if (section == FissureClass.OWN) {
            FissureMore of = FissureIdentity.more(s, container, FissureMore.CONTENTS);
            add(Fissure.MODELLED + access, of.type, site, of.id);
            return;
        }
        Object monitor = section == FissureClass.ON_MONITOR ? FissureLocks.monitorOf(container) : null;
        if (monitor != null) {
            enter(s, monitor, false, site);
        }
        FissureMore of = FissureIdentity.word(s, container, FissureMore.CONTENTS);
        if (access != 1) {
            add(Fissure.CONTENTS, of.type, site, of.id);
        }
        if (access != 0) {
            add(Fissure.CONTENTS + Fissure.WRITE, of.type, site, of.id);
        }
        if (monitor != null) {
            leave(s, monitor, false, site);
        }
    }
}
