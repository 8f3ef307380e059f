//! Chunks: how bytes are cut into pieces that are whole or not, and how the next whole one is found after damage.

use std::io::{self, Read};

use crate::Problems;

/// Opens every chunk, so that one can be found again behind damaged bytes.
pub(super) const MARKER: [u8; 4] = *b"\xf1\x5c\xc4\x1e";

/// Marker 4, kind 1, zero 3, stream 4, events 4, length 4, checksum 4.
pub(super) const CHUNK_HEADER: usize = 24;

/// No writer makes larger ones; a larger length is damage.
pub(super) const LONGEST: usize = 1 << 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Rows of the tables.
    Rows,
    /// Events of all threads in the order in which they happened.
    Ordered,
    /// Events of one thread, with order numbers.
    Stream,
    /// The last chunk of a trace that was closed properly.
    End,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::Rows => 1,
            Kind::Ordered => 2,
            Kind::Stream => 3,
            Kind::End => 4,
        }
    }

    fn of(code: u8) -> Option<Kind> {
        [Kind::Rows, Kind::Ordered, Kind::Stream, Kind::End].into_iter().find(|kind| kind.code() == code)
    }
}

/// What stands before a chunk's payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// The thread, for [`Kind::Stream`].
    pub(super) stream: u32,
    pub(super) events: u32,
}

/// Appends a whole chunk.
pub(super) fn put_chunk(output: &mut Vec<u8>, head: Head, payload: &[u8]) {
    let start = output.len();
    output.extend_from_slice(&MARKER);
    output.extend_from_slice(&[head.kind.code(), 0, 0, 0]);
    output.extend_from_slice(&head.stream.to_le_bytes());
    output.extend_from_slice(&head.events.to_le_bytes());
    output.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    let sum = checksum(&output[start..], payload);
    output.extend_from_slice(&sum.to_le_bytes());
    output.extend_from_slice(payload);
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

/// Cuts an input into chunks.
pub(super) struct ChunkReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// What is before this was handed out.
    start: usize,
    at_end: bool,
    /// How many bytes of the input came before `buffer`.
    passed: u64,
    /// Whether the last bytes were skipped as damaged: one stretch of damage is one problem.
    in_damage: bool,
}

impl<R: Read> ChunkReader<R> {
    const BLOCK: usize = 1 << 18;

    /// `begun` is what was read already, and `start` where in it the first chunk should be.
    pub(super) fn new(begun: Vec<u8>, start: usize, input: R) -> ChunkReader<R> {
        ChunkReader { input, buffer: begun, start, at_end: false, passed: 0, in_damage: false }
    }

    /// The next whole chunk. What is skipped on the way is told to `problems`; the second value says whether chunks of
    /// events may be among it.
    pub(super) fn next(&mut self, problems: &mut Problems) -> io::Result<Option<(Head, &[u8], bool)>> {
        let mut skipped = false;
        loop {
            let left = self.require(CHUNK_HEADER)?;
            if left < CHUNK_HEADER {
                if left > 0 && !self.in_damage {
                    problems.add(format!("the trace ends in the middle of a chunk, at byte {}", self.offset()));
                }
                self.start = self.buffer.len();
                return Ok(None);
            }
            match self.whole(problems)? {
                Some((head, length)) => {
                    self.in_damage = false;
                    let begin = self.start + CHUNK_HEADER;
                    self.start = begin + length;
                    return Ok(Some((head, &self.buffer[begin..begin + length], skipped)));
                }
                None => {
                    skipped = true;
                    self.skip_to_marker()?;
                }
            }
        }
    }

    fn offset(&self) -> u64 {
        self.passed + self.start as u64
    }

    /// Looks whether a whole chunk starts at `start`.
    fn whole(&mut self, problems: &mut Problems) -> io::Result<Option<(Head, usize)>> {
        let offset = self.offset();
        let head = &self.buffer[self.start..self.start + CHUNK_HEADER];
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (code, stream, events, length, sum) = (head[4], word(8), word(12), word(16) as usize, word(20));
        let marked = head[..4] == MARKER && length <= LONGEST;
        if !marked {
            self.damage(problems, format!("no chunk starts at byte {offset}, as it should"));
            return Ok(None);
        }
        if self.require(CHUNK_HEADER + length)? < CHUNK_HEADER + length {
            if !self.in_damage {
                problems.lose(u64::from(events));
            }
            self.damage(problems, format!("the trace ends in the middle of the chunk at byte {offset}"));
            return Ok(None);
        }
        let (head, payload) = self.buffer[self.start..self.start + CHUNK_HEADER + length].split_at(CHUNK_HEADER);
        if checksum(&head[..20], payload) != sum {
            if !self.in_damage {
                problems.lose(u64::from(events));
            }
            self.damage(problems, format!("the chunk at byte {offset} is damaged, its {events} events are lost"));
            return Ok(None);
        }
        let Some(kind) = Kind::of(code) else {
            self.damage(problems, format!("the chunk at byte {offset} is of an unknown kind {code}"));
            return Ok(None);
        };
        Ok(Some((Head { kind, stream, events }, length)))
    }

    fn damage(&mut self, problems: &mut Problems, message: String) {
        if !self.in_damage {
            problems.add(message);
        }
        self.in_damage = true;
    }

    /// Moves on by at least one byte, to something that looks like a chunk or to the end.
    fn skip_to_marker(&mut self) -> io::Result<()> {
        self.start += 1;
        loop {
            if let Some(at) = memchr::memmem::find(&self.buffer[self.start..], &MARKER) {
                self.start += at;
                return Ok(());
            }
            // The marker may lie across the end of what was read.
            self.start = self.buffer.len().saturating_sub(MARKER.len() - 1).max(self.start);
            let before = self.buffer.len() - self.start;
            if self.require(before + 1)? == before {
                self.start = self.buffer.len();
                return Ok(());
            }
        }
    }

    /// Reads until `length` bytes stand from `start` on, or the input ends; says how many there are.
    fn require(&mut self, length: usize) -> io::Result<usize> {
        while !self.at_end && self.buffer.len() - self.start < length {
            if self.start > 0 {
                self.passed += self.start as u64;
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let kept = self.buffer.len();
            self.buffer.resize(kept + Self::BLOCK, 0);
            let read = loop {
                match self.input.read(&mut self.buffer[kept..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
            self.at_end = read? == 0;
        }
        Ok(self.buffer.len() - self.start)
    }
}
