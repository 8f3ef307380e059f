//! Text out of the constant pool.

use std::borrow::Cow;

/// The text of a constant. Class files hold "modified UTF-8", which is UTF-8 for nearly all names; what is not becomes
/// readable without two different names becoming one.
pub(crate) fn text(content: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(content) {
        Ok(plain) => Cow::Borrowed(plain),
        Err(_) => readable(content).map_or_else(|| String::from_utf8_lossy(content), Cow::Owned),
    }
}

/// The text of bytes in modified UTF-8, as [`edit`](crate::edit) hands them out; damaged bytes give replacement characters.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    text(bytes)
}

/// Whether these bytes are modified UTF-8: no byte is zero, and nothing takes more than three bytes.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    is_plain(bytes) || units(bytes).all(|unit| unit.is_some())
}

/// Whether all bytes are ASCII, and none is zero. Names are short: eight bytes at a time beat a loop over each.
fn is_plain(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const LOW: u64 = 0x0101_0101_0101_0101;
    // Of bytes below 0x80, only zero gets its highest bit by taking one away; a borrow comes from a zero alone.
    let is_plain = |word: [u8; 8]| {
        let word = u64::from_ne_bytes(word);
        (word | word.wrapping_sub(LOW)) & HIGH == 0
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|word| is_plain(*word))
        && match bytes.last_chunk::<8>() {
            Some(last) => is_plain(*last),
            None => rest.iter().all(|byte| (1..0x80).contains(byte)),
        }
}

/// The text of modified UTF-8 that is no UTF-8; none if it is damaged. Halves of a pair that stand alone are shown as
/// their numbers.
fn readable(bytes: &[u8]) -> Option<String> {
    let units = units(bytes).collect::<Option<Vec<u16>>>()?;
    let mut readable = String::with_capacity(bytes.len());
    for character in char::decode_utf16(units) {
        match character {
            Ok(character) => readable.push(character),
            Err(half) => readable.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    Some(readable)
}

/// The UTF-16 units of modified UTF-8; the last is none if the bytes are damaged there.
fn units(bytes: &[u8]) -> impl Iterator<Item = Option<u16>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let unit = unit(rest);
        rest = unit.map_or(&[], |(_, length)| &rest[length..]);
        Some(unit.map(|(unit, _)| unit))
    })
}

/// The first unit, and how many bytes it takes. Zero takes two, everything else as few as it can.
fn unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let follower = |at: usize| bytes.get(at).filter(|byte| **byte & 0xc0 == 0x80).map(|byte| u16::from(byte & 0x3f));
    match *bytes.first()? {
        first @ 0x01..=0x7f => Some((first.into(), 1)),
        first @ 0xc0..=0xdf => {
            let unit = u16::from(first & 0x1f) << 6 | follower(1)?;
            (unit == 0 || unit >= 0x80).then_some((unit, 2))
        }
        first @ 0xe0..=0xef => {
            let unit = u16::from(first & 0x0f) << 12 | follower(1)? << 6 | follower(2)?;
            (unit >= 0x800).then_some((unit, 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8() {
        assert!(is_text(b"") && is_text("java/lang/Éa€".as_bytes()));
        for at in 0..20 {
            let mut plain = *b"java/lang/Comparable";
            assert!(is_text(&plain[at..]) && is_text(&plain[..at]));
            plain[at] = 0;
            assert!(!is_text(&plain) && !is_text(&plain[at..]) && !is_text(&plain[..=at]));
            plain[at] = 0xff;
            assert!(!is_text(&plain));
        }
        // Zero, and a character beyond the first plane as a pair.
        assert_eq!(text(&[b'a', 0xc0, 0x80]), "a\0");
        assert_eq!(text(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "\u{1f600}");
        assert_eq!(text(&[b'x', 0xed, 0xa0, 0xbd]), "x\\ud83d");
        let damaged: [&[u8]; 6] =
            [b"a\0", &[0xc1, 0x80], &[0xc3], &[0xe0, 0x80, 0x80], "\u{1f600}".as_bytes(), &[0xff]];
        assert!(damaged.iter().all(|bytes| !is_text(bytes)));
    }
}
