//! Whether threads can get in each other's way, as detectors ask it.

use program::outline::{Name, Start};
use program::thread::{EntryId, EntryKind};
use program::{Ground, Mark, MethodId, Program, Variable};

/// Whether two threads may be in the two methods at the same time. Code that nobody sees is not taken to call a class from
/// two threads that never takes a lock itself, nor is marked `@ThreadSafe`: such a class is not made for that.
pub(crate) fn run_at_once(ground: &Ground<'_>, method: MethodId, other: MethodId) -> bool {
    let threads = ground.threads();
    let is_open = |entry: EntryId| threads.entry(entry).kind == EntryKind::Callers;
    let program = ground.program;
    let class = program.class_of(method);
    let locks =
        || program.is_marked(class, Mark::ThreadSafe) || program.methods_of(class).any(|own| program.may_lock(own));
    threads.of_method(method).iter().any(|first| {
        threads.of_method(other).iter().any(|second| threads.overlap(*first, *second)) && (!is_open(*first) || locks())
    })
}

/// Whether two methods touch what two objects have, if each touches what its own has: classes beside each other that inherit
/// the same field.
pub(crate) fn are_beside(program: &Program, method: MethodId, other: MethodId) -> bool {
    let class = |method: MethodId| program.header(program.class_of(method));
    let (one, another) = (class(method), class(other));
    let is_object =
        |method: MethodId| !program.method(method).access.is_static() && !class(method).access.is_interface();
    is_object(method)
        && is_object(other)
        && !program.is_subtype(one.name, another.name)
        && !program.is_subtype(another.name, one.name)
}

/// Whether an object has a variable that is the one a method belongs to.
pub(crate) fn is_of_this(object: &Name, variable: Variable) -> bool {
    let steps = match variable {
        Variable::Field(_) => 0,
        Variable::Held(_) | Variable::Within(_) => 1,
    };
    object.start == Start::Parameter(0) && object.steps.len() == steps
}

/// Whether threads can get in each other's way at a variable.
pub(crate) fn is_shared(ground: &Ground<'_>, variable: Variable) -> bool {
    let sharings = ground.sharings();
    let sharing = match variable {
        Variable::Field(field) => sharings.field(field),
        Variable::Held(field) => sharings.contents(field),
        Variable::Within(field) => sharings.within(field),
    };
    sharing.is_none_or(|sharing| sharing.is_shared())
}
