//! A mark that is handed on from one element of a container to another one: `assign(from, STANDBY); assign(to, PRIMARY);`,
//! each in a section of its own, while another section looks for the one that has it. Nobody ever writes one element
//! without the other, so the two are one change, as with two fields that nobody writes alone.
//!
//! Misses: marks that are no constants of a class, such as `true`; elements that are also written one by one.

use location::FieldName;
use program::outline::{Action, Event, EventId, Member, Object, Origin, Outline};
use program::summary::Access;
use program::{MethodId, Place, Variable, Whole};

use super::rules::Asking;

impl Asking<'_> {
    /// The two marks, if one element gets the one and another element the other, by two calls of one method, and nobody
    /// else writes an element.
    pub(super) fn hands_on(&self, first: &Access, second: &Access, variable: Variable) -> Option<[FieldName; 2]> {
        let is_put = |access: &Access| access.is_keyed && !access.is_removal && !access.keys.is_empty();
        let [one, other] = [first, second].map(|access| &self.outline.events[access.event.index()]);
        let called = |event: &Event| match &event.action {
            Action::Call { method, .. } => Some(*method),
            _ => None,
        };
        let is_pair = is_put(first)
            && is_put(second)
            && first.event != second.event
            && called(one).is_some()
            && called(one) == called(other)
            && one.control == other.control;
        let marks = [mark(self.whole, self.outline, one)?, mark(self.whole, self.outline, other)?];
        let is_like = |event: &&Event| called(event) == called(one);
        (is_pair
            && marks[0] != marks[1]
            && self.outline.events.iter().filter(is_like).count() == 2
            && self.is_written_here_only(first, variable))
        .then_some(marks)
    }

    /// Whether all that writes the elements is one place, which only this method comes to.
    fn is_written_here_only(&self, write: &Access, variable: Variable) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let writing = calls.hierarchy.resolve_name(program, write.spot.method);
        let is_place = |place: &Place| {
            let summary = self.whole.summaries.summary(place.method);
            summary.is_some_and(|summary| summary.accesses[place.access.index()].spot == write.spot)
        };
        let is_called_here =
            |method: MethodId| calls.callers(method) == [self.method] && !self.whole.threads().is_from_outside(method);
        let writers = self.whole.variables.writers(variable).iter();
        writers.clone().any(is_place)
            && writers.clone().all(|place| is_place(place) || is_of_constructor(self.whole, place.method))
            && writing.is_some_and(|writing| writing == self.method || is_called_here(writing))
    }
}

/// `nodes.forEach(node -> roles.put(node, STANDBY))`: whether a function is made by constructors alone, and run there.
fn is_of_constructor(whole: &Whole<'_>, function: MethodId) -> bool {
    let (program, calls) = (whole.program, &whole.calls);
    let name = program.method_name(function);
    let runs = |event: &Event, made: EventId| match &event.action {
        Action::Call { method, arguments, .. } => {
            let is_given = arguments.iter().any(|argument| argument.objects.contains(&Object::Event(made)));
            let model = calls.model(program, *method, method.class);
            is_given && model.is_some_and(|model| !model.runs.is_empty() && model.starts.is_none())
        }
        _ => false,
    };
    let is_run_by = |caller: &MethodId| {
        let Some(outline) = whole.summaries.outline(*caller) else { return false };
        let events = || outline.events.iter().enumerate();
        let mut made =
            events().filter(|(_, event)| matches!(event.action, Action::Lambda { method, .. } if method == name));
        program.names.text(program.method(*caller).name) == "<init>"
            && made.all(|(made, _)| events().any(|(_, event)| runs(event, EventId(made as u32))))
    };
    let callers = calls.callers(function);
    program.is_lambda(name) && !callers.is_empty() && callers.iter().all(is_run_by)
}

/// The constant of a class that a call is given, if it is one.
fn mark(whole: &Whole<'_>, outline: &Outline, event: &Event) -> Option<FieldName> {
    let Action::Call { arguments, .. } = &event.action else { return None };
    let mut marks = arguments.iter().skip(1).filter_map(|argument| match argument.sources.as_slice() {
        [source] => match source.origin {
            Origin::Event(read) => constant(whole, &outline.events[read.index()]),
            Origin::Parameter(_) => None,
        },
        _ => None,
    });
    marks.next().filter(|_| marks.next().is_none())
}

/// The constant of a class that an event reads.
fn constant(whole: &Whole<'_>, event: &Event) -> Option<FieldName> {
    match event.action {
        Action::Read { member: Member::Static(field), .. } => {
            Some(field).filter(|_| whole.program.is_final_field(field))
        }
        _ => None,
    }
}

/// Whether a method, or a function that it makes, asks for one of the marks.
pub(super) fn looks_for(whole: &Whole<'_>, method: MethodId, marks: &[FieldName; 2]) -> bool {
    let is_asked = |outline: &Outline| {
        outline.events.iter().any(|event| constant(whole, event).is_some_and(|field| marks.contains(&field)))
    };
    let Some(outline) = whole.summaries.outline(method) else { return false };
    is_asked(outline)
        || outline.events.iter().any(|event| match &event.action {
            Action::Lambda { method: function, .. } => {
                let function = whole.calls.hierarchy.resolve_name(whole.program, *function);
                function.and_then(|function| whole.summaries.outline(function)).is_some_and(is_asked)
            }
            _ => false,
        })
}
