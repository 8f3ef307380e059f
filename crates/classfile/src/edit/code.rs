//! The code of one method that is being edited.

use std::collections::BTreeSet;
use std::ops::Range;

use super::frames::{self, Frame, Lasting, LocalType, Slot};
use super::limit::{EditError, Limit};
use super::opcode::{self, RawInstruction, op};
use super::pool::ConstantPool;
use super::relocate::Moved;
use super::snippet::Snippet;
use crate::Error;
use crate::cursor::Cursor;

/// Class files of this version and later have frames.
const FIRST_WITH_FRAMES: u16 = 50;

/// Where inserted code runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Before the instruction, wherever control comes from.
    Before,
    /// After the instruction, if it did not throw.
    After,
}

#[derive(Clone, Debug)]
pub(super) struct Insertion {
    pub(super) pc: u32,
    pub(super) place: Place,
    pub(super) bytes: Range<usize>,
}

/// An entry of the exception table.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawHandler {
    pub(super) start: u16,
    pub(super) end: u16,
    pub(super) handler: u16,
    pub(super) catches: u16,
}

/// What an added handler finds in the local variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalsAtHandler {
    Nothing,
    /// `this`, as an object of the class that this constant names, in a method with so many parameters. Only right where
    /// nothing else is ever stored there ([`CodeEditor::keeps_this`]). Frames that do not tell of it any more, because the
    /// code has no use for it, then do again.
    This {
        class: u16,
        parameters: u16,
    },
}

/// Code that gets whatever is thrown in some ranges of the method, after all other handlers.
struct AddedHandler {
    ranges: Vec<Range<u32>>,
    code: Vec<u8>,
    locals: LocalsAtHandler,
}

/// Code that runs on the way to one of the method's own handlers.
struct Detour {
    handler: u32,
    code: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Table {
    Lines,
    /// `LocalVariableTable` or `LocalVariableTypeTable`
    Locals,
    Frames,
}

pub struct CodeEditor<'a> {
    pub(super) major: u16,
    max_stack: u16,
    max_locals: u16,
    pub(super) code: &'a [u8],
    /// The offsets of all instructions.
    pub(super) starts: Vec<u32>,
    pub(super) handlers: Vec<RawHandler>,
    /// With the constants that name them.
    tables: Vec<(Table, u16, &'a [u8])>,
    pub(super) entry: Vec<u8>,
    pub(super) insertions: Vec<Insertion>,
    pub(super) inserted: Vec<u8>,
    extra_stack: u16,
    extra_locals: u16,
    lasting: Option<Lasting>,
    added: Vec<AddedHandler>,
    detours: Vec<Detour>,
}

impl<'a> CodeEditor<'a> {
    pub(super) fn read(content: &'a [u8], major: u16, pool: &ConstantPool<'_>) -> Result<CodeEditor<'a>, Error> {
        let mut cursor = Cursor::new(content);
        let (max_stack, max_locals) = (cursor.u16()?, cursor.u16()?);
        let code = cursor.block()?;
        if code.is_empty() || code.len() > usize::from(u16::MAX) {
            return Err(Error::BadCode { pc: 0, reason: "code must have 1 to 65,535 bytes" });
        }
        let mut starts = Vec::with_capacity(code.len() / 2);
        let mut pc = 0;
        while pc < code.len() {
            starts.push(pc as u32);
            pc += opcode::length(code, pc)?;
        }
        let mut handlers = Vec::new();
        for _ in 0..cursor.u16()? {
            handlers.push(RawHandler {
                start: cursor.u16()?,
                end: cursor.u16()?,
                handler: cursor.u16()?,
                catches: cursor.u16()?,
            });
        }
        let mut tables = Vec::new();
        for _ in 0..cursor.u16()? {
            let name = cursor.u16()?;
            let content = cursor.block()?;
            let table = match pool.utf8(name) {
                Some(b"LineNumberTable") => Table::Lines,
                Some(b"LocalVariableTable" | b"LocalVariableTypeTable") => Table::Locals,
                Some(b"StackMapTable") if major >= FIRST_WITH_FRAMES => Table::Frames,
                _ => continue,
            };
            tables.push((table, name, content));
        }
        if !cursor.is_at_end() {
            return Err(Error::Malformed("something follows the end of a method's code".to_owned()));
        }
        Ok(CodeEditor {
            major,
            max_stack,
            max_locals,
            code,
            starts,
            handlers,
            tables,
            entry: Vec::new(),
            insertions: Vec::new(),
            inserted: Vec::new(),
            extra_stack: 0,
            extra_locals: 0,
            lasting: None,
            added: Vec::new(),
            detours: Vec::new(),
        })
    }

