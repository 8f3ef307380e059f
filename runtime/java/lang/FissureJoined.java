package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/** Reads of several fields of one object that one probe tells. A field that is none has the number -1. */
final class FissureJoined {
    private static final Unsafe U = Unsafe.getUnsafe();

    private FissureJoined() {
    }

    /** Whether these fields are known, and have words or are final. */
    @ForceInline
    static boolean arePlain(int a, int b, int c, int d) {
        return isPlain(a) && isPlain(b) && isPlain(c) && isPlain(d);
    }

    @ForceInline
    private static boolean isPlain(int ref) {
        int offset = ref < 0 ? FissureRefs.IGNORED : (int) FissureRefs.offsets(ref);
        return offset > 0 || offset == FissureRefs.IGNORED;
    }

    /** Whether enough reads of all these fields were kept, or nobody else can know the object. */
    @ForceInline
    static boolean areKept(FissureThread s, Object o, int a, int b, int c, int d) {
        long both = FissureRefs.offsets(a);
        // The same again where there is no field, or a final one.
        int last = offset(d, offset(c, offset(b, (int) both)));
        int offset = offset(a, last);
        int offset2 = offset(b, offset);
        int offset3 = offset(c, offset2);
        int offset4 = offset(d, offset3);
        if (last <= 0 || offset <= 0 || offset2 <= 0 || offset3 <= 0) {
            return last == FissureRefs.IGNORED;
        }
        long word = U.getLong(o, offset);
        long word2 = U.getLong(o, offset2);
        long word3 = U.getLong(o, offset3);
        long word4 = U.getLong(o, offset4);
        if ((word | word2 | word3 | word4) == 0) {
            return U.getLong(o, both >>> 32) == s.fresh;
        }
        return s.hasKept(word) && (offset2 == offset || s.hasKept(word2)) && (offset3 == offset2 || s.hasKept(word3))
                && (offset4 == offset3 || s.hasKept(word4));
    }

    @ForceInline
    private static int offset(int ref, int instead) {
        int offset = ref < 0 ? FissureRefs.IGNORED : (int) FissureRefs.offsets(ref);
        return offset == FissureRefs.IGNORED ? instead : offset;
    }

    @DontInline
    static void readEach(Object o, FissureThread s, int count, int a, int b, int c, int d, int site) {
        if (count > 0) {
            Fissure.read(o, s, a, site);
        }
        if (count > 1) {
            Fissure.read(o, s, b, site + 1);
        }
        if (count > 2 && c >= 0) {
            Fissure.read(o, s, c, site + 2);
        }
        if (count > 3 && d >= 0) {
            Fissure.read(o, s, d, site + 3);
        }
    }
}
