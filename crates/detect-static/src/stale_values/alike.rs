//! Objects of the program's own that are alike, whoever makes them: records of what never changes, worked out from what is
//! given by code that looks at nothing else. Two that are made at the same time are told apart by those who compare
//! references or lock them, and by nobody else.
//!
//! Misses: code that makes arrays or containers on the way, and classes without an `equals` of their own.

use location::{ClassName, FieldName, MethodName, Symbol};
use program::ir::{CallKind, Op, ValueType};
use program::model::{Product, is_ever_new};
use program::outline::{Action, Event, EventId, Member, Object, Origin, Outline, Start};
use program::summary::{Access, Influence, Root};
use program::{ClassId, MethodId, Variable};

use super::rules::Looking;

/// Calls, and parts of parts, are looked at this deep.
const MAX_DEPTH: usize = 3;

/// Containers of which there are some that nobody can change.
const CONTAINERS: [&str; 4] = ["java/util/Collection", "java/util/List", "java/util/Map", "java/util/Set"];

/// What is made on the way, and is no part of what comes of it.
const MEANS: [&str; 3] = ["java/lang/StringBuilder", "java/lang/Math", "java/util/Objects"];

impl Looking<'_> {
    /// Whether nobody can tell an object from another one that was made of the same. Not asked of large programs, since all
    /// their code would have to be looked at.
    pub(super) fn is_alike(&self, outline: &Outline, object: &Object) -> bool {
        let (class, making) = match *object {
            Object::New { class, .. } => (Some(class), constructed(outline, object)),
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => (self.yielded(*method), Some(event)),
                _ => return false,
            },
            Object::Parameter(_) | Object::Int(_) | Object::Unknown => return false,
        };
        !self.whole.is_large()
            && class.is_some_and(|class| self.is_of_value(class, MAX_DEPTH) && !self.is_told_apart(class))
            && making.is_some_and(|event| self.is_worked_out(outline, event))
    }

    /// Whether all that this method may write is alike for everybody who asks for this key.
    pub(super) fn are_all_alike(&self, write: &Access, is_settled: impl Fn(&Influence) -> bool) -> bool {
        let is_given = |influence: &&Influence| matches!(influence.root, Root::Parameter(_));
        write.value.iter().filter(is_given).all(is_settled)
            && self.put_at(&write.spot).is_some_and(|(method, outline, value)| {
                method == self.method && !value.is_empty() && value.iter().all(|object| self.is_alike(outline, object))
            })
    }

    /// The class of what a method returns.
    fn yielded(&self, method: MethodName) -> Option<ClassName> {
        let names = &self.whole.program.names;
        let (_, yielded) = names.text(method.descriptor).rsplit_once(')')?;
        Some(names.class(yielded.strip_prefix('L')?.strip_suffix(';')?))
    }

    /// Whether objects of a class never change, and are equal if what they are made of is.
    fn is_of_value(&self, name: ClassName, depth: usize) -> bool {
        let program = self.whole.program;
        let Some(class) = program.class(name).filter(|class| program.is_checked(*class)) else { return false };
        let header = program.header(class);
        let is = |parent: &str| header.super_class.is_some_and(|above| program.names.text(above.0) == parent);
        let has_equals =
            || program.methods_of(class).any(|method| program.names.text(program.method(method).name) == "equals");
        let is_lasting = |field: &FieldName| {
            let descriptor = program.names.text(field.descriptor);
            self.is_lasting(descriptor, depth) || is_container(descriptor) && self.is_sealed(class, *field)
        };
        let own = || program.fields_of(class).filter(|field| !program.field(*field).access.is_static());
        (is("java/lang/Record") || is("java/lang/Object") && header.access.is_final() && has_equals())
            && own().all(|field| program.field(field).access.is_final() && is_lasting(&program.field_name(field)))
    }

    /// Whether what has this type never changes.
    fn is_lasting(&self, descriptor: &str, depth: usize) -> bool {
        let class = || descriptor.strip_prefix('L')?.strip_suffix(';').map(|name| self.whole.program.names.class(name));
        self.is_unchanging(descriptor) || depth > 0 && class().is_some_and(|class| self.is_of_value(class, depth - 1))
    }

    /// Whether a field of a container only ever gets those that nobody can change.
    fn is_sealed(&self, class: ClassId, field: FieldName) -> bool {
        let program = self.whole.program;
        let is_constructor = |method: &MethodId| self.is_constructor(program.method(*method).name);
        program.methods_of(class).filter(is_constructor).all(|constructor| {
            let Some(outline) = self.whole.outlines().get(constructor) else { return false };
            let is_it = |object: &Object| match *object {
                Object::Event(made) => self.makes_sealed(outline, made),
                Object::Parameter(position) => self.is_given_sealed(constructor, position),
                Object::New { .. } | Object::Int(_) | Object::Unknown => false,
            };
            outline.events.iter().all(|event| match &event.action {
                Action::Write { member: Member::Field(written), stored, .. } if *written == field => {
                    !stored.objects.is_empty() && stored.objects.iter().all(is_it)
                }
                _ => true,
            })
        })
    }

    /// Whether all that calls a constructor gives it such a container.
    fn is_given_sealed(&self, constructor: MethodId, position: u16) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let gives = |outline: &Outline, event: &Event| match &event.action {
            Action::Call { kind, method, arguments }
                if calls.targets(program, *kind, *method).known().contains(&constructor) =>
            {
                let given = arguments.get(usize::from(position)).map(|given| given.objects.as_slice());
                let is_it =
                    |object: &Object| matches!(*object, Object::Event(made) if self.makes_sealed(outline, made));
                given.is_some_and(|given| !given.is_empty() && given.iter().all(is_it))
            }
            Action::Lambda { method, .. } => !calls.lambda_targets(program, *method).known().contains(&constructor),
            _ => true,
        };
        !self.whole.threads().is_from_outside(constructor)
            && calls.callers(constructor).iter().all(|caller| {
                let outline = self.whole.outlines().get(*caller);
                outline.is_some_and(|outline| outline.events.iter().all(|event| gives(outline, event)))
            })
    }

    /// Whether an event makes a container that nobody can change.
    fn makes_sealed(&self, outline: &Outline, made: EventId) -> bool {
        let program = self.whole.program;
        let text = |symbol| program.names.text(symbol);
        let Action::Call { method, arguments, .. } = &outline.events[made.index()].action else { return false };
        let model = self.whole.calls.model(program, *method, method.class);
        let is_collector = |object: &Object| match object {
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => text(method.name).starts_with("toUnmodifiable"),
                _ => false,
            },
            _ => false,
        };
        model.is_some_and(|model| model.product == Some(Product::Immutable))
            || text(method.class.0) == "java/util/stream/Stream"
                && (text(method.name) == "toList"
                    || arguments.get(1).is_some_and(|given| given.objects.iter().any(is_collector)))
    }

    /// Whether what an event yields follows from what the method is given, by code that looks at nothing else.
    fn is_worked_out(&self, outline: &Outline, event: EventId) -> bool {
        let action = &outline.events[event.index()].action;
        let arguments = match action {
            Action::Call { arguments, .. } => arguments.as_slice(),
            _ => &[],
        };
        // What a constructor makes is given to it first.
        let is_constructor = matches!(action, Action::Call { method, .. } if self.is_constructor(method.name));
        let mut sources = arguments.iter().skip(usize::from(is_constructor)).flat_map(|argument| &argument.sources);
        self.is_plain_event(&outline.events[event.index()], false, MAX_DEPTH)
            && sources.all(|source| match source.origin {
                Origin::Event(from) => from < event && self.is_worked_out(outline, from),
                Origin::Parameter(_) => true,
            })
    }

    fn is_constructor(&self, method: Symbol) -> bool {
        self.whole.program.names.text(method) == "<init>"
    }

    /// Whether an event looks at nothing that changes, and changes nothing but what its constructor makes.
    fn is_plain_event(&self, event: &Event, is_constructor: bool, depth: usize) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_code = |method: &MethodId| program.is_checked(program.class_of(*method));
        match &event.action {
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => self.is_never_written(*field),
            Action::Read { .. } => true,
            Action::Write { base, member: Member::Field(_), .. } => {
                is_constructor && base.start == Start::Parameter(0) && base.steps.is_empty()
            }
            Action::Call { kind, method, .. } => {
                let targets = calls.targets(program, *kind, *method);
                match targets.known().iter().any(is_code) {
                    true => targets.known().iter().all(|target| self.is_plain_method(*target, depth)),
                    false => self.is_plain_library(*kind, *method),
                }
            }
            Action::Lambda { kind, method, .. } => {
                let targets = calls.lambda_targets(program, *method);
                let yielded = program.names.text(method.descriptor).rsplit_once(')').map_or("", |(_, yielded)| yielded);
                match targets.known().iter().any(is_code) {
                    true => {
                        self.is_lasting(yielded, depth)
                            && targets.known().iter().all(|target| self.is_plain_method(*target, depth))
                    }
                    false => calls.is_value(program, method.class) && self.is_plain_library(*kind, *method),
                }
            }
            Action::Write { .. } | Action::Wait(_) => false,
        }
    }

    fn is_never_written(&self, field: FieldName) -> bool {
        self.whole.program.resolve_field(field).is_some_and(|field| {
            let variables = [Variable::Field(field), Variable::Held(field), Variable::Within(field)];
            variables.into_iter().all(|variable| self.whole.variables.writers(variable).is_empty())
        })
    }

    /// The same of all that a method does, and of what it makes on the way.
    fn is_plain_method(&self, method: MethodId, depth: usize) -> bool {
        let program = self.whole.program;
        let (Some(outline), Ok(Some(body))) = (self.whole.outlines().get(method), program.body(method)) else {
            return false;
        };
        let is_constructor = self.is_constructor(program.method(method).name);
        let throwable = program.names.class("java/lang/Throwable");
        let may_be_made = |class: ClassName| {
            MEANS.contains(&program.names.text(class.0))
                || self.whole.calls.is_value(program, class)
                || program.is_subtype(class, throwable)
                || depth > 0 && self.is_of_value(class, depth - 1)
        };
        depth > 0
            && outline.sections.is_empty()
            && outline.events.iter().all(|event| self.is_plain_event(event, is_constructor, depth - 1))
            && body.instructions().all(|(_, instruction)| match instruction.op {
                Op::New(class) => may_be_made(class),
                Op::NewArray { .. } => false,
                _ => true,
            })
    }

    /// Whether a method of the library looks at nothing but what it is given, and yields nothing that changes but a stream.
    fn is_plain_library(&self, kind: CallKind, method: MethodName) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let (class, name) = (program.names.text(method.class.0), program.names.text(method.name));
        let is_base = || matches!(class, "java/lang/Object" | "java/lang/Record") && name == "<init>";
        let is_stream = |class: &str| class.starts_with("java/util/stream/");
        let is_read = || {
            let model = calls.model(program, method, method.class);
            model.is_some_and(|model| !model.effects().any(|effect| effect.access.writes()))
        };
        let is_known = calls.is_value(program, method.class)
            || MEANS.contains(&class)
            || is_stream(class)
            || CONTAINERS.contains(&class) && is_read();
        let yielded = program.names.text(method.descriptor).rsplit_once(')').map_or("", |(_, yielded)| yielded);
        let yields = self.yielded(method).map(|class| program.names.text(class.0));
        let is_lasting = self.is_unchanging(yielded)
            || is_container(yielded)
            || yields.is_some_and(|class| {
                is_stream(class) || MEANS.contains(&class) || class == "java/lang/Object" && kind != CallKind::Static
            });
        is_base() || is_known && is_lasting && !is_ever_new(&program.names, method)
    }

    /// Whether somebody compares references to objects of a class, or locks them.
    fn is_told_apart(&self, class: ClassName) -> bool {
        let program = self.whole.program;
        program.methods().any(|method| {
            let own = program.method(method).access;
            let is_here = program.header(program.class_of(method)).name == class;
            let Ok(Some(body)) = program.body(method) else { return false };
            let is_one = |value| body.instruction(value).value_type == ValueType::Reference(class);
            is_here && own.is_synchronized() && !own.is_static()
                || body.instructions().any(|(_, instruction)| match instruction.op {
                    Op::MonitorEnter(lock) => is_one(lock),
                    // That something equals itself, its own class may ask.
                    Op::Branch { left, right: Some(right), .. } => !is_here && (is_one(left) || is_one(right)),
                    _ => false,
                })
        })
    }
}

fn is_container(descriptor: &str) -> bool {
    let class = descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';'));
    class.is_some_and(|class| CONTAINERS.contains(&class))
}

/// The call of the constructor that makes an object.
fn constructed(outline: &Outline, object: &Object) -> Option<EventId> {
    let made = outline.events.iter().position(|event| match &event.action {
        Action::Call { kind: CallKind::Special, arguments, .. } => {
            arguments.first().is_some_and(|made| made.objects.as_slice() == [*object])
        }
        _ => false,
    });
    made.map(|event| EventId(event as u32))
}
