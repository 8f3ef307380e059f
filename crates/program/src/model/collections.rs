//! Collections of `java.util`: interfaces first, then what single classes add to them.
//!
//! Contents are a variable whether or not the container locks, so most of what is here says nothing of locks. The
//! classes that hold their own monitor are at the end; those of `java.util.concurrent` are in `concurrent.rs`.

use super::call::{Access, Product, Section, State::Contents, Target};
use super::factories::{OF, OF_MAP};
use super::line::Gives::{self, Fresh, FromState, Receiver, Unrelated};
use super::line::{
    Discipline, Line, MONITOR, Table, cursor, does, makes, part, reads, removes, table, updates, writes,
};

pub(crate) const ITERABLE: &[Line] =
    &[cursor("iterator spliterator"), reads("forEach(Consumer)").gives(Unrelated).each().runs(0)];

pub(crate) const COLLECTION: &[Line] = &[
    reads("size isEmpty hashCode"),
    reads("equals(Object)").reading(0).each(),
    reads("contains(Object)"),
    reads("containsAll(Collection)").reading(0).each(),
    reads("toString").gives(Fresh).each(),
    reads("toArray() toArray(Object[])").gives(Fresh).each(),
    reads("toArray(IntFunction)").gives(Fresh).each().runs(0),
    writes("add(Object)").gives(FromState),
    writes("addAll(Collection)").reading(0).gives(FromState).each(),
    updates("remove(Object)").telling(),
    updates("removeAll(Collection) retainAll(Collection)").reading(0).each(),
    updates("removeIf(Predicate)").each().runs(0),
    writes("clear").each(),
    cursor("stream"),
    cursor("parallelStream").product(Product::ParallelStream),
];

/// Of lists; deques have had most of them for longer.
const ENDS: &[Line] = &[
    reads("getFirst getLast").since(21),
    removes("removeFirst removeLast").since(21),
    writes("addFirst(Object) addLast(Object)").since(21),
    part("reversed").since(21),
];

pub(crate) const LIST: &[Line] = &[
    reads("get(int)").key(0),
    reads("indexOf(Object) lastIndexOf(Object)"),
    writes("set(int,Object)").key(0).gives(FromState),
    writes("add(Object)"),
    writes("add(int,Object)"),
    writes("addAll(int,Collection)").reading(1).each(),
    removes("remove(int)"),
    updates("replaceAll(UnaryOperator)").gives(Unrelated).each().runs(0),
    updates("sort(Comparator)").gives(Unrelated).each().runs(0),
    cursor("listIterator"),
    // Whether the list reaches as far is asked at once.
    Line { access: Access::Read, ..part("subList(int,int)") },
];

/// The element is its own key.
pub(crate) const SET: &[Line] =
    &[reads("contains(Object)").key(0), updates("add(Object) remove(Object)").key(0).telling()];

const SORTED_SET: &[Line] =
    &[reads("first last"), does("comparator"), part("subSet(Object,Object) headSet(Object) tailSet(Object)")];

const NAVIGABLE_SET: &[Line] = &[
    reads("lower(Object) floor(Object) ceiling(Object) higher(Object)"),
    removes("pollFirst pollLast").telling(),
    part("descendingSet subSet(Object,boolean,Object,boolean) headSet(Object,boolean) tailSet(Object,boolean)"),
    cursor("descendingIterator"),
];

pub(crate) const QUEUE: &[Line] = &[
    writes("add(Object)"),
    writes("offer(Object)").gives(FromState).telling(),
    removes("poll()").telling(),
    removes("remove()"),
    reads("peek element"),
];

pub(crate) const DEQUE: &[Line] = &[
    writes("addFirst(Object) addLast(Object) push(Object)"),
    writes("offerFirst(Object) offerLast(Object)").gives(FromState).telling(),
    removes("removeFirst() removeLast() pop"),
    removes("pollFirst() pollLast()").telling(),
    updates("removeFirstOccurrence(Object) removeLastOccurrence(Object)").telling(),
    reads("getFirst getLast peekFirst peekLast"),
    cursor("descendingIterator"),
    part("reversed").since(21),
];

pub(crate) const MAP: &[Line] = &[
    reads("get(Object) getOrDefault(Object,Object) containsKey(Object)").key(0),
    reads("containsValue(Object)").each(),
    reads("size isEmpty hashCode"),
    reads("equals(Object)").reading(0).each(),
    reads("toString").gives(Fresh).each(),
    writes("put(Object,Object)").key(0).gives(FromState),
    writes("putAll(Map)").reading(0).each(),
    writes("clear").each(),
    removes("remove(Object)").key(0).telling(),
    updates("remove(Object,Object)").key(0).expecting(1),
    updates("replace(Object,Object)").key(0),
    updates("replace(Object,Object,Object)").key(0).expecting(1),
    updates("putIfAbsent(Object,Object)").key(0).telling(),
    updates("computeIfAbsent(Object,Function)").key(0).runs(1),
    updates("computeIfPresent(Object,BiFunction) compute(Object,BiFunction)").key(0).runs(1),
    updates("merge(Object,Object,BiFunction)").key(0).runs(2),
    updates("replaceAll(BiFunction)").gives(Unrelated).each().runs(0),
    reads("forEach(BiConsumer)").gives(Unrelated).each().runs(0),
    part("keySet values entrySet"),
];

