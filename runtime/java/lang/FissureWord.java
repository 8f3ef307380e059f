package java.lang;

import jdk.internal.misc.Unsafe;

/** State that has the word itself: of contents, of static fields, of a field whose class could not have one for it. */
class FissureWord extends FissureReads {
    static final long WORD = Unsafe.getUnsafe().objectFieldOffset(FissureWord.class, "word");

    long word;

    FissureWord(int key, long id, int type, FissureMore next) {
        super(key, id, type, next);
    }
}
