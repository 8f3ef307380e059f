//! Brackets: what is called on an object before something is done, and on the same object after it, whatever happens:
//! `gate.enter(); try { … } finally { gate.leave(); }`, or a resource that is closed at the end of its block.
//!
//! Locks that a program makes for itself look like that, and so do those of libraries that are not at hand. Whether such an
//! object keeps others out is not known: all that follows is that less speaks for a mistake.

use location::{ClassName, MethodName};
use program::ir::CallKind;
use program::model::CallModel;
use program::outline::{Action, Argument, EventId, Name, Object, Outline, SectionSet, Start};
use program::{FieldId, LockKind, MethodId, Mode, Variable, Whole};

/// Callers further up than this are not asked.
const MAX_DEPTH: usize = 4;

/// More callers than this are not asked, nor more methods that write the same variable.
const MAX_METHODS: usize = 20;

/// Blocks from the handler of an exception to the call that closes.
const MAX_BLOCKS: usize = 12;

/// A call on an object.
#[derive(Clone, Copy)]
struct Called<'o> {
    event: EventId,
    kind: CallKind,
    method: MethodName,
    receiver: &'o Argument,
}

/// Whether some events of a method, all that touch a variable, are between brackets, here or around each call of the method
/// that is known.
pub(crate) fn are_between(whole: &Whole<'_>, method: MethodId, events: &[EventId], variable: Variable) -> bool {
    is_around(whole, method, events, Some(variable), MAX_DEPTH)
}

fn is_around(
    whole: &Whole<'_>,
    method: MethodId,
    events: &[EventId],
    variable: Option<Variable>,
    depth: usize,
) -> bool {
    let Some(outline) = outline_of(whole, method) else { return false };
    if brackets(outline, events).iter().any(|(open, close)| is_gate(whole, method, open, close, variable))
        || depth < MAX_DEPTH && events.iter().all(|event| is_locked(whole, method, *event, variable))
    {
        return true;
    }
    if is_called_locked(whole, method, variable) {
        return true;
    }
    let callers = callers(whole, method);
    depth > 0
        && !callers.is_empty()
        && callers.len() <= MAX_METHODS
        && callers.iter().all(|caller| {
            let Some(outline) = outline_of(whole, *caller) else { return false };
            let calls = calls_of(whole, outline, method);
            let made = functions_of(whole, outline, method);
            *caller != method
                && !(calls.is_empty() && made.is_empty())
                && made.iter().all(|function| {
                    is_run_locked(whole, outline, *function)
                        || runners(whole, outline, *function)
                            .is_some_and(|runners| is_around(whole, *caller, &runners, variable, depth - 1))
                })
                && calls.iter().all(|call| is_around(whole, *caller, &[*call], variable, depth - 1))
        })
}

/// The outline of a method, whether it is summarised or not.
fn outline_of<'w>(whole: &'w Whole<'_>, method: MethodId) -> Option<&'w Outline> {
    whole.summaries.outline(method).or_else(|| whole.outlines().get(method))
}

/// Those who call a method. Of a function, those who make it, whoever may run it; and not those that nobody in the program
/// calls, as they are there for tests, unless there is nobody else.
fn callers(whole: &Whole<'_>, method: MethodId) -> Vec<MethodId> {
    let program = whole.program;
    let is_making = |caller: &MethodId| {
        outline_of(whole, *caller).is_some_and(|outline| !functions_of(whole, outline, method).is_empty())
    };
    let is_idle = |caller: &MethodId| is_idle(whole, *caller, MAX_DEPTH);
    let all = whole.calls.callers(method);
    let makers = || all.iter().copied().filter(is_making);
    match program.method(method).access.is_synthetic() && makers().next().is_some() {
        true => makers().collect(),
        false if all.iter().all(is_idle) => all.to_vec(),
        false => all.iter().copied().filter(|caller| !is_idle(caller)).collect(),
    }
}

