//! Further signs, in code that unknown threads call, that little speaks for a mistake: somebody else sees to it, the act
//! sees to itself, or what is done does no harm if it is done twice.

use program::ir::CallKind;
use program::outline::{Action, Event, EventId, Origin, Outline, Sources, Start};
use program::summary::{Access, AccessId, Root};
use program::{LockKind, MethodId, Whole};

use super::rules::{Looking, Stale, Use};
use super::weak::is_of_one_key;
use crate::brackets;
use crate::words::operation;

/// Methods that tell whether a lock is held are looked for this far.
const MAX_ASKED: usize = 2;

/// Questions whether the thread that asks holds a lock.
const QUESTIONS: [&str; 5] =
    ["isHeldByCurrentThread", "isWriteLockedByCurrentThread", "holdsLock", "getHoldCount", "getWriteHoldCount"];

impl Looking<'_> {
    pub(super) fn has_little_behind(&self, stale: &Stale) -> bool {
        self.is_promised()
            || self.is_with_one_thread(stale)
            || self.is_locked_over(stale)
            || self.is_waited_beside(stale)
            || self.is_removed_as_found(stale)
            || self.is_cleared_if_any(stale)
            || self.is_left_if_there(stale)
            || self.is_won(stale)
            || self.is_asked_inside(stale)
            || self.is_changed_plainly(stale)
            || self.is_unlocked(self.access(stale.read)) && self.is_up_to_callers(stale)
            || self.is_of_one_thread(stale)
            || self.is_being_made(stale)
            || self.is_within_step()
            || self.is_told_by_others(stale)
            || self.is_between_brackets(stale)
    }

    /// Whether the method is marked as one that is called with a lock held, or refuses to go on without.
    fn is_promised(&self) -> bool {
        !self.whole.program.annotations_of_method(self.method).guards().is_empty()
            || insists_on_lock(self.whole, self.method, MAX_ASKED)
    }

    /// Whether a lock is held over a question to something that needs none, and over the act: it keeps out those that go by
    /// it, and who does not go by it does one step, as a rule to begin or to end.
    pub(super) fn is_locked_over(&self, stale: &Stale) -> bool {
        !stale.is_waited() && self.is_under_one_lock(stale)
    }

    /// Whether another lock than that of the variable is held where it is asked, or where something is done. One of an object
    /// that is made here keeps nobody out.
    pub(super) fn is_locked_around(&self, stale: &Stale) -> bool {
        let is_made = |section: usize| matches!(self.summary.sections[section].lock.start, Start::New(_));
        let is_other = |section: usize| section != stale.first && section != stale.second && !is_made(section);
        let held = self.access(stale.read).held.union(self.access(stale.write).held);
        held.iter().any(|section| is_other(section) && self.summary.sections[section].kind != LockKind::Own)
    }

    /// Whether one variable is asked before a wait, and another one written after it.
    fn is_waited_beside(&self, stale: &Stale) -> bool {
        stale.is_waited() && stale.variable != stale.written
    }

    /// Whether what stands under a key is removed because of what it is, or because it is there, and not because of what has
    /// become of it: the same answer would be given again.
    fn is_removed_as_found(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        stale.how == Use::Decides
            && stale.variable == stale.written
            && read.is_keyed
            && write.is_removal
            && operation(self.whole, &read.spot).is_some_and(|name| name.starts_with("get"))
            && !self.is_asked_further(read, write)
    }

    /// Whether something that others may change is asked of what was found, before something is done.
    pub(super) fn is_asked_further(&self, found: &Access, act: &Access) -> bool {
        let is_changed = |access: &Access| {
            access.base.start == Start::Result(found.event)
                && self.variable(access).is_none_or(|variable| !self.whole.variables.writers(variable).is_empty())
        };
        let reads = act.control.iter().filter_map(|influence| match influence.root {
            Root::Access(access) => Some(self.access(access)),
            Root::Parameter(_) => None,
        });
        if reads.clone().any(is_changed) {
            return true;
        }
        // Calls of what is not known.
        let Some(outline) = self.whole.summaries.outline(self.method) else { return true };
        let program = self.whole.program;
        let conditions = outline.events[act.event.index()].control.iter();
        conditions.flat_map(|condition| &outline.conditions[*condition as usize].sources).any(|source| {
            let Origin::Event(event) = source.origin else { return false };
            match &outline.events[event.index()].action {
                Action::Call { kind, method, arguments } => {
                    let is_known = || !self.whole.calls.targets(program, *kind, *method).known().is_empty();
                    let is_of_library = || program.class(method.class).is_some_and(|class| !program.is_checked(class));
                    arguments.first().is_some_and(|first| first.name.start == Start::Result(found.event))
                        && !is_known()
                        && !is_of_library()
                }
                _ => false,
            }
        })
    }

    /// Whether all that is asked before all is taken out of a container is how much there is: that is told, and no more.
    fn is_cleared_if_any(&self, stale: &Stale) -> bool {
        stale.variable == stale.written
            && matches!(operation(self.whole, &self.access(stale.read).spot), Some("isEmpty" | "size"))
            && matches!(operation(self.whole, &self.access(stale.write).spot), Some("clear" | "drainTo"))
    }

    /// Whether what is put is put only if nothing is there, whoever was first, or is made of what is there by then.
    fn is_left_if_there(&self, stale: &Stale) -> bool {
        stale.variable == stale.written
            && matches!(
                operation(self.whole, &self.access(stale.write).spot),
                Some("putIfAbsent" | "computeIfAbsent" | "addIfAbsent" | "compute" | "computeIfPresent" | "merge")
            )
    }

    /// Whether the method goes on only on a thread of its choice: it compares that with the one it is on, or gives a task away
    /// where it is on another one.
    fn is_of_one_thread(&self, stale: &Stale) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let names = &self.whole.program.names;
        let called = |event: EventId| match &outline.events[event.index()].action {
            Action::Call { method, .. } => Some(*method),
            _ => None,
        };
        let is_thread = |sources: &Sources| {
            sources.iter().any(|source| {
                matches!(source.origin, Origin::Event(event)
                    if called(event).is_some_and(|method| names.text(method.name) == "currentThread"))
            })
        };
        let is_answer = |sources: &Sources| {
            sources.iter().all(|source| {
                matches!(source.origin, Origin::Event(event)
                    if called(event).is_some_and(|method| names.text(method.descriptor) == "()Z"))
            })
        };
        let gives_task = |event: &Event| match &event.action {
            Action::Call { method, .. } => names.text(method.descriptor).starts_with("(Ljava/lang/Runnable;"),
            _ => false,
        };
        let events = [self.access(stale.read).event, self.access(stale.write).event];
        let blocks = events.map(|event| outline.events[event.index()].block as usize);
        let act = &outline.events[events[1].index()];
        act.control.iter().map(|number| &outline.conditions[*number as usize]).any(|condition| {
            let is_compared = || condition.sides.as_deref().is_some_and(|sides| sides.iter().any(is_thread));
            let is_sent = || {
                let ways = [0, 1].map(|way| outline.reached_by(condition, way));
                let is_given = |here: &[bool], there: &[bool]| {
                    blocks.iter().all(|block| here[*block] && !there[*block])
                        && outline.events.iter().any(|event| {
                            let block = event.block as usize;
                            there[block] && !here[block] && gives_task(event)
                        })
                };
                is_given(&ways[0], &ways[1]) || is_given(&ways[1], &ways[0])
            };
            is_compared() || is_answer(&condition.sources) && is_sent()
        })
    }

    /// Whether the act is done only by who has won a step that one thread alone can take, after the question.
    fn is_won(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let is_step = |access: AccessId| {
            let step = self.access(access);
            let is_taken = |access: &Access| access.is_write && access.is_compound && access.event == step.event;
            step.event != read.event
                && step.event != write.event
                && self.summary.accesses.iter().any(is_taken)
                && self.may_come_before(read, step)
        };
        self.summary.sections[stale.first].kind == LockKind::Own
            && write.control.iter().any(|influence| matches!(influence.root, Root::Access(access) if is_step(access)))
    }

    /// Whether a lock is taken for the act, and something is asked under it before that decides on the act or on what else is
    /// done there: the question is put anew, in the same words or in others.
    fn is_asked_inside(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let taken = write.held.without(read.held);
        let is_lock = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        let is_asked = |is_meant: &dyn Fn(&Access) -> bool| {
            write.control.iter().any(|influence| match influence.root {
                Root::Access(other) => {
                    let asked = self.access(other);
                    other != stale.read && taken.intersection(asked.held).iter().any(is_lock) && is_meant(asked)
                }
                Root::Parameter(_) => false,
            })
        };
        // What is put because nothing is there takes the place of nothing.
        let is_same = |asked: &Access| self.variable(asked) == Some(stale.variable);
        match stale.how {
            Use::Decides if self.is_unlocked(read) => is_asked(&|_| true) || self.is_asked_between(read, write),
            Use::Decides => is_asked(&|_| true),
            _ => is_asked(&is_same),
        }
    }

    /// Whether something else is asked under a lock that is taken for the act.
    fn is_asked_between(&self, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let held = |event: EventId| outline.events[event.index()].held;
        let taken = held(write.event).without(held(read.event));
        let is_lock = |section: usize| outline.sections[section].kind != LockKind::Own;
        let is_under = |event: EventId| taken.intersection(held(event)).iter().any(is_lock);
        outline.conditions.iter().flat_map(|condition| &condition.sources).any(|source| match source.origin {
            Origin::Event(asked) => asked != read.event && is_under(asked),
            Origin::Parameter(_) => false,
        })
    }

    /// Whether a constructor does it with the object that it makes.
    fn is_being_made(&self, stale: &Stale) -> bool {
        let program = self.whole.program;
        program.names.text(program.method(self.method).name) == "<init>"
            && self.access(stale.read).base.start == Start::Parameter(0)
            && self.access(stale.write).base.start == Start::Parameter(0)
    }

    /// Whether the method is a function that a container runs in one step with what stands under a key, or that is given to a
    /// method which takes a lock.
    fn is_within_step(&self) -> bool {
        let makers = || self.whole.calls.callers(self.method).iter();
        self.whole.program.method(self.method).access.is_synthetic()
            && makers().filter_map(|maker| self.whole.summaries.outline(*maker)).any(|outline| {
                let made = brackets::functions_of(self.whole, outline, self.method);
                made.iter().any(|function| brackets::is_run_locked(self.whole, outline, *function))
            })
    }

    /// Whether two other methods take the lock, one to ask and one to act, each for many reasons; other than to look whether
    /// something is there, and to put it there.
    fn is_told_by_others(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        stale.how == Use::Decides
            && self.is_away(stale.read)
            && self.is_away(stale.write)
            && !(stale.variable == stale.written
                && !write.is_removal
                && (self.asks_presence(read) || is_of_one_key(read, write)))
    }

    fn is_between_brackets(&self, stale: &Stale) -> bool {
        let events = [self.access(stale.read).event, self.access(stale.write).event];
        // A wait lets go of what callers hold.
        !stale.is_waited() && brackets::are_between(self.whole, self.method, &events, stale.variable)
    }
}

