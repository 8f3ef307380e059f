//! Which pairs of sections tear apart what another section takes as one.

use program::outline::{Action, MeetingKind, Name, Outline, SectionSet, Start};
use program::summary::{Access, AccessId, Met, Root, Summary};
use program::{HeldLock, MethodId, Place, Relation, Variable, Whole, locks};

use super::again::{self, Doubles};
use super::each_lock::{self, UnderEach};
use super::evicted::Fills;
use super::moved::{self, Sums};
use super::reset;
use super::views::{Item, Joint, Joints, Pair, common, locks_over, view};
use crate::given::is_of_given_function;
use crate::threads::{is_owned, is_shared};

/// More accesses of one variable in one section than this are not asked.
const MAX_LIKE: usize = 6;

/// Calls further down than this are not looked into.
const MAX_DEPTH: usize = 3;

/// What is torn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// Two sections read what another one writes as a whole.
    Read,
    /// Two sections write what another one reads as a whole.
    Write,
}

/// Two sections of a method that ought to be one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Torn {
    pub(super) kind: Kind,
    pub(super) first: AccessId,
    pub(super) second: AccessId,
    /// The section that touches both.
    pub(super) other: Joint,
    /// Where the two values come together.
    pub(super) met: Met,
}

/// What other methods do that a method may tear apart.
pub(super) struct Others {
    joints: Joints,
    doubles: Doubles,
    sums: Sums,
    under_each: Vec<UnderEach>,
    pub(super) fills: Fills,
}

impl Others {
    pub(super) fn of(whole: &Whole<'_>) -> Others {
        let under_each = UnderEach::all(whole);
        let (doubles, sums, fills) = (Doubles::of(whole), Sums::of(whole), Fills::of(whole));
        Others { joints: Joints::of(whole), doubles, sums, under_each, fills }
    }
}

/// The torn pairs of one method: one for each two variables.
pub(super) fn torn(asking: &Asking<'_>, others: &Others) -> Vec<Torn> {
    let Others { joints, doubles, sums, under_each, .. } = others;
    let mut found: Vec<(Torn, [Variable; 2])> = Vec::new();
    for kind in [Kind::Read, Kind::Write] {
        let mut touched = asking.touched_by(kind, |_| true);
        touched.retain(|(_, item)| match kind {
            Kind::Read => joints.writes(item.variable),
            Kind::Write => joints.reads(item.variable),
        });
        for (index, (first, item)) in touched.iter().enumerate() {
            for (second, other) in &touched[index + 1..] {
                let variables = [item.variable, other.variable];
                let is_told = |told: &(Torn, [Variable; 2])| told.0.kind == kind && told.1 == variables;
                if found.iter().any(is_told) {
                    continue;
                }
                if let Some(torn) = asking.pair(kind, (*first, item), (*second, other)) {
                    found.push((torn, variables));
                }
            }
        }
    }
    let others = again::torn(asking, doubles)
        .into_iter()
        .chain(moved::torn(asking, sums))
        .chain(reset::torn(asking))
        .chain(each_lock::torn(asking, under_each));
    found.into_iter().map(|(torn, _)| torn).chain(others).collect()
}

pub(super) struct Asking<'a> {
    pub(super) whole: &'a Whole<'a>,
    pub(super) joints: &'a Joints,
    pub(super) method: MethodId,
    pub(super) summary: &'a Summary,
    pub(super) outline: &'a Outline,
}

impl<'a> Asking<'a> {
    /// None if the method takes no lock.
    pub(super) fn of(whole: &'a Whole<'a>, others: &'a Others, method: MethodId) -> Option<Asking<'a>> {
        let (summary, outline) = (whole.summaries.summary(method)?, whole.summaries.outline(method)?);
        let joints = &others.joints;
        (!summary.sections.is_empty()).then_some(Asking { whole, joints, method, summary, outline })
    }
}

impl Asking<'_> {
    pub(super) fn access(&self, access: AccessId) -> &Access {
        &self.summary.accesses[access.index()]
    }

    /// Accesses in sections, each with what it touches, to objects that others have made.
    pub(super) fn touched(&self, kind: Kind) -> Vec<(AccessId, Item)> {
        self.touched_by(kind, |item| !item.is_of_new())
    }

