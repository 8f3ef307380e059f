package java.lang;

/** Starts, ends and joins. */
final class FissureThreads {
    private FissureThreads() {
    }

    /** A thread is about to be started. */
    static void starts(FissureThread s, Thread thread, int site) {
        if (thread.getState() != Thread.State.NEW) {
            return;
        }
        FissureThread child = Fissure.stateOf(thread);
        if (child == null || child.started || child.begun) {
            return;
        }
        child.started = true;
        child.learnAll(s);
        s.publish();
        s.endSegment();
        s.append(Fissure.START, 0, site, child.number);
    }

    /** The site of what the platform does. */
    private static final int NOWHERE = -1;
    private static final int HANDED_OVER = 1;
    private static final int BEGINS = 2;
    private static final int DONE = 3;
    private static final int AWAITED = 4;

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
            switch (code) {
                case HANDED_OVER -> FissureCalls.arrive(s, FissureCalls.more(s, task, FissureMore.TASK), 0, NOWHERE);
                case BEGINS -> FissureCalls.leave(s, FissureCalls.more(s, task, FissureMore.TASK), 0, NOWHERE);
                case DONE -> FissureCalls.arrive(s, FissureCalls.more(s, task, FissureMore.DONE), 1, NOWHERE);
                case AWAITED -> FissureCalls.leave(s, FissureCalls.more(s, task, FissureMore.DONE), 1, NOWHERE);
                default -> {
                }
            }
        } catch (Throwable trouble) {
            Fissure.lost(s);
        } finally {
            if (s != null) {
                s.busy = false;
            }
        }
    }

    /** The current thread is over. */
    static void ended(FissureThread s, Thread thread) {
        FissureCalls.more(s, thread, FissureMore.THREAD).word = s.number;
    }

    /** A thread has seen the end of another. */
    static void joined(FissureThread s, Object thread, int site) {
        if (thread instanceof Thread) {
            long number = FissureCalls.more(s, thread, FissureMore.THREAD).word;
            if (number != 0) {
                s.learn(FissureThread.lastWord(number));
                s.endSegment();
                s.append(Fissure.JOIN, 0, site, number);
            }
        }
    }
}
