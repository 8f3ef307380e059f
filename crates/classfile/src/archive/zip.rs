//! The directory of a zip file: where its classes and archives lie. `rawzip` knows the format; this file decides which
//! entries matter and turns its errors into reasons.

use std::io;

use rawzip::{CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive, ZipLocator};

use super::data::{ReadAt, Window};
use super::error::ArchiveError;
use super::name::{is_archive_name, is_class_name};

/// One entry as the directory at the end of the archive describes it. The header before the data may differ and is not
/// believed, as in the JVM.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: Box<[u8]>,
    /// Where the entry's own header starts.
    pub(super) offset: u64,
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) checksum: u32,
    pub(super) method: CompressionMethod,
    pub(super) is_encrypted: bool,
}

/// The entries that matter, in the order of the directory.
#[derive(Default, Debug)]
pub(super) struct Entries {
    pub(super) classes: Vec<Entry>,
    pub(super) archives: Vec<Entry>,
    pub(super) manifest: Option<Entry>,
    /// There are more than the limit allows.
    pub(super) is_cut: bool,
}

/// A zip file whose directory has been found.
pub(super) struct Directory<'a> {
    archive: ZipArchive<Adapter<'a>>,
}

/// How often a false signature of the final record, say in the archive's comment, is passed over.
const FALSE_SIGNATURES: usize = 16;

impl<'a> Directory<'a> {
    pub(super) fn find(data: &'a dyn ReadAt) -> Result<Directory<'a>, ArchiveError> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let mut end = data.size();
        let mut result = Err(ArchiveError::NoDirectory);
        for _ in 0..FALSE_SIGNATURES {
            match ZipLocator::new().locate_in_reader(Adapter(data), &mut buffer, end) {
                Ok(archive) => return Ok(Directory { archive }),
                Err((_, error)) => {
                    let earlier = error.eocd_offset();
                    // The reason that counts is that of the last signature, which is the likely one.
                    if end == data.size() {
                        result = Err(reason(error));
                    }
                    match earlier {
                        Some(earlier) if earlier < end => end = earlier,
                        _ => break,
                    }
                }
            }
        }
        result
    }

    /// Bytes of the directory itself.
    pub(super) fn size(&self) -> u64 {
        self.archive.eocd_offset().saturating_sub(self.archive.directory_offset())
    }

    pub(super) fn entries(&self, limit: usize) -> Result<Entries, ArchiveError> {
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut records = self.archive.entries(&mut buffer);
        let mut entries = Entries::default();
        while let Some(record) = records.next_entry().map_err(reason)? {
            let path = record.file_path();
            let name = path.as_bytes();
            let is_class = is_class_name(name);
            let is_manifest = name.eq_ignore_ascii_case(b"META-INF/MANIFEST.MF");
            if !is_class && !is_manifest && !is_archive_name(name) {
                continue;
            }
            if entries.classes.len() + entries.archives.len() == limit && !is_manifest {
                entries.is_cut = true;
                break;
            }
            let entry = Entry {
                name: name.into(),
                offset: record.local_header_offset(),
                packed: record.compressed_size_hint(),
                size: record.uncompressed_size_hint(),
                checksum: record.crc32(),
                method: record.compression_method(),
                is_encrypted: record.flags().is_encrypted(),
            };
            if is_manifest {
                entries.manifest = Some(entry);
            } else if is_class {
                entries.classes.push(entry);
            } else {
                entries.archives.push(entry);
            }
        }
        Ok(entries)
    }
}

/// `rawzip`'s view of our data.
struct Adapter<'a>(&'a dyn ReadAt);

impl ReaderAt for Adapter<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

/// A jmod file is a zip file behind four bytes.
pub(super) const JMOD_MAGIC: [u8; 4] = *b"JM\x01\x00";

pub(super) fn without_jmod_magic(data: &dyn ReadAt) -> Option<Window<'_>> {
    Window::new(data, JMOD_MAGIC.len() as u64, data.size().checked_sub(JMOD_MAGIC.len() as u64)?)
}

fn reason(error: rawzip::Error) -> ArchiveError {
    match error.into_kind() {
        ErrorKind::IO(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            ArchiveError::BadDirectory("it is cut off".into())
        }
        ErrorKind::IO(error) => ArchiveError::Io(error),
        ErrorKind::MissingEndOfCentralDirectory => ArchiveError::NoDirectory,
        ErrorKind::Eof => ArchiveError::BadDirectory("it is cut off".into()),
        ErrorKind::InvalidSignature { expected, actual } => {
            ArchiveError::BadDirectory(format!("{actual:08x} where a record starts with {expected:08x}"))
        }
        ErrorKind::InvalidEndOfCentralDirectory => {
            ArchiveError::BadDirectory("it would start behind its own end".into())
        }
        other => ArchiveError::BadDirectory(format!("{other:?}")),
    }
}
