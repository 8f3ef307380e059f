//! Instructions, with the two hundred opcodes folded to what an analysis tells apart.

use location::{ClassName, FieldName, MethodName};

use crate::Constant;

/// One instruction at its offset.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub pc: u32,
    pub operation: Operation,
}

/// The computational kinds of the JVM's stack and locals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Int,
    Long,
    Float,
    Double,
    Reference,
}

impl Kind {
    /// Whether it takes two slots.
    pub fn is_wide(self) -> bool {
        matches!(self, Kind::Long | Kind::Double)
    }
}

/// What an array instruction moves. `Byte` stands for `boolean[]`, too: the instruction is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArrayKind {
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Reference,
}

impl ArrayKind {
    /// The kind of an element once it is on the stack.
    pub fn kind(self) -> Kind {
        match self {
            ArrayKind::Byte | ArrayKind::Char | ArrayKind::Short | ArrayKind::Int => Kind::Int,
            ArrayKind::Long => Kind::Long,
            ArrayKind::Float => Kind::Float,
            ArrayKind::Double => Kind::Double,
            ArrayKind::Reference => Kind::Reference,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StackOp {
    Pop,
    Pop2,
    Dup,
    DupX1,
    DupX2,
    Dup2,
    Dup2X1,
    Dup2X2,
    Swap,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    And,
    Or,
    Xor,
}

/// How a branch compares. `Null` and `NonNull` compare with `null`, the others with 0 or a second operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    GreaterOrEqual,
    Greater,
    LessOrEqual,
}

/// What a branch compares its first operand with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Against {
    Zero,
    Null,
    Int,
    Reference,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallKind {
    Virtual,
    Interface,
    Special,
    Static,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Nop,
    Constant(Constant),
    Load(Kind, u16),
    Store(Kind, u16),
    Increment(u16, i16),
    ArrayLoad(ArrayKind),
    ArrayStore(ArrayKind),
    ArrayLength,
    Stack(StackOp),
    Negate(Kind),
    Arithmetic(Arithmetic, Kind),
    /// From and to; narrowing to byte, char and short is `Int` to `Int`.
    Convert(Kind, Kind),
    /// `lcmp`, `fcmpl` and so on.
    Compare(Kind),
    GetField(FieldName),
    PutField(FieldName),
    GetStatic(FieldName),
    PutStatic(FieldName),
    Call(CallKind, MethodName),
    /// By number into the class's bootstrap methods, with name and descriptor.
    CallDynamic(Box<DynamicCall>),
    New(ClassName),
    /// The class of the array that is made, as a descriptor (`[I`, `[Ljava/lang/String;`), and how many lengths it pops.
    NewArray(ClassName, u8),
    CheckCast(ClassName),
    InstanceOf(ClassName),
    MonitorEnter,
    MonitorExit,
    Branch {
        condition: Condition,
        against: Against,
        target: u32,
    },
    Goto(u32),
    Switch(Box<Switch>),
    Return(Option<Kind>),
    Throw,
    JumpSubroutine(u32),
    ReturnSubroutine(u16),
}

#[derive(Clone, Debug)]
pub struct DynamicCall {
    pub bootstrap: u16,
    pub name: location::Symbol,
    pub descriptor: location::Symbol,
}

#[derive(Clone, Debug)]
pub struct Switch {
    pub default: u32,
    /// Key and target.
    pub cases: Vec<(i32, u32)>,
}
