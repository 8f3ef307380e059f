//! The whole program: what a detector may ask beyond one method.

use crate::calls::{CallGraph, Calls};
use crate::class::{MethodId, Program};
use crate::cover::Cover;
use crate::summary::Summaries;
use crate::variable::Variables;

/// How far from a section a method may be and still matter: so many calls up, and from there so many down.
const UP: usize = 4;
const DOWN: usize = 4;

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
    let mut matters = vec![false; program.known_method_count()];
    let mut edge: Vec<MethodId> = Vec::new();
    for method in program.methods() {
        if program.may_lock(method) || calls.has_library_section(program, method) {
            matters[method.index()] = true;
            edge.push(method);
        }
    }
    let spread = |edge: &mut Vec<MethodId>, matters: &mut Vec<bool>, next: &dyn Fn(MethodId) -> Vec<MethodId>| {
        let mut reached = Vec::new();
        for method in edge.drain(..) {
            for other in next(method) {
                if !std::mem::replace(&mut matters[other.index()], true) {
                    reached.push(other);
                }
            }
        }
        *edge = reached;
    };
    for _ in 0..UP {
        spread(&mut edge, &mut matters, &|method| calls.callers(method).to_vec());
    }
    let mut edge: Vec<MethodId> = program.methods().filter(|method| matters[method.index()]).collect();
    for _ in 0..DOWN {
        spread(&mut edge, &mut matters, &|method| calls.callees(method).to_vec());
    }
    matters
}
