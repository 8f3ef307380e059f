//! What writes do to marks: they put them up, take them down, or leave them where they were.

use std::borrow::Cow;

use location::{ClassName, FieldName};
use program::MethodId;
use program::model::State;
use program::outline::{Action, Argument, Condition, Event, EventId, Member, Object, Origin, Outline, Start};
use program::summary::{Access, Spot};

use super::rules::Looking;

/// What is handed on more often than this is not followed.
const MAX_DEPTH: usize = 3;

/// What a write does to a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    Up,
    Down,
    /// It does nothing to one that is up.
    Beside,
}

/// What a mark of many states is set to: `BUSY`, 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    Number(i32),
    Constant(FieldName),
}

impl Looking<'_> {
    /// What a write does to what may be a mark: a flag, or an atomic that goes from one constant to another. A mark of many
    /// states is up in one of them, `raised`, and down in all others.
    pub(super) fn moves(&self, write: &Access, raised: Option<Level>) -> Option<Move> {
        let action = &self.told_at(write, self.event_at(&write.spot)?);
        match raised {
            Some(raised) => self.moves_level(action, raised),
            None => self.moves_flag(action),
        }
    }

    /// What an access does, with what the method that has it is given on the way from here:
    /// `boolean move(State from, State to) { return state.compareAndSet(from, to); }`.
    fn told_at<'e>(&self, access: &Access, event: &'e Event) -> Cow<'e, Action> {
        let mut action = Cow::Borrowed(&event.action);
        let given = |argument: &Argument| match (argument.name.start, &*argument.name.steps) {
            (Start::Parameter(position), []) => {
                self.handed(self.method, access.event, &access.spot, position, MAX_DEPTH).cloned()
            }
            _ => None,
        };
        match &event.action {
            Action::Write { stored, .. } => {
                if let Some(told) = given(stored)
                    && let Action::Write { stored, .. } = action.to_mut()
                {
                    **stored = told;
                }
            }
            Action::Call { arguments, .. } => {
                for (index, argument) in arguments.iter().enumerate().skip(1) {
                    if let Some(told) = given(argument)
                        && let Action::Call { arguments, .. } = action.to_mut()
                    {
                        arguments[index] = told;
                    }
                }
            }
            _ => {}
        }
        action
    }

    /// What an event of a method hands to the method that has an access, which it leads to.
    fn handed(&self, method: MethodId, event: EventId, spot: &Spot, position: u16, depth: usize) -> Option<&Argument> {
        let outline = self.whole.summaries.outline(method)?;
        let Action::Call { kind, method: called, arguments } = &outline.events.get(event.index())?.action else {
            return None;
        };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
        let ([target], true) = (targets.known(), depth > 0) else { return None };
        if self.whole.program.method_name(*target) == spot.method {
            return arguments.get(usize::from(position));
        }
        let mut on = self.whole.summaries.summary(*target)?.accesses.iter().filter(|access| access.spot == *spot);
        let (Some(next), None) = (on.next(), on.next()) else { return None };
        let told = self.handed(*target, next.event, spot, position, depth - 1)?;
        match (told.name.start, &*told.name.steps) {
            (Start::Parameter(position), []) => arguments.get(usize::from(position)),
            _ => Some(told),
        }
    }

    fn moves_flag(&self, action: &Action) -> Option<Move> {
        let up_if = |is_up: bool| if is_up { Move::Up } else { Move::Down };
        let text = |symbol| self.whole.program.names.text(symbol);
        match action {
            Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } => {
                match (text(field.descriptor), stored.objects.as_slice()) {
                    ("Z", [Object::Int(number)]) => Some(up_if(*number != 0)),
                    _ => None,
                }
            }
            Action::Call { method, arguments, .. } => {
                let is_number = text(method.class.0) != "java/util/concurrent/atomic/AtomicReference";
                let value = |index: usize| match arguments.get(index)?.objects.as_slice() {
                    [Object::Int(number)] if is_number => Some(*number != 0),
                    [] if !is_number => Some(false),
                    [_, ..] if !is_number => Some(true),
                    _ => None,
                };
                // A key is in a map or set, or is not.
                let is_kept = || {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    model.is_some_and(|model| model.state == State::Contents && model.key.is_some())
                };
                // A handle or updater is told the object first.
                let told = usize::from(is_handle(text(method.class.0)));
                match (text(method.name), arguments.len()) {
                    ("compareAndSet", 3 | 4) => match (value(1 + told)?, value(2 + told)?) {
                        (false, true) => Some(Move::Up),
                        (true, false) => Some(Move::Down),
                        _ => None,
                    },
                    ("set" | "getAndSet" | "lazySet" | "setRelease" | "setVolatile", 2 | 3) => {
                        value(1 + told).map(up_if)
                    }
                    ("putIfAbsent", 3) | ("add", 2) if is_kept() => Some(Move::Up),
                    ("remove", 2 | 3) if is_kept() => Some(Move::Down),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn moves_level(&self, action: &Action, raised: Level) -> Option<Move> {
        // What is not known may be any other state.
        let set_to = |level: Option<Level>| if level == Some(raised) { Move::Up } else { Move::Down };
        match action {
            Action::Write { member: Member::Field(_) | Member::Static(_), stored, .. } => {
                Some(set_to(self.level(stored)))
            }
            Action::Call { method, arguments, .. } => {
                match (self.whole.program.names.text(method.name), self.set_to(method.class, arguments)) {
                    ("compareAndSet", [expected, next]) => match (self.level(expected), self.level(next)) {
                        (Some(expected), next) if expected != raised => {
                            Some(if next == Some(raised) { Move::Up } else { Move::Beside })
                        }
                        (_, next) => Some(set_to(next)),
                    },
                    ("set" | "getAndSet" | "lazySet" | "setRelease" | "setVolatile", [next]) => {
                        Some(set_to(self.level(next)))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The state that a write brings a mark of many states to, if the write happens only where it was in another one.
    pub(super) fn raises(&self, write: &Access) -> Option<Level> {
        let (outline, event) = self.place_of(&write.spot)?;
        match &*self.told_at(write, &outline.events[event.index()]) {
            Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } => {
                let raised = self.level(stored)?;
                self.is_asked_before(outline, event, *field, raised).then_some(raised)
            }
            Action::Call { method, arguments, .. } => {
                match (self.whole.program.names.text(method.name), self.set_to(method.class, arguments)) {
                    ("compareAndSet", [expected, next]) => {
                        let (expected, next) = (self.level(expected)?, self.level(next)?);
                        (expected != next).then_some(next)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a field is written only after it was found in another state: equal to another constant, or not to this one.
    fn is_asked_before(&self, outline: &Outline, write: EventId, field: FieldName, raised: Level) -> bool {
        let event = &outline.events[write.index()];
        let is_field = |origin: Origin| match origin {
            Origin::Event(read) => matches!(&outline.events[read.index()].action,
                Action::Read { member: Member::Field(read) | Member::Static(read), .. } if *read == field),
            Origin::Parameter(_) => false,
        };
        let compared = |condition: u32| self.compared(outline, &outline.conditions[condition as usize], &is_field);
        let is_by_size = |condition: u32| outline.conditions[condition as usize].is_by_size;
        let agrees =
            |condition: &u32| !is_by_size(*condition) && compared(*condition).is_some_and(|level| level != raised);
        let differs =
            |condition: &u32| !is_by_size(*condition) && compared(*condition).is_some_and(|level| level == raised);
        let is_nought = || {
            !matches!(raised, Level::Number(0))
                && outline.conditions.iter().any(|condition| {
                    matches!(condition.sources.as_slice(), [source] if is_field(source.origin))
                        && outline.is_because_nought(condition, write)
                })
        };
        event.agreed.iter().any(agrees) || event.differed.iter().any(differs) || is_nought()
    }

    /// The constant that a condition compares something with.
    fn compared(&self, outline: &Outline, condition: &Condition, is_it: &dyn Fn(Origin) -> bool) -> Option<Level> {
        let constant = |origin: Origin| match origin {
            Origin::Event(read) => match outline.events[read.index()].action {
                Action::Read { member: Member::Static(read), .. } if self.whole.program.is_final_field(read) => {
                    Some(Level::Constant(read))
                }
                _ => None,
            },
            Origin::Parameter(_) => None,
        };
        match condition.sides.as_deref().map(|[left, right]| (left.as_slice(), right.as_slice()))? {
            ([one], [other]) if is_it(one.origin) => constant(other.origin),
            ([one], [other]) if is_it(other.origin) => constant(one.origin),
            _ => None,
        }
    }

    /// The state that a write sets a mark of many states to, whatever it was.
    pub(super) fn level_set(&self, write: &Access) -> Option<Level> {
        match &*self.told_at(write, self.event_at(&write.spot)?) {
            Action::Write { member: Member::Field(_) | Member::Static(_), stored, .. } => self.level(stored),
            Action::Call { method, arguments, .. } => match self.set_to(method.class, arguments) {
                [next] => self.level(next),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a write is done because a mark was in another state than this one: `if (phase == RUNNING) ..`. What a helper
    /// asks, `isRunning()`, is taken to be that.
    pub(super) fn is_in_other_state(&self, asked: &Access, write: &Access, level: Level) -> bool {
        let Some((outline, read)) = self.place_of(&asked.spot) else { return false };
        let is_asked = |origin: Origin| origin == Origin::Event(read);
        let compared = |condition: &Condition| match condition.is_by_size {
            true => None,
            false => self.compared(outline, condition, &is_asked),
        };
        if asked.spot.method != self.whole.program.method_name(self.method) {
            return outline.conditions.iter().any(|condition| compared(condition).is_some());
        }
        let event = &outline.events[write.event.index()];
        let condition = |number: &u32| compared(&outline.conditions[*number as usize]);
        event.agreed.iter().filter_map(condition).any(|other| other != level)
            || event.differed.iter().filter_map(condition).any(|other| other == level)
    }

    /// What an atomic is told, or a handle behind the object.
    fn set_to<'a>(&self, class: ClassName, arguments: &'a [Argument]) -> &'a [Argument] {
        let skipped = 1 + usize::from(is_handle(self.whole.program.names.text(class.0)));
        arguments.get(skipped..).unwrap_or_default()
    }

    fn level(&self, argument: &Argument) -> Option<Level> {
        match (argument.objects.as_slice(), argument.name.start) {
            ([Object::Int(number)], _) => Some(Level::Number(*number)),
            (_, Start::Static(field)) if argument.name.steps.is_empty() && self.whole.program.is_final_field(field) => {
                Some(Level::Constant(field))
            }
            _ => None,
        }
    }

    pub(super) fn event_at(&self, spot: &Spot) -> Option<&Event> {
        let (outline, event) = self.place_of(spot)?;
        Some(&outline.events[event.index()])
    }

    /// The event at a place, by its number, and the outline of its method.
    pub(super) fn place_of(&self, spot: &Spot) -> Option<(&Outline, EventId)> {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let index = outline.events.iter().position(|event| event.pc == spot.pc)?;
        Some((outline, EventId(index as u32)))
    }
}

/// Whether it is a class whose objects change fields of others.
fn is_handle(class: &str) -> bool {
    class == "java/lang/invoke/VarHandle"
        || class.starts_with("java/util/concurrent/atomic/Atomic") && class.ends_with("FieldUpdater")
}
