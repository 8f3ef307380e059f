//! The file of records, mapped into the JVM piece by piece.
//!
//! Space is allocated on disk before it is mapped: a full disk under a map would be a fault in the application.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{ptr, thread};

use recording::{CHUNK_HEAD, CHUNK_MARK, EVENTS, FREE_MARK, chunk_head};

/// Chunks are whole pages, so that what is left of a piece can always be closed.
const PAGE: usize = 4096;
const FIRST_PIECE: usize = 1 << 20;
const LARGEST_PIECE: usize = 1 << 25;
/// Full chunks that are looked at for one that is begun.
const AT_ONCE: usize = 8;
/// How long the application waits for a reader that makes no progress.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);
/// As in the records of the runtime.
const END_OF_CHUNK: u64 = 63;

pub(crate) struct Events {
    file: File,
    /// Bytes of the file that are allocated.
    length: u64,
    /// Bytes of all chunks that were begun, and how many these may be.
    begun: u64,
    limit: u64,
    /// How many bytes may wait for the reader; 0 if there is none that lets chunks be used again.
    backlog: u64,
    /// The number of the next chunk.
    number: u64,
    /// Chunks that are full, oldest first: address and size.
    full: VecDeque<(u64, usize)>,
    full_bytes: u64,
    /// Chunks that can be used again.
    free: Vec<(u64, usize)>,
    /// The piece that chunks are now cut from: where its rest begins, and how long that is.
    rest: *mut u8,
    left: usize,
    piece: usize,
}

// SAFETY: `rest` points into a mapping that belongs to this value and is never unmapped; who has the value has it alone.
unsafe impl Send for Events {}

impl Events {
    pub(crate) fn create(folder: &Path, limit: u64, backlog: u64) -> io::Result<Events> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(folder.join(EVENTS))?;
        Ok(Events {
            file,
            length: 0,
            begun: 0,
            limit,
            backlog,
            number: 0,
            full: VecDeque::new(),
            full_bytes: 0,
            free: Vec::new(),
            rest: ptr::null_mut(),
            left: 0,
            piece: FIRST_PIECE,
        })
    }

    /// The address of a new chunk, whose head is written. It stays mapped as long as the JVM runs.
    pub(crate) fn chunk(&mut self, thread: u32, size: usize) -> io::Result<u64> {
        let size = size.next_multiple_of(PAGE);
        self.begun += size as u64;
        if self.limit != 0 && self.begun > self.limit {
            return Err(io::Error::other(format!("the limit of {} MB is reached", self.limit >> 20)));
        }
        self.wait_for_reader()?;
        // The one that was read last is still in the processor's cache.
        if let Some(at) = self.free.iter().rposition(|(_, of)| *of == size) {
            let (address, _) = self.free.swap_remove(at);
            let start = ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: a chunk of this size that was handed out before; its writer and its reader are done with it.
            unsafe {
                start.add(CHUNK_HEAD).write_bytes(0, size - CHUNK_HEAD);
                self.write_head(start, thread, size);
            }
            return Ok(address);
        }
        if self.left < size {
            self.close_piece();
            self.next_piece(size)?;
        }
        let address = self.rest;
        // SAFETY: the rest of the piece is mapped, aligned to pages, and at least `size` long.
        unsafe {
            self.write_head(address, thread, size);
            self.rest = address.add(size);
        }
        self.left -= size;
        Ok(address.expose_provenance() as u64)
    }

    /// A chunk that was handed out is full: its writer is done with it.
    pub(crate) fn full(&mut self, address: u64) {
        if self.backlog != 0 && address != 0 {
            let start = ptr::with_exposed_provenance_mut::<u64>(address as usize);
            // SAFETY: a chunk that was handed out, which has its size in its head.
            let size = unsafe { start.add(2).read() } as usize;
            self.full.push_back((address, size));
            self.full_bytes += size as u64;
        }
    }

    /// A chunk that was handed out and is full, and whose records are kept elsewhere: it can be used again.
    pub(crate) fn kept(&mut self, filled: &Filled<'_>) {
        self.free.push((filled.address, filled.size));
    }

    /// Finds what the reader is done with, and waits while it has too much to read, as long as it reads.
    fn wait_for_reader(&mut self) -> io::Result<()> {
        let mut patience = PATIENCE;
        let mut at_once = AT_ONCE;
        loop {
            let before = self.full.len();
            for _ in 0..at_once.min(before) {
                let Some((address, size)) = self.full.pop_front() else { break };
                let start = ptr::with_exposed_provenance_mut::<u64>(address as usize);
                // SAFETY: the mark of a chunk that was handed out; others may change it at any time.
                if unsafe { AtomicU64::from_ptr(start) }.load(Ordering::Acquire) == FREE_MARK {
                    self.full_bytes -= size as u64;
                    self.free.push((address, size));
                } else {
                    self.full.push_back((address, size));
                }
            }
            if self.full_bytes <= self.backlog {
                return Ok(());
            }
            patience = if self.full.len() < before { PATIENCE } else { patience.saturating_sub(PAUSE) };
            if patience.is_zero() {
                let waiting = self.full_bytes >> 20;
                return Err(io::Error::other(format!("nobody reads the {waiting} MB of records that wait")));
            }
            at_once = usize::MAX;
            thread::sleep(PAUSE);
        }
    }

    /// Chunks follow each other without gaps: what is left becomes one without records.
    fn close_piece(&mut self) {
        if self.left > 0 {
            // SAFETY: what is left is mapped and at least a page long.
            unsafe {
                self.rest.add(CHUNK_HEAD).cast::<u64>().write(END_OF_CHUNK);
                self.write_head(self.rest, 0, self.left);
            }
            self.left = 0;
        }
    }

    fn next_piece(&mut self, size: usize) -> io::Result<()> {
        let piece = self.piece.max(size);
        allocate(&self.file, self.length, piece)?;
        // SAFETY: a new shared mapping of allocated bytes of our own file; nothing else refers to it.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                piece,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.file.as_raw_fd(),
                self.length as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        self.rest = address.cast();
        self.left = piece;
        self.length += piece as u64;
        self.piece = (self.piece * 2).min(LARGEST_PIECE);
        Ok(())
    }

    /// The mark comes last: a reader that sees it sees the rest.
    ///
    /// # Safety
    /// `address` is aligned and the head's bytes are mapped for writing.
    unsafe fn write_head(&mut self, address: *mut u8, thread: u32, size: usize) {
        let numbers = address.cast::<u64>();
        let head = chunk_head(thread, size as u32, self.number);
        self.number += 1;
        // SAFETY: by the caller's promise; atomics may lie in mapped memory that other processes read.
        unsafe {
            for (at, number) in head.into_iter().enumerate() {
                numbers.add(1 + at).write(number);
            }
            AtomicU64::from_ptr(numbers).store(CHUNK_MARK, Ordering::Release);
        }
    }
}

