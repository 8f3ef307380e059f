//! Where values of a method come from, by way of what it calls.

use program::outline::{Action, EventId, Origin, Outline, Sources};

/// Whether a value may come from an event, by way of calls that were given it.
pub(crate) fn comes_by_calls(outline: &Outline, sources: &Sources, wanted: EventId) -> bool {
    let mut seen: Vec<EventId> = Vec::new();
    let mut pending: Vec<&Sources> = vec![sources];
    while let Some(sources) = pending.pop() {
        for source in sources {
            let Origin::Event(event) = source.origin else { continue };
            if event == wanted {
                return true;
            }
            if seen.contains(&event) {
                continue;
            }
            seen.push(event);
            if let Action::Call { arguments, .. } = &outline.events[event.index()].action {
                pending.extend(arguments.iter().map(|argument| &argument.sources));
            }
        }
    }
    false
}
