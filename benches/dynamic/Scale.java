/** How much of its work a program does: all, or so many hundredths as the property `scale` says. */
final class Scale {
    private static final int HUNDREDTHS = Integer.getInteger("scale", 100);

    private Scale() {
    }

    static int of(int whole) {
        return Math.max(1, (int) ((long) whole * HUNDREDTHS / 100));
    }
}
