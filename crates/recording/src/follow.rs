//! Follows the files of a recording while they grow.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::convert::Converter;
use crate::layout::{CHUNK_HEAD, EVENTS, FREE_MARK, ROWS};
use crate::live::{Piece, Pieces};
use crate::raw::{Found, RawChunk, chunk_at, open, read_all, to_numbers, whole_records};
use crate::rows::{Row, RowsFile};

/// Read at once.
const PIECE: usize = 1 << 18;
/// Full chunks that are converted at once, so that what is made of them stays small.
const AT_ONCE: usize = 16;
/// How long to wait when there is nothing new.
const PAUSE: Duration = Duration::from_millis(20);

struct Chunk {
    start: u64,
    /// In the order in which chunks were begun.
    number: u64,
    /// 0 if several threads take turns.
    thread: u32,
    /// Whose records come now, where threads take turns.
    writer: u32,
    at: u64,
    end: u64,
}

/// What a recording says about itself, beside its events.
#[derive(Clone, Default, Debug)]
pub struct Recording {
    pub events: u64,
    pub instrumented: u32,
    pub failed: u32,
    pub notes: Vec<String>,
    /// Whether any code tells of anything.
    pub has_sites: bool,
    /// Whether the JVM ended by itself.
    pub ended: bool,
    /// Records or rows that made no sense.
    pub broken: u64,
}

/// What becomes of what is read.
enum Target {
    /// A binary trace.
    Trace(Box<Converter>),
    /// Pieces, of which somebody else makes events.
    Pieces(Pieces),
}

impl Target {
    fn row(&mut self, row: &Row) {
        match self {
            Target::Trace(converter) => converter.row(row),
            Target::Pieces(pieces) => pieces.row(row),
        }
    }

    fn chunk(&mut self, thread: u32, writer: &mut u32, numbers: &mut Vec<u64>) -> io::Result<()> {
        match self {
            Target::Trace(converter) => converter.chunk(thread, writer, numbers),
            Target::Pieces(pieces) => {
                pieces.chunk(thread, writer, numbers);
                Ok(())
            }
        }
    }

    /// Grows with what was read.
    fn progress(&self) -> u64 {
        match self {
            Target::Trace(converter) => converter.events(),
            Target::Pieces(pieces) => pieces.numbers,
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Target::Trace(converter) => converter.take(),
            Target::Pieces(_) => Vec::new(),
        }
    }
}

/// Turns a recording into a trace, or takes it to pieces, as far as it is there.
pub struct Follow {
    events: Option<File>,
    rows: RowsFile,
    folder: PathBuf,
    /// Whether a chunk makes no sense.
    is_damaged: bool,
    /// Where the next chunk begins.
    next_chunk: u64,
    chunks: Vec<Chunk>,
    target: Target,
    about: Recording,
    /// What is being read, kept for the next time.
    bytes: Vec<u8>,
    numbers: Vec<u64>,
    /// Whether the agent may use chunks again that were read.
    consumes: bool,
    /// Chunks that are not begun anew yet, by where they begin.
    freed: Vec<u64>,
    /// Chunks that were found before one that was begun earlier, by their number.
    found: BTreeMap<u64, Chunk>,
    next_number: u64,
}

impl Follow {
    /// The folder of one JVM, which may still be empty.
    pub fn new(folder: &Path) -> io::Result<Follow> {
        Ok(Follow {
            events: None,
            rows: RowsFile::new(folder.join(ROWS)),
            folder: folder.to_owned(),
            is_damaged: false,
            next_chunk: 0,
            chunks: Vec::new(),
            target: Target::Trace(Box::new(Converter::new()?)),
            about: Recording::default(),
            bytes: Vec::new(),
            numbers: Vec::new(),
            consumes: false,
            freed: Vec::new(),
            found: BTreeMap::new(),
            next_number: 0,
        })
    }

