package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Objects by identity, weakly. Split in parts, each a hash table with chains; looking up takes no lock.
 * Entries of objects that are gone are dropped while a chain is changed and when a part grows.
 */
final class FissureTable {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long LOCK = U.objectFieldOffset(FissureTable.class, "lock");
    private static final int PARTS = 64;
    private static final FissureTable[] ALL = new FissureTable[PARTS];

    static {
        for (int i = 0; i < PARTS; i++) {
            ALL[i] = new FissureTable();
        }
    }

    private volatile int lock;
    private volatile FissureEntry[] chains = new FissureEntry[16];
    private int count;

    /** The entry of an object, or null. */
    static FissureEntry find(Object object) {
        int hash = System.identityHashCode(object);
        return ALL[hash & PARTS - 1].find(object, hash);
    }

    /** The entry of an object, made if there is none. */
    static FissureEntry of(FissureThread thread, Object object) {
        int hash = System.identityHashCode(object);
        FissureTable part = ALL[hash & PARTS - 1];
        FissureEntry entry = part.find(object, hash);
        return entry != null ? entry : part.add(thread, object, hash);
    }

    private FissureEntry find(Object object, int hash) {
        FissureEntry[] chains = this.chains;
        FissureEntry entry = chains[hash >>> 6 & chains.length - 1];
        while (entry != null && (entry.hash != hash || entry.get() != object)) {
            entry = entry.next;
        }
        return entry;
    }

    private FissureEntry add(FissureThread thread, Object object, int hash) {
        long id = thread.newId();
        Fissure.spin(this, LOCK);
        try {
            FissureEntry entry = find(object, hash);
            if (entry != null) {
                return entry;
            }
            if (count >= chains.length) {
                rebuild();
            }
            FissureEntry[] chains = this.chains;
            int at = hash >>> 6 & chains.length - 1;
            FissureEntry made = new FissureEntry(object, hash, id, chains[at]);
            U.storeFence();
            chains[at] = made;
            count++;
            return made;
        } finally {
            lock = 0;
        }
    }

    /** Makes new chains of the entries whose objects are alive, and room for as many again. */
    private void rebuild() {
        FissureEntry[] old = chains;
        int alive = 0;
        for (FissureEntry chain : old) {
            for (FissureEntry entry = chain; entry != null; entry = entry.next) {
                if (!entry.refersTo(null)) {
                    alive++;
                }
            }
        }
        int size = old.length;
        while (size < alive * 2) {
            size *= 2;
        }
        FissureEntry[] larger = new FissureEntry[size];
        // Who looks up at this moment may miss an entry while links change, and then comes here and waits.
        for (FissureEntry chain : old) {
            FissureEntry entry = chain;
            while (entry != null) {
                FissureEntry rest = entry.next;
                if (!entry.refersTo(null)) {
                    int at = entry.hash >>> 6 & size - 1;
                    entry.next = larger[at];
                    larger[at] = entry;
                }
                entry = rest;
            }
        }
        count = alive;
        chains = larger;
    }
}
