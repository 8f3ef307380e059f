//! What of a method's code matters to the pattern: where locks are taken and given back, calls, and assignments that take
//! a lock's name away. Everything else is left out, so that whole programs can be kept.

use location::{ClassName, FieldName, MethodName};
use program::ir::{ArrayKind, Body, CallKind, Constant, Op, Value, ValueType, can_throw};
use program::outline::{Known, Narrowing};
use program::{
    Held, LockKind, MethodId, Mode, Path, Paths, Problem, Program, Root, SectionId, SectionKind, Sections, Step,
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::name::{Argument, Name, declared, settle};

/// A section that the method opens itself.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) lock: Path,
    /// What the object must be that the name starts from.
    pub(super) bound: Option<ClassName>,
    /// The lock as callers name it.
    pub(super) name: Option<Name>,
    pub(super) kind: LockKind,
    pub(super) mode: Mode,
    pub(super) is_method: bool,
    /// Whether it waits inside: it says itself that it lets the lock go, and for what.
    pub(super) waits: bool,
    /// The instruction that takes the lock.
    pub(super) start: Option<Value>,
    pub(super) pc: u32,
    pub(super) line: Option<u32>,
}

/// A function that a call runs before it returns.
#[derive(Clone, Debug)]
pub(super) struct InPlace {
    /// The argument, counted without the receiver.
    pub(super) position: u8,
    pub(super) method: MethodName,
    pub(super) captured: SmallVec<[Argument; 2]>,
}

#[derive(Clone, Debug)]
pub(super) struct CallSite {
    pub(super) pc: u32,
    pub(super) line: Option<u32>,
    pub(super) kind: CallKind,
    pub(super) method: MethodName,
    pub(super) arguments: SmallVec<[Argument; 2]>,
    /// The register of the receiver, and of the result.
    pub(super) receiver: Option<Value>,
    pub(super) value: Value,
    /// What is known of the receiver's class: exactly, where it is made here.
    pub(super) known: Known,
    /// Functions given as arguments that were made here.
    pub(super) functions: SmallVec<[InPlace; 1]>,
}

/// What an assignment takes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forget {
    Register(Value),
    Field(FieldName),
    Elements,
}

impl Forget {
    /// Whether a lock's name depends on what was assigned.
    pub(super) fn changes(self, lock: &Path) -> bool {
        match self {
            Forget::Register(value) => lock.depends_on(value),
            Forget::Field(field) => goes_through(lock, field),
            Forget::Elements => lock.goes_through_elements(),
        }
    }
}

