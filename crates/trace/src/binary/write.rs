//! Writes binary traces: in one order, or as streams of threads.

use std::io::{self, Write};

use super::chunk::{Head, Kind, put_chunk};
use super::events::Encoder;
use super::order::Order;
use super::rows::Written;
use super::{HEADER_LENGTH, MAGIC, VERSION};
use crate::{Event, Tables, ThreadId};

/// Large enough to make the chunk's own bytes negligible, small enough to lose little when one is damaged.
const CHUNK_SIZE: usize = 1 << 14;

/// Header, rows and chunks, for both kinds of writer.
struct Output<W> {
    output: W,
    written: Written,
    pending: Vec<u8>,
}

impl<W: Write> Output<W> {
    fn new(mut output: W) -> io::Result<Output<W>> {
        let mut header = [0; HEADER_LENGTH];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&VERSION.to_le_bytes());
        output.write_all(&header)?;
        Ok(Output { output, written: Written::default(), pending: Vec::new() })
    }

    /// Rows go before the events that refer to them.
    fn rows(&mut self, tables: &Tables) -> io::Result<()> {
        let mut rows = Vec::new();
        loop {
            rows.clear();
            let all = self.written.put_new(tables, &mut rows, CHUNK_SIZE);
            if !rows.is_empty() {
                self.chunk(Head { kind: Kind::Rows, stream: 0, events: 0 }, &rows)?;
            }
            if all {
                return Ok(());
            }
        }
    }

    fn chunk(&mut self, head: Head, payload: &[u8]) -> io::Result<()> {
        self.pending.clear();
        put_chunk(&mut self.pending, head, payload);
        self.output.write_all(&self.pending)
    }

    fn finish(mut self) -> io::Result<W> {
        self.chunk(Head { kind: Kind::End, stream: 0, events: 0 }, &[])?;
        self.output.flush()?;
        Ok(self.output)
    }
}

/// Writes events in the order in which they are given.
pub struct OrderedWriter<W: Write> {
    output: Output<W>,
    encoder: Encoder,
}

impl<W: Write> OrderedWriter<W> {
    pub fn new(output: W) -> io::Result<OrderedWriter<W>> {
        Ok(OrderedWriter { output: Output::new(output)?, encoder: Encoder::new() })
    }

    /// `tables` must hold what the event refers to; rows are written as they come up.
    pub fn event(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        self.encoder.event(event);
        if self.encoder.bytes.len() >= CHUNK_SIZE {
            self.flush(tables)?;
        }
        Ok(())
    }

    /// Where the finished chunks went.
    pub fn output(&mut self) -> &mut W {
        &mut self.output.output
    }

    fn flush(&mut self, tables: &Tables) -> io::Result<()> {
        self.output.rows(tables)?;
        if self.encoder.count > 0 {
            let head = Head { kind: Kind::Ordered, stream: 0, events: self.encoder.count };
            self.output.chunk(head, self.encoder.bytes.written())?;
            self.encoder.clear();
        }
        Ok(())
    }

    pub fn finish(mut self, tables: &Tables) -> io::Result<W> {
        self.flush(tables)?;
        self.output.finish()
    }
}

/// Events of one thread that are put together for a chunk.
pub struct ThreadEvents {
    encoder: Encoder,
    thread: ThreadId,
    segment: Option<u64>,
}

impl ThreadEvents {
    pub fn new(thread: ThreadId) -> ThreadEvents {
        ThreadEvents { encoder: Encoder::of_thread(thread), thread, segment: None }
    }

    /// Forgets what it has, and goes on with events of this thread.
    pub fn begin(&mut self, thread: ThreadId) {
        self.encoder.clear();
        self.encoder.set_thread(thread);
        self.thread = thread;
        self.segment = None;
    }

    #[inline]
    pub fn count(&self) -> u32 {
        self.encoder.count
    }

    /// Adds an event of the thread, with its segment and its order.
    #[inline(always)]
    pub fn push(&mut self, event: &Event, segment: u64, order: Order) {
        if self.segment != Some(segment) {
            let next = self.segment.and_then(|last| last.checked_add(1));
            self.encoder.segment(segment, next == Some(segment));
        }
        self.segment = Some(segment);
        self.encoder.event(&Event { thread: self.thread, ..*event });
        self.encoder.order(order);
    }
}

/// Writes each thread's events as the thread made them, in whatever order the threads' buffers become full.
pub struct StreamWriter<W: Write> {
    output: Output<W>,
}

impl<W: Write> StreamWriter<W> {
    pub fn new(output: W) -> io::Result<StreamWriter<W>> {
        Ok(StreamWriter { output: Output::new(output)? })
    }

    /// Writes one chunk of a thread's events, each with its segment and its order.
    pub fn chunk(&mut self, thread: ThreadId, events: &[(Event, u64, Order)], tables: &Tables) -> io::Result<()> {
        let mut encoded = ThreadEvents::new(thread);
        for (event, segment, order) in events {
            encoded.push(event, *segment, *order);
        }
        self.write(&mut encoded, tables)
    }

    /// Writes what was put together as one chunk, and makes it empty.
    pub fn write(&mut self, events: &mut ThreadEvents, tables: &Tables) -> io::Result<()> {
        self.output.rows(tables)?;
        let head = Head { kind: Kind::Stream, stream: events.thread.0, events: events.encoder.count };
        self.output.chunk(head, events.encoder.bytes.written())?;
        events.begin(events.thread);
        Ok(())
    }

    /// Writes a chunk that readers take for a damaged one, in the place of events that were lost before they came here.
    pub fn damage(&mut self, events: u32) -> io::Result<()> {
        self.output.pending.clear();
        put_chunk(&mut self.output.pending, Head { kind: Kind::Stream, stream: 0, events }, &[]);
        // The checksum, which stands last where there is no payload.
        if let Some(last) = self.output.pending.last_mut() {
            *last = !*last;
        }
        self.output.output.write_all(&self.output.pending)
    }

    /// Where the finished chunks went.
    pub fn output(&mut self) -> &mut W {
        &mut self.output.output
    }

    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}
