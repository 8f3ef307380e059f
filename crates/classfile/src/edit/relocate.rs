//! Where everything goes: new offsets, and the code with its jumps set to them.

use rustc_hash::FxHashSet;

use super::code::{CodeEditor, Place};
use super::frames;
use super::limit::{EditError, Limit};
use super::opcode::{self, Jump, op};
use crate::Error;
use crate::cursor::Cursor;

const NOWHERE: u32 = u32::MAX;

/// The length of a conditional jump that is turned round, with the long jump that it leaps over.
const TURNED_LENGTH: u32 = 8;

/// New offsets by old ones.
pub(super) struct Moved {
    /// Of the start of what runs before an instruction; at the end of the code, too.
    targets: Vec<u32>,
    /// Of the instruction itself.
    itself: Vec<u32>,
    /// Near jumps that have to become far ones, by offset.
    far: FxHashSet<u32>,
}

impl Moved {
    pub(super) fn place(editor: &CodeEditor<'_>, frames: Option<&[u8]>) -> Result<Moved, EditError> {
        let size = editor.code.len() + 1;
        let mut moved = Moved { targets: vec![NOWHERE; size], itself: vec![NOWHERE; size], far: FxHashSet::default() };
        loop {
            let end = moved.lay_out(editor);
            if end > u32::from(u16::MAX) {
                return Err(Limit::Code.into());
            }
            if end <= 0x7fff || !moved.find_far_jumps(editor)? {
                break;
            }
        }
        moved.check_turned(editor, frames)?;
        Ok(moved)
    }

    /// Gives everything its place, and returns the end.
    fn lay_out(&mut self, editor: &CodeEditor<'_>) -> u32 {
        let mut at = editor.entry.len() as u32;
        let mut insertions = editor.insertions.iter().peekable();
        for instruction in editor.instructions() {
            let pc = instruction.pc;
            self.targets[pc as usize] = at;
            let mut skip = |place: Place| {
                let mut length = 0;
                while let Some(one) = insertions.next_if(|one| one.pc == pc && one.place == place) {
                    length += one.bytes.len() as u32;
                }
                length
            };
            at += skip(Place::Before);
            self.itself[pc as usize] = at;
            at += match instruction.jump() {
                Some(Jump::Near) if self.far.contains(&pc) => far_length(instruction.opcode),
                _ if instruction.is_switch() => {
                    (instruction.bytes.len() - opcode::padding(pc) + opcode::padding(at)) as u32
                }
                _ => instruction.bytes.len() as u32,
            };
            at += skip(Place::After);
        }
        self.targets[editor.code.len()] = at;
        at
    }

    /// Notes the near jumps whose targets are out of reach now; whether there were new ones.
    fn find_far_jumps(&mut self, editor: &CodeEditor<'_>) -> Result<bool, Error> {
        let before = self.far.len();
        for instruction in editor.instructions() {
            if instruction.jump() == Some(Jump::Near) {
                let target = self.jump_target(instruction.target())?;
                let distance = i64::from(target) - i64::from(self.itself[instruction.pc as usize]);
                if i16::try_from(distance).is_err() {
                    self.far.insert(instruction.pc);
                }
            }
        }
        Ok(self.far.len() > before)
    }

    /// A conditional jump that is turned round leaps to the instruction behind it, which needs a frame. Without knowing
    /// the types there, only a frame that stands there already will do.
    fn check_turned(&self, editor: &CodeEditor<'_>, frames: Option<&[u8]>) -> Result<(), EditError> {
        let turned = |pc: &u32| is_conditional(editor.code[*pc as usize]);
        let Some(frames) = frames.filter(|_| self.far.iter().any(turned)) else {
            return Ok(());
        };
        let with_frames = frames::offsets(frames)?;
        if self.far.iter().filter(|pc| turned(pc)).all(|pc| with_frames.binary_search(&(pc + 3)).is_ok()) {
            return Ok(());
        }
        Err(Limit::Jump.into())
    }

    fn jump_target(&self, pc: Option<i64>) -> Result<u32, Error> {
        let found = pc.and_then(|pc| self.targets.get(usize::try_from(pc).ok()?).copied());
        match found {
            // The end of the code is no place to jump to.
            Some(target) if target != NOWHERE && pc != Some(self.targets.len() as i64 - 1) => Ok(target),
            _ => Err(Error::Malformed("code refers to an offset where no instruction is".to_owned())),
        }
    }

    /// Where jumps to this instruction go.
    pub(super) fn target(&self, pc: u32) -> Result<u16, Error> {
        // The layout has made sure that all offsets have 16 bits.
        self.jump_target(Some(pc.into())).map(|target| target as u16)
    }

    /// Where the instruction itself is.
    pub(super) fn itself(&self, pc: u32) -> Result<u16, Error> {
        self.target(pc)?;
        Ok(self.itself[pc as usize] as u16)
    }

