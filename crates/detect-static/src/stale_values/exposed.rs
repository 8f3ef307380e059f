//! Whether another thread can get in between, by what the code says of locks, threads and parts, and what is told for it.

use program::outline::{Action, Member, Object, Outline, Start};
use program::summary::Access;
use program::thread::{At, EntryId};
use program::{MethodId, Program, Relation};

use super::contention;
use super::rules::{Looking, Stale, Standing};
use crate::threads::{is_in_making, is_of_this, is_owned, meet_at_object};

/// Callers further up than this are not asked.
const MAX_CLIMB: usize = 3;

impl Looking<'_> {
    pub(super) fn standing(&self, stale: &Stale, is_skewed: bool) -> Standing {
        if !self.is_exposed(stale) {
            let is_by_key = !self.access(stale.read).keys.is_empty();
            let is_kept_apart = || {
                self.is_covered(stale, &self.cover())
                    || self.is_exposed_to(stale, |_, _| false, |at| !self.leaves_right(stale, at))
            };
            let is_right = || self.is_exposed_to(stale, self.is_apart(stale), |_| true);
            let is_excluded = is_by_key && is_kept_apart() || is_right() || self.is_appended(stale);
            if is_excluded { Standing::Excluded } else { Standing::Doubtful }
        } else if self.is_weak(stale, is_skewed) {
            Standing::Weak
        } else {
            Standing::Told
        }
    }

    /// Whether another thread can get in between, by what the code says of locks and threads.
    pub(super) fn is_exposed(&self, stale: &Stale) -> bool {
        self.is_exposed_to(stale, self.is_apart(stale), |at| {
            !self.leaves_right(stale, at) && self.is_of_object(stale, at)
        }) || self.is_by_rounds(stale)
    }

    /// Whether both are done by tasks, and what one round has started may still be about to write when the next one is
    /// started, by one and the same thread.
    fn is_by_rounds(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let at = |access: &Access| At { method: self.method, event: access.event };
        self.is_start(read.event)
            && self.is_start(write.event)
            && self.whole.threads().may_still_run(at(write), at(read))
            && !self.is_kept_out(stale)
            && !self.leaves_right(stale, at(write))
            && (!self.is_handled_alone(stale)
                || matches!(read.base.start, Start::Parameter(position)
                    if self.is_handed_again(self.method, position, MAX_CLIMB)))
    }

    /// Whether callers give a method the same object again, or one that they were given again.
    fn is_handed_again(&self, method: MethodId, position: u16, climb: usize) -> bool {
        let whole = self.whole;
        whole.calls.callers(method).iter().filter_map(|caller| Some((*caller, whole.outlines().get(*caller)?))).any(
            |(caller, outline)| {
                let mut given: Vec<u32> = Vec::new();
                outline.events.iter().any(|event| {
                    let Action::Call { kind, method: called, arguments } = &event.action else { return false };
                    let object = arguments.get(usize::from(position)).map(|argument| argument.objects.as_slice());
                    if !whole.calls.targets(whole.program, *kind, *called).known().contains(&method) {
                        return false;
                    }
                    match object {
                        Some([Object::New { register, .. }]) => {
                            let is_again = event.in_loop || given.contains(register);
                            given.push(*register);
                            is_again && !is_made_in_loop(whole.program, outline, *register)
                        }
                        Some([Object::Parameter(own)]) => {
                            event.in_loop || climb > 0 && self.is_handed_again(caller, *own, climb - 1)
                        }
                        _ => false,
                    }
                })
            },
        )
    }

    /// Whether the thread that runs the method has the object to itself.
    fn is_handled_alone(&self, stale: &Stale) -> bool {
        is_owned(self.whole, self.method, self.access(stale.read))
            || is_owned(self.whole, self.method, self.access(stale.write))
    }

    /// Whether both are done by stages that are appended to one field together, and so is whatever else is done to the
    /// variable.
    fn is_appended(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let cover = self.cover();
        let Some((tail, head)) = cover.tail(self.method, read.event) else { return false };
        cover.tail(self.method, write.event).is_some_and(|(_, other)| other == head)
            && Relation::of_found(self.summary, read, &tail)
                .is_some_and(|relation| cover.covers(&self.whole.variables, stale.variable, &relation))
    }

    /// Whether locks keep others out, or they do not have the object yet.
    fn is_kept_out(&self, stale: &Stale) -> bool {
        self.is_covered(stale, &self.cover())
            || self.is_under_given_lock(stale)
            || self.is_appended(stale)
            || is_in_making(self.whole, self.method, self.access(stale.read))
    }

    /// Whether what is written at a place may be of the object that was read.
    fn is_of_object(&self, stale: &Stale, at: At) -> bool {
        let outline = self.whole.outlines().get(at.method);
        match outline.map(|outline| &outline.events[at.event.index()].action) {
            Some(Action::Write { base, member: Member::Field(_), .. }) => {
                meet_at_object(self.whole, (self.method, &self.access(stale.read).base), (at.method, base))
            }
            _ => true,
        }
    }

    /// Tells of which entries the processes keep to parts of a variable that are each one's own.
    fn is_apart(&self, stale: &Stale) -> impl Fn(EntryId, EntryId) -> bool {
        let (variable, read) = (stale.variable, self.access(stale.read).spot);
        move |process, other| self.whole.keep_to_own_parts(process, other, variable, read)
    }

    /// The same, where `is_apart` tells of which entries the processes keep to parts that are each one's own, and `matters`
    /// which writes do any harm.
    fn is_exposed_to(
        &self,
        stale: &Stale,
        is_apart: impl Fn(EntryId, EntryId) -> bool,
        matters: impl Fn(At) -> bool,
    ) -> bool {
        !self.is_kept_out(stale)
            && !self.is_handled_alone(stale)
            && contention::is_contended(
                self.whole,
                self.method,
                self.access(stale.write).event,
                stale.variable,
                is_of_this(&self.access(stale.read).base, stale.variable),
                is_apart,
                matters,
            )
    }
}

/// Whether an object is made anew in each turn of a loop.
fn is_made_in_loop(program: &Program, outline: &Outline, register: u32) -> bool {
    outline.events.iter().filter(|event| event.in_loop).any(|event| match &event.action {
        Action::Call { method, arguments, .. } => {
            let made = arguments.first().map(|first| first.objects.as_slice());
            program.names.text(method.name) == "<init>"
                && matches!(made, Some([Object::New { register: made, .. }]) if *made == register)
        }
        _ => false,
    })
}
