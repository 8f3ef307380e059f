//! What the detector says. All its wording is here.

use std::collections::{BTreeMap, BTreeSet};

use finding::{Evidence, Finding, SectionPair, Step, rules};
use location::{MethodPlace, Place};
use trace::{SiteId, Tables, UnitId};

use super::SERIALIZABILITY;
use super::paths::{Deed, Hop, Point, Via};
use super::rules::{Verdict, Violation};
use super::state::{Extent, Moment, Origin};
use crate::places::{self, place};

/// Violations by the places in code that make them the same one.
#[derive(Default)]
pub(super) struct Told {
    alone: Vec<(Violation, u64)>,
    together: Vec<(Violation, u64)>,
    /// Where in `alone` and `together` a violation of these places stands.
    known: BTreeMap<Vec<Mark>, usize>,
}

/// A place, or what happened there if the trace does not know the place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mark {
    Site(SiteId),
    Deed(Deed, Via),
    /// Tells the two lists apart.
    Together,
}

impl Told {
    pub(super) fn take(&mut self, verdicts: &mut Vec<Verdict>) {
        for verdict in verdicts.drain(..) {
            let (list, violation, key) = match verdict {
                Verdict::Alone(violation) => {
                    let (Some(first), Some(last)) = (violation.cycle.first(), violation.cycle.last()) else { continue };
                    let key = vec![mark(first.from, first.via), mark(last.to, last.via)];
                    (&mut self.alone, violation, key)
                }
                Verdict::Together(violation) => {
                    let mut key: Vec<Mark> = violation
                        .cycle
                        .iter()
                        .flat_map(|hop| [mark(hop.from, hop.via), mark(hop.to, hop.via)])
                        .collect();
                    key.sort();
                    key.dedup();
                    key.push(Mark::Together);
                    (&mut self.together, violation, key)
                }
            };
            match self.known.get(&key) {
                Some(&index) => list[index].1 += 1,
                None => {
                    self.known.insert(key, list.len());
                    list.push((*violation, 1));
                }
            }
        }
    }

    /// Whether a transaction was violated on its own.
    pub(super) fn has_alone(&self) -> bool {
        !self.alone.is_empty()
    }

    /// Takes the joint findings back: they will be told anew.
    pub(super) fn forget_together(&mut self) {
        self.together.clear();
        self.known.retain(|key, _| !key.contains(&Mark::Together));
    }

    pub(super) fn explain(self, tables: &Tables) -> Vec<Finding> {
        let alone = self.alone.into_iter().map(|(violation, count)| explain_alone(&violation, count, tables));
        let together = self.together.into_iter().map(|(violation, count)| explain_together(&violation, count, tables));
        alone.chain(together).collect()
    }
}

fn mark(point: Point, via: Via) -> Mark {
    if point.site == SiteId(0) { Mark::Deed(point.deed, via) } else { Mark::Site(point.site) }
}

fn explain_alone(violation: &Violation, count: u64, tables: &Tables) -> Finding {
    let Violation { origin, cycle } = violation;
    let told = steps(cycle, tables);
    let last = told.steps.len();
    let others: BTreeSet<String> = cycle
        .iter()
        .map(|hop| hop.to.thread)
        .filter(|&thread| thread != origin.thread)
        .map(|id| thread(id, tables))
        .collect();
    let others: Vec<String> = others.into_iter().collect();
    let plural = if others.len() == 1 { "" } else { "s" };
    let mut finding = told.into_finding(&rules::NOT_SERIALIZABLE, origin, cycle, count, tables);
    finding.message = format!(
        "{} is not atomic: thread{plural} {} got in between (1) and ({last})",
        subject(origin, tables),
        others.join(", ")
    );
    finding.fix = match finding.variables.is_empty() {
        true => format!("hold one lock from (1) to ({last})"),
        false => format!("hold one lock from (1) to ({last}), and wherever else {} is used", list(&finding.variables)),
    };
    if let (Some(first), Some(last)) = (cycle.first(), cycle.last()) {
        let place_of = |site| place(site, tables).unwrap_or_else(|| nowhere(&finding.method));
        finding.sections = Some(SectionPair { first: place_of(first.from.site), second: place_of(last.to.site) });
    }
    finding
}

fn explain_together(violation: &Violation, count: u64, tables: &Tables) -> Finding {
    let Violation { origin, cycle } = violation;
    let told = steps(cycle, tables);
    let orders: Vec<String> =
        told.orders.iter().map(|(before, after)| format!("({before}) before ({after})")).collect();
    let threads: BTreeSet<String> = cycle.iter().map(|hop| thread(hop.from.thread, tables)).collect();
    let threads: Vec<String> = threads.into_iter().collect();
    let mut finding = told.into_finding(&rules::NOT_SERIALIZABLE_TOGETHER, origin, cycle, count, tables);
    finding.message = format!("threads {} ran units that have no order: {}", threads.join(", "), orders.join(", "));
    finding.fix = match finding.variables.is_empty() {
        true => "let one lock guard all of these units as a whole".to_owned(),
        false => format!("let one lock guard {} in all of these units, each as a whole", list(&finding.variables)),
    };
    finding
}

