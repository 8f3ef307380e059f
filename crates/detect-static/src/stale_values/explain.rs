//! What is said of a stale value.

use std::collections::BTreeSet;

use finding::{Evidence, Finding, SectionPair, Severity, Step, Thread, rules};
use location::{MethodName, Place, Site};
use program::outline::{EventId, Member};
use program::summary::{Access, LateUse, LateUseKind, Spot, Summary, SummarySection};
use program::{LockKind, MethodId, Readable, Variable, Whole};

use super::rules::{Stale, Use};
use super::strict::Superfluous;

pub(super) fn explain(whole: &Whole<'_>, method: MethodId, stale: &Stale) -> Finding {
    Telling::new(whole, method).stale(stale)
}

pub(super) fn explain_late(whole: &Whole<'_>, method: MethodId, late: &LateUse) -> Option<Finding> {
    Telling::new(whole, method).late(late)
}

pub(super) fn explain_lock(whole: &Whole<'_>, method: MethodId, lock: &Superfluous) -> Option<Finding> {
    Telling::new(whole, method).lock(lock)
}

struct Telling<'t> {
    whole: &'t Whole<'t>,
    method: MethodId,
    readable: Readable<'t>,
}

/// Numbers steps as they are told.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn add(&mut self, thread: Thread, place: Option<Place>, what: String) {
        self.0.push(Step { number: self.0.len() as u32 + 1, thread, place, what, ran: false, callers: Vec::new() });
    }
}

