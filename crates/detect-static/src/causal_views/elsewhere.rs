//! Changes of a container by those who know it by another field: `this.perches = aviary.perches();` in the class that looks, and
//! in the one that adds and removes.

use program::summary::Access;
use program::thread::At;
use program::{Place, Variable};

use super::stale::{Asking, How};
use super::views::{Item, common};
use crate::stale_values::may_meet;

impl Asking<'_> {
    /// A write by another thread to a container that another field has, too. What is held around both looks may be a lock that
    /// whoever writes holds by a name of his own.
    pub(super) fn change_elsewhere(&self, how: How, item: &Item, read: &Access, target: &Access) -> Option<Place> {
        let whole = self.whole;
        let Variable::Held(field) = item.variable else { return None };
        let is_alone = common(read, target).is_empty()
            && whole.cover().among(whole.threads()).held_by_callers(self.method).is_empty();
        let here = At { method: self.method, event: target.event };
        let meets = |writer: &Place| {
            let write = whole.summaries.summary(writer.method).map(|summary| &summary.accesses[writer.access.index()]);
            write.is_some_and(|write| may_meet(whole, here, At { method: writer.method, event: write.event }))
        };
        let others = if is_alone { whole.also_in(field) } else { Vec::new() };
        let writers = others.into_iter().flat_map(|other| whole.variables.writers(Variable::Held(other)));
        writers.copied().find(|writer| self.matters(how, writer, target) && meets(writer))
    }
}
