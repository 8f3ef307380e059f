package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/** An object that cannot have a field for its number. */
final class FissureEntry extends WeakReference<Object> {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long ARRAY = U.objectFieldOffset(FissureEntry.class, "array");
    static final long MORE = U.objectFieldOffset(FissureEntry.class, "more");

    final int hash;
    final long id;
    FissureEntry next;
    volatile FissureMore more;
    volatile FissureArray array;
    /** The container whose contents this object shows: an iterator's list. Weak, as this entry is kept by a table. */
    WeakReference<Object> viewed;

    FissureEntry(Object object, int hash, long id, FissureEntry next) {
        super(object);
        this.hash = hash;
        this.id = id;
        this.next = next;
    }

    /** Sets the array's state unless another thread was faster; the one that is set. */
    static FissureArray setArray(FissureEntry entry, FissureArray made) {
        return U.compareAndSetReference(entry, ARRAY, null, made) ? made : entry.array;
    }
}
