import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** References to methods: what they do when they are called is told on the line where they stand. */
public class Refs {
    interface Put<K, V> {
        Object put(K key, V value);
    }

    interface Compared {
        boolean at(int index, int from, int to);
    }

    interface Saved extends Runnable, Serializable {}

    interface Locked {
        ReentrantLock lock();

        default Runnable end() {
            return lock()::unlock; //= call Unlock
        }
    }

    static class Names extends ArrayList<String> {
        Consumer<String> adder() {
            return this::add; //= call Write
        }

        Consumer<String> above() {
            return super::add; //= call Write
        }
    }

    static class Own extends ReentrantLock {
        Runnable begin() {
            return this::lock; //= call Lock
        }

        Runnable end() {
            return this::unlock; //= call Unlock
        }
    }

    static <T extends Collection<String> & RandomAccess> Predicate<String> both(T all) {
        return all::add; //= call Write
    }

    static String failure(Callable<?> task) {
        try {
            return String.valueOf(task.call());
        } catch (Exception e) {
            return e.getClass().getName();
        }
    }

    static void locks() {
        ReentrantLock lock = new ReentrantLock();
        Runnable begin = lock::lock; //= call Lock
        Runnable end = lock::unlock; //= call Unlock
        begin.run();
        System.out.println(lock.isHeldByCurrentThread());
        end.run();
        System.out.println(lock.isLocked());
        System.out.println(failure(() -> {
            end.run();
            return 1;
        }));
        begin.run();
        Locked locked = () -> lock;
        locked.end().run();
        System.out.println(lock.isLocked());
        Own own = new Own();
        own.begin().run();
        System.out.println(own.isLocked());
        own.end().run();
        System.out.println(own.isLocked());
        ReentrantLock none = null;
        System.out.println(failure(() -> {
            Runnable never = none::unlock;
            return never;
        }));
    }

    static void numbers() throws Exception {
        AtomicInteger number = new AtomicInteger();
        Runnable step = number::incrementAndGet; //= call AtomicUpdate
        step.run();
        IntSupplier now = number::get; //= call AtomicRead
        System.out.println(now.getAsInt());
        Function<AtomicInteger, Integer> unbound = AtomicInteger::incrementAndGet; //= call AtomicUpdate
        System.out.println(unbound.apply(number));
        LongUnaryOperator wide = new AtomicLong(1L << 40)::getAndAdd; //= call AtomicUpdate
        System.out.println(wide.applyAsLong(5));
        BiFunction<AtomicLong, Long, Long> boxed = AtomicLong::addAndGet; //= call AtomicUpdate
        System.out.println(boxed.apply(new AtomicLong(3), 4L));
        Compared compared = new AtomicIntegerArray(3)::compareAndSet; //= call AtomicUpdate
        System.out.println(compared.at(1, 0, 7));
        Saved saved = number::incrementAndGet;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ObjectOutputStream out = new ObjectOutputStream(bytes);
        out.writeObject(saved);
        out.flush();
        Runnable read = (Runnable) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject(); //= call Read
        read.run();
        saved.run();
        System.out.println(number);
        Runnable marked = (Runnable & RandomAccess) number::incrementAndGet; //= call AtomicUpdate
        marked.run();
        System.out.println(number);
    }

    static void containers() {
        List<String> list = new ArrayList<>();
        Consumer<String> add = list::add; //= call Write
        add.accept("x");
        LinkedBlockingQueue<String> queue = new LinkedBlockingQueue<>();
        Predicate<String> put = queue::add; //= call Write
        System.out.println(put.test("a"));
        ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();
        Put<String, Integer> stored = map::put; //= call Write
        System.out.println(stored.put("k", 1));
        Map<String, String> tree = new TreeMap<>();
        Function<String, String> get = tree::get; //= call Read
        System.out.println(get.apply("z"));
        Function<Collection<String>, List<String>> copy = ArrayList::new; //= call Read
        System.out.println(copy.apply(list));
        Supplier<List<String>> made = ArrayList::new;
        System.out.println(made.get());
        IntFunction<String[]> array = String[]::new;
        System.out.println(array.apply(2).length);
        Function<Object[], List<Object>> values = Arrays::asList; //= call View
        System.out.println(values.apply(new Object[] {1, 2})); //= write []
        Names names = new Names();
        names.adder().accept("1");
        names.above().accept("2");
        System.out.println(names);
        System.out.println(both(new ArrayList<>()).test("s"));
    }

    static void threads() throws InterruptedException {
        AtomicInteger number = new AtomicInteger();
        Function<Runnable, Thread> make = Thread::new;
        Thread thread = make.apply(() -> System.out.println("runs"));
        Runnable start = thread::start; //= call Start
        start.run();
        thread.join(); //= call Join
    }

    public static void main(String[] args) throws Exception {
        locks();
        numbers();
        containers();
        threads();
    }
}
