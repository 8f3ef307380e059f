package java.lang;

import java.lang.ref.WeakReference;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.Phaser;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.misc.Unsafe;

/** Everything but plain accesses: volatiles, locks, modelled calls, threads, activations and units. */
final class FissureCalls {
    private static final Unsafe U = Unsafe.getUnsafe();

    // The low byte of a call's code. The table is in crates/instrument; a test compares the two.
    static final int LOCK = 1;
    static final int UNLOCK = 2;
    static final int TRY_LOCK = 3;
    static final int LOCK_SHARED = 4;
    static final int UNLOCK_SHARED = 5;
    static final int TRY_LOCK_SHARED = 6;
    static final int WAIT = 7;
    static final int AWAIT_CONDITION = 8;
    static final int UNLOCK_STAMP = 9;
    static final int READ_CONTENTS = 10;
    static final int WRITE_CONTENTS = 11;
    static final int UPDATE_CONTENTS = 12;
    static final int READ_ATOMIC = 20;
    static final int WRITE_ATOMIC = 21;
    static final int UPDATE_ATOMIC = 22;
    static final int READ_NAMED = 23;
    static final int WRITE_NAMED = 24;
    static final int UPDATE_NAMED = 25;
    static final int ACQUIRE_PERMITS = 26;
    static final int TRY_ACQUIRE_PERMITS = 27;
    static final int RELEASE_PERMITS = 28;
    static final int START = 30;
    static final int JOIN = 31;
    static final int JOIN_PERHAPS = 32;
    static final int FORK = 33;
    static final int JOIN_TASK = 34;
    static final int SIGNAL = 35;
    static final int AWAIT = 36;
    static final int AWAIT_IF_TRUE = 37;
    static final int MEET = 38;
    static final int JOIN_ALL = 39;
    static final int JOIN_ALL_IF_TRUE = 40;
    static final int JOIN_IF_TRUE = 44;
    static final int AWAIT_PERHAPS = 45;
    static final int VIEW = 50;
    static final int ALSO_READS_ARGUMENT = 1 << 9;
    static final int ALSO_WRITES_ARGUMENT = 1 << 10;

    /** Marks a pending volatile access. */
    private static final int VOLATILE = 256;

    private FissureCalls() {
    }

    // Identities.

    /** The number of an object whose class may have a field for it. */
    static long id(FissureThread s, Object o, FissureRef r) {
        return r.idOffset > 0 ? id(s, o, r.idOffset) : FissureTable.of(s, o).id;
    }

    private static long id(FissureThread s, Object o, long offset) {
        while (true) {
            long id = U.getLongVolatile(o, offset);
            if (id > 0) {
                return id;
            }
            long made = s.newId();
            if (U.compareAndSetLong(o, offset, id, made)) {
                if (id >>> 41 == s.fresh >>> 41) {
                    // Its creator is the first to do something with it that is told.
                    s.append(Fissure.NEW, 0, 0, made);
                }
                return made;
            }
        }
    }

    /** The state of a part of an object, made if there is none. */
    static FissureMore more(FissureThread s, Object o, int key) {
        FissureClass.Facts facts = FissureClass.ALL.get(o.getClass());
        Object holder = o;
        long offset = facts.moreOffset;
        if (offset <= 0) {
            holder = FissureTable.of(s, o);
            offset = FissureEntry.MORE;
        }
        while (true) {
            FissureMore first = (FissureMore) U.getReferenceVolatile(holder, offset);
            for (FissureMore more = first; more != null; more = more.next) {
                if (more.key == key) {
                    return more;
                }
            }
            long id = facts.idOffset > 0 ? id(s, o, facts.idOffset) : ((FissureEntry) holder).id;
            FissureMore made = new FissureMore(key, id, facts.number, first);
            if (U.compareAndSetReference(holder, offset, first, made)) {
                return made;
            }
        }
    }

    // Volatiles.

