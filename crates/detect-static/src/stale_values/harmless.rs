//! Acts on old answers that do no harm: what is done twice is done once, is gone either way, or is always the same.

use location::MethodName;
use program::ir::CallKind;
use program::model::{self, Returns, Revalidation, State};
use program::outline::{Action, Argument, Event, EventId, Object, Origin, Outline, Source};
use program::summary::{Access, AccessId, Root};
use program::{MethodId, Place, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::validated::is_made_of;
use crate::threads::run_at_once;
use crate::words::{called_at, operation};

/// Calls further down than this are not looked into to see whether they only pause.
pub(super) const MAX_PAUSE: usize = 2;

impl Looking<'_> {
    /// Whether it does no harm to do it twice: a flag that is only ever set, a set that gets what it has. Nothing else
    /// may hang on the old answer.
    pub(super) fn is_harmless(&self, stale: &Stale, write: &Access) -> bool {
        stale.how == Use::Decides
            && stale.variable == stale.written
            && (write.is_repeatable
                && self.access(stale.read).is_keyed
                && !self.is_looked_for(stale, write)
                && !self.decides_more(stale, write)
                || self.is_one_way(stale.variable)
                    && (self.is_signal(stale.variable) || !self.decides_more(stale, write))
                || self.keeps_extreme(write) && !self.decides_more(stale, write)
                || self.is_set_one_way(stale.variable) && self.is_signal(stale.variable))
    }

    /// `if (seen > highest.get()) highest.accumulateAndGet(seen, Math::max)`: the step keeps the larger value, or the smaller
    /// one, by itself. The question before it only spares work.
    fn keeps_extreme(&self, write: &Access) -> bool {
        let program = self.whole.program;
        let method = self.whole.calls.hierarchy.resolve_name(program, write.spot.method);
        let Some(outline) = method.and_then(|method| self.whole.summaries.outline(method)) else { return false };
        let text = |symbol| program.names.text(symbol);
        let is_extreme = |object: &Object| match object {
            Object::Event(made) => match &outline.events[made.index()].action {
                Action::Lambda { method, .. } => {
                    matches!(text(method.class.0), "java/lang/Math" | "java/lang/Integer" | "java/lang/Long")
                        && matches!(text(method.name), "max" | "min")
                }
                _ => false,
            },
            _ => false,
        };
        outline.events.iter().filter(|event| event.pc == write.spot.pc).any(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                matches!(text(method.name), "accumulateAndGet" | "getAndAccumulate" | "merge")
                    && arguments.last().is_some_and(|function| function.objects.iter().any(is_extreme))
            }
            _ => false,
        })
    }

    /// `while (names.contains(name)) name = next(name); names.add(name);`: what is put there was looked for until one was
    /// free, and two who look at once find the same one.
    fn is_looked_for(&self, stale: &Stale, write: &Access) -> bool {
        comes_from(&write.awaited, stale.read) && !comes_from(&write.control, stale.read)
    }

    /// Whether something is removed that was found to be there: the very element, or a key whose presence was asked. If
    /// it has gone meanwhile, nothing happens.
    pub(super) fn is_gone_either_way(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && write.is_removal
            && !self.is_worked_on(stale.read, write)
            && (self.asks_presence(read) && !self.decides_more(stale, write)
                || !read.is_keyed && self.is_picked(stale, write)
                || (!write.is_mapped || read.is_of_keys) && comes_from(&write.address, stale.read))
    }

    /// `job = jobs.peek(); print(job); jobs.remove(job);`: something is done with the first one before it is removed or after
    /// that, or it is what the method yields, whoever else may be doing the same with it. Nobody asks who has removed it.
    pub(super) fn is_worked_on(&self, read: AccessId, write: &Access) -> bool {
        let read = self.access(read);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let Action::Call { .. } = &outline.events[write.event.index()].action else { return false };
        let origin = Origin::Event(read.event);
        let is_it = |argument: &Argument| argument.sources.iter().any(|source| source.origin == origin);
        let works = |index: usize| {
            let event = EventId(index as u32);
            let has_effect = || {
                let mut accesses = self.summary.accesses.iter();
                accesses.any(|access| access.event == event && access.is_write)
            };
            let is_before =
                || outline.may_follow(read.event, event) && outline.leads_to(event, write.event, &[read.event]);
            let is_after = || outline.leads_to(write.event, event, &[read.event]);
            event != read.event && event != write.event && (is_before() || is_after()) && has_effect()
        };
        // The entry, or what is in it.
        let is_of_it = |source: &Source| match source.origin {
            Origin::Event(from) => is_made_of(outline, from, read.event.index(), &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let is_result = || outline.returned.contains(&Object::Event(read.event)) || outline.result.iter().any(is_of_it);
        let is_yielded = || is_result() && outline.leads_to(read.event, write.event, &[]);
        let is_used = outline.conditions.iter().flat_map(|condition| &condition.sources).chain(&outline.result);
        let mut events = outline.events.iter().enumerate();
        self.is_end(read)
            && read.event != write.event
            && !is_used.into_iter().any(|source| source.origin == Origin::Event(write.event))
            && run_at_once(self.whole, self.method, self.method)
            && (is_yielded()
                || events.any(|(index, event)| match &event.action {
                    Action::Call { arguments, .. } => arguments.iter().any(is_it) && works(index),
                    Action::Write { stored, .. } => is_it(stored) && works(index),
                    _ => false,
                }))
    }

    /// Whether a read looks at the first or last of several, or the next one to something: whoever comes at the same time
    /// gets the same one.
    fn is_end(&self, read: &Access) -> bool {
        let place = |event: &Event| match &event.action {
            Action::Call { arguments, .. } => {
                matches!(arguments.get(1).map(|place| place.objects.as_slice()), Some([Object::Int(_)]))
            }
            _ => false,
        };
        let reading = || {
            let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, read.spot.method)?;
            let outline = self.whole.summaries.outline(method)?;
            outline.events.iter().find(|event| event.pc == read.spot.pc)
        };
        match operation(self.whole, &read.spot) {
            Some("peek" | "peekFirst" | "peekLast" | "element" | "getFirst" | "getLast" | "first" | "last") => true,
            Some("firstKey" | "lastKey" | "firstEntry" | "lastEntry" | "firstElement" | "lastElement") => true,
            Some("ceiling" | "floor" | "higher" | "lower" | "ceilingKey" | "floorKey" | "higherKey" | "lowerKey") => {
                true
            }
            Some("get" | "elementAt") => reading().is_some_and(place),
            // The first one of an iterator: further ones are got in a loop.
            Some("next") => reading().is_some_and(|event| !event.in_loop),
            _ => false,
        }
    }

    /// Whether the key that is removed was picked from the container itself, since there are too many: if it has gone
    /// meanwhile, another one goes in the next round.
    fn is_picked(&self, stale: &Stale, write: &Access) -> bool {
        let is_of_amount = matches!(operation(self.whole, &self.access(stale.read).spot), Some("size" | "isEmpty"));
        is_of_amount
            && write.address.iter().any(|influence| match influence.root {
                Root::Access(picked) => {
                    picked != stale.read
                        && self.access(picked).spot != write.spot
                        && self.variable(self.access(picked)) == Some(stale.variable)
                }
                Root::Parameter(_) => false,
            })
    }

    /// `if (!roles.isEmpty()) roles.clear();`: whoever has emptied it meanwhile, it is empty afterwards as was wanted. The
    /// same with a map that is full and from which nothing is ever taken but all at once.
    pub(super) fn is_emptied_either_way(&self, stale: &Stale, write: &Access) -> bool {
        let asked = operation(self.whole, &self.access(stale.read).spot);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && operation(self.whole, &write.spot) == Some("clear")
            && (asked == Some("isEmpty") || asked == Some("size") && self.is_memory(stale.variable))
            && !self.is_looked_through(stale, write)
    }

    /// `if (queue.size() > 3) { queue.drainTo(batch); .. }`: all that there is goes into the batch, if it is fewer than were
    /// counted, then fewer. Nobody asks the batch for one that is surely there.
    pub(super) fn is_drained(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let batch = match &outline.events[write.event.index()].action {
            Action::Call { arguments, .. } if arguments.len() == 2 => &arguments[1].objects,
            _ => return false,
        };
        let is_batch = |argument: &Argument| argument.objects.iter().any(|object| batch.contains(object));
        let relies = |event: &Event| match &event.action {
            Action::Call { method, arguments, .. } => {
                let name = self.whole.program.names.text(method.name);
                arguments.first().is_some_and(is_batch)
                    && ["get", "remove", "poll", "pop", "first", "last", "element"]
                        .iter()
                        .any(|word| name.starts_with(word))
            }
            _ => false,
        };
        stale.how == Use::Decides
            && stale.variable == stale.written
            && operation(self.whole, &write.spot) == Some("drainTo")
            && matches!(operation(self.whole, &self.access(stale.read).spot), Some("size" | "isEmpty"))
            && !self.is_looked_through(stale, write)
            && !self.is_relied_on_before(stale, write)
            && !batch.is_empty()
            && !outline.events.iter().any(relies)
    }

    /// Whether it is a map that is only added to and emptied as a whole.
    fn is_memory(&self, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().all(|place| {
            let summary = self.whole.summaries.summary(place.method);
            let spot = summary.map(|summary| &summary.accesses[place.access.index()].spot);
            let done = spot.and_then(|spot| operation(self.whole, spot));
            matches!(done, Some("put" | "putIfAbsent" | "computeIfAbsent" | "clear"))
        })
    }

    /// Whether something else is read of what is emptied, because of the old answer: that is gone with what has come since.
    fn is_looked_through(&self, stale: &Stale, write: &Access) -> bool {
        self.summary.accesses.iter().any(|look| {
            look.event != write.event
                && self.variable(look) == Some(stale.variable)
                && comes_from(&look.control, stale.read)
        })
    }

    /// One method, called twice, that looks and acts by itself each time: it would have acted anyway, as a getter does that
    /// makes what it yields.
    pub(super) fn is_of_callee(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && read.event != write.event
            && read.spot.method == write.spot.method
            && read.spot.method != self.whole.program.method_name(self.method)
            && self.summary.accesses.iter().any(|look| {
                !look.is_write
                    && look.event == write.event
                    && look.spot.method == write.spot.method
                    && look.spot != write.spot
            })
            && write.control.iter().any(|influence| match influence.root {
                Root::Access(asked) => self.access(asked).event == write.event,
                Root::Parameter(_) => false,
            })
    }

    /// `for (..) { act(); if (isBroken()) throw ..; }`: what is made sure of after each act gives no leave for the next one.
    pub(super) fn is_asked_after(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method).filter(|_| stale.how == Use::Decides) else {
            return false;
        };
        let follows = outline.follows_surely(write.event);
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let read = self.access(stale.read);
        let is_after = block_of(read.event) != block_of(write.event) && follows[block_of(read.event)]
            || block_of(read.event) == block_of(write.event) && read.event > write.event;
        let mut asked = outline.events[write.event.index()]
            .control
            .iter()
            .filter(|condition| {
                let block = outline.conditions[**condition as usize].block as usize;
                follows[block] || block == block_of(read.event)
            })
            .peekable();
        is_after && asked.peek().is_some() && asked.all(|condition| outline.refusals.contains(condition))
            || self.is_only_refused_later(outline, read.event, write.event)
    }

    /// `for (..) { for (..) act(); if (answer() < 0) throw ..; }`: the act is done before anybody asks, and what is asked later
    /// does nothing but end it all.
    fn is_only_refused_later(&self, outline: &Outline, asked: EventId, act: EventId) -> bool {
        let acting = &outline.events[act.index()];
        let is_of_answer = |source: &Source| match source.origin {
            Origin::Event(from) => is_made_of(outline, from, asked.index(), &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let deciding = acting.control.iter().filter(|condition| {
            let condition = &outline.conditions[**condition as usize];
            condition.sources.iter().any(is_of_answer)
        });
        let mut deciding = deciding.peekable();
        !outline.follows_surely(asked)[acting.block as usize]
            && outline.leads_to(act, asked, &[])
            && deciding.peek().is_some()
            && deciding.all(|condition| outline.refusals.contains(condition))
    }

    /// A task that adds to what it finds takes along nothing of what was there when it was started.
    pub(super) fn is_begun_anew(&self, stale: &Stale, write: &Access) -> bool {
        // What runs a function on what is there, or counts on from it.
        let finds = || {
            let called = called_at(self.whole, &write.spot);
            let model = called.and_then(|method| self.whole.calls.model(self.whole.program, method, method.class));
            model.is_some_and(|model| {
                !model.runs.is_empty()
                    || model.state == State::Value
                        && model.access == model::Access::Update
                        && model.returns == Returns::FromState
                        && model.revalidates.is_none()
            })
        };
        self.is_start(write.event)
            && stale.variable == stale.written
            && self.access(stale.read).event != write.event
            && finds()
    }

    /// `if (log() != null) log().add(line);`: the same call on the same object, which does the second time what it would
    /// have done anyway.
    pub(super) fn is_asked_twice(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let reading = &outline.events[self.access(stale.read).event.index()].action;
        match (reading, &outline.events[write.event.index()].action) {
            (
                Action::Call { method: first, arguments: one, .. },
                Action::Call { method: second, arguments: other, .. },
            ) => stale.how == Use::Decides && first == second && one.len() == 1 && one[0].name.same(&other[0].name),
            _ => false,
        }
    }

    /// `if (!map.containsKey(key)) map.putIfAbsent(key, new Entry());`: what is put only where there is nothing, and goes
    /// nowhere else, is there once, whoever has put it.
    pub(super) fn is_left_to_first(&self, stale: &Stale, write: &Access) -> bool {
        let Some((outline, putting)) = self.place_of(&write.spot) else { return false };
        let Action::Call { method, arguments, .. } = &outline.events[putting.index()].action else { return false };
        // A method may do it, if it does nothing else.
        let is_all = |access: &Access| !access.is_write || access.event != write.event || access.spot == write.spot;
        let model = self.whole.calls.model(self.whole.program, *method, method.class);
        let is_refused =
            model.is_some_and(|model| model.key.is_some() && model.revalidates == Some(Revalidation::ByResult));
        let Some(put) = arguments.last() else { return false };
        // A constant is the same wherever it goes.
        let is_known = put.objects.iter().all(|object| matches!(object, Object::New { .. } | Object::Event(_)));
        let is_it = |object: &Object| put.objects.contains(object);
        let has = |argument: &Argument| argument.objects.iter().any(is_it);
        let is_made_by = |index: usize| put.objects.contains(&Object::Event(EventId(index as u32)));
        let comes_of = |source: &Source| matches!(source.origin, Origin::Event(event) if is_made_by(event.index()));
        let is_elsewhere = outline.events.iter().enumerate().any(|(index, event)| match &event.action {
            Action::Call { kind, arguments, .. } => {
                // Its constructor has it first, and it may be filled before it is put.
                let is_before = !outline.may_follow(putting, EventId(index as u32));
                let is_own = (*kind == CallKind::Special || is_before) && arguments.first().is_some_and(has);
                index != putting.index() && arguments.iter().skip(usize::from(is_own)).any(has)
            }
            Action::Write { stored, .. } => has(stored),
            Action::Lambda { arguments, .. } => arguments.iter().any(has),
            Action::Read { .. } | Action::Wait(_) => false,
        });
        let asked = outline.conditions.iter().flat_map(|condition| &condition.sources);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && is_refused
            && !self.is_made_room(stale)
            && self.summary.accesses.iter().all(is_all)
            && !self.is_looked_for(stale, write)
            && is_known
            && !write.is_removal
            && !write.is_mapped
            && (self.access(stale.read).is_keyed || matches!(put.objects.as_slice(), [Object::New { .. }]))
            && !is_elsewhere
            && !outline.returned.iter().any(is_it)
            && !asked.chain(&outline.result).any(comes_of)
            && (matches!(put.objects.as_slice(), [Object::New { .. }]) || !self.does_more(stale, write))
    }

    /// Whether the old value is a key that is still there, because nobody ever removes one.
    pub(super) fn is_lasting_key(&self, stale: &Stale, write: &Access) -> bool {
        self.access(stale.read).is_of_keys
            && write.is_keyed
            && stale.variable == stale.written
            && !self.is_emptied(stale.variable)
    }

    /// Whether something is ever taken out of a container, or another one takes its place.
    fn is_emptied(&self, container: Variable) -> bool {
        let variables = &self.whole.variables;
        let removes = |place: &Place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return true };
            let write = &summary.accesses[place.access.index()];
            let outline = self.whole.summaries.outline(place.method);
            match outline.map(|outline| &outline.events[write.event.index()].action) {
                Some(Action::Call { method, .. }) => {
                    let name = self.whole.program.names.text(method.name);
                    ["remove", "clear", "poll", "retain", "pop", "take", "drain"]
                        .iter()
                        .any(|word| name.starts_with(word))
                }
                _ => true,
            }
        };
        !variables.writers(Variable::Field(container.field())).is_empty()
            || variables.writers(container).iter().any(removes)
    }

    /// Whether a read is a question whether something is there.
    pub(super) fn asks_presence(&self, read: &Access) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, read.spot.method);
        let outline = method.and_then(|method| self.whole.summaries.outline(method));
        let event = outline.and_then(|outline| outline.events.iter().find(|event| event.pc == read.spot.pc));
        match event.map(|event| &event.action) {
            Some(Action::Call { method, .. }) => self.whole.program.names.text(method.name).starts_with("contains"),
            _ => false,
        }
    }

    /// Whether somebody writes the variable without asking: then it does not say who may go on.
    fn is_signal(&self, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().any(|place| !self.asks_first(place, variable))
    }

    /// Whether everybody who writes the variable writes the same number.
    pub(super) fn is_one_way(&self, variable: Variable) -> bool {
        self.is_always_the_same(variable, |action| match action {
            Action::Write { stored, .. } => Some(stored),
            _ => None,
        })
    }

    /// The same of what an atomic holds.
    pub(super) fn is_set_one_way(&self, variable: Variable) -> bool {
        self.is_always_the_same(variable, |action| match action {
            Action::Call { method, arguments, .. } => match self.whole.program.names.text(method.name) {
                "set" | "setRelease" | "setPlain" | "setOpaque" | "lazySet" => arguments.get(1),
                _ => None,
            },
            _ => None,
        })
    }

    fn is_always_the_same(&self, variable: Variable, written: impl Fn(&Action) -> Option<&Argument>) -> bool {
        let number = |place: &Place| {
            let event = self.whole.summaries.summary(place.method)?.accesses[place.access.index()].event;
            let action = &self.whole.summaries.outline(place.method)?.events.get(event.index())?.action;
            self.whole.number(place.method, written(action)?)
        };
        let mut numbers = self.whole.variables.writers(variable).iter().map(number);
        let Some(Some(first)) = numbers.next() else { return false };
        numbers.all(|number| number == Some(first))
    }

    /// Whether something but the write depends on the old value: another write, a call that others may notice, or what is
    /// returned.
    pub(super) fn decides_more(&self, stale: &Stale, write: &Access) -> bool {
        if comes_from(&self.summary.result, stale.read) {
            return true;
        }
        let is_other =
            |access: &Access| access.is_write && access.event != write.event && comes_from(&access.control, stale.read);
        if self.summary.accesses.iter().any(is_other) {
            return true;
        }
        let beside = |access: &Access| {
            access.is_write && access.event == write.event && self.variable(access) != Some(stale.variable)
        };
        if self.summary.accesses.iter().any(beside) {
            return true;
        }
        let Some(outline) = self.whole.summaries.outline(self.method) else { return true };
        let deciding = outline.events[write.event.index()].control.clone();
        let reading = self.access(stale.read).event;
        outline.events.iter().enumerate().any(|(index, event)| {
            let is_call = match &event.action {
                Action::Call { kind, method, .. } => {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    model.is_none_or(|model| model.sink.is_some_and(|sink| sink == model::Sink::Print))
                        && !self.only_pauses(*kind, *method, MAX_PAUSE)
                }
                _ => false,
            };
            is_call
                && index != write.event.index()
                && index != reading.index()
                && deciding.iter().any(|condition| event.control.contains(condition))
        })
    }
}

impl Looking<'_> {
    /// Whether a call does nothing but let time pass.
    pub(super) fn only_pauses(&self, kind: CallKind, called: MethodName, depth: usize) -> bool {
        let program = self.whole.program;
        let targets = self.whole.calls.targets(program, kind, called);
        let is_pause = |method: MethodName| {
            let class = program.names.text(method.class.0);
            matches!(class, "java/lang/Thread" | "java/util/concurrent/TimeUnit")
        };
        let is_one = |target: &MethodId| {
            let (Some(summary), Some(outline)) =
                (self.whole.summaries.summary(*target), self.whole.summaries.outline(*target))
            else {
                return false;
            };
            !summary.accesses.iter().any(|access| access.is_write)
                && outline.events.iter().all(|event| match &event.action {
                    Action::Call { kind, method, .. } => {
                        is_pause(*method) || self.only_pauses(*kind, *method, depth - 1)
                    }
                    Action::Write { .. } | Action::Lambda { .. } => false,
                    Action::Read { .. } | Action::Wait(_) => true,
                })
        };
        depth > 0 && !targets.known().is_empty() && targets.known().iter().all(is_one)
    }
}
