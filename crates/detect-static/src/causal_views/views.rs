//! Views: which variables of which objects a section reads, and which it writes.

use program::outline::{Action, EventId, Member, Name, NameStep, Object, SectionSet, Start};
use program::summary::{Access, AccessId, Summary};
use program::{HeldLock, LockKind, MethodId, Variable, Whole, locks, locks_of};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::threads::is_in_making;

/// Sections that touch more than this many variables say little about any two of them.
const MAX_VIEW: usize = 16;

/// More sections with the same two variables than this are not kept.
const MAX_JOINT: usize = 16;

/// A variable of one object, as a method names the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Item {
    pub(super) variable: Variable,
    /// The object that has the field; none for a static.
    owner: Option<Name>,
}

/// The object whose field refers to a container or array of this name, or to one that has it.
fn held(name: &Name) -> Option<Name> {
    let field = name.steps.iter().rposition(|step| matches!(step, NameStep::Field(_)))?;
    Some(Name { start: name.start, steps: name.steps[..field].into() })
}

impl Item {
    /// What an access touches, if the object has a name and others may have it.
    pub(super) fn of(whole: &Whole<'_>, method: MethodId, access: &Access) -> Option<Item> {
        let variable = own(whole, access)?;
        let owner = match (access.member, variable) {
            (Member::Static(_), _) => None,
            (_, Variable::Field(_)) => Some(access.base.clone()),
            (_, Variable::Held(_) | Variable::Within(_)) => held(&access.object()),
        };
        if let Some(owner) = &owner
            && (matches!(owner.start, Start::New(_) | Start::Unknown) || is_made(whole, method, owner))
        {
            return None;
        }
        if is_in_making(whole, method, access) {
            return None;
        }
        Some(Item { variable, owner })
    }
}

/// The variable of an access, if it is one of the program's own: not so the console.
pub(super) fn own(whole: &Whole<'_>, access: &Access) -> Option<Variable> {
    let variable = Variable::of(whole.program, access)?;
    whole.program.is_checked(whole.program.class_of_field(variable.field())).then_some(variable)
}

/// Whether the object is the one that a constructor makes.
fn is_made(whole: &Whole<'_>, method: MethodId, owner: &Name) -> bool {
    let name = whole.program.names.text(whole.program.method(method).name);
    owner.start == Start::Parameter(0) && owner.steps.is_empty() && name == "<init>"
}

/// Where one side of a pair is, seen from what both sides have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Side {
    Static,
    Below(SmallVec<[NameStep; 2]>),
    /// One of two objects that have nothing in common but their class.
    Sibling,
}

/// Two variables of objects that belong together, whatever a method calls the objects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pair {
    first: (Variable, Side),
    second: (Variable, Side),
}

impl Pair {
    /// None if the two are one, or if nothing tells how the objects belong together.
    pub(super) fn of(whole: &Whole<'_>, first: &Item, second: &Item) -> Option<Pair> {
        let (a, b) = match (&first.owner, &second.owner) {
            _ if first == second => return None,
            (None, None) => (Side::Static, Side::Static),
            // The same field of two objects: from here to there.
            (Some(_), Some(_)) if first.variable == second.variable => (Side::Sibling, Side::Sibling),
            (Some(a), Some(b)) if a.start == b.start => {
                let common = a.steps.iter().zip(&b.steps).take_while(|(a, b)| a == b).count();
                (below(whole, &a.steps[common..])?, below(whole, &b.steps[common..])?)
            }
            _ => return None,
        };
        Some(Pair { first: (first.variable, a), second: (second.variable, b) })
    }
}

/// A position in an array means something in its own method only, and a field that changes is not the same object later.
fn below(whole: &Whole<'_>, steps: &[NameStep]) -> Option<Side> {
    let is_fixed = |step: &NameStep| match step {
        NameStep::Field(field) => whole.program.is_final_field(*field),
        NameStep::Constant(_) => true,
        NameStep::Element(_) | NameStep::Some => false,
    };
    steps.iter().all(is_fixed).then(|| Side::Below(steps.iter().copied().collect()))
}

/// A section that touches both variables of a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Joint {
    pub(super) method: MethodId,
    pub(super) first: AccessId,
    pub(super) second: AccessId,
}

/// The sections that write both variables of a pair, and those that read both.
pub(super) struct Joints {
    writes: FxHashMap<Pair, Vec<Joint>>,
    reads: FxHashMap<Pair, Vec<Joint>>,
    /// Variables of pairs that are written, and that are read.
    written: FxHashSet<Variable>,
    read: FxHashSet<Variable>,
}

