//! From the two hundred opcodes to [`Operation`].

use crate::constant::Pool;
use crate::edit::{op, padding};
use crate::instruction::{Against, Arithmetic, ArrayKind, Condition, DynamicCall, Kind, Operation, StackOp, Switch};
use crate::references::call_kind;
use crate::{Constant, Error};

use Kind::{Double, Float, Int, Long, Reference};

/// The kinds in the order of opcodes.
const KINDS: [Kind; 5] = [Int, Long, Float, Double, Reference];

const ARRAYS: [ArrayKind; 8] = [
    ArrayKind::Int,
    ArrayKind::Long,
    ArrayKind::Float,
    ArrayKind::Double,
    ArrayKind::Reference,
    ArrayKind::Byte,
    ArrayKind::Char,
    ArrayKind::Short,
];

const STACK: [StackOp; 9] = [
    StackOp::Pop,
    StackOp::Pop2,
    StackOp::Dup,
    StackOp::DupX1,
    StackOp::DupX2,
    StackOp::Dup2,
    StackOp::Dup2X1,
    StackOp::Dup2X2,
    StackOp::Swap,
];

const ARITHMETIC: [Arithmetic; 5] =
    [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Remainder];

const BITWISE: [Arithmetic; 6] = [
    Arithmetic::ShiftLeft,
    Arithmetic::ShiftRight,
    Arithmetic::ShiftRightUnsigned,
    Arithmetic::And,
    Arithmetic::Or,
    Arithmetic::Xor,
];

/// From and to, and narrowing.
const CONVERSIONS: [(Kind, Kind); 15] = [
    (Int, Long),
    (Int, Float),
    (Int, Double),
    (Long, Int),
    (Long, Float),
    (Long, Double),
    (Float, Int),
    (Float, Long),
    (Float, Double),
    (Double, Int),
    (Double, Long),
    (Double, Float),
    (Int, Int),
    (Int, Int),
    (Int, Int),
];

const CONDITIONS: [Condition; 6] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::GreaterOrEqual,
    Condition::Greater,
    Condition::LessOrEqual,
];

