//! Names of entries: what they say about the content, and how they are shown.

use std::fmt::Write;

/// Endings that make an entry, or a file in a directory, worth opening as an archive.
const ARCHIVES: [&str; 6] = ["jar", "war", "ear", "rar", "jmod", "zip"];

pub fn is_archive_name(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return false };
    ARCHIVES.iter().any(|ending| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes()))
}

pub(super) fn is_class_name(name: &[u8]) -> bool {
    name.ends_with(b".class")
}

/// A name as users see it, on one line and in the order of its bytes: whatever would steer a terminal or turn the text
/// around is escaped. Nothing is ever written under an entry's name, so `..` and absolute names stay as they are.
pub fn shown(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if steers(character) {
                text.extend(character.escape_unicode());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_shown_on_one_line() {
        assert_eq!(shown(b"a/\x1b[2J\nB\0.class"), "a/\\u{1b}[2J\\u{a}B\\u{0}.class");
        assert_eq!(shown("a/\u{202e}B.class".as_bytes()), "a/\\u{202e}B.class");
        assert_eq!(shown(b"a\xff\xfe.class"), "a\\xff\\xfe.class");
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["../x.class", "/etc/x", "C:\\x", "\u{fc}ber/\u{5f15}.class"] {
            assert_eq!(shown(name.as_bytes()), name);
        }
    }

    #[test]
    fn archives_are_told_by_their_ending() {
        assert!(is_archive_name(b"lib/a.jar") && is_archive_name(b"A.WAR") && is_archive_name(b"a.b.jmod"));
        assert!(!is_archive_name(b"jar") && !is_archive_name(b"a.jar/") && !is_archive_name(b"a.jar.original"));
    }
}
