//! What the detector says. All its wording is here.

use std::collections::{BTreeMap, BTreeSet};

use finding::{Evidence, Finding, SectionPair, Step, rules};
use location::Place;
use trace::{LockId, SiteId, Tables, ThreadId, UnitId, VariableId};

use super::engine::{GivenUp, Point, Violation};
use super::tree::Deed;
use crate::places::{callers, method_of, place, readable, subject};

/// Violations by the places in code that make them the same one.
#[derive(Default)]
pub(super) struct Told {
    violations: Vec<Violation>,
    known: BTreeMap<Key, usize>,
}

/// The unit, and where it is disturbed; of units that have no order together, all places.
type Key = (bool, UnitId, SiteId, Vec<Mark>);

/// A place, or what happened there if the trace does not know the place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Site(SiteId),
    Deed(Deed, VariableId),
}

fn mark(point: &Point) -> Mark {
    match point.at.site {
        SiteId(0) => Mark::Deed(point.deed, point.variable),
        site => Mark::Site(site),
    }
}

impl Told {
    pub(super) fn take(&mut self, violations: &mut Vec<Violation>) {
        for violation in violations.drain(..) {
            let key = key(&violation);
            match self.known.get(&key) {
                Some(&index) => {
                    let known = &mut self.violations[index];
                    known.count += violation.count;
                    // What ran says more than what did not.
                    let ran = |violation: &Violation| violation.points.iter().filter(|point| !point.ran).count();
                    if ran(&violation) < ran(known) {
                        known.points = violation.points;
                    }
                }
                None => {
                    self.known.insert(key, self.violations.len());
                    self.violations.push(violation);
                }
            }
        }
    }

    pub(super) fn explain(self, detector: &'static str, tables: &Tables) -> Vec<Finding> {
        self.violations.iter().map(|violation| explain(violation, detector, tables)).collect()
    }
}

fn key(violation: &Violation) -> Key {
    if violation.is_joint {
        let mut marks: Vec<Mark> = violation.points.iter().map(mark).collect();
        marks.sort();
        return (true, UnitId(0), SiteId(0), marks);
    }
    let ends = violation.points.first().into_iter().chain(violation.points.last());
    (false, violation.unit, violation.site, ends.map(mark).collect())
}

fn explain(violation: &Violation, detector: &'static str, tables: &Tables) -> Finding {
    let points = &violation.points;
    let steps: Vec<Step> = points
        .iter()
        .enumerate()
        .map(|(index, point)| Step {
            number: index as u32 + 1,
            thread: finding::Thread(tables.thread_name(point.thread)),
            place: place(point.at.site, tables),
            what: what(point, tables),
            ran: point.ran,
            callers: callers(point.at.stack, tables),
        })
        .collect();
    let variables: BTreeSet<String> = points.iter().map(|point| tables.variable_name(point.variable)).collect();
    let last = steps.len();
    let names: Vec<String> = variables.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    let method = method_of(violation.site, violation.unit, tables);
    let unit = subject(violation.site, violation.unit, tables);
    let (rule, message, fix) = if violation.is_joint {
        (
            &rules::NOT_SERIALIZABLE_TOGETHER,
            format!(
                "threads {} can run units that have no order: (1) before (3), (2) before (4){}",
                threads(points.iter().map(|point| point.thread), tables).join(", "),
                speculated(points)
            ),
            format!("let one lock guard {names} in all of these units, each as a whole"),
        )
    } else {
        let own = points.first().map(|point| point.thread);
        let others = points.iter().map(|point| point.thread).filter(|thread| Some(*thread) != own);
        let others = threads(others, tables);
        let plural = if others.len() == 1 { "" } else { "s" };
        (
            &rules::NOT_ATOMIC,
            format!(
                "{unit} may not be atomic: thread{plural} {} can come in between (1) and ({last}){}",
                others.join(", "),
                speculated(points)
            ),
            format!("hold one lock from (1) to ({last}), and wherever else {names} is used"),
        )
    };
    let place_of = |point: &Point| {
        place(point.at.site, tables).unwrap_or_else(|| Place { method: method.clone(), pc: 0, file: None, line: None })
    };
    let sections = match (points.first(), points.last()) {
        (Some(first), Some(last)) if !violation.is_joint => {
            Some(SectionPair { first: place_of(first), second: place_of(last) })
        }
        _ => None,
    };
    Finding {
        rule,
        evidence: Evidence::Predicted,
        severity: rule.severity,
        detectors: BTreeSet::from([detector]),
        message,
        method,
        variables,
        locks: BTreeSet::new(),
        interleaving: steps.iter().map(|step| step.number).collect(),
        steps,
        fix,
        count: violation.count,
        executions: 0,
        sections,
    }
}

fn speculated(points: &[Point]) -> &'static str {
    if points.iter().all(|point| point.ran) { "" } else { ", on a way that this run did not take" }
}

fn what(point: &Point, tables: &Tables) -> String {
    let done = match point.deed {
        Deed::Read => "reads",
        Deed::Write => "writes",
        Deed::Update => "updates",
    };
    let ran = if point.ran { "" } else { ", which this run did not come to" };
    format!("{done} {}{ran}", readable(point.variable, tables))
}

fn threads(ids: impl Iterator<Item = ThreadId>, tables: &Tables) -> Vec<String> {
    let names: BTreeSet<String> = ids.map(|id| format!("`{}`", tables.thread_name(id))).collect();
    names.into_iter().collect()
}

/// What has to be known along with the findings.
pub(super) fn remarks(
    detector: &str,
    given_up: GivenUp,
    circle: Option<&[LockId]>,
    is_order_cut: bool,
    tables: &Tables,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let GivenUp { forests, accesses, searches } = given_up;
    if forests > 0 {
        remarks.push(format!(
            "`{detector}` gave up what it knew of older units {forests} times for lack of room; findings may be missing"
        ));
    }
    if accesses > 0 {
        remarks.push(format!(
            "`{detector}` left out {accesses} accesses of units that have too many; findings may be missing"
        ));
    }
    if searches > 0 {
        remarks.push(format!(
            "`{detector}` did not try every order of threads for {searches} units; findings may be missing"
        ));
    }
    if let Some(circle) = circle {
        let locks: BTreeSet<String> = circle.iter().map(|&lock| format!("`{}`", tables.lock_text(lock))).collect();
        let locks: Vec<String> = locks.into_iter().collect();
        remarks.push(format!(
            "threads take {} in different orders and may wait for each other for ever; what `{detector}` does not tell is atomic only if they do not",
            locks.join(", ")
        ));
    }
    if is_order_cut {
        remarks.push(format!(
            "`{detector}` did not follow the order of all locks, so threads may wait for each other for ever where it does not say so"
        ));
    }
    remarks
}
