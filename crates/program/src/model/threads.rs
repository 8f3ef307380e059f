//! Threads, executors, timers and futures: what they start, and what they order.

use super::call::After::{self, Any, Both};
use super::call::OrderKind::{Await, Join, JoinAll, JoinStarted, Meet, Signal};
use super::call::Runner::{self, Completer, NewThread};
use super::call::State::Value;
use super::call::Task::{Argument, ElementsOf};
use super::call::Times::{Once, Repeatedly};
use super::call::When::{Always, IfTrue, Perhaps};
use super::call::{Pool, Task};
use super::line::Gives::{self, Fresh, Receiver, Removed, Unrelated};
use super::line::{Line, OWN, Table, does, function, joins, makes, reads, table, updates, writes};

const THREAD: &[Line] = &[
    does("start()").starts(Task::Receiver, Once, NewThread),
    makes("<init>(Runnable) <init>(Runnable,String)").wraps(0),
    makes("<init>(ThreadGroup,Runnable) <init>(ThreadGroup,Runnable,String)").wraps(1),
    makes("<init>(ThreadGroup,Runnable,String,long) <init>(ThreadGroup,Runnable,String,long,boolean)").wraps(1),
    makes("<init>() <init>(String) <init>(ThreadGroup,String)"),
    joins("join()"),
    does("join(long) join(long,int)").orders(Join, Perhaps),
    does("join(Duration)").orders(Join, IfTrue).since(19),
    function("startVirtualThread(Runnable)").starts(Argument(0), Once, NewThread).gives(Fresh).since(21),
    makes("ofVirtual ofPlatform").since(21),
    does("isAlive").orders(Join, Perhaps),
    makes("currentThread"),
    function("sleep yield onSpinWait"),
    does("interrupt isInterrupted setDaemon setName setPriority getName getId"),
];

const THREAD_BUILDER: &[Line] = &[
    does("start(Runnable)").starts(Argument(0), Once, NewThread).gives(Fresh),
    does("unstarted(Runnable)").wraps(0).gives(Fresh),
    does("name inheritInheritableThreadLocals uncaughtExceptionHandler").gives(Receiver),
    does("factory").gives(Fresh),
];

const EXECUTOR: &[Line] = &[does("execute(Runnable)").starts(Argument(0), Once, Runner::Receiver)];

const EXECUTOR_SERVICE: &[Line] = &[
    does("submit").starts(Argument(0), Once, Runner::Receiver).gives(Fresh),
    does("invokeAll(Collection)")
        .reading(0)
        .starts(ElementsOf(0), Once, Runner::Receiver)
        .orders(JoinStarted, Always)
        .gives(Fresh),
    // What is not done in time is cancelled, which does not wait for it.
    does("invokeAll(Collection,long,TimeUnit) invokeAny")
        .reading(0)
        .starts(ElementsOf(0), Once, Runner::Receiver)
        .orders(JoinStarted, Perhaps),
    does("awaitTermination(long,TimeUnit)").orders(JoinAll, IfTrue),
    does("isTerminated()").orders(JoinAll, IfTrue),
    does("close()").orders(JoinAll, Always).since(19),
    does("shutdown shutdownNow isShutdown"),
];

const SCHEDULED: &[Line] = &[
    does("schedule(Runnable,long,TimeUnit) schedule(Callable,long,TimeUnit)")
        .starts(Argument(0), Once, Runner::Receiver)
        .gives(Fresh),
    does("scheduleAtFixedRate scheduleWithFixedDelay").starts(Argument(0), Repeatedly, Runner::Receiver).gives(Fresh),
];

const EXECUTORS: &[Line] = &[
    makes("newSingleThreadExecutor newSingleThreadScheduledExecutor").pool(Pool::Single),
    makes("newFixedThreadPool newScheduledThreadPool").pool(Pool::Sized(0)),
    makes("newWorkStealingPool(int)").pool(Pool::Sized(0)),
    makes("newCachedThreadPool newWorkStealingPool()").pool(Pool::Many),
    makes("newVirtualThreadPerTaskExecutor newThreadPerTaskExecutor").pool(Pool::Many).since(21),
    makes("unconfigurableExecutorService unconfigurableScheduledExecutorService").pool(Pool::Like(0)),
    makes("callable").wraps(0),
    makes("defaultThreadFactory"),
];

