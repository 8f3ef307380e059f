//! Which locks are held around a method by whoever calls it, and whether one lock covers all writes of a variable.

use std::borrow::Cow;

use location::ClassName;
use rustc_hash::FxHashSet;

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::distinct::Distinct;
use crate::held::{
    HeldLock, Relation, asserted_locks, found, from_caller, keys_from_caller, locks, locks_of, outline_locks, to_callee,
};
use crate::lock::LockKind;
use crate::outline::{Action, Argument, Event, EventId, Key, Name, NameStep, Object, Outline, SectionSet, Start};
use crate::outlines::Outlines;
use crate::release::Release;
use crate::sole::Sole;
use crate::summary::{Access, Keys, Run, Spot, Summaries, Summary, half};
use crate::thread::{At, EntryId, Threads};
use crate::variable::{Place, Variable, Variables};
use crate::whole::Ground;

/// Callers further up than this are not asked.
const MAX_CLIMB: usize = 6;

/// Asks about callers.
pub struct Cover<'c> {
    pub(crate) program: &'c Program,
    pub(crate) calls: &'c Calls,
    pub(crate) summaries: &'c Summaries,
    pub(crate) threads: Option<&'c Threads>,
    /// Whether to go by the callers that are known, even of protected methods, which others may call.
    pub(crate) by_known: bool,
    /// Whether to ask who takes tasks out of containers.
    pub(crate) by_takers: bool,
    /// Tells of containers, if somebody does.
    pub(crate) distinct: Option<&'c dyn Distinct>,
}

impl<'c> Cover<'c> {
    pub fn new(program: &'c Program, calls: &'c Calls, summaries: &'c Summaries) -> Cover<'c> {
        Cover { program, calls, summaries, threads: None, by_known: false, by_takers: true, distinct: None }
    }

    /// Asks only about what some thread runs.
    pub fn among(self, threads: &'c Threads) -> Cover<'c> {
        Cover { threads: Some(threads), ..self }
    }

    /// Asks about containers, too: that takes threads.
    pub fn on(self, ground: &'c Ground<'_>) -> Cover<'c> {
        Cover { distinct: Some(ground), ..self }
    }

    /// Goes by the callers that are known, even of protected methods, which others may call.
    pub fn by_known_callers(self) -> Cover<'c> {
        Cover { by_known: true, ..self }
    }

    fn is_run(&self, method: MethodId) -> bool {
        self.threads.is_none_or(|threads| !threads.of_method(method).is_empty())
    }

    /// Whether every write of the variable, outside construction, happens under a lock in this relation to the object
    /// that is written. An owner's lock covers what it owns only if nobody else has it.
    pub fn covers(&self, variables: &Variables, variable: Variable, relation: &Relation) -> bool {
        self.cover_together(variables, variable, std::slice::from_ref(relation))
    }

    /// The same of several locks, of which each write is under one.
    pub fn cover_together(&self, variables: &Variables, variable: Variable, relations: &[Relation]) -> bool {
        self.cover_writes(variables, variable, relations, |_| true)
    }

    /// The same of the writes that matter.
    pub fn cover_writes(
        &self,
        variables: &Variables,
        variable: Variable,
        relations: &[Relation],
        matters: impl Fn(&Place) -> bool,
    ) -> bool {
        let relations = self.that_last(variables, relations);
        !relations.is_empty()
            && variables
                .writers(variable)
                .iter()
                .filter(|place| self.is_run(place.method) && matters(place))
                .all(|place| self.is_under_one(place, &relations))
    }

    /// Whether an access, wherever its method is called, happens under one of these locks.
    pub fn covers_access(&self, variables: &Variables, place: &Place, relations: &[Relation]) -> bool {
        let relations = self.that_last(variables, relations);
        !relations.is_empty() && self.is_under_one(place, &relations)
    }

    fn is_under_one(&self, place: &Place, relations: &[&Relation]) -> bool {
        let Some(summary) = self.summaries.summary(place.method) else { return false };
        let access = &summary.accesses[place.access.index()];
        let held = self.also_named(place.method, self.locks(place.method, summary, access.held));
        relations.iter().any(|relation| {
            let mut asked = FxHashSet::default();
            let spot = Some(access.spot);
            let found = if relation.is_by_position() { found(summary, access) } else { None };
            let object = &found.map_or_else(|| access.object(), Cow::Owned);
            let touched = Touched { object, keys: &access.keys, spot, before: Some(access.event) };
            self.is_under(place.method, touched, &held, relation, MAX_CLIMB, &mut asked)
        })
    }

