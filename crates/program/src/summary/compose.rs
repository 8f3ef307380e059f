//! Puts callees' summaries into an outline.

use location::{ClassName, MethodName};
use smallvec::SmallVec;

use super::decide::{Guard, looks_ahead, used};
use super::holding::Holdings;
use super::influences::{Gathering, Sets, SetsByThread, taken_out};
use super::inside::Put;
use super::map_part::MapPart;
use super::through::is_settled;
use super::within::is_next;
use super::{
    Access, AccessId, Comparisons, Extent, Handed, Influence, Influences, MAX_SECTIONS, Root, Spot, Summary,
    SummarySection, Waiting,
};
use crate::calls::Calls;
use crate::captured::Local;
use crate::class::{MethodId, Program};
use crate::outline::{
    Action, Argument, Event, EventId, Member, Name, NameStep, Object, Origin, Outline, SectionSet, Sources, Start,
    Steps,
};
use crate::path::MAX_STEPS;

/// Passes over the events of one method.
const MAX_PASSES: usize = 4;

/// What composing the methods of one component needs to know.
pub(super) struct Compose<'c> {
    pub(super) program: &'c Program,
    pub(super) calls: &'c Calls,
    pub(super) holdings: &'c Holdings,
    pub(super) component: &'c [MethodId],
    pub(super) extent: Extent,
}

impl<'c> Compose<'c> {
    pub(super) fn of<'s>(
        &self,
        method: MethodId,
        outline: &Outline,
        known: &dyn Fn(MethodId) -> Option<&'s Summary>,
        sets: &SetsByThread,
    ) -> Summary {
        sets.with(|sets| {
            let composing = self.composed(method, outline, known, sets);
            (composing.summary, composing.sets)
        })
    }

    pub(super) fn composed<'a, 's>(
        &'a self,
        method: MethodId,
        outline: &'a Outline,
        known: &'a dyn Fn(MethodId) -> Option<&'s Summary>,
        mut sets: Sets,
    ) -> Composing<'a, 's> {
        let (accesses, sections) = (std::mem::take(&mut sets.accesses), std::mem::take(&mut sets.sections));
        let composing = Composing {
            program: self.program,
            calls: self.calls,
            holdings: self.holdings,
            id: method,
            method: self.program.method_name(method),
            captured: self.holdings.captured_in(method),
            component: self.component,
            extent: self.extent,
            outline,
            known,
            summary: Summary { accesses, sections, ..Summary::default() },
            last_held: Vec::new(),
            last_waits: Vec::new(),
            at: EventId(0),
            own: Vec::new(),
            influence: vec![Influences::default(); outline.events.len()],
            result_name: vec![None; outline.events.len()],
            result_class: vec![None; outline.events.len()],
            handed_out: vec![None; outline.events.len()],
            element_of: vec![None; outline.events.len()],
            element_name: vec![None; outline.events.len()],
            gone_over: vec![None; outline.events.len()],
            found: None,
            parts: vec![None; outline.events.len()],
            within: vec![None; outline.events.len()],
            controls: Vec::new(),
            is_used: used(self.program, outline),
            is_taken: vec![false; outline.events.len()],
            is_emptied: vec![false; outline.events.len()],
            emptied: SmallVec::new(),
            inside: Vec::new(),
            is_task: false,
            guards: Vec::new(),
            sets,
        };
        composing.run()
    }
}

