//! Reads the text form line by line. A line that cannot be read is a problem with its number, and is left out.

use std::io::Read;

use crate::intern::Interner;
use crate::{
    Access, Action, ActivationId, BarrierId, BranchId, Cause, Event, Interval, LockId, MethodId, Mode, ObjectId,
    Problems, Ran, SectionId, SiteId, StackId, SyncKind, Tables, ThreadId, TraceError, UnitId, VariableId,
};

pub(crate) struct TextReader<R> {
    input: R,
    /// What was read and not yet parsed: from `start`, ending anywhere in a line.
    buffer: Vec<u8>,
    start: usize,
    /// Up to here there is no line end after `start`.
    searched: usize,
    at_end: bool,
    line: u64,
    parsed: u64,
    names: Names,
    problems: Problems,
}

impl<R: Read> TextReader<R> {
    const BLOCK: usize = 1 << 16;
    /// Longer than any event: a file without line ends must not be read into memory whole.
    const LONGEST_LINE: usize = 1 << 20;

    /// `begun` is what was read of the input to tell its form.
    pub(crate) fn new(begun: Vec<u8>, input: R) -> TextReader<R> {
        TextReader {
            input,
            buffer: begun,
            start: 0,
            searched: 0,
            at_end: false,
            line: 0,
            parsed: 0,
            names: Names::default(),
            problems: Problems::default(),
        }
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.names.tables
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Appends up to `limit` events; appends none at the end of the input.
    pub(crate) fn fill(&mut self, batch: &mut Vec<Event>, limit: usize) -> Result<(), TraceError> {
        while batch.len() < limit {
            match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                Some(offset) => {
                    let end = self.searched + offset;
                    self.line += 1;
                    let line = &self.buffer[self.start..end];
                    match self.names.line(line) {
                        Ok(Some(event)) => batch.push(event),
                        Ok(None) => {}
                        Err(message) => self.problems.add(format!("line {}: {message}", self.line)),
                    }
                    self.start = end + 1;
                    self.searched = self.start;
                }
                None if self.at_end => {
                    self.last_line(batch)?;
                    break;
                }
                None => self.read_more()?,
            }
        }
        self.parsed += batch.len() as u64;
        Ok(())
    }

    /// The text after the last line end.
    fn last_line(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        if self.start < self.buffer.len() {
            self.line += 1;
            match self.names.line(&self.buffer[self.start..]) {
                Ok(Some(event)) => batch.push(event),
                Ok(None) => {}
                Err(message) => {
                    self.problems.add(format!("line {}: {message}; the trace ends in the middle of it", self.line));
                }
            }
            self.start = self.buffer.len();
            self.searched = self.start;
        }
        if self.parsed == 0 && batch.is_empty() && !self.problems.is_empty() {
            let first = self.problems.listed().first().map_or("", |problem| &problem.message);
            return Err(TraceError::Foreign(format!("no line of it is an event; {first}")));
        }
        Ok(())
    }

