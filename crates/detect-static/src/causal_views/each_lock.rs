//! Torn writes of two objects of one class: something is taken from one and given to another one, each under a lock of its
//! own, while a reader that has taken the locks of all of them puts them together. `all.forEach(one -> one.lock.lock());
//! total = all.stream().mapToInt(One::amount).sum();`, or the same in loops.
//!
//! Misses: locks that are the objects themselves, which no code can take one after the other and keep.

use program::outline::{Action, EventId, MeetingKind, Name, NameStep, Object, Outline, Start};
use program::summary::{Access, AccessId, Met};
use program::{FieldId, MethodId, Variable, Whole};
use rayon::prelude::*;

use super::moved::{leads_to_end, put_together};
use super::rules::{Asking, Kind, Torn, is_known};
use super::views::{Item, Joint, common, own};
use crate::threads::{is_owned, is_shared};

/// A read of a field of all elements, with a lock of each element taken: the field that has the lock.
pub(super) struct UnderEach {
    variable: Variable,
    joint: Joint,
    lock: FieldId,
}

impl UnderEach {
    pub(super) fn all(whole: &Whole<'_>) -> Vec<UnderEach> {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        methods.par_iter().flat_map_iter(|method| readers(whole, *method)).collect()
    }
}

fn readers(whole: &Whole<'_>, method: MethodId) -> Vec<UnderEach> {
    let (Some(summary), Some(outline)) = (whole.summaries.summary(method), whole.summaries.outline(method)) else {
        return Vec::new();
    };
    let locks = locks(whole, outline);
    let mut found = Vec::new();
    for (index, read) in summary.accesses.iter().enumerate().filter(|(_, access)| !access.is_write) {
        let Some(variable @ Variable::Field(field)) = own(whole, read).filter(|_| !locks.is_empty()) else { continue };
        let id = AccessId(index as u32);
        let is_named = matches!(read.base.start, Start::Parameter(_) | Start::Static(_)) && !read.is_of_each;
        let of_each = locks.iter().filter(|(taken, lock)| {
            !is_named
                && *taken != read.event
                && whole.program.class_of_field(field) == whole.program.class_of_field(*lock)
                && outline.may_follow(*taken, read.event)
        });
        let joint = Joint { method, first: id, second: id };
        found.extend(of_each.map(|(_, lock)| UnderEach { variable, joint, lock: *lock }));
    }
    found
}

/// Where a method takes a lock of each element and keeps it: the event that takes it or finds the element, and the field that
/// has the lock.
fn locks(whole: &Whole<'_>, outline: &Outline) -> Vec<(EventId, FieldId)> {
    let program = whole.program;
    let name = |event: EventId| match &outline.events[event.index()].action {
        Action::Call { method, .. } => Some(program.names.text(method.name)),
        _ => None,
    };
    // What is still taken when the loop comes to the next element is kept.
    let is_kept = |number: usize, next: EventId| outline.events[next.index()].perhaps.contains(number);
    let in_loop = outline.sections.iter().enumerate().filter_map(|(number, section)| match section.lock.start {
        Start::Result(next) if name(next) == Some("next") && is_kept(number, next) => {
            Some((next, last_field(whole, &section.lock)?))
        }
        _ => None,
    });
    let by_function = outline.events.iter().enumerate().filter_map(|(index, event)| {
        let id = EventId(index as u32);
        let Action::Call { arguments, .. } = &event.action else { return None };
        let [_, function] = arguments.as_slice() else { return None };
        let [Object::Event(made)] = function.objects.as_slice() else { return None };
        let Action::Lambda { kind, method, arguments: captured, .. } = &outline.events[made.index()].action else {
            return None;
        };
        let targets = whole.calls.targets(program, *kind, *method);
        let [target] = targets.known() else { return None };
        let kept = whole.summaries.outline(*target)?.sections.iter().find_map(|section| {
            let is_element = section.lock.start == Start::Parameter(captured.len() as u16);
            let is_kept = section.ends.is_empty() && !section.is_method && is_element;
            is_kept.then(|| last_field(whole, &section.lock))?
        })?;
        (name(id) == Some("forEach")).then_some((id, kept))
    });
    in_loop.chain(by_function).collect()
}