pub(super) struct Composing<'c, 's> {
    pub(super) program: &'c Program,
    pub(super) calls: &'c Calls,
    pub(super) holdings: &'c Holdings,
    pub(super) id: MethodId,
    pub(super) method: MethodName,
    /// What the method has of locals that tasks capture.
    pub(super) captured: &'c [Local],
    /// Methods that call each other, this one among them.
    pub(super) component: &'c [MethodId],
    pub(super) extent: Extent,
    pub(super) outline: &'c Outline,
    pub(super) known: &'c dyn Fn(MethodId) -> Option<&'s Summary>,
    pub(super) summary: Summary,
    /// By access: what was held there in the last pass, for accesses that this pass has not come to.
    last_held: Vec<SectionSet>,
    /// The waits that the last pass found.
    pub(super) last_waits: Vec<Waiting>,
    /// The event that is being put in.
    pub(super) at: EventId,
    /// By section of the outline: its number in the summary, or that of the section it is a part of.
    own: Vec<Option<usize>>,
    /// By event: where the value that it yields comes from.
    pub(super) influence: Vec<Influences>,
    /// By event: the name of the object that it yields, from this method's side.
    pub(super) result_name: Vec<Option<Name>>,
    pub(super) result_class: Vec<Option<ClassName>>,
    /// By event: the function that a call has handed out.
    pub(super) handed_out: Vec<Option<Handed>>,
    /// By event: what it goes over, if it yields one element after the other.
    pub(super) element_of: Vec<Option<Name>>,
    /// By event: what the elements of the stream that it yields are called, or what the `Optional` has.
    pub(super) element_name: Vec<Option<Name>>,
    /// By event: the container whose elements a stream has.
    pub(super) gone_over: Vec<Option<Box<Name>>>,
    /// How a callee that is put in calls what it returns, and the call.
    pub(super) found: Option<(Start, EventId)>,
    /// By event: which part of a map it yields, or goes over.
    pub(super) parts: Vec<Option<MapPart>>,
    /// By event: the container that has what it yields.
    pub(super) within: Vec<Option<Box<Name>>>,
    /// What decides whether the events of a block happen, where that is settled.
    pub(super) controls: Vec<(u32, SectionSet, Influences)>,
    /// By event: whether a condition or the result depends on what it yields.
    pub(super) is_used: Vec<bool>,
    /// By event: whether it yields what was taken out of a container.
    pub(super) is_taken: Vec<bool>,
    /// By event: it yields a container whose elements were taken out of where they were, all of them.
    pub(super) is_emptied: Vec<bool>,
    /// Registers of new containers that have such elements, and no others.
    pub(super) emptied: SmallVec<[u32; 1]>,
    /// What was put into objects that only this method has a name for.
    pub(super) inside: Vec<Put>,
    /// What is being put in runs in another thread.
    pub(super) is_task: bool,
    /// Calls that throw on some condition.
    pub(super) guards: Vec<Guard>,
    /// What callees' sets have become at other calls.
    pub(super) sets: Sets,
}

impl Composing<'_, '_> {
    fn run(mut self) -> Self {
        let looks_ahead = looks_ahead(self.outline);
        // A value carried around a loop comes from an event further down: what a pass learns of events, the next one
        // uses.
        for _ in 0..MAX_PASSES {
            let last = std::mem::take(&mut self.summary);
            self.last_held.clear();
            self.last_held.extend(last.accesses.iter().map(|access| access.held));
            self.last_waits = last.waits;
            (self.summary.accesses, self.summary.sections) = (last.accesses, last.sections);
            self.summary.accesses.clear();
            self.summary.sections.clear();
            self.own.clear();
            self.controls.clear();
            self.guards.clear();
            self.own_sections();
            let before = looks_ahead.then(|| (self.influence.clone(), self.result_name.clone()));
            for (index, event) in self.outline.events.iter().enumerate() {
                self.at = EventId(index as u32);
                self.event(self.at, event);
            }
            match before {
                Some((influence, name)) if influence != self.influence || name != self.result_name => {}
                _ => break,
            }
        }
        self.results();
        self.summary.looks_ahead = self.summary.accesses.iter().enumerate().any(|(number, access)| {
            ![&access.value, &access.address, &access.control].into_iter().all(|from| is_settled(from, number))
        });
        let accesses = taken_out(&mut self.summary.accesses);
        let sections = taken_out(&mut self.summary.sections);
        self.sets.accesses = std::mem::replace(&mut self.summary.accesses, accesses);
        self.sets.sections = std::mem::replace(&mut self.summary.sections, sections);
        self
    }

