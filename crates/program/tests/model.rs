//! The model of a method, told line by line and compared with the marks of the fixtures.
//!
//! What a mark can say is listed at [`Facts`].

use std::collections::BTreeSet;

use classfile::ClassSource;
use fixture::{Compiled, Fact};
use location::Names;
use program::ir::{BlockId, Body, Op, Value, ValueType};
use program::{
    ControlDependence, Held, Known, LockKind, Mode, Paths, Problem, Program, Section, SectionKind, Sections, Step,
};

#[test]
fn the_model_is_what_the_fixtures_say() {
    fixture::check_facts("fixtures/model", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        facts(&program, compiled)
    });
}

/// What the model says of each line.
fn facts(program: &Program, compiled: &Compiled<'_>) -> Vec<Fact> {
    let asks_for = |what: &str| compiled.fixture.facts.iter().any(|asked| asked == what);
    let mut all = Vec::new();
    for told in program.visit_bodies(
        |_| true,
        |_, body| {
            let sections = Sections::of(&body, program);
            let mut facts = Facts { program, body: &body, sections: &sections, told: BTreeSet::new() };
            facts.sections();
            facts.problems();
            if asks_for("accesses") {
                facts.accesses();
            }
            if asks_for("control") {
                facts.control();
            }
            facts.told
        },
    ) {
        all.extend(told.unwrap_or_else(|unreadable| panic!("{}: {unreadable:?}", compiled.describe())));
    }
    all
}

/// Facts about the lines of one method:
///
/// - `locks LOCK`, `tries LOCK`, `reads LOCK optimistically`, where a section starts; behind it `(whole method)`, `(read)`
///   and the like, and `held already` if the lock is held whenever control comes here;
/// - `lets go LOCK` where a section ends, on whatever path;
/// - `waits on LOCK` where a lock is let go and taken again, `waits on something` if nobody can tell which;
/// - `unbalanced: ...` where a section is left open, or something is let go that was not taken;
/// - with `//@ facts: accesses`, `reads PATH` and `writes PATH` with `under LOCK, perhaps LOCK`;
/// - with `//@ facts: control`, `decided by line N`.
struct Facts<'f> {
    program: &'f Program,
    body: &'f Body,
    sections: &'f Sections,
    told: BTreeSet<Fact>,
}

impl Facts<'_> {
    fn names(&self) -> &Names {
        &self.program.names
    }

    fn tell(&mut self, pc: u32, text: String) {
        let file = self.body.file.map(|file| self.names().text(file).to_owned()).unwrap_or_default();
        let line = self.body.line(pc).unwrap_or(0);
        self.told.insert(Fact { file, line, text });
    }

    fn tell_at(&mut self, at: Value, text: String) {
        self.tell(self.body.instruction(at).pc, text);
    }

    fn lock(&self, section: &Section) -> String {
        let lock = section.lock.readable(self.body, self.names());
        let mode = match (section.kind, section.mode) {
            (SectionKind::Block(LockKind::Stamped), Mode::Exclusive) => " (stamped write)",
            (SectionKind::Block(LockKind::Stamped), Mode::Shared) => " (stamped read)",
            (_, Mode::Shared) => " (read)",
            (_, Mode::Exclusive) if section.is_half => " (write)",
            (_, Mode::Exclusive | Mode::Optimistic) => "",
        };
        format!("{lock}{mode}")
    }

    fn sections(&mut self) {
        for (_, section) in self.sections.iter() {
            let lock = self.lock(section);
            let already = if section.reentrant { ", held already" } else { "" };
            match section.start {
                None => self.tell(0, format!("locks {lock} (whole method)")),
                Some(start) if section.mode == Mode::Optimistic => {
                    self.tell_at(start, format!("reads {lock} optimistically"));
                }
                Some(start) if section.is_tried => self.tell_at(start, format!("tries {lock}{already}")),
                Some(start) => self.tell_at(start, format!("locks {lock}{already}")),
            }
            let end = if section.mode == Mode::Optimistic { "validates" } else { "lets go" };
            for at in &section.ends {
                self.tell_at(*at, format!("{end} {lock}"));
            }
            for at in &section.waits {
                self.tell_at(*at, format!("waits on {lock}"));
            }
        }
        for at in self.sections.unknown_waits() {
            self.tell_at(*at, "waits on something".to_owned());
        }
    }

    fn problems(&mut self) {
        for problem in self.sections.problems() {
            match problem {
                Problem::TooComplex => self.tell(0, "unbalanced: too complex".to_owned()),
                Problem::LeavesHeld { section, at } => {
                    let lock = self.lock(self.sections.get(*section));
                    self.tell_at(*at, format!("unbalanced: leaves with {lock} held"));
                }
                Problem::ReleasesUnheld { lock, at } => {
                    let lock = lock.readable(self.body, self.names());
                    self.tell_at(*at, format!("unbalanced: lets go {lock}, which was not taken"));
                }
            }
        }
    }

    fn accesses(&mut self) {
        let paths = Paths::new(self.body, self.program);
        // To fetch a lock is no access of interest.
        let is_lock = |value: Value| {
            let path = paths.of(value, value);
            let is_lock_type = match self.body.instruction(value).value_type {
                ValueType::Reference(class) => self.names().text(class.0).starts_with("java/util/concurrent/locks/"),
                _ => false,
            };
            is_lock_type || self.sections.iter().any(|(_, section)| section.lock.same(&path))
        };
        let mut told = Vec::new();
        for (block, _) in self.body.blocks() {
            self.sections.walk(self.body, block, |value, instruction, held| {
                let what = match instruction.op {
                    Op::GetField { .. } | Op::GetStatic(_) | Op::ArrayLoad { .. } if is_lock(value) => return,
                    Op::GetField { .. } | Op::GetStatic(_) | Op::ArrayLoad { .. } => {
                        format!("reads {}", paths.of(value, value).readable(self.body, self.names()))
                    }
                    Op::PutField { base, field, .. } => {
                        let path = paths.of(base, value).then(Step::Field(field));
                        format!("writes {}", path.readable(self.body, self.names()))
                    }
                    Op::PutStatic { field, .. } => format!("writes {}", self.names().readable_field(field)),
                    Op::ArrayStore { array, index, .. } => {
                        let path = paths.element(array, index, value);
                        format!("writes {}", path.readable(self.body, self.names()))
                    }
                    _ => return,
                };
                told.push((value, format!("{what}{}", self.under(held))));
            });
        }
        for (at, text) in told {
            self.tell_at(at, text);
        }
    }

    fn under(&self, held: &[Held]) -> String {
        let locks: Vec<String> = held
            .iter()
            .map(|held| {
                let lock = self.lock(self.sections.get(held.section));
                if held.certain { lock } else { format!("perhaps {lock}") }
            })
            .collect();
        if locks.is_empty() { String::new() } else { format!(" under {}", locks.join(", ")) }
    }

    fn control(&mut self) {
        let control = ControlDependence::of(self.body);
        for (block, _) in self.body.blocks() {
            for (value, _) in self.body.instructions_of(block) {
                for dependence in control.of_block(block) {
                    if let Some(line) = self.line_of_branch(dependence.branch) {
                        self.tell_at(value, format!("decided by line {line}"));
                    }
                }
            }
        }
    }

    fn line_of_branch(&self, branch: BlockId) -> Option<u32> {
        let last = self.body.terminator(branch)?;
        self.body.line(self.body.instruction(last).pc)
    }
}