    /// Whether a lock, wherever the program takes it, is taken under another one in this relation to it.
    pub fn is_always_inside(&self, method: MethodId, lock: &Name, kind: LockKind, relation: &Relation) -> bool {
        let Some(wanted) = self.identity(method, lock) else { return false };
        self.program.methods().all(|method| {
            let Some(outline) = self.known_outline(method) else { return true };
            let sections = outline.sections.iter().enumerate();
            sections.filter(|(_, section)| section.kind == kind && !section.reentrant).all(|(number, section)| {
                let mut asked = FxHashSet::default();
                let first = outline.events.iter().position(|event| event.held.contains(number));
                let before = first.map(|first| EventId(first as u32));
                self.identity(method, &section.lock) != Some(wanted)
                    || self.is_under(
                        method,
                        Touched { object: &section.lock, keys: &[], spot: None, before },
                        &outline_locks(outline, section.inside),
                        relation,
                        MAX_CLIMB,
                        &mut asked,
                    )
            })
        })
    }

    /// What tells locks of different purposes apart: the field that holds the lock, or the class whose monitor it is.
    pub fn identity(&self, method: MethodId, lock: &Name) -> Option<Result<FieldId, ClassName>> {
        match (lock.steps.last(), lock.start) {
            (Some(NameStep::Field(field)), _) => self.program.resolve_field(*field).map(Ok),
            (None, Start::Static(field)) => self.program.resolve_field(field).map(Ok),
            (None, Start::Class(class)) => Some(Err(class)),
            (None, Start::Parameter(0)) if !self.program.method(method).access.is_static() => {
                Some(Err(self.program.method_name(method).class))
            }
            _ => None,
        }
    }

    /// Whether an object that a method touches is under such a lock there, or in all callers.
    fn is_under(
        &self,
        method: MethodId,
        touched: Touched<'_>,
        held: &[HeldLock],
        relation: &Relation,
        climb: usize,
        asked: &mut FxHashSet<MethodId>,
    ) -> bool {
        let Touched { object, keys, spot, .. } = touched;
        if relation.is_held(object, keys, held)
            || self.is_made_here(method, touched)
            || self.is_another(method, object, relation)
        {
            return true;
        }
        if climb == 0 || !asked.insert(method) {
            return false;
        }
        if relation.is_held(object, keys, &self.asserted(method)) {
            asked.remove(&method);
            return true;
        }
        let mut is_called = false;
        let mut callers = self.calls.callers(method).iter().filter(|caller| self.is_run(**caller));
        let all = callers.all(|caller| {
            let Some(outline) = self.known_outline(*caller) else { return false };
            self.call_sites(*caller, method).all(|(event, arguments)| {
                is_called = true;
                let held = self.held_at(*caller, outline, event);
                if let Start::Parameter(position) = object.start
                    && let Some(given) = arguments.get(usize::from(position))
                    && self.are_others(*caller, given, &object.steps, relation)
                {
                    return true;
                }
                let object = from_caller(self.program, object, arguments);
                let object = self.in_container(*caller, event, spot, object, relation.is_by_position());
                let keys = keys_from_caller(self.program, keys, arguments);
                let touched = Touched { object: &object, keys: &keys, spot, before: Some(EventId(event as u32)) };
                if self.is_started(*caller, outline, event) {
                    return relation.is_held(&object, &keys, &held) || self.is_another(*caller, &object, relation);
                }
                object.start == Start::Parameter(0) && self.is_constructing(*caller, outline, event)
                    || self.is_under(*caller, touched, &held, relation, climb - 1, asked)
            })
        });
        asked.remove(&method);
        let turns = if all { self.turns_of(method) } else { None };
        turns.is_some_and(|turns| {
            (is_called || !turns.is_empty())
                && turns
                    .iter()
                    .all(|turn| relation.is_held(&self.outside(turn, object), &[], std::slice::from_ref(&turn.held)))
        })
    }

    /// Whether a call is one of a constructor, whose object nobody else has by then. A lambda that it makes runs later.
    fn is_constructing(&self, method: MethodId, outline: &Outline, site: usize) -> bool {
        self.program.names.text(self.program.method(method).name) == "<init>"
            && matches!(outline.events[site].action, Action::Call { .. })
    }

