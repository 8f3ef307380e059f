package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

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

    static FissureLock monitor(FissureThread s, Object lock) {
        return (FissureLock) more(s, lock, FissureMore.MONITOR, FissureLock.class);
    }

    /** What counts turns for a part of an object. */
    static FissureMore more(FissureThread s, Object o, int key) {
        return more(s, o, key, FissureMore.class);
    }

    static FissureReads reads(FissureThread s, Object o, int key) {
        return (FissureReads) more(s, o, key, FissureReads.class);
    }

    static FissureWord word(FissureThread s, Object o, int key) {
        return (FissureWord) more(s, o, key, FissureWord.class);
    }

    /** The state of this kind of a part of an object, made if there is none. */
    @ForceInline
    private static FissureMore more(FissureThread s, Object o, int key, Class<?> kind) {
        FissureClass.Facts facts = s.facts(o.getClass());
        Object holder = o;
        long offset = facts.moreOffset;
        if (offset <= 0) {
            holder = s.entry(o);
            offset = FissureEntry.MORE;
        }
        FissureMore first = (FissureMore) U.getReferenceVolatile(holder, offset);
        for (FissureMore more = first; more != null; more = more.next) {
            if (more.key == key && more.getClass() == kind) {
                return more;
            }
        }
        return made(s, o, facts, holder, offset, key, kind);
    }

    @DontInline
    private static FissureMore made(
            FissureThread s, Object o, FissureClass.Facts facts, Object holder, long offset, int key, Class<?> kind) {
        FissureRoom.check(80);
        long id = facts.idOffset > 0 ? id(s, o, facts.idOffset) : ((FissureEntry) holder).id;
        while (true) {
            FissureMore first = (FissureMore) U.getReferenceVolatile(holder, offset);
            for (FissureMore more = first; more != null; more = more.next) {
                if (more.key == key && more.getClass() == kind) {
                    // Another thread was faster.
                    return more;
                }
            }
            FissureMore made = made(kind, key, id, facts.number, first);
            if (U.compareAndSetReference(holder, offset, first, made)) {
                return made;
            }
        }
    }

    private static FissureMore made(Class<?> kind, int key, long id, int type, FissureMore next) {
        if (kind == FissureLock.class) {
            return new FissureLock(id, type, next);
        }
        if (kind == FissureReads.class) {
            return new FissureReads(key, id, type, next);
        }
        return kind == FissureWord.class ? new FissureWord(key, id, type, next) : new FissureMore(key, id, type, next);
    }
}
