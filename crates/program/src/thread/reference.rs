//! Functions that library calls run in place: what they get, and references to methods that start or join.
//!
//! `threads.forEach(Thread::start)` starts each element of `threads`.

use location::{ClassName, MethodName};

use super::handle::Handle;
use super::join::Join;
use super::site::{Site, is_wait};
use super::task::{At, Finder};
use crate::class::MethodId;
use crate::model::{OrderKind, Runner, Task, Times};
use crate::outline::{Action, Argument, Event, EventId, Object};

impl<'f> Finder<'f> {
    /// The call that runs a function which is made at an event, and the object that it is called on.
    pub(super) fn runner(&self, made: At) -> Option<(EventId, &'f Argument)> {
        let outline = self.outline(made.method)?;
        outline.events.iter().enumerate().find_map(|(index, event)| {
            let Action::Call { method, arguments, .. } = &event.action else { return None };
            let (receiver, rest) = arguments.split_first()?;
            let given = rest.iter().position(|argument| argument.objects.contains(&Object::Event(made.event)))?;
            let runs = self.library.model(*method)?.runs;
            runs.contains(u8::try_from(given).ok()?).then_some((EventId(index as u32), receiver))
        })
    }

    /// For a parameter of a function beyond what it captures: the method that makes the function, and the object whose
    /// elements it gets.
    pub(super) fn run_over(&self, body: MethodId, position: u16) -> Vec<(MethodId, &'f Argument)> {
        let mut found = Vec::new();
        for maker in self.calls.callers(body) {
            for (index, event) in self.outline(*maker).into_iter().flat_map(|outline| outline.events.iter().enumerate())
            {
                let Action::Lambda { method, arguments, .. } = &event.action else { continue };
                let is_beyond = usize::from(position) >= arguments.len();
                if is_beyond && self.calls.hierarchy.resolve_name(self.program, *method) == Some(body) {
                    let made = At { method: *maker, event: EventId(index as u32) };
                    found.extend(self.runner(made).map(|(_, receiver)| (*maker, receiver)));
                }
            }
        }
        found
    }

    /// What a reference to a library method starts or joins where it is run.
    pub(super) fn referred(
        &self,
        made: At,
        event: &Event,
        called: MethodName,
        captured: &[Argument],
    ) -> (Option<Site>, Option<Join>) {
        let Some(model) = self.library.model(called) else { return (None, None) };
        let runner = self.runner(made);
        let at = At { method: made.method, event: runner.map_or(made.event, |(call, _)| call) };
        let elements = || {
            let containers = runner.map(|(_, receiver)| self.containers_of(made.method, &receiver.objects));
            containers.into_iter().flatten().map(Handle::element).collect::<Vec<_>>()
        };
        let found = self.calls.hierarchy.resolve_name(self.program, called);
        let skip = usize::from(!found.is_some_and(|found| self.program.method(found).access.is_static()));
        let mut join = None;
        if is_wait(&model) {
            let own = captured.first().map(|receiver| self.handles(made.method, &receiver.objects));
            join = Some(Join {
                at,
                in_loop: false,
                is_executor: model.orders.is_some_and(|order| order.kind == OrderKind::JoinAll),
                handles: own.unwrap_or_else(elements),
                is_whole: true,
                of_each: None,
                on_way: None,
                done: 0,
            });
        }
        let Some(start) = model.starts else { return (None, join) };
        let (position, wanted) = match start.task {
            Task::Receiver => (0, Some(called.class)),
            Task::Argument(index) | Task::ElementsOf(index) => {
                (usize::from(index) + skip, self.parameter(called, index))
            }
        };
        let Some(wanted) = wanted else { return (None, join) };
        let tasks = match (captured.get(position), runner) {
            (Some(task), _) => self.task(made.method, task, wanted),
            (None, Some((_, receiver))) => self.tasks_in(made.method, receiver, wanted),
            (None, None) => self.any_task(wanted),
        };
        let executor = if start.on == Runner::Receiver { captured.first() } else { None };
        let serial = executor.and_then(|executor| self.serial(made.method, &executor.objects));
        let site = Site {
            at,
            line: event.line,
            in_loop: true,
            runs: tasks.runs,
            is_open: tasks.is_open,
            // Each element is a start of its own.
            times: if serial.is_none() { Times::ManyAtOnce } else { start.times },
            serial,
            taking_turns: None,
            kind: self.kind(start.on, serial, called),
            is_scoped: false,
            handles: elements(),
            executors: executor.map_or(Vec::new(), |executor| self.given_handles(made.method, &executor.objects)),
            after: None,
        };
        (Some(site), join)
    }

    /// What a function yields that is given to a library call: elements of what comes next in a stream.
    pub(super) fn yielded_by(&self, maker: MethodId, argument: &Argument) -> Vec<Yielded<'f>> {
        let mut found = Vec::new();
        for object in &argument.objects {
            let Object::Event(event) = *object else { continue };
            let Some(Event { action: Action::Lambda { method, .. }, .. }) = self.event(At { method: maker, event })
            else {
                continue;
            };
            if self.program.names.text(method.name) == "<init>" {
                found.push(Yielded::New(*method));
            } else if let Some(body) = self.calls.hierarchy.resolve_name(self.program, *method)
                && let Some(outline) = self.outline(body)
            {
                found.push(Yielded::Returned(body, &outline.returned));
            }
        }
        found
    }

    /// Every class that fits.
    fn any_task(&self, wanted: ClassName) -> super::task::Found {
        let mut found = super::task::Found::default();
        self.by_type(wanted, &mut found);
        found
    }
}

/// What a function yields.
pub(super) enum Yielded<'f> {
    /// A new object, by this constructor.
    New(MethodName),
    /// What its body returns.
    Returned(MethodId, &'f crate::outline::Objects),
}
