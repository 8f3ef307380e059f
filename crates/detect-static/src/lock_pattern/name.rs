//! Names of locks that mean something outside their method, and what they are called at a call of it.

use location::{ClassName, FieldName};
use program::{LockKind, MAX_STEPS, Path, Program, Root, Step};
use smallvec::SmallVec;

/// A lock, by the name that the code of one method has for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lock {
    pub(super) path: Path,
    pub(super) kind: LockKind,
}

/// Where a name starts that a caller understands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Start {
    /// Parameter by position; 0 is `this` in an instance method.
    Parameter(u16),
    Static(FieldName),
    Class(ClassName),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum NameStep {
    Field(FieldName),
    Constant(i32),
    /// An element at the position that a parameter says.
    Given(u16),
}

/// A lock by a name that a caller can translate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Name {
    pub(super) start: Start,
    pub(super) steps: SmallVec<[NameStep; 2]>,
    pub(super) kind: LockKind,
}

impl Name {
    /// What the caller calls the lock; `None` if it has no name there, or one that is too long.
    pub(super) fn at_call(&self, arguments: &[Argument]) -> Option<Path> {
        let mut path = match self.start {
            Start::Parameter(position) => match arguments.get(usize::from(position))? {
                Argument::Object(path) => path.clone(),
                Argument::Position(_) => return None,
            },
            Start::Static(field) => Path::root(Root::Static(field)),
            Start::Class(class) => Path::root(Root::Class(class)),
        };
        if path.is_unknown() || path.steps.len() + self.steps.len() > MAX_STEPS {
            return None;
        }
        for step in &self.steps {
            path.steps.push(match *step {
                NameStep::Field(field) => Step::Field(field),
                NameStep::Constant(index) => Step::Constant(index),
                NameStep::Given(position) => match arguments.get(usize::from(position))? {
                    Argument::Position(step) => *step,
                    Argument::Object(_) => return None,
                },
            });
        }
        Some(path)
    }
}

/// What a call is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    Object(Path),
    /// A number, as the position of an element.
    Position(Step),
}

/// A field named by the class that declares it: `B.lock` may be `A.lock`, inherited.
pub(super) fn declared(program: &Program, field: FieldName) -> FieldName {
    match program.resolve_field(field) {
        Some(found) => FieldName { class: program.header(program.class_of_field(found)).name, ..field },
        None => field,
    }
}

/// The same path with each field named by the class that declares it.
pub(super) fn settle(program: &Program, mut path: Path) -> Path {
    if let Root::Static(field) = path.root {
        path.root = Root::Static(declared(program, field));
    }
    for step in &mut path.steps {
        if let Step::Field(field) = step {
            *field = declared(program, *field);
        }
    }
    path
}
