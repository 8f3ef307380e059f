//! Locals that tasks capture: `n` in `new Thread(() -> n.set(n.get() + 1))`.
//!
//! What a lambda captures comes to its code by a parameter, and another lambda has another parameter for it. So that all
//! speak of one variable, a local that a started lambda captures goes by the name of a field that the source does not
//! have: one for each parameter of a lambda, of which the first that holds the local counts. It is static, since nobody
//! but the code that captures it has a name for it; who shares it is asked by where the object goes (see
//! `crate::sharing`).

use classfile::{Access, Field, Type};
use location::{ClassName, FieldName, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::Calls;
use crate::class::{FieldId, MethodId, Program};
use crate::ir::Op;
use crate::library::supertypes;
use crate::outline::{Action, Object, Start};
use crate::outlines::Outlines;
use crate::thread::{At, Threads};

/// `static final synthetic`
const ACCESS: u16 = 0x1018;

/// A parameter of a lambda as a field.
pub(crate) struct ParameterField {
    pub(crate) field: Field,
    method: MethodId,
    position: u16,
}

impl Program {
    /// Gives numbers to the parameters of lambdas that may hold something that locks, is a lock, or needs one.
    pub(crate) fn number_parameters(&mut self) {
        let lambdas: FxHashSet<MethodId> = (self.methods())
            .flat_map(|method| &self.mentions[method.index()].lambdas)
            .filter_map(|lambda| self.declared_method(*lambda))
            .filter(|lambda| self.is_checked(self.class_of(*lambda)) && self.method(*lambda).access.is_synthetic())
            .collect();
        let mut lambdas: Vec<MethodId> = lambdas.into_iter().collect();
        lambdas.sort_unstable();
        for lambda in lambdas {
            let method = self.method(lambda);
            let first = u16::from(!method.access.is_static());
            let Some(descriptor) = classfile::parse_method(self.names.text(method.descriptor), &self.names) else {
                continue;
            };
            let (class, text) = (self.class_of(lambda), self.names.text(method.name).to_owned());
            for (position, kind) in (first..).zip(descriptor.parameters) {
                let Type::Reference(kind) = kind else { continue };
                if !self.is_of_library(kind) {
                    continue;
                }
                // No name in a class file has a `/` in it.
                let field = Field {
                    name: self.names.intern(&format!("{text}/{position}")),
                    descriptor: self.names.intern(&descriptor_of(self.names.text(kind.0))),
                    access: Access::from_bits(ACCESS),
                    annotations: Vec::new(),
                };
                let name = FieldName { class: self.header(class).name, name: field.name, descriptor: field.descriptor };
                self.fields_by_name.insert(name, FieldId(self.class_of_field.len() as u32));
                self.class_of_field.push(class);
                self.parameters.push(ParameterField { field, method: lambda, position });
            }
        }
    }

    /// Whether what an object of this class holds is the library's business: an array, a library's class, or one that
    /// extends one.
    fn is_of_library(&self, class: ClassName) -> bool {
        let mut above = Some(class);
        while let Some(id) = above.and_then(|class| self.class(class)).filter(|class| self.is_checked(*class)) {
            above = self.header(id).super_class;
            if above == Some(self.roots.object) {
                return false;
            }
        }
        true
    }

    fn field_of_parameter(&self, method: MethodId, position: u16) -> Option<FieldName> {
        let found = self.parameters.binary_search_by_key(&(method, position), |own| (own.method, own.position)).ok()?;
        Some(self.field_name(FieldId((self.first_parameter() + found) as u32)))
    }

    fn first_parameter(&self) -> usize {
        self.class_of_field.len() - self.parameters.len()
    }

    /// Whether a field stands for a local that lambdas capture.
    pub fn is_captured(&self, field: FieldId) -> bool {
        self.parameter_field(field).is_some()
    }

    pub(crate) fn parameter_field(&self, field: FieldId) -> Option<&ParameterField> {
        self.parameters.get((field.0 as usize).checked_sub(self.first_parameter())?)
    }

    /// The source's name of the local that a lambda has by the parameter which a field stands for. Not all compilers write
    /// it into the lambda; those who make the lambda have it, too.
    pub(crate) fn parameter_name(&self, field: FieldId) -> Option<Symbol> {
        let ParameterField { method, position, .. } = *self.parameter_field(field)?;
        let body = self.body(method).ok()??;
        let is_it = |op: &Op| matches!(op, Op::Parameter(own) if *own == position);
        let (value, _) = body.instructions().find(|(_, instruction)| is_it(&instruction.op))?;
        body.name(value).or_else(|| self.captured_name(method, position))
    }

    fn captured_name(&self, lambda: MethodId, position: u16) -> Option<Symbol> {
        let name = self.method_name(lambda);
        let mut makers = self.methods().filter(|maker| self.mentions[maker.index()].lambdas.contains(&name));
        makers.find_map(|maker| {
            let body = self.body(maker).ok()??;
            body.instructions().find_map(|(_, instruction)| match instruction.op {
                Op::CallDynamic { dynamic, arguments }
                    if body.dynamic(dynamic).lambda.is_some_and(|handle| handle.member == name) =>
                {
                    body.name(*body.operands(arguments).get(usize::from(position))?)
                }
                _ => None,
            })
        })
    }
}

fn descriptor_of(class: &str) -> String {
    if class.starts_with('[') { class.to_owned() } else { format!("L{class};") }
}

/// What a method calls an object that started lambdas capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Local {
    pub(crate) start: Start,
    pub(crate) field: FieldName,
}

