//! Objects that never change, and functions that touch nothing.

use super::call::State::Value;
use super::line::{Gives, Line, Table, computes, function, makes, table};

/// Values: nothing but what they were made of. Their methods are functions of receiver and arguments, apart from those
/// that a table says more about.
pub(crate) const VALUES: &[(&str, &str)] = &[
    ("java/lang", "String Boolean Byte Character Short Integer Long Float Double"),
    ("java/lang", "StackTraceElement Void"),
    ("java/math", "BigInteger BigDecimal MathContext RoundingMode"),
    ("java/time", "DayOfWeek Duration Instant LocalDate LocalDateTime LocalTime Month MonthDay OffsetDateTime"),
    ("java/time", "OffsetTime Period Year YearMonth ZonedDateTime ZoneId ZoneOffset"),
    ("java/time/format", "DateTimeFormatter DecimalStyle"),
    ("java/time/temporal", "ChronoField ChronoUnit ValueRange WeekFields"),
    ("java/time/zone", "ZoneOffsetTransition ZoneOffsetTransitionRule ZoneRules"),
    ("java/util", "Currency Locale UUID"),
    ("java/util/concurrent", "TimeUnit"),
    ("java/util/regex", "Pattern"),
    ("java/net", "URI"),
    ("java/nio/charset", "Charset"),
];

/// Never change either, but their methods reach further than their operands: they run code or look at the world.
pub(crate) const UNCHANGING: &[(&str, &str)] = &[
    ("java/lang", "Class Enum Module Package"),
    ("java/lang/invoke", "MethodHandle MethodType MethodHandles$Lookup"),
    ("java/lang/reflect", "Constructor Field Method Parameter RecordComponent"),
    ("java/io", "File"),
    ("java/net", "URL InetAddress InetSocketAddress"),
    ("java/nio/file", "Path"),
    ("java/util", "Optional OptionalInt OptionalLong OptionalDouble AbstractMap$SimpleImmutableEntry"),
    ("java/util", "KeyValueHolder ImmutableCollections$AbstractImmutableCollection"),
    ("java/util", "ImmutableCollections$AbstractImmutableMap"),
];

/// Of libraries that a program may bring along; containers, so that what they hold may change.
pub(crate) const OF_LIBRARIES: &[(&str, &str)] = &[
    ("com/google/common/collect", "ImmutableCollection ImmutableMap ImmutableMultimap ImmutableTable Range"),
    ("com/google/common/collect", "ImmutableRangeSet ImmutableRangeMap"),
    ("com/google/common/primitives", "ImmutableIntArray ImmutableLongArray ImmutableDoubleArray"),
    ("com/google/common/base", "Optional Joiner Splitter CharMatcher"),
    ("kotlin", "Pair Triple Unit"),
    ("kotlin/ranges", "IntRange LongRange CharRange IntProgression LongProgression CharProgression"),
    ("kotlin/text", "Regex"),
    ("scala", "Option Some None$ Tuple1 Tuple2 Tuple3 Tuple4 Symbol"),
    ("scala/collection/immutable", "List Vector Map Set Seq Range Queue HashMap HashSet TreeMap TreeSet"),
    ("scala/math", "BigInt BigDecimal"),
    ("org/joda/time", "DateTime Instant LocalDate LocalDateTime LocalTime Duration Period Interval"),
];

const OBJECTS: &[Line] = &[
    function("requireNonNull").gives(Gives::Argument(0)),
    function("requireNonNullElse").gives(Gives::Argument(0)),
    function("requireNonNullElseGet").gives(Gives::Argument(0)).runs(1),
    computes("equals hash hashCode isNull nonNull toString compare deepEquals checkIndex"),
];

const OPTIONAL: &[Line] = &[
    computes("isPresent isEmpty toString hashCode equals"),
    computes("orElse orElseThrow()"),
    computes("orElseGet orElseThrow(Supplier) ifPresent").runs(0),
    computes("ifPresentOrElse").runs(0).runs(1),
    makes("of empty"),
];

const OPTIONAL_OBJECT: &[Line] = &[computes("get"), computes("map flatMap filter or").runs(0), makes("ofNullable")];

pub(crate) const TABLES: &[Table] = &[
    table("java/util", "Objects", Value, &[OBJECTS]),
    table("java/util", "Optional", Value, &[OPTIONAL_OBJECT, OPTIONAL]),
    table("java/util", "OptionalInt", Value, &[OPTIONAL, &[computes("getAsInt")]]),
    table("java/util", "OptionalLong", Value, &[OPTIONAL, &[computes("getAsLong")]]),
    table("java/util", "OptionalDouble", Value, &[OPTIONAL, &[computes("getAsDouble")]]),
    table(
        "java/lang",
        "Math",
        Value,
        &[&[
            computes(
                "abs max min floor ceil round sqrt pow exp log floorMod floorDiv addExact multiplyExact toIntExact",
            ),
            makes("random"),
        ]],
    ),
];
