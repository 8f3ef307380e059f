//! From findings to questions: which accesses a run must show for each.
//!
//! A finding names the two sections of a method. The suspicion has the accesses in them, wherever their code is, to the
//! variables that the finding is about; and of a value that goes from one section to the next also the other places
//! that read and use it so: the run may take another branch than the one that is told.

use std::collections::BTreeSet;

use finding::{Detour, Evidence, Finding, SectionPair, Suspicion, rules};
use location::{MethodPlace, Place, Site};
use program::outline::{Action, EventId, Member, Origin};
use program::summary::{Access, AccessId, Root, Spot, Summary};
use program::{MethodId, Variable, Whole};

use crate::detour::{self, Asked};

/// The question that a finding puts to a run; `None` if nobody knows where its accesses are.
pub(crate) fn of(whole: &Whole<'_>, finding: &Finding, is_told: bool) -> Option<Asked> {
    let sections = finding.sections.as_ref()?;
    let method = method(whole, &finding.method)?;
    let summary = whole.summaries.summary(method)?;
    let asking = Asking { whole, method, summary, variables: &finding.variables };
    let (mut first, mut second) = asking.in_sections(sections);
    if finding.rule == &rules::STALE_VALUE || finding.rule == &rules::CHECK_THEN_ACT {
        // What was read, and what is written because of it: all else in the sections is beside the point.
        asking.keep(&mut first, |access| !access.is_write);
        asking.keep(&mut second, |access| access.is_write);
    }
    if second.is_empty() {
        second = asking.written_late(&first);
    }
    asking.follow_values(&mut first, &mut second);
    asking.follow_views(&mut first);
    let places = |accesses: &BTreeSet<AccessId>| -> Vec<Place> {
        accesses.iter().map(|access| asking.place(&asking.access(*access).spot)).collect()
    };
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let variable = |access: &AccessId| Variable::of(whole.program, asking.access(*access));
    let suspicion = Suspicion {
        finding: finding.clone(),
        first: places(&first),
        second: places(&second),
        is_told,
        // Where the code says that others are kept out, by means that no event may show, only the deed counts.
        least: if is_told { Evidence::Predicted } else { Evidence::Observed },
        is_one_variable: asking.is_one_variable(&first, &second),
        is_split: first.iter().chain(&second).any(|access| asking.is_in_task(asking.access(*access))),
        detour: Detour::default(),
    };
    Some(Asked {
        suspicion,
        method,
        first: first.iter().filter_map(variable).collect(),
        is_write: first.iter().all(|access| asking.access(*access).is_write),
        object: detour::object(whole, first.iter().map(|access| asking.access(*access))),
    })
}

fn method(whole: &Whole<'_>, place: &MethodPlace) -> Option<MethodId> {
    let names = &whole.program.names;
    whole.program.declared_method(names.method(&place.class.replace('.', "/"), &place.name, &place.descriptor))
}

struct Asking<'a> {
    whole: &'a Whole<'a>,
    method: MethodId,
    summary: &'a Summary,
    variables: &'a BTreeSet<String>,
}

