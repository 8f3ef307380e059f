//! What is said of findings in the paper's abstraction, where variables are named by class.

use std::collections::BTreeSet;

use finding::{Finding, Rule, SectionPair, Step, Thread, rules};
use location::Place;
use program::summary::Spot;
use program::{MethodId, Readable, Variable, Whole};

use super::paper::{Escape, Race, View};
use super::rules::Kind;
use crate::places::Places;
use crate::words::Words;

/// Numbers steps as they come.
struct Steps(Vec<Step>);

impl Steps {
    fn add(&mut self, thread: Thread, place: Place, what: String) {
        let number = self.0.len() as u32 + 1;
        self.0.push(Step { number, thread, place: Some(place), what, callers: Vec::new(), ran: false });
    }
}

pub(crate) fn race(whole: &Whole<'_>, detector: &'static str, views: &[View], race: &Race) -> Finding {
    let [x, y] = race.variables;
    let (rule, done, by_other) = match race.kind {
        Kind::Read => (&rules::TORN_READ, "read", "written"),
        Kind::Write => (&rules::TORN_WRITE, "written", "read"),
    };
    let is_write = race.kind == Kind::Write;
    let (first, second, other) = (&views[race.first], &views[race.second], &views[race.other]);
    let mut steps = Steps(Vec::new());
    let name = |variable: Variable| variable.readable(whole.program);
    let (a, b) = (name(x), name(y));
    steps.add(Thread::a(), place(whole, first, x, Some(is_write)), format!("`{a}` {done} in one section"));
    steps.add(
        Thread::b(),
        place(whole, other, x, Some(!is_write)),
        format!("`{a}` and `{b}` both {by_other} in one section"),
    );
    steps.add(Thread::a(), place(whole, second, y, Some(is_write)), format!("`{b}` {done} in another section"));
    let message = format!("`{a}` and `{b}` belong together at (2), and are {done} apart at (1) and (3)");
    let parts = Parts {
        method: first.method,
        variables: [x, y],
        locks: [first, second, other].into_iter().map(|view| lock(whole, view.method, view.section)).collect(),
        sections: SectionPair { first: begin(whole, first), second: begin(whole, second) },
        fix: "make (1) and (3) one section".to_owned(),
    };
    parts.finding(whole, detector, rule, message, steps)
}

pub(super) fn escape(whole: &Whole<'_>, detector: &'static str, escape: &Escape) -> Option<Finding> {
    let summary = whole.summaries.summary(escape.method)?;
    let (words, places) = (Words::new(whole, escape.method), Places::new(whole, escape.method));
    let (read, write) = (&summary.accesses[escape.read.index()], &summary.accesses[escape.write.index()]);
    let (x, y) = (Variable::of(whole.program, read)?, Variable::of(whole.program, write)?);
    let name = |variable: Variable| variable.readable(whole.program);
    let mut steps = Steps(Vec::new());
    let writer = whole.variables.writers(x).first()?;
    let spot = whole.summaries.summary(writer.method)?.accesses.get(writer.access.index())?.spot;
    steps.add(
        Thread::a(),
        places.event(read.event),
        format!("`{}` read in one section{}", name(x), words.inside(read)),
    );
    steps.add(Thread::b(), places.spot(&spot), format!("`{}` written", name(x)));
    let last = format!("`{}` written in another section, by the old value{}", name(y), words.inside(write));
    steps.add(Thread::a(), places.event(write.event), last);
    let message = format!("`{}` may change between (1) and (3), which depends on the old value", name(x));
    let parts = Parts {
        method: escape.method,
        variables: [x, y],
        locks: [escape.first, escape.second].into_iter().map(|section| lock(whole, escape.method, section)).collect(),
        sections: SectionPair {
            first: places.section(&summary.sections[escape.first]),
            second: places.section(&summary.sections[escape.second]),
        },
        fix: "make (1) and (3) one section".to_owned(),
    };
    Some(parts.finding(whole, detector, &rules::STALE_VALUE, message, steps))
}

struct Parts {
    method: MethodId,
    variables: [Variable; 2],
    locks: BTreeSet<String>,
    sections: SectionPair,
    fix: String,
}

impl Parts {
    fn finding(
        self,
        whole: &Whole<'_>,
        detector: &'static str,
        rule: &'static Rule,
        message: String,
        steps: Steps,
    ) -> Finding {
        let method = whole.program.names.method_place(whole.program.method_name(self.method));
        Finding {
            variables: self.variables.iter().map(|variable| variable.readable(whole.program)).collect(),
            locks: self.locks,
            interleaving: (1..=steps.0.len() as u32).collect(),
            steps: steps.0,
            fix: self.fix,
            sections: Some(self.sections),
            ..Finding::suspected(rule, detector, method, message)
        }
    }
}

fn lock(whole: &Whole<'_>, method: MethodId, section: usize) -> String {
    let readable = Readable::new(whole.program, &whole.summaries, method);
    let lock = whole.summaries.summary(method).and_then(|summary| summary.sections.get(section));
    lock.map(|section| readable.name(&section.lock)).unwrap_or_default()
}

/// Where a section begins.
fn begin(whole: &Whole<'_>, view: &View) -> Place {
    let places = Places::new(whole, view.method);
    match whole.summaries.summary(view.method) {
        Some(summary) => places.section(&summary.sections[view.section]),
        None => places.spot(&Spot { method: whole.program.method_name(view.method), pc: 0, line: None }),
    }
}

/// Where a section touches a variable, best in the way that was asked for.
fn place(whole: &Whole<'_>, view: &View, variable: Variable, is_write: Option<bool>) -> Place {
    let places = Places::new(whole, view.method);
    let Some(summary) = whole.summaries.summary(view.method) else { return begin(whole, view) };
    let touches = |access: &&program::summary::Access| {
        access.held.contains(view.section) && Variable::of(whole.program, access) == Some(variable)
    };
    let best = summary.accesses.iter().filter(touches).find(|access| Some(access.is_write) == is_write);
    let found = best.or_else(|| summary.accesses.iter().find(touches));
    found.map_or_else(|| begin(whole, view), |access| places.spot(&access.spot))
}