    /// Whether what is touched was made by the method itself, and no other thread can have it by then: nobody was given it
    /// yet, or whoever was has not begun, or is over.
    fn is_made_here(&self, method: MethodId, touched: Touched<'_>) -> bool {
        let Start::New(register) = touched.object.start else { return false };
        let Some(event) = touched.before else { return true };
        let release = Release { program: self.program, calls: self.calls, summaries: self.summaries };
        let Some(threads) = self.threads else { return !release.is_let_out(method, register, event) };
        let outlines = Outlines::new(self.program, &self.summaries.outlines);
        let is_alone = |process: EntryId, other: EntryId| {
            !threads.overlap(process, other)
                || threads.ordered(outlines, process, At { method, event }, other).is_some()
        };
        !release.is_let_out(method, register, event)
            || threads.of_method(method).iter().all(|process| threads.ids().all(|other| is_alone(*process, other)))
    }

    /// Whether callers hold a lock around a method, wherever it is called, that all writers of what it touches hold, too.
    /// The method itself may have no name for that lock.
    pub fn is_covered_outside(
        &self,
        variables: &Variables,
        variable: Variable,
        method: MethodId,
        access: &Access,
    ) -> bool {
        if self.threads.is_none_or(|threads| threads.open.binary_search(&method).is_ok()) {
            return false;
        }
        let object = access.object();
        let (spot, before) = (Some(access.spot), Some(access.event));
        let touched = Touched { object: &object, keys: &access.keys, spot, before };
        self.outer_relations(method, touched).iter().any(|relation| {
            let mut asked = FxHashSet::default();
            self.is_under(method, touched, &[], relation, MAX_CLIMB, &mut asked)
                && self.covers(variables, variable, relation)
        })
    }

    /// The locks that are held around a method on one way to it, by how they are reached from what it touches.
    fn outer_relations(&self, method: MethodId, touched: Touched<'_>) -> Vec<Relation> {
        let mut found = Vec::new();
        let (mut method, mut object, mut keys): (_, _, Keys) = (method, touched.object.clone(), touched.keys.into());
        for _ in 0..MAX_CLIMB {
            let mut callers = self.calls.callers(method).iter().filter(|caller| self.is_run(**caller));
            let site = callers.find_map(|caller| Some((*caller, self.call_sites(*caller, method).next()?)));
            let Some((caller, (at, arguments))) = site else {
                let turns = self.turns_of(method).unwrap_or_default();
                let relations =
                    turns.iter().filter_map(|turn| Relation::between(&self.outside(turn, &object), &turn.held));
                found.extend(relations);
                break;
            };
            let Some(outline) = self.known_outline(caller) else { break };
            let held = self.held_at(caller, outline, at);
            object = from_caller(self.program, &object, arguments);
            keys = keys_from_caller(self.program, &keys, arguments);
            found.extend(held.iter().filter_map(|held| Relation::by_key(&object, &keys, held)));
            method = caller;
        }
        found
    }

    /// The locks that are held where a method is called, or where a lambda that is made there is run.
    fn held_at(&self, method: MethodId, outline: &Outline, site: usize) -> Vec<HeldLock> {
        let made = &outline.events[site];
        let held = match made.action {
            // A lambda runs where it is called, and not where it is made.
            Action::Lambda { .. } => match self.runner(outline, site) {
                Some((at, around)) => [outline_locks(outline, at.held), around].concat(),
                None => self.turn(method, outline, site).into_iter().collect(),
            },
            _ => outline_locks(outline, made.held),
        };
        self.also_named(method, held)
    }

    /// The locks of some sections of a method, by all names that it has for them.
    fn locks(&self, method: MethodId, summary: &Summary, sections: SectionSet) -> Vec<HeldLock> {
        match self.known_outline(method) {
            Some(outline) => locks_of(summary, outline, sections),
            None => locks(summary, sections),
        }
    }

    /// Locks that a method holds, and once more by the names that some of them have in all methods.
    pub fn also_named(&self, method: MethodId, held: Vec<HeldLock>) -> Vec<HeldLock> {
        let Some(threads) = self.threads else { return held };
        let outlines = Outlines::new(self.program, &self.summaries.outlines);
        Sole { program: self.program, calls: self.calls, outlines, threads }.also_named(method, held)
    }