const FORK_JOIN_POOL: &[Line] = &[
    makes("commonPool <init>()").pool(Pool::Many),
    makes("<init>(int)").pool(Pool::Sized(0)),
    does("invoke(ForkJoinTask)").starts(Argument(0), Once, Runner::Receiver).orders(JoinStarted, Always),
    does("execute submit").starts(Argument(0), Once, Runner::Receiver),
    does("awaitQuiescence(long,TimeUnit)").orders(JoinAll, IfTrue),
];

const FORK_JOIN_TASK: &[Line] = &[
    does("fork()").starts(Task::Receiver, Once, Runner::CommonPool).gives(Receiver),
    joins("join() invoke() get()"),
    does("get(long,TimeUnit)").orders(Join, Always),
    joins("quietlyJoin() quietlyInvoke()"),
    function("invokeAll(Collection)")
        .starts(ElementsOf(0), Once, Runner::CommonPool)
        .orders(JoinStarted, Always)
        .gives(Gives::Argument(0)),
    function("invokeAll(ForkJoinTask[])").starts(ElementsOf(0), Once, Runner::CommonPool).orders(JoinStarted, Always),
    // The first one runs here.
    function("invokeAll(ForkJoinTask,ForkJoinTask)")
        .starts(Argument(1), Once, Runner::CommonPool)
        .runs(0)
        .orders(JoinStarted, Always),
    makes("adapt").wraps(0),
    does("isDone isCompletedNormally isCompletedAbnormally").orders(Join, IfTrue),
];

const FUTURE: &[Line] = &[
    joins("get()"),
    // It throws when time runs out.
    joins("get(long,TimeUnit)"),
    does("isDone()").orders(Join, IfTrue),
    joins("resultNow exceptionNow").since(19),
    does("cancel isCancelled"),
];

