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
    /// What the object must be that the name starts from; or it does not have this lock.
    pub(super) bound: Option<ClassName>,
}

impl Name {
    /// What the caller calls the lock, and what the object must be that this name starts from; `None` if it has no name
    /// there, one that is too long, or if what the call is given cannot be such an object.
    pub(super) fn at_call(&self, program: &Program, arguments: &[Argument]) -> Option<(Path, Option<ClassName>)> {
        let mut bound = None;
        let mut path = match self.start {
            Start::Parameter(position) => match arguments.get(usize::from(position))? {
                Argument::Object(path, class) => {
                    let both = narrower(program, *class, self.bound)?;
                    bound = both.filter(|_| path.steps.is_empty());
                    path.clone()
                }
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
                    Argument::Object(..) => return None,
                },
            });
        }
        Some((path, bound))
    }
}

/// The narrower of two classes that one object has both of; `None` inside if neither is known, outside if no object can.
/// An interface may be had by any object whose class is not final; what is unknown rules nothing out.
pub(crate) fn narrower(
    program: &Program,
    one: Option<ClassName>,
    other: Option<ClassName>,
) -> Option<Option<ClassName>> {
    let (Some(one), Some(other)) = (one, other) else { return Some(one.or(other)) };
    if program.is_subtype(one, other) {
        return Some(Some(one));
    }
    if program.is_subtype(other, one) {
        return Some(Some(other));
    }
    let is_open =
        |class: ClassName| program.class(class).is_none_or(|class| program.header(class).access.is_interface());
    (is_open(one) || is_open(other)).then_some(Some(one))
}

/// What a call is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    /// An object, and what the code promises it to be.
    Object(Path, Option<ClassName>),
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
