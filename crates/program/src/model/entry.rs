//! Questions about classes rather than calls: what runs when a task is started, what a framework calls, what never
//! changes.

use classfile::{Header, Method};
use location::{ClassName, FieldName, MethodName, Names};
use rustc_hash::{FxHashMap, FxHashSet};

use super::call::Times;
use super::frameworks::{
    BY_ANCESTOR, BY_ANNOTATION, ByAncestor, Instances, Methods, OBJECT_OF_EACH, ONE_OBJECT, SCOPES_OF_EACH,
};
use super::immutable::{OF_LIBRARIES, UNCHANGING, VALUES};
use super::line::Origin;
use super::lookup::{Models, Supertypes, linearize};
use super::sinks::CONSOLE;
use super::tasks::{LIBRARY_TASKS, TASKS};

/// A method that a framework calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// Index in [`Header::methods`].
    pub method: usize,
    pub times: Times,
    pub objects: Instances,
}

/// Frameworks by what they are recognised by.
pub(crate) struct Frameworks {
    ancestors: FxHashMap<ClassName, &'static ByAncestor>,
    /// By simple name.
    annotations: FxHashMap<&'static str, (Times, Instances)>,
}

impl Frameworks {
    pub(crate) fn new(names: &Names) -> Frameworks {
        let words = |text: &'static str| text.split_ascii_whitespace();
        let ancestors = BY_ANCESTOR.iter().flat_map(|rule| words(rule.ancestors).map(move |name| (name, rule)));
        let annotations = BY_ANNOTATION
            .iter()
            .flat_map(|(list, times, objects)| words(list).map(move |name| (name, (*times, *objects))));
        Frameworks {
            ancestors: ancestors.map(|(name, rule)| (names.class(name), rule)).collect(),
            annotations: annotations.collect(),
        }
    }
}

/// Classes whose objects never change.
pub(crate) struct Immutables {
    values: FxHashSet<ClassName>,
    others: FxHashSet<ClassName>,
}

impl Immutables {
    pub(crate) fn new(names: &Names) -> Immutables {
        let classes = |lists: &[&[(&str, &str)]]| {
            let mut classes = FxHashSet::default();
            for (package, list) in lists.iter().copied().flatten() {
                classes.extend(list.split_ascii_whitespace().map(|class| names.class(&format!("{package}/{class}"))));
            }
            classes
        };
        Immutables { values: classes(&[VALUES]), others: classes(&[UNCHANGING, OF_LIBRARIES]) }
    }

    pub(crate) fn is_value(&self, class: ClassName) -> bool {
        self.values.contains(&class)
    }
}

/// The method that runs when an object of a class is started or called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskEntry {
    /// Binary name.
    pub class: String,
    pub name: &'static str,
    pub descriptor: &'static str,
    pub origin: Origin,
}

/// Every kind of task that the tables name, for tests.
pub fn task_entries() -> impl Iterator<Item = TaskEntry> {
    [(TASKS, Origin::Jdk), (LIBRARY_TASKS, Origin::Library)].into_iter().flat_map(|(tasks, origin)| {
        tasks.iter().map(move |(package, class, name, descriptor)| TaskEntry {
            class: format!("{package}/{class}"),
            name,
            descriptor,
            origin,
        })
    })
}

/// Every class that the tables call immutable, by binary name, for tests.
pub fn immutable_classes() -> impl Iterator<Item = (String, Origin)> {
    let lists = [(VALUES, Origin::Jdk), (UNCHANGING, Origin::Jdk), (OF_LIBRARIES, Origin::Library)];
    lists.into_iter().flat_map(|(lists, origin)| {
        lists.iter().flat_map(move |(package, classes)| {
            classes.split_ascii_whitespace().map(move |class| (format!("{package}/{class}"), origin))
        })
    })
}

