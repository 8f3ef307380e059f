//! What annotations say about atomicity: on classes, methods and fields, by simple name from any package.

use classfile::Annotation;
use location::{Names, Symbol};
use smallvec::SmallVec;

use crate::class::{ClassId, FieldId, MethodId, Program};

/// An annotation that says all by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mark {
    /// Each call ought to be atomic.
    Atomic,
    /// Taken to be atomic, whatever it does.
    AssumeAtomic,
    /// Taken to commute with what other threads do.
    AssumeMover,
    /// Every access is taken to be protected.
    AssumeGuarded,
    ThreadSafe,
    NotThreadSafe,
    Immutable,
    ThreadConfined,
    /// No warning is wanted.
    NoWarn,
}

impl Mark {
    const ALL: [(&'static str, Mark); 9] = [
        ("Atomic", Mark::Atomic),
        ("AssumeAtomic", Mark::AssumeAtomic),
        ("AssumeMover", Mark::AssumeMover),
        ("AssumeGuarded", Mark::AssumeGuarded),
        ("ThreadSafe", Mark::ThreadSafe),
        ("NotThreadSafe", Mark::NotThreadSafe),
        ("Immutable", Mark::Immutable),
        ("ThreadConfined", Mark::ThreadConfined),
        ("NoWarn", Mark::NoWarn),
    ];

    /// As it is written in code, without the `@`.
    pub fn name(self) -> &'static str {
        Mark::ALL.iter().find(|(_, mark)| *mark == self).map_or("", |(name, _)| name)
    }

    fn named(simple_name: &str) -> Option<Mark> {
        Mark::ALL.iter().find(|(name, _)| *name == simple_name).map(|(_, mark)| *mark)
    }
}

/// The lock that a `@GuardedBy` names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Guard {
    /// `"this"`
    This,
    /// `"itself"`: the object that the field refers to.
    Itself,
    /// `"lock"` or `"this.lock"`: a field of the same object or class.
    Field(Symbol),
    /// `"Account.class"`, by the name as it is written.
    Class(Symbol),
    /// Anything else, as it is written.
    Other(Symbol),
}

impl Guard {
    /// As it is written in code.
    pub fn written(self, names: &Names) -> String {
        match self {
            Guard::This => "this".to_owned(),
            Guard::Itself => "itself".to_owned(),
            Guard::Field(name) | Guard::Other(name) => names.text(name).to_owned(),
            Guard::Class(name) => format!("{}.class", names.text(name)),
        }
    }

    /// Reads the value of a `@GuardedBy`.
    pub fn parse(value: Symbol, names: &Names) -> Guard {
        let text = names.text(value).trim();
        let is_identifier = |text: &str| {
            let mut letters = text.chars();
            letters.next().is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '$'))
                && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$'))
        };
        if let Some(class) = text.strip_suffix(".class").filter(|class| class.split('.').all(is_identifier)) {
            return Guard::Class(names.intern(class));
        }
        match text.strip_prefix("this.").unwrap_or(text) {
            "this" => Guard::This,
            "itself" => Guard::Itself,
            field if is_identifier(field) => Guard::Field(names.intern(field)),
            _ => Guard::Other(value),
        }
    }
}

/// What the annotations of one class, method or field say.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Annotations {
    marks: SmallVec<[Mark; 2]>,
    /// More than one if all of them are held, or if reading needs one and writing all.
    guards: SmallVec<[Guard; 1]>,
    /// Patterns of other checkers that are to be silent here (`@SuppressFBWarnings`).
    suppressed: SmallVec<[Symbol; 1]>,
}

