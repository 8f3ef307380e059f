//! Bits that were marked where they were found free. To ask for the bit again is to make sure, and once it was marked, it is by
//! that mark that one goes. Whether it was free at that time is told where it is marked.

use location::MethodName;
use program::model::State;
use program::outline::Member;
use program::summary::{Access, Root};

use super::stale::{Asking, Flow, How};
use super::views::Item;

impl Asking<'_> {
    /// Whether a number that a call is given says where to look: not so in `toArray(new String[size])`, and to ask for a bit is
    /// to make sure, since no other bit ever comes to be at its place.
    pub(super) fn is_at_position(&self, method: MethodName) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        let is_question = || text(method.class.0) == BIT_SET && text(method.descriptor) == "(I)Z";
        text(method.descriptor).starts_with("(I") && !is_question()
    }

    /// Whether the bit that was found has been changed by this thread before, on all ways.
    pub(super) fn is_marked_since(&self, stale: &Flow, seen: &Item, target: &Access) -> bool {
        let read = &self.summary.accesses[stale.read.index()];
        let is_mark = |mark: &Access| {
            mark.is_write
                && mark.event != target.event
                && mark.member == Member::State(State::Contents)
                && mark.is_keyed
                && mark.address.iter().any(|influence| influence.root == Root::Access(stale.read))
                && Item::known(self.whole, self.method, mark).as_ref() == Some(seen)
                && (mark.event == read.event || !self.outline.leads_to(read.event, target.event, &[mark.event]))
        };
        matches!(stale.how, How::Position | How::Bound)
            && self.is_of_bits(target)
            && self.summary.accesses.iter().any(is_mark)
    }

    fn is_of_bits(&self, access: &Access) -> bool {
        let called = crate::words::called_at(self.whole, &access.spot);
        called.is_some_and(|called| self.whole.program.names.text(called.class.0) == BIT_SET)
    }
}

const BIT_SET: &str = "java/util/BitSet";
