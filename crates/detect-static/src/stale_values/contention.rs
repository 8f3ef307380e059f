//! Whether another thread can write a variable while a method is between its sections.

use location::MethodName;
use program::outline::{Action, EventId, Name, NameStep};
use program::sharing::{FieldAccess, Part, Sharing};
use program::thread::{At, EntryId, EntryKind};
use program::{FieldId, MethodId, Program, Variable, Whole, is_by_habit};

use crate::threads::{are_beside, is_of_this};

/// More callers than this are not asked.
const MAX_CALLERS: usize = 100;

/// Whether a thread other than the one that runs an event of a method may write the variable around that time.
/// `is_own` says that it is one of the object that the method belongs to, and `is_apart` tells of which entries the
/// processes keep to parts of it that are each one's own; `matters` tells which writes do any harm.
pub(crate) fn is_contended(
    whole: &Whole<'_>,
    method: MethodId,
    event: EventId,
    variable: Variable,
    is_own: bool,
    is_apart: impl Fn(EntryId, EntryId) -> bool,
    matters: impl Fn(At) -> bool,
) -> bool {
    let (sharings, threads) = (whole.sharings(), whole.threads());
    if let Variable::Field(field) = variable
        && whole.summaries.holdings.is_handled(field)
    {
        // Who writes by way of a handle does not name the field.
        let here = threads.of_method(method);
        return whole.variables.writers(variable).iter().any(|place| {
            let others = threads.of_method(place.method);
            here.iter().any(|process| others.iter().any(|other| threads.overlap(*process, *other)))
        });
    }
    let (sharing, part) = match variable {
        Variable::Field(field) => (sharings.field(field), Part::Itself),
        Variable::Held(field) => (sharings.contents(field), Part::Contents),
        Variable::Within(field) => (sharings.within(field), Part::Within),
    };
    let here = threads.of_method(method);
    let at = At { method, event };
    let gets_between = |process: EntryId, write: At, other: EntryId| {
        threads.overlap(process, other)
            && ![process, other].iter().any(|process| sharings.is_home(variable.field(), *process))
            && (process == other || !are_ordered(whole, process, at, other, write))
            && !is_apart(process, other)
    };
    let is_written_at = |write: At| {
        let others = threads.of_method(write.method);
        !threads.are_of_one_initialiser(method, write.method)
            && here.iter().any(|process| others.iter().any(|other| gets_between(*process, write, *other)))
    };
    let Some(sharing) = sharing else {
        // Touched in ways that only summaries see.
        return part != Part::Within || is_written_unseen(whole, variable, &is_written_at);
    };
    // Of elements that a call yields, more may be written than the code of one method shows.
    if part == Part::Within
        && sharings.contents(variable.field()).is_some_and(|sharing| sharing.is_shared())
        && is_written_unseen(whole, variable, &is_written_at)
    {
        return true;
    }
    if !sharing.is_shared() {
        return is_started_unseen(whole, method, sharing);
    }
    if is_merely_assumed(whole, variable, sharing) {
        return false;
    }
    if let Sharing::SingleWriter(writer) = sharing
        && here.iter().all(|process| *process == writer)
    {
        return false;
    }
    if !here.is_empty() && here.iter().all(|process| sharings.is_written_by_own_task(variable.field(), part, *process))
    {
        return false;
    }
    let writes = sharings.accesses(variable.field()).iter();
    let is_beside =
        |write: &At| is_own && are_beside(whole.program, method, write.method) && is_own_write(whole, variable, *write);
    let mut writes =
        writes.filter(|access| access.is_write && access.part == part && !access.is_initial && !is_beside(&access.at));
    let is_written = writes.any(|write| is_written_at(write.at) && matters(write.at));
    // The container may be written by whoever else has it.
    is_written || (part == Part::Contents && !here.is_empty() && !has_write(sharings.accesses(variable.field())))
}

/// Whether processes of two entries come to two places one after the other.
fn are_ordered(whole: &Whole<'_>, process: EntryId, at: At, other: EntryId, there: At) -> bool {
    let (threads, outlines) = (whole.threads(), whole.outlines());
    threads.ordered(outlines, process, at, other).is_some()
        || threads.ordered(outlines, other, there, process).is_some()
        || whole.is_latched(process, at, other, there)
        || whole.is_latched(other, there, process, at)
}

/// Whether two threads may be at two places at the same time.
pub(crate) fn may_meet(whole: &Whole<'_>, at: At, there: At) -> bool {
    let threads = whole.threads();
    let others = threads.of_method(there.method);
    !threads.are_of_one_initialiser(at.method, there.method)
        && threads.of_method(at.method).iter().any(|process| {
            others.iter().any(|other| {
                threads.overlap(*process, *other)
                    && (process == other || !are_ordered(whole, *process, at, *other, there))
            })
        })
}

