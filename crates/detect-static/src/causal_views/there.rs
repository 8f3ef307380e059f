//! What was found to be there and is fetched again: `if (map.containsKey(key)) map.get(key).use();`. Another thread may have
//! taken it away by then, and nobody asks a second time.

use program::ir::CallKind;
use program::model::State;
use program::outline::{
    Action, Argument, Event, EventId, MeetingKind, Member, Name, NameStep, Object, Origin, Outline, SectionSet,
    Sources, Start,
};
use program::summary::{Access, AccessId, Met, Root, Spot, Summary};
use program::{MethodId, Place, Variable};

use super::stale::{Asking, Flow, How};
use crate::gone::Gone;

/// Methods that fetch something are looked into this deep.
const MAX_DEPTH: usize = 3;

/// Operations that throw if there is nothing.
const THROWING: [&str; 9] =
    ["element", "first", "firstElement", "firstKey", "getFirst", "getLast", "last", "lastElement", "lastKey"];

/// Operations that yield null if there is nothing at the end that they look at.
const PEEKING: [&str; 5] = ["firstEntry", "lastEntry", "peek", "peekFirst", "peekLast"];

/// How the names of operations begin that take something out of a container.
const TAKING: [&str; 7] = ["clear", "drain", "poll", "pop", "remove", "retain", "take"];

/// What becomes of something that is fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fetched {
    /// It is used, and if it is null that is an exception.
    Used,
    /// It is returned, null or not.
    Returned,
}

