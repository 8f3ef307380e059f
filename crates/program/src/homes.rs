//! Which methods may have what stands out of a large program, told by their outlines and by what the code of their callees
//! names: two steps in sections that touch one variable, with no lock held over both.
//!
//! Summaries tell that exactly, and cost most of a check. What is asked here costs little, and rules out most methods.
//! Steps further than [`MAX_DEPTH`] calls away do not count: they are told of no large program.

use std::cell::LazyCell;
use std::sync::OnceLock;

use location::{FieldName, Symbol};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::calls::Calls;
use crate::captured::holds_something;
use crate::class::{FieldId, MethodId, Program};
use crate::model::{self, CallModel, Returns};
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Origin, Outline, Sources, Start};

/// How many calls away what is told of a large program may be.
const MAX_DEPTH: usize = 2;

/// What a step touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Touched {
    /// A field, or what it holds.
    Field(FieldId),
    /// What a parameter or a local holds.
    Parameter(u16),
    Local(u32),
}

/// One thing that one event touches.
#[derive(Clone, Copy)]
struct Touch {
    what: Touched,
    event: EventId,
    writes: bool,
    /// By the method itself, or an operation of a library that it calls.
    is_own: bool,
}

/// What may be asked of many methods.
pub(crate) struct Homes<'h> {
    program: &'h Program,
    calls: &'h Calls,
    /// By method: whether it leads to a section.
    leads: &'h [bool],
    /// Types of fields whose objects hold something: arrays, and what the library's models speak of.
    holding: FxHashSet<Symbol>,
    /// By method: what its code names and that of its callees, and whether it writes it; sorted.
    named: Vec<OnceLock<Box<[(FieldId, bool)]>>>,
}

impl<'h> Homes<'h> {
    pub(crate) fn new(program: &'h Program, calls: &'h Calls, leads: &'h [bool]) -> Homes<'h> {
        let named = (0..program.known_method_count()).map(|_| OnceLock::new()).collect();
        Homes { program, calls, leads, holding: holding(program, calls), named }
    }

    /// Whether a method may have two such steps.
    pub(crate) fn may_be(&self, method: MethodId, outline: &Outline) -> bool {
        let sections: Vec<bool> = outline.events.iter().map(|event| self.is_in_section(method, event)).collect();
        let touches = self.touches(outline, &sections);
        let may_be_left = self.may_be_left(outline);
        let is_apart = |one: EventId, other: EventId| {
            let (one, other) = (&outline.events[one.index()], &outline.events[other.index()]);
            one.held.intersection(other.held).is_empty() || may_be_left || one.in_loop && other.in_loop
        };
        let flows = LazyCell::new(|| Flows::of(outline));
        let is_pair = |one: &Touch, other: &Touch| {
            one.event != other.event
                && is_apart(one.event, other.event)
                && (self.may_decide(outline, one, other, &flows) || self.may_decide(outline, other, one, &flows))
        };
        let of_one = |same: &[Touch]| {
            same.iter().enumerate().any(|(index, one)| same[index + 1..].iter().any(|other| is_pair(one, other)))
        };
        let events = || (0..outline.events.len() as u32).map(EventId).filter(|event| sections[event.index()]);
        touches.chunk_by(|one, other| one.what == other.what).any(of_one)
            || self.may_go_to_positions(outline, events, is_apart, &flows)
            || self.may_change_found(outline, events, is_apart)
    }

    /// Whether what a first step tells may decide on a second one, or become what it writes: it gets there, or is a question
    /// in a call that may throw, or a number that is taken and counted on. Of two steps in other methods only numbers are told.
    fn may_decide(&self, outline: &Outline, first: &Touch, second: &Touch, flows: &Flows<'_>) -> bool {
        let (is_number, is_question) = match &outline.events[first.event.index()].action {
            Action::Call { method, .. } => {
                let descriptor = self.program.names.text(method.descriptor);
                (descriptor.ends_with(")I") || descriptor.ends_with(")J"), descriptor.ends_with(")V"))
            }
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                (matches!(self.program.names.text(field.descriptor), "I" | "J"), false)
            }
            _ => (false, false),
        };
        is_number && second.writes
            || (first.is_own || second.is_own)
                && (is_question && !first.is_own || flows.lead(first.event, second.event))
    }