/// Whether an element is written at a bad time, at a place where nothing but a summary tells whose element it is.
fn is_written_unseen(whole: &Whole<'_>, variable: Variable, is_bad: &impl Fn(At) -> bool) -> bool {
    let seen = whole.sharings().accesses(variable.field());
    whole.variables.writers(variable).iter().any(|place| {
        let Some(summary) = whole.summaries.summary(place.method) else { return false };
        let write = At { method: place.method, event: summary.accesses[place.access.index()].event };
        !seen.iter().any(|access| access.is_write && access.part == Part::Within && access.at == write) && is_bad(write)
    })
}

/// Whether a write is one of what the object has that its method belongs to.
fn is_own_write(whole: &Whole<'_>, variable: Variable, write: At) -> bool {
    let outline = whole.outlines().get(write.method);
    let event = outline.and_then(|outline| outline.events.get(write.event.index()));
    // What the variable holds may be in a field of another object, too.
    let is_it = |name: &Name| match name.steps.last() {
        Some(NameStep::Field(field)) => whole.program.resolve_field(*field) == Some(variable.field()),
        _ => true,
    };
    let is_own = |name: &Name| is_of_this(name, variable) && is_it(name);
    event.is_some_and(|event| match &event.action {
        Action::Write { base, .. } => is_own(base),
        Action::Call { arguments, .. } => arguments.first().is_some_and(|first| is_own(&first.name)),
        _ => false,
    })
}

/// Whether something is started that could not be traced, and may be what leads to the method: then one thread that is
/// known says little.
fn is_started_unseen(whole: &Whole<'_>, method: MethodId, sharing: Sharing) -> bool {
    let depends_on_threads = matches!(sharing, Sharing::OneThread(_) | Sharing::NeverAtOnce | Sharing::Unreached);
    let threads = whole.threads();
    if !depends_on_threads || threads.unknown_starts().is_empty() {
        return false;
    }
    let program = whole.program;
    let tasks = ["java/lang/Runnable", "java/util/concurrent/Callable"].map(|name| program.names.class(name));
    let is_run = |name: MethodName| {
        matches!(program.names.text(name.name), "run" | "call")
            && tasks.iter().any(|task| program.is_subtype(name.class, *task))
    };
    // The code of a lambda has a name of its own; where it is made says what it is called by.
    let is_lambda = |method: MethodId| {
        let makers = whole.calls.callers(method).iter().filter_map(|maker| whole.outlines().get(*maker));
        makers.flat_map(|outline| &outline.events).any(|event| match &event.action {
            Action::Lambda { method: made, by, .. } => {
                is_run(*by) && whole.calls.hierarchy.resolve_name(program, *made) == Some(method)
            }
            _ => false,
        })
    };
    let is_task = |method: MethodId| {
        threads.entries().iter().all(|entry| entry.method != Some(method))
            && (is_run(program.method_name(method))
                || program.method(method).access.is_synthetic() && is_lambda(method))
    };
    let mut seen = vec![method];
    let mut next = 0;
    while let Some(method) = seen.get(next).copied() {
        next += 1;
        if is_task(method) {
            return true;
        }
        if seen.len() < MAX_CALLERS {
            seen.extend(
                whole.calls.callers(method).iter().filter(|caller| !seen.contains(caller)).copied().collect::<Vec<_>>(),
            );
        }
    }
    false
}

/// Whether nothing but the chance of two callers speaks for sharing.
fn is_merely_assumed(whole: &Whole<'_>, variable: Variable, sharing: Sharing) -> bool {
    let (Variable::Held(field), Sharing::Shared(overlap)) = (variable, sharing) else { return false };
    let program = whole.program;
    let is_assumed = [overlap.first, overlap.second]
        .iter()
        .all(|process| whole.threads().entry(*process).kind == EntryKind::Callers);
    is_assumed && is_by_habit(program, field)
}

/// Whether a field of an object holds an old container or buffer that is there to work with, as a rule for one thread: a
/// stack, a text in the making, settings.
pub(crate) fn is_tool(program: &Program, field: FieldId) -> bool {
    let declared = program.field(field);
    let class = program.names.text(declared.descriptor).strip_prefix('L').and_then(|name| name.strip_suffix(';'));
    let is_kind_of = |class: &str| {
        TOOLS.iter().any(|tool| program.is_subtype(program.names.class(class), program.names.class(tool)))
    };
    !declared.access.is_static() && class.is_some_and(is_kind_of)
}

const TOOLS: [&str; 4] =
    ["java/util/Stack", "java/util/Properties", "java/lang/StringBuffer", "java/io/ByteArrayOutputStream"];

fn has_write(accesses: &[FieldAccess]) -> bool {
    accesses.iter().any(|access| access.is_write && access.part == Part::Contents && !access.is_initial)
}
