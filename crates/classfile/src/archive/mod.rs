//! Archives: zip files (jar, war, ear, jmod, nested ones too) and a JDK's `lib/modules`, from a positioned reader to the
//! bytes of classes.
//!
//! Opens nothing and writes nothing: the caller supplies the data, and an archive inside an archive is read in memory.
//! What a class means is left to the rest of the crate; here it is bytes with the right magic number.
//!
//! Order of the result, whatever the number of threads: an archive's own classes in the order of its directory, then the
//! archives inside it, which is the class path of a fat jar. A JDK image has no useful order and is sorted by path.

mod data;
mod entry;
mod error;
mod image;
mod layout;
mod library;
mod limit;
mod name;
mod reader;
mod zip;

pub use data::ReadAt;
pub use error::ArchiveError;
pub use library::{Library, manifest_attribute};
pub use limit::{Budget, Limits};
pub use name::{is_archive_name, shown};
pub use reader::{ArchiveReader, Contents, Kind, read_class};
