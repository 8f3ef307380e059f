//! Records: one event each, as the Java runtime writes them (`runtime/java/lang/Fissure.java` has the same numbers).
//!
//! The first number has the operation (6 bits), whether the thread's next segment begins with it (1 bit), a field or
//! class (24 bits from bit 8) and the site (32 bits from bit 32).

pub(crate) const FIELD: u8 = 1;
/// A write of a field that found no other thread's word.
pub(crate) const FIELD_WRITE: u8 = FIELD + 3;
pub(crate) const ELEMENT: u8 = 7;
pub(crate) const CONTENTS: u8 = 13;
pub(crate) const LAST_ACCESS: u8 = 18;
pub(crate) const ACQUIRE: u8 = 20;
pub(crate) const RELEASE: u8 = 24;
pub(crate) const VOLATILE: u8 = 28;
pub(crate) const ATOMIC: u8 = 31;
pub(crate) const MODELLED: u8 = 34;
pub(crate) const LAST_SYNC: u8 = 36;
pub(crate) const THREAD_BEGIN: u8 = 40;
pub(crate) const THREAD_END: u8 = 41;
pub(crate) const START: u8 = 42;
pub(crate) const JOIN: u8 = 43;
/// An arrival without a number, in recordings of the first two versions.
pub(crate) const ARRIVE_UNNUMBERED: u8 = 44;
pub(crate) const LEAVE: u8 = 45;
pub(crate) const UNIT_BEGIN: u8 = 46;
pub(crate) const UNIT_END: u8 = 47;
pub(crate) const ENTER: u8 = 48;
pub(crate) const EXIT: u8 = 49;
pub(crate) const SEGMENT: u8 = 50;
pub(crate) const LOST: u8 = 51;
pub(crate) const WRITER: u8 = 52;
pub(crate) const NEW: u8 = 53;
pub(crate) const RELEASE_LAST: u8 = 54;
pub(crate) const ARRIVE: u8 = 55;
/// An arm of a branch that ran.
pub(crate) const ARM: u8 = 56;
/// An arm that did not.
pub(crate) const ARM_SPECULATED: u8 = 57;
pub(crate) const ARM_END: u8 = 58;
/// Locks in an arm that did not run: they have no turns.
pub(crate) const SPECULATED_ACQUIRE: u8 = 59;
pub(crate) const SPECULATED_ACQUIRE_SHARED: u8 = 60;
pub(crate) const SPECULATED_RELEASE: u8 = 61;
pub(crate) const SPECULATED_RELEASE_SHARED: u8 = 62;
pub(crate) const END_OF_CHUNK: u8 = 63;

/// A record, apart.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) operation: u8,
    pub(crate) begins_segment: bool,
    pub(crate) extra: u32,
    pub(crate) site: u32,
    pub(crate) numbers: &'a [u64],
}

/// How many numbers a record of this operation has, the first included. `None` if there is no such operation.
#[inline]
pub(crate) const fn length(operation: u8) -> Option<usize> {
    Some(match operation {
        // Object, then the replaced word, then the reads since.
        FIELD..ELEMENT => 2 + ((operation - FIELD) % 3) as usize,
        // An element has its index, too.
        ELEMENT..CONTENTS => 3 + ((operation - ELEMENT) % 3) as usize,
        CONTENTS..=LAST_ACCESS => 2 + ((operation - CONTENTS) % 3) as usize,
        ACQUIRE..VOLATILE => 3,
        VOLATILE..=LAST_SYNC => 4,
        THREAD_BEGIN | START | JOIN | UNIT_END | ENTER | EXIT | SEGMENT | LOST | WRITER | NEW => 2,
        ARM..=SPECULATED_RELEASE_SHARED => 2,
        THREAD_END | RELEASE_LAST | END_OF_CHUNK => 1,
        ARRIVE_UNNUMBERED | UNIT_BEGIN => 3,
        ARRIVE | LEAVE => 4,
        _ => return None,
    })
}

#[inline]
pub(crate) fn operation(head: u64) -> u8 {
    (head & 0x3f) as u8
}

impl<'a> Record<'a> {
    #[inline]
    pub(crate) fn new(numbers: &'a [u64]) -> Record<'a> {
        let head = numbers[0];
        Record {
            operation: operation(head),
            begins_segment: head & 0x40 != 0,
            extra: (head >> 8 & 0xff_ffff) as u32,
            site: (head >> 32) as u32,
            numbers: &numbers[1..],
        }
    }
}

/// A word that an access replaced.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) thread: u32,
    pub(crate) segment: u64,
    pub(crate) reads: u8,
    pub(crate) writes: u8,
}

impl Word {
    pub(crate) fn new(word: u64) -> Word {
        Word {
            thread: (word >> 42) as u32,
            segment: word >> 4 & ((1 << 38) - 1),
            reads: (word >> 2 & 3) as u8,
            writes: (word & 3) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: &str = include_str!("../../../runtime/java/lang/Fissure.java");

    #[test]
    fn operations_are_those_of_the_runtime() {
        for (name, operation) in [
            ("FIELD", FIELD),
            ("ELEMENT", ELEMENT),
            ("CONTENTS", CONTENTS),
            ("ACQUIRE", ACQUIRE),
            ("RELEASE", RELEASE),
            ("VOLATILE", VOLATILE),
            ("ATOMIC", ATOMIC),
            ("MODELLED", MODELLED),
            ("THREAD_BEGIN", THREAD_BEGIN),
            ("THREAD_END", THREAD_END),
            ("START", START),
            ("JOIN", JOIN),
            ("ARRIVE", ARRIVE),
            ("LEAVE", LEAVE),
            ("UNIT_BEGIN", UNIT_BEGIN),
            ("UNIT_END", UNIT_END),
            ("ENTER", ENTER),
            ("EXIT", EXIT),
            ("SEGMENT", SEGMENT),
            ("LOST", LOST),
            ("WRITER", WRITER),
            ("NEW", NEW),
            ("RELEASE_LAST", RELEASE_LAST),
            ("ARM", ARM),
            ("ARM_SPECULATED", ARM_SPECULATED),
            ("ARM_END", ARM_END),
            ("SPECULATED_ACQUIRE", SPECULATED_ACQUIRE),
            ("SPECULATED_ACQUIRE_SHARED", SPECULATED_ACQUIRE_SHARED),
            ("SPECULATED_RELEASE", SPECULATED_RELEASE),
            ("SPECULATED_RELEASE_SHARED", SPECULATED_RELEASE_SHARED),
            ("END_OF_CHUNK", END_OF_CHUNK),
        ] {
            assert!(JAVA.contains(&format!("static final int {name} = {operation};")), "{name}");
            assert!(length(operation).is_some());
        }
    }
}
