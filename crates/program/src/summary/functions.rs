//! Functions that a library call is given, and runs before it returns or as a task of their own.

use std::borrow::Cow;

use super::compose::Composing;
use super::influences::Gathering;
use super::instantiate::{Around, Outside};
use super::{Handed, Influence, Influences, Root, Run};
use crate::class::MethodId;
use crate::model::{self, CallModel, Returns, Target};
use crate::outline::{Action, Argument, Event, EventId, Name, Object, Origin, SectionSet, Sources, Start};
use classfile::CallKind;
use location::MethodName;
use smallvec::SmallVec;

/// A lambda or method reference.
pub(super) struct Function {
    pub(super) kind: CallKind,
    pub(super) method: MethodName,
    /// The program's code that it may run.
    pub(super) targets: SmallVec<[MethodId; 1]>,
    pub(super) captured: Vec<Argument>,
}

impl Composing<'_, '_> {
    /// The code of a lambda that was made in this method, and what it captured.
    pub(super) fn lambda(&self, argument: Option<&Argument>) -> Option<Function> {
        let [Object::Event(made)] = argument?.objects.as_slice() else { return None };
        match &self.outline.events.get(made.index())?.action {
            Action::Lambda { kind, method, arguments, .. } => {
                let targets = self.calls.lambda_targets(self.program, *method);
                let targets = targets.known().iter().copied().collect();
                Some(Function { kind: *kind, method: *method, targets, captured: arguments.clone() })
            }
            _ => None,
        }
    }

    /// Functions that the call runs, before it returns or as a task of their own: lambdas made in this method. Tells where
    /// their results come from.
    #[allow(clippy::too_many_arguments, reason = "one call has that many sides")]
    pub(super) fn run_functions(
        &mut self,
        id: EventId,
        event: &Event,
        model: CallModel,
        section: Option<usize>,
        arguments: &[Argument],
        skip: usize,
        read: &Influences,
    ) -> Influences {
        let started = match model.starts {
            Some(model::Start { task: model::Task::Argument(index), .. }) => Some(index),
            _ => model.wraps,
        };
        let is_own = matches!(model.starts, Some(model::Start { task: model::Task::Receiver, .. }));
        let task = started.map(|index| usize::from(index) + skip).or_else(|| is_own.then_some(0));
        if let Some(task) = task.and_then(|task| arguments.get(task))
            && let Some(yielded) = self.run_task(id, event, task)
        {
            return yielded;
        }
        let in_place = match section {
            Some(section) if model.runs_inside => Around::Section(section),
            _ => Around::Caller,
        };
        let runs = model.runs.iter().filter(|index| Some(*index) != started).map(|index| (index, in_place));
        let functions: SmallVec<[(u8, Around); 2]> =
            runs.chain(started.map(|index| (index, Around::Nothing))).collect();
        if functions.is_empty() {
            return self.waited_for(event, arguments);
        }
        // They are given what the object holds, which is as old as the object where only this method knows it.
        let held = self.sections(event.held);
        let mut elements = Gathering::default();
        arguments[..skip.min(arguments.len())].iter().for_each(|argument| self.given(&mut elements, argument, held));
        let open = match in_place {
            Around::Section(section) => {
                let mut open = held;
                open.insert(section);
                open
            }
            _ => held,
        };
        elements.add_all(&self.brought_to(read.clone(), open));
        let elements = elements.finish();
        let mut computed = Gathering::default();
        // An `Optional` that is empty runs nothing, nor does a stream that has nothing left.
        let decides = model.returns == Returns::Computed || model.target == Target::Viewed;
        let outside = Outside { rest: Some(&elements), captured: None, decided: Some(&elements).filter(|_| decides) };
        for (index, around) in functions {
            let Some(mut function) = self.lambda(arguments.get(usize::from(index) + skip)) else { continue };
            if let Some(carrier) = arguments.first().filter(|_| decides)
                && let Some(name) = self.element(carrier)
            {
                let (sources, objects) = (carrier.sources.clone(), std::iter::once(Object::Unknown).collect());
                function.captured.push(Argument { name, sources, made: None, objects });
            }
            // The keys of a map say nothing of what stands under them.
            if !read.is_empty() && self.is_by_key(event) {
                let objects = std::iter::once(Object::Unknown).collect();
                let name = Name::start(Start::Unknown);
                function.captured.push(Argument { name, sources: Sources::new(), made: None, objects });
            }
            self.influence[id.index()] = Influences::default();
            let mut is_known = false;
            self.is_task = matches!(around, Around::Nothing);
            for body in function.targets.iter().filter_map(|target| (self.known)(*target)) {
                is_known = true;
                self.instantiate(id, event, &function.captured, body, around, outside);
            }
            self.is_task = false;
            if !is_known && !matches!(around, Around::Nothing) {
                self.run_library(id, event, &function, arguments.first());
            }
            computed.add_all(&self.influence[id.index()]);
        }
        computed.finish()
    }

