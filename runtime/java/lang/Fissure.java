package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The probes that instrumented code calls. None of them throws, blocks or makes events of its own.
 *
 * Nearly all accesses end in a comparison of the field's word with the thread's own. What gets further is decided in
 * {@link FissureFilter} and {@link FissureCalls}.
 */
public final class Fissure {
    private static final Unsafe U = Unsafe.getUnsafe();

    // Records: operation (6 bits), new segment (1), field or class (24 bits from bit 8), site (32 bits from bit 32).
    // The reader's table of them is in crates/recording/src/record.rs.
    static final int FIELD = 1;
    static final int ELEMENT = 7;
    static final int CONTENTS = 13;
    static final int WRITE = 3;
    static final int AFTER_WORD = 1;
    static final int AFTER_READS = 2;
    static final int ACQUIRE = 20;
    static final int RELEASE = 24;
    static final int VOLATILE = 28;
    static final int ATOMIC = 31;
    static final int MODELLED = 34;
    static final int THREAD_BEGIN = 40;
    static final int THREAD_END = 41;
    static final int START = 42;
    static final int JOIN = 43;
    static final int LEAVE = 45;
    static final int UNIT_BEGIN = 46;
    static final int UNIT_END = 47;
    static final int ENTER = 48;
    static final int EXIT = 49;
    static final int SEGMENT = 50;
    static final int LOST = 51;
    static final int WRITER = 52;
    static final int NEW = 53;
    /** The lock that the thread took last is left. */
    static final int RELEASE_LAST = 54;
    static final int ARRIVE = 55;
    // An arm of a branch that ran, one that did not, the end of either; locks in one that did not, which have no turns.
    static final int ARM = 56;
    static final int ARM_SPECULATED = 57;
    static final int ARM_END = 58;
    static final int SPECULATED_ACQUIRE = 59;
    static final int SPECULATED_ACQUIRE_SHARED = 60;
    static final int SPECULATED_RELEASE = 61;
    static final int SPECULATED_RELEASE_SHARED = 62;
    static final int END_OF_CHUNK = 63;
    static final long NEW_SEGMENT = 1 << 6;

    private static final int IFEQ = 153;
    private static final int IF_ICMPEQ = 159;
    private static final int IF_ACMPEQ = 165;
    private static final int TABLESWITCH = 170;
    private static final int IFNULL = 198;

    /** How often a loop asks whether its arrays are quiet. */
    private static final int MOST_ASKED = 8;

    /** Whether anything is recorded. */
    static volatile boolean on = true;
    /** Whether every access is kept. */
    static boolean keepsAll;

    /** Its lock is held while the number of classes changes; it counts objects. */
    private static final FissureReads GLOBAL = new FissureReads(0, 0, 0, null);
    /** Counts fields that came to be read by many. */
    private static final FissureMore SHARED = new FissureMore(0, 0, 0, null);
    private static int lastClass;

    private Fissure() {
    }

    // What the agent answers.

    /** A chunk of this size, or 0; {@code full} is one that nothing is written to any more, or 0. */
    static native long chunk(int thread, int size, long full);

    /** Names a class (1) or thread (2). */
    static native void row(int kind, int number, String text);

    /** The number of a field, which gets a row. */
    static native int field(String owner, String name);

    /** A field reference: owner, name, descriptor, and `static` or nothing, on four lines. */
    static native String reference(int ref);

    /**
     * Whether an instrumented class of this name declares the field; with () behind the name, the method; with ; and a type
     * behind it, or ;static; and a type, whether the only field of that name is of that type.
     */
    static native boolean declares(String owner, String name);

    /** The fields of objects of an instrumented class of this name, each on a line behind a letter: v if it is volatile. */
    static native String declared(String owner);

    /** A branch: what its arms would do, as numbers of two characters each. */
    static native String branch(int number);

    /** What a class of this name has for a method that arms call, in the same form; null if it has no code for it. */
    static native String callee(String owner, int member);

    /** The class whose code called the probe. */
    static native Class<?> caller();

    static native void pause();

    /** Collects garbage, if {@code really}. */
    static native void collect(boolean really);

    static native void trouble(String what);

    /** Called by the agent when the JVM is up. */
    static void start(boolean keepsAll) {
        Fissure.keepsAll = keepsAll;
        // Each native method once, so that none is looked up for the first time in a probe.
        chunk(0, 0, 0);
        row(0, 0, "");
        field("", "");
        reference(0);
        branch(-1);
        callee(null, -1);
        declares("", "");
        declared("");
        caller();
        pause();
        collect(false);
        trouble("");
    }

