//! One reader for both forms.

use std::io::Read;

use crate::binary::{BinaryReader, HEADER_LENGTH, MAGIC};
use crate::text::TextReader;
use crate::{Event, Problems, Tables, TraceError};

/// The form of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Text,
    Binary,
}

/// Reads a trace of either form.
pub struct Reader<R> {
    inner: Inner<R>,
}

enum Inner<R> {
    Text(Box<TextReader<R>>),
    Binary(Box<BinaryReader<R>>),
}

impl<R: Read> Reader<R> {
    /// Small enough for a batch to stay in the nearest cache between reader and detector.
    const BATCH: usize = 256;

    /// Tells the form by the first bytes.
    pub fn new(mut input: R) -> Result<Reader<R>, TraceError> {
        let mut begun = Vec::new();
        input.by_ref().take(HEADER_LENGTH as u64).read_to_end(&mut begun)?;
        let inner = if begun.starts_with(&MAGIC) {
            Inner::Binary(Box::new(BinaryReader::new(begun, input)?))
        } else {
            if let Some(what) = foreign(&begun) {
                return Err(TraceError::Foreign(what.to_owned()));
            }
            Inner::Text(Box::new(TextReader::new(begun, input)))
        };
        Ok(Reader { inner })
    }

    pub fn form(&self) -> Form {
        match self.inner {
            Inner::Text(_) => Form::Text,
            Inner::Binary(_) => Form::Binary,
        }
    }

    /// Replaces the batch by the next events; an empty batch is the end.
    pub fn next(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        self.fill(batch, Self::BATCH)
    }

    /// Like [`Reader::next`], with about `limit` events.
    pub fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        match &mut self.inner {
            Inner::Text(reader) => reader.fill(batch, limit),
            Inner::Binary(reader) => reader.fill(batch, limit),
        }
    }

    /// The names of all that the events so far refer to.
    pub fn tables(&self) -> &Tables {
        match &self.inner {
            Inner::Text(reader) => reader.tables(),
            Inner::Binary(reader) => reader.tables(),
        }
    }

    /// What was wrong so far.
    pub fn problems(&self) -> &Problems {
        match &self.inner {
            Inner::Text(reader) => reader.problems(),
            Inner::Binary(reader) => reader.problems(),
        }
    }

    /// How many events had to be put in some order because what they come after is missing.
    pub fn out_of_order(&self) -> u64 {
        match &self.inner {
            Inner::Text(_) => 0,
            Inner::Binary(reader) => reader.out_of_order(),
        }
    }
}

/// What gives the events of a run, in an order that it had.
pub trait Events {
    /// Replaces the batch by about `limit` next events; an empty batch is the end.
    fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError>;

    /// The names of all that the events so far refer to.
    fn tables(&self) -> &Tables;
}

impl<R: Read> Events for Reader<R> {
    fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError> {
        Reader::fill(self, batch, limit)
    }

    fn tables(&self) -> &Tables {
        Reader::tables(self)
    }
}

/// Files that people give by mistake, by their first bytes.
fn foreign(begun: &[u8]) -> Option<&'static str> {
    match begun {
        [] => Some("it is empty"),
        [b'P', b'K', 3 | 5, ..] => Some("it is a zip or jar file"),
        [0xca, 0xfe, 0xba, 0xbe, ..] => Some("it is a class file"),
        [0x1f, 0x8b, ..] => Some("it is compressed with gzip: unpack it first"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it is text in UTF-16: write it in UTF-8"),
        [0x93, b'F', b'I', b'S', ..] => Some("its header is damaged, perhaps by a transfer as text"),
        bytes if bytes.contains(&0) => Some("it is a binary file of another kind"),
        _ => None,
    }
}
