//! Kinds of old values that turn out to be mistakes, as a rule, where unknown threads call.
//!
//! Of an object that threads share, the code shows most where one variable is asked and changed by the same method: something
//! is put where nothing was, a mark is put up that was down, a number or a list comes back changed. What is asked for other
//! reasons has mostly been seen to by others.

use program::ir::{Arithmetic, Op, Value};
use program::model;
use program::outline::{Action, Argument, Event, Member, Object, Origin, Source, Start};
use program::summary::{Access, Root};
use program::{FieldId, LockKind, MethodId, Variable};

use super::explain::overwrites;
use super::idioms::comes_from;
use super::marks::Move;
use super::rules::{Looking, Stale, Use};
use super::skew::is_compared;
use super::weak::is_of_one_key;
use crate::words::{called_at, operation};

/// Operations that go by what is there, whatever that has become.
pub(super) const RELATIVE: [&str; 9] = [
    "addAndGet",
    "getAndAdd",
    "incrementAndGet",
    "getAndIncrement",
    "decrementAndGet",
    "getAndDecrement",
    "add",
    "increment",
    "decrement",
];

/// How operations begin after which there is more.
const MORE: [&str; 7] = ["add", "put", "push", "offer", "increment", "getAndIncrement", "next"];

impl Looking<'_> {
    pub(super) fn is_telling(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        match stale.how {
            Use::Written => stale.variable == stale.written && self.comes_back(stale, write),
            Use::Decides => {
                stale.variable == stale.written
                    && (self.is_registered(stale)
                        || self.is_put_up(stale) && !self.is_asked_in_loop(read, write)
                        || is_compared(stale.read, write)
                            && self.is_number(stale.variable)
                            && !operation(self.whole, &write.spot).is_some_and(|name| RELATIVE.contains(&name))
                            && !self.is_moved_under_lock(stale, write)
                            && !self.is_unlocked(write)
                        || self.is_left_empty(stale, read, write)
                        || self.is_taken_if_any(read, write)
                        || self.is_filled(stale)
                            && !self.is_unlocked(write)
                            && !self.is_unchanging(self.type_of(stale.variable.field())))
            }
            // What is plain and changed with no lock held is not for threads, and to make sure that something is there is no
            // change that anybody misses.
            Use::Found => {
                !self.is_of_plain(stale.variable, write)
                    && operation(self.whole, &write.spot) != Some("computeIfAbsent")
            }
            Use::Counted => self.is_number_of_its_own(stale),
            Use::Stepped | Use::Iterated | Use::Recounted | Use::Left => false,
        }
    }

    /// Whether what was read comes back changed, and is not only what the change goes by.
    fn comes_back(&self, stale: &Stale, write: &Access) -> bool {
        let name = operation(self.whole, &write.spot);
        let is_sure = name.is_some_and(|name| RELATIVE.contains(&name) && self.is_number(stale.variable))
            || name.is_some_and(|name| name.contains("ompareAnd"));
        let read = self.access(stale.read);
        let is_of_other = read.is_keyed && write.is_keyed && !is_of_one_key(read, write);
        comes_from(&write.value, stale.read)
            && overwrites(stale, write)
            && !is_sure
            && !is_of_other
            && !self.asks_presence(read)
            && name != Some("clear")
            && !self.is_moved_there(stale, write)
            && !self.is_swapped(stale)
            && !self.is_written_here(stale)
            && !(self.is_late(&write.spot) && self.is_unlocked(write))
            && (self.is_number(stale.variable) && !matches!(stale.variable, Variable::Field(_))
                || !self.is_by_itself(stale.first, read)
                || !self.is_away(stale.read)
                || !self.is_away(stale.write))
            && !self.is_nothing_there(stale, write)
            && !self.is_put_back(stale, write)
            && (!self.is_atomic_number(stale.variable) || self.is_told_on(stale))
            && match self.is_by_itself(stale.first, read) {
                true => self.is_shown_by_others(stale),
                // What goes from one section to another over calls goes there for many reasons.
                false if stale.is_waited() => false,
                false => match (self.is_away(stale.read), self.is_away(stale.write)) {
                    (false, false) => self.is_number(stale.variable) && self.is_step(write),
                    (true, true) => self.is_told_on(stale),
                    _ => false,
                },
            }
            && !self.is_far_away(stale.read)
            && !self.is_far_away(stale.write)
    }

    /// Whether the number that was taken beside a step is what the method yields, or says where something is put. One that is
    /// noted somewhere after the step tells how far things have come, whoever notes it.
    fn is_number_of_its_own(&self, stale: &Stale) -> bool {
        let taken = if self.access(stale.read).is_write { stale.write } else { stale.read };
        let is_first = taken == stale.read;
        let is_put = |put: &Access| {
            put.is_write && put.is_keyed && comes_from(&put.address, taken) && !comes_from(&put.value, taken)
        };
        is_first || comes_from(&self.summary.result, taken) || self.summary.accesses.iter().any(is_put)
    }

    /// Whether the section that writes looks at the variable again, and moves it by what was worked out before.
    fn is_moved_there(&self, stale: &Stale, write: &Access) -> bool {
        write.value.iter().any(|influence| match influence.root {
            Root::Access(other) => {
                // What a write yields of what was there is no look of its own.
                other != stale.read
                    && self.access(other).spot != write.spot
                    && !influence.ended.contains(stale.second)
                    && self.access(other).held.contains(stale.second)
                    && self.variable(self.access(other)) == Some(stale.variable)
            }
            Root::Parameter(_) => false,
        })
    }

    /// Whether a lock is taken to look at the variable again, and to move it from there.
    fn is_moved_under_lock(&self, stale: &Stale, write: &Access) -> bool {
        let is_taken = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        write.value.iter().any(|influence| match influence.root {
            Root::Access(other) => {
                other != stale.read
                    && self.variable(self.access(other)) == Some(stale.variable)
                    && self.access(other).held.intersection(write.held).iter().any(is_taken)
            }
            Root::Parameter(_) => false,
        })
    }

    /// Whether a volatile field of an object is written at one place alone: it is volatile for others to see what one thread
    /// does, as a rule.
    fn is_written_here(&self, stale: &Stale) -> bool {
        let Variable::Field(field) = stale.variable else { return false };
        let spot = self.access(stale.write).spot;
        let mut writers = self.whole.variables.writers(stale.variable).iter();
        self.summary.sections[stale.first].kind == LockKind::Own
            && !self.whole.program.field(field).access.is_static()
            && writers.all(|place| self.access_at(place).is_some_and(|access| access.spot == spot))
    }

    /// Whether a mark is asked in each round of a loop, and written after it: so do threads that go on until they are told.
    fn is_asked_in_loop(&self, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        outline.events[read.event.index()].in_loop && !outline.events[write.event.index()].in_loop
    }

    fn comes_round(&self, access: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        outline.is_some_and(|outline| outline.events[access.event.index()].in_loop)
    }

    /// Whether the section that reads writes, too, and no wait lets others in: what it read in an earlier round has been taken
    /// out since.
    fn is_swapped(&self, stale: &Stale) -> bool {
        stale.first == stale.second && !self.summary.waits.iter().any(|waiting| waiting.sections.contains(stale.first))
    }

    /// Whether something is put because it was not there, or because it was.
    fn is_registered(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        !write.is_removal
            && !self.is_set(stale.variable)
            && [stale.read, stale.write].into_iter().any(|access| !self.is_away(access))
            && (self.asks_presence(read) || self.is_put_because_absent(stale))
            && self.is_met_at(stale)
    }

    /// Whether it is a set, which has a thing once, however often it is added.
    fn is_set(&self, variable: Variable) -> bool {
        let program = self.whole.program;
        let class = self.type_of(variable.field()).strip_prefix('L').and_then(|name| name.strip_suffix(';'));
        let set = program.names.class("java/util/Set");
        matches!(variable, Variable::Held(_))
            && class.is_some_and(|class| program.is_subtype(program.names.class(class), set))
    }

    /// Whether a variable is up or down.
    pub(super) fn is_mark(&self, variable: Variable) -> bool {
        match variable {
            Variable::Field(field) => self.type_of(field) == "Z",
            Variable::Held(field) => self.type_of(field) == "Ljava/util/concurrent/atomic/AtomicBoolean;",
            Variable::Within(_) => false,
        }
    }

    fn is_number(&self, variable: Variable) -> bool {
        let name = self.type_of(variable.field());
        matches!(name, "I" | "J")
            || name.starts_with("Ljava/util/concurrent/atomic/Atomic")
                && (name.contains("Integer") || name.contains("Long"))
    }

    fn is_atomic_number(&self, variable: Variable) -> bool {
        matches!(variable, Variable::Held(_)) && self.is_number(variable)
    }

    pub(super) fn type_of(&self, field: FieldId) -> &str {
        let program = self.whole.program;
        program.names.text(program.field(field).descriptor)
    }

    /// Whether a method is told what another one has said, and so much more or less: `tank.set(tank.level() + 1)`.
    fn is_told_on(&self, stale: &Stale) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let pc = |access: &Access| outline.events[access.event.index()].pc;
        let [said, told] = [stale.read, stale.write].map(|access| pc(self.access(access)));
        let is_said = |value: Value| body.instruction(value).pc == said && matches!(body.op(value), Op::Call { .. });
        let is_moved = |value: &Value| match *body.op(*value) {
            Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, one, other) => is_said(one) || is_said(other),
            _ => false,
        };
        body.instructions().any(|(_, instruction)| match instruction.op {
            Op::Call { arguments, .. } => instruction.pc == told && body.operands(arguments).iter().any(is_moved),
            _ => false,
        })
    }

    /// Whether a field or an atomic gets back what it had: who does so has it alone, meanwhile.
    fn is_put_back(&self, stale: &Stale, write: &Access) -> bool {
        if write.is_keyed || self.is_away(stale.read) || self.is_away(stale.write) {
            return false;
        }
        let Ok(Some(body)) = self.whole.program.body(self.method) else { return false };
        let is_read = |value: Value| body.instruction(body.without_casts(value)).pc == self.access(stale.read).spot.pc;
        body.instructions().filter(|(_, instruction)| instruction.pc == write.spot.pc).any(|(_, instruction)| {
            match instruction.op {
                Op::Call { arguments, .. } => body.operands(arguments).last().is_some_and(|value| is_read(*value)),
                Op::PutField { value, .. } | Op::PutStatic { value, .. } => is_read(value),
                _ => false,
            }
        })
    }

    /// Whether the write only happens where what was read was nothing: then nothing of that comes back.
    fn is_nothing_there(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = Origin::Event(self.access(stale.read).event);
        outline.events[write.event.index()].control.iter().any(|condition| {
            let condition = &outline.conditions[*condition as usize];
            condition.sources.iter().all(|source| source.origin == read)
                && (outline.is_because_absent(condition, write.event)
                    || outline.is_because_nought(condition, write.event))
        })
    }

    /// Whether a mark is put up because it was down, and something is done after that which others must not do, too. A glance
    /// at a volatile spares the way to a lock, and what is done there may be done twice.
    fn is_put_up(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        let is_glance = matches!(stale.variable, Variable::Field(_)) && self.is_unlocked(self.access(stale.read));
        // Who goes no further where it is up asks in passing.
        let is_passed = comes_from(&write.guards, stale.read) && !comes_from(&write.control, stale.read);
        self.is_mark(stale.variable)
            && !is_glance
            && !is_passed
            && self.moves(write, None) == Some(Move::Up)
            && !self.is_set_at_the_end(stale, write)
            && !self.is_up_already(stale, write)
            && (stale.is_waited()
                || !self.is_unlocked(write)
                || self.of_same_answer(stale, write).any(|(_, event)| self.is_done(event)))
    }

    /// Whether a mark that is asked for here is up where it is put up.
    fn is_up_already(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let read = Origin::Event(self.access(stale.read).event);
        let block = outline.events[write.event.index()].block as usize;
        !self.is_away(stale.read)
            && outline.conditions.iter().any(|condition| {
                condition.sources.iter().all(|source| source.origin == read)
                    && condition.nought.is_some_and(|nought| !outline.reached_by(condition, nought)[block])
            })
    }

    /// Whether an event may do something, and more than to wake those who look again then, or to yield something that nobody
    /// is told of.
    fn is_done(&self, event: &Event) -> bool {
        match &event.action {
            Action::Call { kind, method, arguments } => {
                let (program, calls) = (self.whole.program, &self.whole.calls);
                let does_nothing = |target: &MethodId| {
                    self.whole.outlines().get(*target).is_some_and(|outline| outline.events.is_empty())
                };
                let is_idle = || match calls.targets(program, *kind, *method).known() {
                    [] => false,
                    known => arguments.is_empty() && known.iter().all(does_nothing),
                };
                let model = calls.model(program, *method, method.class);
                model.is_none_or(|model| model.access != model::Access::Read)
                    && !matches!(program.names.text(method.name), "notify" | "notifyAll")
                    && !is_idle()
            }
            Action::Write { .. } => true,
            _ => false,
        }
    }

    /// Whether a container or a number is removed because of what this method has just made of it: the last one has gone out
    /// of it, and another one may come in. Nobody asks what was removed, and what was found is for threads, or changed with a
    /// lock held.
    fn is_left_empty(&self, stale: &Stale, read: &Access, write: &Access) -> bool {
        let is_found = |access: &Access| {
            access.base.start == Start::Result(read.event) && matches!(access.member, Member::State(_))
        };
        let is_more = |access: &Access| {
            operation(self.whole, &access.spot).is_some_and(|name| MORE.iter().any(|more| name.starts_with(more)))
        };
        // Where nobody ever puts anything in, what has run out is over.
        let is_filled = |access: &Access| {
            self.variable(access).is_none_or(|variable| {
                let mut others =
                    self.whole.variables.writers(variable).iter().filter_map(|place| self.access_at(place));
                others.any(|other| is_more(other) || operation(self.whole, &other.spot).is_none())
            })
        };
        let is_change = |access: &Access| {
            access.is_write
                && is_found(access)
                && !is_more(access)
                && is_filled(access)
                && !self.is_of_plain(stale.variable, access)
                && self.may_come_before(access, write)
        };
        let mut asked = write.control.iter().filter_map(|influence| match influence.root {
            Root::Access(asked) => Some(self.access(asked)),
            Root::Parameter(_) => None,
        });
        // Who goes over something has it alone.
        let is_gone_over = |access: &Access| operation(self.whole, &access.spot) == Some("hasNext");
        write.is_removal
            && !self.is_answer_asked(write)
            && asked.any(|access| is_found(access) && !is_gone_over(access))
            && self.summary.accesses.iter().any(is_change)
    }

    /// Whether something that was found in a container is changed with no lock held, and is not for threads, as far as its
    /// class is known here and where it is put there.
    fn is_of_plain(&self, container: Variable, change: &Access) -> bool {
        let is_for_threads = |access: &Access| {
            let called =
                called_at(self.whole, &access.spot).map(|method| self.whole.program.names.text(method.class.0));
            called.is_some_and(|class| class.starts_with("java/util/concurrent/"))
        };
        let is_of_same = |access: &&Access| access.base.start == change.base.start;
        change.held.is_empty()
            && !self.summary.accesses.iter().filter(is_of_same).any(is_for_threads)
            && !self.is_filled_for_threads(container)
    }

    /// Whether it is asked what came of a write.
    fn is_answer_asked(&self, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_it = |source: &Source| source.origin == Origin::Event(write.event);
        outline.conditions.iter().any(|condition| condition.sources.iter().any(is_it))
    }

    /// Whether something is taken out because something is there, and used without a look whether it was still there.
    fn is_taken_if_any(&self, read: &Access, write: &Access) -> bool {
        let is_asked = |name: &str| name == "isEmpty" || name.starts_with("peek") || name.starts_with("first");
        // What is taken until nothing is left is taken at the end, as a rule, when nobody else is there.
        let is_drained = self.comes_round(write) && self.comes_round(read);
        let names = &self.whole.program.names;
        let is_taken = called_at(self.whole, &write.spot).is_some_and(|method| {
            let name = names.text(method.name);
            ["poll", "remove", "pop", "take"].iter().any(|word| name.starts_with(word))
                && names.text(method.descriptor).starts_with("()")
        });
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_looked_at = || {
            outline.conditions.iter().any(|condition| {
                condition.absent.is_some()
                    && condition.sources.iter().any(|source| source.origin == Origin::Event(write.event))
            })
        };
        let is_it = |argument: &Argument| {
            argument.name.start == Start::Result(write.event) || argument.objects.contains(&Object::Event(write.event))
        };
        let is_used = || {
            outline.events.iter().any(|event| match &event.action {
                Action::Call { arguments, .. } | Action::Lambda { arguments, .. } => arguments.iter().any(is_it),
                Action::Read { base, .. } => base.start == Start::Result(write.event),
                // What is kept may be looked at later.
                Action::Write { .. } | Action::Wait(_) => false,
            })
        };
        let is_less = |access: &Access| {
            operation(self.whole, &access.spot).is_none_or(|name| !MORE.iter().any(|more| name.starts_with(more)))
        };
        // Of two who take in one method, one goes on where the other one does not.
        let is_taken_elsewhere = || {
            let writers = self.variable(write).map(|variable| self.whole.variables.writers(variable));
            writers.is_none_or(|writers| {
                let others = writers.iter().filter_map(|place| self.access_at(place));
                let mut others = others.filter(|other| other.spot != write.spot && is_less(other)).peekable();
                others.peek().is_none() || others.any(|other| other.spot.method != write.spot.method)
            })
        };
        is_taken
            && !is_drained
            && is_taken_elsewhere()
            && operation(self.whole, &read.spot).is_some_and(is_asked)
            && !is_looked_at()
            && is_used()
    }
}
