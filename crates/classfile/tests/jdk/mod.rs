//! The installed JDK, as a source of real classes. A machine without one fails the tests that need it.

use std::path::PathBuf;

use classfile::archive::{ArchiveReader, Contents, Kind};

#[allow(dead_code, reason = "every test file uses a part")]
pub(crate) fn home() -> PathBuf {
    let set = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let found = || {
        let path = std::env::var_os("PATH")?;
        let java = std::env::split_paths(&path).map(|directory| directory.join("javac")).find(|file| file.exists())?;
        Some(java.canonicalize().ok()?.parent()?.parent()?.to_owned())
    };
    set.or_else(found).expect("these tests need a JDK: set JAVA_HOME or put javac on the PATH")
}

#[allow(dead_code, reason = "every test file uses a part")]
pub(crate) fn classes() -> Contents {
    let path = home().join("lib/modules");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(Kind::of(&bytes).expect("it can be read"), Some(Kind::Image));
    let mut contents = Contents::default();
    ArchiveReader::default().read("modules", Kind::Image, &bytes, &mut contents);
    contents
}
