//! Who calls a method, whom it calls, and which threads run it, as text.

use std::fmt::Write;

use super::{EntryId, Many, Threads};
use crate::calls::Calls;
use crate::class::{MethodId, Program};

/// Longer lists are cut.
const MOST: usize = 20;

/// Callers, callees and threads of a method.
pub fn show_threads(program: &Program, calls: &Calls, threads: &Threads, method: MethodId) -> String {
    let mut text = String::new();
    for (label, methods) in [("called by", calls.callers(method)), ("calls", calls.callees(method))] {
        list(&mut text, label, methods.iter().map(|other| program.names.readable_method(program.method_name(*other))));
    }
    let reflection = calls.reflection(program, method);
    list(
        &mut text,
        "not followed: calls through",
        reflection.iter().map(|called| program.names.readable_method(*called)),
    );
    let entries = threads.of_method(method);
    if entries.is_empty() {
        text.push_str("no thread comes here\n");
    }
    list(&mut text, "run by", entries.iter().map(|entry| show_entry(program, threads, *entry)));
    if let Some(initialiser) = threads.initialiser_of(method) {
        let class = program.names.readable_class(program.method_name(initialiser).class);
        let _ = writeln!(text, "runs once, while {class} is initialised");
    } else if !entries.is_empty() {
        text.push_str(match threads.may_overlap(method, method) {
            Some(_) => "runs in two threads at once\n",
            None => "runs in one thread at a time\n",
        });
    }
    text
}

/// `thread Worker.run, several at once: started in a loop at line 7 of Main.main`
fn show_entry(program: &Program, threads: &Threads, id: EntryId) -> String {
    let entry = threads.entry(id);
    let mut text = threads.describe(program, id);
    text.push_str(match entry.many {
        None => "",
        Some(Many::ByNature) => ", several at once",
        Some(Many::AtOnce) => ", several at once by one call",
        Some(Many::InLoop) => ", several at once: started in a loop",
        Some(Many::TwoSites) => ", several at once: started at several places",
        Some(Many::StarterRepeats) => ", several at once: what starts it runs several times",
    });
    for (index, site) in entry.sites.iter().take(3).enumerate() {
        let line = site.line.map_or_else(|| "code".to_owned(), |line| format!("line {line}"));
        let starter = program.names.readable_method(program.method_name(site.at.method));
        let _ = write!(text, "{} at {line} of {starter}", if index == 0 { ", started" } else { "," });
    }
    if entry.sites.len() > 3 {
        let _ = write!(text, " and {} more", entry.sites.len() - 3);
    }
    text
}

fn list(text: &mut String, label: &str, items: impl ExactSizeIterator<Item = String>) {
    let count = items.len();
    for item in items.take(MOST) {
        let _ = writeln!(text, "{label} {item}");
    }
    if count > MOST {
        let _ = writeln!(text, "{label} {} more", count - MOST);
    }
}
