//! What is to be watched.

use classfile::text_of;
use rustc_hash::FxHashMap;

use crate::call::CallFamily;
use crate::constant::ConstantFields;
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
    /// Calls of locks, semaphores, `wait`.
    pub locks: bool,
    /// Calls that start, join or order threads and tasks.
    pub threads: bool,
    /// Calls on containers, atomics and other objects whose state the models know.
    pub contents: bool,
    /// Calls on buffers of characters that lock nothing. There are many, and hardly any is ever shared.
    pub builders: bool,
}

impl Families {
    pub const NONE: Families = Families {
        fields: false,
        statics: false,
        arrays: false,
        monitors: false,
        volatiles: false,
        locks: false,
        threads: false,
        contents: false,
        builders: false,
    };

    pub const ALL: Families = Families {
        fields: true,
        statics: true,
        arrays: true,
        monitors: true,
        volatiles: true,
        locks: true,
        threads: true,
        contents: true,
        builders: true,
    };

    /// What pays.
    pub const USUAL: Families = Families { builders: false, ..Families::ALL };

    pub(crate) fn has(self, family: CallFamily) -> bool {
        match family {
            CallFamily::Locks => self.locks,
            CallFamily::Threads => self.threads,
            CallFamily::Contents => self.contents,
            CallFamily::Arrays => self.arrays,
            CallFamily::Builders => self.builders,
        }
    }
}

/// What is asked of one method.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MethodPlan {
    /// Its activations are told from each other: `enter` and `exit`.
    pub activations: bool,
    /// The units that an activation of it is: `begin` and `end`.
    pub units: Vec<i32>,
    /// Calls of `hook` with one of its objects.
    pub hooks: Vec<Hook>,
}

/// A call of the probe `hook` in a method of the platform that orders threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hook {
    /// Whether it comes before each return, and not at the start.
    pub at_end: bool,
    /// The local variable that has the object: 0 is `this`.
    pub local: u16,
    /// What it means, for the runtime.
    pub code: i32,
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
    /// Whether a constructor's writes to its own object get no probes while nobody else can have it. Such accesses are
    /// never kept, unless all are.
    pub skips_unescaped: bool,
    /// Whether a read of a field and the write that follows it right away get one probe.
    pub joins_updates: bool,
    /// Whether branches tell what the arms that are not taken would do.
    pub speculates: bool,
    /// The binary name of the class that has the probes.
    pub probe_class: String,
    pub methods: MethodPlans,
    /// Fields of classes on the class path that are treated as final.
    pub constants: ConstantFields,
}

/// What is asked of single methods: by class, then by name and descriptor.
#[derive(Clone, Default, Debug)]
pub struct MethodPlans(FxHashMap<String, FxHashMap<(String, String), MethodPlan>>);

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            include: Globs::default(),
            exclude: Globs::default(),
            families: Families::USUAL,
            adds_fields: true,
            skips_unescaped: false,
            joins_updates: false,
            speculates: false,
            probe_class: "java/lang/Fissure".to_owned(),
            methods: MethodPlans::default(),
            constants: ConstantFields::default(),
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
