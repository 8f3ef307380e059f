package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Accesses that the short check did not drop: the rule of crates/detect-dynamic/src/filter.rs.
 *
 * A word is thread (21 bits), segment (38), reads kept (2), writes kept (2). 0 is an untouched field. A negative word is
 * that of a field that is read by many, and has a number that no other such field has. Words change by compare-and-set,
 * so that the replaced words of a field are a chain even where accesses race.
 */
final class FissureFilter {
    private static final Unsafe U = Unsafe.getUnsafe();
    /** All accesses of a segment, where it is not known to which elements they were. */
    static final long ALL = 15;

    /**
     * Where the first element of an array of words is. The JDK's own constant is an {@code int} up to release 24 and a
     * {@code long} from then on, so no code can name it in both; its lower half lies where it begins.
     */
    private static final long WORDS =
            U.getInt(Unsafe.class, U.objectFieldOffset(Unsafe.class, "ARRAY_LONG_BASE_OFFSET"));

    private FissureFilter() {
    }

    @DontInline
    static void field(FissureThread s, Object o, int ref, int site, boolean write) {
        if (!Fissure.take(s)) {
            return;
        }
        try {
            FissureRef r = FissureRefs.of(s, o, ref);
            if (r == null) {
                Fissure.lost(s);
                return;
            }
            if (FissureRefs.isIgnored(ref)) {
                return;
            }
            if (r.isVolatile) {
                FissureCalls.volatileAtOnce(s, o, r, write, site);
                return;
            }
            boolean isFresh = r.idOffset > 0 && U.getLong(o, r.idOffset) == s.fresh;
            if (isFresh) {
                return;
            }
            if (write && r.isReference) {
                s.publish();
            }
            if (r.offset > 0) {
                if (!isOwn(s, o, r, write, site)) {
                    access(s, Fissure.FIELD, write, o, r, 0, o, r.offset, site);
                }
            } else {
                FissureWord more = FissureIdentity.word(s, o, r.field);
                access(s, Fissure.FIELD, write, o, r, 0, more, FissureWord.WORD, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            s.busy = false;
        }
    }

    /** A read of a field and a write right after it. */
    @DontInline
    static void update(FissureThread s, Object o, int ref, int read, int write) {
        if (!Fissure.take(s)) {
            return;
        }
        try {
            FissureRef r = FissureRefs.of(s, o, ref);
            if (r == null) {
                Fissure.lost(s);
                return;
            }
            if (FissureRefs.isIgnored(ref)) {
                return;
            }
            if (r.isVolatile) {
                FissureCalls.volatileAtOnce(s, o, r, false, read);
                FissureCalls.volatileAtOnce(s, o, r, true, write);
                return;
            }
            if (r.idOffset > 0 && U.getLong(o, r.idOffset) == s.fresh) {
                return;
            }
            if (r.offset > 0) {
                if (!isOwnUpdate(s, o, r, read, write)) {
                    access(s, Fissure.FIELD, false, o, r, 0, o, r.offset, read);
                    access(s, Fissure.FIELD, true, o, r, 0, o, r.offset, write);
                }
            } else {
                FissureWord more = FissureIdentity.word(s, o, r.field);
                access(s, Fissure.FIELD, false, o, r, 0, more, FissureWord.WORD, read);
                access(s, Fissure.FIELD, true, o, r, 0, more, FissureWord.WORD, write);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            s.busy = false;
        }
    }

    /** The same for a field that this thread had last: one step of its word counts both. */
    private static boolean isOwnUpdate(FissureThread s, Object o, FissureRef r, int read, int write) {
        long word = U.getLongVolatile(o, r.offset);
        if (word >>> FissureThread.THREAD_SHIFT != s.number) {
            return false;
        }
        long next = s.word();
        if ((word & ~15L) == next) {
            if ((word & 3) >= 2 || (word >>> 2 & 3) >= 2) {
                return false;
            }
            next = word;
        }
        if (!U.compareAndSetLong(o, r.offset, word, next + 5)) {
            return false;
        }
        long id = FissureIdentity.id(s, o, r);
        s.append(Fissure.FIELD, r.field, read, id);
        s.append(Fissure.FIELD + Fissure.WRITE, r.field, write, id);
        return true;
    }

    /** An access to a field that this thread had last, as most are: what {@link #access} does then, in fewer steps. */
    private static boolean isOwn(FissureThread s, Object o, FissureRef r, boolean write, int site) {
        long word = U.getLongVolatile(o, r.offset);
        // A word of none, and one of a field that is read by many, is of no thread.
        if (word >>> FissureThread.THREAD_SHIFT != s.number) {
            return false;
        }
        long next = s.word();
        if ((word & ~15L) == next) {
            if ((write ? word & 3 : word >>> 2 & 3) >= 2) {
                return false;
            }
            next = word;
        }
        if (!U.compareAndSetLong(o, r.offset, word, next + (write ? 1 : 4))) {
            return false;
        }
        s.append(Fissure.FIELD + (write ? Fissure.WRITE : 0), r.field, site, FissureIdentity.id(s, o, r));
        return true;
    }

    @DontInline
    static void staticField(FissureThread s, int ref, int site, boolean write) {
        if (!Fissure.take(s)) {
            return;
        }
        try {
            FissureRef r = FissureRefs.of(s, null, ref);
            if (r == null) {
                return;
            }
            if (FissureRefs.isIgnored(ref)) {
                return;
            }
            if (r.isVolatile) {
                FissureCalls.volatileAtOnce(s, null, r, write, site);
                return;
            }
            access(s, Fissure.FIELD, write, null, r, 0, r.of, FissureWord.WORD, site);
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            s.busy = false;
        }
    }

    @DontInline
    static void freshSlowly(FissureThread s, Object o, int ref) {
        if (!Fissure.take(s)) {
            return;
        }
        try {
            FissureRef r = FissureRefs.of(s, o, ref);
            if (r != null && r.idOffset > 0 && !Fissure.keepsAll && U.getLong(o, r.idOffset) == 0) {
                U.putLong(o, r.idOffset, s.fresh);
            }
        } catch (Throwable trouble) {
            // The object counts as known to others, which is always right.
        } finally {
            s.busy = false;
        }
    }

    @DontInline
    static void element(FissureThread s, FissureArray known, Object array, int index, int site, boolean write) {
        if (array == null || !Fissure.take(s)) {
            return;
        }
        try {
            FissureArray a = known == null ? found(s, array, site) : known;
            long[] words = a.words;
            if (words == null) {
                if (FissureOne.access(s, array, a, write, index, site)) {
                    return;
                }
                int length = java.lang.reflect.Array.getLength(array);
                FissureRoom.check(8 * Math.min(length, Integer.MAX_VALUE / 8));
                words = FissureOne.share(a, length);
                FissureTable.keeps(8L * length);
            }
            if (index < 0 || index >= words.length) {
                // The access will throw.
                return;
            }
            long offset = WORDS + 8L * index;
            access(s, Fissure.ELEMENT, write, array, a, index, words, offset, site);
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            s.busy = false;
        }
    }

    /** The state of an array, or null if there is none yet. */
    static FissureArray arrayBeforeLoop(FissureThread s, Object array) {
        FissureArray a = s.array(array);
        if (a == null && !s.busy) {
            FissureEntry entry = FissureTable.find(array);
            a = entry == null ? null : entry.array;
            if (a != null) {
                s.setArray(a);
            }
        }
        return a;
    }

    /** The state of an array that the thread did not touch lately. */
    private static FissureArray found(FissureThread s, Object array, int site) {
        FissureArray a = find(s, array);
        s.setArray(a, site);
        return a;
    }

    private static FissureArray find(FissureThread s, Object array) {
        FissureEntry entry = FissureTable.of(s, array);
        FissureArray found = entry.array;
        if (found == null) {
            FissureRoom.check(128);
            FissureArray made = new FissureArray(entry, FissureClass.ALL.get(array.getClass()).number);
            found = FissureEntry.setArray(entry, made);
        }
        return found;
    }

    /** A container's contents. */
    static void contents(FissureThread s, Object container, boolean write, int site) {
        FissureWord more = FissureIdentity.word(s, container, FissureMore.CONTENTS);
        access(s, Fissure.CONTENTS, write, container, more, 0, more, FissureWord.WORD, site);
    }

    /**
     * The rule. The word is at {@code offset} of {@code base}; {@code of} is a {@link FissureRef} for a field, else the
     * {@link FissureWord} of the array or the contents.
     */
    static void access(
            FissureThread s, int kind, boolean write, Object o, Object of, int index, Object base, long offset, int site) {
        long one = one(kind, write, of, base);
        while (true) {
            long word = U.getLongVolatile(base, offset);
            if (word < 0) {
                if (shared(s, kind, word, write, o, of, index, base, offset, site)) {
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
                    s.breakSegment();
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
                boolean isNew = !s.hasLearned(word);
                if (isNew) {
                    s.breakSegment();
                }
                if (U.compareAndSetLong(base, offset, word, s.word() | one)) {
                    if (isNew) {
                        s.learn(word);
                    }
                    append(s, kind, write, Fissure.AFTER_WORD, o, of, index, site, word, 0);
                    return;
                }
            }
        }
    }

    /** A read that found the word of another thread, which has only read since. Reads do not conflict: nothing is learned. */
    static boolean becomesShared(
            FissureThread s, int kind, Object o, Object of, int index, Object base, long offset, long word, int site) {
        FissureReads state = state(s, kind, o, of, index, base);
        if (!s.hasLearned(word)) {
            s.breakSegment();
        }
        Fissure.spin(state, FissureReads.LOCK);
        try {
            if (U.getLongVolatile(base, offset) != word) {
                // Another reader may have been faster, and the state is that of its read.
                return false;
            }
            long mine = s.word() | one(kind, false, of, base);
            state.base = mine;
            state.reads = 1;
            state.clearReaders();
            state.setReader((int) (word >>> FissureThread.THREAD_SHIFT), word);
            state.setReader(s.number, mine);
            if (!U.compareAndSetLong(base, offset, word, Fissure.sharedWord())) {
                return false;
            }
        } finally {
            state.unlock();
        }
        append(s, kind, false, Fissure.AFTER_WORD, o, of, index, site, isOne(kind, of, base) ? word | ALL : word, 0);
        return true;
    }

    /** An access to a field that is read by many. False if it no longer is. */
    static boolean shared(
            FissureThread s, int kind, long word, boolean write, Object o, Object of, int index, Object base, long offset,
            int site) {
        FissureReads state = state(s, kind, o, of, index, base);
        long after;
        long reads;
        long[] dropped = null;
        if (!write && !Fissure.keepsAll) {
            long last = state.reader(s.number);
            if ((last | 7) == s.full) {
                s.know(word);
                return true;
            }
        }
        Fissure.spin(state, FissureReads.LOCK);
        try {
            if (U.getLongVolatile(base, offset) != word) {
                return false;
            }
            after = state.base;
            if (write) {
                s.breakSegment();
                reads = state.reads;
                state.clearReaders();
                U.putLongVolatile(base, offset, s.word() | 1);
            } else {
                long last = state.reader(s.number);
                boolean enough = (last & ~15L) == s.word() && (last & 8) != 0;
                // Enough only if all are kept: then the count starts anew.
                if (last == 0 && !s.knew(word) && !s.hasLearned(after) || enough) {
                    s.breakSegment();
                }
                long next = ((last & ~15L) == s.word() ? last : s.word()) + one(kind, false, of, base);
                dropped = state.setReader(s.number, next);
                reads = ++state.reads;
                if ((next & 8) != 0 && !Fissure.keepsAll) {
                    s.know(word);
                }
                if (isOne(kind, of, base)) {
                    after |= ALL;
                    FissureArray a = (FissureArray) of;
                    a.putLast(dropped);
                    if (!Fissure.keepsAll) {
                        a.makeView(s, word, next);
                    }
                }
            }
        } finally {
            state.unlock();
        }
        append(s, kind, write, write ? Fissure.AFTER_READS : Fissure.AFTER_WORD, o, of, index, site, after, reads);
        if (dropped != null) {
            FissureOne.tellEnded(s, (FissureArray) of, dropped, index, site);
        }
        return true;
    }

    /** Whether it is an array that has one word: then it is not known to which elements the accesses of a segment were. */
    private static boolean isOne(int kind, Object of, Object base) {
        return kind == Fissure.ELEMENT && of == base;
    }

    /** What an access adds to a word. Of an array that has one word, one access of a kind is enough in a segment. */
    static long one(int kind, boolean write, Object of, Object base) {
        return isOne(kind, of, base) ? write ? 2 : 8 : write ? 1 : 4;
    }

    private static FissureReads state(FissureThread s, int kind, Object o, Object of, int index, Object base) {
        if (kind == Fissure.FIELD) {
            FissureRef r = (FissureRef) of;
            return r.of != null ? r.of : base != o ? (FissureWord) base : FissureIdentity.reads(s, o, r.field);
        }
        if (kind == Fissure.ELEMENT) {
            FissureArray a = (FissureArray) of;
            if (a.words == null) {
                return a;
            }
            FissureReads[] all = a.shared;
            FissureReads found = all == null ? null : all[index];
            if (found != null) {
                return found;
            }
            FissureRoom.check(80);
            Fissure.spin(a, FissureReads.LOCK);
            try {
                all = a.shared;
                if (all == null) {
                    all = a.shared = new FissureReads[a.words.length];
                }
                FissureReads state = all[index];
                if (state == null) {
                    state = new FissureReads(index, a.id, a.type, null);
                    U.storeFence();
                    all[index] = state;
                }
                return state;
            } finally {
                a.lock = 0;
            }
        }
        return (FissureWord) of;
    }

    static void append(
            FissureThread s, int kind, boolean write, int order, Object o, Object of, int index, int site,
            long word, long reads) {
        int op = kind + (write ? Fissure.WRITE : 0) + order;
        if (kind == Fissure.FIELD) {
            FissureRef r = (FissureRef) of;
            long id = r.of != null ? 0 : FissureIdentity.id(s, o, r);
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
