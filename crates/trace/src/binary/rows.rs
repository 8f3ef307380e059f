//! Rows of the tables as bytes. Each row has its own number, so that a lost chunk does not move the names of the rest.

use super::bytes::{Cursor, put};
use crate::{Frame, ObjectId, Part, SiteId, StackId, StringId, Tables, Thing};

const STRING: u8 = 1;
const THREAD: u8 = 2;
const VARIABLE: u8 = 3;
const LOCK: u8 = 4;
const SITE: u8 = 5;
const STACK: u8 = 6;
const UNIT: u8 = 7;
const BARRIER: u8 = 8;

/// How far a number may be above the count of rows. Tables are vectors: without a limit one damaged number is a vector
/// of four thousand million rows.
pub(super) const SLACK: usize = 1 << 20;

/// How many rows of each table were written.
#[derive(Default)]
pub(super) struct Written {
    strings: usize,
    threads: usize,
    variables: usize,
    locks: usize,
    sites: usize,
    stacks: usize,
    units: usize,
    barriers: usize,
}

impl Written {
    /// Appends the rows that are new since the last call, and stops when the chunk is large; says whether all fitted.
    pub(super) fn put_new(&mut self, tables: &Tables, bytes: &mut Vec<u8>, enough: usize) -> bool {
        // Strings first: the other rows refer to them.
        rows(&mut self.strings, &tables.strings, bytes, enough, STRING, |bytes, text| {
            // A name longer than this is cut, or it would not fit into a chunk.
            let mut end = text.len().min(1 << 16);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            put(bytes, end as u64);
            bytes.extend_from_slice(&text.as_bytes()[..end]);
        }) && rows(&mut self.threads, &tables.threads, bytes, enough, THREAD, |bytes, name| {
            put(bytes, u64::from(name.0))
        }) && rows(&mut self.variables, &tables.variables, bytes, enough, VARIABLE, put_thing)
            && rows(&mut self.locks, &tables.locks, bytes, enough, LOCK, put_thing)
            && rows(&mut self.sites, &tables.sites, bytes, enough, SITE, |bytes, frame| {
                for number in [frame.class.0, frame.method.0, frame.descriptor.0, frame.file.0, frame.line, frame.pc] {
                    put(bytes, u64::from(number));
                }
            })
            && rows(&mut self.stacks, &tables.stacks, bytes, enough, STACK, |bytes, (site, callers)| {
                put(bytes, u64::from(site.0));
                put(bytes, u64::from(callers.0));
            })
            && rows(&mut self.units, &tables.units, bytes, enough, UNIT, |bytes, name| put(bytes, u64::from(name.0)))
            && rows(&mut self.barriers, &tables.barriers, bytes, enough, BARRIER, |bytes, name| {
                put(bytes, u64::from(name.0));
            })
    }
}

fn rows<T>(
    written: &mut usize,
    table: &[T],
    bytes: &mut Vec<u8>,
    enough: usize,
    tag: u8,
    mut body: impl FnMut(&mut Vec<u8>, &T),
) -> bool {
    while let Some(row) = table.get(*written) {
        if bytes.len() >= enough {
            return false;
        }
        bytes.push(tag);
        put(bytes, *written as u64);
        body(bytes, row);
        *written += 1;
    }
    true
}

fn put_thing(bytes: &mut Vec<u8>, thing: &Thing) {
    put(bytes, u64::from(thing.name.0));
    put(bytes, thing.object.0);
    match thing.part {
        Part::Whole => bytes.push(0),
        Part::Contents => bytes.push(1),
        Part::Element(index) => {
            bytes.push(2);
            put(bytes, u64::from(index));
        }
    }
}

/// Takes the rows of a chunk into the tables, and counts them. `None` if they make no sense; those before stay.
pub(super) fn take_rows(payload: &[u8], tables: &mut Tables, count: &mut usize) -> Option<()> {
    let mut cursor = Cursor::new(payload);
    while cursor.left() > 0 {
        let tag = cursor.byte()?;
        let number = cursor.u32()? as usize;
        if number > *count + SLACK {
            return None;
        }
        *count += 1;
        match tag {
            STRING => {
                let length = cursor.u32()? as usize;
                let text = String::from_utf8_lossy(cursor.take(length)?).into_owned();
                set(&mut tables.strings, number, text.into(), "".into());
            }
            THREAD => set(&mut tables.threads, number, StringId(cursor.u32()?), StringId(0)),
            VARIABLE => set(&mut tables.variables, number, take_thing(&mut cursor)?, Thing::default()),
            LOCK => set(&mut tables.locks, number, take_thing(&mut cursor)?, Thing::default()),
            SITE => {
                let frame = Frame {
                    class: StringId(cursor.u32()?),
                    method: StringId(cursor.u32()?),
                    descriptor: StringId(cursor.u32()?),
                    file: StringId(cursor.u32()?),
                    line: cursor.u32()?,
                    pc: cursor.u32()?,
                };
                set(&mut tables.sites, number, frame, Frame::default());
            }
            STACK => {
                let row = (SiteId(cursor.u32()?), StackId(cursor.u32()?));
                set(&mut tables.stacks, number, row, (SiteId(0), StackId(0)));
            }
            UNIT => set(&mut tables.units, number, StringId(cursor.u32()?), StringId(0)),
            BARRIER => set(&mut tables.barriers, number, StringId(cursor.u32()?), StringId(0)),
            _ => return None,
        }
    }
    Some(())
}

fn take_thing(cursor: &mut Cursor<'_>) -> Option<Thing> {
    let name = StringId(cursor.u32()?);
    let object = ObjectId(cursor.u64()?);
    let part = match cursor.byte()? {
        0 => Part::Whole,
        1 => Part::Contents,
        2 => Part::Element(cursor.u32()?),
        _ => return None,
    };
    Some(Thing { name, object, part })
}

fn set<T: Clone>(table: &mut Vec<T>, number: usize, row: T, missing: T) {
    if table.len() <= number {
        table.resize(number + 1, missing);
    }
    table[number] = row;
}
