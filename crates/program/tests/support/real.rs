//! Real classes: those of the installed JDK, and archives that a long test is pointed to.

use std::path::{Path, PathBuf};

use classfile::ClassSource;
use classfile::archive::{ArchiveReader, Contents, Kind};

/// Set for tests that take minutes.
pub(crate) fn is_long() -> bool {
    std::env::var_os("FISSURE_LONG").is_some()
}

/// All classes of the JDK that fixtures are compiled with.
pub(crate) fn jdk() -> Vec<ClassSource> {
    let jdk = fixture::test_jdk().expect("these tests need a JDK");
    let contents = read(&jdk.home.join("lib/modules"));
    assert!(contents.sources.len() > 10_000, "a JDK has more classes than {}", contents.sources.len());
    contents.sources
}

/// The classes of the module that all others stand on.
pub(crate) fn java_base() -> Vec<ClassSource> {
    jdk().into_iter().filter(|source| source.path.contains("java.base/")).collect()
}

/// The archives of the folder that `FISSURE_JARS` names.
pub(crate) fn archives() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("FISSURE_JARS") else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).expect("FISSURE_JARS names a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    let is_archive = |path: &PathBuf| {
        path.extension().is_some_and(|extension| ["jar", "war", "ear", "jmod"].iter().any(|known| extension == *known))
    };
    paths.retain(is_archive);
    paths.sort();
    assert!(!paths.is_empty(), "FISSURE_JARS: no archives in {}", Path::new(&folder).display());
    paths
}

pub(crate) fn read(path: &Path) -> Contents {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut contents = Contents::default();
    if let Some(kind) = Kind::of(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
        ArchiveReader::default().read(&path.display().to_string(), kind, &bytes, &mut contents);
    }
    contents
}
