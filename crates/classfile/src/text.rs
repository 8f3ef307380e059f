//! Text out of the constant pool.

use std::borrow::Cow;

use noak::MStr;

/// The text of a constant. Class files hold "modified UTF-8", which is UTF-8 for nearly all names; what is not becomes
/// readable without two different names becoming one.
pub(crate) fn text(content: &MStr) -> Cow<'_, str> {
    match std::str::from_utf8(content.as_bytes()) {
        Ok(plain) => Cow::Borrowed(plain),
        Err(_) => {
            let mut readable = String::new();
            for character in content.chars() {
                match character {
                    Ok(character) => readable.push(character),
                    Err(surrogate) => readable.push_str(&format!("\\u{surrogate:04x}")),
                }
            }
            Cow::Owned(readable)
        }
    }
}

/// The text of bytes in modified UTF-8, as [`edit`](crate::edit) hands them out; damaged bytes give replacement characters.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match MStr::from_mutf8(bytes) {
        Ok(content) => text(content),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}