    static void volatileBefore(Object o, int ref, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            FissureRef r = FissureRefs.of(s, o, ref);
            if (r == null || r.of == null && o == null) {
                return;
            }
            FissureMore of = r.of != null ? r.of : more(s, o, r.field);
            s.push(r.of != null ? null : o, of, of.take(1), VOLATILE, site);
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    /** A volatile that nobody knew to be one when the code that touches it was instrumented: there is one probe only. */
    static void volatileAtOnce(FissureThread s, Object o, FissureRef r, boolean write, int site) {
        FissureMore of = r.of != null ? r.of : more(s, o, r.field);
        long number = of.take(2);
        s.endSegment();
        if (write) {
            s.publish();
        }
        s.append(Fissure.VOLATILE + (write ? 1 : 0), r.field, site, r.of != null ? 0 : of.id, number, number + 1);
    }

    static void volatileAfter(int access, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            int at = s.pop(site);
            if (at >= 0) {
                FissureMore of = s.pendingMores[at];
                s.endSegment();
                if (access != 0) {
                    s.publish();
                }
                long id = s.pendingObjects[at] == null ? 0 : of.id;
                s.append(Fissure.VOLATILE + access, of.key, site, id, s.pendingNumbers[at], of.take(1));
                forget(s, at);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    /** An operation whose second probe was never reached: it threw. Its number must not be missing. */
    static void orphan(FissureThread s, int at) {
        FissureMore of = s.pendingMores[at];
        int call = s.pendingCalls[at] & 0x1ff;
        if (of == null) {
            return;
        }
        s.endSegment();
        if (call == VOLATILE) {
            long id = s.pendingObjects[at] == null ? 0 : of.id;
            s.append(Fissure.VOLATILE, of.key, s.pendingSites[at], id, s.pendingNumbers[at], of.take(1));
        } else if (isAtomic(call)) {
            s.append(Fissure.ATOMIC, of.type, s.pendingSites[at], of.id, s.pendingNumbers[at], of.take(1));
        } else if (isContents(call)) {
            s.append(Fissure.MODELLED, of.type, s.pendingSites[at], of.id, s.pendingNumbers[at], of.take(1));
        }
    }

    private static void forget(FissureThread s, int at) {
        s.pendingObjects[at] = null;
        s.pendingMores[at] = null;
    }

    private static void release(FissureThread s) {
        if (s != null) {
            s.busy = false;
        }
    }

    // Monitors.

    static void entered(Object lock, int site) {
        if (lock == null) {
            return;
        }
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            acquire(s, more(s, lock, FissureMore.MONITOR), false, true, site);
            Object expected = s.expected;
            if (expected != null && FissureLocks.monitorOf(expected) == lock) {
                s.expected = null;
                touch(s, expected, s.expectedAccess, s.expectedSite);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    static void leaving(Object lock, int site) {
        if (lock == null) {
            return;
        }
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                release(s, more(s, lock, FissureMore.MONITOR), false, true, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    private static void acquire(FissureThread s, FissureMore lock, boolean shared, boolean reentrant, int site) {
        s.settleWait();
        if (!shared && reentrant && lock.takenAgain(s)) {
            return;
        }
        s.endSegment();
        s.append(Fissure.ACQUIRE + (shared ? 1 : 0), lock.type, site, lock.id, lock.turn(shared), s.activation);
    }

    private static void release(FissureThread s, FissureMore lock, boolean shared, boolean reentrant, int site) {
        s.settleWait();
        if (!shared && reentrant && lock.keptOn(s)) {
            return;
        }
        s.endSegment();
        s.append(Fissure.RELEASE + (shared ? 1 : 0), lock.type, site, lock.id, lock.turn(shared));
    }

    private static void waits(FissureThread s, FissureMore lock, int site) {
        s.endSegment();
        s.append(Fissure.RELEASE + 2, lock.type, site, lock.id, lock.turn(false));
        s.waitingFor = lock;
        s.waitingDepth = lock.giveUp();
        s.waitingShared = false;
        s.waitingSite = site;
    }

    // Modelled calls.

    static void before(Object receiver, Object argument, int call, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                before(s, receiver, argument, call, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    private static void before(FissureThread s, Object receiver, Object argument, int call, int site) {
        int operation = call & 0xff;
        if (makesKnown(operation)) {
            s.publish();
        }
        if ((call & ALSO_READS_ARGUMENT) != 0 && argument != null) {
            touch(s, argument, 0, site);
        }
        if ((call & ALSO_WRITES_ARGUMENT) != 0 && argument != null) {
            touch(s, argument, 1, site);
        }
        if (operation == FORK) {
            if (argument != null) {
                arrive(s, more(s, argument, FissureMore.TASK), 0, site);
            }
            return;
        }
        if (receiver == null) {
            // The call will throw.
            return;
        }
        switch (operation) {
            case LOCK, TRY_LOCK, LOCK_SHARED, TRY_LOCK_SHARED, JOIN, JOIN_PERHAPS, JOIN_TASK, AWAIT, AWAIT_IF_TRUE,
                    AWAIT_PERHAPS, JOIN_ALL, JOIN_ALL_IF_TRUE, JOIN_IF_TRUE, ACQUIRE_PERMITS, TRY_ACQUIRE_PERMITS,
                    VIEW -> s.push(receiver, null, 0, operation, site);
            case UNLOCK_STAMP -> {
                boolean shared = receiver instanceof StampedLock stamped && !stamped.isWriteLocked();
                release(s, more(s, receiver, FissureMore.MONITOR), shared, false, site);
            }
            case UNLOCK, UNLOCK_SHARED -> {
                boolean shared = operation == UNLOCK_SHARED || FissureLocks.isShared(receiver);
                Object lock = FissureLocks.lockOf(receiver);
                // Of other locks it is not known whether their threads can take them again.
                release(s, more(s, lock, FissureMore.MONITOR), shared, lock != receiver, site);
            }
            case WAIT -> {
                if (Thread.holdsLock(receiver)) {
                    waits(s, more(s, receiver, FissureMore.MONITOR), site);
                    s.push(receiver, null, 0, operation, site);
                }
            }
            case AWAIT_CONDITION -> {
                Object lock = FissureLocks.lockOf(receiver);
                if (lock != receiver) {
                    waits(s, more(s, lock, FissureMore.MONITOR), site);
                    s.push(receiver, null, 0, operation, site);
                }
            }
            case READ_CONTENTS, WRITE_CONTENTS, UPDATE_CONTENTS -> contents(s, receiver, operation, site);
            case READ_NAMED, WRITE_NAMED, UPDATE_NAMED -> {
                // Which field is named is not known: all that are accessed so in one object count as one.
                FissureMore of = more(s, argument == null ? receiver : argument, FissureMore.CONTENTS);
                s.push(receiver, of, of.take(1), operation, site);
            }
            case READ_ATOMIC, WRITE_ATOMIC, UPDATE_ATOMIC -> {
                FissureMore of = more(s, receiver, FissureMore.CONTENTS);
                s.push(receiver, of, of.take(1), operation, site);
            }
            case START -> FissureThreads.starts(s, (Thread) receiver, site);
            case SIGNAL, RELEASE_PERMITS -> arrive(s, more(s, receiver, FissureMore.DONE), 1, site);
            case MEET -> {
                FissureMore of = more(s, receiver, FissureMore.DONE);
                int generation = 0;
                if (receiver instanceof Phaser phaser) {
                    generation = phaser.getPhase() & Integer.MAX_VALUE;
                } else if (receiver instanceof CyclicBarrier barrier) {
                    generation = (int) (of.turns() / barrier.getParties());
                }
                arrive(s, of, generation, site);
                s.push(receiver, of, generation, operation, site);
            }
            default -> {
            }
        }
    }

    /** Whether the call can make an object known to others that only this thread knew. */
    private static boolean makesKnown(int operation) {
        return switch (operation) {
            case LOCK, UNLOCK, TRY_LOCK, LOCK_SHARED, UNLOCK_SHARED, TRY_LOCK_SHARED, WAIT, AWAIT_CONDITION, UNLOCK_STAMP,
                    READ_CONTENTS, READ_ATOMIC, READ_NAMED, ACQUIRE_PERMITS, TRY_ACQUIRE_PERMITS, JOIN, JOIN_PERHAPS,
                    JOIN_TASK, JOIN_IF_TRUE, AWAIT, AWAIT_IF_TRUE, AWAIT_PERHAPS, JOIN_ALL, JOIN_ALL_IF_TRUE -> false;
            default -> true;
        };
    }

    static void after(Object result, long truth, int call, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                after(s, result, truth, call & 0xff, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    private static void after(FissureThread s, Object result, long truth, int operation, int site) {
        int at = s.pop(site);
        if (at < 0) {
            return;
        }
        Object receiver = s.pendingObjects[at];
        FissureMore of = s.pendingMores[at];
        long number = s.pendingNumbers[at];
        forget(s, at);
        switch (operation) {
            case LOCK, LOCK_SHARED, TRY_LOCK, TRY_LOCK_SHARED -> {
                boolean taken = operation == LOCK || operation == LOCK_SHARED || truth != 0;
                if (taken) {
                    boolean shared = operation >= LOCK_SHARED || FissureLocks.isShared(receiver);
                    Object lock = FissureLocks.lockOf(receiver);
                    acquire(s, more(s, lock, FissureMore.MONITOR), shared, lock != receiver, site);
                }
            }
            case WAIT, AWAIT_CONDITION -> s.settleWait();
            case READ_CONTENTS, WRITE_CONTENTS, UPDATE_CONTENTS -> contentsDone(s, receiver, of, number, operation, site);
            case READ_ATOMIC, WRITE_ATOMIC, UPDATE_ATOMIC -> {
                s.endSegment();
                s.append(Fissure.ATOMIC + operation - READ_ATOMIC, of.type, site, of.id, number, of.take(1));
            }
            case READ_NAMED, WRITE_NAMED, UPDATE_NAMED -> {
                s.endSegment();
                s.append(Fissure.ATOMIC + operation - READ_NAMED, of.type, site, of.id, number, of.take(1));
            }
            case JOIN, JOIN_TASK -> joined(s, receiver, site);
            case JOIN_IF_TRUE -> {
                if (truth != 0) {
                    joined(s, receiver, site);
                }
            }
            case JOIN_PERHAPS -> {
                if (receiver instanceof Thread thread ? !thread.isAlive() : isDone(receiver)) {
                    joined(s, receiver, site);
                }
            }
            case AWAIT, AWAIT_PERHAPS, JOIN_ALL, ACQUIRE_PERMITS -> leave(s, more(s, receiver, FissureMore.DONE), 1, site);
            case AWAIT_IF_TRUE, JOIN_ALL_IF_TRUE, TRY_ACQUIRE_PERMITS -> {
                if (truth != 0) {
                    leave(s, more(s, receiver, FissureMore.DONE), 1, site);
                }
            }
            case MEET -> {
                long count = receiver instanceof CyclicBarrier barrier ? barrier.getParties() : 1;
                s.endSegment();
                s.append(Fissure.LEAVE, of.type, site, of.id, number, count);
            }
            case VIEW -> {
                if (result != null && receiver != null && result != receiver) {
                    FissureTable.of(s, result).viewed = new WeakReference<>(viewed(receiver));
                }
            }
            default -> {
            }
        }
    }

    /** A thread or task is seen to have ended. */
    private static void joined(FissureThread s, Object ended, int site) {
        if (ended instanceof Thread) {
            FissureThreads.joined(s, ended, site);
        } else {
            leave(s, more(s, ended, FissureMore.DONE), 1, site);
        }
    }

    private static boolean isDone(Object task) {
        return task instanceof Future<?> future && future.isDone();
    }

    static void arrive(FissureThread s, FissureMore of, int generation, int site) {
        s.publish();
        s.endSegment();
        s.append(Fissure.ARRIVE, of.type, site, of.id, generation);
        // Counted once it is written: who leaves after so many finds them all.
        of.take(1);
    }

    static void leave(FissureThread s, FissureMore of, int generation, int site) {
        long count = of.turns();
        if (count > 0) {
            s.endSegment();
            s.append(Fissure.LEAVE, of.type, site, of.id, generation, count);
        }
    }

    // Contents.

    private static Object viewed(Object container) {
        FissureEntry entry = FissureTable.find(container);
        WeakReference<Object> viewed = entry == null ? null : entry.viewed;
        Object found = viewed == null ? null : viewed.get();
        return found == null ? container : found;
    }

    /** A call that touches contents begins. */
    private static void contents(FissureThread s, Object receiver, int operation, int site) {
        Object container = viewed(receiver);
        int section = FissureClass.ALL.get(container.getClass()).section;
        if (section == FissureClass.OWN) {
            FissureMore of = more(s, container, FissureMore.CONTENTS);
            s.push(container, of, of.take(1), operation, site);
        } else if (section == FissureClass.ON_MONITOR && container == receiver) {
            s.expected = container;
            s.expectedAccess = operation - READ_CONTENTS;
            s.expectedSite = site;
            s.push(container, null, 0, operation, site);
        } else {
            touch(s, container, operation - READ_CONTENTS, site);
        }
    }

    private static void contentsDone(
            FissureThread s, Object container, FissureMore of, long number, int operation, int site) {
        if (of != null) {
            s.endSegment();
            s.append(Fissure.MODELLED + operation - READ_CONTENTS, of.type, site, of.id, number, of.take(1));
        } else if (s.expected == container) {
            // Its class was not seen to take its monitor, so this stands for the section that the call was.
            s.expected = null;
            Object monitor = FissureLocks.monitorOf(container);
            synchronized (monitor) {
                FissureMore lock = more(s, monitor, FissureMore.MONITOR);
                acquire(s, lock, false, true, site);
                touch(s, container, operation - READ_CONTENTS, site);
                release(s, lock, false, true, site);
            }
        }
    }

    /** One plain access to contents: 0 read, 1 write, 2 both. */
    private static void touch(FissureThread s, Object container, int access, int site) {
        if (container.getClass().isArray()) {
            return;
        }
        if (access != 1) {
            FissureFilter.contents(s, container, false, site);
        }
        if (access != 0) {
            FissureFilter.contents(s, container, true, site);
        }
    }

    private static boolean isAtomic(int operation) {
        return operation >= READ_ATOMIC && operation <= UPDATE_NAMED;
    }

    private static boolean isContents(int operation) {
        return operation >= READ_CONTENTS && operation <= UPDATE_CONTENTS;
    }

    // Activations and units.

    static void activation(int site, boolean enters) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                if (enters) {
                    s.enter(site);
                } else {
                    s.exit(site);
                }
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }

    static void unit(int unit, int site, boolean begins) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                s.endSegment();
                if (begins) {
                    s.append(Fissure.UNIT_BEGIN, 0, site, unit, s.activation);
                } else {
                    s.append(Fissure.UNIT_END, 0, site, unit);
                }
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            release(s);
        }
    }
}