impl Models {
    /// The method that runs when an object of this class is started as a task, or called as a function.
    pub fn task_entry(&self, names: &Names, class: ClassName, supertypes: &mut Supertypes<'_>) -> Option<MethodName> {
        self.tasks(names).entry(class, supertypes)
    }

    /// Whether what an object of this class holds never changes. The objects that it holds may change; fields that
    /// analysed subclasses add are not considered.
    pub fn is_immutable(&self, names: &Names, class: ClassName, supertypes: &mut Supertypes<'_>) -> bool {
        let immutables = self.immutables(names);
        let is_listed = |class: &ClassName| immutables.values.contains(class) || immutables.others.contains(class);
        is_listed(&class) || linearize(class, supertypes).iter().any(is_listed)
    }

    /// Whether a class is one of values: nothing but what they were made of, with methods that look at nothing else.
    pub fn is_value(&self, names: &Names, class: ClassName) -> bool {
        self.immutables(names).values.contains(&class)
    }

    /// Whether a static field holds a printer to the console: what [`Sink::Print`](super::Sink) needs to be a sink.
    pub fn is_console(&self, names: &Names, field: FieldName) -> bool {
        let asked = (names.text(field.class.0), names.text(field.name));
        CONSOLE.contains(&asked)
    }

    /// The methods of a class that a framework calls, in their order.
    pub fn entry_points(&self, names: &Names, class: &Header, supertypes: &mut Supertypes<'_>) -> Vec<EntryPoint> {
        if class.access.is_interface() {
            return Vec::new();
        }
        let frameworks = self.frameworks(names);
        let rules: Vec<&ByAncestor> = linearize(class.name, supertypes)
            .iter()
            .filter_map(|ancestor| frameworks.ancestors.get(ancestor).copied())
            .collect();
        let by_rule = |method: &Method| {
            rules.iter().find(|rule| is_called(rule, method, names)).map(|rule| (rule.times, rule.objects))
        };
        let by_annotation = |method: &Method| {
            let simple_name = |class: ClassName| simple_name(names, class);
            let mut called = method.annotations.iter();
            called.find_map(|annotation| frameworks.annotations.get(simple_name(annotation.class)).copied())
        };
        let said = objects_said(names, class);
        let is_candidate = |method: &Method| {
            method.has_code
                && !method.access.is_static()
                && !method.access.is_private()
                && !method.access.is_synthetic()
        };
        class
            .methods
            .iter()
            .enumerate()
            .filter(|(_, method)| is_candidate(method))
            .filter_map(|(index, method)| {
                let (times, objects) = by_annotation(method).or_else(|| by_rule(method))?;
                Some(EntryPoint { method: index, times, objects: said.unwrap_or(objects) })
            })
            .collect()
    }
}

fn simple_name(names: &Names, class: ClassName) -> &str {
    names.text(class.0).rsplit(['/', '$']).next().unwrap_or_default()
}

/// How many objects a framework makes of a class, if annotations of the class say so.
fn objects_said(names: &Names, class: &Header) -> Option<Instances> {
    let is_named =
        |list: &[&str]| class.annotations.iter().any(|annotation| list.contains(&simple_name(names, annotation.class)));
    let is_scoped = || {
        class
            .annotations
            .iter()
            .filter(|annotation| simple_name(names, annotation.class) == "Scope")
            .any(|scope| scope.strings.iter().any(|(_, value)| SCOPES_OF_EACH.contains(&names.text(*value))))
    };
    if is_named(OBJECT_OF_EACH) || is_scoped() {
        Some(Instances::Each)
    } else {
        is_named(ONE_OBJECT).then_some(Instances::One)
    }
}

fn is_called(rule: &ByAncestor, method: &Method, names: &Names) -> bool {
    let name = names.text(method.name);
    match rule.methods {
        Methods::Named(list) => list.split_ascii_whitespace().any(|called| called == name),
        Methods::Public => method.access.is_public() && !matches!(name, "<init>" | "<clinit>" | "bindService"),
    }
}
