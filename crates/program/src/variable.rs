//! Variables of the whole program: who touches them where, and which belong together.

use location::FieldName;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::class::{FieldId, MethodId, Program};
use crate::model::State;
use crate::outline::{Member, Name, NameStep, Start};
use crate::summary::{Access, AccessId, Spot, Summaries, Summary};

/// A variable of the program: the same field of all objects is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    Field(FieldId),
    /// What the library object or array that a field refers to holds.
    Held(FieldId),
    /// What library objects and arrays hold that are elements of what a field refers to.
    Within(FieldId),
}

impl Variable {
    pub fn field(self) -> FieldId {
        match self {
            Variable::Field(field) | Variable::Held(field) | Variable::Within(field) => field,
        }
    }

    /// The variable that an access touches; `None` if it has no name in the program.
    pub fn of(program: &Program, access: &Access) -> Option<Variable> {
        let resolved = |field: FieldName| program.resolve_field(field);
        match access.member {
            Member::Field(field) | Member::Static(field) => resolved(field).map(Variable::Field),
            Member::Elements | Member::State(State::Contents | State::Value | State::Chars | State::Elements) => {
                let (name, depth) = match &access.within {
                    Some(container) if access.base.steps.is_empty() => (&**container, 1),
                    _ => (&access.base, 0),
                };
                let is_element = |step: &&NameStep| !matches!(step, NameStep::Field(_));
                let elements = name.steps.iter().rev().take_while(is_element).count();
                let kept = name.steps.len() - elements;
                let field = holder(&Name { start: name.start, steps: name.steps[..kept].into() }).and_then(resolved)?;
                Some(if elements + depth == 0 { Variable::Held(field) } else { Variable::Within(field) })
            }
        }
    }

    /// `pkg.Foo.field`
    pub fn readable(self, program: &Program) -> String {
        program.readable_field(self.field())
    }
}

/// The field that a name ends with.
pub(crate) fn holder(name: &Name) -> Option<FieldName> {
    match (name.steps.last(), name.start) {
        (Some(NameStep::Field(field)), _) => Some(*field),
        (None, Start::Static(field)) => Some(field),
        _ => None,
    }
}

/// One access in the method whose code has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub method: MethodId,
    pub access: AccessId,
}

#[derive(Default)]
pub struct Variables {
    writers: FxHashMap<Variable, Vec<Place>>,
    /// Pairs that some section touches together, the smaller first; and how many of the two one of those sections writes.
    together: FxHashMap<(Variable, Variable), u8>,
    /// What methods give to other code, and where that touches it, in the order of methods.
    gifts: Vec<(MethodId, Spot, Variable)>,
    /// By parameter: the variables that callers give whose contents the method touches, each once.
    given: FxHashMap<(MethodId, u16), Vec<Variable>>,
}

/// Sections that touch more than this many variables say little about any two of them.
const MAX_VIEW: usize = 16;

/// More variables than this that are given for one parameter are not looked at.
const MAX_GIVEN: usize = 8;

/// What one method adds.
#[derive(Default)]
struct Found {
    writes: Vec<(Variable, Place)>,
    /// Pairs, the smaller first, and how many of the two are written.
    pairs: Vec<((Variable, Variable), u8)>,
    /// Variables that it gives to other code, and where that touches them.
    given: Vec<(Spot, Variable)>,
}