/// Whether a lock's name goes through a field, both named by the class that declares it.
fn goes_through(lock: &Path, field: FieldName) -> bool {
    lock.root == Root::Static(field) || lock.steps.contains(&Step::Field(field))
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Something may throw here.
    Throw,
    Enter(SectionId),
    Leave(SectionId),
    /// Lets go and takes again.
    Wait(SectionId),
    /// Gives back a lock that this method did not take. Rare, so that the name must not make every action large.
    GiveBack(Box<Path>, LockKind),
    Call(u32),
    /// A call that takes no lock; it may assign what a lock's name goes through.
    Run(CallKind, MethodName),
    Forget(Forget),
    Return,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Block {
    pub(super) actions: Vec<Action>,
    pub(super) successors: SmallVec<[u32; 2]>,
    pub(super) handlers: SmallVec<[u32; 2]>,
    /// Sections that are open where the block starts.
    pub(super) open: SmallVec<[SectionId; 2]>,
}

/// A call whose result is an object that a name starts from.
#[derive(Clone, Debug)]
pub(super) struct Yields {
    pub(super) value: Value,
    pub(super) kind: CallKind,
    pub(super) method: MethodName,
    pub(super) arguments: SmallVec<[Argument; 2]>,
}

#[derive(Clone, Debug)]
pub(super) struct Skeleton {
    pub(super) method: MethodId,
    pub(super) sections: Vec<Own>,
    pub(super) section_ids: Vec<SectionId>,
    pub(super) calls: Vec<CallSite>,
    pub(super) blocks: Vec<Block>,
    pub(super) yields: Vec<Yields>,
    /// By parameter that a lock's name may start from: the register.
    pub(super) parameters: SmallVec<[Value; 4]>,
}

impl Skeleton {
    /// The name of a lock outside this method; `None` for `*`.
    pub(super) fn outside(&self, lock: &Path, kind: LockKind, bound: Option<ClassName>) -> Option<Name> {
        use super::name::{NameStep, Start};
        let parameter = |value: Value| self.parameters.iter().position(|known| *known == value).map(|at| at as u16);
        let start = match lock.root {
            Root::This => Start::Parameter(0),
            Root::Value(value) => Start::Parameter(parameter(value)?),
            Root::Static(field) => Start::Static(field),
            Root::Class(class) => Start::Class(class),
            Root::Unknown => return None,
        };
        let steps = lock.steps.iter().map(|step| match *step {
            Step::Field(field) => Some(NameStep::Field(field)),
            Step::Constant(index) => Some(NameStep::Constant(index)),
            Step::Element(index) => parameter(index).map(NameStep::Given),
        });
        let bound = bound.filter(|_| matches!(start, Start::Parameter(_)));
        Some(Name { start, steps: steps.collect::<Option<_>>()?, kind, bound })
    }

    /// Replaces calls that take no lock by what they assign.
    pub(super) fn settle_runs(&mut self, stores: impl Fn(CallKind, MethodName) -> SmallVec<[FieldName; 1]>) {
        for block in &mut self.blocks {
            if !block.actions.iter().any(|action| matches!(action, Action::Run(..))) {
                continue;
            }
            let actions = std::mem::take(&mut block.actions);
            for action in actions {
                match action {
                    Action::Run(kind, method) => {
                        let fields = stores(kind, method).into_iter();
                        block.actions.extend(fields.map(|field| Action::Forget(Forget::Field(field))));
                    }
                    other => block.actions.push(other),
                }
            }
        }
    }

    /// Changes every name in it.
    pub(super) fn rename(&mut self, rename: impl Fn(&mut Path)) {
        for own in &mut self.sections {
            rename(&mut own.lock);
        }
        for call in &mut self.calls {
            let captured = call.functions.iter_mut().flat_map(|function| &mut function.captured);
            for argument in call.arguments.iter_mut().chain(captured) {
                if let Argument::Object(path, _) = argument {
                    rename(path);
                }
            }
        }
        for block in &mut self.blocks {
            for action in &mut block.actions {
                if let Action::GiveBack(lock, _) = action {
                    rename(lock);
                }
            }
        }
        for index in 0..self.sections.len() {
            let own = &self.sections[index];
            self.sections[index].name = self.outside(&own.lock, own.kind, own.bound);
        }
    }

    pub(super) fn build(
        program: &Program,
        method: MethodId,
        body: &Body,
        matters: &(impl Fn(CallKind, MethodName) -> bool + Sync),
        knows: Knows,
    ) -> Skeleton {
        let sections = Sections::of(body, program);
        let narrowing = match knows {
            Knows::AllLocks => Narrowing::of(program, body),
            Knows::Monitors => Narrowing::none(program, body),
        };
        let building =
            Building { program, body, sections: &sections, paths: Paths::new(body, program), narrowing, knows };
        building.all(method, matters)
    }
}

/// What counts as taking a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Knows {
    /// Monitors alone, as in the paper: other locks are objects with methods, and methods that only lock are methods.
    Monitors,
    AllLocks,
}

struct Building<'b> {
    program: &'b Program,
    body: &'b Body,
    sections: &'b Sections,
    paths: Paths<'b>,
    narrowing: Narrowing<'b>,
    knows: Knows,
}