    /// Whether something that is found in a container, or what it has, may be changed.
    fn may_change_found<E: Iterator<Item = EventId>>(
        &self,
        outline: &Outline,
        events: impl Fn() -> E,
        is_apart: impl Fn(EventId, EventId) -> bool,
    ) -> bool {
        let is_look = |found: EventId| match &outline.events[found.index()].action {
            Action::Call { method, .. } => self.calls.model(self.program, *method, method.class).is_some_and(|model| {
                model.access != model::Access::None && matches!(model.returns, Returns::FromState)
            }),
            Action::Read { member, .. } => *member == Member::Elements,
            _ => false,
        };
        let changed = |event: EventId| match &outline.events[event.index()].action {
            Action::Write { base, .. } => Some(base.start),
            Action::Call { arguments, .. } => arguments.first().map(|receiver| receiver.name.start),
            _ => None,
        };
        events().any(|event| match changed(event) {
            Some(Start::Result(found)) => is_look(found) && is_apart(found, event),
            _ => false,
        })
    }

    /// Whether a section may be let go by a wait, here or in what is called.
    fn may_be_left(&self, outline: &Outline) -> bool {
        let waits = |event: &Event| match &event.action {
            Action::Wait(_) => true,
            Action::Call { method, .. } => {
                let name = self.program.names.text(method.name);
                name == "wait" || name.starts_with("await")
            }
            _ => false,
        };
        outline.events.iter().any(waits) || !outline.waits.is_empty()
    }

    /// Whether a number from one section may say where another one looks, be it in another variable.
    fn may_go_to_positions<E: Iterator<Item = EventId>>(
        &self,
        outline: &Outline,
        events: impl Fn() -> E,
        is_apart: impl Fn(EventId, EventId) -> bool,
        flows: &Flows<'_>,
    ) -> bool {
        let text = |symbol: Symbol| self.program.names.text(symbol);
        let goes_there = |event: &EventId| match &outline.events[event.index()].action {
            Action::Read { member, .. } | Action::Write { member, .. } => *member == Member::Elements,
            Action::Call { method, .. } => text(method.descriptor).starts_with("(I"),
            _ => false,
        };
        let tells = |event: &EventId| match &outline.events[event.index()].action {
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => text(field.descriptor) == "I",
            Action::Call { method, .. } => text(method.descriptor).ends_with(")I"),
            _ => false,
        };
        let targets: SmallVec<[EventId; 8]> = events().filter(goes_there).collect();
        let leads = |read: EventId| {
            targets.iter().any(|target| *target != read && is_apart(read, *target) && flows.lead(read, *target))
        };
        !targets.is_empty() && events().filter(tells).any(leads)
    }

    /// What the method touches in sections, by what it is.
    fn touches(&self, outline: &Outline, sections: &[bool]) -> Vec<Touch> {
        let mut touches = Vec::new();
        for event in (0..outline.events.len() as u32).map(EventId).filter(|event| sections[event.index()]) {
            self.add_touches(outline, event, &mut touches);
        }
        touches.sort_unstable_by_key(|touch: &Touch| (touch.what, touch.event));
        touches
    }

    /// Whether an event may be in a section, or be one.
    fn is_in_section(&self, home: MethodId, event: &Event) -> bool {
        if !event.held.is_empty() || !event.perhaps.is_empty() {
            return true;
        }
        let is_volatile = |field: FieldName| self.program.is_volatile_field(field);
        match &event.action {
            Action::Read { base, member, .. } | Action::Write { base, member, .. } => match member {
                Member::Field(field) | Member::Static(field) => {
                    is_volatile(*field) || self.program.is_behind_replaced(base)
                }
                Member::Elements | Member::State(_) => false,
            },
            Action::Call { kind, method, .. } => {
                let of_library = |model: CallModel| {
                    model.section != model::Section::None
                        || model.access != model::Access::None && self.calls.is_behind_interface(home)
                };
                self.calls.model(self.program, *method, method.class).is_some_and(of_library)
                    || self.lead_on(self.calls.targets(self.program, *kind, *method).known())
            }
            Action::Lambda { method, .. } => self.lead_on(self.calls.lambda_targets(self.program, *method).known()),
            Action::Wait(_) => false,
        }
    }

    /// Whether methods, or what they call, go through a section.
    fn lead_on(&self, methods: &[MethodId]) -> bool {
        let leads = |method: &MethodId| self.leads[method.index()];
        methods.iter().any(|method| leads(method) || self.calls.callees(*method).iter().any(leads))
    }

