//! How a run may come close to a unit and go another way: which methods lead to it, and where its variables are accessed
//! besides.
//!
//! `if (isFull) evict(); else look();` leads to `evict`, whichever branch a run takes. Whoever looks has its hands on what
//! `evict` is about. So does `policy.apply(store)`, whichever of a few policies a run was given. Who touches what only the
//! object has that the unit is about, in a method that leads there with this object, has that object in its hands as well.

use std::collections::BTreeSet;

use finding::{Detour, Suspicion};
use location::{MethodName, MethodPlace, Place, Site};
use program::outline::{Action, Member, Name, NameStep, Start};
use program::summary::{Access, Spot};
use program::{MethodId, Program, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many calls may lead from a method to a unit.
const MAX_CALLS: usize = 3;

/// A call that may run more methods than these says little of where a thread could have gone.
const MAX_MEANINGS: usize = 4;

/// A unit that more methods lead to is known to many, and some of them will come to it.
const MAX_APPROACHES: usize = 16;

/// A variable that is accessed at more places is about more than one thing.
const MAX_TOUCHES: usize = 64;

/// A suspicion, and what its detours are about.
pub(crate) struct Asked {
    pub(crate) suspicion: Suspicion,
    pub(crate) method: MethodId,
    /// What the first part accesses.
    pub(crate) first: BTreeSet<Variable>,
    /// Whether it writes that.
    pub(crate) is_write: bool,
    /// The parameter of the method that has all that, by fields that never change.
    pub(crate) object: Option<u16>,
}

/// The parameter that has all that some accesses touch, by fields that never change.
pub(crate) fn object<'a>(whole: &Whole<'_>, accesses: impl Iterator<Item = &'a Access>) -> Option<u16> {
    let mut positions = accesses.map(|access| match access.member {
        Member::Static(_) => None,
        _ => parameter(whole, &access.base),
    });
    let first = positions.next()??;
    positions.all(|position| position == Some(first)).then_some(first)
}

/// The parameter that a name starts with, if it says for good which object is meant.
fn parameter(whole: &Whole<'_>, name: &Name) -> Option<u16> {
    let is_fixed = |step: &NameStep| matches!(step, NameStep::Field(field) if whole.program.is_final_field(*field));
    match name.start {
        Start::Parameter(position) => name.steps.iter().all(is_fixed).then_some(position),
        _ => None,
    }
}

/// A place in the code that accesses a variable.
#[derive(Clone, Copy)]
struct Touch {
    spot: Spot,
    is_write: bool,
}

/// Gives suspicions their detours.
pub(crate) fn with_detours(whole: &Whole<'_>, asked: Vec<Asked>) -> Vec<Suspicion> {
    let wanted: FxHashSet<Variable> = asked.iter().flat_map(|asked| asked.first.iter().copied()).collect();
    let touches = touches(whole, &wanted);
    let entries = whole.threads().entries();
    let begins: FxHashSet<MethodId> = entries.iter().filter_map(|entry| entry.method).collect();
    asked
        .into_par_iter()
        .map(|Asked { suspicion, method, first, is_write, object }| {
            let mut seen: FxHashSet<Spot> = FxHashSet::default();
            let mut rewrites: Vec<Place> = Vec::new();
            for variable in &first {
                let all = &touches[variable];
                let written: FxHashSet<MethodName> =
                    all.iter().filter(|touch| touch.is_write).map(|touch| touch.spot.method).collect();
                let read = all.iter().filter(|touch| !touch.is_write && written.contains(&touch.spot.method));
                rewrites.extend(read.map(|touch| place(whole.program, &touch.spot)));
            }
            let spots = first.iter().flat_map(|variable| &touches[variable]).map(|touch| touch.spot);
            let spots: Vec<Spot> = spots.filter(|spot| seen.insert(*spot)).collect();
            let approaches = approaches(whole, method, &begins);
            if suspicion.is_split || spots.len() > MAX_TOUCHES || approaches.len() > MAX_APPROACHES {
                return suspicion;
            }
            let witnesses = object.map(|object| witnesses(whole, &approaches, object)).unwrap_or_default();
            let witnesses = witnesses.iter().map(|spot| place(whole.program, spot)).collect();
            let approaches = approaches.into_iter().map(|method| readable(whole.program, method)).collect();
            let touches = spots.into_iter().map(|spot| place(whole.program, &spot)).collect();
            Suspicion { detour: Detour { approaches, touches, rewrites, witnesses, is_write }, ..suspicion }
        })
        .collect()
}

