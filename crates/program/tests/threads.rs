//! Threads and sharing, told line by line and compared with the marks of the fixtures.
//!
//! - where something is started: `starts CODE, once` or `starts CODE, many: WHY`;
//! - with `//@ facts: threads`, on the first line of each method: `run by THREADS`;
//! - with `//@ facts: sharing`, at each write of a field that is not final: `FIELD` or `contents of FIELD`, and the reason;
//! - with `//@ facts: nearest`, too, the threads that share are those that `fissure show` names;
//! - with `//@ facts: order`, `before` and `after` where nothing is started yet, or all is over;
//! - `//@ facts: open` or `closed` choose the world.

use std::sync::Arc;

use classfile::ClassSource;
use fixture::{Compiled, Fact};
use program::sharing::{Answers, Part, Sharing, Sharings, describe};
use program::summary::{Extent, Summaries};
use program::thread::{At, Many, Threads, World};
use program::{CallGraph, Calls, Captured, Known, MethodId, OutlineCache, Outlines, Program};

#[test]
fn threads_are_what_the_fixtures_say() {
    fixture::check_facts("fixtures/threads", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        facts(&program, compiled)
    });
}

fn facts(program: &Program, compiled: &Compiled<'_>) -> Vec<Fact> {
    let asks_for = |what: &str| compiled.fixture.facts.iter().any(|asked| asked == what);
    let world = match (asks_for("open"), asks_for("closed")) {
        (true, _) => World::Open,
        (_, true) => World::Closed,
        _ => World::Auto,
    };
    let calls = Calls::of(program, CallGraph::default());
    let outlines = Arc::new(OutlineCache::new(program));
    let summaries = Summaries::of(program, &calls, outlines, Arc::default(), Extent::SMALL.into(), |_| true);
    let outlines = Outlines::new(program, &summaries.outlines);
    let threads = Threads::of(program, &calls, outlines, world);
    let mut facts = Vec::new();
    for entry in threads.entries() {
        let code = entry.method.map(|method| program.names.readable_method(program.method_name(method)));
        for site in &entry.sites {
            let times = match entry.many {
                None => "once".to_owned(),
                Some(many) => format!("many: {}", why(many)),
            };
            let text = format!("starts {}, {times}", code.clone().unwrap_or_default());
            facts.push(fact(program, site.at.method, site.line, text));
        }
    }
    for site in threads.unknown_starts() {
        facts.push(fact(program, site.at.method, site.line, "starts something".to_owned()));
    }
    for method in program.methods() {
        let Some(outline) = summaries.outline(method) else { continue };
        let first = outline.events.iter().filter_map(|event| event.line).min();
        if asks_for("threads") {
            let by: Vec<String> =
                threads.of_method(method).iter().map(|entry| threads.describe(program, *entry)).collect();
            let text = if by.is_empty() { "run by nobody".to_owned() } else { format!("run by {}", by.join(", ")) };
            let itself = threads.may_overlap(method, method).map_or("", |_| ", at once");
            facts.push(fact(program, method, first, format!("{text}{itself}")));
        }
        if asks_for("order") {
            for (index, event) in outline.events.iter().enumerate() {
                let at = At { method, event: program::outline::EventId(index as u32) };
                if threads.is_before_start(outlines, method, at.event) {
                    facts.push(fact(program, method, event.line, "before".to_owned()));
                }
                if threads.is_after_join(outlines, method, at.event) {
                    facts.push(fact(program, method, event.line, "after".to_owned()));
                }
            }
        }
    }
    if asks_for("sharing") {
        facts.extend(sharing(program, &calls, &summaries, &threads, asks_for("nearest")));
    }
    facts.sort();
    facts.dedup();
    facts
}

/// At each write of a field, of a checked class, what is said of it.
fn sharing(program: &Program, calls: &Calls, summaries: &Summaries, threads: &Threads, is_nearest: bool) -> Vec<Fact> {
    let answers = Answers::new(program);
    let outlines = Outlines::new(program, &summaries.outlines);
    let captured = Captured::default();
    let sharings = Sharings::new(program, calls, outlines, threads, &captured, &answers);
    let mut facts = Vec::new();
    for field in program.classes().flat_map(|class| program.fields_of(class)) {
        for access in sharings.accesses(field).iter().filter(|access| access.is_write) {
            let told = sharings.told(field).filter(|_| is_nearest);
            let (answer, what) = match access.part {
                Part::Itself => (told.map(|told| told.0).or_else(|| sharings.field(field)), ""),
                Part::Contents => (sharings.contents(field), "contents of "),
                Part::Within => (sharings.within(field), "contents of an element of "),
            };
            let Some(answer) = answer.filter(|answer| *answer != Sharing::Final) else { continue };
            let line =
                summaries.outline(access.at.method).and_then(|outline| outline.events[access.at.event.index()].line);
            let name = program.names.text(program.field(field).name);
            let text = format!("{what}{name} {}", describe(program, threads, answer));
            facts.push(fact(program, access.at.method, line, text));
        }
    }
    facts
}

fn why(many: Many) -> &'static str {
    match many {
        Many::ByNature => "by nature",
        Many::AtOnce => "at once",
        Many::InLoop => "in a loop",
        Many::TwoSites => "twice",
        Many::StarterRepeats => "again",
    }
}

fn fact(program: &Program, method: MethodId, line: Option<u32>, text: String) -> Fact {
    let file = program.header(program.class_of(method)).source_file;
    let file = file.map(|file| program.names.text(file).to_owned()).unwrap_or_default();
    Fact { file, line: line.unwrap_or(0), text }
}
