//! Reads the recorded form of a trace as a binary one.
//!
//! Blocks stand in the file in the order in which chunks became full, and a thread that does little fills its first chunk late
//! or never. So they are read in the order in which chunks were begun: then no event waits for more than one chunk of each
//! thread. Rows come first, all of them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::convert::Converter;
use crate::pack::{Lengths, lengths_of, unpack};
use crate::packed::{BLOCK_HEAD, HEADER, Head, Kind, MARKER, PACKED_MAGIC, UNKNOWN_SEGMENT, VERSION, is_whole};
use crate::rows::take_rows;

/// Read at once while a block is looked for behind damage.
const PIECE: usize = 1 << 16;

/// The bytes of a trace, wherever they are.
pub enum Source {
    File(File),
    /// What came through a pipe.
    Bytes(Vec<u8>),
}

impl Source {
    fn length(&self) -> io::Result<u64> {
        Ok(match self {
            Source::File(file) => file.metadata()?.len(),
            Source::Bytes(bytes) => bytes.len() as u64,
        })
    }

    /// Fills as much as there is; how much that is.
    fn read(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Source::File(file) => {
                let mut read = 0;
                while read < out.len() {
                    match file.read_at(&mut out[read..], at + read as u64) {
                        Ok(0) => break,
                        Ok(more) => read += more,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(read)
            }
            Source::Bytes(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let length = rest.len().min(out.len());
                out[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
        }
    }

    fn head(&self, at: u64) -> io::Result<Option<Head>> {
        let mut bytes = [0; BLOCK_HEAD];
        let read = self.read(&mut bytes, at)?;
        Ok(if read == BLOCK_HEAD { Head::of(&bytes) } else { None })
    }

    /// Replaces `block` by a block, and says whether it is whole.
    fn block(&self, place: &Place, block: &mut Vec<u8>) -> io::Result<bool> {
        block.resize(BLOCK_HEAD + place.head.length as usize, 0);
        let read = self.read(block, place.at)?;
        block.truncate(read);
        Ok(read == BLOCK_HEAD + place.head.length as usize && is_whole(block))
    }
}

/// Where a block is, as far as its head tells.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    head: Head,
}

impl Place {
    fn end(&self) -> u64 {
        self.at + BLOCK_HEAD as u64 + u64::from(self.head.length)
    }
}

/// All blocks of a trace, in the order in which they stand in it.
pub(crate) struct Index {
    places: Vec<Place>,
    /// Stretches that are no blocks: the chunk number before, and the head that the stretch begins with, if it is one.
    damage: Vec<(u64, Option<Head>)>,
    is_closed: bool,
}

impl Index {
    pub(crate) fn events(&self) -> u64 {
        self.records().map(|place| u64::from(place.head.events)).sum()
    }

    /// The numbers of the chunks that are in the trace.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.records().map(|place| place.head.number)
    }

    fn records(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.head.kind == Kind::Records)
    }
}

/// Finds the blocks of a trace by their heads; payloads are not looked at unless something is damaged.
pub(crate) fn index(source: &Source) -> io::Result<Index> {
    let length = source.length()?;
    let mut index = Index { places: Vec::new(), damage: Vec::new(), is_closed: false };
    let mut at = HEADER as u64;
    let mut last = 0;
    let mut block = Vec::new();
    while at < length && !index.is_closed {
        let head = source.head(at)?;
        let place = head.map(|head| Place { at, head });
        let found = match place {
            // One that was cut off leads anywhere but to the next one.
            Some(place) if place.end() == length || place.end() < length && source.head(place.end())?.is_some() => true,
            Some(place) => source.block(&place, &mut block)?,
            None => false,
        };
        if let (Some(place), true) = (place, found) {
            at = place.end();
            if place.head.kind == Kind::Records {
                last = place.head.number;
            }
            index.is_closed = place.head.kind == Kind::End;
            index.places.push(place);
        } else {
            index.damage.push((last, head));
            at = next_marker(source, at + 1)?.unwrap_or(length);
        }
    }
    Ok(index)
}

/// Where the next marker is.
fn next_marker(source: &Source, from: u64) -> io::Result<Option<u64>> {
    let mut piece = vec![0; PIECE];
    let mut at = from;
    loop {
        let read = source.read(&mut piece, at)?;
        if let Some(found) = memchr::memmem::find(&piece[..read], &MARKER) {
            return Ok(Some(at + found as u64));
        }
        if read < PIECE {
            return Ok(None);
        }
        // The marker may lie across the end of what was read.
        at += (read - (MARKER.len() - 1)) as u64;
    }
}