impl Annotations {
    pub fn of(annotations: &[Annotation], names: &Names) -> Annotations {
        let mut found = Annotations::default();
        for annotation in annotations {
            let strings = || annotation.strings.iter().map(|(_, value)| *value);
            match names.text(annotation.class.0).rsplit(['/', '$']).next().unwrap_or_default() {
                "GuardedBy" => found.guards.extend(strings().map(|value| Guard::parse(value, names))),
                "SuppressFBWarnings" => {
                    let is_pattern = |name: Symbol| names.text(name) == "value";
                    let patterns = annotation.strings.iter().filter(|(name, _)| is_pattern(*name));
                    found.suppressed.extend(patterns.map(|(_, pattern)| *pattern));
                }
                name => found.marks.extend(Mark::named(name)),
            }
        }
        found.marks.sort();
        found.marks.dedup();
        found
    }

    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Names of other checkers' patterns.
    pub fn suppressed(&self) -> &[Symbol] {
        &self.suppressed
    }

    pub fn is_empty(&self) -> bool {
        *self == Annotations::default()
    }
}

impl Program {
    /// Whether a class is marked.
    pub fn is_marked(&self, class: ClassId, mark: Mark) -> bool {
        !self.header(class).annotations.is_empty() && self.annotations_of_class(class).has(mark)
    }

    /// The mark by which a field, or what objects of its class are made of, is promised not to be shared.
    pub(crate) fn promise_of(&self, field: FieldId) -> Option<Mark> {
        let promised = |annotations: &Annotations| {
            [Mark::ThreadConfined, Mark::Immutable].into_iter().find(|mark| annotations.has(*mark))
        };
        let own = self.field(field);
        let class = self.class_of_field(field);
        let of_field = if own.annotations.is_empty() { None } else { promised(&self.annotations_of_field(field)) };
        of_field.or_else(|| {
            let is_told = !own.access.is_static() && !self.header(class).annotations.is_empty();
            if is_told { promised(&self.annotations_of_class(class)) } else { None }
        })
    }

    pub fn annotations_of_class(&self, class: ClassId) -> Annotations {
        Annotations::of(&self.header(class).annotations, &self.names)
    }

    pub fn annotations_of_method(&self, method: MethodId) -> Annotations {
        Annotations::of(&self.method(method).annotations, &self.names)
    }

    pub fn annotations_of_field(&self, field: FieldId) -> Annotations {
        Annotations::of(&self.field(field).annotations, &self.names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_parsed() {
        let names = Names::new();
        let parse = |text: &str| Guard::parse(names.intern(text), &names);
        assert_eq!(parse("this"), Guard::This);
        assert_eq!(parse(" itself "), Guard::Itself);
        assert_eq!(parse("lock"), Guard::Field(names.intern("lock")));
        assert_eq!(parse("this.lock"), Guard::Field(names.intern("lock")));
        assert_eq!(parse("Account.class"), Guard::Class(names.intern("Account")));
        assert_eq!(parse("bank.Account.class"), Guard::Class(names.intern("bank.Account")));
        for other in ["", "getLock()", "Account.this", "Account.lock", "a.b.class()", "1st", ".class", "this.", "é.ü!"]
        {
            assert_eq!(parse(other), Guard::Other(names.intern(other)), "{other}");
        }
    }

    #[test]
    fn any_package_and_nested_classes_count() {
        let names = Names::new();
        let annotation = |class: &str, strings: &[(&str, &str)]| Annotation {
            class: names.class(class),
            strings: strings.iter().map(|(name, value)| (names.intern(name), names.intern(value))).collect(),
        };
        let found = Annotations::of(
            &[
                annotation("javax/annotation/concurrent/ThreadSafe", &[]),
                annotation("my/Marks$Atomic", &[]),
                annotation("net/jcip/annotations/GuardedBy", &[("value", "this")]),
                annotation("my/Atomically", &[]),
                annotation(
                    "x/SuppressFBWarnings",
                    &[("value", "IS2"), ("justification", "it is fine"), ("value", "A")],
                ),
            ],
            &names,
        );
        assert_eq!(found.marks(), [Mark::Atomic, Mark::ThreadSafe]);
        assert!(found.has(Mark::Atomic) && !found.has(Mark::NoWarn));
        assert_eq!(found.guards(), [Guard::This]);
        assert_eq!(found.suppressed(), [names.intern("IS2"), names.intern("A")]);
        assert!(Annotations::of(&[annotation("java/lang/Deprecated", &[])], &names).is_empty());
    }
}
