//! Writes that make sure of what was read before: they look again, are told what to expect, or compare a version.

use program::model::State;
use program::outline::{
    Action, Argument, Condition, EventId, Member, Name, Object, Origin, Outline, Source, Sources, Start,
};
use program::summary::{Access, AccessId, Influence, Influences, Root};
use program::{Place, Variable};

use super::idioms::{comes_from, is_same_origin};
use super::rules::{Looking, Stale, Use};
use super::way::Way;
use crate::gone::{Gone, is_answered_and_missed};
use crate::words::{called_at, operation};

impl Looking<'_> {
    /// Whether a value is one of the variable that was read under a lock which is still held at the write.
    pub(super) fn is_fresh(&self, influence: &Influence, variable: Variable, write: &Access) -> bool {
        let Root::Access(read) = influence.root else { return false };
        let access = self.access(read);
        let shared = access.held.intersection(write.held).without(influence.ended);
        !access.is_write && !shared.is_empty() && self.variable(access) == Some(variable)
    }

    /// Whether the write makes sure that what was read still holds: it is told what to expect, it is one step with a
    /// read of its own, or a fresh read in its section vouches for the old one.
    pub(super) fn is_validated(&self, stale: &Stale, write: &Access) -> bool {
        // What says whether it was done, and is listened to, does not do it twice.
        if write.is_refusing && stale.how == Use::Written && stale.variable == stale.written {
            return true;
        }
        if comes_from(&write.expects, stale.read) || stale.how == Use::Decides && self.expects_same(stale, write) {
            return true;
        }
        if stale.how == Use::Decides {
            // What a call looks at by itself before it acts is that call's business.
            let looks_again = write.control.iter().any(|influence| match influence.root {
                Root::Access(read) if read != stale.read => {
                    let again = self.access(read);
                    self.is_fresh(influence, stale.variable, write)
                        || again.event == write.event && self.variable(again) == Some(stale.variable)
                }
                _ => false,
            });
            // What asks for a key answers for that key, and not for how many there are.
            let read = self.access(stale.read);
            let answers = write.is_compound
                && stale.variable == stale.written
                && stale.first != stale.second
                && (read.is_keyed || !write.is_keyed)
                && !self.is_relied_on_before(stale, write)
                && !self.is_waited_for(stale, write)
                && !self.is_for_several(stale, write)
                && !self.is_missed(stale, write)
                && !self.is_judged_by_content(stale, write)
                && !self.is_judged_by_value(stale, write)
                && !self.is_updated_blindly(stale, write)
                && !self.expects_other(stale, write);
            // `most = Math.max(most, entries.size())`: what is kept in step with what is there now is right at any time.
            let is_now = |influence: &Influence| match influence.root {
                Root::Access(read) => {
                    let read = self.access(read);
                    self.variable(read).is_some_and(|variable| self.is_fresh(influence, variable, write))
                }
                Root::Parameter(_) => false,
            };
            let follows = stale.variable != stale.written
                && write.value.iter().any(|influence| self.is_fresh(influence, stale.variable, write))
                && write.value.iter().all(is_now);
            if follows
                || looks_again
                    && !self.is_one_of_many(stale, write)
                    && !self.is_surplus(stale, write)
                    && !self.is_told_other(stale, write)
                || answers
                || self.is_hint(stale, write)
                || self.is_reversed(stale, write)
                || self.is_asked_by_container(stale, write)
                || self.is_vouched_for_by_found(stale, write)
            {
                return true;
            }
        }
        // What is old is the place, which is looked at again: `if (!plan.has(slot)) plan.put(slot, name)`.
        let is_place_seen = |influence: &Influence| match influence.root {
            Root::Access(look) => {
                let keys = &self.access(look).keys;
                look != stale.read
                    && comes_from(&self.access(look).address, stale.read)
                    && (write.keys.is_empty() && keys.is_empty() || keys.iter().any(|key| write.keys.contains(key)))
                    && self.is_fresh(influence, stale.variable, write)
            }
            Root::Parameter(_) => false,
        };
        if stale.how == Use::Written
            && stale.variable == stale.written
            && comes_from(&write.address, stale.read)
            && write.control.iter().any(is_place_seen)
        {
            return true;
        }
        let mut told = write.compared.iter().filter(|compared| compared.are_equal && !compared.is_of_parts);
        told.any(|compared| {
            let [left, right] = &compared.sides;
            // A version that is at least as high as it was says nothing.
            let is_version = |fresh: u8| compared.larger != Some(fresh);
            // Nor does a copy that is as low or as high; but the largest may be kept, or as much taken as there is.
            let is_by_size = compared.larger.is_some() && stale.how == Use::Written && !self.is_relative(stale, write);
            let may_be_copy = |old: &Influences| !is_by_size || is_same_origin(old, &write.value);
            self.vouches(left, right, (may_be_copy(right), is_version(0)), stale, write)
                || self.vouches(right, left, (may_be_copy(left), is_version(1)), stale, write)
        })
    }

    /// Whether something was done because there is something to take, before the taking has said whether there still is.
    pub(super) fn is_relied_on_before(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        if self.access(stale.read).is_keyed || self.way_of(write) != Some(Way::Down) {
            return false;
        }
        let reading = self.access(stale.read).event;
        let comes_of = |access: &Access, wanted: EventId| {
            access.control.iter().any(|influence| match influence.root {
                Root::Access(read) => self.access(read).event == wanted,
                Root::Parameter(_) => false,
            })
        };
        // What yields something is called for that; what yields nothing, for what it does.
        let is_deed = |event: EventId| match &outline.events[event.index()].action {
            Action::Call { method, .. } => self.whole.program.names.text(method.descriptor).ends_with(")V"),
            Action::Write { .. } => true,
            _ => false,
        };
        self.summary.accesses.iter().any(|done| {
            let is_own = matches!(done.base.start, Start::New(_) | Start::Unknown);
            done.is_write
                && (!is_own || matches!(done.member, Member::Static(_)))
                && ![write.event, reading].contains(&done.event)
                && comes_from(&done.control, stale.read)
                && is_deed(done.event)
                && !comes_of(done, write.event)
                && outline.leads_to(done.event, write.event, &[reading])
        })
    }

    /// `awaitOne(); one = queue.poll();`: who has waited until there is one counts on it, whatever the taking may say; unless
    /// it is asked whether it got one, by somebody who takes no for an answer.
    fn is_waited_for(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_taken = |source: &Source| source.origin == Origin::Event(write.event);
        let is_missed = |condition: &Condition| {
            let asked = (condition, write.event);
            is_answered_and_missed(self.whole, self.method, outline, asked, stale.variable)
        };
        let mut conditions = outline.conditions.iter();
        comes_from(&write.awaited, stale.read)
            && self.way_of(write) == Some(Way::Down)
            && !conditions.any(|condition| condition.sources.iter().any(is_taken) && !is_missed(condition))
            && !self.is_asked_as_optional(outline, write.event, stale.variable)
    }

    /// `if (!queue.isEmpty()) { job = queue.poll(); if (job == null) blanks++; .. }`: that there is nothing to take is no answer
    /// but something that goes wrong.
    fn is_missed(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let gone = Gone {
            whole: self.whole,
            method: self.method,
            variable: stale.variable,
            asked: read.event,
            got: write.event,
            spot: write.spot,
            counts_result: false,
        };
        self.way_of(write) == Some(Way::Down) && gone.is_unexpected()
    }

    /// `entry = map.get(key); if (entry.isOver()) map.remove(key);`: what was judged is the value that stood there then, and
    /// what goes is whatever stands there now. Others put a new one in the place of an old one.
    fn is_judged_by_value(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read);
        // Whether it is there at all is asked of the value itself; what it is, of something in it.
        let is_part = |source: &Source| match source.origin {
            Origin::Event(from) => from != read.event && is_made_of(outline, from, read.event.index(), &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let judges = |condition: &Condition| condition.absent.is_none() && condition.sources.iter().any(is_part);
        let is_put_over = |place: &Place| {
            let summary = self.whole.summaries.summary(place.method);
            let spot = summary.map(|summary| &summary.accesses[place.access.index()].spot);
            let done = spot.and_then(|spot| operation(self.whole, spot));
            matches!(done, Some("put" | "putAll" | "replace" | "replaceAll" | "compute" | "computeIfPresent" | "merge"))
        };
        let mut deciding = outline.events[write.event.index()].control.iter();
        write.is_removal
            && write.is_mapped
            && matches!(operation(self.whole, &read.spot), Some("get" | "getOrDefault"))
            && deciding.any(|condition| judges(&outline.conditions[*condition as usize]))
            && self.whole.variables.writers(stale.variable).iter().any(is_put_over)
    }

    /// `next = queue.peek(); if (next.isEasy()) mine = queue.poll();`: what was judged is the first element as it was then,
    /// and what is taken is whatever comes first now. That there was one at all says nothing of what it is.
    fn is_judged_by_content(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read);
        let is_first = matches!(
            operation(self.whole, &read.spot),
            Some("peek" | "peekFirst" | "peekLast" | "element" | "first" | "firstEntry" | "firstKey" | "getFirst")
        );
        let judges = |condition: &Condition, judged: EventId| {
            condition.absent.is_none()
                && condition.sources.iter().any(|source| match source.origin {
                    Origin::Event(from) => is_made_of(outline, from, judged.index(), &mut Vec::new()),
                    Origin::Parameter(_) => false,
                })
        };
        let mut deciding = outline.events[write.event.index()].control.iter();
        is_first
            && !write.is_removal
            && self.way_of(write) == Some(Way::Down)
            && deciding.any(|condition| judges(&outline.conditions[*condition as usize], read.event))
            && !outline.conditions.iter().any(|condition| judges(condition, write.event))
    }

    /// `if (busy.get() || !busy.compareAndSet(false, true)) return; .. busy.set(false);`: what was asked first is a hint, since
    /// what is done hangs on the answer of a step that has looked by itself. Whether that answer is old is another question.
    fn is_hint(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read);
        let refuses = |step: &Access| {
            let called = called_at(self.whole, &step.spot);
            let model = called.and_then(|method| self.whole.calls.model(self.whole.program, method, method.class));
            model.is_some_and(|model| model.revalidates.is_some())
        };
        let is_step = |step: &Access, event: EventId| {
            step.event == event
                && step.is_write
                && step.is_compound
                && (read.is_keyed || !step.is_keyed)
                && refuses(step)
                && step.base.same(&read.base)
                && self.variable(step) == Some(stale.variable)
                && comes_from(&step.control, stale.read)
        };
        write.control.iter().any(|influence| match influence.root {
            Root::Access(asked) => {
                let event = self.access(asked).event;
                ![read.event, write.event].contains(&event)
                    && self.summary.accesses.iter().any(|step| is_step(step, event))
                    && !outline.leads_to(read.event, write.event, &[event])
            }
            Root::Parameter(_) => false,
        })
    }

    /// `if (open.get() >= max) return false; if (open.incrementAndGet() > max) { open.decrementAndGet(); return false; }`: a
    /// step that goes by its own answer, and is taken back if there were too many, needs no leave from before.
    fn is_reversed(&self, stale: &Stale, write: &Access) -> bool {
        let (Some(way), Some(outline)) = (self.way_of(write), self.whole.summaries.outline(self.method)) else {
            return false;
        };
        let is_of_answer = |event: EventId, step: EventId| {
            outline.events[event.index()].control.iter().any(|condition| {
                let mut sources = outline.conditions[*condition as usize].sources.iter();
                sources.any(|source| source.origin == Origin::Event(step))
            })
        };
        stale.variable == stale.written
            && self.summary.accesses.iter().any(|back| {
                back.is_write
                    && back.base.same(&write.base)
                    && self.way_of(back).is_some_and(|other| other != way)
                    && (matches!(write.member, Member::State(State::Value)) && is_of_answer(back.event, write.event)
                        || back.event != write.event
                            && (self.takes_one(write) || matches!(write.member, Member::State(State::Value)))
                            && is_of_answer(write.event, back.event))
            })
    }

    /// Whether the write is in a function that the container runs only if it finds, at that moment, what was asked before.
    fn is_asked_by_container(&self, stale: &Stale, write: &Access) -> bool {
        let is_conditional = || {
            let outline = self.whole.summaries.outline(self.method);
            let event = outline.and_then(|outline| outline.events.get(write.event.index()));
            matches!(event.map(|event| &event.action), Some(Action::Call { method, .. })
                if matches!(self.whole.program.names.text(method.name), "computeIfAbsent" | "computeIfPresent"))
        };
        let is_act = |act: &Access| {
            act.is_write
                && act.is_compound
                && act.event == write.event
                && self.variable(act) == Some(stale.variable)
                && act.base.same(&self.access(stale.read).base)
        };
        stale.variable != stale.written
            && self.access(stale.read).is_keyed
            && self.summary.accesses.iter().any(is_act)
            && is_conditional()
    }

    /// `entry = map.get(key); synchronized (entry) { if (entry.isDead()) return; .. map.remove(key); }`: what was found is
    /// asked itself, under its own lock, and whoever takes it out of the container tells it. The lock is held on, or the
    /// answer is changed at once.
    fn is_vouched_for_by_found(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_found = |name: &Name| name.start == Start::Result(read.event);
        let is_lasting = |section: usize, state: Variable, asked: AccessId| {
            let lock = &self.summary.sections[section].lock;
            let is_changed = |change: &Access| {
                change.is_write
                    && change.held.contains(section)
                    && comes_from(&change.control, asked)
                    && self.variable(change) == Some(state)
            };
            is_found(lock)
                && lock.steps.is_empty()
                && (write.held.contains(section) || self.summary.accesses.iter().any(is_changed))
        };
        let is_asked = |influence: &Influence| match influence.root {
            Root::Access(id) if id != stale.read => {
                let asked = self.access(id);
                self.variable(asked).filter(|_| is_found(&asked.base)).is_some_and(|state| {
                    asked.held.iter().any(|section| is_lasting(section, state, id))
                        && self.is_told_when_taken(stale.variable, state)
                })
            }
            _ => false,
        };
        stale.variable == stale.written && read.is_keyed && write.control.iter().chain(&write.guards).any(is_asked)
    }

    /// Whether a method that takes something out of a container also writes a variable.
    fn is_told_when_taken(&self, container: Variable, state: Variable) -> bool {
        self.whole.variables.writers(container).iter().any(|place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
            summary.accesses[place.access.index()].is_removal
                && summary.accesses.iter().any(|write| write.is_write && self.variable(write) == Some(state))
        })
    }

    /// Whether what the write is told to expect was read from the very object that was asked: an entry of a map.
    fn expects_same(&self, stale: &Stale, write: &Access) -> bool {
        let asked = self.receiver(self.access(stale.read));
        asked.is_some()
            && write.expects.iter().any(|influence| match influence.root {
                Root::Access(read) => self.receiver(self.access(read)) == asked,
                Root::Parameter(_) => false,
            })
    }

    /// The object that another call yielded and that a read of the method itself is a call on.
    fn receiver(&self, read: &Access) -> Option<EventId> {
        let outline = self.whole.summaries.outline(self.method)?;
        match &outline.events.get(read.event.index())?.action {
            Action::Call { arguments, .. } => match arguments.first()?.objects.as_slice() {
                [Object::Event(event)] => Some(*event),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether one side is a fresh read, and the other one the old value or an old version of it, as far as it may be one.
    fn vouches(
        &self,
        fresh: &Influences,
        old: &Influences,
        (may_be_copy, may_be_version): (bool, bool),
        stale: &Stale,
        write: &Access,
    ) -> bool {
        fresh.iter().any(|influence| {
            let Root::Access(read) = influence.root else { return false };
            let Some(variable) = self.variable(self.access(read)) else { return false };
            if read == stale.read || !self.is_fresh(influence, variable, write) {
                return false;
            }
            old.iter().any(|influence| {
                let Root::Access(copy) = influence.root else { return false };
                let is_read_first = || {
                    let is_first = |one: &Influence| match one.root {
                        Root::Access(one) => self.is_read_first(self.access(one), self.access(stale.read), write),
                        Root::Parameter(_) => false,
                    };
                    old.iter().all(is_first) && self.is_counted_on(variable, stale.variable)
                };
                copy == stale.read && may_be_copy
                    || may_be_version
                        && self.variable(self.access(copy)) == Some(variable)
                        && (stale.how == Use::Decides
                            || self.access(copy).held.contains(stale.first)
                            || is_read_first())
                        && self.is_version(variable, stale.variable)
            })
        })
    }

    /// `if (removed.get(key) != null) return null; return kept.get(key);`: what a method has looked at, and yields no part
    /// of, is in nothing that it yields; it has decided whether there is something.
    pub(super) fn is_only_asked_for(&self, read: &Access) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let Some(method) = calls.hierarchy.resolve_name(program, read.spot.method).filter(|one| *one != self.method)
        else {
            return false;
        };
        let (Some(outline), Some(own)) =
            (self.whole.summaries.outline(method), self.whole.summaries.outline(self.method))
        else {
            return false;
        };
        let is_called = match &own.events[read.event.index()].action {
            Action::Call { kind, method: called, .. } => {
                calls.targets(program, *kind, *called).known().contains(&method)
            }
            _ => false,
        };
        let Some(looking) = outline.events.iter().position(|event| event.pc == read.spot.pc) else { return false };
        // What goes over something that was made here has what was put there.
        let is_of_new = |arguments: &[Argument]| {
            let receiver = arguments.first().map(|first| first.objects.as_slice());
            matches!(receiver, Some([Object::New { .. }]))
        };
        let is_other = |object: &Object| match object {
            Object::Event(event) => {
                matches!(&outline.events[event.index()].action, Action::Call { arguments, .. } if !is_of_new(arguments))
                    && !is_made_of(outline, *event, looking, &mut Vec::new())
            }
            _ => false,
        };
        is_called
            && program.names.text(program.method(method).descriptor).ends_with(';')
            && !outline.returned.is_empty()
            && outline.returned.iter().all(is_other)
    }
}

/// Whether what an event yields is, or is made of, what another one yields.
pub(super) fn is_made_of(outline: &Outline, event: EventId, wanted: usize, seen: &mut Vec<EventId>) -> bool {
    if event.index() == wanted {
        return true;
    }
    if seen.contains(&event) {
        return false;
    }
    seen.push(event);
    let mut comes_from = |sources: &Sources| {
        sources.iter().any(|source| match source.origin {
            Origin::Event(from) => is_made_of(outline, from, wanted, seen),
            Origin::Parameter(_) => false,
        })
    };
    match &outline.events[event.index()].action {
        Action::Read { address, .. } => comes_from(address),
        Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => {
            arguments.iter().any(|argument| comes_from(&argument.sources))
        }
        Action::Write { .. } | Action::Wait(_) => false,
    }
}
