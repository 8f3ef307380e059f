//! Objects that have no name of their own, because they stand in a container that has one: `counters.get(key)`.

use classfile::split_method;
use location::MethodName;

use super::compose::Composing;
use crate::model::{CallModel, Returns, State, Target};
use crate::outline::{Action, Argument, Event, EventId, Key, KeyStart, Name, NameStep, Object, Origin, Sources, Start};
use crate::variable::holder;

impl Composing<'_, '_> {
    /// The container that has the object which a name starts with.
    pub(super) fn within(&self, name: &Name) -> Option<Box<Name>> {
        match name.start {
            Start::Result(event) => self.within.get(event.index()).cloned().flatten(),
            Start::Element(stream) => self.gone_over.get(stream.index()).cloned().flatten(),
            _ => None,
        }
    }

    /// Whether a name stands for each element of something in turn: what an iterator yields, or a stream has at hand, or
    /// what stands at a position that a loop counts.
    pub(super) fn is_each(&self, name: &Name, event: &Event) -> bool {
        let is_counted = |step: &NameStep| matches!(step, NameStep::Element(Key { start: KeyStart::Local(_), .. }));
        match name.start {
            Start::Element(_) => true,
            Start::Result(call) => match &self.outline.events[call.index()].action {
                Action::Call { method, .. } => {
                    ["next", "nextElement"].contains(&self.program.names.text(method.name))
                        && self.outline.events[call.index()].in_loop
                }
                _ => false,
            },
            _ => event.in_loop && name.steps.iter().any(is_counted),
        }
    }

    pub(super) fn within_given(&self, argument: Option<&Argument>) -> Option<Box<Name>> {
        let argument = argument?;
        self.within(&self.settle(&argument.name)).or_else(|| self.within_one(&argument.objects))
    }

    /// The one container, if each of the objects is an element of it, or made here to become one.
    pub(super) fn within_one(&self, objects: &[Object]) -> Option<Box<Name>> {
        let mut one: Option<&Name> = None;
        for object in objects {
            match object {
                Object::New { .. } => {}
                Object::Event(event) => {
                    let container = self.within.get(event.index())?.as_deref()?;
                    if one.is_some_and(|one| one != container) {
                        return None;
                    }
                    one = Some(container);
                }
                _ => return None,
            }
        }
        one.cloned().map(Box::new)
    }

    /// What a call of the library yields: an element of its receiver, if that is an object and stays there.
    pub(super) fn within_result(
        &self,
        model: CallModel,
        method: MethodName,
        object: Option<&Name>,
        arguments: &[Argument],
    ) -> Option<Box<Name>> {
        let is_element = matches!(model.target, Target::Receiver | Target::Viewed)
            && matches!(model.state, State::Contents | State::Value)
            && model.returns == Returns::FromState;
        let (_, yields) = split_method(self.program.names.text(method.descriptor))?;
        if !is_element || !yields.starts_with(['L', '[']) {
            return None;
        }
        let object = object?;
        match holder(object) {
            // Elements of a local are told apart as they were before somebody captured it.
            Some(field) if !self.holdings.is_local(field) => Some(Box::new(object.clone())),
            _ => self.within(object).or_else(|| self.within_given(arguments.first())),
        }
    }
}

/// Whether an event looks at one object after the other, each found by the look at the one before: `step = step.next()`.
pub(super) fn is_next(object: &Name, sources: &Sources, id: EventId, event: &Event) -> bool {
    event.in_loop
        && matches!(object.start, Start::Local(_) | Start::Unknown)
        && sources.iter().any(|source| source.origin == Origin::Event(id))
}
