//! Inputs: from the paths a user gives to the bytes of classes, with a list of what could not be used.
//!
//! Opening files and walking directories is done here; what is in a file is told by its content and read by `classfile`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use classfile::archive::{ArchiveReader, Contents, Kind, Limits, ReadAt, is_archive_name, shown};
use classfile::{ClassSource, Skipped};
use rayon::prelude::*;

/// How inputs are read.
#[derive(Clone, Default, Debug)]
pub(crate) struct InputOptions {
    pub(crate) limits: Limits,
    /// The Java release for which multi-release jars are read; the newest known one if `None`.
    pub(crate) release: Option<u16>,
}

/// All classes of all inputs, in an order that depends on the paths only.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) sources: Vec<ClassSource>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Reads class files, archives, JDK images, JDK homes and directories with any of these.
///
/// A path that was given must be usable, or else this is an error; what is found in directories and archives and cannot
/// be used is listed in [`Inputs::skipped`]. Files in directories are opened only if their name promises classes.
pub(crate) fn load(paths: &[PathBuf], options: &InputOptions) -> Result<Inputs> {
    let mut reader = ArchiveReader::new(options.limits.clone(), options.release);
    let mut contents = Contents::default();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| describe(path, &error))?;
        if reader.is_exhausted() {
            // The limit was reached by an earlier path, and was listed with it.
            continue;
        }
        if metadata.is_dir() {
            let mut found = Found::default();
            found.walk(path).map_err(|error| describe(path, &error))?;
            contents.skipped.append(&mut found.skipped);
            read_found(&found.files, &mut reader, &mut contents);
        } else if metadata.is_file() {
            let file = InputFile::open(path).map_err(|error| describe(path, &error))?;
            let Some(kind) = Kind::of(&file).with_context(|| format!("cannot read `{}`", show(path)))? else {
                bail!("cannot read `{}`: neither a class file nor an archive of class files", show(path));
            };
            reader.read(&show(path), kind, &file, &mut contents);
        } else {
            bail!("cannot read `{}`: neither a file nor a directory", show(path));
        }
    }
    let Contents { sources, skipped } = contents;
    Ok(Inputs { sources, skipped })
}

/// The files that [`load`] looks into, in its order.
#[derive(Default, Debug)]
pub(crate) struct Files {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Finds the files behind paths, without reading them.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Files> {
    let mut files = Files::default();
    for path in paths {
        if fs::metadata(path).map_err(|error| describe(path, &error))?.is_dir() {
            let mut found = Found::default();
            found.walk(path).map_err(|error| describe(path, &error))?;
            files.skipped.append(&mut found.skipped);
            files.paths.extend(found.files.into_iter().map(|file| file.path));
        } else {
            files.paths.push(path.clone());
        }
    }
    Ok(files)
}

/// One line, without the operating system's error number.
pub(crate) fn describe(path: &Path, error: &io::Error) -> anyhow::Error {
    let path = show(path);
    match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("cannot read `{path}`: no such file or directory"),
        io::ErrorKind::PermissionDenied => anyhow::anyhow!("cannot read `{path}`: permission denied"),
        _ => anyhow::anyhow!("cannot read `{path}`: {error}"),
    }
}

pub(crate) fn show(path: &Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}

/// A file in a directory whose name promises classes.
struct FoundFile {
    path: PathBuf,
    size: u64,
    promise: Promise,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    Class,
    Archive,
    /// A file called `modules` may be a JDK image.
    Image,
}

impl Promise {
    fn of(name: &[u8]) -> Option<Promise> {
        if name.ends_with(b".class") {
            Some(Promise::Class)
        } else if is_archive_name(name) {
            Some(Promise::Archive)
        } else {
            (name == b"modules").then_some(Promise::Image)
        }
    }
}

/// What is in a directory, in the order of the names.
#[derive(Default)]
struct Found {
    files: Vec<FoundFile>,
    skipped: Vec<Skipped>,
    /// Real paths of directories walked already: a symbolic link can lead back to them.
    walked: HashSet<PathBuf>,
}

