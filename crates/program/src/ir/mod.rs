//! A method's code as an analysis wants it: a control-flow graph over typed registers, each assigned once.
//!
//! The operand stack is gone, and so are copies: a local variable that is stored and loaded again is the value that
//! was stored. Where paths with different values meet stands a [`Op::Phi`]. Every instruction is its own register.
//!
//! [`build`] makes a [`Body`] from decoded code, or says why it cannot.

mod blocks;
mod build;
mod liveness;
mod print;
mod simplify;
mod state;
mod translate;

use classfile::{Access, Kind, MethodHandle};
use location::{ClassName, FieldName, MethodName, Site, Symbol};
use smallvec::SmallVec;

pub use build::{Source, build};
// The words of instructions, which a body's operations are made of.
pub use classfile::{Against, Arithmetic, ArrayKind, CallKind, Condition, Constant};
pub use print::Printer;

/// A register: the number of the one instruction that sets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub(crate) u32);

impl Value {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A basic block, numbered in reverse postorder; the entry is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub(crate) u32);

impl BlockId {
    pub const ENTRY: BlockId = BlockId(0);

    pub fn from_index(index: usize) -> BlockId {
        BlockId(index as u32)
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The type of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueType {
    /// The instruction yields nothing.
    Void,
    Int,
    Long,
    Float,
    Double,
    /// A class by binary name, an array by descriptor; what the code promises, not what the object is.
    Reference(ClassName),
    Null,
    /// The return address of a subroutine of old class files.
    Address,
}

impl ValueType {
    pub fn of(kind: classfile::Type) -> ValueType {
        match kind {
            classfile::Type::Reference(class) => ValueType::Reference(class),
            primitive => match primitive.kind() {
                Kind::Long => ValueType::Long,
                Kind::Float => ValueType::Float,
                Kind::Double => ValueType::Double,
                Kind::Int | Kind::Reference => ValueType::Int,
            },
        }
    }

    pub(crate) fn is_wide(self) -> bool {
        matches!(self, ValueType::Long | ValueType::Double)
    }
}

/// A run of operands in [`Body::operands`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operands {
    start: u32,
    length: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Parameter by position; 0 is `this` in an instance method.
    Parameter(u16),
    Constant(Constant),
    /// One operand per predecessor of the block, in their order.
    Phi(Operands),
    /// The exception that brought control to a handler.
    Caught,
    GetField {
        base: Value,
        field: FieldName,
    },
    PutField {
        base: Value,
        field: FieldName,
        value: Value,
    },
    GetStatic(FieldName),
    PutStatic {
        field: FieldName,
        value: Value,
    },
    ArrayLoad {
        array: Value,
        index: Value,
        kind: ArrayKind,
    },
    ArrayStore {
        array: Value,
        index: Value,
        value: Value,
        kind: ArrayKind,
    },
    ArrayLength(Value),
    New(ClassName),
    NewArray {
        class: ClassName,
        lengths: Operands,
    },
    Negate(Value),
    Arithmetic(Arithmetic, Value, Value),
    Convert(Value),
    Compare(Value, Value),
    /// The same object under another type.
    Cast(Value, ClassName),
    InstanceOf(Value, ClassName),
    Call {
        kind: CallKind,
        method: MethodName,
        arguments: Operands,
    },
    /// `invokedynamic`; [`Body::dynamic`] has what it means.
    CallDynamic {
        dynamic: u32,
        arguments: Operands,
    },
    MonitorEnter(Value),
    MonitorExit(Value),
    /// To the block's first successor if the condition holds, else to the second.
    Branch {
        condition: Condition,
        against: Against,
        left: Value,
        right: Option<Value>,
    },
    /// To the successor with the same position as the key in [`Body::switch_keys`], the last being the default.
    Switch {
        value: Value,
        keys: u32,
    },
    Return(Option<Value>),
    Throw(Value),
    /// Return address of a subroutine.
    Address,
}

/// One instruction, which is also the register that it sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub op: Op,
    pub pc: u32,
    pub value_type: ValueType,
}

