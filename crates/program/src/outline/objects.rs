//! Which objects a register may be: followed back through casts, and through places where paths meet.

use classfile::Constant;
use location::ClassName;
use smallvec::SmallVec;

use super::EventId;
use super::flow::Places;
use crate::ir::{Op, Value, ValueType};

/// More objects than this are one that is unknown.
const MAX_OBJECTS: usize = 6;

/// Where an object comes from, as far as its method tells. Null is no object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    Parameter(u16),
    /// Made here, by the instruction with this number; an array by its descriptor.
    New {
        register: u32,
        class: ClassName,
    },
    /// What a read or a call yielded, or a lambda that was made.
    Event(EventId),
    /// Not an object but a number.
    Int(i32),
    Unknown,
}

/// All objects that a register may be, each once.
pub type Objects = SmallVec<[Object; 1]>;

/// The objects that a register may be.
pub(super) fn objects(places: &Places<'_>, value: Value) -> Objects {
    let mut found = Objects::new();
    let mut seen: SmallVec<[Value; 8]> = SmallVec::new();
    let mut pending: SmallVec<[Value; 8]> = smallvec::smallvec![value];
    while let Some(value) = pending.pop() {
        let value = places.body.without_casts(value);
        if seen.contains(&value) {
            continue;
        }
        seen.push(value);
        let object = match *places.body.op(value) {
            Op::Phi(operands) => {
                pending.extend(places.body.operands(operands).iter().copied());
                continue;
            }
            Op::Constant(Constant::Int(number)) => Object::Int(number),
            Op::Constant(_) => continue,
            Op::Parameter(position) if is_reference(places, value) => Object::Parameter(position),
            Op::New(class) => Object::New { register: value.index() as u32, class },
            Op::NewArray { .. } => match places.body.instruction(value).value_type {
                ValueType::Reference(class) => Object::New { register: value.index() as u32, class },
                _ => Object::Unknown,
            },
            _ if !is_reference(places, value) => continue,
            _ => places.event[value.index()].map_or(Object::Unknown, Object::Event),
        };
        if !found.contains(&object) {
            found.push(object);
        }
        if found.len() > MAX_OBJECTS || seen.len() > 8 * MAX_OBJECTS {
            return smallvec::smallvec![Object::Unknown];
        }
    }
    found
}

fn is_reference(places: &Places<'_>, value: Value) -> bool {
    matches!(places.body.instruction(value).value_type, ValueType::Reference(_))
}
