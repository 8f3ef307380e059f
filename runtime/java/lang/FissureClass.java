package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/** What the recorder knows of a class: where its objects keep their number, and what its calls do. */
final class FissureClass extends ClassValue<FissureClass.Facts> {
    private static final Unsafe U = Unsafe.getUnsafe();
    static final FissureClass ALL = new FissureClass();
    private static final String LOCKS = "java.util.concurrent.locks.";
    private static final String READ_LOCK = LOCKS + "ReentrantReadWriteLock$ReadLock";
    private static final String READ_VIEW = LOCKS + "StampedLock$ReadLockView";

    static final class Facts {
        /** Weak, so that the class can be unloaded. */
        final WeakReference<Class<?>> type;
        final int number;
        /** 0 if the objects have no field for it. */
        final long idOffset;
        final long moreOffset;
        /** How calls on such an object exclude others. */
        final int section;
        /** Where the object is that stands for a lock, or the pool that is wrapped; 0 if it stands for itself. */
        final long lockOffset;
        final boolean isSharedLock;
        /** Of a lock: which operations tell of themselves. */
        final int ownOperations;
        /** Where the futures are that it depends on. */
        final long[] sources;

        Facts(int number, long idOffset, long moreOffset, Class<?> type) {
            this.type = new WeakReference<>(type);
            this.number = number;
            this.idOffset = idOffset;
            this.moreOffset = moreOffset;
            this.section = section(type);
            this.lockOffset = lockOffset(type);
            this.sources = sources(type);
            this.isSharedLock = isNamed(type, READ_LOCK) || isNamed(type, READ_VIEW);
            this.ownOperations = FissureLocks.ownOperations(type);
        }
    }

    /** Calls exclude nobody. */
    static final int NONE = 0;
    /** Each call is a section on the object's monitor, or on that of the object it wraps. */
    static final int ON_MONITOR = 1;
    /** Each call is one step on something that no client can hold. */
    static final int OWN = 2;

    @Override
    protected Facts computeValue(Class<?> type) {
        long id = 0;
        long more = 0;
        if (!type.isArray()) {
            // The highest one counts: it is there for all accesses, whichever class's code makes them.
            for (Class<?> c = type; c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
                long offset = added(c, "$fissure$");
                if (offset > 0) {
                    id = offset;
                    more = added(c, "$fissure");
                }
            }
        }
        String name = type.getName();
        if (name.startsWith(LOCKS) && name.indexOf('$') > 0) {
            // The inner object of a lock goes by the lock's own name.
            name = name.substring(0, name.indexOf('$'));
        }
        return new Facts(Fissure.newClass(name), id, more, type);
    }

    private static boolean isNamed(Class<?> type, String name) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            if (c.getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    private static long lockOffset(Class<?> type) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            switch (c.getName()) {
                case LOCKS + "ReentrantLock", READ_LOCK, LOCKS + "ReentrantReadWriteLock$WriteLock":
                    return offset(c, "sync");
                case LOCKS + "AbstractQueuedSynchronizer$ConditionObject",
                        LOCKS + "AbstractQueuedLongSynchronizer$ConditionObject", READ_VIEW,
                        LOCKS + "StampedLock$WriteLockView":
                    return offset(c, "this$0");
                case "java.util.concurrent.Executors$DelegatedExecutorService":
                    return offset(c, "e");
                case "java.util.Collections$SynchronizedCollection", "java.util.Collections$SynchronizedMap":
                    return offset(c, "mutex");
                default:
            }
        }
        return 0;
    }

    private static long[] sources(Class<?> type) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            if (c.getName().equals("java.util.concurrent.CompletableFuture$UniCompletion")) {
                return new long[] {offset(c, "src")};
            }
            if (c.getName().equals("java.util.concurrent.CompletableFuture$BiCompletion")) {
                return new long[] {offset(c.getSuperclass(), "src"), offset(c, "snd")};
            }
        }
        return new long[0];
    }

    private static int section(Class<?> type) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            String name = c.getName();
            switch (name) {
                case "java.util.Vector", "java.util.Hashtable", "java.lang.StringBuffer",
                        "java.io.ByteArrayOutputStream", "java.io.ByteArrayInputStream", "java.io.StringWriter":
                    return ON_MONITOR;
                default:
            }
            if (name.startsWith("java.util.Collections$Synchronized")) {
                return ON_MONITOR;
            }
            if (name.startsWith("java.util.concurrent.") || name.equals("java.util.Random")) {
                return OWN;
            }
        }
        return NONE;
    }

    /** Where the field of this name is, or 0. */
    static long offset(Class<?> type, String name) {
        try {
            return U.objectFieldOffset(type, name);
        } catch (InternalError none) {
            return 0;
        }
    }

    /** Where a field is that was added to a class, or 0. The class may have one of this name of its own. */
    static long added(Class<?> type, String name) {
        long offset = offset(type, name);
        return offset > 0 && !Fissure.declares(type.getName(), name) ? offset : 0;
    }
}
