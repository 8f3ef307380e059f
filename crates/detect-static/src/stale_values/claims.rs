//! Claims: a mark that one thread finds down and puts up in one step keeps others out of what only those write who have
//! put it up, until it is down again. `synchronized (lock) { if (busy) return; busy = true; }`, a `compareAndSet` from one
//! constant to another, a key that is added to a set of those that are in work. One that nobody takes down lets one thread
//! in. Whoever has made a claim may leave the work to what it calls. Where a claim is granted, and to whom, is told in
//! `granted.rs`, what writes do to marks in `marks.rs`.

use program::outline::{Action, EventId, Member, NameStep, Object, Start};
use program::summary::{Access, AccessId, Influences, Root, Spot};
use program::thread::At;
use program::{MethodId, Mode, Place, Variable};

use super::contention::may_meet;
use super::idioms::comes_from;
use super::marks::{Level, Move};
use super::rules::{Looking, Stale, Use};
use crate::threads::is_part;

/// Callers further up than this are not asked, nor callees further down.
const MAX_DEPTH: usize = 3;

/// A mark that a method has found down and put up.
pub(super) struct Claim<'l> {
    mark: Variable,
    /// The state in which it is up, if it has more than two.
    raised: Option<Level>,
    /// The answer, and what puts it up.
    asked: AccessId,
    pub(super) up: &'l Access,
}

