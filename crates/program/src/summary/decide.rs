//! What decides whether an event happens: conditions, comparisons, and calls that throw otherwise.

use location::MethodName;

use super::compose::Composing;
use super::influences::Gathering;
use super::{Compared, Comparisons, Influences, Root};
use crate::class::Program;
use crate::outline::{Action, Event, EventId, Origin, Outline, SectionSet, Sources, Start};

/// A call that returns only if something holds.
pub(super) struct Guard {
    call: EventId,
    /// Where that comes from.
    question: Influences,
    /// By block: whether control gets there only if the call returned.
    follows: Vec<bool>,
    /// It waits until that holds, and does not throw.
    is_awaited: bool,
    /// By block: whether control gets there only if it threw.
    caught: Vec<bool>,
}

impl Composing<'_, '_> {
    /// What decides whether an event happens.
    pub(super) fn control(&mut self, id: EventId, event: &Event) -> Influences {
        if event.control.is_empty() {
            return Influences::default();
        }
        if !event.waited.is_empty() {
            return self.control_after_waits(event);
        }
        let has_waits = !self.last_waits.is_empty() || !self.summary.waits.is_empty();
        let known = self
            .controls
            .iter()
            .rev()
            .filter(|_| !has_waits)
            .find(|(block, held, _)| *block == event.block && *held == event.held);
        if let Some((_, _, control)) = known {
            return control.clone();
        }
        let mut all = Gathering::default();
        let mut is_settled = true;
        for condition in &event.control {
            let sources = &self.outline.conditions[*condition as usize].sources;
            is_settled &= sources.iter().all(|source| !matches!(source.origin, Origin::Event(from) if from >= id));
            self.gather(&mut all, sources);
        }
        // Between the condition and here further sections may have ended.
        let all = self.brought_to(all.finish(), self.sections(event.held));
        let count = self.summary.accesses.len();
        is_settled &=
            !all.iter().any(|influence| matches!(influence.root, Root::Access(access) if access.index() >= count));
        if is_settled {
            self.controls.push((event.block, event.held, all.clone()));
        }
        all
    }

    /// What decides whether an event happens where a wait may lie between.
    fn control_after_waits(&self, event: &Event) -> Influences {
        let held = self.sections(event.held);
        let mut all = Gathering::default();
        for condition in &event.control {
            let waits = event.waited.iter().find(|(deciding, _)| deciding == condition);
            let waited = waits.map(|(_, sections)| self.sections(*sections)).unwrap_or_default();
            let deciding = self.influences(&self.outline.conditions[*condition as usize].sources);
            all.add_all(&deciding.with_ended(|root| match root {
                Root::Access(access) => {
                    let open = self.held_at(access);
                    open.without(held).union(open.intersection(waited))
                }
                Root::Parameter(_) => SectionSet::default(),
            }));
        }
        all.finish()
    }

    /// Notes that a call returns only if something holds.
    pub(super) fn add_guard(&mut self, call: EventId, question: Influences, is_awaited: bool) {
        if !question.is_empty() {
            let (follows, caught) = (self.outline.follows_surely(call), self.outline.follows_exception(call));
            self.guards.push(Guard { call, question, follows, caught, is_awaited });
        }
    }

    /// What earlier calls made sure of, or thrown.
    pub(super) fn guards(&self, event: &Event) -> Influences {
        let mut all = Gathering::default();
        self.passed(&mut all, event, false);
        self.brought_to(all.finish(), self.sections(event.held))
    }

    /// What was waited for before an event.
    pub(super) fn awaited(&self, event: &Event) -> Influences {
        let mut all = Gathering::default();
        for awaited in self.outline.awaited.iter().filter(|awaited| awaited.follows[event.block as usize]) {
            self.gather(&mut all, &self.outline.conditions[awaited.condition as usize].sources);
        }
        self.passed(&mut all, event, true);
        self.brought_to(all.finish(), self.sections(event.held))
    }

    /// What the method waits for before it returns, as its caller sees it.
    pub(super) fn awaited_for(&self) -> Influences {
        let mut all = Gathering::default();
        for awaited in self.outline.awaited.iter().filter(|awaited| awaited.is_returned) {
            self.gather(&mut all, &self.outline.conditions[awaited.condition as usize].sources);
        }
        for guard in self.guards.iter().filter(|guard| guard.is_awaited) {
            if self.outline.events[guard.call.index()].control.is_empty() {
                all.add_all(&guard.question);
            }
        }
        self.brought_to(all.finish(), SectionSet::default())
    }

