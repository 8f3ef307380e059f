//! What is shut once nothing is left: `awaitIdle(); close();` beside `if (!closed) pending++;`. Who adds asks in one section
//! whether it is shut; but between the end of the wait and the shutting somebody may still add, and nobody waits for that.

use program::ir::{BlockId, Body, Condition, Op, Value};
use program::outline::{Awaited, Outline};
use program::summary::{Access, AccessId, Spot};
use program::{Place, Variable};

use super::rules::Looking;
use super::way::Way;
use crate::words::called_at;

impl Looking<'_> {
    /// Whether a flag is put up for good after a wait until nothing is left of something to which others add only while the
    /// flag is down. Who has put it up before the wait has kept them out already.
    pub(super) fn is_shut_when_idle(
        &self,
        read: AccessId,
        write: &Access,
        variable: Variable,
        written: Variable,
    ) -> bool {
        let read = self.access(read);
        let asks = |there: &Looking<'_>, add: &Access| {
            there.way_of(add) == Some(Way::Up)
                && add.control.iter().any(|influence| there.is_fresh(influence, written, add))
        };
        let is_added = |place: &Place| self.is_by(place, asks);
        let callers = self.whole.calls.callers(self.method).iter();
        let is_shut_by_caller = |there: Looking<'_>| there.is_shut_before(&read.spot, written);
        matches!(written, Variable::Field(_))
            && write.value.is_empty()
            && self.is_one_way(written)
            && self.whole.variables.writers(variable).iter().any(is_added)
            && self.waits_for_none(read)
            && !self.is_shut_before(&read.spot, written)
            && !callers.filter_map(|caller| Looking::at(self.whole, *caller)).any(is_shut_by_caller)
    }

    /// Whether a method writes a variable before it comes to a read.
    fn is_shut_before(&self, read: &Spot, written: Variable) -> bool {
        let reads = || self.summary.accesses.iter().filter(|access| !access.is_write && access.spot == *read);
        self.summary.accesses.iter().any(|shut| {
            shut.is_write
                && self.variable(shut) == Some(written)
                && reads().any(|read| read.event != shut.event && self.may_come_before(shut, read))
        })
    }

    /// Whether the loop that asks ends when a number is nought or a container is empty.
    fn waits_for_none(&self, read: &Access) -> bool {
        let program = self.whole.program;
        let method = self.whole.calls.hierarchy.resolve_name(program, read.spot.method);
        let Some((Some(outline), Ok(Some(body)))) =
            method.map(|method| (self.whole.summaries.outline(method), program.body(method)))
        else {
            return false;
        };
        let is_read = |value: Value| body.instruction(body.without_casts(value)).pc == read.spot.pc;
        // Of a truth value, that something is empty is no nought.
        let is_truth = called_at(self.whole, &read.spot)
            .is_some_and(|called| program.names.text(called.descriptor).ends_with(")Z"));
        outline.awaited.iter().any(|awaited| match leaves(outline, &body, awaited) {
            Some((Condition::Equal | Condition::LessOrEqual, asked)) => !is_truth && is_read(asked),
            Some((Condition::NotEqual, asked)) => is_truth && is_read(asked),
            _ => false,
        })
    }
}

/// What holds of a register, compared with nought, when a loop is left that waits for that.
fn leaves(outline: &Outline, body: &Body, awaited: &Awaited) -> Option<(Condition, Value)> {
    let asked = outline.conditions.get(awaited.condition as usize)?.block as usize;
    let Op::Branch { condition, left, right: None, .. } = *body.op(body.terminator(BlockId::from_index(asked))?) else {
        return None;
    };
    let mut ways = outline.blocks.successors(asked).filter(|next| !next.is_exceptional);
    let is_left_if_so = ways.next().is_some_and(|next| awaited.follows[next.block]);
    Some((if is_left_if_so { condition } else { negated(condition) }, left))
}

fn negated(condition: Condition) -> Condition {
    match condition {
        Condition::Equal => Condition::NotEqual,
        Condition::NotEqual => Condition::Equal,
        Condition::Less => Condition::GreaterOrEqual,
        Condition::GreaterOrEqual => Condition::Less,
        Condition::Greater => Condition::LessOrEqual,
        Condition::LessOrEqual => Condition::Greater,
    }
}
