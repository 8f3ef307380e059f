//! Which methods may have what stands out of a large program, told by their outlines and by what the code of their callees
//! names: two steps in sections that touch one variable, with no lock held over both, of which the first has to do with the
//! second.
//!
//! Summaries tell that exactly, and cost most of a check. What is asked here costs little, and rules out most methods.

mod flows;
mod named;

use std::borrow::Cow;
use std::cell::OnceCell;

use classfile::CallKind;
use location::{FieldName, Symbol};
use smallvec::SmallVec;

use self::flows::Flows;
use self::named::Named;
use crate::behind::returned;
use crate::calls::{Calls, Targets};
use crate::class::{FieldId, MethodId, Program};
use crate::habit::{is_by_habit, is_for_people};
use crate::model::{self, CallModel, Returns, Target};
use crate::outline::{Action, Argument, Event, EventId, Member, Name, NameStep, Outline, Start};

/// What a step touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Touched {
    /// A field, or what it holds.
    Field(FieldId),
    /// What a parameter holds.
    Parameter(u16),
}

/// Which part of something a step touches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The field, and not what it holds.
    Itself,
    /// What is held there.
    Contents,
    /// That, or what is found in it.
    Further,
    /// Any of these: a callee names the field.
    Any,
}

/// A step that touches something.
#[derive(Clone, Copy)]
struct Step {
    event: EventId,
    part: Part,
    writes: bool,
    /// By the method itself, or an operation of a library that it calls.
    is_own: bool,
}

/// Whether what a method does may be about what callers give.
pub(crate) struct IsGiven(pub(crate) bool);

/// What may be asked of many methods.
pub(crate) struct Homes<'h> {
    program: &'h Program,
    calls: &'h Calls,
    /// By method: whether it leads to a section.
    leads: &'h [bool],
    named: Named<'h>,
}

/// One method, as far as it is asked for.
struct Home<'h> {
    homes: &'h Homes<'h>,
    method: MethodId,
    outline: &'h Outline,
    /// Events that may be in a section, or be one.
    events: Vec<EventId>,
    /// Whether a wait may let a section go.
    may_be_left: bool,
    flows: OnceCell<Flows<'h>>,
    /// By parameter: whether it may hold something.
    may_hold: OnceCell<SmallVec<[bool; 8]>>,
}

impl<'h> Homes<'h> {
    pub(crate) fn new(program: &'h Program, calls: &'h Calls, leads: &'h [bool]) -> Homes<'h> {
        Homes { program, calls, leads, named: Named::new(program, calls) }
    }

    /// Whether a method may have two such steps, and whether they may be about what callers give. A method that is asked
    /// for in any case (`is_asked`) may have them.
    pub(crate) fn look(&self, method: MethodId, outline: &Outline, is_asked: bool) -> Option<IsGiven> {
        let home = self.home(method, outline);
        let own = home.own_steps();
        let may_be = || home.may_touch_again(&own) || home.may_go_to_positions() || home.may_change_found();
        let is_parameter = |(what, _): &&(Touched, Step)| matches!(what, Touched::Parameter(_));
        (is_asked || may_be()).then(|| {
            let given: Vec<(Touched, Step)> = own.iter().filter(is_parameter).copied().collect();
            IsGiven(home.may_be_pairs(&given, &[]))
        })
    }

    fn home<'a>(&'a self, method: MethodId, outline: &'a Outline) -> Home<'a> {
        let all = (0..outline.events.len() as u32).map(EventId);
        let events = all.filter(|event| self.is_in_section(method, &outline.events[event.index()])).collect();
        let may_be_left = outline.events.iter().any(|event| self.may_wait(event)) || !outline.waits.is_empty();
        let (flows, may_hold) = (OnceCell::new(), OnceCell::new());
        Home { homes: self, method, outline, events, may_be_left, flows, may_hold }
    }

    fn may_wait(&self, event: &Event) -> bool {
        match &event.action {
            Action::Wait(_) => true,
            Action::Call { method, .. } => {
                let name = self.program.names.text(method.name);
                name == "wait" || name.starts_with("await")
            }
            _ => false,
        }
    }

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
            Action::Call { kind, method, arguments } => {
                // What a wrapper or another class than the declared one would make of it.
                let may_be_behind = |model: CallModel| {
                    let is_given = model.effects().any(|effect| matches!(effect.target, Target::Argument(_)));
                    let receiver = arguments.first().filter(|_| *kind == CallKind::Interface);
                    is_given || receiver.is_some_and(|receiver| self.may_be_behind(&receiver.name))
                };
                let of_library = |model: CallModel| {
                    model.section != model::Section::None
                        || model.access != model::Access::None
                            && self.calls.is_behind_interface(home)
                            && may_be_behind(model)
                };
                self.calls.model(self.program, *method, method.class).is_some_and(of_library)
                    || self.lead_on(self.calls.targets(self.program, *kind, *method).known())
            }
            Action::Lambda { method, .. } => self.lead_on(self.calls.lambda_targets(self.program, *method).known()),
            Action::Wait(_) => false,
        }
    }

    /// Whether an object with such a name may be a container that synchronizes itself, as far as its field tells.
    fn may_be_behind(&self, name: &Name) -> bool {
        let field = crate::variable::holder(name).and_then(|field| self.program.resolve_field(field));
        field.is_none_or(|field| self.calls.behind.of_field(field))
    }

    /// Whether what a field holds is never told of: it locks because old containers all did, or is there for people.
    fn holds_little(&self, field: FieldId) -> bool {
        is_by_habit(self.program, field) || is_for_people(self.program, field)
    }

    /// Whether methods, or what they call, go through a section.
    fn lead_on(&self, methods: &[MethodId]) -> bool {
        let leads = |method: &MethodId| self.leads[method.index()];
        methods.iter().any(|method| leads(method) || self.calls.callees(*method).iter().any(leads))
    }

    /// What an event runs that is known by its code.
    fn targets(&self, event: &Event) -> Option<Cow<'_, Targets>> {
        let targets = match &event.action {
            Action::Call { kind, method, .. } => self.calls.targets(self.program, *kind, *method),
            Action::Lambda { method, .. } => self.calls.lambda_targets(self.program, *method),
            _ => return None,
        };
        (!targets.known().is_empty()).then_some(targets)
    }
}

