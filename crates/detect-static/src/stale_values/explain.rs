//! What is said of a stale value.

use finding::{Finding, SectionPair, Severity, Step, Thread, rules};
use location::Place;
use program::model::State;
use program::outline::{EventId, Member, Name, NameStep, Origin};
use program::summary::{Access, LateUse, LateUseKind, Root, Summary, SummarySection};
use program::{MethodId, Variable, Whole};

use super::one_write::{Group, grouped};
use super::rules::{Looking, Stale, Use};
use super::strict::Superfluous;
use crate::places::Places;
use crate::words::{Alone, Asked, Words, alone, at_once};

/// What is said of the stale uses of one method.
pub(super) fn explain_all(whole: &Whole<'_>, method: MethodId, found: Vec<Stale>) -> Vec<Finding> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let telling = Telling::new(whole, method);
    grouped(summary, found).iter().map(|group| telling.group(summary, group)).collect()
}

/// The same of stale uses that little speaks for.
pub(super) fn explain_weak(whole: &Whole<'_>, method: MethodId, found: Vec<Stale>) -> Vec<Finding> {
    let told = explain_all(whole, method, found).into_iter();
    told.map(|finding| Finding { severity: Severity::Note, ..finding }).collect()
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
    words: Words<'t>,
    places: Places<'t>,
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
        Telling { whole, method, words: Words::new(whole, method), places: Places::new(whole, method) }
    }

    fn group(&self, summary: &Summary, group: &Group) -> Finding {
        let mut finding = self.stale(&group.stale);
        let read = |stale: &Stale| &summary.accesses[stale.read.index()];
        for also in &group.also {
            finding.variables.insert(also.variable.readable(self.whole.program));
            finding.variables.insert(also.written.readable(self.whole.program));
        }
        if let Some(earlier) = group.also.iter().find(|also| read(also).event < read(&group.stale).event) {
            let seen = self.words.variable(&summary.sections[earlier.first], read(earlier));
            finding.fix.push_str(&format!(", and over the read of `{seen}` before"));
        }
        finding
    }

    fn stale(&self, stale: &Stale) -> Finding {
        let empty = Summary::default();
        let summary = self.whole.summaries.summary(self.method).unwrap_or(&empty);
        let read = &summary.accesses[stale.read.index()];
        let write = &summary.accesses[stale.write.index()];
        let (section, later) = (&summary.sections[stale.first], &summary.sections[stale.second]);
        let looking = Looking::at(self.whole, self.method);
        let is_found_again =
            looking.as_ref().is_some_and(|looking| looking.is_found_again((read, stale.first), (write, stale.second)));
        // What is looked up by calls has no other name than that of an element.
        let (element, other) = (self.of_element(section, read), self.of_element(later, write));
        let (section, later) = if is_found_again { (&element, &other) } else { (section, later) };
        let words = &self.words;
        let (seen, written) = (words.variable(section, read), words.variable(later, write));
        let wait = self.wait(stale, read, write);
        let is_check = !matches!(stale.how, Use::Written | Use::Counted);
        let is_step_first = is_step_first(stale, write);
        let rule = if is_check { &rules::CHECK_THEN_ACT } else { &rules::STALE_VALUE };
        let mut steps = Steps::default();
        let look = match alone(section, read) {
            Some(Alone::Call) if is_step_first => {
                format!("`{seen}` changed{}{}", words.by(read), words.inside(read))
            }
            _ if is_step_first => {
                format!("`{seen}` written{}{}", words.under(section, read), words.inside(read))
            }
            Some(Alone::Call) => format!("`{seen}` asked{}{}", words.by(read), words.inside(read)),
            _ => format!("`{seen}` read{}{}", words.under(section, read), words.inside(read)),
        };
        steps.add(Thread::a(), Some(self.places.event(read.event)), look);
        let (place, what) = match alone(section, read) {
            _ if wait.is_some() => (wait.clone(), format!("{} let go while waiting", words.lock(section))),
            Some(_) => (Some(self.places.event(read.event)), "nothing keeps others out from here on".to_owned()),
            None => (Some(self.end(section, write.event)), format!("{} let go", words.lock(section))),
        };
        steps.add(Thread::a(), place, what);
        let (place, what) = self.interference(stale, section, read, write, &seen);
        steps.add(Thread::b(), place, what);
        // What is changed may lock for itself, or not.
        let later_is_unknown = stale.how == Use::Found && stale.first == stale.second;
        let is_one_lock = (section.lock.same(&later.lock) || is_found_again) && !later_is_unknown;
        let again = match alone(later, write) {
            _ if later_is_unknown => words.by(write),
            None if is_one_lock => format!(", under {} again", words.lock(later)),
            None => words.under(later, write),
            Some(Alone::Call) => words.by(write),
            Some(Alone::Volatile) => String::new(),
        };
        let act = if later_is_unknown || alone(later, write) == Some(Alone::Call) { "changed" } else { "written" };
        let is_passed = write.value.iter().any(|influence| influence.root == Root::Access(stale.read));
        let last = match stale.how {
            // The old value goes on, and what has come since is gone.
            Use::Written if !is_passed && stale.variable == stale.written => {
                format!("`{written}` overwritten{again}, whatever it has become{}", words.inside(write))
            }
            Use::Written => format!("the old value goes into `{written}`{again}{}", words.inside(write)),
            Use::Decides if act == "changed" => {
                format!("`{written}` changed{again}, because of the old answer{}", words.inside(write))
            }
            Use::Decides => format!("`{written}` written because of the old value{}", words.inside(write)),
            Use::Found => format!("what was there is {act}{again}, in or out{}", words.inside(write)),
            Use::Iterated => format!("what was there is taken out{again}, whoever else has taken it"),
            Use::Recounted => {
                format!("`{written}` {act}{again} for the number that (1) has made{}", words.inside(write))
            }
            Use::Left => format!("`{written}` written as nothing was left{}", words.inside(write)),
            Use::Stepped => {
                let done = if alone(later, write) == Some(Alone::Call) { "asked" } else { "read" };
                format!("`{written}` {done}{again} to decide, whoever made it so{}", words.inside(write))
            }
            Use::Counted if is_step_first => {
                let done = if alone(later, write) == Some(Alone::Call) { "asked" } else { "read" };
                format!("`{written}` {done}{again} for what came of it, whoever made it so{}", words.inside(write))
            }
            Use::Counted => {
                let done = if write.member == Member::State(State::Contents) { "added to" } else { "counted on" };
                format!("`{written}` {done}{again}, whatever it has become{}", words.inside(write))
            }
        };
        steps.add(Thread::a(), Some(self.places.event(write.event)), last);
        let message = match stale.how {
            Use::Written if overwrites(stale, write) => {
                format!("`{seen}` may change between (1) and (4), and the change is lost")
            }
            Use::Written => format!("`{seen}` may change between (1) and (4), which goes by the old value"),
            Use::Decides => format!("`{seen}` may change between (1) and (4), and what was checked no longer holds"),
            Use::Found => format!("what was in `{seen}` at (1) may be out at (4), and the change is lost"),
            Use::Iterated => {
                format!(
                    "what was in `{seen}` at (1) may be out at (4), and two threads may go on with the same element"
                )
            }
            Use::Recounted => {
                format!("`{seen}` may be counted on between (1) and (4), which goes by the number of (1)")
            }
            Use::Left => {
                format!("`{seen}` may get something between (1) and (4), and nobody comes for it")
            }
            Use::Stepped => {
                format!(
                    "`{seen}` may change between (1) and (4), and two threads may get the same answer, or none the wanted one"
                )
            }
            Use::Counted => {
                format!("`{seen}` may change between (1) and (4), and two threads may go on with the same number")
            }
        };
        let is_task = |access: &Access| looking.as_ref().is_some_and(|looking| looking.is_start(access.event));
        let fix = if stale.how == Use::Left {
            match is_one_lock {
                true => {
                    format!("do (4) in the section of (1), when nothing is left, or look at `{seen}` again after (4)")
                }
                false => format!("look at `{seen}` again after (4), and go on if there is something"),
            }
        } else if stale.how == Use::Found {
            format!(
                "hold one lock from (1) to (4), and where others take it out of `{seen}`; or do both in one step of `{seen}`, such as `compute`"
            )
        } else if stale.how == Use::Recounted {
            match (read.member, seen == written) {
                (Member::State(State::Contents), true) => {
                    format!(
                        "do both in one step of `{seen}`, such as `compute`, or remove it only while it is that number"
                    )
                }
                _ => format!(
                    "hold one lock from (1) to (4), and wherever `{seen}` is counted, or let nobody count on from that number"
                ),
            }
        } else if stale.how == Use::Iterated {
            format!("take it out by `{seen}.remove(..)`, and go on only if that says that it was there")
        } else if let (Use::Stepped | Use::Counted, Some(Alone::Call), Member::State(State::Value)) =
            (stale.how, alone(section, read), read.member)
        {
            let step = if is_step_first { 1 } else { 4 };
            format!("go by what the step itself returns at ({step}), and do not ask `{seen}` beside it")
        } else if wait.is_some() {
            format!("look at `{seen}` again after the wait: wait in a loop that asks")
        } else if !is_one_lock && is_check {
            let is_asked_alone = alone(section, read) == Some(Alone::Volatile) && alone(later, write).is_none();
            match (seen == written, later.lock.is_unknown()) {
                (true, false) if is_asked_alone => {
                    format!("ask `{seen}` again under {}, before (4)", words.lock(later))
                }
                (true, _) => format!("hold one lock from (1) to (4), and wherever else `{seen}` is written"),
                (false, _) => {
                    format!("hold one lock from (1) to (4), and wherever else `{seen}` or `{written}` is written")
                }
            }
        } else {
            match alone(section, read) {
                Some(Alone::Volatile) => format!(
                    "make (1) and (4) one step: hold a lock that all writers of `{seen}` hold, or make it an atomic and use `compareAndSet`"
                ),
                Some(Alone::Call) => at_once(self.whole, &seen, summary, stale.read, write, self.asked(stale)),
                // Nobody holds a lock until a task has run.
                None if is_task(write) && !is_task(read) => {
                    format!("read `{seen}` in the task, in the section of (4)")
                }
                None if is_task(read) && !is_task(write) => {
                    format!("write `{written}` in the task, in the section of (1)")
                }
                None => words.hold(section, (1, read), (4, write), true),
            }
        };
        let second = if later_is_unknown { self.places.event(write.event) } else { self.places.section(later) };
        let sections = SectionPair { first: self.places.section(section), second };
        let mut finding = self.finding(rule, message, steps, fix, [stale.variable, stale.written]);
        if !section.lock.is_unknown() {
            finding.locks.insert(words.readable.name(&section.lock));
        }
        finding.interleaving = vec![1, 2, 3, 4];
        finding.sections = Some(sections);
        finding
    }

    /// A section on an element of a container, by the name of the element.
    fn of_element(&self, section: &SummarySection, access: &Access) -> SummarySection {
        let steps = access.base.steps.iter().rposition(|step| *step == NameStep::Some).map_or(0, |at| at + 1);
        let lock = Name { start: access.base.start, steps: access.base.steps[..steps].into() };
        SummarySection { lock, ..section.clone() }
    }

    fn late(&self, late: &LateUse) -> Option<Finding> {
        let summary = self.whole.summaries.summary(self.method)?;
        let read = summary.accesses.get(late.read.index())?;
        let section = summary.sections.get(late.section)?;
        let lock = self.words.readable.name(&section.lock);
        let seen = self.words.readable.variable(read);
        let names = &self.whole.program.names;
        let used = match late.kind {
            LateUseKind::Decides => "the old value decides".to_owned(),
            LateUseKind::Given(method) => format!("the old value is given to `{}`", names.text(method.name)),
            LateUseKind::Stored(_) => "the old value is stored, or says where".to_owned(),
            LateUseKind::Computed => "something is worked out from the old value".to_owned(),
        };
        let name = self.whole.program.method_name(self.method);
        let mut steps = Steps::default();
        steps.add(
            Thread::a(),
            Some(self.places.event(read.event)),
            format!("`{seen}` read under `{lock}`{}", self.words.inside(read)),
        );
        steps.add(Thread::a(), Some(self.end(section, read.event)), format!("`{lock}` let go"));
        steps.add(Thread::a(), Some(self.places.place(name, 0, late.line)), used);
        let message = format!("`{seen}` is used at (3), after the section that read it");
        let fix = format!("hold `{lock}` from (1) to (3), or make sure that an old value does no harm");
        let variables = Looking::at(self.whole, self.method).and_then(|looking| looking.variable(read));
        let mut finding = self.finding(&rules::STALE_VALUE, message, steps, fix, variables);
        finding.severity = Severity::Note;
        finding.locks.insert(lock);
        finding.interleaving = vec![1, 2, 3];
        Some(finding)
    }

    fn lock(&self, one: &Superfluous) -> Option<Finding> {
        let summary = self.whole.summaries.summary(self.method)?;
        let inner = summary.sections.get(one.inner)?;
        let (lock, around) = (self.words.readable.name(&inner.lock), self.words.readable.name(&one.around.name));
        let mut steps = Steps::default();
        match one.outer.and_then(|outer| summary.sections.get(outer)) {
            Some(outer) => steps.add(Thread::a(), Some(self.places.section(outer)), format!("`{around}` taken")),
            None => steps.add(Thread::a(), None, format!("`{around}` taken by whoever calls")),
        }
        steps.add(Thread::a(), Some(self.places.section(inner)), format!("`{lock}` taken inside"));
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
        let method = program.names.method_place(program.method_name(self.method));
        Finding {
            variables: variables.into_iter().map(|variable| variable.readable(program)).collect(),
            steps: steps.0,
            fix,
            ..Finding::suspected(rule, super::DETECTOR.name, method, message)
        }
    }

    /// The wait that lets others in between, if it is one: a loop may just as well leave its section and enter it again.
    fn wait(&self, stale: &Stale, read: &Access, write: &Access) -> Option<Place> {
        let summary = self.whole.summaries.summary(self.method).filter(|_| stale.is_waited())?;
        let outline = self.whole.summaries.outline(self.method)?;
        let wait = summary.waits.iter().find(|waiting| {
            waiting.sections.contains(stale.first)
                && outline.may_follow(read.event, waiting.event)
                && outline.may_follow(waiting.event, write.event)
        })?;
        Some(self.places.event(wait.event))
    }

    /// Where in this method a section ends before an event.
    fn end(&self, section: &SummarySection, before: EventId) -> Place {
        match section.call {
            Some(call) => self.places.event(call),
            None => {
                let line = self.words.end_line(section, before).or(section.end_line).or(section.spot.line);
                self.places.place(section.spot.method, section.spot.pc, line)
            }
        }
    }

    /// What the decision about the write asks about what was read.
    fn asked(&self, stale: &Stale) -> Asked {
        let looking = Looking::at(self.whole, self.method);
        if looking.is_some_and(|looking| looking.is_put_because_absent(stale)) {
            return Asked::Absence;
        }
        let told = self.whole.summaries.summary(self.method).zip(self.whole.summaries.outline(self.method));
        let Some((summary, outline)) = told else { return Asked::Absence };
        let event = summary.accesses[stale.read.index()].event;
        let control = &outline.events[summary.accesses[stale.write.index()].event.index()].control;
        let mut asking = control
            .iter()
            .map(|condition| &outline.conditions[*condition as usize])
            .filter(|condition| condition.sources.iter().any(|source| source.origin == Origin::Event(event)));
        match asking.clone().next() {
            None => Asked::Absence,
            Some(_) if asking.all(|condition| condition.absent.is_some()) => Asked::Presence,
            Some(_) => Asked::Value,
        }
    }

    /// Whether a write of a container removes something.
    fn takes_out(&self, place: &program::Place) -> bool {
        Looking::at(self.whole, place.method).is_some_and(|looking| {
            let called = looking.called_at(looking.access(place.access));
            called.is_some_and(|name| name.starts_with("remove"))
        })
    }

    /// What another thread does in between: a write of the variable that can happen then.
    fn interference(
        &self,
        stale: &Stale,
        section: &SummarySection,
        read: &Access,
        write: &Access,
        variable: &str,
    ) -> (Option<Place>, String) {
        let mut writers = self.whole.variables.writers(stale.variable).to_vec();
        if matches!(stale.how, Use::Found | Use::Iterated) {
            writers.retain(|place| self.takes_out(place));
        }
        if let Some(looking) = Looking::at(self.whole, self.method) {
            writers = looking.getting_in(stale, &writers);
        }
        let is_check = stale.how == Use::Decides && stale.variable == stale.written;
        let Some(place) = self.words.interference(write, &writers, is_check) else {
            return (None, format!("`{variable}` written"));
        };
        let access =
            self.whole.summaries.summary(place.method).and_then(|summary| summary.accesses.get(place.access.index()));
        let how = self.words.theirs(section, read, place);
        let is_own = access.is_some_and(|access| access.spot == write.spot);
        let done = if alone(section, read) == Some(Alone::Call) { "changed" } else { "written" };
        let is_same_step =
            is_step_first(stale, write) && access.is_some_and(|access| access.spot.method == read.spot.method);
        let same = match (is_same_step, is_own) {
            (true, _) => ", by the same code as (1)",
            (_, true) => ", by the same code as (4)",
            _ => "",
        };
        (access.map(|access| self.places.spot(&access.spot)), format!("`{variable}` {done}{how}{same}"))
    }
}

/// Whether a step of one's own comes first, and what came of it is asked afterwards.
fn is_step_first(stale: &Stale, write: &Access) -> bool {
    matches!(stale.how, Use::Stepped | Use::Recounted) || stale.how == Use::Counted && !write.is_write
}

/// Whether what was written in between is gone: a field or value is set, a key gets another value.
pub(super) fn overwrites(stale: &Stale, write: &Access) -> bool {
    let is_set = match write.member {
        Member::Field(_) | Member::Static(_) | Member::Elements => true,
        Member::State(state) => state == State::Value || write.is_keyed && !write.is_removal && !write.is_repeatable,
    };
    stale.variable == stale.written && is_set
}
