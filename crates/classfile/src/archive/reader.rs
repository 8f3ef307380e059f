//! Walks an archive and the archives inside it, within the limits, on all threads.

use rayon::prelude::*;

use crate::source::{ClassSource, Skipped};

use super::data::{ReadAt, Window, read_head};
use super::error::ArchiveError;
use super::layout::{self, Layout};
use super::limit::{Budget, Limits};
use super::name::shown;
use super::zip::{Directory, Entry, JMOD_MAGIC, without_jmod_magic};
use super::{entry, image};

const CLASS_MAGIC: [u8; 4] = [0xca, 0xfe, 0xba, 0xbe];

/// The newest Java release whose classes are chosen from a multi-release jar unless told otherwise.
pub(super) const NEWEST_RELEASE: u16 = 25;

/// Archives inside an archive that are inflated, and so held in memory, at the same time.
const ARCHIVES_AT_ONCE: usize = 8;

/// A thread reads so many classes at most without a chance for others to help: large ones tend to stand together.
const READ_AT_MOST: usize = 64;

/// How many skipped entries of one input are listed one by one; the rest is one line with a number. A bomb has more
/// entries than anyone reads.
const LISTED: usize = 1_000;

/// What was found in inputs, and what of them could not be used.
#[derive(Default, Debug)]
pub struct Contents {
    pub sources: Vec<ClassSource>,
    pub skipped: Vec<Skipped>,
}

/// What data is, told by its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Class,
    /// A zip file of any name: jar, war, ear, jmod.
    Archive,
    /// A JDK's `lib/modules`.
    Image,
}

