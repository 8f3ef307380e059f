//! Optimistic reads whose stamp is turned into a write lock: that succeeds only if nobody has written since.

use program::ir::{Body, Op, Value};
use program::summary::Spot;
use program::{LockKind, Mode};

use super::rules::{Looking, Stale};

/// Values that meet in more places than this are not followed.
const MAX_ORIGINS: usize = 32;

impl Looking<'_> {
    /// Whether the section of the write was made of the very stamp that the value was read under.
    pub(super) fn is_converted(&self, stale: &Stale) -> bool {
        let (first, second) = (&self.summary.sections[stale.first], &self.summary.sections[stale.second]);
        let is_stamped = first.kind == LockKind::Stamped
            && second.kind == LockKind::Stamped
            && first.mode == Mode::Optimistic
            && first.spot.method == second.spot.method;
        let program = self.whole.program;
        let taken_in = self.whole.calls.hierarchy.resolve_name(program, second.spot.method).filter(|_| is_stamped);
        let Some(Ok(Some(body))) = taken_in.map(|method| program.body(method)) else { return false };
        let Some(Op::Call { method, arguments, .. }) = call_at(&body, second.spot).map(|call| *body.op(call)) else {
            return false;
        };
        let is_conversion = program.names.text(method.name).starts_with("tryConvertTo");
        let (Some(stamp), Some(read)) = (body.operands(arguments).get(1), call_at(&body, first.spot)) else {
            return false;
        };
        is_conversion && may_be(&body, *stamp, read)
    }
}

fn call_at(body: &Body, spot: Spot) -> Option<Value> {
    let mut calls = body.instructions().filter(|(_, instruction)| matches!(instruction.op, Op::Call { .. }));
    calls.find(|(_, instruction)| instruction.pc == spot.pc).map(|(value, _)| value)
}

/// Whether a value is another one on some path.
fn may_be(body: &Body, value: Value, wanted: Value) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    while let Some(value) = seen.get(next).copied() {
        next += 1;
        if value == wanted {
            return true;
        }
        if let Op::Phi(operands) = *body.op(value)
            && seen.len() < MAX_ORIGINS
        {
            seen.extend(
                body.operands(operands).iter().filter(|operand| !seen.contains(operand)).copied().collect::<Vec<_>>(),
            );
        }
    }
    false
}
