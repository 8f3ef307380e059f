//! Helpers that make and change containers and arrays: `Collections`, `Arrays`, `List.of` and their like, streams.

use super::call::Product::{Immutable, ParallelStream, SequentialStream, Synchronized, Unmodifiable};
use super::call::State::{Contents, Elements};
use super::call::Target;
use super::line::Gives::{self, Fresh, FromState, Unrelated};
use super::line::{Line, Table, computes, cursor, does, function, makes, reads, table};

const COLLECTIONS: &[Line] = &[
    makes("synchronizedCollection synchronizedList synchronizedSet synchronizedMap").product(Synchronized),
    makes("synchronizedSortedSet synchronizedNavigableSet").product(Synchronized),
    makes("synchronizedSortedMap synchronizedNavigableMap").product(Synchronized),
    makes("unmodifiableCollection unmodifiableList unmodifiableSet unmodifiableMap").product(Unmodifiable),
    makes("unmodifiableSortedSet unmodifiableNavigableSet").product(Unmodifiable),
    makes("unmodifiableSortedMap unmodifiableNavigableMap").product(Unmodifiable),
    makes("unmodifiableSequencedCollection unmodifiableSequencedSet unmodifiableSequencedMap")
        .product(Unmodifiable)
        .since(21),
    makes("emptyList emptySet emptyMap emptySortedSet emptyNavigableSet emptySortedMap emptyNavigableMap")
        .product(Immutable),
    makes("emptyIterator emptyListIterator emptyEnumeration singleton singletonList singletonMap nCopies")
        .product(Immutable),
    function("checkedCollection checkedList checkedSet checkedMap checkedQueue").gives(Gives::Argument(0)),
    function("newSetFromMap asLifoQueue").gives(Gives::Argument(0)),
    function("enumeration").gives(Gives::Argument(0)),
    makes("list").reading(0),
    function("binarySearch max min frequency indexOfSubList lastIndexOfSubList").reading(0).gives(FromState),
    function("disjoint").reading(0).reading(1).gives(FromState),
    function("sort shuffle reverse rotate swap").reading(0).writing(0),
    function("replaceAll").reading(0).writing(0).gives(FromState),
    function("fill addAll").writing(0),
    function("copy").writing(0).reading(1),
    computes("reverseOrder"),
];

const ARRAYS: &[Line] = &[
    function("asList").gives(Gives::Argument(0)),
    function("fill").writing(0),
    function("setAll").writing(0).runs(1),
    function("parallelSetAll parallelPrefix").reading(0).writing(0),
    function("sort parallelSort").reading(0).writing(0),
    function("binarySearch hashCode deepHashCode").reading(0).gives(FromState),
    function("equals deepEquals mismatch compare").reading(0).reading(1).gives(FromState),
    makes("copyOf copyOfRange toString deepToString").reading(0),
    function("stream spliterator").gives(Gives::Argument(0)),
];

const SYSTEM: &[Line] = &[function("arraycopy(Object,int,Object,int,int)").reading(0).writing(2)];

/// Of `List`, `Set` and `Map`.
pub(crate) const OF: &[Line] = &[makes("of").product(Immutable), makes("copyOf").reading(0).product(Immutable)];
pub(crate) const OF_MAP: &[Line] = &[makes("ofEntries entry").product(Immutable)];

/// Operations between the source and the end. Their functions run while the end runs, which is soon.
const STREAM: &[Line] = &[
    cursor("filter map flatMap peek takeWhile dropWhile").runs(0),
    cursor("distinct sorted() limit skip unordered onClose iterator spliterator"),
    reads("forEach forEachOrdered").gives(Unrelated).each().runs(0),
    reads("toArray()").gives(Fresh).each(),
    reads("collect").gives(Fresh).each().runs(0).runs(1).runs(2),
    reads("anyMatch allMatch noneMatch").each().runs(0),
    reads("count findFirst findAny min max").each(),
    cursor("sequential").product(SequentialStream),
    cursor("parallel").product(ParallelStream),
    does("close isParallel"),
];

const OBJECT_STREAM: &[Line] = &[
    cursor("mapToInt mapToLong mapToDouble sorted(Comparator) flatMapToInt flatMapToLong flatMapToDouble mapMulti")
        .runs(0),
    cursor("gather").since(24),
    reads("collect(Collector) toList").gives(Fresh).each(),
    reads("toArray(IntFunction)").gives(Fresh).each().runs(0),
    reads("reduce(Object,BinaryOperator)").each().runs(1),
    reads("reduce(BinaryOperator)").each().runs(0),
    reads("reduce(Object,BiFunction,BinaryOperator)").each().runs(1).runs(2),
    makes("of ofNullable empty iterate generate concat builder"),
];

const NUMBER_STREAM: &[Line] = &[
    cursor("mapToObj").runs(0),
    reads("reduce").each().runs(1),
    cursor("boxed"),
    reads("sum average summaryStatistics").each(),
    makes("of empty iterate generate concat builder"),
];

pub(crate) const TABLES: &[Table] = &[
    table("java/util", "Collections", Contents, &[COLLECTIONS]),
    table("java/util", "Arrays", Elements, &[ARRAYS]),
    table("java/lang", "System", Elements, &[SYSTEM]),
    table(
        "java/util/stream",
        "BaseStream",
        Contents,
        &[&[
            cursor("iterator spliterator unordered onClose"),
            cursor("sequential").product(SequentialStream),
            cursor("parallel").product(ParallelStream),
            does("close isParallel"),
        ]],
    )
    .of(Target::Viewed),
    table("java/util/stream", "Stream", Contents, &[OBJECT_STREAM, STREAM]).of(Target::Viewed),
    table(
        "java/util/stream",
        "IntStream",
        Contents,
        &[
            NUMBER_STREAM,
            STREAM,
            &[
                reads("reduce(IntBinaryOperator)").each().runs(0),
                cursor("mapToLong mapToDouble").runs(0),
                cursor("asLongStream asDoubleStream"),
                makes("range rangeClosed"),
            ],
        ],
    )
    .of(Target::Viewed),
    table(
        "java/util/stream",
        "LongStream",
        Contents,
        &[
            NUMBER_STREAM,
            STREAM,
            &[
                reads("reduce(LongBinaryOperator)").each().runs(0),
                cursor("mapToInt mapToDouble").runs(0),
                cursor("asDoubleStream"),
                makes("range rangeClosed"),
            ],
        ],
    )
    .of(Target::Viewed),
    table(
        "java/util/stream",
        "DoubleStream",
        Contents,
        &[
            NUMBER_STREAM,
            STREAM,
            &[reads("reduce(DoubleBinaryOperator)").each().runs(0), cursor("mapToInt mapToLong").runs(0)],
        ],
    )
    .of(Target::Viewed),
    table("java/util/stream", "StreamSupport", Contents, &[&[function("stream").gives(Gives::Argument(0))]]),
];
