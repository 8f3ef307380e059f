//! Classes to know but not to check: those of `--classpath`, and those of a JDK.
//!
//! Archives are opened at the start, classes read when the program asks for them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use classfile::archive::{ArchiveError, Budget, Kind, Library, Limits, read_class, shown};
use classfile::{Class, ClassSource, Skipped};
use program::{Finder, Known, Platform};
use rayon::prelude::*;

use crate::args::KnownArgs;
use crate::input::{InputFile, InputOptions, describe, show};

/// Opens what the command line names. A JDK is the built-in model unless one is given.
pub(crate) fn open(args: &KnownArgs, options: &InputOptions) -> Result<Known> {
    let mut known = Known::default();
    if let Some(text) = &args.classpath {
        let paths = class_path(text)?;
        known.class_path = Some(Box::new(Places::open(&paths, options).context("cannot use `--classpath`")?));
    }
    if let Some(home) = &args.jdk {
        known.platform = open_jdk(home, options).with_context(|| format!("no JDK in `{}`", show(home)))?;
    }
    Ok(known)
}

/// The files and folders that [`open`] looks into.
pub(crate) fn paths(args: &KnownArgs) -> Result<Vec<PathBuf>> {
    let mut paths = args.classpath.as_deref().map(class_path).transpose()?.unwrap_or_default();
    if let Some(home) = &args.jdk {
        paths.extend(if home.is_dir() { jdk_files(home)? } else { vec![home.clone()] });
    }
    Ok(paths)
}

