//! The trace that the agent writes itself, if it was told to: full chunks are packed and appended by the thread that has
//! filled them, and used again at once. What is not full at the end, the command adds.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use recording::{Block, PACKED, UNKNOWN_SEGMENT, packed_header};
use rustc_hash::FxHashMap;

use crate::map::Filled;

pub(crate) struct Packed {
    /// Appended to, so that blocks of several threads stand one behind the other.
    file: File,
    folder: PathBuf,
    /// The segment that each thread's records have come to.
    segments: Mutex<FxHashMap<u32, u64>>,
    /// Room for blocks that nobody uses now.
    rooms: Mutex<Vec<Block>>,
}

impl Packed {
    pub(crate) fn create(folder: &Path) -> io::Result<Packed> {
        let mut file = OpenOptions::new().append(true).create_new(true).open(folder.join(PACKED))?;
        file.write_all(&packed_header())?;
        let folder = folder.to_owned();
        Ok(Packed { file, folder, segments: Mutex::default(), rooms: Mutex::default() })
    }

    /// For rows, which go to the same file.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Appends the records of a chunk that its thread has filled. `is_last` says that the thread is over.
    pub(crate) fn add(&self, chunk: &Filled<'_>, is_last: bool) -> io::Result<()> {
        // The command takes its folder away when it has made the trace whole. Then nothing may be behind its end.
        if !self.folder.exists() {
            return Err(io::Error::other("the program that was to be recorded is over"));
        }
        let segments = || self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let rooms = || self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut segment = match chunk.thread {
            0 => UNKNOWN_SEGMENT,
            thread => segments().get(&thread).copied().unwrap_or_default(),
        };
        let mut block = rooms().pop().unwrap_or_default();
        block.records(chunk.thread, chunk.number, &mut segment, chunk.records);
        let written = (&self.file).write_all(block.bytes());
        rooms().push(block);
        if is_last {
            segments().remove(&chunk.thread);
        } else if chunk.thread != 0 {
            segments().insert(chunk.thread, segment);
        }
        written
    }
}