impl Asking<'_> {
    /// What is fetched in one section because an earlier one on the same lock has found that it is there.
    pub(super) fn fetched_again(&self) -> Vec<Flow> {
        let mut found = Vec::new();
        for (index, target) in self.summary.accesses.iter().enumerate().filter(|(_, target)| !target.is_write) {
            // A key that was found in the container itself says that it is there.
            let is_of_keys =
                |root: Root| matches!(root, Root::Access(read) if self.summary.accesses[read.index()].is_of_keys);
            let found_keys = target.address.iter().filter(|influence| is_of_keys(influence.root));
            for influence in target.control.iter().chain(found_keys) {
                let Root::Access(read) = influence.root else { continue };
                let Some((first, second)) = parted(self.summary, read, influence.ended, target.held) else { continue };
                let asked = &self.summary.accesses[read.index()];
                if asked.event != target.event && asked.base.same(&target.base) {
                    found.push(Flow { how: How::There, read, target: AccessId(index as u32), first, second });
                }
            }
        }
        found
    }

    /// Whether the one asks for what the other one then relies on.
    pub(super) fn is_relied_on(&self, read: &Access, target: &Access) -> bool {
        let (asked, fetched) = (self.operation(read), self.operation(target));
        let is_same_key = || !read.keys.is_empty() && read.keys == target.keys;
        let comes_from_it = || {
            target.address.iter().any(|influence| match influence.root {
                Root::Access(found) => std::ptr::eq(&self.summary.accesses[found.index()], read),
                Root::Parameter(_) => false,
            })
        };
        let is_asked_for = match (target.member, asked, fetched) {
            (Member::State(_), _, Some("get")) if read.is_of_keys => comes_from_it(),
            (Member::Field(_) | Member::Static(_), _, _) => self.is_found(read, target),
            (Member::State(_), Some("isEmpty" | "size"), Some(fetched)) => {
                self.action(target).is_some_and(|action| self.throws(action)) || PEEKING.contains(&fetched)
            }
            (Member::State(_), Some("contains" | "containsKey"), Some("get")) => is_same_key(),
            (Member::State(_), Some("get"), Some("get")) => {
                (is_same_key() || target.member == Member::State(State::Value)) && self.is_found(read, target)
            }
            (Member::State(_), Some(asked), Some(fetched)) => {
                PEEKING.contains(&asked) && asked == fetched && self.is_found(read, target)
            }
            _ => false,
        };
        is_asked_for
            && !self.is_put_between(read, target)
            && (self.fetched(self.method, target.event, &target.spot, MAX_DEPTH) == Some(Fetched::Used)
                || asked == Some("containsKey") && self.is_missed(read, target))
    }

    /// `if (current.get().containsKey(key)) current.get().get(key).use();`: a key was found in what a reference referred to at
    /// the first look, and what stands under it is fetched from what it refers to at the second.
    pub(super) fn found_in_other(&self, first: &Access, second: &Access) -> Option<Met> {
        let accesses = || self.summary.accesses.iter().enumerate().filter(|(_, access)| access.is_of_contents());
        let behind = |look: &Access| -> Vec<(usize, &Access)> {
            accesses().filter(|(_, access)| !access.is_write && self.is_behind(look, access)).collect()
        };
        let (asked, fetched) = (behind(first), behind(second));
        let is_question = |access: &Access| matches!(self.operation(access), Some("contains" | "containsKey"));
        let is_for = |index: usize, question: &Access, target: &Access| {
            let root = Root::Access(AccessId(index as u32));
            !question.keys.is_empty()
                && question.keys == target.keys
                && target.control.iter().any(|influence| influence.root == root)
        };
        let found = fetched.iter().find(|(_, target)| {
            self.operation(target) == Some("get")
                && asked.iter().any(|(index, question)| is_question(question) && is_for(*index, question, target))
                && self.fetched(self.method, target.event, &target.spot, MAX_DEPTH) == Some(Fetched::Used)
        })?;
        Some(Met { spot: found.1.spot, kind: MeetingKind::Computed })
    }

    /// Whether an access is of the object that a look at a reference yields, or of what that has.
    fn is_behind(&self, look: &Access, access: &Access) -> bool {
        let is_it = |argument: &Argument| argument.sources.iter().any(|one| one.origin == Origin::Event(look.event));
        let is_called_on_it = || match &self.outline.events[access.event.index()].action {
            Action::Call { arguments, .. } => arguments.first().is_some_and(is_it),
            _ => false,
        };
        let object = match look.member {
            Member::Static(field) => Name::start(Start::Static(field)),
            Member::Field(field) => look.base.then(&[NameStep::Field(field)]),
            Member::Elements | Member::State(_) => look.base.then(&[NameStep::Some]),
        };
        is_called_on_it()
            || access.event == look.event
                && access.base.start == object.start
                && access.base.steps.starts_with(&object.steps)
    }

    /// Whether there being nothing under a key that was there is not what it would have been at first. A key may be there and
    /// have no value.
    fn is_missed(&self, read: &Access, target: &Access) -> bool {
        let Some(variable) = Variable::of(self.whole.program, read) else { return false };
        let gone = Gone {
            whole: self.whole,
            method: self.method,
            variable,
            asked: read.event,
            got: target.event,
            spot: target.spot,
            counts_result: true,
        };
        gone.is_unexpected() && !self.whole.variables.writers(variable).iter().any(|place| self.puts_nothing(place))
    }

    /// Whether a write puts a key that has no value.
    fn puts_nothing(&self, writer: &Place) -> bool {
        let Some(summary) = self.whole.summaries.summary(writer.method) else { return true };
        match self.action(&summary.accesses[writer.access.index()]) {
            Some(Action::Call { method, arguments, .. }) => {
                self.whole.program.names.text(method.name) == "put"
                    && arguments.last().is_some_and(|value| {
                        value.objects.is_empty() && value.sources.is_empty()
                            || self.is_given_nothing(writer.method, value)
                    })
            }
            _ => false,
        }
    }

    /// Whether the method itself puts something there before it fetches it.
    fn is_put_between(&self, read: &Access, target: &Access) -> bool {
        self.summary.accesses.iter().any(|put| {
            put.is_write
                && put.base.same(&target.base)
                && put.member == target.member
                && (put.event == target.event
                    || self.outline.may_follow(read.event, put.event)
                        && self.outline.leads_to(put.event, target.event, &[read.event]))
        })
    }

    /// Whether it was asked if a reference is null, and the fetch follows where it is not.
    fn is_found(&self, read: &Access, target: &Access) -> bool {
        let is_of =
            |sources: &Sources, event: EventId| sources.iter().any(|source| source.origin == Origin::Event(event));
        let control = self.outline.events[target.event.index()].control.iter();
        let mut conditions = control.map(|condition| &self.outline.conditions[*condition as usize]);
        let is_asked_here = conditions.any(|condition| {
            condition.absent.is_some()
                && is_of(&condition.sources, read.event)
                && !self.outline.is_because_absent(condition, target.event)
        });
        // `boolean isOpen() { return session != null; }`
        let is_asked_there = || {
            let program = self.whole.program;
            let is_question = |method: &MethodId| {
                *method != self.method && program.names.text(program.method(*method).descriptor).ends_with(")Z")
            };
            let asking = program.declared_method(read.spot.method).filter(is_question);
            let outline = asking.and_then(|asking| self.whole.summaries.outline(asking));
            outline.is_some_and(|outline| {
                let event = outline.events.iter().position(|event| event.pc == read.spot.pc);
                event.is_some_and(|event| {
                    outline
                        .conditions
                        .iter()
                        .any(|condition| condition.absent.is_some() && is_of(&condition.sources, EventId(event as u32)))
                })
            })
        };
        is_asked_here || is_asked_there()
    }

    fn operation(&self, access: &Access) -> Option<&str> {
        match self.action(access) {
            Some(Action::Call { method, .. }) => Some(self.whole.program.names.text(method.name)),
            _ => None,
        }
    }

    /// Whether an action throws if there is nothing: it asks for the first, or for a place that is always the same.
    fn throws(&self, action: &Action) -> bool {
        let Action::Call { method, arguments, .. } = action else { return false };
        let names = &self.whole.program.names;
        let is_fixed = || matches!(arguments.get(1).map(|place| place.objects.as_slice()), Some([Object::Int(_)]));
        match names.text(method.name) {
            "get" | "elementAt" => names.text(method.descriptor).starts_with("(I)") && is_fixed(),
            name => THROWING.contains(&name),
        }
    }

    /// What becomes of what an event of a method fetches, by the access at this spot.
    fn fetched(&self, method: MethodId, event: EventId, spot: &Spot, depth: usize) -> Option<Fetched> {
        let outline = self.whole.summaries.outline(method)?;
        if self.whole.program.method_name(method) == spot.method {
            if self.throws(&outline.events[event.index()].action) {
                return Some(Fetched::Used);
            }
        } else {
            let Action::Call { kind, method, .. } = &outline.events[event.index()].action else { return None };
            let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
            let inside = targets.known().iter().find_map(|callee| {
                let summary = self.whole.summaries.summary(*callee).filter(|_| depth > 0)?;
                let access = summary.accesses.iter().find(|access| access.spot == *spot)?;
                self.fetched(*callee, access.event, spot, depth - 1)
            })?;
            if inside == Fetched::Used {
                return Some(Fetched::Used);
            }
        }
        if is_used_unasked(outline, event) {
            Some(Fetched::Used)
        } else {
            outline.returned.contains(&Object::Event(event)).then_some(Fetched::Returned)
        }
    }

    /// Whether a write may take away what was there.
    pub(super) fn takes_away(&self, writer: &Place) -> bool {
        let Some(summary) = self.whole.summaries.summary(writer.method) else { return false };
        let write = &summary.accesses[writer.access.index()];
        let program = self.whole.program;
        match self.action(write) {
            Some(Action::Write { stored, .. }) => {
                // A text has no object either.
                let is_text = Variable::of(program, write).is_some_and(|variable| {
                    program.names.text(program.field(variable.field()).descriptor) == "Ljava/lang/String;"
                });
                !is_text && (stored.objects.is_empty() || self.is_given_nothing(writer.method, stored))
            }
            Some(Action::Call { method, arguments, .. }) => {
                let name = program.names.text(method.name);
                let is_null = || arguments.len() > 1 && arguments.last().is_some_and(|new| new.objects.is_empty());
                TAKING.iter().any(|word| name.starts_with(word))
                    || matches!(name, "set" | "lazySet" | "setRelease" | "getAndSet" | "compareAndSet") && is_null()
            }
            _ => false,
        }
    }
}

