//! A body as text, for people.

use std::fmt::Write;

use classfile::{Against, Arithmetic, CallKind, Condition, Constant, HandleKind};
use location::{ClassName, Names, Symbol};

use super::{Block, BlockId, Body, Op, Value, ValueType};

/// Writes instructions, blocks and registers of one body.
#[derive(Clone, Copy)]
pub struct Printer<'p> {
    body: &'p Body,
    names: &'p Names,
}

impl<'p> Printer<'p> {
    pub fn new(body: &'p Body, names: &'p Names) -> Printer<'p> {
        Printer { body, names }
    }

    /// `v7`, or with the source's name `v7.point`.
    pub fn value(&self, value: Value) -> String {
        if self.body.this() == Some(value) {
            return "this".to_owned();
        }
        match self.body.name(value) {
            Some(name) => format!("v{}.{}", value.0, self.names.text(name)),
            None => format!("v{}", value.0),
        }
    }

    pub fn block_head(&self, id: BlockId, block: &Block) -> String {
        let mut head = format!("b{} @{}", id.0, block.pc);
        for (label, targets) in [("->", &block.successors), ("throws to", &block.handlers)] {
            if !targets.is_empty() {
                let list: Vec<String> = targets.iter().map(|target| format!("b{}", target.0)).collect();
                let _ = write!(head, " {label} {}", list.join(", "));
            }
        }
        head
    }

    pub fn instruction(&self, value: Value) -> String {
        let instruction = self.body.instruction(value);
        let text = self.op(&instruction.op);
        match instruction.value_type {
            ValueType::Void => text,
            value_type => format!("{} = {text}: {}", self.value(value), self.value_type(value_type)),
        }
    }

    fn value_type(&self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Void => "void".to_owned(),
            ValueType::Int => "int".to_owned(),
            ValueType::Long => "long".to_owned(),
            ValueType::Float => "float".to_owned(),
            ValueType::Double => "double".to_owned(),
            ValueType::Reference(class) => self.class(class),
            ValueType::Null => "null".to_owned(),
            ValueType::Address => "address".to_owned(),
        }
    }

    fn class(&self, class: ClassName) -> String {
        self.names.readable_class(class)
    }

    fn text(&self, symbol: Symbol) -> &str {
        self.names.text(symbol)
    }

    fn list(&self, values: &[Value]) -> String {
        values.iter().map(|value| self.value(*value)).collect::<Vec<_>>().join(", ")
    }

    fn op(&self, op: &Op) -> String {
        let value = |operand: Value| self.value(operand);
        match *op {
            Op::Parameter(position) => format!("parameter {position}"),
            Op::Constant(constant) => self.constant(constant),
            Op::Phi(operands) => format!("phi({})", self.list(self.body.operands(operands))),
            Op::Caught => "caught".to_owned(),
            Op::GetField { base, field } => format!("{}.{}", value(base), self.text(field.name)),
            Op::PutField { base, field, value: stored } => {
                format!("{}.{} := {}", value(base), self.text(field.name), value(stored))
            }
            Op::GetStatic(field) => self.names.readable_field(field),
            Op::PutStatic { field, value: stored } => {
                format!("{} := {}", self.names.readable_field(field), value(stored))
            }
            Op::ArrayLoad { array, index, .. } => format!("{}[{}]", value(array), value(index)),
            Op::ArrayStore { array, index, value: stored, .. } => {
                format!("{}[{}] := {}", value(array), value(index), value(stored))
            }
            Op::ArrayLength(array) => format!("{}.length", value(array)),
            Op::New(class) => format!("new {}", self.class(class)),
            Op::NewArray { class, lengths } => {
                format!("new {} [{}]", self.class(class), self.list(self.body.operands(lengths)))
            }
            Op::Negate(operand) => format!("-{}", value(operand)),
            Op::Arithmetic(operation, left, right) => {
                format!("{} {} {}", value(left), arithmetic(operation), value(right))
            }
            Op::Convert(operand) => format!("convert {}", value(operand)),
            Op::Compare(left, right) => format!("compare {}, {}", value(left), value(right)),
            Op::Cast(operand, class) => format!("({}) {}", self.class(class), value(operand)),
            Op::InstanceOf(operand, class) => format!("{} instanceof {}", value(operand), self.class(class)),
            Op::Call { kind, method, arguments } => {
                let arguments = self.body.operands(arguments);
                let word = match kind {
                    CallKind::Virtual | CallKind::Interface => "call",
                    CallKind::Special => "call exactly",
                    CallKind::Static => "call static",
                };
                format!("{word} {}({})", self.names.readable_method(method), self.list(arguments))
            }
            Op::CallDynamic { dynamic, arguments } => {
                let dynamic = self.body.dynamic(dynamic);
                let arguments = self.list(self.body.operands(arguments));
                match dynamic.lambda {
                    Some(handle) => {
                        let made = if handle.kind == HandleKind::NewInvokeSpecial { "constructor" } else { "lambda" };
                        format!("{made} {}({arguments})", self.names.readable_method(handle.member))
                    }
                    None => format!("dynamic {}({arguments})", self.text(dynamic.name)),
                }
            }
            Op::MonitorEnter(lock) => format!("enter {}", value(lock)),
            Op::MonitorExit(lock) => format!("exit {}", value(lock)),
            Op::Branch { condition, against, left, right } => {
                let right = match (against, right) {
                    (Against::Null, _) => "null".to_owned(),
                    (_, Some(right)) => value(right),
                    (_, None) => "0".to_owned(),
                };
                format!("if {} {} {right}", value(left), comparison(condition))
            }
            Op::Switch { value: operand, keys } => {
                let keys: Vec<String> = self.body.switch_keys(keys).iter().map(i32::to_string).collect();
                format!("switch {} [{}, default]", value(operand), keys.join(", "))
            }
            Op::Return(Some(result)) => format!("return {}", value(result)),
            Op::Return(None) => "return".to_owned(),
            Op::Throw(exception) => format!("throw {}", value(exception)),
            Op::Address => "return address".to_owned(),
        }
    }

    fn constant(&self, constant: Constant) -> String {
        match constant {
            Constant::Null => "null".to_owned(),
            Constant::Int(value) => value.to_string(),
            Constant::Long(value) => format!("{value}L"),
            Constant::Float(bits) => format!("{}f", f32::from_bits(bits)),
            Constant::Double(bits) => format!("{}", f64::from_bits(bits)),
            Constant::String(text) => format!("{:?}", self.text(text)),
            Constant::Class(class) => format!("{}.class", self.class(class)),
            Constant::MethodType(descriptor) => format!("method type {}", self.text(descriptor)),
            Constant::Handle(handle) => format!("method handle {}", self.names.readable_method(handle.member)),
            Constant::Dynamic { descriptor } => format!("dynamic constant {}", self.text(descriptor)),
        }
    }
}

fn arithmetic(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::Remainder => "%",
        Arithmetic::ShiftLeft => "<<",
        Arithmetic::ShiftRight => ">>",
        Arithmetic::ShiftRightUnsigned => ">>>",
        Arithmetic::And => "&",
        Arithmetic::Or => "|",
        Arithmetic::Xor => "^",
    }
}

fn comparison(condition: Condition) -> &'static str {
    match condition {
        Condition::Equal => "==",
        Condition::NotEqual => "!=",
        Condition::Less => "<",
        Condition::GreaterOrEqual => ">=",
        Condition::Greater => ">",
        Condition::LessOrEqual => "<=",
    }
}
