package java.lang;

import java.lang.ref.WeakReference;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.locks.StampedLock;

/** Volatiles, modelled calls, activations and units. */
final class FissureCalls {
    // The low byte of a call's code: crates/instrument/src/call.rs has the same names and numbers.
    static final int LOCK = 1;
    static final int UNLOCK = 2;
    static final int TRY_LOCK = 3;
    static final int LOCK_SHARED = 4;
    static final int UNLOCK_SHARED = 5;
    static final int TRY_LOCK_SHARED = 6;
    static final int WAIT = 7;
    static final int WAIT_CONDITION = 8;
    static final int UNLOCK_STAMP = 9;
    static final int READ = 10;
    static final int WRITE = 11;
    static final int UPDATE = 12;
    static final int CONDITION = 15;
    static final int SHARED_HALF = 16;
    static final int EXCLUSIVE_HALF = 17;
    static final int OPTIMISTIC_READ = 18;
    static final int VALIDATE = 19;
    static final int ATOMIC_READ = 20;
    static final int ATOMIC_WRITE = 21;
    static final int ATOMIC_UPDATE = 22;
    static final int NAMED_READ = 23;
    static final int NAMED_WRITE = 24;
    static final int NAMED_UPDATE = 25;
    static final int ACQUIRE = 26;
    static final int TRY_ACQUIRE = 27;
    static final int RELEASE = 28;
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
    static final int FORK_ALL = 41;
    static final int INVOKE_ALL = 42;
    static final int INVOKE = 43;
    static final int JOIN_IF_TRUE = 44;
    static final int AWAIT_PERHAPS = 45;
    static final int CONVERT_TO_EXCLUSIVE = 46;
    static final int CONVERT_TO_SHARED = 47;
    static final int CONVERT_TO_OPTIMISTIC = 48;
    static final int VIEW = 50;
    static final int READS_OPERAND = 1 << 9;
    static final int WRITES_OPERAND = 1 << 10;
    static final int WAITS = 1 << 11;
    static final int PERHAPS = 1 << 12;
    static final int LONGER = 1 << 13;
    static final int ABOVE = 1 << 14;

    /** Marks a pending volatile access. */
    private static final int VOLATILE = 256;

    private FissureCalls() {
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
            FissureMore of = r.of != null ? r.of : FissureIdentity.more(s, o, r.field);
            s.push(r.of != null ? null : o, of, of.take(1), VOLATILE, site);
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }

    /** A volatile that nobody knew to be one when the code that touches it was instrumented: there is one probe only. */
    static void volatileAtOnce(FissureThread s, Object o, FissureRef r, boolean write, int site) {
        FissureMore of = r.of != null ? r.of : FissureIdentity.more(s, o, r.field);
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
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
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
            tellAtomic(s, 0, of, s.pendingNumbers[at], s.pendingSites[at]);
        } else if (isContents(call)) {
            s.append(Fissure.MODELLED, of.type, s.pendingSites[at], of.id, s.pendingNumbers[at], of.take(1));
        }
    }

    /** A field that a handle names is the same as where code names it. */
    private static void tellAtomic(FissureThread s, int access, FissureMore of, long number, int site) {
        if (of.key > 0) {
            s.append(Fissure.VOLATILE + access, of.key, site, of.id, number, of.take(1));
        } else {
            s.append(Fissure.ATOMIC + access, of.type, site, of.id, number, of.take(1));
        }
    }

    private static void forget(FissureThread s, int at) {
        s.pendingObjects[at] = null;
        s.pendingMores[at] = null;
    }

    // Modelled calls.

    static void before(Object subject, Object operand, long number, int call, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                before(s, subject, operand, number, call, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }

    /** {@code number} is the operand if it is one: permits, an index, a stamp. */
    private static void before(FissureThread s, Object subject, Object operand, long number, int call, int site) {
        if ((call & ABOVE) == 0 && FissureLocks.isToldElsewhere(s, subject, call)) {
            return;
        }
        if ((call & READS_OPERAND) != 0 && operand != null) {
            touch(s, operand, 0, site);
        }
        if ((call & WRITES_OPERAND) != 0 && operand != null) {
            touch(s, operand, 1, site);
        }
        int operation = call & 0xff;
        if (makesKnown(operation)) {
            s.publish();
        }
        switch (operation) {
            case FORK -> FissureThreads.forks(s, subject, operand, site);
            case INVOKE -> {
                FissureThreads.forks(s, subject, operand, site);
                s.push(operand, null, 0, operation, site);
            }
            // Each task that the platform makes of an element tells of itself.
            case FORK_ALL, INVOKE_ALL -> s.push(operand, null, 0, operation, site);
            default -> {
                // Without a subject the call will throw.
                if (subject != null) {
                    before(s, subject, operand, number, operation, site, call);
                }
            }
        }
    }

    private static void before(
            FissureThread s, Object subject, Object operand, long number, int operation, int site, int call) {
        switch (operation) {
            case LOCK, TRY_LOCK, LOCK_SHARED, TRY_LOCK_SHARED, JOIN, JOIN_PERHAPS, JOIN_TASK, AWAIT, AWAIT_IF_TRUE,
                    AWAIT_PERHAPS, JOIN_ALL, JOIN_ALL_IF_TRUE, JOIN_IF_TRUE,
                    VIEW -> s.push(subject, null, 0, operation, site);
            case UNLOCK, UNLOCK_SHARED, UNLOCK_STAMP -> {
                boolean shared = operation == UNLOCK_STAMP ? StampedLock.isReadLockStamp(number)
                        : operation == UNLOCK_SHARED || FissureLocks.isShared(subject);
                Object lock = FissureLocks.lockOf(subject);
                if (FissureLocks.isHeld(lock, shared)) {
                    // Of other locks it is not known whether their threads can take them again.
                    FissureSections.release(s, FissureIdentity.monitor(s, lock), shared, lock != subject, site);
                }
            }
            case CONVERT_TO_EXCLUSIVE, CONVERT_TO_SHARED, CONVERT_TO_OPTIMISTIC -> {
                boolean gives = operation == CONVERT_TO_OPTIMISTIC && StampedLock.isReadLockStamp(number)
                        || operation != CONVERT_TO_EXCLUSIVE && StampedLock.isWriteLockStamp(number);
                if (gives && ((StampedLock) subject).validate(number)) {
                    boolean shared = StampedLock.isReadLockStamp(number);
                    FissureSections.release(s, FissureIdentity.monitor(s, subject), shared, site);
                }
                s.push(subject, null, number, operation, site);
            }
            case WAIT -> {
                if (Thread.holdsLock(subject)) {
                    FissureSections.waits(s, FissureIdentity.monitor(s, subject), site);
                    s.push(subject, null, 0, operation, site);
                }
            }
            case WAIT_CONDITION -> {
                Object lock = FissureLocks.lockOf(subject);
                if (lock != subject && FissureLocks.isHeld(lock, false)) {
                    FissureSections.waits(s, FissureIdentity.monitor(s, lock), site);
                    s.push(subject, null, 0, operation, site);
                }
            }
            case READ, WRITE, UPDATE -> contents(s, subject, operation, site);
            case NAMED_READ, NAMED_WRITE, NAMED_UPDATE -> {
                int field = operand == null ? 0 : FissureHandles.field(s, subject);
                // If it is not known which field is named, all that are accessed so in one object count as one.
                FissureMore of = field > 0 ? FissureIdentity.more(s, operand, field)
                        : FissureIdentity.more(s, operand == null ? subject : operand, FissureMore.CONTENTS);
                s.push(subject, of, of.take(1), operation, site);
            }
            case ATOMIC_READ, ATOMIC_WRITE, ATOMIC_UPDATE -> {
                FissureMore of = FissureIdentity.more(s, subject, FissureMore.CONTENTS);
                s.push(subject, of, of.take(1), operation, site);
            }
            case START -> FissureThreads.starts(s, (Thread) subject, site);
            case SIGNAL -> FissureThreads.arrive(s, FissureIdentity.more(s, subject, FissureMore.DONE), 1, site);
            case ACQUIRE, TRY_ACQUIRE -> {
                boolean asLock = FissureLocks.isUsedAsLock(s, subject, number, true);
                s.push(subject, asLock ? FissureIdentity.monitor(s, subject) : null, 0, operation, site);
            }
            case RELEASE -> {
                if (FissureLocks.isUsedAsLock(s, subject, number, false)) {
                    FissureSections.release(s, FissureIdentity.monitor(s, subject), false, site);
                } else {
                    FissureThreads.arrive(s, FissureIdentity.more(s, subject, FissureMore.DONE), 1, site);
                }
            }
            case MEET -> {
                FissureMore of = FissureIdentity.more(s, FissureLocks.meetingOf(subject), FissureMore.DONE);
                FissureThreads.arrive(s, of, 1, site);
                s.push(subject, of, 0, operation, site);
            }
            // What the result belongs to is seen in the object itself.
            case CONDITION, SHARED_HALF, EXCLUSIVE_HALF -> {
            }
            // A read that holds nothing.
            case OPTIMISTIC_READ, VALIDATE -> {
            }
            default -> Fissure.stop("call " + call + " is unknown");
        }
    }

    static void after(Object result, long truth, int call, int site) {
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s != null) {
                after(s, result, truth, call, site);
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }

    private static void after(FissureThread s, Object result, long truth, int call, int site) {
        int at = s.pop(site);
        if (at < 0) {
            return;
        }
        Object subject = s.pendingObjects[at];
        FissureMore of = s.pendingMores[at];
        long number = s.pendingNumbers[at];
        forget(s, at);
        int operation = call & 0xff;
        switch (operation) {
            case LOCK, LOCK_SHARED, TRY_LOCK, TRY_LOCK_SHARED -> {
                boolean taken = operation == LOCK || operation == LOCK_SHARED || truth != 0;
                if (taken) {
                    boolean shared = operation >= LOCK_SHARED || FissureLocks.isShared(subject);
                    Object lock = FissureLocks.lockOf(subject);
                    FissureSections.acquire(s, FissureIdentity.monitor(s, lock), shared, lock != subject, site);
                }
            }
            case CONVERT_TO_EXCLUSIVE, CONVERT_TO_SHARED -> {
                if (truth != 0) {
                    FissureSections.converted(s, FissureIdentity.monitor(s, subject), number, operation == CONVERT_TO_SHARED, site);
                }
            }
            case WAIT, WAIT_CONDITION -> s.settleWait();
            case READ, WRITE, UPDATE -> contentsDone(s, subject, of, number, call, site);
            case ATOMIC_READ, ATOMIC_WRITE, ATOMIC_UPDATE -> {
                s.endSegment();
                tellAtomic(s, operation - ATOMIC_READ, of, number, site);
            }
            case NAMED_READ, NAMED_WRITE, NAMED_UPDATE -> {
                s.endSegment();
                tellAtomic(s, operation - NAMED_READ, of, number, site);
            }
            case JOIN, JOIN_TASK -> FissureThreads.joined(s, subject, site);
            case JOIN_IF_TRUE -> {
                if (truth != 0) {
                    FissureThreads.joined(s, subject, site);
                }
            }
            // The subject has ended perhaps, or gives others that have.
            case JOIN_PERHAPS -> FissureThreads.joinedIfOver(s, isTask(subject) ? subject : result, site);
            case INVOKE -> FissureThreads.joined(s, subject, site);
            case FORK_ALL, INVOKE_ALL -> FissureThreads.joinedAll(s, result != null ? result : subject, site);
            case AWAIT, AWAIT_PERHAPS, JOIN_ALL -> FissureThreads.leave(s, subject, site);
            case AWAIT_IF_TRUE, JOIN_ALL_IF_TRUE -> {
                if (truth != 0) {
                    FissureThreads.leave(s, subject, site);
                }
            }
            case ACQUIRE, TRY_ACQUIRE -> {
                boolean taken = operation == ACQUIRE || truth != 0;
                if (taken && of != null) {
                    FissureSections.acquire(s, (FissureLock) of, false, site);
                } else if (taken) {
                    FissureThreads.leave(s, subject, site);
                }
            }
            // All that this meeting is of have arrived.
            case MEET -> FissureThreads.leave(s, of, 1, site);
            case VIEW -> {
                if (result != null && subject != null && result != subject) {
                    FissureTable.of(s, result).viewed = new WeakReference<>(viewed(s, subject));
                }
            }
            default -> {
            }
        }
    }

    private static boolean isTask(Object subject) {
        return subject instanceof Thread || subject instanceof Future;
    }

    /** Whether the call can make an object known to others that only this thread knew. */
    private static boolean makesKnown(int operation) {
        return switch (operation) {
            case LOCK, UNLOCK, TRY_LOCK, LOCK_SHARED, UNLOCK_SHARED, TRY_LOCK_SHARED, WAIT, WAIT_CONDITION, UNLOCK_STAMP,
                    READ, ATOMIC_READ, NAMED_READ, ACQUIRE, TRY_ACQUIRE, JOIN, JOIN_PERHAPS, JOIN_TASK, JOIN_IF_TRUE, AWAIT,
                    AWAIT_IF_TRUE, AWAIT_PERHAPS, JOIN_ALL, JOIN_ALL_IF_TRUE -> false;
            default -> true;
        };
    }

    // Contents.

    static Object viewed(FissureThread s, Object container) {
        FissureEntry entry = s.lastEntry(container);
        if (entry == null) {
            entry = FissureTable.find(container);
        }
        WeakReference<Object> viewed = entry == null ? null : entry.viewed;
        Object found = viewed == null ? null : viewed.get();
        return found == null ? container : found;
    }

    /** A call that touches contents begins. */
    private static void contents(FissureThread s, Object receiver, int operation, int site) {
        Object container = viewed(s, receiver);
        int section = s.facts(container.getClass()).section;
        if (section == FissureClass.OWN) {
            FissureMore of = FissureIdentity.more(s, container, FissureMore.CONTENTS);
            s.push(container, of, of.take(1), operation, site);
        } else if (section == FissureClass.ON_MONITOR && container == receiver) {
            s.expected = container;
            s.expectedAccess = operation - READ;
            s.expectedSite = site;
            s.push(container, null, 0, operation, site);
        } else {
            touch(s, container, operation - READ, site);
        }
    }

    private static void contentsDone(
            FissureThread s, Object container, FissureMore of, long number, int call, int site) {
        int access = (call & 0xff) - READ;
        if (of != null) {
            s.endSegment();
            if ((call & WAITS) != 0 && of.turns() > number + 1 && container instanceof BlockingQueue) {
                // It may have waited for the others that were there in between: only its end is told.
                s.append(Fissure.MODELLED, of.type, site, of.id, number, of.take(1));
                s.endSegment();
                number = of.take(1);
            }
            s.append(Fissure.MODELLED + access, of.type, site, of.id, number, of.take(1));
        } else if (s.expected == container) {
            // Its class was not seen to take its monitor, so this stands for the section that the call was.
            s.expected = null;
            Object monitor = FissureLocks.monitorOf(container);
            synchronized (monitor) {
                FissureLock lock = FissureIdentity.monitor(s, monitor);
                FissureSections.acquire(s, lock, false, true, site);
                touch(s, container, access, site);
                FissureSections.release(s, lock, false, true, site);
            }
        }
    }

    /** One plain access to contents: 0 read, 1 write, 2 both. */
    static void touch(FissureThread s, Object container, int access, int site) {
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
        return operation >= ATOMIC_READ && operation <= NAMED_UPDATE;
    }

    private static boolean isContents(int operation) {
        return operation >= READ && operation <= UPDATE;
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
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
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
            Fissure.lost(s, trouble);
        } finally {
            Fissure.done(s);
        }
    }
}