impl<'t> Telling<'t> {
    fn new(whole: &'t Whole<'t>, method: MethodId) -> Telling<'t> {
        Telling { whole, method, readable: Readable::new(whole.program, &whole.summaries, method) }
    }

    fn stale(&self, stale: &Stale) -> Finding {
        let empty = Summary::default();
        let summary = self.whole.summaries.summary(self.method).unwrap_or(&empty);
        let read = &summary.accesses[stale.read.index()];
        let write = &summary.accesses[stale.write.index()];
        let section = &summary.sections[stale.first];
        let lock = self.readable.name(&section.lock);
        let (seen, written) = (self.readable.variable(read), self.readable.variable(write));
        let is_waited = stale.first == stale.second;
        let is_alone = is_volatile(section, read);
        let rule = match stale.how {
            Use::Written => &rules::STALE_VALUE,
            Use::Decides => &rules::CHECK_THEN_ACT,
        };
        let under = if is_alone { String::new() } else { format!(" under `{lock}`") };
        let mut steps = Steps::default();
        steps.add(Thread::a(), Some(self.event(read.event)), format!("`{seen}` read{under}{}", self.inside(read)));
        let (place, what) = match (is_waited, is_alone) {
            (true, _) => (self.wait(stale.first), format!("`{lock}` let go while waiting")),
            (_, true) => (Some(self.event(read.event)), "nothing keeps others out from here on".to_owned()),
            _ => (Some(self.end(section)), format!("`{lock}` let go")),
        };
        steps.add(Thread::a(), place, what);
        let (place, what) = self.interference(stale, &seen);
        steps.add(Thread::b(), place, what);
        let again = if is_alone { String::new() } else { format!(", under `{lock}` again") };
        let last = match stale.how {
            Use::Written => format!("the old value goes into `{written}`{again}{}", self.inside(write)),
            Use::Decides => format!("`{written}` written because of the old value{}", self.inside(write)),
        };
        steps.add(Thread::a(), Some(self.event(write.event)), last);
        let message = match stale.how {
            Use::Written => format!("`{seen}` may change between (1) and (4), and the change is lost"),
            Use::Decides => format!("`{seen}` may change between (1) and (4), and what was checked no longer holds"),
        };
        let is_one_lock = section.lock.same(&summary.sections[stale.second].lock);
        let fix = if !is_one_lock && stale.how == Use::Decides {
            format!("hold one lock from (1) to (4), and wherever else `{seen}` or `{written}` is written")
        } else if is_waited {
            format!("look at `{seen}` again after the wait: wait in a loop that asks")
        } else {
            fix(&lock, section.kind, is_alone)
        };
        let sections =
            SectionPair { first: self.section(section), second: self.section(&summary.sections[stale.second]) };
        let mut finding = self.finding(rule, message, steps, fix, [stale.variable, stale.written]);
        finding.locks.insert(lock);
        finding.interleaving = vec![1, 2, 3, 4];
        finding.sections = Some(sections);
        finding
    }

    fn late(&self, late: &LateUse) -> Option<Finding> {
        let summary = self.whole.summaries.summary(self.method)?;
        let read = summary.accesses.get(late.read.index())?;
        let section = summary.sections.get(late.section)?;
        let lock = self.readable.name(&section.lock);
        let seen = self.readable.variable(read);
        let names = &self.whole.program.names;
        let used = match late.kind {
            LateUseKind::Decides => "the old value decides".to_owned(),
            LateUseKind::Given(method) => format!("the old value is given to `{}`", names.text(method.name)),
            LateUseKind::Stored(_) => "the old value is stored, or says where".to_owned(),
        };
        let name = self.whole.program.method_name(self.method);
        let mut steps = Steps::default();
        steps.add(
            Thread::a(),
            Some(self.event(read.event)),
            format!("`{seen}` read under `{lock}`{}", self.inside(read)),
        );
        steps.add(Thread::a(), Some(self.end(section)), format!("`{lock}` let go"));
        steps.add(Thread::a(), Some(self.place(name, 0, late.line)), used);
        let message = format!("`{seen}` is used at (3), after the section that read it");
        let fix = format!("hold `{lock}` from (1) to (3), or make sure that an old value does no harm");
        let variables = Variable::of(self.whole.program, read);
        let mut finding = self.finding(&rules::STALE_VALUE, message, steps, fix, variables);
        finding.severity = Severity::Note;
        finding.locks.insert(lock);
        finding.interleaving = vec![1, 2, 3];
        Some(finding)
    }

    fn lock(&self, one: &Superfluous) -> Option<Finding> {
        let summary = self.whole.summaries.summary(self.method)?;
        let (inner, outer) = (summary.sections.get(one.inner)?, summary.sections.get(one.outer)?);
        let (lock, around) = (self.readable.name(&inner.lock), self.readable.name(&outer.lock));
        let mut steps = Steps::default();
        steps.add(Thread::a(), Some(self.section(outer)), format!("`{around}` taken"));
        steps.add(Thread::a(), Some(self.section(inner)), format!("`{lock}` taken inside"));
        let message = format!("`{lock}` is only ever taken while `{around}` is held, and keeps nobody out");
        let fix = format!("leave `{lock}` away, or take it alone where `{around}` is not needed");
        let mut finding = self.finding(&rules::SUPERFLUOUS_LOCK, message, steps, fix, []);
        finding.locks.extend([lock, around]);
        finding.interleaving = vec![1, 2];
        Some(finding)
    }

    fn finding(
        &self,
        rule: &'static finding::Rule,
        message: String,
        steps: Steps,
        fix: String,
        variables: impl IntoIterator<Item = Variable>,
    ) -> Finding {
        let program = self.whole.program;
        Finding {
            rule,
            evidence: Evidence::Pattern,
            severity: rule.severity,
            detectors: BTreeSet::from([super::DETECTOR.name]),
            message,
            method: program.names.method_place(program.method_name(self.method)),
            variables: variables.into_iter().map(|variable| variable.readable(program)).collect(),
            locks: BTreeSet::new(),
            steps: steps.0,
            interleaving: Vec::new(),
            fix,
            count: 1,
            executions: 0,
            sections: None,
        }
    }

    /// Where in this method something happens: its own line, or that of the call that leads to it.
    fn event(&self, event: EventId) -> Place {
        let name = self.whole.program.method_name(self.method);
        let outline = self.whole.summaries.outline(self.method);
        let (pc, line) = outline
            .and_then(|outline| outline.events.get(event.index()))
            .map_or((0, None), |event| (event.pc, event.line));
        self.place(name, pc, line)
    }

    fn wait(&self, section: usize) -> Option<Place> {
        let summary = self.whole.summaries.summary(self.method)?;
        let wait = summary.waits.iter().find(|waiting| waiting.sections.contains(section))?;
        Some(self.event(wait.event))
    }

    /// Where in this method a section begins: there, or at the call that leads to it.
    fn section(&self, section: &SummarySection) -> Place {
        match section.call {
            Some(call) => self.event(call),
            None => self.spot(&section.spot),
        }
    }

    /// Where in this method a section ends.
    fn end(&self, section: &SummarySection) -> Place {
        match section.call {
            Some(call) => self.event(call),
            None => self.place(section.spot.method, section.spot.pc, section.end_line.or(section.spot.line)),
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
    fn interference(&self, stale: &Stale, variable: &str) -> (Option<Place>, String) {
        let own = self.whole.summaries.summary(self.method).map(|summary| summary.accesses[stale.write.index()].spot);
        let writers = self.whole.variables.writers(stale.variable);
        let found = |place: &program::Place| {
            let summary = self.whole.summaries.summary(place.method)?;
            let access = summary.accesses.get(place.access.index())?;
            let locks = access.held.iter().map(|section| &summary.sections[section]);
            let lock = locks.filter(|section| section.kind != LockKind::Own).last().map(|section| {
                Readable::new(self.whole.program, &self.whole.summaries, place.method).name(&section.lock)
            });
            Some((access.spot, lock))
        };
        let other = writers.iter().find(|place| found(place).map(|(spot, _)| spot) != own).or(writers.first());
        let (place, lock) = other.and_then(found).map_or((None, None), |(spot, lock)| (Some(self.spot(&spot)), lock));
        let under = lock.map(|lock| format!(" under `{lock}`")).unwrap_or_default();
        (place, format!("`{variable}` written{under}"))
    }
}

/// Whether a section is no more than one access of a volatile field.
fn is_volatile(section: &SummarySection, access: &Access) -> bool {
    section.kind == LockKind::Own && matches!(access.member, Member::Field(_) | Member::Static(_))
}

/// An object that synchronizes itself has no lock that a client could hold.
fn fix(lock: &str, kind: LockKind, is_volatile: bool) -> String {
    match kind {
        LockKind::Own if is_volatile => format!(
            "make (1) and (4) one step: hold a lock that all writers of `{lock}` hold, or make it an atomic and use `compareAndSet`"
        ),
        LockKind::Own => format!(
            "do both in one operation of `{lock}`, such as `compareAndSet` or `computeIfAbsent`, or guard all uses by a lock"
        ),
        LockKind::Monitor | LockKind::Lock | LockKind::Stamped => format!("hold `{lock}` from (1) to (4)"),
    }
}
