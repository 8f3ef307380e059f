//! Numbers of fields, and the file of rows that says what they stand for.

use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use recording::{Block, ROWS, Row, put_row};
use rustc_hash::FxHashMap;

pub(crate) struct Names {
    rows: File,
    /// The trace, if the agent writes it itself.
    trace: Option<File>,
    fields: FxHashMap<(String, String), u32>,
    bytes: Vec<u8>,
    block: Block,
}

impl Names {
    pub(crate) fn create(folder: &Path, trace: Option<File>) -> io::Result<Names> {
        let rows = OpenOptions::new().append(true).create_new(true).open(folder.join(ROWS))?;
        Ok(Names { rows, trace, fields: FxHashMap::default(), bytes: Vec::new(), block: Block::default() })
    }

    /// Rows are in the file before this returns: records may refer to them at once.
    pub(crate) fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        self.bytes.clear();
        for row in rows {
            put_row(&mut self.bytes, row);
        }
        if let Some(trace) = &mut self.trace {
            self.block.rows(&self.bytes);
            trace.write_all(self.block.bytes())?;
        }
        self.rows.write_all(&self.bytes)
    }

    /// The number of a field, from 1; 0 if its row could not be written.
    pub(crate) fn field(&mut self, owner: String, name: String) -> u32 {
        let next = self.fields.len() as u32 + 1;
        match self.fields.entry((owner, name)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let (owner, name) = new.key().clone();
                new.insert(next);
                let row = Row::Field { number: next, owner, name };
                if self.write(&[row]).is_ok() { next } else { 0 }
            }
        }
    }
}