    /// An object by its container, if a caller has no other name for what a callee touches than that of some call.
    fn in_container(&self, caller: MethodId, site: usize, spot: Option<Spot>, object: Name, by_position: bool) -> Name {
        let (Start::Result(_) | Start::Element(_), Some(spot)) = (object.start, spot) else { return object };
        let Some(summary) = self.summaries.summary(caller) else { return object };
        let is_it = |access: &&Access| access.event == EventId(site as u32) && access.spot == spot;
        let Some(known) = summary.accesses.iter().filter(is_it).find(|access| access.within.is_some()) else {
            return object;
        };
        let found = if by_position { found(summary, known) } else { None };
        found.unwrap_or_else(|| known.object().into_owned())
    }

    /// Whether a lambda is made at a place to be started: by then all that is around the place is over.
    fn is_started(&self, method: MethodId, outline: &Outline, site: usize) -> bool {
        let at = At { method, event: EventId(site as u32) };
        matches!(outline.events[site].action, Action::Lambda { .. })
            && self.threads.is_some_and(|threads| threads.started.contains(&at))
    }

    /// The places in `caller` that call `method`, or make it as a lambda.
    fn call_sites(&self, caller: MethodId, method: MethodId) -> impl Iterator<Item = (usize, &[Argument])> {
        let outline = self.known_outline(caller);
        outline.into_iter().flat_map(|outline| outline.events.iter().enumerate()).filter_map(move |(index, event)| {
            match &event.action {
                Action::Call { kind, method: called, arguments } => {
                    let targets = self.calls.targets(self.program, *kind, *called);
                    targets.known().contains(&method).then_some((index, arguments.as_slice()))
                }
                Action::Lambda { method: made, arguments, .. } => {
                    let target = self.calls.hierarchy.resolve_name(self.program, *made);
                    (target == Some(method)).then_some((index, arguments.as_slice()))
                }
                _ => None,
            }
        })
    }

    /// The locks that are held wherever the method is called, by the names that it has for them. Only methods that no
    /// unknown code can call have any, and those that refuse to go on without.
    pub fn held_by_callers(&self, method: MethodId) -> Vec<HeldLock> {
        let mut asked = FxHashSet::default();
        self.at_entry(method, MAX_CLIMB, &mut asked).unwrap_or_default()
    }

    /// The locks that are held along a chain of calls, each a method and the place in it that calls the next one, by the
    /// names that the last one called has for them.
    pub fn held_on_the_way(&self, calls: impl Iterator<Item = (MethodId, u32)>) -> Vec<HeldLock> {
        let mut held: Vec<HeldLock> = Vec::new();
        for (method, pc) in calls {
            let Some(outline) = self.known_outline(method) else { return Vec::new() };
            let call = outline.events.iter().find_map(|event| match &event.action {
                Action::Call { arguments, .. } if event.pc == pc => Some((event, arguments)),
                _ => None,
            });
            let Some((event, arguments)) = call else { return Vec::new() };
            held.extend(outline_locks(outline, event.held));
            held = held.into_iter().flat_map(|lock| to_callee(self.program, lock, arguments)).collect();
        }
        held
    }