/// The locals of a program that tasks capture.
#[derive(Default)]
pub struct Captured {
    locals: FxHashMap<MethodId, Vec<Local>>,
    /// Where the object comes from, by field: the method that has it first, and what it is there.
    origins: FxHashMap<FieldId, Vec<(MethodId, Object)>>,
    fields: FxHashSet<FieldName>,
}

impl Captured {
    pub(crate) fn of(program: &Program, calls: &Calls, outlines: Outlines<'_>, threads: &Threads) -> Captured {
        let mut captured = Captured::default();
        if program.parameters.is_empty() {
            return captured;
        }
        let mut started: Vec<At> = threads.started.iter().copied().collect();
        started.sort_unstable();
        // A function that a task has captured is run by the task, if by anybody.
        let mut next = 0;
        while let Some(at) = started.get(next).copied() {
            next += 1;
            for given in functions(outlines, at) {
                if !started.contains(&given) {
                    started.push(given);
                }
            }
        }
        // A lambda inside of another one captures what that one has captured.
        for _ in 0..MAX_NESTING {
            let count = captured.count();
            started.iter().for_each(|at| captured.add(program, calls, outlines, *at));
            if captured.count() == count {
                break;
            }
        }
        captured
    }

    fn count(&self) -> usize {
        self.locals.values().map(Vec::len).sum()
    }

    fn add(&mut self, program: &Program, calls: &Calls, outlines: Outlines<'_>, at: At) {
        let Some(outline) = outlines.get(at.method) else { return };
        let Some(Action::Lambda { method, arguments, .. }) = outline.events.get(at.event.index()).map(|e| &e.action)
        else {
            return;
        };
        let Some(body) = calls.hierarchy.resolve_name(program, *method) else { return };
        for (position, argument) in (0u16..).zip(arguments) {
            let Some(own) = program.field_of_parameter(body, position) else { continue };
            if !holds_something(program, calls, own.descriptor) {
                continue;
            }
            let [object] = *argument.objects.as_slice() else { continue };
            let start = match object {
                Object::New { register, .. } => Start::New(register),
                Object::Parameter(position) if position > 0 || program.method(at.method).access.is_static() => {
                    Start::Parameter(position)
                }
                Object::Event(call) if is_call(&outline.events[call.index()].action) => Start::Result(call),
                _ => continue,
            };
            let there = Start::Parameter(position);
            let known = self.field(at.method, start).or_else(|| self.field(body, there));
            let field = known.unwrap_or(own);
            if self.field(at.method, start).is_none() {
                self.locals.entry(at.method).or_default().push(Local { start, field });
                self.fields.insert(field);
                if let Some(id) = program.resolve_field(field) {
                    self.origins.entry(id).or_default().push((at.method, object));
                }
            }
            if self.field(body, there).is_none() {
                self.locals.entry(body).or_default().push(Local { start: there, field });
            }
        }
    }

    fn field(&self, method: MethodId, start: Start) -> Option<FieldName> {
        self.of_method(method).iter().find(|local| local.start == start).map(|local| local.field)
    }

    /// Whether a field stands for one of them.
    pub(crate) fn has(&self, field: FieldName) -> bool {
        !self.fields.is_empty() && self.fields.contains(&field)
    }

    /// What a method has of them.
    pub(crate) fn of_method(&self, method: MethodId) -> &[Local] {
        self.locals.get(&method).map(Vec::as_slice).unwrap_or_default()
    }

    /// Where the object comes from that a field stands for.
    pub(crate) fn origins(&self, field: FieldId) -> &[(MethodId, Object)] {
        self.origins.get(&field).map(Vec::as_slice).unwrap_or_default()
    }

    /// All of them, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (FieldId, &[(MethodId, Object)])> {
        self.origins.iter().map(|(field, origins)| (*field, origins.as_slice()))
    }
}

/// The lambdas that a lambda captures, made by the same method.
fn functions(outlines: Outlines<'_>, at: At) -> Vec<At> {
    let Some(outline) = outlines.get(at.method) else { return Vec::new() };
    let Some(Action::Lambda { arguments, .. }) = outline.events.get(at.event.index()).map(|event| &event.action) else {
        return Vec::new();
    };
    let is_function = |object: &Object| match object {
        Object::Event(made) if matches!(outline.events[made.index()].action, Action::Lambda { .. }) => Some(*made),
        _ => None,
    };
    let made = arguments.iter().flat_map(|argument| &argument.objects).filter_map(is_function);
    made.map(|event| At { event, ..at }).collect()
}

/// Lambdas deeper in lambdas than this are not followed.
const MAX_NESTING: usize = 4;

/// Whether the library says something of objects that a field may have, or they are arrays, or may be locks. What never
/// changes is no variable, and may be a key.
pub(crate) fn holds_something(program: &Program, calls: &Calls, descriptor: Symbol) -> bool {
    match classfile::parse_field(program.names.text(descriptor), &program.names) {
        Some(Type::Reference(class)) => holds_something_as(program, calls, class),
        _ => false,
    }
}

/// The same of what is declared as a class.
pub(crate) fn holds_something_as(program: &Program, calls: &Calls, class: ClassName) -> bool {
    let object = program.roots.object;
    let mut above = supertypes(program);
    let mut but_object = |class: ClassName, tell: &mut dyn FnMut(ClassName)| {
        above(class, &mut |parent| {
            if parent != object {
                tell(parent);
            }
        });
    };
    let is_known = !calls.models.ancestry(class, &mut but_object).is_empty();
    (class == object || is_known || program.names.text(class.0).starts_with('[')) && !calls.is_immutable(program, class)
}

fn is_call(action: &Action) -> bool {
    matches!(action, Action::Call { .. })
}
