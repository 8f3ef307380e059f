import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** What each line tells, in the order of first times, is in the mark behind it. */
public class Shop {
    interface Priced {
        int price();

        default int doubled() {
            return 2 * price();
        }

        static int half(Shop shop) {
            return shop.total / 2; //= read total
        }
    }

    enum Kind { //= write []
        SMALL,
        LARGE;

        int uses;

        int use() {
            return ++uses; //= read uses, write uses
        }
    }

    record Item(String name, int price) implements Priced {
        static int made;

        Item {
            made++; //= read made, write made
        }
    }

    static class Base {
        int id;
        final Object kept;

        Base(int id, Object kept) {
            this.id = id; //= write id
            this.kept = kept;
        }
    }

    class Inner extends Base {
        long big;
        double real;

        Inner(long big) {
            super(total > 0 ? total + 1 : 0, new Base(1, null)); //= read total
            this.big = big; //= write big
            this.real = this.big / 2.0; //= read big, write real
        }

        Inner() {
            this(7);
        }

        double sum(long add, double more) {
            big += add; //= read big, write big
            real += more; //= read real, write real
            total += 1; //= read total, write total
            return big + real; //= read big, read real
        }
    }

    int total = 3; //= write total
    volatile long stamp;
    static volatile double rate;
    static int count;
    static final int[] TABLE = {1, 2, 3}; //= write []

    synchronized int add(int amount) {
        total += amount; //= lock, read total, write total, unlock
        if (amount < 0) {
            throw new IllegalArgumentException("negative");
        }
        return total; //= read total, unlock
    }

    static synchronized long bump(long by, double unused) {
        count += by; //= lock, read count, write count
        return count; //= read count, unlock
    }

    int nested(Object other) {
        synchronized (this) { //= lock
            synchronized (other) { //= lock
                total++; //= read total, write total
                if (total > 1_000) { //= read total
                    throw new IllegalStateException("too much");
                }
            } //= unlock
        } //= unlock
        return total; //= read total
    }

    void volatiles() {
        stamp = 1; //= volatile write stamp, after
        stamp++; //= volatile read stamp, after, volatile write stamp
        rate = stamp / 4.0; //= volatile read stamp, after, volatile write rate
        System.out.println(rate); //= volatile read rate, after
    }

    static String arrays() {
        int[] ints = {1, 2}; //= write []
        long[] longs = new long[2];
        double[] doubles = new double[2];
        byte[] bytes = new byte[2];
        boolean[] flags = new boolean[2];
        char[] chars = new char[2];
        short[] shorts = new short[2];
        float[] floats = new float[2];
        String[][] texts = new String[2][2];
        longs[1] = ints[0] + 1L; //= read [], write []
        doubles[1] = longs[1] + 0.5; //= read [], write []
        bytes[0] += 3; //= read [], write []
        flags[1] = bytes[0] > 2; //= read [], write []
        chars[1] = 'c'; //= write []
        shorts[0]--; //= read [], write []
        floats[1] = 2.5f; //= write []
        texts[1][0] = "t" + chars[1]; //= read [], write []
        ints[1] *= TABLE[2]; //= read [], write []
        return ints[1] + " " + doubles[1] + flags[1] + shorts[0] + floats[1] + texts[1][0]; //= read []
    }

    int choose(int which) {
        switch (which) {
            case 1:
                return total; //= read total
            case 1000:
                return -total; //= read total
            default:
                return count; //= read count
        }
    }

