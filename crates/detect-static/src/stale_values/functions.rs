//! Functions that a method gives to what it calls, and that are run there: what the callee reads, the function may write.

use program::MethodId;
use program::outline::{Action, Event, Object, Origin, Source};
use program::summary::Access;

use super::rules::{Looking, Stale};
use super::validated::is_made_of;

impl Looking<'_> {
    /// `if (stock.get(key) > 0) stock.computeIfPresent(key, (any, n) -> n - 1);`: the function goes on from what is there,
    /// and never asks how much that is. That there is something at all the container asks for it.
    pub(super) fn is_updated_blindly(&self, stale: &Stale, write: &Access) -> bool {
        let (program, calls, summaries) = (self.whole.program, &self.whole.calls, &self.whole.summaries);
        let Some(outline) = summaries.outline(self.method) else { return false };
        let read = self.access(stale.read).event.index();
        let is_it = |source: &Source| match source.origin {
            Origin::Event(from) => from.index() == read || is_made_of(outline, from, read, &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let is_by_value = outline.events[write.event.index()].control.iter().any(|condition| {
            let condition = &outline.conditions[*condition as usize];
            condition.absent.is_none() && condition.sources.iter().any(is_it)
        });
        if !is_by_value || self.asks_presence(self.access(stale.read)) {
            return false;
        }
        let at = calls.hierarchy.resolve_name(program, write.spot.method);
        let Some(outline) = at.and_then(|method| summaries.outline(method)) else { return false };
        let event = outline.events.iter().find(|event| event.pc == write.spot.pc);
        let Some(Action::Call { arguments, .. }) = event.map(|event| &event.action) else { return false };
        let is_box = |event: &Event| match &event.action {
            Action::Call { method, .. } => {
                let name = program.names.text(method.name);
                name == "valueOf" || name.ends_with("Value")
            }
            _ => false,
        };
        let is_blind = |method: &MethodId| {
            let outline = self.whole.outlines().get(*method);
            outline.is_some_and(|outline| outline.conditions.is_empty() && outline.events.iter().all(is_box))
        };
        arguments.iter().flat_map(|argument| &argument.objects).any(|object| {
            let Object::Event(made) = object else { return false };
            let Action::Lambda { kind, method, .. } = &outline.events[made.index()].action else { return false };
            let targets = calls.targets(program, *kind, *method);
            !targets.known().is_empty() && targets.known().iter().all(is_blind)
        })
    }
}