impl Home<'_> {
    fn event(&self, event: EventId) -> &Event {
        &self.outline.events[event.index()]
    }

    /// Whether what one event reads or yields may decide on another one, or be part of what it does.
    fn lead(&self, first: EventId, second: EventId) -> bool {
        self.flows.get_or_init(|| Flows::of(self.outline)).lead(first, second)
    }

    fn text(&self, symbol: Symbol) -> &str {
        self.homes.program.names.text(symbol)
    }

    /// Whether no lock is held from one event to the other, for all that is known.
    fn are_apart(&self, one: EventId, other: EventId) -> bool {
        let (first, second) = (self.event(one), self.event(other));
        one != other
            && (first.held.intersection(second.held).is_empty() || self.may_be_left || first.in_loop && second.in_loop)
    }

    /// Whether one variable may be touched by two steps that have to do with each other.
    fn may_touch_again(&self, own: &[(Touched, Step)]) -> bool {
        let away = self.events.iter().filter_map(|event| Some((*event, self.homes.targets(self.event(*event))?)));
        let away: Vec<(EventId, Cow<Targets>)> = away.collect();
        self.may_be_pairs(own, &away) || self.may_count_on(&away)
    }

    /// What the method touches itself, by what it is.
    fn own_steps(&self) -> Vec<(Touched, Step)> {
        let mut own: Vec<(Touched, Step)> = Vec::new();
        self.events.iter().for_each(|event| self.add_own(*event, &mut own));
        own.sort_unstable_by_key(|(what, step)| (*what, step.event));
        own
    }

    /// Whether two of the method's own steps are about one thing, or one of them and one in what it calls.
    fn may_be_pairs(&self, own: &[(Touched, Step)], away: &[(EventId, Cow<Targets>)]) -> bool {
        let is_pair = |one: &Step, other: &Step| {
            self.are_apart(one.event, other.event) && (self.may_decide(one, other) || self.may_decide(other, one))
        };
        let is_pair =
            |what: Touched, one: &Step, other: &Step| is_pair(one, other) && self.may_be_one(what, one, other);
        own.chunk_by(|(what, _), (other, _)| what == other).any(|same| {
            let steps = || same.iter().map(|(_, step)| step);
            let is_named = |(event, targets): &(EventId, Cow<Targets>)| match same[0].0 {
                Touched::Field(field) => self.homes.named.of_all(targets.known(), field).is_some_and(|writes| {
                    let step = Step { event: *event, part: Part::Any, writes, is_own: false };
                    steps().any(|own| is_pair(same[0].0, own, &step))
                }),
                Touched::Parameter(_) => false,
            };
            steps().enumerate().any(|(index, one)| steps().skip(index + 1).any(|other| is_pair(same[0].0, one, other)))
                || away.iter().any(is_named)
        })
    }

    /// Whether two steps at something may touch one variable that is told of. What the library says nothing of has nothing but
    /// its fields, which both have to name, and one to write.
    fn may_be_one(&self, what: Touched, one: &Step, other: &Step) -> bool {
        let parts = [one.part, other.part];
        let may_hold = match what {
            Touched::Field(field) => {
                if parts.contains(&Part::Contents) && self.homes.holds_little(field) {
                    return false;
                }
                self.homes.named.may_hold(field)
            }
            Touched::Parameter(position) => {
                let all = self.may_hold.get_or_init(|| self.homes.named.parameters_that_may_hold(self.method));
                all.get(usize::from(position)).is_none_or(|may| *may)
            }
        };
        match parts {
            [Part::Itself | Part::Any, Part::Itself | Part::Any] => true,
            [Part::Itself, _] | [_, Part::Itself] => false,
            _ => may_hold || self.may_share(one.event, other.event),
        }
    }

    /// Whether what two calls run may touch one field, and one of them may write it.
    fn may_share(&self, one: EventId, other: EventId) -> bool {
        let targets = [one, other].map(|event| self.homes.targets(self.event(event)));
        let [Some(one), Some(other)] = targets else { return false };
        let named = &self.homes.named;
        named.may_change(one.known(), other.known()) || named.may_change(other.known(), one.known())
    }

    /// Whether a number that one method tells may be counted on by another one.
    fn may_count_on(&self, away: &[(EventId, Cow<Targets>)]) -> bool {
        let named = &self.homes.named;
        away.iter().filter(|(event, _)| self.is_number(*event)).any(|(told, by)| {
            away.iter()
                .any(|(step, others)| self.are_apart(*told, *step) && named.may_change(others.known(), by.known()))
        })
    }

    fn is_number(&self, event: EventId) -> bool {
        match &self.event(event).action {
            Action::Call { method, .. } => {
                let descriptor = self.text(method.descriptor);
                descriptor.ends_with(")I") || descriptor.ends_with(")J")
            }
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                matches!(self.text(field.descriptor), "I" | "J")
            }
            _ => false,
        }
    }

    /// Whether what a first step tells may decide on a second one, or become what it writes: it gets there, or is a question
    /// in a call that may throw, or a number that is taken and counted on.
    fn may_decide(&self, first: &Step, second: &Step) -> bool {
        let is_question = || match &self.event(first.event).action {
            Action::Call { method, .. } => !first.is_own && self.text(method.descriptor).ends_with(")V"),
            _ => false,
        };
        second.writes && self.is_number(first.event) || is_question() || self.lead(first.event, second.event)
    }

    /// Whether something that is found in a container, or what it has, may be changed.
    fn may_change_found(&self) -> bool {
        let program = self.homes.program;
        let is_look = |found: EventId| match &self.event(found).action {
            Action::Call { method, .. } => {
                self.homes.calls.model(program, *method, method.class).is_some_and(|model| {
                    model.access != model::Access::None && matches!(model.returns, Returns::FromState)
                })
            }
            Action::Read { member, .. } => *member == Member::Elements,
            _ => false,
        };
        let changed = |event: EventId| match &self.event(event).action {
            Action::Write { base, .. } => Some(base.start),
            Action::Call { arguments, .. } => arguments.first().map(|receiver| receiver.name.start),
            _ => None,
        };
        self.events.iter().any(|event| match changed(*event) {
            Some(Start::Result(found)) => is_look(found) && self.are_apart(found, *event),
            _ => false,
        })
    }

    /// Whether a number from one section may say where another one looks, be it in another variable.
    fn may_go_to_positions(&self) -> bool {
        let goes_there = |event: &EventId| match &self.event(*event).action {
            Action::Read { member, .. } | Action::Write { member, .. } => *member == Member::Elements,
            Action::Call { method, .. } => self.text(method.descriptor).starts_with("(I"),
            _ => false,
        };
        let targets: SmallVec<[EventId; 8]> = self.events.iter().copied().filter(goes_there).collect();
        let leads =
            |read: EventId| targets.iter().any(|target| self.are_apart(read, *target) && self.lead(read, *target));
        !targets.is_empty() && self.events.iter().any(|event| self.is_number(*event) && leads(*event))
    }

    /// Adds what the method itself touches, or an operation of a library that it calls.
    fn add_own(&self, event: EventId, own: &mut Vec<(Touched, Step)>) {
        let program = self.homes.program;
        let mut add = |(what, part): (Touched, Part), writes: bool| {
            own.push((what, Step { event, part, writes, is_own: true }));
        };
        match &self.event(event).action {
            Action::Read { base, member, .. } | Action::Write { base, member, .. } => {
                let writes = matches!(self.event(event).action, Action::Write { .. });
                match member {
                    Member::Field(field) | Member::Static(field) => {
                        let field = program.resolve_field(*field);
                        let field = field.filter(|field| !program.field(*field).access.is_final());
                        field.into_iter().for_each(|field| add((Touched::Field(field), Part::Itself), writes));
                    }
                    Member::Elements | Member::State(_) => {
                        self.held_by(base).into_iter().for_each(|what| add(what, writes));
                    }
                }
            }
            Action::Call { method, arguments, .. } => {
                let model = self.homes.calls.model(program, *method, method.class);
                if let Some(writes) = self.writes_to_given(event, model) {
                    let given = arguments.iter().flat_map(|argument| self.held_by(&argument.name));
                    given.for_each(|what| add(what, writes));
                }
            }
            Action::Lambda { arguments, .. } => {
                if let Some(writes) = self.writes_to_given(event, None) {
                    let given = arguments.iter().flat_map(|argument: &Argument| self.held_by(&argument.name));
                    given.for_each(|what| add(what, writes));
                }
            }
            Action::Wait(_) => {}
        }
    }

    /// Whether a call may write what it is given, if it may touch that at all.
    fn writes_to_given(&self, event: EventId, model: Option<CallModel>) -> Option<bool> {
        let targets = self.homes.targets(self.event(event));
        let leads_on = targets.is_some_and(|targets| self.homes.lead_on(targets.known()));
        let effects = || model.into_iter().flat_map(CallModel::effects);
        let writes = leads_on || effects().any(|effect| effect.access != model::Access::Read);
        (leads_on || effects().next().is_some()).then_some(writes)
    }

    /// What has the contents of an object with such a name; what a call yields may come from anything that its code names.
    fn held_by(&self, name: &Name) -> SmallVec<[(Touched, Part); 4]> {
        let program = self.homes.program;
        let mut all = SmallVec::new();
        let mut fields = name.steps.iter().rev().filter_map(|step| match step {
            NameStep::Field(field) => Some(*field),
            _ => None,
        });
        if let Some(field) = fields.next() {
            let is_last = matches!(name.steps.last(), Some(NameStep::Field(_)));
            let part = if is_last { Part::Contents } else { Part::Further };
            all.extend(program.resolve_field(field).map(|field| (Touched::Field(field), part)));
            return all;
        }
        match name.start {
            Start::Parameter(position) => all.push((Touched::Parameter(position), Part::Further)),
            Start::Static(field) => {
                let part = if name.steps.is_empty() { Part::Contents } else { Part::Further };
                all.extend(program.resolve_field(field).map(|field| (Touched::Field(field), part)));
            }
            Start::Result(event) | Start::Element(event) => self.add_yielded(event, &mut all),
            // What has no name in the program is no variable.
            Start::New(_) | Start::Local(_) | Start::Class(_) | Start::Unknown => {}
        }
        all
    }

    /// Adds what may hold what a call yields. A view, an iterator or an element belongs to what it was taken from.
    fn add_yielded(&self, event: EventId, all: &mut SmallVec<[(Touched, Part); 4]>) {
        let Action::Call { method, arguments, .. } = &self.event(event).action else { return };
        let (program, calls) = (self.homes.program, self.homes.calls);
        // What never changes is no part of what others change.
        if returned(program, *method).is_some_and(|class| calls.is_immutable(program, class)) {
            return;
        }
        if let Some(targets) = self.homes.targets(self.event(event)) {
            let named = self.homes.named.holding(targets.known());
            all.extend(named.map(|field| (Touched::Field(field), Part::Further)));
        } else if let Some(receiver) = arguments.first() {
            let is_earlier = |yielded: EventId| yielded < event;
            match receiver.name.start {
                Start::Result(yielded) | Start::Element(yielded) if !is_earlier(yielded) => {}
                _ => all.extend(self.held_by(&receiver.name).into_iter().map(|(what, _)| (what, Part::Further))),
            }
        }
    }
}