/// The operation of one whole instruction at an offset.
pub(crate) fn operation(pc: u32, bytes: &[u8], pool: &Pool<'_, '_>) -> Result<Operation, Error> {
    let bad = |reason| Error::BadCode { pc, reason };
    let cut = || bad("the last instruction is cut off");
    let byte = |at: usize| bytes.get(at).copied().ok_or_else(cut);
    let short = |at: usize| Ok::<u16, Error>(u16::from_be_bytes([byte(at)?, byte(at + 1)?]));
    let word =
        |at: usize| Ok::<i32, Error>(i32::from_be_bytes([byte(at)?, byte(at + 1)?, byte(at + 2)?, byte(at + 3)?]));
    let target = |offset: i32| pc.checked_add_signed(offset).ok_or(bad("a jump leaves the code"));
    let near = || target((short(1)? as i16).into());
    let branch = |condition: Condition, against: Against| {
        Ok::<Operation, Error>(Operation::Branch { condition, against, target: near()? })
    };
    let opcode = byte(0)?;
    // How far an opcode is from the first one of its group.
    let from = |first: u8| usize::from(opcode - first);
    Ok(match opcode {
        0 => Operation::Nop,
        1 => Operation::Constant(Constant::Null),
        2..=8 => Operation::Constant(Constant::Int(i32::from(opcode) - 3)),
        9 | 10 => Operation::Constant(Constant::Long(i64::from(opcode) - 9)),
        11..=13 => Operation::Constant(Constant::Float(f32::from(opcode - 11).to_bits())),
        14 | 15 => Operation::Constant(Constant::Double(f64::from(opcode - 14).to_bits())),
        op::BIPUSH => Operation::Constant(Constant::Int((byte(1)? as i8).into())),
        op::SIPUSH => Operation::Constant(Constant::Int((short(1)? as i16).into())),
        op::LDC => Operation::Constant(pool.constant(byte(1)?.into())?),
        19 | 20 => Operation::Constant(pool.constant(short(1)?)?),
        21..=25 => Operation::Load(KINDS[from(21)], byte(1)?.into()),
        26..=45 => Operation::Load(KINDS[from(26) / 4], from(26) as u16 % 4),
        46..=53 => Operation::ArrayLoad(ARRAYS[from(46)]),
        54..=58 => Operation::Store(KINDS[from(54)], byte(1)?.into()),
        59..=78 => Operation::Store(KINDS[from(59) / 4], from(59) as u16 % 4),
        79..=86 => Operation::ArrayStore(ARRAYS[from(79)]),
        87..=95 => Operation::Stack(STACK[from(87)]),
        96..=115 => Operation::Arithmetic(ARITHMETIC[from(96) / 4], KINDS[from(96) % 4]),
        116..=119 => Operation::Negate(KINDS[from(116)]),
        120..=131 => Operation::Arithmetic(BITWISE[from(120) / 2], KINDS[from(120) % 2]),
        132 => Operation::Increment(byte(1)?.into(), (byte(2)? as i8).into()),
        133..=147 => {
            let (before, after) = CONVERSIONS[from(133)];
            Operation::Convert(before, after)
        }
        148 => Operation::Compare(Long),
        149 | 150 => Operation::Compare(Float),
        151 | 152 => Operation::Compare(Double),
        153..=158 => branch(CONDITIONS[from(153)], Against::Zero)?,
        159..=164 => branch(CONDITIONS[from(159)], Against::Int)?,
        165 | 166 => branch(CONDITIONS[from(165)], Against::Reference)?,
        op::IFNULL | op::IFNONNULL => branch(CONDITIONS[from(op::IFNULL)], Against::Null)?,
        op::GOTO => Operation::Goto(near()?),
        op::GOTO_W => Operation::Goto(target(word(1)?)?),
        op::JSR => Operation::JumpSubroutine(near()?),
        op::JSR_W => Operation::JumpSubroutine(target(word(1)?)?),
        op::RET => Operation::ReturnSubroutine(byte(1)?.into()),
        op::TABLESWITCH => {
            let operands = 1 + padding(pc);
            let low = word(operands + 4)?;
            let mut cases = Vec::with_capacity(bytes.len() / 4);
            for (number, at) in (operands + 12..bytes.len()).step_by(4).enumerate() {
                cases.push((low.wrapping_add(number as i32), target(word(at)?)?));
            }
            Operation::Switch(Box::new(Switch { default: target(word(operands)?)?, cases }))
        }
        op::LOOKUPSWITCH => {
            let operands = 1 + padding(pc);
            let mut cases = Vec::with_capacity(bytes.len() / 8);
            for at in (operands + 8..bytes.len()).step_by(8) {
                cases.push((word(at)?, target(word(at + 4)?)?));
            }
            Operation::Switch(Box::new(Switch { default: target(word(operands)?)?, cases }))
        }
        172..=176 => Operation::Return(Some(KINDS[from(172)])),
        177 => Operation::Return(None),
        op::GETSTATIC => Operation::GetStatic(pool.field(short(1)?)?),
        op::PUTSTATIC => Operation::PutStatic(pool.field(short(1)?)?),
        op::GETFIELD => Operation::GetField(pool.field(short(1)?)?),
        op::PUTFIELD => Operation::PutField(pool.field(short(1)?)?),
        op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => Operation::Call(call_kind(opcode), pool.method(short(1)?)?),
        op::INVOKEDYNAMIC => {
            let (bootstrap, name, descriptor) = pool.call_site(short(1)?)?;
            Operation::CallDynamic(Box::new(DynamicCall { bootstrap, name, descriptor }))
        }
        op::NEW => Operation::New(pool.class(short(1)?)?),
        188 => {
            let array = primitive_array(byte(1)?).ok_or(bad("an array of an unknown kind is made"))?;
            Operation::NewArray(pool.names.class(array), 1)
        }
        189 => {
            let element = pool.class(short(1)?)?;
            let text = pool.names.text(element.0);
            let array = if text.starts_with('[') { format!("[{text}") } else { format!("[L{text};") };
            Operation::NewArray(pool.names.class(&array), 1)
        }
        197 => Operation::NewArray(pool.class(short(1)?)?, byte(3)?),
        190 => Operation::ArrayLength,
        op::ATHROW => Operation::Throw,
        192 => Operation::CheckCast(pool.class(short(1)?)?),
        193 => Operation::InstanceOf(pool.class(short(1)?)?),
        op::MONITORENTER => Operation::MonitorEnter,
        op::MONITOREXIT => Operation::MonitorExit,
        op::WIDE => match byte(1)? {
            wide @ 21..=25 => Operation::Load(KINDS[usize::from(wide - 21)], short(2)?),
            wide @ 54..=58 => Operation::Store(KINDS[usize::from(wide - 54)], short(2)?),
            132 => Operation::Increment(short(2)?, short(4)? as i16),
            op::RET => Operation::ReturnSubroutine(short(2)?),
            _ => return Err(bad("`wide` before an instruction that cannot be wide")),
        },
        _ => return Err(bad("unknown opcode")),
    })
}

fn primitive_array(element: u8) -> Option<&'static str> {
    Some(match element {
        4 => "[Z",
        5 => "[C",
        6 => "[F",
        7 => "[D",
        8 => "[B",
        9 => "[S",
        10 => "[I",
        11 => "[J",
        _ => return None,
    })
}
