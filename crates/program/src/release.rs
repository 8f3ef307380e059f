//! Whether an object that a method makes gets to others: stored somewhere, captured by a lambda, started, or handed to
//! code that does one of these with it.

use classfile::CallKind;
use location::{FieldName, MethodName};
use smallvec::SmallVec;

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::outline::{Action, Argument, Event, EventId, Member, Object, Outline};
use crate::outlines::Outlines;
use crate::summary::Summaries;

/// Calls deeper than this are taken to keep what they are given.
const MAX_DEPTH: usize = 4;

/// Fields that more methods touch are taken to let out what they hold.
const MAX_USERS: usize = 60;

/// Asks where objects go.
pub struct Release<'r> {
    pub(crate) program: &'r Program,
    pub(crate) calls: &'r Calls,
    pub(crate) summaries: &'r Summaries,
}

impl Release<'_> {
    /// Whether others may know the object that an instruction of a method makes when it comes to an event.
    pub fn is_let_out(&self, method: MethodId, register: u32, before: EventId) -> bool {
        let Some(outline) = self.outline(method) else { return true };
        let is_it = |object: &Object| matches!(object, Object::New { register: made, .. } if *made == register);
        let made: SmallVec<[EventId; 1]> = self.maker(outline, is_it).into_iter().collect();
        self.gets_out(outline, &made, before, is_it)
    }

    /// Where a new object comes to life.
    fn maker(&self, outline: &Outline, is_it: impl Fn(&Object) -> bool) -> Option<EventId> {
        let made = outline.events.iter().position(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                self.program.names.text(method.name) == "<init>"
                    && arguments.first().is_some_and(|first| first.objects.iter().any(&is_it))
            }
            _ => false,
        });
        made.map(|made| EventId(made as u32))
    }

    /// The same for what a local has, which is one of several objects, made here or yielded by events: whichever was let
    /// out, another one may have taken its place since.
    pub fn are_let_out(&self, method: MethodId, objects: &[Object], before: EventId) -> bool {
        let Some(outline) = self.outline(method) else { return true };
        let from = objects.iter().filter_map(|object| match object {
            Object::Event(event) => Some(*event),
            Object::New { .. } => self.maker(outline, |other| other == object),
            _ => None,
        });
        let from: SmallVec<[EventId; 2]> = from.collect();
        self.gets_out(outline, &from, before, |object| objects.contains(object))
    }

    /// The same for an object that one of some events yields, each a new one.
    pub fn is_passed_on(&self, method: MethodId, yielded: &[EventId], before: EventId) -> bool {
        let Some(outline) = self.outline(method) else { return true };
        let is_it = |object: &Object| matches!(object, Object::Event(event) if yielded.contains(event));
        self.gets_out(outline, yielded, before, is_it)
    }

    /// The same for an object that the method is given.
    pub fn is_given_away(&self, method: MethodId, position: u16, before: EventId) -> bool {
        let Some(outline) = self.outline(method) else { return true };
        self.gets_out(outline, &[], before, |object| *object == Object::Parameter(position))
    }

    /// The events of a method by which an object gets out.
    pub(crate) fn ways_out(&self, method: MethodId, object: Object) -> Vec<EventId> {
        let is_it = |one: &Object| *one == object;
        match self.summaries.outlines.made(method) {
            Some(outline) => self.let_out(outline, &is_it, false, MAX_DEPTH).collect(),
            None => Vec::new(),
        }
    }

    /// Whether somebody other than its owner may get what a field holds, which is made for the field: a method that
    /// touches the field stores it elsewhere as well, returns it, or hands it to code that keeps it.
    pub(crate) fn is_let_out_of(&self, field: FieldId) -> bool {
        let users = self.calls.users(field);
        let is_field = |name: &FieldName| self.program.resolve_field(*name) == Some(field);
        let is_there = |member: &Member| matches!(member, Member::Field(name) | Member::Static(name) if is_field(name));
        users.len() > MAX_USERS
            || users.iter().any(|user| {
                let outlines = Outlines::new(self.program, &self.summaries.outlines);
                let Some(outline) = outlines.get(*user) else { return true };
                let mut held: SmallVec<[Object; 4]> = SmallVec::new();
                for (index, event) in outline.events.iter().enumerate() {
                    match &event.action {
                        Action::Read { member, .. } if is_there(member) => {
                            held.push(Object::Event(EventId(index as u32)));
                        }
                        Action::Write { member, stored, .. } if is_there(member) => {
                            held.extend(stored.objects.iter().copied().filter(|object| *object != Object::Unknown));
                        }
                        _ => {}
                    }
                }
                while let Some(call) = self.call_that_yields(outline, &held) {
                    held.push(Object::Event(call));
                }
                let is_it = |object: &Object| held.contains(object);
                let is_out = self.let_out(outline, &is_it, false, MAX_DEPTH).any(|event| {
                    !matches!(&outline.events[event.index()].action, Action::Write { member, .. } if is_there(member))
                });
                is_out || outline.returned.iter().any(is_it) || self.is_handed_to_unknown(outline, &is_it)
            })
    }

    /// A call that returns one of some objects that it is given, and is not among them yet.
    fn call_that_yields(&self, outline: &Outline, objects: &[Object]) -> Option<EventId> {
        let yields = |(index, event): &(usize, &Event)| {
            let Action::Call { kind, method, arguments } = &event.action else { return false };
            let has = |argument: &Argument| argument.objects.iter().any(|object| objects.contains(object));
            let mut positions = arguments.iter().enumerate().filter(|(_, argument)| has(argument));
            !objects.contains(&Object::Event(EventId(*index as u32)))
                && positions.any(|(position, _)| {
                    let targets = self.calls.targets(self.program, *kind, *method);
                    targets.known().iter().any(|target| {
                        let outline = self.outline(*target);
                        outline.is_some_and(|outline| outline.returned.contains(&Object::Parameter(position as u16)))
                    })
                })
        };
        outline.events.iter().enumerate().find(yields).map(|(index, _)| EventId(index as u32))
    }

    /// Whether an object is given to code that is not there and of which nothing is known.
    fn is_handed_to_unknown(&self, outline: &Outline, is_it: &dyn Fn(&Object) -> bool) -> bool {
        outline.events.iter().any(|event| {
            let Action::Call { kind, method, arguments } = &event.action else { return false };
            let given = arguments.iter().skip(usize::from(*kind != CallKind::Static));
            given.flat_map(|argument| &argument.objects).any(is_it)
                && self.calls.targets(self.program, *kind, *method).known().is_empty()
                && self.calls.model(self.program, *method, method.class).is_none()
        })
    }

    fn outline(&self, method: MethodId) -> Option<&Outline> {
        self.summaries.outline(method).or_else(|| self.summaries.outlines.made(method))
    }

    /// Whether an object gets out on the way from where it comes from to an event; in the next round it is another one.
    fn gets_out(&self, outline: &Outline, from: &[EventId], before: EventId, is_it: impl Fn(&Object) -> bool) -> bool {
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let is_home = |block: usize| from.iter().any(|from| block_of(*from) == block);
        self.let_out(outline, &is_it, false, MAX_DEPTH).any(|event| {
            if from.is_empty() {
                return outline.may_follow(event, before);
            }
            // What is given away in exchange for another one is replaced by that; a constructor yields nothing.
            let is_exchange = match &outline.events[event.index()].action {
                Action::Call { method, .. } => self.program.names.text(method.name) != "<init>",
                _ => false,
            };
            let replaces = |from: &EventId| event < *from || is_exchange && event == *from;
            if block_of(event) == block_of(before) && event < before {
                return !from.iter().any(|from| replaces(from) && *from <= before);
            }
            let is_replaced = from.iter().any(|from| replaces(from) && block_of(*from) == block_of(event));
            !is_replaced && !is_home(block_of(before)) && outline.reached_from(event, is_home)[block_of(before)]
        })
    }

    /// The events by which an object gets out. To run a lambda lets nobody have it: other classes with the method that runs
    /// it are not its own.
    fn let_out<'o>(
        &'o self,
        outline: &'o Outline,
        is_it: &'o dyn Fn(&Object) -> bool,
        is_lambda: bool,
        depth: usize,
    ) -> impl Iterator<Item = EventId> + 'o {
        let has = move |argument: &Argument| argument.objects.iter().any(is_it);
        let lets_out = move |index: usize, event: &Event| match &event.action {
            Action::Write { stored, .. } => has(stored),
            Action::Lambda { method, arguments, .. } if is_lambda && depth > 0 => {
                let mut positions = arguments.iter().enumerate().filter(|(_, argument)| has(argument));
                positions.any(|(position, _)| self.is_kept_by_lambda(outline, index, *method, position, depth - 1))
            }
            Action::Lambda { arguments, .. } => arguments.iter().any(has),
            Action::Call { kind, method, arguments } => {
                let positions = arguments.iter().enumerate().filter(|(_, argument)| has(argument));
                let is_run = |position: usize| is_lambda && position == 0 && *kind == CallKind::Interface;
                positions.map(|(position, _)| position).filter(|position| !is_run(*position)).any(|position| {
                    let targets = self.calls.targets(self.program, *kind, *method);
                    self.is_kept_by_library(*kind, *method, position)
                        || targets.known().iter().any(|target| self.is_kept(*target, position as u16, is_lambda, depth))
                })
            }
            Action::Read { .. } | Action::Wait(_) => false,
        };
        let events = outline.events.iter().enumerate();
        events.filter(move |(index, event)| lets_out(*index, event)).map(|(index, _)| EventId(index as u32))
    }

    /// Whether a lambda that has captured another one keeps it, or gets out itself.
    fn is_kept_by_lambda(
        &self,
        outline: &Outline,
        made: usize,
        method: MethodName,
        position: usize,
        depth: usize,
    ) -> bool {
        let lambda = Object::Event(EventId(made as u32));
        let targets = self.calls.lambda_targets(self.program, method);
        targets.known().is_empty()
            || targets.known().iter().any(|target| self.is_kept(*target, position as u16, true, depth))
            || outline.returned.contains(&lambda)
            || self.let_out(outline, &|object: &Object| *object == lambda, true, depth).next().is_some()
    }

    /// Whether a method keeps a lambda that it is given, or lets others have it.
    pub(crate) fn keeps_lambda(&self, method: MethodId, position: u16) -> bool {
        self.is_kept(method, position, true, MAX_DEPTH)
    }

    fn is_kept(&self, method: MethodId, position: u16, is_lambda: bool, depth: usize) -> bool {
        let is_it = |object: &Object| *object == Object::Parameter(position);
        match self.summaries.outline(method) {
            Some(outline) if depth > 0 => self.let_out(outline, &is_it, is_lambda, depth - 1).next().is_some(),
            Some(_) => true,
            // Not looked at because it has nothing to do with sections, or not there at all.
            None => false,
        }
    }

    /// A library keeps what is put into its objects, and starts what it is given to start.
    fn is_kept_by_library(&self, kind: CallKind, method: MethodName, position: usize) -> bool {
        let is_maker = self.program.names.text(method.name) == "<init>";
        let is_argument = kind == CallKind::Static || position > 0;
        self.calls.model(self.program, method, method.class).is_some_and(|model| {
            model.starts.is_some() || (is_argument && (model.access.writes() || model.wraps.is_some() || is_maker))
        })
    }
}
