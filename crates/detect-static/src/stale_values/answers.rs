//! Answers that a step gives, and what it was told to expect: whether somebody listens, and whether it is about what was
//! judged.

use program::Variable;
use program::outline::{Action, Argument, Event, EventId, Object, Origin, Outline, Sources};
use program::summary::{Access, Influence, Influences, Root};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::gone::is_missed_by_callers;

impl Looking<'_> {
    /// Whether what an event yields is an `Optional` that is asked whether there is something in it, by somebody who takes no
    /// for an answer: the answer may be passed on to callers.
    pub(super) fn is_asked_as_optional(&self, outline: &Outline, taken: EventId, variable: Variable) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        outline.events.iter().enumerate().any(|(index, event)| match &event.action {
            Action::Call { method, arguments, .. } => {
                let is_of_it = text(method.class.0).starts_with("java/util/Optional")
                    && arguments.first().is_some_and(|asked| asked.objects.contains(&Object::Event(taken)));
                let is_missed = |if_nought: bool| {
                    is_only_yielded(outline, EventId(index as u32))
                        && is_missed_by_callers(self.whole, self.method, if_nought, variable)
                };
                is_of_it
                    && match text(method.name) {
                        "get" | "orElseThrow" => false,
                        "isPresent" => !is_missed(true),
                        "isEmpty" => !is_missed(false),
                        _ => true,
                    }
            }
            _ => false,
        })
    }

    /// `if (!state.get().leadsTo(next)) return false; return state.compareAndSet(state.get(), next);`: what is expected was
    /// read anew, after something else had been judged.
    pub(super) fn expects_other(&self, stale: &Stale, write: &Access) -> bool {
        write.expects.iter().any(|influence| self.is_unjudged(influence, stale, write, &write.control))
    }

    /// The same where a method of the program compares: `if (held() >= most) return false; return trySet(held(), next);`. That
    /// it looks again vouches for what it was given, and for nothing that was judged before.
    pub(super) fn is_told_other(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_now = |side: &Influences| {
            !side.is_empty()
                && side.iter().all(|one| self.is_fresh(one, stale.variable, write) && self.is_at(one, write))
        };
        let mut told = write.compared.iter().filter(|compared| compared.are_equal && compared.larger.is_none());
        told.any(|compared| {
            let [left, right] = &compared.sides;
            let expected = if is_now(left) { right } else { left };
            (is_now(left) || is_now(right))
                && expected.iter().any(|influence| {
                    let is_judged_here = |again: EventId| {
                        let mut control = outline.events[write.event.index()].control.iter();
                        control.any(|condition| {
                            let mut sources = outline.conditions[*condition as usize].sources.iter();
                            sources.any(|source| source.origin == Origin::Event(again))
                        })
                    };
                    matches!(influence.root, Root::Access(again) if !is_judged_here(self.access(again).event))
                        && self.is_unjudged(influence, stale, write, &Influences::default())
                })
        })
    }

    fn is_at(&self, influence: &Influence, write: &Access) -> bool {
        matches!(influence.root, Root::Access(read) if self.access(read).event == write.event)
    }

    /// Whether what a write is told to expect was read after what was judged, and is in nothing that decides.
    fn is_unjudged(&self, expected: &Influence, stale: &Stale, write: &Access, decides: &Influences) -> bool {
        let judged = self.access(stale.read);
        let Root::Access(again) = expected.root else { return false };
        let fresh = self.access(again);
        again != stale.read
            && fresh.event != judged.event
            && fresh.event != write.event
            && !fresh.is_write
            && fresh.base.same(&judged.base)
            && self.variable(fresh) == Some(stale.variable)
            && !comes_from(decides, again)
            && self.may_come_before(judged, fresh)
    }

    /// `if (used == FULL) { block++; used = 0; } return used++;`: the section of the write has asked anew, and has set right
    /// what it found, before it counts on.
    pub(super) fn is_set_right_before(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let is_before = |asked: EventId| match block_of(asked) == block_of(write.event) {
            true => asked < write.event,
            false => outline.follows_surely(asked)[block_of(write.event)],
        };
        let sets_right = |change: &Access| {
            change.control.iter().any(|influence| match influence.root {
                Root::Access(asked) => {
                    let asked_of = self.access(asked);
                    asked != stale.read
                        && asked_of.held.contains(stale.second)
                        && self.is_fresh(influence, stale.variable, change)
                        && is_before(asked_of.event)
                }
                Root::Parameter(_) => false,
            })
        };
        stale.how == Use::Decides
            && stale.variable == stale.written
            && self.is_relative(stale, write)
            && self.summary.accesses.iter().any(|change| {
                change.is_write
                    && change.held.contains(stale.second)
                    && write.held.contains(stale.second)
                    && change.event < write.event
                    && self.variable(change) == Some(stale.variable)
                    && sets_right(change)
            })
    }

    /// `if (free() < party.size()) return false; for (Player player : party) seat(player);`: each step looks for itself, and was
    /// asked for with all the others. That one of them is refused when others were not is what the question was to prevent;
    /// unless those are taken back.
    pub(super) fn is_one_of_many(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = self.access(stale.read).event;
        let acting = &outline.events[write.event.index()];
        let is_asked = |sources: &Sources| sources.iter().any(|source| source.origin == Origin::Event(read));
        let conditions = || acting.control.iter().map(|condition| &outline.conditions[*condition as usize]);
        let is_number = |number: Origin| {
            let counts = || conditions().any(|condition| condition.sources.iter().any(|one| one.origin == number));
            counts() || matches!(number, Origin::Event(size) if is_of_walked(self, outline, size))
        };
        let is_for_all = || {
            conditions().filter(|condition| condition.is_by_size).any(|condition| match condition.sides.as_deref() {
                Some([one, other]) if is_asked(one) => other.iter().any(|source| is_number(source.origin)),
                Some([one, other]) if is_asked(other) => one.iter().any(|source| is_number(source.origin)),
                _ => false,
            })
        };
        let is_taken_back = || {
            let way = self.way_of(write);
            self.summary.accesses.iter().any(|back| {
                back.is_write
                    && self.variable(back) == self.variable(write)
                    && self.way_of(back).is_some_and(|other| Some(other) != way)
            })
        };
        acting.in_loop && !outline.may_follow(write.event, read) && is_for_all() && !is_taken_back()
    }
}

