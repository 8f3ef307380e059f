//! Variables that stay as they are once a flag is up: `synchronized void seal(..) { if (sealed) return; .. sealed = true; }`.
//! Whoever has seen the flag up may read them one by one, since all that writes them asks the flag under the same lock.
//!
//! Misses: flags that are no booleans, and writes in methods that are called by those who have asked.

use program::ir::Op;
use program::outline::{Action, EventId, Member, Name, NameStep, Object, Origin, Outline};
use program::summary::{Access, AccessId, Root};
use program::{HeldLock, Place, Variable, locks};

use super::rules::{Asking, are_exclusive, is_known};
use super::views::common;

impl Asking<'_> {
    /// Whether two reads of an object happen only where one of its flags was seen up, which nobody takes down, and nobody
    /// writes what they read where it is up.
    pub(super) fn are_settled(&self, first: &Access, second: &Access) -> bool {
        let reads = [first, second];
        self.summary.accesses.iter().any(|flag| {
            reads.iter().all(|read| self.is_seen_before(flag, read))
                && self.tells_flag(flag)
                && self.is_never_down(flag)
                && reads.iter().all(|read| self.is_written_while_down(flag, read))
        })
    }

    /// Whether a read happens only if a flag of the same object was up.
    fn is_seen_before(&self, flag: &Access, read: &Access) -> bool {
        let Member::Field(field) = flag.member else { return false };
        !flag.is_write
            && self.whole.program.names.text(field.descriptor) == "Z"
            && matches!(read.member, Member::Field(_))
            && flag.base.same(&read.base)
            && self.is_one_object(&flag.base)
            && comes_if(self.outline, flag.event, true, read.event)
    }

    /// Whether a name means one object as long as the method runs.
    fn is_one_object(&self, name: &Name) -> bool {
        let is_fixed =
            |step: &NameStep| matches!(step, NameStep::Field(field) if self.whole.program.is_final_field(*field));
        is_known(name) && name.steps.iter().all(is_fixed)
    }

    /// Whether what an event yields is the flag as it is: a read, or a call of a method that returns it.
    fn tells_flag(&self, flag: &Access) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let Action::Call { kind, method, .. } = &self.outline.events[flag.event.index()].action else { return true };
        let targets = calls.targets(program, *kind, *method);
        let [target] = targets.known() else { return false };
        let Ok(Some(body)) = program.body(*target) else { return false };
        let is_flag = |result| {
            let result = body.without_casts(result);
            matches!(body.op(result), Op::GetField { .. }) && body.instruction(result).pc == flag.spot.pc
        };
        flag.spot.method == program.method_name(*target)
            && body.instructions().all(|(_, instruction)| match instruction.op {
                Op::Return(result) => result.is_some_and(is_flag),
                _ => true,
            })
    }

    /// Whether all that writes a flag, once its object is made, puts it up.
    fn is_never_down(&self, flag: &Access) -> bool {
        let puts_up = |place: &Place| {
            let (summary, outline) =
                (self.whole.summaries.summary(place.method)?, self.whole.summaries.outline(place.method)?);
            let event = summary.accesses[place.access.index()].event;
            match &outline.events[event.index()].action {
                Action::Write { stored, .. } => match stored.objects.as_slice() {
                    [Object::Int(number)] => Some(*number != 0),
                    _ => None,
                },
                _ => None,
            }
        };
        let writers = Variable::of(self.whole.program, flag).map(|flag| self.whole.variables.writers(flag));
        writers.is_some_and(|writers| writers.iter().all(|place| puts_up(place) == Some(true)))
    }

    /// Whether each write of what is read is in a section that keeps out the one in which the flag was seen, and happens only
    /// if the flag is found down there.
    fn is_written_while_down(&self, flag: &Access, read: &Access) -> bool {
        let program = self.whole.program;
        let (Some(asked), Some(written)) = (Variable::of(program, flag), Variable::of(program, read)) else {
            return false;
        };
        let seen_under = locks(self.summary, flag.held);
        self.whole.variables.writers(written).iter().all(|place| {
            let (Some(summary), Some(outline)) =
                (self.whole.summaries.summary(place.method), self.whole.summaries.outline(place.method))
            else {
                return false;
            };
            let write = &summary.accesses[place.access.index()];
            let read_under = locks(self.summary, read.held);
            // Seen under the lock, or put up under it by whoever puts it up, and read under it.
            let keeps_out = |section: &[HeldLock]| {
                are_exclusive(flag, &seen_under, write, section)
                    || are_exclusive(read, &read_under, write, section) && self.is_put_up_beside(asked, write, section)
            };
            summary.accesses.iter().enumerate().any(|(index, look)| {
                let is_over = |section: usize| {
                    let mut by = write.control.iter().filter(|one| one.root == Root::Access(AccessId(index as u32)));
                    by.any(|influence| influence.ended.contains(section))
                };
                !look.is_write
                    && Variable::of(program, look) == Some(asked)
                    && look.base.same(&write.base)
                    && matches!(outline.events[look.event.index()].action, Action::Read { .. })
                    && comes_if(outline, look.event, false, write.event)
                    && !common(look, write).iter().any(is_over)
                    && keeps_out(&locks(summary, common(look, write)))
            })
        })
    }

    /// Whether all that writes a flag, once its object is made, is kept out by the locks of a section that writes something
    /// else of the same object.
    fn is_put_up_beside(&self, flag: Variable, write: &Access, section: &[HeldLock]) -> bool {
        let writers = self.whole.variables.writers(flag);
        !writers.is_empty()
            && writers.iter().all(|place| {
                self.whole.summaries.summary(place.method).is_some_and(|there| {
                    let put = &there.accesses[place.access.index()];
                    are_exclusive(put, &locks(there, put.held), write, section)
                })
            })
    }
}

/// Whether an event happens only if another one has yielded yes, or no.
fn comes_if(outline: &Outline, asked: EventId, is_yes: bool, event: EventId) -> bool {
    let block = outline.events[event.index()].block as usize;
    outline.conditions.iter().any(|condition| {
        let is_it = !condition.sources.is_empty()
            && condition.sources.iter().all(|source| source.origin == Origin::Event(asked));
        let way = condition.nought.map(|nought| usize::from(if is_yes { 1 - nought } else { nought }));
        let next = way.and_then(|way| outline.blocks.successors(condition.block as usize).nth(way));
        is_it && next.is_some_and(|next| !outline.leads_without(condition.block as usize, next.block, block))
    })
}
