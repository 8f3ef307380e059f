//! What is said of a witness.

use std::collections::BTreeSet;

use finding::{Evidence, Finding, SectionPair, Step, Thread, rules};
use location::Site;
use program::ir::{Body, Op, Value};
use program::{Program, Section, SectionId, Sections};

use super::state::{Twice, Witness};

pub(super) fn explain(program: &Program, body: &Body, sections: &Sections, witness: &Witness) -> Finding {
    let names = &program.names;
    let (first, second) = (sections.get(witness.twice.first), sections.get(witness.twice.second));
    let context = sections.get(witness.context);
    let lock = first.lock.readable(body, names);
    let outer = context.lock.readable(body, names);
    let mut steps = Vec::new();
    let mut step = |thread: Thread, site: Option<Site>, what: String| {
        let number = steps.len() as u32 + 1;
        let place = site.map(|site| names.place(site));
        steps.push(Step { number, thread, place, what, ran: false, callers: Vec::new() });
    };
    let again = if witness.twice.first == witness.twice.second { " again, in the next round" } else { " again" };
    step(Thread::a(), Some(start(body, context)), format!("`{outer}` locked: the whole is meant to be atomic"));
    step(Thread::a(), Some(start(body, first)), format!("`{lock}` locked"));
    step(Thread::a(), end(body, first), format!("`{lock}` let go"));
    step(Thread::b(), None, format!("locks `{lock}` and changes what it guards"));
    step(Thread::a(), Some(start(body, second)), format!("`{lock}` locked{again}"));
    let variables = touched(program, body, sections, witness.twice.first)
        .union(&touched(program, body, sections, witness.twice.second))
        .cloned()
        .collect();
    Finding {
        rule: &rules::REACQUIRED_LOCK,
        evidence: Evidence::Pattern,
        severity: rules::REACQUIRED_LOCK.severity,
        detectors: BTreeSet::from([super::DETECTOR.name]),
        message: format!("another thread can take `{lock}` between (3) and (5), while `{outer}` is held for the whole"),
        method: names.method_place(body.method),
        variables,
        locks: BTreeSet::from([lock.clone(), outer]),
        steps,
        interleaving: vec![1, 2, 3, 4, 5],
        fix: fix(&lock, witness.twice, start(body, first).line, last_line(body, second)),
        count: 1,
        sections: Some(SectionPair {
            first: names.place(start(body, first)),
            second: names.place(start(body, second)),
        }),
    }
}

fn fix(lock: &str, twice: Twice, from: Option<u32>, to: Option<u32>) -> String {
    match (from, to) {
        (Some(from), _) if twice.first == twice.second => {
            format!("hold `{lock}` around the loop, not in each round (line {from})")
        }
        (Some(from), Some(to)) if from < to => format!("hold `{lock}` from line {from} to line {to}"),
        _ => format!("hold `{lock}` from the first section to the end of the second"),
    }
}

pub(super) fn start(body: &Body, section: &Section) -> Site {
    match section.start {
        Some(start) => body.site_of(start),
        None => body.site(0),
    }
}

/// Where the section ends on the path without exceptions: the earliest of its ends.
fn end(body: &Body, section: &Section) -> Option<Site> {
    section.ends.iter().map(|end| body.site_of(*end)).min_by_key(|site| site.pc)
}

fn last_line(body: &Body, section: &Section) -> Option<u32> {
    section.ends.iter().filter_map(|end| body.site_of(*end).line).max()
}

/// The fields that code inside a section reads or writes itself.
fn touched(program: &Program, body: &Body, sections: &Sections, section: SectionId) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for (block, _) in body.blocks() {
        sections.walk(body, block, |value, instruction, held| {
            if !held.iter().any(|held| held.section == section) || is_lock_load(body, sections, value) {
                return;
            }
            if let Op::GetField { field, .. }
            | Op::PutField { field, .. }
            | Op::GetStatic(field)
            | Op::PutStatic { field, .. } = instruction.op
            {
                fields.insert(program.names.readable_field(field));
            }
        });
    }
    fields
}

/// Whether an instruction only fetches the lock of some section.
fn is_lock_load(body: &Body, sections: &Sections, value: Value) -> bool {
    sections.iter().any(|(_, section)| section.object.is_some_and(|object| body.without_casts(object) == value))
}
