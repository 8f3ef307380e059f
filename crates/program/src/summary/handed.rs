//! Containers that are handed on from field to field: `new Worker(table)` keeps what another object has in a field of its own,
//! and both are what was made for the first.

use location::FieldName;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::holding::{Asking, Holding, MAX_CALLERS, MAX_DEPTH, agree, all_agree, stores};
use crate::captured::Captured;
use crate::class::{FieldId, MethodId, Program};
use crate::outline::{Action, Member, Object, Objects, Outline};

/// So many times what is in a field is followed to the field of an object that it is given to.
const MAX_HANDED_ON: usize = 2;

/// Objects of a method, of which something may be known when it is known what fields hold.
pub(super) type Late = (MethodId, Objects);

/// What is stored to a field, and what that is if it is not known.
type Stores = Vec<(Holding, Option<Late>)>;

/// The same by field.
pub(super) type AllLate = FxHashMap<FieldId, Stores>;

/// Whether a field is declared as something that the library has, and may hold a container.
pub(super) fn is_container(program: &Program, field: FieldId) -> bool {
    program.names.text(program.field(field).descriptor).starts_with("Ljava/util/")
}

/// What fields hold by what is stored there in methods with outlines, with what others store and what captured locals have.
pub(super) fn settled<'o>(
    asking: Asking<'_>,
    outline: &(impl Fn(MethodId) -> Option<&'o Outline> + Sync),
    mut fields: FxHashMap<FieldId, Holding>,
    mut late: AllLate,
    captured: &Captured,
) -> FxHashMap<FieldId, Holding> {
    let Asking { program, calls, .. } = asking;
    // Where stores do not agree already, no others change that.
    let is_open = |field: &FieldId| {
        late.contains_key(field) || fields.get(field).is_none_or(|known| *known != Holding::default())
    };
    let given = given_from(asking, &late);
    let asked: FxHashSet<FieldId> = fields.keys().chain(&given).copied().filter(is_open).collect();
    let names = program.plain_names(&asked);
    let is_asked = |field: FieldName| {
        let found = names.contains(&field.name).then(|| program.resolve_field(field)).flatten();
        found.filter(|field| asked.contains(field))
    };
    let mut writers = calls.touched.writers_of(&asked);
    writers.retain(|method| outline(*method).is_none());
    let others = program.visit_bodies_of(&writers, |_, body| stores(program, calls, &body, &is_asked));
    for (field, holding) in others.into_iter().flatten().flatten() {
        late.entry(field).and_modify(|stored| stored.push((holding, None)));
        agree(&mut fields, field, holding);
    }
    handed_on(asking, &mut fields, late);
    for (field, origins) in captured.all() {
        for (method, object) in origins {
            agree(&mut fields, field, asking.object(*method, *object, MAX_DEPTH));
        }
    }
    fields.retain(|_, holding| *holding != Holding::default());
    fields
}

/// Fields whose containers callers give to what keeps them: `new Worker(table)`.
fn given_from(asking: Asking<'_>, late: &AllLate) -> FxHashSet<FieldId> {
    let Asking { program, calls, .. } = asking;
    let kept = late.values().flatten().filter_map(|(_, objects)| match objects {
        Some((method, objects)) => match objects.as_slice() {
            [Object::Parameter(position)] => Some((*method, *position)),
            _ => None,
        },
        None => None,
    });
    let mut found = FxHashSet::default();
    for (method, position) in kept {
        let callers = calls.callers(method);
        let is_asked = |caller: &&MethodId| calls.is_behind_interface(**caller);
        for caller in callers.iter().filter(|_| callers.len() <= MAX_CALLERS).filter(is_asked) {
            let Some(outline) = asking.outlines.get(*caller) else { continue };
            for event in &outline.events {
                let Action::Call { method: called, arguments, .. } = &event.action else { continue };
                let given = arguments.get(usize::from(position)).filter(|_| called.name == program.method(method).name);
                let objects = given.map(|given| given.objects.as_slice()).unwrap_or_default();
                found.extend(objects.iter().filter_map(|object| match object {
                    Object::Event(read) => match &outline.events[read.index()].action {
                        Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                            program.resolve_field(*field).filter(|field| is_container(program, *field))
                        }
                        _ => None,
                    },
                    _ => None,
                }));
            }
        }
    }
    found
}

/// Adds what fields hold that are given what other fields hold: `new Worker(table)`.
fn handed_on(asking: Asking<'_>, fields: &mut FxHashMap<FieldId, Holding>, late: AllLate) {
    let mut open: Vec<(FieldId, Stores)> =
        late.into_iter().filter(|(field, _)| fields.get(field) == Some(&Holding::default())).collect();
    for _ in 0..MAX_HANDED_ON {
        let asking = Asking { fields: Some(fields), ..asking };
        let known: Vec<Holding> = open
            .par_iter()
            .map(|(_, stored)| {
                all_agree(stored.iter().map(|(holding, objects)| match objects {
                    Some((method, objects)) => asking.objects(*method, objects, MAX_DEPTH),
                    None => *holding,
                }))
            })
            .collect();
        if known.iter().all(|holding| *holding == Holding::default()) {
            break;
        }
        let mut known = known.into_iter();
        open.retain(|(field, _)| {
            let holding = known.next().unwrap_or_default();
            let is_open = holding == Holding::default();
            if !is_open {
                fields.insert(*field, holding);
            }
            is_open
        });
    }
}
