//! What is known of a field, as text.

use std::fmt::Write;

use super::{FieldAccess, Part, Sharings, describe};
use crate::class::{FieldId, MethodId};
use crate::guard::always_around;
use crate::readable::Readable;
use crate::whole::Whole;

/// Longer lists are cut.
const MOST: usize = 60;

/// Whether a field is shared and why, and who touches it with what held.
pub fn show_field(whole: &Whole<'_>, field: FieldId) -> String {
    let (program, threads, sharings) = (whole.program, whole.threads(), whole.sharings());
    let mut text = format!("{}\n", program.readable_field(field));
    match sharings.told(field) {
        Some((itself, contents)) => {
            let _ = writeln!(text, "  {}", describe(program, threads, itself));
            if let Some(contents) = contents {
                let _ = writeln!(text, "  contents: {}", describe(program, threads, contents));
            }
        }
        None => text.push_str("  nothing here touches it\n"),
    }
    let accesses = sharings.accesses(field);
    for access in accesses.iter().take(MOST) {
        show_access(&mut text, whole, access);
    }
    if accesses.len() > MOST {
        let _ = writeln!(text, "  and {} more", accesses.len() - MOST);
    }
    text
}

/// When a method runs, if that is only before others come to its object.
pub fn show_making(sharings: Sharings<'_>, method: MethodId) -> &'static str {
    match sharings.makes_its_object(method) {
        true => "runs while its object is made, before others know it\n",
        false => "",
    }
}

fn show_access(text: &mut String, whole: &Whole<'_>, access: &FieldAccess) {
    let (program, summaries) = (whole.program, &whole.summaries);
    let name = program.method_name(access.at.method);
    let Some(outline) = summaries.outline(access.at.method) else { return };
    let Some(event) = outline.events.get(access.at.event.index()) else { return };
    let word = match (access.is_write, access.part) {
        (false, Part::Itself) => "read",
        (true, Part::Itself) => "written",
        (false, Part::Contents) => "contents read",
        (true, Part::Contents) => "contents written",
        (false, Part::Within) => "contents of an element read",
        (true, Part::Within) => "contents of an element written",
    };
    let line = event.line.map_or_else(|| format!("offset {}", event.pc), |line| format!("line {line}"));
    let _ = write!(text, "  {word} at {line} of {}", program.names.readable_method(name));
    let readable = Readable::new(program, summaries, access.at.method);
    let locks: Vec<String> = event
        .held
        .iter()
        .filter_map(|section| outline.sections.get(section))
        .map(|section| readable.name(&section.lock))
        .collect();
    if !locks.is_empty() {
        let _ = write!(text, " under {}", locks.join(", "));
    }
    let around = always_around(whole, access.at.method);
    if !around.is_empty() {
        let _ = write!(text, ", always called under {}", around.join(" and "));
    }
    if access.is_initial {
        text.push_str(", while the object is made");
    }
    text.push('\n');
}
