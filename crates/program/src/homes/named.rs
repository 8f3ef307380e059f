//! Which fields the code of methods names, and that of what they call: what is further away is told of no large program.

use std::sync::{OnceLock, PoisonError, RwLock};

use classfile::Type;
use location::{ClassName, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::calls::Calls;
use crate::captured::{holds_something, holds_something_as};
use crate::class::{FieldId, MethodId, Program};

/// Fields, sorted, each once, and whether they may be written.
type Fields = Box<[(FieldId, bool)]>;

/// The type of fields that may have any object.
const ANY: &str = "Ljava/lang/Object;";

/// What is found when it is first asked for.
pub(super) struct Named<'n> {
    program: &'n Program,
    calls: &'n Calls,
    /// Types of fields whose objects hold something.
    holding: FxHashSet<Symbol>,
    /// By method.
    fields: Vec<OnceLock<Fields>>,
    /// Whether something that is declared as a class may hold something, where that was asked.
    classes: RwLock<FxHashMap<ClassName, bool>>,
}

impl<'n> Named<'n> {
    pub(super) fn new(program: &'n Program, calls: &'n Calls) -> Named<'n> {
        let fields = (0..program.known_method_count()).map(|_| OnceLock::new()).collect();
        Named { program, calls, holding: holding(program, calls), fields, classes: RwLock::default() }
    }

    /// Whether one of these methods names the field, and if so, whether it may write it.
    pub(super) fn of_all(&self, methods: &[MethodId], field: FieldId) -> Option<bool> {
        let writes = methods.iter().filter_map(|method| {
            let named = self.fields(*method);
            named.binary_search_by_key(&field, |(field, _)| *field).ok().map(|at| named[at].1)
        });
        writes.reduce(|one, other| one || other)
    }

    /// The fields that hold something and that these methods name.
    pub(super) fn holding(&self, methods: &[MethodId]) -> impl Iterator<Item = FieldId> {
        let all = methods.iter().flat_map(|method| self.fields(*method));
        all.map(|(field, _)| *field).filter(|field| self.holds(*field))
    }

    /// Whether one of these methods may write something that one of the others names.
    pub(super) fn may_change(&self, methods: &[MethodId], others: &[MethodId]) -> bool {
        let written = methods.iter().flat_map(|method| self.fields(*method)).filter(|(_, writes)| *writes);
        written.into_iter().any(|(field, _)| self.of_all(others, *field).is_some())
    }

    fn holds(&self, field: FieldId) -> bool {
        self.holding.contains(&self.program.field(field).descriptor)
    }

    /// Whether the library may say something of what a field has, or it is an array, as far as its type tells.
    pub(super) fn may_hold(&self, field: FieldId) -> bool {
        self.holds(field) || self.program.names.text(self.program.field(field).descriptor) == ANY
    }

    /// The same of each parameter of a method.
    pub(super) fn parameters_that_may_hold(&self, method: MethodId) -> SmallVec<[bool; 8]> {
        let own = self.program.method(method);
        let this = (!own.access.is_static()).then(|| Type::Reference(self.program.method_name(method).class));
        let known = classfile::parse_method(self.program.names.text(own.descriptor), &self.program.names);
        let types = this.into_iter().chain(known.into_iter().flat_map(|known| known.parameters));
        types.map(|kind| matches!(kind, Type::Reference(class) if self.holds_as(class))).collect()
    }

    fn holds_as(&self, class: ClassName) -> bool {
        let known = self.classes.read().unwrap_or_else(PoisonError::into_inner).get(&class).copied();
        known.unwrap_or_else(|| {
            let holds = holds_something_as(self.program, self.calls, class);
            self.classes.write().unwrap_or_else(PoisonError::into_inner).insert(class, holds);
            holds
        })
    }

    fn fields(&self, method: MethodId) -> &[(FieldId, bool)] {
        self.fields[method.index()].get_or_init(|| {
            let mut all = Vec::new();
            self.add_own(method, &mut all);
            self.calls.callees(method).iter().for_each(|callee| self.add_own(*callee, &mut all));
            // Of equal fields the one that is written comes first.
            all.sort_unstable_by_key(|(field, writes)| (*field, !writes));
            all.dedup_by_key(|(field, _)| *field);
            all.into()
        })
    }

    fn add_own(&self, method: MethodId, all: &mut Vec<(FieldId, bool)>) {
        let touched = &self.calls.touched;
        for field in touched.reads(method) {
            // What a field holds may be changed where the field is read.
            let holds = self.holds(*field);
            if holds || !self.program.field(*field).access.is_final() {
                all.push((*field, holds));
            }
        }
        all.extend(touched.writes(method).iter().map(|field| (*field, true)));
    }
}

/// The types of fields whose objects hold something, other than those that may be anything.
fn holding(program: &Program, calls: &Calls) -> FxHashSet<Symbol> {
    let mut seen: FxHashSet<Symbol> = FxHashSet::default();
    let fields = (0..program.class_of_field.len() as u32).map(FieldId).map(|field| program.field(field).descriptor);
    let types: Vec<Symbol> = fields.filter(|descriptor| seen.insert(*descriptor)).collect();
    let is_any = |descriptor: &Symbol| program.names.text(*descriptor) == ANY;
    let holds = |descriptor: &Symbol| !is_any(descriptor) && holds_something(program, calls, *descriptor);
    types.into_iter().filter(holds).collect()
}
