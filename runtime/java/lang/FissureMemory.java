package java.lang;

import jdk.internal.vm.annotation.ForceInline;

/** What a thread remembers of fields and arrays that it touched. All of it can be found again. */
class FissureMemory extends FissureBuffer {
    private static final long[] NONE = new long[1];
    private static final FissureArray[] NO_ARRAYS = new FissureArray[1];
    private static final FissureView[] NO_VIEWS = new FissureView[1];
    private static final int VIEWS = 1 << 6;
    /** Places for arrays by site. */
    private static final int ARRAYS = 1 << 4;

    /** Fields read by many that a thread remembers, at first and at most. */
    private static final int FIRST_KNOWN = 1 << 2;
    private static final int MOST_KNOWN = 1 << 16;

    /** Fields read by many of which enough reads of a segment were kept, by number: the word, with the segment added. */
    private long[] known = NONE;
    /** What is added to such a word: the segment, above the number. No field waits until the bits of it come again. */
    private long stamp;

    /** Arrays by the site that touched them, which mostly is the same array: at first one place with nothing. */
    private FissureArray[] arrays = NO_ARRAYS;
    /** How often a site touched another one. */
    private int otherArrays;
    /** The arrays that were touched last, by sites that touch several. */
    private FissureArray array0;
    private FissureArray array1;
    private FissureArray array2;
    private FissureArray array3;
    private int nextArray;

    /** Where the thread notes reads of arrays that many read, by the array's number: at first one place with nothing. */
    private FissureView[] views = NO_VIEWS;

    FissureMemory(int number, FissureStripe stripe) {
        super(number, stripe);
    }

    /** The thread came upon something new by another thread's word. */
    void breakSegment() {
        full += 16;
        stamp += 1L << 32;
    }

    /** The state of the array that a site touched lately, if it is this one. */
    @ForceInline
    FissureArray arrayAt(Object array, int site) {
        FissureArray[] all = arrays;
        FissureArray a = all[site & all.length - 1];
        return a != null && a.entry.get() == array ? a : null;
    }

    /** The state of an array that the thread touched lately, or null. */
    FissureArray array(Object array, int site) {
        FissureArray a = arrayAt(array, site);
        if (a == null) {
            a = array(array);
            if (a != null) {
                setArrayAt(a, site);
            }
        }
        return a;
    }

    FissureArray array(Object array) {
        FissureArray a = array0;
        if (a != null && a.entry.get() == array) {
            return a;
        }
        a = array1;
        if (a != null && a.entry.get() == array) {
            return a;
        }
        a = array2;
        if (a != null && a.entry.get() == array) {
            return a;
        }
        a = array3;
        return a != null && a.entry.get() == array ? a : null;
    }

    /** A site touches another array than lately. It keeps what it has three times in four: others may come and go. */
    private boolean setArrayAt(FissureArray a, int site) {
        // Times that are spread, so that no site that takes turns with others is always passed over.
        boolean keeps = otherArrays++ * 0x9e3779b9 >>> 30 == 0;
        if (keeps) {
            FissureArray[] all = arrays;
            if (all.length == 1) {
                all = arrays = new FissureArray[ARRAYS];
            }
            all[site & ARRAYS - 1] = a;
        }
        return keeps;
    }

    /** The thread touches an array that it did not touch lately. */
    void setArray(FissureArray a, int site) {
        if (!setArrayAt(a, site)) {
            setArray(a);
        }
    }

    void setArray(FissureArray a) {
        switch (nextArray++ & 3) {
            case 0 -> array0 = a;
            case 1 -> array1 = a;
            case 2 -> array2 = a;
            default -> array3 = a;
        }
    }

    /** Where the thread notes its reads of an array that many read, or null. */
    FissureView view(FissureArray a) {
        FissureView[] all = views;
        FissureView view = all[(int) a.id & all.length - 1];
        if (view == null || view.array != a) {
            view = a.view(number);
            if (view != null) {
                if (all.length == 1) {
                    all = views = new FissureView[VIEWS];
                }
                all[(int) a.id & VIEWS - 1] = view;
            }
        }
        return view;
    }

    /** Whether enough reads of this segment were kept of a field or element that is read by many, and has this word. */
    @ForceInline
    boolean knows(long word) {
        long[] known = this.known;
        // No number is 0: an empty place is like no word.
        return known[(int) word & known.length - 1] == word + stamp;
    }

    /** Whether enough reads of some segment were kept of it. */
    boolean knew(long word) {
        long[] known = this.known;
        long old = known[(int) word & known.length - 1];
        return (int) old == (int) word;
    }

    /** Notes that enough were kept. One that is forgotten again is looked up where the readers are. */
    void know(long word) {
        long[] known = this.known;
        int at = (int) word & known.length - 1;
        long old = known[at];
        // Two of one segment want the place.
        boolean isTaken = known.length == 1 || old != 0 && (old ^ word + stamp) >>> 32 == 0;
        if (isTaken && known.length < MOST_KNOWN) {
            int length = known.length == 1 ? FIRST_KNOWN : known.length * 4;
            if (length == FIRST_KNOWN || FissureStates.hasRoomFor(8L * length)) {
                known = this.known = new long[length];
                at = (int) word & length - 1;
            }
        }
        known[at] = word + stamp;
    }

    /** What it remembers can be found again. Others may call it: a table that is still in use does no harm. */
    void forget() {
        known = NONE;
        arrays = NO_ARRAYS;
        views = NO_VIEWS;
    }
}
