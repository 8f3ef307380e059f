package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Thinks an arm of a branch through that a thread did not take: goes over what it would do, with the objects that the
 * thread has, and runs nothing of it. Fields are read where they lie, and what cannot be known is left out.
 *
 * crates/instrument/src/arms/code.rs has the same operations.
 */
final class FissureThoughts {
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

    /** How deep calls may be in an arm, and how many registers and operations there are in all. */
    private static final int MOST_CALLS = 3;
    private static final int MOST_REGISTERS = 2_000;
    private static final int MOST_OPERATIONS = 1_000;
    /** Values that an arm writes and may read again. */
    private static final int MOST_WRITTEN = 32;

    final FissureOutcome outcome = new FissureOutcome();

    private Object[] registers = new Object[32];
    /** Registers that are in use, and the most that were since they were cleared. */
    private int top;
    private int highest;
    private int calls;
    private final FissureCallee[] called = new FissureCallee[MOST_CALLS];
    private int fuel;

    private final Object[] writtenTo = new Object[MOST_WRITTEN];
    private final Object[] written = new Object[MOST_WRITTEN];
    private final int[] writtenFields = new int[MOST_WRITTEN];
    private int writes;
    /** Whether an arm has made an object known to others. */
    private boolean published;

    Object[] registers(int count) {
        if (count > registers.length) {
            registers = new Object[count + 32];
        }
        top = count;
        highest = count;
        return registers;
    }

    /** Keeps no object of the application alive. */
    void clear() {
        for (int i = 0; i < highest; i++) {
            registers[i] = null;
        }
        outcome.clear();
        forgetWrites();
    }

    /** Adds what an arm does to the outcome. {@code count} is how often the loop ran that it is another turn of. */
    void arm(FissureThread s, FissureBranch branch, int arm, int count) {
        calls = 0;
        fuel = MOST_OPERATIONS;
        published = false;
        forgetWrites();
        int before = outcome.events;
        if (outcome.begin(arm, branch.site)) {
            think(s, branch.arms[arm], branch.names, 0, count);
            outcome.end(before, branch.site);
        }
    }

    private void forgetWrites() {
        for (int i = 0; i < writes; i++) {
            writtenTo[i] = null;
            written[i] = null;
        }
        writes = 0;
    }

    /**
     * Goes through code whose registers begin at {@code base}. Sections that are open at its end stay open; branches do not.
     * {@code count} is how often the loop ran that the code is a turn of. False if nobody knows what comes after it.
     */
    private boolean think(FissureThread s, int[] code, String[] names, int base, int count) {
        int around = outcome.nested();
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
                    outcome.enter(s, get(base, code[at + 1]), false, code[at + 2]);
                    at += 3;
                }
                case LEAVE -> {
                    outcome.leave(s, get(base, code[at + 1]), false, code[at + 2]);
                    at += 3;
                }
                case BRANCH -> {
                    outcome.branch();
                    at++;
                }
                case BEGIN -> {
                    if (!outcome.beginNested(code[at + 1], code[at + 2])) {
                        unnest(around);
                        return false;
                    }
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
        int before = outcome.sections();
        calls++;
        boolean ends = think(s, callee.code, callee.names, first, 0) && callee.ends;
        calls--;
        top = first;
        if (!ends) {
            outcome.leaveTo(before, -1);
        }
        Object result = get(first, callee.result);
        set(base, code[at + 3], result);
        return ends;
    }

    private void unnest(int least) {
        while (outcome.nested() > least) {
            endNested();
        }
    }

    /** Nobody knows whether an arm inside has written what it wrote. */
    private void endNested() {
        outcome.endNested();
        for (int i = 0; i < writes; i++) {
            written[i] = null;
        }
    }

    // Fields.

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
        if (outcome.isTold()) {
            long id = r.of != null ? 0 : FissureIdentity.id(s, o, r);
            int plain = write ? Fissure.FIELD + Fissure.WRITE : Fissure.FIELD;
            outcome.add(r.isVolatile ? Fissure.VOLATILE + (write ? 1 : 0) : plain, r.field, site, id);
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
            outcome.isFull = true;
            return;
        }
        writtenTo[writes] = holder;
        writtenFields[writes] = r.field;
        written[writes] = value;
        writes++;
    }

    // Calls that are modelled.

    private void call(FissureThread s, Object subject, int call, int site) {
        int operation = call & 0xff;
        switch (operation) {
            case FissureCalls.LOCK, FissureCalls.LOCK_SHARED -> {
                boolean shared = subject != null
                        && (operation == FissureCalls.LOCK_SHARED || FissureLocks.isShared(subject));
                outcome.enter(s, lockOf(subject), shared, site);
            }
            case FissureCalls.UNLOCK, FissureCalls.UNLOCK_SHARED -> {
                boolean shared = subject != null
                        && (operation == FissureCalls.UNLOCK_SHARED || FissureLocks.isShared(subject));
                outcome.leave(s, lockOf(subject), shared, site);
            }
            case FissureCalls.ATOMIC_READ, FissureCalls.ATOMIC_WRITE, FissureCalls.ATOMIC_UPDATE -> {
                if (subject != null && outcome.isTold()) {
                    FissureMore of = FissureIdentity.more(s, subject, FissureMore.CONTENTS);
                    outcome.add(Fissure.ATOMIC + operation - FissureCalls.ATOMIC_READ, of.type, site, of.id);
                }
            }
            case FissureCalls.READ, FissureCalls.WRITE, FissureCalls.UPDATE -> {
                if (subject != null && !subject.getClass().isArray() && outcome.isTold()) {
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
            outcome.add(Fissure.MODELLED + access, of.type, site, of.id);
            return;
        }
        Object monitor = section == FissureClass.ON_MONITOR ? FissureLocks.monitorOf(container) : null;
        if (monitor != null) {
            outcome.enter(s, monitor, false, site);
        }
        FissureMore of = FissureIdentity.word(s, container, FissureMore.CONTENTS);
        if (access != 1) {
            outcome.add(Fissure.CONTENTS, of.type, site, of.id);
        }
        if (access != 0) {
            outcome.add(Fissure.CONTENTS + Fissure.WRITE, of.type, site, of.id);
        }
        if (monitor != null) {
            outcome.leave(s, monitor, false, site);
        }
    }
}
