//! The words of findings: what stands for a lock, what a library call is called, and which call would do both at once.

use location::{ClassName, MethodName};
use program::model::State;
use program::outline::{Action, EventId, Member, NameStep, Start};
use program::summary::{Access, AccessId, Root, Spot, Summary, SummarySection};
use program::thread::At;
use program::{
    ClassId, FieldId, HeldLock, LockKind, MethodId, Mode, Place, Program, Readable, Relation, Variable, Whole,
};

use crate::threads::{are_beside, is_of_this};

/// What an object is accessed by, where no lock of a client's is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    /// A field that is volatile.
    Volatile,
    /// A call of an object that sees to itself.
    Call,
}

/// How a section excludes others, if not by a lock that a client could take.
pub(crate) fn alone(section: &SummarySection, access: &Access) -> Option<Alone> {
    match (section.kind, access.member) {
        (LockKind::Own, Member::Field(_) | Member::Static(_)) => Some(Alone::Volatile),
        (LockKind::Own, _) => Some(Alone::Call),
        _ => None,
    }
}

pub(crate) struct Words<'w> {
    pub(crate) whole: &'w Whole<'w>,
    pub(crate) method: MethodId,
    pub(crate) readable: Readable<'w>,
}

impl<'w> Words<'w> {
    pub(crate) fn new(whole: &'w Whole<'w>, method: MethodId) -> Words<'w> {
        Words { whole, method, readable: Readable::new(whole.program, &whole.summaries, method) }
    }

    /// What an access touches; an object that sees to itself is called by its own name.
    pub(crate) fn variable(&self, section: &SummarySection, access: &Access) -> String {
        match (alone(section, access), access.member) {
            (Some(Alone::Call), _) => self.readable.name(&section.lock),
            // One object after the other, none of which has a name here.
            (None, Member::Field(field)) if access.base.is_unknown() => {
                let names = &self.whole.program.names;
                let class = names.text(field.class.0).rsplit(['/', '$']).next().unwrap_or_default();
                format!("{class}.{}", names.text(field.name))
            }
            _ => self.readable.variable(access),
        }
    }

    /// " under `this.lock`", or nothing.
    pub(crate) fn under(&self, section: &SummarySection, access: &Access) -> String {
        match alone(section, access) {
            None => format!(" under {}", self.lock(section)),
            Some(_) => String::new(),
        }
    }

    /// "`this.lock`", or a half of it.
    pub(crate) fn lock(&self, section: &SummarySection) -> String {
        if section.lock.is_unknown() {
            return "a lock".to_owned();
        }
        let name = self.readable.name(&section.lock);
        match (section.kind, section.mode) {
            (LockKind::Lock | LockKind::Stamped, Mode::Shared) => format!("`{name}` (read)"),
            _ => format!("`{name}`"),
        }
    }

    /// ` by `firstEntry()``, for a call of the library.
    pub(crate) fn by(&self, access: &Access) -> String {
        operation(self.whole, &access.spot).map(|name| format!(" by `{name}()`")).unwrap_or_default()
    }

    /// ", in `DeckPlan.freeMetres`", where that is not this method.
    pub(crate) fn inside(&self, access: &Access) -> String {
        let program = self.whole.program;
        // What an accessor touches is touched by who calls it, to whoever wrote that.
        let caller =
            program.accessor(access.spot.method).and_then(|accessor| self.whole.calls.callers(accessor).first());
        let method = caller.map_or(access.spot.method, |caller| program.method_name(*caller));
        if method == program.method_name(self.method) {
            return String::new();
        }
        format!(", in {}", short(program, method))
    }

    /// What another thread holds while it writes: the same lock as this section, another one, or none.
    pub(crate) fn theirs(&self, section: &SummarySection, own: &Access, place: &Place) -> String {
        let Some(summary) = self.whole.summaries.summary(place.method) else { return String::new() };
        let Some(access) = summary.accesses.get(place.access.index()) else { return String::new() };
        let held =
            |section: &SummarySection| HeldLock { name: section.lock.clone(), kind: section.kind, mode: section.mode };
        let ours = Relation::between(&own.base, &held(section));
        let theirs: Vec<&SummarySection> = access
            .held
            .iter()
            .map(|section| &summary.sections[section])
            .filter(|section| section.kind != LockKind::Own)
            .collect();
        let is_same = |their: &&SummarySection| {
            let their = Relation::between(&access.base, &held(their));
            ours.as_ref().zip(their.as_ref()).is_some_and(|(one, other)| one.is_same_lock(other))
        };
        if section.kind == LockKind::Own {
            return self.by(access);
        }
        match theirs.iter().any(is_same) {
            true => " under the same lock".to_owned(),
            false if !theirs.is_empty() => " under another lock".to_owned(),
            false => String::new(),
        }
    }

    /// The field that holds the object of a lock, or the container that has it.
    fn lock_field(&self, section: &SummarySection) -> Option<FieldId> {
        let last = section.lock.steps.iter().rfind(|step| **step != NameStep::Some);
        match (last, section.lock.start) {
            (Some(NameStep::Field(field)), _) => self.whole.program.resolve_field(*field),
            (None, Start::Static(field)) => self.whole.program.resolve_field(field),
            _ => None,
        }
    }

    /// Whether code of this method can take a lock: not so a private field of another class.
    fn is_at_hand(&self, section: &SummarySection) -> bool {
        let program = self.whole.program;
        self.lock_field(section).is_none_or(|field| {
            !program.field(field).access.is_private() || self.is_of_method(program.class_of_field(field))
        })
    }

    /// Whether a class is this method's, or one is inside the other, or both are inside a third.
    fn is_of_method(&self, class: ClassId) -> bool {
        let program = self.whole.program;
        are_nested(program, class, program.class_of(self.method))
    }

    /// The class, other than this method's, that does both: there they can be one method.
    fn doer(&self, first: &Access, second: &Access) -> Option<ClassId> {
        let program = self.whole.program;
        let class = program.class(first.spot.method.class)?;
        let is_another = program.is_checked(class) && !self.is_of_method(class);
        (is_another && first.spot.method.class == second.spot.method.class).then_some(class)
    }

    /// What to do so that nobody gets in from one access to another one, each with the number of its step.
    pub(crate) fn hold(
        &self,
        section: &SummarySection,
        (from, first): (u32, &Access),
        (to, second): (u32, &Access),
        writes: bool,
    ) -> String {
        let program = self.whole.program;
        let together = |class: ClassId| {
            let (name, is_anonymous) = class_in_source(program, program.header(class).name);
            let owner = if is_anonymous { "the anonymous class of " } else { "" };
            format!("add a method to {owner}`{name}` that does both, ({from}) and ({to}), under its lock")
        };
        let doer = self.doer(first, second);
        if !self.is_at_hand(section)
            && let Some(keeper) = doer.or_else(|| self.lock_field(section).map(|field| program.class_of_field(field)))
        {
            return together(keeper);
        }
        let half = match (section.kind, section.mode) {
            (LockKind::Lock | LockKind::Stamped, Mode::Shared) if writes => "the write half of ",
            (LockKind::Lock | LockKind::Stamped, Mode::Shared) => "the read half of ",
            _ => "",
        };
        let hold = format!("hold {half}`{}` from ({from}) to ({to})", self.readable.name(&section.lock));
        match doer {
            Some(class) => format!("{hold}, or {}", together(class)),
            None => hold,
        }
    }

    /// Where a section of this method ends before an event, as a line.
    pub(crate) fn end_line(&self, section: &SummarySection, event: EventId) -> Option<u32> {
        let outline = self.whole.summaries.outline(self.method)?;
        let own =
            outline.sections.iter().find(|own| own.pc == section.spot.pc && own.is_method == section.is_method)?;
        outline.end_before(own, event)
    }

    /// Whether another thread can do a write while this method is at an event.
    pub(crate) fn may_interfere(&self, event: EventId, write: &Place) -> bool {
        let threads = self.whole.threads();
        let outlines = self.whole.outlines();
        let Some(summary) = self.whole.summaries.summary(write.method) else { return false };
        let there = At { method: write.method, event: summary.accesses[write.access.index()].event };
        let here = At { method: self.method, event };
        threads.of_method(self.method).iter().any(|process| {
            threads.of_method(write.method).iter().any(|other| {
                threads.overlap(*process, *other)
                    && (process == other
                        || threads.ordered(outlines, *process, here, *other).is_none()
                            && threads.ordered(outlines, *other, there, *process).is_none()
                            && !self.whole.is_latched(*process, here, *other, there)
                            && !self.whole.is_latched(*other, there, *process, here))
            })
        })
    }

    /// The write by another thread that breaks what was read: best one that undoes what a check found, that is one like
    /// the write that the check allows.
    pub(crate) fn interference<'p>(&self, write: &Access, writers: &'p [Place], is_check: bool) -> Option<&'p Place> {
        let access = |place: &Place| {
            self.whole.summaries.summary(place.method).and_then(|summary| summary.accesses.get(place.access.index()))
        };
        let is_own = |place: &&Place| access(place).is_some_and(|access| access.spot == write.spot);
        let done = operation(self.whole, &write.spot);
        let is_like = |place: &&Place| {
            access(place).is_some_and(|access| {
                done.is_some() && operation(self.whole, &access.spot).map(kind_of) == done.map(kind_of)
            })
        };
        let is_beside = |place: &Place| {
            let is_own = |access: &Access| {
                Variable::of(self.whole.program, access).is_some_and(|variable| is_of_this(&access.base, variable))
            };
            is_own(write)
                && access(place).is_some_and(is_own)
                && are_beside(self.whole.program, self.method, place.method)
        };
        let possible: Vec<&Place> =
            writers.iter().filter(|place| !is_beside(place) && self.may_interfere(write.event, place)).collect();
        let mut found = None;
        if is_check {
            let alike = possible.iter().copied();
            found = alike.clone().find(|place| is_like(place) && !is_own(place)).or_else(|| alike.clone().find(is_own));
        }
        found
            .or_else(|| possible.iter().copied().find(|place| !is_own(place)))
            .or_else(|| possible.first().copied())
            .or_else(|| writers.iter().find(|place| !is_own(place)))
            .or_else(|| writers.first())
    }
}

