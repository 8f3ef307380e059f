//! What was asked, and is asked again by a call that throws if the answer has changed: `if (gate.isOpen()) gate.pass(ship);`,
//! where `pass` throws if the gate is closed by then. That the call looks by itself keeps its own data right; whoever has
//! asked before gets an exception where "no" would have been an answer. What is asked may be compared with something that never
//! changes: `while (drum.hasNext()) drum.next();`, with a number of tickets for good.

use location::ClassName;
use program::ir::{BlockId, Constant, Op, ValueType};
use program::model::State;
use program::outline::{Action, Condition, Event, EventId, Member, NameStep, Origin, Outline, Source, Start};
use program::summary::{Access, Root, Spot};
use program::{FieldId, LockKind, MethodId, Place, Variable};

use super::stale::{Asking, Flow, How};
use crate::stale_values::is_contended;
use crate::threads::{is_of_this, is_owned};

/// Methods between the question and the call that throws are looked into this deep.
const MAX_DEPTH: usize = 3;

/// How a call refuses.
struct Refusal {
    thrown: ClassName,
    /// Whether it does if the number or flag is nought, or if it is not; none if that is not told.
    if_nought: Option<bool>,
    /// Fields that never change, which what is found is compared with.
    against: Vec<FieldId>,
}

impl Asking<'_> {
    /// Fields that a call looks at in one section because an earlier one on the same lock has found them so.
    pub(super) fn asked_again(&self) -> Vec<Flow> {
        let own = self.whole.program.method_name(self.method);
        let mut found = self.fetched_again();
        found.retain(|flow| {
            let target = &self.summary.accesses[flow.target.index()];
            matches!(target.member, Member::Field(_) | Member::Static(_))
                && target.spot.method != own
                && self.summary.sections[flow.first].kind != LockKind::Own
        });
        found.iter_mut().for_each(|flow| flow.how = How::Refused);
        found
    }

    /// Whether a call throws because of what it finds where it was asked before, and the method does not reckon with that.
    pub(super) fn is_refused(&self, read: &Access, target: &Access) -> bool {
        let Some(refusal) = self.refusal(&target.spot) else { return false };
        refusal.against.iter().all(|field| self.is_asked_with(read, target, *field))
            && !self.is_of_library(read)
            && self.comes_out(self.method, target.event, &target.spot, refusal.thrown, MAX_DEPTH)
            && !is_owned(self.whole, self.method, read)
            && self.is_contended(read, target)
    }

    /// Whether the question, too, has to do with a field that never changes: it is read where the question is asked, or what it
    /// holds is.
    fn is_asked_with(&self, read: &Access, target: &Access, field: FieldId) -> bool {
        let program = self.whole.program;
        let asking = program.declared_method(read.spot.method).and_then(|method| self.whole.summaries.outline(method));
        let is_it = |event: &Event| match event.action {
            Action::Read { member: Member::Field(read) | Member::Static(read), .. } => {
                program.resolve_field(read) == Some(field)
            }
            _ => false,
        };
        let is_held = |root: Root| match root {
            Root::Access(asked) => {
                Variable::of(program, &self.summary.accesses[asked.index()]) == Some(Variable::Held(field))
            }
            Root::Parameter(_) => false,
        };
        asking.is_some_and(|asking| asking.events.iter().any(is_it))
            || target.control.iter().any(|influence| is_held(influence.root))
    }

    /// Whether the object is one that the library has made and that is known by an interface of the library: nothing says that
    /// it is one of the program's own, whatever else implements the interface.
    fn is_of_library(&self, read: &Access) -> bool {
        let program = self.whole.program;
        let is_library = |class: ClassName| !program.class(class).is_some_and(|class| program.is_checked(class));
        let called = |event: EventId| match &self.outline.events[event.index()].action {
            Action::Call { method, .. } => Some(method.class),
            _ => None,
        };
        match read.base.start {
            Start::Result(made) => [made, read.event].into_iter().all(|call| called(call).is_some_and(is_library)),
            _ => false,
        }
    }

    /// Whether another thread writes what was asked around that time, by what is known of parts and of order.
    fn is_contended(&self, read: &Access, target: &Access) -> bool {
        let whole = self.whole;
        Variable::of(whole.program, read).is_some_and(|variable| {
            let is_apart = |process, other| whole.keep_to_own_parts(process, other, variable, read.spot);
            let is_own = is_of_this(&read.base, variable);
            is_contended(whole, self.method, target.event, variable, is_own, is_apart, |_| true)
        })
    }

    /// Whether a write may make it so that the call throws.
    pub(super) fn makes_refuse(&self, writer: &Place, target: &Access) -> bool {
        let Some(Refusal { if_nought, .. }) = self.refusal(&target.spot) else { return false };
        let (Some(if_nought), Some(summary)) = (if_nought, self.whole.summaries.summary(writer.method)) else {
            return true;
        };
        let pc = summary.accesses[writer.access.index()].spot.pc;
        let Ok(Some(body)) = self.whole.program.body(writer.method) else { return true };
        let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } if instruction.pc == pc => Some(value),
            _ => None,
        });
        match stored.map(|stored| body.op(stored)) {
            Some(Op::Constant(Constant::Int(number))) => (*number == 0) == if_nought,
            _ => true,
        }
    }

    /// What the method that reads at a place throws because of what it has read there: nothing that callers have to declare
    /// or catch, which would be an answer like any other.
    fn refusal(&self, spot: &Spot) -> Option<Refusal> {
        let program = self.whole.program;
        let method = program.declared_method(spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let event = outline.events.iter().position(|event| event.pc == spot.pc)?;
        let Ok(Some(body)) = program.body(method) else { return None };
        let is_it = |source: &&Source| source.origin == Origin::Event(EventId(event as u32));
        // What it is compared with, if that never changes.
        let against = |condition: &Condition| -> Option<Vec<FieldId>> {
            let others = condition.sources.iter().filter(|source| !is_it(source));
            let against = others.map(|source| self.lasting(outline, source)).collect::<Option<Vec<_>>>()?;
            condition.sources.iter().any(|source| is_it(&source)).then_some(against)
        };
        let is_unchecked = |class: ClassName| {
            let is_a = |name: &str| program.is_subtype(class, program.names.class(name));
            is_a("java/lang/RuntimeException") || is_a("java/lang/Error")
        };
        let thrown = body.blocks().filter_map(|(block, _)| match body.op(body.terminator(block)?) {
            Op::Throw(thrown) => match body.op(*thrown) {
                Op::New(class) if is_unchecked(*class) => Some((block.index(), *class)),
                _ => None,
            },
            _ => None,
        });
        let thrown: Vec<(usize, ClassName)> = thrown.collect();
        outline.conditions.iter().find_map(|condition| {
            let against = against(condition)?;
            thrown.iter().find_map(|(block, class)| {
                let way = (0..2).find(|way| outline.comes_only_by(condition, *way, *block))?;
                let if_nought = condition.nought.map(|nought| nought == way);
                Some(Refusal { thrown: *class, if_nought, against: against.clone() })
            })
        })
    }

    /// The field that has a value which is always the same: a final one, or one whose container nobody changes.
    /// `drawn == tickets.size()`.
    fn lasting(&self, outline: &Outline, source: &Source) -> Option<FieldId> {
        let program = self.whole.program;
        let Origin::Event(event) = source.origin else { return None };
        match &outline.events[event.index()].action {
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                program.resolve_field(*field).filter(|_| program.is_final_field(*field))
            }
            Action::Call { method, arguments, .. } => {
                let Some(NameStep::Field(field)) = arguments.first()?.name.steps.last() else { return None };
                let model = self.whole.calls.model(program, *method, method.class)?;
                let is_look = model.state == State::Contents && !model.access.writes();
                let field = program.resolve_field(*field).filter(|_| is_look && program.is_final_field(*field))?;
                self.whole.variables.writers(Variable::Held(field)).is_empty().then_some(field)
            }
            _ => None,
        }
    }

    /// Whether what is thrown at a place that an event of a method leads to comes out of the method.
    fn comes_out(&self, method: MethodId, event: EventId, spot: &Spot, thrown: ClassName, depth: usize) -> bool {
        let program = self.whole.program;
        if program.method_name(method) == spot.method {
            return true;
        }
        let (Some(outline), Ok(Some(body))) = (self.whole.summaries.outline(method), program.body(method)) else {
            return false;
        };
        let block = BlockId::from_index(outline.events[event.index()].block as usize);
        // A `finally` throws on what it has caught.
        let mut handlers =
            body.block(block).handlers.iter().filter(|handler| outline.caught.contains(&(handler.index() as u32)));
        let is_caught = handlers.any(|handler| {
            body.instructions_of(*handler).any(|(_, instruction)| match (&instruction.op, instruction.value_type) {
                (Op::Caught, ValueType::Reference(class)) => program.is_subtype(thrown, class),
                _ => false,
            })
        });
        let Action::Call { kind, method: called, .. } = &outline.events[event.index()].action else { return false };
        let targets = self.whole.calls.targets(program, *kind, *called);
        !is_caught
            && depth > 0
            && targets.known().iter().any(|callee| {
                let summary = self.whole.summaries.summary(*callee);
                let access = summary.and_then(|summary| summary.accesses.iter().find(|access| access.spot == *spot));
                access.is_some_and(|access| self.comes_out(*callee, access.event, spot, thrown, depth - 1))
            })
    }
}