impl Looking<'_> {
    /// Whether a claim holds from the read to the write, and whoever else writes the variable has made the same claim.
    pub(super) fn is_under_claim(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how != Use::Found
            && (self.are_under_claim(&[read, write], stale.variable)
                || self.are_claimed_for(&[read.spot, write.spot], stale.variable, MAX_DEPTH))
    }

    /// `if (row.isOpen() && rows.replace(id, row, mine)) rows.put(id, mine.settled());`: an entry that was judged, and replaced
    /// in one step that was told to expect it, is this thread's, if whoever else changes entries has got them in the same way.
    pub(super) fn is_owners_entry(&self, stale: &Stale, write: &Access) -> bool {
        let at = At { method: self.method, event: write.event };
        let is_fair = |there: &Looking<'_>, change: &Access| {
            !change.is_write
                || there.is_winning(change, stale.variable)
                || there.winning(stale.variable).any(|won| there.is_granted_by(won, change.event))
                || !may_meet(self.whole, at, At { method: there.method, event: change.event })
        };
        stale.how == Use::Written
            && stale.variable == stale.written
            && self
                .winning(stale.variable)
                .any(|won| comes_from(&won.expects, stale.read) && self.is_granted_by(won, write.event))
            && self.whole.variables.writers(stale.variable).iter().all(|place| self.is_by(place, is_fair))
    }

    /// `if (hoist.isBusy() || !hoist.take()) return; .. hoist.free();`: what was asked first is asked again by the section that
    /// changes it, and what comes later happens only if that has changed it to something known. The old answer says no more.
    pub(super) fn is_won_since(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_won = |claim: &Claim<'_>| {
            let (asked, up) = (self.access(claim.asked), claim.up);
            claim.mark == stale.variable
                && claim.asked != stale.read
                && ![read.event, write.event].contains(&up.event)
                && asked.event == up.event
                && up.base.same(&read.base)
                && comes_from(&up.control, stale.read)
                && !outline.leads_to(read.event, write.event, &[up.event])
                && self.is_granted(claim, write.event)
        };
        stale.how == Use::Decides
            && matches!(read.member, Member::Field(_) | Member::Static(_))
            && self.claims().iter().any(is_won)
    }

    fn winning(&self, variable: Variable) -> impl Iterator<Item = &Access> {
        self.summary.accesses.iter().filter(move |step| self.is_winning(step, variable))
    }

    /// Whether a write is one step that is told to expect what was judged before.
    fn is_winning(&self, step: &Access, variable: Variable) -> bool {
        step.is_write
            && step.is_compound
            && step.expects.iter().any(|expected| step.control.iter().any(|judged| judged.root == expected.root))
            && self.variable(step) == Some(variable)
    }

    fn are_under_claim(&self, accesses: &[&Access], variable: Variable) -> bool {
        let variables = &self.whole.variables;
        self.claims().iter().any(|claim| {
            accesses.iter().all(|access| self.is_held_at(claim, access))
                && variables.writers(claim.mark).iter().all(|place| self.is_by_rule(place, claim))
                && variables.writers(variable).iter().all(|place| self.is_by_claimant(place, claim))
        })
    }

    /// Whether wherever the method is called, a claim holds over all of the call that matters.
    fn are_claimed_for(&self, spots: &[Spot], variable: Variable, depth: usize) -> bool {
        let callers = self.whole.calls.callers(self.method);
        depth > 0
            && !callers.is_empty()
            && !self.whole.threads().is_from_outside(self.method)
            && callers.iter().all(|caller| {
                let Some(there) = Looking::at(self.whole, *caller) else { return false };
                let accesses: Vec<&Access> =
                    spots.iter().flat_map(|spot| there.accesses_at(*spot, self.method)).collect();
                spots.iter().all(|spot| accesses.iter().any(|access| access.spot == *spot))
                    && (there.are_under_claim(&accesses, variable) || there.are_claimed_for(spots, variable, depth - 1))
            })
    }

    /// The claims that a method makes, here or in what it calls.
    fn claims(&self) -> Vec<Claim<'_>> {
        let mut found = Vec::new();
        for up in self.summary.accesses.iter().filter(|access| access.is_write) {
            // What has two states may have more.
            let is_flag = self.moves(up, None) == Some(Move::Up);
            let level = self.raises(up);
            if !is_flag && level.is_none() {
                continue;
            }
            let Some(mark) = self.variable(up) else { continue };
            let asked = self.summary.accesses.iter().enumerate().find(|(index, asked)| {
                let id = AccessId(*index as u32);
                let is_one_step = || up.is_compound && asked.event == up.event && asked.spot == up.spot;
                let is_in_section = || {
                    !asked.is_write
                        && (comes_from(&up.control, id) || comes_from(&up.awaited, id))
                        && up.held.intersection(asked.held).iter().any(|section| {
                            self.summary.sections[section].mode == Mode::Exclusive
                                && !up
                                    .control
                                    .iter()
                                    .any(|one| one.root == Root::Access(id) && one.ended.contains(section))
                        })
                };
                self.variable(asked) == Some(mark) && asked.base.same(&up.base) && (is_one_step() || is_in_section())
            });
            if let Some((index, _)) = asked {
                let asked = AccessId(index as u32);
                found.extend(is_flag.then_some(Claim { mark, raised: None, asked, up }));
                found.extend(level.map(|level| Claim { mark, raised: Some(level), asked, up }));
            }
        }
        found
    }

    /// Whether an access happens only if a claim was made, to what goes with the mark, and before the mark is down again.
    fn is_held_at(&self, claim: &Claim<'_>, access: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_down = |down: &Access| {
            down.is_write
                && self.variable(down) == Some(claim.mark)
                && self.is_meant(down)
                && !matches!(self.moves(down, claim.raised), Some(Move::Up | Move::Beside))
        };
        let is_down_before = |down: &Access| is_down(down) && self.leads_to(down, access, &[claim.up.event], MAX_DEPTH);
        // Of the two ways on from a step, the one on which the mark is taken down is that of who has got it.
        let is_granted = || match claim.up.is_compound {
            true => self
                .summary
                .accesses
                .iter()
                .any(|down| is_down(down) && outline.leads_to(access.event, down.event, &[claim.up.event])),
            false => {
                let block = outline.events[access.event.index()].block;
                let is_here = claim.up.spot.method == self.whole.program.method_name(self.method);
                is_here
                    && match block == outline.events[claim.up.event.index()].block {
                        true => claim.up.event < access.event,
                        false => outline.follows_surely(claim.up.event)[block as usize],
                    }
            }
        };
        access.event != claim.up.event
            && self.is_of_one_object(claim.up, access)
            && is_of_one_key(claim.up, access)
            && is_part(self.whole, access)
            && (self.is_granted(claim, access.event) || self.is_after(claim, &access.control) && is_granted())
            && !self.summary.accesses.iter().any(is_down_before)
    }

    /// Whether one access can come before another one in the same call, without one of these events between them.
    fn leads_to(&self, first: &Access, second: &Access, stops: &[EventId], depth: usize) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return true };
        if outline.leads_to(first.event, second.event, stops) {
            return true;
        }
        if first.event != second.event || !first.held.intersection(second.held).is_empty() {
            return false;
        }
        // Both are done by a function that one call is given, or by what it calls.
        let Action::Call { kind, method, arguments } = &outline.events[first.event.index()].action else { return true };
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let targets = calls.targets(program, *kind, *method);
        let ([target], true) = (targets.known(), depth > 0) else { return true };
        let lambdas = arguments.iter().flat_map(|argument| &argument.objects).filter_map(|object| match object {
            Object::Event(made) => match &outline.events[made.index()].action {
                Action::Lambda { method, .. } => calls.lambda_targets(program, *method).known().first().copied(),
                _ => None,
            },
            _ => None,
        });
        let mut seen = lambdas.chain([*target]).filter_map(|inner| {
            let there = Looking::at(self.whole, inner)?;
            let accesses = there.summary.accesses.iter();
            let at = |spot: Spot| accesses.clone().filter(move |access| access.spot == spot);
            let is_seen = at(first.spot).next().is_some() && at(second.spot).next().is_some();
            is_seen.then(|| {
                at(first.spot).any(|one| at(second.spot).any(|other| there.leads_to(one, other, &[], depth - 1)))
            })
        });
        seen.next().unwrap_or(true)
    }

    /// Whether a write of a mark puts it up, or takes it down where it was put up because it was down.
    fn is_by_rule(&self, place: &Place, made: &Claim<'_>) -> bool {
        self.is_by(place, |there, write| match there.moves(write, made.raised) {
            // Who has put it up before is as alone as before.
            Some(Move::Up | Move::Beside) => true,
            Some(Move::Down) => there.claims().iter().any(|claim| {
                claim.mark == made.mark
                    && is_of_one_key(claim.up, write)
                    && (there.is_after(claim, &write.control) || there.is_granted(claim, write.event))
            }),
            None => false,
        })
    }

    /// Whether a write is done under the same claim: to the mark, and in the same state of it.
    fn is_by_claimant(&self, place: &Place, made: &Claim<'_>) -> bool {
        let is_same = |claim: &Claim<'_>| claim.mark == made.mark && claim.raised == made.raised;
        self.is_by(place, |there, write| {
            there.claims().iter().any(|claim| is_same(claim) && there.is_held_at(claim, write))
        })
    }

    /// Whether it holds of a write where it is done, or wherever its method is called.
    pub(super) fn is_by(&self, place: &Place, holds: impl Fn(&Looking<'_>, &Access) -> bool) -> bool {
        let Some(there) = Looking::anywhere(self.whole, place.method) else { return false };
        let write = there.access(place.access);
        holds(&there, write) || there.is_by_callers(write.spot, &holds, MAX_DEPTH)
    }

    fn is_by_callers(&self, spot: Spot, holds: &impl Fn(&Looking<'_>, &Access) -> bool, depth: usize) -> bool {
        let callers = self.whole.calls.callers(self.method);
        depth > 0
            && !callers.is_empty()
            && !self.whole.threads().is_from_outside(self.method)
            && callers.iter().all(|caller| {
                Looking::anywhere(self.whole, *caller).is_some_and(|there| {
                    let writes = there.accesses_at(spot, self.method);
                    // Of a summary that was cut, more of them may be missing.
                    !writes.is_empty()
                        && !there.summary.is_cut
                        && (writes.iter().all(|write| holds(&there, write))
                            || there.is_by_callers(spot, holds, depth - 1))
                })
            })
    }

    /// The accesses that a method does at a place. Of several methods that one call may lead to, the one is meant that is
    /// given an object which this method has a name for. What is done by the task that a callee is, is done where it starts.
    fn accesses_at(&self, spot: Spot, callee: MethodId) -> Vec<&Access> {
        let is_task = self.whole.threads().entries().iter().any(|entry| entry.method == Some(callee));
        let all = self.summary.accesses.iter().filter(|access| access.spot == spot && self.is_meant(access));
        all.filter(|access| self.is_start(access.event) == is_task).collect()
    }

    /// Whether an event starts a task, or makes something that will.
    pub(super) fn is_start(&self, event: EventId) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        match outline.map(|outline| &outline.events[event.index()].action) {
            Some(Action::Call { method, .. }) => {
                let model = self.whole.calls.model(self.whole.program, *method, method.class);
                model.is_some_and(|model| model.starts.is_some() || model.wraps.is_some())
            }
            _ => false,
        }
    }

    fn is_meant(&self, access: &Access) -> bool {
        let is_named = |one: &Access| one.spot == access.spot && one.event == access.event && !one.base.is_unknown();
        !access.base.is_unknown() || !self.summary.accesses.iter().any(is_named)
    }

    /// Whether a mark is one of the object that something belongs to, or there is one mark for all.
    pub(super) fn is_of_one_object(&self, mark: &Access, access: &Access) -> bool {
        let is_for_all = matches!(mark.member, Member::Static(_)) || matches!(mark.base.start, Start::Static(_));
        let owner = match mark.member {
            Member::State(_) => mark.base.owner(),
            _ => mark.base.clone(),
        };
        let common = owner.steps.iter().zip(&access.base.steps).take_while(|(one, other)| one == other).count();
        // What each has for itself, there is one of.
        let is_own = |step: &NameStep| match step {
            NameStep::Field(field) => self.whole.summaries.holdings.is_own(self.whole.program, *field),
            NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => false,
        };
        is_for_all
            || mark.base.start == access.base.start
                && matches!(mark.base.start, Start::Parameter(_) | Start::Result(_))
                && !matches!(access.member, Member::Static(_))
                && owner.steps[common..].iter().all(is_own)
    }

    /// Whether what these decide happens only if a claim was made.
    fn is_after(&self, claim: &Claim<'_>, control: &Influences) -> bool {
        let asked = self.access(claim.asked);
        let is_it = |read: &Access| claim.up.is_compound && read.event == asked.event && read.spot == asked.spot;
        control.iter().any(|influence| match influence.root {
            Root::Access(read) => read == claim.asked || is_it(self.access(read)),
            Root::Parameter(_) => false,
        })
    }

    /// `for (Task task : tasks) if (!task.isTaken) { task.isTaken = true; return task; }`: what was found is marked in the
    /// section that has found it, because it had no mark. What is done with it later goes by the mark.
    pub(super) fn is_marked_where_found(&self, stale: &Stale, write: &Access) -> bool {
        let is_asked = |change: &Access| {
            change.control.iter().any(|influence| match influence.root {
                Root::Access(asked) => {
                    let asked = self.access(asked);
                    asked.held.contains(stale.first) && asked.member == change.member && asked.base.same(&change.base)
                }
                Root::Parameter(_) => false,
            })
        };
        stale.how == Use::Decides
            && stale.first != stale.second
            && comes_from(&write.address, stale.read)
            && self.summary.accesses.iter().any(|change| {
                change.is_write
                    && matches!(change.member, Member::Field(_))
                    && change.held.contains(stale.first)
                    && comes_from(&change.address, stale.read)
                    && is_asked(change)
            })
    }
}

/// Whether there is one mark for all keys, or what is touched stands under the key that was marked.
fn is_of_one_key(mark: &Access, access: &Access) -> bool {
    !mark.is_keyed || mark.keys.iter().any(|key| access.keys.contains(key))
}
