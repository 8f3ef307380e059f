//! Torn writes of one variable: something is taken from one element of a container or array and given to another one, each in
//! a section of its own, while another section puts all elements together. It may find what is moved in neither.

use program::outline::{Action, EventId, MeetingKind, Outline, OutlineSection};
use program::summary::{Access, AccessId, Met, Summary, SummarySection};
use program::{FieldId, LockKind, MethodId, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::again::is_part;
use super::all_locks::{element_of, locked_all, may_lock_all};
use super::handed_on::looks_for;
use super::rules::{Asking, Kind, Torn, is_known};
use super::views::{Item, Joint, common, own};
use crate::threads::{is_owned, is_shared};

/// More sections that put the elements of the same together than this are not kept.
const MAX_SUMS: usize = 8;

/// Sections that go over a container or array.
#[derive(Default)]
pub(super) struct Sums {
    by_section: FxHashMap<Variable, Vec<Joint>>,
    /// Those that hold the locks of all elements of what fields refer to.
    by_all_locks: FxHashMap<Variable, Vec<(Joint, Vec<FieldId>)>>,
}

impl Sums {
    pub(super) fn of(whole: &Whole<'_>) -> Sums {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        let found: Vec<(Variable, Joint)> = methods.par_iter().flat_map_iter(|method| sums(whole, *method)).collect();
        let mut all = Sums::default();
        for (variable, joint) in found {
            let known = all.by_section.entry(variable).or_default();
            if known.len() < MAX_SUMS {
                known.push(joint);
            }
        }
        let locking: Vec<MethodId> =
            methods.par_iter().copied().filter(|method| may_lock_all(whole, *method)).collect();
        let mut over_all = locking.clone();
        over_all.extend(locking.iter().flat_map(|method| whole.calls.callers(*method).iter().copied()));
        over_all.sort_unstable();
        over_all.dedup();
        for method in over_all {
            for (variable, joint, fields) in under_all_locks(whole, method) {
                let known = all.by_all_locks.entry(variable).or_default();
                if known.len() < MAX_SUMS {
                    known.push((joint, fields));
                }
            }
        }
        all
    }

    fn has(&self, variable: Variable) -> bool {
        self.by_section.contains_key(&variable) || self.by_all_locks.contains_key(&variable)
    }
}

/// Reads of containers and arrays that a method does with the locks of all elements of something taken.
fn under_all_locks(whole: &Whole<'_>, method: MethodId) -> Vec<(Variable, Joint, Vec<FieldId>)> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let reads = summary.accesses.iter().enumerate().filter(|(_, access)| !access.is_write);
    let found = reads.filter_map(|(index, access)| {
        let (variable, id) = (own(whole, access)?, AccessId(index as u32));
        let fields = locked_all(whole, method, access.event);
        let is_of_many = !matches!(variable, Variable::Field(_)) && !fields.is_empty();
        is_of_many.then_some((variable, Joint { method, first: id, second: id }, fields))
    });
    found.collect()
}

fn sums(whole: &Whole<'_>, method: MethodId) -> Vec<(Variable, Joint)> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let Some(outline) = whole.summaries.outline(method) else { return Vec::new() };
    let reads = summary.accesses.iter().enumerate().filter(|(_, access)| !access.is_write && !access.held.is_empty());
    let over_all = reads.filter(|(_, access)| is_over_all(whole, summary, outline, access));
    let found = over_all.filter_map(|(index, access)| {
        let (variable, id) = (own(whole, access)?, AccessId(index as u32));
        let is_of_many = !matches!(variable, Variable::Field(_));
        is_of_many.then_some((variable, Joint { method, first: id, second: id }))
    });
    found.collect()
}

/// Where a section makes one value of the elements that it goes over. Asked late: it needs the code.
pub(super) fn put_together(whole: &Whole<'_>, sum: &Joint) -> Option<Met> {
    let summary = whole.summaries.summary(sum.method)?;
    let outline = whole.summaries.outline(sum.method)?;
    let access = &summary.accesses[sum.first.index()];
    if is_total(whole, outline, access) {
        return Some(Met { spot: access.spot, kind: MeetingKind::Computed });
    }
    whole.summaries.meeting(whole.program, &whole.calls, sum.method, sum.first, sum.first).or_else(|| {
        // Where a function does it, the function's own code tells.
        let function = whole.calls.hierarchy.resolve_name(whole.program, access.spot.method);
        let function =
            function.filter(|function| *function != sum.method && whole.program.is_lambda(access.spot.method))?;
        let own = &whole.summaries.summary(function)?.accesses;
        let first = AccessId(own.iter().position(|own| own.spot == access.spot && !own.is_write)? as u32);
        put_together(whole, &Joint { method: function, first, second: first })
    })
}

/// Where a section goes over the elements to look for one.
fn searched(whole: &Whole<'_>, sum: &Joint) -> Option<Met> {
    let access = whole.summaries.summary(sum.method)?.accesses.get(sum.first.index())?;
    Some(Met { spot: access.spot, kind: MeetingKind::Computed })
}

/// Whether a section of the method itself is open while one element after the other is read.
fn is_over_all(whole: &Whole<'_>, summary: &Summary, outline: &Outline, access: &Access) -> bool {
    let block = outline.events[access.event.index()].block as usize;
    let lasts = |own: &OutlineSection| {
        if !outline.events[access.event.index()].in_loop {
            return false;
        }
        let is_end = |block: usize| own.ends.iter().any(|(end, _)| *end as usize == block);
        outline.reached_from(access.event, is_end)[block]
    };
    access.held.iter().any(|section| {
        let around = &summary.sections[section];
        let is_own = |own: &&OutlineSection| own.pc == around.spot.pc && own.is_method == around.is_method;
        let own = outline.sections.iter().filter(|_| around.call.is_none() && around.kind != LockKind::Own);
        own.filter(is_own).any(|own| !is_part(access) || lasts(own)) || is_run_inside(whole, around, access)
    })
}

/// Whether a section is open around a function that goes over all elements: it was taken by what runs the function.
fn is_run_inside(whole: &Whole<'_>, around: &SummarySection, access: &Access) -> bool {
    let function = whole.calls.hierarchy.resolve_name(whole.program, access.spot.method);
    let outline = function.and_then(|function| whole.summaries.outline(function));
    let is_repeated = || {
        outline.is_some_and(|outline| outline.events.iter().any(|event| event.pc == access.spot.pc && event.in_loop))
    };
    around.call == Some(access.event)
        && around.kind != LockKind::Own
        && around.spot.method != access.spot.method
        && whole.program.is_lambda(access.spot.method)
        && (!is_part(access) || is_repeated())
}

/// Whether a read is the end of a stream that makes one number of all elements.
fn is_total(whole: &Whole<'_>, outline: &Outline, access: &Access) -> bool {
    let names = &whole.program.names;
    // A stream of an array is made of it at once.
    let is_stream = || match &outline.events[access.event.index()].action {
        Action::Call { method, .. } => {
            names.text(method.class.0) == "java/util/Arrays" && names.text(method.name) == "stream"
        }
        _ => false,
    };
    is_end(whole, outline, access.event) || is_stream() && leads_to_end(whole, outline, access.event)
}

/// Whether a stream may come to an end that makes one number of it after an event.
pub(super) fn leads_to_end(whole: &Whole<'_>, outline: &Outline, event: EventId) -> bool {
    let mut events = (0..outline.events.len()).map(|index| EventId(index as u32));
    events.any(|end| is_end(whole, outline, end) && outline.may_follow(event, end))
}

fn is_end(whole: &Whole<'_>, outline: &Outline, event: EventId) -> bool {
    let names = &whole.program.names;
    match &outline.events[event.index()].action {
        Action::Call { method, .. } => {
            names.text(method.class.0).starts_with("java/util/stream/")
                && matches!(names.text(method.name), "sum" | "average" | "reduce" | "collect")
        }
        _ => false,
    }
}

/// The torn writes of elements in one method: one for each variable.
pub(super) fn torn(asking: &Asking<'_>, sums: &Sums) -> Vec<Torn> {
    let mut writes = asking.touched(Kind::Write);
    writes.retain(|(access, item)| is_part(asking.access(*access)) && sums.has(item.variable));
    let mut found: Vec<(Torn, Variable)> = Vec::new();
    for (index, first) in writes.iter().enumerate() {
        for second in &writes[index + 1..] {
            let variable = first.1.variable;
            if first.1 == second.1 && found.iter().all(|(_, told)| *told != variable) {
                let torn = asking.moved((first.0, &first.1), (second.0, &second.1), sums);
                found.extend(torn.map(|torn| (torn, variable)));
            }
        }
    }
    found.into_iter().map(|(torn, _)| torn).collect()
}

impl Asking<'_> {
    fn moved(&self, first: (AccessId, &Item), second: (AccessId, &Item), sums: &Sums) -> Option<Torn> {
        let (a, b) = (self.access(first.0), self.access(second.0));
        let are_two = match a.keys.is_empty() || b.keys.is_empty() {
            true => self.are_other_elements(a, b),
            false => a.event != b.event && a.keys != b.keys,
        };
        // A call that takes and gives is a change of its own.
        let does_both = |access: &Access| {
            let is_other = |other: &Access| {
                other.is_write
                    && other.event == access.event
                    && other.spot != access.spot
                    && other.member == access.member
            };
            self.summary.accesses.iter().any(|other| is_other(other) && other.base.same(&access.base))
        };
        let are_torn = are_two
            && !does_both(a)
            && !does_both(b)
            && is_known(&a.base)
            && is_known(&b.base)
            && self.are_held_apart(first.0, second.0)
            && self.may_follow(a, b);
        let is_moved = are_torn && self.moves(first, second);
        let marks = if are_torn && !is_moved { self.hands_on(a, b, first.1.variable) } else { None };
        let is_one_change = is_moved || marks.is_some();
        let is_shared = || is_shared(self.whole, first.1.variable) && !is_owned(self.whole, self.method, a);
        let variable = first.1.variable;
        let by_section = sums.by_section.get(&variable).into_iter().flatten();
        let by_section = by_section.filter(|other| is_one_change && self.may_interfere(a, b, other));
        let by_all = sums.by_all_locks.get(&variable).into_iter().flatten();
        let by_all = by_all.filter(|(_, fields)| is_one_change && self.are_by_one_each(a, b, fields));
        let mut others = by_section.chain(by_all.map(|(other, _)| other));
        others.find_map(|other| {
            let met = match &marks {
                Some(marks) => searched(self.whole, other).filter(|_| looks_for(self.whole, other.method, marks)),
                None => put_together(self.whole, other),
            };
            let met = met.filter(|_| self.runs_with(a, b, other) && is_shared())?;
            Some(Torn { kind: Kind::Write, first: first.0, second: second.0, other: *other, met })
        })
    }

    /// Whether each of two accesses is under the lock of one element of what some fields refer to.
    fn are_by_one_each(&self, first: &Access, second: &Access, fields: &[FieldId]) -> bool {
        let around = common(first, second);
        [first, second].into_iter().all(|access| {
            access.held.without(around).iter().any(|section| {
                let lock = &self.summary.sections[section].lock;
                element_of(self.whole.program, lock).is_some_and(|field| fields.contains(&field))
            })
        })
    }
}
