//! Correct ways to use a value after its section: the value was handed over, is made sure of again, or does no harm.

use program::outline::{Action, Member, Object};
use program::summary::{Access, AccessId, Influence, Influences, Root};
use program::{Place, Variable};

use super::rules::{Looking, Stale, Use};

pub(super) fn is_correct(looking: &Looking<'_>, stale: &Stale) -> bool {
    let write = looking.access(stale.write);
    stale.first != stale.second && looking.is_handed_over(stale)
        || looking.is_reserved(stale, write)
        || is_set_if_different(stale, write)
        || looking.is_validated(stale, write)
        || looking.is_harmless(stale, write)
}

/// `if (x != wanted) x = wanted;`: what is written does not depend on what was read, and was compared with it. Whoever
/// wrote in between, the outcome is one that was asked for.
fn is_set_if_different(stale: &Stale, write: &Access) -> bool {
    stale.how == Use::Decides
        && stale.variable == stale.written
        && matches!(write.member, Member::Field(_) | Member::Static(_))
        && !write.value.is_empty()
        && write.compared.iter().filter(|compared| !compared.are_equal).any(|compared| {
            let [left, right] = &compared.sides;
            let is_told = |old: &Influences, wanted: &Influences| {
                comes_from(old, stale.read)
                    && write.value.iter().all(|value| wanted.iter().any(|wanted| wanted.root == value.root))
            };
            is_told(left, right) || is_told(right, left)
        })
}

fn comes_from(influences: &Influences, read: AccessId) -> bool {
    influences.iter().any(|influence| influence.root == Root::Access(read))
}