/// How control came from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predecessor {
    pub block: BlockId,
    /// By an exception inside the block, not from its end.
    pub exceptional: bool,
}

#[derive(Clone, Debug)]
pub struct Block {
    /// Offset of its first bytecode instruction.
    pub pc: u32,
    first: u32,
    end: u32,
    pub successors: SmallVec<[BlockId; 2]>,
    /// Blocks that may get control if an instruction in here throws.
    pub handlers: SmallVec<[BlockId; 2]>,
    pub predecessors: SmallVec<[Predecessor; 2]>,
}

/// What an `invokedynamic` stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dynamic {
    pub name: Symbol,
    pub descriptor: Symbol,
    /// The method behind a lambda or method reference; its first parameters are the captured arguments.
    pub lambda: Option<MethodHandle>,
}

/// A method's code.
#[derive(Clone, Debug)]
pub struct Body {
    pub method: MethodName,
    pub access: Access,
    pub file: Option<Symbol>,
    blocks: Vec<Block>,
    instructions: Vec<Instruction>,
    operands: Vec<Value>,
    dynamics: Vec<Dynamic>,
    switches: Vec<Vec<i32>>,
    lines: Vec<(u32, u32)>,
    /// The source's name of a register, where the class file tells.
    names: Vec<Option<Symbol>>,
}

impl Body {
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = (BlockId, &Block)> {
        self.blocks.iter().enumerate().map(|(index, block)| (BlockId(index as u32), block))
    }

    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    /// Gives fields other names.
    pub(crate) fn rename_fields(&mut self, mut renamed: impl FnMut(FieldName) -> FieldName) {
        for instruction in &mut self.instructions {
            if let Op::GetField { field, .. }
            | Op::PutField { field, .. }
            | Op::GetStatic(field)
            | Op::PutStatic { field, .. } = &mut instruction.op
            {
                *field = renamed(*field);
            }
        }
    }

    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub fn value_count(&self) -> usize {
        self.instructions.len()
    }

    /// The instructions of a block in order, phis first.
    pub fn instructions_of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = (Value, &Instruction)> {
        let block = &self.blocks[block.index()];
        (block.first..block.end).map(|index| (Value(index), &self.instructions[index as usize]))
    }

    /// All instructions, block by block.
    pub fn instructions(&self) -> impl Iterator<Item = (Value, &Instruction)> {
        self.instructions.iter().enumerate().map(|(index, instruction)| (Value(index as u32), instruction))
    }

    pub fn instruction(&self, value: Value) -> &Instruction {
        &self.instructions[value.index()]
    }

    pub fn op(&self, value: Value) -> &Op {
        &self.instructions[value.index()].op
    }

    pub fn operands(&self, operands: Operands) -> &[Value] {
        &self.operands[operands.start as usize..(operands.start + operands.length) as usize]
    }

    pub fn dynamic(&self, dynamic: u32) -> &Dynamic {
        &self.dynamics[dynamic as usize]
    }

    /// Keys of a switch, one for each successor but the last.
    pub fn switch_keys(&self, keys: u32) -> &[i32] {
        &self.switches[keys as usize]
    }

    /// The block that an instruction stands in.
    pub fn block_of(&self, value: Value) -> BlockId {
        BlockId(self.blocks.partition_point(|block| block.end <= value.0) as u32)
    }

    /// The last instruction of a block.
    pub fn terminator(&self, block: BlockId) -> Option<Value> {
        let block = &self.blocks[block.index()];
        (block.end > block.first).then(|| Value(block.end - 1))
    }

    /// The value without casts around it.
    pub fn without_casts(&self, mut value: Value) -> Value {
        while let Op::Cast(inner, _) = self.op(value) {
            value = *inner;
        }
        value
    }

    pub fn name(&self, value: Value) -> Option<Symbol> {
        self.names[value.index()]
    }

    pub fn is_static(&self) -> bool {
        self.access.is_static()
    }

