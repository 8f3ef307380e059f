//! Locks of all elements: who takes every lock of a container, one after the other, and keeps them keeps out all who go by
//! one of them. `for (Lock lock : stripes) lock.lock();`, in a method of its own or not.

use location::MethodName;
use program::outline::{Action, Argument, EventId, Name, NameStep, Object, Outline, OutlineSection, Start};
use program::{FieldId, MethodId, Program, Whole};

/// The fields whose containers have locks that have all been taken when an event comes.
pub(super) fn locked_all(whole: &Whole<'_>, method: MethodId, at: EventId) -> Vec<FieldId> {
    let Some(outline) = whole.summaries.outline(method) else { return Vec::new() };
    let perhaps = outline.events[at.index()].perhaps;
    let own = outline.sections.iter().enumerate().filter(|(number, _)| perhaps.contains(*number));
    let mut found: Vec<FieldId> = own.filter_map(|(_, section)| container(whole.program, outline, section)).collect();
    for (index, event) in outline.events.iter().enumerate() {
        let Action::Call { kind, method: called, arguments } = &event.action else { continue };
        let event = EventId(index as u32);
        if event == at || !outline.may_follow(event, at) {
            continue;
        }
        found.extend(by_function(whole.program, outline, *called, arguments));
        for target in whole.calls.targets(whole.program, *kind, *called).known() {
            found.extend(left(whole, *target));
        }
    }
    found
}

/// Whether a method leaves locks taken, or gives a function that takes one.
pub(super) fn may_lock_all(whole: &Whole<'_>, method: MethodId) -> bool {
    !left(whole, method).is_empty()
}

/// The fields whose containers have locks that a method takes and leaves taken.
fn left(whole: &Whole<'_>, method: MethodId) -> Vec<FieldId> {
    let Some(outline) = whole.summaries.outline(method) else { return Vec::new() };
    let open = outline.sections.iter().filter(|section| section.ends.is_empty() && !section.is_method);
    let mut found: Vec<FieldId> = open.filter_map(|section| container(whole.program, outline, section)).collect();
    for event in &outline.events {
        if let Action::Call { method, arguments, .. } = &event.action {
            found.extend(by_function(whole.program, outline, *method, arguments));
        }
    }
    found
}

/// `stripes.forEach(Lock::lock)`
fn by_function(program: &Program, outline: &Outline, called: MethodName, arguments: &[Argument]) -> Option<FieldId> {
    let text = |symbol| program.names.text(symbol);
    let [container, function] = arguments else { return None };
    let [Object::Event(made)] = function.objects.as_slice() else { return None };
    let Action::Lambda { method, .. } = &outline.events[made.index()].action else { return None };
    let is_lock = text(method.name) == "lock" && text(method.class.0).starts_with("java/util/concurrent/locks/");
    (is_lock && text(called.name) == "forEach").then(|| field(program, &container.name))?
}

/// The field whose container a section's lock is an element of.
fn container(program: &Program, outline: &Outline, section: &OutlineSection) -> Option<FieldId> {
    if let Some(field) = element_of(program, &section.lock) {
        return Some(field);
    }
    let Start::Result(next) = section.lock.start else { return None };
    let receiver = |event: EventId, wanted: &str| match &outline.events[event.index()].action {
        Action::Call { method, arguments, .. } if program.names.text(method.name) == wanted => arguments.first(),
        _ => None,
    };
    let iterator = receiver(next, "next").filter(|_| section.lock.steps.is_empty())?;
    let [Object::Event(iterator)] = iterator.objects.as_slice() else { return None };
    field(program, &receiver(*iterator, "iterator")?.name)
}

/// The field whose container a name leads to an element of.
pub(super) fn element_of(program: &Program, name: &Name) -> Option<FieldId> {
    let (last, before) = name.steps.split_last()?;
    match last {
        NameStep::Field(_) => None,
        NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => {
            field(program, &Name { start: name.start, steps: before.into() })
        }
    }
}

/// The field that a name ends with.
fn field(program: &Program, name: &Name) -> Option<FieldId> {
    match (name.steps.last(), name.start) {
        (Some(NameStep::Field(field)), _) => program.resolve_field(*field),
        (None, Start::Static(field)) => program.resolve_field(field),
        _ => None,
    }
}
