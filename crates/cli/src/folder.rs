//! A folder for what the agent writes, which goes away again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) struct Folder(PathBuf);

impl Folder {
    /// On the same disk as a file.
    pub(crate) fn beside(file: &Path) -> Result<Folder> {
        let file = std::path::absolute(file).context("cannot find the folder")?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Folder::make(file.with_file_name(format!(".{name}.{}", std::process::id())))
    }

    pub(crate) fn temporary() -> Result<Folder> {
        Folder::make(std::env::temp_dir().join(format!("fissure-{}", std::process::id())))
    }

    fn make(folder: PathBuf) -> Result<Folder> {
        fs::create_dir(&folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        Ok(Folder(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot go, it stays; what was read from it is told.
        let _ = fs::remove_dir_all(&self.0);
    }
}
