//! Which way an act changes how much there is. A question that was asked to add something goes wrong when others add, and
//! one that was asked to take something when others take; what they do the other way makes it truer. The same where there
//! is one thing or none: what is made because there was none is made twice if others make one, too.

use program::ir::{Arithmetic, Op, Value};
use program::model::State;
use program::outline::{Action, Member, Object, Origin, Source};
use program::summary::{Access, Influence, Root};
use program::thread::At;
use program::{MethodId, Place};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::threads::run_at_once;
use crate::words::operation;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Up,
    Down,
    /// A field that was empty gets something.
    Filled,
}

const UP: [&str; 11] = [
    "add",
    "addAll",
    "addElement",
    "addFirst",
    "addLast",
    "getAndIncrement",
    "incrementAndGet",
    "offer",
    "offerFirst",
    "offerLast",
    "push",
];

const DOWN: [&str; 14] = [
    "clear",
    "decrementAndGet",
    "drainTo",
    "getAndDecrement",
    "poll",
    "pollFirst",
    "pollLast",
    "pop",
    "remove",
    "removeAll",
    "removeFirst",
    "removeLast",
    "take",
    "takeFirst",
];

/// Those that change how many there are by more than one.
const MANY: [&str; 4] = ["addAll", "clear", "drainTo", "removeAll"];

