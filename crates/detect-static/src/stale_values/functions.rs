//! Functions that a method gives to what it calls, and that are run there: what the callee reads, the function may write.

use program::MethodId;
use program::outline::{Action, Object};
use program::summary::{Access, Spot, Summary};

use super::rules::Looking;

impl Looking<'_> {
    /// Whether what a call reads is written by a function that this method gives it, so that nobody but this method has both.
    pub(super) fn is_of_given_function(&self, read: &Access, write: &Access) -> bool {
        let (program, calls, summaries) = (self.whole.program, &self.whole.calls, &self.whole.summaries);
        let Some(outline) = summaries.outline(self.method) else { return false };
        let Action::Call { kind, method, arguments } = &outline.events[read.event.index()].action else { return false };
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
            summary.is_some_and(|summary| has(summary, &read.spot) && has(summary, &write.spot))
        };
        let targets = |(kind, method)| calls.targets(program, kind, method);
        let writes = |callee: &MethodId| summaries.summary(*callee).is_some_and(|summary| has(summary, &write.spot));
        let is_started = calls
            .model(program, *method, method.class)
            .is_some_and(|model| model.starts.is_some() || model.wraps.is_some());
        let mut callees = functions.iter().copied().chain([(*kind, *method)]);
        !is_started
            && functions.iter().any(|function| targets(*function).known().iter().any(writes))
            && !callees.any(|callee| targets(callee).known().iter().any(has_both))
    }
}