/// By variable: the places in the code that access it.
fn touches(whole: &Whole<'_>, wanted: &FxHashSet<Variable>) -> FxHashMap<Variable, Vec<Touch>> {
    let program = whole.program;
    let mut all: FxHashMap<Variable, Vec<Touch>> = wanted.iter().map(|variable| (*variable, Vec::new())).collect();
    if wanted.is_empty() {
        return all;
    }
    let methods: Vec<MethodId> = program.methods().collect();
    let found: Vec<(Variable, Touch)> = methods
        .par_iter()
        .filter_map(|method| Some((program.method_name(*method), whole.summaries.summary(*method)?)))
        .flat_map_iter(|(name, summary)| {
            let own = summary.accesses.iter().filter(move |access| access.spot.method == name || access.is_given);
            own.filter_map(|access| {
                let touch = Touch { spot: access.spot, is_write: access.is_write };
                Some((Variable::of(program, access)?, touch))
            })
        })
        .filter(|(variable, _)| wanted.contains(variable))
        .collect();
    for (variable, touch) in found {
        all.entry(variable).or_default().push(touch);
    }
    all
}

/// The method itself, and those whose code leads to it by calls that can mean few others. A method that a thread begins
/// with is led to by who starts it, and that is another thread.
fn approaches(whole: &Whole<'_>, method: MethodId, begins: &FxHashSet<MethodId>) -> Vec<MethodId> {
    let (program, calls) = (whole.program, &whole.calls);
    let mut found = vec![method];
    let mut edge = 0..1;
    for _ in 0..MAX_CALLS {
        for index in edge.clone() {
            let callee = found[index];
            if begins.contains(&callee) || found.len() > MAX_APPROACHES {
                continue;
            }
            for caller in calls.callers(callee) {
                if !found.contains(caller) && calls.means_among(program, *caller, callee, MAX_MEANINGS) {
                    found.push(*caller);
                }
            }
        }
        edge = edge.end..found.len();
    }
    found
}

/// Where the code of the methods that lead to a unit, the first of which has it, accesses what the object that the unit is
/// about has for itself alone: whoever was there had that very object. `object`: which parameter it is, or which has it.
fn witnesses(whole: &Whole<'_>, approaches: &[MethodId], object: u16) -> Vec<Spot> {
    let (program, calls) = (whole.program, &whole.calls);
    let mut objects: Vec<Option<u16>> = vec![Some(object)];
    for caller in &approaches[1..] {
        // What it gives to those that are known to lead there; two objects are one too many.
        let mut given = Vec::new();
        for event in whole.summaries.outline(*caller).map(|outline| outline.events.as_slice()).unwrap_or_default() {
            let Action::Call { kind, method, arguments } = &event.action else { continue };
            let targets = calls.targets(program, *kind, *method);
            let known = approaches.iter().zip(&objects).filter(|(callee, _)| targets.known().contains(callee));
            given.extend(known.map(|(_, object)| {
                let argument = arguments.get(usize::from((*object)?))?;
                parameter(whole, &argument.name)
            }));
        }
        let first = given.first().copied().flatten();
        objects.push(first.filter(|_| given.iter().all(|other| *other == first)));
    }
    let mut found: Vec<Spot> = Vec::new();
    for (method, object) in approaches.iter().zip(objects) {
        let (Some(object), Some(summary)) = (object, whole.summaries.summary(*method)) else { continue };
        let name = program.method_name(*method);
        let is_own = |step: &NameStep| match step {
            NameStep::Field(field) => whole.summaries.holdings.is_own(program, *field),
            _ => false,
        };
        let own = summary.accesses.iter().filter(|access| {
            access.spot.method == name
                && !matches!(access.member, Member::Static(_))
                && parameter(whole, &access.base) == Some(object)
                && access.base.steps.iter().all(is_own)
        });
        for access in own {
            if !found.contains(&access.spot) && found.len() < MAX_TOUCHES {
                found.push(access.spot);
            }
        }
    }
    found
}

fn readable(program: &Program, method: MethodId) -> MethodPlace {
    let name = program.method_name(method);
    program.names.place(Site { method: name, pc: 0, file: None, line: None }).method
}

fn place(program: &Program, spot: &Spot) -> Place {
    program.names.place(Site { method: spot.method, pc: spot.pc, file: None, line: spot.line })
}
