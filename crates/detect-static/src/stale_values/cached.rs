//! Values that are computed when they are first asked for, and kept: whoever computes one again gets the same.

use location::ClassName;
use program::model::{self, is_ever_new};
use program::outline::{Action, Argument, Event, EventId, Member, Object, Origin, Outline, Start};
use program::summary::{Access, Influence, Root, Spot};
use program::{LockKind, MethodId, Place, Variable};

use super::harmless::MAX_PAUSE;
use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::threads::is_of_this;
use crate::words::operation;

/// Methods that help to make a value are looked at this deep.
const MAX_DEPTH: usize = 2;

/// What the virtual machine finds by name.
const FOUND_BY_NAME: [&str; 4] =
    ["Ljava/lang/Class;", "Ljava/lang/reflect/Constructor;", "Ljava/lang/reflect/Field;", "Ljava/lang/reflect/Method;"];

impl Looking<'_> {
    /// Whether nobody can tell which of two threads has made what is kept: it never changes, and follows from the key, or
    /// from the object itself, and from what nobody writes.
    pub(super) fn is_computed_again(&self, stale: &Stale, write: &Access) -> bool {
        // `int h = hash; if (h == 0) { .. h = 31 * h + c; .. hash = h; }`: the old value is in it, and is nought.
        let nought = self.is_because_nought(stale, write).then_some(Root::Access(stale.read));
        (stale.how == Use::Decides || stale.how == Use::Written && nought.is_some())
            && stale.variable == stale.written
            && (self.is_lazy_field(stale, write) || self.is_kept_by_key(stale, write))
            && !self.does_more(stale, write)
            && (self.is_found_by_name(&write.spot)
                || self.follows_from(write, self.access(stale.read).address.as_ref(), nought)
                    && !self.is_chosen_anew(stale, write))
    }

    /// Whether a write only happens where what was read is nought.
    fn is_because_nought(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = Origin::Event(self.access(stale.read).event);
        outline.events[write.event.index()].control.iter().any(|condition| {
            let condition = &outline.conditions[*condition as usize];
            condition.sources.iter().all(|source| source.origin == read)
                && outline.is_because_nought(condition, write.event)
        })
    }

    /// Whether what is written is the same for everybody who asks for this key, or this object; `but` is known to be.
    fn follows_from(&self, write: &Access, key: &[Influence], but: Option<Root>) -> bool {
        let mut influences = write.value.iter().filter(|influence| Some(influence.root) != but);
        let is_settled = |influence: &Influence| self.is_settled(influence, write, key);
        influences.all(is_settled) || self.are_all_alike(write, is_settled)
    }

    /// Whether a map gets what the virtual machine finds by a name, a class or a member of one: it finds the same for two
    /// who look at the same time.
    fn is_found_by_name(&self, spot: &Spot) -> bool {
        let is_found = |outline: &Outline, object: &Object| match *object {
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => {
                    let yielded = self.whole.program.names.text(method.descriptor).rsplit_once(')');
                    yielded.is_some_and(|(_, class)| FOUND_BY_NAME.contains(&class))
                }
                _ => false,
            },
            _ => false,
        };
        self.put_at(spot).is_some_and(|(_, outline, value)| {
            !value.is_empty() && value.iter().all(|object| is_found(outline, object))
        })
    }

    /// Whether a field gets its only value. A number must be one that was worked out for the object that has it: a constant
    /// may tell that somebody was there, or who.
    fn is_lazy_field(&self, stale: &Stale, write: &Access) -> bool {
        let Variable::Field(field) = stale.variable else { return false };
        let declared = self.whole.program.field(field);
        let descriptor = self.whole.program.names.text(declared.descriptor);
        let mut others = self.whole.variables.writers(stale.variable).iter().filter(|place| !self.is_dropped(place));
        let is_worked_out = || {
            descriptor.starts_with(['L', '['])
                || !write.value.is_empty() && is_of_this(&write.base, stale.variable) && descriptor != "Z"
        };
        others.next().is_some()
            && others.next().is_none()
            // A mark says nothing of what was done besides.
            && (declared.access.is_volatile() || !write.value.is_empty() && self.is_alone(&write.spot))
            && is_worked_out()
            && (self.is_unchanging(descriptor)
                || descriptor.starts_with('[') && self.is_filled_before(stale.variable, write))
    }

    /// Whether a map gets a value for the key that was asked for, and nobody takes single keys out again.
    fn is_kept_by_key(&self, stale: &Stale, write: &Access) -> bool {
        let is_put = |spot: &Spot| matches!(operation(self.whole, spot), Some("put" | "putIfAbsent"));
        let is_kept = |place: &Place| {
            let Some(there) = Looking::at(self.whole, place.method) else { return false };
            let other = &there.summary.accesses[place.access.index()];
            operation(self.whole, &other.spot) == Some("clear")
                || other.spot == write.spot && self.is_alone(&other.spot)
                || is_put(&other.spot) && (there.follows_from(other, &[], None) || there.is_found_by_name(&other.spot))
        };
        let read = self.access(stale.read);
        matches!(stale.variable, Variable::Held(_))
            && read.is_keyed
            && is_put(&write.spot)
            && self.whole.variables.writers(stale.variable).iter().all(is_kept)
            && self.put_at(&write.spot).is_some_and(|(method, outline, value)| {
                let is_kept = |object| self.never_changes(method, outline, object) || self.is_alike(outline, object);
                !value.is_empty() && value.iter().all(is_kept)
            })
    }

    /// Whether something is put into a map because nothing was found there, and two who do so at once only do the same work
    /// twice. Not if what is put was given to this method, drawn by chance, or made here and is changed later: one of the two
    /// is lost then, with what goes into it.
    pub(super) fn is_memory_of_key(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let is_put =
            |spot: &Spot| matches!(operation(self.whole, spot), Some("put" | "putIfAbsent" | "computeIfAbsent"));
        let names = &self.whole.program.names;
        let is_given = |argument: &Argument| {
            let mut sources = argument.sources.iter();
            sources.any(|source| matches!(source.origin, Origin::Parameter(_)))
        };
        let is_telling = |outline: &Outline, object: &Object| match *object {
            Object::New { class, .. } => self.is_ever_changed(class),
            // The key itself tells no more than the key.
            Object::Parameter(_) => !self.is_key_at(&write.spot, object),
            // A container that is filled later.
            Object::Event(_) if self.is_for_threads(outline, object) && self.is_filled_here(outline, object) => true,
            // A number in its box.
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, arguments, .. } => {
                    names.text(method.name) == "valueOf"
                        && names.text(method.class.0).starts_with("java/lang/")
                        && arguments.iter().any(is_given)
                }
                _ => false,
            },
            Object::Int(_) | Object::Unknown => false,
        };
        stale.how == Use::Decides
            && self.may_be_memory(stale)
            && stale.variable == stale.written
            && read.is_keyed
            && is_put(&write.spot)
            && !self.is_chosen_anew(stale, write)
            && !self
                .put_at(&write.spot)
                .is_some_and(|(_, outline, value)| value.iter().any(|one| is_telling(outline, one)))
    }

    /// Whether a container may be a memory: one that a field holds, and that locks by itself. In large programs others are, too,
    /// and a key may be asked for before what it stands for is got.
    fn may_be_memory(&self, stale: &Stale) -> bool {
        let is_asked = self.asks_presence(self.access(stale.read));
        match self.whole.is_large() {
            true => !matches!(stale.variable, Variable::Field(_)) && (!is_asked || self.is_got_if_there(stale)),
            false => {
                matches!(stale.variable, Variable::Held(_))
                    && self.summary.sections[stale.first].kind == LockKind::Own
                    && !is_asked
            }
        }
    }

    /// Whether what is asked for by its key is got, too, if it is there.
    fn is_got_if_there(&self, stale: &Stale) -> bool {
        self.summary.accesses.iter().any(|access| {
            !access.is_write
                && access.is_keyed
                && access.event != self.access(stale.read).event
                && self.variable(access) == Some(stale.variable)
                && operation(self.whole, &access.spot) == Some("get")
        })
    }

    /// Whether somebody changes objects of a class after they are made: their fields, or what those hold.
    fn is_ever_changed(&self, class: ClassName) -> bool {
        let program = self.whole.program;
        let name = program.names.text(class.0);
        let is_of_library = name.starts_with("java/util/") || name == "java/lang/Object";
        match program.class(class).filter(|_| !is_of_library) {
            Some(class) => program.fields_of(class).any(|field| {
                let variables = [Variable::Field(field), Variable::Held(field), Variable::Within(field)];
                variables.into_iter().any(|variable| !self.whole.variables.writers(variable).is_empty())
            }),
            // Containers, counters and locks.
            None => is_of_library && !self.whole.calls.is_immutable(program, class),
        }
    }

    /// Whether nobody but this method comes to a place.
    fn is_alone(&self, spot: &Spot) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method);
        method.is_some_and(|method| method == self.method || self.whole.calls.callers(method) == [self.method])
    }

    /// Whether a call is given an object as its first argument, too.
    fn is_key_at(&self, spot: &Spot, object: &Object) -> bool {
        let event = self.event_at(spot);
        matches!(event.map(|event| &event.action),
            Some(Action::Call { arguments, .. }) if arguments.get(1).is_some_and(|key| *key.objects == [*object]))
    }

    /// What a call of two arguments is given as the second one, and where.
    pub(super) fn put_at(&self, spot: &Spot) -> Option<(MethodId, &Outline, &[Object])> {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let event = outline.events.iter().find(|event| event.pc == spot.pc)?;
        match &event.action {
            Action::Call { arguments, .. } => {
                let [_, _, value] = arguments.as_slice() else { return None };
                Some((method, outline, &value.objects))
            }
            _ => None,
        }
    }

    pub(super) fn never_changes(&self, method: MethodId, outline: &Outline, object: &Object) -> bool {
        let program = self.whole.program;
        let text = |symbol| program.names.text(symbol);
        match *object {
            Object::Int(_) => true,
            Object::New { class, .. } => self.whole.calls.is_immutable(program, class),
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => text(method.descriptor)
                    .rsplit_once(')')
                    .is_some_and(|(_, descriptor)| self.is_unchanging(descriptor)),
                Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                    self.is_unchanging(text(field.descriptor))
                }
                _ => false,
            },
            Object::Parameter(position) => {
                let declared = program.method(method);
                let skipped = usize::from(!declared.access.is_static());
                let position = usize::from(position).checked_sub(skipped);
                let parameter = position.and_then(|position| parameters(text(declared.descriptor)).nth(position));
                parameter.is_some_and(|descriptor| self.is_unchanging(descriptor))
            }
            Object::Unknown => false,
        }
    }

    pub(super) fn is_unchanging(&self, descriptor: &str) -> bool {
        let program = self.whole.program;
        match descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')) {
            Some(name) => self.whole.calls.is_immutable(program, program.names.class(name)),
            None => !descriptor.starts_with('['),
        }
    }

    /// Whether an array has all its elements when it gets into the field, and nobody puts others in.
    fn is_filled_before(&self, variable: Variable, write: &Access) -> bool {
        let field = variable.field();
        let is_written = |variable| !self.whole.variables.writers(variable).is_empty();
        !is_written(Variable::Held(field))
            && !is_written(Variable::Within(field))
            && self
                .summary
                .accesses
                .iter()
                .filter(|access| access.is_write && access.member == Member::Elements)
                .all(|access| self.is_made_here(access) && !self.may_come_before(write, access))
    }

    /// Whether it is a part of something that this method makes, or gets from a method that is none of the program's.
    fn is_made_here(&self, access: &Access) -> bool {
        let event = match access.base.start {
            Start::New(_) => return true,
            Start::Result(event) => event,
            _ => return false,
        };
        let outline = self.whole.summaries.outline(self.method);
        match outline.and_then(|outline| outline.events.get(event.index())).map(|event| &event.action) {
            Some(Action::Call { kind, method, .. }) => {
                let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
                targets.known().iter().all(|target| self.whole.summaries.outline(*target).is_none())
            }
            _ => false,
        }
    }

    /// Whether a write only takes a value back: a null, or the 0 that a number has before it is worked out.
    pub(super) fn is_dropped(&self, place: &Place) -> bool {
        let summary = self.whole.summaries.summary(place.method);
        let write = summary.and_then(|summary| summary.accesses.get(place.access.index()));
        let there = Looking::at(self.whole, place.method);
        write.zip(there).is_some_and(|(write, there)| there.takes_back(write))
    }

    pub(super) fn takes_back(&self, write: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        let event = outline.and_then(|outline| outline.events.get(write.event.index()));
        match event.map(|event| &event.action) {
            Some(Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. }) => {
                match self.whole.program.names.text(field.descriptor).starts_with(['L', '[']) {
                    true => stored.objects.is_empty(),
                    false => *stored.objects == [Object::Int(0)],
                }
            }
            Some(Action::Write { stored, .. }) => stored.objects.is_empty(),
            _ => false,
        }
    }

    /// Whether a part of a value is the same for everybody who asks for this key, or this object.
    fn is_settled(&self, influence: &Influence, write: &Access, key: &[Influence]) -> bool {
        let is_key = || key.iter().any(|part| part.root == influence.root);
        match influence.root {
            Root::Parameter(position) => self.is_this(position) || is_key(),
            Root::Access(read) => {
                let read = self.access(read);
                let is_of_key = || read.address.iter().all(|part| key.iter().any(|given| given.root == part.root));
                // What a map tells of the value before is not part of what it gets.
                self.is_same_each_time(read, write)
                    || self.is_made_here(read)
                    || is_key()
                    || self.is_remembered(read) && is_of_key()
            }
        }
    }

    /// Whether anything else is done because there was no value: another write, or a call that is there for what it does.
    pub(super) fn does_more(&self, stale: &Stale, write: &Access) -> bool {
        let is_other = |access: &Access| {
            access.is_write
                && self.shared(access).is_some_and(|variable| variable != stale.variable)
                && (access.event == write.event
                    || comes_from(&access.control, stale.read) && !self.is_for_memory(access))
        };
        let names = &self.whole.program.names;
        self.summary.accesses.iter().any(is_other)
            || self.of_same_answer(stale, write).any(|(_, event)| match &event.action {
                Action::Call { kind, method, .. } => {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    names.text(method.descriptor).ends_with(")V")
                        && names.text(method.name) != "<init>"
                        && model.is_none_or(|model| model.sink.is_some_and(|sink| sink == model::Sink::Print))
                        && !self.only_pauses(*kind, *method, MAX_PAUSE)
                }
                _ => false,
            })
    }

    /// What happens for the same reason as the write, and besides it.
    pub(super) fn of_same_answer(&self, stale: &Stale, write: &Access) -> impl Iterator<Item = (EventId, &Event)> {
        let reading = self.access(stale.read).event;
        let events = self.whole.summaries.outline(self.method).map(|outline| outline.events.as_slice());
        let events = events.unwrap_or_default();
        let deciding = events[write.event.index()].control.clone();
        let of_same = events.iter().enumerate().filter(move |(index, event)| {
            *index != write.event.index()
                && *index != reading.index()
                && deciding.iter().any(|condition| event.control.contains(condition))
        });
        of_same.map(|(index, event)| (EventId(index as u32), event))
    }

    /// Whether the clock or chance has a part in it.
    fn is_chosen_anew(&self, stale: &Stale, write: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        let writing = outline.map(|outline| &outline.events[write.event.index()]);
        let before = outline.into_iter().flat_map(|outline| &outline.events[..write.event.index()]);
        let besides = self.of_same_answer(stale, write).map(|(_, event)| event);
        besides.chain(writing).chain(before).any(|event| self.is_new_by(event, MAX_DEPTH))
    }

    fn is_new_by(&self, event: &Event, depth: usize) -> bool {
        let Action::Call { kind, method, .. } = &event.action else { return false };
        let (program, calls) = (self.whole.program, &self.whole.calls);
        is_ever_new(&program.names, *method)
            || depth > 0
                && !self.only_pauses(*kind, *method, MAX_PAUSE)
                && match calls.targets(program, *kind, *method).known() {
                    // Of what many classes may do, some ask the clock for reasons of their own.
                    [target] => self
                        .whole
                        .summaries
                        .outline(*target)
                        .is_some_and(|outline| outline.events.iter().any(|event| self.is_new_by(event, depth - 1))),
                    _ => false,
                }
    }
}

/// The descriptors of a method's parameters, one after the other.
fn parameters(descriptor: &str) -> impl Iterator<Item = &str> {
    let mut rest = descriptor.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or("", |(inner, _)| inner);
    std::iter::from_fn(move || {
        let start = rest.find(|letter| letter != '[')?;
        let length = if rest[start..].starts_with('L') { rest.find(';')? + 1 } else { start + 1 };
        let (first, others) = rest.split_at(length);
        rest = others;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn parameters() {
        let of = |descriptor| super::parameters(descriptor).collect::<Vec<_>>();
        assert_eq!(of("()V"), [""; 0]);
        assert_eq!(of("(I[[JLjava/lang/Long;[La;Z)V"), ["I", "[[J", "Ljava/lang/Long;", "[La;", "Z"]);
    }
}
