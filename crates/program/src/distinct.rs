//! Lists, queues and maps that have every object once: all that is ever put there is made for it, at that place. Who goes
//! over one of them comes to another object each time.

use classfile::CallKind;
use location::{FieldName, MethodName};
use rustc_hash::FxHashSet;

use crate::class::MethodId;
use crate::ir::{Body, Op, Value};
use crate::outline::{Action, Argument, Event, Member, NameStep, Object, Outline};
use crate::sharing::Part;
use crate::whole::Whole;

/// Values that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 3;

/// How calls begin that put something into a container.
const PUTTING: [&str; 8] = ["add", "offer", "push", "put", "set", "insert", "replace", "compute"];

impl Whole<'_> {
    /// Whether a container that a method has holds no object twice.
    pub(crate) fn has_each_once(&self, method: MethodId, body: &Body, value: Value) -> bool {
        self.is_distinct(method, body, value, MAX_DEPTH)
    }

    fn is_distinct(&self, method: MethodId, body: &Body, value: Value, depth: usize) -> bool {
        let value = body.without_casts(value);
        match *body.op(value) {
            Op::New(_) => self.is_filled_with_new(body, value),
            Op::GetField { field, .. } | Op::GetStatic(field) => self.is_distinct_field(field),
            Op::Call { kind, method: called, arguments } => {
                self.is_distinct_result(method, body, (kind, called), body.operands(arguments), depth)
            }
            Op::Parameter(position) if depth > 0 => self.is_given_distinct(method, position, depth - 1),
            _ => false,
        }
    }

    /// What a call yields: a list of what it is given, a copy or a view of another container, the end of a stream, or what a
    /// method of the program has in a field.
    fn is_distinct_result(
        &self,
        method: MethodId,
        body: &Body,
        (kind, called): (CallKind, MethodName),
        operands: &[Value],
        depth: usize,
    ) -> bool {
        let text = |symbol| self.program.names.text(symbol);
        let (class, name) = (text(called.class.0), text(called.name));
        let is_of_library = class.starts_with("java/util/");
        match (name, operands) {
            ("of" | "asList", [array]) if is_of_library && matches!(body.op(*array), Op::NewArray { .. }) => {
                let stored = body.instructions().filter_map(|(_, instruction)| match instruction.op {
                    Op::ArrayStore { array: to, value, .. } if to == *array => Some(value),
                    _ => None,
                });
                are_new(body, stored)
            }
            ("of", parts) if is_of_library && class.ends_with("List") => are_new(body, parts.iter().copied()),
            ("copyOf" | "unmodifiableList" | "unmodifiableCollection" | "synchronizedList", [inner])
            | ("values", [inner]) => is_of_library && self.is_distinct(method, body, *inner, depth),
            ("toList", [stream]) | ("collect", [stream, _]) if class.starts_with("java/util/stream/") => {
                self.is_of_new(body, *stream)
            }
            _ if is_of_library => false,
            _ => {
                let targets = self.calls.targets(self.program, kind, called);
                let [target] = targets.known() else { return false };
                let returned = self.outlines().get(*target).and_then(|outline| outline.returns.as_ref());
                match returned.and_then(|name| name.steps.last()) {
                    Some(NameStep::Field(field)) => self.is_distinct_field(*field),
                    _ => false,
                }
            }
        }
    }

    /// Whether a stream makes a new object for each of its elements.
    fn is_of_new(&self, body: &Body, stream: Value) -> bool {
        let Op::Call { method, arguments, .. } = *body.op(body.without_casts(stream)) else { return false };
        let text = |symbol| self.program.names.text(symbol);
        match (text(method.name), body.operands(arguments)) {
            ("limit" | "peek" | "sorted", [inner, ..]) => self.is_of_new(body, *inner),
            ("map" | "mapToObj", [_, function]) | ("generate", [function]) => match *body.op(*function) {
                Op::CallDynamic { dynamic, .. } => {
                    let Some(made) = body.dynamic(dynamic).lambda.map(|handle| handle.member) else { return false };
                    made.name == self.program.roots.constructor
                        || self
                            .calls
                            .hierarchy
                            .resolve_name(self.program, made)
                            .and_then(|method| self.outlines().get(method))
                            .is_some_and(|outline| outline.makes.is_some())
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a container that is made here gets nothing but objects that are made where they are put there. What others do
    /// who are given it is not asked: they look at what it has.
    fn is_filled_with_new(&self, body: &Body, container: Value) -> bool {
        let mut put = Vec::new();
        for (at, instruction) in body.instructions() {
            let Op::Call { method, arguments, .. } = instruction.op else { continue };
            let [receiver, given @ ..] = body.operands(arguments) else { continue };
            if body.without_casts(*receiver) != container {
                continue;
            }
            let name = self.program.names.text(method.name);
            match (name, given) {
                ("<init>", []) => {}
                // How many there will be.
                ("<init>", [size]) if matches!(body.op(*size), Op::Constant(_)) => {}
                ("<init>", _) => return false,
                ("add" | "addLast" | "addFirst" | "offer" | "push", [value]) | ("put" | "putIfAbsent", [_, value]) => {
                    let value = body.without_casts(*value);
                    if body.block_of(value) != body.block_of(at) {
                        return false;
                    }
                    put.push(value);
                }
                _ if PUTTING.iter().any(|word| name.starts_with(word)) => return false,
                _ => {}
            }
        }
        !put.is_empty() && are_new(body, put.into_iter())
    }

    /// Whether a field's container gets nothing but objects that are made where they are put there.
    fn is_distinct_field(&self, field: FieldName) -> bool {
        let program = self.program;
        let Some(id) = program.resolve_field(field) else { return false };
        if !program.is_final_field(field) {
            return false;
        }
        let mut is_filled = false;
        for access in self.sharings().accesses(id).iter().filter(|access| access.is_write) {
            let Some(outline) = self.outlines().get(access.at.method) else { return false };
            let event = &outline.events[access.at.event.index()];
            let is_right = match access.part {
                Part::Itself => self.stores_distinct(access.at.method, event),
                Part::Contents => {
                    is_filled = true;
                    puts_new(self, outline, event)
                }
                Part::Within => true,
            };
            if !is_right {
                return false;
            }
            is_filled |= access.part == Part::Itself && !stores_empty(event);
        }
        is_filled
    }

    /// Whether what is stored is a new container, or one that has each object once.
    fn stores_distinct(&self, method: MethodId, event: &Event) -> bool {
        if stores_empty(event) {
            return true;
        }
        let Ok(Some(body)) = self.program.body(method) else { return false };
        let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { value, .. } | Op::PutStatic { value, .. } if instruction.pc == event.pc => Some(value),
            _ => None,
        });
        stored.is_some_and(|stored| self.is_distinct(method, &body, stored, 0))
    }

    /// Whether all callers give a container that has each object once.
    fn is_given_distinct(&self, method: MethodId, position: u16, depth: usize) -> bool {
        let callers = self.calls.callers(method);
        !callers.is_empty()
            && !self.threads().is_from_outside(method)
            && callers.iter().all(|caller| {
                let Ok(Some(body)) = self.program.body(*caller) else { return false };
                let mut given = body.instructions().filter_map(|(_, instruction)| match instruction.op {
                    Op::Call { kind, method: called, arguments }
                        if self.calls.targets(self.program, kind, called).known().contains(&method) =>
                    {
                        Some(body.operands(arguments).get(usize::from(position)).copied())
                    }
                    _ => None,
                });
                let is_right =
                    |given: Option<Value>| given.is_some_and(|given| self.is_distinct(*caller, &body, given, depth));
                given.next().is_some_and(is_right) && given.all(is_right)
            })
    }
}

/// Whether these are objects that are made at different places.
fn are_new(body: &Body, values: impl Iterator<Item = Value>) -> bool {
    let mut seen = FxHashSet::default();
    let mut values = values.map(|value| body.without_casts(value)).peekable();
    values.peek().is_some() && values.all(|value| matches!(body.op(value), Op::New(_)) && seen.insert(value))
}

/// Whether a new container is stored that its constructor has put nothing into.
fn stores_empty(event: &Event) -> bool {
    match &event.action {
        Action::Write { member: Member::Field(_) | Member::Static(_), stored, .. } => {
            matches!(stored.objects.as_slice(), [Object::New { .. }])
        }
        _ => false,
    }
}

/// Whether a call puts an object into a container that is made each time; or takes something out.
fn puts_new(whole: &Whole<'_>, outline: &Outline, event: &Event) -> bool {
    let Action::Call { method, arguments, .. } = &event.action else { return false };
    let name = whole.program.names.text(method.name);
    if !PUTTING.iter().any(|word| name.starts_with(word)) {
        return true;
    }
    // It is made in the same round: its constructor is called there.
    let is_made_here = |register: u32| {
        outline.events.iter().any(|made| {
            let is_it = |first: &Argument| {
                first.objects.iter().any(|object| matches!(object, Object::New { register: it, .. } if *it == register))
            };
            made.block == event.block
                && matches!(&made.action, Action::Call { method, arguments, .. }
                    if method.name == whole.program.roots.constructor && arguments.first().is_some_and(is_it))
        })
    };
    matches!(name, "add" | "addLast" | "addFirst" | "offer" | "push" | "put" | "putIfAbsent")
        && matches!(arguments.last().map(|last| last.objects.as_slice()), Some([Object::New { register, .. }])
            if is_made_here(*register))
}
