//! Finding the line for a call: the most specific class that has one says what the call does, the most specific class
//! that has a discipline says how it locks.
//!
//! So `Map.get` reads contents under no lock, and the same line on a `ConcurrentHashMap` is a section of its own.

use std::sync::OnceLock;

use location::{ClassName, MethodName, Names, Symbol};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::FAMILIES;
use super::call::{CallModel, Returns, Section, State};
use super::entry::{Frameworks, Immutables};
use super::line::{Discipline, Gives, Line, Origin, Table, Traversals, computes, makes, reads, table};
use super::tasks::Tasks;

/// Tells the direct supertypes of a class, superclass first. Nothing for a class that is not known.
pub type Supertypes<'s> = dyn FnMut(ClassName, &mut dyn FnMut(ClassName)) + 's;

/// Hierarchies deeper than this are no Java.
const MAX_ANCESTORS: usize = 1_000;

/// What all methods of values do that no table says more about.
const VALUE: Table = table("", "", State::Value, &[]);
const COMPUTED: Line = computes("");
const NEW_VALUE: Line = makes("");

/// What arrays have beside their elements.
const ARRAY: Table = table("", "", State::Elements, &[]);
const COPIED: Line = reads("").gives(Gives::Fresh).each();

type Overloads = SmallVec<[(Option<&'static str>, &'static Line); 1]>;

/// A table, with its lines by name once somebody asked.
struct Entry {
    table: &'static Table,
    lines: OnceLock<FxHashMap<Symbol, Overloads>>,
}

/// All tables, for the names of one analysis.
pub struct Models {
    entries: Vec<Entry>,
    classes: FxHashMap<ClassName, u16>,
    constructor: Symbol,
    tasks: OnceLock<Tasks>,
    immutables: OnceLock<Immutables>,
    frameworks: OnceLock<Frameworks>,
}

/// The tables that apply to a class, most specific first. Worth keeping by those who ask often.
#[derive(Clone, Default, Debug)]
pub struct Ancestry {
    tables: SmallVec<[u16; 8]>,
    /// Whether the first table names the class itself.
    is_named: bool,
}

impl Ancestry {
    /// Whether no table speaks of the class.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

impl Models {
    pub fn new(names: &Names) -> Models {
        let tables = || FAMILIES.iter().flat_map(|family| family.iter());
        let entries: Vec<Entry> = tables().map(|table| Entry { table, lines: OnceLock::new() }).collect();
        let mut classes = FxHashMap::with_capacity_and_hasher(2 * entries.len(), Default::default());
        let mut name = String::new();
        for (table, index) in tables().zip(0u16..) {
            for class in table.classes.split_ascii_whitespace() {
                name.clear();
                name.extend([table.package, "/", class]);
                classes.insert(names.class(&name), index);
            }
        }
        Models {
            entries,
            classes,
            constructor: names.intern("<init>"),
            tasks: OnceLock::new(),
            immutables: OnceLock::new(),
            frameworks: OnceLock::new(),
        }
    }

    pub(crate) fn tasks(&self, names: &Names) -> &Tasks {
        self.tasks.get_or_init(|| Tasks::new(names))
    }

    pub(crate) fn immutables(&self, names: &Names) -> &Immutables {
        self.immutables.get_or_init(|| Immutables::new(names))
    }

    pub(crate) fn frameworks(&self, names: &Names) -> &Frameworks {
        self.frameworks.get_or_init(|| Frameworks::new(names))
    }

    /// What the call of a method does, if a table knows. `method.class` may be the class that the call names, or any
    /// class that the receiver is known to have: the more is known, the more the answer says.
    ///
    /// A method that analysed code overrides has a body of its own: do not ask for it.
    pub fn call(&self, names: &Names, method: MethodName, supertypes: &mut Supertypes<'_>) -> Option<CallModel> {
        self.call_in(names, &self.ancestry(method.class, supertypes), method)
    }

