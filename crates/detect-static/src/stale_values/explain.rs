//! What is said of a stale value.

use std::collections::BTreeSet;

use finding::{Evidence, Finding, SectionPair, Step, Thread, rules};
use location::{MethodName, Place, Site};
use program::outline::EventId;
use program::summary::{Access, Spot, Summary};
use program::{LockKind, MethodId, Readable, Whole};

use super::rules::{Stale, Use};

pub(super) fn explain(whole: &Whole<'_>, method: MethodId, stale: &Stale) -> Finding {
    let telling = Telling { whole, method, readable: Readable::new(whole.program, &whole.summaries, method) };
    telling.finding(stale)
}

struct Telling<'t> {
    whole: &'t Whole<'t>,
    method: MethodId,
    readable: Readable<'t>,
}

impl Telling<'_> {
    fn finding(&self, stale: &Stale) -> Finding {
        let program = self.whole.program;
        let empty = Summary::default();
        let summary = self.whole.summaries.summary(self.method).unwrap_or(&empty);
        let read = &summary.accesses[stale.read.index()];
        let write = &summary.accesses[stale.write.index()];
        let lock = self.readable.name(&summary.sections[stale.first].lock);
        let (seen, written) = (self.readable.variable(read), self.readable.variable(write));
        let rule = match stale.how {
            Use::Written => &rules::STALE_VALUE,
            Use::Decides => &rules::CHECK_THEN_ACT,
        };
        let mut steps: Vec<Step> = Vec::new();
        let mut step = |thread: Thread, place: Option<Place>, what: String| {
            steps.push(Step { number: steps.len() as u32 + 1, thread, place, what, ran: false, callers: Vec::new() });
        };
        step(Thread::a(), Some(self.in_method(read)), format!("`{seen}` read under `{lock}`{}", self.inside(read)));
        step(Thread::a(), Some(self.in_method(read)), format!("`{lock}` let go"));
        let (place, what) = self.interference(stale, &seen, &lock);
        step(Thread::b(), place, what);
        let last = match stale.how {
            Use::Written => format!("the old value goes into `{written}`, under `{lock}` again{}", self.inside(write)),
            Use::Decides => format!("`{written}` written because of the old value{}", self.inside(write)),
        };
        step(Thread::a(), Some(self.in_method(write)), last);
        let message = match stale.how {
            Use::Written => format!("`{seen}` may change between (1) and (4), and the change is lost"),
            Use::Decides => format!("`{seen}` may change between (1) and (4), and what was checked no longer holds"),
        };
        Finding {
            rule,
            evidence: Evidence::Pattern,
            severity: rule.severity,
            detectors: BTreeSet::from([super::DETECTOR.name]),
            message,
            method: program.names.method_place(program.method_name(self.method)),
            variables: [stale.variable, stale.written].iter().map(|variable| variable.readable(program)).collect(),
            locks: BTreeSet::from([lock.clone()]),
            steps,
            interleaving: vec![1, 2, 3, 4],
            fix: fix(&lock, summary.sections[stale.first].kind),
            count: 1,
            sections: Some(SectionPair {
                first: self.section(summary, stale.first),
                second: self.section(summary, stale.second),
            }),
        }
    }

    /// Where in this method an access happens: its own line, or that of the call that leads to it.
    fn in_method(&self, access: &Access) -> Place {
        self.event(access.event)
    }

    fn event(&self, event: EventId) -> Place {
        let name = self.whole.program.method_name(self.method);
        let outline = self.whole.summaries.outline(self.method);
        let (pc, line) = outline
            .and_then(|outline| outline.events.get(event.index()))
            .map_or((0, None), |event| (event.pc, event.line));
        self.place(name, pc, line)
    }

    /// Where in this method a section begins: there, or at the call that leads to it.
    fn section(&self, summary: &Summary, section: usize) -> Place {
        let section = &summary.sections[section];
        match section.call {
            Some(call) => self.event(call),
            None => self.spot(&section.spot),
        }
    }

    fn spot(&self, spot: &Spot) -> Place {
        self.place(spot.method, spot.pc, spot.line)
    }

    fn place(&self, method: MethodName, pc: u32, line: Option<u32>) -> Place {
        let program = self.whole.program;
        let file = program.class(method.class).and_then(|class| program.header(class).source_file);
        program.names.place(Site { method, pc, file, line })
    }

    /// " in `DeckPlan.freeMetres`", where that is not this method.
    fn inside(&self, access: &Access) -> String {
        let program = self.whole.program;
        if access.spot.method == program.method_name(self.method) {
            return String::new();
        }
        let name = program.names.readable_method(access.spot.method);
        let short: Vec<&str> = name.rsplitn(3, '.').take(2).collect();
        format!(", in `{}.{}`", short.last().copied().unwrap_or_default(), short[0])
    }

    /// What another thread does in between: a real write of the variable, best one that is not the write of step 4.
    fn interference(&self, stale: &Stale, variable: &str, lock: &str) -> (Option<Place>, String) {
        let own = self.whole.summaries.summary(self.method).map(|summary| summary.accesses[stale.write.index()].spot);
        let writers = self.whole.variables.writers(stale.variable);
        let spot = |place: &program::Place| {
            let summary = self.whole.summaries.summary(place.method)?;
            Some(summary.accesses.get(place.access.index())?.spot)
        };
        let other = writers.iter().find(|place| spot(place) != own).or(writers.first());
        let what = format!("`{variable}` written under `{lock}`");
        (other.and_then(spot).map(|spot| self.spot(&spot)), what)
    }
}

/// An object that synchronizes itself has no lock that a client could hold.
fn fix(lock: &str, kind: LockKind) -> String {
    match kind {
        LockKind::Own => format!(
            "do both in one operation of `{lock}`, such as `compareAndSet` or `computeIfAbsent`, or guard all uses by a lock"
        ),
        LockKind::Monitor | LockKind::Lock | LockKind::Stamped => format!("hold `{lock}` from (1) to (4)"),
    }
}
