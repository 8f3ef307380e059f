//! Objects with two names: what one component was given for a final field of its own, another one has in a final field, too.
//!
//! `store = new Store(); quota = new Quota(store);` makes `this.quota.store` and `this.store` one object, as long as nobody
//! can set either anew. The same for what is captured by a lambda.

use std::collections::hash_map::Entry;

use location::{FieldName, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

use super::compose::{extend, extend_by};
use crate::calls::Calls;
use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::outline::{Action, Argument, Event, Member, Name, NameStep, Outline, Start};

/// Longer chains of names for one object are not followed.
const MAX_RENAMES: usize = 4;

/// Which names are another name of something.
#[derive(Default)]
pub(super) struct Twins {
    /// By a field, and a field of what it holds: another name, where parameter 0 is the object that has the former.
    fields: FxHashMap<(FieldId, FieldId), Name>,
    /// By a parameter of a method, and a field of what it is: another name in the method.
    parameters: FxHashMap<(MethodId, u16, FieldId), Name>,
    /// What the latter fields are called.
    second: FxHashSet<Symbol>,
}

/// The fields that keep what their constructor is given, with the position of the parameter, by class.
type Kept = FxHashMap<ClassId, Vec<(FieldId, u16)>>;

impl Twins {
    /// `kept`: by final field, the parameter of the only constructor that is kept there as it is.
    pub(super) fn of<'o>(
        program: &Program,
        calls: &Calls,
        outline: impl Fn(MethodId) -> Option<&'o Outline>,
        of_caller: impl Fn(MethodId) -> Option<&'o Outline>,
        kept: &FxHashMap<FieldId, u16>,
    ) -> Twins {
        let mut by_class: Kept = FxHashMap::default();
        let mut in_order: Vec<(FieldId, u16)> = kept.iter().map(|(field, position)| (*field, *position)).collect();
        in_order.sort_unstable();
        for (field, position) in in_order {
            by_class.entry(program.class_of_field(field)).or_default().push((field, position));
        }
        let mut found = Finding {
            program,
            kept: by_class,
            fields: FxHashMap::default(),
            parameters: FxHashMap::default(),
            foreign: FxHashSet::default(),
        };
        for method in program.methods() {
            if let Some(outline) = outline(method) {
                found.constructed(method, outline);
                found.made(calls, outline);
            }
        }
        let is_seen = |field: FieldId| {
            let constructor = program.names.intern("<init>");
            let methods = program.methods_of(program.class_of_field(field));
            let mut constructors = methods.filter(|method| program.method(*method).name == constructor);
            constructors.all(|method| calls.callers(method).iter().all(|caller| of_caller(*caller).is_some()))
        };
        let told = found.fields.into_iter().filter_map(|(key, name)| name.map(|name| (key, name)));
        let is_known =
            |holder: FieldId| !found.foreign.contains(&holder) && (!kept.contains_key(&holder) || is_seen(holder));
        let fields: FxHashMap<_, _> = told.filter(|((holder, _), _)| is_known(*holder)).collect();
        let parameters: FxHashMap<_, _> =
            found.parameters.into_iter().filter_map(|(key, name)| name.map(|name| (key, name))).collect();
        let second = fields.keys().map(|(_, second)| *second).chain(parameters.keys().map(|(_, _, second)| *second));
        let second = second.map(|field| program.field(field).name).collect();
        Twins { fields, parameters, second }
    }

    /// The one name that all names of an object have in common, as far as is known.
    pub(super) fn first_name(&self, program: &Program, method: MethodId, name: Name) -> Name {
        let mut name = name;
        for _ in 0..MAX_RENAMES {
            match self.other_name(program, method, &name) {
                Some(other) => name = other,
                None => break,
            }
        }
        name
    }

    fn other_name(&self, program: &Program, method: MethodId, name: &Name) -> Option<Name> {
        let field = |at: usize| match name.steps.get(at) {
            Some(NameStep::Field(field)) => Some(*field),
            _ => None,
        };
        let second = |at: usize| {
            let field = field(at).filter(|field| self.second.contains(&field.name))?;
            program.resolve_field(field)
        };
        if let (Start::Parameter(position), Some(second)) = (name.start, second(0))
            && let Some(other) = self.parameters.get(&(method, position, second))
        {
            return Some(extend(other.clone(), &name.steps[1..]));
        }
        (1..name.steps.len()).find_map(|at| {
            let holder = program.resolve_field(field(at - 1).filter(|_| second(at).is_some())?)?;
            let other = self.fields.get(&(holder, second(at)?))?;
            let from = match other.start {
                Start::Parameter(_) => Name { start: name.start, steps: name.steps[..at - 1].into() },
                start => Name::start(start),
            };
            Some(extend(extend_by(&from, &from.steps.then(&other.steps)), &name.steps[at + 1..]))
        })
    }
}

/// What is found, where none stands for places that do not agree.
struct Finding<'p> {
    program: &'p Program,
    kept: Kept,
    fields: FxHashMap<(FieldId, FieldId), Option<Name>>,
    parameters: FxHashMap<(MethodId, u16, FieldId), Option<Name>>,
    /// Fields that are given objects which somebody else has made.
    foreign: FxHashSet<FieldId>,
}

/// A name that something gets, relative to the object or method that has it from then on, and what it is called where it is
/// given.
type Given<'o> = (Name, &'o Name);

