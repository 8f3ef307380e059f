//! What the code on the way to a call tells of its receiver's class: `instanceof`, `C.class.isInstance(x)`,
//! `x.getClass() == C.class`, a cast.
//!
//! Misses: answers that are kept in a variable together with others, tests in methods that are called.

use std::cell::OnceCell;

use classfile::{Against, CallKind, Condition, Constant};
use location::{ClassName, FieldName, MethodName};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::EventId;
use super::dominators::Dominators;
use crate::Program;
use crate::ir::{BlockId, Body, Op, Value};
use crate::path::MAX_STEPS;

/// More tests and casts than this are not looked at.
const MAX_TOLD: usize = 256;

/// What is known of the class of an object.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Known {
    /// This class or one below it.
    pub is: Option<ClassName>,
    /// This class and none below it.
    pub exactly: Option<ClassName>,
    /// None of these, nor of what is below them.
    pub is_not: SmallVec<[ClassName; 1]>,
}

impl Known {
    pub fn is_nothing(&self) -> bool {
        *self == Known::default()
    }

    /// A method by the class that the object is known to be, if that says more than the call does.
    pub fn narrowed(&self, program: &Program, method: MethodName) -> MethodName {
        match self.exactly.or(self.is).filter(|class| program.is_subtype(*class, method.class)) {
            Some(class) => MethodName { class, ..method },
            None => method,
        }
    }

    /// Whether an object like that can have the methods of a class.
    pub fn may_be(&self, program: &Program, class: ClassName) -> bool {
        !self.is_not.iter().any(|other| program.is_subtype(class, *other))
    }

    fn add(&mut self, program: &Program, told: &Told) {
        let is_narrower = |known: Option<ClassName>| known.is_none_or(|known| program.is_subtype(told.class, known));
        match told.what {
            What::Is if is_narrower(self.is) => self.is = Some(told.class),
            What::Is => {}
            What::Exactly => self.exactly = Some(told.class),
            What::IsNot => self.is_not.push(told.class),
        }
    }
}

/// Calls before which the code makes sure of the receiver's class, and what is known of it then.
pub(super) fn narrowed(program: &Program, body: &Body, events: &[Value]) -> Vec<(EventId, Known)> {
    let narrowing = Narrowing::of(program, body);
    let calls = events.iter().enumerate();
    calls.filter_map(|(index, value)| Some((EventId(index as u32), narrowing.receiver(*value)?))).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Is,
    Exactly,
    IsNot,
}

/// Where something is known.
enum Where {
    /// In these blocks.
    Blocks(Vec<u32>),
    /// Once this cast has been come through.
    After(Value),
}

struct Told {
    object: Value,
    class: ClassName,
    what: What,
    place: Where,
}

pub struct Narrowing<'b> {
    program: &'b Program,
    body: &'b Body,
    told: Vec<Told>,
    /// Of each final field of an object the first load: the others yield the same.
    loads: FxHashMap<(Option<Value>, FieldName), Value>,
    dominators: OnceCell<Dominators>,
}

