//! What methods are given and final fields keep: the objects, traced back to the callers that have them.

use location::FieldName;

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Argument, Object, Start};
use crate::outlines::Outlines;
use crate::summary::Summaries;
use crate::thread::Threads;
use crate::whole::Whole;

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

impl Whole<'_> {
    pub(crate) fn passed(&self) -> Given<'_> {
        let (program, calls, summaries) = (self.program, &self.calls, &self.summaries);
        Given { program, calls, summaries, threads: self.threads() }
    }

    /// The number that a value of a method always is, whoever calls the method.
    pub fn number(&self, method: MethodId, value: &Argument) -> Option<i32> {
        self.passed().number(method, value, MAX_DEPTH)
    }
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

    fn number(&self, method: MethodId, value: &Argument, depth: usize) -> Option<i32> {
        let (Start::Parameter(position), []) = (value.name.start, &*value.name.steps) else {
            return match value.objects.as_slice() {
                [Object::Int(number)] => Some(*number),
                _ => None,
            };
        };
        let mut known = None;
        let is_one = self.is_always(method, depth, |caller, arguments| {
            let given = arguments.get(usize::from(position)).and_then(|given| self.number(caller, given, depth - 1));
            given.is_some_and(|given| *known.get_or_insert(given) == given)
        });
        known.filter(|_| is_one)
    }

    /// Adds what a parameter is given; whether that is all.
    fn add(&self, method: MethodId, position: u16, depth: usize, found: &mut Vec<Passed>) -> bool {
        self.is_always(method, depth, |caller, arguments| {
            let given = arguments.get(usize::from(position));
            given.is_some_and(|given| self.add_given(caller, given, depth, found))
        })
    }

    /// Whether all calls of a method are known, and it holds of what each of them gives.
    fn is_always(&self, method: MethodId, depth: usize, mut holds: impl FnMut(MethodId, &[Argument]) -> bool) -> bool {
        let is_entry = self.threads.entries().iter().any(|entry| entry.method == Some(method));
        if depth == 0 || is_entry || self.threads.open.binary_search(&method).is_ok() {
            return false;
        }
        let mut callers: Vec<MethodId> = self.calls.callers(method).to_vec();
        callers.dedup();
        !callers.is_empty()
            && callers.into_iter().all(|caller| {
                // Callers may not be among those that are summarised.
                let Some(outline) = Outlines::new(self.program, &self.summaries.outlines).get(caller) else {
                    return false;
                };
                outline.events.iter().all(|event| match &event.action {
                    Action::Call { kind, method: called, arguments }
                        if self.calls.targets(self.program, *kind, *called).known().contains(&method) =>
                    {
                        holds(caller, arguments)
                    }
                    Action::Lambda { method: made, arguments, .. }
                        if self.calls.lambda_targets(self.program, *made).known().contains(&method) =>
                    {
                        holds(caller, arguments)
                    }
                    _ => true,
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
