//! Atomics: one value, each operation a section of its own, most of them atomic though they read and write.

use super::call::State::Value;
use super::call::Target;
use super::line::Gives::{Fresh, Replaced, ReplacedByLast, Unrelated};
use super::line::{Line, OWN, Table, does, makes, reads, table, updates, writes};

/// Plain, opaque, acquire, release and volatile differ in what else they order, not in what they touch.
const CELL: &[Line] = &[
    reads("get getPlain getOpaque getAcquire"),
    reads("toString").gives(Fresh),
    writes("set lazySet setPlain setOpaque setRelease"),
    updates("getAndSet").gives(Replaced(0)),
    updates("compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetAcquire").expecting(0),
    updates("weakCompareAndSetRelease weakCompareAndSetVolatile").expecting(0),
    updates("compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease").expecting(0),
];

/// The functions may run several times: they hold nothing.
const FUNCTIONS: &[Line] = &[
    updates("getAndUpdate updateAndGet").runs(0).outside(),
    updates("getAndAccumulate accumulateAndGet").runs(1).outside(),
];

const COUNTER: &[Line] =
    &[updates("getAndIncrement getAndDecrement incrementAndGet decrementAndGet"), updates("getAndAdd addAndGet")];

const NUMBER: &[Line] = &[reads("intValue longValue floatValue doubleValue byteValue shortValue")];

/// Index first.
const ARRAY: &[Line] = &[
    reads("get getPlain getOpaque getAcquire").key(0),
    writes("set lazySet setPlain setOpaque setRelease").key(0),
    updates("getAndSet").key(0).gives(Replaced(1)),
    updates("compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetAcquire").key(0).expecting(1),
    updates("weakCompareAndSetRelease weakCompareAndSetVolatile").key(0).expecting(1),
    updates("compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease").key(0).expecting(1),
    updates("getAndUpdate updateAndGet").key(0).runs(1).outside(),
    updates("getAndAccumulate accumulateAndGet").key(0).runs(2).outside(),
    does("length"),
    reads("toString").gives(Fresh).each(),
];

const COUNTER_ARRAY: &[Line] = &[
    updates("getAndIncrement getAndDecrement incrementAndGet decrementAndGet").key(0),
    updates("getAndAdd addAndGet").key(0),
];

/// The other constructor takes a length, which has no elements to read.
const ARRAY_COPY: &[Line] = &[makes("<init>").reading(0), makes("<init>(int)")];

/// The object whose field it is first.
const UPDATER: &[Line] = &[
    reads("get"),
    writes("set lazySet"),
    updates("getAndSet").gives(Replaced(1)),
    updates("compareAndSet weakCompareAndSet").expecting(1),
    updates("getAndUpdate updateAndGet").runs(1).outside(),
    updates("getAndAccumulate accumulateAndGet").runs(2).outside(),
    makes("newUpdater"),
];

/// Expected and new reference, then expected and new stamp or mark.
const PAIR: &[Line] = &[
    reads("getReference"),
    // The stamp or mark goes into the array that is given.
    reads("get").writing(0),
    writes("set"),
    updates("compareAndSet weakCompareAndSet").expecting(0),
];

/// Each call is a step, but `sum` adds up cells that others go on changing.
const ADDER: &[Line] = &[
    updates("add").gives(Unrelated),
    reads("sum").each(),
    reads("toString").gives(Fresh).each(),
    updates("sumThenReset").each(),
    writes("reset").each(),
];

const ACCUMULATOR: &[Line] = &[
    updates("accumulate").gives(Unrelated),
    reads("get").each(),
    reads("toString").gives(Fresh).each(),
    updates("getThenReset").each(),
    writes("reset").each(),
];

