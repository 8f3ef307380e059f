//! Objects that belong to another one: held by one field, made for it, given to nobody.

use program::ir::CallKind;
use program::outline::{Action, Name, NameStep, Outline, SectionSet, Start};
use program::summary::{Holding, Holdings};
use program::{FieldId, HeldLock, MethodId, Step, locks};
use rustc_hash::FxHashSet;

use super::analysis::Witness;
use super::judge::is_own_step;
use super::relation::Relations;
use super::sides::Sides;
use super::state::Holder;

impl Relations<'_> {
    pub(super) fn field_of(&self, step: &NameStep) -> Option<FieldId> {
        match step {
            NameStep::Field(field) => self.analysis.program.resolve_field(*field),
            NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => None,
        }
    }

    /// Of some fields those that hold only what was made for them and hand it to nobody.
    pub(super) fn owning(&self, mut fields: FxHashSet<FieldId>) -> FxHashSet<FieldId> {
        let program = self.analysis.program;
        let holdings = Holdings::of_fields(program, self.analysis.calls, &fields);
        fields.retain(|field| {
            let name = program.field_name(*field);
            let is_array = program.names.text(name.descriptor).starts_with('[') && holdings.is_own(program, name);
            !self.unfollowed.contains(field) && (is_array || holdings.get(program, name) != Holding::default())
        });
        let last = |name: &Name| match (name.steps.last(), name.start) {
            (Some(step), _) => self.field_of(step),
            (None, Start::Static(field)) => program.resolve_field(field),
            _ => None,
        };
        for outline in program.methods().filter_map(|method| self.summaries.outline(method)) {
            let mut out: Vec<FieldId> = outline.returns.iter().filter_map(last).collect();
            for event in &outline.events {
                match &event.action {
                    Action::Call { kind, arguments, .. } => {
                        let skip = usize::from(*kind != CallKind::Static);
                        out.extend(arguments.iter().skip(skip).filter_map(|argument| last(&argument.name)));
                    }
                    Action::Lambda { arguments, .. } => {
                        out.extend(arguments.iter().filter_map(|argument| last(&argument.name)));
                    }
                    Action::Write { stored, .. } => out.extend(last(&stored.name)),
                    Action::Read { .. } | Action::Wait(_) => {}
                }
            }
            for field in out {
                fields.remove(&field);
            }
        }
        fields
    }

    /// Whether the context is one of many locks, by key, around two steps of a container: threads with other keys need the
    /// container's own lock, so that it is no style to take it twice.
    pub(super) fn is_by_key(&self, witness: &Witness) -> bool {
        let Holder::Own(section) = witness.context else { return false };
        let skeleton = self.analysis.skeleton(witness.method);
        let lock = skeleton.map(|skeleton| &skeleton.sections[section.index()].lock);
        let last = lock.and_then(|lock| lock.steps.last());
        is_own_step(self.analysis, witness) && matches!(last, Some(Step::Element(_)))
    }

    /// Whether a lock is one for the object: static, or of the one owner that the object is reached through.
    pub(super) fn is_of_owner(&self, object: &Name, lock: &Name) -> bool {
        let common = object.steps.iter().zip(&lock.steps).take_while(|(a, b)| a == b).count();
        matches!(lock.start, Start::Static(_) | Start::Class(_))
            || object.steps[common..].iter().all(|step| match step {
                // Whether what stands there stands nowhere else is asked along with who else writes it.
                NameStep::Element(_) => true,
                _ => self.field_of(step).is_some_and(|field| self.owning.contains(&field)),
            })
    }

    /// Whether the witness is an object that its owner keeps to itself, and that is only ever touched under a lock of the
    /// owner that is held over both sections.
    pub(super) fn is_kept_by_owner(&self, witness: &Witness, sides: &Sides<'_>) -> bool {
        let lock = &sides.summary.sections[sides.first].lock;
        let Some((owner, field)) = self.owner_of(lock).filter(|(_, field)| self.owning.contains(field)) else {
            return false;
        };
        let inside = |section: usize| sides.summary.sections[section].inside;
        let around = SectionSet(inside(sides.first).0 & inside(sides.second).0);
        let mut held: Vec<HeldLock> = locks(sides.summary, around);
        held.extend(self.cover().held_by_callers(witness.pair.method));
        // Of locks by key there are many.
        let is_one = |held: &&HeldLock| !held.name.steps.iter().any(|step| matches!(step, NameStep::Element(_)));
        held.iter().filter(is_one).any(|held| {
            let is_below = held.name.start == owner.start && held.name.steps.starts_with(&owner.steps);
            is_below && {
                let rest = &held.name.steps[owner.steps.len()..];
                self.analysis.calls.users(field).iter().all(|user| self.uses_under(*user, field, rest, held))
            }
        })
    }

    /// The owner's name, and the field of it that the name goes through last.
    fn owner_of(&self, name: &Name) -> Option<(Name, FieldId)> {
        let field = self.field_of(name.steps.last()?)?;
        let owner = name.owner();
        (!owner.is_unknown()).then_some((owner, field))
    }

    /// Whether a method touches what the field holds only with this lock of the owner held.
    fn uses_under(&self, method: MethodId, field: FieldId, rest: &[NameStep], lock: &HeldLock) -> bool {
        let program = self.analysis.program;
        // An object under construction is known to nobody else.
        let name = program.names.text(program.method(method).name);
        if name == "<init>" || name == "<clinit>" {
            return true;
        }
        let Some(outline) = self.summaries.outline(method) else { return false };
        let by_callers = self.cover().held_by_callers(method);
        let is_held = |object: &Name, sections: SectionSet| {
            let Some((owner, _)) = self.owner_of(object).filter(|(_, own)| *own == field) else { return true };
            let wanted = owner.then(rest);
            let own = open(outline, sections);
            own.chain(by_callers.iter().map(|held| (&held.name, held.kind)))
                .any(|(name, kind)| kind == lock.kind && name.same(&wanted))
        };
        outline.sections.iter().all(|section| is_held(&section.lock, section.inside))
            && outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, arguments, .. } if *kind != CallKind::Static => {
                    arguments.first().is_none_or(|object| is_held(&object.name, event.held))
                }
                _ => true,
            })
    }
}

/// The locks of some sections of an outline.
fn open(outline: &Outline, sections: SectionSet) -> impl Iterator<Item = (&Name, program::LockKind)> {
    let open = outline.sections.iter().enumerate().filter(move |(number, _)| sections.contains(*number));
    open.map(|(_, section)| (&section.lock, section.kind))
}
