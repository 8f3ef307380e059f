//! Untrusted text made harmless for a terminal or a log.

use unicode_width::UnicodeWidthChar;

/// Longer lines are cut: a class file can hold names of 65,535 bytes.
const LONGEST: usize = 400;

/// One line without control characters, terminal escapes or marks that change the direction of text, at most 400
/// characters long.
pub fn one_line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len().min(LONGEST));
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            safe.push('…');
            break;
        }
        if is_harmless(character) { safe.push(character) } else { safe.extend(character.escape_unicode()) }
    }
    safe
}

/// Columns that a harmless text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// Characters that are seen as themselves and move nothing else.
fn is_harmless(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_and_line_breaks_become_text() {
        assert_eq!(one_line("a\u{1b}[2Jb\r\n::stop::\u{0}\u{9b}c\u{7f}"), {
            r"a\u{1b}[2Jb\u{d}\u{a}::stop::\u{0}\u{9b}c\u{7f}"
        });
    }

    #[test]
    fn marks_of_direction_and_invisible_characters_become_text() {
        for character in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{2028}', '\u{61c}', '\u{e0041}'] {
            let safe = one_line(&format!("a{character}b"));
            assert_eq!(safe, format!("a\\u{{{:x}}}b", u32::from(character)));
        }
    }

    #[test]
    fn ordinary_text_of_any_language_stays() {
        for text in ["Konto.überweisen", "口座.振込", "счёт", "a <b> & \"c\" 'd' `e`"] {
            assert_eq!(one_line(text), text);
        }
    }

    #[test]
    fn a_name_of_65535_bytes_is_cut() {
        let safe = one_line(&"x".repeat(65_535));
        assert_eq!(safe.chars().count(), LONGEST + 1);
        assert!(safe.ends_with('…'));
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("口座"), 4);
        assert_eq!(width("ab"), 2);
    }
}
