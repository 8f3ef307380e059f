//! Correct ways to use a value after its section: the value was handed over, is made sure of again, or does no harm.

use program::Variable;
use program::model::State;
use program::outline::{Member, NameStep, Origin};
use program::summary::{Access, AccessId, Influence, Influences, Root};

use super::rules::{Looking, Stale, Use};
use super::validated::is_made_of;
use super::way::Way;
use crate::sources::is_asserted;
use crate::words::called_at;

pub(super) fn is_correct(looking: &Looking<'_>, stale: &Stale) -> bool {
    let write = looking.access(stale.write);
    stale.first != stale.second && looking.is_handed_over(stale)
        || looking.is_reserved(stale, write)
        || looking.is_set_if_different(stale, write)
        || looking.is_set_if_different_by_call(stale, write)
        || looking.is_validated(stale, write)
        || looking.is_harmless(stale, write)
        || looking.is_gone_either_way(stale, write)
        || looking.is_used_up(stale, write)
        || looking.is_lasting_key(stale, write)
        || looking.is_asked_twice(stale, write)
        || looking.is_set_right_before(stale, write)
        || looking.is_computed_again(stale, write)
        || looking.is_asked_of_memory(stale, write)
        || looking.is_emptied_either_way(stale, write)
        || looking.is_drained(stale, write)
        || looking.is_empty_when_shut(stale, write)
        || looking.is_batch_asked(stale, write)
        || looking.is_of_exchange(stale, write)
        || looking.is_of_tested_bit(stale, write)
        || looking.is_given_up(stale, write)
        || looking.is_asserted(stale)
        || looking.is_left_to_first(stale, write)
        || looking.is_of_own_thread(stale, write)
        || looking.is_of_callee(stale, write)
        || looking.is_converted(stale)
        || looking.is_asked_after(stale, write)
        || looking.is_begun_anew(stale, write)
        || looking.is_in_phases(stale, write)
        || looking.is_of_what_was_taken(stale, write)
        || looking.is_marked_where_found(stale, write)
        || looking.is_under_claim(stale, write)
        || looking.is_won_since(stale, write)
        || looking.is_owners_entry(stale, write)
        || looking.is_taken_before(stale, write)
        || looking.is_asked_of_step(stale, write)
        || looking.is_of_own_number(stale, write)
        || looking.is_of_claimed_position(stale, write)
        || looking.is_begun_if_any(stale, write)
        || looking.is_fenced(stale, write)
}

pub(super) fn comes_from(influences: &Influences, read: AccessId) -> bool {
    influences.iter().any(|influence| influence.root == Root::Access(read))
}

/// Whether two values come from the same places.
pub(super) fn is_same_origin(one: &Influences, other: &Influences) -> bool {
    let is_in = |all: &Influences, wanted: &Influence| all.iter().any(|influence| influence.root == wanted.root);
    one.iter().all(|influence| is_in(other, influence)) && other.iter().all(|influence| is_in(one, influence))
}

