package java.lang;

import jdk.internal.misc.Unsafe;

/** Field references by their number, found when they are first used. */
final class FissureRefs {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final FissureMore GLOBAL = new FissureMore(0, 0, 0, null);
    private static final String ID = "$fissure$";
    private static final String MORE = "$fissure";

    /** The field turned out to be final: its accesses are no events. */
    static final int IGNORED = -2;
    private static final int NONE = -1;

    /**
     * Where the word is in an object, in the low half; 0 if that is not known yet. Where its number is, in the high half;
     * an object without one gives whatever its head has, which is no mark of any thread.
     */
    static long[] offsets = new long[1024];
    /** The state of static fields. */
    static FissureMore[] statics = new FissureMore[1024];
    private static FissureRef[] all = new FissureRef[1024];

    private FissureRefs() {
    }

    static FissureRef of(FissureThread s, Object o, int ref) {
        FissureRef[] all = FissureRefs.all;
        FissureRef found = ref < all.length ? all[ref] : null;
        return found != null ? found : find(s, o, ref);
    }

    static boolean isIgnored(int ref) {
        return (int) offsets[ref] == IGNORED;
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
        boolean isVolatile = text.startsWith("volatile", fourth + 1);
        boolean isFinal = text.startsWith("final", fourth + 1);
        FissureRef found;
        if (isStatic) {
            found = ofStatic(s, owner, name, isReference, isVolatile);
        } else if (o == null) {
            return null;
        } else {
            found = ofInstance(o, owner, name, isReference, isVolatile);
        }
        if (found == null) {
            return null;
        }
        Fissure.spin(GLOBAL, FissureMore.LOCK);
        try {
            if (ref >= all.length) {
                grow(ref);
            }
            U.storeFence();
            all[ref] = found;
            // The short check is for plain fields.
            statics[ref] = found.isVolatile ? null : found.of;
            int offset = isFinal ? IGNORED : found.offset > 0 ? (int) found.offset : NONE;
            offsets[ref] = found.idOffset << 32 | offset & 0xffffffffL;
        } finally {
            GLOBAL.lock = 0;
        }
        return found;
    }

    private static void grow(int ref) {
        int length = all.length;
        while (length <= ref) {
            length *= 2;
        }
        FissureRef[] moreRefs = new FissureRef[length];
        System.arraycopy(all, 0, moreRefs, 0, all.length);
        FissureMore[] moreStatics = new FissureMore[length];
        System.arraycopy(statics, 0, moreStatics, 0, statics.length);
        long[] moreOffsets = new long[length];
        System.arraycopy(offsets, 0, moreOffsets, 0, offsets.length);
        U.storeFence();
        all = moreRefs;
        statics = moreStatics;
        offsets = moreOffsets;
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
                offset = Fissure.added(c, shadow);
                if (offset > 0 || Fissure.declares(c.getName(), name)) {
                    declaring = c;
                }
            }
            long at = Fissure.added(c, ID);
            if (at > 0) {
                // The highest class with a place for it: the same for every reference to this object.
                id = at;
                more = Fissure.added(c, MORE);
            }
        }
        if (isId) {
            return new FissureRef(0, id, id, more, null, false, false);
        }
        String declared = declaring == null ? owner : declaring.getName();
        return new FissureRef(Fissure.field(declared, name), offset, id, more, null, isReference, isVolatile);
    }

    private static FissureRef ofStatic(
            FissureThread s, String owner, String name, boolean isReference, boolean isVolatile) {
        Class<?> caller = Fissure.caller();
        Class<?> named;
        try {
            named = Class.forName(owner, false, caller == null ? null : caller.getClassLoader());
        } catch (Throwable trouble) {
            // The access itself will say what is wrong.
            return null;
        }
        Class<?> declaring = declaring(named, name);
        if (declaring == null) {
            declaring = named;
        }
        int field = Fissure.field(declaring.getName(), name);
        return new FissureRef(field, 0, 0, 0, FissureCalls.more(s, declaring, field), isReference, isVolatile);
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