impl Building<'_> {
    fn all(&self, method: MethodId, matters: &impl Fn(CallKind, MethodName) -> bool) -> Skeleton {
        let body = self.body;
        let parameters: SmallVec<[Value; 4]> = body
            .instructions()
            .take_while(|(_, instruction)| matches!(instruction.op, Op::Parameter(_)))
            .map(|(value, _)| value)
            .collect();
        let mut skeleton = Skeleton {
            method,
            sections: Vec::new(),
            section_ids: self.sections.iter().map(|(id, _)| id).collect(),
            calls: Vec::new(),
            blocks: vec![Block::default(); body.block_count()],
            yields: Vec::new(),
            parameters,
        };
        for (_, section) in self.sections.iter() {
            let pc = section.start.map_or(0, |start| body.instruction(start).pc);
            let (lock, kind) = (settle(self.program, section.lock.clone()), section.lock_kind());
            let bound = self.bound(&lock);
            let name = skeleton.outside(&lock, kind, bound);
            let is_method = section.kind == SectionKind::Method;
            skeleton.sections.push(Own {
                lock,
                bound,
                name,
                kind,
                mode: section.mode,
                is_method,
                waits: !section.waits.is_empty(),
                start: section.start,
                pc,
                line: body.line(pc),
            });
        }
        // Most of what is noted is left out in the end: it is noted in one list, of which blocks keep what is left.
        let mut noted: Vec<Action> = Vec::new();
        let mut ends: Vec<usize> = Vec::with_capacity(skeleton.blocks.len());
        for (block, edges) in body.blocks() {
            let target = &mut skeleton.blocks[block.index()];
            target.successors = edges.successors.iter().map(|next| next.index() as u32).collect();
            target.handlers = edges.handlers.iter().map(|next| next.index() as u32).collect();
            target.open = self.sections.held_at_start(block).iter().map(|held| held.section).collect();
            let has_handlers = !edges.handlers.is_empty();
            let first = noted.len();
            self.sections.walk(body, block, |value, _, held| {
                self.instruction(&mut skeleton, (&mut noted, first), value, held, has_handlers, matters);
            });
            ends.push(noted.len());
        }
        let used = used(&skeleton);
        let is_used = |action: &Action| match action {
            Action::Forget(Forget::Register(value)) => used.contains(value),
            _ => true,
        };
        let mut noted = noted.into_iter();
        let mut first = 0;
        for (block, end) in skeleton.blocks.iter_mut().zip(ends) {
            block.actions = noted.by_ref().take(end - first).filter(is_used).collect();
            first = end;
        }
        self.yields(&mut skeleton, used);
        skeleton
    }

    fn instruction(
        &self,
        skeleton: &mut Skeleton,
        (actions, first): (&mut Vec<Action>, usize),
        value: Value,
        held: &[Held],
        has_handlers: bool,
        matters: &impl Fn(CallKind, MethodName) -> bool,
    ) {
        let body = self.body;
        let op = body.op(value);
        let closed = self.sections.closed_by(body, value, held);
        // Nothing happened since the last point where something might throw.
        let is_thrown = matches!(actions[first..].last(), Some(Action::Throw));
        if has_handlers && can_throw(op) && closed.is_empty() && !is_thrown {
            actions.push(Action::Throw);
        }
        match *op {
            Op::PutField { field, .. } | Op::PutStatic { field, .. }
                if self.program.names.text(field.descriptor).starts_with(['L', '[']) =>
            {
                actions.push(Action::Forget(Forget::Field(declared(self.program, field))));
            }
            Op::ArrayStore { kind: ArrayKind::Reference, .. } => {
                actions.push(Action::Forget(Forget::Elements));
            }
            _ => {}
        }
        let value_type = body.instruction(value).value_type;
        if matches!(value_type, ValueType::Reference(_) | ValueType::Int)
            && !matches!(op, Op::Parameter(_) | Op::Constant(_))
        {
            actions.push(Action::Forget(Forget::Register(value)));
        }
        let knows_section = |section: SectionId| {
            let section = self.sections.get(section);
            // A call that takes a monitor is a method that does so.
            let is_monitor = section.start.is_none_or(|start| matches!(body.op(start), Op::MonitorEnter(_)));
            self.knows == Knows::AllLocks || is_monitor
        };
        for section in self.sections.waited_by(value, held).into_iter().filter(|section| knows_section(*section)) {
            actions.push(Action::Wait(section));
        }
        for section in closed.iter().filter(|section| knows_section(**section)) {
            actions.push(Action::Leave(*section));
        }
        if let Some(section) = self.sections.opened_by(value).filter(|section| knows_section(*section)) {
            actions.push(Action::Enter(section));
        }
        for problem in self.sections.problems() {
            if let Problem::ReleasesUnheld { lock, at } = problem
                && *at == value
                && (self.knows == Knows::AllLocks || matches!(op, Op::MonitorExit(_)))
            {
                let kind = if matches!(op, Op::MonitorExit(_)) { LockKind::Monitor } else { LockKind::Lock };
                actions.push(Action::GiveBack(Box::new(settle(self.program, lock.clone())), kind));
            }
        }
        if let Op::Call { kind, method, arguments } = *op
            && (self.knows == Knows::Monitors || !self.sections.is_lock_operation(value))
        {
            if matters(kind, method) {
                skeleton.calls.push(self.call(value, kind, method, body.operands(arguments)));
                actions.push(Action::Call(skeleton.calls.len() as u32 - 1));
            } else {
                actions.push(Action::Run(kind, method));
            }
        }
        if matches!(op, Op::Return(_)) {
            actions.push(Action::Return);
        }
    }

    fn call(&self, value: Value, kind: CallKind, method: MethodName, operands: &[Value]) -> CallSite {
        let body = self.body;
        let pc = body.instruction(value).pc;
        let receiver = operands.first().filter(|_| kind != CallKind::Static).copied();
        let skip = usize::from(receiver.is_some());
        let functions = operands.iter().skip(skip).enumerate().filter_map(|(position, operand)| {
            let Op::CallDynamic { dynamic, arguments } = *body.op(body.without_casts(*operand)) else { return None };
            let handle = body.dynamic(dynamic).lambda?;
            let captured = body.operands(arguments).iter().map(|operand| self.argument(*operand, value)).collect();
            Some(InPlace { position: u8::try_from(position).ok()?, method: handle.member, captured })
        });
        let object = receiver.map(|receiver| body.without_casts(receiver));
        let mut known = receiver.map(|receiver| self.narrowing.known(receiver, value)).unwrap_or_default();
        if let Some(Op::New(class)) = object.map(|object| body.op(object)) {
            known.exactly = Some(*class);
        }
        if let Some(ValueType::Reference(class)) = receiver.map(|receiver| body.instruction(receiver).value_type)
            && known.is.is_none_or(|is| !self.program.is_subtype(is, class))
        {
            known.is = Some(class);
        }
        CallSite {
            pc,
            line: body.line(pc),
            kind,
            method,
            arguments: operands.iter().map(|operand| self.argument(*operand, value)).collect(),
            receiver: object,
            value,
            known,
            functions: functions.collect(),
        }
    }

    /// Notes the calls that yield what names start from, and what those calls are given in turn.
    fn yields(&self, skeleton: &mut Skeleton, used: FxHashSet<Value>) {
        let mut pending: Vec<Value> = used.into_iter().collect();
        let mut seen: FxHashSet<Value> = pending.iter().copied().collect();
        while let Some(value) = pending.pop() {
            let Op::Call { kind, method, arguments } = *self.body.op(value) else { continue };
            let arguments: SmallVec<[Argument; 2]> =
                self.body.operands(arguments).iter().map(|operand| self.argument(*operand, value)).collect();
            for argument in &arguments {
                if let Argument::Object(Path { root: Root::Value(further), .. }, _) = argument
                    && seen.insert(*further)
                {
                    pending.push(*further);
                }
            }
            skeleton.yields.push(Yields { value, kind, method, arguments });
        }
        skeleton.yields.sort_by_key(|yields| yields.value);
    }

    /// What the object is known to be that a lock's name starts from. The paper does not ask.
    fn bound(&self, lock: &Path) -> Option<ClassName> {
        if self.knows == Knows::Monitors {
            return None;
        }
        let value = match lock.root {
            Root::This => return Some(self.body.method.class),
            Root::Value(value) => value,
            _ => return None,
        };
        match self.body.instruction(value).value_type {
            ValueType::Reference(class) => Some(class),
            _ => None,
        }
    }

    fn argument(&self, operand: Value, at: Value) -> Argument {
        match (self.body.instruction(operand).value_type, self.body.op(operand)) {
            (_, Op::Constant(Constant::Int(index))) => Argument::Position(Step::Constant(*index)),
            (ValueType::Reference(class), _) => {
                let known = self.narrowing.known(operand, at);
                let is_narrower = |known: &ClassName| self.program.is_subtype(*known, class);
                let class = known.exactly.or(known.is).filter(is_narrower).unwrap_or(class);
                Argument::Object(settle(self.program, self.paths.of(operand, at)), Some(class))
            }
            (ValueType::Int, _) => Argument::Position(Step::Element(operand)),
            _ => Argument::Object(Path::root(Root::Unknown), None),
        }
    }
}

/// The registers that a lock or argument depends on: assignments of others are left out.
fn used(skeleton: &Skeleton) -> FxHashSet<Value> {
    let mut used: FxHashSet<Value> = FxHashSet::default();
    let mut add = |path: &Path| {
        if let Root::Value(value) = path.root {
            used.insert(value);
        }
        for step in &path.steps {
            if let Step::Element(value) = step {
                used.insert(*value);
            }
        }
    };
    skeleton.sections.iter().for_each(|section| add(&section.lock));
    let mut positions = Vec::new();
    for call in &skeleton.calls {
        let captured = call.functions.iter().flat_map(|function| &function.captured);
        for argument in call.arguments.iter().chain(captured) {
            match argument {
                Argument::Object(path, _) => add(path),
                Argument::Position(Step::Element(value)) => positions.push(*value),
                Argument::Position(_) => {}
            }
        }
    }
    used.extend(positions);
    used
}
