//! What a JVM asks for when it starts: a plan for the classes of its class path. It waits for the answer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use classfile::ClassSource;
use instrument::{ConstantFields, Writes};
use rayon::prelude::*;

use crate::class_path;
use crate::input::{self, InputOptions, Inputs};

const REQUEST: &str = "request";
const PLAN: &str = "plan";
/// Files of a folder on the class path that are looked at.
const MOST_FILES: usize = 100_000;

/// The entries of the class path of a JVM with this folder, if it has asked.
pub(crate) fn read(folder: &Path) -> Option<Vec<PathBuf>> {
    let text = fs::read_to_string(folder.join(REQUEST)).ok()?;
    let mut lines = text.lines();
    let (entries, working) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    Some(class_path::entries(entries, Path::new(working)))
}

pub(crate) fn answer(folder: &Path, plan: &str) -> Result<()> {
    let unfinished = folder.join(format!("{PLAN}.tmp"));
    fs::write(&unfinished, plan).with_context(|| format!("cannot write `{}`", unfinished.display()))?;
    fs::rename(&unfinished, folder.join(PLAN)).with_context(|| format!("cannot write a plan in `{}`", folder.display()))
}

/// A plan for a class path that names the fields which are as good as final. It names none if not all can be read, and
/// soon.
pub(crate) fn plan_of_constants(paths: &[PathBuf]) -> String {
    let (folders, archives): (Vec<PathBuf>, Vec<PathBuf>) = paths.iter().cloned().partition(|path| path.is_dir());
    let (mut files, mut left) = (Vec::new(), MOST_FILES);
    if !folders.iter().all(|folder| find_classes(folder, &mut files, &mut left)) {
        return String::new();
    }
    let read = |path: &PathBuf| Some(ClassSource { path: path.display().to_string(), bytes: fs::read(path).ok()? });
    let Some(loose) = files.par_iter().map(read).collect::<Option<Vec<ClassSource>>>() else { return String::new() };
    let Ok(mut inputs) = input::load(&archives, &InputOptions::default()) else { return String::new() };
    inputs.sources.extend(loose);
    constants(&inputs)
}

/// Finds the class files of an entry of a class path, archives in which are none of it. False if there are too many files to
/// go on: the class path of a JVM that is given none is wherever it was started.
fn find_classes(folder: &Path, found: &mut Vec<PathBuf>, left: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    for entry in entries {
        let (Ok(entry), true) = (entry, *left > 0) else { return false };
        *left -= 1;
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "class") {
            found.push(path);
        } else if path.is_dir() && !find_classes(&path, found, left) {
            return false;
        }
    }
    true
}

/// The lines of a plan that name fields which are as good as final. None are if there is a class that cannot be read.
pub(crate) fn constants(inputs: &Inputs) -> String {
    if !inputs.skipped.is_empty() {
        return String::new();
    }
    let writes = |source: &ClassSource| Writes::of(&source.bytes);
    let Ok(all) = inputs.sources.par_iter().map(writes).collect::<Result<Vec<Writes>, _>>() else {
        return String::new();
    };
    let constants = ConstantFields::of(&all);
    let line = |[class, name, descriptor]: [&str; 3]| format!("constant\t{class}\t{name}\t{descriptor}\n");
    constants.rows().into_iter().map(line).collect()
}
