//! What the ids of a trace stand for, and how these things are written as text.
//!
//! A row may be missing where a part of a trace was lost: every name then falls back on its number.

use std::fmt::Write as _;

use crate::{BarrierId, LockId, MethodId, ObjectId, SiteId, StackId, StringId, ThreadId, UnitId, VariableId};

/// A place in code, as the trace has it. A place that is mere text has it as `method`, and no class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// With dots.
    pub class: StringId,
    pub method: StringId,
    pub descriptor: StringId,
    pub file: StringId,
    /// 0 is unknown.
    pub line: u32,
    pub pc: u32,
}

/// Which part of an object a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// A field, or all there is.
    #[default]
    Whole,
    /// An element of an array.
    Element(u32),
    /// What a container holds.
    Contents,
}

/// A variable or a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Thing {
    /// `pkg.Foo.field` for a field, the class for an element, contents or a lock, any text in a text trace.
    pub name: StringId,
    /// 0 if it belongs to no object.
    pub object: ObjectId,
    pub part: Part,
}

/// All tables of a trace, filled while it is read.
#[derive(Clone, Debug)]
pub struct Tables {
    pub(crate) strings: Vec<Box<str>>,
    pub(crate) threads: Vec<StringId>,
    pub(crate) variables: Vec<Thing>,
    pub(crate) locks: Vec<Thing>,
    pub(crate) sites: Vec<Frame>,
    /// A site and the rest of the stack.
    pub(crate) stacks: Vec<(SiteId, StackId)>,
    pub(crate) units: Vec<StringId>,
    pub(crate) barriers: Vec<StringId>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            strings: vec!["".into()],
            threads: Vec::new(),
            variables: Vec::new(),
            locks: Vec::new(),
            sites: vec![Frame::default()],
            stacks: vec![(SiteId(0), StackId(0))],
            units: vec![StringId(0)],
            barriers: Vec::new(),
        }
    }
}

/// How many rows each of some tables has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowCounts([usize; 8]);

impl Tables {
    pub fn row_counts(&self) -> RowCounts {
        RowCounts([
            self.strings.len(),
            self.threads.len(),
            self.variables.len(),
            self.locks.len(),
            self.sites.len(),
            self.stacks.len(),
            self.units.len(),
            self.barriers.len(),
        ])
    }

    /// The rows after the first ones, for [`Tables::append`].
    pub fn rows_after(&self, RowCounts(counts): RowCounts) -> Tables {
        fn rest<T: Clone>(rows: &[T], count: usize) -> Vec<T> {
            rows.get(count..).unwrap_or_default().to_vec()
        }
        Tables {
            strings: rest(&self.strings, counts[0]),
            threads: rest(&self.threads, counts[1]),
            variables: rest(&self.variables, counts[2]),
            locks: rest(&self.locks, counts[3]),
            sites: rest(&self.sites, counts[4]),
            stacks: rest(&self.stacks, counts[5]),
            units: rest(&self.units, counts[6]),
            barriers: rest(&self.barriers, counts[7]),
        }
    }

    /// Adds rows that come after those that are here.
    pub fn append(&mut self, rows: Tables) {
        self.strings.extend(rows.strings);
        self.threads.extend(rows.threads);
        self.variables.extend(rows.variables);
        self.locks.extend(rows.locks);
        self.sites.extend(rows.sites);
        self.stacks.extend(rows.stacks);
        self.units.extend(rows.units);
        self.barriers.extend(rows.barriers);
    }

    pub fn add_string(&mut self, text: &str) -> StringId {
        if text.is_empty() {
            return StringId(0);
        }
        self.strings.push(text.into());
        StringId(self.strings.len() as u32 - 1)
    }

    pub fn add_thread(&mut self, name: &str) -> ThreadId {
        let name = self.add_string(name);
        self.threads.push(name);
        ThreadId(self.threads.len() as u32 - 1)
    }

    pub fn add_variable(&mut self, text: &str) -> VariableId {
        let thing = self.parse_thing(text);
        self.variables.push(thing);
        VariableId(self.variables.len() as u32 - 1)
    }

    pub fn add_lock(&mut self, text: &str) -> LockId {
        let thing = self.parse_thing(text);
        self.locks.push(thing);
        LockId(self.locks.len() as u32 - 1)
    }

    pub fn add_site(&mut self, text: &str) -> SiteId {
        let frame = self.parse_frame(text);
        self.sites.push(frame);
        SiteId(self.sites.len() as u32 - 1)
    }

    pub fn add_unit(&mut self, name: &str) -> UnitId {
        let name = self.add_string(name);
        self.units.push(name);
        UnitId(self.units.len() as u32 - 1)
    }

    pub fn add_barrier(&mut self, name: &str) -> BarrierId {
        let name = self.add_string(name);
        self.barriers.push(name);
        BarrierId(self.barriers.len() as u32 - 1)
    }