    /** Called by the agent at the end of each thread, in the thread. */
    static void ended() {
        try {
            FissureThread s = FissureStates.current();
            if (s != FissureStates.NOBODY) {
                s.busy = true;
                s.begin();
                s.endSegment();
                s.append(THREAD_END, 0, 0);
                s.endChunk();
                FissureThreads.ended(s, Thread.currentThread());
                FissureStates.remove(s);
            }
        } catch (Throwable trouble) {
            // The thread's end is missing in the trace, which readers can stand.
            lost(null, trouble);
        }
    }

    // Fields.

    /** Whether enough reads of this segment were kept of what has this word. */
    @ForceInline
    private static boolean isKept(FissureThread s, long word) {
        return word < 0 ? s.knows(word) : (word | 7) == s.full;
    }

    @ForceInline
    public static void read(Object o, Object thread, int ref, int site) {
        if (o == null) {
            return;
        }
        FissureThread s = (FissureThread) thread;
        long both = FissureRefs.offsets(ref);
        int offset = (int) both;
        if (offset > 0) {
            long word = U.getLong(o, offset);
            if (isKept(s, word) || word == 0 && U.getLong(o, both >>> 32) == s.fresh) {
                return;
            }
        } else if (offset == FissureRefs.IGNORED) {
            return;
        }
        FissureFilter.field(s, o, ref, site, false);
    }

    @ForceInline
    public static void write(Object o, Object thread, int ref, int site) {
        if (o == null) {
            return;
        }
        FissureThread s = (FissureThread) thread;
        long both = FissureRefs.offsets(ref);
        int offset = (int) both;
        if (offset > 0) {
            long word = U.getLong(o, offset);
            if ((word | 13) == s.full || word == 0 && U.getLong(o, both >>> 32) == s.fresh) {
                return;
            }
        }
        FissureFilter.field(s, o, ref, site, true);
    }

    /** A read, and a write that follows it before anything else is told. */
    @ForceInline
    public static void update(Object o, Object thread, int ref, int read, int write) {
        if (o == null) {
            return;
        }
        FissureThread s = (FissureThread) thread;
        long both = FissureRefs.offsets(ref);
        int offset = (int) both;
        if (offset > 0) {
            long word = U.getLong(o, offset);
            if ((word | 5) == s.full || word == 0 && U.getLong(o, both >>> 32) == s.fresh) {
                return;
            }
        }
        FissureFilter.update(s, o, ref, read, write);
    }

    /** What is written is a reference: others may now know objects that only this thread knew. */
    @ForceInline
    public static void writeReference(Object o, Object thread, int ref, int site) {
        if (o == null) {
            return;
        }
        FissureThread s = (FissureThread) thread;
        long both = FissureRefs.offsets(ref);
        int offset = (int) both;
        if (offset > 0) {
            long word = U.getLong(o, offset);
            if ((word | 13) == s.full) {
                s.fresh++;
                return;
            }
            if (word == 0 && U.getLong(o, both >>> 32) == s.fresh) {
                return;
            }
        }
        FissureFilter.field(s, o, ref, site, true);
    }

    @ForceInline
    public static void readStatic(Object thread, int ref, int site) {
        FissureThread s = (FissureThread) thread;
        FissureWord of = FissureRefs.ofStatic(ref);
        if (of != null) {
            long word = of.word;
            if (isKept(s, word)) {
                return;
            }
        }
        FissureFilter.staticField(s, ref, site, false);
    }

    @ForceInline
    public static void writeStatic(Object thread, int ref, int site) {
        FissureThread s = (FissureThread) thread;
        FissureWord of = FissureRefs.ofStatic(ref);
        if (of == null || (of.word | 13) != s.full) {
            FissureFilter.staticField(s, ref, site, true);
        }
    }

    /** What is written is a reference. */
    @ForceInline
    public static void writeStaticReference(Object thread, int ref, int site) {
        ((FissureThread) thread).fresh++;
        writeStatic(thread, ref, site);
    }

    /** A reference goes to code that is not watched: others may now know objects that only this thread knew. */
    @ForceInline
    public static void published(Object thread) {
        ((FissureThread) thread).fresh++;
    }