    /// The new range of an entry of the exception table: from what runs before the first instruction to the end of
    /// the last one, without what runs after it. What runs after a `monitorenter` belongs to the range that begins there:
    /// a compiler gives up on code that could end with the monitor held.
    pub(super) fn range(&self, editor: &CodeEditor<'_>, start: u32, end: u32) -> Result<[u16; 2], Error> {
        let bad = || Error::Malformed("a handler covers no such range".to_owned());
        let after = *self.targets.get(end as usize).filter(|target| **target != NOWHERE).ok_or_else(bad)?;
        if start >= end {
            return Err(bad());
        }
        let last = editor.starts.partition_point(|start| *start < end) - 1;
        let before = editor.starts.partition_point(|one| *one < start).checked_sub(1);
        let entering = before.filter(|before| editor.instruction(*before).opcode == op::MONITORENTER);
        let covered = entering.map_or(0, |before| length_after(editor, before));
        Ok([self.target(start)? - covered, (after - u32::from(length_after(editor, last))) as u16])
    }

    /// The first place at or after an offset that need not be an instruction's.
    fn nearest(&self, pc: u32) -> Result<u16, Error> {
        let rest = self.targets.get(pc as usize..).unwrap_or_default();
        let found = rest.iter().find(|target| **target != NOWHERE);
        found.map(|target| *target as u16).ok_or_else(|| Error::Malformed("a table refers behind the code".to_owned()))
    }

    pub(super) fn lines(&self, content: &[u8]) -> Result<Vec<u8>, Error> {
        let mut cursor = Cursor::new(content);
        let count = cursor.u16()?;
        let mut out = count.to_be_bytes().to_vec();
        for _ in 0..count {
            out.extend(self.nearest(cursor.u16()?.into())?.to_be_bytes());
            out.extend(cursor.u16()?.to_be_bytes());
        }
        Ok(out)
    }

    pub(super) fn locals(&self, content: &[u8]) -> Result<Vec<u8>, Error> {
        let mut cursor = Cursor::new(content);
        let count = cursor.u16()?;
        let mut out = count.to_be_bytes().to_vec();
        for _ in 0..count {
            let (start, length) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let (start, end) = (self.nearest(start)?, self.nearest(start + length)?);
            out.extend(start.to_be_bytes());
            out.extend((end - start).to_be_bytes());
            out.extend_from_slice(cursor.take(6)?);
        }
        Ok(out)
    }
}

fn is_conditional(opcode: u8) -> bool {
    !matches!(opcode, op::GOTO | op::JSR)
}

/// The length of what is inserted after an instruction.
fn length_after(editor: &CodeEditor<'_>, index: usize) -> u16 {
    let pc = editor.starts[index];
    let from = editor.insertions.partition_point(|one| one.pc < pc);
    let here = editor.insertions[from..].iter().take_while(|one| one.pc == pc);
    here.filter(|one| one.place == Place::After).map(|one| one.bytes.len() as u16).sum()
}

fn far_length(opcode: u8) -> u32 {
    if is_conditional(opcode) { TURNED_LENGTH } else { 5 }
}

impl CodeEditor<'_> {
    /// The code with all insertions, and with its jumps set to their new targets.
    pub(super) fn relocate(&self, moved: &Moved) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(self.code.len() + self.inserted.len() + self.entry.len() + 16);
        out.extend_from_slice(&self.entry);
        let mut insertions = self.insertions.iter().peekable();
        for instruction in self.instructions() {
            let pc = instruction.pc;
            while let Some(one) = insertions.next_if(|one| one.pc == pc && one.place == Place::Before) {
                out.extend_from_slice(&self.inserted[one.bytes.clone()]);
            }
            let at = out.len() as i64;
            match instruction.jump() {
                Some(jump) => {
                    let distance = i64::from(moved.jump_target(instruction.target())?) - at;
                    match jump {
                        Jump::Far => {
                            out.push(instruction.opcode);
                            out.extend((distance as i32).to_be_bytes());
                        }
                        Jump::Near if !moved.far.contains(&pc) => {
                            out.push(instruction.opcode);
                            out.extend((distance as i16).to_be_bytes());
                        }
                        Jump::Near if is_conditional(instruction.opcode) => {
                            out.push(opcode::inverted(instruction.opcode));
                            out.extend((TURNED_LENGTH as i16).to_be_bytes());
                            out.push(op::GOTO_W);
                            out.extend((distance as i32 - 3).to_be_bytes());
                        }
                        Jump::Near => {
                            out.push(if instruction.opcode == op::GOTO { op::GOTO_W } else { op::JSR_W });
                            out.extend((distance as i32).to_be_bytes());
                        }
                    }
                }
                None if instruction.is_switch() => {
                    out.push(instruction.opcode);
                    out.resize(out.len() + opcode::padding(at as u32), 0);
                    let (old, new) = (1 + opcode::padding(pc), out.len());
                    out.extend_from_slice(&instruction.bytes[old..]);
                    for place in instruction.switch_distances() {
                        let target = moved.jump_target(Some(instruction.switch_target(place)))?;
                        let distance = (i64::from(target) - at) as i32;
                        let place = new + place - old;
                        out[place..place + 4].copy_from_slice(&distance.to_be_bytes());
                    }
                }
                None => out.extend_from_slice(instruction.bytes),
            }
            while let Some(one) = insertions.next_if(|one| one.pc == pc && one.place == Place::After) {
                out.extend_from_slice(&self.inserted[one.bytes.clone()]);
            }
        }
        Ok(out)
    }
}
