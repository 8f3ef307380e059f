//! Whether threads can get in each other's way, as detectors ask it.

use location::FieldName;
use program::outline::{Action, Member, Name, NameStep, Start};
use program::summary::Access;
use program::thread::{EntryId, EntryKind};
use program::{ClassId, Ground, Mark, MethodId, Place, Program, Variable, Whole};

/// Whether two threads may be in the two methods at the same time. Code that nobody sees is not taken to call a class from
/// two threads that never takes a lock itself, nor is marked `@ThreadSafe`: such a class is not made for that.
pub(crate) fn run_at_once(ground: &Ground<'_>, method: MethodId, other: MethodId) -> bool {
    meet(ground, method, other, false)
}

/// The same of a method and a write. A container or an atomic says by itself whether it is made for threads.
pub(crate) fn run_at_once_at(whole: &Whole<'_>, method: MethodId, write: &Place) -> bool {
    let summary = whole.summaries.summary(write.method);
    let access = summary.and_then(|summary| summary.accesses.get(write.access.index()));
    let variable = access.and_then(|access| Variable::of(whole.program, access));
    let is_for_threads = variable.is_some_and(|variable| is_made_for_threads(whole, variable));
    meet(whole, method, write.method, is_for_threads)
}

/// Whether a variable is what a container or an atomic holds that somebody has chosen for threads.
pub(crate) fn is_made_for_threads(whole: &Whole<'_>, variable: Variable) -> bool {
    let program = whole.program;
    let (Variable::Held(field) | Variable::Within(field)) = variable else { return false };
    let declared = program.names.text(program.field(field).descriptor);
    let holding = whole.summaries.holdings.get(program, program.field_name(field));
    let held = holding.class.map_or("", |class| program.names.text(class.0));
    [declared.trim_start_matches('L'), held].iter().any(|class| class.starts_with("java/util/concurrent/"))
        || holding.section.is_some()
}

fn meet(ground: &Ground<'_>, method: MethodId, other: MethodId, is_for_threads: bool) -> bool {
    let threads = ground.threads();
    let is_open = |entry: EntryId| threads.entry(entry).kind == EntryKind::Callers;
    let program = ground.program;
    let class = program.class_of(method);
    let is_class_for_threads = |class: ClassId| {
        program.is_marked(class, Mark::ThreadSafe) || program.methods_of(class).any(|own| program.may_lock(own))
    };
    let locks = || is_for_threads || is_class_for_threads(class) || around(program, class).any(is_class_for_threads);
    !threads.are_of_one_initialiser(method, other)
        && threads.of_method(method).iter().any(|first| {
            threads.of_method(other).iter().any(|second| threads.overlap(*first, *second))
                && (!is_open(*first) || locks())
        })
}

/// The classes of the objects that those of an inner class belong to: the compiler keeps each in a field.
fn around(program: &Program, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
    program.fields_of(class).filter_map(|field| {
        let field = program.field(field);
        let is_outer = field.access.is_synthetic() && program.names.text(field.name).starts_with("this$");
        let class = program.names.text(field.descriptor).strip_prefix('L')?.strip_suffix(';')?;
        program.class(program.names.class(class)).filter(|_| is_outer)
    })
}

/// The same, where the other one has the object of a name only by way of some of its callers.
pub(crate) fn meet_at_object(
    whole: &Whole<'_>,
    (method, name): (MethodId, &Name),
    (other, their): (MethodId, &Name),
) -> bool {
    let ways = whole.ways_to((method, name), (other, their));
    ways.is_none_or(|ways| ways.into_iter().any(|way| run_at_once(whole, method, way)))
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

/// Whether what is accessed is the object that the name starts with, or was made for it.
pub(crate) fn is_part(whole: &Whole<'_>, access: &Access) -> bool {
    are_parts(whole, &access.base.steps)
}

fn are_parts(whole: &Whole<'_>, steps: &[NameStep]) -> bool {
    let holdings = &whole.summaries.holdings;
    steps.iter().all(|step| match step {
        NameStep::Field(field) => holdings.is_own(whole.program, *field),
        NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => true,
    })
}

/// Whether an access is to what nobody else can get at as long as the method runs: to an object in the making, to statics
/// of a class that is being initialised, or to what was made for those.
pub(crate) fn is_in_making(whole: &Whole<'_>, method: MethodId, access: &Access) -> bool {
    let (program, sharings) = (whole.program, whole.sharings());
    let is_of_class = |field: FieldName| {
        program.resolve_field(field).is_some_and(|field| program.class_of_field(field) == program.class_of(method))
    };
    is_part(whole, access)
        && match (access.member, access.base.start) {
            (Member::Static(field), _) => is_of_class(field) && sharings.initialises(method),
            (_, Start::Static(field)) => {
                is_of_class(field) && whole.summaries.holdings.is_own(program, field) && sharings.initialises(method)
            }
            (_, Start::Parameter(0)) => sharings.makes_its_object(method),
            _ => false,
        }
}

/// Whether the thread that runs a method has the object of an access to itself: handed to it by all callers, or kept in a
/// field that each task has for itself.
pub(crate) fn is_owned(whole: &Whole<'_>, method: MethodId, access: &Access) -> bool {
    let owned = whole.owned();
    // What each task was given for itself was made elsewhere.
    if let (Start::Parameter(0), [NameStep::Field(field), rest @ ..]) = (access.base.start, &*access.base.steps)
        && are_parts(whole, rest)
        && owned.is_field(*field)
    {
        return true;
    }
    if !is_part(whole, access) || !owned.stays_in(&access.base.steps) {
        return false;
    }
    let Start::Parameter(position) = access.base.start else {
        let outline = whole.summaries.outline(method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        let Some(Action::Call { arguments, .. }) = event.map(|event| &event.action) else { return false };
        let mut given = arguments.iter().filter(|argument| {
            argument.name.start == access.base.start && access.base.steps.starts_with(&argument.name.steps)
        });
        return given.next().is_some_and(|argument| owned.is_given(method, access.event, argument));
    };
    owned.is_parameter(method, position, access.event)
}

/// Whether what is written to a variable is only read by people, and by no thread.
pub(crate) fn is_printed(program: &Program, variable: Variable) -> bool {
    matches!(variable, Variable::Held(field) if program::is_for_people(program, field))
}
