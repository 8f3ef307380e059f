//! Puts callees' summaries into an outline.

use location::{ClassName, MethodName};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::holding::Holdings;
use super::order::components;
use super::{Access, AccessId, Compared, Influence, Influences, MAX_ACCESSES, MAX_SECTIONS, Root, Spot, Summary, SummarySection};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::outline::{
    Action, Argument, Event, EventId, Member, Name, NameStep, Object, Origin, Outline, SectionSet, Sources, Start,
};
use crate::path::MAX_STEPS;

/// Rounds within a component of methods that call each other.
const ROUNDS: usize = 3;

/// Passes over the events of one method.
const MAX_PASSES: usize = 4;

/// More influences than this are cut.
const MAX_INFLUENCES: usize = 24;

/// Outlines and summaries of all methods that were asked for.
pub struct Summaries {
    pub outlines: Vec<Option<Outline>>,
    pub summaries: Vec<Option<Summary>>,
    pub holdings: Holdings,
}

impl Summaries {
    /// Outlines and summarises the methods that `wanted` accepts.
    pub fn of(program: &Program, calls: &Calls, wanted: impl Fn(MethodId) -> bool + Sync) -> Summaries {
        let outlines = outlines(program, &wanted);
        let holdings = Holdings::of(program, calls, &outlines);
        let mut all = Summaries { outlines, summaries: Vec::new(), holdings };
        all.summaries.resize_with(program.known_method_count(), || None);
        for level in levels(calls, components(calls, program.known_method_count(), &wanted)) {
            let done: Vec<Vec<(MethodId, Summary)>> =
                level.par_iter().map(|component| all.component(program, calls, component)).collect();
            for (method, summary) in done.into_iter().flatten() {
                all.summaries[method.index()] = Some(summary);
            }
        }
        all
    }

    pub fn summary(&self, method: MethodId) -> Option<&Summary> {
        self.summaries[method.index()].as_ref()
    }

    pub fn outline(&self, method: MethodId) -> Option<&Outline> {
        self.outlines[method.index()].as_ref()
    }

    fn component(&self, program: &Program, calls: &Calls, members: &[MethodId]) -> Vec<(MethodId, Summary)> {
        let mut done: Vec<(MethodId, Summary)> = Vec::new();
        let is_recursive = members.len() > 1 || calls.callees(members[0]).contains(&members[0]);
        for _ in 0..if is_recursive { ROUNDS } else { 1 } {
            let mut next = Vec::new();
            for member in members {
                let Some(outline) = self.outline(*member) else { continue };
                let known = |method: MethodId| {
                    done.iter().find(|(other, _)| *other == method).map(|(_, summary)| summary).or(self.summary(method))
                };
                let composing = compose(program, calls, &self.holdings, *member, members, outline, &known);
                next.push((*member, composing.summary));
            }
            if next == done {
                break;
            }
            done = next;
        }
        done
    }
}

/// By method: its outline, if `wanted` accepts it and it has code that can be read.
pub(crate) fn outlines(program: &Program, wanted: impl Fn(MethodId) -> bool + Sync) -> Vec<Option<Outline>> {
    let mut outlines: Vec<Option<Outline>> = Vec::new();
    outlines.resize_with(program.known_method_count(), || None);
    let matters = |_: MethodName| true;
    let made = program.visit_bodies(wanted, |method, body| (method, crate::outline::outline(program, &body, matters)));
    for (method, outline) in made.into_iter().flatten() {
        outlines[method.index()] = Some(outline);
    }
    outlines
}

/// Components grouped so that each group needs only earlier ones.
fn levels(calls: &Calls, components: Vec<Vec<MethodId>>) -> Vec<Vec<Vec<MethodId>>> {
    let highest = components.iter().flatten().map(|method| method.index() + 1).max().unwrap_or(0);
    let mut level_of = vec![None; highest];
    let mut levels: Vec<Vec<Vec<MethodId>>> = Vec::new();
    for component in components {
        let below = component
            .iter()
            .flat_map(|method| calls.callees(*method))
            .filter_map(|callee| level_of.get(callee.index()).copied().flatten())
            .max();
        let level = below.map_or(0, |below: usize| below + 1);
        for method in &component {
            level_of[method.index()] = Some(level);
        }
        if levels.len() == level {
            levels.push(Vec::new());
        }
        levels[level].push(component);
    }
    levels
}

