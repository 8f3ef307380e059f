//! Work in phases: all threads read, meet at a barrier, and then write.
//!
//! Nobody can hold a lock while he waits for the others to arrive, who need it to do so. What is read before a barrier and
//! used after it was never meant to be one step.

use location::MethodName;
use program::ir::CallKind;
use program::model::OrderKind;
use program::outline::Action;
use program::summary::Access;

use super::rules::{Looking, Stale};

/// Calls deeper than this are not looked into.
const MAX_DEPTH: usize = 2;

impl Looking<'_> {
    /// Whether all threads meet on every way from the read to the write.
    pub(super) fn is_in_phases(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let (read, write) = (self.access(stale.read).event, write.event);
        let block_of = |event: usize| outline.events[event].block as usize;
        let meets = |event: usize| match &outline.events[event].action {
            Action::Call { kind, method, .. } => self.is_meeting(*kind, *method, MAX_DEPTH),
            _ => false,
        };
        let meetings: Vec<usize> = (0..outline.events.len()).filter(|event| meets(*event)).collect();
        if meetings.is_empty() {
            return false;
        }
        let (home, end) = (block_of(read.index()), block_of(write.index()));
        let is_before_end = |meeting: &usize| block_of(*meeting) == end && *meeting < write.index();
        if home == end && read < write {
            return meetings.iter().any(|meeting| is_before_end(meeting) && *meeting > read.index());
        }
        let is_after_read = |meeting: &usize| block_of(*meeting) == home && *meeting > read.index();
        meetings.iter().any(|meeting| is_after_read(meeting) || is_before_end(meeting))
            || !outline
                .reached_from(read, |block| block != end && meetings.iter().any(|meeting| block_of(*meeting) == block))
                [end]
    }

    /// Whether a call waits until all threads have come to the same point.
    fn is_meeting(&self, kind: CallKind, method: MethodName, depth: usize) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let model = calls.model(program, method, method.class);
        if let Some(order) = model.and_then(|model| model.orders) {
            return order.kind == OrderKind::Meet;
        }
        let targets = calls.targets(program, kind, method);
        let [target] = targets.known() else { return false };
        depth > 0 && calls.made_by(*target).iter().any(|(kind, called)| self.is_meeting(*kind, *called, depth - 1))
    }
}