/// Whether nobody in the program calls a method, but for those whom nobody calls, and nobody outside can.
fn is_idle(whole: &Whole<'_>, method: MethodId, depth: usize) -> bool {
    let declared = whole.program.method(method);
    let is_hidden = !declared.access.is_public() && !declared.access.is_protected();
    is_hidden
        && !whole.program.names.text(declared.name).starts_with('<')
        && depth > 0
        && whole.calls.callers(method).iter().all(|caller| is_idle(whole, *caller, depth - 1))
}

/// Whether everybody who calls a method, or runs a function, holds a lock that nobody else can hold.
fn is_called_locked(whole: &Whole<'_>, method: MethodId, variable: Option<Variable>) -> bool {
    let cover = whole.cover();
    let held = cover.held_by_callers(method).into_iter();
    let held = held.filter(|held| held.kind != LockKind::Own && held.mode == Mode::Exclusive);
    is_of_writers(whole, &held.map(|held| cover.identity(method, &held.name)).collect::<Vec<_>>(), variable)
}

/// Whether a lock is held at an event that nobody else can hold.
fn is_locked(whole: &Whole<'_>, method: MethodId, event: EventId, variable: Option<Variable>) -> bool {
    outline_of(whole, method).is_some_and(|outline| {
        is_of_writers(whole, &locks_at(whole, method, outline, outline.events[event.index()].held), variable)
    })
}

/// What tells locks of different purposes apart.
type Identity = Option<Result<FieldId, ClassName>>;

fn locks_at(whole: &Whole<'_>, method: MethodId, outline: &Outline, held: SectionSet) -> Vec<Identity> {
    let cover = whole.cover();
    let sections = held.iter().filter_map(|section| outline.sections.get(section));
    let taken = sections.filter(|section| section.kind != LockKind::Own && section.mode == Mode::Exclusive);
    taken.map(|section| cover.identity(method, &section.lock)).collect()
}

/// Whether some lock is held. If others who write the variable take locks themselves, it has to be one of those, or one that
/// somebody was given: which one that is shows elsewhere.
fn is_of_writers(whole: &Whole<'_>, held: &[Identity], variable: Option<Variable>) -> bool {
    if held.is_empty() {
        return false;
    }
    let others = variable.map_or(&[][..], |variable| whole.variables.writers(variable)).iter();
    let taken = others.take(MAX_METHODS).filter_map(|place| {
        let outline = whole.summaries.outline(place.method)?;
        let write = whole.summaries.summary(place.method)?.accesses.get(place.access.index())?;
        Some(locks_at(whole, place.method, outline, outline.events[write.event.index()].held))
    });
    let taken: Vec<Identity> = taken.flatten().collect();
    let is_given = |lock: &Identity| match lock {
        Some(Ok(field)) => {
            let name = whole.program.field_name(*field);
            whole.program.field(*field).access.is_final() && !whole.summaries.holdings.is_own(whole.program, name)
        }
        _ => false,
    };
    taken.is_empty() || held.iter().any(|lock| taken.contains(lock)) || held.iter().chain(&taken).any(is_given)
}

/// The calls of a method that may go to another one.
fn calls_of(whole: &Whole<'_>, outline: &Outline, callee: MethodId) -> Vec<EventId> {
    let is_call = |action: &Action| match action {
        Action::Call { kind, method, .. } => {
            whole.calls.targets(whole.program, *kind, *method).known().contains(&callee)
        }
        _ => false,
    };
    let calls = outline.events.iter().enumerate().filter(|(_, event)| is_call(&event.action));
    calls.map(|(index, _)| EventId(index as u32)).collect()
}

/// Where a method makes a function of another one.
pub(crate) fn functions_of(whole: &Whole<'_>, outline: &Outline, function: MethodId) -> Vec<EventId> {
    let is_made = |action: &Action| match action {
        Action::Lambda { method, .. } => whole.calls.hierarchy.resolve_name(whole.program, *method) == Some(function),
        _ => false,
    };
    let made = outline.events.iter().enumerate().filter(|(_, event)| is_made(&event.action));
    made.map(|(index, _)| EventId(index as u32)).collect()
}

