//! Classes, methods and fields of the program, by number.
//!
//! Classes that are checked come first, then those that are only known; both in the order of names, so that whatever is
//! computed by number comes out the same in every run, and what is checked has the same number whatever is known.

use std::sync::Arc;

use classfile::{CallKind, Error, Field, Header, KnownClass, Method, Skipped};
use location::{ClassName, FieldName, MethodName, Names, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::captured::ParameterField;
use crate::derived::DerivedLocks;
use crate::getter::Getters;
use crate::token::Tokens;
use crate::wrapper::Wrappers;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub(crate) u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodId(pub(crate) u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId(pub(crate) u32);

impl MethodId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class with its bytes; code is translated when a method is asked for.
pub(crate) struct ClassEntry {
    pub(crate) header: Header,
    /// Where its code lies.
    pub(crate) known: KnownClass,
    /// Empty if only the head is known. Then no method has code.
    pub(crate) bytes: Vec<u8>,
    pub(crate) path: String,
    pub(crate) first_method: u32,
    pub(crate) first_field: u32,
    /// By method: whether it is synchronized, enters a monitor, or calls something that may be a lock.
    pub(crate) may_lock: Vec<bool>,
    /// By method: whether it calls something that may be a lock.
    pub(crate) calls_lock: Vec<bool>,
    /// By method; empty once the program has them.
    pub(crate) mentions: Vec<Mentions>,
    /// Classes that its code makes.
    pub(crate) makes: Vec<ClassName>,
}

/// An entry that stays where it was made: entries are large, and are put into lists and sorted before they have numbers.
pub(crate) type Entry = Box<ClassEntry>;

/// What a method's code names, each thing once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mentions {
    pub(crate) calls: Box<[(CallKind, MethodName)]>,
    pub(crate) lambdas: Box<[MethodName]>,
    pub(crate) reads: Box<[FieldName]>,
    pub(crate) writes: Box<[FieldName]>,
}

/// A method whose code could not be translated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    pub method: MethodId,
    pub reason: Error,
}

/// How many there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) classes: usize,
    pub(crate) methods: usize,
}

/// The known ones of the classes that a class names as its superclass and interfaces.
#[derive(Clone, Default)]
pub(crate) struct Parents {
    pub(crate) super_class: Option<ClassId>,
    pub(crate) interfaces: SmallVec<[ClassId; 2]>,
}

/// What every array is, and the name of constructors.
pub(crate) struct Roots {
    pub(crate) object: ClassName,
    cloneable: ClassName,
    serializable: ClassName,
    /// `<init>`
    pub(crate) constructor: Symbol,
    /// `AtomicBoolean`
    pub(crate) flag: ClassName,
    /// `getClass` and `isInstance`
    pub(crate) class_questions: [Symbol; 2],
}

impl Roots {
    pub(crate) fn of(names: &Names) -> Roots {
        Roots {
            object: names.class("java/lang/Object"),
            cloneable: names.class("java/lang/Cloneable"),
            serializable: names.class("java/io/Serializable"),
            constructor: names.intern("<init>"),
            flag: names.class("java/util/concurrent/atomic/AtomicBoolean"),
            class_questions: ["getClass", "isInstance"].map(|name| names.intern(name)),
        }
    }
}

/// All classes of one analysis: those that are checked, and those that are only known because checked ones name them.
///
/// Looking at every class, method or body means the checked ones; looking something up by name sees all.
pub struct Program {
    pub names: Names,
    pub(crate) roots: Roots,
    /// First those that are checked, then the others; both sorted by name.
    pub(crate) classes: Vec<Entry>,
    /// How many of the classes and methods are checked.
    pub(crate) checked: Counts,
    pub(crate) by_name: FxHashMap<ClassName, ClassId>,
    /// By class: what it extends and implements, as far as it is known, the superclass first.
    pub(crate) parents: Vec<Parents>,
    /// Fields by the name that their class has for them.
    pub(crate) fields_by_name: FxHashMap<FieldName, FieldId>,
    pub(crate) class_of_method: Vec<ClassId>,
    pub(crate) class_of_field: Vec<ClassId>,
    /// Parameters of lambdas as fields, which have the last numbers.
    pub(crate) parameters: Vec<ParameterField>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) missing: Vec<ClassName>,
    pub(crate) jdk: String,
    /// By method.
    pub(crate) mentions: Arc<Vec<Mentions>>,
    /// Classes that some code makes.
    pub(crate) made: Arc<FxHashSet<ClassName>>,
    pub(crate) derived_locks: DerivedLocks,
    pub(crate) wrappers: Wrappers,
    pub(crate) getters: Getters,
    pub(crate) tokens: Tokens,
}

