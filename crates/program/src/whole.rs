//! The whole program: what a detector may ask beyond one method.

use crate::calls::{CallGraph, Calls};
use crate::class::{MethodId, Program};
use crate::cover::Cover;
use crate::summary::Summaries;
use crate::variable::Variables;

/// How far from a section a method may be and still matter: so many calls up, and from there so many down. The first
/// that keeps to [`MAX_METHODS`] counts, so that very large programs are looked at less deeply, and not for hours.
const REACHES: [(usize, usize); 6] = [(4, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)];

const MAX_METHODS: usize = 40_000;

pub struct Whole<'p> {
    pub program: &'p Program,
    pub calls: Calls,
    pub summaries: Summaries,
    pub variables: Variables,
}

impl<'p> Whole<'p> {
    pub fn of(program: &'p Program, call_graph: CallGraph) -> Whole<'p> {
        let calls = Calls::of(program, call_graph);
        let matters = matters(program, &calls);
        let summaries = Summaries::of(program, &calls, |method| matters[method.index()]);
        let variables = Variables::of(program, &summaries);
        Whole { program, calls, summaries, variables }
    }

    pub fn cover(&self) -> Cover<'_> {
        Cover::new(self.program, &self.calls, &self.summaries)
    }
}

/// By method: whether it goes through a section, leads to one, or is called on the way.
fn matters(program: &Program, calls: &Calls) -> Vec<bool> {
    let has_section = |method: &MethodId| program.may_lock(*method) || calls.has_library_section(program, *method);
    let sections: Vec<MethodId> = program.methods().filter(has_section).collect();
    let mut reached = vec![false; program.known_method_count()];
    for (up, down) in REACHES {
        reached.fill(false);
        sections.iter().for_each(|method| reached[method.index()] = true);
        spread(&mut reached, sections.clone(), up, |method| calls.callers(method));
        let above = program.methods().filter(|method| reached[method.index()]).collect();
        spread(&mut reached, above, down, |method| calls.callees(method));
        if reached.iter().filter(|reached| **reached).count() <= MAX_METHODS {
            break;
        }
    }
    reached
}

/// Marks what can be reached from `edge` in so many steps.
fn spread<'c>(reached: &mut [bool], mut edge: Vec<MethodId>, steps: usize, next: impl Fn(MethodId) -> &'c [MethodId]) {
    for _ in 0..steps {
        let mut further = Vec::new();
        for method in edge.drain(..) {
            for other in next(method) {
                if !std::mem::replace(&mut reached[other.index()], true) {
                    further.push(*other);
                }
            }
        }
        edge = further;
    }
}