impl Asking<'_> {
    /// Whether what a method stores is what it is given, and some caller gives it null.
    fn is_given_nothing(&self, method: MethodId, stored: &Argument) -> bool {
        let [Object::Parameter(position)] = stored.objects.as_slice() else { return false };
        let whole = self.whole;
        whole.calls.callers(method).iter().any(|caller| {
            let Some(outline) = whole.summaries.outline(*caller) else { return false };
            outline.events.iter().any(|event| match &event.action {
                Action::Call { kind, method: called, arguments } => {
                    let is_null = |given: &Argument| given.objects.is_empty() && given.sources.is_empty();
                    arguments.get(usize::from(*position)).is_some_and(is_null)
                        && whole.calls.targets(whole.program, *kind, *called).known().contains(&method)
                }
                _ => false,
            })
        })
    }
}

/// The section that a value was read in and has left, and a later one on the same lock. A section around both may still be
/// open: whether that keeps others out is another question.
pub(super) fn parted(summary: &Summary, read: AccessId, ended: SectionSet, held: SectionSet) -> Option<(usize, usize)> {
    let read = &summary.accesses[read.index()];
    let around = held.without(ended);
    let is_outermost = |section: &usize| {
        let outer = summary.sections[*section].inside.intersection(read.held);
        outer.without(around).is_empty()
    };
    let first = ended.iter().filter(|section| read.held.contains(*section)).find(is_outermost)?;
    let lock = |section: usize| (summary.sections[section].kind, &summary.sections[section].lock);
    let is_same_lock = |section: &usize| lock(*section).0 == lock(first).0 && lock(*section).1.same(lock(first).1);
    let mut later = held.iter().filter(|section| !read.held.contains(*section) || ended.contains(*section));
    Some((first, later.find(is_same_lock)?))
}

/// Whether something is called or read of what an event yields although nobody asks whether it is there.
fn is_used_unasked(outline: &Outline, fetched: EventId) -> bool {
    let is_it = |sources: &Sources| sources.iter().any(|source| source.origin == Origin::Event(fetched));
    let is_asked =
        |user: &Event| user.control.iter().any(|condition| is_it(&outline.conditions[*condition as usize].sources));
    outline.events.iter().any(|user| {
        let uses = match &user.action {
            Action::Call { kind, arguments, .. } => {
                *kind != CallKind::Static
                    && arguments.first().is_some_and(|receiver| receiver.objects.contains(&Object::Event(fetched)))
            }
            Action::Read { address, .. } | Action::Write { address, .. } => is_it(address),
            Action::Lambda { .. } | Action::Wait(_) => false,
        };
        uses && !is_asked(user)
    })
}
