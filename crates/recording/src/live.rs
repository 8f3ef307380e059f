//! The events of a JVM that runs, in an order that the run had, without a trace in between.
//!
//! [`Follow`](crate::Follow) reads the agent's files and gives pieces of them, mostly on a thread of its own. What records
//! mean is worked out here, when their turn comes: until then they wait as they are.

use std::io;
use std::sync::mpsc::Receiver;

use trace::{Decode, Event, Events, Items, Merger, Tables, ThreadId, TraceError};

use crate::convert::by_writer;
use crate::meaning::{Meaning, State};
use crate::record::{self, Record};
use crate::rows::Row;

/// Bytes of records that wait for others. Beyond, order is given up.
const MOST_WAITING: usize = 1 << 29;

/// What was found in the agent's files.
pub enum Piece {
    /// Rows of names, before the records that refer to them.
    Rows(Vec<Row>),
    /// Whole records of one thread, by its number.
    Records(u32, Vec<u64>),
}

/// Collects pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    pub(crate) found: Vec<Piece>,
    /// Records so far, counted in numbers.
    pub(crate) numbers: u64,
}

impl Pieces {
    pub(crate) fn row(&mut self, row: &Row) {
        match self.found.last_mut() {
            Some(Piece::Rows(rows)) => rows.push(row.clone()),
            _ => self.found.push(Piece::Rows(vec![row.clone()])),
        }
    }

    /// Takes the numbers of a chunk away.
    pub(crate) fn chunk(&mut self, thread: u32, writer: &mut u32, numbers: &mut Vec<u64>) {
        self.numbers += numbers.len() as u64;
        if thread != 0 {
            self.found.push(Piece::Records(thread, std::mem::take(numbers)));
            return;
        }
        let found = &mut self.found;
        let _: Result<(), std::convert::Infallible> = by_writer(writer, numbers, |writer, numbers| {
            if !numbers.is_empty() {
                found.push(Piece::Records(writer, numbers.to_vec()));
            }
            Ok(())
        });
    }
}

/// A thread's records that are being read.
pub(crate) struct Position {
    thread: ThreadId,
    state: State,
    /// How much of the chunk was read.
    at: usize,
}

impl Decode for Meaning {
    type Chunk = Vec<u64>;
    type State = Position;

    fn begin(&self, thread: ThreadId) -> Position {
        Position { thread, state: State::default(), at: 0 }
    }

    fn decode(&mut self, position: &mut Position, chunk: &Vec<u64>, items: &mut Items) -> bool {
        let mut rest = chunk.get(position.at..).unwrap_or_default();
        while let Some(&head) = rest.first() {
            if !items.has_room() {
                break;
            }
            let length = record::length(record::operation(head));
            let Some((numbers, others)) = length.and_then(|length| rest.split_at_checked(length)) else {
                self.broken += 1;
                return false;
            };
            rest = others;
            self.record(&mut position.state, position.thread, Record::new(numbers), items);
        }
        position.at = chunk.len() - rest.len();
        true
    }

    fn end(&self, position: &mut Position) {
        position.at = 0;
    }

    fn bytes(chunk: &Vec<u64>) -> usize {
        chunk.len() * 8
    }
}

/// The events of a JVM, of whose files the pieces come.
pub struct LiveEvents {
    pieces: Receiver<io::Result<Vec<Piece>>>,
    meaning: Meaning,
    merger: Merger<Meaning>,
    at_end: bool,
}

impl LiveEvents {
    /// The events are over when nobody sends pieces any more.
    pub fn new(pieces: Receiver<io::Result<Vec<Piece>>>) -> LiveEvents {
        LiveEvents { pieces, meaning: Meaning::default(), merger: Merger::default(), at_end: false }
    }

    /// Records that made no sense.
    pub fn broken(&self) -> u64 {
        self.meaning.broken
    }

    /// How many events had to be put in some order because what they come after is missing.
    pub fn out_of_order(&self) -> u64 {
        self.merger.forced()
    }

    fn take(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Rows(rows) => rows.iter().for_each(|row| self.meaning.names.row(row)),
                Piece::Records(number, records) => {
                    let thread = self.meaning.names.thread(number);
                    self.merger.add(&self.meaning, thread, records);
                }
            }
        }
    }
}

impl Events for LiveEvents {
    fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        loop {
            self.merger.drain(&mut self.meaning, batch, limit);
            if batch.len() >= limit {
                return Ok(());
            }
            if (self.at_end || self.merger.bytes() > MOST_WAITING) && self.merger.force(batch) {
                continue;
            }
            if self.at_end {
                return Ok(());
            }
            match self.pieces.recv() {
                Ok(pieces) => self.take(pieces?),
                Err(_) => self.at_end = true,
            }
        }
    }

    fn tables(&self) -> &Tables {
        &self.meaning.names.tables
    }
}
