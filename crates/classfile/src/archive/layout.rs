//! Which of an archive's classes a JVM would load: versions of a multi-release jar, and entries of the same name.

use rustc_hash::FxHashMap;

use super::zip::Entry;

/// Prefixes below which a class path starts in archives of these kinds. Only the place of `META-INF/versions` depends on
/// them: classes anywhere else in the archive are read as well.
const ROOTS: [&[u8]; 2] = [b"BOOT-INF/classes/", b"WEB-INF/classes/"];
const JMOD_ROOT: &[u8] = b"classes/";
const VERSIONS: &[u8] = b"META-INF/versions/";
const FIRST_VERSION: u16 = 9;

/// Where the classes of an archive start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    Jar,
    Jmod,
}

/// Whether any class lies where a multi-release jar keeps its versions; only then does the manifest matter.
pub(super) fn has_versions(entries: &[Entry], layout: Layout) -> bool {
    entries.iter().any(|entry| split(&entry.name, layout).is_some_and(|name| name.version.is_some()))
}

/// The entries that a JVM of the given release would load, in their order.
///
/// Of two entries with one name the later wins, as in `java.util.zip.ZipFile`, whose table finds the one added last; the
/// earlier can never be loaded and is not worth a message. `release` is `None` if the archive is not multi-release; then
/// what lies below `META-INF/versions` is never loaded either.
pub(super) fn select(entries: Vec<Entry>, layout: Layout, release: Option<u16>) -> Vec<Entry> {
    let mut best: FxHashMap<_, (u16, usize)> = FxHashMap::default();
    best.reserve(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let Some(name) = split(&entry.name, layout) else { continue };
        let version = name.version.unwrap_or(0);
        if version > release.unwrap_or(0) {
            continue;
        }
        let chosen = best.entry((name.root, name.class)).or_insert((version, index));
        if version >= chosen.0 {
            *chosen = (version, index);
        }
    }
    let mut keep = vec![false; entries.len()];
    #[expect(clippy::iter_over_hash_type, reason = "sets flags, whose order does not depend on the map's")]
    for &(_, index) in best.values() {
        keep[index] = true;
    }
    drop(best);
    entries.into_iter().zip(keep).filter_map(|(entry, keep)| keep.then_some(entry)).collect()
}

/// The name of a class file from where its class path starts, as `a/B.class`.
pub(super) fn below_root(name: &[u8], layout: Layout) -> Option<&[u8]> {
    split(name, layout).map(|name| name.class)
}

struct Name<'a> {
    root: &'a [u8],
    version: Option<u16>,
    /// The name below root and version.
    class: &'a [u8],
}

/// `None` for a directory below `META-INF/versions` that names no version, which no JVM looks into.
fn split(name: &[u8], layout: Layout) -> Option<Name<'_>> {
    let roots: &[&[u8]] = if layout == Layout::Jmod { &[JMOD_ROOT] } else { &ROOTS };
    let root = roots.iter().find(|root| name.starts_with(root)).map_or(0, |root| root.len());
    let (root, class) = name.split_at(root);
    let Some(rest) = class.strip_prefix(VERSIONS) else { return Some(Name { root, version: None, class }) };
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let version = std::str::from_utf8(&rest[..slash]).ok()?.parse().ok()?;
    (version >= FIRST_VERSION).then_some(Name { root, version: Some(version), class: &rest[slash + 1..] })
}

/// Whether the main section of a manifest says `Multi-Release: true`.
pub(super) fn is_multi_release(manifest: &[u8]) -> bool {
    attribute(manifest, "Multi-Release").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// What the main section of a manifest says under a name.
pub(super) fn attribute(manifest: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(manifest);
    // A line that starts with a space continues the one before.
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace("\n ", "");
    let main = text.lines().take_while(|line| !line.is_empty());
    main.filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests() {
        assert!(is_multi_release(b"Manifest-Version: 1.0\r\nmulti-release:  TRUE \r\n\r\n"));
        assert!(is_multi_release(b"Manifest-Version: 1.0\nMulti-Rel\n ease: true\n"));
        assert!(!is_multi_release(b"Manifest-Version: 1.0\n\nName: a\nMulti-Release: true\n"));
        assert!(!is_multi_release(b"Multi-Release: false\n"));
        assert!(!is_multi_release(b"\xff\xfe"));
        let manifest =
            b"Manifest-Version: 1.0\r\nClass-Path: lib/a.jar li\r\n b/b.jar\r\n\r\nName: x\r\nMain-Class: y\r\n";
        assert_eq!(attribute(manifest, "class-path").as_deref(), Some("lib/a.jar lib/b.jar"));
        assert_eq!(attribute(manifest, "Main-Class"), None);
    }

    fn selected(names: &[&str], layout: Layout, release: Option<u16>) -> Vec<(String, u64)> {
        let entries = names.iter().zip(0..).map(|(name, offset)| Entry {
            name: name.as_bytes().into(),
            offset,
            packed: 0,
            size: 0,
            checksum: 0,
            method: rawzip::CompressionMethod::STORE,
            is_encrypted: false,
        });
        select(entries.collect(), layout, release)
            .into_iter()
            .map(|entry| (String::from_utf8_lossy(&entry.name).into_owned(), entry.offset))
            .collect()
    }

    #[test]
    fn the_newest_version_up_to_the_release_is_chosen() {
        let names = [
            "META-INF/versions/9/a/B.class",
            "a/B.class",
            "META-INF/versions/21/a/B.class",
            "META-INF/versions/17/a/B.class",
            "META-INF/versions/11/a/OnlyNew.class",
            "META-INF/versions/8/a/B.class",
            "META-INF/versions/x/a/B.class",
        ];
        let at = |release| selected(&names, Layout::Jar, release).into_iter().map(|(_, i)| i).collect::<Vec<_>>();
        assert_eq!(at(None), [1]);
        assert_eq!(at(Some(8)), [1]);
        assert_eq!(at(Some(9)), [0]);
        assert_eq!(at(Some(20)), [3, 4]);
        assert_eq!(at(Some(25)), [2, 4]);
    }

    #[test]
    fn versions_are_found_below_the_root_of_a_class_path() {
        let boot = ["BOOT-INF/classes/a/B.class", "BOOT-INF/classes/META-INF/versions/9/a/B.class", "a/B.class"];
        assert_eq!(selected(&boot, Layout::Jar, Some(9)).len(), 2);
        let jmod = ["classes/a/B.class", "classes/META-INF/versions/9/a/B.class"];
        assert_eq!(selected(&jmod, Layout::Jmod, None), [("classes/a/B.class".into(), 0)]);
    }

    #[test]
    fn of_two_entries_with_one_name_the_later_wins() {
        let both = selected(&["A.class", "B.class", "A.class"], Layout::Jar, None);
        assert_eq!(both, [("B.class".into(), 1), ("A.class".into(), 2)]);
    }
}