/// The steps of a cycle, in the order of the cycle.
struct Steps {
    steps: Vec<Step>,
    /// For each step, when it happened.
    moments: Vec<Moment>,
    /// For each hop, the numbers of its two steps.
    orders: Vec<(u32, u32)>,
}

fn steps(cycle: &[Hop], tables: &Tables) -> Steps {
    let mut told = Steps { steps: Vec::new(), moments: Vec::new(), orders: Vec::new() };
    for hop in cycle {
        let before = told.number(hop.from, hop.via, tables);
        let after = told.number(hop.to, hop.via, tables);
        told.orders.push((before, after));
    }
    told
}

impl Steps {
    /// The number of an event's step: one event is one step, though it may end one hop and begin the next.
    fn number(&mut self, point: Point, via: Via, tables: &Tables) -> u32 {
        let what = deed(point.deed, via, tables);
        if let Some(index) = self.moments.iter().position(|&moment| moment == point.moment) {
            if point.deed != Deed::Any {
                self.steps[index].what = what;
            }
            return index as u32 + 1;
        }
        let number = self.steps.len() as u32 + 1;
        let place = place(point.site, tables);
        let thread = finding::Thread(tables.thread_name(point.thread));
        self.steps.push(Step { number, thread, place, what, ran: true, callers: Vec::new() });
        self.moments.push(point.moment);
        number
    }

    fn into_finding(
        self,
        rule: &'static finding::Rule,
        origin: &Origin,
        cycle: &[Hop],
        count: u64,
        tables: &Tables,
    ) -> Finding {
        let mut interleaving: Vec<u32> = self.steps.iter().map(|step| step.number).collect();
        interleaving.sort_by_key(|&number| self.moments[number as usize - 1]);
        let mut variables = BTreeSet::new();
        let mut locks = BTreeSet::new();
        for hop in cycle {
            match hop.via {
                Via::Variable(variable) => {
                    variables.insert(tables.variable_name(variable));
                }
                Via::Lock(lock) => {
                    locks.insert(tables.lock_name(lock));
                }
                Via::Barrier(_) | Via::Thread(_) => {}
            }
        }
        Finding {
            rule,
            evidence: Evidence::Observed,
            severity: rule.severity,
            detectors: BTreeSet::from([SERIALIZABILITY.id]),
            message: String::new(),
            method: method(origin, tables),
            variables,
            locks,
            steps: self.steps,
            interleaving,
            fix: String::new(),
            count,
            executions: 0,
            sections: None,
        }
    }
}

fn deed(deed: Deed, via: Via, tables: &Tables) -> String {
    let name = match via {
        Via::Variable(variable) => tables.variable_text(variable),
        Via::Lock(lock) => tables.lock_text(lock),
        Via::Barrier(barrier) => tables.barrier_name(barrier),
        Via::Thread(thread) => tables.thread_name(thread),
    };
    match deed {
        Deed::Read => format!("reads `{name}`"),
        Deed::Write => format!("writes `{name}`"),
        Deed::Update => format!("updates `{name}`"),
        Deed::Acquire => format!("acquires `{name}`"),
        Deed::Release => format!("releases `{name}`"),
        Deed::Start => format!("starts thread `{name}`"),
        Deed::Join => format!("waits for the end of thread `{name}`"),
        Deed::Arrive => format!("arrives at `{name}`"),
        Deed::Leave => format!("goes on after `{name}`"),
        Deed::Any => "runs".to_owned(),
    }
}

/// The transaction as the headline calls it.
fn subject(origin: &Origin, tables: &Tables) -> String {
    match origin.extent {
        Extent::Unit(unit) => places::subject(origin.site, unit, tables),
        Extent::Section(lock) => format!("the section on `{}`", tables.lock_text(lock)),
    }
}

fn method(origin: &Origin, tables: &Tables) -> MethodPlace {
    let unit = match origin.extent {
        Extent::Unit(unit) => unit,
        Extent::Section(_) => UnitId(0),
    };
    places::method_of(origin.site, unit, tables)
}

fn nowhere(method: &MethodPlace) -> Place {
    Place { method: method.clone(), pc: 0, file: None, line: None }
}

fn thread(id: trace::ThreadId, tables: &Tables) -> String {
    format!("`{}`", tables.thread_name(id))
}

fn list(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