pub(super) fn compose<'c, 's>(
    program: &'c Program,
    calls: &'c Calls,
    holdings: &'c Holdings,
    method: MethodId,
    component: &'c [MethodId],
    outline: &'c Outline,
    known: &'c dyn Fn(MethodId) -> Option<&'s Summary>,
) -> Composing<'c, 's> {
    let mut composing = Composing {
        program,
        calls,
        holdings,
        method: program.method_name(method),
        component,
        outline,
        known,
        summary: Summary::default(),
        last_held: Vec::new(),
        own: Vec::new(),
        influence: vec![Influences::new(); outline.events.len()],
        is_used: used(outline),
        is_taken: vec![false; outline.events.len()],
        inside: FxHashMap::default(),
        guards: Vec::new(),
        result_name: vec![None; outline.events.len()],
        result_class: vec![None; outline.events.len()],
    };
    // A value carried around a loop comes from an event further down: what a pass learns of events, the next one uses.
    for _ in 0..MAX_PASSES {
        let last = std::mem::take(&mut composing.summary);
        composing.last_held = last.accesses.into_iter().map(|access| access.held).collect();
        composing.own.clear();
        composing.guards.clear();
        composing.own_sections();
        let before = (composing.influence.clone(), composing.result_name.clone());
        for (index, event) in outline.events.iter().enumerate() {
            composing.event(EventId(index as u32), event);
        }
        let is_settled = before == (composing.influence.clone(), composing.result_name.clone());
        if is_settled || !(looks_ahead(outline) || composing.fills_in_a_loop()) {
            break;
        }
    }
    composing.results();
    composing.summary.taken = composing.taken();
    composing
}

/// Whether something in the outline depends on an event that comes later in the order of code.
fn looks_ahead(outline: &Outline) -> bool {
    let is_later = |sources: &Sources, index: usize| {
        sources.iter().any(|source| matches!(source.origin, Origin::Event(event) if event.index() >= index))
    };
    outline.events.iter().enumerate().any(|(index, event)| {
        let in_action = match &event.action {
            Action::Read { address, .. } => is_later(address, index),
            Action::Write { address, value, .. } => is_later(address, index) || is_later(value, index),
            Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => arguments.iter().any(|argument| {
                is_later(&argument.sources, index)
                    || matches!(argument.name.start, Start::Result(event) if event.index() >= index)
            }),
            Action::Wait(_) => false,
        };
        in_action
            || event.control.iter().any(|condition| is_later(&outline.conditions[*condition as usize].sources, index))
    }) || outline.sections.iter().any(|section| matches!(section.lock.start, Start::Result(_)))
}

pub(super) struct Composing<'c, 's> {
    pub(super) program: &'c Program,
    pub(super) calls: &'c Calls,
    pub(super) holdings: &'c Holdings,
    method: MethodName,
    /// Methods that call each other, this one among them.
    pub(super) component: &'c [MethodId],
    pub(super) outline: &'c Outline,
    pub(super) known: &'c dyn Fn(MethodId) -> Option<&'s Summary>,
    pub(super) summary: Summary,
    /// By access: what was held there in the last pass, for accesses that this pass has not come to.
    last_held: Vec<SectionSet>,
    /// By section of the outline: its number in the summary, or that of the section it is a part of.
    own: Vec<Option<usize>>,
    /// By event: where the value that it yields comes from.
    pub(super) influence: Vec<Influences>,
    /// By event: the name of the object that it yields, from this method's side.
    pub(super) result_name: Vec<Option<Name>>,
    pub(super) result_class: Vec<Option<ClassName>>,
    /// By event: whether a condition or the result depends on what it yields.
    pub(super) is_used: Vec<bool>,
    /// By event: whether it yields what was taken out of a container.
    pub(super) is_taken: Vec<bool>,
    /// What was put into objects that only this method has a name for.
    inside: FxHashMap<Start, Influences>,
    /// Calls that throw on some condition.
    guards: Vec<Guard>,
}

/// A call that returns only if something holds.
struct Guard {
    call: EventId,
    /// Where that comes from.
    question: Influences,
    /// By block: whether control gets there only if the call returned.
    follows: Vec<bool>,
}

fn used(outline: &Outline) -> Vec<bool> {
    let mut used = vec![false; outline.events.len()];
    for source in outline.conditions.iter().flat_map(|condition| &condition.sources).chain(&outline.result) {
        if let Origin::Event(event) = source.origin {
            used[event.index()] = true;
        }
    }
    used
}

