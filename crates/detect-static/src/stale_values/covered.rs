//! What keeps others out from the read of an old value to the write that it reaches.

use std::cell::LazyCell;

use program::outline::{Action, Member, Name, NameStep, Object, Origin, OutlineSection, SectionSet, Source, Start};
use program::summary::{Access, Root};
use program::{Cover, FieldId, HeldLock, LockKind, MethodId, Place, Relation, Variable, locks, locks_of};

use super::rules::{Looking, Stale, Use};

/// Callers further up than this are not asked.
const MAX_CLIMB: usize = 3;

impl Looking<'_> {
    /// Whether a lock that is held, named differently, may be the one of a section: `low` is `from` or `to`.
    fn may_be_held(&self, around: usize, lock: &Name) -> bool {
        let section = &self.summary.sections[around];
        let Some(outline) = self.whole.summaries.outline(self.method).filter(|_| section.call.is_none()) else {
            return false;
        };
        let own = outline.sections.iter().find(|own| own.pc == section.spot.pc && !own.is_method);
        own.is_some_and(|own| {
            own.objects.len() > 1
                && lock.steps == own.lock.steps
                && own.objects.iter().any(|object| match (object, lock.start) {
                    (Object::Parameter(one), Start::Parameter(other)) => *one == other,
                    (Object::New { register, .. }, Start::New(other)) => *register == other,
                    (Object::Event(one), Start::Result(other)) => *one == other,
                    _ => false,
                })
        })
    }

    /// Whether a volatile field is read under a lock that all of its writers hold: then that lock's sections count.
    pub(super) fn is_guarded(&self, section: usize, read: &Access, variable: Variable) -> bool {
        let is_volatile = self.summary.sections[section].kind == LockKind::Own
            && matches!(read.member, Member::Field(_) | Member::Static(_));
        if !is_volatile {
            return false;
        }
        let held = read.held.iter().map(|section| &self.summary.sections[section]).map(|around| HeldLock {
            name: around.lock.clone(),
            kind: around.kind,
            mode: around.mode,
        });
        // A lock that is held in one way or another, on each path by another section.
        let outline = self.whole.summaries.outline(self.method);
        let perhaps = outline.into_iter().flat_map(|outline| {
            let sections = outline.events[read.event.index()].perhaps.iter();
            sections.filter_map(move |section| outline.sections.get(section)).map(|around| HeldLock {
                name: around.lock.clone(),
                kind: around.kind,
                mode: around.mode,
            })
        });
        let is_own = read.base == Name::start(Start::Parameter(0));
        let holders = LazyCell::new(|| if is_own { self.holders(self.method, MAX_CLIMB) } else { None });
        let is_elsewhere = |place: &Place| {
            let base = self.access_at(place).map(|write| &write.base);
            base == Some(&read.base)
                && holders.as_ref().is_some_and(|holders| {
                    let others = self.holders(place.method, MAX_CLIMB);
                    others.is_some_and(|others| !others.iter().any(|other| holders.contains(other)))
                })
        };
        let variables = &self.whole.variables;
        held.chain(perhaps).filter(|held| held.kind != LockKind::Own).any(|held| {
            let relation = Relation::of_found(self.summary, read, &held);
            relation.is_some_and(|relation| {
                self.cover().cover_writes(variables, variable, &[relation], |place| !is_elsewhere(place))
            })
        })
    }

    /// The fields that hold the objects on which a method is called, if each has its object for itself.
    fn holders(&self, method: MethodId, climb: usize) -> Option<Vec<FieldId>> {
        let (whole, mut found, mut is_known) = (self.whole, Vec::new(), false);
        let is_open = whole.program.method(method).access.is_static() || whole.threads().is_from_outside(method);
        if is_open || climb == 0 {
            return None;
        }
        for caller in whole.calls.callers(method) {
            for event in &whole.outlines().get(*caller)?.events {
                let given = match &event.action {
                    Action::Call { kind, method: called, arguments }
                        if whole.calls.targets(whole.program, *kind, *called).known().contains(&method) =>
                    {
                        &arguments.first()?.name
                    }
                    Action::Lambda { method: made, .. }
                        if whole.calls.lambda_targets(whole.program, *made).known().contains(&method) =>
                    {
                        return None;
                    }
                    _ => continue,
                };
                is_known = true;
                match given.steps.last() {
                    None if given.start == Start::Parameter(0) => found.extend(self.holders(*caller, climb - 1)?),
                    Some(NameStep::Field(field)) if whole.summaries.holdings.is_own(whole.program, *field) => {
                        found.push(whole.program.resolve_field(*field)?);
                    }
                    _ => return None,
                }
            }
        }
        is_known.then_some(found)
    }

    /// Whether whoever writes a field, read here without a lock, holds the lock of a section.
    pub(super) fn keeps_writers_out(&self, section: usize, read: &Access) -> bool {
        let around = &self.summary.sections[section];
        let Some(variable) = self.variable(read).filter(|_| around.kind != LockKind::Own) else { return false };
        let held = HeldLock { name: around.lock.clone(), kind: around.kind, mode: around.mode };
        // Of a large program threads hardly tell who has an object, and this is asked of every glance.
        let cover = if self.whole.is_narrow() { self.whole.cover() } else { self.cover() };
        Relation::of_found(self.summary, read, &held)
            .is_some_and(|relation| cover.covers(&self.whole.variables, variable, &relation))
    }

    /// Whether the callers have given the lock that is held over both, together with the object: which lock goes with which
    /// object is theirs to know.
    pub(super) fn is_under_given_lock(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let is_given = |section: usize| {
            let around = &self.summary.sections[section];
            around.kind != LockKind::Own
                && matches!(around.lock.start, Start::Parameter(_))
                && around.lock.steps.is_empty()
        };
        read.bare_parameter().is_some() && read.held.intersection(write.held).iter().any(is_given)
    }

    /// Locks that are held over both, taken at one place or another: `if (!lock.tryLock()) lock.lock();`.
    fn held_either_way(&self, read: &Access, write: &Access) -> Vec<HeldLock> {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return Vec::new() };
        let perhaps = |access: &Access| outline.events[access.event.index()].perhaps;
        let both = perhaps(read).intersection(perhaps(write));
        let sections = || both.iter().filter_map(|section| outline.sections.get(section));
        let is_either = |one: &OutlineSection| {
            sections().filter(|other| other.kind == one.kind && other.lock.same(&one.lock)).count() > 1
        };
        let either = sections().filter(|one| is_either(one));
        either.map(|one| HeldLock { name: one.lock.clone(), kind: one.kind, mode: one.mode }).collect()
    }

    /// The writes that no lock keeps out which is held from the read to the write; all, if there is none.
    pub(super) fn getting_in(&self, stale: &Stale, writers: &[Place]) -> Vec<Place> {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let relations: Vec<Relation> = read
            .held
            .intersection(write.held)
            .iter()
            .map(|section| &self.summary.sections[section])
            .filter(|section| section.kind != LockKind::Own && !stale.is_waited())
            .map(|section| HeldLock { name: section.lock.clone(), kind: section.kind, mode: section.mode })
            .filter_map(|held| Relation::of_found(self.summary, read, &held))
            .collect();
        let is_kept_out = |place: &Place| {
            self.cover().cover_writes(&self.whole.variables, stale.variable, &relations, |other| other == place)
        };
        let left: Vec<Place> = writers.iter().copied().filter(|place| !is_kept_out(place)).collect();
        if left.is_empty() { writers.to_vec() } else { left }
    }

    /// Whether something is put where nothing was found: who takes things out meanwhile does not change that.
    pub(super) fn is_put_because_absent(&self, stale: &Stale) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let is_it = |source: &Source| source.origin == Origin::Event(read.event);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && read.is_keyed
            && write.is_keyed
            && !write.is_removal
            && outline.events[write.event.index()].control.iter().any(|condition| {
                let condition = &outline.conditions[*condition as usize];
                condition.sources.iter().all(is_it)
                    && (outline.is_because_absent(condition, write.event)
                        || self.asks_presence(read) && outline.is_because_nought(condition, write.event))
            })
    }

    fn is_removal(&self, place: &Place) -> bool {
        self.access_at(place).is_some_and(|access| access.is_removal)
    }

    pub(super) fn cover(&self) -> Cover<'_> {
        self.whole.cover().among(self.whole.threads())
    }

    /// Whether something excludes all other writers from the read to the write: a lock held over both, here or by
    /// whoever calls the method.
    pub(super) fn is_covered(&self, stale: &Stale, cover: &Cover<'_>) -> bool {
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let first = &self.summary.sections[stale.first];
        let ended: Vec<usize> = write
            .value
            .iter()
            .chain(&write.control)
            .filter(|influence| influence.root == Root::Access(stale.read))
            .flat_map(|influence| influence.ended.iter())
            .collect();
        // What goes over a container does not keep others out of it.
        let is_lasting =
            |section: usize| stale.how != Use::Iterated || self.summary.sections[section].kind != LockKind::Own;
        let over_both: Vec<usize> = read
            .held
            .iter()
            .filter(|section| write.held.contains(*section) && !ended.contains(section) && is_lasting(*section))
            .collect();
        if over_both.iter().any(|around| self.may_be_held(*around, &first.lock)) {
            return true;
        }
        let mut sections = SectionSet::default();
        over_both.into_iter().for_each(|section| sections.insert(section));
        let outline = self.whole.summaries.outline(self.method);
        let around = outline.map(|outline| locks_of(self.summary, outline, sections));
        let around = around.unwrap_or_else(|| locks(self.summary, sections)).into_iter();
        let around = around.chain(self.held_either_way(read, write));
        let around = cover.also_named(self.method, around.collect()).into_iter();
        let by_callers = cover.held_by_callers(self.method);
        // A wait lets go of the lock however often it is held.
        let is_waited = stale.is_waited();
        if !is_waited && by_callers.iter().any(|held| held.kind == first.kind && held.name.same(&first.lock)) {
            return true;
        }
        let waited = HeldLock { name: first.lock.clone(), kind: first.kind, mode: first.mode };
        let waited = cover.also_named(self.method, vec![waited]);
        let is_let_go = |held: &HeldLock| is_waited && waited.iter().any(|waited| held.name.same(&waited.name));
        let held = around.chain(by_callers.iter().cloned()).filter(|held| !is_let_go(held));
        let relations: Vec<Relation> = held.filter_map(|held| Relation::of_found(self.summary, read, &held)).collect();
        let variables = &self.whole.variables;
        cover.cover_together(variables, stale.variable, &relations)
            || self.way(stale).is_some_and(|way| {
                cover.cover_writes(variables, stale.variable, &relations, |place| !self.goes_against(place, way))
            })
            || self.is_put_because_absent(stale)
                && cover.cover_writes(variables, stale.variable, &relations, |place| !self.is_removal(place))
            || !is_waited && cover.is_covered_outside(variables, stale.variable, self.method, read)
    }
}
