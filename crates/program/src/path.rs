//! Paths: expressions that name an object, as a lock or as the base of an access.
//!
//! A path starts at `this`, a register, a class or a static field, and goes on through fields and array elements.
//! Two paths are equal when they are the same expression; what makes that mean "the same object" is that a path is
//! only built from loads that nothing in between can have overtaken (see [`Paths::of`]).

use classfile::Constant;
use location::{ClassName, FieldName, Names, Symbol};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::Program;
use crate::ir::{Body, Op, Value};

/// Longer paths are cut: they become [`Root::Unknown`].
pub const MAX_STEPS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    This,
    /// Any other register: a parameter, a local, what a call returned.
    Value(Value),
    /// `Foo.class`
    Class(ClassName),
    Static(FieldName),
    /// An object that has no name; equal to nothing, itself included.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    Field(FieldName),
    /// An element at a constant position.
    Constant(i32),
    /// An element at the position that a register holds.
    Element(Value),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Path {
    pub root: Root,
    pub steps: SmallVec<[Step; 2]>,
}

impl Path {
    pub fn root(root: Root) -> Path {
        Path { root, steps: SmallVec::new() }
    }

    pub fn is_unknown(&self) -> bool {
        self.root == Root::Unknown
    }

    /// Whether both name one object: equal, and known.
    pub fn same(&self, other: &Path) -> bool {
        !self.is_unknown() && self == other
    }

    pub fn then(mut self, step: Step) -> Path {
        if self.is_unknown() {
            return self;
        }
        if self.steps.len() == MAX_STEPS {
            return Path::root(Root::Unknown);
        }
        self.steps.push(step);
        self
    }

    /// Whether it starts at this register, or has it as an array position.
    pub fn depends_on(&self, value: Value) -> bool {
        self.root == Root::Value(value) || self.steps.contains(&Step::Element(value))
    }

    /// Whether it goes through a field of this name and type; a store to such a field may change what it names.
    pub fn goes_through(&self, field: FieldName) -> bool {
        let same = |other: FieldName| other.name == field.name && other.descriptor == field.descriptor;
        matches!(self.root, Root::Static(root) if same(root))
            || self.steps.iter().any(|step| matches!(step, Step::Field(other) if same(*other)))
    }

    pub fn goes_through_elements(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Element(_) | Step::Constant(_)))
    }

    /// As the source would write it.
    pub fn readable(&self, body: &Body, names: &Names) -> String {
        let mut text = match self.root {
            Root::This => "this".to_owned(),
            Root::Value(value) => readable_value(body, value, names),
            Root::Class(class) => format!("{}.class", simple_name(names, class)),
            Root::Static(field) => static_name(names, field),
            Root::Unknown => return "*".to_owned(),
        };
        for step in &self.steps {
            match step {
                Step::Field(field) => step_into(&mut text, names, *field),
                Step::Constant(index) => text.push_str(&format!("[{index}]")),
                // The position may be a value that the source has no name for.
                Step::Element(index) => match body.name(*index) {
                    Some(name) => text.push_str(&format!("[{}]", names.text(name))),
                    None => text.push_str("[...]"),
                },
            }
        }
        text
    }
}

/// Goes on from what `text` names into a field. Inner classes and lambdas reach their outer object and captured variables
/// through fields that the source does not have: javac's `this$0` and `val$x`, Kotlin's `$x`, Scala's `$outer`.
pub(crate) fn step_into(text: &mut String, names: &Names, field: FieldName) {
    let name = names.text(field.name);
    let captured = name.strip_prefix("val$").or_else(|| name.strip_prefix('$').filter(|rest| !rest.is_empty()));
    if name.starts_with("this$") || name == "$outer" {
        let outer = names.text(field.descriptor).trim_start_matches('L').trim_end_matches(';');
        let simple = outer.rsplit(['/', '$']).next().unwrap_or(outer);
        *text = format!("{simple}.this");
    } else if let Some(captured) = captured {
        captured.clone_into(text);
    } else {
        text.push('.');
        text.push_str(field_name(name));
    }
}

