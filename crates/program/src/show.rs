//! What the program knows of a method, as text for developers and bug reports.

use std::fmt::Write;

use crate::ir::{Body, Printer};
use crate::lock::{LockKind, Mode};
use crate::section::{Problem, Section, SectionKind, Sections};
use crate::{ControlDependence, MethodId, Program};

/// Instructions by block with the sections that are open, then the sections and their locks.
pub fn show_method(program: &Program, method: MethodId) -> String {
    let names = &program.names;
    let name = program.method_name(method);
    let mut text = format!("{}{}\n", names.readable_method(name), names.text(name.descriptor));
    let _ = writeln!(text, "  in {}", program.class_path(program.class_of(method)));
    let body = match program.body(method) {
        Ok(Some(body)) => body,
        Ok(None) => {
            text.push_str("  no code: abstract or native\n");
            return text;
        }
        Err(unreadable) => {
            let _ = writeln!(text, "  not analysed: {}", unreadable.reason);
            return text;
        }
    };
    let sections = Sections::of(&body, program);
    let control = ControlDependence::of(&body);
    show_blocks(&mut text, program, &body, &sections, &control);
    show_sections(&mut text, program, &body, &sections);
    text
}

fn show_blocks(text: &mut String, program: &Program, body: &Body, sections: &Sections, control: &ControlDependence) {
    let printer = Printer::new(body, &program.names);
    let mut line = None;
    for (id, block) in body.blocks() {
        let _ = write!(text, "{}", printer.block_head(id, block));
        let decided: Vec<String> =
            control.of_block(id).iter().map(|on| format!("b{}/{}", on.branch.index(), on.edge)).collect();
        if !decided.is_empty() {
            let _ = write!(text, "  decided by {}", decided.join(", "));
        }
        text.push('\n');
        sections.walk(body, id, |value, instruction, held| {
            let here = body.line(instruction.pc);
            let mark = match here {
                Some(here) if line != Some(here) => format!("{here}"),
                _ => String::new(),
            };
            line = here;
            let open: Vec<String> = held
                .iter()
                .map(|held| format!("s{}{}", held.section.index(), if held.certain { "" } else { "?" }))
                .collect();
            let _ = writeln!(text, "{mark:>6}  {:<8}{}", open.join(" "), printer.instruction(value));
        });
    }
}

fn show_sections(text: &mut String, program: &Program, body: &Body, sections: &Sections) {
    if sections.is_empty() {
        text.push_str("no sections\n");
    }
    for (id, section) in sections.iter() {
        let _ = write!(text, "s{} {}", id.index(), describe(section));
        let _ = write!(text, " {}", section.lock.readable(body, &program.names));
        if section.reentrant {
            text.push_str(", held already");
        }
        if let Some(start) = section.start {
            let _ = write!(text, ", from {}", place(body, body.instruction(start).pc));
        }
        for (label, list) in [("to", &section.ends), ("lets go at", &section.waits)] {
            if !list.is_empty() {
                let mut places: Vec<String> = list.iter().map(|at| place(body, body.instruction(*at).pc)).collect();
                places.dedup();
                let _ = write!(text, ", {label} {}", places.join(", "));
            }
        }
        text.push('\n');
    }
    for problem in sections.problems() {
        let _ = writeln!(text, "problem: {}", describe_problem(program, body, sections, problem));
    }
}

/// One line for each place where sections of the method do not balance; empty if all do.
pub fn show_problems(program: &Program, method: MethodId, body: &Body) -> String {
    let sections = Sections::of(body, program);
    let mut text = String::new();
    for problem in sections.problems() {
        let name = program.names.readable_method(program.method_name(method));
        let _ = writeln!(text, "unbalanced: {name}: {}", describe_problem(program, body, &sections, problem));
    }
    text
}

fn describe_problem(program: &Program, body: &Body, sections: &Sections, problem: &Problem) -> String {
    match problem {
        Problem::LeavesHeld { section, at } => format!(
            "returns at {} with {} held",
            place(body, body.instruction(*at).pc),
            sections.get(*section).lock.readable(body, &program.names)
        ),
        Problem::ReleasesUnheld { lock, at } => format!(
            "gives back {} at {} without having taken it",
            lock.readable(body, &program.names),
            place(body, body.instruction(*at).pc)
        ),
    }
}

fn describe(section: &Section) -> &'static str {
    match (section.kind, section.mode) {
        (SectionKind::Method, _) => "synchronized method on",
        (SectionKind::Block(LockKind::Monitor), _) => "synchronized on",
        (SectionKind::Block(LockKind::Lock), Mode::Shared) => "read lock",
        (SectionKind::Block(LockKind::Lock), _) => "lock",
        (SectionKind::Block(LockKind::Stamped), Mode::Exclusive) => "stamped write lock",
        (SectionKind::Block(LockKind::Stamped), Mode::Shared) => "stamped read lock",
        (SectionKind::Block(LockKind::Stamped), Mode::Optimistic) => "optimistic read of",
    }
}

fn place(body: &Body, pc: u32) -> String {
    match body.line(pc) {
        Some(line) => format!("line {line}"),
        None => format!("offset {pc}"),
    }
}
