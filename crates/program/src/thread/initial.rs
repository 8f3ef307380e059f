//! Methods that run while a class is initialised, and at no other time: one thread does that, once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::reach::Graph;
use crate::calls::Calls;
use crate::class::{MethodId, Program};

/// By method: the initialiser that alone leads to it.
pub(super) fn initial(
    program: &Program,
    calls: &Calls,
    graph: &Graph,
    begun: &FxHashSet<MethodId>,
    open: &[MethodId],
) -> FxHashMap<MethodId, MethodId> {
    let mut callers = vec![0u32; graph.count()];
    for node in (0..graph.count() as u32).map(MethodId) {
        graph.callees(node).iter().filter(|callee| **callee != node).for_each(|callee| callers[callee.index()] += 1);
    }
    let name = program.names.intern("<clinit>");
    let is_initialiser = |method: MethodId| graph.is_method(method) && program.method(method).name == name;
    let mut found = FxHashMap::default();
    let mut seen: FxHashMap<MethodId, u32> = FxHashMap::default();
    for initialiser in program.methods().filter(|method| is_initialiser(*method)) {
        seen.clear();
        // Who has a function may run it later.
        let mut kept: FxHashSet<MethodId> = FxHashSet::default();
        let mut region = vec![initialiser];
        let mut next = 0;
        while let Some(method) = region.get(next).copied() {
            next += 1;
            if graph.is_method(method) {
                for made in &calls.mentions[method.index()].lambdas {
                    kept.extend(calls.lambda_targets(program, *made).known());
                    kept.extend(calls.hierarchy.resolve_name(program, *made));
                }
            }
            for callee in graph.callees(method).iter().copied().filter(|callee| *callee != method) {
                let count = seen.entry(callee).or_default();
                *count += 1;
                let is_alone = *count == callers[callee.index()]
                    && !is_initialiser(callee)
                    && !begun.contains(&callee)
                    && open.binary_search(&callee).is_err();
                if is_alone {
                    region.push(callee);
                }
            }
        }
        // What only a function leads to is not known to run now, either.
        let mut later: Vec<MethodId> = region.iter().copied().filter(|method| kept.contains(method)).collect();
        let all: FxHashSet<MethodId> =
            if later.is_empty() { FxHashSet::default() } else { region.iter().copied().collect() };
        while let Some(method) = later.pop() {
            let is_in = |callee: &&MethodId| **callee != initialiser && all.contains(*callee);
            later.extend(graph.callees(method).iter().filter(is_in).filter(|callee| kept.insert(**callee)));
        }
        region.retain(|method| graph.is_method(*method) && !kept.contains(method));
        found.extend(region.into_iter().map(|method| (method, initialiser)));
    }
    found
}
