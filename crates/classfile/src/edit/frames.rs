//! The table of frames (`StackMapTable`): what types lie where, at places that are jumped to.

use rustc_hash::FxHashMap;

use super::code::LocalsAtHandler;
use super::relocate::Moved;
use crate::Error;
use crate::cursor::Cursor;

const SAME_WITH_ITEM: u8 = 64;
const SAME_WITH_ITEM_FAR: u8 = 247;
const SAME_FAR: u8 = 251;
const FULL: u8 = 255;

const TOP: u8 = 0;
const LONG: u8 = 4;
const NULL: u8 = 5;
const UNINITIALIZED_THIS: u8 = 6;
const DOUBLE: u8 = 3;
const OBJECT: u8 = 7;
const UNINITIALIZED: u8 = 8;

/// The type of a local variable, as frames tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalType {
    Int,
    Float,
    Long,
    Double,
    UninitializedThis,
    /// Of the class that this constant names.
    Object(u16),
}

/// Local variables that the method gets and keeps from its start to its end.
#[derive(Clone, Debug)]
pub(super) struct Lasting {
    /// What the method starts with: `this` and its parameters.
    pub(super) initial: Vec<LocalType>,
    /// Where the first of them is.
    pub(super) first: u16,
    pub(super) types: Vec<LocalType>,
}

/// A type's tag and what follows it.
type Raw = (u8, u16);

/// What one slot has, as frames tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// An object, or null.
    Reference,
    /// What the `new` at this offset made, before its constructor has run.
    New(u32),
    /// `this`, before a constructor above has run.
    UninitializedThis,
    /// A number, or nothing that may be used.
    Other,
}

/// A frame by slots: `long` and `double` take two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub pc: u32,
    pub locals: Vec<Slot>,
    pub stack: Vec<Slot>,
}

/// All frames of a method that starts with these local variables, in order.
pub(super) fn read(content: &[u8], initial: &[LocalType]) -> Result<Vec<Frame>, Error> {
    let mut locals: Vec<Raw> = initial.iter().map(|one| one.raw()).collect();
    let mut frames = Vec::new();
    each(content, |pc, kind, types| {
        let stack = apply(kind, types, &mut locals)?;
        frames.push(Frame { pc, locals: slots(&locals), stack: slots(&stack) });
        Ok(())
    })?;
    Ok(frames)
}

pub(super) fn slots_of(types: &[LocalType]) -> Vec<Slot> {
    slots(&types.iter().map(|one| one.raw()).collect::<Vec<Raw>>())
}

fn slots(types: &[Raw]) -> Vec<Slot> {
    let mut slots = Vec::with_capacity(types.len());
    for (tag, more) in types {
        slots.push(match *tag {
            OBJECT | NULL => Slot::Reference,
            UNINITIALIZED => Slot::New((*more).into()),
            UNINITIALIZED_THIS => Slot::UninitializedThis,
            _ => Slot::Other,
        });
        if matches!(*tag, LONG | DOUBLE) {
            slots.push(Slot::Other);
        }
    }
    slots
}

impl LocalType {
    fn raw(self) -> Raw {
        match self {
            LocalType::Int => (1, 0),
            LocalType::Float => (2, 0),
            LocalType::Double => (DOUBLE, 0),
            LocalType::Long => (LONG, 0),
            LocalType::UninitializedThis => (UNINITIALIZED_THIS, 0),
            LocalType::Object(class) => (OBJECT, class),
        }
    }
}

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

