//! Values that wait in objects between two steps of a method: in a field that no other thread touches meanwhile, or, one
//! for each object, in a list beside the list of the objects.

use std::cell::OnceCell;

use program::outline::{Action, Argument, EventId, Member, Name, NameStep, Object, Outline, Start};
use program::summary::{Access, AccessId, Influence, Influences, Root, Spot};
use program::{MethodId, Variable};

use super::idioms::comes_from;
use super::rules::Looking;

/// Values that were put from one field into the next more often than this are not followed.
const MAX_MOVES: usize = 3;

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 3;

/// By read, once somebody has asked: the writes that may have put there what it finds.
pub(super) type Puts = [OnceCell<Vec<AccessId>>];

impl Looking<'_> {
    /// Where a value comes from, looking through fields in which it was kept on the way, as seen at a write.
    /// What may have been put where they read is kept in `puts`, by access, for the next ones that are asked about.
    pub(super) fn with_kept(&self, influences: &Influences, write: &Access, puts: &Puts) -> Vec<Influence> {
        let direct: Vec<Influence> = influences.iter().copied().collect();
        // Whether a field is this thread's own is costly to find out, so it is asked only if a pair could come of it.
        let possible = |read: AccessId| puts[read.index()].get_or_init(|| self.possible_puts(read));
        let farthest = self.followed(&direct, write, usize::MAX, possible);
        let makes_pair = |influence: &Influence| match influence.root {
            Root::Access(read) => {
                !direct.contains(influence)
                    && (!self.is_narrow || self.may_be_one(self.access(read), write))
                    && !self.section_pairs(read, write, influence).is_empty()
            }
            Root::Parameter(_) => false,
        };
        if !farthest.iter().any(makes_pair) {
            return direct;
        }
        self.followed(&direct, write, MAX_MOVES, |read| self.puts(read))
    }

    /// Whether a call that has read something keeps it in a field of the object that it yields, which is asked by what
    /// writes later.
    pub(super) fn is_kept_in(&self, read: AccessId, yielded: Start, write: &Access) -> bool {
        let event = self.access(read).event;
        let is_put = |put: &Access| put.is_write && put.event == event && put.base.start == yielded;
        let puts = self.summary.accesses.iter().filter(|put| is_put(put) && comes_from(&put.value, read));
        let kept: Vec<Member> = puts.map(|put| put.member).filter(|one| matches!(one, Member::Field(_))).collect();
        let asks = |outline: &Outline| {
            let mut events = outline.events.iter();
            events.any(|event| matches!(&event.action, Action::Read { member, .. } if kept.contains(member)))
        };
        let summaries = &self.whole.summaries;
        let Some(own) = summaries.outline(self.method).filter(|_| !kept.is_empty()) else { return false };
        let is_asked_by_callee = || match &own.events[write.event.index()].action {
            Action::Call { kind, method, .. } => {
                let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
                targets.known().iter().any(|target| summaries.outline(*target).is_some_and(asks))
            }
            _ => false,
        };
        asks(own) || is_asked_by_callee()
    }

    /// Where the values come from that were put into an object before it is given away: `fill(list, view.all()); add(list);`.
    pub(super) fn with_carried(&self, write: &Access) -> Vec<Influence> {
        let mut found: Vec<Influence> = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        let Action::Call { arguments, .. } = &outline.events[write.event.index()].action else { return found };
        for value in &write.value {
            let Root::Parameter(position) = value.root else { continue };
            let is_given = |argument: &Argument| argument.objects.as_slice() == [Object::Parameter(position)];
            if !arguments.iter().skip(1).any(is_given) {
                continue;
            }
            let is_put = |put: &&Access| {
                put.is_write
                    && put.event != write.event
                    && put.base.start == Start::Parameter(position)
                    && outline.leads_to(put.event, write.event, &[])
            };
            for influence in self.summary.accesses.iter().filter(is_put).flat_map(|put| put.value.iter()) {
                let Root::Access(origin) = influence.root else { continue };
                let ended = influence.ended.union(self.access(origin).held.without(write.held));
                // What it has of its own comes with it.
                if self.access(origin).base.start != Start::Parameter(position) {
                    found.push(Influence { root: influence.root, ended });
                }
            }
        }
        found
    }

    /// Influences, and those of what was put where they read, over so many moves.
    fn followed<P: AsRef<[AccessId]>>(
        &self,
        influences: &[Influence],
        write: &Access,
        moves: usize,
        puts: impl Fn(AccessId) -> P,
    ) -> Vec<Influence> {
        let mut all = influences.to_vec();
        let mut next = 0;
        let mut rest = moves;
        while next < all.len() && rest > 0 {
            let Root::Access(read) = all[next].root else {
                next += 1;
                continue;
            };
            next += 1;
            let puts = puts(read);
            let puts = puts.as_ref();
            rest -= usize::from(!puts.is_empty());
            for influence in puts.iter().flat_map(|put| self.access(*put).value.iter()) {
                let Root::Access(origin) = influence.root else { continue };
                let ended = influence.ended.union(self.access(origin).held.without(write.held));
                match all.iter_mut().find(|known| known.root == influence.root) {
                    Some(known) => known.ended = known.ended.union(ended),
                    None => all.push(Influence { root: influence.root, ended }),
                }
            }
        }
        all
    }

    /// Writes of the field that a read finds, before it.
    fn possible_puts(&self, read: AccessId) -> Vec<AccessId> {
        let access = self.access(read);
        let Member::Field(_) = access.member else { return Vec::new() };
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let is_put = |put: &Access| {
            put.is_write
                && put.member == access.member
                && put.base.same(&access.base)
                && (put.event == access.event || outline.may_follow(put.event, access.event))
        };
        let accesses = self.summary.accesses.iter().enumerate();
        accesses.filter(|(_, put)| is_put(put)).map(|(index, _)| AccessId(index as u32)).collect()
    }

    /// The writes that put what a read finds into a field that is this thread's own.
    fn puts(&self, read: AccessId) -> Vec<AccessId> {
        let access = self.access(read);
        let puts = self.possible_puts(read);
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        if puts.is_empty() || !self.is_own_field(access) {
            return Vec::new();
        }
        // A put of the method itself takes the place of what was there.
        let name = self.whole.program.method_name(self.method);
        let own: Vec<EventId> = puts
            .iter()
            .map(|put| self.access(*put))
            .filter(|put| put.spot.method == name)
            .map(|put| put.event)
            .collect();
        let is_found = |put: &Access| put.event == access.event || outline.leads_to(put.event, access.event, &own);
        puts.into_iter().filter(|put| is_found(self.access(*put))).collect()
    }

    /// Whether no other thread touches the field around that time.
    fn is_own_field(&self, access: &Access) -> bool {
        match access.base.start {
            Start::New(register) if access.base.steps.is_empty() => {
                !self.whole.release().is_let_out(self.method, register, access.event)
            }
            Start::Result(call)
                if access.base.steps.is_empty()
                    && self.whole.owned().is_made_for_caller(self.method, call)
                    && !self.whole.release().is_passed_on(self.method, &[call], access.event) =>
            {
                true
            }
            _ => match self.variable(access) {
                Some(Variable::Field(field)) => {
                    !self.whole.summaries.holdings.is_handled(field)
                        && self.whole.sharings().field(field).is_some_and(|sharing| !sharing.is_shared())
                }
                _ => false,
            },
        }
    }

    /// Whether two locks belong to elements of one container that two loops go over, the second after the first: what
    /// the first finds in an element the second may write to that element.
    pub(super) fn are_elements(&self, first: &Name, second: &Name) -> bool {
        let (Start::Result(one), Start::Result(other)) = (first.start, second.start) else { return false };
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        one != other
            && first.steps == second.steps
            && outline.may_follow(one, other)
            && !outline.may_follow(other, one)
            && match (self.gone_over(outline, one), self.gone_over(outline, other)) {
                (Some(first), Some(second)) => first.same(second),
                _ => false,
            }
    }

    /// Whether two locks belong to one element that was looked up twice, in one container by one key:
    /// `if (rooms.get(key).size() < 5) rooms.get(key).join(user);`.
    pub(super) fn is_got_again(&self, first: &Name, second: &Name) -> bool {
        let (Start::Result(one), Start::Result(other)) = (first.start, second.start) else { return false };
        let looks = |event: EventId| {
            let is_look = move |access: &&Access| access.event == event && access.is_keyed && !access.keys.is_empty();
            self.summary.accesses.iter().filter(is_look)
        };
        let is_taken = |event: EventId| self.summary.taken.contains(&event);
        let is_element = |event: EventId| {
            let mut parts = self.summary.accesses.iter().filter(|part| part.base.start == Start::Result(event));
            parts.any(|part| part.within.is_some())
        };
        one != other
            && first.steps == second.steps
            && !is_taken(one)
            && !is_taken(other)
            && is_element(one)
            && is_element(other)
            && looks(one).any(|one| {
                looks(other)
                    .any(|other| one.base.same(&other.base) && one.member == other.member && one.keys == other.keys)
            })
    }

    /// Whether two locks of one variable are one, by names that have nothing in common.
    pub(super) fn is_one_object(&self, read: &Access, first: &Name, write: &Access, second: &Name) -> bool {
        !first.is_unknown()
            && !second.is_unknown()
            && self.variable(read) == self.variable(write)
            && self.whole.is_one_object(self.method, first, second)
    }

    /// The same of an element that two calls look up for themselves: `if (bank.balance(key) > 5) bank.withdraw(key);`. It is
    /// they who have a name for it.
    pub(super) fn is_found_again(&self, first: (&Access, usize), second: (&Access, usize)) -> bool {
        let ((read, one), (write, other)) = (first, second);
        let sections = &self.summary.sections;
        if !sections[one].lock.is_unknown() || !sections[other].lock.is_unknown() || read.member != write.member {
            return false;
        }
        let (Some((container, rest)), Some((there, behind))) = (split(&read.base), split(&write.base)) else {
            return false;
        };
        let keys = |event: EventId, container: &Name| {
            let is_look =
                |access: &&Access| access.event == event && access.is_of_contents() && access.base.same(container);
            let mut looks = self.summary.accesses.iter().filter(is_look).map(|access| &access.keys);
            let keys = looks.next().filter(|keys| !keys.is_empty())?;
            looks.all(|other| other == keys).then_some(keys)
        };
        rest == behind
            && keys(read.event, &container).is_some_and(|by| keys(write.event, &there) == Some(by))
            && (container == there || self.is_one_object(read, &container, write, &there))
            && self.is_lock_of_element(self.method, read, sections[one].spot, MAX_DEPTH)
            && self.is_lock_of_element(self.method, write, sections[other].spot, MAX_DEPTH)
    }

    /// Whether a lock that is taken where an element is looked up is the element's own.
    fn is_lock_of_element(&self, method: MethodId, access: &Access, lock: Spot, depth: usize) -> bool {
        let whole = self.whole;
        let is_at = |other: &&Access| {
            other.spot == access.spot && other.member == access.member && other.is_write == access.is_write
        };
        let outline = whole.summaries.outline(method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        let Some(Action::Call { kind, method: called, .. }) = event.map(|event| &event.action) else { return false };
        let targets = whole.calls.targets(whole.program, *kind, *called);
        let mut inside = targets.known().iter().filter_map(|target| {
            let summary = whole.summaries.summary(*target)?;
            Some((*target, summary, summary.accesses.iter().find(is_at)?))
        });
        inside.next().is_some_and(|(target, summary, access)| {
            let mut held = access.held.iter().map(|section| &summary.sections[section]);
            held.find(|section| section.spot == lock).is_some_and(|section| match section.lock.is_unknown() {
                true => depth > 0 && self.is_lock_of_element(target, access, lock, depth - 1),
                false => {
                    access.within.is_some()
                        && section.lock.start == access.base.start
                        && access.base.steps.starts_with(&section.lock.steps)
                }
            })
        })
    }

    /// What a call of `next` goes over.
    fn gone_over<'o>(&self, outline: &'o Outline, next: EventId) -> Option<&'o Name> {
        let names = &self.whole.program.names;
        let called = |event: EventId, wanted: &str| match &outline.events[event.index()].action {
            Action::Call { method, arguments, .. } if names.text(method.name) == wanted => arguments.first(),
            _ => None,
        };
        let Start::Result(iterator) = called(next, "next")?.name.start else { return None };
        called(iterator, "iterator").map(|container| &container.name)
    }
}

/// A name of something that a container has: that of the container, and what comes behind the element.
fn split(name: &Name) -> Option<(Name, &[NameStep])> {
    let at = name.steps.iter().rposition(|step| *step == NameStep::Some)?;
    Some((Name { start: name.start, steps: name.steps[..at].into() }, &name.steps[at + 1..]))
}