    /// A task that is an object of a class of the program's own: what it does with what was read before and that it carries,
    /// and where its result comes from. What this method has made and filled is known to the task as it is to all.
    fn run_task(&mut self, id: EventId, event: &Event, task: &Argument) -> Option<Influences> {
        let [Object::New { class, .. }] = *task.objects.as_slice() else { return None };
        let run = self.calls.run_of(self.program, class).filter(|_| self.extent.follows_tasks())?;
        let body = (self.known)(run)?;
        let mut carried = Gathering::default();
        self.given_to_task(&mut carried, task, SectionSet::default());
        let is_own = |name: &Name| matches!(name.start, Start::New(_) | Start::Unknown);
        let is_old = |influence: &Influence| match influence.root {
            Root::Access(read) => {
                let access = self.summary.accesses.get(read.index());
                access.is_some_and(|access| {
                    !influence.ended.intersection(access.held).is_empty() && !is_own(&access.base)
                })
            }
            Root::Parameter(_) => false,
        };
        let given = std::slice::from_ref(task);
        let is_answer = |influence: &Influence| match influence.root {
            Root::Access(read) => !is_own(&self.translate(&body.accesses[read.index()].base, given)),
            Root::Parameter(_) => false,
        };
        let answer;
        let does = if carried.finish().iter().any(is_old) {
            body
        } else if body.result.iter().any(is_answer) {
            answer = body.answer();
            &answer
        } else {
            return None;
        };
        self.influence[id.index()] = Influences::default();
        self.is_task = true;
        self.instantiate(id, event, given, does, Around::Nothing, Outside::default());
        self.is_task = false;
        Some(std::mem::take(&mut self.influence[id.index()]))
    }

    /// What a task has yielded that this method, or one that it calls, has started, and that is waited for: `answer.get()`.
    fn waited_for(&self, event: &Event, arguments: &[Argument]) -> Influences {
        let names = &self.program.names;
        let Action::Call { method, .. } = &event.action else { return Influences::default() };
        let is_answer = names.text(method.name) == "get"
            && matches!(names.text(method.class.0), "java/util/concurrent/Future" | "java/util/concurrent/FutureTask");
        let Some(future) = arguments.first().filter(|_| is_answer) else { return Influences::default() };
        let is_started = |event: EventId| match &self.outline.events[event.index()].action {
            Action::Call { kind, method, .. } => match self.calls.model(self.program, *method, method.class) {
                Some(model) => model.starts.is_some() || model.wraps.is_some(),
                None => self
                    .calls
                    .targets(self.program, *kind, *method)
                    .known()
                    .iter()
                    .any(|it| (self.known)(*it).is_some()),
            },
            _ => false,
        };
        let mut sources = future.sources.clone();
        sources.retain(|source| matches!(source.origin, Origin::Event(event) if is_started(event)));
        self.influences(&sources)
    }

    /// A method reference to library code, such as `seen::contains`: what it is given comes from where `source` comes
    /// from.
    pub(super) fn run_library(&mut self, id: EventId, event: &Event, function: &Function, source: Option<&Argument>) {
        let at = id.index();
        let (taken, element, name) = (self.is_taken[at], self.element_of[at].clone(), self.result_name[at].clone());
        let mut arguments = function.captured.clone();
        let count = self.parameter_count(function.method) + usize::from(function.kind != CallKind::Static);
        let given = Argument {
            name: Name::start(Start::Unknown),
            sources: source.map(|source| source.sources.clone()).unwrap_or_default(),
            made: None,
            objects: std::iter::once(Object::Unknown).collect(),
        };
        arguments.resize(count.max(arguments.len()), given);
        if function.kind != CallKind::Special {
            self.library_call(id, event, function.method, &arguments);
        }
        self.is_taken[at] = taken;
        self.element_of[at] = element;
        self.result_name[at] = name;
    }

