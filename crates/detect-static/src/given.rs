//! Functions that a method gives to what it calls, and that are run there: what one call does is then partly its own doing.

use program::outline::{Action, Object};
use program::summary::{Access, Spot, Summary};
use program::{MethodId, Whole};

/// Whether a call that makes both accesses makes the second one in a function that the method gives it, so that nobody but
/// this method has both.
pub(crate) fn is_of_given_function(whole: &Whole<'_>, method: MethodId, first: &Access, second: &Access) -> bool {
    let (program, calls, summaries) = (whole.program, &whole.calls, &whole.summaries);
    let Some(outline) = summaries.outline(method) else { return false };
    let Action::Call { kind, method, arguments } = &outline.events[first.event.index()].action else { return false };
    let is_made = |object: &Object| match object {
        Object::Event(made) => match &outline.events[made.index()].action {
            Action::Lambda { kind, method, .. } => Some((*kind, *method)),
            _ => None,
        },
        _ => None,
    };
    let functions: Vec<_> = arguments.iter().flat_map(|argument| &argument.objects).filter_map(is_made).collect();
    let has = |summary: &Summary, spot: &Spot| summary.accesses.iter().any(|access| access.spot == *spot);
    let has_both = |callee: &MethodId| {
        let summary = summaries.summary(*callee);
        summary.is_some_and(|summary| has(summary, &first.spot) && has(summary, &second.spot))
    };
    let targets = |(kind, method)| calls.targets(program, kind, method);
    let has_second = |callee: &MethodId| summaries.summary(*callee).is_some_and(|summary| has(summary, &second.spot));
    let is_started = calls
        .model(program, *method, method.class)
        .is_some_and(|model| model.starts.is_some() || model.wraps.is_some());
    let mut callees = functions.iter().copied().chain([(*kind, *method)]);
    !is_started
        && functions.iter().any(|function| targets(*function).known().iter().any(has_second))
        && !callees.any(|callee| targets(callee).known().iter().any(has_both))
}
