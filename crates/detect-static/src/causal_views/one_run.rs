//! Whether one run of a method comes by two accesses, and both are of one object then: not if they need the same question
//! answered both ways, `if (isBig) a = x(); if (!isBig) b = y();`, nor if a field on the way to the object gets another one in
//! between, `a = point.x(); point = next; b = point.y();`.

use program::ir::{Body, Op, Value};
use program::outline::{Action, EventId, Member, NameStep};
use program::summary::Access;

use super::rules::Asking;
use crate::feasible::Feasible;

impl Asking<'_> {
    /// Whether one run can come by both, with one object.
    pub(super) fn are_in_one_run(&self, first: &Access, second: &Access) -> bool {
        if first.event == second.event {
            return true;
        }
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return true };
        let feasible = Feasible::new(self.whole.program, &body);
        let is_way = |from: &Access, to: &Access| {
            let is_possible = || match (self.value_at(&body, from.event), self.value_at(&body, to.event)) {
                (Some(from), Some(to)) => feasible.is_possible(from, to),
                _ => true,
            };
            self.outline.may_follow(from.event, to.event) && is_possible() && !self.is_replaced_between(from, to)
        };
        is_way(first, second) || is_way(second, first)
    }

    /// Whether each is done by a task of its own that the method starts: they are no two steps of one change.
    pub(super) fn are_of_two_tasks(&self, first: &Access, second: &Access) -> bool {
        let is_start = |access: &Access| match &self.outline.events[access.event.index()].action {
            Action::Call { method, .. } => {
                let model = self.whole.calls.model(self.whole.program, *method, method.class);
                model.is_some_and(|model| model.starts.is_some() || model.wraps.is_some())
            }
            _ => false,
        };
        first.event != second.event && is_start(first) && is_start(second)
    }

    /// The instruction that an event is.
    pub(super) fn value_at(&self, body: &Body, event: EventId) -> Option<Value> {
        let pc = self.outline.events[event.index()].pc;
        let mut at = body.instructions().filter(|(_, instruction)| instruction.pc == pc);
        let is_it = |op: &Op| {
            matches!(
                op,
                Op::Call { .. }
                    | Op::CallDynamic { .. }
                    | Op::GetField { .. }
                    | Op::GetStatic(_)
                    | Op::PutField { .. }
                    | Op::PutStatic { .. }
                    | Op::ArrayLoad { .. }
                    | Op::ArrayStore { .. }
            )
        };
        at.find(|(_, instruction)| is_it(&instruction.op)).map(|(value, _)| value)
    }

    /// Whether all ways from one access to another one come by a write of a field that leads to the object.
    fn is_replaced_between(&self, from: &Access, to: &Access) -> bool {
        let own = self.whole.program.method_name(self.method);
        let leads_there = |write: &Access| match write.member {
            Member::Field(field) => {
                let written = write.base.then(&[NameStep::Field(field)]);
                !write.base.is_unknown() && written.start == to.base.start && to.base.steps.starts_with(&written.steps)
            }
            _ => false,
        };
        // What a call does under a condition it may not do.
        let is_sure = |write: &Access| write.spot.method == own || write.control.is_empty();
        self.summary.accesses.iter().any(|write| {
            write.is_write
                && ![from.event, to.event].contains(&write.event)
                && leads_there(write)
                && is_sure(write)
                && !self.outline.leads_to(from.event, to.event, &[write.event])
        })
    }
}