    /** The object is new, and only this thread knows it. */
    @ForceInline
    public static void fresh(Object o, Object thread, int ref) {
        FissureThread s = (FissureThread) thread;
        int offset = (int) FissureRefs.offsets(ref);
        if (offset > 0) {
            if (!keepsAll && U.getLong(o, offset) == 0) {
                U.putLong(o, offset, s.fresh);
            }
            return;
        }
        FissureFilter.freshSlowly(s, o, ref);
    }

    // Elements of arrays.

    /** Before a loop: 1 if none of its accesses to the array would be kept. */
    public static int quiet(Object array, Object thread, int kinds) {
        FissureThread s = (FissureThread) thread;
        FissureArray a = array == null || s == FissureStates.NOBODY ? null : FissureFilter.arrayBeforeLoop(s, array);
        if (a == null || a.words != null) {
            return 0;
        }
        long word = a.word;
        boolean reads = (kinds & 1) == 0 || isKept(s, word);
        boolean writes = (kinds & 2) == 0 || (word | 13) == s.full;
        return reads && writes ? 1 : 0;
    }

    /**
     * At the start of a loop's turn, if its arrays were not all quiet before it: 1 if they are now. Their kinds stand two
     * bits each in {@code kinds}. Below 0 is how often the answer was no: then it is hardly worth asking.
     */
    @ForceInline
    public static int quietNow(
            Object a, Object b, Object c, Object d, Object thread, int kinds, int quiet, int now) {
        return quiet != 0 || now > 0 || now == -MOST_ASKED ? now : ask(a, b, c, d, thread, kinds, now);
    }

    @DontInline
    private static int ask(Object a, Object b, Object c, Object d, Object thread, int kinds, int now) {
        boolean are = isQuiet(a, thread, kinds & 3) && isQuiet(b, thread, kinds >>> 2 & 3)
                && isQuiet(c, thread, kinds >>> 4 & 3) && isQuiet(d, thread, kinds >>> 6);
        return are ? 1 : now - 1;
    }

    private static boolean isQuiet(Object array, Object thread, int kinds) {
        return kinds == 0 || quiet(array, thread, kinds) != 0;
    }

    /** In a loop that asks. */
    @ForceInline
    public static void readElement(Object array, int index, Object thread, int quiet, int now, int site) {
        if (quiet == 0 && now <= 0) {
            readApart((FissureThread) thread, array, index, site);
        }
    }

    @ForceInline
    public static void writeElement(Object array, int index, Object thread, int quiet, int now, int site) {
        if (quiet == 0 && now <= 0) {
            writeApart((FissureThread) thread, array, index, site);
        }
    }

    @ForceInline
    public static void readElement(Object array, int index, Object thread, int site) {
        FissureThread s = (FissureThread) thread;
        FissureArray a = s.arrayAt(array, site);
        if (a != null && a.words == null) {
            long word = a.word;
            if (isKept(s, word)) {
                return;
            }
        }
        readApart(s, array, index, site);
    }

    /** {@code seen} is what the same probe gave for the same array before, or 0. */
    @ForceInline
    public static int readElementStamped(Object array, int index, Object thread, int seen, int site) {
        FissureThread s = (FissureThread) thread;
        return seen == s.segmentStamp() ? seen : readAndAsk(s, array, index, site);
    }

    @DontInline
    private static int readAndAsk(FissureThread s, Object array, int index, int site) {
        FissureArray a = s.array(array, site);
        if (a != null) {
            long[] words = a.words;
            long word = words == null ? a.word : index >= 0 && index < words.length ? words[index] : 0;
            if (isKept(s, word)) {
                return words == null ? s.segmentStamp() : 0;
            }
        }
        FissureFilter.element(s, a, array, index, site, false);
        return 0;
    }

    @ForceInline
    public static void writeElement(Object array, int index, Object thread, int site) {
        FissureThread s = (FissureThread) thread;
        FissureArray a = s.arrayAt(array, site);
        if (a == null || a.words != null || (a.word | 13) != s.full) {
            writeApart(s, array, index, site);
        }
    }

    /** Apart, so that loops stay small enough for the compiler to make them twice, with and without probes. */
    @DontInline
    private static void readApart(FissureThread s, Object array, int index, int site) {
        FissureArray a = s.array(array, site);
        if (a != null) {
            long[] words = a.words;
            long word = words == null ? a.word : index >= 0 && index < words.length ? words[index] : 0;
            if (isKept(s, word)) {
                return;
            }
        }
        FissureFilter.element(s, a, array, index, site, false);
    }