impl Looking<'_> {
    /// `assert !queue.contains(task);`: what is asked only if assertions are on decides nothing in a program that works.
    fn is_asserted(&self, stale: &Stale) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        stale.how == Use::Decides
            && outline.is_some_and(|outline| is_asserted(self.whole.program, outline, self.access(stale.read).event))
    }

    /// `while (open.get() > 0) { job = jobs.poll(); if (job != null) { ..; open.decrementAndGet(); } }`: one step for
    /// each thing that was really taken is right, however old the question is whether there may be more.
    fn is_of_what_was_taken(&self, stale: &Stale, write: &Access) -> bool {
        let is_taking = |access: &Access| {
            access.is_write
                && self.variable(access) != Some(stale.variable)
                && access.member == Member::State(State::Contents)
                && self.way_of(access) == Some(Way::Down)
        };
        let asked = self.access(stale.read).event;
        // One call may ask and take: `while (open.get() > 0) { job = jobs.poll(); if (job != null) return job; }`.
        let is_in_turn =
            |access: &Access| access.event > asked || access.event == asked && comes_from(&access.control, stale.read);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        // What was taken, or what is in it: `if (job.isPresent()) ..`.
        let is_taken = |origin: Origin| match origin {
            Origin::Event(event) => self.summary.accesses.iter().any(|access| {
                is_taking(access)
                    && is_in_turn(access)
                    && is_made_of(outline, event, access.event.index(), &mut Vec::new())
            }),
            Origin::Parameter(_) => false,
        };
        let mut conditions = outline.events[write.event.index()].control.iter();
        stale.how == Use::Decides
            && (stale.variable == stale.written || self.is_counted_off(stale, write))
            && self.counted_on(write).is_some()
            && conditions.any(|condition| {
                let mut sources = outline.conditions[*condition as usize].sources.iter();
                sources.any(|source| is_taken(source.origin))
            })
    }

    /// `return closed ? null : jobs.remove();`, and `pending--` when the job is done: the section that asked has taken something
    /// because of the answer, and what is counted off later was counted on where it was put.
    fn is_counted_off(&self, stale: &Stale, write: &Access) -> bool {
        let counts_on = |container: Variable| {
            self.whole.variables.writers(container).iter().any(|place| {
                self.is_by(place, |there, put| {
                    there.way_of(put) == Some(Way::Up)
                        && there.summary.accesses.iter().any(|step| {
                            step.is_write
                                && there.variable(step) == Some(stale.written)
                                && !step.held.intersection(put.held).is_empty()
                                && there.way_of(step) == Some(Way::Up)
                        })
                })
            })
        };
        self.way_of(write) == Some(Way::Down)
            && self.summary.accesses.iter().any(|taking| {
                taking.is_write
                    && taking.is_of_contents()
                    && taking.held.contains(stale.first)
                    && comes_from(&taking.control, stale.read)
                    && self.way_of(taking) == Some(Way::Down)
                    && self.variable(taking).is_some_and(counts_on)
            })
    }

    /// Whether the value is taken out of where it was, in the section of the read or if it is still there: this thread
    /// owns it from then on.
    fn is_handed_over(&self, stale: &Stale) -> bool {
        self.summary.accesses.iter().any(|access| {
            access.is_write
                && (access.held.contains(stale.first) || comes_from(&access.expects, stale.read))
                && access.value.is_empty()
                && matches!(access.member, Member::Field(_) | Member::Static(_) | Member::State(_))
                && self.variable(access) == Some(stale.variable)
        }) || self.is_taken(stale)
            || self.is_swapped_out(stale)
    }

    /// `if (items.isEmpty()) return; old = items; items = new ArrayList<>();`: the section that asked has put something else
    /// in the place of the container, on every way to what comes later. The answer is about one that nobody else has.
    fn is_swapped_out(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let Variable::Held(field) = stale.variable else { return false };
        let replaced = Variable::Field(field);
        let is_old = |root: Root| match root {
            Root::Access(read) => self.variable(self.access(read)) == Some(replaced),
            Root::Parameter(_) => false,
        };
        self.summary.accesses.iter().any(|change| {
            let is_in_its_place = match change.member {
                Member::Field(name) => change.base.then(&[NameStep::Field(name)]).same(&read.base),
                _ => false,
            };
            change.is_write
                && change.held.contains(stale.first)
                && is_in_its_place
                && self.variable(change) == Some(replaced)
                && !change.value.iter().any(|influence| is_old(influence.root))
                && read.event < change.event
                && !outline.leads_to(read.event, write.event, &[change.event])
        })
    }

    /// `return queue.isEmpty() ? 0 : queue.removeFirst();`: the section that asked has taken something because of the answer,
    /// and a yes or no by itself is nothing that could be written.
    fn is_taken(&self, stale: &Stale) -> bool {
        let read = self.access(stale.read);
        let asked = || called_at(self.whole, &read.spot);
        let is_question =
            || asked().is_some_and(|asked| self.whole.program.names.text(asked.descriptor).ends_with(")Z"));
        stale.how == Use::Written
            && self.summary.accesses.iter().any(|taking| {
                taking.is_write
                    && taking.held.contains(stale.first)
                    && taking.event == read.event
                    && self.variable(taking) == Some(stale.variable)
                    && comes_from(&taking.control, stale.read)
                    && self.way_of(taking) == Some(Way::Down)
            })
            && is_question()
    }

    /// Whether the section of the read also changes what it read, because of what it read: a flag that is set where it
    /// was found unset, a number that is taken and counted on. What comes later relies on the change, which is this
    /// thread's own.
    fn is_reserved(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_field = |access: &Access| matches!(access.member, Member::Field(_) | Member::Static(_));
        // To see whether a field is moved takes its code.
        let mut changes = self.summary.accesses.iter().filter(|access| {
            access.is_write
                && access.held.contains(stale.first)
                && self.variable(access) == Some(stale.variable)
                && (comes_from(&access.control, stale.read)
                    || comes_from(&access.value, stale.read)
                    || access.event == read.event && (!is_field(access) || self.is_step(access)))
                // What was taken on a way that ends with it is not what others go by.
                && self.may_come_before(access, write)
        });
        match stale.how {
            Use::Decides if self.is_claimed(stale) || self.is_undone(stale, write) => true,
            // To have added to it makes nobody the only one who sees that there are enough.
            Use::Decides if self.is_batch(stale, write) => false,
            Use::Decides => changes.any(|change| {
                // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
                let is_own = comes_from(&change.value, stale.read) || self.counted_on(change).is_some();
                let is_moved = is_own && is_field(change);
                !is_moved || stale.variable != stale.written || self.is_relative(stale, write)
            }),
            Use::Written if self.is_confirmed(stale, write) => true,
            Use::Written | Use::Found | Use::Stepped | Use::Counted | Use::Iterated | Use::Recounted | Use::Left => {
                stale.variable != stale.written && changes.any(|change| comes_from(&change.value, stale.read))
            }
        }
    }

    /// Whether a step that was told to expect what was read has made it this thread's own, and what is written later is
    /// told to expect what it finds then, or made of that: `n = reserve(); cancel(n)`, both with `compareAndSet`.
    fn is_confirmed(&self, stale: &Stale, write: &Access) -> bool {
        let is_told = |write: &Access| !write.expects.is_empty() && write.is_compound;
        let is_made_of_found = || {
            let called = called_at(self.whole, &write.spot);
            let model = called.and_then(|method| self.whole.calls.model(self.whole.program, method, method.class));
            write.is_compound && model.is_some_and(|model| !model.runs.is_empty())
        };
        (is_told(write) || is_made_of_found())
            && !comes_from(&write.expects, stale.read)
            && self.summary.accesses.iter().any(|change| {
                change.event != write.event
                    && is_told(change)
                    && comes_from(&change.expects, stale.read)
                    && self.variable(change) == Some(stale.variable)
            })
    }

    /// Whether the section of the read sets another variable that it has asked as well, because of both answers: a flag
    /// that says who goes on.
    fn is_claimed(&self, stale: &Stale) -> bool {
        let asked = |change: &Access, variable: Variable| {
            change.control.iter().any(|influence| match influence.root {
                Root::Access(read) => {
                    let read = self.access(read);
                    read.held.contains(stale.first) && self.variable(read) == Some(variable)
                }
                Root::Parameter(_) => false,
            })
        };
        stale.first != stale.second
            && self.summary.accesses.iter().any(|change| {
                change.is_write
                    && change.held.contains(stale.first)
                    && comes_from(&change.control, stale.read)
                    && self.may_come_before(change, self.access(stale.write))
                    && self
                        .variable(change)
                        .is_some_and(|variable| variable != stale.variable && asked(change, variable))
            })
    }

    /// Whether the call that asked has also acted on the answer, and what comes later goes on with that or undoes it:
    /// `if (desk.lend(book)) desk.giveBack(book);`.
    fn is_undone(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_field = |access: &Access| matches!(access.member, Member::Field(_) | Member::Static(_));
        let undoes = |change: &Access| {
            self.summary.accesses.iter().any(|later| {
                later.is_write
                    && later.event == write.event
                    && self.variable(later) == self.variable(change)
                    && (is_field(later) || later.is_removal && !change.is_removal)
            })
        };
        // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
        let goes_on = |change: &Access| {
            self.variable(change) == Some(stale.written)
                && (stale.variable != stale.written
                    || !(is_field(change) && comes_from(&change.value, stale.read))
                    || self.is_relative(stale, write))
        };
        self.summary.accesses.iter().any(|change| {
            change.is_write
                && change.event != write.event
                && (self.may_come_before(change, write) || !change.held.intersection(write.held).is_empty())
                && (change.event == read.event || !change.held.intersection(read.held).is_empty())
                && [&change.control, &change.guards, &change.awaited].into_iter().any(|by| comes_from(by, stale.read))
                && (goes_on(change) || undoes(change))
        })
    }

    /// Whether a write depends on what its own section finds.
    pub(super) fn is_relative(&self, stale: &Stale, write: &Access) -> bool {
        write.value.iter().any(|influence| self.is_fresh(influence, stale.variable, write))
    }

    /// Whether a call that asks has acted on the answer itself: what comes later follows that act, as `release` follows
    /// `admit`. Whether the call may act on what it has asked is its own business.
    fn is_used_up(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && write.event != read.event
            && self.summary.accesses.iter().any(|act| {
                act.is_write
                    && act.event == read.event
                    && comes_from(&act.control, stale.read)
                    && act.base.same(&read.base)
                    && self.variable(act) == Some(stale.variable)
            })
    }
}