    /// For recorders, which know what others have as text.
    pub fn push_variable(&mut self, thing: Thing) -> VariableId {
        self.variables.push(thing);
        VariableId(self.variables.len() as u32 - 1)
    }

    pub fn push_lock(&mut self, thing: Thing) -> LockId {
        self.locks.push(thing);
        LockId(self.locks.len() as u32 - 1)
    }

    pub fn push_site(&mut self, frame: Frame) -> SiteId {
        self.sites.push(frame);
        SiteId(self.sites.len() as u32 - 1)
    }

    pub fn add_stack(&mut self, site: SiteId, callers: StackId) -> StackId {
        self.stacks.push((site, callers));
        StackId(self.stacks.len() as u32 - 1)
    }

    pub fn string(&self, id: StringId) -> &str {
        self.strings.get(id.index()).map_or("", |text| text)
    }

    pub fn thread_name(&self, id: ThreadId) -> String {
        self.named(self.threads.get(id.index()).copied(), "thread", id.0)
    }

    pub fn unit_name(&self, id: UnitId) -> &str {
        self.string(self.units.get(id.index()).copied().unwrap_or_default())
    }

    pub fn barrier_name(&self, id: BarrierId) -> String {
        self.named(self.barriers.get(id.index()).copied(), "barrier", id.0)
    }

    pub fn method_name(&self, id: MethodId) -> String {
        self.named(Some(StringId(id.0)), "method", id.0)
    }

    pub fn variable(&self, id: VariableId) -> Thing {
        self.variables.get(id.index()).copied().unwrap_or_default()
    }

    pub fn lock(&self, id: LockId) -> Thing {
        self.locks.get(id.index()).copied().unwrap_or_default()
    }

    /// The name without the object: what the source calls it.
    pub fn variable_name(&self, id: VariableId) -> String {
        self.named(Some(self.variable(id).name), "variable", id.0)
    }

    pub fn lock_name(&self, id: LockId) -> String {
        self.named(Some(self.lock(id).name), "lock", id.0)
    }

    /// The name with object and part: one text for one variable.
    pub fn variable_text(&self, id: VariableId) -> String {
        thing_text(self.variable_name(id), self.variable(id))
    }

    pub fn lock_text(&self, id: LockId) -> String {
        thing_text(self.lock_name(id), self.lock(id))
    }

    pub fn frame(&self, id: SiteId) -> Option<Frame> {
        self.sites.get(id.index()).copied().filter(|frame| *frame != Frame::default())
    }

    /// `bank.Account.deposit:(I)V@12(Account.java:17)`, with the parts that are known, or just `Account.java:17`; empty for
    /// an unknown place.
    pub fn site_text(&self, id: SiteId) -> String {
        self.frame(id).map_or_else(String::new, |frame| self.frame_text(frame))
    }

    /// A stack from the innermost site outwards.
    pub fn stack(&self, id: StackId) -> Vec<SiteId> {
        let mut sites = Vec::new();
        let mut id = id;
        // A damaged table could hold a ring: no real stack is deeper than the table is long.
        while id != StackId(0) && sites.len() < self.stacks.len() {
            let Some(&(site, callers)) = self.stacks.get(id.index()) else { break };
            sites.push(site);
            id = callers;
        }
        sites
    }

    fn named(&self, name: Option<StringId>, kind: &str, number: u32) -> String {
        match name.map(|name| self.string(name)) {
            None | Some("") => format!("{kind} {number}"),
            Some(name) => name.to_owned(),
        }
    }

    fn frame_text(&self, frame: Frame) -> String {
        if frame == (Frame { file: frame.file, line: frame.line, ..Frame::default() }) && frame.file != StringId(0) {
            return format!("{}:{}", self.string(frame.file), frame.line);
        }
        let mut text = String::new();
        if frame.class != StringId(0) {
            text += self.string(frame.class);
            text.push('.');
        }
        text += self.string(frame.method);
        if frame.descriptor != StringId(0) {
            text.push(':');
            text += self.string(frame.descriptor);
        }
        if frame.pc != 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "@{}", frame.pc);
        }
        if frame.file != StringId(0) {
            let _ = write!(text, "({}:{})", self.string(frame.file), frame.line);
        }
        text
    }

    /// Text that is not exactly what [`Tables::frame_text`] would write is kept as it is.
    fn parse_frame(&mut self, text: &str) -> Frame {
        if let Some(parts) = FrameParts::of(text) {
            let frame = Frame {
                class: self.add_string(parts.class),
                method: self.add_string(parts.method),
                descriptor: self.add_string(parts.descriptor),
                file: self.add_string(parts.file),
                line: parts.line,
                pc: parts.pc,
            };
            if self.frame_text(frame) == text {
                return frame;
            }
        }
        Frame { method: self.add_string(text), ..Frame::default() }
    }

    fn parse_thing(&mut self, text: &str) -> Thing {
        if let Some((name, object, part)) = thing_parts(text) {
            let thing = Thing { name: StringId(0), object, part };
            if thing_text(name.to_owned(), thing) == text {
                return Thing { name: self.add_string(name), ..thing };
            }
        }
        Thing { name: self.add_string(text), ..Thing::default() }
    }
}

