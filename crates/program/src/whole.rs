//! The whole program: what a detector may ask beyond one method.

use crate::calls::{CallGraph, Calls};
use crate::class::{MethodId, Program};
use crate::cover::Cover;
use crate::outline::EventId;
use crate::summary::Summaries;
use crate::thread::{Threads, World};
use crate::variable::{Place, Variable, Variables};

/// How far from a section a method may be and still matter: so many calls up, and from there so many down.
const UP: usize = 4;
const DOWN: usize = 4;

pub struct Whole<'p> {
    pub program: &'p Program,
    pub calls: Calls,
    pub summaries: Summaries,
    pub variables: Variables,
    pub threads: Threads,
}

impl<'p> Whole<'p> {
    pub fn of(program: &'p Program, call_graph: CallGraph, world: World) -> Whole<'p> {
        let calls = Calls::of(program, call_graph);
        let matters = matters(program, &calls);
        let summaries = Summaries::of(program, &calls, |method| matters[method.index()]);
        let variables = Variables::of(program, &summaries);
        let threads = Threads::of(program, &calls, &summaries.outlines, world);
        Whole { program, calls, summaries, variables, threads }
    }

    /// Writes of a variable that may happen in another thread while this method runs.
    pub fn interfering(&self, method: MethodId, variable: Variable) -> impl Iterator<Item = &Place> {
        self.variables.writers(variable).iter().filter(move |place| {
            let is_alone = |event: EventId| {
                let outlines = &self.summaries.outlines;
                self.threads.is_before_start(outlines, place.method, event)
                    || self.threads.is_after_join(outlines, place.method, event)
            };
            let access =
                self.summaries.summary(place.method).and_then(|summary| summary.accesses.get(place.access.index()));
            self.threads.may_overlap(method, place.method).is_some()
                && access.is_some_and(|access| !is_alone(access.event))
        })
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
        if program.may_lock(method) || calls.has_library_section(program, method) || calls.starts_tasks(program, method)
        {
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