impl<'o> Finding<'_> {
    /// A constructor stores to its own fields what it makes for them.
    fn constructed(&mut self, method: MethodId, outline: &'o Outline) {
        let program = self.program;
        if program.names.text(program.method(method).name) != "<init>" {
            return;
        }
        let this = Name::start(Start::Parameter(0));
        let stored = outline.events.iter().filter_map(|event| match &event.action {
            Action::Write { base, member: Member::Field(field), stored, .. } => {
                let is_own = *base == this && program.is_final_field(*field);
                is_own.then(|| (this.then(&[NameStep::Field(*field)]), &stored.name))
            }
            _ => None,
        });
        self.held(outline, stored.collect(), true);
    }

    /// An object is made with others, or a lambda that captures them.
    fn made(&mut self, calls: &Calls, outline: &'o Outline) {
        let program = self.program;
        for event in &outline.events {
            if let Some((class, arguments)) = constructor(program, event) {
                let this = Name::start(Start::Parameter(0));
                let fields = self.kept.get(&class).map_or(&[][..], Vec::as_slice);
                let given = fields.iter().filter_map(|(field, position)| {
                    let name = this.then(&[NameStep::Field(program.field_name(*field))]);
                    arguments.get(usize::from(*position)).map(|given| (name, &given.name))
                });
                self.held(outline, given.collect(), false);
            }
            if let Action::Lambda { method, arguments, .. } = &event.action
                && let [target] = *calls.lambda_targets(program, *method).known()
            {
                let name = |position: usize| Name::start(Start::Parameter(position as u16));
                let given = arguments.iter().enumerate().map(|(position, given)| (name(position), &given.name));
                for (holder, second, other) in self.twins(outline, &given.collect::<Vec<_>>(), false) {
                    if let Start::Parameter(position) = holder.start {
                        agree(self.parameters.entry((target, position, second)), other);
                    }
                }
            }
        }
    }

    /// Fields of one object get something.
    fn held(&mut self, outline: &'o Outline, given: Vec<Given<'o>>, in_constructor: bool) {
        let program = self.program;
        let field = |name: &Name| match name.steps.last() {
            Some(NameStep::Field(field)) => program.resolve_field(*field),
            _ => None,
        };
        for (name, called) in &given {
            let is_kept = in_constructor && matches!(called.start, Start::Parameter(_));
            if !is_kept && made_with(program, outline, called).is_none() {
                self.foreign.extend(field(name));
            }
        }
        for (holder, second, other) in self.twins(outline, &given, in_constructor) {
            if let Some(holder) = field(&holder) {
                agree(self.fields.entry((holder, second)), other);
            }
        }
    }

    /// For each of these that is made in this method, and each field that keeps what it was made with: its other name, if
    /// the same goes to another one of these, or was given to one of them before.
    fn twins(
        &self,
        outline: &'o Outline,
        given: &[Given<'o>],
        in_constructor: bool,
    ) -> Vec<(Name, FieldId, Option<Name>)> {
        let program = self.program;
        let mut before: Vec<Given<'o>> = Vec::new();
        let mut found = Vec::new();
        for (holder, called) in given {
            let Some((class, arguments)) = made_with(program, outline, called) else { continue };
            for (second, position) in self.kept.get(&class).into_iter().flatten() {
                let Some(part) = arguments.get(usize::from(*position)).map(|part| &part.name) else { continue };
                let name = holder.then(&[NameStep::Field(program.field_name(*second))]);
                let same =
                    given.iter().chain(&before).find(|(_, other)| **other == *part).map(|(name, _)| name.clone());
                let other = match part.start {
                    _ if !self.is_fixed(part) => None,
                    Start::Static(_) => Some(part.clone()),
                    // In a constructor, the object itself and its fields are called as they are from then on.
                    Start::Parameter(0) if in_constructor => Some(part.clone()),
                    _ => same,
                };
                if other.is_none() {
                    before.push((name, part));
                }
                found.push((holder.clone(), *second, other));
            }
        }
        found
    }

    /// Whether a name means the same object whenever it is used.
    fn is_fixed(&self, name: &Name) -> bool {
        let is_final = |field: &FieldName| self.program.is_final_field(*field);
        !matches!(name.start, Start::Unknown | Start::Local(_))
            && !matches!(name.start, Start::Static(field) if !is_final(&field))
            && name.steps.iter().all(|step| matches!(step, NameStep::Field(field) if is_final(field)))
    }
}

/// The class whose object is made by an event, and what it is made with.
fn constructor<'o>(program: &Program, event: &'o Event) -> Option<(ClassId, &'o [Argument])> {
    let Action::Call { method, arguments, .. } = &event.action else { return None };
    let is_new = matches!(arguments.first()?.name, Name { start: Start::New(_), ref steps } if steps.is_empty());
    (is_new && program.names.text(method.name) == "<init>").then_some((program.class(method.class)?, arguments))
}

/// The same for something that is made in a method, by what it is called there.
fn made_with<'o>(program: &Program, outline: &'o Outline, called: &Name) -> Option<(ClassId, &'o [Argument])> {
    if !matches!(called.start, Start::New(_)) || !called.steps.is_empty() {
        return None;
    }
    let made = outline.events.iter().filter_map(|event| constructor(program, event));
    made.into_iter().find(|(_, arguments)| arguments.first().is_some_and(|made| made.name == *called))
}

/// Places that do not agree leave none.
fn agree<K>(entry: Entry<'_, K, Option<Name>>, name: Option<Name>) {
    match entry {
        Entry::Vacant(entry) => {
            entry.insert(name);
        }
        Entry::Occupied(mut entry) if *entry.get() != name => {
            entry.insert(None);
        }
        Entry::Occupied(_) => {}
    }
}
