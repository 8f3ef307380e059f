//! The files of the repository.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// All files by their path from the top, tracked or about to be; those that are no text as if they were empty.
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    pub(crate) fn read() -> Result<Tree> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let paths = process::output(Command::new("git").args(list))?;
        let mut files = BTreeMap::new();
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            // Deleted files are still listed. What is no text holds nothing to check, but it is there.
            if let Ok(bytes) = std::fs::read(process::top().join(path)) {
                files.insert(path.to_owned(), String::from_utf8(bytes).unwrap_or_default());
            }
        }
        Ok(Tree { files })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether it is a file or a folder with files.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }
}