    /// As [`Models::call`], for a class whose ancestry was asked for before.
    pub fn call_in(&self, names: &Names, ancestry: &Ancestry, method: MethodName) -> Option<CallModel> {
        // Constructors are not inherited.
        let is_constructor = method.name == self.constructor;
        let count = if is_constructor { usize::from(ancestry.is_named) } else { ancestry.tables.len() };
        let tables = &ancestry.tables[..count];
        let descriptor = names.text(method.descriptor);
        let entries = || tables.iter().map(|table| &self.entries[usize::from(*table)]);
        let found = entries().find_map(|entry| Some((entry.find(names, method.name, descriptor)?, entry.table)));
        let (line, table) = match found {
            Some(found) => found,
            None if names.text(method.class.0).starts_with('[') && names.text(method.name) == "clone" => {
                (&COPIED, &ARRAY)
            }
            None if !self.immutables(names).is_value(method.class) => return None,
            None if is_constructor => (&NEW_VALUE, &VALUE),
            None => (&COMPUTED, &VALUE),
        };
        let discipline = entries().find_map(|entry| entry.table.discipline).filter(|_| !line.is_static);
        Some(model(line, table, discipline, descriptor))
    }

    /// Whether objects of such a class synchronize themselves.
    pub fn is_guarded(&self, ancestry: &Ancestry) -> bool {
        let mut disciplines = ancestry.tables.iter().map(|table| self.entries[usize::from(*table)].table.discipline);
        disciplines.any(|discipline| discipline.is_some_and(|discipline| discipline.section != Section::None))
    }

    /// The tables that apply to a class.
    pub fn ancestry(&self, class: ClassName, supertypes: &mut Supertypes<'_>) -> Ancestry {
        let mut ancestry = Ancestry { is_named: self.classes.contains_key(&class), ..Ancestry::default() };
        for class in linearize(class, supertypes) {
            if let Some(table) = self.classes.get(&class)
                && !ancestry.tables.contains(table)
            {
                ancestry.tables.push(*table);
            }
        }
        ancestry
    }
}

impl Entry {
    fn find(&self, names: &Names, name: Symbol, descriptor: &str) -> Option<&'static Line> {
        let lines = self.lines.get_or_init(|| {
            let mut lines = FxHashMap::<Symbol, Overloads>::default();
            for line in self.table.lines.iter().copied().flatten() {
                for (name, parameters) in line.specs() {
                    lines.entry(names.intern(name)).or_default().push((parameters, line));
                }
            }
            lines
        });
        let overloads = lines.get(&name)?;
        let exact = |(parameters, _): &&(Option<&str>, _)| parameters.is_some_and(|spec| is_spelled(descriptor, spec));
        overloads
            .iter()
            .find(exact)
            .or_else(|| overloads.iter().find(|(parameters, _)| parameters.is_none()))
            .map(|(_, line)| *line)
    }
}

/// Classes of one hierarchy.
pub(crate) type Ancestors = SmallVec<[ClassName; 16]>;

/// A class and its ancestors, each before its own supertypes, superclasses before interfaces where that leaves a choice.
pub(crate) fn linearize(class: ClassName, supertypes: &mut Supertypes<'_>) -> Ancestors {
    // Few classes have so many ancestors that a set would be faster.
    let mut seen = Ancestors::new();
    let mut order = Ancestors::new();
    let mut pending: SmallVec<[(ClassName, bool); 16]> = smallvec![(class, false)];
    while let Some((class, is_done)) = pending.pop() {
        if is_done {
            order.push(class);
        } else if seen.len() < MAX_ANCESTORS && !seen.contains(&class) {
            seen.push(class);
            pending.push((class, true));
            // The last one pushed is walked first and comes last: the superclass has to be walked last.
            supertypes(class, &mut |ancestor| pending.push((ancestor, false)));
        }
    }
    order.reverse();
    order
}

