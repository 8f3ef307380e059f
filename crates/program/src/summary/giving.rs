//! Whether what methods are given, and what they store, may be with others, too.

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Object, Outline};

/// What methods are given.
pub(super) struct Giving<'g, F> {
    pub(super) program: &'g Program,
    pub(super) calls: &'g Calls,
    pub(super) of_caller: F,
}

impl<'o, F: Fn(MethodId) -> Option<&'o Outline>> Giving<'_, F> {
    /// Whether a method that nobody else can call is given something by all its callers that nobody else has:
    /// `use(new Table())`.
    pub(super) fn is_given_new(&self, method: MethodId, position: u16) -> bool {
        let (program, calls) = (self.program, self.calls);
        let declared = program.method(method);
        let is_open = (declared.access.is_public() || declared.access.is_protected())
            && program.header(program.class_of(method)).access.is_public();
        let callers = calls.callers(method);
        if is_open || callers.is_empty() || program.names.text(declared.name) == "<init>" {
            return false;
        }
        callers.iter().all(|caller| {
            let Some(outline) = (self.of_caller)(*caller) else { return false };
            outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, method: called, arguments }
                    if calls.targets(program, *kind, *called).known().contains(&method) =>
                {
                    arguments.get(usize::from(position)).is_some_and(|given| {
                        !given.objects.is_empty()
                            && !given.objects.iter().any(|object| self.is_foreign(outline, object))
                    })
                }
                Action::Lambda { method: made, .. } => !calls.lambda_targets(program, *made).known().contains(&method),
                _ => true,
            })
        })
    }

    /// Whether an object comes from somewhere where others may have it: it was read, here or by a getter.
    pub(super) fn is_foreign(&self, outline: &Outline, object: &Object) -> bool {
        let is_read = |outline: &Outline, object: &Object| match *object {
            Object::Event(event) => matches!(outline.events[event.index()].action, Action::Read { .. }),
            _ => false,
        };
        match *object {
            Object::New { .. } | Object::Int(_) => false,
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { kind, method, .. } => {
                    let targets = self.calls.targets(self.program, *kind, *method);
                    let mut got = targets.known().iter().filter_map(|target| (self.of_caller)(*target));
                    got.any(|got| got.returned.iter().any(|object| is_read(got, object)))
                }
                action => matches!(action, Action::Read { .. }),
            },
            Object::Parameter(_) | Object::Unknown => true,
        }
    }
}
