package java.lang;

import jdk.internal.misc.Unsafe;

/** Which field of an object a handle or an updater names. */
final class FissureHandles {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long NONE = -1;

    private FissureHandles() {
    }

    /** The field's number; 0 if it names none that is known: an element of an array, a static field, one of the platform. */
    static int field(FissureThread s, Object handle) {
        FissureWord of = FissureIdentity.word(s, handle, FissureMore.HANDLE);
        if (of.word == 0) {
            int found = find(handle);
            of.word = found == 0 ? NONE : found;
        }
        return of.word == NONE ? 0 : (int) of.word;
    }

    private static int find(Object handle) {
        String name = handle.getClass().getName();
        if (name.startsWith("java.lang.invoke.VarHandle") && name.indexOf("$FieldInstance") > 0) {
            return find(handle, "fieldOffset", "receiverType");
        }
        return name.startsWith("java.util.concurrent.atomic.") ? find(handle, "offset", "tclass") : 0;
    }

    /** By where the handle says that the field is, and in objects of which class. */
    private static int find(Object handle, String offset, String type) {
        for (Class<?> c = handle.getClass(); c != null; c = c.getSuperclass()) {
            long at = FissureClass.offset(c, offset);
            long of = FissureClass.offset(c, type);
            if (at > 0 && of > 0) {
                return find((Class<?>) U.getReference(handle, of), U.getLong(handle, at));
            }
        }
        return 0;
    }

    private static int find(Class<?> type, long offset) {
        for (Class<?> c = type; c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
            String fields = Fissure.declared(c.getName());
            int from = 0;
            while (fields != null && from < fields.length()) {
                int end = fields.indexOf('\n', from);
                boolean isVolatile = fields.charAt(from) == 'v';
                String field = fields.substring(from + 1, end);
                if (FissureClass.offset(c, field) == offset) {
                    // Plain accesses have an order of their own, in which those by a handle have no place.
                    return Fissure.field(c.getName(), isVolatile ? field : field + " by handle");
                }
                from = end + 1;
            }
        }
        return 0;
    }
}
