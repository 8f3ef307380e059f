//! Functions that an object keeps and calls later: who calls them, and not who made them, runs them.

use classfile::CallKind;
use location::{ClassName, MethodName};
use rayon::prelude::*;

use super::task::{Finder, Run};
use crate::class::MethodId;
use crate::outline::{Action, Object};

/// In programs with more methods than this that call functions, they are not followed.
const MAX_CALLERS: usize = 1000;

/// A method that calls a lambda which was made elsewhere.
pub(super) struct Callback {
    pub(super) caller: MethodId,
    pub(super) run: Run,
}

pub(super) fn callbacks(finder: &Finder<'_>) -> Vec<Callback> {
    let (program, calls) = (finder.program, finder.calls);
    let is_of_function =
        |(kind, called, _): (CallKind, MethodName, _)| kind == CallKind::Interface && finder.is_function(called.class);
    let telling: Vec<bool> = calls.distinct().map(is_of_function).collect();
    let may_call_back = |method: &MethodId| calls.numbers(*method).iter().any(|call| telling[*call as usize]);
    let methods: Vec<MethodId> = program.methods().collect();
    let callers: Vec<MethodId> = methods.into_par_iter().filter(may_call_back).collect();
    if callers.len() > MAX_CALLERS {
        return Vec::new();
    }
    finder.outlines.make(&callers);
    let found: Vec<Vec<Callback>> = callers.par_iter().map(|method| finder.called_back_by(*method)).collect();
    found.into_iter().flatten().collect()
}

/// The lambdas that a method calls, of callbacks in the order of callers.
pub(super) fn called_by(callbacks: &[Callback], caller: MethodId) -> impl Iterator<Item = MethodId> {
    let start = callbacks.partition_point(|callback| callback.caller < caller);
    callbacks[start..].iter().take_while(move |callback| callback.caller == caller).map(|callback| callback.run.method)
}

impl Finder<'_> {
    /// Whether lambdas may be of this type: one of the library's functions, or an interface of the program.
    fn is_function(&self, class: ClassName) -> bool {
        let name = self.program.names.text(class.0);
        name.starts_with("java/util/function/")
            || matches!(name, "java/lang/Runnable" | "java/util/concurrent/Callable" | "java/util/Comparator")
            || self.program.class(class).is_some_and(|class| {
                let of_class = self.program.methods_of(class);
                self.program.is_checked(class)
                    && of_class.filter(|method| self.program.method(*method).access.is_abstract()).count() == 1
            })
    }

    fn called_back_by(&self, caller: MethodId) -> Vec<Callback> {
        let mut found = Vec::new();
        for event in self.outline(caller).into_iter().flat_map(|outline| &outline.events) {
            let Action::Call { kind: CallKind::Interface, method, arguments } = &event.action else { continue };
            let Some(receiver) = arguments.first().filter(|_| self.is_function(method.class)) else { continue };
            let is_made_here = |object: &Object| match object {
                Object::Event(event) => {
                    let made = self.outline(caller).and_then(|outline| outline.events.get(event.index()));
                    matches!(made.map(|event| &event.action), Some(Action::Lambda { .. }))
                }
                _ => false,
            };
            if receiver.objects.iter().all(is_made_here) {
                continue;
            }
            let runs = self.task(caller, receiver, method.class).runs.into_iter();
            let elsewhere = runs.filter(|run| run.lambda.is_some_and(|made| made.method != caller));
            found.extend(elsewhere.map(|run| Callback { caller, run }));
        }
        found
    }
}
