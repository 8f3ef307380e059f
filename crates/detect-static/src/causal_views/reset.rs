//! Torn writes of two atomics: something new is announced in one, `window.compareAndSet(seen, now)`, and only then the other
//! one is set back, `used.set(0)`. Who sees the first counts on in the second, and what was counted in between is
//! forgotten.

use program::model::State;
use program::outline::{Action, EventId, MeetingKind, Member, Name, Origin};
use program::summary::{Access, AccessId, Met};
use program::{LockKind, Place, Variable};

use super::rules::{Asking, Kind, Torn};
use super::views::Joint;
use crate::threads::is_shared;
use crate::words::operation;

/// Steps that count on from what is there.
const COUNTING: [&str; 6] =
    ["addAndGet", "decrementAndGet", "getAndAdd", "getAndDecrement", "getAndIncrement", "incrementAndGet"];

/// The torn writes of this kind in one method.
pub(super) fn torn(asking: &Asking<'_>) -> Vec<Torn> {
    let mut found = Vec::new();
    for (second, back) in writes(asking) {
        if !matches!(operation(asking.whole, &back.spot), Some("set")) || !back.value.is_empty() {
            continue;
        }
        let Some(counted) = variable(asking, back) else { continue };
        let mut announced = writes(asking).filter(|(_, access)| asking.is_announced_before(access, back));
        let torn = announced.find_map(|(first, access)| asking.forgotten((first, access), (second, back), counted));
        found.extend(torn);
    }
    found
}

fn writes<'a>(asking: &'a Asking<'_>) -> impl Iterator<Item = (AccessId, &'a Access)> {
    let writes = asking.summary.accesses.iter().enumerate().filter(|(_, access)| access.is_write);
    writes.filter(|(_, access)| is_atomic(access)).map(|(index, access)| (AccessId(index as u32), access))
}

fn variable(asking: &Asking<'_>, access: &Access) -> Option<Variable> {
    Variable::of(asking.whole.program, access)
}

fn is_atomic(access: &Access) -> bool {
    access.member == Member::State(State::Value)
}

/// The object that has an atomic.
fn owner(access: &Access) -> Name {
    access.base.owner()
}

impl Asking<'_> {
    /// Whether another atomic of the same object is written first, and nothing is held from there on.
    fn is_announced_before(&self, announced: &Access, back: &Access) -> bool {
        let is_own = |section: usize| self.summary.sections[section].kind == LockKind::Own;
        announced.event != back.event
            && variable(self, announced) != variable(self, back)
            && owner(announced).same(&owner(back))
            && announced.held.iter().chain(back.held.iter()).all(is_own)
            && self.outline.leads_to(announced.event, back.event, &[])
            && !self.outline.leads_to(back.event, announced.event, &[])
    }

    /// Somebody who looks at what is announced and counts on, and goes by the number.
    fn forgotten(&self, announced: (AccessId, &Access), back: (AccessId, &Access), counted: Variable) -> Option<Torn> {
        let seen = variable(self, announced.1)?;
        let whole = self.whole;
        let is_open = is_shared(whole, seen) && is_shared(whole, counted);
        let mut places = whole.variables.writers(counted).iter().filter(|_| is_open);
        places.find_map(|place: &Place| {
            let (summary, outline) = (whole.summaries.summary(place.method)?, whole.summaries.outline(place.method)?);
            let count = &summary.accesses[place.access.index()];
            let is_step = operation(whole, &count.spot).is_some_and(|name| COUNTING.contains(&name));
            let is_gone_by = || {
                let mut sources = outline.conditions.iter().flat_map(|condition| &condition.sources);
                let is_it = |origin: Origin| origin == Origin::Event(count.event);
                sources.any(|source| is_it(source.origin)) || outline.result.iter().any(|source| is_it(source.origin))
            };
            let is_look = |look: &&(usize, &Access)| {
                let look = look.1;
                !look.is_write
                    && Variable::of(whole.program, look) == Some(seen)
                    && owner(look).same(&owner(count))
                    && look.event != count.event
                    && is_call(outline, look.event)
                    && outline.leads_to(look.event, count.event, &[])
            };
            let looks: Vec<(usize, &Access)> = summary.accesses.iter().enumerate().collect();
            let (look, _) = looks.iter().find(is_look).filter(|_| is_step && is_gone_by())?;
            let other = Joint { method: place.method, first: AccessId(*look as u32), second: place.access };
            let met = Met { spot: count.spot, kind: MeetingKind::Decided };
            self.runs_with(announced.1, back.1, &other).then_some(Torn {
                kind: Kind::Write,
                first: announced.0,
                second: back.0,
                other,
                met,
            })
        })
    }
}

fn is_call(outline: &program::outline::Outline, event: EventId) -> bool {
    matches!(outline.events[event.index()].action, Action::Call { .. })
}
