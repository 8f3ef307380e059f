//! Whether two writes in two sections are one change in two steps: the same thing is taken here and put there, or nobody ever
//! writes the one without the other.

use program::outline::{Action, Member, Origin};
use program::summary::{Access, AccessId, Root};
use program::{MethodId, Variable};

use super::rules::Asking;
use super::views::{Item, Pair};

impl Asking<'_> {
    /// Whether the two writes are one change in two steps: the same thing is taken here and put there; or nobody writes
    /// one without the other; or some write both in one section, and nobody writes either one alone.
    pub(super) fn is_one_change(&self, pair: &Pair, first: (AccessId, &Item), second: (AccessId, &Item)) -> bool {
        let (one, other) = (first.1.variable, second.1.variable);
        let is_alone = |one, other| self.is_written_alone(one, other, Some(self.method));
        self.moves(first, second)
            || match self.joints.writing(pair).is_empty() {
                // What a thread does one after the other is many changes.
                true => one != other && !self.is_entry() && !is_alone(one, other) && !is_alone(other, one),
                false => !is_alone(one, other) || !is_alone(other, one),
            }
    }

    /// Whether a thread begins with this method.
    fn is_entry(&self) -> bool {
        let callers = self.whole.calls.callers(self.method);
        let is_lambda = |caller: &MethodId| !self.calls(*caller);
        callers.iter().all(is_lambda)
    }

    /// Whether a method calls this one, not only makes a lambda of it.
    fn calls(&self, caller: MethodId) -> bool {
        let Some(outline) = self.whole.summaries.outline(caller) else { return true };
        outline.events.iter().any(|event| match &event.action {
            Action::Call { kind, method, .. } => {
                self.whole.calls.targets(self.whole.program, *kind, *method).known().contains(&self.method)
            }
            _ => false,
        })
    }

    /// Both change what is there, and by the same value.
    pub(super) fn moves(&self, first: (AccessId, &Item), second: (AccessId, &Item)) -> bool {
        let updates = |write: (AccessId, &Item)| {
            let access = self.access(write.0);
            matches!(access.member, Member::State(_))
                || access.value.iter().any(|influence| match influence.root {
                    Root::Access(read) => {
                        Item::of(self.whole, self.method, self.access(read)).as_ref() == Some(write.1)
                    }
                    Root::Parameter(_) => false,
                })
        };
        let is_static = self.whole.program.method(self.method).access.is_static();
        let (a, b) = (self.access(first.0), self.access(second.0));
        let shares = a.value.iter().any(|influence| {
            let is_this = !is_static && influence.root == Root::Parameter(0);
            !is_this && b.value.iter().any(|other| other.root == influence.root)
        });
        let is_one = shares || self.is_passed_on(a, b) || self.is_passed_on(b, a) || self.are_given_one(a, b);
        is_one && updates(first) && updates(second)
    }

    /// Whether what the one takes out of its container is put into the other, and has not been by the one itself.
    fn is_passed_on(&self, from: &Access, to: &Access) -> bool {
        let is_it = |source: &program::outline::Source| source.origin == Origin::Event(from.event);
        let put = Variable::of(self.whole.program, to);
        let is_put = |access: &Access| {
            access.is_write && access.event == from.event && Variable::of(self.whole.program, access) == put
        };
        self.summary.taken.contains(&from.event)
            && matches!(to.member, Member::State(_))
            && !to.is_removal
            && !self.summary.accesses.iter().any(is_put)
            && match &self.outline.events[to.event.index()].action {
                Action::Call { arguments, .. } => {
                    arguments.iter().skip(1).any(|argument| argument.sources.iter().any(is_it))
                }
                _ => false,
            }
    }
}
