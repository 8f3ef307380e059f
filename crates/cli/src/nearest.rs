//! The name that was probably meant.

/// The known name nearest to what was written, if one is near enough.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let known = ["lock-pattern", "stale-values", "reduction"];
        assert_eq!(nearest("lock-patern", known), Some("lock-pattern"));
        assert_eq!(nearest("Stale", known), Some("stale-values"));
        assert_eq!(nearest("zzz", known), None);
    }
}
