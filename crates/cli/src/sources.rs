//! Source files for reports: where they are, and which of them may be read.
//!
//! A class file names its source file, and a class file is untrusted: the name may be a path to a secret, a link out of
//! the source folder or a pipe. Only regular files whose real place is below the source root are read, and no big ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use report::{SourceFile, Sources};

/// Bigger source files are not read.
const LARGEST: u64 = 1 << 20;

/// How far above an input sources are looked for: Gradle has `build/classes/java/main` beside `src`.
const LEVELS: usize = 5;

/// The source folders of one command.
pub(crate) struct SourceRoots {
    roots: Vec<Root>,
    /// What was read or refused, by the path below the roots.
    known: RefCell<BTreeMap<PathBuf, Option<Rc<SourceFile>>>>,
}

struct Root {
    /// As users see it.
    shown: PathBuf,
    /// Absolute and without links.
    real: PathBuf,
}

impl SourceRoots {
    pub(crate) fn given(directories: &[PathBuf]) -> Result<SourceRoots> {
        let mut roots = Vec::new();
        for directory in directories {
            let cannot = || format!("cannot use source root `{}`", directory.display());
            let real = fs::canonicalize(directory).with_context(cannot)?;
            if !real.is_dir() {
                bail!("{}: it is no directory", cannot());
            }
            roots.push(Root { shown: directory.clone(), real });
        }
        Ok(SourceRoots { roots, known: RefCell::default() })
    }

    /// Looks in each input, beside it and above it for `src/*/{java,kotlin,scala}` and `src`, and stops at the first
    /// folder that has any, or that holds a repository.
    pub(crate) fn found(inputs: &[PathBuf]) -> SourceRoots {
        let here = std::env::current_dir().and_then(fs::canonicalize).ok();
        let mut roots: Vec<Root> = Vec::new();
        for input in inputs {
            let Ok(input) = fs::canonicalize(input) else { continue };
            for folder in input.ancestors().take(LEVELS + 1) {
                let near = source_folders(folder);
                let is_end = !near.is_empty() || folder.join(".git").exists();
                for real in near {
                    if roots.iter().all(|root| root.real != real) {
                        let below = here.as_deref().and_then(|here| real.strip_prefix(here).ok());
                        roots.push(Root { shown: below.unwrap_or(&real).to_owned(), real });
                    }
                }
                if is_end {
                    break;
                }
            }
        }
        SourceRoots { roots, known: RefCell::default() }
    }

    fn read(&self, below: &Path) -> Option<Rc<SourceFile>> {
        self.roots.iter().find_map(|root| {
            let text = read_below(&root.real, below)?;
            Some(Rc::new(SourceFile::new(root.shown.join(below).display().to_string(), &text)))
        })
    }
}

impl Sources for SourceRoots {
    fn find(&self, class: &str, file: &str) -> Option<Rc<SourceFile>> {
        let below = path_below_root(class, file)?;
        self.known.borrow_mut().entry(below).or_insert_with_key(|below| self.read(below)).clone()
    }
}

/// The folders below `folder` that hold sources, in the order in which they are searched.
fn source_folders(folder: &Path) -> Vec<PathBuf> {
    let source = folder.join("src");
    let Ok(entries) = fs::read_dir(&source) else { return Vec::new() };
    let mut sets: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // `main` before the rest: tests shadow nothing.
    sets.sort_by_key(|set| (!set.ends_with("main"), set.clone()));
    let languages = ["java", "kotlin", "scala"];
    let folders = sets.iter().flat_map(|set| languages.map(|language| set.join(language)));
    let candidates = folders.chain([source]).filter(|folder| folder.is_dir());
    candidates.filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

/// `pkg/File.java` for class `pkg.Outer$Inner`; `None` if any part could lead elsewhere.
fn path_below_root(class: &str, file: &str) -> Option<PathBuf> {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let mut path = PathBuf::new();
    for part in package.split('.').filter(|_| !package.is_empty()).chain([file]) {
        let is_plain = !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0', ':']);
        if !is_plain {
            return None;
        }
        path.push(part);
    }
    Some(path)
}

fn read_below(root: &Path, below: &Path) -> Option<String> {
    let path = fs::canonicalize(root.join(below)).ok()?;
    let is_allowed = |metadata: fs::Metadata| metadata.is_file() && metadata.len() <= LARGEST;
    // Asked before opening, since opening a pipe waits, and again of what was opened.
    if !path.starts_with(root) || !is_allowed(fs::symlink_metadata(&path).ok()?) {
        return None;
    }
    let file = File::open(&path).ok()?;
    if !is_allowed(file.metadata().ok()?) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
