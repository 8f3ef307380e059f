//! An archive as a place to look classes up in: its directory is read at once, a class only when it is asked for.
//!
//! Archives inside it are left alone, as on a class path.

use rustc_hash::FxHashMap;

use crate::ClassSource;

use super::data::{ReadAt, read_head};
use super::entry;
use super::error::ArchiveError;
use super::image::{self, Image};
use super::layout::{self, Layout};
use super::limit::Limits;
use super::reader::{Kind, NEWEST_RELEASE, Packed, check_magic, inside};
use super::zip::{Directory, Entries, Entry, JMOD_MAGIC, without_jmod_magic};

/// A jar, jmod or JDK image that is open.
pub struct Library {
    path: String,
    data: Box<dyn ReadAt + Send>,
    form: Form,
    /// By binary name of the class: its number in the form's list.
    by_name: FxHashMap<Box<[u8]>, u32>,
    limits: Limits,
}

enum Form {
    Zip { layout: Layout, entries: Vec<Entry> },
    Image { image: Image, classes: Vec<image::Class> },
}

impl Library {
    /// Reads the directory of `data`, which is shown to users as `path`. `release` is the Java release for which a
    /// multi-release jar is read; the newest known one if `None`.
    pub fn open(
        path: String,
        kind: Kind,
        data: Box<dyn ReadAt + Send>,
        limits: &Limits,
        release: Option<u16>,
    ) -> Result<Library, ArchiveError> {
        let form = match kind {
            Kind::Image => {
                let image = Image::open(&*data)?;
                let classes = image.classes()?;
                Form::Image { image, classes }
            }
            Kind::Archive | Kind::Class => open_zip(&*data, limits, release.unwrap_or(NEWEST_RELEASE))?,
        };
        let mut by_name = FxHashMap::default();
        let mut add = |name: Option<&[u8]>, number: usize| {
            if let Some(name) = name.and_then(|name| name.strip_suffix(b".class")) {
                by_name.entry(name.into()).or_insert(number as u32);
            }
        };
        match &form {
            Form::Zip { layout, entries } => {
                for (number, entry) in entries.iter().enumerate() {
                    add(layout::below_root(&entry.name, *layout), number);
                }
            }
            Form::Image { classes, .. } => {
                for (number, class) in classes.iter().enumerate() {
                    add(without_module(class.name()), number);
                }
            }
        }
        Ok(Library { path, data, form, by_name, limits: limits.clone() })
    }

    /// The archive, as users see it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What reading a class, given by its binary name, takes from a [`super::Budget`]; `None` if it is not here.
    pub fn cost(&self, class: &str) -> Option<u64> {
        Some(self.packed(*self.by_name.get(class.as_bytes())?).cost())
    }

    /// The class file of this name; `None` if it is not here. That the class in it has this name is not checked.
    pub fn read(&self, class: &str) -> Option<Result<ClassSource, ArchiveError>> {
        let number = *self.by_name.get(class.as_bytes())?;
        let packed = self.packed(number);
        let bytes = self
            .limits
            .check_class(packed.size())
            .and_then(|()| self.limits.check_ratio(packed.packed(), packed.size()))
            .and_then(|()| self.bytes(number));
        Some(bytes.and_then(|bytes| {
            check_magic(&bytes)?;
            Ok(ClassSource { path: inside(&self.path, packed.name()), bytes })
        }))
    }

    fn packed(&self, number: u32) -> &dyn Packed {
        match &self.form {
            Form::Zip { entries, .. } => &entries[number as usize],
            Form::Image { classes, .. } => &classes[number as usize],
        }
    }

    fn bytes(&self, number: u32) -> Result<Vec<u8>, ArchiveError> {
        match &self.form {
            Form::Zip { layout: Layout::Jar, entries } => entry::read(&*self.data, &entries[number as usize]),
            Form::Zip { layout: Layout::Jmod, entries } => {
                let zip = without_jmod_magic(&*self.data).ok_or(ArchiveError::NoDirectory)?;
                entry::read(&zip, &entries[number as usize])
            }
            Form::Image { image, classes } => image.read(&*self.data, &classes[number as usize]),
        }
    }
}

/// What the manifest of a jar says under a name; `None` if there is no manifest, or none that can be read.
pub fn manifest_attribute(data: &dyn ReadAt, limits: &Limits, name: &str) -> Option<String> {
    let Entries { manifest, .. } = Directory::find(data).ok()?.entries(limits.entries).ok()?;
    let manifest = manifest?;
    limits.check_ratio(manifest.packed, manifest.size).ok()?;
    layout::attribute(&entry::read(data, &manifest).ok()?, name)
}

fn open_zip(data: &dyn ReadAt, limits: &Limits, release: u16) -> Result<Form, ArchiveError> {
    let mut head = [0; 4];
    let is_jmod = read_head(data, &mut head)? == JMOD_MAGIC;
    if is_jmod && let Some(zip) = without_jmod_magic(data) {
        let entries = select(&zip, Layout::Jmod, limits, release)?;
        return Ok(Form::Zip { layout: Layout::Jmod, entries });
    }
    Ok(Form::Zip { layout: Layout::Jar, entries: select(data, Layout::Jar, limits, release)? })
}

fn select(data: &dyn ReadAt, layout: Layout, limits: &Limits, release: u16) -> Result<Vec<Entry>, ArchiveError> {
    let Entries { classes, manifest, is_cut, .. } = Directory::find(data)?.entries(limits.entries)?;
    if is_cut {
        return Err(ArchiveError::Entries { limit: limits.entries });
    }
    let release = match &manifest {
        Some(manifest) if layout::has_versions(&classes, layout) => {
            limits.check_ratio(manifest.packed, manifest.size)?;
            layout::is_multi_release(&entry::read(data, manifest)?).then_some(release)
        }
        _ => None,
    };
    Ok(layout::select(classes, layout, release))
}

/// `java/lang/Object.class` of `java.base/java/lang/Object.class`.
fn without_module(name: &[u8]) -> Option<&[u8]> {
    let slash = name.iter().position(|&byte| byte == b'/')?;
    Some(&name[slash + 1..])
}