    /// What the calls before an event ask.
    fn passed(&self, all: &mut Gathering, event: &Event, is_awaited: bool) {
        for guard in self.guards.iter().filter(|guard| guard.is_awaited == is_awaited) {
            let call = &self.outline.events[guard.call.index()];
            let comes_later =
                if call.block == event.block { call.pc < event.pc } else { guard.follows[event.block as usize] };
            if comes_later || guard.caught.get(event.block as usize) == Some(&true) {
                all.add_all(&guard.question);
            }
        }
    }

    /// The comparisons that an event takes for granted.
    pub(super) fn compared(&self, event: &Event) -> Comparisons {
        let agreed = event.agreed.iter().map(|one| (*one, true));
        let differed = event.differed.iter().filter(|one| !event.agreed.contains(one)).map(|one| (*one, false));
        agreed
            .chain(differed)
            .filter_map(|(one, are_equal)| {
                let condition = &self.outline.conditions[one as usize];
                let sides = condition.sides.as_deref()?;
                let larger = condition.is_by_size.then(|| u8::from(!event.differed.contains(&one)));
                let is_of_parts = condition.is_of_parts && !condition.is_by_size;
                let sides = [self.influences(&sides[0]), self.influences(&sides[1])];
                Some(Compared { sides, are_equal, is_of_parts, larger })
            })
            .filter(|compared| compared.sides.iter().all(|side| !side.is_empty()))
            .collect()
    }

    /// Where the conditions come from that decide whether the method throws, as its caller sees it.
    pub(super) fn refusals(&self) -> Influences {
        let mut refusals = Gathering::default();
        for condition in &self.outline.refusals {
            self.gather(&mut refusals, &self.outline.conditions[*condition as usize].sources);
        }
        for guard in self.guards.iter().filter(|guard| !guard.is_awaited) {
            // What is caught here does not get to the caller.
            let block = self.outline.events[guard.call.index()].block as usize;
            if !self.outline.blocks.successors(block).any(|next| next.is_exceptional) {
                refusals.add_all(&guard.question);
            }
        }
        self.brought_to(refusals.finish(), SectionSet::default())
    }
}

/// By event: whether a condition or the result depends on what it yields, also by way of an `Optional`; or whether a call
/// chooses by it, and somebody takes what that has chosen.
pub(super) fn used(program: &Program, outline: &Outline) -> Vec<bool> {
    let mut used = vec![false; outline.events.len()];
    for source in outline.conditions.iter().flat_map(|condition| &condition.sources).chain(&outline.result) {
        if let Origin::Event(event) = source.origin {
            used[event.index()] = true;
        }
    }
    // What is in an `Optional` was put there before.
    for (index, event) in outline.events.iter().enumerate().rev() {
        let Action::Call { method, arguments, .. } = &event.action else { continue };
        let Some(is_choice) = of_nullable(program, *method) else { continue };
        let is_asked = used[index] || is_choice && is_taken(outline, EventId(index as u32));
        if !is_asked {
            continue;
        }
        for source in arguments.iter().flat_map(|argument| &argument.sources) {
            if let Origin::Event(event) = source.origin
                && event.index() < index
            {
                used[event.index()] = true;
            }
        }
    }
    used
}

/// Of a method that is about something that may be null: whether it chooses between that and another one.
fn of_nullable(program: &Program, method: MethodName) -> Option<bool> {
    match (program.names.text(method.class.0), program.names.text(method.name)) {
        ("java/util/Optional", "orElse" | "orElseGet" | "or")
        | ("java/util/Objects", "requireNonNullElse" | "requireNonNullElseGet") => Some(true),
        ("java/util/Optional", _) => Some(false),
        _ => None,
    }
}

/// Whether something is done with what an event yields: it is given to a call, or stored.
fn is_taken(outline: &Outline, taken: EventId) -> bool {
    let is_it = |sources: &Sources| sources.iter().any(|source| source.origin == Origin::Event(taken));
    outline.events.iter().any(|event| match &event.action {
        Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
            arguments.iter().any(|argument| is_it(&argument.sources))
        }
        Action::Write { address, value, .. } => is_it(address) || is_it(value),
        Action::Read { address, .. } => is_it(address),
        Action::Wait(_) => false,
    })
}

/// Whether something in the outline depends on an event that comes later in the order of code.
pub(super) fn looks_ahead(outline: &Outline) -> bool {
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
