//! The recorded form of a trace: one file of blocks, which the agent writes itself while the program runs.
//!
//! Nothing is converted before somebody reads it (`unpack.rs`), so that a recording costs the program little more than its
//! records. The agent appends a block of records when a chunk is full, and a block of rows whenever there are any. What is
//! in chunks that are not full, [`Keeper::finish`] adds at the end. `docs/trace-format.md` has the bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use crate::follow::{Recording, note};
use crate::layout::{CHUNK_HEAD, EVENTS, PACKED, ROWS};
use crate::pack::{Count, most_bytes, pack};
use crate::raw::{Found, RawChunk, chunk_at, open, read_all, to_numbers, whole_records};
use crate::rows::{Row, RowsFile};
use crate::unpack;

/// The first bytes of every trace of this form.
pub const PACKED_MAGIC: [u8; 8] = *b"\x93FIR\r\n\x1a\n";
pub(crate) const VERSION: u16 = 4;
/// Magic, version, and six bytes that are 0 today.
pub(crate) const HEADER: usize = 16;
/// Opens every block, so that one can be found again behind damaged bytes.
pub(crate) const MARKER: [u8; 4] = *b"\xf1\x5c\xc4\x1f";
/// Marker 4, kind 1, check of the head 3, thread 4, events 4, length 4, checksum 4, number 8, segment 8.
pub(crate) const BLOCK_HEAD: usize = 40;
/// Where in it the check of the head is, and the checksum.
const CHECK: usize = 5;
const SUM: usize = 20;
/// No block is longer; a larger length is damage.
pub(crate) const LONGEST: usize = 1 << 26;

/// In the place of a segment: the one in which the thread's records before ended, or each thread's own.
pub const UNKNOWN_SEGMENT: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Rows,
    Records,
    /// The last block of a trace that is whole.
    End,
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Kind::Rows => 1,
            Kind::Records => 2,
            Kind::End => 3,
        }
    }

    pub(crate) fn of(code: u8) -> Option<Kind> {
        [Kind::Rows, Kind::Records, Kind::End].into_iter().find(|kind| kind.code() == code)
    }
}

/// What stands before a block's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Of records: the thread, or 0 if several take turns.
    pub(crate) thread: u32,
    pub(crate) events: u32,
    pub(crate) length: u32,
    /// Of records: the number of their chunk, in the order in which chunks were begun.
    pub(crate) number: u64,
    /// Of records of one thread: its segment before the first, or [`UNKNOWN_SEGMENT`].
    pub(crate) segment: u64,
}

impl Head {
    /// `None` if no block begins like this.
    pub(crate) fn of(bytes: &[u8; BLOCK_HEAD]) -> Option<Head> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let kind = Kind::of(bytes[4])?;
        let length = word(16);
        let is_one = bytes[..4] == MARKER && bytes[CHECK..CHECK + 3] == check(bytes) && length as usize <= LONGEST;
        is_one.then_some(Head { kind, thread: word(8), events: word(12), length, number: long(24), segment: long(32) })
    }
}

/// Whether the payload of a block is what its head says.
pub(crate) fn is_whole(block: &[u8]) -> bool {
    block.len() >= BLOCK_HEAD && block[SUM..SUM + 4] == checksum(block).to_le_bytes()
}

fn checksum(block: &[u8]) -> u32 {
    crc32fast::hash(&block[BLOCK_HEAD..])
}

/// By which a head is known to be right without its payload, its checksum included.
fn check(head: &[u8]) -> [u8; 3] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..CHECK]);
    hasher.update(&head[CHECK + 3..BLOCK_HEAD]);
    let [one, two, three, _] = hasher.finalize().to_le_bytes();
    [one, two, three]
}

/// The bytes that a trace of this form begins with.
pub fn packed_header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&PACKED_MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// Room for a block, one after the other. What was there before is written over, and not emptied first, which would cost a
/// tenth of what packing does.
#[derive(Default)]
pub struct Block {
    room: Vec<u8>,
    length: usize,
}

impl Block {
    /// The block that was made last.
    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Makes a block whose payload, of so many bytes at most, `fill` writes. How many events it has.
    fn make(&mut self, head: Head, most: usize, fill: impl FnOnce(&mut [u8]) -> Count) -> u32 {
        if self.room.len() < BLOCK_HEAD + most {
            self.room.resize(BLOCK_HEAD + most, 0);
        }
        let (begin, payload) = self.room.split_at_mut(BLOCK_HEAD);
        let Count { events, bytes } = fill(payload);
        self.length = BLOCK_HEAD + bytes;
        begin.fill(0);
        begin[..4].copy_from_slice(&MARKER);
        begin[4] = head.kind.code();
        begin[8..12].copy_from_slice(&head.thread.to_le_bytes());
        begin[12..16].copy_from_slice(&events.to_le_bytes());
        begin[16..20].copy_from_slice(&(bytes as u32).to_le_bytes());
        begin[24..32].copy_from_slice(&head.number.to_le_bytes());
        begin[32..40].copy_from_slice(&head.segment.to_le_bytes());
        let sum = checksum(self.bytes());
        self.room[SUM..SUM + 4].copy_from_slice(&sum.to_le_bytes());
        let check = check(&self.room);
        self.room[CHECK..CHECK + 3].copy_from_slice(&check);
        events
    }

