//! Writes binary traces: in one order, or as streams of threads.

use std::io::{self, Write};

use super::chunk::{Head, Kind, put_chunk};
use super::events::{Encoder, Order};
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
            self.output.chunk(head, &self.encoder.bytes)?;
            self.encoder.clear();
        }
        Ok(())
    }

    pub fn finish(mut self, tables: &Tables) -> io::Result<W> {
        self.flush(tables)?;
        self.output.finish()
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
        self.output.rows(tables)?;
        let mut encoder = Encoder::of_thread(thread);
        let mut segment = None;
        for (event, own, order) in events {
            if segment != Some(*own) {
                encoder.segment(*own);
                segment = Some(*own);
            }
            encoder.event(&Event { thread, ..*event });
            encoder.order(*order);
        }
        let head = Head { kind: Kind::Stream, stream: thread.0, events: encoder.count };
        self.output.chunk(head, &encoder.bytes)
    }

    /// Where the finished chunks went.
    pub fn output(&mut self) -> &mut W {
        &mut self.output.output
    }

    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}