/// Whether a function is given to a method of the program that takes a lock, or to a container that runs it in one step with
/// what stands under a key.
pub(crate) fn is_run_locked(whole: &Whole<'_>, outline: &Outline, function: EventId) -> bool {
    let is_it = |argument: &Argument| argument.objects.contains(&Object::Event(function));
    outline.events.iter().any(|event| match &event.action {
        Action::Call { kind, method, arguments } => {
            let name = whole.program.names.text(method.name);
            let is_step = matches!(name, "compute" | "computeIfAbsent" | "computeIfPresent" | "merge");
            let targets = || whole.calls.targets(whole.program, *kind, *method);
            arguments.iter().any(is_it) && (is_step || targets().known().iter().any(|target| may_lock(whole, *target)))
        }
        _ => false,
    })
}

/// Whether a method may take a lock, or is what the compiler made for others to call one that may.
fn may_lock(whole: &Whole<'_>, method: MethodId) -> bool {
    let program = whole.program;
    program.may_lock(method)
        || program.method(method).access.is_synthetic()
            && whole.calls.callees(method).iter().any(|callee| program.may_lock(*callee))
}

/// The calls that run a function before they return, if it is given to no other one.
fn runners(whole: &Whole<'_>, outline: &Outline, function: EventId) -> Option<Vec<EventId>> {
    let is_it = |argument: &Argument| argument.objects.contains(&Object::Event(function));
    let mut found = Vec::new();
    for (index, event) in outline.events.iter().enumerate() {
        match &event.action {
            Action::Call { method, arguments, .. } if arguments.iter().any(is_it) => {
                let model = whole.calls.model(whole.program, *method, method.class);
                let is_run =
                    |model: &CallModel| !model.runs.is_empty() && model.starts.is_none() && model.wraps.is_none();
                model.filter(is_run)?;
                found.push(EventId(index as u32));
            }
            Action::Write { stored, .. } if is_it(stored) => return None,
            Action::Lambda { arguments, .. } if arguments.iter().any(is_it) => return None,
            _ => {}
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Pairs of calls on one object: one before all of the events, and one that follows whatever exception they end with.
fn brackets<'o>(outline: &'o Outline, events: &[EventId]) -> Vec<(Called<'o>, Called<'o>)> {
    let handlers_of = |event: &EventId| -> Vec<usize> {
        let block = outline.events[event.index()].block as usize;
        outline.blocks.successors(block).filter(|next| next.is_exceptional).map(|next| next.block).collect()
    };
    let Some((first, rest)) = events.split_first() else { return Vec::new() };
    let mut handlers = handlers_of(first);
    handlers.retain(|handler| rest.iter().all(|event| handlers_of(event).contains(handler)));
    let mut found = Vec::new();
    for handler in handlers {
        let closing = after(outline, handler);
        for close in
            calls(outline).filter(|call| closing.contains(&(outline.events[call.event.index()].block as usize)))
        {
            let is_open = |open: &Called<'_>| {
                let (one, other) = (&open.receiver.name, &close.receiver.name);
                let is_same =
                    (one.same(other) || are_got_alike(outline, one, other)) && open.method.name != close.method.name;
                let is_made = close.receiver.name.start == Start::Result(open.event);
                (is_same || is_made && close.receiver.name.steps.is_empty())
                    && open.event < *first
                    && !handlers_of(&open.event).contains(&handler)
            };
            let is_before = |open: &Called<'_>| {
                let follows = outline.follows_surely(open.event);
                events.iter().all(|event| follows[outline.events[event.index()].block as usize])
            };
            found.extend(calls(outline).filter(is_open).filter(is_before).map(|open| (open, close)));
        }
    }
    found
}