const STAGE: &[Line] = &[
    does("thenApply thenAccept thenRun thenCompose handle whenComplete exceptionally")
        .starts(Argument(0), Once, Completer)
        .gives(Fresh)
        .after(After::Receiver),
    does("exceptionallyCompose").starts(Argument(0), Once, Completer).gives(Fresh).after(After::Receiver),
    does("thenCombine thenAcceptBoth runAfterBoth").starts(Argument(1), Once, Completer).gives(Fresh).after(Both),
    does("applyToEither acceptEither runAfterEither").starts(Argument(1), Once, Completer).gives(Fresh).after(Any),
    does("thenApplyAsync(Function) thenAcceptAsync(Consumer) thenRunAsync(Runnable) thenComposeAsync(Function)")
        .starts(Argument(0), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(After::Receiver),
    does("handleAsync(BiFunction) whenCompleteAsync(BiConsumer) exceptionallyAsync(Function)")
        .starts(Argument(0), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(After::Receiver),
    does("exceptionallyComposeAsync(Function)")
        .starts(Argument(0), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(After::Receiver),
    does("thenApplyAsync(Function,Executor) thenAcceptAsync(Consumer,Executor) thenRunAsync(Runnable,Executor)")
        .starts(Argument(0), Once, Runner::Argument(1))
        .gives(Fresh)
        .after(After::Receiver),
    does("thenComposeAsync(Function,Executor) handleAsync(BiFunction,Executor) whenCompleteAsync(BiConsumer,Executor)")
        .starts(Argument(0), Once, Runner::Argument(1))
        .gives(Fresh)
        .after(After::Receiver),
    does("exceptionallyAsync(Function,Executor) exceptionallyComposeAsync(Function,Executor)")
        .starts(Argument(0), Once, Runner::Argument(1))
        .gives(Fresh)
        .after(After::Receiver),
    does("thenCombineAsync(CompletionStage,BiFunction) thenAcceptBothAsync(CompletionStage,BiConsumer)")
        .starts(Argument(1), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(Both),
    does("runAfterBothAsync(CompletionStage,Runnable)")
        .starts(Argument(1), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(Both),
    does("runAfterEitherAsync(CompletionStage,Runnable)")
        .starts(Argument(1), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(Any),
    does("applyToEitherAsync(CompletionStage,Function) acceptEitherAsync(CompletionStage,Consumer)")
        .starts(Argument(1), Once, Runner::CommonPool)
        .gives(Fresh)
        .after(Any),
    does("thenCombineAsync(CompletionStage,BiFunction,Executor) runAfterBothAsync(CompletionStage,Runnable,Executor)")
        .starts(Argument(1), Once, Runner::Argument(2))
        .gives(Fresh)
        .after(Both),
    does("thenAcceptBothAsync(CompletionStage,BiConsumer,Executor)")
        .starts(Argument(1), Once, Runner::Argument(2))
        .gives(Fresh)
        .after(Both),
    does("runAfterEitherAsync(CompletionStage,Runnable,Executor)")
        .starts(Argument(1), Once, Runner::Argument(2))
        .gives(Fresh)
        .after(Any),
    does("applyToEitherAsync(CompletionStage,Function,Executor) acceptEitherAsync(CompletionStage,Consumer,Executor)")
        .starts(Argument(1), Once, Runner::Argument(2))
        .gives(Fresh)
        .after(Any),
    does("toCompletableFuture").gives(Receiver),
];

const COMPLETABLE_FUTURE: &[Line] = &[
    function("supplyAsync(Supplier) runAsync(Runnable)").starts(Argument(0), Once, Runner::CommonPool).gives(Fresh),
    function("supplyAsync(Supplier,Executor) runAsync(Runnable,Executor)")
        .starts(Argument(0), Once, Runner::Argument(1))
        .gives(Fresh),
    does("completeAsync(Supplier)").starts(Argument(0), Once, Runner::CommonPool).gives(Receiver),
    does("completeAsync(Supplier,Executor)").starts(Argument(0), Once, Runner::Argument(1)).gives(Receiver),
    updates("complete completeExceptionally obtrudeValue obtrudeException").orders(Signal, Always),
    reads("join() get() get(long,TimeUnit)").orders(Join, Always),
    reads("getNow(Object)").orders(Join, Perhaps),
    reads("isDone()").orders(Join, IfTrue),
    reads("isCompletedExceptionally isCancelled getNumberOfDependents"),
    makes("anyOf").after(Any),
    makes("allOf completedFuture completedStage failedFuture failedStage delayedExecutor"),
    does("orTimeout").gives(Receiver),
    does("completeOnTimeout").gives(Receiver).after(Any),
    does("copy minimalCompletionStage newIncompleteFuture").gives(Fresh),
];

const FUTURE_TASK: &[Line] = &[makes("<init>(Callable) <init>(Runnable,Object)").wraps(0)];

const COMPLETION_SERVICE: &[Line] = &[
    does("submit").starts(Argument(0), Once, Runner::Receiver).gives(Fresh),
    updates("take poll").gives(Removed).orders(Join, Perhaps),
];

const TIMER: &[Line] = &[
    does("schedule(TimerTask,long) schedule(TimerTask,Date)").starts(Argument(0), Once, Runner::Receiver),
    does("schedule(TimerTask,long,long) schedule(TimerTask,Date,long) scheduleAtFixedRate").starts(
        Argument(0),
        Repeatedly,
        Runner::Receiver,
    ),
    makes("<init>() <init>(boolean) <init>(String) <init>(String,boolean)").pool(Pool::Single),
    does("cancel purge"),
];

const SWING: &[Line] = &[
    function("invokeLater(Runnable)").starts(Argument(0), Once, Runner::EventThread),
    function("invokeAndWait(Runnable)").starts(Argument(0), Once, Runner::EventThread).orders(JoinStarted, Always),
];

const STRUCTURED: &[Line] = &[
    does("fork").starts(Argument(0), Once, NewThread).gives(Fresh),
    does("join()").orders(JoinAll, Always),
    makes("open"),
];

const LATCH: &[Line] = &[
    updates("countDown()").gives(Unrelated).orders(Signal, Always),
    does("await()").orders(Await, Always),
    does("await(long,TimeUnit)").orders(Await, IfTrue),
    reads("getCount()"),
];

/// `await(long,TimeUnit)` throws when time runs out.
const BARRIER: &[Line] = &[
    does("await").orders(Meet, Always),
    makes("<init>(int,Runnable)").wraps(1),
    reads("getNumberWaiting isBroken"),
    writes("reset"),
    does("getParties"),
];

const PHASER: &[Line] = &[
    updates("arrive() arriveAndDeregister()").orders(Signal, Always),
    updates("arriveAndAwaitAdvance()").orders(Meet, Always),
    reads("awaitAdvance(int) awaitAdvanceInterruptibly(int) awaitAdvanceInterruptibly(int,long,TimeUnit)")
        .orders(Await, Always),
    updates("register bulkRegister"),
    reads("getPhase getRegisteredParties getArrivedParties getUnarrivedParties isTerminated"),
    writes("forceTermination"),
];

const CONCURRENT: &str = "java/util/concurrent";

pub(crate) const TABLES: &[Table] = &[
    table("java/lang", "Thread", Value, &[THREAD]),
    table("java/lang", "Thread$Builder Thread$Builder$OfPlatform Thread$Builder$OfVirtual", Value, &[THREAD_BUILDER])
        .since(21),
    table("java/lang", "Runtime", Value, &[&[does("addShutdownHook(Thread)").starts(Argument(0), Once, NewThread)]]),
    table(CONCURRENT, "Executor", Value, &[EXECUTOR]),
    table(CONCURRENT, "ExecutorService", Value, &[EXECUTOR_SERVICE]),
    table(CONCURRENT, "ScheduledExecutorService", Value, &[SCHEDULED]),
    table(CONCURRENT, "Executors", Value, &[EXECUTORS]),
    table(CONCURRENT, "ThreadFactory", Value, &[&[does("newThread(Runnable)").wraps(0).gives(Fresh)]]),
    // The second number is the most threads there will be.
    table(CONCURRENT, "ThreadPoolExecutor", Value, &[&[makes("<init>").pool(Pool::Sized(1))]]),
    table(CONCURRENT, "ScheduledThreadPoolExecutor", Value, &[&[makes("<init>").pool(Pool::Sized(0))]]),
    table(CONCURRENT, "ForkJoinPool", Value, &[FORK_JOIN_POOL]),
    table(CONCURRENT, "ForkJoinTask", Value, &[FORK_JOIN_TASK]),
    table(CONCURRENT, "Future", Value, &[FUTURE]),
    table(CONCURRENT, "FutureTask", Value, &[FUTURE_TASK]),
    table(CONCURRENT, "CompletionService", Value, &[COMPLETION_SERVICE]),
    table(CONCURRENT, "ExecutorCompletionService", Value, &[&[makes("<init>").pool(Pool::Like(0))]]),
    table(CONCURRENT, "CompletionStage", Value, &[STAGE]),
    table(CONCURRENT, "CompletableFuture", Value, &[COMPLETABLE_FUTURE]).locked(OWN),
    table(CONCURRENT, "StructuredTaskScope", Value, &[STRUCTURED]).since(25),
    // Gone again in release 25; its own constructor opens the scope.
    table(
        CONCURRENT,
        "StructuredTaskScope$ShutdownOnFailure StructuredTaskScope$ShutdownOnSuccess",
        Value,
        &[&[
            does("fork").starts(Argument(0), Once, NewThread).gives(Fresh),
            does("join() joinUntil").orders(JoinAll, Always).gives(Receiver),
        ]],
    )
    .library(),
    table(CONCURRENT, "CountDownLatch", Value, &[LATCH]).locked(OWN),
    table(CONCURRENT, "CyclicBarrier", Value, &[BARRIER]).locked(OWN),
    table(CONCURRENT, "Phaser", Value, &[PHASER]).locked(OWN),
    table("java/util", "Timer", Value, &[TIMER]),
    table("javax/swing", "SwingUtilities", Value, &[SWING]),
    table("java/awt", "EventQueue", Value, &[SWING]),
];
