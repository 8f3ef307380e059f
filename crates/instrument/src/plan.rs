//! What is to be watched.

use classfile::text_of;
use rustc_hash::FxHashMap;

use crate::glob::Globs;

/// The kinds of probes that are inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Families {
    /// Of instances.
    pub fields: bool,
    pub statics: bool,
    pub arrays: bool,
    pub monitors: bool,
    /// Volatile fields, static ones included.
    pub volatiles: bool,
}

impl Families {
    pub const ALL: Families = Families { fields: true, statics: true, arrays: true, monitors: true, volatiles: true };
    pub const NONE: Families =
        Families { fields: false, statics: false, arrays: false, monitors: false, volatiles: false };
}

/// What is asked of one method.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MethodPlan {
    /// Its activations are told from each other: `enter` and `exit`.
    pub activations: bool,
    /// The units that an activation of it is: `begin` and `end`.
    pub units: Vec<i32>,
}

/// Which classes are rewritten, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nothing means all.
    pub include: Globs,
    /// Stronger than `include`.
    pub exclude: Globs,
    pub families: Families,
    /// Whether classes get fields for identities and shadow words. They cannot when they are loaded already.
    pub adds_fields: bool,
    /// The binary name of the class that has the probes.
    pub probe_class: String,
    pub methods: MethodPlans,
}

/// What is asked of single methods: by class, then by name and descriptor.
#[derive(Clone, Default, Debug)]
pub struct MethodPlans(FxHashMap<String, FxHashMap<(String, String), MethodPlan>>);

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            include: Globs::default(),
            exclude: Globs::default(),
            families: Families::ALL,
            adds_fields: true,
            probe_class: "java/lang/Fissure".to_owned(),
            methods: MethodPlans::default(),
        }
    }
}

impl Plan {
    /// Whether a class is to be rewritten, by its binary name.
    pub fn includes(&self, class: &[u8]) -> bool {
        !class.starts_with(self.probe_class.as_bytes())
            && !self.exclude.matches(class)
            && (self.include.is_empty() || self.include.matches(class))
    }
}

impl MethodPlans {
    /// What is asked of a method, by the class's binary name; to be filled in.
    pub fn entry(&mut self, class: &str, name: &str, descriptor: &str) -> &mut MethodPlan {
        let methods = self.0.entry(class.to_owned()).or_default();
        methods.entry((name.to_owned(), descriptor.to_owned())).or_default()
    }

    pub(crate) fn get(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<&MethodPlan> {
        if self.0.is_empty() {
            return None;
        }
        let methods = self.0.get(&*text_of(class))?;
        methods.get(&(text_of(name).into_owned(), text_of(descriptor).into_owned()))
    }
}
