//! Lists, queues and maps that have every object once: all that is ever put there is made for it, at that place. Who goes
//! over one of them comes to another object each time, and the position tells the object.

use classfile::CallKind;
use location::{FieldName, MethodName};
use rustc_hash::FxHashSet;

use crate::class::MethodId;
use crate::cover::Cover;
use crate::held::Relation;
use crate::ir::{Body, Op, Value};
use crate::outline::{Action, Argument, Event, Key, Member, Name, NameStep, Object, Outline};
use crate::sharing::Part;
use crate::variable::{Variable, Variables, holder};
use crate::whole::Ground;

/// Values that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 3;

/// How calls begin that put something into a container.
const PUTTING: [&str; 9] = ["add", "offer", "push", "put", "set", "insert", "replace", "compute", "fill"];

/// Tells of containers whether they have each object once, and no other container has it.
pub(crate) trait Distinct {
    /// Whether a field's container gets nothing but objects that are made where they are put there.
    fn is_distinct_field(&self, field: FieldName) -> bool;
}

impl Distinct for Ground<'_> {
    fn is_distinct_field(&self, field: FieldName) -> bool {
        self.is_distinct_in(field)
    }
}

impl Ground<'_> {
    /// Whether a container that a method has holds no object twice.
    pub(crate) fn has_each_once(&self, method: MethodId, body: &Body, value: Value) -> bool {
        self.is_distinct(method, body, value, MAX_DEPTH)
    }

    /// Whether a value is all constants of an enum, each of them once: the array, or a list or stream of it.
    pub(crate) fn is_all_of_enum(&self, body: &Body, value: Value) -> bool {
        let Op::Call { kind: CallKind::Static, method, arguments } = *body.op(body.without_casts(value)) else {
            return false;
        };
        let is_enum = |class| self.program.header(class).access.is_enum();
        match (self.program.names.text(method.name), body.operands(arguments)) {
            ("values", []) => self.program.class(method.class).is_some_and(is_enum),
            ("of" | "asList" | "stream", [array]) => {
                self.program.names.text(method.class.0).starts_with("java/util/") && self.is_all_of_enum(body, *array)
            }
            _ => false,
        }
    }

    fn is_distinct(&self, method: MethodId, body: &Body, value: Value, depth: usize) -> bool {
        let value = body.without_casts(value);
        match *body.op(value) {
            Op::New(_) => self.is_filled_with_new(body, value),
            Op::NewArray { .. } => is_array_of_new(body, value),
            Op::GetField { field, .. } | Op::GetStatic(field) => self.is_distinct_in(field),
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
                    Some(NameStep::Field(field)) => self.is_distinct_in(*field),
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
                    self.makes(made)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a function makes an object each time.
    fn makes(&self, function: MethodName) -> bool {
        let code = self.calls.hierarchy.resolve_name(self.program, function);
        function.name == self.program.roots.constructor
            || code.and_then(|code| self.outlines().get(code)).is_some_and(|outline| outline.makes.is_some())
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
    fn is_distinct_in(&self, field: FieldName) -> bool {
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

impl Cover<'_> {
    /// The locks of one owner that are the same as long as it lives.
    pub(crate) fn that_last<'r>(&self, variables: &Variables, relations: &'r [Relation]) -> Vec<&'r Relation> {
        let is_one = |relation: &&Relation| self.is_owned(relation) && self.is_lasting(variables, relation);
        relations.iter().filter(is_one).collect()
    }

    /// Whether nobody but the owner of a lock has the objects that the lock is to cover.
    fn is_owned(&self, relation: &Relation) -> bool {
        let steps = relation.parts().0.unwrap_or_default();
        steps.iter().enumerate().all(|(at, step)| match step {
            NameStep::Field(field) => self.summaries.holdings.is_own(self.program, *field),
            // What stands in an array may stand in others, too, or twice there.
            NameStep::Element(key) if *key == Key::TOUCHED => match steps[..at].last() {
                Some(NameStep::Field(field)) => self.distinct.is_some_and(|known| known.is_distinct_field(*field)),
                _ => false,
            },
            NameStep::Constant(_) | NameStep::Element(_) => false,
            NameStep::Some => true,
        })
    }

    /// Whether a lock that is looked up by the key of what is touched is the same one each time: nobody takes it out of
    /// where it is looked up. One that is looked up by something else is not known elsewhere.
    fn is_lasting(&self, variables: &Variables, relation: &Relation) -> bool {
        let Some((NameStep::Element(key), steps)) = relation.lock.steps.split_last() else { return true };
        let container = Name { start: relation.lock.start, steps: steps.into() };
        let Some(container) = holder(&container).and_then(|field| self.program.resolve_field(field)) else {
            return false;
        };
        *key == Key::TOUCHED
            && variables.writers(Variable::Held(container)).iter().all(|place| {
                let summary = self.summaries.summary(place.method);
                summary.is_some_and(|summary| {
                    let write = &summary.accesses[place.access.index()];
                    matches!(write.member, Member::Elements) || write.is_keyed && !write.is_removal
                })
            })
    }
}

/// Whether these are objects that are made at different places.
fn are_new(body: &Body, values: impl Iterator<Item = Value>) -> bool {
    let mut seen = FxHashSet::default();
    let mut values = values.map(|value| body.without_casts(value)).peekable();
    values.peek().is_some() && values.all(|value| matches!(body.op(value), Op::New(_)) && seen.insert(value))
}

/// Whether an array gets nothing but objects that are made where they are put there, by whoever makes it; or nothing yet.
fn is_array_of_new(body: &Body, array: Value) -> bool {
    let mut put = FxHashSet::default();
    body.instructions().all(|(at, instruction)| match instruction.op {
        Op::ArrayStore { array: to, value, .. } if body.without_casts(to) == array => {
            let value = body.without_casts(value);
            matches!(body.op(value), Op::New(_)) && body.block_of(value) == body.block_of(at) && put.insert(value)
        }
        // Who is given it may put something there.
        Op::Call { arguments, .. } => !body.operands(arguments).contains(&array),
        _ => true,
    })
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
fn puts_new(ground: &Ground<'_>, outline: &Outline, event: &Event) -> bool {
    // It is made in the same round: its constructor is called there.
    let is_made_here = |register: u32| {
        outline.events.iter().any(|made| {
            let is_it = |first: &Argument| {
                first.objects.iter().any(|object| matches!(object, Object::New { register: it, .. } if *it == register))
            };
            made.block == event.block
                && matches!(&made.action, Action::Call { method, arguments, .. }
                    if method.name == ground.program.roots.constructor && arguments.first().is_some_and(is_it))
        })
    };
    let is_new = |given: &Argument| matches!(given.objects.as_slice(), [Object::New { register, .. }] if is_made_here(*register));
    let (method, arguments) = match &event.action {
        Action::Call { method, arguments, .. } => (method, arguments),
        Action::Write { member: Member::Elements, stored, .. } => return is_new(stored),
        _ => return false,
    };
    let name = ground.program.names.text(method.name);
    if !PUTTING.iter().any(|word| name.starts_with(word)) {
        return true;
    }
    let makes = |given: &Argument| match given.objects.as_slice() {
        [Object::Event(made)] => match &outline.events[made.index()].action {
            Action::Lambda { method, .. } => ground.makes(*method),
            _ => false,
        },
        _ => false,
    };
    match name {
        "add" | "addLast" | "addFirst" | "offer" | "push" | "put" | "putIfAbsent" => {
            arguments.last().is_some_and(is_new)
        }
        // One for each key or position that has none.
        "computeIfAbsent" | "setAll" => arguments.last().is_some_and(makes),
        _ => false,
    }
}
