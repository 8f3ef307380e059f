//! Variables of the whole program: who touches them where, and which belong together.

use std::collections::{BTreeMap, BTreeSet};

use location::FieldName;
use rustc_hash::FxHashMap;

use crate::class::{FieldId, MethodId, Program};
use crate::model::State;
use crate::outline::{Member, Name, NameStep, Start};
use crate::summary::{Access, AccessId, Summaries};

/// A variable of the program: the same field of all objects is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    Field(FieldId),
    /// What the library object or array that a field refers to holds.
    Held(FieldId),
}

impl Variable {
    pub fn field(self) -> FieldId {
        match self {
            Variable::Field(field) | Variable::Held(field) => field,
        }
    }

    /// The variable that an access touches; `None` if it has no name in the program.
    pub fn of(program: &Program, access: &Access) -> Option<Variable> {
        let resolved = |field: FieldName| program.resolve_field(field);
        match access.member {
            Member::Field(field) | Member::Static(field) => resolved(field).map(Variable::Field),
            Member::Elements | Member::State(State::Contents | State::Value | State::Chars | State::Elements) => {
                holder(&access.base).and_then(resolved).map(Variable::Held)
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
    /// Pairs that some section touches together, the smaller first; and whether one of those sections writes one.
    together: BTreeMap<(Variable, Variable), bool>,
}

/// Sections that touch more than this many variables say little about any two of them.
const MAX_VIEW: usize = 16;

impl Variables {
    pub fn of(program: &Program, summaries: &Summaries) -> Variables {
        let mut all = Variables::default();
        let constructors = ["<init>", "<clinit>"].map(|name| program.names.intern(name));
        for method in program.methods() {
            let Some(summary) = summaries.summary(method) else { continue };
            let name = program.method_name(method);
            let is_constructor = constructors.contains(&name.name);
            let mut views: Vec<BTreeSet<Variable>> = vec![BTreeSet::new(); summary.sections.len()];
            let mut written: Vec<BTreeSet<Variable>> = vec![BTreeSet::new(); summary.sections.len()];
            for (index, access) in summary.accesses.iter().enumerate() {
                let Some(variable) = Variable::of(program, access) else { continue };
                for section in access.held.iter() {
                    views[section].insert(variable);
                    if access.is_write {
                        written[section].insert(variable);
                    }
                }
                let is_own = access.spot.method == name;
                // An object under construction has not been handed out.
                let is_fresh = matches!(access.base.start, Start::New(_))
                    || (is_constructor && matches!(access.base.start, Start::Parameter(0) | Start::Unknown));
                if access.is_write && is_own && !is_fresh {
                    all.writers.entry(variable).or_default().push(Place { method, access: AccessId(index as u32) });
                }
            }
            for ((section, view), written) in summary.sections.iter().zip(&views).zip(&written) {
                if section.call.is_some() || view.len() > MAX_VIEW {
                    continue;
                }
                for first in view {
                    for second in view.range(first..) {
                        let is_written = written.contains(first) || written.contains(second);
                        *all.together.entry((*first, *second)).or_default() |= is_written;
                    }
                }
            }
        }
        all
    }

    /// Writes outside constructors, in the order of methods.
    pub fn writers(&self, variable: Variable) -> &[Place] {
        self.writers.get(&variable).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether some section touches both and writes one of them.
    pub fn belong_together(&self, a: Variable, b: Variable) -> bool {
        // To show two things together does not make them one.
        a == b || self.together.get(&(a.min(b), a.max(b))).is_some_and(|is_written| *is_written)
    }

    /// Whether some section touches both.
    pub fn meet(&self, a: Variable, b: Variable) -> bool {
        a == b || self.together.contains_key(&(a.min(b), a.max(b)))
    }
}
