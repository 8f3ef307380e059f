//! What the program knows of a method, as text for developers and bug reports.

use std::fmt::Write;

use crate::ir::{Body, Printer};
use crate::lock::{LockKind, Mode};
use crate::readable::Readable;
use crate::section::{Problem, Section, SectionKind, Sections};
use crate::summary::{Influence, Root, Summaries};
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
        Problem::TooComplex => "too complex: too many sections and branches".to_owned(),
        Problem::LeavesHeld { section, at } => format!(
            "leaves at {} with {} held",
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
        (SectionKind::Block(LockKind::Own), _) => "operation of",
        (SectionKind::Block(LockKind::Turn), _) => "turn of",
    }
}

fn place(body: &Body, pc: u32) -> String {
    match body.line(pc) {
        Some(line) => format!("line {line}"),
        None => format!("offset {pc}"),
    }
}

/// What a call of the method does, callees included.
pub fn show_summary(program: &Program, summaries: &Summaries, method: MethodId) -> String {
    let Some(summary) = summaries.summary(method) else { return "no summary\n".to_owned() };
    let names = Readable::new(program, summaries, method);
    let mut text = String::new();
    for (number, section) in summary.sections.iter().enumerate() {
        let _ = writeln!(
            text,
            "section {number} on {}{} at {}{}",
            names.name(&section.lock),
            if section.mode == Mode::Shared { " (read)" } else { "" },
            names.spot(&section.spot),
            names.inside(section.inside),
        );
    }
    for (number, access) in summary.accesses.iter().enumerate() {
        let _ = write!(
            text,
            "{} {number} of {} at {}{}",
            if access.is_write { "write" } else { "read" },
            names.variable(access),
            names.spot(&access.spot),
            names.inside(access.held),
        );
        for (label, influences) in
            [("value", &access.value), ("address", &access.address), ("decided", &access.control)]
        {
            if !influences.is_empty() {
                let _ = write!(text, ", {label} from {}", influenced(influences));
            }
        }
        text.push('\n');
    }
    if !summary.result.is_empty() {
        let _ = writeln!(text, "result from {}", influenced(&summary.result));
    }
    if let Some(name) = &summary.returns {
        let _ = writeln!(text, "returns {}", names.name(name));
    }
    if summary.is_cut {
        text.push_str("cut: there was more\n");
    }
    text
}

fn influenced(influences: &[Influence]) -> String {
    let each = influences.iter().map(|influence| {
        let root = match influence.root {
            Root::Parameter(position) => format!("parameter {position}"),
            Root::Access(access) => format!("{}", access.index()),
        };
        let ended: Vec<String> = influence.ended.iter().map(|section| format!("{section}")).collect();
        if ended.is_empty() { root } else { format!("{root} (after section {})", ended.join(", ")) }
    });
    each.collect::<Vec<_>>().join(" and ")
}