/// The entries of a class path, each `folder/*` replaced by the jars of the folder in the order of their names.
fn class_path(text: &std::ffi::OsStr) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in std::env::split_paths(text) {
        if path.file_name().is_some_and(|name| name == "*") {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            paths.extend(files_with(folder, "jar")?);
        } else if !path.as_os_str().is_empty() {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// The files of a folder with this ending in any case, sorted.
fn files_with(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| describe(folder, &error))? {
        let path = entry.map_err(|error| describe(folder, &error))?.path();
        if path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending)) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Opens a JDK: its home, or one file that holds all classes.
fn open_jdk(home: &Path, options: &InputOptions) -> Result<Platform> {
    let metadata = fs::metadata(home).map_err(|error| describe(home, &error))?;
    let files = if metadata.is_dir() { jdk_files(home)? } else { vec![home.to_owned()] };
    let mut places = Places::open(&files, options)?;
    let Some(Ok(object)) = places.find_one("java/lang/Object") else {
        bail!("it does not have java.lang.Object");
    };
    let version = jdk_version(home, &object, &mut places)?;
    Ok(Platform::Installed { version, classes: Box::new(places) })
}

/// The archives that hold the classes of a JDK: one image since Java 9, or jmods; a few jars before.
fn jdk_files(home: &Path) -> Result<Vec<PathBuf>> {
    let image = home.join("lib/modules");
    if image.is_file() {
        return Ok(vec![image]);
    }
    let jmods = home.join("jmods");
    if jmods.is_dir() {
        return files_with(&jmods, "jmod");
    }
    for lib in ["lib", "jre/lib"] {
        let lib = home.join(lib);
        if lib.join("rt.jar").is_file() {
            let mut jars = files_with(&lib, "jar")?;
            // The class that counts is that of `rt.jar`.
            jars.sort_by_key(|jar| jar.file_name().is_none_or(|name| name != "rt.jar"));
            return Ok(jars);
        }
    }
    bail!("there is neither lib/modules nor jmods nor lib/rt.jar");
}

/// `JDK 25.0.1`: what the JDK's `release` file says, else its `java.base`, else the version of its class files.
fn jdk_version(home: &Path, object: &ClassSource, places: &mut Places) -> Result<String> {
    // An image lies in `lib` of a home.
    let homes = [Some(home), home.parent().and_then(Path::parent).filter(|_| home.ends_with("lib/modules"))];
    let release = homes.into_iter().flatten().find_map(|home| fs::read_to_string(home.join("release")).ok());
    let stated = release.as_deref().and_then(|release| {
        let value = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        Some(value.trim().trim_matches('"').to_owned())
    });
    if let Some(stated) = stated.filter(|version| !version.is_empty()) {
        return Ok(format!("JDK {stated}"));
    }
    // Of all modules `java.base` comes first.
    let base = places.find_one("module-info").and_then(Result::ok);
    let module = base.and_then(|base| Class::read(&base.bytes).ok()?.module().ok()?);
    if let Some(version) = module.filter(|module| module.name == "java.base").and_then(|module| module.version) {
        return Ok(format!("JDK {version}"));
    }
    let header = Class::read(&object.bytes).and_then(|class| class.header(&location::Names::new()));
    let header = header.context("java.lang.Object cannot be read")?;
    Ok(format!("JDK {}", header.major_version.saturating_sub(44)))
}

/// Folders and archives in which classes are looked up, in this order.
struct Places {
    places: Vec<Place>,
    limits: Limits,
    budget: Budget,
    /// The limit on bytes was hit, and told: nothing more is read.
    is_exhausted: bool,
}

enum Place {
    Folder(PathBuf),
    Archive(Box<Library>),
}

impl Places {
    /// A path that was given must be usable.
    fn open(paths: &[PathBuf], options: &InputOptions) -> Result<Places> {
        let opened: Vec<Result<Place>> = paths.par_iter().map(|path| Place::open(path, options)).collect();
        Ok(Places {
            places: opened.into_iter().collect::<Result<_>>()?,
            limits: options.limits.clone(),
            budget: Budget::new(options.limits.total),
            is_exhausted: false,
        })
    }

    fn find_one(&mut self, class: &str) -> Option<Result<ClassSource, Skipped>> {
        self.find(&[class]).pop().flatten()
    }

    /// The number of the first place that has the class, if it can be afforded.
    fn plan(&mut self, class: &str) -> Option<Result<usize, Skipped>> {
        if self.is_exhausted {
            return None;
        }
        let has_class = |(number, place): (usize, &Place)| Some((number, place.cost(class)?));
        let (number, cost) = self.places.iter().enumerate().find_map(has_class)?;
        match self.budget.charge(cost) {
            Ok(()) => Some(Ok(number)),
            Err(error) => {
                self.is_exhausted = true;
                Some(Err(Skipped { path: self.places[number].shown(class), reason: error.to_string() }))
            }
        }
    }
}

impl Finder for Places {
    /// Plans one after the other, so that the limit on bytes leaves out the same classes in every run; reads in
    /// parallel.
    fn find(&mut self, classes: &[&str]) -> Vec<Option<Result<ClassSource, Skipped>>> {
        let plans: Vec<_> = classes.iter().map(|class| self.plan(class)).collect();
        let read = |number: usize, class: &str| self.places[number].read(class, &self.limits);
        plans
            .into_par_iter()
            .zip(classes)
            .map(|(plan, class)| match plan? {
                Ok(number) => read(number, class),
                Err(refused) => Some(Err(refused)),
            })
            .collect()
    }
}

impl Place {
    fn open(path: &Path, options: &InputOptions) -> Result<Place> {
        let metadata = fs::metadata(path).map_err(|error| describe(path, &error))?;
        if metadata.is_dir() {
            return Ok(Place::Folder(path.to_owned()));
        }
        let cannot = || format!("cannot read `{}`", show(path));
        if !metadata.is_file() {
            bail!("{}: neither a file nor a directory", cannot());
        }
        let file = InputFile::open(path).map_err(|error| describe(path, &error))?;
        match Kind::of(&file).with_context(cannot)? {
            Some(kind @ (Kind::Archive | Kind::Image)) => {
                let library = Library::open(show(path), kind, Box::new(file), &options.limits, options.release);
                Ok(Place::Archive(Box::new(library.with_context(cannot)?)))
            }
            Some(Kind::Class) | None => bail!("{}: neither a directory nor an archive of class files", cannot()),
        }
    }

    /// What reading the class takes from the budget; `None` if it is not here.
    fn cost(&self, class: &str) -> Option<u64> {
        match self {
            Place::Folder(folder) => {
                let metadata = fs::metadata(class_file(folder, class)?).ok()?;
                metadata.is_file().then_some(metadata.len())
            }
            Place::Archive(library) => library.cost(class),
        }
    }

    fn read(&self, class: &str, limits: &Limits) -> Option<Result<ClassSource, Skipped>> {
        match self {
            Place::Folder(folder) => {
                let path = class_file(folder, class)?;
                let read =
                    InputFile::open(&path).map_err(ArchiveError::from).and_then(|file| read_class(&file, limits));
                Some(match read {
                    Ok(bytes) => Ok(ClassSource { path: show(&path), bytes }),
                    Err(error) => Err(Skipped { path: show(&path), reason: error.to_string() }),
                })
            }
            Place::Archive(library) => {
                let skip = |error: ArchiveError| Skipped { path: self.shown(class), reason: error.to_string() };
                Some(library.read(class)?.map_err(skip))
            }
        }
    }

    /// The class in this place, as users see it.
    fn shown(&self, class: &str) -> String {
        match self {
            Place::Folder(folder) => show(&folder.join(format!("{class}.class"))),
            Place::Archive(library) => format!("{}!/{}.class", library.path(), shown(class.as_bytes())),
        }
    }
}

/// The file of a class in a folder. A name is whatever a class file says: one that leads out of the folder is none.
fn class_file(folder: &Path, class: &str) -> Option<PathBuf> {
    let name = PathBuf::from(format!("{class}.class"));
    let is_below = name.components().all(|part| matches!(part, Component::Normal(_)));
    is_below.then(|| folder.join(name))
}

#[cfg(test)]
mod tests;