    /// The same in pieces, and has the agent use the space of records again that were read. Only for an agent that was told
    /// so ([`Options::backlog`](crate::Options::backlog)).
    pub fn consuming(folder: &Path) -> io::Result<Follow> {
        Ok(Follow { consumes: true, target: Target::Pieces(Pieces::default()), ..Follow::new(folder)? })
    }

    /// Whether a folder is a recording.
    pub fn is_recording(folder: &Path) -> bool {
        folder.join(ROWS).is_file()
    }

    /// Reads some of what is new; whether there was anything, and there may be more.
    pub fn poll(&mut self) -> io::Result<bool> {
        if self.events.is_none() {
            self.events = open(&self.folder.join(EVENTS), self.consumes)?;
        }
        let before = self.target.progress();
        self.find_chunks()?;
        let chunks = std::mem::take(&mut self.chunks);
        let mut done = 0;
        // A thread that has begun another chunk writes no more to this one.
        let mut last: FxHashMap<u32, u64> = chunks.iter().map(|chunk| (chunk.thread, chunk.number)).collect();
        last.remove(&0);
        for mut chunk in chunks {
            let is_over = last.get(&chunk.thread).is_some_and(|number| *number != chunk.number);
            if done == AT_ONCE || !self.drain(&mut chunk, is_over)? {
                self.chunks.push(chunk);
            } else {
                self.free(&chunk)?;
                done += 1;
            }
        }
        self.read_rows()?;
        self.about.broken = u64::from(self.rows.is_damaged() || self.is_damaged);
        if let Target::Trace(converter) = &self.target {
            self.about.events = converter.events();
            self.about.broken += converter.broken();
        }
        Ok(self.target.progress() != before || done > 0)
    }