fn model(line: &Line, table: &Table, discipline: Option<Discipline>, descriptor: &str) -> CallModel {
    let section = discipline.map_or(Section::None, |discipline| discipline.section);
    let cursors = discipline.map_or(Section::None, |discipline| discipline.cursors);
    let is_step = discipline.is_some_and(|discipline| discipline.traversals == Traversals::Whole);
    let is_atomic = section != Section::None && (is_step || !line.is_traversal);
    let count = count_parameters(descriptor);
    let returns = match line.gives {
        Gives::Unrelated => Returns::Unrelated,
        Gives::Computed => Returns::Computed,
        Gives::FromState => Returns::FromState,
        Gives::Removed => Returns::Removed,
        Gives::RemovedInto(argument) => Returns::RemovedInto(argument),
        Gives::Replaced(argument) => Returns::Replaced(argument),
        Gives::ReplacedByLast => Returns::Replaced(count.saturating_sub(1) as u8),
        Gives::Fresh => Returns::Fresh,
        Gives::Receiver => Returns::Receiver,
        Gives::Argument(argument) => Returns::Argument(argument),
        Gives::Part => Returns::View(section),
        Gives::Cursor => Returns::View(cursors),
    };
    CallModel {
        section,
        state: table.state,
        target: table.target,
        access: line.access,
        reads_arguments: line.reads_arguments,
        writes_arguments: line.writes_arguments,
        is_atomic,
        is_traversal: line.is_traversal,
        revalidates: line.revalidates.and_then(|checks| checks.resolve(count)),
        key: line.key,
        returns,
        runs: line.runs,
        runs_inside: is_atomic && !line.runs.is_empty() && !line.runs_outside,
        starts: line.starts,
        wraps: line.wraps,
        orders: line.orders,
        after: line.after,
        product: line.product,
        sink: line.sink,
        is_lock_operation: line.is_lock_operation,
    }
}

/// A method that a table names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedMethod {
    /// Binary name.
    pub class: String,
    pub name: &'static str,
    /// `None` stands for any.
    parameters: Option<&'static str>,
    pub origin: Origin,
    /// The first Java release that has it, if that is later than 17, else 0.
    pub since: u8,
}

impl NamedMethod {
    pub fn matches(&self, name: &str, descriptor: &str) -> bool {
        self.name == name && self.parameters.is_none_or(|spec| is_spelled(descriptor, spec))
    }
}

impl std::fmt::Display for NamedMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.class.replace('/', "."), self.name)?;
        self.parameters.map_or(Ok(()), |parameters| write!(f, "({parameters})"))
    }
}

/// Every method that the tables name, for tests that compare them with the classes they are about.
pub fn named_methods() -> impl Iterator<Item = NamedMethod> {
    FAMILIES.iter().flat_map(|family| family.iter()).flat_map(|table| {
        table.class_names().flat_map(move |class| {
            table.lines.iter().copied().flatten().flat_map(move |line| {
                let class = class.clone();
                line.specs().map(move |(name, parameters)| NamedMethod {
                    class: class.clone(),
                    name,
                    parameters,
                    origin: table.origin,
                    since: table.since.max(line.since),
                })
            })
        })
    })
}

/// Whether a descriptor's parameters are those of a list such as `Object,int[]`.
fn is_spelled(descriptor: &str, spec: &str) -> bool {
    let mut words = spec.split(',').filter(|word| !word.is_empty());
    each_parameter(descriptor).all(|parameter| words.next().is_some_and(|word| is_type(parameter, word)))
        && words.next().is_none()
}

fn is_type(descriptor: &str, word: &str) -> bool {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let name = word.trim_end_matches("[]");
    let is_named = match element {
        "B" => name == "byte",
        "C" => name == "char",
        "D" => name == "double",
        "F" => name == "float",
        "I" => name == "int",
        "J" => name == "long",
        "S" => name == "short",
        "Z" => name == "boolean",
        class => class
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';')?.strip_suffix(name))
            .is_some_and(|package| package.is_empty() || package.ends_with(['/', '$'])),
    };
    is_named && word.len() - name.len() == 2 * dimensions
}

fn count_parameters(descriptor: &str) -> usize {
    each_parameter(descriptor).count()
}

/// The parameters' descriptors, as far as they are well formed.
fn each_parameter(descriptor: &str) -> impl Iterator<Item = &str> {
    let mut rest = descriptor.strip_prefix('(').and_then(|text| text.split_once(')')).map_or("", |(list, _)| list);
    std::iter::from_fn(move || {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let length = match element.bytes().next()? {
            b'L' => element.find(';')? + 1,
            _ => element.chars().next()?.len_utf8(),
        };
        let (parameter, after) = rest.split_at(dimensions + length);
        rest = after;
        Some(parameter)
    })
}
