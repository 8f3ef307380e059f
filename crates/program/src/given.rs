//! What methods are given and final fields keep: the objects, traced back to the callers that have them.

use location::FieldName;

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Argument, Object};
use crate::summary::Summaries;
use crate::thread::Threads;

/// What is passed on more often than this is not followed.
const MAX_DEPTH: usize = 3;

pub(crate) struct Given<'g> {
    pub(crate) program: &'g Program,
    pub(crate) calls: &'g Calls,
    pub(crate) summaries: &'g Summaries,
    pub(crate) threads: &'g Threads,
}

/// An object that a method gives to a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) method: MethodId,
    pub(crate) object: Object,
}

impl Given<'_> {
    /// All that a final field is ever given by way of the only constructor; none if that is not known.
    pub(crate) fn to_field(&self, field: FieldName) -> Option<Vec<Passed>> {
        let position = self.summaries.holdings.kept(self.program, field)?;
        let class = self.program.class_of_field(self.program.resolve_field(field)?);
        // Code that is not here, and has such objects, may make them, too.
        if self.program.methods_of(class).any(|method| self.threads.open.binary_search(&method).is_ok()) {
            return None;
        }
        let constructor = self.program.roots.constructor;
        let constructor =
            self.program.methods_of(class).find(|method| self.program.method(*method).name == constructor)?;
        self.to_parameter(constructor, position)
    }

    /// All that a parameter is ever given; none if that is not known.
    pub(crate) fn to_parameter(&self, method: MethodId, position: u16) -> Option<Vec<Passed>> {
        let mut found = Vec::new();
        self.add(method, position, MAX_DEPTH, &mut found).then_some(found).filter(|found| !found.is_empty())
    }

    /// Adds what a parameter is given; whether that is all.
    fn add(&self, method: MethodId, position: u16, depth: usize, found: &mut Vec<Passed>) -> bool {
        let is_entry = self.threads.entries().iter().any(|entry| entry.method == Some(method));
        if depth == 0 || is_entry || self.threads.open.binary_search(&method).is_ok() {
            return false;
        }
        let mut callers: Vec<MethodId> = self.calls.callers(method).to_vec();
        callers.dedup();
        !callers.is_empty()
            && callers.into_iter().all(|caller| {
                let Some(outline) = self.summaries.outline(caller) else { return false };
                outline.events.iter().all(|event| {
                    let arguments = match &event.action {
                        Action::Call { kind, method: called, arguments }
                            if self.calls.targets(self.program, *kind, *called).known().contains(&method) =>
                        {
                            arguments
                        }
                        Action::Lambda { method: made, arguments, .. }
                            if self.calls.lambda_targets(self.program, *made).known().contains(&method) =>
                        {
                            arguments
                        }
                        _ => return true,
                    };
                    let given = arguments.get(usize::from(position));
                    given.is_some_and(|given| self.add_given(caller, given, depth, found))
                })
            })
    }

    fn add_given(&self, method: MethodId, given: &Argument, depth: usize, found: &mut Vec<Passed>) -> bool {
        given.objects.iter().all(|object| match *object {
            Object::Parameter(position) => self.add(method, position, depth - 1, found),
            Object::Unknown => false,
            object => {
                found.push(Passed { method, object });
                true
            }
        })
    }
}