/// Whether one object was asked for both in the same words: `gate.writeLock().lock()`, `gate.writeLock().unlock()`.
fn are_got_alike(outline: &Outline, one: &Name, other: &Name) -> bool {
    let got = |name: &Name| match name.start {
        Start::Result(event) if name.steps.is_empty() => match &outline.events[event.index()].action {
            Action::Call { method, arguments, .. } => match arguments.as_slice() {
                [from] => Some((*method, from.name.clone())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    got(one).zip(got(other)).is_some_and(|((one, from), (other, same))| one == other && from.same(&same))
}

/// The blocks that follow one without an exception, and itself.
fn after(outline: &Outline, block: usize) -> Vec<usize> {
    let mut blocks = vec![block];
    let mut next = 0;
    while let Some(block) = blocks.get(next).copied().filter(|_| blocks.len() < MAX_BLOCKS) {
        next += 1;
        for successor in outline.blocks.successors(block).filter(|next| !next.is_exceptional) {
            if !blocks.contains(&successor.block) {
                blocks.push(successor.block);
            }
        }
    }
    blocks
}

fn calls(outline: &Outline) -> impl Iterator<Item = Called<'_>> {
    outline.events.iter().enumerate().filter_map(|(index, event)| match &event.action {
        Action::Call { kind, method, arguments } if *kind != CallKind::Static => {
            Some(Called { event: EventId(index as u32), kind: *kind, method: *method, receiver: arguments.first()? })
        }
        _ => None,
    })
}

/// Whether two calls may open and close something: what the one changes the other one changes, too. Of a class that is not
/// at hand, others who write the variable have to do the same.
fn is_gate(
    whole: &Whole<'_>,
    method: MethodId,
    open: &Called<'_>,
    close: &Called<'_>,
    variable: Option<Variable>,
) -> bool {
    let program = whole.program;
    let written = |called: &Called<'_>| -> Vec<Variable> {
        let targets = whole.calls.targets(program, called.kind, called.method);
        let summaries = targets.known().iter().filter_map(|target| whole.summaries.summary(*target));
        let accesses = summaries.flat_map(|summary| &summary.accesses).filter(|access| access.is_write);
        accesses.filter_map(|access| Variable::of(program, access)).collect()
    };
    match program.class(close.method.class) {
        Some(class) => {
            program.is_checked(class) && {
                let closed = written(close);
                written(open).iter().any(|variable| closed.contains(variable))
                    || are_lock_and_unlock(whole, open, close)
            }
        }
        None => variable.is_some_and(|variable| {
            let places = whole.variables.writers(variable).iter().filter(|place| place.method != method);
            places.take(MAX_METHODS).any(|place| {
                let outline = whole.summaries.outline(place.method);
                let event =
                    whole.summaries.summary(place.method).map(|summary| summary.accesses[place.access.index()].event);
                outline.zip(event).is_some_and(|(outline, event)| {
                    brackets(outline, &[event]).iter().any(|(_, other)| other.method == close.method)
                })
            })
        }),
    }
}

/// Whether two calls come to operations of locks, which are let go elsewhere than they are taken.
fn are_lock_and_unlock(whole: &Whole<'_>, open: &Called<'_>, close: &Called<'_>) -> bool {
    let come_to_locks = |called: &Called<'_>| {
        let targets = whole.calls.targets(whole.program, called.kind, called.method);
        let targets = targets.known();
        !targets.is_empty() && targets.iter().all(|target| calls_lock(whole, *target, MAX_DEPTH))
    };
    come_to_locks(open) && come_to_locks(close)
}

/// Whether a method calls operations of a lock, or another one of its class that does.
fn calls_lock(whole: &Whole<'_>, method: MethodId, depth: usize) -> bool {
    let program = whole.program;
    let is_beside = |callee: &&MethodId| program.class_of(**callee) == program.class_of(method);
    program.calls_lock(method)
        || depth > 0
            && whole.calls.callees(method).iter().filter(is_beside).any(|callee| calls_lock(whole, *callee, depth - 1))
}