/// The name of the library's method that is called at a spot.
pub(crate) fn operation<'w>(whole: &'w Whole<'w>, spot: &Spot) -> Option<&'w str> {
    called_at(whole, spot).map(|method| whole.program.names.text(method.name))
}

/// The method that is called at a place.
pub(crate) fn called_at(whole: &Whole<'_>, spot: &Spot) -> Option<MethodName> {
    let method = whole.calls.hierarchy.resolve_name(whole.program, spot.method)?;
    let outline = whole.summaries.outline(method)?;
    outline.events.iter().filter(|event| event.pc == spot.pc).find_map(|event| match &event.action {
        Action::Call { method, .. } => Some(*method),
        _ => None,
    })
}

/// Whether a call puts something in, takes something out, or sets.
fn kind_of(operation: &str) -> u8 {
    let starts = |words: &[&str]| words.iter().any(|word| operation.starts_with(word));
    if starts(&["remove", "poll", "take", "pop", "clear", "drain", "decrement"]) {
        1
    } else if starts(&["put", "add", "offer", "push", "compute", "merge", "increment"]) {
        2
    } else {
        3
    }
}

/// Whether two classes are one, or one is inside the other, or both are inside a third: then they share private members.
pub(crate) fn are_nested(program: &Program, one: ClassId, other: ClassId) -> bool {
    let outermost = |class| {
        let name = program.names.text(program.header(class).name.0);
        name.split('$').next().unwrap_or(name)
    };
    outermost(one) == outermost(other)
}

