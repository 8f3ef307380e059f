//! Whether an object that a method touches is another one than the one that a lock is to cover: what a field alone has, and
//! lets nobody have, is nowhere else.

use classfile::CallKind;
use location::FieldName;
use smallvec::SmallVec;

use crate::class::MethodId;
use crate::cover::Cover;
use crate::held::Relation;
use crate::outline::{Action, Argument, EventId, Member, Name, NameStep, Object, Outline, Start};
use crate::outlines::Outlines;
use crate::release::Release;

/// The steps of a name, of which that from a static field is the first, and where they start if that is no static field.
fn steps(name: &Name) -> (Option<Start>, SmallVec<[NameStep; 4]>) {
    match name.start {
        Start::Static(field) => {
            (None, std::iter::once(NameStep::Field(field)).chain(name.steps.iter().copied()).collect())
        }
        start => (Some(start), name.steps.iter().copied().collect()),
    }
}

impl Cover<'_> {
    /// Whether an object is not one that the relation speaks of: what a field owns is in no other field, and what a method
    /// makes is in none that it does not put it into.
    pub(crate) fn is_another(&self, method: MethodId, object: &Name, relation: &Relation) -> bool {
        let (start, own) = steps(object);
        let (_, wanted) = steps(&relation.covered);
        for (back, wanted) in wanted.iter().rev().enumerate() {
            let own = own.len().checked_sub(back + 1).map(|at| own[at]);
            match (own, *wanted) {
                (Some(own), wanted) if self.is_same_step(own, wanted) => {}
                (Some(NameStep::Field(own)), NameStep::Field(wanted)) => {
                    let holdings = &self.summaries.holdings;
                    return holdings.is_own(self.program, wanted)
                        && (holdings.is_own(self.program, own) || self.keeps_to_itself(wanted));
                }
                (Some(_), NameStep::Field(wanted)) => return self.is_home(wanted),
                (None, NameStep::Field(wanted)) => {
                    return start.is_some_and(|start| self.is_from_elsewhere(method, start, wanted));
                }
                _ => return false,
            }
        }
        false
    }

    /// The same of what a caller gives, which may be one of several objects.
    pub(crate) fn are_others(
        &self,
        caller: MethodId,
        given: &Argument,
        steps: &[NameStep],
        relation: &Relation,
    ) -> bool {
        let name_of = |object: &Object| match *object {
            Object::New { register, .. } => Some(Name::start(Start::New(register))),
            Object::Event(event) => match &self.known_outline(caller)?.events[event.index()].action {
                Action::Read { base, member: Member::Field(field), .. } => Some(base.then(&[NameStep::Field(*field)])),
                Action::Read { member: Member::Static(field), .. } => Some(Name::start(Start::Static(*field))),
                Action::Call { .. } => Some(Name::start(Start::Result(event))),
                _ => None,
            },
            Object::Parameter(_) | Object::Int(_) | Object::Unknown => None,
        };
        let is_other =
            |object: &Object| name_of(object).is_some_and(|name| self.is_another(caller, &name.then(steps), relation));
        given.objects.len() > 1 && given.objects.iter().all(is_other)
    }

    fn is_same_step(&self, one: NameStep, other: NameStep) -> bool {
        match (one, other) {
            (NameStep::Field(one), NameStep::Field(other)) => {
                self.program.resolve_field(one) == self.program.resolve_field(other)
            }
            (NameStep::Field(_), _) | (_, NameStep::Field(_)) => false,
            _ => true,
        }
    }

    /// Whether what a name starts with is not in a field: a new object that is not put there, or what comes from somewhere,
    /// if the field lets nothing out.
    fn is_from_elsewhere(&self, method: MethodId, start: Start, field: FieldName) -> bool {
        match start {
            Start::New(register) => {
                self.summaries.holdings.is_own(self.program, field) && !self.puts(method, register, field)
            }
            Start::Element(_) => self.is_home(field),
            Start::Result(call) => !self.may_give_back(method, call) && self.is_home(field),
            Start::Parameter(_) | Start::Static(_) | Start::Class(_) | Start::Local(_) | Start::Unknown => false,
        }
    }

    /// Whether a call may return an object that it is given. A library returns what it has, unless it is a static method.
    fn may_give_back(&self, method: MethodId, call: EventId) -> bool {
        let outlines = Outlines::new(self.program, &self.summaries.outlines);
        let event = outlines.get(method).and_then(|outline| outline.events.get(call.index()));
        let Some(Action::Call { kind, method: called, .. }) = event.map(|event| &event.action) else { return true };
        let gives_back = |outline: &Outline| outline.returned.iter().any(|one| matches!(one, Object::Parameter(_)));
        let targets = self.calls.targets(self.program, *kind, *called);
        *kind == CallKind::Static && targets.known().is_empty()
            || targets.known().iter().any(|target| outlines.get(*target).is_some_and(gives_back))
    }

    /// Whether a field alone has what it has.
    fn is_home(&self, field: FieldName) -> bool {
        self.summaries.holdings.is_own(self.program, field) && self.keeps_to_itself(field)
    }

    /// Whether nobody gets what a field holds from those who touch the field.
    fn keeps_to_itself(&self, field: FieldName) -> bool {
        let release = Release { program: self.program, calls: self.calls, summaries: self.summaries };
        self.program.resolve_field(field).is_some_and(|field| !release.is_let_out_of(field))
    }

    /// Whether a method stores an object that it makes to a field.
    fn puts(&self, method: MethodId, register: u32, field: FieldName) -> bool {
        let Some(outline) = self.known_outline(method) else { return true };
        let is_it = |object: &Object| matches!(object, Object::New { register: made, .. } if *made == register);
        let is_there = |member: &Member| match member {
            Member::Field(own) | Member::Static(own) => {
                self.program.resolve_field(*own) == self.program.resolve_field(field)
            }
            Member::Elements | Member::State(_) => false,
        };
        outline.events.iter().any(|event| match &event.action {
            Action::Write { member, stored, .. } => is_there(member) && stored.objects.iter().any(is_it),
            _ => false,
        })
    }
}
