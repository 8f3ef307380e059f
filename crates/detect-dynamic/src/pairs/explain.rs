//! What is said of a suspicion that a run supports: the words of whoever suspected it, and the steps of the run.

use finding::{Evidence, Finding, Step, Suspicion, Thread};
use trace::Tables;

use super::COMMIT_NODES;
use super::records::Access;
use super::seen::{Seen, Unit};
use super::support::{How, Support};
use crate::places::{callers, place};

pub(super) fn explain(suspicion: &Suspicion, support: &Support, seen: &Seen, tables: &Tables) -> Finding {
    let mut finding = suspicion.finding.clone();
    finding.evidence = finding.evidence.max(support.evidence);
    finding.detectors.insert(COMMIT_NODES);
    // How often it happened; what did not happen could have, as often as there was a unit.
    finding.executions = seen.asked.max(1);
    finding.count = if seen.observed > 0 { seen.observed } else { finding.executions };
    let own = Thread(tables.thread_name(support.unit.thread));
    let other = Thread(tables.thread_name(support.other));
    let mut is_other_told = false;
    let others = finding.steps.iter().filter(|step| step.thread != Thread::a()).count();
    let number = |step: Option<&Step>| step.map_or(1, |step| step.number);
    let mut of_unit = finding.steps.iter().filter(|step| step.thread == Thread::a());
    let numbers = (number(of_unit.clone().next()), number(of_unit.next_back()));
    let last = finding.steps.iter().rposition(|step| step.thread == Thread::a());
    let between = finding.steps.iter().position(|step| step.thread != Thread::a());
    let Unit { has_begun, has_run, .. } = support.unit;
    let mut is_all_run = true;
    for (index, step) in finding.steps.iter_mut().enumerate() {
        step.ran = true;
        if step.thread == Thread::a() {
            step.thread = own.clone();
            // What comes after the other thread is the second part.
            let is_second = Some(index) == last || between.is_some_and(|between| between < index);
            step.ran = if is_second { has_run } else { has_begun };
            if std::mem::replace(&mut is_all_run, step.ran) && !step.ran {
                step.what += ", which this run did not come to";
            }
        } else {
            step.thread = other.clone();
            let done = if is_other_told { support.before.unwrap_or(support.after) } else { support.after };
            is_other_told = true;
            step.place = place(done.site, tables).or(step.place.take());
            step.callers = callers(done.stack, tables);
            // Two accesses that only have one step to be told in.
            let both = [support.after, support.before.unwrap_or(support.after)];
            let accesses = if others == 1 { &both[..] } else { std::slice::from_ref(&done) };
            step.what = what(accesses, support, numbers);
        }
    }
    if !is_other_told {
        let number = finding.steps.len() as u32 + 1;
        finding.steps.push(Step {
            number,
            thread: other,
            place: place(support.after.site, tables),
            what: what(&[support.after, support.before.unwrap_or(support.after)], support, numbers),
            ran: true,
            callers: callers(support.after.stack, tables),
        });
        let last = finding.interleaving.len().saturating_sub(1);
        finding.interleaving.insert(last, number);
    }
    finding
}

/// What the other thread does, in the terms of the steps of the unit: whoever reads them knows what these are about.
fn what(accesses: &[Access], support: &Support, steps: (u32, u32)) -> String {
    match support.how {
        How::Conflicts => {}
        How::Begins => {
            return format!("reads what ({}) reads, to do the same, and could have done all of it in between", steps.0);
        }
        How::Might => return format!("reads what ({}) reads, and could have gone on to write it in between", steps.0),
        How::Comes => {
            return "was on the way to the same code with the same object, and could have done all of it in between"
                .to_owned();
        }
        How::Runs => {
            return "takes the same lock in the same method, and could have done all of it in between".to_owned();
        }
    }
    let unit = &support.unit;
    let done = |access: &Access| {
        let done = match (access.writes, access.updates) {
            (_, true) => "updates",
            (true, false) => "writes",
            (false, false) => "reads",
        };
        let number = if access.variable == unit.first.variable { steps.0 } else { steps.1 };
        format!("{done} what ({number}) is about")
    };
    let mut all: Vec<String> = accesses.iter().map(done).collect();
    all.dedup();
    let all = all.join(" and ");
    match support.evidence {
        Evidence::Observed | Evidence::Confirmed => format!("{all}, in between"),
        Evidence::Predicted | Evidence::Pattern => format!("{all}, and could do so in between"),
    }
}
