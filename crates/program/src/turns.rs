//! Tasks that take turns: whatever an owner has done to its state is done by its own executor of one thread, by the one
//! thread that it starts when it is made, or by stages of which each begins when the one before is over. To the code of such a task that thread is as good as a lock which it holds, with
//! a name that starts from the owner.

use classfile::CallKind;
use location::{FieldName, MethodName};

use crate::class::MethodId;
use crate::cover::Cover;
use crate::held::{HeldLock, from_caller};
use crate::library::is_checked_code;
use crate::lock::{LockKind, Mode};
use crate::model::Returns;
use crate::outline::{Action, Argument, EventId, Member, Name, NameStep, Object, Outline, Start, Steps};
use crate::outlines::Outlines;
use crate::thread::At;

/// Tasks that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 4;

/// A start of a task on an executor of one thread.
pub(crate) struct Turn<'t> {
    /// What fields of the task keep, by its name where the task is started.
    kept: Vec<(FieldName, &'t Name)>,
    /// The thread, by its name where the task is started.
    pub(crate) held: HeldLock,
}

impl Cover<'_> {
    /// The thread that alone runs a lambda which a method makes, or the field that its stages are appended to, as a lock.
    pub(crate) fn turn(&self, method: MethodId, outline: &Outline, made: usize) -> Option<HeldLock> {
        let object = Object::Event(EventId(made as u32));
        let name =
            self.executor_of(method, outline, object, MAX_DEPTH).or_else(|| self.own_thread(method, outline, made));
        let turn = |name| HeldLock { name, kind: LockKind::Turn, mode: Mode::Exclusive };
        name.map(turn).or_else(|| self.tail_of(method, outline, made))
    }

    /// The executor of one thread that is all that an object is ever given to, by its name in the method.
    fn executor_of(&self, method: MethodId, outline: &Outline, object: Object, depth: usize) -> Option<Name> {
        let (threads, depth) = (self.threads?, depth.checked_sub(1)?);
        let has = |argument: &Argument| argument.objects.contains(&object);
        let mut found: Option<Name> = None;
        for (index, event) in outline.events.iter().enumerate() {
            let at = EventId(index as u32);
            let name = match &event.action {
                Action::Call { kind, method: called, arguments } => {
                    let Some(position) = arguments.iter().position(has) else { continue };
                    match threads.taking_turns(At { method, event: at }) {
                        Some(executor) if executor != position => arguments[executor].name.clone(),
                        Some(_) => return None,
                        None => {
                            let targets = self.calls.targets(self.program, *kind, *called);
                            if !targets.known().iter().any(|target| is_checked_code(self.program, *target)) {
                                self.taker(*called, arguments.first().filter(|_| position > 0)?)?
                            } else {
                                let [target] = targets.known() else { return None };
                                let inner = self.outline(*target)?;
                                let given = Object::Parameter(position as u16);
                                let name = self.executor_of(*target, inner, given, depth)?;
                                from_caller(self.program, &name, arguments)
                            }
                        }
                    }
                }
                Action::Write { stored, .. } if has(stored) => return None,
                // A task around the task.
                Action::Lambda { method: made, arguments, .. } => {
                    let Some(position) = arguments.iter().position(has) else { continue };
                    if !self.is_only_called(*made, position) {
                        return None;
                    }
                    self.executor_of(method, outline, Object::Event(at), depth)?
                }
                _ => continue,
            };
            if name.is_unknown() || found.as_ref().is_some_and(|known| *known != name) {
                return None;
            }
            found = Some(name);
        }
        found.filter(|_| !outline.returned.contains(&object))
    }

    /// The thread that alone takes out what a call puts into a container, by its name where the call is.
    fn taker(&self, put: MethodName, container: &Argument) -> Option<Name> {
        let is_put = self.calls.model(self.program, put, put.class)?.access.writes();
        self.threads.filter(|_| is_put && self.by_takers)?;
        let Some(NameStep::Field(field)) = container.name.steps.last() else { return None };
        let field = self.program.real_field(*field).filter(|_| self.program.is_final_field(*field))?;
        // A task that takes tasks out itself is not followed further.
        let cover = Cover { by_takers: false, ..*self };
        let mut thread: Option<Steps> = None;
        for method in self.calls.users(field) {
            for event in self.outline(*method).into_iter().flat_map(|outline| &outline.events) {
                let Action::Call { method: called, arguments, .. } = &event.action else { continue };
                let model = self.calls.model(self.program, *called, called.class);
                let Some(taken) =
                    arguments.first().filter(|_| model.is_some_and(|model| model.returns == Returns::Removed))
                else {
                    continue;
                };
                let is_it = matches!(taken.name.steps.last(),
                    Some(NameStep::Field(other)) if self.program.real_field(*other) == Some(field));
                if !is_it {
                    continue;
                }
                let owner = taken.name.owner();
                let turn = cover.held_by_callers(*method).into_iter().find(|held| {
                    held.kind == LockKind::Turn
                        && held.name.start == owner.start
                        && held.name.steps.starts_with(&owner.steps)
                })?;
                let steps: Steps = turn.name.steps[owner.steps.len()..].into();
                if thread.as_ref().is_some_and(|known| *known != steps) {
                    return None;
                }
                thread = Some(steps);
            }
        }
        Some(container.name.owner().then(&thread?))
    }

    /// Whether the code of a lambda does nothing with what it captured but call it.
    fn is_only_called(&self, lambda: MethodName, position: usize) -> bool {
        let target = self.calls.hierarchy.resolve_name(self.program, lambda);
        let Some(outline) = target.and_then(|target| self.outline(target)) else { return false };
        let object = Object::Parameter(position as u16);
        let has = |argument: &Argument| argument.objects.contains(&object);
        !outline.returned.contains(&object)
            && outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, arguments, .. } => match arguments.split_first() {
                    Some((first, rest)) => !rest.iter().any(has) && (*kind == CallKind::Interface || !has(first)),
                    None => true,
                },
                Action::Write { stored, .. } => !has(stored),
                Action::Lambda { arguments, .. } => !arguments.iter().any(has),
                Action::Read { .. } | Action::Wait(_) => true,
            })
    }

    /// The thread that runs a method of an object all the time: made of a lambda for that object, once, when the object
    /// is made itself or where one of its fields keeps the thread. Such a thread has the name of what it runs.
    fn own_thread(&self, method: MethodId, outline: &Outline, made: usize) -> Option<Name> {
        self.threads?;
        let event = &outline.events[made];
        let Action::Lambda { method: run, arguments, .. } = &event.action else { return None };
        let owner = arguments.first().filter(|owner| owner.name == Name::start(Start::Parameter(0)))?;
        let is_maker = self.program.names.text(self.program.method(method).name) == "<init>";
        if event.in_loop || self.program.method(method).access.is_static() {
            return None;
        }
        let lambda = Object::Event(EventId(made as u32));
        let mut thread = None;
        for event in &outline.events {
            let has = |argument: &Argument| argument.objects.contains(&lambda);
            match &event.action {
                Action::Call { method: called, arguments, .. } if arguments.iter().any(has) => {
                    let is_thread = self.program.names.text(called.class.0) == "java/lang/Thread"
                        && self.program.names.text(called.name) == "<init>";
                    let [Object::New { register, .. }] = arguments[0].objects.as_slice() else { return None };
                    if !is_thread || thread.replace(*register).is_some() {
                        return None;
                    }
                }
                Action::Write { stored, .. } if has(stored) => return None,
                Action::Lambda { arguments, .. } if arguments.iter().any(has) => return None,
                _ => {}
            }
        }
        let thread = thread?;
        let is_kept = outline.events.iter().any(|event| match &event.action {
            Action::Write { base, member: Member::Field(_), stored, .. } => {
                *base == owner.name
                    && stored
                        .objects
                        .iter()
                        .any(|object| matches!(object, Object::New { register, .. } if *register == thread))
            }
            _ => false,
        });
        let target = self.calls.hierarchy.resolve_name(self.program, *run)?;
        let is_made_once = self
            .calls
            .callers(target)
            .iter()
            .filter_map(|maker| self.outline(*maker))
            .flat_map(|outline| &outline.events)
            .filter(|event| match &event.action {
                Action::Lambda { method, .. } => {
                    self.calls.hierarchy.resolve_name(self.program, *method) == Some(target)
                }
                _ => false,
            })
            .count()
            == 1;
        let name = FieldName { class: run.class, name: run.name, descriptor: run.descriptor };
        ((is_maker || is_kept) && is_made_once).then(|| owner.name.then(&[NameStep::Field(name)]))
    }

    /// Where a method of a task's class is started, as a task that takes turns; none if it may be started in another way.
    pub(crate) fn turns_of(&self, method: MethodId) -> Option<Vec<Turn<'_>>> {
        let Some(entry) = self.threads.and_then(|threads| threads.beginning_with(method)) else {
            return Some(Vec::new());
        };
        // What lambdas run is followed from where they are made.
        let name = self.program.method_name(method);
        let is_own = |task: MethodName| task.name == name.name;
        if !self.calls.task_entry(self.program, name.class).is_some_and(is_own) {
            return Some(Vec::new());
        }
        entry.sites.iter().map(|site| self.turn_at(method, site.at)).collect()
    }

    fn turn_at(&self, run: MethodId, site: At) -> Option<Turn<'_>> {
        let executor = self.threads?.taking_turns(site)?;
        let outline = self.outline(site.method)?;
        let Action::Call { arguments, .. } = &outline.events[site.event.index()].action else { return None };
        let class = self.program.method_name(run).class;
        let mut tasks = arguments.iter().filter_map(|argument| match argument.objects.as_slice() {
            [Object::New { register, class: made }] if *made == class => Some(*register),
            _ => None,
        });
        let task = tasks.next()?;
        let kept = outline.events.iter().find_map(|event| match &event.action {
            Action::Call { method, arguments, .. } if self.program.names.text(method.name) == "<init>" => {
                let is_it = matches!(arguments.first()?.objects.as_slice(),
                    [Object::New { register, .. }] if *register == task);
                is_it.then(|| self.kept(*method, arguments))
            }
            _ => None,
        })?;
        let name = arguments[executor].name.clone();
        Some(Turn { kept, held: HeldLock { name, kind: LockKind::Turn, mode: Mode::Exclusive } })
    }

    /// A name of a task's own code as the method has it that makes the task: of what a field of the task keeps.
    pub(crate) fn outside(&self, turn: &Turn<'_>, name: &Name) -> Name {
        match (name.start, &*name.steps) {
            (Start::Parameter(0), [NameStep::Field(field), rest @ ..]) => {
                let wanted = self.program.resolve_field(*field);
                let kept = turn.kept.iter().find(|(kept, _)| self.program.resolve_field(*kept) == wanted);
                kept.map_or(Name::start(Start::Unknown), |(_, name)| name.then(rest))
            }
            (Start::Static(_) | Start::Class(_), _) => name.clone(),
            _ => Name::start(Start::Unknown),
        }
    }

    /// The names that a task's own code has for the thread that runs it.
    pub(crate) fn inside(&self, turn: &Turn<'_>) -> Vec<HeldLock> {
        let held = &turn.held;
        if matches!(held.name.start, Start::Static(_) | Start::Class(_)) {
            return vec![held.clone()];
        }
        let named = turn.kept.iter().filter_map(|(field, kept)| {
            let is_below = kept.start == held.name.start && held.name.steps.starts_with(&kept.steps);
            let name = Name::start(Start::Parameter(0)).then(&[NameStep::Field(*field)]);
            is_below.then(|| HeldLock { name: name.then(&held.name.steps[kept.steps.len()..]), ..held.clone() })
        });
        named.collect()
    }

    /// The final fields in which a constructor keeps what it is given.
    fn kept<'a>(&self, constructor: MethodName, given: &'a [Argument]) -> Vec<(FieldName, &'a Name)> {
        let target = self.calls.hierarchy.resolve_name(self.program, constructor);
        let Some(outline) = target.and_then(|target| self.outline(target)) else { return Vec::new() };
        let kept = outline.events.iter().filter_map(|event| match &event.action {
            Action::Write { base, member: Member::Field(field), stored, .. } => {
                let is_own = *base == Name::start(Start::Parameter(0)) && self.program.is_final_field(*field);
                let Start::Parameter(position) = stored.name.start else { return None };
                let name = &given.get(usize::from(position))?.name;
                (is_own && stored.name.steps.is_empty() && !name.is_unknown()).then_some((*field, name))
            }
            _ => None,
        });
        kept.collect()
    }

    /// The outline of a method that is summarised, or that calls those.
    pub(crate) fn known_outline(&self, method: MethodId) -> Option<&Outline> {
        self.summaries.outline_of_caller(self.program, method)
    }

    fn outline(&self, method: MethodId) -> Option<&Outline> {
        Outlines::new(self.program, &self.summaries.outlines).get(method)
    }
}