/// Whether an event asks for the size of what a loop goes over.
fn is_of_walked(looking: &Looking<'_>, outline: &Outline, size: EventId) -> bool {
    let text = |symbol| looking.whole.program.names.text(symbol);
    let receiver = |event: &Event, name: &str| match &event.action {
        Action::Call { method, arguments, .. } if text(method.name) == name => arguments.first().cloned(),
        _ => None,
    };
    let Some(sized) = receiver(&outline.events[size.index()], "size") else { return false };
    let mut walked = outline.events.iter().filter_map(|event| receiver(event, "iterator"));
    walked.any(|walked| is_same(outline, &walked, &sized))
}

/// Whether two values are one object, or got by the same call.
fn is_same(outline: &Outline, one: &Argument, other: &Argument) -> bool {
    let call = |argument: &Argument| match argument.objects.as_slice() {
        [Object::Event(event)] => match &outline.events[event.index()].action {
            Action::Call { method, arguments, .. } => Some((*method, arguments.clone())),
            _ => None,
        },
        _ => None,
    };
    one.name.same(&other.name)
        || one.objects == other.objects && !one.objects.is_empty()
        || match (call(one), call(other)) {
            (Some((first, given)), Some((second, also))) => {
                first == second
                    && given.len() == also.len()
                    && given.iter().zip(&also).all(|(one, other)| one.name.same(&other.name))
            }
            _ => false,
        }
}

/// Whether what an event yields is passed on to callers, and decides nothing here.
fn is_only_yielded(outline: &Outline, event: EventId) -> bool {
    let is_it = |sources: &Sources| sources.iter().any(|source| source.origin == Origin::Event(event));
    is_it(&outline.result) && !outline.conditions.iter().any(|condition| is_it(&condition.sources))
}
