package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/**
 * Where the value of a field is, for code that did not run and is only thought through. Nothing is loaded or initialised to
 * find it, and no code of the application runs.
 */
final class FissureSpot {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int PAGE_BITS = 10;
    private static final int PAGE = 1 << PAGE_BITS;
    /** As many as there are numbers of fields. */
    private static final FissureSpot[][] ALL = new FissureSpot[1 << 24 - PAGE_BITS][];
    private static final FissureReads GLOBAL = new FissureReads(0, 0, 0, null);

    /** The class that declares it. Weak, so that the class can be unloaded. */
    private final WeakReference<Class<?>> declaring;
    private final long offset;
    final boolean isReference;

    private FissureSpot(Class<?> declaring, long offset, boolean isReference) {
        this.declaring = new WeakReference<>(declaring);
        this.offset = offset;
        this.isReference = isReference;
    }

    /** The object that has the field: {@code o}, or the class if the field is static. Null if {@code o} has no such field. */
    Object holder(Object o, boolean isStatic) {
        Class<?> type = declaring.get();
        return type == null ? null : isStatic ? type : type.isInstance(o) ? o : null;
    }

    /** The reference that the field has now. */
    Object value(Object holder) {
        return isReference ? U.getReferenceVolatile(holder, offset) : null;
    }

    /** Null if it is not known, or nobody can tell yet. {@code o} is null for a static field. */
    static FissureSpot of(Object o, int ref) {
        FissureSpot[] page = ALL[ref >>> PAGE_BITS];
        FissureSpot found = page == null ? null : page[ref & PAGE - 1];
        return found != null ? found : find(o, ref);
    }

    private static FissureSpot find(Object o, int ref) {
        String text = Fissure.reference(ref);
        if (text == null) {
            return null;
        }
        int first = text.indexOf('\n');
        int second = text.indexOf('\n', first + 1);
        int third = text.indexOf('\n', second + 1);
        String owner = text.substring(0, first).replace('/', '.');
        String name = text.substring(first + 1, second);
        String type = text.substring(second + 1, third);
        boolean isStatic = text.startsWith("static", third + 1);
        Class<?> c = isStatic ? loaded(owner) : named(o, owner);
        // Only the one field of its name in its class is taken: what lies elsewhere may be no reference.
        String asked = name + (isStatic ? ";static;" : ";") + type;
        while (c != null && !Fissure.declares(c.getName(), asked)) {
            c = c.getClassLoader() == null || Fissure.declares(c.getName(), name) ? null : c.getSuperclass();
        }
        long offset = c == null ? 0 : FissureClass.offset(c, name);
        if (offset <= 0) {
            return null;
        }
        FissureSpot made = new FissureSpot(c, offset, type.charAt(0) == 'L' || type.charAt(0) == '[');
        Fissure.spin(GLOBAL, FissureReads.LOCK);
        try {
            FissureSpot[] page = ALL[ref >>> PAGE_BITS];
            if (page == null) {
                page = ALL[ref >>> PAGE_BITS] = new FissureSpot[PAGE];
            }
            U.storeFence();
            page[ref & PAGE - 1] = made;
        } finally {
            GLOBAL.lock = 0;
        }
        return made;
    }

    private static Class<?> named(Object o, String owner) {
        Class<?> c = o.getClass();
        while (c != null && !c.getName().equals(owner)) {
            c = c.getSuperclass();
        }
        return c;
    }

    /** A class as the code that is running names it, if it is loaded and that code's loader knows it. */
    static Class<?> loaded(String name) {
        Class<?> caller = Fissure.caller();
        if (caller == null || caller.getName().equals(name)) {
            return caller;
        }
        ClassLoader loader = caller.getClassLoader();
        return loader == null ? null : loader.findLoadedClass(name);
    }
}
