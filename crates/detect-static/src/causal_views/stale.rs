//! Stale values over the dependency graph that reach more than a write: a position worked out from old data or checked
//! against it, what a section gives out and gets back when it is entered again, and what was found and is fetched again.

use program::ir::{Arithmetic, BlockId, Op, ValueType};
use program::model::{State, only_adds};
use program::outline::{Action, EventId, KeyStart, Member, NameStep, Outline};
use program::summary::{Access, AccessId, Root, Summary};
use program::thread::{EntryId, EntryKind};
use program::{FieldId, LockKind, Mark, MethodId, Place, Relation, Variable, Whole, is_by_habit, is_old, locks};
use rayon::prelude::*;

use super::rules::is_known;
use super::there::parted;
use super::views::{Item, Pair, common, known};
use crate::brackets;
use crate::sources::{comes_by_calls, is_asserted};
use crate::stale_values::is_tool;
use crate::threads::{is_made_for_threads, is_printed, is_shared, run_at_once, run_at_once_at};

/// How the old value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// It says where to look.
    Position,
    /// It says that a position is there.
    Bound,
    /// It is written by the section that gave it out.
    Reentered,
    /// It says that there is something, which is then fetched and used.
    There,
    /// It says that something may be done, by a call that asks again and throws if it may not.
    Refused,
}

/// A value that leaves a section and comes to bear in a later one on the same lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stale {
    pub(super) how: How,
    pub(super) read: AccessId,
    pub(super) target: AccessId,
    pub(super) first: usize,
    pub(super) second: usize,
    /// A write that another thread may do in between.
    pub(super) writer: Place,
}

/// Whether too little speaks for a mistake to tell of it unasked, where threads come that nobody sees: a container that locks
/// because old ones all did, in a class that does nothing else for threads, a volatile field, what is caught if it fails, or
/// what callers are told by an exception that they should not have asked for.
pub(super) fn is_weak(whole: &Whole<'_>, method: MethodId, stale: &Stale) -> bool {
    let summary = whole.summaries.summary(method);
    let read = summary.map(|summary| &summary.accesses[stale.read.index()]);
    let variable = read.and_then(|read| Variable::of(whole.program, read));
    // A volatile field that is looked at twice with no lock around.
    let is_glance = || {
        let first = summary.map(|summary| &summary.sections[stale.first]);
        stale.how == How::There
            && matches!(variable, Some(Variable::Field(_)))
            && first.is_some_and(|first| first.kind == LockKind::Own)
    };
    let is_caught = || summary.is_some_and(|summary| is_caught(whole, method, &summary.accesses[stale.target.index()]));
    let is_little = || {
        let accesses =
            summary.map(|summary| [&summary.accesses[stale.read.index()], &summary.accesses[stale.target.index()]]);
        summary
            .zip(accesses)
            .zip(variable)
            .is_some_and(|((summary, accesses), variable)| is_little(whole, method, summary, accesses, variable))
    };
    // An old container that nobody takes a lock of his own for to take something out.
    let is_old = || match variable {
        Some(Variable::Held(field)) => is_old(whole.program, field) && !is_locked_besides(whole, stale.writer),
        _ => false,
    };
    // What is only asked if assertions are on does nothing in a program that works.
    let is_asserted = || match (whole.summaries.outline(method), read) {
        (Some(outline), Some(read)) => is_asserted(whole.program, outline, read.event),
        _ => false,
    };
    // A class that takes no lock and has such a container may be with one thread all the same.
    let is_of_class_for_threads = || run_at_once(whole, method, stale.writer.method);
    (stale.how == How::Refused
        || matches!(variable, Some(Variable::Held(field)) if is_by_habit(whole.program, field))
        || is_glance()
        || is_caught()
        || whole.is_large() && (is_old() || is_asserted() || is_little() || !is_of_class_for_threads()))
        && whole.has_unknown_threads(method)
}

/// Whether a lock other than the container's own is held at a place.
fn is_locked_besides(whole: &Whole<'_>, place: Place) -> bool {
    whole.summaries.summary(place.method).is_some_and(|summary| {
        let access = &summary.accesses[place.access.index()];
        access.held.iter().any(|section| summary.sections[section].spot != access.spot)
    })
}

