//! Writes the text form. Reading it again gives the same events under the same names.

use std::fmt::Write as _;
use std::io::{self, Write};

use rustc_hash::FxHashSet;

use crate::{Access, Action, Cause, Event, Mode, Ran, SiteId, StackId, SyncKind, Tables, UnitId};

pub struct TextWriter<W> {
    output: W,
    line: String,
    labels: Labels,
}

/// The texts by which the ids are called, one kind at a time.
#[derive(Default)]
struct Labels {
    threads: Unique,
    variables: Unique,
    locks: Unique,
    units: Unique,
    barriers: Unique,
}

/// Two threads may have the same name in a run. In the text they would become one thread, so the second gets its
/// number behind its name.
#[derive(Default)]
struct Unique {
    texts: Vec<Option<Box<str>>>,
    used: FxHashSet<Box<str>>,
}

impl Unique {
    fn text(&mut self, id: u32, name: impl FnOnce() -> String) -> &str {
        let index = id as usize;
        if self.texts.len() <= index {
            self.texts.resize(index + 1, None);
        }
        let used = &mut self.used;
        self.texts[index].get_or_insert_with(|| {
            let mut text = clean(name());
            while !used.insert(text.as_str().into()) {
                text = format!("{text}#{id}");
            }
            text.into()
        })
    }
}

impl<W: Write> TextWriter<W> {
    pub fn new(output: W) -> TextWriter<W> {
        TextWriter { output, line: String::new(), labels: Labels::default() }
    }

    pub fn event(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        self.line.clear();
        self.line += self.labels.threads.text(event.thread.0, || tables.thread_name(event.thread));
        self.line.push('|');
        self.line += &operation(event.action, tables, &mut self.labels);
        self.line.push('|');
        self.line += &place(event.site, tables);
        if event.stack != StackId(0) {
            let stack: Vec<String> = tables.stack(event.stack).into_iter().map(|site| place(site, tables)).collect();
            // Of a stack of unknown places nothing would come back.
            if stack.iter().any(|place| !place.is_empty()) {
                self.line.push('|');
                self.line += &stack.join(" < ");
            }
        }
        self.line.push('\n');
        self.output.write_all(self.line.as_bytes())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

fn operation(action: Action, tables: &Tables, labels: &mut Labels) -> String {
    match action {
        Action::ThreadBegin => "birth".to_owned(),
        Action::ThreadEnd => "death".to_owned(),
        Action::Start { child } => format!("fork({})", labels.threads.text(child.0, || tables.thread_name(child))),
        Action::Join { child } => format!("join({})", labels.threads.text(child.0, || tables.thread_name(child))),
        Action::Arrive { barrier, generation } => {
            format!("arrive({}:{generation})", labels.barriers.text(barrier.0, || tables.barrier_name(barrier)))
        }
        Action::Leave { barrier, generation } => {
            format!("leave({}:{generation})", labels.barriers.text(barrier.0, || tables.barrier_name(barrier)))
        }
        Action::Read { variable } => {
            format!("r({})", labels.variables.text(variable.0, || tables.variable_text(variable)))
        }
        Action::Write { variable } => {
            format!("w({})", labels.variables.text(variable.0, || tables.variable_text(variable)))
        }
        Action::Sync { variable, access, kind, interval } => {
            let kind = match kind {
                SyncKind::Volatile => 'v',
                SyncKind::Atomic => 'a',
                SyncKind::Modelled => 'm',
            };
            let access = match access {
                Access::Read => 'r',
                Access::Write => 'w',
                Access::Update => 'u',
            };
            let numbers =
                interval.map_or_else(String::new, |numbers| format!("{{b{},a{}}}", numbers.before(), numbers.after()));
            format!("{kind}{access}({}){numbers}", labels.variables.text(variable.0, || tables.variable_text(variable)))
        }
        Action::Acquire { lock, mode, cause, section, activation } => {
            let mut details = Vec::new();
            if section.0 != 0 {
                details.push(format!("s{}", section.0));
            }
            if activation.0 != 0 {
                details.push(format!("a{}", activation.0));
            }
            let details = if details.is_empty() { String::new() } else { format!("{{{}}}", details.join(",")) };
            format!(
                "{}acq{}({}){details}",
                cause_letter(cause),
                mode_letter(mode),
                labels.locks.text(lock.0, || tables.lock_text(lock))
            )
        }
        Action::Release { lock, mode, cause } => {
            format!(
                "{}rel{}({})",
                cause_letter(cause),
                mode_letter(mode),
                labels.locks.text(lock.0, || tables.lock_text(lock))
            )
        }
        Action::UnitBegin { unit, activation } => {
            let details = if activation.0 == 0 { String::new() } else { format!("{{a{}}}", activation.0) };
            // Details need the brackets before them, even of a unit without a name.
            match (label(unit, tables, labels), details.is_empty()) {
                (label, false) if label.is_empty() => format!("begin(){details}"),
                (label, _) => format!("begin{label}{details}"),
            }
        }
        Action::UnitEnd { unit } => format!("end{}", label(unit, tables, labels)),
        Action::Enter { activation, method } => {
            format!("enter({}:{})", clean(tables.method_name(method)), activation.0)
        }
        Action::Exit { activation } => format!("exit({})", activation.0),
        Action::ArmBegin { branch, arm, ran } => match ran {
            Ran::Yes => format!("arm({}:{arm})", branch.0),
            Ran::Speculated => format!("spec({}:{arm})", branch.0),
        },
        Action::ArmEnd { branch } => format!("merge({})", branch.0),
        Action::New { object } => format!("new({})", object.0),
        Action::Lost { events, all } => format!("{}({events})", if all { "lostall" } else { "lost" }),
    }
}

fn mode_letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => "s",
    }
}

fn cause_letter(cause: Cause) -> &'static str {
    match cause {
        Cause::Section => "",
        Cause::Wait => "w",
    }
}

fn label(unit: UnitId, tables: &Tables, labels: &mut Labels) -> String {
    if unit == UnitId(0) {
        return String::new();
    }
    let name = || match tables.unit_name(unit) {
        "" => format!("unit {}", unit.0),
        name => name.to_owned(),
    };
    format!("({})", labels.units.text(unit.0, name))
}

fn place(site: SiteId, tables: &Tables) -> String {
    match tables.site_text(site) {
        text if text.is_empty() => text,
        text => clean(text),
    }
}

/// A name from a program may hold what separates fields and lines here, begin like a comment, or begin or end with what a
/// reader drops. Such characters stand as `%` with their code; a name that has none of them stays as it is.
fn clean(text: String) -> String {
    let inside = text.trim();
    if inside.len() == text.len() && !inside.is_empty() && !inside.starts_with(['#', '/']) && !text.contains(separates)
    {
        return text;
    }
    if inside.is_empty() {
        return "%20".to_owned();
    }
    let start = text.len() - text.trim_start().len();
    let end = start + inside.len();
    let mut clean = String::with_capacity(text.len() + 8);
    for (at, character) in text.char_indices() {
        let edge = at < start || at >= end || (at == 0 && matches!(character, '#' | '/'));
        if edge || separates(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(clean, "%{byte:02X}");
            }
        } else {
            clean.push(character);
        }
    }
    clean
}

/// The bar between fields, line ends and whatever else an editor would not show, and the mark that a reader takes for the start of
/// a text.
fn separates(character: char) -> bool {
    character == '|' || character == '\u{feff}' || character.is_control()
}
