//! Torn reads of one variable: two elements of one container or array that another section changes together, or two looks
//! at one reference whose object is replaced as a whole.

use location::Symbol;
use program::model::State;
use program::outline::{
    Action, Argument, EventId, MeetingKind, Member, Name, NameStep, Object, Origin, Outline, Sources, Start,
};
use program::summary::{Access, AccessId, Influence, Met, Root, Spot};
use program::{LockKind, MethodId, Program, Relation, Variable, Whole, locks};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::glanced::is_glance;
use super::rules::{Asking, Kind, Torn, is_known};
use super::stale;
use super::views::{Item, Joint, common};
use crate::threads::{is_shared, run_at_once};

/// More sections that change two elements of the same than this are not kept.
const MAX_DOUBLE: usize = 8;

/// More reads of one object behind a reference than this are not asked.
const MAX_PARTS: usize = 4;

/// Calls that a look at a reference may be down.
const MAX_CALLS: usize = 3;

/// Whether too little speaks for a mistake to tell of it unasked, where threads come that nobody sees. Volatile fields are
/// looked at with no lock around: what they refer to may be replaced when nobody looks, as at the beginning.
/// Or the second of two writes is decided by a look of its own: it is another step, not the other half of the first. In
/// large programs most of what is read or written in two sections goes together for nobody who calls.
pub(super) fn is_weak(whole: &Whole<'_>, method: MethodId, torn: &Torn) -> bool {
    let Some(summary) = whole.summaries.summary(method) else { return false };
    let (first, second) = (&summary.accesses[torn.first.index()], &summary.accesses[torn.second.index()]);
    let is_looked_at = |influence: &Influence| match influence.root {
        Root::Access(read) => {
            let read = &summary.accesses[read.index()];
            !read.held.intersection(second.held).without(first.held).is_empty()
        }
        Root::Parameter(_) => false,
    };
    let is_little = match torn.kind {
        // What there is one of is there for all threads, and an atomic is made for them.
        Kind::Read => {
            let is_one = Variable::of(whole.program, first) == Variable::of(whole.program, second);
            let is_it = |access: &Access| !is_one || matches!(access.member, Member::Field(_));
            [first, second].into_iter().all(|access| is_it(access) && is_glance(summary, access))
        }
        Kind::Write => second.control.iter().any(is_looked_at),
    };
    is_little && whole.has_unknown_threads(method) || is_large(whole, method)
}

/// Whether nothing that a method tears apart is told unless somebody asks: the program is large, and its threads are not known.
pub(super) fn is_large(whole: &Whole<'_>, method: MethodId) -> bool {
    whole.is_large() && whole.has_unknown_threads(method)
}

/// Sections that change two elements of one container or array.
pub(super) struct Doubles(FxHashMap<Variable, Vec<Joint>>);

impl Doubles {
    pub(super) fn of(whole: &Whole<'_>) -> Doubles {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        let found: Vec<(Variable, Joint)> =
            methods.par_iter().flat_map_iter(|method| doubles(whole, *method)).collect();
        let mut all: FxHashMap<Variable, Vec<Joint>> = FxHashMap::default();
        for (variable, joint) in found {
            let known = all.entry(variable).or_default();
            if known.len() < MAX_DOUBLE {
                known.push(joint);
            }
        }
        Doubles(all)
    }
}

/// The sections of a method itself that write two elements of one variable, by two steps.
fn doubles(whole: &Whole<'_>, method: MethodId) -> Vec<(Variable, Joint)> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, section) in summary.sections.iter().enumerate() {
        if section.call.is_some() || section.kind == LockKind::Own {
            continue;
        }
        let mut writes: Vec<(AccessId, Item)> = Vec::new();
        for (index, access) in summary.accesses.iter().enumerate() {
            if !access.is_write || !access.held.contains(number) || !is_part(access) {
                continue;
            }
            let Some(item) = Item::of(whole, method, access) else { continue };
            let earlier = writes.iter().find(|(other, known)| {
                *known == item && are_two(whole, method, &summary.accesses[other.index()], access)
            });
            let id = AccessId(index as u32);
            match earlier {
                Some((first, _)) if found.iter().all(|(variable, _)| *variable != item.variable) => {
                    found.push((item.variable, Joint { method, first: *first, second: id }));
                }
                _ => writes.push((id, item)),
            }
        }
    }
    found
}