/// The same in large programs: a tool, two methods of others, or something that may keep others out, of which nothing more
/// is known.
fn is_little(
    whole: &Whole<'_>,
    method: MethodId,
    summary: &Summary,
    [read, target]: [&Access; 2],
    variable: Variable,
) -> bool {
    let program = whole.program;
    let is_away = |access: &Access| access.spot.method != program.method_name(method);
    let is_lock = |section: usize| summary.sections[section].kind != LockKind::Own;
    matches!(variable, Variable::Held(field) if is_tool(program, field))
        || is_away(read) && is_away(target)
        || read.held.intersection(target.held).iter().any(is_lock)
        || !program.annotations_of_method(method).guards().is_empty()
        || brackets::are_between(whole, method, &[read.event, target.event], variable)
}

/// Whether the method catches what comes of it if there is nothing any more, and goes on.
fn is_caught(whole: &Whole<'_>, method: MethodId, access: &Access) -> bool {
    const FAILURES: [&str; 7] = [
        "java/lang/Throwable",
        "java/lang/Exception",
        "java/lang/RuntimeException",
        "java/lang/NullPointerException",
        "java/lang/IndexOutOfBoundsException",
        "java/lang/ArrayIndexOutOfBoundsException",
        "java/util/NoSuchElementException",
    ];
    let (Some(outline), Ok(Some(body))) = (whole.summaries.outline(method), whole.program.body(method)) else {
        return false;
    };
    let block = BlockId::from_index(outline.events[access.event.index()].block as usize);
    let mut handlers = body.block(block).handlers.iter().filter(|handler| {
        // A `finally` throws on what it has caught.
        outline.caught.contains(&(handler.index() as u32))
    });
    handlers.any(|handler| {
        body.instructions_of(*handler).any(|(_, instruction)| match (&instruction.op, instruction.value_type) {
            (Op::Caught, ValueType::Reference(class)) => FAILURES.contains(&whole.program.names.text(class.0)),
            _ => false,
        })
    })
}

/// What flows where, before it is asked who else writes.
pub(super) struct Flow {
    pub(super) how: How,
    pub(super) read: AccessId,
    pub(super) target: AccessId,
    pub(super) first: usize,
    pub(super) second: usize,
}

/// One for each variable of the method.
pub(super) fn stale(whole: &Whole<'_>, method: MethodId) -> Vec<Stale> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    if summary.sections.is_empty() {
        return Vec::new();
    }
    let Some(outline) = whole.summaries.outline(method) else { return Vec::new() };
    let asking = Asking { whole, method, summary, outline };
    let mut found: Vec<(Stale, Variable)> = Vec::new();
    for flow in asking.flows() {
        let read = &summary.accesses[flow.read.index()];
        let Some(variable) = known(whole, method, read) else { continue };
        let target = known(whole, method, &summary.accesses[flow.target.index()]);
        if found.iter().any(|(_, told)| *told == variable)
            || target.is_some_and(|target| is_printed(whole.program, target))
        {
            continue;
        }
        if let Some(writer) = asking.mistake(&flow, read, &summary.accesses[flow.target.index()]) {
            let Flow { how, read, target, first, second } = flow;
            found.push((Stale { how, read, target, first, second, writer }, variable));
        }
    }
    found.into_iter().map(|(stale, _)| stale).collect()
}

/// The methods that may have what stands out, and the fields that it is about, as far as they show it.
pub(super) fn asked_about(whole: &Whole<'_>) -> Vec<(MethodId, FieldId)> {
    let methods: Vec<MethodId> = whole.program.methods().collect();
    let fields = methods.par_iter().flat_map_iter(|method| {
        let summary = whole.summaries.summary(*method).filter(|summary| !summary.sections.is_empty());
        let asking = summary.zip(whole.summaries.outline(*method));
        let asking = asking.map(|(summary, outline)| Asking { whole, method: *method, summary, outline });
        let fields = asking.map(|asking| {
            let variables = asking.flows().filter_map(|flow| {
                let accesses = [flow.read, flow.target].map(|access| &asking.summary.accesses[access.index()]);
                let variable = Variable::of(whole.program, accesses[0])?;
                let is_little = is_little(whole, *method, asking.summary, accesses, variable);
                (!is_little).then_some((*method, variable.field()))
            });
            variables.collect::<Vec<_>>()
        });
        fields.unwrap_or_default()
    });
    fields.collect()
}