    fn touched_by(&self, kind: Kind, is_wanted: impl Fn(&Item) -> bool) -> Vec<(AccessId, Item)> {
        let accesses = self.summary.accesses.iter().enumerate();
        let wanted = accesses.filter(|(_, access)| access.is_write == (kind == Kind::Write) && !access.held.is_empty());
        wanted
            .filter_map(|(index, access)| {
                Item::of(self.whole, self.method, access).map(|item| (AccessId(index as u32), item))
            })
            .filter(|(_, item)| is_wanted(item))
            .collect()
    }

    fn pair(&self, kind: Kind, first: (AccessId, &Item), second: (AccessId, &Item)) -> Option<Torn> {
        let mut pairs = self.joints.pairs(self.whole, self.method, first.1, second.1, kind == Kind::Read);
        pairs.find_map(|pair| self.torn_as(&pair, kind, first, second))
    }

    fn torn_as(&self, pair: &Pair, kind: Kind, first: (AccessId, &Item), second: (AccessId, &Item)) -> Option<Torn> {
        let others = match kind {
            Kind::Read => self.joints.writing(pair),
            Kind::Write => self.joints.reading(pair),
        };
        let (a, b) = (self.access(first.0), self.access(second.0));
        // Two accesses of one call are the callee's business, unless one is in a function that it was given.
        if others.is_empty() || a.event == b.event && !is_of_given_function(self.whole, self.method, a, b) {
            return None;
        }
        if !self.are_apart(kind, first, second) || kind == Kind::Write && self.is_changed_by_one(first, second) {
            return None;
        }
        let is_between =
            |other: &&Joint| self.may_interfere(a, b, other) || kind == Kind::Read && self.are_glanced_at(a, b, other);
        let others: Vec<&Joint> = others.iter().filter(is_between).collect();
        let torn = |other: &Joint, met: Met| Torn { kind, first: first.0, second: second.0, other: *other, met };
        let found = match kind {
            Kind::Read => {
                others.first()?;
                let body = self.whole.program.body(self.method).ok()??;
                let is_real = |other: &&Joint| !self.is_checked_again(other) && self.runs_with(a, b, other);
                match self.meeting(self.method, first.0, second.0) {
                    Some(met) => {
                        let is_one = |other: &&Joint| {
                            met.kind == MeetingKind::Decided && self.is_answered_anew(&body, first.0, second.0, other)
                        };
                        torn(others.into_iter().find(|other| !is_one(other) && is_real(other))?, met)
                    }
                    None => {
                        let steering = self.steering(&body, first.0, second.0)?;
                        let mut astray = others.into_iter().filter(|other| self.is_led_astray(&steering, other));
                        let other = astray.find(is_real).filter(|_| !self.is_steered_alone(&steering))?;
                        torn(other, steering.met)
                    }
                }
            }
            Kind::Write => {
                if !self.may_follow(a, b) {
                    return None;
                }
                let others: Vec<&Joint> = others.into_iter().filter(|other| !self.is_carried(a, b, other)).collect();
                let find = |met: &dyn Fn(&Joint) -> Option<Met>| {
                    let mut known = others.iter().filter_map(|other| Some((*other, met(other)?)));
                    let is_apart = |other: &Joint, met: &Met| {
                        met.kind != MeetingKind::Decided || !self.is_answered_alike(a, b, other)
                    };
                    known
                        .find(|(other, met)| is_apart(other, met) && self.runs_with(a, b, other))
                        .map(|(other, met)| torn(other, met))
                };
                find(&|other| {
                    let met = self.use_together(other).or_else(|| self.looked_up_too_early(a, b, other));
                    met.or_else(|| self.sees_half(a, b, other))
                })
                .or_else(|| find(&|other| self.put_across(a, b, other)))?
            }
        };
        let are_one = match kind {
            Kind::Read => {
                let (one, other) = (first.1.variable, second.1.variable);
                !self.is_written_alone(one, other, None) || !self.is_written_alone(other, one, None)
            }
            Kind::Write => self.is_one_change(pair, first, second),
        };
        let is_shared = |access: &Access, item: &Item| {
            is_shared(self.whole, item.variable) && !is_owned(self.whole, self.method, access)
        };
        let are_one = are_one && !(kind == Kind::Write && self.are_of_two_tasks(a, b));
        let is_real = are_one && is_shared(a, first.1) && is_shared(b, second.1);
        (is_real && self.are_in_one_run(a, b) && !(kind == Kind::Read && self.are_settled(a, b))).then_some(found)
    }

