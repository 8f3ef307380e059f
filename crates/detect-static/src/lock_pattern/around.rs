//! Which methods are looked into for pairs of sections.

use program::MethodId;
use rustc_hash::FxHashSet;

use super::analysis::Analysis;
use super::judge::Candidate;
use super::summary::Via;

/// Callees of a pair's or a section's method that are looked into, so many calls down.
const MAX_DOWN: usize = 1;

/// The methods that the sections of candidates are in, and what those call.
pub(super) fn methods_of<'c, 'w: 'c>(
    analysis: &Analysis<'_>,
    candidates: impl Iterator<Item = &'c Candidate<'w>>,
) -> FxHashSet<MethodId> {
    let mut wanted: FxHashSet<MethodId> = FxHashSet::default();
    let mut bottoms: FxHashSet<MethodId> = FxHashSet::default();
    for Candidate { witness, .. } in candidates {
        // What becomes of the two values may be in a method that is given both.
        bottoms.insert(witness.pair.method);
        wanted.insert(witness.method);
        for via in [witness.pair.first, witness.pair.second] {
            let (mut method, mut here) = (witness.pair.method, via);
            while let Via::Call { target, taken, .. } = here {
                wanted.insert(target);
                method = target;
                match analysis.summary(target).and_then(|summary| summary.taken.get(taken as usize)) {
                    Some(next) => here = next.via,
                    None => break,
                }
            }
            bottoms.insert(method);
        }
    }
    spread(&mut bottoms, MAX_DOWN, |method| analysis.calls.callees(method));
    wanted.extend(bottoms);
    wanted
}

/// Adds what can be reached in so many steps.
pub(super) fn spread<'c>(methods: &mut FxHashSet<MethodId>, steps: usize, next: impl Fn(MethodId) -> &'c [MethodId]) {
    let mut edge: Vec<MethodId> = methods.iter().copied().collect();
    for _ in 0..steps {
        let mut further = Vec::new();
        for method in edge.drain(..) {
            further.extend(next(method).iter().copied().filter(|other| methods.insert(*other)));
        }
        edge = further;
    }
}
