//! What is not told unless it is asked for: nothing shows that two threads ever use the same object at once.
//!
//! Where all threads are known, those that meet at a variable are known, too. Code that is called from outside is called
//! by threads that nobody sees, and most objects of a server are with one of them at a time: a connection, a request.
//! There the code itself must show that an object is shared.

use program::outline::Member;
use program::thread::EntryKind;
use program::{LockKind, Variable};

use super::contention::is_by_habit;
use super::rules::{Looking, Stale, Use};

impl Looking<'_> {
    /// Whether too little speaks for a mistake to tell of it unasked.
    pub(super) fn is_weak(&self, stale: &Stale, is_skewed: bool) -> bool {
        self.is_called_from_outside()
            && (self.is_beside(stale) || self.is_lone_volatile(stale, is_skewed) || self.is_old_container(stale))
    }

    fn is_called_from_outside(&self) -> bool {
        let threads = self.whole.threads();
        threads.of_method(self.method).iter().any(|process| threads.entry(*process).kind == EntryKind::Callers)
    }

    /// Whether a variable of one class is read and one of another class is written, or what a container has goes into
    /// another one: some section that touches both is little to say that they belong together. What is asked before a
    /// wait is waited for.
    fn is_beside(&self, stale: &Stale) -> bool {
        let owner = |variable: Variable| self.whole.program.class_of_field(variable.field());
        let is_passed = stale.how == Use::Written && matches!(stale.variable, Variable::Held(_));
        stale.first != stale.second
            && stale.variable != stale.written
            && (is_passed || owner(stale.variable) != owner(stale.written))
    }

    /// Whether it is the contents of a container that would lock if nobody shared it, too.
    fn is_old_container(&self, stale: &Stale) -> bool {
        matches!(stale.variable, Variable::Held(field) if is_by_habit(self.whole.program, field))
    }

    /// Whether it is a volatile field that nobody ever writes under a lock: it may be volatile for being handed from
    /// thread to thread, or for being seen, and its object with one thread at a time. One that is compared and set is part
    /// of an algorithm without locks, which looks again where it must. Two fields that two methods check crosswise are
    /// not there by chance.
    fn is_lone_volatile(&self, stale: &Stale, is_skewed: bool) -> bool {
        let read = self.access(stale.read);
        let Variable::Field(field) = stale.variable else { return false };
        let is_handled = |field| self.whole.summaries.holdings.is_handled(self.whole.program, field);
        self.summary.sections[stale.first].kind == LockKind::Own
            && (!is_skewed || is_handled(field))
            && matches!(read.member, Member::Field(_))
            && !self.whole.program.field(field).access.is_static()
            && !self.whole.guards(field, false).locks.iter().any(|guarding| guarding.writes > 0)
    }
}
