//! Who touches which field, and the contents of what it holds.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::FieldAccess;
use crate::class::{FieldId, MethodId, Program};
use crate::outline::{Action, Argument, EventId, Member, Object, Objects, Outline};
use crate::thread::{At, Threads, fields_read, held_by};

#[derive(Default)]
pub(super) struct Accesses {
    fields: FxHashMap<FieldId, Vec<FieldAccess>>,
    /// Fields whose container is also reached by another way than the field.
    leaks: FxHashSet<FieldId>,
}

impl Accesses {
    pub(super) fn of(program: &Program, outlines: &[Option<Outline>], threads: &Threads) -> Accesses {
        let found: Vec<Finding<'_>> = outlines
            .par_iter()
            .enumerate()
            .filter_map(|(method, outline)| Some((MethodId(method as u32), outline.as_ref()?)))
            .map(|(method, outline)| {
                let mut finding = Finding { threads, method, outline, found: Vec::new(), leaks: Vec::new() };
                finding.all(program);
                finding
            })
            .collect();
        let mut accesses = Accesses::default();
        for finding in found {
            for (field, access) in finding.found {
                accesses.fields.entry(field).or_default().push(access);
            }
            accesses.leaks.extend(finding.leaks);
        }
        accesses
    }

    /// In order.
    pub(super) fn fields(&self) -> Vec<FieldId> {
        let mut fields: Vec<FieldId> = self.fields.keys().copied().collect();
        fields.sort_unstable();
        fields
    }

    pub(super) fn of_field(&self, field: FieldId) -> &[FieldAccess] {
        self.fields.get(&field).map_or(&[], Vec::as_slice)
    }

    pub(super) fn leaks(&self, field: FieldId) -> bool {
        self.leaks.contains(&field)
    }

    #[allow(clippy::iter_over_hash_type, reason = "each access is marked on its own")]
    pub(super) fn mark_initial(&mut self, is_initial: impl Fn(FieldId, &FieldAccess) -> bool + Sync) {
        for (field, accesses) in &mut self.fields {
            for access in accesses {
                access.is_initial = is_initial(*field, access);
            }
        }
    }
}

struct Finding<'f> {
    threads: &'f Threads,
    method: MethodId,
    outline: &'f Outline,
    found: Vec<(FieldId, FieldAccess)>,
    leaks: Vec<FieldId>,
}

impl Finding<'_> {
    fn all(&mut self, program: &Program) {
        let library = &self.threads.library;
        for (index, event) in self.outline.events.iter().enumerate() {
            let at = At { method: self.method, event: EventId(index as u32) };
            let access = |is_write, of_contents| FieldAccess { at, is_write, of_contents, is_initial: false };
            match &event.action {
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    self.found.extend(library.field(*field).map(|field| (field, access(false, false))));
                }
                Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } => {
                    self.found.extend(library.field(*field).map(|field| (field, access(true, false))));
                    self.leak(&stored.objects);
                }
                Action::Read { base, .. } => {
                    self.found.extend(held_by(library, base).map(|field| (field, access(false, true))));
                }
                Action::Write { base, stored, .. } => {
                    self.found.extend(held_by(library, base).map(|field| (field, access(true, true))));
                    self.leak(&stored.objects);
                }
                Action::Call { method, arguments, .. } => match library.model(*method) {
                    Some(model) => {
                        let Some((receiver, rest)) = arguments.split_first() else { continue };
                        let touches = model.access.reads() || model.access.writes();
                        for field in fields_read(library, self.outline, &receiver.objects) {
                            if touches {
                                self.found.push((field, access(model.access.writes(), true)));
                            }
                        }
                        let puts = model.access.writes() || program.names.text(method.name) == "<init>";
                        rest.iter().filter(|_| puts).for_each(|argument| self.leak(&argument.objects));
                    }
                    None => self.leak_all(arguments),
                },
                Action::Lambda { arguments, .. } => self.leak_all(arguments),
                Action::Wait(_) => {}
            }
        }
        self.leak(&self.outline.returned);
    }

    fn leak_all(&mut self, arguments: &[Argument]) {
        arguments.iter().for_each(|argument| self.leak(&argument.objects));
    }

    /// What was read from a field goes elsewhere.
    fn leak(&mut self, objects: &Objects) {
        if objects.iter().any(|object| matches!(object, Object::Event(_))) {
            self.leaks.extend(fields_read(&self.threads.library, self.outline, objects));
        }
    }
}