    fn add_touches(&self, outline: &Outline, event: EventId, touches: &mut Vec<Touch>) {
        let mut add = |what: Touched, writes: bool, is_own: bool| touches.push(Touch { what, event, writes, is_own });
        match &outline.events[event.index()].action {
            Action::Read { base, member, .. } | Action::Write { base, member, .. } => {
                let writes = matches!(outline.events[event.index()].action, Action::Write { .. });
                match member {
                    Member::Field(field) | Member::Static(field) => {
                        let field = self.program.resolve_field(*field);
                        let field = field.filter(|field| !self.program.field(*field).access.is_final());
                        field.into_iter().for_each(|field| add(Touched::Field(field), writes, true));
                    }
                    Member::Elements | Member::State(_) => {
                        self.held_by(outline, base).into_iter().for_each(|what| add(what, writes, true));
                    }
                }
            }
            Action::Call { kind, method, arguments } => {
                let targets = self.calls.targets(self.program, *kind, *method);
                self.add_named(targets.known(), |field, writes| add(Touched::Field(field), writes, false));
                let model = self.calls.model(self.program, *method, method.class);
                self.add_arguments(outline, arguments, model, targets.known(), &mut add);
            }
            Action::Lambda { method, arguments, .. } => {
                let targets = self.calls.lambda_targets(self.program, *method);
                self.add_named(targets.known(), |field, writes| add(Touched::Field(field), writes, false));
                self.add_arguments(outline, arguments, None, targets.known(), &mut add);
            }
            Action::Wait(_) => {}
        }
    }

    /// What a call touches of what it is given.
    fn add_arguments(
        &self,
        outline: &Outline,
        arguments: &[Argument],
        model: Option<CallModel>,
        targets: &[MethodId],
        add: &mut impl FnMut(Touched, bool, bool),
    ) {
        let is_touched = |model: CallModel| model.effects().next().is_some();
        let is_of_library = model.is_some_and(is_touched);
        if !is_of_library && !self.lead_on(targets) {
            return;
        }
        let writes = model.is_none_or(|model| model.effects().any(|effect| effect.access != model::Access::Read));
        for argument in arguments {
            for what in self.held_by(outline, &argument.name) {
                add(what, writes || !targets.is_empty(), is_of_library);
            }
        }
    }

    /// What has the contents of an object with such a name; what a call yields may come from anything that its code names.
    fn held_by(&self, outline: &Outline, name: &Name) -> SmallVec<[Touched; 4]> {
        let mut all = SmallVec::new();
        let fields = name.steps.iter().filter_map(|step| match step {
            NameStep::Field(field) => Some(*field),
            _ => None,
        });
        if let Some(field) = fields.last() {
            all.extend(self.program.resolve_field(field).map(Touched::Field));
            return all;
        }
        match name.start {
            Start::Parameter(position) => all.push(Touched::Parameter(position)),
            Start::Static(field) => all.extend(self.program.resolve_field(field).map(Touched::Field)),
            Start::Local(register) => all.push(Touched::Local(register)),
            Start::Result(event) | Start::Element(event) => self.add_yielded(outline, event, &mut all),
            Start::New(_) | Start::Class(_) | Start::Unknown => {}
        }
        all
    }

    /// What a call yields is held by.
    fn add_yielded(&self, outline: &Outline, event: EventId, all: &mut SmallVec<[Touched; 4]>) {
        let Action::Call { kind, method, arguments } = &outline.events[event.index()].action else { return };
        let targets = self.calls.targets(self.program, *kind, *method);
        self.add_named(targets.known(), |field, _| all.push(Touched::Field(field)));
        if targets.known().is_empty()
            && let Some(receiver) = arguments.first()
            && receiver.name.start != Start::Result(event)
        {
            // A view, an iterator or an element belongs to what it was taken from.
            match receiver.name.start {
                Start::Result(earlier) if earlier >= event => {}
                _ => all.extend(self.held_by(outline, &receiver.name)),
            }
        }
    }

    /// The fields that the code of methods names, and that of what they call.
    fn add_named(&self, methods: &[MethodId], mut add: impl FnMut(FieldId, bool)) {
        for method in methods {
            self.named(*method, MAX_DEPTH).iter().for_each(|(field, writes)| add(*field, *writes));
        }
    }

    fn named(&self, method: MethodId, depth: usize) -> &[(FieldId, bool)] {
        self.named[method.index()].get_or_init(|| {
            let mut all = Vec::new();
            self.add_own_named(method, &mut all);
            if depth > 1 {
                self.calls.callees(method).iter().for_each(|callee| self.add_own_named(*callee, &mut all));
            }
            all.sort_unstable();
            all.dedup();
            all.into()
        })
    }

