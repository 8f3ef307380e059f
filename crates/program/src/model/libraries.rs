//! Containers and tasks of libraries that analysed programs often bring along: Guava, Caffeine, Kotlin, Scala.
//!
//! Only names that have been the same for many releases. Kotlin's collections are those of `java.util` at run time.

use super::call::Product::{Immutable, Synchronized};
use super::call::Runner::{self, NewThread};
use super::call::State::{Contents, Value};
use super::call::Task::Argument;
use super::call::Times::{Once, Repeatedly};
use super::call::{OrderKind, Pool, When};
use super::line::Gives::{self, Fresh, FromState, Unrelated};
use super::line::{
    Line, OWN, Table, cursor, does, function, locks, makes, part, reads, removes, table, updates, writes,
};

const MULTIMAP: &[Line] = &[
    reads("size isEmpty"),
    reads("containsKey containsEntry").key(0),
    reads("containsValue").each(),
    part("get").key(0),
    part("keySet keys values entries asMap"),
    updates("put").key(0),
    updates("putAll(Object,Iterable)").key(0).reading(1).each(),
    updates("putAll(Multimap)").reading(0).each(),
    updates("remove(Object,Object)").key(0),
    removes("removeAll").key(0),
    writes("replaceValues").key(0).gives(FromState).each(),
    writes("clear").each(),
];

const MULTISET: &[Line] = &[
    reads("count(Object)").key(0),
    updates("add(Object,int) remove(Object,int) setCount(Object,int)").key(0),
    updates("setCount(Object,int,int)").key(0).expecting(1),
    part("elementSet entrySet"),
];

const GUAVA_TABLE: &[Line] = &[
    reads("get contains containsRow containsColumn containsValue size isEmpty"),
    writes("put").gives(FromState),
    writes("putAll").reading(0).each(),
    removes("remove"),
    writes("clear").each(),
    part("row column rowMap columnMap cellSet values rowKeySet columnKeySet"),
];

/// Guava's and Caffeine's.
const CACHE: &[Line] = &[
    reads("getIfPresent").key(0),
    reads("getAllPresent").gives(Fresh).each(),
    writes("put").key(0),
    writes("putAll").reading(0).each(),
    writes("invalidate").key(0),
    writes("invalidateAll").each(),
    part("asMap"),
    does("cleanUp stats"),
];

const LOADING_CACHE: &[Line] = &[updates("get(Object)").key(0), updates("getAll").gives(Fresh).each()];

const RATE_LIMITER: &[Line] = &[updates("acquire tryAcquire"), writes("setRate")];

/// Like a semaphore, but waits for conditions.
const MONITOR: &[Line] =
    &[locks("enter enterInterruptibly tryEnter enterIf enterWhen tryEnterIf leave waitFor waitForUninterruptibly")];

const FUTURES: &[Line] = &[
    function("addCallback").starts(Argument(1), Once, Runner::Argument(2)),
    function("transform transformAsync").starts(Argument(1), Once, Runner::Argument(2)).gives(Fresh),
    function("getUnchecked getDone").orders(OrderKind::JoinStarted, When::Perhaps),
    makes("immediateFuture allAsList successfulAsList"),
];

const MORE_EXECUTORS: &[Line] = &[
    makes("directExecutor newDirectExecutorService").pool(Pool::Caller),
    makes("newSequentialExecutor").pool(Pool::Single),
    makes("listeningDecorator getExitingExecutorService").pool(Pool::Like(0)),
];

const KOTLIN_THREAD: &[Line] = &[
    // start, isDaemon, contextClassLoader, name, priority, block; the other one has a mask behind it
    function("thread thread$default").starts(Argument(5), Once, NewThread).gives(Fresh),
];

/// A value that is made once, under a lock of its own unless told otherwise.
/// What `lazy` made is a part of it: whoever comes first, all get the same.
const KOTLIN_LAZY: &[Line] = &[part("getValue"), reads("isInitialized")];

const KOTLIN_COLLECTIONS: &[Line] = &[
    makes("listOf emptyList listOfNotNull").product(Immutable),
    makes("mutableListOf arrayListOf"),
    makes("toList toMutableList toSet toMutableSet toHashSet").reading(0),
];

const KOTLIN_MAPS: &[Line] = &[
    makes("mapOf emptyMap").product(Immutable),
    makes("mutableMapOf hashMapOf linkedMapOf"),
    makes("toMap toMutableMap").reading(0),
];

const COROUTINES: &[Line] = &[
    // scope, context, start, block
    function("launch launch$default async async$default").starts(Argument(3), Once, Runner::CommonPool).gives(Fresh),
    // context, block
    function("runBlocking runBlocking$default").runs(1).orders(OrderKind::JoinStarted, When::Always),
];