/// A field as the source calls it: Scala keeps `lazy val x` in `x$lzy1`, Kotlin `val x by lazy` in `x$delegate`.
pub(crate) fn field_name(name: &str) -> &str {
    match name.split_once("$lzy") {
        Some((lazy, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => lazy,
        _ => name.strip_suffix("$delegate").filter(|kept| !kept.is_empty()).unwrap_or(name),
    }
}

/// A static field as the source calls it, behind its class. An `object` of Scala is kept in a field `MODULE$`.
pub(crate) fn static_name(names: &Names, field: FieldName) -> String {
    let class = simple_name(names, field.class);
    match field_name(names.text(field.name)) {
        "MODULE$" => class.to_owned(),
        name => format!("{class}.{name}"),
    }
}

/// A register as the source calls it: lambdas of Kotlin are given the object around them as `this$0` and captured variables
/// as `$x`, those of Scala have `x$1` for them.
pub(crate) fn source_name(name: &str) -> &str {
    match name.strip_prefix('$') {
        Some(captured) if !captured.is_empty() => captured,
        _ if name.starts_with("this$") => "this",
        _ => match name.rsplit_once('$') {
            Some((captured, number))
                if !captured.is_empty() && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) =>
            {
                captured
            }
            _ => name,
        },
    }
}

/// The part of a class's name behind packages and outer classes. The class of an `object` of Scala has a `$` at its end.
pub(crate) fn simple_name(names: &Names, class: ClassName) -> &str {
    let text = names.text(class.0);
    let last = text.rsplit('/').next().unwrap_or(text);
    let last = last.strip_suffix('$').filter(|object| !object.is_empty()).unwrap_or(last);
    match last.rsplit('$').next() {
        Some(inner) if !inner.is_empty() && !inner.starts_with(|c: char| c.is_ascii_digit()) => inner,
        _ => last,
    }
}

fn readable_value(body: &Body, value: Value, names: &Names) -> String {
    if let Some(name) = body.name(value) {
        return source_name(names.text(name)).to_owned();
    }
    match *body.op(body.without_casts(value)) {
        Op::Parameter(0) if !body.is_static() => "this".to_owned(),
        Op::Parameter(position) => format!("parameter {position}"),
        Op::Constant(Constant::String(text)) => format!("{:?}", names.text(text)),
        Op::Constant(Constant::Int(value)) => value.to_string(),
        Op::Call { method, .. } => format!("{}()", names.text(method.name)),
        Op::New(class) => format!("new {}", simple_name(names, class)),
        Op::GetField { field, .. } | Op::GetStatic(field) => format!("an earlier {}", names.text(field.name)),
        _ => format!("v{}", value.index()),
    }
}

/// Builds paths of one body.
pub struct Paths<'p> {
    body: &'p Body,
    program: &'p Program,
    /// Fields that the body stores to, by name and type, constructors' own included.
    stored: FxHashSet<(Symbol, Symbol)>,
    stores_elements: bool,
}

impl<'p> Paths<'p> {
    pub fn new(body: &'p Body, program: &'p Program) -> Paths<'p> {
        let mut stored = FxHashSet::default();
        let mut stores_elements = false;
        for (_, instruction) in body.instructions() {
            match instruction.op {
                Op::PutField { field, .. } | Op::PutStatic { field, .. } => {
                    stored.insert((field.name, field.descriptor));
                }
                Op::ArrayStore { .. } => stores_elements = true,
                _ => {}
            }
        }
        Paths { body, program, stored, stores_elements }
    }

    /// The path of the object that `value` holds, as it would be written at the instruction `at`.
    ///
    /// A load whose field may have been stored to between the load and `at` does not count: there the register
    /// itself is the name.
    pub fn of(&self, value: Value, at: Value) -> Path {
        let body = self.body;
        // From the end to the root; a chain of loads may be as long as the code.
        let mut steps: SmallVec<[Step; MAX_STEPS]> = SmallVec::new();
        let mut value = body.without_casts(value);
        let root = loop {
            let (step, base) = match *body.op(value) {
                Op::Parameter(0) if !body.is_static() => break Root::This,
                Op::Constant(Constant::Class(class)) => break Root::Class(class),
                Op::GetStatic(field) if self.still_holds(field, value, at) => break Root::Static(field),
                Op::GetField { base, field } if self.still_holds(field, value, at) => (Step::Field(field), base),
                Op::ArrayLoad { array, index, .. } if self.elements_still_hold(value, at) => {
                    (self.position(index), array)
                }
                Op::Call { .. } => match self.accessed(value, at) {
                    Some(path) => return steps.into_iter().rev().fold(path, Path::then),
                    None => break Root::Value(value),
                },
                _ => break Root::Value(value),
            };
            if steps.len() == MAX_STEPS {
                return Path::root(Root::Unknown);
            }
            steps.push(step);
            value = body.without_casts(base);
        };
        Path { root, steps: steps.into_iter().rev().collect() }
    }

    /// The path of what an accessor reads that a compiler made for a class beside: as if the field were read here.
    fn accessed(&self, value: Value, at: Value) -> Option<Path> {
        let Op::Call { method, arguments, .. } = *self.body.op(value) else { return None };
        let read = self.program.getters.get(self.program, method)?;
        let field = read.field().filter(|field| self.still_holds(*field, value, at));
        self.program.accessor(method).and(field)?;
        Some(read.in_caller(self.program, self.body, self, self.body.operands(arguments), at))
    }

    /// The path of an element of the array that `array` holds.
    pub fn element(&self, array: Value, index: Value, at: Value) -> Path {
        self.of(array, at).then(self.position(index))
    }

    fn position(&self, index: Value) -> Step {
        match *self.body.op(index) {
            Op::Constant(Constant::Int(index)) => Step::Constant(index),
            _ => Step::Element(index),
        }
    }

    fn still_holds(&self, field: FieldName, load: Value, at: Value) -> bool {
        if !self.stored.contains(&(field.name, field.descriptor)) || self.program.is_final_field(field) {
            return true;
        }
        self.none_between(load, at, |op| match op {
            Op::PutField { field: other, .. } | Op::PutStatic { field: other, .. } => {
                other.name == field.name && other.descriptor == field.descriptor
            }
            _ => false,
        })
    }

    fn elements_still_hold(&self, load: Value, at: Value) -> bool {
        !self.stores_elements || self.none_between(load, at, |op| matches!(op, Op::ArrayStore { .. }))
    }

    /// Whether load and use stand in one block with none of these in between. Across blocks the answer is no, which
    /// costs a name and never gives a wrong one.
    fn none_between(&self, load: Value, at: Value, overtakes: impl Fn(&Op) -> bool) -> bool {
        load <= at
            && self.body.block_of(load) == self.body.block_of(at)
            && (load.index()..at.index()).all(|index| !overtakes(self.body.op(Value(index as u32))))
    }
}
