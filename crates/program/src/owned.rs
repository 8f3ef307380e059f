//! Objects that belong to one thread at a time: taken out of where they were, or made and not let out, and handed from
//! method to method. Whoever is given one by all callers has it alone.

use std::cell::LazyCell;

use location::{FieldName, MethodName, Symbol};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::class::{FieldId, MethodId};
use crate::given::Passed;
use crate::outline::{Action, Argument, EventId, Member, NameStep, Object, Outline, Start};
use crate::sharing::{FieldAccess, Part};
use crate::thread::At;
use crate::whole::Whole;
use classfile::CallKind;

/// More parameters than this are not asked about for one answer.
const MAX_ASKED: usize = 40;

/// Functions that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 3;

/// By name of a method: the methods whose code calls it by an interface.
pub(crate) type InterfaceCallers = FxHashMap<Symbol, Vec<MethodId>>;

pub struct Owned<'o> {
    pub(crate) whole: &'o Whole<'o>,
}

/// A parameter of a method.
type Parameter = (MethodId, u16);

impl Owned<'_> {
    /// Whether the thread that runs a method has the object to itself which the method is given, when it comes to an
    /// event.
    pub fn is_parameter(&self, method: MethodId, position: u16, before: EventId) -> bool {
        !self.whole.release().is_given_away(method, position, before) && self.are_handed_in(vec![(method, position)])
    }

    /// Whether it has to itself what it gives to a call.
    pub fn is_given(&self, method: MethodId, call: EventId, argument: &Argument) -> bool {
        let mut asked = Vec::new();
        self.is_argument(method, call, argument, &mut asked) && self.are_handed_in(asked)
    }

    fn are_handed_in(&self, mut asked: Vec<Parameter>) -> bool {
        let mut next = 0;
        while let Some(parameter) = asked.get(next).copied() {
            next += 1;
            if asked.len() > MAX_ASKED || !self.is_handed_in(parameter, &mut asked) {
                return false;
            }
        }
        true
    }

    /// Whether all callers hand over what they have alone; parameters of theirs are added to `asked`.
    fn is_handed_in(&self, (method, position): Parameter, asked: &mut Vec<Parameter>) -> bool {
        let threads = self.whole.threads();
        let mut entries = threads.entries().iter().filter(|entry| entry.method == Some(method)).peekable();
        if threads.open.binary_search(&method).is_ok() {
            return false;
        }
        if entries.peek().is_some() {
            let is_alone = |lambda: &At| self.whole.sharings().is_captured_alone(*lambda, position);
            return entries.all(|entry| !entry.lambdas.is_empty() && entry.lambdas.iter().all(is_alone));
        }
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let mut is_called = false;
        for caller in calls.callers(method) {
            let Some(outline) = self.whole.outlines().get(*caller) else { return false };
            for (index, event) in outline.events.iter().enumerate() {
                let at = EventId(index as u32);
                let is_owned = match &event.action {
                    Action::Call { kind, method: called, arguments } => {
                        if !calls.targets(program, *kind, *called).known().contains(&method) {
                            continue;
                        }
                        let argument = arguments.get(usize::from(position));
                        argument.is_some_and(|argument| self.is_argument(*caller, at, argument, asked))
                    }
                    Action::Lambda { method: made, by, arguments, .. } => {
                        if !calls.lambda_targets(program, *made).known().contains(&method) {
                            continue;
                        }
                        match usize::from(position).checked_sub(arguments.len()) {
                            Some(given) => {
                                self.is_kept_from_library(*caller, outline, at, *by)
                                    && self.is_run_with(*by, given + 1, asked)
                            }
                            // What is captured may be run at any time.
                            None => false,
                        }
                    }
                    _ => continue,
                };
                is_called = true;
                if !is_owned {
                    return false;
                }
            }
        }
        is_called
    }

    /// Whether an argument is an object that the caller has alone.
    fn is_argument(&self, caller: MethodId, at: EventId, argument: &Argument, asked: &mut Vec<Parameter>) -> bool {
        let release = self.whole.release();
        let taken = self.whole.summaries.summary(caller).map(|summary| summary.taken.as_slice()).unwrap_or_default();
        let is_source = |object: &&Object| matches!(object, Object::Event(_) | Object::New { .. });
        let sources: SmallVec<[Object; 2]> = argument.objects.iter().filter(is_source).copied().collect();
        let is_out = LazyCell::new(|| release.are_let_out(caller, &sources, at));
        !argument.objects.is_empty()
            && argument.objects.iter().all(|object| match *object {
                Object::New { .. } => !*is_out,
                Object::Event(event) => {
                    self.is_of_thread(caller, event)
                        || self.is_of_own_field(caller, event)
                        || (taken.contains(&event) || self.is_made_for_caller(caller, event)) && !*is_out
                }
                Object::Parameter(position) => {
                    let is_kept = !release.is_given_away(caller, position, at);
                    if is_kept && !asked.contains(&(caller, position)) {
                        asked.push((caller, position));
                    }
                    is_kept
                }
                Object::Int(_) | Object::Unknown => false,
            })
    }

    /// Whether a call yields the object that each thread has for itself.
    pub fn is_of_thread(&self, method: MethodId, call: EventId) -> bool {
        let program = self.whole.program;
        let outline = self.whole.outlines().get(method);
        match outline.and_then(|outline| outline.events.get(call.index())).map(|event| &event.action) {
            Some(Action::Call { method: called, .. })
                if program.is_subtype(called.class, program.names.class("java/lang/ThreadLocal")) =>
            {
                program.names.text(called.name) == "get"
            }
            Some(Action::Call { method: called, arguments, .. }) => self.is_made_in_own(method, *called, arguments),
            _ => false,
        }
    }

    /// Whether a call yields what a method of the program has made for its caller, and has shown to nobody.
    pub fn is_made_for_caller(&self, method: MethodId, call: EventId) -> bool {
        let outline = self.whole.outlines().get(method);
        let Some(Action::Call { kind, method: called, .. }) =
            outline.and_then(|outline| outline.events.get(call.index())).map(|event| &event.action)
        else {
            return false;
        };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
        let is_object = self.whole.program.names.text(called.descriptor).ends_with(';');
        is_object && !targets.known().is_empty() && targets.known().iter().all(|target| self.is_new_from(*target))
    }

    /// Whether an event reads a field that the task has for itself, as it has what the field holds.
    fn is_of_own_field(&self, method: MethodId, event: EventId) -> bool {
        let outline = self.whole.outlines().get(method);
        match outline.and_then(|outline| outline.events.get(event.index())).map(|event| &event.action) {
            Some(Action::Read { base, member: Member::Field(field), .. }) => {
                base.start == Start::Parameter(0) && base.steps.is_empty() && self.is_field(*field)
            }
            _ => false,
        }
    }

    /// Whether a call yields what a function has just made, whichever of those that it may be.
    pub fn is_made_by_function(&self, method: MethodId, call: EventId) -> bool {
        let program = self.whole.program;
        let outline = self.whole.outlines().get(method);
        let Some(Action::Call { kind, method: called, arguments }) =
            outline.and_then(|outline| outline.events.get(call.index())).map(|event| &event.action)
        else {
            return false;
        };
        // An interface of the program that classes have, too, yields what their methods yield.
        let targets = self.whole.calls.targets(program, *kind, *called);
        let is_class = |target: &MethodId| !program.method(*target).access.is_abstract();
        if *kind != CallKind::Interface || targets.known().iter().any(is_class) {
            return false;
        }
        let Some(function) = arguments.first() else { return false };
        self.functions(method, function).is_some_and(|functions| {
            functions.iter().all(|function| match function.object {
                Object::Event(made) => self.is_maker(function.method, made),
                _ => false,
            })
        })
    }

    /// The lambdas that a function may be, each where it is made; none if that is not known.
    fn functions(&self, method: MethodId, function: &Argument) -> Option<Vec<Passed>> {
        let program = self.whole.program;
        let given = self.whole.passed();
        let is_lambda = |method: MethodId, object: &Object| {
            let outline = self.whole.outlines().get(method);
            matches!(object, Object::Event(made) if outline.is_some_and(|outline| {
                matches!(outline.events[made.index()].action, Action::Lambda { .. })
            }))
        };
        if !function.objects.is_empty() && function.objects.iter().all(|object| is_lambda(method, object)) {
            return Some(function.objects.iter().map(|object| Passed { method, object: *object }).collect());
        }
        match (function.name.start, &*function.name.steps) {
            (Start::Parameter(position), []) => given.to_parameter(method, position),
            (_, [.., NameStep::Field(field)]) => given.to_field(*field).or_else(|| {
                // Made where it is stored, and never another one.
                let field = program.resolve_field(*field)?;
                let is_write = |access: &&FieldAccess| access.is_write && access.part == Part::Itself;
                let mut stored = Vec::new();
                for write in self.whole.sharings().accesses(field).iter().filter(is_write) {
                    let outline = self.whole.outlines().get(write.at.method)?;
                    let Action::Write { stored: kept, .. } = &outline.events[write.at.event.index()].action else {
                        return None;
                    };
                    let is_known = kept.objects.iter().all(|object| is_lambda(write.at.method, object));
                    if !is_known || !write.is_initial && !program.field(field).access.is_final() {
                        return None;
                    }
                    stored
                        .extend(kept.objects.iter().map(|object| Passed { method: write.at.method, object: *object }));
                }
                Some(stored).filter(|stored| !stored.is_empty())
            }),
            _ => None,
        }
    }

    /// Whether a lambda that is made at an event always yields a new object that nobody else has.
    fn is_maker(&self, method: MethodId, event: EventId) -> bool {
        let outline = self.whole.outlines().get(method);
        let Some(Action::Lambda { method: maker, .. }) =
            outline.and_then(|outline| outline.events.get(event.index())).map(|event| &event.action)
        else {
            return false;
        };
        let bodies = self.whole.calls.lambda_targets(self.whole.program, *maker);
        let makes = |body: &MethodId| {
            self.is_new_from(*body) || self.whole.summaries.summary(*body).is_some_and(|summary| summary.hands_over)
        };
        maker.name == self.whole.program.roots.constructor
            || !bodies.known().is_empty() && bodies.known().iter().all(makes)
    }

    /// Whether a method yields what it has made itself and shown to nobody.
    fn is_new_from(&self, method: MethodId) -> bool {
        let outline = self.whole.outlines().get(method);
        outline.is_some_and(|outline| {
            !outline.returned.is_empty()
                && outline.returned.iter().all(|object| {
                    matches!(object, Object::New { .. }) && self.whole.release().ways_out(method, *object).is_empty()
                })
        })
    }

    /// Whether a call finds something in a map that each thread has for itself, or else makes it.
    fn is_made_in_own(&self, method: MethodId, called: MethodName, arguments: &[Argument]) -> bool {
        let [map, _, maker] = arguments else { return false };
        let (Some(outline), [Object::Event(got)], [Object::Event(made)]) =
            (self.whole.outlines().get(method), map.objects.as_slice(), maker.objects.as_slice())
        else {
            return false;
        };
        let Action::Lambda { method: maker, .. } = &outline.events[made.index()].action else { return false };
        let bodies = self.whole.calls.lambda_targets(self.whole.program, *maker);
        let makes = |body: &MethodId| self.is_new_from(*body);
        let names = &self.whole.program.names;
        names.text(called.name) == "computeIfAbsent"
            && self.is_of_thread(method, *got)
            && (names.text(maker.name) == "<init>" || !bodies.known().is_empty() && bodies.known().iter().all(makes))
    }

    /// Whether everybody who calls a method of an interface gives it an object that he has alone.
    fn is_run_with(&self, by: MethodName, position: usize, asked: &mut Vec<Parameter>) -> bool {
        let program = self.whole.program;
        let mut is_called = false;
        let callers = self.whole.interface_callers().get(&by.name).map(Vec::as_slice).unwrap_or_default();
        for caller in callers {
            let Some(outline) = self.whole.outlines().get(*caller) else { return false };
            for (index, event) in outline.events.iter().enumerate() {
                let Action::Call { kind: CallKind::Interface, method, arguments } = &event.action else { continue };
                let is_it = method.name == by.name
                    && (program.is_subtype(method.class, by.class) || program.is_subtype(by.class, method.class));
                if !is_it {
                    continue;
                }
                is_called = true;
                let argument = arguments.get(position);
                if !argument.is_some_and(|argument| self.is_argument(*caller, EventId(index as u32), argument, asked)) {
                    return false;
                }
            }
        }
        is_called
    }

    /// Whether no library code runs a function that is made at an event: it would bring objects of its own.
    fn is_kept_from_library(&self, method: MethodId, outline: &Outline, made: EventId, by: MethodName) -> bool {
        let program = self.whole.program;
        // Nobody else knows an interface of the program.
        let is_own = program.class(by.class).is_some_and(|class| program.is_checked(class));
        is_own
            || !outline.returned.contains(&Object::Event(made))
                && self.is_run_here(method, outline, Object::Event(made), MAX_DEPTH)
    }

    /// Whether an object of a method is only ever called, there or in the program's methods that it is given to.
    fn is_run_here(&self, method: MethodId, outline: &Outline, object: Object, depth: usize) -> bool {
        let has = |argument: &Argument| argument.objects.contains(&object);
        outline.events.iter().all(|event| match &event.action {
            Action::Write { member, stored, .. } => !has(stored) || self.is_kept_to_run(*member, depth),
            Action::Lambda { arguments, .. } => !arguments.iter().any(has),
            Action::Call { kind, method: called, arguments } => {
                let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
                let positions = arguments.iter().enumerate().filter(|(_, argument)| has(argument));
                positions.map(|(position, _)| position).all(|position| {
                    let is_called = position == 0 && *kind == CallKind::Interface;
                    is_called
                        || depth > 0
                            && !targets.known().is_empty()
                            && targets.known().iter().all(|target| {
                                *target == method
                                    || self.whole.outlines().get(*target).is_some_and(|outline| {
                                        let given = Object::Parameter(position as u16);
                                        self.is_run_here(*target, outline, given, depth - 1)
                                    })
                            })
                })
            }
            Action::Read { .. } | Action::Wait(_) => true,
        })
    }

    /// Whether what a field holds is only ever called, by whoever reads the field.
    fn is_kept_to_run(&self, member: Member, depth: usize) -> bool {
        let Member::Field(field) = member else { return false };
        let Some(field) = self.whole.program.resolve_field(field).filter(|_| depth > 0) else { return false };
        let reads = self.whole.sharings().accesses(field);
        reads.iter().filter(|access| access.part == Part::Itself && !access.is_write).all(|read| {
            let outline = self.whole.outlines().get(read.at.method);
            outline.is_some_and(|outline| {
                let object = Object::Event(read.at.event);
                !outline.returned.contains(&object) && self.is_run_here(read.at.method, outline, object, depth - 1)
            })
        })
    }

    /// Whether each task has a field to itself, and alone the objects that the field ever holds: made for it, or taken
    /// over, and given away only in exchange for another one.
    pub fn is_field(&self, field: FieldName) -> bool {
        let program = self.whole.program;
        let Some(field) = program.resolve_field(field) else { return false };
        let sharings = self.whole.sharings();
        let access = program.field(field).access;
        access.is_private()
            && !access.is_static()
            && sharings.is_of_task(field)
            && sharings.accesses(field).iter().filter(|access| access.part == Part::Itself).all(|access| {
                let Some(outline) = self.whole.outlines().get(access.at.method) else { return false };
                match &outline.events[access.at.event.index()].action {
                    Action::Write { stored, .. } => self.is_stored_alone(access, stored),
                    Action::Read { .. } => self.is_read_alone(field, access, outline),
                    _ => false,
                }
            })
    }

    /// Whether what fields hold stays there: nobody who reads it gives it to others.
    pub fn stays_in(&self, steps: &[NameStep]) -> bool {
        let (program, sharings) = (self.whole.program, self.whole.sharings());
        let is_kept = |read: &FieldAccess| !self.is_stored_by(read.at.method, Object::Event(read.at.event), MAX_DEPTH);
        steps.iter().all(|step| match step {
            NameStep::Field(field) => program.resolve_field(*field).is_some_and(|field| {
                let reads = sharings.accesses(field).iter().filter(|access| access.part == Part::Itself);
                reads.filter(|access| !access.is_write).all(is_kept)
            }),
            NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => true,
        })
    }

    /// Whether a method, or one that it calls, stores an object that it has, or makes it part of a function.
    fn is_stored_by(&self, method: MethodId, object: Object, depth: usize) -> bool {
        let (Some(outline), Some(depth)) = (self.whole.outlines().get(method), depth.checked_sub(1)) else {
            return false;
        };
        let has = |argument: &Argument| argument.objects.contains(&object);
        outline.events.iter().any(|event| match &event.action {
            Action::Write { stored, .. } => has(stored),
            Action::Lambda { arguments, .. } => arguments.iter().any(has),
            Action::Call { kind, method: called, arguments } => {
                let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
                let model = self.whole.calls.model(self.whole.program, *called, called.class);
                if model.is_some_and(|model| model.starts.is_some() || model.wraps.is_some()) {
                    return arguments.iter().any(has);
                }
                let given = (0u16..).zip(arguments).filter(|(_, argument)| has(argument));
                given.into_iter().any(|(position, _)| {
                    let given = Object::Parameter(position);
                    targets.known().iter().any(|target| self.is_stored_by(*target, given, depth))
                })
            }
            Action::Read { .. } | Action::Wait(_) => false,
        })
    }

    /// Whether a method runs as a task on objects that have the field.
    fn is_run_of(&self, field: FieldId, run: MethodId) -> bool {
        let program = self.whole.program;
        let name = |class| program.header(class).name;
        program.is_subtype(name(program.class_of(run)), name(program.class_of_field(field)))
    }

    /// Whether an object gets out of a method by being stored in a field alone.
    fn is_stored_alone(&self, write: &FieldAccess, stored: &Argument) -> bool {
        let method = write.at.method;
        let summary = self.whole.summaries.summary(method);
        let taken = summary.map(|summary| summary.taken.as_slice()).unwrap_or_default();
        stored.objects.iter().all(|object| {
            let is_own = match object {
                Object::New { .. } => true,
                Object::Event(event) => taken.contains(event),
                // Whoever makes the task has made it for the task.
                Object::Parameter(_) => self.whole.sharings().is_made_to_hold(write.at, *object),
                _ => false,
            };
            is_own && self.whole.release().ways_out(method, *object).iter().all(|way| *way == write.at.event)
        })
    }

    /// Whether what is read from a field goes nowhere, or another object takes its place at once.
    fn is_read_alone(&self, field: FieldId, read: &FieldAccess, outline: &Outline) -> bool {
        let object = Object::Event(read.at.event);
        let is_replaced = |way: &EventId| {
            let block = outline.events[way.index()].block;
            let rest = &outline.events[way.index() + 1..];
            rest.iter().take_while(|event| event.block == block).any(|event| match &event.action {
                Action::Write { member: Member::Field(written), .. } => {
                    self.whole.program.resolve_field(*written) == Some(field)
                }
                _ => false,
            })
        };
        let threads = self.whole.threads();
        let is_by_task = |method: MethodId| {
            let mut by = threads.of_method(method).iter();
            by.any(|process| threads.entry(*process).method.is_some_and(|run| self.is_run_of(field, run)))
        };
        // Who asks in order with the task may have it.
        (!outline.returned.contains(&object) || !is_by_task(read.at.method))
            && self.whole.release().ways_out(read.at.method, object).iter().all(is_replaced)
    }
}