/// Whether a method refuses to go on if a lock is not held, or calls one that does: `assert isLocked();`.
fn insists_on_lock(whole: &Whole<'_>, method: MethodId, depth: usize) -> bool {
    let Some(outline) = whole.outlines().get(method) else { return false };
    let is_asked = |event: EventId| match &outline.events[event.index()].action {
        Action::Call { kind, method, .. } => {
            is_question(whole, &outline.events[event.index()])
                || whole.program.names.text(method.descriptor).ends_with(")Z")
                    && whole
                        .calls
                        .targets(whole.program, *kind, *method)
                        .known()
                        .iter()
                        .any(|target| tells_of_lock(whole, *target, depth))
        }
        _ => false,
    };
    let is_refused = |number: &u32| {
        let condition = &outline.conditions[*number as usize];
        let is_made = |(event, action): (usize, &Event)| {
            is_thrown(whole, action) && outline.is_because_nought(condition, EventId(event as u32))
        };
        condition.sources.iter().any(|source| matches!(source.origin, Origin::Event(event) if is_asked(event)))
            && outline.events.iter().enumerate().any(is_made)
    };
    let is_insisting = |event: &Event| match &event.action {
        Action::Call { kind, method, .. } if whole.program.names.text(method.descriptor).ends_with(")V") => {
            match whole.calls.targets(whole.program, *kind, *method).known() {
                [target] => insists_on_lock(whole, *target, depth - 1),
                _ => false,
            }
        }
        _ => false,
    };
    outline.refusals.iter().any(is_refused) || depth > 0 && first_calls(outline).any(is_insisting)
}

