package java.lang;

import jdk.internal.misc.Unsafe;

/** The numbers of objects, and what is kept of their parts: in fields that were added to them, or in a table. */
final class FissureIdentity {
    private static final Unsafe U = Unsafe.getUnsafe();

    private FissureIdentity() {
    }

    /** The number of an object whose class may have a field for it. */
    static long id(FissureThread s, Object o, FissureRef r) {
        return r.idOffset > 0 ? id(s, o, r.idOffset) : s.entry(o).id;
    }

    private static long id(FissureThread s, Object o, long offset) {
        while (true) {
            long id = U.getLongVolatile(o, offset);
            if (id > 0) {
                return id;
            }
            long made = s.newId();
            if (U.compareAndSetLong(o, offset, id, made)) {
                if (id >>> 41 == s.fresh >>> 41) {
                    // Its creator is the first to do something with it that is told.
                    s.append(Fissure.NEW, 0, 0, made);
                }
                return made;
            }
        }
    }

    static FissureMore monitor(FissureThread s, Object lock) {
        return more(s, lock, FissureMore.MONITOR);
    }

    /** The state of a part of an object, made if there is none. */
    static FissureMore more(FissureThread s, Object o, int key) {
        FissureClass.Facts facts = s.facts(o.getClass());
        Object holder = o;
        long offset = facts.moreOffset;
        if (offset <= 0) {
            holder = s.entry(o);
            offset = FissureEntry.MORE;
        }
        while (true) {
            FissureMore first = (FissureMore) U.getReferenceVolatile(holder, offset);
            for (FissureMore more = first; more != null; more = more.next) {
                if (more.key == key) {
                    return more;
                }
            }
            long id = facts.idOffset > 0 ? id(s, o, facts.idOffset) : ((FissureEntry) holder).id;
            FissureMore made = new FissureMore(key, id, facts.number, first);
            if (U.compareAndSetReference(holder, offset, first, made)) {
                return made;
            }
        }
    }
}
