//! The table of frames (`StackMapTable`): what types lie where, at places that are jumped to.

use super::code::LocalsAtHandler;
use super::cursor::Cursor;
use super::relocate::Moved;
use crate::Error;

const SAME_WITH_ITEM: u8 = 64;
const SAME_WITH_ITEM_FAR: u8 = 247;
const SAME_FAR: u8 = 251;
const FULL: u8 = 255;

const OBJECT: u8 = 7;
const UNINITIALIZED: u8 = 8;

/// The frame of an added handler.
pub(super) struct Added {
    pub(super) at: u16,
    pub(super) locals: LocalsAtHandler,
    pub(super) throwable: u16,
}

/// The offsets that have frames, in order.
pub(super) fn offsets(content: &[u8]) -> Result<Vec<u32>, Error> {
    let mut offsets = Vec::new();
    each(content, |at, _, _| {
        offsets.push(at);
        Ok(())
    })?;
    Ok(offsets)
}

/// The table for moved code, with the frames of added handlers, which lie behind all others.
pub(super) fn relocate(content: &[u8], moved: &Moved, added: &[Added]) -> Result<Vec<u8>, Error> {
    let count = usize::from(Cursor::new(content).u16()?) + added.len();
    let count = u16::try_from(count).map_err(|_| Error::Malformed("too many frames".to_owned()))?;
    let mut out = Vec::with_capacity(content.len() + 16);
    out.extend(count.to_be_bytes());
    let mut previous = None;
    let mut distance = |at: u16| {
        let distance = previous.map_or(Some(at), |previous| at.checked_sub(previous)?.checked_sub(1));
        previous = Some(at);
        distance.ok_or_else(|| Error::Malformed("two frames are at one offset".to_owned()))
    };
    each(content, |at, kind, types| {
        let distance = distance(moved.target(at)?)?;
        match (kind, u8::try_from(distance)) {
            (0..SAME_WITH_ITEM | SAME_FAR, Ok(short)) if short < SAME_WITH_ITEM => out.push(short),
            (SAME_WITH_ITEM..128 | SAME_WITH_ITEM_FAR, Ok(short)) if short < SAME_WITH_ITEM => {
                out.push(SAME_WITH_ITEM + short);
            }
            _ => {
                out.push(match kind {
                    0..SAME_WITH_ITEM => SAME_FAR,
                    SAME_WITH_ITEM..128 => SAME_WITH_ITEM_FAR,
                    _ => kind,
                });
                out.extend(distance.to_be_bytes());
            }
        }
        copy_types(types, moved, &mut out)
    })?;
    for handler in added {
        out.push(FULL);
        out.extend(distance(handler.at)?.to_be_bytes());
        match handler.locals {
            LocalsAtHandler::Nothing => out.extend([0, 0]),
            LocalsAtHandler::This(class) => {
                out.extend([0, 1, OBJECT]);
                out.extend(class.to_be_bytes());
            }
        }
        out.extend([0, 1, OBJECT]);
        out.extend(handler.throwable.to_be_bytes());
    }
    Ok(out)
}

/// What follows a frame's kind and distance.
#[derive(Clone, Copy)]
struct Types<'a> {
    /// How many types stand there; `None` for a full frame, which counts locals and stack itself.
    count: Option<usize>,
    bytes: &'a [u8],
}

/// Calls `visit` with the offset, the kind and the types of each frame.
fn each(content: &[u8], mut visit: impl FnMut(u32, u8, Types<'_>) -> Result<(), Error>) -> Result<(), Error> {
    let mut cursor = Cursor::new(content);
    let mut next = 0;
    for _ in 0..cursor.u16()? {
        let kind = cursor.u8()?;
        let distance = match kind {
            0..SAME_WITH_ITEM => kind.into(),
            SAME_WITH_ITEM..128 => (kind - SAME_WITH_ITEM).into(),
            128..SAME_WITH_ITEM_FAR => return Err(Error::Malformed(format!("a frame has the unknown kind {kind}"))),
            _ => cursor.u16()?,
        };
        let at = next + u32::from(distance);
        next = at + 1;
        let start = cursor.at();
        let count = match kind {
            0..SAME_WITH_ITEM | 248..=SAME_FAR => Some(0),
            SAME_WITH_ITEM..128 | SAME_WITH_ITEM_FAR => Some(1),
            FULL => None,
            _ => Some(usize::from(kind - SAME_FAR)),
        };
        match count {
            Some(count) => skip_types(&mut cursor, count)?,
            None => {
                for _ in 0..2 {
                    let count = cursor.u16()?;
                    skip_types(&mut cursor, count.into())?;
                }
            }
        }
        visit(at, kind, Types { count, bytes: &content[start..cursor.at()] })?;
    }
    if !cursor.is_at_end() {
        return Err(Error::Malformed("something follows the end of a table of frames".to_owned()));
    }
    Ok(())
}

fn skip_types(cursor: &mut Cursor<'_>, count: usize) -> Result<(), Error> {
    for _ in 0..count {
        if matches!(cursor.u8()?, OBJECT | UNINITIALIZED) {
            cursor.u16()?;
        }
    }
    Ok(())
}

fn copy_types(types: Types<'_>, moved: &Moved, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut cursor = Cursor::new(types.bytes);
    let lists = if types.count.is_some() { 1 } else { 2 };
    for _ in 0..lists {
        let count = match types.count {
            Some(count) => count,
            None => {
                let count = cursor.u16()?;
                out.extend(count.to_be_bytes());
                count.into()
            }
        };
        for _ in 0..count {
            let tag = cursor.u8()?;
            out.push(tag);
            match tag {
                OBJECT => out.extend(cursor.u16()?.to_be_bytes()),
                // Known by its `new`, and not by what runs before that.
                UNINITIALIZED => out.extend(moved.itself(cursor.u16()?.into())?.to_be_bytes()),
                _ => {}
            }
        }
    }
    Ok(())
}
