//! Single objects whose methods change them and that are often shared by mistake: dates, formats, digests, matchers.

use super::call::State::Value;
use super::line::Gives::{Fresh, Receiver, Unrelated};
use super::line::{Line, Table, makes, reads, table, updates, writes};

const DATE: &[Line] = &[
    reads("getTime before after compareTo equals hashCode toInstant"),
    reads("toString clone").gives(Fresh),
    writes("setTime"),
];

/// Most of what reads a calendar also brings its fields up to date, which is a write that nobody expects.
const CALENDAR: &[Line] = &[
    updates("get getTimeInMillis getActualMaximum getActualMinimum"),
    updates("getTime").gives(Fresh),
    updates("add roll").gives(Unrelated),
    reads("before after compareTo isSet"),
    reads("clone").gives(Fresh),
    writes("set setTime setTimeInMillis clear setTimeZone setLenient"),
    makes("getInstance"),
];

/// They work in fields of their own, a calendar among them.
const FORMAT: &[Line] = &[updates("format").gives(Fresh), updates("parseObject").gives(Fresh)];

const PARSE: &[Line] = &[updates("parse").gives(Fresh)];

const MATCHER: &[Line] = &[
    updates("find matches lookingAt"),
    reads("group start end groupCount hitEnd requireEnd regionStart regionEnd"),
    writes("reset region usePattern").gives(Receiver),
    updates("replaceAll replaceFirst").gives(Fresh),
    reads("toMatchResult").gives(Fresh),
];

const DIGEST: &[Line] =
    &[updates("update reset").gives(Unrelated), updates("digest").gives(Fresh), makes("getInstance isEqual")];

const CHECKSUM: &[Line] = &[updates("update").gives(Unrelated), reads("getValue"), writes("reset")];

pub(crate) const TABLES: &[Table] = &[
    table("java/util", "Date", Value, &[DATE]),
    table("java/util", "Calendar", Value, &[CALENDAR]),
    table("java/text", "Format", Value, &[FORMAT]),
    table("java/text", "DateFormat NumberFormat MessageFormat", Value, &[PARSE]),
    table("java/util/regex", "Matcher", Value, &[MATCHER]),
    table("java/security", "MessageDigest", Value, &[DIGEST]),
    table("java/util/zip", "Checksum", Value, &[CHECKSUM]),
];