/// "`Crew.run`", or "a lambda of `Crew.run`"; an accessor is called like what it calls.
pub(crate) fn short(program: &Program, method: MethodName) -> String {
    let method = program.accessed(method).unwrap_or(method);
    let (class, is_anonymous) = class_in_source(program, method.class);
    let name = program.names.text(method.name);
    match (location::around_lambda(name), is_anonymous) {
        (Some(""), false) => format!("a lambda of `{class}`"),
        (Some(""), true) => format!("a lambda of an anonymous class of `{class}`"),
        (Some(around), false) => format!("a lambda of `{class}.{around}`"),
        (Some(around), true) => format!("a lambda of `{around}` of an anonymous class of `{class}`"),
        (None, false) => format!("`{class}.{name}`"),
        (None, true) => format!("`{name}` of an anonymous class of `{class}`"),
    }
}

/// A class as its source calls it, without the package, and whether it is one without a name in that.
pub(crate) fn class_in_source(program: &Program, class: ClassName) -> (String, bool) {
    let class = program.names.readable_class(class);
    location::class_in_source(class.rsplit('.').next().unwrap_or(&class))
}

/// What a decision asks about the answer of a container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Whether there was something; what is done is done because there was nothing.
    Absence,
    /// Whether there was something, and no more.
    Presence,
    /// What it was.
    Value,
}

