//! Who extends and implements whom, and which method a call on an object of some class runs.

use location::{ClassName, MethodName, Symbol};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::class::{ClassId, MethodId, Program};

/// A hierarchy deeper than this goes in circles.
const MAX_DEPTH: usize = 1_000;

pub struct Hierarchy {
    /// By class: the classes that name it as superclass or interface, in order.
    subtypes: Vec<SmallVec<[ClassId; 2]>>,
    declared: FxHashMap<(ClassId, Symbol, Symbol), MethodId>,
}

impl Hierarchy {
    pub fn of(program: &Program) -> Hierarchy {
        let mut subtypes = vec![SmallVec::new(); program.classes.len()];
        let mut declared = FxHashMap::default();
        declared.reserve(program.class_of_method.len());
        for class in (0..program.classes.len() as u32).map(ClassId) {
            let header = program.header(class);
            let parents = program.parents(class);
            for parent in parents.super_class.iter().chain(&parents.interfaces) {
                let known: &mut SmallVec<[ClassId; 2]> = &mut subtypes[parent.0 as usize];
                known.push(class);
            }
            for (method, id) in header.methods.iter().zip(program.methods_of(class)) {
                declared.insert((class, method.name, method.descriptor), id);
            }
        }
        Hierarchy { subtypes, declared }
    }

    /// Classes that name `class` as superclass or interface.
    pub fn subtypes(&self, class: ClassId) -> &[ClassId] {
        &self.subtypes[class.0 as usize]
    }

    /// Whether a class itself declares such a method.
    pub fn declares(&self, class: ClassId, name: Symbol, descriptor: Symbol) -> bool {
        self.declared.contains_key(&(class, name, descriptor))
    }

    /// The method that runs when `name` and `descriptor` are called on an object of exactly this class: the nearest
    /// declaration up the superclasses, else a default method of an interface.
    pub fn resolve(&self, program: &Program, class: ClassName, name: Symbol, descriptor: Symbol) -> Option<MethodId> {
        self.resolve_in(program, program.class(class)?, name, descriptor)
    }

    /// As [`Hierarchy::resolve`], of a class that is known.
    pub(crate) fn resolve_in(
        &self,
        program: &Program,
        class: ClassId,
        name: Symbol,
        descriptor: Symbol,
    ) -> Option<MethodId> {
        let mut walk = Some(class);
        let mut interfaces: SmallVec<[ClassId; 8]> = SmallVec::new();
        let mut depth = 0;
        while let Some(class) = walk {
            if let Some(method) = self.declared.get(&(class, name, descriptor)) {
                return Some(*method);
            }
            let parents = program.parents(class);
            interfaces.extend_from_slice(&parents.interfaces);
            walk = parents.super_class;
            depth += 1;
            if depth > MAX_DEPTH {
                return None;
            }
        }
        let mut seen = 0;
        while let Some(interface) = interfaces.pop() {
            if let Some(method) = self.declared.get(&(interface, name, descriptor)) {
                return Some(*method);
            }
            interfaces.extend_from_slice(&program.parents(interface).interfaces);
            seen += 1;
            if seen > MAX_DEPTH {
                return None;
            }
        }
        None
    }

    pub fn resolve_name(&self, program: &Program, method: MethodName) -> Option<MethodId> {
        self.resolve(program, method.class, method.name, method.descriptor)
    }
}