    /// What a call is given of which its result may be made: who runs a task has no part in it, nor has the task but for what
    /// it yields, where that is known.
    pub(super) fn without_runner<'a>(
        &self,
        model: CallModel,
        arguments: &'a [Argument],
        skip: usize,
    ) -> Cow<'a, [Argument]> {
        let Some(model::Start { task, on, .. }) = model.starts else { return Cow::Borrowed(arguments) };
        let is_runner = |index: usize| match on {
            model::Runner::Receiver => index == 0 && skip > 0,
            model::Runner::Argument(runner) => index == usize::from(runner) + skip,
            _ => false,
        };
        let is_known = |argument: &Argument| {
            let function = self.lambda(Some(argument));
            function.is_some_and(|function| function.targets.iter().any(|target| (self.known)(*target).is_some()))
        };
        let is_task = |index: usize| match task {
            model::Task::Argument(task) => index == usize::from(task) + skip && is_known(&arguments[index]),
            _ => false,
        };
        let rest = arguments.iter().enumerate().filter(|(index, _)| !is_runner(*index) && !is_task(*index));
        rest.map(|(_, argument)| argument.clone()).collect()
    }

    /// Whether a call gives a function keys and values.
    fn is_by_key(&self, event: &Event) -> bool {
        match &event.action {
            Action::Call { method, .. } => {
                self.program.names.text(method.descriptor) == "(Ljava/util/function/BiConsumer;)V"
            }
            _ => false,
        }
    }

    pub(super) fn is_stream(&self, id: EventId) -> bool {
        match &self.outline.events[id.index()].action {
            Action::Call { method, .. } => self.program.names.text(method.class.0).starts_with("java/util/stream/"),
            _ => false,
        }
    }

    /// Functions that a callee was given and runs: lambdas made in this method, or parameters of its own.
    pub(super) fn run_given(&mut self, id: EventId, event: &Event, arguments: &[Argument], runs: SmallVec<[Run; 1]>) {
        for run in runs {
            let function = arguments.get(usize::from(run.parameter));
            if let Some(Function { targets, mut captured, .. }) = self.lambda(function) {
                let own = captured.len();
                captured.extend(run.names.iter().map(|name| Argument {
                    name: name.clone(),
                    sources: Default::default(),
                    made: None,
                    objects: std::iter::once(Object::Unknown).collect(),
                }));
                for body in targets.into_iter().filter_map(|target| (self.known)(target)) {
                    let given = Outside { rest: Some(&run.given), captured: Some(own), decided: None };
                    self.instantiate(id, event, &captured, body, Around::Sections(run.held), given);
                }
                // The code that ran it has ended its sections, too.
                let yielded = std::mem::take(&mut self.influence[id.index()]);
                self.influence[id.index()] = self.brought_to(yielded, self.sections(event.held));
            } else if let Some([Object::Parameter(parameter)]) = function.map(|argument| argument.objects.as_slice()) {
                self.add_run(Run { parameter: *parameter, ..run });
            }
        }
    }

    /// A function that a call has handed out, which is run here: `Runnable step = plan(job); step.run();`. Whether that is so.
    pub(super) fn run_handed_out(&mut self, id: EventId, event: &Event, arguments: &[Argument]) -> bool {
        let Some([Object::Event(made)]) = arguments.first().map(|first| first.objects.as_slice()) else { return false };
        let Some(Handed { method, names, given }) = self.handed_out.get(made.index()).cloned().flatten() else {
            return false;
        };
        let held = self.sections(event.held);
        let mut all = Gathering::default();
        all.add_all(&self.brought_to(given, held));
        arguments[1..].iter().for_each(|argument| self.given(&mut all, argument, held));
        let all = all.finish();
        let mut captured: Vec<Argument> = names.into_iter().map(named).collect();
        captured.extend(arguments[1..].iter().cloned());
        let targets = self.calls.lambda_targets(self.program, method);
        let mut is_known = false;
        for body in targets.known().iter().filter_map(|target| (self.known)(*target)) {
            is_known = true;
            let outside = Outside { rest: Some(&all), captured: Some(0), decided: None };
            self.instantiate(id, event, &captured, body, Around::Caller, outside);
        }
        is_known
    }

    /// The function that the method hands out, if it always makes the same one.
    pub(super) fn function(&mut self) -> Option<Box<Handed>> {
        let [Object::Event(made)] = self.outline.returned.as_slice() else { return None };
        let event = self.outline.events.get(made.index())?;
        let Action::Lambda { method, arguments, .. } = &event.action else { return None };
        let held = self.sections(event.held);
        let mut given = Gathering::default();
        arguments.iter().for_each(|argument| self.given(&mut given, argument, held));
        let names = arguments.iter().map(|argument| self.settle(&argument.name)).collect();
        let given = self.brought_to(given.finish(), SectionSet::default());
        Some(Box::new(Handed { method: *method, names, given }))
    }
}

/// An argument of which nothing but the name is known.
fn named(name: Name) -> Argument {
    Argument { name, sources: Sources::new(), made: None, objects: std::iter::once(Object::Unknown).collect() }
}