const TRIE_MAP: &[Line] = &[
    reads("get contains apply").key(0),
    reads("getOrElse").key(0).runs(1),
    reads("size isEmpty"),
    writes("update").key(0),
    writes("put").key(0).gives(FromState),
    removes("remove(Object)").key(0),
    updates("putIfAbsent").key(0).telling(),
    updates("getOrElseUpdate").key(0).runs(1).outside(),
    updates("replace(Object,Object,Object)").key(0).expecting(1),
    updates("replace(Object,Object)").key(0),
    updates("remove(Object,Object)").key(0).expecting(1),
    cursor("iterator"),
    reads("foreach").gives(Unrelated).each().runs(0),
    reads("snapshot readOnlySnapshot").gives(Fresh),
];

const COLLECT: &str = "com/google/common/collect";
const GUAVA_CONCURRENT: &str = "com/google/common/util/concurrent";

pub(crate) const TABLES: &[Table] = &[
    table(COLLECT, "Multimap", Contents, &[MULTIMAP]).library(),
    table(COLLECT, "Multiset", Contents, &[MULTISET]).library(),
    table(COLLECT, "ConcurrentHashMultiset", Contents, &[]).locked(OWN).library(),
    table(COLLECT, "Table", Contents, &[GUAVA_TABLE]).library(),
    table(COLLECT, "BiMap", Contents, &[&[writes("forcePut").gives(FromState), part("inverse")]]).library(),
    table(COLLECT, "Maps", Contents, &[&[makes("newHashMap newTreeMap newLinkedHashMap newConcurrentMap")]]).library(),
    table(COLLECT, "Sets", Contents, &[&[makes("newHashSet newTreeSet newLinkedHashSet newConcurrentHashSet")]])
        .library(),
    table(
        COLLECT,
        "Multimaps",
        Contents,
        &[&[makes("synchronizedMultimap synchronizedListMultimap synchronizedSetMultimap").product(Synchronized)]],
    )
    .library(),
    table(
        COLLECT,
        "ImmutableList ImmutableSet ImmutableMap",
        Contents,
        &[&[makes("of").product(Immutable), makes("copyOf").reading(0).product(Immutable)]],
    )
    .library(),
    table("com/google/common/cache", "Cache", Contents, &[CACHE, &[updates("get(Object,Callable)").key(0).runs(1)]])
        .locked(OWN)
        .library(),
    table("com/google/common/cache", "LoadingCache", Contents, &[LOADING_CACHE]).library(),
    table(
        "com/github/benmanes/caffeine/cache",
        "Cache",
        Contents,
        &[CACHE, &[updates("get(Object,Function)").key(0).runs(1)]],
    )
    .locked(OWN)
    .library(),
    table("com/github/benmanes/caffeine/cache", "LoadingCache", Contents, &[LOADING_CACHE]).library(),
    table(
        "com/google/common/base",
        "Preconditions",
        Value,
        &[&[function("checkNotNull").gives(Gives::Argument(0)), does("checkArgument checkState")]],
    )
    .library(),
    table(
        "com/google/common/util/concurrent",
        "AtomicLongMap",
        Contents,
        &[&[
            reads("get containsKey").key(0),
            updates("incrementAndGet decrementAndGet getAndIncrement getAndDecrement addAndGet getAndAdd").key(0),
            updates("updateAndGet getAndUpdate").key(0).runs(1),
            writes("put").key(0).gives(FromState),
            removes("remove(Object)").key(0),
            reads("sum size isEmpty").each(),
            writes("clear").each(),
        ]],
    )
    .locked(OWN)
    .library(),
    table(GUAVA_CONCURRENT, "RateLimiter", Value, &[RATE_LIMITER]).locked(OWN).library(),
    table(GUAVA_CONCURRENT, "Monitor", Value, &[MONITOR]).library(),
    table(GUAVA_CONCURRENT, "Futures", Value, &[FUTURES]).library(),
    table(GUAVA_CONCURRENT, "MoreExecutors", Value, &[MORE_EXECUTORS]).library(),
    table(
        GUAVA_CONCURRENT,
        "ListenableFuture",
        Value,
        &[&[does("addListener").starts(Argument(0), Once, Runner::Argument(1))]],
    )
    .library(),
    table("kotlin/concurrent", "ThreadsKt", Value, &[KOTLIN_THREAD]).library(),
    table("kotlin", "Lazy", Value, &[KOTLIN_LAZY]).locked(OWN).library(),
    table("kotlin", "LazyKt", Value, &[&[makes("lazy(Function0)").wraps(0)]]).library(),
    table("kotlin/collections", "CollectionsKt", Contents, &[KOTLIN_COLLECTIONS]).library(),
    table("kotlin/collections", "MapsKt", Contents, &[KOTLIN_MAPS]).library(),
    table("kotlinx/coroutines", "BuildersKt", Value, &[COROUTINES]).library(),
    table("kotlinx/coroutines/sync", "Mutex", Value, &[&[locks("lock tryLock unlock holdsLock")]]).library(),
    table("scala/collection/concurrent", "TrieMap", Contents, &[TRIE_MAP]).locked(OWN).library(),
    table(
        "org/springframework/scheduling",
        "TaskScheduler",
        Value,
        &[&[does("scheduleAtFixedRate scheduleWithFixedDelay").starts(Argument(0), Repeatedly, Runner::Receiver)]],
    )
    .library(),
];
