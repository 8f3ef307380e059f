//! Surpluses: how many there are too many was computed once, and just so many are taken out later. To make sure before each
//! of them that there is one at all is not to ask again how many are too many: two who have seen the same surplus take it
//! out twice.

use program::ir::{Arithmetic, Body, Op, Value};
use program::outline::{Action, Condition, Origin, Outline, Source};
use program::summary::{Access, Influence, Root};

use super::rules::{Looking, Stale};
use super::validated::is_made_of;
use super::way::Way;

/// What is computed in more steps than this is not looked through.
const MAX_STEPS: usize = 4;

impl Looking<'_> {
    /// `surplus = size() - MAX; dropOldest(surplus);`, where as many are dropped while there are any.
    pub(super) fn is_surplus(&self, stale: &Stale, write: &Access) -> bool {
        stale.variable == stale.written
            && self.way_of(write) == Some(Way::Down)
            && self.is_counted_out(stale, write)
            && !self.is_asked_how_many(stale, write)
    }

    /// Whether the section of the write counts up to a number that was computed from the old amount.
    fn is_counted_out(&self, stale: &Stale, write: &Access) -> bool {
        let Some(own) = self.whole.summaries.outline(self.method) else { return false };
        let Some((outline, acting)) = self.place_of(&write.spot) else { return false };
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let read = self.access(stale.read).event;
        let is_old = |source: &Source| match source.origin {
            Origin::Event(from) => is_made_of(own, from, read.index(), &mut Vec::new()),
            Origin::Parameter(_) => false,
        };
        let is_counting = |condition: &Condition, is_number: &dyn Fn(&Source) -> bool| {
            condition.is_by_size && condition.sources.iter().any(is_number)
        };
        let mut deciding = outline.events[acting.index()].control.iter().map(|one| &outline.conditions[*one as usize]);
        let pc = own.events[read.index()].pc;
        if write.spot.method == self.whole.program.method_name(self.method) {
            let is_inside =
                |condition: &&Condition| !condition.held.intersection(outline.events[acting.index()].held).is_empty();
            return deciding.any(|condition| is_inside(&condition) && is_counting(condition, &is_old))
                && body.instructions().any(|(value, _)| is_difference(&body, value, pc, 1));
        }
        let Action::Call { arguments, .. } = &own.events[write.event.index()].action else { return false };
        let given: Vec<u16> = (0u16..)
            .zip(arguments)
            .filter(|(_, argument)| argument.sources.iter().any(is_old))
            .map(|(position, _)| position)
            .collect();
        let is_given =
            |source: &Source| matches!(source.origin, Origin::Parameter(position) if given.contains(&position));
        let call_pc = own.events[write.event.index()].pc;
        let is_computed = body.instructions().filter(|(_, one)| one.pc == call_pc).any(|(_, one)| match one.op {
            Op::Call { arguments, .. } => given
                .iter()
                .filter_map(|position| body.operands(arguments).get(usize::from(*position)))
                .any(|value| is_difference(&body, *value, pc, MAX_STEPS)),
            _ => false,
        });
        is_computed && deciding.any(|condition| is_counting(condition, &is_given))
    }

    /// Whether the section of the write asks for more than whether there is something.
    fn is_asked_how_many(&self, stale: &Stale, write: &Access) -> bool {
        let Some((outline, acting)) = self.place_of(&write.spot) else { return true };
        let looks = |influence: &Influence| match influence.root {
            Root::Access(read) if self.is_fresh(influence, stale.variable, write) => Some(self.access(read)),
            _ => None,
        };
        let asks_how_many = |look: &Access| {
            let is_of_look = |condition: &Condition| asks(outline, condition, look);
            let mut deciding =
                outline.events[acting.index()].control.iter().map(|one| &outline.conditions[*one as usize]);
            look.spot.method != write.spot.method
                || deciding
                    .any(|condition| is_of_look(condition) && condition.nought.is_none() && condition.absent.is_none())
        };
        write.control.iter().filter_map(looks).any(asks_how_many)
    }
}

/// Whether a condition goes by what an access yields.
fn asks(outline: &Outline, condition: &Condition, look: &Access) -> bool {
    condition.sources.iter().any(|source| match source.origin {
        Origin::Event(event) => outline.events[event.index()].pc == look.spot.pc,
        Origin::Parameter(_) => false,
    })
}

/// Whether a value is what is left of the one that was got at a place when some number is taken away from it.
fn is_difference(body: &Body, value: Value, pc: u32, steps: usize) -> bool {
    let is_got = |value: Value| body.instruction(value).pc == pc;
    match *body.op(value) {
        Op::Arithmetic(Arithmetic::Subtract, left, _) if is_got(left) => true,
        op if steps > 0 => {
            let mut found = false;
            if matches!(op, Op::Arithmetic(..) | Op::Phi(_) | Op::Call { .. }) {
                body.for_each_operand(&op, |operand| found |= is_difference(body, operand, pc, steps - 1));
            }
            found
        }
        _ => false,
    }
}