const SORTED_MAP: &[Line] =
    &[reads("firstKey lastKey"), does("comparator"), part("subMap(Object,Object) headMap(Object) tailMap(Object)")];

const NAVIGABLE_MAP: &[Line] = &[
    reads("firstEntry lastEntry lowerEntry(Object) floorEntry(Object) ceilingEntry(Object) higherEntry(Object)"),
    reads("lowerKey(Object) floorKey(Object) ceilingKey(Object) higherKey(Object)"),
    removes("pollFirstEntry pollLastEntry").telling(),
    part("descendingMap navigableKeySet descendingKeySet"),
    part("subMap(Object,boolean,Object,boolean) headMap(Object,boolean) tailMap(Object,boolean)"),
];

const ENDS_OF_MAP: &[Line] = &[
    reads("firstEntry lastEntry"),
    removes("pollFirstEntry pollLastEntry").telling(),
    writes("putFirst(Object,Object) putLast(Object,Object)").key(0).gives(FromState),
    part("reversed sequencedKeySet sequencedValues sequencedEntrySet"),
];

const ENTRY: &[Line] =
    &[reads("getKey getValue hashCode"), reads("equals(Object)"), writes("setValue(Object)").gives(FromState)];

const ITERATOR: &[Line] =
    &[reads("hasNext next"), writes("remove"), reads("forEachRemaining(Consumer)").gives(Unrelated).each().runs(0)];

const LIST_ITERATOR: &[Line] =
    &[reads("hasPrevious previous nextIndex previousIndex"), writes("set(Object) add(Object)")];

const ENUMERATION: &[Line] = &[reads("hasMoreElements nextElement"), cursor("asIterator")];

const SPLITERATOR: &[Line] = &[
    reads("tryAdvance(Consumer)").runs(0),
    reads("forEachRemaining(Consumer)").gives(Unrelated).each().runs(0),
    reads("estimateSize getExactSizeIfKnown"),
    cursor("trySplit"),
    does("characteristics hasCharacteristics(int) getComparator"),
];

/// Constructors that copy what they are given.
const COPIES_COLLECTION: &[Line] = &[makes("<init>(Collection)").reading(0)];
const COPIES_MAP: &[Line] = &[makes("<init>(Map)").reading(0)];
const CLONE: &[Line] = &[reads("clone").gives(Fresh).each()];

const CAPACITY: &[Line] = &[writes("ensureCapacity(int) trimToSize")];

const VECTOR: &[Line] = &[
    reads("elementAt(int)").key(0),
    reads("firstElement lastElement capacity"),
    reads("indexOf(Object,int) lastIndexOf(Object,int)"),
    reads("copyInto(Object[])").writing(0).gives(Unrelated).each(),
    writes("addElement(Object) insertElementAt(Object,int) removeElementAt(int) removeAllElements setSize(int)"),
    writes("setElementAt(Object,int)").key(1),
    updates("removeElement(Object)"),
    cursor("elements"),
];

const STACK: &[Line] =
    &[writes("push(Object)").gives(Gives::Argument(0)), removes("pop"), reads("peek empty search(Object)")];

const HASHTABLE: &[Line] = &[reads("contains(Object)").each(), cursor("elements keys")];

const PROPERTIES: &[Line] = &[
    reads("getProperty").key(0),
    reads("propertyNames stringPropertyNames").gives(Fresh).each(),
    writes("setProperty(String,String)").key(0).gives(FromState),
    writes("load loadFromXML(InputStream)").each(),
    reads("store storeToXML list save(OutputStream,String)").gives(Unrelated).each(),
];

const BIT_SET: &[Line] = &[
    reads("get(int)").key(0),
    reads("get(int,int)").gives(Fresh),
    reads("length size cardinality isEmpty hashCode"),
    reads("equals(Object) intersects(BitSet)").reading(0),
    reads("nextSetBit(int) nextClearBit(int) previousSetBit(int) previousClearBit(int)"),
    reads("toByteArray toLongArray toString clone").gives(Fresh),
    writes("set(int) set(int,boolean) clear(int)").key(0),
    writes("set(int,int) set(int,int,boolean) clear(int,int) clear()"),
    updates("flip(int)").key(0).gives(Unrelated),
    updates("flip(int,int)").gives(Unrelated),
    updates("and(BitSet) or(BitSet) xor(BitSet) andNot(BitSet)").reading(0).gives(Unrelated),
    cursor("stream"),
    makes("valueOf"),
];

