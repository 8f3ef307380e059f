//! From the two hundred opcodes to [`Operation`].

use noak::reader::attributes::{ArrayType, RawInstruction as Raw};
use noak::reader::cpool;

use crate::constant::Pool;
use crate::instruction::{
    Against, Arithmetic, ArrayKind, CallKind, Condition, DynamicCall, Kind, Operation, StackOp, Switch,
};
use crate::{Constant, Error};

pub(crate) fn operation(pc: u32, raw: Raw<'_>, pool: &Pool<'_, '_>) -> Result<Operation, Error> {
    use Kind::{Double, Float, Int, Long, Reference};

    let int = |value: i32| Operation::Constant(Constant::Int(value));
    let target =
        |offset: i32| pc.checked_add_signed(offset).ok_or(Error::BadCode { pc, reason: "a jump leaves the code" });
    let branch = |condition: Condition, against: Against, offset: i16| {
        Ok::<Operation, Error>(Operation::Branch { condition, against, target: target(offset.into())? })
    };
    Ok(match raw {
        Raw::Nop => Operation::Nop,
        Raw::AConstNull => Operation::Constant(Constant::Null),
        Raw::IConstM1 => int(-1),
        Raw::IConst0 => int(0),
        Raw::IConst1 => int(1),
        Raw::IConst2 => int(2),
        Raw::IConst3 => int(3),
        Raw::IConst4 => int(4),
        Raw::IConst5 => int(5),
        Raw::LConst0 => Operation::Constant(Constant::Long(0)),
        Raw::LConst1 => Operation::Constant(Constant::Long(1)),
        Raw::FConst0 => Operation::Constant(Constant::Float(0.0f32.to_bits())),
        Raw::FConst1 => Operation::Constant(Constant::Float(1.0f32.to_bits())),
        Raw::FConst2 => Operation::Constant(Constant::Float(2.0f32.to_bits())),
        Raw::DConst0 => Operation::Constant(Constant::Double(0.0f64.to_bits())),
        Raw::DConst1 => Operation::Constant(Constant::Double(1.0f64.to_bits())),
        Raw::BIPush { value } => int(value.into()),
        Raw::SIPush { value } => int(value.into()),
        Raw::LdC { index } | Raw::LdCW { index } | Raw::LdC2W { index } => {
            Operation::Constant(pool.constant(cpool::Index::new(index.as_u16())?)?)
        }
        Raw::ILoad { index } => Operation::Load(Int, index.into()),
        Raw::ILoadW { index } => Operation::Load(Int, index),
        Raw::ILoad0 => Operation::Load(Int, 0),
        Raw::ILoad1 => Operation::Load(Int, 1),
        Raw::ILoad2 => Operation::Load(Int, 2),
        Raw::ILoad3 => Operation::Load(Int, 3),
        Raw::IStore { index } => Operation::Store(Int, index.into()),
        Raw::IStoreW { index } => Operation::Store(Int, index),
        Raw::IStore0 => Operation::Store(Int, 0),
        Raw::IStore1 => Operation::Store(Int, 1),
        Raw::IStore2 => Operation::Store(Int, 2),
        Raw::IStore3 => Operation::Store(Int, 3),
        Raw::LLoad { index } => Operation::Load(Long, index.into()),
        Raw::LLoadW { index } => Operation::Load(Long, index),
        Raw::LLoad0 => Operation::Load(Long, 0),
        Raw::LLoad1 => Operation::Load(Long, 1),
        Raw::LLoad2 => Operation::Load(Long, 2),
        Raw::LLoad3 => Operation::Load(Long, 3),
        Raw::LStore { index } => Operation::Store(Long, index.into()),
        Raw::LStoreW { index } => Operation::Store(Long, index),
        Raw::LStore0 => Operation::Store(Long, 0),
        Raw::LStore1 => Operation::Store(Long, 1),
        Raw::LStore2 => Operation::Store(Long, 2),
        Raw::LStore3 => Operation::Store(Long, 3),
        Raw::FLoad { index } => Operation::Load(Float, index.into()),
        Raw::FLoadW { index } => Operation::Load(Float, index),
        Raw::FLoad0 => Operation::Load(Float, 0),
        Raw::FLoad1 => Operation::Load(Float, 1),
        Raw::FLoad2 => Operation::Load(Float, 2),
        Raw::FLoad3 => Operation::Load(Float, 3),
        Raw::FStore { index } => Operation::Store(Float, index.into()),
        Raw::FStoreW { index } => Operation::Store(Float, index),
        Raw::FStore0 => Operation::Store(Float, 0),
        Raw::FStore1 => Operation::Store(Float, 1),
        Raw::FStore2 => Operation::Store(Float, 2),
        Raw::FStore3 => Operation::Store(Float, 3),
        Raw::DLoad { index } => Operation::Load(Double, index.into()),
        Raw::DLoadW { index } => Operation::Load(Double, index),
        Raw::DLoad0 => Operation::Load(Double, 0),
        Raw::DLoad1 => Operation::Load(Double, 1),
        Raw::DLoad2 => Operation::Load(Double, 2),
        Raw::DLoad3 => Operation::Load(Double, 3),
        Raw::DStore { index } => Operation::Store(Double, index.into()),
        Raw::DStoreW { index } => Operation::Store(Double, index),
        Raw::DStore0 => Operation::Store(Double, 0),
        Raw::DStore1 => Operation::Store(Double, 1),
        Raw::DStore2 => Operation::Store(Double, 2),
        Raw::DStore3 => Operation::Store(Double, 3),
        Raw::ALoad { index } => Operation::Load(Reference, index.into()),
        Raw::ALoadW { index } => Operation::Load(Reference, index),
        Raw::ALoad0 => Operation::Load(Reference, 0),
        Raw::ALoad1 => Operation::Load(Reference, 1),
        Raw::ALoad2 => Operation::Load(Reference, 2),
        Raw::ALoad3 => Operation::Load(Reference, 3),
        Raw::AStore { index } => Operation::Store(Reference, index.into()),
        Raw::AStoreW { index } => Operation::Store(Reference, index),
        Raw::AStore0 => Operation::Store(Reference, 0),
        Raw::AStore1 => Operation::Store(Reference, 1),
        Raw::AStore2 => Operation::Store(Reference, 2),
        Raw::AStore3 => Operation::Store(Reference, 3),
        Raw::IInc { index, value } => Operation::Increment(index.into(), value.into()),
        Raw::IIncW { index, value } => Operation::Increment(index, value),
        Raw::BALoad => Operation::ArrayLoad(ArrayKind::Byte),
        Raw::BAStore => Operation::ArrayStore(ArrayKind::Byte),
        Raw::CALoad => Operation::ArrayLoad(ArrayKind::Char),
        Raw::CAStore => Operation::ArrayStore(ArrayKind::Char),
        Raw::SALoad => Operation::ArrayLoad(ArrayKind::Short),
        Raw::SAStore => Operation::ArrayStore(ArrayKind::Short),
        Raw::IALoad => Operation::ArrayLoad(ArrayKind::Int),
        Raw::IAStore => Operation::ArrayStore(ArrayKind::Int),
        Raw::LALoad => Operation::ArrayLoad(ArrayKind::Long),
        Raw::LAStore => Operation::ArrayStore(ArrayKind::Long),
        Raw::FALoad => Operation::ArrayLoad(ArrayKind::Float),
        Raw::FAStore => Operation::ArrayStore(ArrayKind::Float),
        Raw::DALoad => Operation::ArrayLoad(ArrayKind::Double),
        Raw::DAStore => Operation::ArrayStore(ArrayKind::Double),
        Raw::AALoad => Operation::ArrayLoad(ArrayKind::Reference),
        Raw::AAStore => Operation::ArrayStore(ArrayKind::Reference),
        Raw::ArrayLength => Operation::ArrayLength,
        Raw::Pop => Operation::Stack(StackOp::Pop),
        Raw::Pop2 => Operation::Stack(StackOp::Pop2),
        Raw::Dup => Operation::Stack(StackOp::Dup),
        Raw::DupX1 => Operation::Stack(StackOp::DupX1),
        Raw::DupX2 => Operation::Stack(StackOp::DupX2),
        Raw::Dup2 => Operation::Stack(StackOp::Dup2),
        Raw::Dup2X1 => Operation::Stack(StackOp::Dup2X1),
        Raw::Dup2X2 => Operation::Stack(StackOp::Dup2X2),
        Raw::Swap => Operation::Stack(StackOp::Swap),
        Raw::INeg => Operation::Negate(Int),
        Raw::IAdd => Operation::Arithmetic(Arithmetic::Add, Int),
        Raw::ISub => Operation::Arithmetic(Arithmetic::Subtract, Int),
        Raw::IMul => Operation::Arithmetic(Arithmetic::Multiply, Int),
        Raw::IDiv => Operation::Arithmetic(Arithmetic::Divide, Int),
        Raw::IRem => Operation::Arithmetic(Arithmetic::Remainder, Int),
        Raw::LNeg => Operation::Negate(Long),
        Raw::LAdd => Operation::Arithmetic(Arithmetic::Add, Long),
        Raw::LSub => Operation::Arithmetic(Arithmetic::Subtract, Long),
        Raw::LMul => Operation::Arithmetic(Arithmetic::Multiply, Long),
        Raw::LDiv => Operation::Arithmetic(Arithmetic::Divide, Long),
        Raw::LRem => Operation::Arithmetic(Arithmetic::Remainder, Long),
        Raw::FNeg => Operation::Negate(Float),
        Raw::FAdd => Operation::Arithmetic(Arithmetic::Add, Float),
        Raw::FSub => Operation::Arithmetic(Arithmetic::Subtract, Float),
        Raw::FMul => Operation::Arithmetic(Arithmetic::Multiply, Float),
        Raw::FDiv => Operation::Arithmetic(Arithmetic::Divide, Float),
        Raw::FRem => Operation::Arithmetic(Arithmetic::Remainder, Float),
        Raw::DNeg => Operation::Negate(Double),
        Raw::DAdd => Operation::Arithmetic(Arithmetic::Add, Double),
        Raw::DSub => Operation::Arithmetic(Arithmetic::Subtract, Double),
        Raw::DMul => Operation::Arithmetic(Arithmetic::Multiply, Double),
        Raw::DDiv => Operation::Arithmetic(Arithmetic::Divide, Double),
        Raw::DRem => Operation::Arithmetic(Arithmetic::Remainder, Double),
        Raw::IShL => Operation::Arithmetic(Arithmetic::ShiftLeft, Int),
        Raw::IShR => Operation::Arithmetic(Arithmetic::ShiftRight, Int),
        Raw::IUShR => Operation::Arithmetic(Arithmetic::ShiftRightUnsigned, Int),
        Raw::IAnd => Operation::Arithmetic(Arithmetic::And, Int),
        Raw::IOr => Operation::Arithmetic(Arithmetic::Or, Int),
        Raw::IXor => Operation::Arithmetic(Arithmetic::Xor, Int),
        Raw::LShL => Operation::Arithmetic(Arithmetic::ShiftLeft, Long),
        Raw::LShR => Operation::Arithmetic(Arithmetic::ShiftRight, Long),
        Raw::LUShR => Operation::Arithmetic(Arithmetic::ShiftRightUnsigned, Long),
        Raw::LAnd => Operation::Arithmetic(Arithmetic::And, Long),
        Raw::LOr => Operation::Arithmetic(Arithmetic::Or, Long),
        Raw::LXor => Operation::Arithmetic(Arithmetic::Xor, Long),
        Raw::I2L => Operation::Convert(Int, Long),
        Raw::I2F => Operation::Convert(Int, Float),
        Raw::I2D => Operation::Convert(Int, Double),
        Raw::L2I => Operation::Convert(Long, Int),
        Raw::L2F => Operation::Convert(Long, Float),
        Raw::L2D => Operation::Convert(Long, Double),
        Raw::F2I => Operation::Convert(Float, Int),
        Raw::F2L => Operation::Convert(Float, Long),
        Raw::F2D => Operation::Convert(Float, Double),
        Raw::D2I => Operation::Convert(Double, Int),
        Raw::D2L => Operation::Convert(Double, Long),
        Raw::D2F => Operation::Convert(Double, Float),
        Raw::I2B | Raw::I2C | Raw::I2S => Operation::Convert(Int, Int),
        Raw::LCmp => Operation::Compare(Long),
        Raw::FCmpG | Raw::FCmpL => Operation::Compare(Float),
        Raw::DCmpG | Raw::DCmpL => Operation::Compare(Double),
        Raw::IfEq { offset } => branch(Condition::Equal, Against::Zero, offset)?,
        Raw::IfNe { offset } => branch(Condition::NotEqual, Against::Zero, offset)?,
        Raw::IfLt { offset } => branch(Condition::Less, Against::Zero, offset)?,
        Raw::IfGe { offset } => branch(Condition::GreaterOrEqual, Against::Zero, offset)?,
        Raw::IfGt { offset } => branch(Condition::Greater, Against::Zero, offset)?,
        Raw::IfLe { offset } => branch(Condition::LessOrEqual, Against::Zero, offset)?,
        Raw::IfICmpEq { offset } => branch(Condition::Equal, Against::Int, offset)?,
        Raw::IfICmpNe { offset } => branch(Condition::NotEqual, Against::Int, offset)?,
        Raw::IfICmpLt { offset } => branch(Condition::Less, Against::Int, offset)?,
        Raw::IfICmpGe { offset } => branch(Condition::GreaterOrEqual, Against::Int, offset)?,
        Raw::IfICmpGt { offset } => branch(Condition::Greater, Against::Int, offset)?,
        Raw::IfICmpLe { offset } => branch(Condition::LessOrEqual, Against::Int, offset)?,
        Raw::IfACmpEq { offset } => branch(Condition::Equal, Against::Reference, offset)?,
        Raw::IfACmpNe { offset } => branch(Condition::NotEqual, Against::Reference, offset)?,
        Raw::IfNull { offset } => branch(Condition::Equal, Against::Null, offset)?,
        Raw::IfNonNull { offset } => branch(Condition::NotEqual, Against::Null, offset)?,
        Raw::Goto { offset } => Operation::Goto(target(offset.into())?),
        Raw::GotoW { offset } => Operation::Goto(target(offset)?),
        Raw::JSr { offset } => Operation::JumpSubroutine(target(offset.into())?),
        Raw::JSrW { offset } => Operation::JumpSubroutine(target(offset)?),
        Raw::Ret { index } => Operation::ReturnSubroutine(index.into()),
        Raw::RetW { index } => Operation::ReturnSubroutine(index),
        Raw::TableSwitch(table) => {
            let mut cases = Vec::new();
            for pair in table.pairs() {
                cases.push((pair.key(), target(pair.offset())?));
            }
            Operation::Switch(Box::new(Switch { default: target(table.default_offset())?, cases }))
        }
        Raw::LookupSwitch(lookup) => {
            let mut cases = Vec::new();
            for pair in lookup.pairs() {
                cases.push((pair.key(), target(pair.offset())?));
            }
            Operation::Switch(Box::new(Switch { default: target(lookup.default_offset())?, cases }))
        }
        Raw::IReturn => Operation::Return(Some(Int)),
        Raw::LReturn => Operation::Return(Some(Long)),
        Raw::FReturn => Operation::Return(Some(Float)),
        Raw::DReturn => Operation::Return(Some(Double)),
        Raw::AReturn => Operation::Return(Some(Reference)),
        Raw::Return => Operation::Return(None),
        Raw::AThrow => Operation::Throw,
        Raw::GetField { index } => Operation::GetField(pool.field(cpool::Index::new(index.as_u16())?)?),
        Raw::PutField { index } => Operation::PutField(pool.field(cpool::Index::new(index.as_u16())?)?),
        Raw::GetStatic { index } => Operation::GetStatic(pool.field(cpool::Index::new(index.as_u16())?)?),
        Raw::PutStatic { index } => Operation::PutStatic(pool.field(cpool::Index::new(index.as_u16())?)?),
        Raw::InvokeVirtual { index } => call(CallKind::Virtual, index.as_u16(), pool)?,
        Raw::InvokeInterface { index, .. } => call(CallKind::Interface, index.as_u16(), pool)?,
        Raw::InvokeSpecial { index } => call(CallKind::Special, index.as_u16(), pool)?,
        Raw::InvokeStatic { index } => call(CallKind::Static, index.as_u16(), pool)?,
        Raw::InvokeDynamic { index } => {
            let index: cpool::Index<cpool::InvokeDynamic<'_>> = cpool::Index::new(index.as_u16())?;
            let entry = pool.raw.get(index)?;
            let (name, descriptor) = pool.name_and_type(entry.name_and_type)?;
            Operation::CallDynamic(Box::new(DynamicCall { bootstrap: entry.bootstrap_method_attr, name, descriptor }))
        }
        Raw::New { index } => Operation::New(pool.class(cpool::Index::new(index.as_u16())?)?),
        Raw::NewArray { atype } => Operation::NewArray(pool.names.class(primitive_array(atype)), 1),
        Raw::ANewArray { index } => {
            let element = pool.class(cpool::Index::new(index.as_u16())?)?;
            let text = pool.names.text(element.0);
            let array = if text.starts_with('[') { format!("[{text}") } else { format!("[L{text};") };
            Operation::NewArray(pool.names.class(&array), 1)
        }
        Raw::MultiANewArray { index, dimensions } => {
            Operation::NewArray(pool.class(cpool::Index::new(index.as_u16())?)?, dimensions)
        }
        Raw::CheckCast { index } => Operation::CheckCast(pool.class(cpool::Index::new(index.as_u16())?)?),
        Raw::InstanceOf { index } => Operation::InstanceOf(pool.class(cpool::Index::new(index.as_u16())?)?),
        Raw::MonitorEnter => Operation::MonitorEnter,
        Raw::MonitorExit => Operation::MonitorExit,
    })
}

fn call(kind: CallKind, index: u16, pool: &Pool<'_, '_>) -> Result<Operation, Error> {
    Ok(Operation::Call(kind, pool.method(cpool::Index::new(index)?)?))
}

fn primitive_array(element: ArrayType) -> &'static str {
    match element {
        ArrayType::Boolean => "[Z",
        ArrayType::Char => "[C",
        ArrayType::Float => "[F",
        ArrayType::Double => "[D",
        ArrayType::Byte => "[B",
        ArrayType::Short => "[S",
        ArrayType::Int => "[I",
        ArrayType::Long => "[J",
    }
}