impl Found {
    fn of(program: &Program, method: MethodId, summary: &Summary, is_constructor: bool) -> Found {
        let name = program.method_name(method);
        let mut found = Found::default();
        // By section: what it touches, and whether it writes it.
        let mut views: Vec<Vec<(Variable, bool)>> = vec![Vec::new(); summary.sections.len()];
        for (index, access) in summary.accesses.iter().enumerate() {
            let is_own = access.spot.method == name || access.is_given;
            if access.held.is_empty() && !(access.is_write && is_own) && !access.is_given {
                continue;
            }
            let Some(variable) = Variable::of(program, access) else { continue };
            if access.is_given {
                found.given.push((access.spot, variable));
            }
            // What a function of this method does is in the section of whoever runs it.
            let is_own_section =
                |section: &usize| summary.sections[*section].call.is_none() || program.is_lambda(access.spot.method);
            for section in access.held.iter().filter(is_own_section) {
                views[section].push((variable, access.is_write));
            }
            // An object under construction has not been handed out.
            let is_fresh = matches!(access.base.start, Start::New(_))
                || (is_constructor && matches!(access.base.start, Start::Parameter(0) | Start::Unknown));
            if access.is_write && is_own && !is_fresh {
                found.writes.push((variable, Place { method, access: AccessId(index as u32) }));
            }
        }
        for mut view in views {
            view.sort_unstable();
            // Of equal ones the last says whether one writes.
            view.reverse();
            view.dedup_by_key(|(variable, _)| *variable);
            view.reverse();
            if view.len() > MAX_VIEW {
                continue;
            }
            for (index, (first, writes)) in view.iter().enumerate() {
                let pairs = view[index..].iter();
                found
                    .pairs
                    .extend(pairs.map(|(second, also)| ((*first, *second), u8::from(*writes) + u8::from(*also))));
            }
        }
        found
    }
}

impl Variables {
    pub fn of(program: &Program, summaries: &Summaries) -> Variables {
        let mut all = Variables::default();
        all.add(program, summaries, &program.methods().collect::<Vec<_>>());
        all
    }

    /// Adds what these methods do, none of which was summarised before.
    pub(crate) fn add(&mut self, program: &Program, summaries: &Summaries, methods: &[MethodId]) {
        let constructors = ["<init>", "<clinit>"].map(|name| program.names.intern(name));
        let found: Vec<(MethodId, Found)> = methods
            .par_iter()
            .filter_map(|method| {
                let summary = summaries.summary(*method)?;
                let is_constructor = constructors.contains(&program.method(*method).name);
                Some((*method, Found::of(program, *method, summary, is_constructor)))
            })
            .collect();
        for (method, found) in found {
            self.gifts.extend(found.given.into_iter().map(|(spot, variable)| (method, spot, variable)));
            for (variable, place) in found.writes {
                self.writers.entry(variable).or_default().push(place);
            }
            for (pair, written) in found.pairs {
                let most = self.together.entry(pair).or_default();
                *most = written.max(*most);
            }
        }
        self.writers.values_mut().for_each(|places| places.sort_unstable());
        // What was given before may be touched by what is known only now.
        self.gifts.sort_by_key(|(method, ..)| *method);
        self.given.clear();
        let gifts = std::mem::take(&mut self.gifts);
        gifts.iter().for_each(|(_, spot, variable)| self.add_given(program, summaries, spot, *variable));
        self.gifts = gifts;
    }

    fn add_given(&mut self, program: &Program, summaries: &Summaries, spot: &Spot, variable: Variable) {
        let Some(method) = program.declared_method(spot.method) else { return };
        let touched = summaries.summary(method).into_iter().flat_map(|summary| &summary.accesses);
        for position in touched.filter(|access| access.spot == *spot).filter_map(Access::bare_parameter) {
            let given = self.given.entry((method, position)).or_default();
            if !given.contains(&variable) && given.len() < MAX_GIVEN {
                given.push(variable);
            }
        }
    }

    /// Variables that callers give for a parameter whose contents the method touches, in the order of callers.
    pub fn given(&self, method: MethodId, position: u16) -> &[Variable] {
        self.given.get(&(method, position)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Writes outside constructors, in the order of methods.
    pub fn writers(&self, variable: Variable) -> &[Place] {
        self.writers.get(&variable).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether some section touches both and writes one of them.
    pub fn belong_together(&self, a: Variable, b: Variable) -> bool {
        // To show two things together does not make them one.
        a == b || self.together.get(&(a.min(b), a.max(b))).is_some_and(|written| *written > 0)
    }

    /// Whether some section writes both.
    pub fn change_together(&self, a: Variable, b: Variable) -> bool {
        a == b || self.together.get(&(a.min(b), a.max(b))).is_some_and(|written| *written > 1)
    }

    /// Whether some section touches both.
    pub fn meet(&self, a: Variable, b: Variable) -> bool {
        a == b || self.together.contains_key(&(a.min(b), a.max(b)))
    }
}
