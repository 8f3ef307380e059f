package java.lang;

import jdk.internal.misc.Unsafe;

/** Accesses to arrays that have one word. */
final class FissureOne {
    private static final Unsafe U = Unsafe.getUnsafe();

    private FissureOne() {
    }

    /**
     * An access to an array that has one word. Another thread takes over all of it: one that was filled by one thread and is
     * used by another has still one owner. False if threads have it at the same time, and it must have more words.
     */
    static boolean access(FissureThread s, Object array, FissureArray a, boolean write, int index, int site) {
        while (a.words == null) {
            long word = U.getLongVolatile(a, FissureWord.WORD);
            boolean isOwn = word >>> FissureThread.THREAD_SHIFT == s.number;
            if (word == 0 || isOwn) {
                if (word == 0) {
                    a.setOwner(s);
                }
                FissureFilter.access(s, Fissure.ELEMENT, write, array, a, index, a, FissureWord.WORD, site);
                return true;
            }
            if (word < 0) {
                if (!write && notes(s, a, word, index, site)) {
                    return true;
                }
                if (write
                        ? takeBack(s, a, word, index, site)
                        : FissureFilter.shared(
                                s, Fissure.ELEMENT, word, false, array, a, index, a, FissureWord.WORD, site)) {
                    return true;
                }
                continue;
            }
            if (!write && (word & 3) == 0) {
                if (FissureFilter.becomesShared(s, Fissure.ELEMENT, array, a, index, a, FissureWord.WORD, word, site)) {
                    return true;
                }
                continue;
            }
            if (a.isContended(s)) {
                return false;
            }
            boolean isNew = !s.hasLearned(word);
            if (isNew) {
                s.breakSegment();
            }
            long mine = s.word() | FissureFilter.one(Fissure.ELEMENT, write, a, a);
            if (U.compareAndSetLong(a, FissureWord.WORD, word, mine)) {
                if (isNew) {
                    s.learn(word);
                }
                a.setOwner(s);
                FissureFilter.append(
                        s, Fissure.ELEMENT, write, Fissure.AFTER_WORD, null, a, index, site, word | FissureFilter.ALL, 0);
                return true;
            }
        }
        return false;
    }

    /**
     * A read of an array that is read by many, as one, if the thread has a place of its own to note it. Its earlier reads have
     * come after the one that made the array so, and this one comes after those. Who writes to the array before it sees what
     * is noted here is not ordered with this thread by anything.
     */
    private static boolean notes(FissureThread s, FissureArray a, long word, int index, int site) {
        FissureView view = s.view(a);
        if (view == null || view.shared != word) {
            return false;
        }
        s.know(word);
        long mine = s.word() | FissureFilter.one(Fissure.ELEMENT, false, a, a);
        if (view.last != mine) {
            view.last = mine;
            s.append(Fissure.ELEMENT, a.type, site, a.id, index);
        }
        return true;
    }

    /** A write to an array that was read by many, as one: it comes after all of them. False if it no longer is. */
    private static boolean takeBack(FissureThread s, FissureArray a, long word, int index, int site) {
        long[] readers;
        Fissure.spin(a, FissureReads.LOCK);
        try {
            if (U.getLongVolatile(a, FissureWord.WORD) != word) {
                return false;
            }
            s.breakSegment();
            U.putLongVolatile(a, FissureWord.WORD, s.word() | FissureFilter.one(Fissure.ELEMENT, true, a, a));
            a.setOwner(s);
            readers = a.readers();
            a.putLast(readers);
            a.dropViews();
            a.clearReaders();
        } finally {
            a.lock = 0;
        }
        // A record has room for one word: reads come after the other readers, and the write after all of these. Were they
        // writes as well, a reader could come between two of them.
        long last = 0;
        for (long reader : readers) {
            if (reader != 0 && reader >>> FissureThread.THREAD_SHIFT != s.number) {
                if (last != 0) {
                    read(s, a, index, site, last);
                }
                last = reader;
            }
        }
        int order = last == 0 ? 0 : Fissure.AFTER_WORD;
        FissureFilter.append(s, Fissure.ELEMENT, true, order, null, a, index, site, last | FissureFilter.ALL, 0);
        return true;
    }

    /** Writes down a read that comes after all of the segment of a word. */
    private static void read(FissureThread s, FissureArray a, int index, int site, long after) {
        long all = after | FissureFilter.ALL;
        FissureFilter.append(s, Fissure.ELEMENT, false, Fissure.AFTER_WORD, null, a, index, site, all, 0);
    }

    /** Threads have the array at the same time: from now on each element has a word, at first that of the last owner. */
    static long[] share(FissureArray a, int length) {
        Fissure.spin(a, FissureReads.LOCK);
        try {
            long[] words = a.words;
            if (words == null) {
                words = new long[length];
                // Which elements it touched in its last segment is not known: all of that segment comes before.
                long word = a.word;
                word = (word < 0 ? a.base : word) | FissureFilter.ALL;
                a.dropViews();
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

    /** Readers of an array that are over are no longer noted: who writes to it comes after this thread, and it after them. */
    static void tellEnded(FissureThread s, FissureArray a, long[] readers, int index, int site) {
        for (long reader : readers) {
            if (reader != 0 && FissureReads.isOver(reader)) {
                read(s, a, index, site, reader);
            }
        }
    }
}