    void calls() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        map.put("a", 1); //= call Write
        map.merge("a", 2, Integer::sum); //= call Update
        System.out.println(map.get("a")); //= call Read
        List<Integer> list = new ArrayList<>(map.values()); //= call View, call Read
        list.add(5); //= call Write
        list.addAll(list); //= call Write
        Collections.sort(list); //= call Update
        for (Iterator<Integer> all = list.iterator(); all.hasNext();) { //= call View, call Read
            System.out.println(all.next()); //= call Read
        }
        System.out.println(list.get(0) + list.set(1, 9)); //= call Read, call Write
        Map<String, Integer> shared = Collections.synchronizedMap(map); //= call View
        System.out.println(shared.containsKey("a")); //= call Read
        ConcurrentHashMap<Long, Double> sure = new ConcurrentHashMap<>();
        System.out.println(sure.putIfAbsent(1L, 2.0)); //= call Update
        AtomicInteger atomic = new AtomicInteger();
        atomic.incrementAndGet(); //= call AtomicUpdate
        System.out.println(atomic.compareAndSet(1, 4) + " " + atomic.get()); //= call AtomicUpdate, call AtomicRead
        AtomicIntegerArray cells = new AtomicIntegerArray(3);
        cells.set(2, 8); //= call AtomicWrite
        System.out.println(UPDATER.addAndGet(this, 5)); //= call NamedUpdate
        System.arraycopy(TABLE, 0, new int[3], 0, 3); //= call Read
    }

    volatile int updated;
    static final AtomicIntegerFieldUpdater<Shop> UPDATER = AtomicIntegerFieldUpdater.newUpdater(Shop.class, "updated");

    void locks() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition(); //= call Condition
        lock.lock(); //= call Lock
        try {
            System.out.println(condition.await(1, TimeUnit.MILLISECONDS)); //= call WaitCondition
            condition.signalAll();
        } finally {
            lock.unlock(); //= call Unlock
        }
        if (lock.tryLock()) { //= call TryLock
            lock.unlock(); //= call Unlock
        }
        ReentrantReadWriteLock pair = new ReentrantReadWriteLock();
        pair.readLock().lock(); //= call SharedHalf, call Lock
        pair.readLock().unlock(); //= call SharedHalf, call Unlock
        StampedLock stamped = new StampedLock();
        long stamp = stamped.writeLock(); //= call Lock
        stamped.unlockWrite(stamp); //= call Unlock
        stamp = stamped.tryOptimisticRead(); //= call OptimisticRead
        System.out.println(stamped.validate(stamp)); //= call Validate
        Semaphore semaphore = new Semaphore(2);
        semaphore.acquire(2); //= call Acquire
        semaphore.release(2); //= call Release
        synchronized (this) { //= lock
            wait(1); //= call Wait
            notifyAll();
        } //= unlock
    }

    void threads() throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Thread thread = new Thread(() -> latch.countDown()); //= call Signal
        thread.start(); //= call Start
        latch.await(); //= call Await
        thread.join(); //= call Join
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<Integer> future = pool.submit(() -> choose(1)); //= call Fork
        System.out.println(future.get()); //= call JoinTask
        pool.shutdown();
        System.out.println(pool.awaitTermination(9, TimeUnit.SECONDS)); //= call JoinAllIfTrue
    }

    public static void main(String[] args) throws Exception {
        Shop shop = new Shop();
        System.out.println(shop.add(4));
        try {
            shop.add(-1);
        } catch (IllegalArgumentException expected) {
            System.out.println(expected.getMessage() + Thread.holdsLock(shop));
        }
        System.out.println(bump(3, 0.5) + " " + shop.nested("other"));
        shop.total = 1_000; //= write total
        try {
            shop.nested("other");
        } catch (IllegalStateException expected) {
            System.out.println(expected.getMessage() + Thread.holdsLock(shop) + Thread.holdsLock("other"));
        }
        System.out.println(shop.new Inner(20).sum(1L, 2.5) + " " + shop.new Inner().sum(1, 1));
        shop.volatiles();
        System.out.println(arrays());
        System.out.println(shop.choose(1) + shop.choose(1000) + shop.choose(3));
        System.out.println(new Item("pen", 3).doubled() + " " + Item.made + Priced.half(shop) + Kind.LARGE.use()); //= read made
        shop.calls();
        shop.locks();
        shop.threads();
        Shop none = null;
        try {
            none.total = 1; //= write total
        } catch (NullPointerException expected) {
            System.out.println("null");
        }
        try {
            TABLE[3] = 1; //= write []
        } catch (ArrayIndexOutOfBoundsException expected) {
            System.out.println("range");
        }
    }
}