impl Asking<'_> {
    fn access(&self, access: AccessId) -> &Access {
        &self.summary.accesses[access.index()]
    }

    /// The accesses of the two sections, to the variables in question if there are such.
    fn in_sections(&self, sections: &SectionPair) -> (BTreeSet<AccessId>, BTreeSet<AccessId>) {
        let within = |place: &Place| {
            let with = |is_it: &dyn Fn(&Access) -> bool| -> BTreeSet<AccessId> {
                self.accesses().filter(|(_, access)| is_it(access)).map(|(id, _)| id).collect()
            };
            let mut all = with(&|access| access.held.iter().any(|section| self.begins_at(section, place)));
            if all.is_empty() {
                // An object of which nobody knows whether it locks for itself.
                all = with(&|access| self.pc(access.event) == Some(place.pc));
            }
            let asked: BTreeSet<AccessId> = all.iter().copied().filter(|id| self.is_asked(self.access(*id))).collect();
            if asked.is_empty() { all } else { asked }
        };
        (within(&sections.first), within(&sections.second))
    }

    /// Keeps the accesses that are meant, if there are such.
    fn keep(&self, accesses: &mut BTreeSet<AccessId>, is_meant: impl Fn(&Access) -> bool) {
        if accesses.iter().any(|id| is_meant(self.access(*id))) {
            accesses.retain(|id| is_meant(self.access(*id)));
        }
    }

    /// Writes because of what some accesses read, in sections that have ended since. Where the lock is given back on some
    /// ways only, nobody can say which section they are in.
    fn written_late(&self, reads: &BTreeSet<AccessId>) -> BTreeSet<AccessId> {
        let is_late = |access: &Access| {
            access.value.iter().chain(&access.control).any(|influence| match influence.root {
                Root::Access(read) if reads.contains(&read) => {
                    self.access(read).held.iter().any(|section| influence.ended.contains(section))
                }
                _ => false,
            })
        };
        let writes = self.accesses().filter(|(_, access)| access.is_write && self.is_asked(access) && is_late(access));
        writes.map(|(id, _)| id).collect()
    }

    /// Adds reads of the variables whose old value gets to an access in a later section, and these accesses.
    fn follow_values(&self, first: &mut BTreeSet<AccessId>, second: &mut BTreeSet<AccessId>) {
        let events = |accesses: &BTreeSet<AccessId>| -> BTreeSet<EventId> {
            accesses.iter().map(|id| self.access(*id).event).collect()
        };
        let (reading, writing) = (events(first), events(second));
        // What one part is about may be changed at other places, too, and what comes of that is another matter.
        let about = |accesses: &BTreeSet<AccessId>| -> BTreeSet<Variable> {
            let variables = accesses.iter().map(|id| Variable::of(self.whole.program, self.access(*id)));
            variables.flatten().collect()
        };
        let (read_first, changed_then) = (about(first), about(second));
        for (id, access) in self.accesses() {
            let Some(written) = Variable::of(self.whole.program, access).filter(|_| access.is_write) else { continue };
            for influence in access.value.iter().chain(&access.control) {
                let Root::Access(read) = influence.root else { continue };
                let origin = self.access(read);
                let has_ended = origin.held.iter().any(|section| influence.ended.contains(section));
                // A virtual call has several targets, each with a variable of its own, and the finding names one.
                let is_same = Variable::of(self.whole.program, origin) == Some(written)
                    && reading.contains(&origin.event)
                    && writing.contains(&access.event);
                let is_read_first = |origin: &Access| {
                    Variable::of(self.whole.program, origin).is_some_and(|variable| read_first.contains(&variable))
                };
                let is_asked = || {
                    self.is_asked(origin)
                        && self.is_asked(access)
                        && is_read_first(origin)
                        && changed_then.contains(&written)
                };
                if has_ended && (is_same || is_asked()) {
                    first.insert(read);
                    second.insert(id);
                }
            }
        }
    }

    /// Adds the reads that an object came out of on which a read is done: for a run, an entry of a map or what an iterator
    /// yields is an object of its own, and who looks at it has looked at the container.
    fn follow_views(&self, accesses: &mut BTreeSet<AccessId>) {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return };
        let mut pending: Vec<AccessId> = accesses.iter().copied().filter(|id| !self.access(*id).is_write).collect();
        while let Some(id) = pending.pop() {
            let access = self.access(id);
            let Some(variable) = Variable::of(self.whole.program, access) else { continue };
            let receiver = match outline.events.get(access.event.index()).map(|event| &event.action) {
                Some(Action::Call { arguments, .. }) => arguments.first(),
                _ => None,
            };
            let origins: Vec<Origin> =
                receiver.into_iter().flat_map(|receiver| &receiver.sources).map(|source| source.origin).collect();
            for (origin, read) in self.accesses().filter(|(_, read)| origins.contains(&Origin::Event(read.event))) {
                let is_same = Variable::of(self.whole.program, read) == Some(variable);
                if !read.is_write && is_same && accesses.insert(origin) {
                    pending.push(origin);
                }
            }
        }
    }

    /// Whether the second part writes what the first one reads: the same variable of the same object.
    fn is_one_variable(&self, first: &BTreeSet<AccessId>, second: &BTreeSet<AccessId>) -> bool {
        let variable = |access: &Access| Variable::of(self.whole.program, access);
        first.iter().map(|id| self.access(*id)).any(|read| {
            second.iter().map(|id| self.access(*id)).any(|write| {
                write.is_write
                    && !read.is_write
                    && variable(read).is_some_and(|read| variable(write) == Some(read))
                    && (matches!(read.member, Member::Static(_)) || read.base.same(&write.base))
            })
        })
    }

    /// Whether the access belongs to a task that the method starts.
    fn is_in_task(&self, access: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        event.is_some_and(|event| match &event.action {
            Action::Call { method, .. } => {
                let model = self.whole.calls.model(self.whole.program, *method, method.class);
                model.is_some_and(|model| model.starts.is_some())
            }
            _ => false,
        })
    }

    fn accesses(&self) -> impl Iterator<Item = (AccessId, &Access)> {
        self.summary.accesses.iter().enumerate().map(|(index, access)| (AccessId(index as u32), access))
    }

    fn is_asked(&self, access: &Access) -> bool {
        Variable::of(self.whole.program, access)
            .is_some_and(|variable| self.variables.contains(&variable.readable(self.whole.program)))
    }

    /// Whether a section begins there: itself, or by the call that leads to it.
    fn begins_at(&self, section: usize, place: &Place) -> bool {
        let section = &self.summary.sections[section];
        let pc = match section.call {
            None => Some(section.spot.pc),
            Some(call) => self.pc(call),
        };
        pc == Some(place.pc)
    }

    fn pc(&self, event: EventId) -> Option<u32> {
        let outline = self.whole.summaries.outline(self.method);
        outline.and_then(|outline| outline.events.get(event.index())).map(|event| event.pc)
    }

    fn place(&self, spot: &Spot) -> Place {
        let program = self.whole.program;
        let file = program.class(spot.method.class).and_then(|class| program.header(class).source_file);
        program.names.place(Site { method: spot.method, pc: spot.pc, file, line: spot.line })
    }
}
