//! Records and rows in, a binary trace out.

use std::io;

use trace::{StreamWriter, ThreadEvents, ThreadId};

use crate::meaning::{Meaning, State};
use crate::names::at;
use crate::record::{self, Record};
use crate::rows::Row;

/// Events of a thread that go into one chunk of the trace.
const CHUNK: u32 = 4096;

/// Makes a trace of records, and keeps the numbers of both sides together.
pub struct Converter {
    writer: StreamWriter<Vec<u8>>,
    meaning: Meaning,
    /// By the thread's number in the recording.
    states: Vec<State>,
    pending: ThreadEvents,
    events: u64,
}

impl Converter {
    pub fn new() -> io::Result<Converter> {
        Ok(Converter {
            writer: StreamWriter::new(Vec::new())?,
            meaning: Meaning::default(),
            states: Vec::new(),
            pending: ThreadEvents::new(ThreadId::default()),
            events: 0,
        })
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Records that made no sense.
    pub fn broken(&self) -> u64 {
        self.meaning.broken
    }

    /// The trace's bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.output())
    }

    /// Ends the trace; what was not yet taken.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.writer.finish()
    }

    pub(crate) fn row(&mut self, row: &Row) {
        self.meaning.names.row(row);
    }

    /// Some records of a chunk: of one thread, or if that is 0, of those that take turns, of whom `writer` is the last.
    pub(crate) fn chunk(&mut self, thread: u32, writer: &mut u32, numbers: &[u64]) -> io::Result<()> {
        if thread != 0 {
            return self.records(thread, numbers);
        }
        by_writer(writer, numbers, |writer, numbers| self.records(writer, numbers))
    }

    /// The thread is in this segment, whatever its records said so far.
    pub(crate) fn set_segment(&mut self, thread: u32, segment: u64) {
        at(&mut self.states, thread).segment = segment;
    }

    /// Records are missing, nobody knows whose: what they left unsaid counts no more. Stands in the trace as damage of so many
    /// events.
    pub(crate) fn lose(&mut self, events: u32) -> io::Result<()> {
        for state in &mut self.states {
            state.activations.clear();
            state.held.clear();
        }
        self.writer.damage(events)
    }

    /// Some records of one thread, in its order. What they refer to has its rows already.
    pub(crate) fn records(&mut self, number: u32, records: &[u64]) -> io::Result<()> {
        let thread = self.meaning.names.thread(number);
        self.pending.begin(thread);
        let mut state = std::mem::take(at(&mut self.states, number));
        let mut rest = records;
        while let Some(&head) = rest.first() {
            let Some(length) = record::length(record::operation(head)) else {
                self.meaning.broken += 1;
                break;
            };
            let Some((numbers, others)) = rest.split_at_checked(length) else { break };
            rest = others;
            self.meaning.record(&mut state, thread, Record::new(numbers), &mut self.pending);
            if self.pending.count() >= CHUNK {
                self.flush()?;
            }
        }
        *at(&mut self.states, number) = state;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending.count() > 0 {
            self.events += u64::from(self.pending.count());
            self.writer.write(&mut self.pending, &self.meaning.names.tables)?;
        }
        Ok(())
    }
}

/// Hands on the records of a chunk that threads share, those of each thread together.
pub(crate) fn by_writer<E>(
    writer: &mut u32,
    numbers: &[u64],
    mut take: impl FnMut(u32, &[u64]) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = 0;
    let mut at = 0;
    while at < numbers.len() {
        let operation = record::operation(numbers[at]);
        let Some(length) = record::length(operation) else { break };
        if operation == record::WRITER {
            take(*writer, &numbers[start..at])?;
            *writer = numbers[at + 1] as u32;
            start = at + length;
        }
        at += length;
    }
    take(*writer, &numbers[start..])
}