pub(super) struct Asking<'a> {
    pub(super) whole: &'a Whole<'a>,
    pub(super) method: MethodId,
    pub(super) summary: &'a Summary,
    pub(super) outline: &'a Outline,
}

impl Asking<'_> {
    fn flows(&self) -> impl Iterator<Item = Flow> {
        self.positions().into_iter().chain(self.reentered()).chain(self.fetched_again()).chain(self.asked_again())
    }

    /// Positions in a later section on the same lock that are worked out from what was read in an earlier one, or reached
    /// because of it.
    fn positions(&self) -> Vec<Flow> {
        let mut found = Vec::new();
        for (index, target) in self.summary.accesses.iter().enumerate() {
            if !is_position(target.member) {
                continue;
            }
            let positions = target.address.iter().map(|influence| (How::Position, influence));
            let bounds = target.control.iter().map(|influence| (How::Bound, influence));
            for (how, influence) in positions.chain(bounds) {
                let Root::Access(read) = influence.root else { continue };
                let Some((first, second)) = parted(self.summary, read, influence.ended, target.held) else { continue };
                if self.summary.accesses[read.index()].event != target.event {
                    found.push(Flow { how, read, target: AccessId(index as u32), first, second });
                }
            }
        }
        found
    }

    /// What a call returns out of a section and writes in one on the same lock when it is called the next time.
    fn reentered(&self) -> Vec<Flow> {
        let mut found = Vec::new();
        for (index, event) in self.outline.events.iter().enumerate() {
            let id = EventId(index as u32);
            let Action::Call { kind, method, arguments } = &event.action else { continue };
            let given_back: Vec<usize> = (0..arguments.len())
                .filter(|position| comes_by_calls(self.outline, &arguments[*position].sources, id))
                .collect();
            if given_back.is_empty() {
                continue;
            }
            for target in self.whole.calls.targets(self.whole.program, *kind, *method).known() {
                let Some(callee) = self.whole.summaries.summary(*target) else { continue };
                let is_given = |write: &Access| {
                    let is_back = |root| matches!(root, Root::Parameter(own) if given_back.contains(&usize::from(own)));
                    write.is_write && write.value.iter().any(|influence| is_back(influence.root))
                };
                let yielded = callee.result.iter().filter_map(|influence| match influence.root {
                    Root::Access(read) => Some(&callee.accesses[read.index()]),
                    Root::Parameter(_) => None,
                });
                for read in yielded {
                    for write in callee.accesses.iter().filter(|write| is_given(write)) {
                        found.extend(self.entered_again(id, read, write));
                    }
                }
            }
        }
        found
    }

    /// A read and a write of a callee in sections on one lock, as this method sees them.
    fn entered_again(&self, call: EventId, read: &Access, write: &Access) -> Option<Flow> {
        let own = |access: &Access| {
            let is_it = |own: &Access| own.event == call && own.spot == access.spot && own.is_write == access.is_write;
            let number = self.summary.accesses.iter().position(is_it)?;
            let sections = &self.summary.sections;
            let section = self.summary.accesses[number].held.iter().find(|held| sections[*held].call == Some(call))?;
            Some((AccessId(number as u32), section))
        };
        let ((read, first), (target, second)) = (own(read)?, own(write)?);
        let (earlier, later) = (&self.summary.sections[first], &self.summary.sections[second]);
        let is_same_lock = earlier.kind == later.kind && earlier.lock.same(&later.lock);
        // By another name it may be another object each time.
        let is_one =
            is_known(&earlier.lock) && !earlier.lock.steps.iter().any(|step| matches!(step, NameStep::Element(_)));
        (is_same_lock && is_one).then_some(Flow { how: How::Reentered, read, target, first, second })
    }

    /// The write that another thread may do in between, if it is a mistake.
    fn mistake(&self, stale: &Flow, read: &Access, target: &Access) -> Option<Place> {
        let item = |access: &Access| Item::known(self.whole, self.method, access);
        let (seen, reached) = (item(read)?, item(target)?);
        let is_position = || self.tells_position(read) && self.takes_position(target);
        let is_wanted = match stale.how {
            How::Position => {
                (is_position()
                    || seen == reached && (self.is_where_found(read, target) || self.is_of_part(read, target)))
                    && !self.is_reserved(stale, &seen, &reached)
            }
            How::Bound => {
                is_position()
                    && (seen == reached || self.is_count_of(read, &seen, target, &reached))
                    && !self.is_reserved(stale, &seen, &reached)
            }
            // An object that is exchanged for another one is handed over.
            How::Reentered => self.tells_position(read),
            How::There => {
                seen == reached && self.is_relied_on(read, target) && !self.is_reserved(stale, &seen, &reached)
            }
            How::Refused => {
                seen == reached && self.is_refused(read, target) && !self.is_reserved(stale, &seen, &reached)
            }
        };
        let is_stale = is_wanted
            && (seen == reached || Pair::of(self.whole, &seen, &reached).is_some())
            && self.is_for_threads(stale, read, &seen)
            && self.belong_together(seen.variable, reached.variable)
            && !self.is_validated(stale, &seen, target)
            && !self.is_covered(stale, read, target);
        let change = || self.change(stale.how, &seen, target);
        is_stale.then(|| change().or_else(|| self.change_elsewhere(stale.how, &seen, read, target))).flatten()
    }

    /// Whether two variables have to do with each other: somebody keeps both in step, or puts another array or container in
    /// the place of the one.
    fn belong_together(&self, seen: Variable, reached: Variable) -> bool {
        let variables = &self.whole.variables;
        let is_replaced = |field: FieldId| {
            let replaced = Variable::Field(field);
            !self.whole.is_large() && seen != replaced && variables.change_together(seen, replaced)
        };
        variables.belong_together(seen, reached)
            || matches!(reached, Variable::Held(field) | Variable::Within(field) if is_replaced(field))
    }

    /// Whether a number says how many places of an array are in use: some section changes both, and somebody makes it smaller.
    fn is_count_of(&self, read: &Access, seen: &Item, target: &Access, reached: &Item) -> bool {
        let mut writers = self.whole.variables.writers(seen.variable).iter();
        matches!(read.member, Member::Field(_))
            && target.member == Member::Elements
            && self.is_given_place(target)
            && self.whole.variables.change_together(seen.variable, reached.variable)
            && writers.any(|writer| self.lowers(writer))
    }

    /// Whether the place in an array is one that the method was given: else it has a place of its own to look at.
    fn is_given_place(&self, target: &Access) -> bool {
        let method = self.whole.program.declared_method(target.spot.method);
        let outline = method.and_then(|method| self.whole.summaries.outline(method));
        let event = outline.and_then(|outline| outline.events.iter().find(|event| event.pc == target.spot.pc));
        let key = event.and_then(|event| event.key);
        method == Some(self.method) || key.is_some_and(|key| matches!(key.start, KeyStart::Parameter(_)))
    }

    /// Whether a write of a number is no step up.
    fn lowers(&self, writer: &Place) -> bool {
        let program = self.whole.program;
        let Some(summary) = self.whole.summaries.summary(writer.method) else { return false };
        let pc = summary.accesses[writer.access.index()].spot.pc;
        let Ok(Some(body)) = program.body(writer.method) else { return false };
        let stored = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::PutField { value, .. } if instruction.pc == pc => Some(value),
            _ => None,
        });
        stored.is_some_and(|stored| !matches!(body.op(stored), Op::Arithmetic(Arithmetic::Add, ..)))
            && run_at_once(self.whole, self.method, writer.method)
    }

    /// What the code does at an access.
    pub(super) fn action(&self, access: &Access) -> Option<&Action> {
        let method = self.whole.program.declared_method(access.spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        outline.events.iter().find(|event| event.pc == access.spot.pc).map(|event| &event.action)
    }

    /// Whether the first section has changed what it reads or what is looked at: it has made a place of its own.
    fn is_reserved(&self, stale: &Flow, seen: &Item, reached: &Item) -> bool {
        let mut inside = self.summary.accesses.iter().filter(|access| access.held.contains(stale.first));
        inside.any(|access| {
            let item = Item::known(self.whole, self.method, access);
            access.is_write && (item.as_ref() == Some(seen) || item.as_ref() == Some(reached))
        })
    }

    /// Whether the lock is there for threads. Old collections and buffers lock whether one wants it or not; that counts
    /// where the class that has them takes locks of its own, and where threads are known that come there.
    fn is_for_threads(&self, stale: &Flow, read: &Access, seen: &Item) -> bool {
        let section = &self.summary.sections[stale.first];
        let is_by_habit = section.kind == LockKind::Monitor && section.spot == read.spot;
        let program = self.whole.program;
        let class = program.class_of_field(seen.variable.field());
        let threads = self.whole.threads();
        let is_known = |entry: &EntryId| threads.entry(*entry).kind != EntryKind::Callers;
        !is_by_habit
            || is_made_for_threads(self.whole, seen.variable)
            || program.is_marked(class, Mark::ThreadSafe)
            || program.methods_of(class).any(|method| program.may_lock(method))
            || threads.of_method(self.method).iter().any(is_known)
    }

    /// A write by another thread; of a collection, one that may make it smaller.
    fn change(&self, how: How, item: &Item, target: &Access) -> Option<Place> {
        let mut writers = self.whole.variables.writers(item.variable).iter().copied();
        let found = writers.find(|writer| self.matters(how, writer, target));
        found.filter(|_| is_shared(self.whole, item.variable))
    }

    /// Whether another thread may do a write, and it makes the old value wrong.
    pub(super) fn matters(&self, how: How, writer: &Place, target: &Access) -> bool {
        let is_mistake = match how {
            How::There => self.takes_away(writer),
            How::Refused => self.makes_refuse(writer, target),
            How::Position | How::Bound | How::Reentered => self.is_change(writer),
        };
        is_mistake && run_at_once_at(self.whole, self.method, writer)
    }

    fn is_change(&self, writer: &Place) -> bool {
        let summary = self.whole.summaries.summary(writer.method);
        let Some(write) = summary.and_then(|summary| summary.accesses.get(writer.access.index())) else { return false };
        let only_adds = match self.action(write) {
            Some(Action::Call { method, .. }) => only_adds(self.whole.program.names.text(method.name)),
            _ => false,
        };
        !only_adds
    }

    /// Whether a fresh read of the same variable in its section decides. In a section that is entered again, the read that
    /// gave the value out is done anew and is as fresh as any.
    fn is_validated(&self, stale: &Flow, seen: &Item, target: &Access) -> bool {
        let is_asked = target.control.iter().any(|influence| {
            let Root::Access(fresh) = influence.root else { return false };
            let access = &self.summary.accesses[fresh.index()];
            // That there still is such a place does not say what stands there.
            let is_enough = || {
                stale.how != How::Position
                    || self.tells_position(&self.summary.accesses[stale.read.index()])
                    || !self.tells_position(access)
            };
            (fresh != stale.read || stale.how == How::Reentered)
                && is_enough()
                && access.held.contains(stale.second)
                && !influence.ended.contains(stale.second)
                && Item::known(self.whole, self.method, access).as_ref() == Some(seen)
        });
        is_asked || self.is_marked_since(stale, seen, target)
    }

    /// Whether something excludes all other writers from the read to the use.
    fn is_covered(&self, stale: &Flow, read: &Access, target: &Access) -> bool {
        let cover = self.whole.cover().among(self.whole.threads());
        let Some(variable) = known(self.whole, self.method, read) else { return false };
        let first = &self.summary.sections[stale.first];
        let by_callers = cover.held_by_callers(self.method);
        if by_callers.iter().any(|held| held.kind == first.kind && held.name.same(&first.lock)) {
            return true;
        }
        let mut around = common(read, target);
        if stale.first == stale.second {
            around = Default::default();
        }
        cover.also_named(self.method, locks(self.summary, around)).iter().chain(&by_callers).any(|held| {
            Relation::of(read, held).is_some_and(|relation| cover.covers(&self.whole.variables, variable, &relation))
        })
    }
}

/// Whether an access goes to a place in something that has places.
fn is_position(member: Member) -> bool {
    matches!(member, Member::Elements | Member::State(State::Contents | State::Chars | State::Elements))
}
