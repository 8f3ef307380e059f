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
        s.endSegment();
        s.append(Fissure.START, 0, site, child.number);
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
                s.endSegment();
                s.append(Fissure.JOIN, 0, site, number);
            }
        }
    }
}
