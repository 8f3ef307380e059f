package java.lang;

import jdk.internal.misc.Unsafe;

/** A method that arms call: what it would do, as crates/instrument/src/arms/code.rs writes it. Refers to no class. */
final class FissureCallee {
    /** Found lately, by class and method. One that is forgotten again is asked for again. */
    private static final FissureCallee[] KNOWN = new FissureCallee[1 << 12];

    private final long key;
    /** Null if it is not known. */
    final int[] code;
    /** By register: the slot of the argument that it has at first. */
    final int[] handed;
    final int result;
    final int registers;
    /** Whether it is known to come to its end. */
    final boolean ends;
    final String[] names;

    private FissureCallee(long key, String text) {
        this.key = key;
        int[] all = FissureBranch.numbers(text == null ? "" : text);
        if (all.length == 0) {
            code = null;
            handed = null;
            result = -1;
            registers = 0;
            ends = true;
            names = null;
            return;
        }
        int at = 0;
        result = all[at++];
        registers = all[at++];
        ends = all[at++] != 0;
        handed = new int[all[at++]];
        System.arraycopy(all, at, handed, 0, handed.length);
        at += handed.length;
        code = new int[all[at++]];
        System.arraycopy(all, at, code, 0, code.length);
        names = FissureBranch.names(all, at + code.length);
    }

    /** What a class has for a method, itself or above; with null, the class that the method is named with. */
    static FissureCallee of(FissureThread s, Class<?> type, int member) {
        long key = (type == null ? 0L : (long) s.facts(type).number << 32) | member;
        int at = (int) (key * 0x9e3779b97f4a7c15L >>> 52);
        FissureCallee found = KNOWN[at];
        if (found != null && found.key == key) {
            return found;
        }
        String text = null;
        if (type == null) {
            text = Fissure.callee(null, member);
        } else {
            for (Class<?> c = type; text == null && c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
                text = Fissure.callee(c.getName(), member);
            }
        }
        FissureCallee made = new FissureCallee(key, text);
        if (text != null || type != null) {
            // A class that is named may yet come.
            Unsafe.getUnsafe().storeFence();
            KNOWN[at] = made;
        }
        return made;
    }
}
