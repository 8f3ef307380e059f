//! Stale values over the dependency graph that reach more than a write: a position worked out from old data, and what a
//! section gives out and gets back when it is entered again.

use program::model::State;
use program::outline::{Action, Member};
use program::summary::{Access, AccessId, Influence, Root, Summary};
use program::{MethodId, Relation, Variable, Whole, locks};

use super::paper::left;
use super::rules::{is_shared, run_at_once};
use super::views::{Item, Pair, common};

/// How the old value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// It says where to look.
    Position,
    /// It is written by the section that gave it out.
    Reentered,
}

/// A value that leaves a section and comes to bear in a later one on the same lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stale {
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
    let asking = Asking { whole, method, summary };
    let mut found: Vec<(Stale, Variable)> = Vec::new();
    for (index, target) in summary.accesses.iter().enumerate() {
        let flows = target.address.iter().map(|influence| (How::Position, influence));
        let values = target.value.iter().map(|influence| (How::Reentered, influence));
        for (how, influence) in flows.chain(values) {
            let Some(stale) = asking.flow(how, AccessId(index as u32), target, influence) else { continue };
            let read = &summary.accesses[stale.read.index()];
            let Some(variable) = Variable::of(whole.program, read) else { continue };
            if !found.iter().any(|(_, told)| *told == variable) && asking.is_mistake(&stale, read, target) {
                found.push((stale, variable));
            }
        }
    }
    found.into_iter().map(|(stale, _)| stale).collect()
}

struct Asking<'a> {
    whole: &'a Whole<'a>,
    method: MethodId,
    summary: &'a Summary,
}

impl Asking<'_> {
    fn flow(&self, how: How, target: AccessId, access: &Access, influence: &Influence) -> Option<Stale> {
        let Root::Access(read) = influence.root else { return None };
        let (first, second) = left(self.summary, read, influence.ended, access.held)?;
        let (earlier, later) = (&self.summary.sections[first], &self.summary.sections[second]);
        let is_same_lock = earlier.kind == later.kind && earlier.lock.same(&later.lock);
        let is_one_call = self.summary.accesses[read.index()].event == access.event;
        let is_wanted = match how {
            How::Position => !is_one_call && is_same_lock && is_position(access.member),
            How::Reentered => is_one_call && first == second && access.is_write,
        };
        is_wanted.then_some(Stale { how, read, target, first, second })
    }

    fn is_mistake(&self, stale: &Stale, read: &Access, target: &Access) -> bool {
        let item = |access: &Access| Item::of(self.whole, self.method, access);
        let (Some(seen), Some(reached)) = (item(read), item(target)) else { return false };
        let is_position = || self.tells_position(read) && self.takes_position(target);
        (stale.how != How::Position || is_position())
            && (seen == reached || Pair::of(&seen, &reached).is_some())
            && self.whole.variables.belong_together(seen.variable, reached.variable)
            && self.is_changed(&seen)
            && !self.is_validated(stale, &seen, target)
            && !self.is_covered(stale, read, target)
    }

    /// Whether what is read is a number, such as a size or an index.
    fn tells_position(&self, read: &Access) -> bool {
        let program = self.whole.program;
        match self.action(read) {
            Some(Action::Call { method, .. }) => program.names.text(method.descriptor).ends_with(")I"),
            Some(Action::Read { member: Member::Field(field) | Member::Static(field), .. }) => program
                .resolve_field(*field)
                .is_some_and(|field| program.names.text(program.field(field).descriptor) == "I"),
            _ => false,
        }
    }

    /// Whether a number says where to look: not so in `toArray(new String[size])`.
    fn takes_position(&self, target: &Access) -> bool {
        match self.action(target) {
            Some(Action::Call { method, .. }) => self.whole.program.names.text(method.descriptor).starts_with("(I"),
            Some(Action::Read { .. } | Action::Write { .. }) => true,
            _ => false,
        }
    }

    /// What the code does at an access.
    fn action(&self, access: &Access) -> Option<&Action> {
        let method = self.whole.program.declared_method(access.spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        outline.events.iter().find(|event| event.pc == access.spot.pc).map(|event| &event.action)
    }

    /// Whether another thread may write it.
    fn is_changed(&self, item: &Item) -> bool {
        let writers = self.whole.variables.writers(item.variable);
        is_shared(self.whole, item) && writers.iter().any(|writer| run_at_once(self.whole, self.method, writer.method))
    }

    /// Whether a fresh read of the same variable in its section decides.
    fn is_validated(&self, stale: &Stale, seen: &Item, target: &Access) -> bool {
        target.control.iter().any(|influence| {
            let Root::Access(fresh) = influence.root else { return false };
            let access = &self.summary.accesses[fresh.index()];
            fresh != stale.read
                && access.held.contains(stale.second)
                && !influence.ended.contains(stale.second)
                && Item::of(self.whole, self.method, access).as_ref() == Some(seen)
        })
    }

    /// Whether something excludes all other writers from the read to the use.
    fn is_covered(&self, stale: &Stale, read: &Access, target: &Access) -> bool {
        let cover = self.whole.cover();
        let Some(variable) = Variable::of(self.whole.program, read) else { return false };
        let first = &self.summary.sections[stale.first];
        let by_callers = cover.held_by_callers(self.method);
        if by_callers.iter().any(|held| held.kind == first.kind && held.name.same(&first.lock)) {
            return true;
        }
        let mut around = common(read, target);
        if stale.first == stale.second {
            around = Default::default();
        }
        locks(self.summary, around).iter().chain(&by_callers).any(|held| {
            Relation::between(&read.base, held)
                .is_some_and(|relation| cover.covers(&self.whole.variables, variable, &relation))
        })
    }
}

/// Whether an access goes to a place in something that has places.
fn is_position(member: Member) -> bool {
    matches!(member, Member::Elements | Member::State(State::Contents | State::Chars | State::Elements))
}
