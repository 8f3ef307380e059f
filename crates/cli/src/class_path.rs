//! The class path of a JVM: what it was given, and what the manifests of its jars add.

use std::path::{Path, PathBuf};

use classfile::archive::{Limits, manifest_attribute};

use crate::input::InputFile;

/// The entries that are there, each once, in the order in which a JVM looks into them. What is not there it ignores, too.
pub(crate) fn entries(text: &str, working: &Path) -> Vec<PathBuf> {
    let given = std::env::split_paths(text).filter(|entry| !entry.as_os_str().is_empty());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in given {
        add(working.join(entry), &mut paths);
    }
    paths
}

/// Adds an entry, and after it those that its manifest names.
fn add(path: PathBuf, paths: &mut Vec<PathBuf>) {
    // One after the other, not by recursion: manifests may name each other as deep as they like.
    let mut pending = vec![path];
    while let Some(path) = pending.pop() {
        if !path.exists() || paths.contains(&path) {
            continue;
        }
        let named = if path.is_file() { named_by_manifest(&path) } else { Vec::new() };
        paths.push(path);
        pending.extend(named.into_iter().rev());
    }
}

fn named_by_manifest(jar: &Path) -> Vec<PathBuf> {
    let Ok(file) = InputFile::open(jar) else { return Vec::new() };
    let Some(named) = manifest_attribute(&file, &Limits::default(), "Class-Path") else { return Vec::new() };
    let folder = jar.parent().unwrap_or(Path::new("."));
    named.split_whitespace().filter_map(|url| Some(folder.join(path_of(url)?))).collect()
}

/// The path that a relative or `file:` URL names.
fn path_of(url: &str) -> Option<String> {
    let path = match url.split_once(':') {
        None => url,
        Some(("file", path)) => path.strip_prefix("//").unwrap_or(path),
        Some(_) => return None,
    };
    let mut decoded = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        decoded.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_manifests() {
        assert_eq!(path_of("lib/a.jar").as_deref(), Some("lib/a.jar"));
        assert_eq!(path_of("file:/opt/my%20app/a.jar").as_deref(), Some("/opt/my app/a.jar"));
        assert_eq!(path_of("file:///opt/a.jar").as_deref(), Some("/opt/a.jar"));
        assert_eq!(path_of("100%").as_deref(), Some("100%"));
        assert_eq!(path_of("https://example.org/a.jar"), None);
    }

    #[test]
    fn what_is_missing_is_left_out_and_what_comes_twice_counts_once() {
        let folder = fixture::Folder::new();
        let jar = folder.file("a.jar", "no archive");
        let text = std::env::join_paths([&jar, &jar, &jar.with_file_name("b.jar")]).expect("no separator in it");
        assert_eq!(entries(text.to_str().expect("text"), Path::new("/")), [jar]);
    }
}