impl Composing<'_, '_> {
    pub(super) fn spot(&self, pc: u32, line: Option<u32>) -> Spot {
        Spot { method: self.method, pc, line }
    }

    /// Whether something is put into a local object that an earlier event of a loop may find there.
    fn fills_in_a_loop(&self) -> bool {
        !self.inside.is_empty() && self.outline.events.iter().any(|event| event.in_loop)
    }

    fn own_sections(&mut self) {
        for section in &self.outline.sections {
            let lock = self.settle(&section.lock);
            if section.reentrant {
                let outer = self.find_section(self.sections(section.inside), &lock, section.kind);
                self.own.push(outer);
                continue;
            }
            let inside = self.sections(section.inside);
            let number = self.add_section(SummarySection {
                lock,
                kind: section.kind,
                mode: section.mode,
                spot: self.spot(section.pc, section.line),
                end_line: section.end_line,
                call: None,
                inside,
                is_method: section.is_method,
            });
            self.own.push(number);
        }
    }

    pub(super) fn add_section(&mut self, section: SummarySection) -> Option<usize> {
        if self.summary.sections.len() == MAX_SECTIONS {
            self.summary.is_cut = true;
            return None;
        }
        self.summary.sections.push(section);
        Some(self.summary.sections.len() - 1)
    }

    /// Sections of the outline as sections of the summary.
    pub(super) fn sections(&self, of_outline: SectionSet) -> SectionSet {
        let mut set = SectionSet::default();
        for section in of_outline.iter() {
            if let Some(Some(number)) = self.own.get(section) {
                set.insert(*number);
            }
        }
        set
    }

    /// A section in `among` on this lock.
    pub(super) fn find_section(&self, among: SectionSet, lock: &Name, kind: crate::LockKind) -> Option<usize> {
        among.iter().find(|number| {
            let section = &self.summary.sections[*number];
            section.kind == kind && section.lock.same(lock)
        })
    }

    /// A name with results of calls replaced by what the callee says they are.
    pub(super) fn settle(&self, name: &Name) -> Name {
        let Start::Result(event) = name.start else { return name.clone() };
        match self.result_name.get(event.index()).and_then(Option::as_ref) {
            Some(result) => extend(result.clone(), &name.steps),
            None => name.clone(),
        }
    }

    /// Where values of the outline come from, in the summary's terms.
    pub(super) fn influences(&self, sources: &Sources) -> Influences {
        let mut all = Influences::new();
        for source in sources {
            let ended = self.sections(source.ended);
            match source.origin {
                Origin::Parameter(position) => {
                    self.add_influence(&mut all, Influence { root: Root::Parameter(position), ended });
                }
                Origin::Event(event) => {
                    for influence in &self.influence[event.index()] {
                        let ended = influence.ended.union(ended);
                        self.add_influence(&mut all, Influence { root: influence.root, ended });
                    }
                }
            }
        }
        all
    }

    pub(super) fn held_at(&self, access: AccessId) -> SectionSet {
        let known = self.summary.accesses.get(access.index()).map(|access| access.held);
        known.or_else(|| self.last_held.get(access.index()).copied()).unwrap_or_default()
    }

    pub(super) fn add_influence(&self, all: &mut Influences, influence: Influence) {
        match all.binary_search_by_key(&influence.root, |known| known.root) {
            Ok(at) => all[at].ended = all[at].ended.union(influence.ended),
            Err(at) if all.len() < MAX_INFLUENCES => all.insert(at, influence),
            Err(_) => {}
        }
    }

    pub(super) fn control(&self, event: &Event) -> Influences {
        let mut all = Influences::new();
        let held = self.sections(event.held);
        for condition in &event.control {
            let waits = event.waited.iter().find(|(deciding, _)| deciding == condition);
            let waited = waits.map(|(_, sections)| self.sections(*sections)).unwrap_or_default();
            for mut influence in self.influences(&self.outline.conditions[*condition as usize].sources) {
                // Between the condition and here further sections may have ended.
                if let Root::Access(access) = influence.root {
                    let open = self.held_at(access);
                    influence.ended = influence.ended.union(open.without(held)).union(open.intersection(waited));
                }
                self.add_influence(&mut all, influence);
            }
        }
        all
    }

    /// Notes that a call returns only if something holds.
    pub(super) fn add_guard(&mut self, call: EventId, question: Influences) {
        if !question.is_empty() {
            self.guards.push(Guard { call, question, follows: self.outline.follows_surely(call) });
        }
    }

