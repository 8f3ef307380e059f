//! Signs in the code of large programs that threads meet at an object, or that one thread alone has it.
//!
//! A container that locks by itself is there for threads, but often one of them fills it and the others look. Who means
//! several that fill it takes a lock, refuses what comes second, or fills it with what is made for threads, too.

use location::ClassName;
use program::ir::CallKind;
use program::model;
use program::outline::{Action, Argument, Event, Object, Origin, Outline, Start};
use program::summary::{Access, Root, Spot};
use program::{LockKind, Place, Variable};

use super::rules::{Looking, Stale};
use super::telling::RELATIVE;
use crate::threads::is_of_this;
use crate::words::operation;

impl Looking<'_> {
    /// Whether what is put under a key because nothing was there shows that threads meet there: there is one map for all, a
    /// lock is taken, whoever comes second is refused, or what is put is made for threads. What is added elsewhere, on a
    /// list, is there twice and shows it by itself.
    pub(super) fn is_met_at(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let Some((_, outline, value)) = self.put_at(&write.spot) else { return true };
        self.whole.program.field(stale.variable.field()).access.is_static()
            || self.summary.sections[stale.first].kind != LockKind::Own
            || self.is_refused(read, write)
            || value.iter().any(|object| self.is_for_threads(outline, object) && self.is_filled_here(outline, object))
    }

    /// Whether what comes back changed with no lock held shows that threads meet there: another method does the same, or
    /// writes under a lock. What stands under a key has to be a number, or for threads itself, or one map to be there for
    /// all.
    pub(super) fn is_shown_by_others(&self, stale: &Stale) -> bool {
        let is_shown = |place: &Place| {
            let there = Looking::at(self.whole, place.method).filter(|there| there.method != self.method);
            there.is_some_and(|there| {
                let write = there.access(place.access);
                !there.is_unlocked(write) || there.is_made_of_itself(write, stale.variable)
            })
        };
        match self.put_at(&self.access(stale.write).spot) {
            Some((_, outline, value)) => {
                self.is_met_at(stale) || value.iter().any(|object| self.is_boxed(outline, object))
            }
            None => self.whole.variables.writers(stale.variable).iter().any(is_shown),
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

    fn is_boxed(&self, outline: &Outline, object: &Object) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        match object {
            Object::Event(event) => match &outline.events[event.index()].action {
                Action::Call { method, .. } => {
                    text(method.name) == "valueOf"
                        && matches!(text(method.class.0), "java/lang/Integer" | "java/lang/Long")
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether something is put into an object, or counted on in it, by the method that puts it somewhere.
    pub(super) fn is_filled_here(&self, outline: &Outline, object: &Object) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_it = |argument: &Argument| argument.objects.contains(object);
        let is_filled = |event: &Event| match &event.action {
            Action::Call { kind, method, arguments } => {
                let model = calls.model(program, *method, method.class);
                *kind != CallKind::Special
                    && arguments.first().is_some_and(is_it)
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

    /// Whether the method throws something that it makes if the answer is the other one.
    fn is_refused(&self, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let block_of = |event: &Event| event.block as usize;
        let writing = &outline.events[write.event.index()];
        writing.control.iter().filter(|condition| outline.refusals.contains(condition)).any(|condition| {
            let condition = &outline.conditions[*condition as usize];
            let [one, other] = [0, 1].map(|way| outline.reached_by(condition, way));
            let is_between = |event: &Event, there: &[bool], here: &[bool]| {
                there[block_of(event)] && !here[block_of(event)] && here[block_of(writing)]
            };
            let is_other = |event: &Event| is_between(event, &one, &other) || is_between(event, &other, &one);
            condition.sources.iter().any(|source| source.origin == Origin::Event(read.event))
                && outline.events.iter().any(|event| is_other(event) && self.is_exception_made(event))
        })
    }

    fn is_exception_made(&self, event: &Event) -> bool {
        let program = self.whole.program;
        match &event.action {
            Action::Call { method, .. } => {
                program.names.text(method.name) == "<init>"
                    && program.is_subtype(method.class, program.names.class("java/lang/Throwable"))
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
        is_of_this(&self.access(stale.read).base, stale.variable) && self.summary.accesses.iter().any(is_plain)
    }

    /// Whether the method counts other atomics of the same object on, with no lock around: whoever does so means several
    /// threads.
    pub(super) fn is_counted_beside(&self, stale: &Stale) -> bool {
        let object =
            |access: &Access| access.base.steps.split_last().map(|(_, steps)| (access.base.start, steps.to_vec()));
        let own = object(self.access(stale.read));
        self.summary.accesses.iter().any(|access| {
            access.is_write
                && self.is_unlocked(access)
                && self.variable(access) != Some(stale.variable)
                && operation(self.whole, &access.spot).is_some_and(|name| RELATIVE.contains(&name))
                && object(access) == own
        })
    }

    /// Whether a place sets an atomic so that others may see it late.
    pub(super) fn is_late(&self, spot: &Spot) -> bool {
        matches!(operation(self.whole, spot), Some("lazySet" | "setRelease" | "setPlain" | "setOpaque"))
    }
}
