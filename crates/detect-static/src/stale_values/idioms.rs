//! Correct ways to use a value after its section: the value was handed over, is made sure of again, or does no harm.

use location::MethodName;
use program::Variable;
use program::ir::CallKind;
use program::outline::{Action, Argument, Member, Origin, Source};
use program::summary::{Access, AccessId, Influences, Root};

use super::rules::{Looking, Stale, Use};

/// Methods that ask others are looked at this deep.
const MAX_DEPTH: usize = 2;

pub(super) fn is_correct(looking: &Looking<'_>, stale: &Stale) -> bool {
    let write = looking.access(stale.write);
    stale.first != stale.second && looking.is_handed_over(stale)
        || looking.is_reserved(stale, write)
        || is_set_if_different(stale, write)
        || looking.is_set_if_different_by_call(stale, write)
        || looking.is_validated(stale, write)
        || looking.is_harmless(stale, write)
        || looking.is_gone_either_way(stale, write)
        || looking.is_used_up(stale, write)
        || looking.is_lasting_key(stale, write)
        || looking.is_asked_twice(stale, write)
        || looking.is_computed_once(stale, write)
        || looking.is_left_to_first(stale, write)
        || looking.is_of_callee(stale, write)
        || looking.is_converted(stale)
        || looking.is_asked_after(stale, write)
        || looking.is_begun_anew(stale, write)
        || looking.is_in_phases(stale, write)
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

pub(super) fn comes_from(influences: &Influences, read: AccessId) -> bool {
    influences.iter().any(|influence| influence.root == Root::Access(read))
}

impl Looking<'_> {
    /// The same where a method of the program compares the two: `if (differ(x(), wanted)) x(wanted);`.
    fn is_set_if_different_by_call(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        if stale.how != Use::Decides || stale.variable != stale.written || comes_from(&write.value, stale.read) {
            return false;
        }
        let writing = &outline.events[write.event.index()];
        let written: Vec<Origin> = match &writing.action {
            Action::Call { arguments, .. } => {
                arguments.iter().skip(1).flat_map(|argument| &argument.sources).map(|source| source.origin).collect()
            }
            Action::Write { value, .. } => value.iter().map(|source| source.origin).collect(),
            _ => return false,
        };
        let reading = Origin::Event(self.access(stale.read).event);
        let has = |argument: &Argument, origin: Origin| argument.sources.iter().any(|source| source.origin == origin);
        !written.is_empty()
            && writing.control.iter().any(|condition| {
                let [Source { origin: Origin::Event(asking), .. }] =
                    outline.conditions[*condition as usize].sources.as_slice()
                else {
                    return false;
                };
                let Action::Call { kind, method, arguments } = &outline.events[asking.index()].action else {
                    return false;
                };
                arguments.iter().any(|old| has(old, reading))
                    && arguments.iter().any(|new| !has(new, reading) && written.iter().all(|origin| has(new, *origin)))
                    && self.asks_equality(*kind, *method, MAX_DEPTH)
            })
    }

    /// Whether a method only asks whether what it is given is equal.
    fn asks_equality(&self, kind: CallKind, method: MethodName, depth: usize) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        // What `Object` promises of every override, and what the library builds on it (`Objects`, `Arrays`, `String`).
        let name = text(method.name);
        let is_promised = name == "equals" && text(method.descriptor) == "(Ljava/lang/Object;)Z";
        let is_library = text(method.class.0).starts_with("java/") && matches!(name, "equals" | "deepEquals");
        if is_promised || is_library {
            return true;
        }
        let targets = self.whole.calls.targets(self.whole.program, kind, method);
        let [target] = targets.known() else { return false };
        let Some(outline) = self.whole.summaries.outline(*target) else { return false };
        depth > 0
            && !outline.conditions.iter().any(|condition| condition.is_by_size)
            && outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, method, .. } => self.asks_equality(*kind, *method, depth - 1),
                _ => false,
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
            Use::Decides if self.is_claimed(stale) || self.is_undone(stale, write) => true,
            Use::Decides => changes.any(|change| {
                // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
                let is_moved = comes_from(&change.value, stale.read) && matches!(change.member, Member::Field(_));
                !is_moved || stale.variable != stale.written || self.is_relative(stale, write)
            }),
            Use::Written | Use::Found | Use::Stepped => {
                stale.variable != stale.written && changes.any(|change| comes_from(&change.value, stale.read))
            }
        }
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
                && (change.event == read.event || !change.held.intersection(read.held).is_empty())
                && [&change.control, &change.guards, &change.awaited].into_iter().any(|by| comes_from(by, stale.read))
                && (goes_on(change) || undoes(change))
        })
    }

    /// Whether a write depends on what its own section finds.
    fn is_relative(&self, stale: &Stale, write: &Access) -> bool {
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