impl Looking<'_> {
    /// Whether a write of a container puts one more into it.
    pub(super) fn adds_one(&self, write: &Access) -> bool {
        self.called_at(write).is_some_and(|name| UP.contains(&name) && !MANY.contains(&name) || name == "put")
    }

    /// Whether a write of a container takes one out of it.
    pub(super) fn takes_one(&self, write: &Access) -> bool {
        self.called_at(write).is_some_and(|name| DOWN.contains(&name) && !MANY.contains(&name))
    }

    /// The way of an act that a question about the whole decides on: how many there are, whether there are any.
    pub(super) fn way(&self, stale: &Stale) -> Option<Way> {
        let is_of_whole = stale.how == Use::Decides
            && stale.variable == stale.written
            && stale.first != stale.second
            && !self.access(stale.read).is_keyed;
        is_of_whole
            .then(|| self.way_of(self.access(stale.write)).or_else(|| self.is_filled(stale).then_some(Way::Filled)))?
    }

    /// Whether a field is written because it was read and found empty.
    pub(super) fn is_filled(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_asked = |condition: &u32| {
            let condition = &outline.conditions[*condition as usize];
            let is_it = |source: &Source| source.origin == Origin::Event(read.event);
            condition.sources.iter().all(is_it) && outline.is_because_absent(condition, write.event)
        };
        let (reading, writing) = (&outline.events[read.event.index()], &outline.events[write.event.index()]);
        matches!(&reading.action, Action::Read { .. })
            && matches!(&writing.action, Action::Write { stored, .. } if !stored.objects.is_empty())
            && writing.control.iter().any(is_asked)
    }

    /// Whether a write of others leaves what was read good enough for what is done with it: it changes the amount in the
    /// other way, or both only move it by some amount, so that nothing gets lost.
    pub(super) fn leaves_right(&self, stale: &Stale, at: At) -> bool {
        let Some(there) = Looking::at(self.whole, at.method) else { return false };
        let write = self.access(stale.write);
        if self.is_done_by_two(write) {
            return false;
        }
        let is_all_right = || !self.takes_all(write) || self.is_enough(stale, write);
        let way = self.way(stale).filter(|way| *way != Way::Filled && is_all_right());
        let is_move = stale.how == Use::Written
            && stale.variable == stale.written
            && !stale.is_waited()
            && self.is_move(write)
            && !self.is_moved_by_old_value(stale, at);
        // `if (found > 0) { book(found); count.addAndGet(-found); }`: just what was seen is taken, and others only add.
        let is_of_seen = stale.how == Use::Decides
            && stale.variable == stale.written
            && !stale.is_waited()
            && write.member == Member::State(State::Value)
            && comes_from(&write.value, stale.read)
            && self.is_move(write);
        // What was found under a key is still there if others only put where there is nothing.
        let is_of_found = stale.how == Use::Decides && self.access(stale.read).is_of_values;
        let is_putting_first =
            |other: &Access| matches!(operation(self.whole, &other.spot), Some("putIfAbsent" | "computeIfAbsent"));
        let is_right = |there: &Looking<'_>, other: &Access| {
            way.is_some_and(|way| self.way_of(other).is_some_and(|other| other != way))
                || is_move && there.is_move(other)
                || is_of_found && is_putting_first(other)
                || is_of_seen && (self.way_of(other) == Some(Way::Up) || other.spot == write.spot)
        };
        // Who gets at it by way of a getter, too.
        let is_wronged = self.whole.variables.writers(stale.variable).iter().any(|place| {
            run_at_once(self.whole, self.method, place.method)
                && Looking::at(self.whole, place.method)
                    .is_none_or(|there| !is_right(&there, there.access(place.access)))
        });
        let mut others = there
            .summary
            .accesses
            .iter()
            .filter(|access| {
                access.event == at.event && access.is_write && self.variable(access) == Some(stale.variable)
            })
            .peekable();
        !is_wronged && others.peek().is_some() && others.all(|other| is_right(&there, other))
    }

    /// Whether two threads may do it at the same time.
    fn is_done_by_two(&self, write: &Access) -> bool {
        let acting = self.whole.calls.hierarchy.resolve_name(self.whole.program, write.spot.method);
        let by_two = |method: MethodId| run_at_once(self.whole, method, method);
        by_two(self.method) || acting.is_none_or(by_two)
    }

    /// Whether somebody else who leads to a write moves the amount by what it was: two who do so take it away twice.
    fn is_moved_by_old_value(&self, stale: &Stale, at: At) -> bool {
        let mut callers = self.whole.calls.callers(at.method).iter().filter(|caller| **caller != self.method);
        callers.any(|caller| {
            Looking::at(self.whole, *caller).is_some_and(|there| {
                let is_old = |write: &Access, influence: &Influence| match influence.root {
                    Root::Access(read) => {
                        let read = there.access(read);
                        self.variable(read) == Some(stale.variable) && read.held.intersection(write.held).is_empty()
                    }
                    Root::Parameter(_) => false,
                };
                let mut writes = there.summary.accesses.iter().filter(|access| access.is_write);
                writes.any(|write| {
                    self.variable(write) == Some(stale.variable) && write.value.iter().any(|one| is_old(write, one))
                })
            })
        })
    }

    /// Whether a field is written from what it is at that time: no section has ended since it was read.
    fn is_of_current(&self, write: &Access) -> bool {
        write.value.iter().any(|influence| match influence.root {
            Root::Access(read) => {
                let read = self.access(read);
                read.member == write.member
                    && read.base.same(&write.base)
                    && !read.held.is_empty()
                    && influence.ended.intersection(read.held).is_empty()
            }
            Root::Parameter(_) => false,
        })
    }

    /// Whether a call takes more than there was when it was asked.
    fn takes_all(&self, write: &Access) -> bool {
        matches!(operation(self.whole, &write.spot), Some("clear" | "removeAll" | "drainTo"))
    }

    /// Whether a number is moved on by some amount from what it is.
    fn is_move(&self, write: &Access) -> bool {
        match write.member {
            Member::Field(_) | Member::Static(_) => {
                self.summary.waits.is_empty() && self.is_step(write) && self.is_of_current(write)
            }
            Member::State(State::Value) => matches!(
                operation(self.whole, &write.spot),
                Some(
                    "addAndGet"
                        | "decrementAndGet"
                        | "getAndAdd"
                        | "getAndDecrement"
                        | "getAndIncrement"
                        | "incrementAndGet"
                )
            ),
            _ => false,
        }
    }

    /// Whether a write changes the amount in the other way.
    pub(super) fn goes_against(&self, place: &Place, way: Way) -> bool {
        if way == Way::Filled {
            return self.is_dropped(place);
        }
        let summary = self.whole.summaries.summary(place.method);
        let write = summary.and_then(|summary| summary.accesses.get(place.access.index()));
        write.and_then(|write| self.way_of(write)).is_some_and(|other| other != way)
    }

    pub(super) fn way_of(&self, write: &Access) -> Option<Way> {
        let method: MethodId = self.whole.calls.hierarchy.resolve_name(self.whole.program, write.spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let event = outline.events.iter().find(|event| event.pc == write.spot.pc)?;
        self.way_by(&event.action).or_else(|| self.way_of_amount(method, write))
    }

    /// The way of a number that is moved by an amount which is never negative.
    fn way_of_amount(&self, method: MethodId, write: &Access) -> Option<Way> {
        let Ok(Some(body)) = self.whole.program.body(method) else { return None };
        let is_field = |value: Value| matches!(body.op(value), Op::GetField { .. } | Op::GetStatic(_));
        let (way, amount) = body.instructions().filter(|(_, instruction)| instruction.pc == write.spot.pc).find_map(
            |(_, instruction)| match instruction.op {
                Op::PutField { value, .. } | Op::PutStatic { value, .. } => match *body.op(value) {
                    Op::Arithmetic(Arithmetic::Add, left, right) if is_field(left) => Some((Way::Up, right)),
                    Op::Arithmetic(Arithmetic::Subtract, left, right) if is_field(left) => Some((Way::Down, right)),
                    _ => None,
                },
                Op::Call { method, arguments, .. } => {
                    match (self.whole.program.names.text(method.name), body.operands(arguments)) {
                        ("addAndGet" | "getAndAdd", [_, amount]) => match *body.op(*amount) {
                            Op::Negate(amount) => Some((Way::Down, amount)),
                            _ => Some((Way::Up, *amount)),
                        },
                        _ => None,
                    }
                }
                _ => None,
            },
        )?;
        self.whole.is_never_negative(method, &body, amount).then_some(way)
    }

    fn way_by(&self, action: &Action) -> Option<Way> {
        let Action::Call { method, arguments, .. } = action else { return None };
        match self.whole.program.names.text(method.name) {
            // An amount that is known.
            "addAndGet" | "getAndAdd" => match arguments.last()?.objects.as_slice() {
                [Object::Int(amount)] if *amount > 0 => Some(Way::Up),
                [Object::Int(amount)] if *amount < 0 => Some(Way::Down),
                _ => None,
            },
            name if UP.contains(&name) => Some(Way::Up),
            name if DOWN.contains(&name) => Some(Way::Down),
            _ => None,
        }
    }
}