impl<'b> Narrowing<'b> {
    pub fn of(program: &'b Program, body: &'b Body) -> Narrowing<'b> {
        let mut narrowing = Narrowing::none(program, body);
        let is_test = |op: &Op| match *op {
            Op::InstanceOf(..) | Op::Cast(..) => true,
            Op::Call { method, .. } => program.roots.class_questions.contains(&method.name),
            _ => false,
        };
        if !body.instructions().any(|(_, instruction)| is_test(&instruction.op)) {
            return narrowing;
        }
        for (value, instruction) in body.instructions() {
            if narrowing.told.len() > MAX_TOLD {
                break;
            }
            match instruction.op {
                Op::GetField { base, field } if program.is_final_field(field) => {
                    let base = Some(narrowing.object(base));
                    narrowing.loads.entry((base, field)).or_insert(value);
                }
                Op::GetStatic(field) if program.is_final_field(field) => {
                    narrowing.loads.entry((None, field)).or_insert(value);
                }
                Op::Cast(object, class) => {
                    let object = narrowing.object(object);
                    narrowing.told.push(Told { object, class, what: What::Is, place: Where::After(value) });
                }
                Op::Branch {
                    condition: condition @ (Condition::Equal | Condition::NotEqual),
                    against,
                    left,
                    right,
                } => {
                    if let Some((object, class, is_exact)) = narrowing.tested(against, left, right) {
                        // A comparison with 0 holds where the answer is no; one of two classes where they are the same.
                        let yes = (condition == Condition::Equal) != (against == Against::Zero);
                        narrowing.decide(value, object, class, is_exact, usize::from(!yes));
                    }
                }
                _ => {}
            }
        }
        narrowing
    }

    /// Knows nothing.
    pub fn none(program: &'b Program, body: &'b Body) -> Narrowing<'b> {
        Narrowing { program, body, told: Vec::new(), loads: FxHashMap::default(), dominators: OnceCell::new() }
    }

    /// The object and the class that a branch asks about, and whether only that class will do.
    fn tested(&self, against: Against, left: Value, right: Option<Value>) -> Option<(Value, ClassName, bool)> {
        let class = |value: Value| match *self.body.op(self.body.without_casts(value)) {
            Op::Constant(Constant::Class(class)) => Some(class),
            _ => None,
        };
        let class_of = |value: Value| match *self.body.op(self.body.without_casts(value)) {
            Op::Call { method, arguments, .. } if self.text(method) == "getClass" => {
                self.body.operands(arguments).first().copied()
            }
            _ => None,
        };
        let compared = |one: Value, other: Value| {
            let found = class_of(one).zip(class(other)).or_else(|| class_of(other).zip(class(one)));
            found.map(|(object, class)| (self.object(object), class, true))
        };
        match (against, right) {
            (Against::Reference, Some(right)) => compared(left, right),
            (Against::Zero, None) => match *self.body.op(left) {
                Op::InstanceOf(object, class) => Some((self.object(object), class, false)),
                Op::Call { method, arguments, .. } => match (self.text(method), self.body.operands(arguments)) {
                    ("isInstance", [of, object]) => Some((self.object(*object), class(*of)?, false)),
                    ("equals", [one, other]) => compared(*one, *other),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Notes what is known where a branch has gone one way or the other.
    fn decide(&mut self, branch: Value, object: Value, class: ClassName, is_exact: bool, yes: usize) {
        let block = self.body.block_of(branch);
        // What is not exactly this class may be one below it.
        let may_be_below =
            || self.program.class(class).is_none_or(|class| !self.program.header(class).access.is_final());
        let no = (!is_exact || !may_be_below()).then_some((1 - yes, What::IsNot));
        let ways = [Some((yes, if is_exact { What::Exactly } else { What::Is })), no];
        for (edge, what) in ways.into_iter().flatten() {
            let blocks = self.dominators().behind(self.body, block, edge).to_vec();
            if !blocks.is_empty() {
                self.told.push(Told { object, class, what, place: Where::Blocks(blocks) });
            }
        }
    }

    /// What is known of the receiver of a call, if that says more than the call does.
    pub fn receiver(&self, call: Value) -> Option<Known> {
        let Op::Call { kind: CallKind::Virtual | CallKind::Interface, method, arguments } = *self.body.op(call) else {
            return None;
        };
        let known = self.known(*self.body.operands(arguments).first()?, call);
        let says_more = !known.is_not.is_empty() || known.narrowed(self.program, method) != method;
        says_more.then_some(known)
    }

    /// What is known of an object where control comes to a place.
    pub fn known(&self, object: Value, at: Value) -> Known {
        let mut known = Known::default();
        if self.told.is_empty() {
            return known;
        }
        let object = self.object(object);
        let block = self.body.block_of(at);
        for told in self.told.iter().filter(|told| told.object == object) {
            let is_there = match &told.place {
                Where::Blocks(blocks) => blocks.contains(&(block.index() as u32)),
                Where::After(cast) => self.is_after(*cast, at),
            };
            if is_there {
                known.add(self.program, told);
            }
        }
        known
    }

    /// Whether control has come through a cast, whichever way it came.
    fn is_after(&self, cast: Value, at: Value) -> bool {
        let (from, to) = (self.body.block_of(cast), self.body.block_of(at));
        match from == to {
            true => cast < at,
            // What handles an exception may have got it before the cast.
            false => {
                self.dominators().dominates(from, to)
                    && !self.body.block(from).handlers.iter().any(|handler| self.reaches(*handler, to, from))
            }
        }
    }

    /// Whether control can come from one block to another without a third one.
    fn reaches(&self, from: BlockId, to: BlockId, without: BlockId) -> bool {
        let mut seen = vec![false; self.body.block_count()];
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            if block == without || std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            if block == to {
                return true;
            }
            let edges = self.body.block(block);
            pending.extend(edges.successors.iter().chain(&edges.handlers));
        }
        false
    }

    /// One register for all that hold the same object.
    fn object(&self, value: Value) -> Value {
        self.object_of(value, MAX_STEPS)
    }

    fn object_of(&self, value: Value, depth: usize) -> Value {
        let value = self.body.without_casts(value);
        let load = match *self.body.op(value) {
            Op::GetField { base, field } if depth > 0 => {
                self.loads.get(&(Some(self.object_of(base, depth - 1)), field))
            }
            Op::GetStatic(field) => self.loads.get(&(None, field)),
            _ => None,
        };
        load.copied().unwrap_or(value)
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::of(self.body))
    }

    fn text(&self, method: MethodName) -> &str {
        self.program.names.text(method.name)
    }
}
