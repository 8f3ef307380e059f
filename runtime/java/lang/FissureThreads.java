package java.lang;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import jdk.internal.misc.Unsafe;

/** Starts, ends and joins of threads and of tasks. */
final class FissureThreads {
    private static final Unsafe U = Unsafe.getUnsafe();

    private FissureThreads() {
    }

    /** A thread is about to be started. */
    static void starts(FissureThread s, Thread thread, int site) {
        if (thread.getState() != Thread.State.NEW) {
            return;
        }
        FissureThread child = FissureStates.of(thread);
        if (child == null || child.started || child.begun) {
            return;
        }
        child.started = true;
        child.learnAll(s);
        s.publish();
        s.endSegment();
        s.append(Fissure.START, 0, site, child.number);
        s.orders++;
    }

    /** A task is handed over. */
    static void forks(FissureThread s, Object subject, Object task, int site) {
        if (subject instanceof CompletableFuture<?> future && future.isDone()) {
            // Then the task runs at once, and sees what the future has.
            leave(s, FissureIdentity.more(s, future, FissureMore.DONE), 1, site);
        }
        if (task != null) {
            arrive(s, FissureIdentity.more(s, task, FissureMore.TASK), 0, site);
        }
    }

    /** The site of what the platform does. */
    private static final int NOWHERE = -1;
    private static final int HANDED_OVER = 1;
    private static final int BEGINS = 2;
    private static final int DONE = 3;
    private static final int STARTED = 4;
    private static final int CLAIMED = 5;
    private static final int LOOKED_AT = 6;

    /** What a hook in the platform tells: crates/agent/src/platform.rs has the same numbers. */
    static void hook(Object task, int code) {
        if (task == null) {
            return;
        }
        FissureThread s = null;
        try {
            s = Fissure.take();
            if (s == null) {
                return;
            }
            if (s.arms != null && code == BEGINS) {
                // What was open is of code that an exception has left, or that waits for this.
                s.arms.closeAll(s);
            }
            switch (code) {
                case HANDED_OVER -> arrive(s, FissureIdentity.more(s, task, FissureMore.TASK), 0, NOWHERE);
                case BEGINS -> leave(s, FissureIdentity.more(s, task, FissureMore.TASK), 0, NOWHERE);
                case DONE -> arrive(s, FissureIdentity.more(s, task, FissureMore.DONE), 1, NOWHERE);
                case STARTED -> starts(s, (Thread) task, NOWHERE);
                case CLAIMED -> claimed(s, task);
                case LOOKED_AT -> joinedIfOver(s, task, NOWHERE);
                default -> {
                }
            }
        } catch (Throwable trouble) {
            Fissure.lost(s, trouble);
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    /** The current thread is over. */
    static void ended(FissureThread s, Thread thread) {
        FissureIdentity.word(s, thread, FissureMore.THREAD).word = s.number;
    }

    /** What depends on other futures is done now, by this thread or by one that it hands it to. */
    private static void claimed(FissureThread s, Object completion) {
        FissureMore of = FissureIdentity.more(s, completion, FissureMore.TASK);
        leave(s, of, 0, NOWHERE);
        FissureClass.Facts facts = FissureClass.ALL.get(completion.getClass());
        for (long offset : facts.sources) {
            Object source = U.getReferenceVolatile(completion, offset);
            if (source != null) {
                leave(s, FissureIdentity.more(s, source, FissureMore.DONE), 1, NOWHERE);
            }
        }
        arrive(s, of, 0, NOWHERE);
    }

    /** A thread or task is seen to have ended. */
    static void joined(FissureThread s, Object ended, int site) {
        if (ended instanceof Thread) {
            long number = FissureIdentity.word(s, ended, FissureMore.THREAD).word;
            if (number != 0) {
                s.learn(FissureThread.lastWord(number));
                s.endSegment();
                s.append(Fissure.JOIN, 0, site, number);
                s.orders++;
            }
        } else if (ended != null) {
            leave(s, FissureIdentity.more(s, ended, FissureMore.DONE), 1, site);
        }
    }

    static void joinedIfOver(FissureThread s, Object perhaps, int site) {
        if (perhaps instanceof Thread thread ? !thread.isAlive() : isOver(perhaps)) {
            joined(s, perhaps, site);
        }
    }

    /** Of several tasks, those that are over. No code of the application is asked. */
    static void joinedAll(FissureThread s, Object tasks, int site) {
        if (tasks instanceof Object[] array) {
            for (Object task : array) {
                joinedIfOver(s, task, site);
            }
        } else if (tasks instanceof Collection<?> collection && isOfPlatform(collection)) {
            for (Object task : collection) {
                joinedIfOver(s, task, site);
            }
        }
    }

    /** A task that was given up counts as running: nobody waited for it. */
    private static boolean isOver(Object task) {
        return task instanceof Future<?> future && (task instanceof ForkJoinTask || isOfPlatform(task))
                && future.isDone() && !future.isCancelled();
    }

    private static boolean isOfPlatform(Object o) {
        return o.getClass().getClassLoader() == null;
    }

    // What comes before others, and what comes after them.

    static void arrive(FissureThread s, FissureMore of, int generation, int site) {
        s.publish();
        s.endSegment();
        // Numbered before it is written: who leaves comes after all lower numbers, those that are being written included.
        s.append(Fissure.ARRIVE, of.type, site, of.id, generation, of.take(1));
        s.orders++;
    }

    static void leave(FissureThread s, Object subject, int site) {
        leave(s, FissureIdentity.more(s, FissureLocks.innermost(subject), FissureMore.DONE), 1, site);
    }

    static void leave(FissureThread s, FissureMore of, int generation, int site) {
        long count = of.turns();
        if (count > 0) {
            s.endSegment();
            s.append(Fissure.LEAVE, of.type, site, of.id, generation, count);
            s.orders++;
        }
    }
}