/// The calls that a method begins with, whatever happens.
fn first_calls(outline: &Outline) -> impl Iterator<Item = &Event> {
    outline.events.iter().filter(|event| event.control.is_empty())
}

/// Whether a method tells whether a lock is held.
fn tells_of_lock(whole: &Whole<'_>, method: MethodId, depth: usize) -> bool {
    whole.outlines().get(method).is_some_and(|outline| {
        outline.events.iter().any(|event| {
            is_question(whole, event)
                || depth > 0
                    && matches!(&event.action, Action::Call { kind, method, .. }
                        if *kind != CallKind::Interface
                            && whole.program.names.text(method.descriptor).ends_with(")Z")
                            && whole
                                .calls
                                .targets(whole.program, *kind, *method)
                                .known()
                                .iter()
                                .any(|target| tells_of_lock(whole, *target, depth - 1)))
        })
    })
}

fn is_question(whole: &Whole<'_>, event: &Event) -> bool {
    matches!(&event.action, Action::Call { method, .. }
        if QUESTIONS.contains(&whole.program.names.text(method.name)))
}

/// Whether something that can be thrown is made.
pub(super) fn is_thrown(whole: &Whole<'_>, event: &Event) -> bool {
    let program = whole.program;
    match &event.action {
        Action::Call { method, .. } => {
            program.names.text(method.name) == "<init>"
                && program.is_subtype(method.class, program.names.class("java/lang/Throwable"))
        }
        _ => false,
    }
}