/// Whether two writes are two steps that follow each other, and not of the same element.
fn are_two(whole: &Whole<'_>, method: MethodId, first: &Access, second: &Access) -> bool {
    let Some(outline) = whole.summaries.outline(method) else { return false };
    let is_same = !first.keys.is_empty() && first.keys == second.keys;
    first.event != second.event
        && !is_same
        && (outline.may_follow(first.event, second.event) || outline.may_follow(second.event, first.event))
}

/// Whether an access touches one element, not the whole.
pub(super) fn is_part(access: &Access) -> bool {
    access.member == Member::Elements || (access.is_keyed && matches!(access.member, Member::State(_)))
}

/// Whether an access touches what an atomic reference holds.
fn is_reference(access: &Access) -> bool {
    access.member == Member::State(State::Value)
}

/// The torn pairs of reads of one variable in one method: one for each variable.
pub(super) fn torn(asking: &Asking<'_>, doubles: &Doubles) -> Vec<Torn> {
    let reads = asking.touched(Kind::Read);
    let mut found: Vec<(Torn, Variable)> = Vec::new();
    for (index, (first, item)) in reads.iter().enumerate() {
        for (second, other) in &reads[index..] {
            if item != other || found.iter().any(|(_, told)| *told == item.variable) {
                continue;
            }
            let torn = match item.variable {
                Variable::Held(_) | Variable::Within(_) if is_reference(asking.access(*first)) => {
                    asking.snapshots(*first, *second, item.variable)
                }
                Variable::Held(_) | Variable::Within(_) => asking.elements(*first, *second, item, doubles),
                Variable::Field(_) if first == second => asking.each(*first, item),
                Variable::Field(_) => asking.snapshots(*first, *second, item.variable),
            };
            found.extend(torn.map(|torn| (torn, item.variable)));
        }
    }
    found.into_iter().map(|(torn, _)| torn).collect()
}

