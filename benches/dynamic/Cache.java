import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A cache that threads fill and read, with counts of its use. */
class Cache {
    static final class Entry {
        final int key;
        long value;
        long uses;

        Entry(int key) {
            this.key = key;
            long v = key;
            for (int i = 0; i < 200; i++) {
                v = v * 31 + i;
            }
            value = v;
        }

        synchronized long use() {
            uses++;
            return value;
        }
    }

    private static final int LOOKUPS = Scale.of(3_000_000);
    private static final ConcurrentHashMap<Integer, Entry> ENTRIES = new ConcurrentHashMap<>();
    private static final AtomicLong TOTAL = new AtomicLong();

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            int seed = t;
            threads[t] = new Thread(() -> look(seed));
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(ENTRIES.size() + " " + TOTAL.get());
    }

    private static void look(int seed) {
        long random = seed + 1;
        long sum = 0;
        for (int i = 0; i < LOOKUPS; i++) {
            random = random * 6364136223846793005L + 1442695040888963407L;
            int key = (int) (random >>> 48) & 0x3fff;
            Entry entry = ENTRIES.computeIfAbsent(key, Entry::new);
            long value = entry.use();
            for (int k = 0; k < 60; k++) {
                sum += value >>> (k & 31) ^ k;
            }
            if (i % 1000 == 0) {
                TOTAL.addAndGet(sum);
                sum = 0;
            }
        }
        TOTAL.addAndGet(sum);
    }
}
