package java.lang;

/** State of an array: one word until a second thread comes, then one for each element. */
final class FissureArray extends FissureMore {
    final FissureEntry entry;
    /** Null while one thread alone has touched the array. */
    long[] words;
    /** For elements that are read by many. */
    FissureMore[] shared;

    FissureArray(FissureEntry entry, int type) {
        super(ARRAY, entry.id, type, null);
        this.entry = entry;
    }
}
