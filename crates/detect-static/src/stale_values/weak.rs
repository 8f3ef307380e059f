//! What is not told unless it is asked for: nothing shows that two threads ever use the same object at once.
//!
//! Where all threads are known, those that meet at a variable are known, too. Code that is called from outside is called
//! by threads that nobody sees, and most objects of a server are with one of them at a time: a connection, a request.
//! There the code itself must show that an object is shared.

use location::MethodName;
use program::outline::{Action, Argument, Event, Member, Object, Origin};
use program::sharing::Part;
use program::summary::{Access, AccessId, Influence, Root, Spot};
use program::{ClassId, FieldId, LockKind, MethodId, Mode, Variable, is_by_habit};

use super::contention::is_tool;
use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use super::skew::is_compared;
use crate::words::{called_at, operation};

/// Superclasses further up than this are not asked.
const MAX_SUPERCLASSES: usize = 20;

impl Looking<'_> {
    /// Whether too little speaks for a mistake to tell of it unasked.
    pub(super) fn is_weak(&self, stale: &Stale, is_skewed: bool) -> bool {
        self.whole.has_unknown_threads(self.method)
            && (stale.how == Use::Iterated
                || self.is_beside(stale, is_skewed)
                || self.is_made_room(stale)
                || self.is_lone_volatile(stale, is_skewed)
                || self.is_lone_atomic(stale)
                || self.is_set_late(stale)
                || self.is_old_container(stale)
                || self.is_far(stale)
                || self.is_memory_of_key(stale)
                || self.is_of_one_taker(stale)
                || self.is_shared_act(stale)
                || self.is_of_other_key(stale)
                || self.is_removed_if_there(stale)
                || self.is_ended(stale)
                || self.whole.is_large() && (!self.is_telling(stale) || self.has_little_behind(stale))
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
        let class = self.whole.program.method_name(self.method).class;
        let is_of_other = |access: AccessId| self.access(access).spot.method.class != class;
        let is_away = || stale.how == Use::Written && (is_of_other(stale.read) || is_of_other(stale.write));
        stale.first != stale.second
            && variable != written
            && !is_crosswise
            && (is_of_container
                || is_away()
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

    /// Whether a volatile field is read with no lock around the read.
    fn is_glance(&self, stale: &Stale) -> bool {
        let read = self.access(stale.read);
        matches!(read.member, Member::Field(_) | Member::Static(_)) && self.is_unlocked(read)
    }

    /// Whether one lock is held over both: it keeps out those that go by it, and that somebody writes without it is another
    /// story.
    pub(super) fn is_under_one_lock(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let is_lock = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        read.held.intersection(write.held).iter().any(is_lock)
    }

    pub(super) fn is_unlocked(&self, access: &Access) -> bool {
        access.held.iter().all(|section| self.summary.sections[section].kind == LockKind::Own)
    }

    /// Whether what is asked or what is done is more than two calls away, or, where no lock but the variable's own is taken,
    /// in another method of the program: that is called for many reasons. To ask an object and to tell it what comes of the
    /// answer is one step, though, if it is told what it said, or asked whether something is there.
    fn is_far(&self, stale: &Stale) -> bool {
        let is_locked = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        // What says where to write is part of what is written, as far as flows tell.
        let write = self.access(stale.write);
        let is_told_back = comes_from(&write.value, stale.read) && !comes_from(&write.address, stale.read);
        let is_one_step = || {
            stale.variable == stale.written
                && self.is_away(stale.read)
                && self.is_away(stale.write)
                && (is_told_back || self.asks_presence(self.access(stale.read)))
        };
        let is_far = |access: AccessId| match is_locked(stale.first) && is_locked(stale.second) {
            true => stale.how == Use::Decides && self.is_far_away(access),
            false => self.is_away(access),
        };
        [stale.read, stale.write].into_iter().any(|access| is_far(access) && !self.is_of_function(access))
            && !is_one_step()
    }

    /// Whether a call leads to an access only over more than one other method.
    pub(super) fn is_far_away(&self, access: AccessId) -> bool {
        let (program, calls, access) = (self.whole.program, &self.whole.calls, self.access(access));
        let outline = self.whole.summaries.outline(self.method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        let Some(Action::Call { kind, method, .. }) = event.map(|event| &event.action) else { return false };
        let is_it = |method: &MethodId| program.method_name(*method) == access.spot.method;
        let targets = calls.targets(program, *kind, *method);
        access.spot.method != program.method_name(self.method)
            && targets.known().iter().any(|target| self.whole.summaries.outline(*target).is_some())
            && !targets.known().iter().any(|target| is_it(target) || calls.callees(*target).iter().any(is_it))
    }

    /// Whether an access is in a function that this method makes and gives away.
    fn is_of_function(&self, access: AccessId) -> bool {
        let access = self.access(access);
        let outline = self.whole.summaries.outline(self.method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        match event.map(|event| &event.action) {
            Some(Action::Call { arguments, .. }) => self.is_given(arguments, access.spot.method),
            _ => false,
        }
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

    /// Whether an access is in another method of the program. What a call of the library does is done here.
    pub(super) fn is_away(&self, access: AccessId) -> bool {
        self.access(access).spot.method != self.whole.program.method_name(self.method)
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
        matches!(stale.variable, Variable::Held(field) if is_by_habit(self.whole.program, field)
            || self.whole.is_large() && is_tool(self.whole.program, field) && !self.is_locked_around(stale))
    }

    /// Whether it is a volatile field that is asked before it is written, or that hardly anybody ever writes under a lock: it
    /// may be volatile for being handed from thread to thread, or for being seen, and its object with one thread at a time.
    /// One that is compared and set is part of an algorithm without locks, which looks again where it must. Two fields that
    /// two methods check crosswise are not there by chance, nor is the largest or smallest value.
    fn is_lone_volatile(&self, stale: &Stale, is_skewed: bool) -> bool {
        let read = self.access(stale.read);
        let Variable::Field(field) = stale.variable else { return false };
        let write = self.access(stale.write);
        // Who locks for the write alone means others, unless all that the write does is to take back what is there.
        let is_meant = || {
            let is_told = write.control.iter().any(|influence| matches!(influence.root, Root::Parameter(_)));
            !self.is_unlocked(write) && (is_told || !self.takes_back(write))
        };
        let is_asked = || {
            stale.how == Use::Decides
                && (self.is_under_one_lock(stale) || !is_compared(stale.read, write) && !is_meant())
        };
        let is_of_object = !self.whole.program.field(field).access.is_static();
        self.summary.sections[stale.first].kind == LockKind::Own
            && (!is_skewed || self.is_handled(field))
            && matches!(read.member, Member::Field(_) | Member::Static(_))
            && (is_asked() || is_of_object && !self.is_written_under_lock(field))
    }

    /// The same of an atomic of an object that is asked and then set, whatever it has become, and of what is completed or
    /// counted down once: a number, or what somebody compares and sets, or what is set at the end of what is done. To count
    /// it on because of the answer is another matter, and so is to set it before something is done that others must not do.
    fn is_lone_atomic(&self, stale: &Stale) -> bool {
        let program = self.whole.program;
        let declared = program.field(stale.variable.field());
        let is_number = matches!(
            program.names.text(declared.descriptor),
            "Ljava/util/concurrent/atomic/AtomicInteger;" | "Ljava/util/concurrent/atomic/AtomicLong;"
        );
        let write = self.access(stale.write);
        let is_lone = match operation(self.whole, &write.spot) {
            Some("set" | "lazySet" | "setRelease" | "setPlain" | "setOpaque") => {
                is_number || self.is_set_at_the_end(stale, write) || self.is_compared_and_set(stale.variable)
            }
            Some("complete" | "completeExceptionally" | "countDown") => true,
            _ => false,
        };
        let is_of_object =
            !declared.access.is_static() || self.whole.is_large() && program.is_captured(stale.variable.field());
        is_lone && is_of_object && self.is_done_without_lock(stale)
    }

    fn is_compared_and_set(&self, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().filter_map(|place| self.access_at(place)).any(|access| {
            operation(self.whole, &access.spot)
                .is_some_and(|name| name.contains("ompareAndSet") || name.contains("ompareAndExchange"))
        })
    }

    /// Whether something is done because of the answer before the variable is set, and nothing after that.
    pub(super) fn is_set_at_the_end(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_given = |influence: &Influence| matches!(influence.root, Root::Parameter(position) if position > 0);
        let (mut is_after, mut is_before) = (false, false);
        let read = Origin::Event(self.access(stale.read).event);
        let is_answer = |condition: &u32| {
            outline.conditions[*condition as usize].sources.iter().any(|source| source.origin == read)
        };
        let is_call =
            |event: &Event| matches!(event.action, Action::Call { .. }) && event.control.iter().any(is_answer);
        for (event, _) in self.of_same_answer(stale, write).filter(|(_, event)| is_call(event)) {
            is_before |= outline.leads_to(event, write.event, &[]);
            is_after |= outline.leads_to(write.event, event, &[self.access(stale.read).event]);
        }
        is_before && !is_after && !write.value.iter().any(is_given)
    }

    /// Whether a queue is asked before something is taken out of it, and nobody else takes anything: there is one taker, or
    /// each takes what the others leave.
    fn is_of_one_taker(&self, stale: &Stale) -> bool {
        let names = &self.whole.program.names;
        let takes = |spot: &Spot| {
            called_at(self.whole, spot).is_some_and(|method| {
                matches!(names.text(method.name), "poll" | "pollFirst" | "pollLast" | "remove" | "take")
                    && names.text(method.descriptor).starts_with("()L")
            })
        };
        // By name, all that are fit, or whatever is first.
        let takes_some = |spot: &Spot| {
            called_at(self.whole, spot).is_some_and(|method| {
                let name = names.text(method.name);
                ["drain", "poll", "pop", "remove", "take"].iter().any(|word| name.starts_with(word))
            })
        };
        stale.how == Use::Decides
            && stale.variable == stale.written
            && !self.access(stale.read).is_keyed
            && !self.access(stale.write).is_keyed
            && takes(&self.access(stale.write).spot)
            && self.whole.variables.writers(stale.variable).iter().all(|place| {
                self.access_at(place)
                    .is_some_and(|access| !takes_some(&access.spot) || access.spot == self.access(stale.write).spot)
            })
    }

    /// Whether an atomic is set in a way that others may see late, with no lock around, wherever it is set: so do rings out of
    /// which one thread alone takes what others put in.
    fn is_set_late(&self, stale: &Stale) -> bool {
        let write = self.access(stale.write);
        let is_late = |access: &Access| self.is_late(&access.spot);
        is_late(write)
            && self.is_unlocked(self.access(stale.read))
            && self.is_unlocked(write)
            && self
                .whole
                .variables
                .writers(stale.written)
                .iter()
                .all(|place| self.access_at(place).is_some_and(is_late))
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
pub(super) fn is_of_one_key(one: &Access, other: &Access) -> bool {
    one.keys.iter().any(|key| other.keys.contains(key))
}
