//! Which locks are held around a method by whoever calls it, and whether one lock covers all writes of a variable.

use rustc_hash::FxHashSet;

use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::lock::LockKind;
use crate::outline::{Action, Argument, Name, SectionSet, Start};
use crate::path::MAX_STEPS;
use crate::summary::{Summaries, Summary};
use crate::variable::{Variable, Variables};

/// Callers further up than this are not asked.
const MAX_CLIMB: usize = 6;

/// A lock that is held, by its name in some method.
pub type HeldLock = (Name, LockKind);

/// How a lock is reached from the object that it covers: from the object go back over some steps, then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// Steps from the common owner to the object; the lock is static if there is no owner.
    object: Option<Name>,
    lock: Name,
    kind: LockKind,
}

impl Relation {
    /// The relation between an object and a lock that are both named in one method.
    pub fn between(object: &Name, lock: &Name, kind: LockKind) -> Option<Relation> {
        if lock.is_unknown() {
            return None;
        }
        if matches!(lock.start, Start::Static(_) | Start::Class(_)) {
            return Some(Relation { object: None, lock: lock.clone(), kind });
        }
        if object.start != lock.start {
            return None;
        }
        let common = object.steps.iter().zip(&lock.steps).take_while(|(a, b)| a == b).count();
        let rest = |name: &Name| Name { start: Start::Unknown, steps: name.steps[common..].iter().copied().collect() };
        Some(Relation { object: Some(rest(object)), lock: rest(lock), kind })
    }

    /// Whether one of the held locks is in this relation to an object of this name.
    fn is_held(&self, object: &Name, held: &[HeldLock]) -> bool {
        let wanted = match &self.object {
            None => self.lock.clone(),
            Some(suffix) => {
                let Some(kept) = object.steps.len().checked_sub(suffix.steps.len()) else { return false };
                if object.is_unknown() || object.steps[kept..] != suffix.steps[..] {
                    return false;
                }
                let mut owner = Name { start: object.start, steps: object.steps[..kept].iter().copied().collect() };
                owner.steps.extend(self.lock.steps.iter().copied());
                owner
            }
        };
        held.iter().any(|(lock, kind)| *kind == self.kind && lock.same(&wanted))
    }
}

/// Asks about callers.
pub struct Cover<'c> {
    program: &'c Program,
    calls: &'c Calls,
    summaries: &'c Summaries,
}

impl<'c> Cover<'c> {
    pub fn new(program: &'c Program, calls: &'c Calls, summaries: &'c Summaries) -> Cover<'c> {
        Cover { program, calls, summaries }
    }

    /// Whether every write of the variable, outside construction, happens under a lock in this relation to the object
    /// that is written.
    pub fn covers(&self, variables: &Variables, variable: Variable, relation: &Relation) -> bool {
        variables.writers(variable).iter().all(|place| {
            let Some(summary) = self.summaries.summary(place.method) else { return false };
            let access = &summary.accesses[place.access.index()];
            let held = locks(summary, access.held);
            let mut asked = FxHashSet::default();
            self.is_under(place.method, &access.base, &held, relation, MAX_CLIMB, &mut asked)
        })
    }

    /// Whether an object that a method touches is under such a lock there, or in all callers.
    fn is_under(
        &self,
        method: MethodId,
        object: &Name,
        held: &[HeldLock],
        relation: &Relation,
        climb: usize,
        asked: &mut FxHashSet<MethodId>,
    ) -> bool {
        if relation.is_held(object, held) || matches!(object.start, Start::New(_)) {
            return true;
        }
        if climb == 0 || !asked.insert(method) {
            return false;
        }
        let mut is_called = false;
        let callers = self.calls.callers(method);
        let all = callers.iter().all(|caller| {
            let Some(outline) = self.summaries.outline(*caller) else { return false };
            self.call_sites(*caller, method).all(|(event, arguments)| {
                is_called = true;
                let held: Vec<HeldLock> = outline.events[event]
                    .held
                    .iter()
                    .filter_map(|section| outline.sections.get(section))
                    .map(|section| (section.lock.clone(), section.kind))
                    .collect();
                let object = from_caller(object, arguments);
                self.is_under(*caller, &object, &held, relation, climb - 1, asked)
            })
        });
        asked.remove(&method);
        is_called && all
    }

    /// The places in `caller` that call `method`, or make it as a lambda.
    fn call_sites(&self, caller: MethodId, method: MethodId) -> impl Iterator<Item = (usize, &[Argument])> {
        let outline = self.summaries.outline(caller);
        outline.into_iter().flat_map(|outline| outline.events.iter().enumerate()).filter_map(move |(index, event)| {
            match &event.action {
                Action::Call { kind, method: called, arguments } => {
                    let targets = self.calls.targets(self.program, *kind, *called);
                    targets.known().contains(&method).then_some((index, arguments.as_slice()))
                }
                Action::Lambda { method: made, arguments } => {
                    let target = self.calls.hierarchy.resolve_name(self.program, *made);
                    (target == Some(method)).then_some((index, arguments.as_slice()))
                }
                _ => None,
            }
        })
    }

    /// Whether a lock that the method knows by this name is held wherever it is called. Only methods that no unknown
    /// code can call have an answer other than no.
    pub fn is_held_by_callers(&self, method: MethodId, lock: &HeldLock, climb: usize) -> bool {
        let access = self.program.method(method).access;
        let class = self.program.header(self.program.class_of(method));
        let is_hidden =
            access.is_private() || !(access.is_public() || access.is_protected()) || !class.access.is_public();
        if climb == 0 || !is_hidden {
            return false;
        }
        let mut is_called = false;
        let all = self.calls.callers(method).iter().all(|caller| {
            self.call_sites(*caller, method).all(|(event, arguments)| {
                is_called = true;
                let Some(outline) = self.summaries.outline(*caller) else { return false };
                let event = &outline.events[event];
                if matches!(event.action, Action::Lambda { .. }) {
                    return false;
                }
                let name = from_caller(&lock.0, arguments);
                let here = event.held.iter().filter_map(|section| outline.sections.get(section));
                let mut here = here.map(|section| (&section.lock, section.kind));
                here.any(|(held, kind)| kind == lock.1 && held.same(&name))
                    || self.is_held_by_callers(*caller, &(name, lock.1), climb - 1)
            })
        });
        is_called && all
    }
}

/// The locks of some sections of a summary.
pub fn locks(summary: &Summary, sections: SectionSet) -> Vec<HeldLock> {
    sections.iter().map(|section| (summary.sections[section].lock.clone(), summary.sections[section].kind)).collect()
}

/// A name of the callee as the caller has it.
fn from_caller(name: &Name, arguments: &[Argument]) -> Name {
    match name.start {
        Start::Parameter(position) => match arguments.get(usize::from(position)) {
            Some(argument)
                if !argument.name.is_unknown() && argument.name.steps.len() + name.steps.len() <= MAX_STEPS =>
            {
                let mut own = argument.name.clone();
                own.steps.extend(name.steps.iter().copied());
                own
            }
            _ => Name::start(Start::Unknown),
        },
        Start::Static(_) | Start::Class(_) => name.clone(),
        _ => Name::start(Start::Unknown),
    }
}