impl Program {
    /// How many classes are checked.
    pub fn class_count(&self) -> usize {
        self.checked.classes
    }

    /// How many methods are checked. A table by [`MethodId::index`] needs [`Program::known_method_count`] places.
    pub fn method_count(&self) -> usize {
        self.checked.methods
    }

    /// How many classes are known, checked or not.
    pub fn known_class_count(&self) -> usize {
        self.classes.len()
    }

    /// How many methods are known, checked or not.
    pub fn known_method_count(&self) -> usize {
        self.class_of_method.len()
    }

    /// What could not be read, sorted by path.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Classes that are named and were found nowhere, sorted by name.
    pub fn missing(&self) -> &[ClassName] {
        &self.missing
    }

    /// Where knowledge of the JDK's classes comes from: `embedded 17`, `JDK 25.0.1`.
    pub fn jdk(&self) -> &str {
        &self.jdk
    }

    /// The classes that are checked, in order.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = ClassId> + use<> {
        (0..self.checked.classes as u32).map(ClassId)
    }

    /// All classes that are known, the checked ones first.
    pub fn known_classes(&self) -> impl ExactSizeIterator<Item = ClassId> + use<> {
        (0..self.classes.len() as u32).map(ClassId)
    }

    pub fn is_checked(&self, class: ClassId) -> bool {
        (class.0 as usize) < self.checked.classes
    }

    /// The methods of classes that are checked, in order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = MethodId> + use<> {
        (0..self.checked.methods as u32).map(MethodId)
    }

    pub fn methods_of(&self, class: ClassId) -> impl ExactSizeIterator<Item = MethodId> + use<> {
        let entry = self.entry(class);
        (entry.first_method..entry.first_method + entry.header.methods.len() as u32).map(MethodId)
    }

    pub fn fields_of(&self, class: ClassId) -> impl ExactSizeIterator<Item = FieldId> + use<> {
        let entry = self.entry(class);
        (entry.first_field..entry.first_field + entry.header.fields.len() as u32).map(FieldId)
    }

    pub fn class(&self, name: ClassName) -> Option<ClassId> {
        self.by_name.get(&name).copied()
    }

    pub fn header(&self, class: ClassId) -> &Header {
        &self.entry(class).header
    }

    /// Where the class was found.
    pub fn class_path(&self, class: ClassId) -> &str {
        &self.entry(class).path
    }

    pub fn class_of(&self, method: MethodId) -> ClassId {
        self.class_of_method[method.index()]
    }

    pub fn method(&self, method: MethodId) -> &Method {
        let entry = self.entry(self.class_of(method));
        &entry.header.methods[(method.0 - entry.first_method) as usize]
    }

    pub fn method_name(&self, method: MethodId) -> MethodName {
        let class = self.header(self.class_of(method)).name;
        let method = self.method(method);
        MethodName { class, name: method.name, descriptor: method.descriptor }
    }

    /// Whether it is the code of a lambda, which compilers put into a method of its own.
    pub fn is_lambda(&self, name: MethodName) -> bool {
        self.declared_method(name).is_some_and(|method| self.method(method).access.is_synthetic())
    }

    /// The code of the lambdas that a method makes, and of those that they make.
    pub fn lambdas_of(&self, method: MethodId) -> Vec<MethodId> {
        let mut found: Vec<MethodId> = Vec::new();
        let mut pending = vec![method];
        while let Some(maker) = pending.pop() {
            for made in &self.mentions[maker.index()].lambdas {
                let lambda = self.declared_method(*made).filter(|lambda| self.method(*lambda).access.is_synthetic());
                if let Some(lambda) = lambda.filter(|lambda| !found.contains(lambda)) {
                    found.push(lambda);
                    pending.push(lambda);
                }
            }
        }
        found
    }

    /// The accessor by which a class beside comes to a private member, if a compiler made this method as one.
    pub fn accessor(&self, name: MethodName) -> Option<MethodId> {
        let is_named = self.names.text(name.name).starts_with("access$");
        let declared = if is_named { self.declared_method(name) } else { None };
        declared.filter(|method| self.method(*method).access.is_synthetic())
    }

    /// The method that an accessor calls, if it is not for a field.
    pub fn accessed(&self, accessor: MethodName) -> Option<MethodName> {
        let calls = &self.mentions[self.accessor(accessor)?.index()].calls;
        calls.first().map(|(_, called)| *called)
    }

    /// The field that an accessor reads.
    pub(crate) fn field_accessed(&self, accessor: MethodName) -> Option<FieldName> {
        let read = self.getters.get(self, accessor)?.field();
        self.accessor(accessor).and(read)
    }

    /// The checked classes, local and anonymous, that stand in the bodies of these methods.
    pub fn classes_within(&self, methods: &[MethodId]) -> Vec<ClassId> {
        let is_within = |class: &ClassId| {
            let enclosing = self.header(*class).enclosing.and_then(|method| self.declared_method(method));
            enclosing.is_some_and(|method| methods.contains(&method))
        };
        self.classes().filter(is_within).collect()
    }

    /// The method that a class declares itself.
    pub fn declared_method(&self, name: MethodName) -> Option<MethodId> {
        let entry = self.entry(self.class(name.class)?);
        let found = entry
            .header
            .methods
            .iter()
            .position(|method| method.name == name.name && method.descriptor == name.descriptor)?;
        Some(MethodId(entry.first_method + found as u32))
    }

    /// The method that a class declares, or else the nearest class above it.
    pub(crate) fn inherited_method(&self, name: MethodName) -> Option<MethodId> {
        let mut class = name.class;
        for _ in 0..1_000 {
            if let Some(declared) = self.declared_method(MethodName { class, ..name }) {
                return Some(declared);
            }
            class = self.header(self.class(class)?).super_class?;
        }
        None
    }

    /// The field that a reference names: in the class itself, or in what it inherits from.
    pub fn resolve_field(&self, name: FieldName) -> Option<FieldId> {
        if let Some(declared) = self.fields_by_name.get(&name) {
            return Some(*declared);
        }
        let mut pending: SmallVec<[ClassId; 16]> = self.class(name.class).into_iter().collect();
        let mut seen = 0;
        while let Some(class) = pending.pop() {
            let header = self.header(class);
            // Few classes have a field of that name.
            if header.fields.iter().any(|field| field.name == name.name)
                && let Some(declared) = self.fields_by_name.get(&FieldName { class: header.name, ..name })
            {
                return Some(*declared);
            }
            // A hierarchy that goes in circles is no Java, but must not hang us.
            seen += 1;
            if seen > 1_000 {
                return None;
            }
            let parents = self.parents(class);
            pending.extend(parents.super_class);
            pending.extend_from_slice(&parents.interfaces);
        }
        None
    }

    /// The same, but for locals that tasks capture, which only look like fields.
    pub(crate) fn real_field(&self, name: FieldName) -> Option<FieldId> {
        self.resolve_field(name).filter(|field| self.parameter_field(*field).is_none())
    }

    /// A class and all that it inherits from, as far as they are known.
    pub(crate) fn ancestors(&self, class: ClassId) -> SmallVec<[ClassId; 16]> {
        let mut ancestors: SmallVec<[ClassId; 16]> = smallvec![class];
        let mut next = 0;
        while let Some(class) = ancestors.get(next) {
            let Parents { super_class, interfaces } = self.parents(*class);
            for parent in super_class.iter().chain(interfaces) {
                if !ancestors.contains(parent) {
                    ancestors.push(*parent);
                }
            }
            next += 1;
        }
        ancestors
    }

    pub(crate) fn parents(&self, class: ClassId) -> &Parents {
        &self.parents[class.0 as usize]
    }

    /// The plain names of some fields, which tell of most code that it names none of them.
    pub fn plain_names<'f>(&self, fields: impl IntoIterator<Item = &'f FieldId>) -> FxHashSet<Symbol> {
        fields.into_iter().map(|field| self.field(*field).name).collect()
    }

    pub fn field(&self, field: FieldId) -> &Field {
        if let Some(parameter) = self.parameter_field(field) {
            return &parameter.field;
        }
        let entry = self.entry(self.class_of_field[field.0 as usize]);
        &entry.header.fields[(field.0 - entry.first_field) as usize]
    }

    /// The name of a field, by the class that declares it.
    pub fn field_name(&self, field: FieldId) -> FieldName {
        let class = self.header(self.class_of_field(field)).name;
        let field = self.field(field);
        FieldName { class, name: field.name, descriptor: field.descriptor }
    }

    pub fn class_of_field(&self, field: FieldId) -> ClassId {
        self.class_of_field[field.0 as usize]
    }

    /// `pkg.Foo.field`
    pub fn readable_field(&self, field: FieldId) -> String {
        let class = self.header(self.class_of_field(field)).name;
        let name = self.parameter_name(field).unwrap_or(self.field(field).name);
        format!("{}.{}", self.names.readable_class(class), self.names.text(name))
    }

    /// Whether a reference names a field that is known to be final.
    pub fn is_volatile_field(&self, name: FieldName) -> bool {
        self.resolve_field(name).is_some_and(|field| self.field(field).access.is_volatile())
    }

    pub fn is_final_field(&self, name: FieldName) -> bool {
        self.resolve_field(name).is_some_and(|field| self.field(field).access.is_final())
    }

    /// Whether `class` is, extends or implements `ancestor`, as far as known classes tell. Both may be arrays.
    pub fn is_subtype(&self, class: ClassName, ancestor: ClassName) -> bool {
        if class == ancestor || ancestor == self.roots.object {
            return true;
        }
        let Some(class) = self.class(class) else {
            return self.is_array_subtype(self.names.text(class.0), ancestor);
        };
        let mut pending: SmallVec<[ClassId; 16]> = smallvec![class];
        let mut seen = 0;
        while let Some(class) = pending.pop() {
            // The ancestor itself need not be known.
            let header = self.header(class);
            if header.super_class == Some(ancestor) || header.interfaces.contains(&ancestor) {
                return true;
            }
            seen += 1;
            if seen <= 1_000 {
                let parents = self.parents(class);
                pending.extend(parents.super_class);
                pending.extend_from_slice(&parents.interfaces);
            }
        }
        false
    }

    /// Whether an array, given by descriptor, is also an `ancestor` other than itself and `Object`. Arrays of
    /// references are subtypes as their elements are.
    fn is_array_subtype(&self, array: &str, ancestor: ClassName) -> bool {
        let Some(element) = array.strip_prefix('[') else { return false };
        if ancestor == self.roots.cloneable || ancestor == self.roots.serializable {
            return true;
        }
        let Some(of) = self.names.text(ancestor.0).strip_prefix('[') else { return false };
        match (self.element_class(element), self.element_class(of)) {
            (Some(element), Some(of)) => self.is_subtype(element, of),
            _ => false,
        }
    }

    /// The class of an array's elements by their descriptor; `None` for primitives and for what nothing names.
    fn element_class(&self, descriptor: &str) -> Option<ClassName> {
        let name = match descriptor.strip_prefix('L') {
            Some(class) => class.strip_suffix(';')?,
            None => descriptor.starts_with('[').then_some(descriptor)?,
        };
        self.names.lookup(name).map(ClassName)
    }

    /// Whether a method may contain a section: it is synchronized, enters a monitor, or calls what may be a lock.
    pub fn may_lock(&self, method: MethodId) -> bool {
        let entry = self.entry(self.class_of(method));
        entry.may_lock[(method.0 - entry.first_method) as usize]
    }

    /// Whether a method calls what may be an operation of a lock.
    pub fn calls_lock(&self, method: MethodId) -> bool {
        let entry = self.entry(self.class_of(method));
        entry.calls_lock[(method.0 - entry.first_method) as usize]
    }

    pub(crate) fn entry(&self, class: ClassId) -> &ClassEntry {
        &self.classes[class.0 as usize]
    }
}