    /// What earlier calls made sure of, or thrown.
    pub(super) fn guards(&self, event: &Event) -> Influences {
        let mut all = Influences::new();
        let held = self.sections(event.held);
        for guard in &self.guards {
            let call = &self.outline.events[guard.call.index()];
            let comes_later = if call.block == event.block {
                call.pc < event.pc
            } else {
                guard.follows[event.block as usize]
            };
            for mut influence in guard.question.iter().copied().filter(|_| comes_later) {
                if let Root::Access(access) = influence.root {
                    let open = self.held_at(access);
                    influence.ended = influence.ended.union(open.without(held));
                }
                self.add_influence(&mut all, influence);
            }
        }
        all
    }

    /// The comparisons that an event takes for granted.
    pub(super) fn compared(&self, event: &Event) -> Vec<Compared> {
        let agreed = event.agreed.iter().map(|one| (*one, true));
        let differed = event.differed.iter().filter(|one| !event.agreed.contains(one)).map(|one| (*one, false));
        agreed
            .chain(differed)
            .filter_map(|(one, are_equal)| {
                let sides = self.outline.conditions[one as usize].sides.as_deref()?;
                Some(Compared { sides: [self.influences(&sides[0]), self.influences(&sides[1])], are_equal })
            })
            .filter(|compared| compared.sides.iter().all(|side| !side.is_empty()))
            .collect()
    }

    /// The section that one access of a volatile field is: nothing comes in between, and nothing goes with it.
    fn volatile_section(&mut self, id: EventId, event: &Event, base: &Name, member: Member) -> Option<usize> {
        let lock = match member {
            Member::Field(field) if self.program.is_volatile_field(field) => {
                extend(self.settle(base), &[NameStep::Field(field)])
            }
            Member::Static(field) if self.program.is_volatile_field(field) => Name::start(Start::Static(field)),
            _ => return None,
        };
        if lock.is_unknown() {
            return None;
        }
        self.add_section(SummarySection {
            lock,
            kind: crate::LockKind::Own,
            mode: crate::Mode::Exclusive,
            spot: self.spot(event.pc, event.line),
            end_line: event.line,
            call: Some(id),
            inside: self.sections(event.held),
            is_method: true,
        })
    }

    fn event(&mut self, id: EventId, event: &Event) {
        match &event.action {
            Action::Read { base, member, address } => {
                let mut access = self.access(id, event, base, *member, address, None);
                let mut ended = SectionSet::default();
                if let Some(section) = self.volatile_section(id, event, base, *member) {
                    access.held.insert(section);
                    ended.insert(section);
                }
                let is_fixed = match member {
                    Member::Field(field) | Member::Static(field) => self.program.is_final_field(*field),
                    Member::Elements | Member::State(_) => false,
                };
                if is_fixed {
                    // What never changes is as old as the object that it was read from.
                    self.influence[id.index()] = access.address;
                } else if let (place, Some(added)) = (access.address.clone(), self.add_access(access)) {
                    // What stands at an old position is as old as the position.
                    let mut yielded = if *member == Member::Elements { place } else { Influences::new() };
                    self.add_influence(&mut yielded, Influence { root: Root::Access(added), ended });
                    for influence in self.contents(base, self.sections(event.held)) {
                        self.add_influence(&mut yielded, influence);
                    }
                    self.influence[id.index()] = yielded;
                }
                let step = match member {
                    Member::Field(field) => Some(NameStep::Field(*field)),
                    _ => None,
                };
                self.result_name[id.index()] = step.map(|step| extend(self.settle(base), &[step]));
            }
            Action::Write { base, member, address, value, stored } => {
                let mut access = self.access(id, event, base, *member, address, Some(value));
                if let Some(section) = self.volatile_section(id, event, base, *member) {
                    access.held.insert(section);
                }
                for influence in self.contents(&stored.name, self.sections(event.held)) {
                    self.add_influence(&mut access.value, influence);
                }
                self.add_access(access);
            }
            Action::Call { kind, method, arguments } => self.call(id, event, *kind, *method, arguments),
            Action::Lambda { .. } | Action::Wait(_) => {}
        }
    }

