package java.lang;

/** A branch whose arms are known: what each would do, as crates/instrument/src/arms/code.rs writes it. */
final class FissureBranch {
    private static final int PAGE_BITS = 8;
    private static final int PAGE = 1 << PAGE_BITS;
    private static final int PAGES = 1 << 16;
    private static final FissureBranch[][] ALL = new FissureBranch[PAGES][];
    /** Its lock is held while a branch is added. */
    private static final FissureReads GLOBAL = new FissureReads(0, 0, 0, null);

    final int number;
    final int site;
    /** Where the arms come together again: branches of one method with the same place have the same number. */
    final int join;
    /** The arm that stays in a loop which the others leave, or -1. */
    final int stays;
    /** A bit for each arm that is over where it begins. */
    final int empty;
    final int registers;
    final int[][] arms;
    /** Names of classes that the arms have as constants. */
    final String[] names;
    /** Of a switch: its keys, and the arm of each; the last arm is that of all other keys. */
    private final int[] keys;
    private final int[] armOf;

    private FissureBranch(int number, String text) {
        int[] all = numbers(text);
        this.number = number;
        int at = 0;
        site = all[at++];
        join = all[at++];
        stays = all[at++];
        empty = all[at++];
        registers = all[at++];
        arms = new int[all[at++]][];
        for (int i = 0; i < arms.length; i++) {
            int length = all[at++];
            arms[i] = new int[length];
            System.arraycopy(all, at, arms[i], 0, length);
            at += length;
        }
        keys = new int[all[at++]];
        armOf = new int[keys.length + 1];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = all[at++];
            armOf[i] = all[at++];
        }
        armOf[keys.length] = all[at++];
        names = names(all, at);
    }

    /** Two characters a number. */
    static int[] numbers(String text) {
        int[] all = new int[text.length() / 2];
        for (int i = 0; i < all.length; i++) {
            all[i] = text.charAt(2 * i) | text.charAt(2 * i + 1) << 16;
        }
        return all;
    }

    static String[] names(int[] all, int from) {
        int at = from;
        String[] names = new String[all[at++]];
        for (int i = 0; i < names.length; i++) {
            char[] name = new char[all[at++]];
            for (int j = 0; j < name.length; j++) {
                name[j] = (char) all[at++];
            }
            names[i] = new String(name);
        }
        return names;
    }

    /** The arm that a switch takes. */
    int armOf(int key) {
        int i = 0;
        while (i < keys.length && keys[i] != key) {
            i++;
        }
        return armOf[i];
    }

    static FissureBranch of(int number) {
        FissureBranch[] page = ALL[number >>> PAGE_BITS];
        FissureBranch found = page == null ? null : page[number & PAGE - 1];
        return found != null ? found : find(number);
    }

    private static FissureBranch find(int number) {
        String text = number >>> PAGE_BITS < PAGES ? Fissure.branch(number) : null;
        if (text == null) {
            return null;
        }
        FissureBranch made = new FissureBranch(number, text);
        Fissure.spin(GLOBAL, FissureReads.LOCK);
        try {
            FissureBranch[] page = ALL[number >>> PAGE_BITS];
            if (page == null) {
                page = ALL[number >>> PAGE_BITS] = new FissureBranch[PAGE];
            }
            jdk.internal.misc.Unsafe.getUnsafe().storeFence();
            page[number & PAGE - 1] = made;
        } finally {
            GLOBAL.lock = 0;
        }
        return made;
    }
}
