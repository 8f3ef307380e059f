//! Whether another thread can write a variable while a method is between its sections.

use program::outline::EventId;
use program::sharing::{FieldAccess, Sharing};
use program::thread::{At, EntryId, EntryKind};
use program::{FieldId, MethodId, Program, Variable, Whole};

/// More callers than this are not asked.
const MAX_CALLERS: usize = 100;

/// Whether a thread other than the one that runs an event of a method may write the variable around that time.
pub(super) fn is_contended(whole: &Whole<'_>, method: MethodId, event: EventId, variable: Variable) -> bool {
    let (sharings, threads) = (whole.sharings(), whole.threads());
    if let Variable::Field(field) = variable
        && whole.summaries.holdings.is_handled(whole.program, field)
    {
        // Who writes by way of a handle does not name the field.
        let here = threads.of_method(method);
        return whole.variables.writers(variable).iter().any(|place| {
            let others = threads.of_method(place.method);
            here.iter().any(|process| others.iter().any(|other| threads.overlap(*process, *other)))
        });
    }
    let (sharing, of_contents) = match variable {
        Variable::Field(field) => (sharings.field(field), false),
        Variable::Held(field) => (sharings.contents(field), true),
    };
    // Touched in ways that only summaries see.
    let Some(sharing) = sharing else { return true };
    if !sharing.is_shared() {
        return is_started_unseen(whole, method, sharing);
    }
    if is_merely_assumed(whole, variable, sharing) {
        return false;
    }
    let here = threads.of_method(method);
    if let Sharing::SingleWriter(writer) = sharing
        && here.iter().all(|process| *process == writer)
    {
        return false;
    }
    let at = At { method, event };
    let outlines = whole.outlines();
    let gets_between = |process: EntryId, write: &FieldAccess, other: EntryId| {
        threads.overlap(process, other)
            && (process == other
                || threads.ordered(outlines, process, at, other).is_none()
                    && threads.ordered(outlines, other, write.at, process).is_none()
                    && !whole.is_latched(process, at, other, write.at))
    };
    let writes = sharings.accesses(variable.field()).iter();
    let mut writes = writes.filter(|access| access.is_write && access.of_contents == of_contents && !access.is_initial);
    let is_written = writes.any(|write| {
        let others = threads.of_method(write.at.method);
        here.iter().any(|process| others.iter().any(|other| gets_between(*process, write, *other)))
    });
    // The container may be written by whoever else has it.
    is_written || (of_contents && !here.is_empty() && !has_write(sharings.accesses(variable.field())))
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
    let is_task = |method: MethodId| {
        let name = program.method_name(method);
        matches!(program.names.text(name.name), "run" | "call")
            && tasks.iter().any(|task| program.is_subtype(name.class, *task))
            && threads.entries().iter().all(|entry| entry.method != Some(method))
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

/// Whether a field holds a container that locks by itself only because old ones all did, in an object that does nothing
/// else for threads.
pub(super) fn is_by_habit(program: &Program, field: FieldId) -> bool {
    let declared = program.field(field);
    let class = program.class_of_field(field);
    !declared.access.is_static()
        && LEGACY.contains(&program.names.text(declared.descriptor))
        && !program.methods_of(class).any(|method| program.may_lock(method))
        && !program.fields_of(class).any(|field| {
            let field = program.field(field);
            field.access.is_volatile() || program.names.text(field.descriptor).starts_with("Ljava/util/concurrent/")
        })
}

/// Containers and buffers from before there was a choice: each call locks, whether anybody shares them or not.
const LEGACY: [&str; 7] = [
    "Ljava/util/Hashtable;",
    "Ljava/util/Properties;",
    "Ljava/util/Vector;",
    "Ljava/util/Stack;",
    "Ljava/util/Dictionary;",
    "Ljava/lang/StringBuffer;",
    "Ljava/io/ByteArrayOutputStream;",
];

fn has_write(accesses: &[FieldAccess]) -> bool {
    accesses.iter().any(|access| access.is_write && access.of_contents && !access.is_initial)
}