/// The table for moved code, with the frames of detours (the handlers and where they are), each that of its handler, and
/// of added handlers, which lie behind all others.
pub(super) fn relocate(
    content: &[u8],
    moved: &Moved,
    added: &[Added],
    lasting: Option<&Lasting>,
    detours: &[(u32, u16)],
) -> Result<Vec<u8>, Error> {
    let mut locals: Vec<Raw> = lasting.iter().flat_map(|lasting| &lasting.initial).map(|one| one.raw()).collect();
    let count = usize::from(Cursor::new(content).u16()?) + added.len() + detours.len();
    let count = u16::try_from(count).map_err(|_| Error::Malformed("too many frames".to_owned()))?;
    let mut out = Vec::with_capacity(content.len() + 16);
    out.extend(count.to_be_bytes());
    let mut previous = None;
    let mut distance = |at: u16| {
        let distance = previous.map_or(Some(at), |previous| at.checked_sub(previous)?.checked_sub(1));
        previous = Some(at);
        distance.ok_or_else(|| Error::Malformed("two frames are at one offset".to_owned()))
    };
    let mut kept = added.iter().find_map(|added| match added.locals {
        LocalsAtHandler::Nothing => None,
        LocalsAtHandler::This { class, parameters } => Some(Kept { class, locals: usize::from(parameters) + 1 }),
    });
    let mut of_handlers: FxHashMap<u32, [Vec<Raw>; 2]> = FxHashMap::default();
    each(content, |at, kind, types| {
        let distance = distance(moved.target(at)?)?;
        if let Some(lasting) = lasting {
            // All frames are told in full: what they add to or take from those before lies below what lasts.
            let stack = apply(kind, types, &mut locals)?;
            let mut all = locals.clone();
            if let Some(kept) = &kept {
                let this = (OBJECT, kept.class);
                match all.first_mut() {
                    None => all.push(this),
                    Some(first) if first.0 == TOP => *first = this,
                    Some(_) => {}
                }
            }
            let lists = [with_lasting(all, lasting)?, stack];
            write_full(distance, &lists, moved, &mut out)?;
            if detours.iter().any(|(handler, _)| *handler == at) {
                of_handlers.insert(at, lists);
            }
            return Ok(());
        }
        let mut owned = Vec::new();
        let (kind, types) = match &mut kept {
            Some(kept) => kept.frame(kind, types, &mut owned)?,
            None => (kind, types),
        };
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
    for (handler, at) in detours {
        let missing = || Error::Malformed("a handler has no frame".to_owned());
        write_full(distance(*at)?, of_handlers.get(handler).ok_or_else(missing)?, moved, &mut out)?;
    }
    for handler in added {
        out.push(FULL);
        out.extend(distance(handler.at)?.to_be_bytes());
        match handler.locals {
            LocalsAtHandler::Nothing => out.extend([0, 0]),
            LocalsAtHandler::This { class, .. } => {
                out.extend([0, 1, OBJECT]);
                out.extend(class.to_be_bytes());
            }
        }
        out.extend([0, 1, OBJECT]);
        out.extend(handler.throwable.to_be_bytes());
    }
    Ok(out)
}

/// A frame with all its locals and its whole stack.
fn write_full(distance: u16, lists: &[Vec<Raw>; 2], moved: &Moved, out: &mut Vec<u8>) -> Result<(), Error> {
    out.push(FULL);
    out.extend(distance.to_be_bytes());
    for list in lists {
        out.extend((list.len() as u16).to_be_bytes());
        list.iter().try_for_each(|one| write_type(*one, moved, out))?;
    }
    Ok(())
}

/// Keeps `this` in all frames of a method that never stores anything else there.
struct Kept {
    class: u16,
    /// How many locals the last frame has in the table as it was. In the new one there is always the first.
    locals: usize,
}

impl Kept {
    /// The frame with `this`; `owned` is for types that change.
    fn frame<'a>(&mut self, kind: u8, types: Types<'a>, owned: &'a mut Vec<u8>) -> Result<(u8, Types<'a>), Error> {
        let bytes = types.bytes;
        match kind {
            248..=250 => {
                let chopped = usize::from(SAME_FAR - kind);
                let too_many = || Error::Malformed("a frame takes away more locals than there are".to_owned());
                self.locals = self.locals.checked_sub(chopped).ok_or_else(too_many)?;
                Ok((if self.locals == 0 { kind + 1 } else { kind }, types))
            }
            252..=254 => {
                let had_none = self.locals == 0;
                self.locals += usize::from(kind - SAME_FAR);
                // What comes in the first place is nothing or `this` again, since nothing is stored there.
                let rest = match bytes {
                    _ if !had_none => return Ok((kind, types)),
                    [TOP, rest @ ..] | [OBJECT, _, _, rest @ ..] => rest,
                    _ => return Err(Error::Malformed("a frame has a local that was never stored".to_owned())),
                };
                let count = types.count.map(|count| count - 1);
                Ok((kind - 1, Types { count, bytes: rest }))
            }
            FULL => {
                let count = Cursor::new(bytes).u16()?;
                self.locals = count.into();
                let rest = match (count, bytes.get(2)) {
                    (0, _) => &bytes[2..],
                    (_, Some(&TOP)) => &bytes[3..],
                    _ => return Ok((kind, types)),
                };
                owned.extend(count.max(1).to_be_bytes());
                owned.push(OBJECT);
                owned.extend(self.class.to_be_bytes());
                owned.extend(rest);
                Ok((kind, Types { count: None, bytes: owned }))
            }
            _ => Ok((kind, types)),
        }
    }
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

/// Changes the local variables as a frame says, and returns what lies on the stack there.
fn apply(kind: u8, types: Types<'_>, locals: &mut Vec<Raw>) -> Result<Vec<Raw>, Error> {
    let mut cursor = Cursor::new(types.bytes);
    let mut read = |count: usize| (0..count).map(|_| read_type(&mut cursor)).collect::<Result<Vec<Raw>, Error>>();
    match kind {
        0..SAME_WITH_ITEM | SAME_FAR => Ok(Vec::new()),
        SAME_WITH_ITEM..=SAME_WITH_ITEM_FAR => read(1),
        248..SAME_FAR => {
            let fewer = locals.len().checked_sub(usize::from(SAME_FAR - kind));
            locals.truncate(fewer.ok_or_else(|| Error::Malformed("a frame takes away too much".to_owned()))?);
            Ok(Vec::new())
        }
        FULL => {
            let mut lists = [Vec::new(), Vec::new()];
            for list in &mut lists {
                for _ in 0..cursor.u16()? {
                    list.push(read_type(&mut cursor)?);
                }
            }
            let [all, stack] = lists;
            *locals = all;
            Ok(stack)
        }
        _ => {
            locals.extend(read(usize::from(kind - SAME_FAR))?);
            Ok(Vec::new())
        }
    }
}

fn with_lasting(mut all: Vec<Raw>, lasting: &Lasting) -> Result<Vec<Raw>, Error> {
    let slots: usize = all.iter().map(|(tag, _)| if matches!(*tag, LONG | DOUBLE) { 2 } else { 1 }).sum();
    let gap = usize::from(lasting.first).checked_sub(slots);
    let gap = gap.ok_or_else(|| Error::Malformed("a frame has too many local variables".to_owned()))?;
    all.extend(std::iter::repeat_n((TOP, 0), gap));
    all.extend(lasting.types.iter().map(|one| one.raw()));
    Ok(all)
}

fn read_type(cursor: &mut Cursor<'_>) -> Result<Raw, Error> {
    let tag = cursor.u8()?;
    Ok((tag, if matches!(tag, OBJECT | UNINITIALIZED) { cursor.u16()? } else { 0 }))
}

fn write_type((tag, more): Raw, moved: &Moved, out: &mut Vec<u8>) -> Result<(), Error> {
    out.push(tag);
    match tag {
        OBJECT => out.extend(more.to_be_bytes()),
        UNINITIALIZED => out.extend(moved.itself(more.into())?.to_be_bytes()),
        _ => {}
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

    use super::*;

    /// Frames of a method with two parameters, as optimizers leave them: without `this` where it is not used any more.
    #[test]
    fn this_comes_back() {
        const INT: u8 = 1;
        let mut kept = Kept { class: 9, locals: 3 };
        let mut frame = |kind: u8, count: Option<usize>, bytes: &[u8]| {
            let mut owned = Vec::new();
            let (kind, types) = kept.frame(kind, Types { count, bytes }, &mut owned).unwrap();
            (kind, types.count, types.bytes.to_vec())
        };
        assert_eq!(frame(249, Some(0), &[]), (249, Some(0), vec![]), "two of three are taken away");
        assert_eq!(frame(250, Some(0), &[]), (SAME_FAR, Some(0), vec![]), "so is `this`, which stays");
        assert_eq!(frame(253, Some(2), &[TOP, INT]), (252, Some(1), vec![INT]), "behind nothing comes a number");
        assert_eq!(frame(252, Some(1), &[INT]), (252, Some(1), vec![INT]), "and another one");
        assert_eq!(frame(248, Some(0), &[]), (249, Some(0), vec![]), "all three are taken away");
        assert_eq!(frame(252, Some(1), &[OBJECT, 0, 9]), (SAME_FAR, Some(0), vec![]), "`this` is told again");
        assert_eq!(frame(253, Some(2), &[TOP, INT]), (253, Some(2), vec![TOP, INT]), "two more behind it");
        assert_eq!(frame(248, Some(0), &[]), (249, Some(0), vec![]), "all three are taken away");
        assert_eq!(frame(FULL, None, &[0, 0, 0, 1, INT]), (FULL, None, vec![0, 1, OBJECT, 0, 9, 0, 1, INT]));
        assert_eq!(frame(FULL, None, &[0, 2, TOP, INT, 0, 0]), (FULL, None, vec![0, 2, OBJECT, 0, 9, INT, 0, 0]));
        assert_eq!(frame(FULL, None, &[0, 1, OBJECT, 0, 9, 0, 0]), (FULL, None, vec![0, 1, OBJECT, 0, 9, 0, 0]));
        let mut owned = Vec::new();
        assert!(kept.frame(249, Types { count: Some(0), bytes: &[] }, &mut owned).is_err(), "there is only one");
    }
}
