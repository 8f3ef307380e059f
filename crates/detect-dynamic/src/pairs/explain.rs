//! What is said of a suspicion that a run supports: the words of whoever suspected it, and the steps of the run.

use finding::{Evidence, Finding, Step, Suspicion, Thread};
use trace::Tables;

use super::COMMIT_NODES;
use super::records::Access;
use super::seen::Seen;
use super::support::{How, Support};
use crate::places::{callers, place, readable};

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
    let last = finding.steps.iter().rposition(|step| step.thread == Thread::a());
    for (index, step) in finding.steps.iter_mut().enumerate() {
        step.ran = true;
        if step.thread == Thread::a() {
            step.thread = own.clone();
            if Some(index) == last && !support.unit.has_run {
                step.ran = false;
                step.what += ", which this run did not come to";
            }
        } else {
            step.thread = other.clone();
            let done = if is_other_told { support.before.unwrap_or(support.after) } else { support.after };
            is_other_told = true;
            step.place = place(done.site, tables).or(step.place.take());
            step.callers = callers(done.stack, tables);
            step.what = what(&done, support, tables);
        }
    }
    if !is_other_told {
        let number = finding.steps.len() as u32 + 1;
        finding.steps.push(Step {
            number,
            thread: other,
            place: place(support.after.site, tables),
            what: what(&support.after, support, tables),
            ran: true,
            callers: callers(support.after.stack, tables),
        });
        let last = finding.interleaving.len().saturating_sub(1);
        finding.interleaving.insert(last, number);
    }
    finding
}

fn what(access: &Access, support: &Support, tables: &Tables) -> String {
    match support.how {
        How::Conflicts => {}
        How::Begins => {
            return format!("reads {} for the same end, and could go on in between", readable(access.variable, tables));
        }
        How::Runs => return "takes the same lock in the same method, and could do all of it in between".to_owned(),
    }
    let name = readable(access.variable, tables);
    let done = match (access.writes, access.updates) {
        (_, true) => "updates",
        (true, false) => "writes",
        (false, false) => "reads",
    };
    match support.evidence {
        Evidence::Observed | Evidence::Confirmed => format!("{done} {name} in between"),
        Evidence::Predicted | Evidence::Pattern => format!("{done} {name}, and could do so in between"),
    }
}