    /// `this`, in an instance method.
    pub fn this(&self) -> Option<Value> {
        (!self.is_static()).then_some(Value(0))
    }

    pub fn line(&self, pc: u32) -> Option<u32> {
        let after = self.lines.partition_point(|(start, _)| *start <= pc);
        after.checked_sub(1).map(|index| self.lines[index].1)
    }

    pub fn site(&self, pc: u32) -> Site {
        Site { method: self.method, pc, file: self.file, line: self.line(pc) }
    }

    pub fn site_of(&self, value: Value) -> Site {
        self.site(self.instruction(value).pc)
    }

    /// Calls `visit` with each register that an instruction reads.
    pub fn for_each_operand(&self, op: &Op, mut visit: impl FnMut(Value)) {
        let mut op = *op;
        op.registers().into_iter().flatten().for_each(|value| visit(*value));
        if let Op::Phi(operands)
        | Op::NewArray { lengths: operands, .. }
        | Op::Call { arguments: operands, .. }
        | Op::CallDynamic { arguments: operands, .. } = op
        {
            self.operands(operands).iter().copied().for_each(visit);
        }
    }
}

impl Op {
    /// The registers that the instruction itself names; those in [`Operands`] are named by the body.
    fn registers(&mut self) -> [Option<&mut Value>; 3] {
        match self {
            Op::Parameter(_)
            | Op::Constant(_)
            | Op::Phi(_)
            | Op::Caught
            | Op::GetStatic(_)
            | Op::New(_)
            | Op::NewArray { .. }
            | Op::Call { .. }
            | Op::CallDynamic { .. }
            | Op::Address
            | Op::Return(None) => [None, None, None],
            Op::GetField { base: value, .. }
            | Op::PutStatic { value, .. }
            | Op::ArrayLength(value)
            | Op::Negate(value)
            | Op::Convert(value)
            | Op::Cast(value, _)
            | Op::InstanceOf(value, _)
            | Op::MonitorEnter(value)
            | Op::MonitorExit(value)
            | Op::Switch { value, .. }
            | Op::Return(Some(value))
            | Op::Throw(value) => [Some(value), None, None],
            Op::PutField { base, value, .. } => [Some(base), Some(value), None],
            Op::ArrayLoad { array, index, .. } => [Some(array), Some(index), None],
            Op::ArrayStore { array, index, value, .. } => [Some(array), Some(index), Some(value)],
            Op::Arithmetic(_, left, right) | Op::Compare(left, right) => [Some(left), Some(right), None],
            Op::Branch { left, right, .. } => [Some(left), right.as_mut(), None],
        }
    }
}

/// Whether an instruction can hand control to an exception handler.
///
/// `monitorexit` and returns count as unable to: they throw only where locking is not structured, and compilers cover
/// a `monitorexit` by its own handler, which would otherwise look like a second way out of the section.
pub fn can_throw(op: &Op) -> bool {
    match op {
        Op::GetField { .. }
        | Op::PutField { .. }
        | Op::ArrayLoad { .. }
        | Op::ArrayStore { .. }
        | Op::ArrayLength(_)
        | Op::NewArray { .. }
        | Op::Cast(..)
        | Op::Call { .. }
        | Op::CallDynamic { .. }
        | Op::MonitorEnter(_)
        | Op::Throw(_)
        | Op::New(_)
        | Op::GetStatic(_)
        | Op::PutStatic { .. } => true,
        Op::Arithmetic(operation, ..) => matches!(operation, Arithmetic::Divide | Arithmetic::Remainder),
        Op::Parameter(_)
        | Op::Constant(_)
        | Op::Phi(_)
        | Op::Caught
        | Op::Negate(_)
        | Op::Convert(_)
        | Op::Compare(..)
        | Op::InstanceOf(..)
        | Op::MonitorExit(_)
        | Op::Branch { .. }
        | Op::Switch { .. }
        | Op::Return(_)
        | Op::Address => false,
    }
}
