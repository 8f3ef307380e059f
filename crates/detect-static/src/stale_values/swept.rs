//! What is gone over, taken out by its name, and dealt with: `for (job : jobs) if (job.isOver()) { jobs.remove(job);
//! done.increment(); }`, in a loop or in a function that goes over all. On a container that locks by itself, two threads may
//! come to the same element, and who does not ask whether the removal has removed anything deals with it twice.

use program::outline::{Action, EventId, Member, Object, Origin, Outline, Start};
use program::summary::{Access, AccessId};
use program::{LockKind, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::telling::RELATIVE;
use crate::threads::{is_shared, run_at_once};
use crate::words::operation;

/// Steps of adders, beside those of atomics, and what puts one more into a list or queue.
const ADDING: [&str; 8] = ["add", "increment", "decrement", "offer", "push", "addLast", "addFirst", "offerLast"];

/// The code that takes an element out: the method itself, or a function that it goes over all elements with.
struct Sweep<'s> {
    there: Looking<'s>,
    outline: &'s Outline,
    removal: EventId,
    /// What the code calls the element.
    element: Start,
    /// Where a loop comes to the next one.
    next: Option<EventId>,
}

impl Looking<'_> {
    /// Elements that are taken out and dealt with although another thread may have taken out the same one.
    pub(super) fn swept(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        for (index, write) in self.summary.accesses.iter().enumerate() {
            // A removal whose answer counts is a step of its own.
            let is_ignored = write.is_write && write.is_removal && !write.is_compound && write.is_of_contents();
            let Some(second) = write.held.iter().next().filter(|_| is_ignored) else { continue };
            let Some(variable) = self.shared(write) else { continue };
            for (number, read) in self.summary.accesses.iter().enumerate() {
                let id = AccessId(number as u32);
                let is_it = !read.is_write
                    && read.spot != write.spot
                    && read.base.same(&write.base)
                    && comes_from(&write.address, id)
                    && self.variable(read) == Some(variable);
                let Some(first) = self.section_of(read, second).filter(|_| is_it) else { continue };
                // Only what a container does in one step is over when a function comes to the element.
                let is_own = |section: usize| self.summary.sections[section].kind == LockKind::Own;
                let is_alone = read.held.union(write.held).iter().all(is_own);
                if is_alone
                    && let Some(sweep) = self.sweep(read, write)
                    && self.is_dealt_with(&sweep, write, variable)
                    && !self.is_chosen_by_step(read, write)
                    && run_at_once(self.whole, self.method, self.method)
                {
                    let (write, how) = (AccessId(index as u32), Use::Iterated);
                    found.push(Stale { read: id, write, first, second, how, variable, written: variable });
                    break;
                }
            }
        }
        found
    }

    /// The section that a read is in, or one that the container goes through elsewhere: its iterators go through none.
    pub(super) fn section_of(&self, read: &Access, second: usize) -> Option<usize> {
        let lock = |section: usize| &self.summary.sections[section].lock;
        let is_of_it = |first: &usize| *first != second && lock(*first).same(lock(second));
        read.held.iter().next().or_else(|| (0..self.summary.sections.len()).find(is_of_it))
    }

    /// The code that takes out just what it has come to.
    fn sweep(&self, read: &Access, write: &Access) -> Option<Sweep<'_>> {
        let outline = self.whole.summaries.outline(self.method)?;
        let Action::Call { method, arguments, .. } = &outline.events[write.event.index()].action else { return None };
        let names = &self.whole.program.names;
        if write.spot.method == self.whole.program.method_name(self.method) {
            let [Object::Event(next)] = arguments.get(1)?.objects.as_slice() else { return None };
            let iterator = self.iterator_of(outline, *next, "next")?;
            let there = Looking::at(self.whole, self.method)?;
            let (removal, element) = (write.event, Start::Result(*next));
            let is_it = read.event == iterator || read.event == *next;
            return is_it.then_some(Sweep { there, outline, removal, element, next: Some(*next) });
        }
        let is_over_all = matches!(names.text(method.name), "forEach" | "forEachOrdered");
        let [Object::Event(made)] = arguments.get(1).filter(|_| is_over_all)?.objects.as_slice() else { return None };
        let Action::Lambda { kind, method, arguments: captured, .. } = &outline.events[made.index()].action else {
            return None;
        };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
        let [function] = targets.known() else { return None };
        let (outline, removal) = self.place_of(&write.spot)?;
        let is_it = write.spot.method == self.whole.program.method_name(*function);
        let Action::Call { arguments, .. } = &outline.events[removal.index()].action else { return None };
        let [Object::Parameter(given)] = arguments.get(1).filter(|_| is_it)?.objects.as_slice() else { return None };
        let there = Looking::at(self.whole, *function).filter(|_| usize::from(*given) >= captured.len())?;
        Some(Sweep { there, outline, removal, element: Start::Parameter(*given), next: None })
    }

    /// Whether something is counted or put somewhere whenever an element is taken out, and not by who has won it otherwise.
    fn is_dealt_with(&self, sweep: &Sweep<'_>, write: &Access, variable: Variable) -> bool {
        let (outline, removal) = (sweep.outline, sweep.removal);
        let stops: &[EventId] = sweep.next.as_slice();
        let is_act = |act: &Access| {
            let control = |event: EventId| &outline.events[event.index()].control;
            let goes_with = control(removal).iter().all(|condition| control(act.event).contains(condition))
                && (outline.leads_to(removal, act.event, stops) || outline.leads_to(act.event, removal, stops));
            act.event != removal
                && goes_with
                && sweep.there.is_adding(act)
                && !sweep.is_won(act.event)
                && self.summary.accesses.iter().any(|own| {
                    let is_it = own.is_write
                        && own.spot == act.spot
                        && (own.event == write.event || sweep.next.is_some() && own.event == act.event);
                    is_it && self.shared(own).is_some_and(|acted| acted != variable && is_shared(self.whole, acted))
                })
        };
        !sweep.is_won(removal) && sweep.there.summary.accesses.iter().any(is_act)
    }

    /// Whether a write adds to what is there, so that it shows if it is done twice.
    fn is_adding(&self, act: &Access) -> bool {
        let by = || operation(self.whole, &act.spot);
        act.is_write
            && match act.member {
                Member::State(_) => {
                    !act.is_repeatable && by().is_some_and(|name| ADDING.contains(&name) || RELATIVE.contains(&name))
                }
                Member::Field(_) | Member::Static(_) => self.counted_on(act).is_some() && self.is_step(act),
                Member::Elements => false,
            }
    }

    /// Whether a stream lets only those elements through that a step on the way says yes to.
    fn is_chosen_by_step(&self, read: &Access, write: &Access) -> bool {
        self.summary.accesses.iter().any(|step| {
            step.is_write
                && step.event != write.event
                && read.event < step.event
                && step.event < write.event
                && self.is_of_stream(step.event)
        })
    }

    fn is_of_stream(&self, event: EventId) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        match outline.map(|outline| &outline.events[event.index()].action) {
            Some(Action::Call { method, .. }) => {
                self.whole.program.names.text(method.class.0).starts_with("java/util/stream/")
            }
            _ => false,
        }
    }
}

impl Sweep<'_> {
    /// Whether an event hangs on the answer of a step that one thread alone can take: on the element, or for it.
    fn is_won(&self, event: EventId) -> bool {
        let hangs_on = |step: EventId| {
            self.outline.events[event.index()].control.iter().any(|condition| {
                let sources = &self.outline.conditions[*condition as usize].sources;
                sources.iter().any(|source| source.origin == Origin::Event(step))
            })
        };
        self.there.summary.accesses.iter().any(|step| {
            let is_of_element = step.base.start == self.element;
            step.is_write
                && step.event != event
                && (step.is_compound || is_of_element)
                && hangs_on(step.event)
                && self.there.is_granted_by(step, event)
        })
    }
}
