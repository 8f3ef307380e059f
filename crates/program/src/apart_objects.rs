//! Which of several objects of one class a name means, as far as places that make objects tell, and by way of whom a method
//! gets to them: a setter writes what its callers have, and not all of them have the same.
//!
//! A name is known by `final` fields that get what is made there and then. Whatever else leads to an object may lead to any.

use smallvec::SmallVec;

use crate::class::MethodId;
use crate::outline::{Action, Argument, Member, Name, NameStep, Object, Start};
use crate::sole::Sole;

/// Callers further away than this are not asked.
const MAX_DEPTH: usize = 4;

/// More of them than this are not kept.
const MAX_WAYS: usize = 32;

/// Places that make objects: a method and the number of the instruction.
type Made = SmallVec<[(MethodId, u32); 2]>;

/// The methods by way of which another one may have the object of a name: itself, if nothing more is known. None if it is not
/// known which object the name means.
pub(crate) fn ways(
    sole: Sole<'_>,
    (method, name): (MethodId, &Name),
    other: (MethodId, &Name),
) -> Option<Vec<MethodId>> {
    let wanted = made(sole, method, name)?;
    let mut ways = Vec::new();
    collect(sole, other, &wanted, MAX_DEPTH, &mut ways);
    Some(ways)
}

fn collect(sole: Sole<'_>, (method, name): (MethodId, &Name), wanted: &Made, depth: usize, ways: &mut Vec<MethodId>) {
    let is_other = |made: &Made| made.iter().all(|one| !wanted.contains(one));
    if ways.contains(&method) || made(sole, method, name).is_some_and(|made| is_other(&made)) {
        return;
    }
    match (name.start, name.steps.is_empty()) {
        (Start::Parameter(position), true)
            if depth > 0 && ways.len() < MAX_WAYS && !sole.threads.is_from_outside(method) =>
        {
            for (caller, given) in given(sole, method, position) {
                match given {
                    Some(argument) => collect(sole, (caller, &argument.name), wanted, depth - 1, ways),
                    None => ways.push(method),
                }
            }
        }
        _ => ways.push(method),
    }
}

/// What the callers of a method give it. What they make a function of is run by others.
fn given(sole: Sole<'_>, method: MethodId, position: u16) -> Vec<(MethodId, Option<&Argument>)> {
    let callers = sole.calls.callers(method);
    let mut given = Vec::new();
    for caller in callers {
        let Some(outline) = sole.outlines.get(*caller) else {
            given.push((*caller, None));
            continue;
        };
        given.extend(sole.sites(outline, method).map(|event| match &event.action {
            Action::Call { arguments, .. } => (*caller, arguments.get(usize::from(position))),
            _ => (*caller, None),
        }));
    }
    if callers.is_empty() {
        given.push((method, None));
    }
    given
}

/// The places that make what a name means.
fn made(sole: Sole<'_>, method: MethodId, name: &Name) -> Option<Made> {
    let field = match (name.steps.last(), name.start) {
        (Some(NameStep::Field(field)), _) => *field,
        (None, Start::Static(field)) => field,
        (None, Start::New(register)) => return Some(Made::from_slice(&[(method, register)])),
        _ => return None,
    };
    let program = sole.program;
    let wanted = program.resolve_field(field).filter(|_| program.is_final_field(field))?;
    let mut found = Made::new();
    for method in program.methods_of(program.class_of_field(wanted)) {
        for event in sole.outlines.get(method).into_iter().flat_map(|outline| &outline.events) {
            let Action::Write { member: Member::Field(written) | Member::Static(written), stored, .. } = &event.action
            else {
                continue;
            };
            if program.resolve_field(*written) != Some(wanted) {
                continue;
            }
            for object in &stored.objects {
                match object {
                    Object::New { register, .. } => found.push((method, *register)),
                    _ => return None,
                }
            }
        }
    }
    (!found.is_empty()).then_some(found)
}
