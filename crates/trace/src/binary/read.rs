//! Reads a binary trace: chunk by chunk, with the streams of threads merged.

use std::io::Read;

use super::chunk::{ChunkReader, Kind};
use super::events::{Decoder, Limits};
use super::merge::Merger;
use super::rows::take_rows;
use super::{HEADER_LENGTH, MAGIC, VERSION};
use crate::{Action, Event, Problems, Tables, ThreadId, TraceError};

/// Bytes of chunks that wait for others. Beyond, order is given up.
const MOST_WAITING: usize = 1 << 28;

pub(crate) struct BinaryReader<R> {
    chunks: ChunkReader<R>,
    tables: Tables,
    /// Rows read, of all tables.
    rows: usize,
    limits: Limits,
    problems: Problems,
    /// The chunk of ordered events that is being decoded.
    payload: Vec<u8>,
    decoder: Option<Decoder>,
    merger: Merger<Limits>,
    /// Whether the end mark was seen, and whether the input is at its end.
    closed: bool,
    at_end: bool,
    last_thread: ThreadId,
}

impl<R: Read> BinaryReader<R> {
    /// `begun` starts with [`MAGIC`] and holds the whole header, unless the input ends in it.
    pub(crate) fn new(begun: Vec<u8>, input: R) -> Result<BinaryReader<R>, TraceError> {
        if begun.len() < HEADER_LENGTH {
            return Err(TraceError::Foreign("it ends in its header".to_owned()));
        }
        debug_assert!(begun.starts_with(&MAGIC));
        let version = u16::from_le_bytes([begun[8], begun[9]]);
        if version > VERSION {
            return Err(TraceError::Newer { found: version, known: VERSION });
        }
        let tables = Tables::default();
        Ok(BinaryReader {
            chunks: ChunkReader::new(begun, HEADER_LENGTH, input),
            rows: 0,
            limits: Limits::of(&tables),
            tables,
            problems: Problems::default(),
            payload: Vec::new(),
            decoder: None,
            merger: Merger::default(),
            closed: false,
            at_end: false,
            last_thread: ThreadId(0),
        })
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Appends up to `limit` events, a few more after damage; appends none at the end of the input.
    pub(crate) fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let before = batch.len();
                if decoder.ordered(&self.payload, &self.limits, batch, limit).is_none() {
                    self.decoder = None;
                    self.problems.add("the events of a chunk make no sense from some point on".to_owned());
                    batch.push(self.gap());
                } else if batch.len() == before {
                    self.decoder = None;
                }
            } else {
                self.merger.drain(&mut self.limits, batch, limit);
            }
            if let Some(last) = batch.last() {
                self.last_thread = last.thread;
            }
            if batch.len() >= limit {
                return Ok(());
            }
            if self.decoder.is_some() {
                continue;
            }
            if self.at_end || self.merger.bytes() > MOST_WAITING {
                if self.merger.force(batch) {
                    continue;
                }
                if self.at_end {
                    return Ok(());
                }
            }
            self.next_chunk(batch)?;
        }
    }

    fn next_chunk(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        let Some((head, payload, skipped)) = self.chunks.next(&mut self.problems)? else {
            self.at_end = true;
            if !self.closed {
                self.problems.add("the trace has no end mark: its recording was cut off".to_owned());
            }
            self.tell_merger_problems();
            return Ok(());
        };
        match head.kind {
            Kind::Rows => {
                if take_rows(payload, &mut self.tables, &mut self.rows).is_none() {
                    self.problems.add("the names in a chunk make no sense from some point on".to_owned());
                }
                self.limits = Limits::of(&self.tables);
            }
            Kind::Ordered => {
                self.payload.clear();
                self.payload.extend_from_slice(payload);
                self.decoder = Some(Decoder::new(ThreadId(0)));
            }
            Kind::Stream => {
                if head.stream as usize > self.tables.threads.len() + super::rows::SLACK {
                    self.problems.add(format!("a chunk belongs to a thread {} that nobody named", head.stream));
                } else {
                    self.merger.add(&self.limits, ThreadId(head.stream), payload.to_vec());
                }
            }
            Kind::End => self.closed = true,
        }
        if skipped {
            batch.push(self.gap());
        }
        Ok(())
    }

    /// Nobody knows whose events were lost, so every thread's open units and held locks are in doubt.
    fn gap(&self) -> Event {
        Event::new(self.last_thread, Action::Lost { events: 0, all: true })
    }

    fn tell_merger_problems(&mut self) {
        if self.merger.broken() > 0 {
            self.problems
                .add(format!("the events of {} chunks make no sense from some point on", self.merger.broken()));
        }
    }

    /// Events whose place among those of other threads could not be kept, because what they wait for is missing.
    pub(crate) fn out_of_order(&self) -> u64 {
        self.merger.forced()
    }
}