fn thing_text(mut name: String, thing: Thing) -> String {
    if thing.object != ObjectId(0) {
        let _ = write!(name, "@{}", thing.object.0);
    }
    match thing.part {
        Part::Whole => {}
        Part::Element(index) => {
            let _ = write!(name, "[{index}]");
        }
        Part::Contents => name += "{}",
    }
    name
}

fn thing_parts(text: &str) -> Option<(&str, ObjectId, Part)> {
    let (rest, part) = if let Some(rest) = text.strip_suffix("{}") {
        (rest, Part::Contents)
    } else if let Some(rest) = text.strip_suffix(']') {
        let (rest, index) = rest.rsplit_once('[')?;
        (rest, Part::Element(index.parse().ok()?))
    } else {
        (text, Part::Whole)
    };
    let (name, object) = rest.rsplit_once('@')?;
    let object = object.parse().ok().filter(|&object| object != 0)?;
    (!name.is_empty()).then_some((name, ObjectId(object), part))
}

struct FrameParts<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    file: &'a str,
    line: u32,
    pc: u32,
}

impl FrameParts<'_> {
    fn of(text: &str) -> Option<FrameParts<'_>> {
        let (head, file, line) = match text.strip_suffix(')').and_then(|inside| inside.rsplit_once('(')) {
            Some((head, source)) => match source.rsplit_once(':') {
                Some((file, line)) => (head, file, line.parse().ok()?),
                None => (text, "", 0),
            },
            None => (text, "", 0),
        };
        let (head, pc) = match head.rsplit_once('@') {
            Some((head, pc)) => (head, pc.parse().ok()?),
            None => (head, 0),
        };
        let (name, descriptor) = head.split_once(':').unwrap_or((head, ""));
        if let ("", 0, Ok(line)) = (file, pc, descriptor.parse()) {
            return Some(FrameParts { class: "", method: "", descriptor: "", file: name, line, pc });
        }
        let (class, method) = name.rsplit_once('.')?;
        (!class.is_empty() && !method.is_empty()).then_some(FrameParts { class, method, descriptor, file, line, pc })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_their_text() {
        let mut tables = Tables::default();
        for text in [
            "bank.Account.deposit:(I)V@12(Account.java:17)",
            "bank.Account.deposit(Account.java:17)",
            "bank.Account.<init>:()V",
            "345",
            "Foo.java:12",
            "Foo.java:012",
            "12:7",
            ":7",
            "a(b)c",
            "x@",
            "f(3)",
            "a.b@007",
        ] {
            let site = tables.add_site(text);
            assert_eq!(tables.site_text(site), text);
        }
        let site = tables.add_site("bank.Account.deposit:(I)V@12(Account.java:17)");
        let frame = tables.frame(site).unwrap();
        assert_eq!((tables.string(frame.class), tables.string(frame.method)), ("bank.Account", "deposit"));
        assert_eq!((tables.string(frame.file), frame.line, frame.pc), ("Account.java", 17, 12));
        let site = tables.add_site("Account.java:17");
        let frame = tables.frame(site).unwrap();
        assert_eq!((tables.string(frame.class), tables.string(frame.method)), ("", ""));
        assert_eq!((tables.string(frame.file), frame.line), ("Account.java", 17));
    }

    #[test]
    fn variables_keep_their_text_and_know_their_object() {
        let mut tables = Tables::default();
        for (text, name, object, part) in [
            ("x", "x", 0, Part::Whole),
            ("bank.Account.balance@17", "bank.Account.balance", 17, Part::Whole),
            ("int[]@3[8]", "int[]", 3, Part::Element(8)),
            ("java.util.HashMap@4{}", "java.util.HashMap", 4, Part::Contents),
            ("x@0", "x@0", 0, Part::Whole),
            ("a[1]", "a[1]", 0, Part::Whole),
            ("@7", "@7", 0, Part::Whole),
        ] {
            let variable = tables.add_variable(text);
            assert_eq!(tables.variable_text(variable), text);
            assert_eq!(tables.variable_name(variable), name);
            assert_eq!(tables.variable(variable).object, ObjectId(object));
            assert_eq!(tables.variable(variable).part, part);
        }
    }

    #[test]
    fn what_is_missing_is_called_by_its_number() {
        let tables = Tables::default();
        assert_eq!(tables.variable_text(VariableId(9)), "variable 9");
        assert_eq!(tables.thread_name(ThreadId(2)), "thread 2");
        assert_eq!(tables.site_text(SiteId(5)), "");
    }
}