    @DontInline
    private static void writeApart(FissureThread s, Object array, int index, int site) {
        FissureArray a = s.array(array, site);
        if (a != null) {
            long[] words = a.words;
            long word = words == null ? a.word : index >= 0 && index < words.length ? words[index] : 0;
            if ((word | 13) == s.full) {
                return;
            }
        }
        FissureFilter.element(s, a, array, index, site, true);
    }

    /** What is written is a reference. */
    @ForceInline
    public static void writeReferenceElement(Object array, int index, Object thread, int quiet, int now, int site) {
        ((FissureThread) thread).fresh++;
        writeElement(array, index, thread, quiet, now, site);
    }

    /** What is written is a reference. */
    @ForceInline
    public static void writeReferenceElement(Object array, int index, Object thread, int site) {
        ((FissureThread) thread).fresh++;
        writeElement(array, index, thread, site);
    }

    // Volatiles, monitors, calls, units: each is an event.

    public static void volatileBefore(Object o, int ref, int site) {
        FissureCalls.volatileBefore(o, ref, site);
    }

    public static void volatileAfter(int access, int site) {
        FissureCalls.volatileAfter(access, site);
    }

    public static void entered(Object lock, int site) {
        FissureSections.entered(lock, site);
    }

    public static void leaving(Object lock, int site) {
        FissureSections.leaving(lock, site);
    }

    public static void callBefore(Object subject, Object operand, int call, int site) {
        FissureCalls.before(subject, operand, 0, call, site);
    }

    public static void callBefore(Object subject, int operand, int call, int site) {
        FissureCalls.before(subject, null, operand, call, site);
    }

    public static void callBefore(Object subject, long operand, int call, int site) {
        FissureCalls.before(subject, null, operand, call, site);
    }

    public static void callAfter(Object result, int call, int site) {
        FissureCalls.after(result, result == null ? 0 : 1, call, site);
    }

    public static void callAfter(int result, int call, int site) {
        FissureCalls.after(null, result, call, site);
    }

    public static void callAfter(long result, int call, int site) {
        FissureCalls.after(null, result, call, site);
    }

    public static void callAfter(int call, int site) {
        FissureCalls.after(null, 1, call, site);
    }

    /** A method of the platform hands work over, begins it or is done with it. */
    public static void hook(Object o, int code) {
        FissureThreads.hook(o, code);
    }

    public static void enter(int site) {
        FissureCalls.activation(site, true);
    }

    public static void exit(int site) {
        FissureCalls.activation(site, false);
    }

    public static void begin(int unit, int site) {
        FissureCalls.unit(unit, site, true);
    }

    public static void end(int unit, int site) {
        FissureCalls.unit(unit, site, false);
    }

    // Branches. The last number has the opcode, a bit for each arm that has something to tell (from bit 8), and one for each
    // that stays in a loop (from bit 10); `count` is how often the loop ran. What they give is kept by the method.

    @ForceInline
    public static int branch(
            int x, Object a, Object b, Object c, Object d, Object e, Object f, Object thread, int open, int count, int number,
            int flags) {
        int opcode = flags & 0xff;
        if (opcode >= TABLESWITCH) {
            return FissureArms.branch((FissureThread) thread, true, x, open, 0, number, a, b, c, d, e, f);
        }
        boolean jumps = switch (opcode) {
            case IFEQ -> x == 0;
            case IFEQ + 1 -> x != 0;
            case IFEQ + 2 -> x < 0;
            case IFEQ + 3 -> x >= 0;
            case IFEQ + 4 -> x > 0;
            default -> x <= 0;
        };
        return branched(jumps, a, b, c, d, e, f, thread, open, count, number, flags);
    }

    @ForceInline
    public static int branch(
            int x, int y, Object a, Object b, Object c, Object d, Object e, Object f, Object thread, int open, int count, int number,
            int flags) {
        boolean jumps = switch (flags & 0xff) {
            case IF_ICMPEQ -> x == y;
            case IF_ICMPEQ + 1 -> x != y;
            case IF_ICMPEQ + 2 -> x < y;
            case IF_ICMPEQ + 3 -> x >= y;
            case IF_ICMPEQ + 4 -> x > y;
            default -> x <= y;
        };
        return branched(jumps, a, b, c, d, e, f, thread, open, count, number, flags);
    }