impl Looking<'_> {
    /// Whether the section of the read takes the value out of where it was: this thread owns it from then on.
    fn is_handed_over(&self, stale: &Stale) -> bool {
        self.summary.accesses.iter().any(|access| {
            access.is_write
                && access.held.contains(stale.first)
                && access.value.is_empty()
                && matches!(access.member, Member::Field(_) | Member::Static(_) | Member::State(_))
                && self.variable(access) == Some(stale.variable)
        })
    }

    /// Whether the section of the read also changes what it read, because of what it read: a flag that is set where it
    /// was found unset, a number that is taken and counted on. What comes later relies on the change, which is this
    /// thread's own.
    fn is_reserved(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let mut changes = self.summary.accesses.iter().filter(|access| {
            access.is_write
                && access.held.contains(stale.first)
                && self.variable(access) == Some(stale.variable)
                && access.event == read.event
                || access.is_write
                    && access.held.contains(stale.first)
                    && self.variable(access) == Some(stale.variable)
                    && (comes_from(&access.control, stale.read) || comes_from(&access.value, stale.read))
        });
        match stale.how {
            Use::Decides => changes.any(|change| {
                // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
                let is_moved = comes_from(&change.value, stale.read) && matches!(change.member, Member::Field(_));
                !is_moved || stale.variable != stale.written || self.is_relative(stale, write)
            }),
            Use::Written => {
                stale.variable != stale.written && changes.any(|change| comes_from(&change.value, stale.read))
            }
        }
    }

    /// Whether a write depends on what its own section finds.
    fn is_relative(&self, stale: &Stale, write: &Access) -> bool {
        write.value.iter().any(|influence| self.is_fresh(influence, stale.variable, write))
    }

    /// Whether a value is one of the variable that was read under a lock which is still held at the write.
    fn is_fresh(&self, influence: &Influence, variable: Variable, write: &Access) -> bool {
        let Root::Access(read) = influence.root else { return false };
        let access = self.access(read);
        let shared = access.held.intersection(write.held).without(influence.ended);
        !access.is_write && !shared.is_empty() && self.variable(access) == Some(variable)
    }

    /// Whether the write makes sure that what was read still holds: it is told what to expect, it is one step with a
    /// read of its own, or a fresh read in its section vouches for the old one.
    fn is_validated(&self, stale: &Stale, write: &Access) -> bool {
        if comes_from(&write.expects, stale.read) {
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
                && (read.is_keyed || !write.is_keyed);
            // What looks at the very thing that it changes needs no other permission.
            let looks_at_itself = stale.variable != stale.written
                && write.control.iter().any(|influence| self.is_fresh(influence, stale.written, write));
            if looks_again || answers || looks_at_itself {
                return true;
            }
        }
        write.compared.iter().filter(|compared| compared.are_equal).any(|compared| {
            let [left, right] = &compared.sides;
            self.vouches(left, right, stale, write) || self.vouches(right, left, stale, write)
        })
    }

    /// Whether one side is a fresh read and the other one the old value, or an old version that goes with it.
    fn vouches(&self, fresh: &Influences, old: &Influences, stale: &Stale, write: &Access) -> bool {
        fresh.iter().any(|influence| {
            let Root::Access(read) = influence.root else { return false };
            let Some(variable) = self.variable(self.access(read)) else { return false };
            if read == stale.read || !self.is_fresh(influence, variable, write) {
                return false;
            }
            old.iter().any(|influence| {
                let Root::Access(copy) = influence.root else { return false };
                copy == stale.read
                    || self.variable(self.access(copy)) == Some(variable)
                        && (stale.how == Use::Decides || self.access(copy).held.contains(stale.first))
                        && self.is_version(variable, stale.variable)
            })
        })
    }

    /// Whether every write of a variable also writes its version, in one section, or has compared the version there.
    fn is_version(&self, version: Variable, variable: Variable) -> bool {
        version != variable
            && self.whole.variables.writers(variable).iter().all(|place| {
                let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
                let write = &summary.accesses[place.access.index()];
                let held = write.held;
                let is_fresh = |influence: &Influence| match influence.root {
                    Root::Access(read) => {
                        let read = &summary.accesses[read.index()];
                        !read.held.intersection(held).is_empty() && self.variable(read) == Some(version)
                    }
                    Root::Parameter(_) => false,
                };
                let mut sides = write.compared.iter().filter(|one| one.are_equal).flat_map(|one| &one.sides);
                sides.any(|side| side.iter().any(is_fresh))
                    || summary.accesses.iter().any(|access| {
                        access.is_write
                            && !access.held.intersection(held).is_empty()
                            && self.variable(access) == Some(version)
                    })
            })
    }

    /// Whether it does no harm to do it twice: a flag that is only ever set, a set that gets what it has. Nothing else
    /// may hang on the old answer.
    fn is_harmless(&self, stale: &Stale, write: &Access) -> bool {
        stale.how == Use::Decides
            && stale.variable == stale.written
            && (write.is_repeatable && self.access(stale.read).is_keyed && !self.decides_more(stale, write)
                || self.is_one_way(stale.variable)
                    && (self.is_signal(stale.variable) || !self.decides_more(stale, write)))
    }

    /// Whether somebody writes the variable without asking: then it does not say who may go on.
    fn is_signal(&self, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().any(|place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
            let write = &summary.accesses[place.access.index()];
            !write.control.iter().any(|influence| match influence.root {
                Root::Access(read) => self.variable(&summary.accesses[read.index()]) == Some(variable),
                Root::Parameter(_) => false,
            })
        })
    }

    /// Whether everybody who writes the variable writes the same number.
    fn is_one_way(&self, variable: Variable) -> bool {
        let written = |place: &Place| {
            let summary = self.whole.summaries.summary(place.method)?;
            let event = summary.accesses[place.access.index()].event;
            match &self.whole.summaries.outline(place.method)?.events.get(event.index())?.action {
                Action::Write { stored, .. } => match stored.objects.as_slice() {
                    [Object::Int(number)] => Some(*number),
                    _ => None,
                },
                _ => None,
            }
        };
        let mut numbers = self.whole.variables.writers(variable).iter().map(written);
        let Some(Some(first)) = numbers.next() else { return false };
        numbers.all(|number| number == Some(first))
    }

    /// Whether something but the write depends on the old value: another write, or a call that others may notice.
    fn decides_more(&self, stale: &Stale, write: &Access) -> bool {
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
                Action::Call { method, .. } => {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    model.is_none_or(|model| model.sink.is_some_and(|sink| sink == program::model::Sink::Print))
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