    pub(super) fn meeting(&self, method: MethodId, first: AccessId, second: AccessId) -> Option<Met> {
        self.whole.summaries.meeting(self.whole.program, &self.whole.calls, method, first, second)
    }

    /// Whether one call writes both: it makes a change of its own, and does it well or not by itself.
    fn is_changed_by_one(&self, first: (AccessId, &Item), second: (AccessId, &Item)) -> bool {
        let writes = |by: AccessId, item: &Item| {
            let by = self.access(by);
            let mut own = self.summary.accesses.iter().filter(|access| access.is_write && access.event == by.event);
            // One place that writes to either is not two writes.
            own.any(|access| access.spot != by.spot && Item::of(self.whole, self.method, access).as_ref() == Some(item))
        };
        writes(first.0, second.1) && writes(second.0, first.1)
    }

    /// Whether no section has both, and neither section touches what is the other's: the views are no chain.
    fn are_apart(&self, kind: Kind, first: (AccessId, &Item), second: (AccessId, &Item)) -> bool {
        let (a, b) = (self.access(first.0), self.access(second.0));
        let is_write = kind == Kind::Write;
        // Where a condition chooses between two objects, it is the one or the other.
        let is_instead = |access: &Access, own: &Access| {
            access.event == own.event
                && access.spot == own.spot
                && access.base != own.base
                && self.is_one_step(self.method, own, MAX_DEPTH)
        };
        let has = |held: SectionSet, own: &Access, item: &Item| {
            let is_here = |access: &Access| access.held.0 & held.0 != 0 && !is_instead(access, own);
            view(self.whole, self.method, self.summary, is_write, is_here)
                .iter()
                .any(|(_, known)| known.is_same(self.whole, self.method, item))
        };
        let around = common(a, b);
        let (first_only, second_only) = (a.held.without(around), b.held.without(around));
        !first_only.is_empty()
            && !second_only.is_empty()
            && !self.is_taken_over(first_only, second_only)
            && !self.is_taken_over(second_only, first_only)
            && !has(first_only, a, second.1)
            && !has(second_only, b, first.1)
    }

    /// Whether a lock of the one is taken while the same lock of the other is still held: a write lock becomes a read lock,
    /// and nobody gets in between.
    fn is_taken_over(&self, earlier: SectionSet, later: SectionSet) -> bool {
        let sections = &self.summary.sections;
        later.iter().any(|later| {
            let mut open = earlier.intersection(sections[later].inside).iter();
            open.any(|earlier| sections[earlier].lock.same(&sections[later].lock))
        })
    }

    /// Whether the call that leads to an access comes there in one step, however deep: two steps may be for two objects.
    fn is_one_step(&self, method: MethodId, access: &Access, depth: usize) -> bool {
        let outline = self.whole.summaries.outline(method);
        let event = outline.and_then(|outline| outline.events.get(access.event.index()));
        let Some(Action::Call { kind, method: called, .. }) = event.map(|event| &event.action) else { return true };
        if self.whole.program.method_name(method) == access.spot.method || depth == 0 {
            return true;
        }
        let targets = self.whole.calls.targets(self.whole.program, *kind, *called);
        targets.known().iter().all(|target| {
            let accesses = self.whole.summaries.summary(*target).map(|summary| summary.accesses.as_slice());
            let is_it = |other: &&Access| other.spot == access.spot && other.is_write == access.is_write;
            let mut inside = accesses.unwrap_or_default().iter().filter(is_it);
            inside.next().is_none_or(|first| {
                inside.all(|other| other.event == first.event) && self.is_one_step(*target, first, depth - 1)
            })
        })
    }

