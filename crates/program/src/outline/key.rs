//! Keys: values that tell one element of an array or map from others.

use location::{FieldName, Symbol};
use smallvec::SmallVec;

use super::build::Building;
use super::flow::Places;
use super::{Argument, EventId, Name, NameStep, Start};
use crate::Program;
use crate::ir::{Op, Value};
use crate::keyed;
use crate::model::numbers::is_thread_name;

/// A value that tells one element from others: a position in an array, a key of a map.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub start: KeyStart,
    /// The name of a final field of what it starts with.
    pub field: Option<Symbol>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyStart {
    Parameter(u16),
    Result(EventId),
    /// The element at hand of a stream.
    Element(EventId),
    /// Some other register.
    Local(u32),
    /// The name of the thread that runs.
    Thread,
    /// The key of what is touched, whatever it is called.
    Touched,
}

impl Key {
    /// The key of whatever is touched.
    pub const TOUCHED: Key = Key { start: KeyStart::Touched, field: None };

    /// A value of this name as a key, if it stays the same.
    pub fn of(program: &Program, name: &Name) -> Option<Key> {
        let start = match name.start {
            Start::Parameter(position) => KeyStart::Parameter(position),
            Start::Result(event) => KeyStart::Result(event),
            Start::Element(event) => KeyStart::Element(event),
            Start::Local(register) => KeyStart::Local(register),
            Start::Static(field) if is_thread_name(&program.names, field) => KeyStart::Thread,
            Start::Static(_) | Start::Class(_) | Start::New(_) | Start::Unknown => return None,
        };
        let is_fixed = |field: FieldName| is_thread_name(&program.names, field) || program.is_final_field(field);
        match &*name.steps {
            [] => Some(Key { start, field: None }),
            [NameStep::Field(field)] if is_fixed(*field) => Some(Key { start, field: Some(field.name) }),
            _ => None,
        }
    }

    /// A field of a key.
    fn then(self, field: Option<Symbol>) -> Option<Key> {
        match (self.field, field) {
            (own, None) => Some(Key { field: own, ..self }),
            (None, field) => Some(Key { field, ..self }),
            (Some(_), Some(_)) => None,
        }
    }

    /// A callee's key from the caller's side: `given` tells what an argument is as a key.
    pub(crate) fn in_caller(self, given: impl FnOnce(u16) -> Option<Key>) -> Option<Key> {
        match self.start {
            KeyStart::Parameter(position) => given(position)?.then(self.field),
            KeyStart::Thread | KeyStart::Touched => Some(self),
            KeyStart::Result(_) | KeyStart::Element(_) | KeyStart::Local(_) => None,
        }
    }

    /// A caller's key from the side of a callee that is given these arguments.
    pub(crate) fn in_callee(self, program: &Program, arguments: &[Argument]) -> Option<Key> {
        if self.start == KeyStart::Thread {
            return Some(self);
        }
        (0u16..).zip(arguments).find_map(|(position, argument)| {
            let given = Key::of(program, &argument.name)?;
            let start = KeyStart::Parameter(position);
            if given == self {
                Some(Key { start, field: None })
            } else if given.field.is_none() && given.start == self.start {
                Some(Key { start, field: self.field })
            } else {
                None
            }
        })
    }
}

impl Building<'_> {
    /// The keys that one is chosen from.
    pub(super) fn keys(&self, value: Value, places: &Places<'_>) -> SmallVec<[Key; 2]> {
        let chosen = keyed::chosen(self.program, self.body, self.body.without_casts(value));
        chosen.into_iter().map(|key| self.key(key, places)).collect()
    }

    /// A register as a key.
    pub(super) fn key(&self, value: Value, places: &Places<'_>) -> Key {
        let value = self.body.without_casts(value);
        let start = |value: Value| match self.body.op(value) {
            Op::Parameter(position) => KeyStart::Parameter(*position),
            Op::Call { .. } => {
                places.event[value.index()].map_or(KeyStart::Local(value.index() as u32), KeyStart::Result)
            }
            _ => KeyStart::Local(value.index() as u32),
        };
        match *self.body.op(value) {
            Op::GetField { base, field } if self.program.is_final_field(field) => {
                Key { start: start(self.body.without_casts(base)), field: Some(field.name) }
            }
            _ => Key { start: start(value), field: None },
        }
    }
}