    @ForceInline
    public static int branch(
            Object x, Object a, Object b, Object c, Object d, Object e, Object f, Object thread, int open, int count, int number,
            int flags) {
        return branched((x == null) == ((flags & 0xff) == IFNULL), a, b, c, d, e, f, thread, open, count, number, flags);
    }

    @ForceInline
    public static int branch(
            Object x, Object y, Object a, Object b, Object c, Object d, Object e, Object f, Object thread, int open, int count, int number,
            int flags) {
        return branched((x == y) == ((flags & 0xff) == IF_ACMPEQ), a, b, c, d, e, f, thread, open, count, number, flags);
    }

    @ForceInline
    private static int branched(
            boolean jumps, Object a, Object b, Object c, Object d, Object e, Object f, Object thread, int open, int count, int number,
            int flags) {
        int others = jumps ? 1 << 8 : 1 << 9;
        if ((flags & others) == 0 || (flags & others << 2) != 0 && (count < 0 || count > 1)) {
            return open;
        }
        return FissureArms.branch(
                (FissureThread) thread, false, jumps ? 1 : 0, open, count, number, a, b, c, d, e, f);
    }

    /** Arms come together; with -1, the method is left. */
    @ForceInline
    public static int joined(Object thread, int open, int join) {
        return open == 0 ? 0 : FissureArms.joined((FissureThread) thread, open, join);
    }

    // Threads.

    /** What the other probes are given: the state of this thread. */
    @ForceInline
    public static Object thread() {
        FissureThread s = FissureStates.current();
        return s != FissureStates.NOBODY ? s : firstTime();
    }

    private static FissureThread firstTime() {
        try {
            FissureThread s = on ? FissureStates.of(Thread.currentThread()) : null;
            return s == null ? FissureStates.NOBODY : s;
        } catch (Throwable trouble) {
            return FissureStates.NOBODY;
        }
    }

    /** This thread's state, marked as busy; null if the thread is in the recorder already, or nothing is recorded. */
    static FissureThread take() {
        if (!on) {
            return null;
        }
        FissureThread s = FissureStates.current();
        if (s == FissureStates.NOBODY) {
            s = FissureStates.of(Thread.currentThread());
            if (s == null) {
                return null;
            }
        } else if (s.busy) {
            return null;
        }
        s.busy = true;
        return s;
    }

    /** Marks the thread's state as busy; false if the thread is in the recorder already, or nothing is recorded. */
    static boolean take(FissureThread s) {
        if (!on || s.busy) {
            return false;
        }
        s.busy = true;
        return true;
    }

    /** The thread leaves the recorder. */
    static void done(FissureThread s) {
        if (s != null) {
            s.busy = false;
        }
    }

    /** Something went wrong in a probe, such as an overflow of the stack: the event is lost, and nobody else notices. */
    static void lost(FissureThread s, Throwable trouble) {
        lost(s);
        if (trouble instanceof OutOfMemoryError) {
            // To go on would fill what the application frees, again and again.
            FissureRoom.stop();
        }
    }

    static void lost(FissureThread s) {
        if (s != null) {
            s.lost++;
            s.losses++;
        }
    }

    // Shared by the other classes.

    /** A number for a field that is now read by many, as its word. Those that share a number are too far apart to matter. */
    static long sharedWord() {
        return 1L << 63 | SHARED.take(1) % 0xffffffffL + 1;
    }

    static long ids(int count) {
        // 0 is no object.
        return GLOBAL.take(count) + 1;
    }

    static int newClass(String name) {
        spin(GLOBAL, FissureReads.LOCK);
        int number = ++lastClass;
        GLOBAL.lock = 0;
        row(1, number, name);
        return number;
    }

    static long newChunk(int thread, int size, long full) {
        if (!on) {
            return 0;
        }
        long address = chunk(thread, size, full);
        if (address == 0) {
            on = false;
        }
        return address;
    }

    static void stop(String why) {
        on = false;
        trouble(why);
    }

    /**
     * Takes a lock that is held for a few instructions. Who waits for long takes it all the same: its holder may have
     * died in between, and a trace that is slightly wrong is better than an application that hangs.
     */
    static void spin(Object base, long offset) {
        int tries = 0;
        while (!U.compareAndSetInt(base, offset, 0, 1)) {
            if (++tries < 200) {
                Thread.onSpinWait();
            } else if (tries < 20_000) {
                pause();
            } else {
                return;
            }
        }
    }
}
