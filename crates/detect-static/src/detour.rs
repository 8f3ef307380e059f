//! How a run may come close to a unit and go another way: which methods lead to it, and where its variables are accessed
//! besides.
//!
//! `if (isFull) evict(); else look();` leads to `evict`, whichever branch a run takes. Whoever looks has its hands on what
//! `evict` is about.

use std::collections::BTreeSet;

use finding::{Detour, Suspicion};
use location::{MethodPlace, Place, Site};
use program::summary::Spot;
use program::{MethodId, Program, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many calls may lead from a method to a unit.
const MAX_CALLS: usize = 3;

/// A unit that more methods lead to is known to many, and some of them will come to it.
const MAX_APPROACHES: usize = 16;

/// A variable that is accessed at more places is about more than one thing.
const MAX_TOUCHES: usize = 64;

/// A suspicion, and what its detours are about.
pub(crate) struct Asked {
    pub(crate) suspicion: Suspicion,
    pub(crate) method: MethodId,
    /// What the first part accesses.
    pub(crate) first: BTreeSet<Variable>,
    /// Whether it writes that.
    pub(crate) is_write: bool,
}

/// Gives suspicions their detours.
pub(crate) fn with_detours(whole: &Whole<'_>, asked: Vec<Asked>) -> Vec<Suspicion> {
    let wanted: FxHashSet<Variable> = asked.iter().flat_map(|asked| asked.first.iter().copied()).collect();
    let touches = touches(whole, &wanted);
    let entries = whole.threads().entries();
    let begins: FxHashSet<MethodId> = entries.iter().filter_map(|entry| entry.method).collect();
    asked
        .into_par_iter()
        .map(|Asked { suspicion, method, first, is_write }| {
            let mut seen: FxHashSet<Spot> = FxHashSet::default();
            let spots = first.iter().flat_map(|variable| &touches[variable]).filter(|spot| seen.insert(**spot));
            let spots: Vec<Spot> = spots.copied().collect();
            let approaches = approaches(whole, method, &begins);
            if suspicion.is_split || spots.len() > MAX_TOUCHES || approaches.len() > MAX_APPROACHES {
                return suspicion;
            }
            let approaches = approaches.into_iter().map(|method| readable(whole.program, method)).collect();
            let touches = spots.into_iter().map(|spot| place(whole.program, &spot)).collect();
            Suspicion { detour: Detour { approaches, touches, is_write }, ..suspicion }
        })
        .collect()
}

/// By variable: the places in the code that access it.
fn touches(whole: &Whole<'_>, wanted: &FxHashSet<Variable>) -> FxHashMap<Variable, Vec<Spot>> {
    let program = whole.program;
    let mut all: FxHashMap<Variable, Vec<Spot>> = wanted.iter().map(|variable| (*variable, Vec::new())).collect();
    if wanted.is_empty() {
        return all;
    }
    let methods: Vec<MethodId> = program.methods().collect();
    let found: Vec<(Variable, Spot)> = methods
        .par_iter()
        .filter_map(|method| Some((program.method_name(*method), whole.summaries.summary(*method)?)))
        .flat_map_iter(|(name, summary)| {
            let own = summary.accesses.iter().filter(move |access| access.spot.method == name || access.is_given);
            own.filter_map(|access| Some((Variable::of(program, access)?, access.spot)))
        })
        .filter(|(variable, _)| wanted.contains(variable))
        .collect();
    for (variable, spot) in found {
        all.entry(variable).or_default().push(spot);
    }
    all
}

/// The method itself, and those whose code leads to it by calls that can mean nothing else. A method that a thread begins
/// with is led to by who starts it, and that is another thread.
fn approaches(whole: &Whole<'_>, method: MethodId, begins: &FxHashSet<MethodId>) -> Vec<MethodId> {
    let (program, calls) = (whole.program, &whole.calls);
    let mut found = vec![method];
    let mut edge = 0..1;
    for _ in 0..MAX_CALLS {
        for index in edge.clone() {
            let callee = found[index];
            if begins.contains(&callee) || found.len() > MAX_APPROACHES {
                continue;
            }
            for caller in calls.callers(callee) {
                if !found.contains(caller) && calls.surely_means(program, *caller, callee) {
                    found.push(*caller);
                }
            }
        }
        edge = edge.end..found.len();
    }
    found
}

fn readable(program: &Program, method: MethodId) -> MethodPlace {
    let name = program.method_name(method);
    program.names.place(Site { method: name, pc: 0, file: None, line: None }).method
}

fn place(program: &Program, spot: &Spot) -> Place {
    program.names.place(Site { method: spot.method, pc: spot.pc, file: None, line: spot.line })
}