    /// A block of the records that a chunk has; how many events they are. `segment` is the thread's before them, and then the
    /// one after them.
    pub fn records(&mut self, thread: u32, number: u64, segment: &mut u64, records: &[u64]) -> u32 {
        let head = Head { kind: Kind::Records, thread, events: 0, length: 0, number, segment: *segment };
        self.make(head, most_bytes(records.len()), |out| pack(records, segment, out))
    }

    /// A block of rows, as [`put_row`](crate::put_row) makes them.
    pub fn rows(&mut self, rows: &[u8]) {
        let head = Head { kind: Kind::Rows, thread: 0, events: 0, length: 0, number: 0, segment: 0 };
        self.make(head, rows.len(), |out| {
            out[..rows.len()].copy_from_slice(rows);
            Count { events: 0, bytes: rows.len() }
        });
    }

    fn end(&mut self) {
        let head = Head { kind: Kind::End, thread: 0, events: 0, length: 0, number: 0, segment: 0 };
        self.make(head, 0, |_| Count { events: 0, bytes: 0 });
    }
}

/// Looks after a trace that an agent writes itself: where it is to be, what it says about itself, and that it becomes whole.
pub struct Keeper {
    folder: PathBuf,
    rows: RowsFile,
    about: Recording,
}

impl Keeper {
    /// The folder of one JVM, whose agent was told to pack ([`Options::packs`](crate::Options::packs)).
    pub fn new(folder: &Path) -> Keeper {
        Keeper { folder: folder.to_owned(), rows: RowsFile::new(folder.join(ROWS)), about: Recording::default() }
    }

    /// Reads what is new in the file of rows.
    pub fn poll(&mut self) -> io::Result<&Recording> {
        let about = &mut self.about;
        self.rows.read(|row: Row| note(about, row))?;
        Ok(about)
    }

    /// Where the agent has begun the trace. It may be moved, on the same disk; the agent goes on writing to it.
    pub fn begun(&self) -> PathBuf {
        self.folder.join(PACKED)
    }

    /// Adds what is in chunks that are not full to the trace, wherever that is now, and ends it if the JVM has ended by itself.
    /// The program must be over.
    pub fn finish(mut self, trace: &Path) -> io::Result<Recording> {
        self.poll()?;
        let mut file = OpenOptions::new().read(true).append(true).open(trace)?;
        let index = unpack::index(&unpack::Source::File(file.try_clone()?))?;
        let mut about = self.about;
        about.events = index.events();
        let known: FxHashSet<u64> = index.numbers().collect();
        if let Some(events) = open(&self.folder.join(EVENTS), false)? {
            let mut rest = Vec::new();
            let mut at = 0;
            while let Found::Chunk(chunk) = chunk_at(&events, at)? {
                at = chunk.end;
                if !chunk.is_free && !known.contains(&chunk.number) {
                    rest.push(chunk);
                }
            }
            rest.sort_by_key(|chunk| chunk.number);
            for chunk in rest {
                about.events += u64::from(add(&mut file, &events, &chunk)?);
            }
        }
        if about.ended {
            let mut end = Block::default();
            end.end();
            file.write_all(end.bytes())?;
        }
        about.broken = u64::from(self.rows.is_damaged());
        Ok(about)
    }
}

/// Packs a chunk that somebody may still write to.
fn add(trace: &mut File, events: &File, chunk: &RawChunk) -> io::Result<u32> {
    let from = chunk.start + CHUNK_HEAD as u64;
    let mut bytes = vec![0; (chunk.end - from) as usize];
    let mut numbers = Vec::new();
    // Twice: the first time, the end of a record may have been read before it was written, and its beginning after.
    for _ in 0..2 {
        if !read_all(events, &mut bytes, from)? {
            return Ok(0);
        }
        to_numbers(&bytes, &mut numbers);
        let whole = whole_records(&numbers);
        bytes.truncate(whole.longs * 8);
        numbers.truncate(whole.longs);
    }
    let mut block = Block::default();
    let made = block.records(chunk.thread, chunk.number, &mut { UNKNOWN_SEGMENT }, &numbers);
    if !numbers.is_empty() {
        trace.write_all(block.bytes())?;
    }
    Ok(made)
}
