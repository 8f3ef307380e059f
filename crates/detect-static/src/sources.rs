//! Where values of a method come from, by way of what it calls, and what it returns where.

use program::Program;
use program::ir::{Body, Constant, Op};
use program::outline::{Action, EventId, Member, Origin, Outline, Sources};

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

/// By block that returns, or leads to one that does: the number that is returned then, if it is always the same.
pub(crate) fn returned(body: &Body) -> Vec<(usize, Option<i32>)> {
    let mut returned: Vec<(usize, Option<i32>)> = Vec::new();
    let constant = |value| match *body.op(value) {
        Op::Constant(Constant::Int(number)) => Some(number),
        _ => None,
    };
    for (value, instruction) in body.instructions() {
        let Op::Return(result) = instruction.op else { continue };
        let block = body.block_of(value);
        match result.map(|result| (result, *body.op(result))) {
            Some((result, Op::Phi(operands))) if body.block_of(result) == block => {
                let before = body.block(block).predecessors.iter().map(|before| before.block.index());
                returned.extend(before.zip(body.operands(operands).iter().map(|one| constant(*one))));
            }
            Some((result, _)) => returned.push((block.index(), constant(result))),
            None => returned.push((block.index(), None)),
        }
    }
    returned
}

/// Whether an event happens only if assertions are on.
pub(crate) fn is_asserted(program: &Program, outline: &Outline, event: EventId) -> bool {
    let is_switch = |origin: Origin| match origin {
        Origin::Event(event) => matches!(&outline.events[event.index()].action,
            Action::Read { member: Member::Static(field), .. } if program.names.text(field.name) == "$assertionsDisabled"),
        Origin::Parameter(_) => false,
    };
    outline.events[event.index()].control.iter().any(|condition| {
        let sources = &outline.conditions[*condition as usize].sources;
        !sources.is_empty() && sources.iter().all(|source| is_switch(source.origin))
    })
}