/// One operation in place of a look and an act on an object that sees to itself.
pub(crate) fn at_once(
    whole: &Whole<'_>,
    object: &str,
    summary: &Summary,
    read: AccessId,
    write: &Access,
    asked: Asked,
) -> String {
    let is_written = write.value.iter().any(|influence| influence.root == Root::Access(read));
    let read = &summary.accesses[read.index()];
    let (Some(look), Some(act)) = (operation(whole, &read.spot), operation(whole, &write.spot)) else {
        return format!("do both in one operation of `{object}`, or guard all uses by a lock");
    };
    // A number that is kept in several pieces can be asked or changed, and not both.
    let is_number = write.member == Member::State(State::Value);
    if is_number && (look == "sum" || matches!(act, "add" | "increment" | "decrement" | "reset")) {
        return format!("guard all uses of `{object}` by a lock, or take an atomic number with `updateAndGet`");
    }
    if is_number {
        return format!("do both in one step, by `updateAndGet` or a loop with `compareAndSet` on `{object}`");
    }
    let is_value = asked == Asked::Value;
    let instead = match (look, act) {
        ("firstEntry" | "firstKey", "remove") => "`pollFirstEntry`",
        ("lastEntry" | "lastKey", "remove") => "`pollLastEntry`",
        ("peek" | "element" | "peekFirst", "remove" | "poll" | "take" | "pop" | "pollFirst") if is_value => {
            "`remove` of the element that was looked at, and go by its answer"
        }
        ("peek" | "element" | "peekFirst" | "isEmpty" | "size", "remove" | "poll" | "take" | "pop" | "pollFirst") => {
            "`poll`, which tells whether there was something"
        }
        ("remainingCapacity" | "size", "add" | "put" | "offer" | "addLast" | "offerLast") => {
            "`offer`, which tells whether there was room"
        }
        ("contains" | "indexOf", "add") => {
            "one that adds if absent, as `addIfAbsent` or a set's `add`, and go by its answer"
        }
        ("containsKey" | "get" | "getOrDefault", "put") if is_written => "`merge` or `compute`",
        ("get" | "getOrDefault", "put") if is_value => "`replace(key, old, new)`, going by its answer, or `compute`",
        ("containsKey" | "get" | "getOrDefault", "put") if asked == Asked::Presence => "`computeIfPresent`",
        ("containsKey" | "get" | "getOrDefault", "put") => "`putIfAbsent` or `computeIfAbsent`",
        ("containsKey" | "get" | "getOrDefault" | "getValue", "remove") => "`remove(key, value)` or `computeIfPresent`",
        ("containsKey" | "get", "replace") => "`replace(key, old, new)`",
        _ => return format!("do both in one operation of `{object}`, or guard all uses by a lock"),
    };
    format!("do both in one operation of `{object}`: {instead}; or guard all uses by a lock")
}