impl Kind {
    /// `None` for anything else. Bytes before a zip file, such as the shell script of an executable jar, do not matter.
    pub fn of(data: &dyn ReadAt) -> Result<Option<Kind>, ArchiveError> {
        let mut buffer = [0; 4];
        let head = read_head(data, &mut buffer)?;
        let starts = |magic: [u8; 4]| head == magic;
        if starts(CLASS_MAGIC) {
            return Ok(Some(Kind::Class));
        }
        if image::is_magic(head) {
            return Ok(Some(Kind::Image));
        }
        if starts(*b"PK\x03\x04") || starts(*b"PK\x05\x06") || starts(*b"PK\x06\x06") || starts(JMOD_MAGIC) {
            return Ok(Some(Kind::Archive));
        }
        match Directory::find(data).and_then(|directory| directory.entries(1)) {
            Ok(_) => Ok(Some(Kind::Archive)),
            Err(ArchiveError::Io(error)) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

/// Reads classes from data of all kinds. One reader reads all inputs of a run, because the limit on bytes is for all of
/// them together.
#[derive(Debug)]
pub struct ArchiveReader {
    limits: Limits,
    release: u16,
    budget: Budget,
    /// The limit on bytes was hit: nothing more is read.
    is_exhausted: bool,
    /// Skipped entries of the input that is being read.
    skipped: usize,
}

impl Default for ArchiveReader {
    fn default() -> ArchiveReader {
        ArchiveReader::new(Limits::default(), None)
    }
}

impl ArchiveReader {
    /// `release` is the Java release for which a multi-release jar is read; the newest known one if `None`.
    pub fn new(limits: Limits, release: Option<u16>) -> ArchiveReader {
        let budget = Budget::new(limits.total);
        ArchiveReader { limits, release: release.unwrap_or(NEWEST_RELEASE), budget, is_exhausted: false, skipped: 0 }
    }

    /// The limit on bytes was hit, which the last [`Contents::skipped`] says; further inputs need not be tried.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Adds what is in `data`, which is shown to users as `path`. Trouble of any kind ends up in [`Contents::skipped`].
    pub fn read(&mut self, path: &str, kind: Kind, data: &dyn ReadAt, contents: &mut Contents) {
        self.skipped = 0;
        let result = match kind {
            Kind::Class => self.read_class(path, data, contents),
            Kind::Archive => self.read_archive(path, data, 1, contents),
            Kind::Image => self.read_image(path, data, contents),
        };
        if let Err(error) = result {
            self.skip(path.to_owned(), &error, contents);
        }
        if self.skipped > LISTED {
            let reason = format!("{} more entries in it could not be used", self.skipped - LISTED);
            contents.skipped.push(Skipped { path: path.to_owned(), reason });
        }
    }

    /// Adds a class that was loaded already.
    pub fn add_class(&mut self, path: String, bytes: Vec<u8>, contents: &mut Contents) {
        self.skipped = 0;
        let size = bytes.len() as u64;
        let checked =
            self.limits.check_class(size).and_then(|()| self.budget.charge(size)).and_then(|()| check_magic(&bytes));
        match checked {
            Ok(()) => contents.sources.push(ClassSource { path, bytes }),
            Err(error) => self.skip(path, &error, contents),
        }
    }

    fn read_class(&mut self, path: &str, data: &dyn ReadAt, contents: &mut Contents) -> Result<(), ArchiveError> {
        self.limits.check_class(data.size())?;
        self.budget.charge(data.size())?;
        let bytes = read_class(data, &self.limits)?;
        contents.sources.push(ClassSource { path: path.to_owned(), bytes });
        Ok(())
    }

    fn read_image(&mut self, path: &str, data: &dyn ReadAt, contents: &mut Contents) -> Result<(), ArchiveError> {
        let image = image::Image::open(data)?;
        self.budget.charge(image.index_size())?;
        let mut classes = image.classes()?;
        if classes.len() > self.limits.entries {
            classes.truncate(self.limits.entries);
            self.skip(path.to_owned(), &ArchiveError::Entries { limit: self.limits.entries }, contents);
        }
        self.read_classes(path, classes, |class| image.read(data, class), contents);
        Ok(())
    }

    fn read_archive(
        &mut self,
        path: &str,
        data: &dyn ReadAt,
        depth: usize,
        contents: &mut Contents,
    ) -> Result<(), ArchiveError> {
        if depth > self.limits.depth {
            return Err(ArchiveError::TooDeep { limit: self.limits.depth });
        }
        let mut head = [0; 4];
        if read_head(data, &mut head)? == JMOD_MAGIC
            && let Some(zip) = without_jmod_magic(data)
        {
            return self.read_zip(path, &zip, Layout::Jmod, depth, contents);
        }
        self.read_zip(path, data, Layout::Jar, depth, contents)
    }

    fn read_zip(
        &mut self,
        path: &str,
        data: &dyn ReadAt,
        layout: Layout,
        depth: usize,
        contents: &mut Contents,
    ) -> Result<(), ArchiveError> {
        let directory = Directory::find(data)?;
        self.budget.charge(directory.size())?;
        let entries = directory.entries(self.limits.entries)?;
        if entries.is_cut {
            self.skip(path.to_owned(), &ArchiveError::Entries { limit: self.limits.entries }, contents);
        }

        let release = match &entries.manifest {
            Some(manifest) if layout::has_versions(&entries.classes, layout) => {
                self.release_of(path, data, manifest, contents)
            }
            _ => None,
        };
        let classes = layout::select(entries.classes, layout, release);
        self.read_classes(path, classes, |class| entry::read(data, class), contents);
        if self.is_exhausted {
            return Ok(());
        }
        self.read_inner(path, data, layout::select(entries.archives, layout, None), depth, contents);
        Ok(())
    }

    /// The release for which the archive is read, `None` if it is not multi-release.
    fn release_of(&mut self, path: &str, data: &dyn ReadAt, manifest: &Entry, contents: &mut Contents) -> Option<u16> {
        let bytes = self
            .limits
            .check_ratio(manifest.packed, manifest.size)
            .and_then(|()| self.budget.charge(manifest.cost()))
            .and_then(|()| entry::read(data, manifest));
        match bytes {
            Ok(bytes) => layout::is_multi_release(&bytes).then_some(self.release),
            Err(error) => {
                self.skip(inside(path, &manifest.name), &error, contents);
                None
            }
        }
    }

    /// Reads the classes of one archive in parallel and adds them in their order.
    fn read_classes<T: Packed + Send + Sync>(
        &mut self,
        path: &str,
        classes: Vec<T>,
        read: impl Fn(&T) -> Result<Vec<u8>, ArchiveError> + Sync,
        contents: &mut Contents,
    ) {
        // Refused before it is read, or else affordable.
        let mut planned = Vec::with_capacity(classes.len());
        let mut exhausted = None;
        for class in classes {
            let checked = self
                .limits
                .check_class(class.size())
                .and_then(|()| self.limits.check_ratio(class.packed(), class.size()));
            let cost = if checked.is_ok() { class.cost() } else { 0 };
            if let Err(error) = self.budget.charge(cost) {
                exhausted = Some(error);
                break;
            }
            planned.push((class, checked));
        }

        let results: Vec<_> = planned
            .into_par_iter()
            .with_max_len(READ_AT_MOST)
            .map(|(class, checked)| {
                let bytes = checked.and_then(|()| read(&class)).and_then(|bytes| check_magic(&bytes).map(|()| bytes));
                (inside(path, class.name()), bytes)
            })
            .collect();

        contents.sources.reserve(results.len());
        for (path, bytes) in results {
            match bytes {
                Ok(bytes) => contents.sources.push(ClassSource { path, bytes }),
                Err(error) => self.skip(path, &error, contents),
            }
        }
        if let Some(error) = exhausted {
            self.skip(path.to_owned(), &error, contents);
        }
    }

    fn read_inner(
        &mut self,
        path: &str,
        data: &dyn ReadAt,
        archives: Vec<Entry>,
        depth: usize,
        contents: &mut Contents,
    ) {
        for batch in archives.chunks(ARCHIVES_AT_ONCE) {
            let mut planned = Vec::with_capacity(batch.len());
            for archive in batch {
                let plan = self.plan_inner(data, archive, depth);
                let is_last = matches!(plan, Err(ArchiveError::Total { .. }));
                planned.push((archive, plan));
                if is_last {
                    break;
                }
            }
            let opened: Vec<_> = planned
                .into_par_iter()
                .map(|(archive, plan)| {
                    let opened = plan.and_then(|window| match window {
                        Some(window) => Ok(Inner::Window(window)),
                        None => entry::read(data, archive).map(Inner::Memory),
                    });
                    (inside(path, &archive.name), opened)
                })
                .collect();
            for (path, inner) in opened {
                if self.is_exhausted {
                    return;
                }
                let result = inner.and_then(|inner| self.read_archive(&path, inner.data(), depth + 1, contents));
                if let Err(error) = result {
                    self.skip(path, &error, contents);
                }
            }
            if self.is_exhausted {
                return;
            }
        }
    }

    /// Decides whether an archive inside an archive is read: in its place if that is possible, else in memory.
    fn plan_inner<'a>(
        &mut self,
        data: &'a dyn ReadAt,
        archive: &Entry,
        depth: usize,
    ) -> Result<Option<Window<'a>>, ArchiveError> {
        // A refused archive costs something as well: the line that lists it.
        self.budget.charge(0)?;
        if depth >= self.limits.depth {
            return Err(ArchiveError::TooDeep { limit: self.limits.depth });
        }
        if let Some(window) = entry::window(data, archive)? {
            return Ok(Some(window));
        }
        self.limits.check_ratio(archive.packed, archive.size)?;
        self.budget.charge(archive.cost())?;
        Ok(None)
    }

    fn skip(&mut self, path: String, error: &ArchiveError, contents: &mut Contents) {
        if matches!(error, ArchiveError::Total { .. }) {
            // Said whatever else is left unsaid.
            self.is_exhausted = true;
        } else {
            self.skipped += 1;
            if self.skipped > LISTED {
                return;
            }
        }
        contents.skipped.push(Skipped { path, reason: error.to_string() });
    }
}

/// An archive inside an archive.
enum Inner<'a> {
    Window(Window<'a>),
    Memory(Vec<u8>),
}

impl Inner<'_> {
    fn data(&self) -> &dyn ReadAt {
        match self {
            Inner::Window(window) => window,
            Inner::Memory(bytes) => bytes,
        }
    }
}