    pub(super) fn spot(&self, pc: u32, line: Option<u32>) -> Spot {
        Spot { method: self.method, pc, line }
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

    /// Where values of the outline come from, in the summary's terms.
    pub(super) fn influences(&self, sources: &Sources) -> Influences {
        let mut all = Gathering::default();
        self.gather(&mut all, sources);
        all.finish()
    }

    pub(super) fn gather(&self, all: &mut Gathering, sources: &Sources) {
        for source in sources {
            let ended = self.sections(source.ended);
            if let Origin::Event(event) = source.origin
                && let waited = self.let_go_since(event)
                && !waited.is_empty()
            {
                for influence in &self.influence[event.index()] {
                    let open = match influence.root {
                        Root::Access(access) => self.held_at(access).intersection(waited),
                        Root::Parameter(_) => SectionSet::default(),
                    };
                    all.add(Influence { root: influence.root, ended: influence.ended.union(ended).union(open) });
                }
                continue;
            }
            match source.origin {
                Origin::Parameter(position) => all.add(Influence { root: Root::Parameter(position), ended }),
                Origin::Event(event) if ended.is_empty() => all.add_all(&self.influence[event.index()]),
                Origin::Event(event) => {
                    for influence in &self.influence[event.index()] {
                        all.add(Influence { root: influence.root, ended: influence.ended.union(ended) });
                    }
                }
            }
        }
    }

    pub(super) fn held_at(&self, access: AccessId) -> SectionSet {
        let known = self.summary.accesses.get(access.index()).map(|access| access.held);
        known.or_else(|| self.last_held.get(access.index()).copied()).unwrap_or_default()
    }

    /// Influences with the sections ended that were open at their accesses and are not open here.
    pub(super) fn brought_to(&self, influences: Influences, held: SectionSet) -> Influences {
        influences.with_ended(|root| match root {
            Root::Access(access) => self.held_at(access).without(held),
            Root::Parameter(_) => SectionSet::default(),
        })
    }

    /// Whether there is no room for another access; then something is being left out.
    pub(super) fn is_full(&mut self) -> bool {
        let is_full = self.summary.accesses.len() == self.extent.accesses;
        // A branch, and not `|=`: of that, a release build by rustc 1.95 makes code that says of all summaries that they
        // are cut.
        if is_full {
            self.summary.is_cut = true;
        }
        is_full
    }

    /// The same of accesses of callees.
    pub(super) fn is_full_for_callees(&mut self) -> bool {
        let is_full = self.summary.accesses.len() >= self.extent.callees;
        if is_full {
            self.summary.is_cut = true;
        }
        is_full
    }

    fn event(&mut self, id: EventId, event: &Event) {
        match &event.action {
            Action::Read { base, member, address } => {
                let is_fixed = match member {
                    Member::Field(field) | Member::Static(field) => self.program.is_final_field(*field),
                    Member::Elements | Member::State(_) => false,
                };
                self.influence[id.index()] = if is_fixed {
                    // What never changes is as old as the object that it was read from.
                    self.influences(address)
                } else {
                    self.read(id, event, base, *member, address)
                };
                let step = match member {
                    Member::Field(field) => Some(NameStep::Field(*field)),
                    _ => None,
                };
                self.result_name[id.index()] = step.map(|step| extend(self.settle(base), &[step]));
            }
            Action::Write { base, member, address, value, stored } => {
                self.add_own(id, event, base, *member, address, Some((value, stored)));
                self.take_out_of_field(id, event, base, *member, stored);
            }
            Action::Call { kind, method, arguments } => self.call(id, event, *kind, *method, arguments),
            Action::Wait(sections) => self.wait(id, event, *sections),
            Action::Lambda { .. } => {}
        }
    }

    /// Adds an access of the method itself.
    pub(super) fn add_own(
        &mut self,
        id: EventId,
        event: &Event,
        base: &Name,
        member: Member,
        address: &Sources,
        value: Option<(&Sources, &Argument)>,
    ) -> Option<AccessId> {
        if self.is_full() {
            return None;
        }
        let control = self.control(id, event);
        let mut held = self.sections(event.held);
        let mut stored = Gathering::default();
        if let Some((sources, argument)) = value {
            self.gather(&mut stored, sources);
            stored.add_all(&self.contents(&argument.name, held));
        }
        if let Some(section) = self.volatile_section(id, event, base, member) {
            held.insert(section);
        }
        self.add_access(Access {
            base: self.settle(base),
            member,
            is_write: value.is_some(),
            spot: self.spot(event.pc, event.line),
            event: id,
            held,
            value: stored.finish(),
            address: self.influences(address),
            control,
            guards: self.guards(event),
            awaited: self.awaited(event),
            expects: Influences::default(),
            is_compound: false,
            is_passed_on: false,
            is_repeatable: false,
            is_refusing: false,
            is_removal: false,
            is_mapped: false,
            is_keyed: false,
            keys: event.key.map(|key| self.settle_key(key)).into_iter().collect(),
            is_of_keys: false,
            is_of_values: false,
            is_of_each: self.is_each(base, event) || is_next(base, address, id, event),
            is_given: false,
            within: self.within(base),
            compared: if value.is_some() { self.compared(event) } else { Comparisons::default() },
        })
    }

    pub(super) fn add_access(&mut self, access: Access) -> Option<AccessId> {
        if self.is_full() {
            return None;
        }
        self.put(&access);
        self.summary.accesses.push(access);
        Some(AccessId(self.summary.accesses.len() as u32 - 1))
    }

    fn results(&mut self) {
        let mut result = Gathering::default();
        self.gather(&mut result, &self.outline.result);
        for object in &self.outline.returned {
            // What was put into it by way of calls, too.
            let start = match *object {
                Object::New { register, .. } => Start::New(register),
                Object::Event(event) => Start::Result(event),
                _ => continue,
            };
            result.add_all(&self.contents(&Name::start(start), SectionSet::default()));
        }
        self.summary.result = result.finish();
        self.summary.refusals = self.refusals();
        self.summary.awaited = self.awaited_for();
        self.summary.hands_over = self.hands_over();
        self.summary.hands_over_elements = self.hands_over_elements();
        self.summary.taken = self.taken();
        let returned = self.outline.returns.as_ref().map(|name| self.settle(name)).filter(is_outside);
        let returned = returned.or_else(|| self.one_name().filter(is_outside));
        self.summary.returns = returned.filter(|_| !self.empties());
        self.summary.within = self.within_one(&self.outline.returned);
        self.summary.found = self.found();
        self.summary.function = self.function();
        self.summary.makes = self.outline.makes;
        if let Some(Name { start: Start::Result(event), steps }) = &self.outline.returns
            && steps.is_empty()
        {
            self.summary.makes = self.summary.makes.or(self.result_class[event.index()]);
        }
    }
}

/// Whether a caller can name it.
fn is_outside(name: &Name) -> bool {
    matches!(name.start, Start::Parameter(_) | Start::Static(_) | Start::Class(_))
        && !name.steps.iter().any(|step| matches!(step, NameStep::Element(_)))
}

pub(super) fn extend(name: Name, steps: &[NameStep]) -> Name {
    if name.is_unknown() {
        return name;
    }
    if name.steps.len() + steps.len() > MAX_STEPS {
        return Name::start(Start::Unknown);
    }
    name.then(steps)
}

/// The same by the steps of another name, which are shared if they are all.
pub(super) fn extend_by(name: &Name, steps: &Steps) -> Name {
    if name.steps.is_empty() && !name.is_unknown() && steps.len() <= MAX_STEPS {
        return Name { start: name.start, steps: steps.clone() };
    }
    extend(name.clone(), steps)
}
