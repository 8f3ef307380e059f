//! Bits of a number that stand for places: `if ((taken & 1L << seat) != 0) return false; taken |= 1L << seat;`. What was found
//! free before says only which bit it is, since the section that puts it up has looked at that very bit.
//!
//! Misses: bits that are worked out in different ways for the test and for the change.

use program::ir::{Arithmetic, Body, Op, Value};
use program::outline::Member;
use program::summary::{Access, Influence, Root};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};

/// What is computed in more steps than this is not compared.
const MAX_STEPS: usize = 4;

impl Looking<'_> {
    /// Whether the old value only says which bit is put up, and that one was tested; or which one that was before is
    /// changed now.
    pub(super) fn is_of_tested_bit(&self, stale: &Stale, write: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        let read = self.access(stale.read);
        let is_before = |mark: &Access| {
            mark.is_write
                && mark.event != write.event
                && comes_from(&mark.value, stale.read)
                && self.variable(mark) == Some(stale.variable)
                && (mark.event == read.event
                    || outline.is_some_and(|outline| !outline.leads_to(read.event, write.event, &[mark.event])))
                && self.is_put_up_if_down(mark)
        };
        stale.how == Use::Written
            && stale.variable == stale.written
            && matches!(write.member, Member::Field(_) | Member::Static(_))
            && self.is_relative(stale, write)
            && (self.is_put_up_if_down(write) || self.summary.accesses.iter().any(is_before))
    }

    /// Whether a write adds bits to a field, and its section has asked before whether they were there.
    fn is_put_up_if_down(&self, write: &Access) -> bool {
        let program = self.whole.program;
        let method = self.whole.calls.hierarchy.resolve_name(program, write.spot.method);
        let Some(Ok(Some(body))) = method.map(|method| program.body(method)) else { return false };
        let field = |value: Value| match *body.op(body.without_casts(value)) {
            Op::GetField { field, .. } | Op::GetStatic(field) => Some((field, body.instruction(value).pc)),
            _ => None,
        };
        // A field and what it is combined with.
        let parts = |value: Value, operator: Arithmetic| match *body.op(value) {
            Op::Arithmetic(found, left, right) if found == operator => {
                field(left).map(|field| (field, right)).or_else(|| field(right).map(|field| (field, left)))
            }
            _ => None,
        };
        let put = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { field, value, .. } | Op::PutStatic { field, value } if instruction.pc == write.spot.pc => {
                Some((field, value))
            }
            _ => None,
        });
        let Some((written, value)) = put else { return false };
        let Some(((from, _), bits)) = parts(value, Arithmetic::Or).filter(|((from, _), _)| *from == written) else {
            return false;
        };
        // Read in the section of the write, and asked for it.
        let is_asked = |pc: u32| {
            write.control.iter().any(|influence: &Influence| match influence.root {
                Root::Access(read) => {
                    let read = self.access(read);
                    read.spot.method == write.spot.method
                        && read.spot.pc == pc
                        && !read.held.intersection(write.held).without(influence.ended).is_empty()
                }
                Root::Parameter(_) => false,
            })
        };
        body.instructions().any(|(tested, _)| {
            parts(tested, Arithmetic::And).is_some_and(|((asked, pc), tested)| {
                asked == from && are_equal(&body, tested, bits, MAX_STEPS) && is_asked(pc)
            })
        })
    }
}

/// Whether two values are computed in one way from the same ones.
fn are_equal(body: &Body, one: Value, other: Value, steps: usize) -> bool {
    let (one, other) = (body.without_casts(one), body.without_casts(other));
    let deeper = |one: Value, other: Value| steps > 0 && are_equal(body, one, other, steps - 1);
    one == other
        || match (body.op(one), body.op(other)) {
            (Op::Constant(one), Op::Constant(other)) => one == other,
            (Op::Parameter(one), Op::Parameter(other)) => one == other,
            (Op::Convert(one), Op::Convert(other)) | (Op::Negate(one), Op::Negate(other)) => deeper(*one, *other),
            (Op::Arithmetic(first, left, right), Op::Arithmetic(second, also_left, also_right)) => {
                first == second && deeper(*left, *also_left) && deeper(*right, *also_right)
            }
            _ => false,
        }
}
