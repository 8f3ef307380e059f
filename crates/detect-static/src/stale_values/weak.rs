//! What is not told unless it is asked for: nothing shows that two threads ever use the same object at once.
//!
//! Where all threads are known, those that meet at a variable are known, too. Code that is called from outside is called
//! by threads that nobody sees, and most objects of a server are with one of them at a time: a connection, a request.
//! There the code itself must show that an object is shared.

use location::MethodName;
use program::ir::CallKind;
use program::outline::{Action, Argument, Member, Object};
use program::sharing::Part;
use program::summary::{Access, Influence, Root};
use program::{ClassId, FieldId, LockKind, MethodId, Mode, Variable};

use super::contention::is_by_habit;
use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::skew::is_compared;
use crate::words::operation;

/// Superclasses further up than this are not asked.
const MAX_SUPERCLASSES: usize = 20;

impl Looking<'_> {
    /// Whether too little speaks for a mistake to tell of it unasked.
    pub(super) fn is_weak(&self, stale: &Stale, is_skewed: bool) -> bool {
        self.whole.threads().is_from_outside(self.method)
            && (self.is_beside(stale, is_skewed)
                || self.is_lone_volatile(stale, is_skewed)
                || self.is_lone_number(stale)
                || self.is_set_late(stale)
                || self.is_old_container(stale)
                || self.is_far(stale)
                || self.is_shared_act(stale)
                || self.is_of_other_key(stale)
                || self.is_removed_if_there(stale)
                || self.is_ended(stale)
                || self.is_covered(stale, &self.cover().by_known_callers()))
    }

    /// Whether one variable is asked and another one written: some section that touches both is little to say that they
    /// belong together, unless it changes both, one class has them, and the question is for a flag: whether something is
    /// closed, or over. What is asked before a wait is waited for, and
    /// variables that two methods check crosswise are not there by chance, if one object has both or both are asked for
    /// the same key. A glance at a volatile, with no lock around it, ties the two even less.
    fn is_beside(&self, stale: &Stale, is_skewed: bool) -> bool {
        let (variable, written) = (stale.variable, stale.written);
        let is_crosswise = is_skewed
            && !self.is_handled(variable.field())
            && (self.are_of_one_object(variable, written)
                || is_of_one_key(self.access(stale.read), self.access(stale.write)));
        let is_of_container = matches!(variable, Variable::Held(_) | Variable::Within(_));
        stale.first != stale.second
            && variable != written
            && !is_crosswise
            && (is_of_container
                || !self.are_of_one_class(variable, written)
                || self.is_glance(stale)
                || stale.how == Use::Decides
                    && !(self.is_flag(variable) && self.whole.variables.change_together(variable, written)))
    }

    /// Whether all that a container has is dealt with before it is cleared, and goes nowhere else: what an object does when
    /// it comes to its end. The same of one that is gone over with nothing held.
    fn is_ended(&self, stale: &Stale) -> bool {
        let is_moved = |access: &Access| {
            access.is_write && comes_from(&access.value, stale.read) && self.variable(access) != Some(stale.variable)
        };
        stale.how == Use::Written
            && stale.variable == stale.written
            && operation(self.whole, &self.access(stale.write).spot) == Some("clear")
            && (self.access(stale.read).held.is_empty()
                || !comes_from(&self.summary.result, stale.read) && !self.summary.accesses.iter().any(is_moved))
    }

    /// Whether whoever puts up a flag changes what is written with it, and the act is none that puts it up itself.
    pub(super) fn is_ended_by(&self, flag: Variable, act: &Access) -> bool {
        let puts_up =
            |access: &Access| access.is_write && access.event == act.event && self.variable(access) == Some(flag);
        self.is_flag(flag)
            && self.variable(act).is_some_and(|written| self.whole.variables.change_together(flag, written))
            && !self.summary.accesses.iter().any(puts_up)
    }

    fn is_flag(&self, variable: Variable) -> bool {
        let program = self.whole.program;
        matches!(variable, Variable::Field(field) if program.names.text(program.field(field).descriptor) == "Z")
    }

    fn are_of_one_class(&self, one: Variable, other: Variable) -> bool {
        let owner = |variable: Variable| self.whole.program.class_of_field(variable.field());
        owner(one) == owner(other)
    }

    /// Whether an object may have both fields: one of its class, and one of a superclass.
    fn are_of_one_object(&self, one: Variable, other: Variable) -> bool {
        let owner = |variable: Variable| self.whole.program.class_of_field(variable.field());
        let extends = |mut class: ClassId, wanted: ClassId| {
            for _ in 0..MAX_SUPERCLASSES {
                if class == wanted {
                    return true;
                }
                let parent = self.whole.program.header(class).super_class;
                let Some(parent) = parent.and_then(|parent| self.whole.program.class(parent)) else { break };
                class = parent;
            }
            false
        };
        extends(owner(one), owner(other)) || extends(owner(other), owner(one))
    }

    /// Whether a volatile field of an object is read with no lock around the read.
    fn is_glance(&self, stale: &Stale) -> bool {
        let read = self.access(stale.read);
        matches!(read.member, Member::Field(_)) && self.is_unlocked(read)
    }

    fn is_unlocked(&self, access: &Access) -> bool {
        access.held.iter().all(|section| self.summary.sections[section].kind == LockKind::Own)
    }

    /// Whether what is asked or what is done is more than two calls away: on the way there it is asked and done for many
    /// reasons.
    fn is_far(&self, stale: &Stale) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        let is_away = |access: &Access| {
            let event = outline.and_then(|outline| outline.events.get(access.event.index()));
            match event.map(|event| &event.action) {
                Some(Action::Call { kind, method, arguments }) => {
                    self.is_away(*kind, *method, access.spot.method) && !self.is_given(arguments, access.spot.method)
                }
                _ => false,
            }
        };
        stale.how == Use::Decides && [stale.read, stale.write].into_iter().any(|access| is_away(self.access(access)))
    }

    /// Whether one of the arguments is a function that this method makes of a method, or with a call of it.
    fn is_given(&self, arguments: &[Argument], wanted: MethodName) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_it = |method: &MethodId| program.method_name(*method) == wanted;
        arguments.iter().flat_map(|argument| &argument.objects).any(|object| {
            let Object::Event(made) = object else { return false };
            let Action::Lambda { method, .. } = &outline.events[made.index()].action else { return false };
            let targets = calls.lambda_targets(program, *method);
            targets.known().iter().any(|target| is_it(target) || calls.callees(*target).iter().any(is_it))
        })
    }

    /// Whether a call leads to a method only over more than one other. What a call of the library does is done here, and
    /// functions that it is given are where they are written.
    fn is_away(&self, kind: CallKind, called: MethodName, wanted: MethodName) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let is_it = |method: &MethodId| program.method_name(*method) == wanted;
        let targets = calls.targets(program, kind, called);
        wanted != program.method_name(self.method)
            && targets.known().iter().any(|target| self.whole.summaries.outline(*target).is_some())
            && !targets.known().iter().any(|target| is_it(target) || calls.callees(*target).iter().any(is_it))
    }

    /// Whether the write is under a lock that others can hold at the same time, and under no other but the container's own:
    /// something else guards what is written.
    fn is_shared_act(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        let second = &self.summary.sections[stale.second];
        let is_shared = |section: usize| self.summary.sections[section].mode == Mode::Shared;
        stale.first != stale.second
            && (second.mode == Mode::Shared || second.kind == LockKind::Own && write.held.iter().any(is_shared))
    }

    /// Whether one key was asked for, and something is done under another one: the one is there or not, whatever becomes
    /// of the other.
    fn is_of_other_key(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let field = |influence: &Influence| match influence.root {
            Root::Access(read) => self.shared(self.access(read)),
            Root::Parameter(_) => None,
        };
        // What comes from an object that was made here may be what was put into it here.
        let is_traced = |one: &Influence| matches!(one.root, Root::Parameter(_)) || field(one).is_some();
        let is_common = |one: &Influence| {
            read.address
                .iter()
                .any(|other| other.root == one.root || field(one).is_some() && field(one) == field(other))
        };
        stale.how == Use::Decides
            && stale.variable == stale.written
            && read.is_keyed
            && write.is_keyed
            && !read.address.is_empty()
            && !write.address.is_empty()
            && read.address.iter().chain(&write.address).all(is_traced)
            && !comes_from(&write.address, stale.read)
            && !write.address.iter().any(is_common)
    }

    /// Whether a key is removed because it was found to be there: if it has gone meanwhile, nothing happens. What else is
    /// done because of the answer may be done twice.
    fn is_removed_if_there(&self, stale: &Stale) -> bool {
        stale.how == Use::Decides
            && stale.variable == stale.written
            && self.access(stale.write).is_removal
            && self.asks_presence(self.access(stale.read))
    }

    fn is_handled(&self, field: FieldId) -> bool {
        self.whole.summaries.holdings.is_handled(field)
    }

    /// Whether it is the contents of a container that would lock if nobody shared it, too.
    fn is_old_container(&self, stale: &Stale) -> bool {
        matches!(stale.variable, Variable::Held(field) if is_by_habit(self.whole.program, field))
    }

    /// Whether it is a volatile field that hardly anybody ever writes under a lock, or that is asked and written here with
    /// none around: it may be volatile for being handed from thread to thread, or for being seen, and its object with one
    /// thread at a time. One that is compared and set is part of an algorithm without locks, which looks again where it
    /// must. Two fields that two methods check crosswise are not there by chance, nor is the largest or smallest value.
    fn is_lone_volatile(&self, stale: &Stale, is_skewed: bool) -> bool {
        let read = self.access(stale.read);
        let Variable::Field(field) = stale.variable else { return false };
        self.summary.sections[stale.first].kind == LockKind::Own
            && (!is_skewed || self.is_handled(field))
            && matches!(read.member, Member::Field(_))
            && !self.whole.program.field(field).access.is_static()
            && (!self.is_written_under_lock(field) || self.is_done_without_lock(stale))
    }

    /// The same of an atomic number of an object that is asked and then set, whatever it has become. To count it on because
    /// of the answer is another matter.
    fn is_lone_number(&self, stale: &Stale) -> bool {
        let program = self.whole.program;
        let declared = program.field(stale.variable.field());
        let is_number = matches!(
            program.names.text(declared.descriptor),
            "Ljava/util/concurrent/atomic/AtomicInteger;" | "Ljava/util/concurrent/atomic/AtomicLong;"
        );
        let done = operation(self.whole, &self.access(stale.write).spot);
        is_number
            && !declared.access.is_static()
            && matches!(done, Some("set" | "lazySet" | "setRelease" | "setPlain" | "setOpaque"))
            && self.is_done_without_lock(stale)
    }

    /// Whether an atomic is set in a way that others may see late, with no lock around, wherever it is set: so do rings out of
    /// which one thread alone takes what others put in.
    fn is_set_late(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        let is_late = |access: &Access| {
            matches!(operation(self.whole, &access.spot), Some("lazySet" | "setRelease" | "setPlain" | "setOpaque"))
        };
        stale.variable == stale.written
            && is_late(write)
            && self.is_unlocked(self.access(stale.read))
            && self.is_unlocked(write)
            && self.whole.variables.writers(stale.variable).iter().all(|place| {
                let summary = self.whole.summaries.summary(place.method);
                summary.is_some_and(|summary| is_late(&summary.accesses[place.access.index()]))
            })
    }

    /// Whether a field is looked at, and written because of that, with no lock around either; other than to keep the
    /// largest or the smallest of what was offered.
    fn is_done_without_lock(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && self.is_unlocked(self.access(stale.read))
            && self.is_unlocked(write)
            && !is_compared(stale.read, write)
    }

    /// Whether at least one in four writes of a field is under one and the same lock, or ought to be.
    fn is_written_under_lock(&self, field: FieldId) -> bool {
        let guards = self.whole.guards(field, Part::Itself);
        let is_marked = !self.whole.program.annotations_of_field(field).guards().is_empty();
        is_marked || guards.locks.iter().any(|guarding| guarding.writes > 0 && guarding.writes * 4 >= guards.writes)
    }
}

/// Whether two accesses touch what stands under the very same key.
fn is_of_one_key(one: &Access, other: &Access) -> bool {
    one.keys.iter().any(|key| other.keys.contains(key))
}
