//! Class files from directories and files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use classfile::{ClassSource, Skipped};

/// All classes that were asked for.
pub(crate) struct Inputs {
    /// Sorted by path.
    pub(crate) sources: Vec<ClassSource>,
    pub(crate) skipped: Vec<Skipped>,
}

pub(crate) fn load(paths: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs { sources: Vec::new(), skipped: Vec::new() };
    for path in paths {
        let metadata = fs::metadata(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if metadata.is_dir() {
            walk(path, &mut inputs);
        } else if metadata.is_file() && has_class_name(path) {
            read(path, &mut inputs);
        } else {
            bail!("`{}` is neither a directory nor a class file nor an archive", path.display());
        }
    }
    inputs.sources.sort_by(|a, b| a.path.cmp(&b.path));
    inputs.skipped.sort();
    Ok(inputs)
}

fn walk(directory: &Path, inputs: &mut Inputs) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return skip(directory, &error, inputs),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => walk(&path, inputs),
            Ok((path, kind)) if kind.is_file() && has_class_name(&path) => read(&path, inputs),
            Ok(_) => {}
            Err(error) => skip(directory, &error, inputs),
        }
    }
}

fn read(path: &Path, inputs: &mut Inputs) {
    match fs::read(path) {
        Ok(bytes) => inputs.sources.push(ClassSource { path: path.display().to_string(), bytes }),
        Err(error) => skip(path, &error, inputs),
    }
}

fn skip(path: &Path, error: &std::io::Error, inputs: &mut Inputs) {
    inputs.skipped.push(Skipped { path: path.display().to_string(), reason: error.to_string() });
}

fn has_class_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "class")
}
