//! Whether the calls on the way to a lock can be made by one object: what a class inherits and calls on `this` ends in that
//! class, in one above it or in one below, and not in one beside it.

use location::ClassName;
use program::{MethodId, Program, Root};

use super::analysis::{Analysis, Witness};
use super::name::Argument;
use super::summary::Via;

/// Whether the object that has the context can be the one whose methods take the lock, both times.
pub(super) fn is_one_object(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    let mut walk = Walk { analysis, method: witness.method, class: class_of(analysis.program, witness.method) };
    let next = witness.calls.iter().skip(1).map(|(method, _)| *method).chain([witness.pair.method]);
    for ((_, call), target) in witness.calls.iter().zip(next) {
        if !walk.step(*call, target) {
            return false;
        }
    }
    [witness.pair.first, witness.pair.second].into_iter().all(|via| walk.leads_to(via))
}

fn class_of(program: &Program, method: MethodId) -> ClassName {
    program.method_name(method).class
}

/// A way along calls.
#[derive(Clone, Copy)]
struct Walk<'w> {
    analysis: &'w Analysis<'w>,
    method: MethodId,
    /// What `this` is at least.
    class: ClassName,
}

impl Walk<'_> {
    /// Goes into a call; whether that is possible.
    fn step(&mut self, call: u32, target: MethodId) -> bool {
        let program = self.analysis.program;
        let Some(site) = self.analysis.skeleton(self.method).and_then(|skeleton| skeleton.calls.get(call as usize))
        else {
            return true;
        };
        let is_this = matches!(site.arguments.first(), Some(Argument::Object(path, _))
            if path.root == Root::This && path.steps.is_empty())
            && !program.method(target).access.is_static();
        let class = class_of(program, target);
        self.method = target;
        if !is_this || program.is_subtype(class, self.class) {
            self.class = class;
            return true;
        }
        // A default method of an interface may be in any class.
        let is_interface = program.class(class).is_some_and(|class| program.header(class).access.is_interface());
        is_interface || program.is_subtype(self.class, class)
    }

    fn leads_to(mut self, via: Via) -> bool {
        let mut via = via;
        while let Via::Call { call, target, taken } = via {
            if !self.step(call, target) {
                return false;
            }
            match self.analysis.summary(target).and_then(|summary| summary.taken.get(taken as usize)) {
                Some(next) => via = next.via,
                None => break,
            }
        }
        true
    }
}
