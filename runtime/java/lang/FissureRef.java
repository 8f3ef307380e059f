package java.lang;

/** A field as some class's code names it, found. Refers to no class, so that classes can be unloaded. */
final class FissureRef {
    /** The field's number, for records. */
    final int field;
    /** Where the word is in an object; 0 if objects have none. */
    final long offset;
    /** Where objects keep their number and further state; 0 if they have no room for it. */
    final long idOffset;
    final long moreOffset;
    /** A static field's state. */
    final FissureWord of;
    /** Whether a write to it can make an object known to others. */
    final boolean isReference;
    /** Whether it turned out to be volatile after code that touches it was instrumented. */
    final boolean isVolatile;

    FissureRef(
            int field, long offset, long idOffset, long moreOffset, FissureWord of, boolean isReference,
            boolean isVolatile) {
        this.field = field;
        this.offset = offset;
        this.idOffset = idOffset;
        this.moreOffset = moreOffset;
        this.of = of;
        this.isReference = isReference;
        this.isVolatile = isVolatile;
    }
}
