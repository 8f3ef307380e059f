//! Containers of `java.util.concurrent`: the ones of `java.util`, where each operation is a section of its own that no
//! client can hold, and operations that are atomic as a whole.

use super::call::State::{Contents, Value};
use super::call::{OrderKind, Product, When};
use super::line::Gives::{Fresh, FromState, Removed, RemovedInto, Unrelated};
use super::line::{Line, OWN, OWN_WHOLE, Table, cursor, does, makes, part, reads, removes, table, updates, writes};

/// Beyond `Map`; the first argument of the parallel ones says from which size on they use other threads.
const CONCURRENT_HASH_MAP: &[Line] = &[
    reads("contains(Object)").each(),
    reads("mappingCount"),
    cursor("keys elements"),
    part("keySet(Object)"),
    makes("newKeySet").product(Product::Concurrent),
    makes("<init>(Map)").reading(0),
    reads("forEach(long,BiConsumer) forEachKey(long,Consumer) forEachValue(long,Consumer)")
        .gives(Unrelated)
        .each()
        .runs(1),
    reads("forEachEntry(long,Consumer)").gives(Unrelated).each().runs(1),
    reads("forEach(long,BiFunction,Consumer) forEachKey(long,Function,Consumer)")
        .gives(Unrelated)
        .each()
        .runs(1)
        .runs(2),
    reads("forEachValue(long,Function,Consumer) forEachEntry(long,Function,Consumer)")
        .gives(Unrelated)
        .each()
        .runs(1)
        .runs(2),
    reads("search searchKeys searchValues searchEntries").each().runs(1),
    reads("reduceKeys(long,BiFunction) reduceValues(long,BiFunction) reduceEntries(long,BiFunction)").each().runs(1),
    reads("reduce reduceKeys(long,Function,BiFunction) reduceValues(long,Function,BiFunction)").each().runs(1).runs(2),
    reads("reduceEntries(long,Function,BiFunction)").each().runs(1).runs(2),
    reads("reduceToInt reduceToLong reduceToDouble").each().runs(1).runs(3),
    reads("reduceKeysToInt reduceKeysToLong reduceKeysToDouble").each().runs(1).runs(3),
    reads("reduceValuesToInt reduceValuesToLong reduceValuesToDouble").each().runs(1).runs(3),
    reads("reduceEntriesToInt reduceEntriesToLong reduceEntriesToDouble").each().runs(1).runs(3),
];

/// The function may run several times, and holds nothing: only the last result is put.
const RETRYING_FUNCTIONS: &[Line] = &[
    updates("computeIfAbsent(Object,Function)").key(0).runs(1).outside(),
    updates("computeIfPresent(Object,BiFunction) compute(Object,BiFunction)").key(0).runs(1).outside(),
    updates("merge(Object,Object,BiFunction)").key(0).runs(2).outside(),
];

const BLOCKING_QUEUE: &[Line] = &[
    writes("put(Object)"),
    writes("offer(Object,long,TimeUnit)").gives(FromState).telling(),
    removes("take"),
    removes("poll(long,TimeUnit)").telling(),
    updates("drainTo").writing(0).gives(RemovedInto(0)),
    reads("remainingCapacity"),
];

const BLOCKING_DEQUE: &[Line] = &[
    writes("putFirst(Object) putLast(Object)"),
    writes("offerFirst(Object,long,TimeUnit) offerLast(Object,long,TimeUnit)").gives(FromState).telling(),
    removes("takeFirst takeLast"),
    removes("pollFirst(long,TimeUnit) pollLast(long,TimeUnit)").telling(),
];

const TRANSFER_QUEUE: &[Line] = &[
    writes("transfer(Object)"),
    writes("tryTransfer").gives(FromState),
    reads("hasWaitingConsumer getWaitingConsumerCount"),
];

/// Their queues have no bound, so that `put` and `offer` always do.
const UNBOUNDED: &[Line] = &[writes("add offer put"), does("comparator")];

const COPY_ON_WRITE: &[Line] = &[
    makes("<init>(Collection)").reading(0),
    // They go over the elements that there were when they were made.
    reads("iterator spliterator stream parallelStream").gives(Fresh),
];

const COPY_ON_WRITE_LIST: &[Line] = &[
    updates("addIfAbsent(Object)").telling(),
    updates("addAllAbsent(Collection)").reading(0),
    reads("indexOf(Object,int) lastIndexOf(Object,int)"),
    reads("listIterator").gives(Fresh),
    reads("clone").gives(Fresh),
];

const EXCHANGER: &[Line] = &[updates("exchange").gives(Removed).orders(OrderKind::Meet, When::Always)];

pub(crate) const TABLES: &[Table] = &[
    table("java/util/concurrent", "ConcurrentMap", Contents, &[]).locked(OWN),
    table("java/util/concurrent", "ConcurrentHashMap", Contents, &[CONCURRENT_HASH_MAP]),
    table("java/util/concurrent", "ConcurrentHashMap$KeySetView", Contents, &[&[does("getMap getMappedValue")]])
        .locked(OWN),
    table("java/util/concurrent", "ConcurrentNavigableMap", Contents, &[&[part("keySet")]]),
    table(
        "java/util/concurrent",
        "ConcurrentSkipListMap",
        Contents,
        &[RETRYING_FUNCTIONS, &[reads("clone").gives(Fresh).each(), makes("<init>(Map) <init>(SortedMap)").reading(0)]],
    ),
    table(
        "java/util/concurrent",
        "ConcurrentSkipListSet",
        Contents,
        &[&[reads("clone").gives(Fresh).each(), makes("<init>(Collection) <init>(SortedSet)").reading(0)]],
    )
    .locked(OWN),
    table(
        "java/util/concurrent",
        "ConcurrentLinkedQueue ConcurrentLinkedDeque",
        Contents,
        &[&[writes("offer(Object)"), makes("<init>(Collection)").reading(0)]],
    )
    .locked(OWN),
    table("java/util/concurrent", "CopyOnWriteArrayList", Contents, &[COPY_ON_WRITE, COPY_ON_WRITE_LIST])
        .locked(OWN_WHOLE),
    table("java/util/concurrent", "CopyOnWriteArraySet", Contents, &[COPY_ON_WRITE]).locked(OWN_WHOLE),
    table("java/util/concurrent", "BlockingQueue", Contents, &[BLOCKING_QUEUE]).locked(OWN),
    table("java/util/concurrent", "BlockingDeque", Contents, &[BLOCKING_DEQUE]),
    table("java/util/concurrent", "TransferQueue", Contents, &[TRANSFER_QUEUE]),
    table(
        "java/util/concurrent",
        "LinkedBlockingQueue LinkedBlockingDeque",
        Contents,
        &[&[writes("clear"), makes("<init>(Collection)").reading(0)]],
    ),
    table(
        "java/util/concurrent",
        "ArrayBlockingQueue",
        Contents,
        &[&[writes("clear"), makes("<init>(int,boolean,Collection)").reading(2)]],
    ),
    table("java/util/concurrent", "PriorityBlockingQueue", Contents, &[UNBOUNDED]),
    table("java/util/concurrent", "DelayQueue", Contents, &[&[writes("add offer put")]]),
    table("java/util/concurrent", "LinkedTransferQueue", Contents, &[&[writes("add offer put")]]),
    // It holds nothing: what one thread puts, another takes.
    table(
        "java/util/concurrent",
        "SynchronousQueue",
        Contents,
        &[&[does("size isEmpty remainingCapacity clear peek contains containsAll")]],
    ),
    table("java/util/concurrent", "Exchanger", Value, &[EXCHANGER]).locked(OWN),
];