/// What comes next of a trace.
enum Step {
    Block(Place),
    Damage(u32),
}

/// A trace of the recorded form, as a reader of its binary form.
pub struct Unpacked {
    source: Source,
    /// How numbers are packed in it.
    lengths: Lengths,
    converter: Option<Converter>,
    steps: std::vec::IntoIter<Step>,
    is_closed: bool,
    /// Whether something was missing so far.
    has_damage: bool,
    block: Vec<u8>,
    numbers: Vec<u64>,
    bytes: Vec<u8>,
    at: usize,
}

impl Unpacked {
    /// Whether a trace that begins like this is of the recorded form.
    pub fn is_one(begun: &[u8]) -> bool {
        begun.starts_with(&PACKED_MAGIC)
    }

    pub fn new(source: Source) -> io::Result<Unpacked> {
        let mut header = [0; HEADER];
        if source.read(&mut header, 0)? < HEADER {
            return Err(io::Error::other("not a trace: it ends in its header"));
        }
        let found = u16::from_le_bytes([header[8], header[9]]);
        if found > VERSION {
            return Err(io::Error::other(format!(
                "the trace has recorded format {found}, and this version reads formats up to {VERSION}: use a newer fissure"
            )));
        }
        let Index { places, damage, is_closed } = index(&source)?;
        let mut converter = Converter::new()?;
        let mut block = Vec::new();
        let mut steps: Vec<(u64, Step)> = Vec::new();
        let mut whole: FxHashMap<u64, Place> = FxHashMap::default();
        for place in places {
            match place.head.kind {
                Kind::Rows if source.block(&place, &mut block)? => {
                    take_rows(&block[BLOCK_HEAD..], |row| converter.row(&row));
                }
                Kind::Rows => steps.push((0, Step::Damage(0))),
                Kind::Records => {
                    // A chunk that was being written when the JVM was killed was written once more, and is whole then.
                    whole.insert(place.head.number, place);
                }
                Kind::End => {}
            }
        }
        let known: FxHashSet<u64> = whole.keys().copied().collect();
        steps.extend(whole.into_values().map(|place| (place.head.number, Step::Block(place))));
        for (after, head) in damage {
            let events = match head {
                Some(head) if head.kind == Kind::Records && known.contains(&head.number) => continue,
                Some(head) => head.events,
                None => 0,
            };
            steps.push((after, Step::Damage(events)));
        }
        // Blocks of one number are one, so this is one order; damage comes behind the block before it.
        steps.sort_by_key(|(number, step)| (*number, matches!(step, Step::Damage(_))));
        let steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
        Ok(Unpacked {
            source,
            lengths: lengths_of(found),
            converter: Some(converter),
            steps: steps.into_iter(),
            is_closed,
            has_damage: false,
            block,
            numbers: Vec::new(),
            bytes: Vec::new(),
            at: 0,
        })
    }

    /// More bytes of the binary form, unless it is at its end.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(converter) = &mut self.converter else { return Ok(false) };
        match self.steps.next() {
            Some(Step::Block(place)) => {
                let head = place.head;
                let is_whole = self.source.block(&place, &mut self.block)?
                    && unpack(&self.block[BLOCK_HEAD..], self.lengths, &mut self.numbers).is_some();
                if is_whole {
                    if self.has_damage && head.thread != 0 && head.segment != UNKNOWN_SEGMENT {
                        converter.set_segment(head.thread, head.segment);
                    }
                    converter.chunk(head.thread, &mut 0, &self.numbers)?;
                } else {
                    self.has_damage = true;
                    converter.lose(head.events)?;
                }
                self.bytes = converter.take();
            }
            Some(Step::Damage(events)) => {
                self.has_damage = true;
                converter.lose(events)?;
                self.bytes = converter.take();
            }
            None => {
                if let Some(mut converter) = self.converter.take() {
                    self.bytes = if self.is_closed { converter.finish()? } else { converter.take() };
                }
            }
        }
        self.at = 0;
        Ok(true)
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() {
            if !self.advance()? {
                return Ok(0);
            }
        }
        let length = out.len().min(self.bytes.len() - self.at);
        out[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