    /// The call that runs a lambda before it returns, if nothing else is done with the lambda, and the locks that are
    /// held around it there.
    fn runner<'o>(&self, outline: &'o Outline, made: usize) -> Option<(&'o Event, Vec<HeldLock>)> {
        let is_it = |argument: &Argument| argument.objects.contains(&Object::Event(EventId(made as u32)));
        let mut found = None;
        for event in &outline.events {
            match &event.action {
                Action::Call { kind, method, arguments } => {
                    let Some(position) = arguments.iter().position(is_it) else { continue };
                    let targets = self.calls.targets(self.program, *kind, *method);
                    let model = self.calls.model(self.program, *method, method.class);
                    let is_run_at_once = model
                        .is_some_and(|model| !model.runs.is_empty() && model.starts.is_none() && model.wraps.is_none());
                    if targets.known().is_empty() && found.is_none() && is_run_at_once {
                        found = Some((event, Vec::new()));
                        continue;
                    }
                    let ([target], None) = (targets.known(), &found) else { return None };
                    let release = Release { program: self.program, calls: self.calls, summaries: self.summaries };
                    let summary = self.summaries.summary(*target)?;
                    if release.keeps_lambda(*target, position as u16) {
                        return None;
                    }
                    let mut runs = summary.runs.iter().filter(|run| usize::from(run.parameter) == position);
                    let around = |run: &Run| self.also_named(*target, self.locks(*target, summary, run.held));
                    let mut common = around(runs.next()?);
                    runs.for_each(|run| common.retain(|lock| around(run).contains(lock)));
                    let named =
                        common.into_iter().map(|lock| match half(self.program, outline, &lock.name, arguments) {
                            Some((whole, mode)) => HeldLock { name: whole.clone(), mode, ..lock },
                            None => HeldLock { name: from_caller(self.program, &lock.name, arguments), ..lock },
                        });
                    found = Some((event, named.collect()));
                }
                Action::Write { stored, .. } if is_it(stored) => return None,
                Action::Lambda { arguments, .. } if arguments.iter().any(is_it) => return None,
                _ => {}
            }
        }
        found.filter(|_| !outline.returned.contains(&Object::Event(EventId(made as u32))))
    }

    fn asserted(&self, method: MethodId) -> Vec<HeldLock> {
        let outline = self.known_outline(method);
        outline.map_or_else(Vec::new, |outline| asserted_locks(self.program, outline))
    }

    /// As [`Cover::held_by_callers`]; `None` where the answer is a circle and so says nothing.
    fn at_entry(&self, method: MethodId, climb: usize, asked: &mut FxHashSet<MethodId>) -> Option<Vec<HeldLock>> {
        let access = self.program.method(method).access;
        let class = self.program.header(self.program.class_of(method));
        let is_hidden = !(access.is_public() || access.is_protected()) || !class.access.is_public();
        let asserted = self.asserted(method);
        if climb == 0 || !is_hidden && (access.is_public() || !self.by_known) {
            return Some(asserted);
        }
        if !asked.insert(method) {
            return None;
        }
        let mut common: Option<Vec<HeldLock>> = None;
        let mut is_for_new = false;
        for caller in self.calls.callers(method).iter().filter(|caller| self.is_run(**caller)) {
            let Some(outline) = self.known_outline(*caller) else {
                common = Some(Vec::new());
                break;
            };
            for (made, arguments) in self.call_sites(*caller, method) {
                // Who makes an object has it alone, and needs none of its locks.
                let is_new = |argument: &Argument| argument.name == Name::start(Start::Parameter(0));
                if arguments.first().is_some_and(is_new) && self.is_constructing(*caller, outline, made) {
                    is_for_new = true;
                    continue;
                }
                let event = &outline.events[made];
                let mut held = Vec::new();
                let runner = match event.action {
                    Action::Lambda { .. } => self.runner(outline, made),
                    _ => Some((event, Vec::new())),
                };
                // A lambda whose runner is not known runs somewhere else, under other locks.
                if let Some((event, around)) = runner {
                    held = outline_locks(outline, event.held);
                    held.extend(around);
                    held = self.also_named(*caller, held);
                    match self.at_entry(*caller, climb - 1, asked) {
                        Some(above) => held.extend(above),
                        None => continue,
                    }
                } else {
                    held.extend(self.turn(*caller, outline, made));
                }
                let named: Vec<HeldLock> =
                    held.into_iter().flat_map(|lock| to_callee(self.program, lock, arguments)).collect();
                common = Some(match common {
                    None => named,
                    Some(known) => known.into_iter().filter(|lock| named.contains(lock)).collect(),
                });
            }
            if common.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        asked.remove(&method);
        for turn in self.turns_of(method).unwrap_or_default() {
            let named = self.inside(&turn);
            common = Some(match common {
                None => named,
                Some(known) => known.into_iter().filter(|lock| named.contains(lock)).collect(),
            });
        }
        let mut held = common.unwrap_or_default();
        held.retain(|lock| !is_for_new || lock.name.start == Start::Parameter(0));
        held.extend(asserted);
        Some(held)
    }
}

/// What an access touches: an object, and which element of it.
#[derive(Clone, Copy)]
struct Touched<'t> {
    object: &'t Name,
    keys: &'t [Key],
    /// Where it is touched, if by an access.
    spot: Option<Spot>,
    /// The event of the method that touches it.
    before: Option<EventId>,
}
