//! Where a latch, or what is used like one, is made.

use crate::class::MethodId;
use crate::outline::{Action, Argument, Event, Member, Object, Outline};
use crate::sharing::Part;
use crate::whole::Whole;

/// The method and instruction that make it.
pub(super) type Latch = (MethodId, u32);

impl Whole<'_> {
    /// Where an object is made, if that is one place.
    pub(super) fn made_at(
        &self,
        method: MethodId,
        outline: &Outline,
        argument: &Argument,
        depth: usize,
    ) -> Option<Latch> {
        let [object] = argument.objects.as_slice() else { return None };
        match *object {
            Object::New { register, .. } => Some((method, register)),
            Object::Event(event) if depth > 0 => match &outline.events[event.index()].action {
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    let field = self.program.resolve_field(*field)?;
                    let writes = self.sharings().accesses(field).iter().filter(|access| access.is_write);
                    one(writes.filter(|access| access.part == Part::Itself).map(|access| {
                        let outline = self.outlines().get(access.at.method)?;
                        match &outline.events[access.at.event.index()].action {
                            Action::Write { stored, .. } => self.made_at(access.at.method, outline, stored, depth - 1),
                            _ => None,
                        }
                    }))
                }
                _ => None,
            },
            Object::Parameter(position) if depth > 0 => {
                let given = self.calls.callers(method).iter().flat_map(|caller| {
                    let outline = self.outlines().get(*caller);
                    let events = outline.into_iter().flat_map(|outline| &outline.events);
                    let argument = move |event: &Event| match &event.action {
                        Action::Call { kind, method: called, arguments } => {
                            let targets = self.calls.targets(self.program, *kind, *called);
                            let is_it = targets.known().contains(&method);
                            is_it.then(|| arguments.get(usize::from(position)).cloned())
                        }
                        Action::Lambda { method: made, arguments, .. } => {
                            let targets = self.calls.lambda_targets(self.program, *made);
                            let is_it = targets.known().contains(&method);
                            is_it.then(|| arguments.get(usize::from(position)).cloned())
                        }
                        _ => None,
                    };
                    events.filter_map(argument).map(move |argument| (*caller, outline, argument))
                });
                one(given.map(|(caller, outline, argument)| self.made_at(caller, outline?, &argument?, depth - 1)))
            }
            _ => None,
        }
    }
}

/// What all agree on.
fn one(mut all: impl Iterator<Item = Option<Latch>>) -> Option<Latch> {
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}