    fn add_own_named(&self, method: MethodId, all: &mut Vec<(FieldId, bool)>) {
        let counts = |field: &FieldId| {
            let field = self.program.field(*field);
            !field.access.is_final() || self.holding.contains(&field.descriptor)
        };
        let touched = &self.calls.touched;
        let (reads, writes) = (touched.reads(method).iter(), touched.writes(method).iter());
        all.extend(reads.copied().filter(counts).map(|field| {
            // What it holds may be changed where it is read.
            (field, self.holding.contains(&self.program.field(field).descriptor))
        }));
        all.extend(writes.copied().filter(counts).map(|field| (field, true)));
    }
}

/// The types of fields whose objects hold something.
fn holding(program: &Program, calls: &Calls) -> FxHashSet<Symbol> {
    let mut seen: FxHashSet<Symbol> = FxHashSet::default();
    let fields = (0..program.class_of_field.len() as u32).map(FieldId).map(|field| program.field(field).descriptor);
    let types: Vec<Symbol> = fields.filter(|descriptor| seen.insert(*descriptor)).collect();
    let is_any = |descriptor: &Symbol| program.names.text(*descriptor) == "Ljava/lang/Object;";
    let holds = |descriptor: &Symbol| !is_any(descriptor) && holds_something(program, calls, *descriptor);
    types.into_iter().filter(holds).collect()
}

/// Which events what is read or yielded by others may get to.
struct Flows<'f> {
    outline: &'f Outline,
    /// Objects that several events use, sorted: what one puts into them another one may find there.
    uses: Vec<(Object, EventId)>,
}

/// An object by what a name of it starts with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    New(u32),
    Local(u32),
    Yielded(EventId),
}

impl Object {
    fn of(name: &Name) -> Option<Object> {
        match name.start {
            Start::New(register) => Some(Object::New(register)),
            Start::Local(register) => Some(Object::Local(register)),
            Start::Result(event) | Start::Element(event) => Some(Object::Yielded(event)),
            _ => None,
        }
    }
}

impl<'f> Flows<'f> {
    fn of(outline: &'f Outline) -> Flows<'f> {
        let mut uses = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            let mut add = |name: &Name| uses.extend(Object::of(name).map(|object| (object, EventId(index as u32))));
            match &event.action {
                Action::Read { base, .. } => add(base),
                Action::Write { base, stored, .. } => [base, &stored.name].into_iter().for_each(add),
                Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                    arguments.iter().for_each(|argument| add(&argument.name));
                }
                Action::Wait(_) => {}
            }
        }
        uses.sort_unstable();
        uses.dedup();
        Flows { outline, uses }
    }

    /// Whether what the first event reads or yields may decide whether the second one happens, or be part of what it does.
    fn lead(&self, first: EventId, second: EventId) -> bool {
        let mut seen = vec![false; self.outline.events.len()];
        let mut pending: Vec<EventId> = Vec::new();
        let reach = |sources: &Sources, pending: &mut Vec<EventId>| {
            pending.extend(sources.iter().filter_map(|source| match source.origin {
                Origin::Event(event) => Some(event),
                Origin::Parameter(_) => None,
            }));
        };
        for condition in self.outline.events[second.index()].control.iter() {
            reach(&self.outline.conditions[*condition as usize].sources, &mut pending);
        }
        let mut expanded = Some(second);
        while let Some(event) = expanded.take().or_else(|| pending.pop()) {
            if event == first && event != second {
                return true;
            }
            if std::mem::replace(&mut seen[event.index()], true) {
                continue;
            }
            let use_of = |name: &Name, pending: &mut Vec<EventId>| {
                let Some(object) = Object::of(name) else { return };
                let start = self.uses.partition_point(|(other, _)| *other < object);
                let same = self.uses[start..].iter().take_while(|(other, _)| *other == object);
                pending.extend(same.map(|(_, event)| *event));
                if let Object::Yielded(event) = object {
                    pending.push(event);
                }
            };
            match &self.outline.events[event.index()].action {
                Action::Read { base, address, .. } => {
                    reach(address, &mut pending);
                    use_of(base, &mut pending);
                }
                Action::Write { base, address, value, stored, .. } => {
                    [address, value, &stored.sources].into_iter().for_each(|sources| reach(sources, &mut pending));
                    [base, &stored.name].into_iter().for_each(|name| use_of(name, &mut pending));
                }
                Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
                    for argument in arguments {
                        reach(&argument.sources, &mut pending);
                        use_of(&argument.name, &mut pending);
                    }
                }
                Action::Wait(_) => {}
            }
        }
        false
    }
}
