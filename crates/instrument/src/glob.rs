//! Patterns for names of classes: `com.shop.**`, `org.*.Cache`, `?ain`.

/// A list of patterns. In them `**` stands for any text, `*` for any text without a dot, `?` for one character other than a
/// dot. Dots and slashes are the same. A pattern without any of these means the class and what is nested in it, or the
/// whole package.
#[derive(Clone, Default, Debug)]
pub struct Globs(Vec<String>);

impl Globs {
    pub fn new(patterns: impl IntoIterator<Item = impl Into<String>>) -> Globs {
        Globs(patterns.into_iter().map(|pattern| pattern.into().replace('.', "/")).collect())
    }

    pub fn extend(&mut self, patterns: impl IntoIterator<Item = impl Into<String>>) {
        self.0.extend(Globs::new(patterns).0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pattern matches the binary name of a class.
    pub fn matches(&self, class: &[u8]) -> bool {
        self.0.iter().any(|pattern| {
            let pattern = pattern.as_bytes();
            if pattern.iter().any(|byte| matches!(byte, b'*' | b'?')) {
                return matches(pattern, class);
            }
            class.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || matches!(rest[0], b'/' | b'$'))
        })
    }
}

/// By the usual two pointers: on a mismatch the latest star takes one byte more, and if it may not, the star before.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let Some((&first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        b'*' if rest.first() == Some(&b'*') => (0..=text.len()).any(|skipped| matches(&rest[1..], &text[skipped..])),
        b'*' => {
            let limit = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=limit).any(|skipped| matches(rest, &text[skipped..]))
        }
        b'?' => text.first().is_some_and(|byte| *byte != b'/') && matches(rest, &text[1..]),
        _ => text.first() == Some(&first) && matches(rest, &text[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let one = |pattern: &str, class: &str| Globs::new([pattern]).matches(class.as_bytes());
        assert!(one("com.shop.**", "com/shop/cart/Cart$Item"));
        assert!(one("com.shop", "com/shop/Cart") && one("com.shop.Cart", "com/shop/Cart$Item"));
        assert!(!one("com.shop", "com/shopping/Cart") && !one("com.shop.Cart", "com/shop/Carts"));
        assert!(one("com.*.Cart", "com/shop/Cart") && !one("com.*.Cart", "com/a/b/Cart"));
        assert!(one("**Test", "a/b/CartTest") && !one("*Test", "a/b/CartTest"));
        assert!(one("?ain", "Main") && !one("?ain", "ain") && !one("a?b", "a/b"));
        assert!(!Globs::default().matches(b"Main"));
    }
}
