//! Where threads are started and waited for.

use classfile::Type;
use location::{ClassName, MethodName};
use rayon::prelude::*;

use super::handle::Handle;
use super::join::Join;
use super::task::{At, Finder, Run};
use crate::class::{MethodId, Program};
use crate::model::{CallModel, OrderKind, Pool, Product, Returns, Runner, Task, Times, When};
use crate::outline::{Action, Argument, Event, EventId, Object, Objects};

/// Tasks that run one after the other have this in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Serial {
    /// The executor or timer that is made here.
    Executor(At),
    EventThread,
}

/// What kind of thread runs an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EntryKind {
    Main,
    Thread,
    Pool,
    /// The one thread of an executor.
    SingleThread,
    Timer,
    /// The thread that completes a future.
    Future,
    Parallel,
    EventThread,
    Framework,
    /// Code that is not here, from any thread.
    Callers,
}

/// A call that starts something.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) at: At,
    pub(super) line: Option<u32>,
    pub(super) in_loop: bool,
    pub(super) runs: Vec<Run>,
    /// Something may run that nobody here can name.
    pub(super) is_open: bool,
    pub(super) times: Times,
    pub(super) serial: Option<Serial>,
    /// The position of the executor among the call's arguments, if it has one thread.
    pub(super) taking_turns: Option<u16>,
    pub(super) kind: EntryKind,
    /// All is over when the call returns.
    pub(super) is_scoped: bool,
    pub(super) handles: Vec<Handle>,
    pub(super) executors: Vec<Handle>,
    /// It begins only when these are over: `first.thenRun(second)`.
    pub(super) after: Option<Join>,
}

pub(super) struct Sites {
    pub(super) starts: Vec<Site>,
    pub(super) joins: Vec<Join>,
}

impl Sites {
    pub(super) fn of(finder: &Finder<'_>) -> Sites {
        let (program, calls) = (finder.program, finder.calls);
        let telling: Vec<bool> = calls.distinct().map(|(_, called, _)| finder.may_start(called)).collect();
        let is_starting = |method: &MethodId| {
            let lambdas = &calls.mentions[method.index()].lambdas;
            calls.numbers(*method).iter().any(|call| telling[*call as usize])
                || lambdas.iter().any(|called| finder.may_start(*called))
        };
        let methods: Vec<MethodId> = program.methods().collect();
        let starting: Vec<MethodId> = methods.into_par_iter().filter(is_starting).collect();
        finder.outlines.make(&starting);
        let found: Vec<(Vec<Site>, Vec<Join>)> = starting.par_iter().map(|method| finder.sites(*method)).collect();
        let mut sites = Sites { starts: Vec::new(), joins: Vec::new() };
        for (starts, joins) in found {
            sites.starts.extend(starts);
            sites.joins.extend(joins);
        }
        sites
    }
}

pub(super) fn is_wait(model: &CallModel) -> bool {
    model
        .orders
        .is_some_and(|order| matches!(order.kind, OrderKind::Join | OrderKind::JoinAll) && order.when != When::Perhaps)
}