const STRING_JOINER: &[Line] = &[
    writes("add(CharSequence) setEmptyValue(CharSequence)").gives(Receiver),
    writes("merge(StringJoiner)").reading(0).gives(Receiver),
    reads("length"),
    reads("toString").gives(Fresh),
];

const TOKENIZER: &[Line] = &[removes("nextToken nextElement"), reads("hasMoreTokens hasMoreElements countTokens")];

const PRIORITY_QUEUE: &[Line] = &[does("comparator"), makes("<init>(Collection)").reading(0)];

/// `Vector`'s iterators lock as well.
const VECTOR_LOCK: Discipline = Discipline { cursors: Section::Monitor, ..MONITOR };

pub(crate) const TABLES: &[Table] = &[
    table("java/lang", "Iterable", Contents, &[ITERABLE]),
    table("java/util", "Collection", Contents, &[COLLECTION]),
    table("java/util", "SequencedCollection", Contents, &[ENDS]).since(21),
    table("java/util", "List", Contents, &[LIST, ENDS, OF]),
    table("java/util", "Set", Contents, &[SET, OF]),
    table("java/util", "SortedSet", Contents, &[SORTED_SET]),
    table("java/util", "NavigableSet", Contents, &[NAVIGABLE_SET]),
    table("java/util", "Queue", Contents, &[QUEUE]),
    table("java/util", "Deque", Contents, &[DEQUE]),
    table("java/util", "Map", Contents, &[MAP, OF, OF_MAP]),
    table("java/util", "SequencedMap", Contents, &[ENDS_OF_MAP]).since(21),
    table("java/util", "SortedMap", Contents, &[SORTED_MAP]),
    table("java/util", "NavigableMap", Contents, &[NAVIGABLE_MAP]),
    table("java/util", "Map$Entry", Contents, &[ENTRY]).of(Target::Viewed),
    table("java/util", "AbstractMap$SimpleEntry AbstractMap$SimpleImmutableEntry", Contents, &[ENTRY]),
    table("java/util", "Iterator", Contents, &[ITERATOR]).of(Target::Viewed),
    table("java/util", "ListIterator", Contents, &[LIST_ITERATOR]).of(Target::Viewed),
    table("java/util", "Enumeration", Contents, &[ENUMERATION]).of(Target::Viewed),
    table("java/util", "Spliterator", Contents, &[SPLITERATOR]).of(Target::Viewed),
    table("java/util", "ArrayList", Contents, &[COPIES_COLLECTION, CAPACITY, CLONE]),
    table("java/util", "LinkedList ArrayDeque HashSet TreeSet", Contents, &[COPIES_COLLECTION, CLONE]),
    table("java/util", "LinkedHashSet", Contents, &[COPIES_COLLECTION]),
    table("java/util", "PriorityQueue", Contents, &[PRIORITY_QUEUE]),
    table("java/util", "HashMap TreeMap", Contents, &[COPIES_MAP, CLONE]),
    table("java/util", "LinkedHashMap WeakHashMap", Contents, &[COPIES_MAP]),
    table("java/util", "IdentityHashMap EnumMap", Contents, &[COPIES_MAP, CLONE]),
    table(
        "java/util",
        "EnumSet",
        Contents,
        &[CLONE, &[makes("noneOf allOf of range"), makes("copyOf complementOf").reading(0)]],
    ),
    table("java/util", "BitSet", Contents, &[BIT_SET]),
    table("java/util", "StringJoiner", Contents, &[STRING_JOINER]),
    table("java/util", "StringTokenizer", Contents, &[TOKENIZER]),
    table("java/util", "Vector", Contents, &[VECTOR, COPIES_COLLECTION, CAPACITY, CLONE]).locked(VECTOR_LOCK),
    table("java/util", "Stack", Contents, &[STACK]),
    table(
        "java/util",
        "Dictionary",
        Contents,
        &[&[
            reads("get(Object)").key(0),
            reads("size isEmpty"),
            writes("put(Object,Object)").key(0).gives(FromState),
            removes("remove(Object)").key(0),
            cursor("keys elements"),
        ]],
    ),
    table("java/util", "Hashtable", Contents, &[MAP, HASHTABLE, COPIES_MAP, CLONE]).locked(MONITOR),
    table("java/util", "Properties", Contents, &[PROPERTIES]),
    // Made by `Collections.synchronizedX`.
    table("java/util", "Collections$SynchronizedCollection Collections$SynchronizedMap", Contents, &[]).locked(MONITOR),
];

/// Whether a method of a list by this name leaves every position that there was: it adds, or puts something else there.
pub fn only_adds(method: &str) -> bool {
    ["add", "append", "insert", "offer", "push", "put", "set", "replaceAll", "sort", "ensureCapacity"]
        .iter()
        .any(|name| method.starts_with(name))
        && method != "setSize"
        && method != "setLength"
}