/// A chunk that its writer is done with.
pub(crate) struct Filled<'c> {
    address: u64,
    size: usize,
    pub(crate) thread: u32,
    pub(crate) number: u64,
    pub(crate) records: &'c [u64],
}

impl Filled<'_> {
    /// The chunk at an address that was handed out. The runtime gives each back but once, and writes to it no more.
    pub(crate) fn at(address: u64) -> Self {
        let start = ptr::with_exposed_provenance::<u64>(address as usize);
        // SAFETY: a chunk stays mapped, is aligned, and has its thread, its size and its number in its head. It is handed out
        // again only after this value was given to `Events::kept`.
        unsafe {
            let size = start.add(2).read() as usize;
            let records = std::slice::from_raw_parts(start.add(CHUNK_HEAD / 8), (size - CHUNK_HEAD) / 8);
            Filled { address, size, thread: start.add(1).read() as u32, number: start.add(3).read(), records }
        }
    }

    /// Says, also to other processes, that its records are kept elsewhere.
    pub(crate) fn free(&self) {
        let start = ptr::with_exposed_provenance_mut::<u64>(self.address as usize);
        // SAFETY: the mark of a chunk that was handed out, which is no part of its records.
        unsafe { AtomicU64::from_ptr(start) }.store(FREE_MARK, Ordering::Release);
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, from: u64, length: usize) -> io::Result<()> {
    // SAFETY: a system call on an open file of ours.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), from as libc::off_t, length as libc::off_t) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, from: u64, length: usize) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let zeros = vec![0; 1 << 16];
    let end = from + length as u64;
    let mut at = from;
    while at < end {
        let piece = zeros.len().min((end - at) as usize);
        file.write_all_at(&zeros[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}
