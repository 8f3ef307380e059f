//! Numbers of sites, fields and field references, and the file of rows that says what they stand for.

use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use recording::{ROWS, Row, put_row};
use rustc_hash::{FxHashMap, FxHashSet};

/// A field as some class's code names it.
#[derive(Clone)]
pub(crate) struct Reference {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) descriptor: String,
    pub(crate) is_static: bool,
}

pub(crate) struct Names {
    rows: File,
    /// By their numbers.
    references: Vec<Reference>,
    fields: FxHashMap<(String, String), u32>,
    /// Fields that instrumented classes declare, by the class's name with dots.
    declared: FxHashSet<(String, String)>,
    bytes: Vec<u8>,
}

impl Names {
    pub(crate) fn create(folder: &Path) -> io::Result<Names> {
        let rows = OpenOptions::new().append(true).create_new(true).open(folder.join(ROWS))?;
        Ok(Names {
            rows,
            references: Vec::new(),
            fields: FxHashMap::default(),
            declared: FxHashSet::default(),
            bytes: Vec::new(),
        })
    }

    /// Rows are in the file before this returns: records may refer to them at once.
    pub(crate) fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        self.bytes.clear();
        for row in rows {
            put_row(&mut self.bytes, row);
        }
        self.rows.write_all(&self.bytes)
    }

    pub(crate) fn add_references(&mut self, references: impl Iterator<Item = Reference>) {
        self.references.extend(references);
    }

    pub(crate) fn declare(&mut self, class: &str, fields: impl Iterator<Item = String>) {
        self.declared.extend(fields.map(|field| (class.to_owned(), field)));
    }

    pub(crate) fn reference(&self, number: u32) -> Option<&Reference> {
        self.references.get(number as usize)
    }

    pub(crate) fn declares(&self, class: String, field: String) -> bool {
        self.declared.contains(&(class, field))
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
