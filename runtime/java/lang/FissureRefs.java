package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/** Field references by their number, found when they are first used. */
final class FissureRefs {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final FissureReads GLOBAL = new FissureReads(0, 0, 0, null);
    private static final String ID = "$fissure$";
    private static final String MORE = "$fissure";

    /** The field turned out to be final: its accesses are no events. */
    static final int IGNORED = -2;
    private static final int NONE = -1;

    private static final int PAGE_BITS = 10;
    private static final int PAGE = 1 << PAGE_BITS;
    /** As many as there are numbers of fields. */
    private static final int PAGES = 1 << 24 - PAGE_BITS;

    /**
     * Where the word is in an object, in the low half; 0 if that is not known yet. Where its number is, in the high half;
     * an object without one gives whatever its head has, which is no mark of any thread.
     *
     * What is not 0 never changes again, so that compiled code has it as a constant: only then the compiler knows which
     * field a probe looks at, and that it is none of the application's.
     */
    @Stable
    private static final long[][] OFFSETS = new long[PAGES][];
    /** The state of static fields. */
    @Stable
    private static final FissureWord[][] STATICS = new FissureWord[PAGES][];
    private static final FissureRef[][] ALL = new FissureRef[PAGES][];

    private FissureRefs() {
    }

    @ForceInline
    static long offsets(int ref) {
        long[] page = OFFSETS[ref >>> PAGE_BITS];
        return page == null ? 0 : page[ref & PAGE - 1];
    }

    /** Null if it is not known yet, or is volatile. */
    @ForceInline
    static FissureWord ofStatic(int ref) {
        FissureWord[] page = STATICS[ref >>> PAGE_BITS];
        return page == null ? null : page[ref & PAGE - 1];
    }

    static FissureRef of(FissureThread s, Object o, int ref) {
        FissureRef[] page = ALL[ref >>> PAGE_BITS];
        FissureRef found = page == null ? null : page[ref & PAGE - 1];
        return found != null ? found : find(s, o, ref);
    }

    static boolean isIgnored(int ref) {
        return (int) offsets(ref) == IGNORED;
    }

    private static FissureRef find(FissureThread s, Object o, int ref) {
        String text = Fissure.reference(ref);
        if (text == null) {
            return null;
        }
        int first = text.indexOf('\n');
        int second = text.indexOf('\n', first + 1);
        int third = text.indexOf('\n', second + 1);
        String owner = text.substring(0, first).replace('/', '.');
        String name = text.substring(first + 1, second);
        char type = text.charAt(second + 1);
        boolean isReference = type == 'L' || type == '[';
        int fourth = text.indexOf('\n', third + 1);
        boolean isStatic = fourth > third + 1;
        Class<?> named = null;
        if (isStatic) {
            named = load(owner);
            if (named == null) {
                return null;
            }
            // Its class may have come just now, and only then it is known what the field is.
            text = Fissure.reference(ref);
        } else if (o == null) {
            return null;
        }
        boolean isVolatile = text.startsWith("volatile", fourth + 1);
        boolean isFinal = text.startsWith("final", fourth + 1);
        FissureRef found = isStatic
                ? ofStatic(s, named, name, isReference, isVolatile)
                : ofInstance(o, owner, name, isReference, isVolatile);
        Fissure.spin(GLOBAL, FissureReads.LOCK);
        try {
            int at = ref >>> PAGE_BITS;
            if (ALL[at] == null) {
                OFFSETS[at] = new long[PAGE];
                STATICS[at] = new FissureWord[PAGE];
                U.storeFence();
                ALL[at] = new FissureRef[PAGE];
            }
            int in = ref & PAGE - 1;
            if (ALL[at][in] != null) {
                // Another thread was faster, and what it found counts.
                return ALL[at][in];
            }
            U.storeFence();
            ALL[at][in] = found;
            // The short check is for plain fields.
            STATICS[at][in] = found.isVolatile ? null : found.of;
            int offset = isFinal ? IGNORED : found.offset > 0 ? (int) found.offset : NONE;
            OFFSETS[at][in] = found.idOffset << 32 | offset & 0xffffffffL;
        } finally {
            GLOBAL.lock = 0;
        }
        return found;
    }

    private static FissureRef ofInstance(
            Object o, String owner, String name, boolean isReference, boolean isVolatile) {
        Class<?> named = o.getClass();
        while (named != null && !named.getName().equals(owner)) {
            named = named.getSuperclass();
        }
        if (named == null) {
            named = o.getClass();
        }
        boolean isId = name.equals(ID) && !Fissure.declares(named.getName(), ID);
        String shadow = isId ? ID : "$fissure$" + name;
        Class<?> declaring = null;
        long offset = 0;
        long id = 0;
        long more = 0;
        for (Class<?> c = named; c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
            if (declaring == null) {
                offset = FissureClass.added(c, shadow);
                if (offset > 0 || Fissure.declares(c.getName(), name)) {
                    declaring = c;
                }
            }
            long at = FissureClass.added(c, ID);
            if (at > 0) {
                // The highest class with a place for it: the same for every reference to this object.
                id = at;
                more = FissureClass.added(c, MORE);
            }
        }
        if (isId) {
            return new FissureRef(0, id, id, more, null, false, false);
        }
        String declared = declaring == null ? owner : declaring.getName();
        return new FissureRef(Fissure.field(declared, name), offset, id, more, null, isReference, isVolatile);
    }

    /** A class as the code that is running names it. */
    private static Class<?> load(String name) {
        Class<?> caller = Fissure.caller();
        try {
            return Class.forName(name, false, caller == null ? null : caller.getClassLoader());
        } catch (Throwable trouble) {
            // The access itself will say what is wrong.
            return null;
        }
    }

    private static FissureRef ofStatic(
            FissureThread s, Class<?> named, String name, boolean isReference, boolean isVolatile) {
        Class<?> declaring = declaring(named, name);
        if (declaring == null) {
            declaring = named;
        }
        int field = Fissure.field(declaring.getName(), name);
        return new FissureRef(field, 0, 0, 0, FissureIdentity.word(s, declaring, field), isReference, isVolatile);
    }

    /** In the order in which the JVM looks for fields. */
    private static Class<?> declaring(Class<?> type, String name) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            if (Fissure.declares(c.getName(), name)) {
                return c;
            }
            for (Class<?> i : c.getInterfaces()) {
                Class<?> found = declaring(i, name);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }
}