/// How many arguments say which variable it is depends on the handle, so the others are counted from the last.
const VAR_HANDLE: &[Line] = &[
    reads("get getVolatile getOpaque getAcquire"),
    writes("set setVolatile setOpaque setRelease"),
    updates("compareAndSet weakCompareAndSet weakCompareAndSetPlain").expecting_last_but(1),
    updates("weakCompareAndSetAcquire weakCompareAndSetRelease").expecting_last_but(1),
    updates("compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease").expecting_last_but(1),
    updates("getAndSet getAndSetAcquire getAndSetRelease").gives(ReplacedByLast),
    updates("getAndAdd getAndAddAcquire getAndAddRelease"),
    updates("getAndBitwiseOr getAndBitwiseOrAcquire getAndBitwiseOrRelease"),
    updates("getAndBitwiseAnd getAndBitwiseAndAcquire getAndBitwiseAndRelease"),
    updates("getAndBitwiseXor getAndBitwiseXorAcquire getAndBitwiseXorRelease"),
    does("fullFence acquireFence releaseFence loadLoadFence storeStoreFence"),
];

/// A generator changes with every number that it gives; one random number is as good as another, so none is ever stale.
const RANDOM: &[Line] =
    &[updates("nextInt nextLong nextFloat nextDouble nextBoolean nextGaussian nextBytes").gives(Unrelated)];

const PACKAGE: &str = "java/util/concurrent/atomic";

pub(crate) const TABLES: &[Table] = &[
    table(PACKAGE, "AtomicInteger AtomicLong", Value, &[CELL, FUNCTIONS, COUNTER, NUMBER]).locked(OWN),
    table(PACKAGE, "AtomicReference", Value, &[CELL, FUNCTIONS]).locked(OWN),
    table(PACKAGE, "AtomicBoolean", Value, &[CELL]).locked(OWN),
    table(PACKAGE, "AtomicIntegerArray AtomicLongArray", Value, &[ARRAY, COUNTER_ARRAY, ARRAY_COPY]).locked(OWN),
    table(PACKAGE, "AtomicReferenceArray", Value, &[ARRAY, ARRAY_COPY]).locked(OWN),
    table(PACKAGE, "AtomicIntegerFieldUpdater AtomicLongFieldUpdater", Value, &[UPDATER, COUNTER])
        .locked(OWN)
        .of(Target::Named),
    table(PACKAGE, "AtomicReferenceFieldUpdater", Value, &[UPDATER]).locked(OWN).of(Target::Named),
    table(
        PACKAGE,
        "AtomicStampedReference",
        Value,
        &[PAIR, &[reads("getStamp"), updates("attemptStamp").expecting(0)]],
    )
    .locked(OWN),
    table(
        PACKAGE,
        "AtomicMarkableReference",
        Value,
        &[PAIR, &[reads("isMarked"), updates("attemptMark").expecting(0)]],
    )
    .locked(OWN),
    table(PACKAGE, "LongAdder", Value, &[ADDER, NUMBER, &[updates("increment decrement").gives(Unrelated)]])
        .locked(OWN),
    table(PACKAGE, "DoubleAdder", Value, &[ADDER, NUMBER]).locked(OWN),
    table(PACKAGE, "LongAccumulator DoubleAccumulator", Value, &[ACCUMULATOR, NUMBER]).locked(OWN),
    table("java/lang/invoke", "VarHandle", Value, &[VAR_HANDLE]).locked(OWN).of(Target::Named),
    table("java/util/random", "RandomGenerator", Value, &[RANDOM]),
    table("java/util", "Random", Value, &[RANDOM, &[writes("setSeed")]]).locked(OWN),
    table("java/util", "SplittableRandom", Value, &[RANDOM]),
    // Each thread has its own.
    table(
        "java/util/concurrent",
        "ThreadLocalRandom",
        Value,
        &[&[
            does("nextInt nextLong nextFloat nextDouble nextBoolean nextGaussian nextBytes setSeed"),
            makes("current"),
        ]],
    ),
    table("java/lang", "ThreadLocal", Value, &[&[does("get set remove"), makes("withInitial").wraps(0)]]),
];
