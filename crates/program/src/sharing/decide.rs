//! From accesses to an answer.

use super::{Answer, FieldAccess, Part, Sharing, Sharings};
use crate::annotation::Mark;
use crate::class::{ClassId, FieldId};
use crate::thread::{EntryId, EntryKind, Overlap};

/// Which of the threads that share something are named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    First,
    Nearest,
}

impl Sharings<'_> {
    /// Of the field itself, and of the contents of what it holds. Of all the threads that share it those are named that
    /// come first, or that are nearest, which takes longer.
    pub(super) fn decide_field(self, field: FieldId, by: Named) -> Answer {
        let all = self.accesses(field);
        if self.is_compilers_own(field) {
            let part = |part: Part| all.iter().any(|access| access.part == part).then_some(Sharing::CompilersOwn);
            return (Sharing::CompilersOwn, part(Part::Contents), part(Part::Within));
        }
        let of = |part: Part| {
            let some = all.iter().filter(|access| access.part == part && !access.is_initial);
            let some = some.filter(|access| !self.is_at_home(field, access));
            some.copied().collect::<Vec<FieldAccess>>()
        };
        let own = of(Part::Itself);
        let access = self.program.field(field).access;
        let reference = if access.is_final() {
            Sharing::Final
        } else {
            self.decide(field, &own, self.open_writer(field).as_slice(), by)
        };
        let behind = |part: Part| {
            all.iter().any(|access| access.part == part).then(|| {
                // Whoever gets hold of the container by another way is not among those who touch it here.
                let mut strangers = self.processes(&self.leaking(field, &own));
                if let Some(ways) = self.ways(field) {
                    strangers = self.processes(&ways.leaks);
                } else if self.leaks_contents(field) {
                    strangers.extend(self.anyone(&own));
                }
                self.decide(field, &of(part), &strangers, by)
            })
        };
        (reference, behind(Part::Contents), behind(Part::Within))
    }

    /// Whether the source has no such field, and it is not one of those by which captured locals go: the places of an
    /// enum's constants that the compiler of Eclipse keeps for a `switch`, the counts of a coverage tool.
    fn is_compilers_own(self, field: FieldId) -> bool {
        let access = self.program.field(field).access;
        access.is_synthetic() && access.is_static() && !access.is_final()
    }

    /// Code that is not here, if it can write the field.
    fn open_writer(self, field: FieldId) -> Option<EntryId> {
        let is_open = self.program.field(field).access.is_public()
            && self.program.header(self.program.class_of_field(field)).access.is_public();
        let callers = self.threads.entries().iter().position(|entry| entry.kind == EntryKind::Callers);
        callers.filter(|_| is_open && !self.is_called_alone(field)).map(|index| EntryId(index as u32))
    }

    /// Whether a field belongs to objects of which the class says that no two threads may use one.
    fn is_called_alone(self, field: FieldId) -> bool {
        !self.program.field(field).access.is_static()
            && self.program.is_marked(self.program.class_of_field(field), Mark::NotThreadSafe)
    }

    /// Some process that may touch what one of these may touch.
    fn anyone(self, accesses: &[FieldAccess]) -> Option<EntryId> {
        let mut by: Vec<EntryId> = self.processes(accesses);
        by.sort_by_key(|entry| self.threads.entry(*entry).many.is_none());
        by.first().copied()
    }

    pub(super) fn processes(self, accesses: &[FieldAccess]) -> Vec<EntryId> {
        let mut all: Vec<EntryId> = Vec::new();
        for access in accesses {
            for entry in self.threads.of_method(access.at.method) {
                if let Err(at) = all.binary_search(entry) {
                    all.insert(at, *entry);
                }
            }
        }
        all
    }

    fn decide(self, field: FieldId, accesses: &[FieldAccess], strangers: &[EntryId], by: Named) -> Sharing {
        let writes: Vec<FieldAccess> = accesses.iter().copied().filter(|access| access.is_write).collect();
        if writes.is_empty() && strangers.is_empty() {
            return Sharing::EffectivelyImmutable;
        }
        if let Some(mark) = self.program.promise_of(field) {
            return Sharing::Promised(mark);
        }
        let (mut writers, mut all) = (self.processes(&writes), self.processes(accesses));
        let is_called_alone = self.is_called_alone(field);
        if is_called_alone {
            let is_one = |entry: &EntryId| self.threads.is_one_caller(*entry);
            if all.iter().any(is_one) && all.iter().all(is_one) && strangers.iter().all(is_one) {
                return Sharing::Promised(Mark::NotThreadSafe);
            }
            writers.retain(|entry| !is_one(entry));
            all.retain(|entry| !is_one(entry));
        }
        for known in [&mut writers, &mut all] {
            for stranger in strangers.iter().filter(|entry| !is_called_alone || !self.threads.is_one_caller(**entry)) {
                if let Err(at) = known.binary_search(stranger) {
                    known.insert(at, *stranger);
                }
            }
        }
        if all.is_empty() {
            return Sharing::Unreached;
        }
        if let [only] = all.as_slice()
            && self.threads.entry(*only).many.is_none()
        {
            return Sharing::OneThread(*only);
        }
        let class = self.program.class_of_field(field);
        let is_static = self.program.field(field).access.is_static();
        let is_captured = self.program.is_captured(field);
        if !is_static && self.is_confined(class) {
            return Sharing::Confined;
        }
        if strangers.is_empty() {
            if let Some(process) = self.writes_before_start(&writes, &writers, &all) {
                return Sharing::WrittenBeforeStart(process);
            }
            if (!is_static || is_captured)
                && let Some(entry) = self.own_task(accesses)
            {
                return Sharing::OwnTask(entry);
            }
        }
        if by == Named::Nearest {
            for known in [&mut writers, &mut all] {
                known.sort_by_key(|entry| self.distance(field, *entry));
            }
        }
        let overlaps = || {
            let pairs = writers.iter().flat_map(|writer| all.iter().map(move |other| (*writer, *other)));
            pairs.filter(|(writer, other)| self.threads.overlap(*writer, *other))
        };
        let is_unseen = |entry: EntryId| strangers.contains(&entry);
        let is_in_order = |process: EntryId, own: &[FieldAccess], other: EntryId| {
            !is_unseen(process) && !is_unseen(other) && self.are_in_order(process, own, other)
        };
        let conflict = overlaps().find(|(writer, other)| {
            writer == other || !is_in_order(*writer, &writes, *other) && !is_in_order(*other, accesses, *writer)
        });
        let Some((first, second)) = conflict else {
            let is_around = |process: EntryId| {
                overlaps().all(|(writer, other)| match (writer == process, other == process) {
                    (true, _) => is_in_order(process, accesses, other),
                    (_, true) => is_in_order(process, accesses, writer),
                    _ => false,
                })
            };
            let around = all.iter().copied().find(|process| overlaps().next().is_some() && is_around(*process));
            return around.map_or(Sharing::NeverAtOnce, Sharing::TouchedBeforeStart);
        };
        let conflict = Overlap { first, second };
        if !is_static && let Some(holder) = self.owner(class) {
            return Sharing::OwnedBy(holder);
        }
        match writers.as_slice() {
            [only] if self.threads.entry(*only).many.is_none() => Sharing::SingleWriter(*only),
            _ => Sharing::Shared(conflict),
        }
    }

    /// How far a process is from a field, to whoever reads about both: code of the class itself and of those in it comes
    /// first, and what nobody sees last.
    fn distance(self, field: FieldId, entry: EntryId) -> u8 {
        let program = self.program;
        let top = |class: ClassId| program.names.text(program.header(class).name.0).split('$').next();
        let entry = self.threads.entry(entry);
        match (entry.method, entry.kind) {
            (None, _) => 3,
            (Some(method), _) if top(program.class_of(method)) == top(program.class_of_field(field)) => 0,
            (Some(_), EntryKind::Main) => 2,
            (Some(_), _) => 1,
        }
    }

    /// The one process that writes, if each of its writes is ordered with all others that read.
    fn writes_before_start(self, writes: &[FieldAccess], writers: &[EntryId], all: &[EntryId]) -> Option<EntryId> {
        let [process] = writers else { return None };
        if self.threads.entry(*process).many.is_some() {
            return None;
        }
        let is_ordered = writes.iter().all(|write| {
            all.iter()
                .filter(|other| *other != process)
                .all(|other| self.threads.ordered(self.outlines, *process, write.at, *other).is_some())
        });
        is_ordered.then_some(*process)
    }

    /// Whether each of these accesses, where one process makes it, comes before all processes of another entry start or
    /// after they are over.
    fn are_in_order(self, process: EntryId, accesses: &[FieldAccess], other: EntryId) -> bool {
        let mut own = accesses.iter().filter(|access| self.threads.of_method(access.at.method).contains(&process));
        own.all(|access| self.threads.ordered(self.outlines, process, access.at, other).is_some())
    }
}
