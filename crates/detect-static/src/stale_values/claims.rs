//! Claims: a mark that one thread finds down and puts up in one step keeps others out of what only those write who have
//! put it up, until it is down again. `synchronized (lock) { if (busy) return; busy = true; }`, a `compareAndSet` from one
//! constant to another, a key that is added to a set of those that are in work. One that nobody takes down lets one thread
//! in. Where a claim is granted, and to whom, is told in `granted.rs`.

use program::model::State;
use program::outline::{Action, Event, EventId, Member, Object, Start};
use program::summary::{Access, AccessId, Influences, Root, Spot};
use program::{MethodId, Mode, Place, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::threads::is_part;

/// Claims of callers further up than this are not looked for.
const MAX_CALLERS: usize = 3;

/// A mark that a method has found down and put up.
pub(super) struct Claim<'l> {
    mark: Variable,
    /// The answer, and what puts it up.
    asked: AccessId,
    pub(super) up: &'l Access,
}

/// What a write does to a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Up,
    Down,
}

impl Looking<'_> {
    /// Whether a claim holds from the read to the write, made here or by all who call this, and whoever else writes the
    /// variable has made the same claim.
    pub(super) fn is_under_claim(&self, stale: &Stale, write: &Access) -> bool {
        let variables = &self.whole.variables;
        let read = self.access(stale.read);
        stale.how != Use::Found
            && self.claimed(&[&read.spot, &write.spot], &[read.event, write.event], MAX_CALLERS).into_iter().any(
                |mark| {
                    variables.writers(mark).iter().all(|place| self.is_by_rule(place, mark))
                        && variables.writers(stale.variable).iter().all(|place| self.is_by_claimant(place, mark))
                },
            )
    }

    /// The marks to which there is one claim over all accesses at these places that some events do: a claim of the method
    /// itself, or one that each of its callers has made.
    fn claimed(&self, spots: &[&Spot], by: &[EventId], depth: usize) -> Vec<Variable> {
        let is_asked = |access: &&Access| spots.contains(&&access.spot) && by.contains(&access.event);
        let asked: Vec<&Access> = self.summary.accesses.iter().filter(is_asked).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let claims = self.claims();
        let held = claims.iter().filter(|claim| asked.iter().all(|access| self.is_held_at(claim, access)));
        let mut marks: Vec<Variable> = held.map(|claim| claim.mark).collect();
        let callers = self.whole.calls.callers(self.method);
        if !marks.is_empty() || depth == 0 || self.whole.threads().is_from_outside(self.method) {
            return marks;
        }
        for (index, caller) in callers.iter().enumerate() {
            let Some(there) = Looking::at(self.whole, *caller) else { return Vec::new() };
            let calls = there.calls_of(self.method);
            let mut theirs = there.claimed(spots, &calls, depth - 1);
            // What is called may give up the claim between the two, and make it again.
            theirs.retain(|mark| !there.writes_in(&calls, *mark));
            match index {
                0 => marks = theirs,
                _ => marks.retain(|mark| theirs.contains(mark)),
            }
            if marks.is_empty() {
                break;
            }
        }
        marks
    }

    /// Whether one of these events writes a variable.
    fn writes_in(&self, events: &[EventId], variable: Variable) -> bool {
        let mut accesses = self.summary.accesses.iter();
        accesses
            .any(|access| access.is_write && events.contains(&access.event) && self.variable(access) == Some(variable))
    }

    /// The events of this method that call another one.
    fn calls_of(&self, wanted: MethodId) -> Vec<EventId> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let is_it = |event: &Event| match &event.action {
            Action::Call { kind, method, .. } => {
                self.whole.calls.targets(self.whole.program, *kind, *method).known().contains(&wanted)
            }
            _ => false,
        };
        let events = outline.events.iter().enumerate().filter(|(_, event)| is_it(event));
        events.map(|(index, _)| EventId(index as u32)).collect()
    }

    /// The claims that a method makes, here or in what it calls.
    fn claims(&self) -> Vec<Claim<'_>> {
        let mut found = Vec::new();
        for up in self.summary.accesses.iter().filter(|access| access.is_write) {
            let Some(mark) = self.variable(up).filter(|_| self.moves(&up.spot) == Some(Move::Up)) else { continue };
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
                found.push(Claim { mark, asked: AccessId(index as u32), up });
            }
        }
        found
    }

    /// Whether an access happens only if a claim was made, to what goes with the mark, and before the mark is down again.
    fn is_held_at(&self, claim: &Claim<'_>, access: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_down = |down: &Access| {
            down.is_write && self.variable(down) == Some(claim.mark) && self.moves(&down.spot) != Some(Move::Up)
        };
        let is_down_before = |down: &Access| {
            is_down(down)
                && match down.event == access.event {
                    true => down.held.intersection(access.held).is_empty(),
                    false => outline.leads_to(down.event, access.event, &[claim.up.event]),
                }
        };
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
            && is_of_one_object(claim.up, access)
            && is_of_one_key(claim.up, access)
            && is_part(self.whole, access)
            && (self.is_granted(claim, access.event) || self.is_after(claim, &access.control) && is_granted())
            && !self.summary.accesses.iter().any(is_down_before)
    }

    /// Whether a write of a mark puts it up, or takes it down where it was put up because it was down.
    fn is_by_rule(&self, place: &Place, mark: Variable) -> bool {
        self.is_by(place, |there, write| match there.moves(&write.spot) {
            // Who has put it up before is as alone as before.
            Some(Move::Up) => true,
            Some(Move::Down) => there.claims().iter().any(|claim| {
                claim.mark == mark
                    && is_of_one_key(claim.up, write)
                    && (there.is_after(claim, &write.control) || there.is_granted(claim, write.event))
            }),
            None => false,
        })
    }

    /// Whether a write is done under a claim to a mark.
    fn is_by_claimant(&self, place: &Place, mark: Variable) -> bool {
        self.is_by(place, |there, write| {
            there.claims().iter().any(|claim| claim.mark == mark && there.is_held_at(claim, write))
        })
    }

    /// Whether it holds of a write where it is done, or wherever its method is called.
    fn is_by(&self, place: &Place, holds: impl Fn(&Looking<'_>, &Access) -> bool) -> bool {
        let Some(there) = Looking::at(self.whole, place.method) else { return false };
        let write = there.access(place.access);
        holds(&there, write) || there.is_by_callers(&write.spot, &holds, MAX_CALLERS)
    }

    /// Whether it holds of what is done at a place below this method, wherever the method is called.
    fn is_by_callers(&self, spot: &Spot, holds: &impl Fn(&Looking<'_>, &Access) -> bool, depth: usize) -> bool {
        let callers = self.whole.calls.callers(self.method);
        depth > 0
            && !callers.is_empty()
            && !self.whole.threads().is_from_outside(self.method)
            && callers.iter().all(|caller| {
                Looking::at(self.whole, *caller).is_some_and(|there| {
                    let mut writes = there.summary.accesses.iter().filter(|access| access.spot == *spot).peekable();
                    writes.peek().is_some() && writes.all(|write| holds(&there, write))
                        || there.is_by_callers(spot, holds, depth - 1)
                })
            })
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

    /// What a write does to what may be a mark: a flag, or an atomic that goes from one constant to another.
    fn moves(&self, spot: &Spot) -> Option<Move> {
        let up_if = |is_up: bool| if is_up { Move::Up } else { Move::Down };
        let text = |symbol| self.whole.program.names.text(symbol);
        match &self.event_at(spot)?.action {
            Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } => {
                match (text(field.descriptor), stored.objects.as_slice()) {
                    ("Z", [Object::Int(number)]) => Some(up_if(*number != 0)),
                    _ => None,
                }
            }
            Action::Call { method, arguments, .. } => {
                let is_number = text(method.class.0) != "java/util/concurrent/atomic/AtomicReference";
                let value = |index: usize| match arguments.get(index)?.objects.as_slice() {
                    [Object::Int(number)] if is_number => Some(*number != 0),
                    [] if !is_number => Some(false),
                    [_, ..] if !is_number => Some(true),
                    _ => None,
                };
                // A key is in a map or set, or is not.
                let is_kept = || {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    model.is_some_and(|model| model.state == State::Contents && model.key.is_some())
                };
                match (text(method.name), arguments.len()) {
                    ("compareAndSet", 3) => match (value(1)?, value(2)?) {
                        (false, true) => Some(Move::Up),
                        (true, false) => Some(Move::Down),
                        _ => None,
                    },
                    ("set" | "getAndSet" | "lazySet" | "setRelease", 2) => value(1).map(up_if),
                    ("putIfAbsent", 3) | ("add", 2) if is_kept() => Some(Move::Up),
                    ("remove", 2 | 3) if is_kept() => Some(Move::Down),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn event_at(&self, spot: &Spot) -> Option<&Event> {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, spot.method)?;
        self.whole.summaries.outline(method)?.events.iter().find(|event| event.pc == spot.pc)
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

/// Whether a mark is one of the object that something belongs to, or there is one mark for all.
fn is_of_one_object(mark: &Access, access: &Access) -> bool {
    let is_for_all = matches!(mark.member, Member::Static(_)) || matches!(mark.base.start, Start::Static(_));
    is_for_all
        || mark.base.start == access.base.start
            && matches!(mark.base.start, Start::Parameter(_) | Start::Result(_))
            && !matches!(access.member, Member::Static(_))
}

/// Whether there is one mark for all keys, or what is touched stands under the key that was marked.
fn is_of_one_key(mark: &Access, access: &Access) -> bool {
    !mark.is_keyed || mark.keys.iter().any(|key| access.keys.contains(key))
}
