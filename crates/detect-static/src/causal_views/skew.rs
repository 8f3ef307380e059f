//! Write skew: one method looks at one variable before it writes another, and a second one the other way around. Each
//! keeps the two in step on its own; both at once do not.

use program::summary::{Access, AccessId, Root};
use program::{MethodId, Place, Whole};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::paper::left;
use super::stale::{Asking, Flow, How};
use super::views::{Item, Pair};
use crate::threads::run_at_once;

/// More methods that decide about one variable by another than this are not kept.
const MAX_CHECKS: usize = 8;

/// A read in one section that decides about a write in a later one.
struct Check {
    read: AccessId,
    write: AccessId,
    first: usize,
    second: usize,
}

/// By what is looked at and what is written then: where.
pub(super) struct Skews(FxHashMap<Pair, Vec<Place>>);

impl Skews {
    pub(super) fn of(whole: &Whole<'_>) -> Skews {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        let found: Vec<(Pair, Place)> = methods
            .par_iter()
            .flat_map_iter(|method| {
                let own = checks(whole, *method).into_iter();
                own.map(|(pair, check)| (pair, Place { method: *method, access: check.write })).collect::<Vec<_>>()
            })
            .collect();
        let mut all: FxHashMap<Pair, Vec<Place>> = FxHashMap::default();
        for (pair, place) in found {
            let known = all.entry(pair).or_default();
            if known.len() < MAX_CHECKS {
                known.push(place);
            }
        }
        Skews(all)
    }
}

/// What a method decides by a read in a section that has ended, of two variables of one owner.
fn checks(whole: &Whole<'_>, method: MethodId) -> Vec<(Pair, Check)> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let mut found: Vec<(Pair, Check)> = Vec::new();
    if summary.sections.len() < 2 {
        return found;
    }
    for (index, write) in summary.accesses.iter().enumerate().filter(|(_, access)| access.is_write) {
        for influence in &write.control {
            let Root::Access(read) = influence.root else { continue };
            let Some((first, second)) = left(summary, read, influence.ended, write.held) else { continue };
            // Two accesses of one call are the callee's business.
            if summary.accesses[read.index()].event == write.event {
                continue;
            }
            let item = |access: &Access| Item::of(whole, method, access);
            let (Some(seen), Some(reached)) = (item(&summary.accesses[read.index()]), item(write)) else { continue };
            if seen.variable == reached.variable {
                continue;
            }
            let Some(pair) = Pair::of(whole, &seen, &reached) else { continue };
            if found.iter().all(|(known, _)| *known != pair) {
                found.push((pair, Check { read, write: AccessId(index as u32), first, second }));
            }
        }
    }
    found
}

impl Asking<'_> {
    /// What this method decides by a look at a variable that another one writes after a look at what is written here.
    pub(super) fn skewed(&self, skews: &Skews) -> Vec<(Flow, Place)> {
        let mut found = Vec::new();
        for (pair, Check { read, write, first, second }) in checks(self.whole, self.method) {
            let Some(others) = skews.0.get(&pair.turned()) else { continue };
            let other = others.iter().find(|other| run_at_once(self.whole, self.method, other.method));
            found.extend(other.map(|other| (Flow { how: How::Skewed, read, target: write, first, second }, *other)));
        }
        found
    }
}
