//! Views: which variables of which objects a section reads, and which it writes.

use program::outline::{Action, EventId, Member, Name, NameStep, Object, SectionSet, Start};
use program::summary::{Access, AccessId, Summary};
use program::{HeldLock, LockKind, MethodId, Variable, Whole, locks, locks_of};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::threads::{is_in_making, is_shared};

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
    /// Whether the object is one that the method has made, and others have got since.
    pub(super) fn is_of_new(&self) -> bool {
        matches!(&self.owner, Some(Name { start: Start::New(_), .. }))
    }

    /// Whether both are one variable of one object, by the name that it has here or everywhere.
    pub(super) fn is_same(&self, whole: &Whole<'_>, method: MethodId, other: &Item) -> bool {
        let name = |item: &Item| whole.name_everywhere(method, item.owner.as_ref()?);
        self == other
            || self.variable == other.variable
                && !whole.is_large()
                && name(self).is_some_and(|own| name(other) == Some(own))
    }

    /// The same of a library object that the method was given.
    pub(super) fn known(whole: &Whole<'_>, method: MethodId, access: &Access) -> Option<Item> {
        let given = || Some(Item { variable: known(whole, method, access)?, owner: Some(access.base.clone()) });
        Item::of(whole, method, access).or_else(|| given().filter(|_| access.bare_parameter().is_some()))
    }

    /// What an access touches, if the object has a name and others may have it.
    pub(super) fn of(whole: &Whole<'_>, method: MethodId, access: &Access) -> Option<Item> {
        let variable = own(whole, access)?;
        let owner = match (access.member, variable) {
            (Member::Static(_), _) => None,
            (_, Variable::Field(_)) => Some(access.base.clone()),
            (_, Variable::Held(_) | Variable::Within(_)) => held(&access.object()),
        };
        if let Some(owner) = &owner
            && (owner.start == Start::Unknown
                || is_kept_back(whole, method, owner, access)
                || is_made(whole, method, owner))
        {
            return None;
        }
        if is_in_making(whole, method, access) {
            return None;
        }
        Some(Item { variable, owner })
    }
}

/// The variable of an access, or the first one that callers give for the parameter that it is to and threads share.
pub(super) fn known(whole: &Whole<'_>, method: MethodId, access: &Access) -> Option<Variable> {
    let given = || {
        // In large programs what stands out shows where it has a name.
        let position = access.bare_parameter().filter(|_| !whole.is_large())?;
        let given = whole.variables.given(method, position);
        given.iter().copied().find(|variable| is_shared(whole, *variable))
    };
    Variable::of(whole.program, access).or_else(given)
}

/// The variable of an access, if it is one of the program's own: not so the console.
pub(super) fn own(whole: &Whole<'_>, access: &Access) -> Option<Variable> {
    let variable = Variable::of(whole.program, access)?;
    whole.program.is_checked(whole.program.class_of_field(variable.field())).then_some(variable)
}

/// Whether the object is one that the method makes and that nobody else has yet. In large programs nobody looks where it goes.
fn is_kept_back(whole: &Whole<'_>, method: MethodId, owner: &Name, access: &Access) -> bool {
    let Start::New(register) = owner.start else { return false };
    whole.is_large() || !whole.release().is_let_out(method, register, access.event)
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
    /// The only object of its kind, by the name that it has in all methods.
    Only(Name),
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
            (Some(_), Some(_)) if first.variable == second.variable && !first.is_of_new() && !second.is_of_new() => {
                (Side::Sibling, Side::Sibling)
            }
            (Some(a), Some(b)) if a.start == b.start => {
                let common = a.steps.iter().zip(&b.steps).take_while(|(a, b)| a == b).count();
                (below(whole, &a.steps[common..])?, below(whole, &b.steps[common..])?)
            }
            _ => return None,
        };
        Some(Pair { first: (first.variable, a), second: (second.variable, b) })
    }
}

impl Pair {
    /// The same of objects that different classes have, each by a field of its own: the program makes one of each.
    fn of_only(whole: &Whole<'_>, method: MethodId, first: &Item, second: &Item) -> Option<Pair> {
        let name = |item: &Item| whole.name_everywhere(method, item.owner.as_ref()?);
        if first == second || whole.is_large() {
            return None;
        }
        let (a, b) = (name(first)?, name(second)?);
        // What one of them has may have another name, by the other one.
        let are_two = a.start != b.start && a.steps.is_empty() && b.steps.is_empty();
        let pair = || Pair { first: (first.variable, Side::Only(a)), second: (second.variable, Side::Only(b)) };
        are_two.then(pair)
    }

    /// All that two variables are as a pair.
    fn all(whole: &Whole<'_>, method: MethodId, first: &Item, second: &Item) -> impl Iterator<Item = Pair> {
        Pair::of(whole, first, second).into_iter().chain(Pair::of_only(whole, method, first, second))
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

    /// All that two variables are as a pair which some section writes, or reads.
    pub(super) fn pairs(
        &self,
        whole: &Whole<'_>,
        method: MethodId,
        first: &Item,
        second: &Item,
        is_write: bool,
    ) -> impl Iterator<Item = Pair> {
        let known = if is_write { &self.writes } else { &self.reads };
        Pair::all(whole, method, first, second).filter(|pair| known.contains_key(pair))
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
                    let joint = Joint { method, first: *first, second: *second };
                    found.extend(Pair::all(whole, method, item, other).map(|pair| (pair, joint)));
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
