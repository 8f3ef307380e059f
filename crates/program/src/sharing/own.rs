//! Tasks that keep to themselves: each process has an object of its own and touches its fields through `this` alone.

use rustc_hash::FxHashSet;

use super::{FieldAccess, Part, Sharings};
use crate::class::{FieldId, MethodId};
use crate::outline::{Action, Name, Object, Start};
use crate::thread::{EntryId, EntryKind};

impl Sharings<'_> {
    /// The entry whose processes each touch a field of their own object, if that is all; accesses of the process that
    /// starts them count only where they are ordered.
    pub(super) fn own_task(self, field: FieldId, accesses: &[FieldAccess]) -> Option<EntryId> {
        let class = self.program.class_of_field(field);
        let entry = self.threads.entries().iter().position(|entry| {
            let Some(run) = entry.method else { return false };
            let runs_on = self.program.class_of(run);
            let is_static = self.program.method(run).access.is_static();
            let name = |class| self.program.header(class).name;
            !is_static
                && entry.kind != EntryKind::Main
                && (runs_on == class || self.program.is_subtype(name(runs_on), name(class)))
                && accesses.iter().any(|access| {
                    self.threads
                        .of_method(access.at.method)
                        .iter()
                        .any(|by| self.threads.entry(*by).method == Some(run))
                })
        })?;
        let id = EntryId(entry as u32);
        let run = self.threads.entry(id).method?;
        if !self.has_own_objects(id) {
            return None;
        }
        let is_own = |access: &FieldAccess| {
            self.is_through_this(access) && self.is_own_method(access.at.method, run, &mut FxHashSet::default())
        };
        let is_ordered = |access: &FieldAccess| {
            let by = self.threads.of_method(access.at.method);
            by.iter().all(|process| self.threads.ordered(self.outlines, *process, access.at, id).is_some())
        };
        accesses.iter().all(|access| is_own(access) || is_ordered(access)).then_some(id)
    }

    /// Whether each process touches the field of its own object alone, or in order with the others.
    pub fn is_of_task(self, field: FieldId) -> bool {
        let accesses = self.accesses(field).iter().filter(|access| !access.is_initial && access.part == Part::Itself);
        self.own_task(field, &accesses.copied().collect::<Vec<_>>()).is_some()
    }

    /// Whether each process of an entry writes the field, or what it holds, of its own object alone, and nobody else
    /// writes it at the same time: others may look. Its own looks are at its own object, too.
    pub fn is_written_by_own_task(self, field: FieldId, part: Part, process: EntryId) -> bool {
        let is_asked = |access: &&FieldAccess| {
            access.part == part
                && !access.is_initial
                && (access.is_write || self.threads.of_method(access.at.method).contains(&process))
        };
        let accesses: Vec<FieldAccess> = self.accesses(field).iter().filter(is_asked).copied().collect();
        self.own_task(field, &accesses) == Some(process)
    }

    /// Whether no two processes of an entry run on one object.
    fn has_own_objects(self, id: EntryId) -> bool {
        let entry = self.threads.entry(id);
        if entry.many.is_none() {
            return true;
        }
        let mut seen = FxHashSet::default();
        entry.objects.len() >= entry.sites.len()
            && entry.objects.iter().all(|object| {
                let Some((method, register)) = *object else { return false };
                let in_loop = |wanted: &dyn Fn(&Action) -> bool| {
                    let events = self.outlines.get(method).into_iter().flat_map(|outline| &outline.events);
                    events.into_iter().any(|event| event.in_loop && wanted(&event.action))
                };
                let is_made_in_loop = in_loop(&|action| {
                    matches!(action, Action::Call { method, arguments, .. }
                        if self.program.names.text(method.name) == "<init>"
                            && arguments.first().is_some_and(|first| first.objects.iter().any(
                                |object| matches!(object, Object::New { register: made, .. } if *made == register))))
                });
                let is_started_in_loop = entry.sites.iter().any(|site| {
                    site.at.method == method
                        && self
                            .outlines
                            .get(method)
                            .and_then(|outline| outline.events.get(site.at.event.index()))
                            .is_some_and(|event| event.in_loop)
                });
                // A task that is made once and started in a loop over others is one of several there.
                let is_each_once = !is_started_in_loop || is_made_in_loop || entry.objects.len() > entry.sites.len();
                seen.insert((method, register)) && is_each_once
            })
    }

    fn is_through_this(self, access: &FieldAccess) -> bool {
        let Some(outline) = self.outlines.get(access.at.method) else { return false };
        // What a field of the task's field holds is another object's.
        let is_own =
            |name: &Name| name.start == Start::Parameter(0) && (access.part != Part::Itself || name.steps.is_empty());
        match outline.events.get(access.at.event.index()).map(|event| &event.action) {
            Some(Action::Read { base, .. } | Action::Write { base, .. }) => is_own(base),
            Some(Action::Call { arguments, .. }) => arguments.first().is_some_and(|first| is_own(&first.name)),
            _ => false,
        }
    }

    /// Whether a method only ever runs on the object of the task that runs it.
    fn is_own_method(self, method: MethodId, run: MethodId, seen: &mut FxHashSet<MethodId>) -> bool {
        if method == run || !seen.insert(method) {
            return true;
        }
        if self.program.method(method).access.is_static() {
            return false;
        }
        let name = self.program.method_name(method);
        let callers = self.calls.callers(method);
        !callers.is_empty()
            && callers.iter().all(|caller| {
                let Some(outline) = self.outlines.get(*caller) else { return false };
                let on_this = outline.events.iter().all(|event| match &event.action {
                    Action::Call { method: called, arguments, .. }
                        if called.name == name.name && called.descriptor == name.descriptor =>
                    {
                        arguments.first().is_some_and(|first| first.objects.as_slice() == [Object::Parameter(0)])
                    }
                    _ => true,
                });
                on_this && self.is_own_method(*caller, run, seen)
            })
    }
}
