//! Whether threads can get in each other's way, as detectors ask it.

use program::thread::{EntryId, EntryKind};
use program::{Ground, MethodId, Variable};

/// Whether two threads may be in the two methods at the same time. Code that nobody sees is not taken to call a class from
/// two threads that never takes a lock itself: such a class is not made for that.
pub(crate) fn run_at_once(ground: &Ground<'_>, method: MethodId, other: MethodId) -> bool {
    let threads = ground.threads();
    let is_open = |entry: EntryId| threads.entry(entry).kind == EntryKind::Callers;
    let program = ground.program;
    let locks = || program.methods_of(program.class_of(method)).any(|own| program.may_lock(own));
    threads.of_method(method).iter().any(|first| {
        threads.of_method(other).iter().any(|second| threads.overlap(*first, *second)) && (!is_open(*first) || locks())
    })
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