impl Joints {
    pub(super) fn of(whole: &Whole<'_>) -> Joints {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        let collect = |is_write: bool| {
            let mut variables: FxHashSet<Variable> = FxHashSet::default();
            let found: Vec<(Pair, Joint)> =
                methods.par_iter().flat_map_iter(|method| joints(whole, *method, is_write)).collect();
            let mut all: FxHashMap<Pair, Vec<Joint>> = FxHashMap::default();
            for (pair, joint) in found {
                variables.insert(pair.first.0);
                let known = all.entry(pair).or_default();
                if known.len() < MAX_JOINT && !known.contains(&joint) {
                    known.push(joint);
                }
            }
            (all, variables)
        };
        let ((writes, written), (reads, read)) = (collect(true), collect(false));
        Joints { writes, reads, written, read }
    }

    /// Whether some section writes the variable with another one.
    pub(super) fn writes(&self, variable: Variable) -> bool {
        self.written.contains(&variable)
    }

    /// Whether some section reads the variable with another one.
    pub(super) fn reads(&self, variable: Variable) -> bool {
        self.read.contains(&variable)
    }

    /// The sections that write a field of two objects.
    pub(super) fn of_two(&self, variable: Variable) -> &[Joint] {
        self.writing(&Pair { first: (variable, Side::Sibling), second: (variable, Side::Sibling) })
    }

    pub(super) fn writing(&self, pair: &Pair) -> &[Joint] {
        self.writes.get(pair).map_or(&[], Vec::as_slice)
    }

    pub(super) fn reading(&self, pair: &Pair) -> &[Joint] {
        self.reads.get(pair).map_or(&[], Vec::as_slice)
    }
}

/// Whether a call is given a function that the method has made.
fn gives_function(whole: &Whole<'_>, method: MethodId, call: EventId) -> bool {
    let Some(outline) = whole.summaries.outline(method) else { return false };
    let is_function = |object: &Object| match object {
        Object::Event(made) => matches!(outline.events[made.index()].action, Action::Lambda { .. }),
        _ => false,
    };
    match &outline.events[call.index()].action {
        Action::Call { arguments, .. } => arguments.iter().any(|argument| argument.objects.iter().any(is_function)),
        _ => false,
    }
}

/// The pairs that sections of this method itself touch, each both ways around.
fn joints(whole: &Whole<'_>, method: MethodId, is_write: bool) -> Vec<(Pair, Joint)> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, section) in summary.sections.iter().enumerate() {
        if section.kind == LockKind::Own {
            continue;
        }
        // What a function of this method does, or has done, is in the section of whoever runs it.
        let is_given = section.call.is_some_and(|call| gives_function(whole, method, call));
        let is_own =
            |access: &Access| section.call.is_none() || is_given || whole.program.is_lambda(access.spot.method);
        let is_here = |access: &Access| access.held.contains(number) && is_own(access);
        let view = view(whole, method, summary, is_write, is_here);
        if view.len() > MAX_VIEW {
            continue;
        }
        for (index, (first, item)) in view.iter().enumerate() {
            for (second, other) in &view[index + 1..] {
                if is_write && !may_both_happen(whole, method, summary, *first, *second) {
                    continue;
                }
                for (first, item, second, other) in [(first, item, second, other), (second, other, first, item)] {
                    if let Some(pair) = Pair::of(whole, item, other) {
                        found.push((pair, Joint { method, first: *first, second: *second }));
                    }
                }
            }
        }
    }
    found
}

/// Whether two accesses can happen in one call of the method: `if (..) return idle.pop(); existing++;` does one of the two.
fn may_both_happen(whole: &Whole<'_>, method: MethodId, summary: &Summary, first: AccessId, second: AccessId) -> bool {
    let Some(outline) = whole.summaries.outline(method) else { return true };
    let [one, other] = [first, second].map(|access| summary.accesses[access.index()].event);
    one == other || outline.may_follow(one, other) || outline.may_follow(other, one)
}

/// What some accesses of a summary read, or write: each variable of each object once, by its first access.
pub(super) fn view(
    whole: &Whole<'_>,
    method: MethodId,
    summary: &Summary,
    is_write: bool,
    wanted: impl Fn(&Access) -> bool,
) -> Vec<(AccessId, Item)> {
    let mut view: Vec<(AccessId, Item)> = Vec::new();
    for (index, access) in summary.accesses.iter().enumerate() {
        if access.is_write != is_write || !wanted(access) {
            continue;
        }
        if let Some(item) = Item::of(whole, method, access)
            && view.iter().all(|(_, known)| *known != item)
        {
            view.push((AccessId(index as u32), item));
        }
    }
    view
}

/// Sections that are open at both accesses.
pub(super) fn common(first: &Access, second: &Access) -> SectionSet {
    SectionSet(first.held.0 & second.held.0)
}

/// The locks of some sections of a method, by all names that it has for them.
pub(super) fn locks_over(
    whole: &Whole<'_>,
    method: MethodId,
    summary: &Summary,
    sections: SectionSet,
) -> Vec<HeldLock> {
    match whole.summaries.outline(method) {
        Some(outline) => locks_of(summary, outline, sections),
        None => locks(summary, sections),
    }
}