/// Where a stream makes one number of what a function reads of each element.
fn summed(whole: &Whole<'_>, reader: &Joint) -> Option<Met> {
    let access = whole.summaries.summary(reader.method)?.accesses.get(reader.first.index())?;
    let outline = whole.summaries.outline(reader.method)?;
    let is_of_stream = match &outline.events[access.event.index()].action {
        Action::Call { method, .. } => whole.program.names.text(method.class.0).starts_with("java/util/stream/"),
        _ => false,
    };
    let is_summed = is_of_stream && leads_to_end(whole, outline, access.event);
    is_summed.then_some(Met { spot: access.spot, kind: MeetingKind::Computed })
}

/// The field of an object by which a name leads to its lock, and no further.
fn last_field(whole: &Whole<'_>, lock: &Name) -> Option<FieldId> {
    match &lock.steps[..] {
        [NameStep::Field(field)] => whole.program.resolve_field(*field),
        _ => None,
    }
}

/// The torn writes of two objects in one method: one for each variable.
pub(super) fn torn(asking: &Asking<'_>, readers: &[UnderEach]) -> Vec<Torn> {
    if readers.is_empty() {
        return Vec::new();
    }
    let mut writes = asking.touched(Kind::Write);
    writes.retain(|(_, item)| readers.iter().any(|reader| reader.variable == item.variable));
    let mut found: Vec<(Torn, Variable)> = Vec::new();
    for (index, first) in writes.iter().enumerate() {
        for second in &writes[index + 1..] {
            let variable = first.1.variable;
            if variable == second.1.variable && found.iter().all(|(_, told)| *told != variable) {
                let torn = asking.carried((first.0, &first.1), (second.0, &second.1), readers);
                found.extend(torn.map(|torn| (torn, variable)));
            }
        }
    }
    found.into_iter().map(|(torn, _)| torn).collect()
}

impl Asking<'_> {
    fn carried(&self, first: (AccessId, &Item), second: (AccessId, &Item), readers: &[UnderEach]) -> Option<Torn> {
        let (a, b) = (self.access(first.0), self.access(second.0));
        let variable = first.1.variable;
        let are_two = a.base != b.base
            && a.event != b.event
            && is_known(&a.base)
            && is_known(&b.base)
            && common(a, b).is_empty()
            && self.may_follow(a, b)
            && self.moves(first, second);
        let is_shared = || is_shared(self.whole, variable) && !is_owned(self.whole, self.method, a);
        let mut others = readers.iter().filter(|reader| {
            are_two
                && reader.variable == variable
                && self.is_under(a, reader.lock)
                && self.is_under(b, reader.lock)
                && self.whole.cover().among(self.whole.threads()).held_by_callers(self.method).is_empty()
        });
        others.find_map(|reader| {
            let met = put_together(self.whole, &reader.joint).or_else(|| summed(self.whole, &reader.joint))?;
            let other = reader.joint;
            let is_torn = self.runs_with(a, b, &other) && is_shared();
            is_torn.then_some(Torn { kind: Kind::Write, first: first.0, second: second.0, other, met })
        })
    }

    /// Whether an access is under the lock that a field of its own object has.
    fn is_under(&self, access: &Access, lock: FieldId) -> bool {
        let is_it = |step: Option<&NameStep>| match step {
            Some(NameStep::Field(field)) => self.whole.program.resolve_field(*field) == Some(lock),
            _ => false,
        };
        access.held.iter().any(|section| {
            let taken = &self.summary.sections[section].lock;
            is_it(taken.steps.last()) && taken.owner().same(&access.base)
        })
    }
}