impl Asking<'_> {
    /// Two elements that are read one after the other, each in a section of its own, and put together.
    fn elements(&self, first: AccessId, second: AccessId, item: &Item, doubles: &Doubles) -> Option<Torn> {
        let others = doubles.0.get(&item.variable)?;
        let (a, b) = (self.access(first), self.access(second));
        let are_two = if first == second { self.is_each_round(a) } else { self.are_other_elements(a, b) };
        // What a call yields may be another object each time.
        let is_one = is_known(&a.base) && is_known(&b.base);
        // All that one element of a container has is a part of what the container leads to.
        let is_part = |access: &Access| is_part(access) || matches!(item.variable, Variable::Within(_));
        if !is_part(a) || !is_part(b) || !is_one || !are_two || !self.are_held_apart(first, second) {
            return None;
        }
        let others: Vec<&Joint> = others.iter().filter(|other| self.may_interfere(a, b, other)).collect();
        others.first()?;
        let met = self.meeting(self.method, first, second)?;
        let other = others.into_iter().find(|other| self.runs_with(a, b, other))?;
        is_shared(self.whole, item.variable).then_some(Torn { kind: Kind::Read, first, second, other: *other, met })
    }

    /// A field of each of several objects, read one after the other and put together, while another section changes it in
    /// two of them: what goes from one to the other is counted twice, or not at all.
    fn each(&self, read: AccessId, item: &Item) -> Option<Torn> {
        let access = self.access(read);
        let is_next = match access.base.start {
            Start::Result(next) => match &self.outline.events[next.index()].action {
                Action::Call { method, .. } => {
                    matches!(self.whole.program.names.text(method.name), "next" | "nextElement" | "get" | "elementAt")
                        && self.outline.events[next.index()].in_loop
                }
                _ => false,
            },
            _ => false,
        };
        let summed = self.summed(access);
        let is_each = is_next && self.is_each_round(access) || summed.is_some();
        if !is_each || self.is_under_many(read) {
            return None;
        }
        let others = self.joints.of_two(item.variable).iter();
        let others: Vec<&Joint> = others.filter(|other| self.may_interfere(access, access, other)).collect();
        others.first()?;
        let met = summed.or_else(|| self.meeting(self.method, read, read))?;
        let other = others.into_iter().find(|other| self.runs_with(access, access, other))?;
        let torn = Torn { kind: Kind::Read, first: read, second: read, other: *other, met };
        is_shared(self.whole, item.variable).then_some(torn)
    }

    /// Where a stream puts together what it has read of each element.
    fn summed(&self, access: &Access) -> Option<Met> {
        let program = self.whole.program;
        let is_own = |section: usize| self.summary.sections[section].call == Some(access.event);
        if !access.is_of_each || !access.held.iter().all(is_own) {
            return None;
        }
        let event = self.outline.events.iter().find(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                matches!(program.names.text(method.name), "sum" | "average" | "summaryStatistics")
                    && program.names.text(method.class.0).starts_with("java/util/stream/")
                    && arguments.first().is_some_and(|stream| stream.objects.contains(&Object::Event(access.event)))
            }
            _ => false,
        })?;
        let spot = Spot { method: program.method_name(self.method), pc: event.pc, line: event.line };
        Some(Met { spot, kind: MeetingKind::Computed })
    }

    /// Whether the method, or one that calls it, may have taken the locks of all objects before it looks at them: it takes
    /// others than the look itself does, or calls what leaves one taken.
    fn is_under_many(&self, read: AccessId) -> bool {
        let whole = self.whole;
        let leaves = |target: &MethodId| {
            let sections = whole.outlines().get(*target).map(|outline| outline.sections.as_slice()).unwrap_or_default();
            sections.iter().any(|section| section.ends.is_empty() && !section.is_method)
        };
        let takes = |method: MethodId| {
            let Some(outline) = whole.outlines().get(method) else { return true };
            !outline.sections.is_empty()
                || outline.events.iter().enumerate().any(|(index, event)| match &event.action {
                    Action::Call { kind, method: called, .. } | Action::Lambda { kind, method: called, .. } => {
                        let is_look = method == self.method && index == self.access(read).event.index();
                        !is_look && whole.calls.targets(whole.program, *kind, *called).known().iter().any(leaves)
                    }
                    _ => false,
                })
        };
        takes(self.method) || whole.calls.callers(self.method).iter().any(|caller| takes(*caller))
    }

    /// Two looks at a reference to something that never changes but is replaced, each for another part of it.
    fn snapshots(&self, first: AccessId, second: AccessId, variable: Variable) -> Option<Torn> {
        let (a, b) = (self.access(first), self.access(second));
        if first == second || a.event == b.event || !self.are_held_apart(first, second) {
            return None;
        }
        let program = self.whole.program;
        let mut one = parts_of(program, self.outline, a.event, Some(b.event));
        let mut other = parts_of(program, self.outline, b.event, Some(a.event));
        one.extend(self.parts_by_call(a));
        other.extend(self.parts_by_call(b));
        let (by_first, by_second) = (self.led_to(a), self.led_to(b));
        one.extend(by_first.iter().map(|(_, part)| part));
        other.extend(by_second.iter().map(|(_, part)| part));
        let are_two = one.iter().any(|part| other.iter().any(|another| part != another));
        let reads = |look: AccessId, found: &[(AccessId, Symbol)]| -> Vec<AccessId> {
            std::iter::once(look).chain(found.iter().map(|(read, _)| *read)).take(MAX_PARTS).collect()
        };
        let (mine, others) = (reads(first, &by_first), reads(second, &by_second));
        let mut pairs = mine.iter().flat_map(|one| others.iter().map(move |other| (*one, *other)));
        let met = are_two.then(|| pairs.find_map(|(one, other)| self.meeting(self.method, one, other))).flatten();
        let met = met.or_else(|| {
            let Asking { whole, method, summary, outline, .. } = *self;
            stale::Asking { whole, method, summary, outline }.found_in_other(a, b)
        })?;
        let is_open = !self.is_covered(a, b, variable);
        let writers = self.whole.variables.writers(variable);
        let writer = writers.iter().find(|writer| run_at_once(self.whole, self.method, writer.method))?;
        let other = Joint { method: writer.method, first: writer.access, second: writer.access };
        (is_open && is_shared(self.whole, variable)).then_some(Torn { kind: Kind::Read, first, second, other, met })
    }

    /// Whether neither section lasts until the other access.
    pub(super) fn are_held_apart(&self, first: AccessId, second: AccessId) -> bool {
        let (a, b) = (self.access(first), self.access(second));
        if first == second {
            return !a.held.is_empty();
        }
        let around = common(a, b);
        !a.held.without(around).is_empty() && !b.held.without(around).is_empty()
    }

    /// Whether a call in a loop takes all its locks anew in each round.
    fn is_each_round(&self, access: &Access) -> bool {
        let is_own = |section: usize| self.summary.sections[section].call == Some(access.event);
        self.outline.events[access.event.index()].in_loop && access.held.iter().all(is_own)
    }

    /// Whether two calls ask for different elements.
    pub(super) fn are_other_elements(&self, first: &Access, second: &Access) -> bool {
        let given = |access: &Access| match &self.outline.events[access.event.index()].action {
            Action::Call { arguments, .. } => Some(arguments.as_slice()),
            _ => None,
        };
        let (Some(one), Some(other)) = (given(first), given(second)) else { return false };
        let is_number = |object: &Object| matches!(object, Object::Int(_));
        let is_same = |a: &Argument, b: &Argument| match a.objects.iter().all(is_number) && !a.objects.is_empty() {
            true => a.objects == b.objects,
            false => a.name == b.name,
        };
        let differ = one.iter().zip(other).skip(1).any(|(a, b)| !is_same(a, b));
        first.event != second.event && one.len() == other.len() && differ
    }

    /// What a call that does nothing but look at a reference asks of the object behind it: `high()`, which returns `range.get().high()`.
    fn parts_by_call(&self, look: &Access) -> Vec<Symbol> {
        let Asking { whole, method, .. } = *self;
        let (mut method, mut event) = (method, look.event);
        for _ in 0..MAX_CALLS {
            let Some(outline) = whole.outlines().get(method) else { break };
            let Action::Call { kind, method: called, .. } = &outline.events[event.index()].action else { break };
            let targets = whole.calls.targets(whole.program, *kind, *called);
            let is_look = |access: &&Access| access.spot == look.spot && access.member == look.member;
            let found = targets.known().iter().find_map(|target| {
                let accesses = &whole.summaries.summary(*target)?.accesses;
                let event = accesses.iter().find(is_look)?.event;
                // Who replaces it as well makes a step of it, and does not merely look.
                let is_replaced = accesses.iter().any(|access| access.is_write && access.member == look.member);
                (!is_replaced).then_some((*target, event))
            });
            let Some((target, inner)) = found else { break };
            let Some(outline) = whole.outlines().get(target) else { break };
            // What it tells is to be the part as it is, not what it makes of it.
            if !outline.conditions.is_empty() {
                break;
            }
            let parts = parts_of(whole.program, outline, inner, None);
            if !parts.is_empty() {
                return parts;
            }
            (method, event) = (target, inner);
        }
        Vec::new()
    }

    /// What the call that looks at a reference goes on to read of the object behind it, each with the part of the object that
    /// leads there.
    fn led_to(&self, look: &Access) -> Vec<(AccessId, Symbol)> {
        let object = match look.member {
            Member::Static(field) => Name::start(Start::Static(field)),
            Member::Field(field) => look.base.then(&[NameStep::Field(field)]),
            Member::Elements | Member::State(_) => return Vec::new(),
        };
        let reads =
            self.summary.accesses.iter().enumerate().filter(|(_, access)| {
                !access.is_write && access.event == look.event && access.base.start == object.start
            });
        let found = reads.filter_map(|(index, access)| match access.base.steps.strip_prefix(&*object.steps)? {
            [NameStep::Field(part), ..] => Some((AccessId(index as u32), part.name)),
            _ => None,
        });
        found.collect()
    }

    /// Whether something is held over both that all writers need.
    fn is_covered(&self, first: &Access, second: &Access, variable: Variable) -> bool {
        let cover = self.whole.cover().among(self.whole.threads());
        let mut held = cover.also_named(self.method, locks(self.summary, common(first, second)));
        held.extend(cover.held_by_callers(self.method));
        held.iter().any(|lock| {
            Relation::of(first, lock).is_some_and(|relation| cover.covers(&self.whole.variables, variable, &relation))
        })
    }
}

/// What is asked of the object that one event yields, and not another one, if it never changes: the names of methods and
/// fields.
fn parts_of(program: &Program, outline: &Outline, event: EventId, other: Option<EventId>) -> Vec<Symbol> {
    let is_from = |sources: &Sources| {
        let has = |wanted: EventId| sources.iter().any(|source| source.origin == Origin::Event(wanted));
        has(event) && !other.is_some_and(has)
    };
    let parts = outline.events.iter().filter_map(|other| match &other.action {
        Action::Call { method, arguments, .. } => arguments
            .first()
            .filter(|object| is_from(&object.sources) && program.is_value_class(method.class))
            .filter(|_| program.names.text(method.name) != "<init>")
            .map(|_| method.name),
        Action::Read { member: Member::Field(field), address, .. } => {
            (is_from(address) && program.is_value_class(field.class)).then_some(field.name)
        }
        _ => None,
    });
    parts.collect()
}