    pub fn instruction_count(&self) -> usize {
        self.starts.len()
    }

    /// The instruction at this position in the order of code.
    pub fn instruction(&self, index: usize) -> RawInstruction<'a> {
        let start = self.starts[index] as usize;
        let end = self.starts.get(index + 1).map_or(self.code.len(), |end| *end as usize);
        RawInstruction { pc: start as u32, opcode: self.code[start], bytes: &self.code[start..end] }
    }

    pub fn instructions(&self) -> impl Iterator<Item = RawInstruction<'a>> + '_ {
        (0..self.starts.len()).map(|index| self.instruction(index))
    }

    /// Where the instruction at this position may jump to.
    pub fn jump_targets(&self, index: usize) -> Vec<u32> {
        let instruction = self.instruction(index);
        let switch = instruction.switch_distances().map(|place| instruction.switch_target(place));
        instruction.target().into_iter().chain(switch).filter_map(|target| u32::try_from(target).ok()).collect()
    }

    /// The offsets of the method's own handlers of exceptions.
    pub fn handler_targets(&self) -> impl Iterator<Item = u32> + '_ {
        self.handlers.iter().map(|handler| handler.handler.into())
    }

    /// The offsets of handlers of everything that cover themselves, as those of `synchronized` blocks do: an exception while
    /// the monitor is left has it left again.
    pub fn handlers_that_cover_themselves(&self) -> BTreeSet<u32> {
        let is_plain = |pc: u16| self.handlers.iter().all(|handler| handler.handler != pc || handler.catches == 0);
        let covers_itself = |handler: &&RawHandler| (handler.start..handler.end).contains(&handler.handler);
        let found = self.handlers.iter().filter(covers_itself).map(|handler| handler.handler);
        found.filter(|pc| is_plain(*pc)).map(u32::from).collect()
    }

    /// The frames of a method that starts with these local variables, in order; none in classes that are too old.
    pub fn frames(&self, initial: &[LocalType]) -> Result<Vec<Frame>, Error> {
        match self.tables.iter().find(|(table, _, _)| *table == Table::Frames) {
            Some((_, _, content)) => frames::read(content, initial),
            None => Ok(Vec::new()),
        }
    }

    /// The slots of the local variables that the method starts with.
    pub fn slots_of(initial: &[LocalType]) -> Vec<Slot> {
        frames::slots_of(initial)
    }

    /// Where a handler's range of instructions is, and the handler: by offsets, the end not included.
    pub fn handler_ranges(&self) -> impl Iterator<Item = (Range<u32>, u32)> + '_ {
        self.handlers.iter().map(|one| (one.start.into()..one.end.into(), one.handler.into()))
    }

    /// The first offset after the code.
    pub fn end(&self) -> u32 {
        self.code.len() as u32
    }

    /// First offsets and lines, sorted by offset.
    pub fn lines(&self) -> Vec<(u16, u16)> {
        let mut lines = Vec::new();
        for (_, _, content) in self.tables.iter().filter(|(table, _, _)| *table == Table::Lines) {
            for entry in content.get(2..).unwrap_or_default().chunks_exact(4) {
                lines.push((u16::from_be_bytes([entry[0], entry[1]]), u16::from_be_bytes([entry[2], entry[3]])));
            }
        }
        lines.sort_unstable();
        lines
    }

    /// Whether the first local variable, `this` in an instance method, is never stored to.
    pub fn keeps_this(&self) -> bool {
        !self.instructions().any(|instruction| instruction.stores_to_first())
    }

    /// Inserts code at the start of the method; jumps to its first instruction do not pass there.
    pub fn insert_at_entry(&mut self, snippet: &Snippet) {
        self.extra_stack = self.extra_stack.max(snippet.highest());
        self.entry.extend_from_slice(snippet.bytes());
    }

    /// Inserts code at an instruction. Of several insertions at one place the first runs first.
    pub fn insert(&mut self, pc: u32, place: Place, snippet: &Snippet) {
        self.extra_stack = self.extra_stack.max(snippet.highest());
        let start = self.inserted.len();
        self.inserted.extend_from_slice(snippet.bytes());
        self.insertions.push(Insertion { pc, place, bytes: start..self.inserted.len() });
    }

    /// So many local variables that the method does not use, as the number of the first. Every insertion may use them
    /// all, but they do not last from one to the next.
    pub fn scratch_locals(&mut self, count: u16) -> Result<u16, Limit> {
        let first = self.first_scratch()?;
        first.checked_add(count).ok_or(Limit::Locals)?;
        self.extra_locals = self.extra_locals.max(count);
        Ok(first)
    }

    /// Local variables of one slot each that last through the whole method, as the number of the first. What
    /// [`CodeEditor::insert_at_entry`] inserts has to set them. `initial` is what the method starts with. Only once, and
    /// before scratch variables are asked for.
    pub fn lasting_locals(&mut self, initial: Vec<LocalType>, types: Vec<LocalType>) -> Result<u16, Limit> {
        let first = self.max_locals;
        self.lasting = Some(Lasting { initial, first, types });
        self.first_scratch()?;
        Ok(first)
    }

    fn first_scratch(&self) -> Result<u16, Limit> {
        let lasting = self.lasting.as_ref().map_or(0, |lasting| lasting.types.len() as u16);
        self.max_locals.checked_add(lasting).ok_or(Limit::Locals)
    }

    /// Adds code that gets whatever is thrown in these ranges and not caught in them. It starts with the exception on
    /// the stack and must end with `athrow`.
    pub fn add_handler(&mut self, ranges: Vec<Range<u32>>, snippet: &Snippet, locals: LocalsAtHandler) {
        self.extra_stack = self.extra_stack.max(snippet.highest().saturating_add(1));
        self.added.push(AddedHandler { ranges, code: snippet.bytes().to_vec(), locals });
    }

    /// Adds code that whatever is thrown passes on its way to the handler at this offset, but for what is thrown in the
    /// handler itself. It starts and ends with the exception on the stack; what it throws goes to the handler, too. Needs
    /// [`CodeEditor::lasting_locals`], for the frames.
    ///
    /// Inserted in the handler, a call there would lead back to it, and a compiler of the JVM gives up on that.
    pub fn add_detour(&mut self, handler: u32, snippet: &Snippet) {
        self.extra_stack = self.extra_stack.max(snippet.highest().saturating_add(1));
        self.detours.push(Detour { handler, code: snippet.bytes().to_vec() });
    }

    /// The new content of the method's `Code`.
    pub(super) fn finish(mut self, pool: &mut ConstantPool<'_>) -> Result<Vec<u8>, EditError> {
        self.insertions.sort_by_key(|insertion| (insertion.pc, insertion.place));
        let frames = self.tables.iter().find(|(table, _, _)| *table == Table::Frames).map(|(_, _, content)| *content);
        let moved = Moved::place(&self, frames)?;
        let mut code = self.relocate(&moved)?;
        let mut detours = Vec::new();
        for detour in &self.detours {
            let start = code.len();
            code.extend_from_slice(&detour.code);
            // Thrown again, it gets to the handler: compilers want those to be reached by exceptions alone.
            code.push(op::ATHROW);
            detours.push((detour.handler, start, code.len()));
        }
        let mut handler_starts = Vec::new();
        for handler in &self.added {
            handler_starts.push(code.len());
            code.extend_from_slice(&handler.code);
        }
        let length = u16::try_from(code.len()).map_err(|_| Limit::Code)?;
        let max_stack = self.max_stack.checked_add(self.extra_stack).ok_or(Limit::Stack)?;
        let max_locals = self.first_scratch()?.checked_add(self.extra_locals).ok_or(Limit::Locals)?;

        let mut out = Vec::with_capacity(code.len() + 200);
        out.extend(max_stack.to_be_bytes());
        out.extend(max_locals.to_be_bytes());
        out.extend(u32::from(length).to_be_bytes());
        out.append(&mut code);

        let mut entries = Vec::new();
        for handler in &self.handlers {
            let (mut start, end) = (u32::from(handler.start), u32::from(handler.end));
            let target = u32::from(handler.handler);
            if let Some((_, at, _)) = detours.iter().find(|(handler, ..)| *handler == target)
                && start < target
            {
                entries.extend(moved.range(&self, start, end.min(target))?);
                entries.extend([*at as u16, handler.catches]);
                start = target;
            }
            if start < end {
                entries.extend(moved.range(&self, start, end)?);
                entries.push(moved.target(target)?);
                entries.push(handler.catches);
            }
        }
        for (handler, start, end) in &detours {
            entries.extend([*start as u16, *end as u16, moved.target(*handler)?, 0]);
        }
        for (handler, at) in self.added.iter().zip(&handler_starts) {
            for range in &handler.ranges {
                entries.extend(moved.range(&self, range.start, range.end)?);
                entries.extend([*at as u16, 0]);
            }
        }
        let count = u16::try_from(entries.len() / 4).map_err(|_| Limit::Handlers)?;
        out.extend(count.to_be_bytes());
        entries.iter().for_each(|entry| out.extend(entry.to_be_bytes()));
        self.write_tables(&moved, &handler_starts, &detours, pool, &mut out)?;
        Ok(out)
    }

    fn write_tables(
        &self,
        moved: &Moved,
        handler_starts: &[usize],
        detours: &[(u32, usize, usize)],
        pool: &mut ConstantPool<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EditError> {
        let mut added = Vec::new();
        if self.major >= FIRST_WITH_FRAMES && !self.added.is_empty() {
            let throwable = pool.add_class(b"java/lang/Throwable")?;
            for (handler, at) in self.added.iter().zip(handler_starts) {
                added.push(frames::Added { at: *at as u16, locals: handler.locals, throwable });
            }
        }
        let detours: Vec<(u32, u16)> = detours.iter().map(|(handler, at, _)| (*handler, *at as u16)).collect();
        let mut tables: Vec<(u16, Vec<u8>)> = Vec::new();
        let mut has_frames = false;
        for (table, name, content) in &self.tables {
            let content = match table {
                Table::Lines => moved.lines(content)?,
                Table::Locals => moved.locals(content)?,
                Table::Frames if has_frames => {
                    return Err(Error::Malformed("a method has two tables of frames".to_owned()).into());
                }
                Table::Frames => {
                    has_frames = true;
                    frames::relocate(content, moved, &added, self.lasting.as_ref(), &detours)?
                }
            };
            tables.push((*name, content));
        }
        if !has_frames && !added.is_empty() {
            tables.push((pool.add_utf8(b"StackMapTable")?, frames::relocate(&[0, 0], moved, &added, None, &[])?));
        }
        out.extend((tables.len() as u16).to_be_bytes());
        for (name, content) in tables {
            out.extend(name.to_be_bytes());
            out.extend((content.len() as u32).to_be_bytes());
            out.extend(content);
        }
        Ok(())
    }
}
