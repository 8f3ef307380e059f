//! What a map remembers that follows from the key: whoever asks later, or computes it again, gets the same. So does what
//! is worked out from it: `width = widths.get(pattern); if (width == null) widths.put(pattern, format(pattern).width());`,
//! where `format` remembers, too.

use program::outline::{KeyStart, Member, Start};
use program::summary::{Access, Influence, Root};
use program::{Place, Variable};

use super::rules::{Looking, Stale, Use};
use crate::words::operation;

impl Looking<'_> {
    /// Whether what was read stands under a key in a map that gets, for each key, what follows from the key and from what
    /// nobody writes. That it is not there yet tells no more than that.
    pub(super) fn is_remembered(&self, read: &Access) -> bool {
        let follows = |place: &Place| {
            Looking::at(self.whole, place.method).is_some_and(|there| {
                let put = &there.summary.accesses[place.access.index()];
                matches!(operation(self.whole, &put.spot), Some("put" | "putIfAbsent")) && there.follows_from_key(put)
            })
        };
        let variable = self.variable(read).filter(|_| read.is_keyed && read.is_of_contents());
        variable.is_some_and(|variable| {
            matches!(variable, Variable::Held(_)) && self.whole.variables.writers(variable).iter().all(follows)
        })
    }

    /// Whether what is put into a map is made of the key it is put under, and of what nobody writes.
    fn follows_from_key(&self, put: &Access) -> bool {
        let is_of_key = |position: u16| {
            put.keys.iter().any(|key| key.start == KeyStart::Parameter(position) && key.field.is_none())
        };
        put.value.iter().all(|influence| match influence.root {
            Root::Parameter(position) => self.is_this(position) || is_of_key(position),
            Root::Access(read) => self.is_same_each_time(self.access(read), put),
        })
    }

    /// Whether a read yields the same each time: the very map that is put into, what nobody writes, or what is in something
    /// that the call has made.
    pub(super) fn is_same_each_time(&self, read: &Access, put: &Access) -> bool {
        read.spot == put.spot
            || self.is_made_there(read)
            || self.variable(read).is_some_and(|variable| self.whole.variables.writers(variable).is_empty())
    }

    /// Whether it is a part of something that the method whose code it is in has made for itself.
    fn is_made_there(&self, read: &Access) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, read.spot.method);
        let there = method.and_then(|method| self.whole.summaries.summary(method));
        there.is_some_and(|there| {
            let mut same = there.accesses.iter().filter(|own| own.spot == read.spot && !own.is_write).peekable();
            same.peek().is_some()
                && same.all(|own| matches!(own.base.start, Start::New(_)) && matches!(own.member, Member::State(_)))
        })
    }

    pub(super) fn is_this(&self, position: u16) -> bool {
        position == 0 && !self.whole.program.method(self.method).access.is_static()
    }

    /// Whether what is done because of the old answer is what a call does for what it has not found in its own memory.
    pub(super) fn is_asked_of_memory(&self, stale: &Stale, write: &Access) -> bool {
        stale.how == Use::Decides && self.is_for_memory(write)
    }

    /// Whether a call does something because its own look at what is remembered has found nothing: it does so whenever it is
    /// called, whyever that is.
    pub(super) fn is_for_memory(&self, act: &Access) -> bool {
        act.control.iter().any(|influence: &Influence| match influence.root {
            Root::Access(read) => {
                let read = self.access(read);
                read.event == act.event && self.is_remembered(read)
            }
            Root::Parameter(_) => false,
        })
    }
}
