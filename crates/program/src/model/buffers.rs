//! Buffers of characters and bytes, and what is made of them.

use super::call::State::{Chars, Contents};
use super::line::Gives::{Fresh, FromState, Receiver, Unrelated};
use super::line::{
    Line, MONITOR, OWN, Table, computes, cursor, does, function, makes, part, reads, table, updates, writes,
};

/// `StringBuilder` and `StringBuffer`.
const BUILDER: &[Line] = &[
    reads("length capacity isEmpty"),
    reads("charAt(int)").key(0),
    reads("codePointAt codePointBefore codePointCount offsetByCodePoints"),
    reads("indexOf lastIndexOf"),
    reads("compareTo").reading(0),
    reads("substring subSequence toString").gives(Fresh),
    reads("getChars").gives(Unrelated),
    writes("append").gives(Receiver),
    // The argument's length is asked for first, its characters later.
    writes("append(StringBuffer) append(CharSequence) append(CharSequence,int,int)").reading(0).gives(Receiver),
    writes("appendCodePoint delete deleteCharAt replace").gives(Receiver),
    writes("insert").gives(Receiver),
    writes("insert(int,CharSequence) insert(int,CharSequence,int,int)").reading(1).gives(Receiver),
    updates("reverse").gives(Receiver),
    writes("setLength ensureCapacity trimToSize"),
    writes("setCharAt(int,char)").key(0),
    writes("repeat").gives(Receiver).since(21),
    cursor("chars codePoints"),
    makes("<init>(CharSequence)").reading(0),
];

const CHAR_SEQUENCE: &[Line] = &[
    reads("length isEmpty"),
    reads("charAt(int)").key(0),
    reads("subSequence toString").gives(Fresh),
    cursor("chars codePoints"),
    function("compare(CharSequence,CharSequence)").reading(0).reading(1).gives(FromState),
];

/// A string's own characters never change, those of other sequences may.
const STRING: &[Line] = &[
    makes("<init>(StringBuffer) <init>(StringBuilder)").reading(0),
    computes("contentEquals contains(CharSequence)").reading(0),
    computes("length isEmpty charAt subSequence toString chars codePoints"),
    makes("join").reading(1),
];

const BYTES: &[Line] = &[
    writes("write writeBytes"),
    writes("reset"),
    reads("size"),
    reads("toByteArray toString").gives(Fresh),
    reads("writeTo(OutputStream)").gives(Unrelated),
    does("close"),
];

const CHAR_WRITER: &[Line] =
    &[writes("write"), writes("append").gives(Receiver), reads("toString").gives(Fresh), does("flush close")];

/// A position that reading moves on.
const READER: &[Line] = &[updates("read skip mark reset").gives(FromState), does("close markSupported")];

/// Position, limit and bytes are one state. The numbered ones leave the position alone.
const NIO: &[Line] = &[
    reads("position() limit() remaining hasRemaining"),
    writes("position(int) limit(int) mark reset clear flip rewind").gives(Receiver),
    computes("capacity isReadOnly hasArray isDirect"),
    part("slice duplicate"),
];

const BYTE_BUFFER: &[Line] = &[
    updates("get() getChar() getShort() getInt() getLong() getFloat() getDouble()"),
    reads("get(int) getChar(int) getShort(int) getInt(int) getLong(int) getFloat(int) getDouble(int)").key(0),
    updates("get(byte[]) get(byte[],int,int)").gives(Receiver),
    writes("put putChar putShort putInt putLong putFloat putDouble").gives(Receiver),
    writes("compact").gives(Receiver),
    makes("allocate allocateDirect wrap"),
];

pub(crate) const TABLES: &[Table] = &[
    table("java/lang", "StringBuilder", Chars, &[BUILDER]),
    table("java/lang", "StringBuffer", Chars, &[BUILDER]).locked(MONITOR),
    table("java/lang", "CharSequence", Chars, &[CHAR_SEQUENCE]),
    table("java/lang", "String", Chars, &[STRING]),
    table("java/io", "ByteArrayOutputStream", Contents, &[BYTES]).locked(MONITOR),
    table("java/io", "ByteArrayInputStream", Contents, &[READER, &[reads("available")]]).locked(MONITOR),
    table("java/io", "StringWriter", Chars, &[CHAR_WRITER, &[part("getBuffer")]]).locked(OWN),
    table(
        "java/io",
        "CharArrayWriter",
        Chars,
        &[CHAR_WRITER, &[writes("reset"), reads("size"), reads("toCharArray").gives(Fresh)]],
    )
    .locked(MONITOR),
    table("java/nio", "Buffer", Contents, &[NIO]),
    table("java/nio", "ByteBuffer", Contents, &[BYTE_BUFFER]),
];
