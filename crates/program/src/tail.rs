//! Futures that are kept in a field, where everybody appends his stages to the last one and puts the end of them back, under
//! one lock: `last = last.thenRunAsync(task, pool)`. What the stages do begins when all that was appended before is over, so
//! the field is as good as a lock which all of them hold, one appender after the other.

use crate::class::{FieldId, MethodId};
use crate::cover::Cover;
use crate::held::{HeldLock, Relation, outline_locks};
use crate::lock::{LockKind, Mode};
use crate::model::After;
use crate::outline::{Action, EventId, Member, Name, NameStep, Object, Outline, SectionSet};

/// Longer chains are not followed.
const MAX_STAGES: usize = 32;

/// The stages that one method appends.
struct Appended<'o> {
    /// The object that has the field.
    base: &'o Name,
    member: Member,
    /// The sections that are open from there until the end of the stages is in the field.
    held: SectionSet,
}

impl Cover<'_> {
    /// The field that a stage is appended to, as a lock, and the read of it where the stages begin that come with it.
    pub fn tail(&self, method: MethodId, stage: EventId) -> Option<(HeldLock, EventId)> {
        let outline = self.known_outline(method)?;
        let (head, base, field) = self.head(outline, stage)?;
        let declared = self.program.field(field);
        if declared.access.is_public() || declared.access.is_protected() || declared.access.is_static() {
            return None;
        }
        let own = self.appended(outline, field).find(|(stages, _)| stages.contains(&stage))?.1;
        let locks = self.locks_around(outline, &own);
        let is_right = |one: &Relation| {
            let mut users = self.calls.users(field).iter();
            users.all(|user| self.appends_only(*user, field, one))
        };
        if !locks.iter().any(is_right) {
            return None;
        }
        let Member::Field(name) = own.member else { return None };
        let name = base.then(&[NameStep::Field(name)]);
        Some((HeldLock { name, kind: LockKind::Turn, mode: Mode::Exclusive }, head))
    }

    /// The field that a lambda's stage is appended to, if nothing else is done with the lambda.
    pub(crate) fn tail_of(&self, method: MethodId, outline: &Outline, made: usize) -> Option<HeldLock> {
        let object = Object::Event(EventId(made as u32));
        let mut stage = None;
        for (index, event) in outline.events.iter().enumerate() {
            let has = match &event.action {
                Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                    arguments.iter().any(|argument| argument.objects.contains(&object))
                }
                Action::Write { stored, .. } => stored.objects.contains(&object),
                Action::Read { .. } | Action::Wait(_) => false,
            };
            let is_stage = matches!(event.action, Action::Call { .. });
            if has && (!is_stage || stage.replace(EventId(index as u32)).is_some()) {
                return None;
            }
        }
        stage
            .filter(|_| !outline.returned.contains(&object))
            .and_then(|stage| self.tail(method, stage))
            .map(|tail| tail.0)
    }

    /// Where the stages begin that lead to one: a read of a field.
    fn head<'o>(&self, outline: &'o Outline, stage: EventId) -> Option<(EventId, &'o Name, FieldId)> {
        let head = *self.stages(outline, stage)?.last()?;
        match &outline.events[head.index()].action {
            Action::Read { base, member: Member::Field(field), .. } => {
                Some((head, base, self.program.resolve_field(*field)?))
            }
            _ => None,
        }
    }

    /// A stage, those that it comes after one by one, and what the first of them was appended to.
    fn stages(&self, outline: &Outline, last: EventId) -> Option<Vec<EventId>> {
        let mut stages = vec![last];
        while let Action::Call { method, arguments, .. } = &outline.events[stages.last()?.index()].action {
            let model = self.calls.model(self.program, *method, method.class)?;
            if !matches!(model.after, Some(After::Receiver | After::Both)) || stages.len() > MAX_STAGES {
                return None;
            }
            let [Object::Event(before)] = *arguments.first()?.objects.as_slice() else { return None };
            stages.push(before);
        }
        Some(stages)
    }

    /// What a method puts into a field that it has read there before, with the stages in between.
    fn appended<'o>(&self, outline: &'o Outline, field: FieldId) -> impl Iterator<Item = (Vec<EventId>, Appended<'o>)> {
        outline.events.iter().filter_map(move |event| {
            let Action::Write { base, member: member @ Member::Field(name), stored, .. } = &event.action else {
                return None;
            };
            let [Object::Event(end)] = *stored.objects.as_slice() else { return None };
            let (head, first, read) = self.head(outline, end)?;
            let is_it = self.program.resolve_field(*name) == Some(field) && read == field && first == base;
            let held = outline.events[head.index()].held.intersection(event.held);
            let stages = self.stages(outline, end).filter(|_| is_it)?;
            Some((stages, Appended { base, member: *member, held }))
        })
    }

    /// The locks that are held while stages are appended, by how they are reached from the object that has the field.
    fn locks_around(&self, outline: &Outline, appended: &Appended<'_>) -> Vec<Relation> {
        let held = outline_locks(outline, appended.held);
        let held = held.iter().filter(|held| held.kind != LockKind::Own && held.mode == Mode::Exclusive);
        held.filter_map(|held| Relation::between(appended.base, held)).collect()
    }

    /// Whether all that a method writes to the field are stages appended under such a lock, but for what a constructor
    /// begins with.
    fn appends_only(&self, method: MethodId, field: FieldId, lock: &Relation) -> bool {
        let Some(outline) = self.known_outline(method) else { return false };
        let is_making = self.program.names.text(self.program.method(method).name) == "<init>";
        let is_write = |action: &Action| {
            matches!(action, Action::Write { member: Member::Field(name), .. }
                if self.program.resolve_field(*name) == Some(field))
        };
        let writes = outline.events.iter().filter(|event| is_write(&event.action)).count();
        let is_under =
            |appended: &Appended<'_>| self.locks_around(outline, appended).iter().any(|other| other.is_same_lock(lock));
        is_making || self.appended(outline, field).filter(|(_, appended)| is_under(appended)).count() == writes
    }
}
