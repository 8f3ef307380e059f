//! Rows: what the numbers in records stand for.
//!
//! A row is its length (4 bytes, little-endian), its kind (1 byte), and its fields: numbers of 4 bytes, texts with their
//! length before them. Texts are as the JVM gives them and may be any bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::raw::open;

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    Class {
        number: u32,
        name: String,
    },
    Thread {
        number: u32,
        name: String,
    },
    Field {
        number: u32,
        owner: String,
        name: String,
    },
    Site {
        number: u32,
        class: String,
        method: String,
        descriptor: String,
        file: String,
        line: u32,
        offset: u32,
    },
    Unit {
        number: u32,
        name: String,
    },
    /// Something went wrong, or is worth knowing: told to people.
    Note {
        text: String,
    },
    /// How many classes were instrumented, and how many could not be.
    Classes {
        instrumented: u32,
        failed: u32,
    },
    /// The JVM ended by itself.
    End,
}

/// No row is longer: a longer one is damage.
const LONGEST: usize = 1 << 20;

pub fn put_row(out: &mut Vec<u8>, row: &Row) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let kind = match row {
        Row::Class { .. } => 1,
        Row::Thread { .. } => 2,
        Row::Field { .. } => 3,
        Row::Site { .. } => 4,
        Row::Unit { .. } => 5,
        Row::Note { .. } => 6,
        Row::Classes { .. } => 7,
        Row::End => 8,
    };
    out.push(kind);
    match row {
        Row::Class { number, name } | Row::Thread { number, name } | Row::Unit { number, name } => {
            put_number(out, *number);
            put_text(out, name);
        }
        Row::Field { number, owner, name } => {
            put_number(out, *number);
            put_text(out, owner);
            put_text(out, name);
        }
        Row::Site { number, class, method, descriptor, file, line, offset } => {
            put_number(out, *number);
            for text in [class, method, descriptor, file] {
                put_text(out, text);
            }
            put_number(out, *line);
            put_number(out, *offset);
        }
        Row::Note { text } => put_text(out, text),
        Row::Classes { instrumented, failed } => {
            put_number(out, *instrumented);
            put_number(out, *failed);
        }
        Row::End => {}
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // A name of hundreds of kilobytes is nobody's; the row must stay readable.
    let mut end = text.len().min(LONGEST / 8);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_number(out, end as u32);
    out.extend_from_slice(&text.as_bytes()[..end]);
}

/// The file of rows, read as far as it is there.
pub(crate) struct RowsFile {
    path: PathBuf,
    file: Option<File>,
    at: u64,
    is_damaged: bool,
}

impl RowsFile {
    /// Read at once.
    const PIECE: usize = 1 << 18;

    /// The file need not be there yet.
    pub(crate) fn new(path: PathBuf) -> RowsFile {
        RowsFile { path, file: None, at: 0, is_damaged: false }
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Hands out the rows that are new.
    pub(crate) fn read(&mut self, mut take: impl FnMut(Row)) -> io::Result<()> {
        if self.file.is_none() {
            self.file = open(&self.path, false)?;
        }
        let Some(file) = &self.file else { return Ok(()) };
        if file.metadata()?.len() == self.at {
            return Ok(());
        }
        let mut bytes = vec![0; RowsFile::PIECE];
        let mut begun = Vec::new();
        loop {
            let read = file.read_at(&mut bytes, self.at + begun.len() as u64)?;
            if read == 0 || self.is_damaged {
                return Ok(());
            }
            begun.extend_from_slice(&bytes[..read]);
            let (at, is_damaged) = take_rows(&begun, &mut take);
            self.is_damaged = is_damaged;
            self.at += at as u64;
            begun.drain(..at);
        }
    }
}

/// Hands out the whole rows that some bytes begin with: how many bytes these were, and whether the rest is damaged.
pub(crate) fn take_rows(bytes: &[u8], mut take: impl FnMut(Row)) -> (usize, bool) {
    let mut at = 0;
    loop {
        match take_row(&bytes[at..]) {
            Taken::Row(row, length) => {
                at += length;
                if let Some(row) = row {
                    take(row);
                }
            }
            Taken::Cut => return (at, false),
            Taken::Damaged => return (at, true),
        }
    }
}

/// What the start of some bytes is.
pub(crate) enum Taken {
    /// A row, and how many bytes it took; no row if it makes no sense.
    Row(Option<Row>, usize),
    /// More bytes are needed.
    Cut,
    /// The rest is damaged.
    Damaged,
}

pub(crate) fn take_row(bytes: &[u8]) -> Taken {
    let Some(length) = bytes.get(..4) else { return Taken::Cut };
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length == 0 || length > LONGEST {
        return Taken::Damaged;
    }
    match bytes.get(4..4 + length) {
        Some(row) => Taken::Row(parse(row), 4 + length),
        None => Taken::Cut,
    }
}

fn parse(mut bytes: &[u8]) -> Option<Row> {
    let from = &mut bytes;
    let (&kind, rest) = from.split_first()?;
    *from = rest;
    Some(match kind {
        1 => Row::Class { number: number(from)?, name: text(from)? },
        2 => Row::Thread { number: number(from)?, name: text(from)? },
        3 => Row::Field { number: number(from)?, owner: text(from)?, name: text(from)? },
        4 => Row::Site {
            number: number(from)?,
            class: text(from)?,
            method: text(from)?,
            descriptor: text(from)?,
            file: text(from)?,
            line: number(from)?,
            offset: number(from)?,
        },
        5 => Row::Unit { number: number(from)?, name: text(from)? },
        6 => Row::Note { text: text(from)? },
        7 => Row::Classes { instrumented: number(from)?, failed: number(from)? },
        8 => Row::End,
        _ => return None,
    })
}

fn number(from: &mut &[u8]) -> Option<u32> {
    let (bytes, rest) = from.split_at_checked(4)?;
    *from = rest;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn text(from: &mut &[u8]) -> Option<String> {
    let length = number(from)? as usize;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_and_a_cut_one_waits() {
        let rows = [
            Row::Class { number: 3, name: "a.B".into() },
            Row::Thread { number: 1, name: "main".into() },
            Row::Field { number: 9, owner: "a.B".into(), name: "x".into() },
            Row::Site {
                number: 4,
                class: "a.B".into(),
                method: "m".into(),
                descriptor: "()V".into(),
                file: String::new(),
                line: 7,
                offset: 70_000,
            },
            Row::Unit { number: 1, name: String::new() },
            Row::Note { text: "ä\n".into() },
            Row::Classes { instrumented: 1, failed: 2 },
            Row::End,
        ];
        let mut bytes = Vec::new();
        for row in &rows {
            put_row(&mut bytes, row);
        }
        let mut at = 0;
        for row in &rows {
            let Taken::Row(taken, length) = take_row(&bytes[at..]) else { panic!("no row") };
            assert_eq!(taken.as_ref(), Some(row));
            for cut in at..at + length {
                assert!(matches!(take_row(&bytes[at..cut]), Taken::Cut));
            }
            at += length;
        }
        assert_eq!(at, bytes.len());
        assert!(matches!(take_row(&[0xff; 9]), Taken::Damaged));
    }
}
