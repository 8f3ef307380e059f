//! Which numbers are never negative, whoever calls the method that has them: amounts that are paid in and drawn.
//!
//! Constants, what is counted up from them, sizes and chance with a bound; what methods are given is asked of all callers.
//! That a sum of such numbers is too large for its type is not thought of.

use rustc_hash::FxHashSet;

use crate::class::{FieldId, MethodId};
use crate::ir::{Arithmetic, Body, Constant, Op, Value};
use crate::outline::Action;
use crate::sharing::Part;
use crate::whole::Whole;

/// More places than this are not asked for one answer.
const MAX_ASKED: usize = 60;

type Asked = FxHashSet<(MethodId, Value)>;

impl Whole<'_> {
    /// Whether a value of a method is a number that is never negative.
    pub fn is_never_negative(&self, method: MethodId, body: &Body, value: Value) -> bool {
        self.is_counted_up(method, body, value, &mut Asked::default())
    }

    fn is_counted_up(&self, method: MethodId, body: &Body, value: Value, asked: &mut Asked) -> bool {
        let value = body.without_casts(value);
        // What a loop carries round is what it was, and what is added.
        if !asked.insert((method, value)) {
            return true;
        }
        if asked.len() > MAX_ASKED {
            return false;
        }
        let mut is_up = |value: Value| self.is_counted_up(method, body, value, asked);
        match *body.op(value) {
            Op::Constant(Constant::Int(number)) => number >= 0,
            Op::Constant(Constant::Long(number)) => number >= 0,
            Op::ArrayLength(_) => true,
            Op::Convert(inner) => is_up(inner),
            Op::Phi(operands) => body.operands(operands).iter().all(|operand| is_up(*operand)),
            Op::Arithmetic(Arithmetic::Add | Arithmetic::Multiply | Arithmetic::Divide, left, right) => {
                is_up(left) && is_up(right)
            }
            Op::Arithmetic(Arithmetic::Remainder, left, _) => is_up(left),
            Op::Call { method: called, arguments, .. } => {
                let arguments = body.operands(arguments);
                let names = &self.program.names;
                let is_of = |packages: &str| names.text(called.class.0).starts_with(packages);
                match (names.text(called.name), arguments) {
                    ("nextInt" | "nextLong", [_, _]) | ("size" | "length", [_]) => is_of("java/"),
                    ("nextInt" | "nextLong", [_, least, _]) => is_of("java/") && is_up(*least),
                    ("abs", [_]) => is_of("java/lang/"),
                    ("max", [one, other]) => is_of("java/lang/") && (is_up(*one) || is_up(*other)),
                    ("min", [one, other]) => is_of("java/lang/") && is_up(*one) && is_up(*other),
                    ("valueOf" | "intValue" | "longValue", [inner]) => is_of("java/lang/") && is_up(*inner),
                    _ => false,
                }
            }
            Op::Parameter(position) => self.is_given_counted_up(method, position, asked),
            Op::GetField { field, .. } | Op::GetStatic(field) => {
                let field = self.program.resolve_field(field);
                field.is_some_and(|field| self.holds_counted_up(field, asked))
            }
            _ => false,
        }
    }

    /// Whether all callers give a number that is never negative.
    fn is_given_counted_up(&self, method: MethodId, position: u16, asked: &mut Asked) -> bool {
        let (program, calls) = (self.program, &self.calls);
        let callers = calls.callers(method);
        let mut callers: Vec<MethodId> = callers.to_vec();
        callers.dedup();
        if callers.is_empty() || self.threads().open.binary_search(&method).is_ok() {
            return false;
        }
        callers.into_iter().all(|caller| {
            let Some(outline) = self.outlines().get(caller) else { return false };
            let gives = outline.events.iter().filter(|event| match &event.action {
                Action::Call { kind, method: called, .. } => {
                    calls.targets(program, *kind, *called).known().contains(&method)
                }
                Action::Lambda { method: made, .. } => calls.lambda_targets(program, *made).known().contains(&method),
                _ => false,
            });
            let places: Vec<u32> = gives.map(|event| event.pc).collect();
            let Ok(Some(body)) = program.body(caller) else { return false };
            let given: Vec<Option<Value>> = body
                .instructions()
                .filter(|(_, instruction)| places.contains(&instruction.pc))
                .filter_map(|(_, instruction)| match instruction.op {
                    Op::Call { arguments, .. } | Op::CallDynamic { arguments, .. } => {
                        Some(body.operands(arguments).get(usize::from(position)).copied())
                    }
                    _ => None,
                })
                .collect();
            given.len() == places.len()
                && !given.is_empty()
                && given
                    .into_iter()
                    .all(|given| given.is_some_and(|given| self.is_counted_up(caller, &body, given, asked)))
        })
    }

    /// Whether a field only ever gets numbers that are never negative.
    fn holds_counted_up(&self, field: FieldId, asked: &mut Asked) -> bool {
        let access = self.program.field(field).access;
        let is_write = |is_write: bool, part: Part| is_write && part == Part::Itself;
        let mut writes =
            self.sharings().accesses(field).iter().filter(|access| is_write(access.is_write, access.part)).peekable();
        (access.is_private() || access.is_final())
            && writes.peek().is_some()
            && writes.all(|write| {
                let event = self.outlines().get(write.at.method).map(|outline| &outline.events[write.at.event.index()]);
                let (Some(event), Ok(Some(body))) = (event, self.program.body(write.at.method)) else { return false };
                let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
                    Op::PutField { value, .. } | Op::PutStatic { value, .. } if instruction.pc == event.pc => {
                        Some(value)
                    }
                    _ => None,
                });
                stored.is_some_and(|stored| self.is_counted_up(write.at.method, &body, stored, asked))
            })
    }
}