    fn read_more(&mut self) -> Result<(), TraceError> {
        if self.buffer.len() - self.start > Self::LONGEST_LINE {
            self.problems.add(format!("line {}: too long to be an event", self.line + 1));
            // What follows of the line is read as a line of its own, and is a problem again unless it is an event.
            self.start = self.buffer.len();
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        self.searched = self.buffer.len();
        let kept = self.buffer.len();
        self.buffer.resize(kept + Self::BLOCK, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[kept..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
        self.at_end = read? == 0;
        Ok(())
    }
}

/// The line from its first letter on. Some editors put a mark before a text that is no part of it, and files are joined.
fn begun(mut line: &[u8]) -> &[u8] {
    loop {
        line = line.trim_ascii_start();
        match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => line = rest,
            None => return line,
        }
    }
}

/// The tables and, for each kind, which text has which number.
#[derive(Default)]
struct Names {
    tables: Tables,
    threads: Interner,
    variables: Interner,
    locks: Interner,
    /// Numbers are one below the ids, because id 0 is the unknown.
    sites: Interner,
    units: Interner,
    stacks: Interner,
    barriers: Interner,
    methods: Interner,
    /// The string of each number in `methods`.
    method_ids: Vec<MethodId>,
}

impl Names {
    /// `None` for an empty line or a comment.
    fn line(&mut self, line: &[u8]) -> Result<Option<Event>, String> {
        let line = begun(line.strip_suffix(b"\r").unwrap_or(line));
        if line.is_empty() || line[0] == b'#' || line.starts_with(b"//") {
            return Ok(None);
        }
        let (thread, rest) = split(line, b'|');
        let Some(rest) = rest else {
            return Err(format!("`{}` has no `|`: expected thread|operation|place", shown(line)));
        };
        let (operation, place) = split(rest, b'|');
        let (site, stack) = split(place.unwrap_or(b""), b'|');
        let thread = thread.trim_ascii();
        if thread.is_empty() {
            return Err("the thread is missing before the first `|`".to_owned());
        }
        let action = self.operation(operation.trim_ascii())?;
        let thread = self.thread(thread);
        let site = self.site(site.trim_ascii());
        let stack = stack.map_or(StackId(0), |stack| self.stack(stack.trim_ascii()));
        Ok(Some(Event { thread, site, stack, action }))
    }

    fn operation(&mut self, operation: &[u8]) -> Result<Action, String> {
        // The two most frequent ones first, without looking at the rest of the table.
        if let [kind @ (b'r' | b'w'), b'(', name @ .., b')'] = operation {
            let variable = self.variable(name);
            return Ok(if *kind == b'r' { Action::Read { variable } } else { Action::Write { variable } });
        }
        if let Some(label) = operation.strip_prefix(b"begin") {
            let (label, details) = details(label);
            return Ok(Action::UnitBegin {
                unit: self.unit(label),
                activation: ActivationId(number_after(details, b'a').unwrap_or(0)),
            });
        }
        if let Some(label) = operation.strip_prefix(b"end") {
            return Ok(Action::UnitEnd { unit: self.unit(label) });
        }
        let unknown = || format!("`{}` is no known operation", shown(operation));
        let (word, rest) = split(operation, b'(');
        let Some(rest) = rest else {
            return match word {
                b"birth" => Ok(Action::ThreadBegin),
                b"death" => Ok(Action::ThreadEnd),
                _ => Err(unknown()),
            };
        };
        let (rest, details) = details(rest);
        let Some(inside) = rest.strip_suffix(b")") else {
            return Err(format!("`{}` has no `)` at its end", shown(operation)));
        };
        if inside.is_empty() {
            return Err(format!("`{}` names nothing between its brackets", shown(operation)));
        }
        let number = |bytes: &[u8]| {
            parse_number(bytes).ok_or_else(|| format!("`{}` wants a number in `{}`", shown(bytes), shown(operation)))
        };
        let action = match word {
            b"acq" | b"acqs" | b"wacq" | b"wacqs" => Action::Acquire {
                lock: self.lock(inside),
                mode: if word.ends_with(b"s") { Mode::Shared } else { Mode::Exclusive },
                cause: if word[0] == b'w' { Cause::Wait } else { Cause::Section },
                section: SectionId(number_after(details, b's').unwrap_or(0) as u32),
                activation: ActivationId(number_after(details, b'a').unwrap_or(0)),
            },
            b"rel" | b"rels" | b"wrel" | b"wrels" => Action::Release {
                lock: self.lock(inside),
                mode: if word.ends_with(b"s") { Mode::Shared } else { Mode::Exclusive },
                cause: if word[0] == b'w' { Cause::Wait } else { Cause::Section },
            },
            b"fork" => Action::Start { child: self.thread(inside) },
            b"join" => Action::Join { child: self.thread(inside) },
            b"arrive" | b"leave" => {
                let (name, generation) = pair(inside);
                let generation = if generation.is_empty() { 0 } else { number(generation)? as u32 };
                let barrier = self.barrier(name);
                if word == b"arrive" {
                    Action::Arrive { barrier, generation }
                } else {
                    Action::Leave { barrier, generation }
                }
            }
            [kind @ (b'v' | b'a' | b'm'), access @ (b'r' | b'w' | b'u')] => Action::Sync {
                variable: self.variable(inside),
                access: match access {
                    b'r' => Access::Read,
                    b'w' => Access::Write,
                    _ => Access::Update,
                },
                kind: match kind {
                    b'v' => SyncKind::Volatile,
                    b'a' => SyncKind::Atomic,
                    _ => SyncKind::Modelled,
                },
                interval: match (number_after(details, b'b'), number_after(details, b'a')) {
                    (Some(before), Some(after)) => Interval::new(before, after),
                    _ => None,
                },
            },
            b"enter" => {
                let (method, activation) = pair(inside);
                Action::Enter { activation: ActivationId(number(activation)?), method: self.method(method) }
            }
            b"exit" => Action::Exit { activation: ActivationId(number(inside)?) },
            b"arm" | b"spec" => {
                let (branch, arm) = pair(inside);
                Action::ArmBegin {
                    branch: BranchId(number(branch)?),
                    arm: number(arm)? as u32,
                    ran: if word == b"arm" { Ran::Yes } else { Ran::Speculated },
                }
            }
            b"merge" => Action::ArmEnd { branch: BranchId(number(inside)?) },
            b"new" => Action::New { object: ObjectId(number(inside)?) },
            b"lost" | b"lostall" => Action::Lost { events: number(inside)?, all: word == b"lostall" },
            _ => return Err(unknown()),
        };
        Ok(action)
    }

    fn thread(&mut self, name: &[u8]) -> ThreadId {
        let (number, new) = self.threads.intern(name);
        if new {
            self.tables.add_thread(&String::from_utf8_lossy(name));
        }
        ThreadId(number)
    }

    fn variable(&mut self, name: &[u8]) -> VariableId {
        let (number, new) = self.variables.intern(name);
        if new {
            self.tables.add_variable(&String::from_utf8_lossy(name));
        }
        VariableId(number)
    }

    fn lock(&mut self, name: &[u8]) -> LockId {
        let (number, new) = self.locks.intern(name);
        if new {
            self.tables.add_lock(&String::from_utf8_lossy(name));
        }
        LockId(number)
    }

    fn barrier(&mut self, name: &[u8]) -> BarrierId {
        let (number, new) = self.barriers.intern(name);
        if new {
            self.tables.add_barrier(&String::from_utf8_lossy(name));
        }
        BarrierId(number)
    }

    fn method(&mut self, name: &[u8]) -> MethodId {
        let (number, new) = self.methods.intern(name);
        if new {
            let id = MethodId(self.tables.add_string(&String::from_utf8_lossy(name)).0);
            self.method_ids.push(id);
        }
        self.method_ids[number as usize]
    }

    /// The label of a unit is what stands in brackets, or all the rest of the word.
    fn unit(&mut self, label: &[u8]) -> UnitId {
        let label = label.strip_prefix(b"(").and_then(|label| label.strip_suffix(b")")).unwrap_or(label);
        if label.is_empty() {
            return UnitId(0);
        }
        let (number, new) = self.units.intern(label);
        if new {
            self.tables.add_unit(&String::from_utf8_lossy(label));
        }
        UnitId(number + 1)
    }

    fn site(&mut self, text: &[u8]) -> SiteId {
        if text.is_empty() {
            return SiteId(0);
        }
        let (number, new) = self.sites.intern(text);
        if new {
            self.tables.add_site(&String::from_utf8_lossy(text));
        }
        SiteId(number + 1)
    }

    /// Places from the innermost outwards, separated by ` < `. Every tail is a stack of its own, so tails are shared.
    fn stack(&mut self, text: &[u8]) -> StackId {
        if text.is_empty() {
            return StackId(0);
        }
        let mut callers = StackId(0);
        let mut end = text.len();
        loop {
            let start = memchr::memmem::rfind(&text[..end], b" < ").map_or(0, |at| at + 3);
            let (number, new) = self.stacks.intern(&text[start..]);
            if new {
                let site = self.site(text[start..end].trim_ascii());
                self.tables.add_stack(site, callers);
            }
            callers = StackId(number + 1);
            match start {
                0 => return callers,
                _ => end = start - 3,
            }
        }
    }
}

fn split(bytes: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(at, bytes) {
        Some(offset) => (&bytes[..offset], Some(&bytes[offset + 1..])),
        None => (bytes, None),
    }
}

/// `name:number`, by the last colon.
fn pair(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b':', bytes) {
        Some(offset) => (&bytes[..offset], &bytes[offset + 1..]),
        None => (bytes, b""),
    }
}

/// Splits `x){s3,a5}` into `x)` and `s3,a5`.
fn details(bytes: &[u8]) -> (&[u8], &[u8]) {
    match (bytes.strip_suffix(b"}"), memchr::memmem::rfind(bytes, b"){")) {
        (Some(inner), Some(offset)) if offset + 2 <= inner.len() => (&bytes[..=offset], &inner[offset + 2..]),
        _ => (bytes, b""),
    }
}

fn number_after(details: &[u8], letter: u8) -> Option<u64> {
    details.split(|&byte| byte == b',').find_map(|part| match part {
        [first, digits @ ..] if *first == letter => parse_number(digits),
        _ => None,
    })
}

fn parse_number(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// The start of a piece of input, fit for a message.
fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).escape_debug().collect();
    if bytes.len() > LONGEST { format!("{text}...") } else { text }
}
