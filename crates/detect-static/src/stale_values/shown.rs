//! Signs in the code of large programs that threads meet at an object, or that one thread alone has it.
//!
//! A container that locks by itself is there for threads, but often one of them fills it and the others look. Who means
//! several that fill it takes a lock, refuses what comes second, or fills it with what is made for threads, too.

use location::ClassName;
use program::ir::{Arithmetic, Body, CallKind, Op, Value};
use program::model;
use program::outline::{Action, Argument, Event, EventId, Name, Object, Origin, Outline, Source, Start};
use program::summary::{Access, AccessId, Root, Spot};
use program::{LockKind, MethodId, Mode, Variable};

use super::little::is_thrown;
use super::rules::{Looking, Stale, Use};
use crate::threads::is_of_this;
use crate::words::{called_at, operation};

/// Where ways meet more often than this before a value, it is not asked where it comes from.
const MAX_CHOICES: usize = 2;

impl Looking<'_> {
    /// Whether what is put because nothing was there shows that threads meet there. Under a key: whoever comes second is
    /// refused, or what is put is more than a text or a number, and a lock is taken, what is put is made for threads and filled,
    /// or there is one map for all, and something is done with what is put there, other than a container that is for one
    /// thread. On a list, what is there twice shows it by itself, but for what was given to be put there: who
    /// has a listener adds it once.
    pub(super) fn is_met_at(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let put = self.put_at(&write.spot);
        let is_refused =
            || self.is_refused(read, write, |event| is_thrown(self.whole, event) && !self.is_of_mistake(event));
        // One of the things that it may be tells what all are.
        let is_text = |(method, outline, value): &(MethodId, &Outline, &[Object])| {
            value.iter().any(|object| self.never_changes(*method, outline, object))
        };
        if put.as_ref().is_some_and(is_text) {
            return is_refused();
        }
        if !self.is_by_itself(stale.first, read) || self.is_locked_around(stale) {
            return true;
        }
        let Some((_, outline, value)) = put else { return !self.is_given_at(&write.spot) };
        let field = stale.variable.field();
        let is_for_all = self.whole.program.field(field).access.is_static() && !self.whole.program.is_captured(field);
        is_refused()
            || value.iter().any(|object| {
                is_for_all
                    && !matches!(object, Object::Parameter(_))
                    && !self.is_plain(object)
                    && self.is_put_to_use(outline, object, &write.spot)
                    || self.is_for_threads(outline, object) && self.is_filled_here(outline, object)
            })
    }

    /// Whether no other lock is taken for an access than that of the object that is touched: it takes it itself.
    pub(super) fn is_by_itself(&self, section: usize, access: &Access) -> bool {
        let section = &self.summary.sections[section];
        section.kind == LockKind::Own || section.spot == access.spot && called_at(self.whole, &access.spot).is_some()
    }

    /// Whether what is put at a place was given to the method that puts it there.
    fn is_given_at(&self, spot: &Spot) -> bool {
        let put = match self.event_at(spot).map(|event| &event.action) {
            Some(Action::Call { arguments, .. }) => arguments.last(),
            _ => None,
        };
        put.is_some_and(|put| {
            !put.objects.is_empty() && put.objects.iter().all(|object| matches!(object, Object::Parameter(_)))
        })
    }

    /// Whether what is put at a place is changed after that, here or where it is found again, or given to others as well: two
    /// who do so at once do not end up with the same.
    fn is_put_to_use(&self, outline: &Outline, object: &Object, spot: &Spot) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let Some(put) = outline.events.iter().position(|event| event.pc == spot.pc) else { return false };
        let receiver = |event: &Event| match &event.action {
            Action::Call { arguments, .. } => arguments.first().map(|first| first.name.clone()),
            _ => None,
        };
        let container = receiver(&outline.events[put]);
        let is_it = |argument: &Argument| argument.objects.contains(object);
        let is_found = |argument: &Argument| match argument.name.start {
            Start::Result(found) => {
                let from = receiver(&outline.events[found.index()]);
                from.zip(container.as_ref()).is_some_and(|(from, container)| from.same(container))
            }
            _ => false,
        };
        let is_use = |(index, event): (usize, &Event)| match &event.action {
            Action::Lambda { arguments, .. } => arguments.iter().any(is_it),
            Action::Call { kind, method, arguments } if index != put && *kind != CallKind::Special => {
                let skipped = usize::from(*kind != CallKind::Static);
                let is_change = || match calls.model(program, *method, method.class) {
                    Some(model) => model.access != model::Access::Read,
                    None => program.class(method.class).is_some_and(|class| program.is_checked(class)),
                };
                let is_later = || outline.leads_to(EventId(put as u32), EventId(index as u32), &[]);
                (arguments.iter().skip(skipped).any(is_it)
                    || arguments.first().is_some_and(|first| is_it(first) || is_found(first)) && is_change())
                    && is_later()
            }
            _ => false,
        };
        outline.events.iter().enumerate().any(is_use)
    }

    /// Whether what comes back changed with no lock held shows that threads meet there: another method does the same, or
    /// writes under a lock. A volatile number or flag is moved by one thread and seen by others, and of another volatile field
    /// it takes a lock. What stands under a key has to be a number, or for threads itself.
    pub(super) fn is_shown_by_others(&self, stale: &Stale) -> bool {
        let writers = || self.whole.variables.writers(stale.variable).iter();
        let others = || writers().filter_map(|place| Some((Looking::at(self.whole, place.method)?, place.access)));
        let mut others = others().filter(|(there, _)| there.method != self.method);
        let is_shown = |(there, write): (Looking<'_>, AccessId)| {
            let write = there.access(write);
            match stale.variable {
                Variable::Field(_) => there.is_locked_alone(write),
                _ => !there.is_unlocked(write) || there.is_made_of_itself(write, stale.variable),
            }
        };
        match (self.put_at(&self.access(stale.write).spot), stale.variable) {
            (Some((method, outline, value)), _) => {
                self.is_met_at(stale) || value.iter().any(|object| self.is_boxed_sum(method, outline, object))
            }
            (None, Variable::Field(field)) if !self.type_of(field).starts_with(['L', '[']) => false,
            (None, _) => others.any(is_shown),
        }
    }

    /// Whether what is written was read from the same variable before.
    fn is_made_of_itself(&self, write: &Access, variable: Variable) -> bool {
        write.value.iter().any(|influence| match influence.root {
            Root::Access(read) => {
                self.access(read).spot != write.spot && self.variable(self.access(read)) == Some(variable)
            }
            Root::Parameter(_) => false,
        })
    }

    /// Whether it is a number in its box, and so much more or less than another one.
    fn is_boxed_sum(&self, method: MethodId, outline: &Outline, object: &Object) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        let Object::Event(event) = object else { return false };
        let boxing = &outline.events[event.index()];
        let is_boxed = match &boxing.action {
            Action::Call { method, .. } => {
                text(method.name) == "valueOf" && matches!(text(method.class.0), "java/lang/Integer" | "java/lang/Long")
            }
            _ => false,
        };
        let Ok(Some(body)) = self.whole.program.body(method) else { return false };
        is_boxed
            && body.instructions().filter(|(_, instruction)| instruction.pc == boxing.pc).any(|(_, instruction)| {
                match instruction.op {
                    Op::Call { arguments, .. } => {
                        body.operands(arguments).iter().any(|number| is_sum(&body, *number, MAX_CHOICES))
                    }
                    _ => false,
                }
            })
    }

    /// Whether something is put into an object, or counted on in it, by the method that puts it somewhere; other than what was
    /// looked for there before.
    pub(super) fn is_filled_here(&self, outline: &Outline, object: &Object) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_it = |argument: &Argument| argument.objects.contains(object);
        let is_of_it = |event: &Event| match &event.action {
            Action::Call { arguments, .. } => arguments.first().is_some_and(is_it),
            _ => false,
        };
        // What is put there because it was not there is remembered.
        let is_remembered = |event: &Event| {
            let is_looked_up = |source: &Source| match source.origin {
                Origin::Event(asked) => is_of_it(&outline.events[asked.index()]),
                Origin::Parameter(_) => false,
            };
            event.control.iter().any(|condition| {
                let condition = &outline.conditions[*condition as usize];
                condition.absent.is_some() && condition.sources.iter().any(is_looked_up)
            })
        };
        let is_filled = |event: &Event| match &event.action {
            Action::Call { kind, method, .. } => {
                let model = calls.model(program, *method, method.class);
                *kind != CallKind::Special
                    && is_of_it(event)
                    && !is_remembered(event)
                    && model.is_none_or(|model| model.access != model::Access::Read)
            }
            _ => false,
        };
        let own = self.whole.summaries.outline(self.method);
        let is_making = |access: &Access| {
            let event = own.and_then(|own| own.events.get(access.event.index()));
            matches!(event.map(|event| &event.action), Some(Action::Call { kind: CallKind::Special, .. }))
        };
        let is_part = |access: &Access| match object {
            Object::New { class, .. } => self
                .variable(access)
                .is_some_and(|variable| program.class(*class) == Some(program.class_of_field(variable.field()))),
            _ => false,
        };
        outline.events.iter().any(is_filled)
            || self.summary.accesses.iter().any(|access| access.is_write && is_part(access) && !is_making(access))
    }

    /// Whether the method throws something that it makes if the answer is the other one, and that callers may expect.
    fn is_refused(&self, read: &Access, write: &Access, is_made: impl Fn(&Event) -> bool) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let block_of = |event: &Event| event.block as usize;
        let writing = &outline.events[write.event.index()];
        writing.control.iter().filter(|condition| outline.refusals.contains(condition)).any(|number| {
            let condition = &outline.conditions[*number as usize];
            let [one, other] = [0, 1].map(|way| outline.reached_by(condition, way));
            // Who comes second does not get to the act by any way.
            let is_between = |event: &Event, there: &[bool], here: &[bool]| {
                there[block_of(event)] && !here[block_of(event)] && !there[block_of(writing)] && here[block_of(writing)]
            };
            let is_other = |event: &Event| is_between(event, &one, &other) || is_between(event, &other, &one);
            condition.sources.iter().all(|source| source.origin == Origin::Event(read.event))
                && outline.events.iter().any(|event| {
                    let is_sure =
                        || event.control.iter().all(|other| other == number || writing.control.contains(other));
                    is_other(event) && is_made(event) && is_sure()
                })
        })
    }

    /// Whether the other answer is a mistake of whoever calls: they see to it that it does not come to that.
    pub(super) fn is_up_to_callers(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        stale.how == Use::Decides && self.is_refused(read, write, |event| self.is_of_mistake(event))
    }

    /// Whether an exception is made that says that callers have made a mistake.
    fn is_of_mistake(&self, event: &Event) -> bool {
        const MISTAKES: [&str; 3] =
            ["java/lang/IllegalArgumentException", "java/lang/IllegalStateException", "java/lang/Error"];
        let program = self.whole.program;
        match &event.action {
            Action::Call { method, .. } => {
                program.names.text(method.name) == "<init>"
                    && MISTAKES.iter().any(|name| program.is_subtype(method.class, program.names.class(name)))
            }
            _ => false,
        }
    }

    /// Whether an object is one that threads may use at once, or has numbers that they may.
    pub(super) fn is_for_threads(&self, outline: &Outline, object: &Object) -> bool {
        let program = self.whole.program;
        let text = |symbol| program.names.text(symbol);
        match *object {
            Object::New { class, .. } => self.is_class_for_threads(class),
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => {
                    let yielded = text(method.descriptor).rsplit_once(')').map_or("", |(_, yielded)| yielded);
                    yielded.starts_with("Ljava/util/concurrent/")
                        || text(method.class.0) == "java/util/Collections"
                            && text(method.name).starts_with("synchronized")
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether something that is for threads is put into a container somewhere, or made there for a key that has nothing.
    pub(super) fn is_filled_for_threads(&self, container: Variable) -> bool {
        let is_put = |(there, write): (Looking<'_>, AccessId)| {
            let spot = there.access(write).spot;
            let Some((_, outline, value)) = there.put_at(&spot) else { return false };
            value.iter().any(|object| match object {
                Object::Event(event) => match &outline.events[event.index()].action {
                    Action::Lambda { method, .. } => {
                        let targets = self.whole.calls.lambda_targets(self.whole.program, *method);
                        targets
                            .known()
                            .iter()
                            .filter_map(|target| self.whole.outlines().get(*target))
                            .any(|made| made.returned.iter().any(|object| self.is_for_threads(made, object)))
                    }
                    _ => self.is_for_threads(outline, object),
                },
                _ => self.is_for_threads(outline, object),
            })
        };
        let writers = self.whole.variables.writers(container).iter();
        writers.filter_map(|place| Some((Looking::at(self.whole, place.method)?, place.access))).any(is_put)
    }

    /// Whether it is a container that threads must not use at once.
    fn is_plain(&self, object: &Object) -> bool {
        let name = |class: &ClassName| self.whole.program.names.text(class.0).strip_prefix("java/util/");
        matches!(object, Object::New { class, .. } if name(class).is_some_and(|name| !name.contains('/')))
    }

    fn is_class_for_threads(&self, class: ClassName) -> bool {
        let program = self.whole.program;
        let has_numbers = || {
            let mut fields = program.class(class).into_iter().flat_map(|class| program.fields_of(class));
            fields.any(|field| {
                program.names.text(program.field(field).descriptor).starts_with("Ljava/util/concurrent/atomic/")
            })
        };
        program.names.text(class.0).starts_with("java/util/concurrent/") || has_numbers()
    }

    /// Whether the method changes something else of the same object as if nobody else had it: no lock is held there, and
    /// what is changed takes none.
    pub(super) fn is_changed_plainly(&self, stale: &Stale) -> bool {
        let is_plain = |access: &Access| {
            access.is_write
                && access.held.is_empty()
                && access.base.start == Start::Parameter(0)
                && access.spot.method == self.whole.program.method_name(self.method)
                && self.variable(access).is_some_and(|variable| is_of_this(&access.base, variable))
        };
        // What is read before it is set is moved on; what is set beside a mark may be what the mark is there for.
        let is_moved = |write: &Access| {
            self.summary.accesses.iter().any(|read| {
                !read.is_write && read.member == write.member && read.base.same(&write.base) && read.held.is_empty()
            })
        };
        let is_meant = |access: &Access| is_plain(access) && (!self.is_mark(stale.variable) || is_moved(access));
        let read = self.access(stale.read);
        let is_own = |container: &Name| container.start == Start::Parameter(0) && container.steps.len() == 1;
        let is_of_part = || read.within.as_deref().is_some_and(is_own);
        (is_of_this(&read.base, stale.variable) || is_of_part()) && self.summary.accesses.iter().any(is_meant)
    }

    /// Whether a lock is held that nobody else can hold at the same time.
    fn is_locked_alone(&self, access: &Access) -> bool {
        let mut sections = access.held.iter().map(|section| &self.summary.sections[section]);
        sections.any(|section| section.kind != LockKind::Own && section.mode == Mode::Exclusive)
    }

    /// Whether a place sets an atomic so that others may see it late.
    pub(super) fn is_late(&self, spot: &Spot) -> bool {
        matches!(operation(self.whole, spot), Some("lazySet" | "setRelease" | "setPlain" | "setOpaque"))
    }
}

/// Whether a number is more or less than another one by so much, on one way or another.
fn is_sum(body: &Body, number: Value, depth: usize) -> bool {
    match *body.op(number) {
        Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, ..) => true,
        Op::Phi(operands) => depth > 0 && body.operands(operands).iter().any(|one| is_sum(body, *one, depth - 1)),
        _ => false,
    }
}
