//! Runs bytecode on a symbolic stack and writes down what is left: instructions over registers.

use std::ops::Range;

use classfile::{ArrayKind, CallKind, Code, Constant, Error, Kind, Operation, parse_field, parse_method, split_method};
use location::{ClassName, Names, Symbol};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::build::Source;
use super::state::State;
use super::{Block, Body, Dynamic, Instruction, Op, Operands, Value, ValueType};

pub(super) struct Translator<'t> {
    pub(super) code: &'t Code,
    source: Source<'t>,
    names: &'t Names,
    pub(super) object: ClassName,
    instructions: Vec<Instruction>,
    operands: Vec<Value>,
    dynamics: Vec<Dynamic>,
    switches: Vec<Vec<i32>>,
    value_names: Vec<Option<Symbol>>,
    /// Phis that were loaded from a local, and where.
    loaded_phis: Vec<(Value, u32)>,
}

impl<'t> Translator<'t> {
    pub(super) fn new(source: Source<'t>, code: &'t Code, names: &'t Names) -> Translator<'t> {
        let capacity = code.instructions.len();
        Translator {
            code,
            source,
            names,
            object: names.class("java/lang/Object"),
            instructions: Vec::with_capacity(capacity),
            operands: Vec::with_capacity(capacity),
            dynamics: Vec::new(),
            switches: Vec::new(),
            value_names: Vec::with_capacity(capacity),
            loaded_phis: Vec::new(),
        }
    }

    pub(super) fn into_body(self, blocks: Vec<Block>) -> Body {
        Body {
            method: self.source.method,
            access: self.source.access,
            file: self.source.file,
            blocks,
            instructions: self.instructions,
            operands: self.operands,
            dynamics: self.dynamics,
            switches: self.switches,
            lines: self.code.lines.clone(),
            names: self.value_names,
        }
    }

    /// Number of the instruction that comes next.
    pub(super) fn next(&self) -> u32 {
        self.instructions.len() as u32
    }

    pub(super) fn type_of(&self, value: Value) -> ValueType {
        self.instructions[value.index()].value_type
    }

    fn emit(&mut self, op: Op, pc: u32, value_type: ValueType) -> Value {
        let value = Value(self.next());
        self.instructions.push(Instruction { op, pc, value_type });
        self.value_names.push(None);
        value
    }

    fn list(&mut self, values: &[Value]) -> Operands {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(values);
        Operands { start, length: values.len() as u32 }
    }

    /// The state at the method's first instruction.
    pub(super) fn parameters(&mut self) -> Result<State, Error> {
        let descriptor = parse_method(self.names.text(self.source.method.descriptor), self.names)
            .ok_or(Error::BadCode { pc: 0, reason: "malformed descriptor" })?;
        let mut state = State { locals: smallvec![None; usize::from(self.code.max_locals)], stack: SmallVec::new() };
        let mut types = Vec::new();
        if !self.source.access.is_static() {
            types.push(ValueType::Reference(self.source.method.class));
        }
        types.extend(descriptor.parameters.into_iter().map(ValueType::of));
        let mut slot = 0u16;
        for (position, value_type) in types.into_iter().enumerate() {
            let value = self.emit(Op::Parameter(position as u16), 0, value_type);
            state.store(slot, value, 0)?;
            self.name(value, slot, 0);
            slot += if value_type.is_wide() { 2 } else { 1 };
        }
        Ok(state)
    }

    pub(super) fn phi(&mut self, pc: u32, value_type: ValueType) -> Value {
        let none = self.list(&[]);
        self.emit(Op::Phi(none), pc, value_type)
    }

    pub(super) fn set_operands(&mut self, phi: Value, operands: &[Value]) {
        self.instructions[phi.index()].op = Op::Phi(self.list(operands));
    }

    pub(super) fn caught(&mut self, pc: u32) -> Value {
        let throwable = self.names.class("java/lang/Throwable");
        let catches = self.code.handlers.iter().find(|handler| handler.handler == pc);
        let class = catches.and_then(|handler| handler.catches).unwrap_or(throwable);
        self.emit(Op::Caught, pc, ValueType::Reference(class))
    }

    /// Gives the value the name that the source has for the local from `pc` on.
    fn name(&mut self, value: Value, slot: u16, pc: u32) {
        if self.value_names[value.index()].is_none() {
            let named =
                self.code.locals.iter().find(|local| local.slot == slot && (local.start..local.end).contains(&pc));
            self.value_names[value.index()] = named.map(|local| local.name);
        }
    }

    pub(super) fn run(&mut self, range: Range<usize>, state: &mut State) -> Result<(), Error> {
        let code = self.code;
        for index in range {
            let after = code.instructions.get(index + 1).map_or(u32::MAX, |next| next.pc);
            let instruction = &code.instructions[index];
            self.step(instruction.pc, after, &instruction.operation, state)?;
        }
        Ok(())
    }

    fn step(&mut self, pc: u32, after: u32, operation: &Operation, state: &mut State) -> Result<(), Error> {
        match operation {
            Operation::Nop | Operation::Goto(_) | Operation::ReturnSubroutine(_) => {}
            Operation::Constant(constant) => {
                let value_type = self.constant_type(*constant);
                let value = self.emit(Op::Constant(*constant), pc, value_type);
                state.push(value, pc)?;
            }
            Operation::Load(_, slot) => {
                let value = self.load(state, *slot, pc)?;
                self.name(value, *slot, pc);
                state.push(value, pc)?;
            }
            Operation::Store(_, slot) => {
                let value = state.pop(pc)?;
                state.store(*slot, value, pc)?;
                self.name(value, *slot, after);
            }
            Operation::Increment(slot, by) => {
                let old = self.load(state, *slot, pc)?;
                let step = self.emit(Op::Constant(Constant::Int((*by).into())), pc, ValueType::Int);
                let value = self.emit(Op::Arithmetic(classfile::Arithmetic::Add, old, step), pc, ValueType::Int);
                state.store(*slot, value, pc)?;
                self.name(value, *slot, after);
            }
            Operation::Stack(operation) => {
                let instructions = &self.instructions;
                state.shuffle(*operation, pc, |value| instructions[value.index()].value_type)?;
            }
            Operation::ArrayLoad(kind) => {
                let index = state.pop(pc)?;
                let array = state.pop(pc)?;
                let value_type = self.element_type(array, *kind);
                let value = self.emit(Op::ArrayLoad { array, index, kind: *kind }, pc, value_type);
                state.push(value, pc)?;
            }
            Operation::ArrayStore(kind) => {
                let value = state.pop(pc)?;
                let index = state.pop(pc)?;
                let array = state.pop(pc)?;
                self.emit(Op::ArrayStore { array, index, value, kind: *kind }, pc, ValueType::Void);
            }
            Operation::ArrayLength => {
                let array = state.pop(pc)?;
                let value = self.emit(Op::ArrayLength(array), pc, ValueType::Int);
                state.push(value, pc)?;
            }
            Operation::Negate(kind) => {
                let operand = state.pop(pc)?;
                let value = self.emit(Op::Negate(operand), pc, self.of_kind(*kind));
                state.push(value, pc)?;
            }
            Operation::Arithmetic(operation, kind) => {
                let right = state.pop(pc)?;
                let left = state.pop(pc)?;
                let value = self.emit(Op::Arithmetic(*operation, left, right), pc, self.of_kind(*kind));
                state.push(value, pc)?;
            }
            Operation::Convert(_, to) => {
                let operand = state.pop(pc)?;
                let value = self.emit(Op::Convert(operand), pc, self.of_kind(*to));
                state.push(value, pc)?;
            }
            Operation::Compare(_) => {
                let right = state.pop(pc)?;
                let left = state.pop(pc)?;
                let value = self.emit(Op::Compare(left, right), pc, ValueType::Int);
                state.push(value, pc)?;
            }
            Operation::GetField(field) => {
                let base = state.pop(pc)?;
                let value_type = self.field_type(field.descriptor, pc)?;
                let value = self.emit(Op::GetField { base, field: *field }, pc, value_type);
                state.push(value, pc)?;
            }
            Operation::PutField(field) => {
                let value = state.pop(pc)?;
                let base = state.pop(pc)?;
                self.emit(Op::PutField { base, field: *field, value }, pc, ValueType::Void);
            }
            Operation::GetStatic(field) => {
                let value_type = self.field_type(field.descriptor, pc)?;
                let value = self.emit(Op::GetStatic(*field), pc, value_type);
                state.push(value, pc)?;
            }
            Operation::PutStatic(field) => {
                let value = state.pop(pc)?;
                self.emit(Op::PutStatic { field: *field, value }, pc, ValueType::Void);
            }
            Operation::Call(kind, method) => {
                let receiver = usize::from(*kind != CallKind::Static);
                let (arguments, result) = self.arguments(method.descriptor, receiver, state, pc)?;
                let value = self.emit(Op::Call { kind: *kind, method: *method, arguments }, pc, result);
                if result != ValueType::Void {
                    state.push(value, pc)?;
                }
            }
            Operation::CallDynamic(call) => {
                let (arguments, result) = self.arguments(call.descriptor, 0, state, pc)?;
                let dynamic = self.dynamics.len() as u32;
                let lambda = self.lambda(call.bootstrap);
                self.dynamics.push(Dynamic { name: call.name, descriptor: call.descriptor, lambda });
                let value = self.emit(Op::CallDynamic { dynamic, arguments }, pc, result);
                if result != ValueType::Void {
                    state.push(value, pc)?;
                }
            }
            Operation::New(class) => {
                let value = self.emit(Op::New(*class), pc, ValueType::Reference(*class));
                state.push(value, pc)?;
            }
            Operation::NewArray(class, dimensions) => {
                let lengths = self.pop_list(usize::from(*dimensions), state, pc)?;
                let value = self.emit(Op::NewArray { class: *class, lengths }, pc, ValueType::Reference(*class));
                state.push(value, pc)?;
            }
            Operation::CheckCast(class) => {
                let operand = state.pop(pc)?;
                let value = self.emit(Op::Cast(operand, *class), pc, ValueType::Reference(*class));
                state.push(value, pc)?;
            }
            Operation::InstanceOf(class) => {
                let operand = state.pop(pc)?;
                let value = self.emit(Op::InstanceOf(operand, *class), pc, ValueType::Int);
                state.push(value, pc)?;
            }
            Operation::MonitorEnter => {
                let lock = state.pop(pc)?;
                self.emit(Op::MonitorEnter(lock), pc, ValueType::Void);
            }
            Operation::MonitorExit => {
                let lock = state.pop(pc)?;
                self.emit(Op::MonitorExit(lock), pc, ValueType::Void);
            }
            Operation::Branch { condition, against, .. } => {
                let right = match against {
                    classfile::Against::Int | classfile::Against::Reference => Some(state.pop(pc)?),
                    classfile::Against::Zero | classfile::Against::Null => None,
                };
                let left = state.pop(pc)?;
                let op = Op::Branch { condition: *condition, against: *against, left, right };
                self.emit(op, pc, ValueType::Void);
            }
            Operation::Switch(switch) => {
                let value = state.pop(pc)?;
                let keys = self.switches.len() as u32;
                self.switches.push(switch.cases.iter().map(|(key, _)| *key).collect());
                self.emit(Op::Switch { value, keys }, pc, ValueType::Void);
            }
            Operation::Return(kind) => {
                let value = match kind {
                    Some(_) => Some(state.pop(pc)?),
                    None => None,
                };
                self.emit(Op::Return(value), pc, ValueType::Void);
            }
            Operation::Throw => {
                let exception = state.pop(pc)?;
                self.emit(Op::Throw(exception), pc, ValueType::Void);
            }
            Operation::JumpSubroutine(_) => {
                let address = self.emit(Op::Address, pc, ValueType::Address);
                state.push(address, pc)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &State, slot: u16, pc: u32) -> Result<Value, Error> {
        let value = state.load(slot, pc)?;
        if let Op::Phi(_) = self.instructions[value.index()].op {
            self.loaded_phis.push((value, pc));
        }
        Ok(value)
    }

    /// Refuses code that loads a local which some path leaves unset, as `unset` tells of phis. No verifier lets it pass.
    pub(super) fn check_loads(&self, mut unset: FxHashSet<Value>) -> Result<(), Error> {
        let phis = || {
            (0..self.next()).map(Value).filter_map(|value| match self.instructions[value.index()].op {
                Op::Phi(operands) => Some((value, operands)),
                _ => None,
            })
        };
        // A phi of a phi that may be unset may be unset.
        let mut known = 0;
        while known < unset.len() {
            known = unset.len();
            for (phi, operands) in phis() {
                let range = operands.start as usize..(operands.start + operands.length) as usize;
                if self.operands[range].iter().any(|operand| unset.contains(operand)) {
                    unset.insert(phi);
                }
            }
        }
        match self.loaded_phis.iter().find(|(phi, _)| unset.contains(phi)) {
            Some((_, pc)) => Err(Error::BadCode { pc: *pc, reason: "a local is read that was not always written" }),
            None => Ok(()),
        }
    }

    fn pop_list(&mut self, count: usize, state: &mut State, pc: u32) -> Result<Operands, Error> {
        let Some(first) = state.stack.len().checked_sub(count) else {
            return Err(Error::BadCode { pc, reason: "the operand stack is empty" });
        };
        let operands = self.list(&state.stack[first..]);
        state.stack.truncate(first);
        Ok(operands)
    }

    fn arguments(
        &mut self,
        descriptor: Symbol,
        receiver: usize,
        state: &mut State,
        pc: u32,
    ) -> Result<(Operands, ValueType), Error> {
        let malformed = Error::BadCode { pc, reason: "malformed descriptor" };
        let Some((count, result)) = split_method(self.names.text(descriptor)) else { return Err(malformed) };
        let result = match result {
            "V" => ValueType::Void,
            other => ValueType::of(parse_field(other, self.names).ok_or(malformed)?),
        };
        Ok((self.pop_list(count + receiver, state, pc)?, result))
    }

    fn of_kind(&self, kind: Kind) -> ValueType {
        match kind {
            Kind::Int => ValueType::Int,
            Kind::Long => ValueType::Long,
            Kind::Float => ValueType::Float,
            Kind::Double => ValueType::Double,
            Kind::Reference => ValueType::Reference(self.object),
        }
    }

    fn field_type(&self, descriptor: Symbol, pc: u32) -> Result<ValueType, Error> {
        parse_field(self.names.text(descriptor), self.names)
            .map(ValueType::of)
            .ok_or(Error::BadCode { pc, reason: "malformed descriptor" })
    }

    fn element_type(&self, array: Value, kind: ArrayKind) -> ValueType {
        if kind != ArrayKind::Reference {
            return self.of_kind(kind.kind());
        }
        let element = match self.type_of(array) {
            ValueType::Reference(class) => self.names.text(class.0).strip_prefix('['),
            _ => None,
        };
        element
            .and_then(|element| parse_field(element, self.names))
            .map_or(ValueType::Reference(self.object), ValueType::of)
    }

    fn constant_type(&self, constant: Constant) -> ValueType {
        let class = |name| ValueType::Reference(self.names.class(name));
        match constant {
            Constant::Null => ValueType::Null,
            Constant::Int(_) => ValueType::Int,
            Constant::Long(_) => ValueType::Long,
            Constant::Float(_) => ValueType::Float,
            Constant::Double(_) => ValueType::Double,
            Constant::String(_) => class("java/lang/String"),
            Constant::Class(_) => class("java/lang/Class"),
            Constant::MethodType(_) => class("java/lang/invoke/MethodType"),
            Constant::Handle(_) => class("java/lang/invoke/MethodHandle"),
            Constant::Dynamic { descriptor } => {
                parse_field(self.names.text(descriptor), self.names).map_or(class("java/lang/Object"), ValueType::of)
            }
        }
    }

    /// The method behind a lambda or method reference, if the bootstrap method makes one.
    fn lambda(&self, bootstrap: u16) -> Option<classfile::MethodHandle> {
        self.source.bootstraps.get(usize::from(bootstrap))?.lambda(self.names)
    }
}
