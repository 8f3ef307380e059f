//! What a method returns, where its paths return different things that are all one.

use classfile::CallKind;

use super::Root;
use super::compose::Composing;
use crate::class::MethodId;
use crate::outline::{Action, Argument, EventId, Member, Name, NameStep, Object, Origin, Source, Start};

impl Composing<'_, '_> {
    /// The one name of all that the method may return: what a field holds, on one path read from it, on another one
    /// yielded by a method that does the same, or made and put there.
    pub(super) fn one_name(&self) -> Option<Name> {
        let mut one: Option<&Name> = None;
        for object in &self.outline.returned {
            if let Object::Event(event) = object {
                let name = self.result_name[event.index()].as_ref()?;
                if *one.get_or_insert(name) != name {
                    return None;
                }
            }
        }
        let one = one?;
        let is_it = |object: &Object| match object {
            Object::Event(_) => true,
            Object::New { .. } => self.is_put(*object, one),
            Object::Parameter(_) | Object::Int(_) | Object::Unknown => false,
        };
        self.outline.returned.iter().all(is_it).then(|| one.clone())
    }

    /// Whether the method returns what a call tells, and leaves it to its caller to ask. Not so `other = map.putIfAbsent(key,
    /// fresh); return other == null ? fresh : other;`: the caller gets what counts without asking.
    pub(super) fn is_passed_on(&self, id: EventId) -> bool {
        let is_it = |source: &Source| source.origin == Origin::Event(id);
        let is_instead = |object: &Object| match object {
            Object::Event(other) => *other != id,
            Object::New { .. } | Object::Parameter(_) => true,
            Object::Int(_) | Object::Unknown => false,
        };
        let is_returned = self.outline.returned.contains(&Object::Event(id));
        let is_answered = || {
            self.outline.returned.iter().any(is_instead)
                && self.outline.conditions.iter().any(|condition| condition.sources.iter().any(is_it))
        };
        (is_returned || self.outline.result.iter().any(is_it)) && !(is_returned && is_answered())
    }

    /// Whether what an event yields is given to a method that goes by it.
    pub(super) fn is_asked_by_callee(&self, id: EventId) -> bool {
        self.outline.events.iter().any(|event| {
            let Action::Call { kind, method, arguments } = &event.action else { return false };
            let receiver = usize::from(*kind != CallKind::Static);
            let mut given = arguments.iter().enumerate().skip(receiver);
            given.any(|(position, argument)| {
                let asked = Root::Parameter(position as u16);
                let goes_by_it = |target: &MethodId| {
                    (self.known)(*target).is_some_and(|callee| {
                        let control = callee.accesses.iter().flat_map(|access| &access.control);
                        control.chain(&callee.refusals).any(|influence| influence.root == asked)
                    })
                };
                argument.objects.contains(&Object::Event(id))
                    && self.calls.targets(self.program, *kind, *method).known().iter().any(goes_by_it)
            })
        })
    }

    /// How the method calls the one thing that it returns, if it returns anything.
    pub(super) fn found(&self) -> Option<Start> {
        let is_nothing = |event: EventId| match &self.outline.events[event.index()].action {
            Action::Call { method, .. } => {
                self.program.names.text(method.name) == "empty"
                    && self.program.names.text(method.class.0).starts_with("java/util/Optional")
            }
            _ => false,
        };
        let mut found = None;
        for object in &self.outline.returned {
            let event = match *object {
                Object::Event(event) => event,
                Object::New { register, .. } if self.outline.returned.len() == 1 => return Some(Start::New(register)),
                _ => return None,
            };
            if is_nothing(event) {
                continue;
            }
            let carried = self.element_name.get(event.index()).cloned().flatten();
            let name = carried.unwrap_or_else(|| self.settle(&Name::start(Start::Result(event))));
            if !name.steps.is_empty() || found.is_some_and(|found| found != name.start) {
                return None;
            }
            found = Some(name.start);
        }
        found.filter(|start| matches!(start, Start::Result(_) | Start::Element(_)))
    }

    /// Whether something that the method makes is put into the field that a name ends with: by the method itself, or by
    /// code that nobody sees and that gets both the object and its owner.
    fn is_put(&self, made: Object, name: &Name) -> bool {
        let Some((NameStep::Field(field), steps)) = name.steps.split_last() else { return false };
        let is_owner = |owner: &Name| owner.start == name.start && *owner.steps == *steps;
        let is_made = |argument: &Argument| argument.objects.contains(&made);
        self.outline.events.iter().any(|event| match &event.action {
            Action::Write { base, member, stored, .. } => {
                *member == Member::Field(*field) && is_made(stored) && is_owner(&self.settle(base))
            }
            Action::Call { kind, method, arguments } => {
                let is_unseen = || {
                    let targets = self.calls.targets(self.program, *kind, *method);
                    !targets.known().iter().any(|target| crate::library::is_checked_code(self.program, *target))
                        && self.calls.model(self.program, *method, method.class).is_none()
                };
                arguments.iter().skip(1).any(is_made)
                    && arguments.iter().any(|argument| is_owner(&self.settle(&argument.name)))
                    && is_unseen()
            }
            _ => false,
        })
    }
}