impl Found {
    fn walk(&mut self, directory: &Path) -> io::Result<()> {
        if !self.walked.insert(fs::canonicalize(directory)?) {
            return Ok(());
        }
        // A JDK home has all its classes a second time, in `jmods`.
        let image = directory.join("lib").join("modules");
        if fs::metadata(&image).is_ok_and(|metadata| metadata.is_file())
            && InputFile::open(&image).is_ok_and(|file| matches!(Kind::of(&file), Ok(Some(Kind::Image))))
        {
            self.add(image);
            return Ok(());
        }
        let mut entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        for path in entries {
            self.add(path);
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf) {
        let promise = path.file_name().and_then(|name| Promise::of(name.as_encoded_bytes()));
        let result = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => self.walk(&path),
            Ok(metadata) if metadata.is_file() => {
                if let Some(promise) = promise {
                    self.files.push(FoundFile { path, size: metadata.len(), promise });
                }
                return;
            }
            // A dangling link matters only if it promises classes; a pipe or device never does.
            Err(error) if promise.is_some() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        };
        if let Err(error) = result {
            self.skipped.push(Skipped { path: show(&path), reason: format!("cannot be read: {error}") });
        }
    }
}

/// Loose classes are loaded in parallel, this many bytes at a time; archives are parallel inside.
const LOADED_AT_ONCE: u64 = 64 << 20;

fn read_found(files: &[FoundFile], reader: &mut ArchiveReader, contents: &mut Contents) {
    let mut rest = files;
    while let Some(first) = rest.first() {
        if reader.is_exhausted() {
            return;
        }
        if first.promise != Promise::Class {
            read_archive(first, reader, contents);
            rest = &rest[1..];
            continue;
        }
        let mut size = 0;
        let is_loaded = |file: &&FoundFile| {
            size += file.size;
            file.promise == Promise::Class && size <= LOADED_AT_ONCE
        };
        // A class that is larger than the batch goes alone: the reader refuses it without loading it.
        let count = rest.iter().take_while(is_loaded).count();
        if count == 0 {
            read_archive(first, reader, contents);
            rest = &rest[1..];
            continue;
        }
        let (batch, after) = rest.split_at(count);
        let loaded: Vec<io::Result<Vec<u8>>> = batch.par_iter().map(|file| fs::read(&file.path)).collect();
        for (file, bytes) in batch.iter().zip(loaded) {
            if reader.is_exhausted() {
                return;
            }
            match bytes {
                Ok(bytes) => reader.add_class(show(&file.path), bytes, contents),
                Err(error) => contents.skipped.push(unreadable(&file.path, &error)),
            }
        }
        rest = after;
    }
}

fn read_archive(found: &FoundFile, reader: &mut ArchiveReader, contents: &mut Contents) {
    let file = match InputFile::open(&found.path) {
        Ok(file) => file,
        Err(error) => return contents.skipped.push(unreadable(&found.path, &error)),
    };
    let kind = match (found.promise, Kind::of(&file)) {
        (Promise::Class, _) => Kind::Class,
        (_, Ok(Some(kind))) => kind,
        // The name says archive, so that silence would hide something; the reader says what is wrong.
        (Promise::Archive, _) => Kind::Archive,
        (Promise::Image, _) => return,
    };
    reader.read(&show(&found.path), kind, &file, contents);
}

fn unreadable(path: &Path, error: &io::Error) -> Skipped {
    Skipped { path: show(path), reason: format!("cannot be read: {error}") }
}

/// A file that several threads read at once.
pub(crate) struct InputFile {
    file: File,
    size: u64,
}

impl InputFile {
    pub(crate) fn open(path: &Path) -> io::Result<InputFile> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(InputFile { file, size })
    }
}

impl ReadAt for InputFile {
    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
}

#[cfg(test)]
mod tests;
