//! What the detector says. All its wording is here.

use std::collections::{BTreeMap, BTreeSet};

use finding::{Evidence, Finding, Step, rules};
use location::Place;
use trace::{SiteId, StackId, Tables, ThreadId, UnitId};

use super::REDUCTION;
use super::blocks::{Deed, Point, Warning};
use super::chains::Chains;
use crate::places::{callers, method_of, place, readable, subject};

/// Warnings by the places in code that make them the same one.
#[derive(Default)]
pub(super) struct Told {
    warnings: Vec<(Warning, u64)>,
    known: BTreeMap<(UnitId, SiteId, Mark), usize>,
}

/// A place, or what happened there if the trace does not know the place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Site(SiteId),
    Deed(Deed),
}

impl Told {
    pub(super) fn take(&mut self, warnings: &mut Vec<Warning>) {
        for warning in warnings.drain(..) {
            let offence = match warning.offence.site {
                SiteId(0) => Mark::Deed(warning.offence.deed),
                site => Mark::Site(site),
            };
            match self.known.entry((warning.unit, warning.entry.site, offence)) {
                std::collections::btree_map::Entry::Occupied(known) => self.warnings[*known.get()].1 += 1,
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(self.warnings.len());
                    self.warnings.push((warning, 1));
                }
            }
        }
    }

    pub(super) fn explain(self, chains: &Chains, tables: &Tables) -> Vec<Finding> {
        self.warnings.into_iter().map(|(warning, count)| explain(&warning, count, chains, tables)).collect()
    }
}

fn explain(warning: &Warning, count: u64, chains: &Chains, tables: &Tables) -> Finding {
    let mut steps = Vec::new();
    let mut step = |thread: ThreadId, point: Point, what: String| {
        let number = steps.len() as u32 + 1;
        steps.push(Step {
            number,
            thread: finding::Thread(tables.thread_name(thread)),
            place: place(point.site, tables),
            what,
            ran: true,
            callers: called_by(point, chains, tables),
        });
        number
    };
    step(warning.thread, warning.entry, "begins what ought to be atomic".to_owned());
    let commit = step(
        warning.thread,
        warning.commit,
        format!("{}: from here on others may see what was done", deed(warning.commit.deed, tables)),
    );
    let offence = step(
        warning.thread,
        warning.offence,
        format!("{}: others may have come in between", deed(warning.offence.deed, tables)),
    );
    let mut interleaving = vec![1, commit, offence];
    if let Some((thread, point)) = warning.other {
        let other = step(thread, point, format!("{}, with no lock in common", deed(point.deed, tables)));
        interleaving.insert(2, other);
    }
    let mut variables: BTreeSet<String> = warning.variables.iter().map(|&id| tables.variable_name(id)).collect();
    let mut locks = BTreeSet::new();
    for point in [warning.commit, warning.offence] {
        match point.deed {
            Deed::Read(variable) | Deed::Write(variable) | Deed::Update(variable) => {
                variables.insert(tables.variable_name(variable));
            }
            Deed::Acquire(lock) | Deed::Release(lock) => {
                locks.insert(tables.lock_name(lock));
            }
            Deed::Begin | Deed::Call(_) => {}
        }
    }
    let rule = &rules::NOT_ATOMIC;
    Finding {
        rule,
        evidence: Evidence::Predicted,
        severity: rule.severity,
        detectors: BTreeSet::from([REDUCTION.id]),
        message: format!(
            "{} may not be atomic: other threads can come in between ({commit}) and ({offence})",
            subject(warning.entry.site, warning.unit, tables)
        ),
        method: method_of(warning.entry.site, warning.unit, tables),
        variables,
        locks,
        steps,
        interleaving,
        fix: format!("hold one lock from ({commit}) to ({offence})"),
        count,
        executions: 0,
        sections: None,
    }
}

fn deed(deed: Deed, tables: &Tables) -> String {
    match deed {
        Deed::Begin => "begins".to_owned(),
        Deed::Read(variable) => format!("reads {}", readable(variable, tables)),
        Deed::Write(variable) => format!("writes {}", readable(variable, tables)),
        Deed::Update(variable) => format!("updates {}", readable(variable, tables)),
        Deed::Call(method) => {
            let name = tables.method_name(method);
            format!("calls `{}`, which is taken to be atomic", name.split(':').next().unwrap_or_default())
        }
        Deed::Acquire(lock) => format!("takes `{}`", tables.lock_name(lock)),
        Deed::Release(lock) => format!("lets `{}` go", tables.lock_name(lock)),
    }
}

/// The stack of a step, or else the methods of the units that were open: where in them is not known.
fn called_by(point: Point, chains: &Chains, tables: &Tables) -> Vec<Place> {
    if point.stack != StackId(0) {
        return callers(point.stack, tables);
    }
    let mut inner = place(point.site, tables).map(|place| place.method);
    let mut callers = Vec::new();
    for outer in chains.sites(point.within).into_iter().filter_map(|site| place(site, tables)) {
        if inner.as_ref() != Some(&outer.method) {
            callers.push(Place { pc: 0, line: None, ..outer.clone() });
        }
        inner = Some(outer.method);
    }
    callers
}
