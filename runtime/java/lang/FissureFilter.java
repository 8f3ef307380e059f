package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Accesses that the short check did not drop: the rule of crates/detect-dynamic/src/filter.rs.
 *
 * A word is thread (22 bits), segment (38), reads kept (2), writes kept (2). 0 is an untouched field, {@link #SHARED} one
 * that is read by many. Words change by compare-and-set, so that the replaced words of a field are a chain even where
 * accesses race.
 */
final class FissureFilter {
    private static final Unsafe U = Unsafe.getUnsafe();
    static final long SHARED = -1;

    private FissureFilter() {
    }

    @ReservedStackAccess
    static void field(Object o, int ref, int site, boolean write) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            FissureRef r = FissureRefs.of(s, o, ref);
            if (r == null) {
                Fissure.lost(s);
                return;
            }
            if (r.isVolatile) {
                FissureCalls.volatileAtOnce(s, o, r, write, site);
                return;
            }
            boolean isFresh = r.idOffset > 0 && U.getLong(o, r.idOffset) == s.fresh;
            if (isFresh && !Fissure.keepsAll) {
                return;
            }
            if (write && r.isReference && !isFresh) {
                s.fresh++;
            }
            if (r.offset > 0) {
                access(s, Fissure.FIELD, write, o, r, 0, o, r.offset, site);
            } else {
                FissureMore more = FissureCalls.more(s, o, r.field);
                access(s, Fissure.FIELD, write, o, r, 0, more, FissureMore.WORD, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    @ReservedStackAccess
    static void staticField(int ref, int site, boolean write) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            FissureRef r = FissureRefs.of(s, null, ref);
            if (r == null) {
                return;
            }
            if (r.isVolatile) {
                FissureCalls.volatileAtOnce(s, null, r, write, site);
                return;
            }
            if (write) {
                s.fresh++;
            }
            access(s, Fissure.FIELD, write, null, r, 0, r.of, FissureMore.WORD, site);
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    static void freshSlowly(Object o, int ref) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                FissureRef r = FissureRefs.of(s, o, ref);
                if (r != null && r.idOffset > 0 && U.getLong(o, r.idOffset) == 0) {
                    U.putLong(o, r.idOffset, s.fresh);
                }
            }
        } catch (Throwable trouble) {
            // The object counts as known to others, which is always right.
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    @ReservedStackAccess
    static void element(Object array, int index, int site, boolean write) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            if (write) {
                s.fresh++;
            }
            FissureArray a = array(s, array);
            long[] words = a.words;
            if (words == null) {
                if (a.word == 0 || a.word >>> FissureThread.THREAD_SHIFT == s.number) {
                    access(s, Fissure.ELEMENT, write, array, a, index, a, FissureMore.WORD, site);
                    return;
                }
                words = share(a, java.lang.reflect.Array.getLength(array));
            }
            if (index < 0 || index >= words.length) {
                // The access will throw.
                return;
            }
            long offset = Unsafe.ARRAY_LONG_BASE_OFFSET + 8L * index;
            access(s, Fissure.ELEMENT, write, array, a, index, words, offset, site);
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    private static FissureArray array(FissureThread s, Object array) {
        FissureArray a = s.array0;
        if (a != null && a.entry.refersTo(array)) {
            return a;
        }
        FissureArray b = s.array1;
        if (b != null && b.entry.refersTo(array)) {
            s.array1 = a;
            s.array0 = b;
            return b;
        }
        FissureArray c = s.array2;
        if (c != null && c.entry.refersTo(array)) {
            s.array2 = b;
            s.array1 = a;
            s.array0 = c;
            return c;
        }
        FissureArray d = s.array3;
        if (d == null || !d.entry.refersTo(array)) {
            d = find(s, array);
        }
        s.array3 = c;
        s.array2 = b;
        s.array1 = a;
        s.array0 = d;
        return d;
    }

    private static FissureArray find(FissureThread s, Object array) {
        FissureEntry entry = FissureTable.of(s, array);
        FissureArray found = entry.array;
        if (found == null) {
            FissureArray made = new FissureArray(entry, FissureClass.ALL.get(array.getClass()).number);
            found = FissureEntry.setArray(entry, made);
        }
        return found;
    }

    /** A second thread has come: from now on each element has a word, at first that of the thread that had all. */
    private static long[] share(FissureArray a, int length) {
        Fissure.spin(a, FissureMore.LOCK);
        try {
            long[] words = a.words;
            if (words == null) {
                words = new long[length];
                // Which elements it touched in its last segment is not known: all of that segment comes before.
                long word = (a.word == SHARED ? a.base : a.word) | 15;
                for (int i = 0; i < length; i++) {
                    words[i] = word;
                }
                U.storeFence();
                a.words = words;
            }
            return words;
        } finally {
            a.lock = 0;
        }
    }

    /** A container's contents. */
    static void contents(FissureThread s, Object container, boolean write, int site) {
        FissureMore more = FissureCalls.more(s, container, FissureMore.CONTENTS);
        if (write) {
            s.fresh++;
        }
        access(s, Fissure.CONTENTS, write, container, more, 0, more, FissureMore.WORD, site);
    }

    /**
     * The rule. The word is at {@code offset} of {@code base}; {@code of} is a {@link FissureRef} for a field, else the
     * {@link FissureMore} of the array or the contents.
     */
    private static void access(
            FissureThread s, int kind, boolean write, Object o, Object of, int index, Object base, long offset, int site) {
        int one = write ? 1 : 4;
        while (true) {
            long word = U.getLongVolatile(base, offset);
            if (word == SHARED) {
                if (shared(s, kind, write, o, of, index, base, offset, site)) {
                    return;
                }
                continue;
            }
            long mine = s.word();
            if ((word & ~15L) == mine) {
                int kept = (int) (write ? word & 3 : word >>> 2 & 3);
                if (kept >= 2) {
                    if (!Fissure.keepsAll) {
                        return;
                    }
                    // Nothing is left out: then the count starts anew in a segment of its own.
                    s.endSegment();
                    continue;
                }
                if (U.compareAndSetLong(base, offset, word, word + one)) {
                    append(s, kind, write, 0, o, of, index, site, 0, 0);
                    return;
                }
            } else if (word == 0 || word >>> FissureThread.THREAD_SHIFT == s.number) {
                if (U.compareAndSetLong(base, offset, word, mine | one)) {
                    append(s, kind, write, 0, o, of, index, site, 0, 0);
                    return;
                }
            } else if (!write && (word & 3) == 0) {
                if (becomesShared(s, kind, o, of, index, base, offset, word, site)) {
                    return;
                }
            } else {
                s.endSegment();
                if (U.compareAndSetLong(base, offset, word, s.word() | one)) {
                    append(s, kind, write, Fissure.AFTER_WORD, o, of, index, site, word, 0);
                    return;
                }
            }
        }
    }

    /** A read that found the word of another thread, which has only read since. */
    private static boolean becomesShared(
            FissureThread s, int kind, Object o, Object of, int index, Object base, long offset, long word, int site) {
        FissureMore state = state(s, kind, o, of, index);
        s.endSegment();
        Fissure.spin(state, FissureMore.LOCK);
        try {
            long mine = s.word() | 4;
            state.base = mine;
            state.reads = 1;
            state.clearReaders();
            state.setReader((int) (word >>> FissureThread.THREAD_SHIFT), word);
            state.setReader(s.number, mine);
            if (!U.compareAndSetLong(base, offset, word, SHARED)) {
                return false;
            }
        } finally {
            state.lock = 0;
        }
        append(s, kind, false, Fissure.AFTER_WORD, o, of, index, site, word, 0);
        return true;
    }

    /** An access to a field that is read by many. False if it no longer is. */
    private static boolean shared(
            FissureThread s, int kind, boolean write, Object o, Object of, int index, Object base, long offset, int site) {
        FissureMore state = state(s, kind, o, of, index);
        long after;
        long reads;
        if (!write && !Fissure.keepsAll) {
            long last = state.reader(s.number);
            if ((last | 7) == s.full) {
                return true;
            }
        }
        Fissure.spin(state, FissureMore.LOCK);
        try {
            if (U.getLongVolatile(base, offset) != SHARED) {
                return false;
            }
            after = state.base;
            if (write) {
                s.endSegment();
                reads = state.reads;
                state.clearReaders();
                U.putLongVolatile(base, offset, s.word() | 1);
            } else {
                long last = state.reader(s.number);
                if (last == 0) {
                    s.endSegment();
                } else if ((last | 7) == s.full) {
                    // Only if all are kept.
                    s.endSegment();
                }
                long next = (last & ~15L) == s.word() ? last + 4 : s.word() | 4;
                state.setReader(s.number, next);
                reads = ++state.reads;
            }
        } finally {
            state.lock = 0;
        }
        append(s, kind, write, write ? Fissure.AFTER_READS : Fissure.AFTER_WORD, o, of, index, site, after, reads);
        return true;
    }

    private static FissureMore state(FissureThread s, int kind, Object o, Object of, int index) {
        if (kind == Fissure.FIELD) {
            FissureRef r = (FissureRef) of;
            return r.of != null ? r.of : FissureCalls.more(s, o, r.field);
        }
        if (kind == Fissure.ELEMENT) {
            FissureArray a = (FissureArray) of;
            if (a.words == null) {
                return a;
            }
            Fissure.spin(a, FissureMore.LOCK);
            try {
                FissureMore[] all = a.shared;
                if (all == null) {
                    all = a.shared = new FissureMore[a.words.length];
                }
                FissureMore state = all[index];
                if (state == null) {
                    state = all[index] = new FissureMore(index, a.id, a.type, null);
                }
                return state;
            } finally {
                a.lock = 0;
            }
        }
        return (FissureMore) of;
    }

    private static void append(
            FissureThread s, int kind, boolean write, int order, Object o, Object of, int index, int site,
            long word, long reads) {
        int op = kind + (write ? Fissure.WRITE : 0) + order;
        if (kind == Fissure.FIELD) {
            FissureRef r = (FissureRef) of;
            long id = r.of != null ? 0 : FissureCalls.id(s, o, r);
            switch (order) {
                case 0 -> s.append(op, r.field, site, id);
                case Fissure.AFTER_WORD -> s.append(op, r.field, site, id, word);
                default -> s.append(op, r.field, site, id, word, reads);
            }
            return;
        }
        FissureMore more = (FissureMore) of;
        if (kind == Fissure.ELEMENT) {
            switch (order) {
                case 0 -> s.append(op, more.type, site, more.id, index);
                case Fissure.AFTER_WORD -> s.append(op, more.type, site, more.id, index, word);
                default -> s.append(op, more.type, site, more.id, index, word, reads);
            }
            return;
        }
        switch (order) {
            case 0 -> s.append(op, more.type, site, more.id);
            case Fissure.AFTER_WORD -> s.append(op, more.type, site, more.id, word);
            default -> s.append(op, more.type, site, more.id, word, reads);
        }
    }
}