impl Finder<'_> {
    /// Whether a method of the library starts or joins something.
    fn may_start(&self, called: MethodName) -> bool {
        let starts = |model: CallModel| model.starts.is_some() || is_wait(&model) || self.is_stream(&model, called);
        self.library.model(called).is_some_and(starts) || self.is_question(called)
    }

    fn is_stream(&self, model: &CallModel, called: MethodName) -> bool {
        !model.runs.is_empty() && self.program.names.text(called.class.0).starts_with("java/util/stream/")
    }

    fn sites(&self, method: MethodId) -> (Vec<Site>, Vec<Join>) {
        let (mut starts, mut joins) = (Vec::new(), Vec::new());
        let Some(outline) = self.outline(method) else { return (starts, joins) };
        for (index, event) in outline.events.iter().enumerate() {
            let at = At { method, event: EventId(index as u32) };
            if let Action::Lambda { method: called, arguments, .. } = &event.action {
                let (start, join) = self.referred(at, event, *called, arguments);
                starts.extend(start);
                joins.extend(join);
            }
            let Action::Call { method: called, arguments, .. } = &event.action else { continue };
            let Some(model) = self.library.model(*called) else { continue };
            if model.starts.is_some() {
                let start = self.start(at, event, &model, *called, arguments);
                starts.extend(start.into_iter().flat_map(|site| self.by_callers(site, &model, *called, arguments)));
            } else if self.is_stream(&model, *called) && self.is_parallel(method, &arguments[0].objects, 32) {
                starts.extend(self.parallel(at, event, &model, *called, arguments));
            }
            joins.extend(self.joins(at, event, &model));
        }
        (starts, joins)
    }

    /// `CompletableFuture.allOf(...)`
    pub(super) fn is_static_result(&self, method: MethodId, objects: &Objects) -> bool {
        objects.iter().any(|object| {
            let Object::Event(event) = *object else { return false };
            matches!(self.event(At { method, event }), Some(Event { action: Action::Call { method, arguments, .. }, .. })
                if self.library.model(*method).is_some() && is_static(self.program, *method, arguments))
        })
    }

    fn start(
        &self,
        at: At,
        event: &Event,
        model: &CallModel,
        called: MethodName,
        arguments: &[Argument],
    ) -> Option<Site> {
        let start = model.starts?;
        let skip = usize::from(!is_static(self.program, called, arguments));
        let argument = |index: u8| arguments.get(usize::from(index) + skip);
        let position = match start.on {
            Runner::Receiver => Some(0),
            Runner::Argument(index) => Some(usize::from(index) + skip),
            _ => None,
        };
        let executor = position.and_then(|position| arguments.get(position));
        let pool = executor.map_or(Threads::Many, |executor| self.pool(at.method, &executor.objects, 6));
        if pool == Threads::Caller {
            return None;
        }
        let serial = match (start.on, pool) {
            (Runner::EventThread, _) => Some(Serial::EventThread),
            (_, Threads::One(made)) => Some(Serial::Executor(made)),
            _ => None,
        };
        let task = match start.task {
            Task::Receiver => arguments.first()?,
            Task::Argument(index) | Task::ElementsOf(index) => argument(index)?,
        };
        let found = match start.task {
            Task::Receiver => self.task(at.method, task, called.class),
            Task::Argument(index) => self.task(at.method, task, self.parameter(called, index)?),
            Task::ElementsOf(_) => self.tasks_in(at.method, task, self.element_class(called)),
        };
        let kind = self.kind(start.on, serial, called);
        let mut handles = self.kept_handles(at.method, &smallvec::smallvec![Object::Event(at.event)]);
        handles.extend(self.kept_handles(at.method, &task.objects));
        Some(Site {
            at,
            line: event.line,
            in_loop: event.in_loop,
            runs: found.runs,
            is_open: found.is_open,
            times: match start.task {
                // Each element is a start of its own.
                Task::ElementsOf(_) if serial.is_none() => Times::ManyAtOnce,
                _ => start.times,
            },
            serial,
            taking_turns: position.filter(|_| matches!(pool, Threads::One(_))).map(|position| position as u16),
            kind,
            is_scoped: model
                .orders
                .is_some_and(|order| order.kind == OrderKind::JoinStarted && order.when == When::Always),
            handles,
            executors: executor.map_or(Vec::new(), |executor| self.given_handles(at.method, &executor.objects)),
            after: self.after(at, event, model, arguments),
        })
    }

    /// The class of the tasks in a collection that is started as a whole.
    fn element_class(&self, called: MethodName) -> ClassName {
        let class = if self.program.names.text(called.class.0).contains("ForkJoin") {
            "java/util/concurrent/ForkJoinTask"
        } else {
            "java/util/concurrent/Callable"
        };
        self.program.names.class(class)
    }

    /// A start that is over when its call returns, in a method that is given the tasks: one start for each call of that
    /// method, of what is given there. Else what one caller has done would be done beside what the next one does.
    fn by_callers(&self, site: Site, model: &CallModel, called: MethodName, arguments: &[Argument]) -> Vec<Site> {
        let skip = usize::from(!is_static(self.program, called, arguments));
        let tasks = match model.starts.map(|start| start.task) {
            Some(Task::ElementsOf(index)) => arguments.get(usize::from(index) + skip),
            _ => None,
        };
        let position = match tasks.map(|tasks| tasks.objects.as_slice()) {
            Some([Object::Parameter(position)]) => *position,
            _ => return vec![site],
        };
        let is_one = site.is_scoped && site.taking_turns.is_none() && !site.in_loop;
        let calls = if is_one { self.known_calls(site.at.method) } else { None };
        let made = calls.into_iter().flatten().map(|(at, event, arguments)| {
            let found = self.tasks_in(at.method, arguments.get(usize::from(position))?, self.element_class(called));
            let (line, in_loop) = (event.line, event.in_loop);
            Some(Site { at, line, in_loop, runs: found.runs, is_open: found.is_open, ..site.clone() })
        });
        match made.collect::<Option<Vec<Site>>>() {
            Some(made) if !made.is_empty() => made,
            _ => vec![site],
        }
    }

    /// The calls of a method, if they are all here and it is never called through an interface or as a function.
    fn known_calls(&self, method: MethodId) -> Option<Vec<(At, &Event, &[Argument])>> {
        let declared = self.program.method(method);
        let is_exposed = (declared.access.is_public() || declared.access.is_protected())
            && self.program.header(self.program.class_of(method)).access.is_public();
        if is_exposed {
            return None;
        }
        let mut calls = Vec::new();
        for caller in self.calls.callers(method) {
            for (index, event) in self.outline(*caller)?.events.iter().enumerate() {
                match &event.action {
                    Action::Call { kind, method: called, arguments } => {
                        if self.calls.targets(self.program, *kind, *called).known() == [method] {
                            let at = At { method: *caller, event: EventId(index as u32) };
                            calls.push((at, event, arguments.as_slice()));
                        } else if self.may_mean(*called, method) {
                            return None;
                        }
                    }
                    Action::Lambda { method: made, .. } if self.may_mean(*made, method) => return None,
                    _ => {}
                }
            }
        }
        Some(calls)
    }

    /// What kind of thread runs a task.
    pub(super) fn kind(&self, on: Runner, serial: Option<Serial>, called: MethodName) -> EntryKind {
        match (on, serial) {
            (Runner::EventThread, _) => EntryKind::EventThread,
            (Runner::Completer, _) => EntryKind::Future,
            (Runner::NewThread, _) => EntryKind::Thread,
            _ if self.program.names.text(called.class.0).ends_with("Timer") => EntryKind::Timer,
            (_, Some(_)) => EntryKind::SingleThread,
            _ => EntryKind::Pool,
        }
    }

    /// What the tasks of an executor have in common, if it has one thread.
    pub(super) fn serial(&self, method: MethodId, executor: &Objects) -> Option<Serial> {
        match self.pool(method, executor, 6) {
            Threads::One(made) => Some(Serial::Executor(made)),
            _ => None,
        }
    }

    fn parallel(
        &self,
        at: At,
        event: &Event,
        model: &CallModel,
        called: MethodName,
        arguments: &[Argument],
    ) -> Option<Site> {
        let mut runs = Vec::new();
        let mut is_open = false;
        for index in model.runs.iter() {
            let (Some(argument), Some(class)) = (arguments.get(usize::from(index) + 1), self.parameter(called, index))
            else {
                continue;
            };
            let found = self.task(at.method, argument, class);
            runs.extend(found.runs);
            is_open |= found.is_open;
        }
        (!runs.is_empty()).then(|| Site {
            at,
            line: event.line,
            in_loop: event.in_loop,
            runs,
            is_open,
            times: Times::ManyAtOnce,
            serial: None,
            taking_turns: None,
            kind: EntryKind::Parallel,
            is_scoped: true,
            handles: Vec::new(),
            executors: Vec::new(),
            after: None,
        })
    }

    /// Whether a stream runs its functions on many threads.
    fn is_parallel(&self, method: MethodId, objects: &Objects, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        objects.iter().any(|object| {
            let Object::Event(event) = *object else { return false };
            let Some(Event { action: Action::Call { method: called, arguments, .. }, .. }) =
                self.event(At { method, event })
            else {
                return false;
            };
            match self.library.model(*called) {
                Some(CallModel { product: Some(Product::ParallelStream), .. }) => true,
                Some(CallModel { product: Some(Product::SequentialStream), .. }) | None => false,
                Some(CallModel { returns: Returns::View(_) | Returns::Receiver | Returns::Fresh, .. }) => {
                    arguments.first().is_some_and(|first| self.is_parallel(method, &first.objects, depth))
                }
                Some(_) => false,
            }
        })
    }

    pub(super) fn parameter(&self, method: MethodName, index: u8) -> Option<ClassName> {
        let descriptor = classfile::parse_method(self.program.names.text(method.descriptor), &self.program.names)?;
        match descriptor.parameters.get(usize::from(index))? {
            Type::Reference(class) => Some(*class),
            _ => None,
        }
    }

    /// How many threads an executor has.
    fn pool(&self, method: MethodId, objects: &Objects, depth: usize) -> Threads {
        let Some(depth) = depth.checked_sub(1) else { return Threads::Many };
        let [object] = objects.as_slice() else { return Threads::Many };
        match *object {
            Object::New { register, .. } => {
                let made = self.outline(method).into_iter().flat_map(|outline| outline.events.iter().enumerate());
                for (index, event) in made {
                    let Action::Call { method: called, arguments, .. } = &event.action else { continue };
                    let is_its_own = arguments.first().is_some_and(|first| {
                        matches!(first.objects.as_slice(), [Object::New { register: made, .. }] if *made == register)
                    });
                    if is_its_own && self.program.names.text(called.name) == "<init>" {
                        let at = At { method, event: EventId(index as u32) };
                        return self.product(at, *called, &arguments[1..], depth);
                    }
                }
                Threads::Many
            }
            Object::Parameter(position) => match self.given(method, position).as_slice() {
                [(caller, argument)] => self.pool(*caller, &argument.objects, depth),
                _ => Threads::Many,
            },
            Object::Event(event) => {
                let at = At { method, event };
                match self.event(at).map(|event| &event.action) {
                    Some(Action::Call { method: called, arguments, .. }) => {
                        let skip = usize::from(!is_static(self.program, *called, arguments));
                        self.product(at, *called, &arguments[skip..], depth)
                    }
                    Some(Action::Read { member, .. }) => {
                        let field = match member {
                            crate::outline::Member::Field(field) | crate::outline::Member::Static(field) => *field,
                            _ => return Threads::Many,
                        };
                        match self.program.real_field(field).map_or(&[][..], |field| self.stores_of(field)) {
                            [only] => match self.event(*only).map(|event| &event.action) {
                                Some(Action::Write { stored, .. }) => self.pool(only.method, &stored.objects, depth),
                                _ => Threads::Many,
                            },
                            _ => Threads::Many,
                        }
                    }
                    _ => Threads::Many,
                }
            }
            Object::Int(_) | Object::Unknown => Threads::Many,
        }
    }

    fn product(&self, at: At, called: MethodName, arguments: &[Argument], depth: usize) -> Threads {
        let Some(CallModel { product: Some(Product::Executor(pool)), .. }) = self.library.model(called) else {
            return Threads::Many;
        };
        let argument = |index: u8| arguments.get(usize::from(index));
        match pool {
            Pool::Single => Threads::One(at),
            Pool::Sized(index) => match argument(index).map(|argument| argument.objects.as_slice()) {
                Some([Object::Int(1)]) => Threads::One(at),
                _ => Threads::Many,
            },
            Pool::Many => Threads::Many,
            Pool::Caller => Threads::Caller,
            Pool::Like(index) => {
                argument(index).map_or(Threads::Many, |argument| self.pool(at.method, &argument.objects, depth))
            }
        }
    }
}

/// How many threads an executor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Threads {
    /// One; made here.
    One(At),
    Many,
    /// None: it runs tasks where they are handed in.
    Caller,
}

/// Whether a call has no receiver.
pub(crate) fn is_static(program: &Program, method: MethodName, arguments: &[Argument]) -> bool {
    classfile::split_method(program.names.text(method.descriptor)).is_none_or(|(count, _)| count == arguments.len())
}
