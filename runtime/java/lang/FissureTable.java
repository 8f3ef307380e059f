package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Objects by identity, weakly. Split in parts, each a hash table with chains; looking up takes no lock.
 * Entries of objects that are gone are dropped when a part is full, and from all of them when much was kept since.
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

    /** How many bytes may be kept by entries whose objects are gone. */
    private static final long MOST_GONE = Runtime.getRuntime().maxMemory() / 16;
    /** Bytes that entries came to keep since the last sweep. */
    private static long kept;

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
        FissureRoom.check(64);
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

    /** An entry keeps so many bytes more from now on. */
    static void keeps(long bytes) {
        kept += bytes;
        if (kept > MOST_GONE) {
            kept = 0;
            sweep();
        }
    }

    /** Drops all entries whose objects are gone. Takes no memory. */
    static void sweep() {
        for (FissureTable part : ALL) {
            Fissure.spin(part, LOCK);
            part.drop();
            part.lock = 0;
        }
    }

    /** Forgets all objects. */
    static void clear() {
        for (FissureTable part : ALL) {
            FissureEntry[] chains = part.chains;
            for (int at = 0; at < chains.length; at++) {
                chains[at] = null;
            }
        }
    }

    private void drop() {
        FissureEntry[] chains = this.chains;
        for (int at = 0; at < chains.length; at++) {
            FissureEntry last = null;
            for (FissureEntry entry = chains[at]; entry != null; entry = entry.next) {
                if (!entry.refersTo(null)) {
                    last = entry;
                    continue;
                }
                count--;
                if (last == null) {
                    chains[at] = entry.next;
                } else {
                    last.next = entry.next;
                }
            }
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
