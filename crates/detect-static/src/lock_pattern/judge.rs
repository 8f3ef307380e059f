//! Which of the pairs are told.

use std::collections::BTreeSet;

use finding::Finding;
use location::Place;
use program::MethodId;
use rustc_hash::FxHashMap;

use super::Options;
use super::analysis::{Analysis, Witness};
use super::explain::{Explaining, Told};
use super::summary::Via;

/// What was found out about a pair.
#[derive(Default)]
pub(super) struct Judgement {
    /// Nothing breaks today.
    pub(super) is_style: bool,
    /// What the witness guards: `pkg.Foo.field`.
    pub(super) variables: BTreeSet<String>,
    /// Where another thread writes one of these.
    pub(super) interference: Option<(Place, String)>,
}

pub(super) fn findings(analysis: &Analysis<'_>, _options: Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told: FxHashMap<(MethodId, u32), ()> = FxHashMap::default();
    for witness in &analysis.witnesses {
        let second = deepest(analysis, witness.pair.method, witness.pair.second);
        if told.insert(second, ()).is_some() {
            continue;
        }
        findings.extend(explain(analysis, witness, &Judgement::default()));
    }
    findings
}

fn explain(analysis: &Analysis<'_>, witness: &Witness, judgement: &Judgement) -> Option<Finding> {
    let outer = Told::of(analysis.program, witness.method)?;
    let inner = if witness.pair.method == witness.method { None } else { Some(Told::of(analysis.program, witness.pair.method)?) };
    Explaining { analysis, witness, outer: &outer, inner: inner.as_ref(), judgement }.explain()
}

/// The place in the code where a taking happens in the end.
pub(super) fn deepest(analysis: &Analysis<'_>, method: MethodId, via: Via) -> (MethodId, u32) {
    let (mut method, mut via) = (method, via);
    loop {
        match via {
            Via::Call { target, taken, .. } => {
                method = target;
                let Some(next) = analysis.summary(target).and_then(|summary| summary.taken.get(taken as usize)) else {
                    return (method, 0);
                };
                via = next.via;
            }
            Via::Own(section) => {
                let own = analysis.skeleton(method).and_then(|skeleton| skeleton.sections.get(section as usize));
                return (method, own.map_or(0, |own| own.line.unwrap_or(own.pc)));
            }
            Via::Library { call } => {
                let site = analysis.skeleton(method).and_then(|skeleton| skeleton.calls.get(call as usize));
                return (method, site.map_or(0, |site| site.line.unwrap_or(site.pc)));
            }
        }
    }
}