/// Something that can be read from an archive, with the sizes that the archive states.
pub(super) trait Packed {
    fn name(&self) -> &[u8];
    fn packed(&self) -> u64;
    fn size(&self) -> u64;

    /// What reading it takes from the budget: also its packed form, which may be the larger one in a hostile archive.
    fn cost(&self) -> u64 {
        self.packed().max(self.size())
    }
}

impl Packed for Entry {
    fn name(&self) -> &[u8] {
        &self.name
    }

    fn packed(&self) -> u64 {
        self.packed
    }

    fn size(&self) -> u64 {
        self.size
    }
}

pub(super) fn inside(path: &str, name: &[u8]) -> String {
    let name = shown(name);
    let mut text = String::with_capacity(path.len() + 2 + name.len());
    text.push_str(path);
    text.push_str("!/");
    text.push_str(&name);
    text
}

/// The bytes of a class file that is no part of an archive.
pub fn read_class(data: &dyn ReadAt, limits: &Limits) -> Result<Vec<u8>, ArchiveError> {
    limits.check_class(data.size())?;
    let mut bytes = vec![0; data.size() as usize];
    super::data::read_exact_at(data, &mut bytes, 0)?;
    check_magic(&bytes)?;
    Ok(bytes)
}

pub(super) fn check_magic(bytes: &[u8]) -> Result<(), ArchiveError> {
    match bytes.first_chunk() {
        Some(&CLASS_MAGIC) => Ok(()),
        Some(&other) => Err(ArchiveError::NotAClass(other)),
        None => Err(ArchiveError::TooShortForAClass(bytes.len())),
    }
}