    /// Whether the other section can come between the two, and is one with each of them: it holds the lock that they
    /// hold in turn, and no lock that this method holds all the time.
    pub(super) fn may_interfere(&self, first: &Access, second: &Access, other: &Joint) -> bool {
        let Some(summary) = self.whole.summaries.summary(other.method) else { return false };
        let (theirs, also) = (&summary.accesses[other.first.index()], &summary.accesses[other.second.index()]);
        let cover = self.whole.cover().among(self.whole.threads());
        let over_both = locks_over(self.whole, other.method, summary, common(theirs, also));
        let their_locks = cover.also_named(other.method, over_both);
        // In a loop both are one, and nothing lasts from one round to the next.
        let around = if std::ptr::eq(first, second) { SectionSet::default() } else { common(first, second) };
        let is_guarded = |own: &Access, their: &Access| {
            let own_locks = cover.also_named(self.method, locks(self.summary, own.held.without(around)));
            are_exclusive(own, &own_locks, their, &their_locks)
        };
        if !is_guarded(first, theirs) || !is_guarded(second, also) {
            return false;
        }
        let always = locks(self.summary, around);
        // A lock by a name of the method's own may be any of those that the other section holds.
        if always.iter().any(|lock| !is_known(&lock.name)) {
            return false;
        }
        let mut always = cover.also_named(self.method, always);
        always.extend(cover.held_by_callers(self.method));
        let mut their_locks = their_locks;
        their_locks.extend(cover.held_by_callers(other.method));
        if are_exclusive(first, &always, theirs, &their_locks) || are_exclusive(second, &always, also, &their_locks) {
            return false;
        }
        // To what an owner keeps to itself others come by calls alone that it makes with its lock held.
        let is_kept_out = |own: &Access, access: AccessId| {
            let relations: Vec<Relation> = always.iter().filter_map(|lock| Relation::of(own, lock)).collect();
            let place = Place { method: other.method, access };
            cover.covers_access(&self.whole.variables, &place, &relations)
        };
        !is_kept_out(first, other.first) && !is_kept_out(second, other.second)
    }

    /// Whether both sections also write what the reader puts together with either: a third variable that says how things
    /// stand in between, as `held` in `free + held + sold`.
    fn is_carried(&self, first: &Access, second: &Access, reader: &Joint) -> bool {
        let Some(summary) = self.whole.summaries.summary(reader.method) else { return false };
        let around = common(first, second);
        let written = |by: &Access| {
            let held = by.held.without(around);
            view(self.whole, self.method, self.summary, true, |access| !access.held.intersection(held).is_empty())
        };
        let (by_first, by_second) = (written(first), written(second));
        let both: Vec<Variable> = by_first
            .iter()
            .filter(|(_, item)| by_second.iter().any(|(_, other)| other == item))
            .map(|(_, item)| item.variable)
            .collect();
        if both.is_empty() {
            return false;
        }
        let section = common(&summary.accesses[reader.first.index()], &summary.accesses[reader.second.index()]);
        let is_here = |access: &Access| !access.held.intersection(section).is_empty();
        let read = view(self.whole, reader.method, summary, false, is_here);
        let [own, other] = [first, second].map(|access| Variable::of(self.whole.program, access));
        read.iter().filter(|(_, item)| both.contains(&item.variable)).any(|(between, item)| {
            let met_by =
                |end: AccessId| self.use_together(&Joint { method: reader.method, first: *between, second: end });
            Some(item.variable) != own
                && Some(item.variable) != other
                && met_by(reader.first).is_some()
                && met_by(reader.second).is_some()
        })
    }

    /// Whether something that the other section writes, a version or the data itself, is read twice and the two
    /// compared: the reader sees for itself.
    fn is_checked_again(&self, other: &Joint) -> bool {
        let Some(summary) = self.whole.summaries.summary(other.method) else { return false };
        let section = common(&summary.accesses[other.first.index()], &summary.accesses[other.second.index()]);
        let written = view(self.whole, other.method, summary, true, |access| access.held.0 & section.0 != 0);
        let reads = self.touched(Kind::Read);
        // What one step tells is only held against what tells the same: `low() * step()` and `step() * high()` have a step in
        // common, and nobody compares it.
        let told = |read: AccessId| {
            let of_event = reads.iter().filter(move |(other, _)| self.access(*other).event == self.access(read).event);
            of_event.map(|(_, item)| item)
        };
        let is_same = |read: AccessId, again: AccessId| {
            let has = |read: AccessId, item: &Item| told(read).any(|other| other == item);
            told(read).all(|item| has(again, item)) && told(again).all(|item| has(read, item))
        };
        reads.iter().enumerate().any(|(index, (read, item))| {
            written.iter().any(|(_, written)| written.variable == item.variable)
                && reads[index + 1..].iter().any(|(again, same)| {
                    same == item
                        && self.access(*again).event != self.access(*read).event
                        && is_same(*read, *again)
                        && self.meeting(self.method, *read, *again).is_some()
                })
        })
    }