    /// The trace's bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        self.target.take()
    }

    /// What was found since the last call, if it is taken to pieces.
    pub fn pieces(&mut self) -> Vec<Piece> {
        match &mut self.target {
            Target::Trace(_) => Vec::new(),
            Target::Pieces(pieces) => std::mem::take(&mut pieces.found),
        }
    }

    pub fn about(&self) -> &Recording {
        &self.about
    }

    /// The rest of the trace, and what there is to say about it. The JVM must be over.
    pub fn finish(mut self) -> io::Result<(Vec<u8>, Recording)> {
        let mut rest = Vec::new();
        while self.poll()? {
            rest.extend(self.take());
        }
        let about = self.about;
        // A JVM that was killed leaves a trace without an end, so that readers know.
        rest.extend(match self.target {
            Target::Trace(converter) if about.ended => converter.finish()?,
            mut target => target.take(),
        });
        Ok((rest, about))
    }

    /// The trace as a reader, which waits for more while `is_running` says so.
    pub fn reader<F: FnMut() -> bool>(self, is_running: F) -> Live<F> {
        Live { follow: Some(self), is_running, bytes: Vec::new(), at: 0 }
    }

    /// Finds chunks that were begun since the last time, in new places and in those that are used again.
    fn find_chunks(&mut self) -> io::Result<()> {
        while let Some((chunk, is_free)) = self.chunk_at(self.next_chunk)? {
            self.next_chunk = chunk.end;
            if !is_free {
                self.found.insert(chunk.number, chunk);
            }
        }
        let mut freed = std::mem::take(&mut self.freed);
        let mut still = Vec::with_capacity(freed.len());
        for start in freed.drain(..) {
            match self.chunk_at(start)? {
                Some((chunk, false)) => {
                    self.found.insert(chunk.number, chunk);
                }
                _ => still.push(start),
            }
        }
        self.freed = still;
        // One that was begun earlier may be in a place that was looked at too early. It is found the next time.
        while let Some(entry) = self.found.first_entry() {
            if self.consumes && *entry.key() != self.next_number {
                break;
            }
            self.next_number = entry.key() + 1;
            self.chunks.push(entry.remove());
        }
        Ok(())
    }

    /// The chunk that begins here and whether it is free; `None` if there is none yet.
    fn chunk_at(&mut self, start: u64) -> io::Result<Option<(Chunk, bool)>> {
        let Some(events) = &self.events else { return Ok(None) };
        Ok(match chunk_at(events, start)? {
            Found::Nothing => None,
            Found::Damage => {
                self.is_damaged = true;
                None
            }
            Found::Chunk(RawChunk { start, end, number, thread, is_free }) => {
                Some((Chunk { start, number, thread, writer: 0, at: start + CHUNK_HEAD as u64, end }, is_free))
            }
        })
    }

    /// Has the agent use the chunk again.
    fn free(&mut self, chunk: &Chunk) -> io::Result<()> {
        if let (true, Some(events)) = (self.consumes, &self.events) {
            events.write_all_at(&FREE_MARK.to_le_bytes(), chunk.start)?;
            self.freed.push(chunk.start);
        }
        Ok(())
    }

    /// Converts what is new in a chunk; whether it is full and done.
    fn drain(&mut self, chunk: &mut Chunk, is_over: bool) -> io::Result<bool> {
        let (mut bytes, mut numbers) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.numbers));
        let result = self.drain_with(chunk, is_over, &mut bytes, &mut numbers);
        (self.bytes, self.numbers) = (bytes, numbers);
        result
    }

    fn drain_with(
        &mut self,
        chunk: &mut Chunk,
        is_over: bool,
        bytes: &mut Vec<u8>,
        numbers: &mut Vec<u64>,
    ) -> io::Result<bool> {
        loop {
            let Some(events) = &self.events else { return Ok(false) };
            let room = (chunk.end - chunk.at).min(PIECE as u64) as usize;
            if room < 8 {
                return Ok(true);
            }
            bytes.resize(room, 0);
            let read = events.read_at(bytes, chunk.at)?;
            to_numbers(&bytes[..read], numbers);
            let whole = whole_records(numbers);
            if whole.longs == 0 {
                return Ok(whole.is_end);
            }
            bytes.truncate(whole.longs * 8);
            if is_over {
                numbers.truncate(whole.longs);
            } else {
                // Read again what is known to be there: the first time, the end of a record may have been read before it
                // was written, and its beginning after.
                if !read_all(events, bytes, chunk.at)? {
                    return Ok(false);
                }
                to_numbers(bytes, numbers);
            }
            chunk.at += bytes.len() as u64;
            self.read_rows()?;
            self.target.chunk(chunk.thread, &mut chunk.writer, numbers)?;
            if whole.is_end {
                return Ok(true);
            }
        }
    }

    fn read_rows(&mut self) -> io::Result<()> {
        let (target, about) = (&mut self.target, &mut self.about);
        self.rows.read(|row| {
            target.row(&row);
            note(about, row);
        })
    }
}

pub(crate) fn note(about: &mut Recording, row: Row) {
    match row {
        Row::Note { text } => about.notes.push(text),
        Row::Classes { instrumented, failed } => (about.instrumented, about.failed) = (instrumented, failed),
        Row::End => about.ended = true,
        Row::Site { .. } => about.has_sites = true,
        _ => {}
    }
}

/// A recording that is read as a binary trace while it is made.
pub struct Live<F> {
    follow: Option<Follow>,
    is_running: F,
    bytes: Vec<u8>,
    at: usize,
}

impl<F: FnMut() -> bool> Read for Live<F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() {
            let Some(follow) = &mut self.follow else { return Ok(0) };
            // Asked before the files are read, so that nothing is written after the last look.
            let is_running = (self.is_running)();
            let more = follow.poll()?;
            self.bytes = follow.take();
            self.at = 0;
            if !is_running {
                if let Some(follow) = self.follow.take() {
                    let (rest, _) = follow.finish()?;
                    self.bytes.extend_from_slice(&rest);
                }
            } else if !more {
                std::thread::sleep(PAUSE);
            }
        }
        let length = out.len().min(self.bytes.len() - self.at);
        out[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