    fn access(
        &self,
        id: EventId,
        event: &Event,
        base: &Name,
        member: Member,
        address: &Sources,
        value: Option<&Sources>,
    ) -> Access {
        Access {
            base: self.settle(base),
            member,
            is_write: value.is_some(),
            spot: self.spot(event.pc, event.line),
            event: id,
            held: self.sections(event.held),
            value: value.map(|value| self.influences(value)).unwrap_or_default(),
            address: self.influences(address),
            control: self.control(event),
            guards: self.guards(event),
            expects: Influences::new(),
            is_compound: false,
            is_repeatable: false,
            is_keyed: false,
            compared: if value.is_some() { self.compared(event) } else { Vec::new() },
        }
    }

    /// What was put into an object that only this method has a name for, as seen where `held` is open.
    pub(super) fn contents(&self, name: &Name, held: SectionSet) -> Influences {
        let mut all = Influences::new();
        if self.inside.is_empty() {
            return all;
        }
        for mut influence in self.inside.get(&self.settle(name).start).into_iter().flatten().copied() {
            if let Root::Access(access) = influence.root {
                influence.ended = influence.ended.union(self.held_at(access).without(held));
            }
            self.add_influence(&mut all, influence);
        }
        all
    }

    /// Where an argument comes from: the object itself, and what was put into it.
    pub(super) fn given(&self, argument: &Argument, held: SectionSet) -> Influences {
        let mut all = self.influences(&argument.sources);
        for influence in self.contents(&argument.name, held) {
            self.add_influence(&mut all, influence);
        }
        all
    }

    pub(super) fn add_access(&mut self, access: Access) -> Option<AccessId> {
        if access.is_write && is_local(&access.base) && !access.value.is_empty() {
            let mut known = self.inside.remove(&access.base.start).unwrap_or_default();
            for influence in &access.value {
                self.add_influence(&mut known, *influence);
            }
            self.inside.insert(access.base.start, known);
        }
        if self.summary.accesses.len() == MAX_ACCESSES {
            self.summary.is_cut = true;
            return None;
        }
        self.summary.accesses.push(access);
        Some(AccessId(self.summary.accesses.len() as u32 - 1))
    }

    /// The events that yield what was taken out of a container, in order.
    fn taken(&self) -> Vec<EventId> {
        let events = self.is_taken.iter().enumerate();
        events.filter(|(_, is_taken)| **is_taken).map(|(index, _)| EventId(index as u32)).collect()
    }

    /// Whether it returns what it took out of a container, and nothing else.
    fn hands_over(&self) -> bool {
        !self.outline.returned.is_empty()
            && self.outline.returned.iter().all(|object| match object {
                Object::Event(event) => self.is_taken[event.index()],
                _ => false,
            })
    }

    fn results(&mut self) {
        self.summary.result = self.influences(&self.outline.result);
        let mut refusals = Influences::new();
        for condition in &self.outline.refusals {
            for influence in self.influences(&self.outline.conditions[*condition as usize].sources) {
                self.add_influence(&mut refusals, influence);
            }
        }
        for influence in self.guards.iter().flat_map(|guard| &guard.question) {
            self.add_influence(&mut refusals, *influence);
        }
        for influence in &mut refusals {
            if let Root::Access(access) = influence.root {
                influence.ended = influence.ended.union(self.held_at(access));
            }
        }
        self.summary.refusals = refusals;
        self.summary.returns = self.outline.returns.as_ref().map(|name| self.settle(name)).filter(is_outside);
        self.summary.makes = self.outline.makes;
        self.summary.hands_over = self.hands_over();
        if let Some(Name { start: Start::Result(event), steps }) = &self.outline.returns
            && steps.is_empty()
        {
            self.summary.makes = self.summary.makes.or(self.result_class[event.index()]);
        }
    }
}

/// Whether only the method itself has a name for the object, or for what it is a part of.
pub(super) fn is_local(name: &Name) -> bool {
    matches!(name.start, Start::New(_) | Start::Result(_) | Start::Local(_))
}

/// Whether a caller can name it.
fn is_outside(name: &Name) -> bool {
    matches!(name.start, Start::Parameter(_) | Start::Static(_) | Start::Class(_))
        && !name.steps.iter().any(|step| matches!(step, NameStep::Element(_)))
}

pub(super) fn extend(mut name: Name, steps: &[NameStep]) -> Name {
    if name.is_unknown() {
        return name;
    }
    if name.steps.len() + steps.len() > MAX_STEPS {
        return Name::start(Start::Unknown);
    }
    name.steps.extend(steps.iter().copied());
    name
}