    /// Where a section that reads both uses them together.
    fn use_together(&self, reader: &Joint) -> Option<Met> {
        let (first, second) = (self.likes(reader, reader.first), self.likes(reader, reader.second));
        let mut pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b)));
        pairs.find_map(|(a, b)| self.meeting(reader.method, a, b))
    }

    /// Whether the reader finds the one by what the other tells, and that is written first: it is told of what is not
    /// yet there. The other way around nobody looks before all is there. What is taken away is to be taken from the other
    /// one first.
    fn looked_up_too_early(&self, first: &Access, second: &Access, reader: &Joint) -> Option<Met> {
        let summary = self.whole.summaries.summary(reader.method)?;
        let is_taken_away = first.is_removal && second.is_removal;
        let (index, content) = match (first.event <= second.event) != is_taken_away {
            true => (reader.first, reader.second),
            false => (reader.second, reader.first),
        };
        let index = self.likes(reader, index);
        self.likes(reader, content).into_iter().find_map(|content| {
            let content = &summary.accesses[content.index()];
            let is_found = content.address.iter().any(|influence| match influence.root {
                Root::Access(access) => index.contains(&access),
                Root::Parameter(_) => false,
            });
            is_found.then_some(Met { spot: content.spot, kind: MeetingKind::Computed })
        })
    }

    /// Whether the reader puts what is written second in the place of what is written first, as who swaps two does: between
    /// the two writes it undoes the first, and no order of both as wholes would.
    fn put_across(&self, first: &Access, second: &Access, reader: &Joint) -> Option<Met> {
        let summary = self.whole.summaries.summary(reader.method)?;
        let item = |access: &Access| Item::of(self.whole, reader.method, access);
        let (over, from) = match first.event <= second.event {
            true => (reader.first, reader.second),
            false => (reader.second, reader.first),
        };
        let (over, from) = (&summary.accesses[over.index()], self.likes(reader, from));
        let mut writes = summary.accesses.iter().filter(|write| write.is_write && write.held.0 & over.held.0 != 0);
        let put = writes.find(|write| {
            let is_from = |root: Root| matches!(root, Root::Access(read) if from.contains(&read));
            write.value.iter().any(|influence| is_from(influence.root)) && item(write) == item(over)
        })?;
        Some(Met { spot: put.spot, kind: MeetingKind::Computed })
    }

    /// All accesses of a section that touch the same as one of them, in the same way.
    fn likes(&self, joint: &Joint, access: AccessId) -> Vec<AccessId> {
        let Some(summary) = self.whole.summaries.summary(joint.method) else { return Vec::new() };
        let one = &summary.accesses[access.index()];
        let item = Item::of(self.whole, joint.method, one);
        let accesses = summary.accesses.iter().enumerate();
        let same = accesses.filter(|(_, other)| {
            other.is_write == one.is_write
                && other.held.0 & one.held.0 != 0
                && Item::of(self.whole, joint.method, other) == item
        });
        same.map(|(index, _)| AccessId(index as u32)).take(MAX_LIKE).collect()
    }
}

/// Whether a name tells which object it is, seen from the method's caller.
pub(super) fn is_known(name: &Name) -> bool {
    matches!(name.start, Start::Parameter(_) | Start::Static(_) | Start::Class(_))
}

/// Whether one of these locks, held at the one access, keeps out who holds one of those at the other.
pub(super) fn are_exclusive(own: &Access, own_locks: &[HeldLock], their: &Access, their_locks: &[HeldLock]) -> bool {
    let relations = |access: &Access, held: &[HeldLock]| -> Vec<Relation> {
        held.iter().flat_map(|lock| Relation::all_of(access, lock)).collect()
    };
    let theirs = relations(their, their_locks);
    relations(own, own_locks).iter().any(|own| theirs.iter().any(|their| own.excludes(their)))
}
