//! Commit nodes: which suspected pairs of accesses other threads can come in between, whatever this run did.
//!
//! The units are those that the static half suspects: in one activation of a method, from an access of a first part to
//! an access of a second part. They overlap as they like, and each is checked on its own.
//!
//! Reports: each suspicion that the run supports. A thread must have done something that the first access comes before
//! and the second after, if it is put in between: it conflicts with both, or with one after the other. Start, join and
//! barriers must leave it free to run there, and no lock that is held over the whole unit may keep it out. If it did run
//! there, the finding is observed, else predicted. For a suspicion that is told without a run, a conflict with the
//! first access is enough: what follows from it is known from the code. So is another thread that began the same unit
//! on the same variable.
//! Misses: what only several other threads do together; suspicions that nobody had; code that did not run.
//! What a thread does to an object that it made, before anybody else touches it, disturbs nobody.
//! May be wrong when: something other than locks, start, join and barriers keeps the threads apart.
//! Method: conflict edges between the commit nodes of units that ran, after Chen, Serbanuta and Rosu's and Wang and
//! Stoller's predictive analyses; the order inside the other thread counts, and so do locks that are held throughout.
//! Page: docs/rules/not-atomic.md

mod clock;
mod explain;
mod records;

#[cfg(test)]
mod tests;

use finding::{Evidence, Finding, Suspicion};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{
    Action, ActivationId, Cause, Event, Interval, LockId, MethodId, ObjectId, Ran, SiteId, Tables, ThreadId, VariableId,
};

use crate::lockset::{Holds, LockSets};
use clock::{Clock, Clocks};
use records::{Access, Held, Index, Moment, Record};

/// The name of the detector.
pub const COMMIT_NODES: &str = "commit-nodes";

/// One run, watched for suspicions.
pub struct Pairs {
    suspicions: Vec<Suspicion>,
    /// Which parts of which suspicions a place belongs to.
    roles: FxHashMap<PlaceKey, Vec<Role>>,
    methods: FxHashMap<String, Vec<usize>>,
    /// The same by numbers of the trace, found when a number is first seen.
    sites: Vec<Option<Roles>>,
    entered: FxHashMap<MethodId, Box<[usize]>>,
    threads: FxHashMap<ThreadId, Thread>,
    clocks: Clocks,
    sets: LockSets,
    index: Index,
    /// Objects that nobody but their creator has touched.
    prepared: FxHashMap<ObjectId, ThreadId>,
    seen: Vec<Seen>,
    now: Moment,
    most_records: usize,
    /// How often records were given up because there were too many.
    forgot: u64,
}

/// A suspicion, and which part of it.
type Role = (usize, Part);

/// All that one place means.
type Roles = Box<[Role]>;

/// Class, method, descriptor, offset.
type PlaceKey = (String, String, String, u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    // Of an access that belongs to both, the second part comes first: it ends a unit before it begins the next.
    Second,
    First,
}

#[derive(Default)]
struct Thread {
    holds: Holds,
    activations: Vec<Activation>,
    /// When the thread took the first of the locks that it holds.
    section: Option<Moment>,
    arms: Vec<bool>,
}

struct Activation {
    id: ActivationId,
    open: Vec<Open>,
}

/// First parts of one suspicion that wait for a second.
struct Open {
    suspicion: usize,
    firsts: Vec<First>,
}

#[derive(Clone, Copy)]
struct First {
    access: Access,
    /// What has been held ever since.
    held: Held,
}

/// What is known about one suspicion.
#[derive(Default)]
struct Seen {
    /// How many units ran.
    units: u64,
    support: Option<Support>,
    /// Units that nobody came in between so far; whoever comes later may.
    waiting: Vec<Unit>,
    known: FxHashSet<UnitKey>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unit {
    thread: ThreadId,
    first: Access,
    second: Access,
    held: Held,
}

type UnitKey = (ThreadId, VariableId, bool, VariableId, bool, Held, Clock, Clock);

/// Why a suspicion is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Support {
    unit: Unit,
    other: ThreadId,
    /// What came, or can come, after the first access.
    after: Access,
    /// What came, or can come, before the second. The same, if one access conflicts with both.
    before: Option<Access>,
    evidence: Evidence,
}

/// What one run says.
pub struct Answered {
    pub findings: Vec<Finding>,
    /// Suspicions that are told without a run and that this run does not support.
    pub unsupported: usize,
    /// Suspected units that ran.
    pub units: u64,
    /// How often what was known of other threads' accesses was given up for lack of room.
    pub forgot: u64,
}

impl Pairs {
    /// Different units of one suspicion that are kept to wait for other threads.
    const MOST_WAITING: usize = 64;
    /// Different first accesses that one activation waits with.
    const MOST_FIRSTS: usize = 16;

    /// `most_records` bounds what is kept of other threads' accesses.
    pub fn new(suspicions: Vec<Suspicion>, most_records: usize) -> Pairs {
        let mut roles: FxHashMap<PlaceKey, Vec<Role>> = FxHashMap::default();
        let mut methods: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (number, suspicion) in suspicions.iter().enumerate() {
            for (part, places) in [(Part::First, &suspicion.first), (Part::Second, &suspicion.second)] {
                for place in places {
                    let method = place.method.clone();
                    let key = (method.class, method.name, method.descriptor, place.pc);
                    let known = roles.entry(key).or_default();
                    if !known.contains(&(number, part)) {
                        known.push((number, part));
                    }
                }
            }
            let method = &suspicion.finding.method;
            let name = format!("{}.{}:{}", method.class, method.name, method.descriptor);
            methods.entry(name).or_default().push(number);
        }
        let seen = suspicions.iter().map(|_| Seen::default()).collect();
        Pairs {
            suspicions,
            roles,
            methods,
            sites: Vec::new(),
            entered: FxHashMap::default(),
            threads: FxHashMap::default(),
            clocks: Clocks::default(),
            sets: LockSets::default(),
            index: Index::default(),
            prepared: FxHashMap::default(),
            seen,
            now: 0,
            most_records,
            forgot: 0,
        }
    }

    /// The next events of the run. `tables` name what they refer to.
    pub fn on_events(&mut self, events: &[Event], tables: &Tables) {
        for event in events {
            self.on_event(event, tables);
        }
    }

    fn on_event(&mut self, event: &Event, tables: &Tables) {
        self.now += 1;
        let thread = self.threads.entry(event.thread).or_default();
        if thread.arms.contains(&true) {
            // What did not run supports nothing.
            match event.action {
                Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd | Action::Lost { .. } => {}
                _ => return,
            }
        }
        match event.action {
            Action::Read { variable } => self.access(event, variable, trace::Access::Read, None, tables),
            Action::Write { variable } => self.access(event, variable, trace::Access::Write, None, tables),
            Action::Sync { variable, access, kind: _, interval } => {
                self.access(event, variable, access, interval, tables);
            }
            Action::Acquire { lock, mode, cause, .. } => {
                thread.holds.acquire(lock, mode, cause);
                thread.section.get_or_insert(self.now);
            }
            Action::Release { lock, mode, cause } => {
                if thread.holds.release(lock, mode, cause) == Some(true) {
                    self.let_go(event.thread, lock, cause);
                }
            }
            Action::Enter { activation, method } => self.enter(event.thread, activation, method, tables),
            Action::Exit { activation } => {
                if let Some(index) = thread.activations.iter().rposition(|open| open.id == activation) {
                    thread.activations.truncate(index);
                }
            }
            Action::Start { child } => {
                thread.divide();
                self.clocks.start(event.thread, child);
            }
            Action::Join { child } => {
                thread.divide();
                self.clocks.join(event.thread, child);
            }
            // Who tells others to go on does not wait itself: its units go on, too.
            Action::Arrive { barrier, generation } => self.clocks.arrive(event.thread, (barrier, generation)),
            Action::Leave { barrier, generation } => {
                thread.divide();
                self.clocks.leave(event.thread, (barrier, generation));
            }
            Action::ArmBegin { ran, .. } => thread.arms.push(ran == Ran::Speculated),
            Action::ArmEnd { .. } => {
                thread.arms.pop();
            }
            Action::ThreadEnd => *thread = Thread::default(),
            Action::Lost { events: _, all } => {
                // Nobody knows what is held and which methods are open.
                if all {
                    self.threads.clear();
                } else {
                    *thread = Thread::default();
                }
            }
            Action::New { object } => {
                self.prepared.insert(object, event.thread);
            }
            Action::ThreadBegin | Action::UnitBegin { .. } | Action::UnitEnd { .. } => {}
        }
    }

    fn enter(&mut self, thread: ThreadId, id: ActivationId, method: MethodId, tables: &Tables) {
        let methods = &self.methods;
        let suspicions = self
            .entered
            .entry(method)
            .or_insert_with(|| methods.get(&tables.method_name(method)).cloned().unwrap_or_default().into());
        let open = suspicions.iter().map(|&suspicion| Open { suspicion, firsts: Vec::new() }).collect();
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.activations.push(Activation { id, open });
        }
    }

    fn let_go(&mut self, thread: ThreadId, lock: LockId, cause: Cause) {
        let sets = &mut self.sets;
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        if thread.holds.any(sets).is_empty() || cause == Cause::Wait {
            thread.section = None;
        }
        // A lock with two modes may still be held in the other one, which keeps others out as before or less.
        let (any, alone) = (thread.holds.any(sets), thread.holds.exclusive(sets));
        for open in thread.activations.iter_mut().flat_map(|activation| &mut activation.open) {
            for first in &mut open.firsts {
                if !sets.locks(any).contains(&lock) {
                    first.held.any = sets.without(first.held.any, lock);
                }
                if !sets.locks(alone).contains(&lock) {
                    first.held.alone = sets.without(first.held.alone, lock);
                }
            }
        }
    }

    fn access(
        &mut self,
        event: &Event,
        variable: VariableId,
        access: trace::Access,
        interval: Option<Interval>,
        tables: &Tables,
    ) {
        let clock = self.clocks.now(event.thread);
        let Some(thread) = self.threads.get_mut(&event.thread) else { return };
        let held = Held { any: thread.holds.any(&mut self.sets), alone: thread.holds.exclusive(&mut self.sets) };
        let section = thread.section.unwrap_or(self.now);
        let access = Access {
            moment: self.now,
            site: event.site,
            stack: event.stack,
            variable,
            writes: access.writes(),
            updates: access == trace::Access::Update,
            interval,
            clock,
            section,
        };
        if self.index.len() + self.prepared.len() >= self.most_records {
            self.index.clear();
            self.prepared.clear();
            self.forgot += 1;
        }
        if !self.is_preparation(event.thread, tables.variable(variable).object) {
            self.index.add(event.thread, held, access);
        }
        self.know(event.site, tables);
        let roles = self.sites[event.site.index()].take().unwrap_or_default();
        for &(suspicion, part) in &roles {
            match part {
                Part::First => self.first(event.thread, suspicion, First { access, held }),
                Part::Second => self.second(event.thread, suspicion, access),
            }
        }
        self.sites[event.site.index()] = Some(roles);
    }

    /// Whether the thread has made the object and nobody else has touched it yet. What is done to it until then disturbs
    /// no one who gets it later.
    fn is_preparation(&mut self, thread: ThreadId, object: ObjectId) -> bool {
        match self.prepared.get(&object) {
            Some(creator) if *creator == thread => true,
            Some(_) => {
                self.prepared.remove(&object);
                false
            }
            None => false,
        }
    }

    /// Finds out once what a place means.
    fn know(&mut self, site: SiteId, tables: &Tables) {
        if site.index() >= self.sites.len() {
            self.sites.resize(site.index() + 1, None);
        }
        if self.sites[site.index()].is_some() {
            return;
        }
        let roles = tables.frame(site).and_then(|frame| {
            let text = |id| tables.string(id).to_owned();
            let key = (text(frame.class), text(frame.method), text(frame.descriptor), frame.pc);
            self.roles.get(&key)
        });
        let mut roles = roles.cloned().unwrap_or_default();
        roles.sort_by_key(|&(_, part)| part);
        self.sites[site.index()] = Some(roles.into());
    }

    /// A first part: the latest of its place counts.
    fn first(&mut self, thread: ThreadId, suspicion: usize, first: First) {
        let Some(open) = self.threads.get_mut(&thread).and_then(|thread| thread.open(suspicion)) else { return };
        match open.firsts.iter().position(|known| known.access.site == first.access.site) {
            Some(known) => open.firsts[known] = first,
            None if open.firsts.len() < Pairs::MOST_FIRSTS => open.firsts.push(first),
            None => {}
        }
    }

    /// A second part: with each first that waits for it a unit.
    fn second(&mut self, thread: ThreadId, suspicion: usize, second: Access) {
        let Some(open) = self.threads.get_mut(&thread).and_then(|thread| thread.open(suspicion)) else { return };
        let units: Vec<Unit> =
            open.firsts.iter().map(|first| Unit { thread, first: first.access, second, held: first.held }).collect();
        self.seen[suspicion].units += u64::from(!units.is_empty());
        for unit in units {
            self.unit(suspicion, unit);
        }
    }

    fn unit(&mut self, suspicion: usize, unit: Unit) {
        let seen = &self.seen[suspicion];
        if seen.support.is_some_and(|support| support.evidence >= Evidence::Observed) {
            return;
        }
        if let Some(support) = self.support(&unit, suspicion) {
            let known = &mut self.seen[suspicion].support;
            if known.is_none_or(|known| known.evidence < support.evidence) {
                *known = Some(support);
            }
            return;
        }
        let seen = &mut self.seen[suspicion];
        let (first, second) = (unit.first, unit.second);
        let key = (
            unit.thread,
            first.variable,
            first.writes,
            second.variable,
            second.writes,
            unit.held,
            first.clock,
            second.clock,
        );
        if seen.support.is_none() && seen.waiting.len() < Pairs::MOST_WAITING && seen.known.insert(key) {
            seen.waiting.push(unit);
        }
    }

    /// Whether another thread came, or can come, in between.
    fn support(&mut self, unit: &Unit, suspicion: usize) -> Option<Support> {
        let is_told = self.suspicions[suspicion].is_told;
        let found = self.conflict(unit, is_told);
        if is_told { found.or_else(|| self.rival(unit, suspicion)) } else { found }
    }

    /// Another thread that began the same unit on the same variable. It did not get to its second part in this run, as
    /// where a room is full by then; the code says what that would have been.
    fn rival(&mut self, unit: &Unit, suspicion: usize) -> Option<Support> {
        if unit.first.variable != unit.second.variable || !unit.second.writes {
            return None;
        }
        let begins = |access: &Access| {
            let roles = self.sites.get(access.site.index()).and_then(Option::as_ref);
            roles.is_some_and(|roles| roles.contains(&(suspicion, Part::First)))
        };
        let record = self
            .index
            .of(unit.first.variable)
            .iter()
            .find(|record| begins(&record.last) && is_free(unit, record, &self.clocks, &mut self.sets))?;
        let evidence = Evidence::Predicted;
        Some(Support { unit: *unit, other: record.thread, after: record.last, before: None, evidence })
    }

    fn conflict(&mut self, unit: &Unit, is_told: bool) -> Option<Support> {
        let mut best: Option<Support> = None;
        for after in self.index.of(unit.first.variable) {
            if !is_free(unit, after, &self.clocks, &mut self.sets) {
                continue;
            }
            for after_access in [after.first, after.last] {
                if !unit.first.conflicts(&after_access) {
                    continue;
                }
                let before = if unit.second.conflicts(&after_access) {
                    Some(after_access)
                } else {
                    closing(unit, after, &after_access, &self.index, &self.clocks, &mut self.sets)
                };
                if before.is_none() && !is_told {
                    continue;
                }
                let observed =
                    before.is_some_and(|before| unit.first.is_before(&after_access) && before.is_before(&unit.second));
                let evidence = if observed { Evidence::Observed } else { Evidence::Predicted };
                let support = Support { unit: *unit, other: after.thread, after: after_access, before, evidence };
                if best.is_none_or(|best| best.evidence < evidence) {
                    best = Some(support);
                }
            }
        }
        best
    }

    /// What the run says about each suspicion, at its end.
    pub fn finish(mut self, tables: &Tables) -> Answered {
        let mut answered = Answered { findings: Vec::new(), unsupported: 0, units: 0, forgot: self.forgot };
        for number in 0..self.suspicions.len() {
            // Others may have come after the unit was over: they could have come earlier.
            let waiting = std::mem::take(&mut self.seen[number].waiting);
            let is_told = self.suspicions[number].is_told;
            for unit in &waiting {
                if self.seen[number].support.is_none() {
                    self.seen[number].support = self.support(unit, number);
                }
            }
            let seen = &self.seen[number];
            answered.units += seen.units;
            match &seen.support {
                Some(support) => {
                    answered.findings.push(explain::explain(&self.suspicions[number], support, seen.units, tables));
                }
                None => answered.unsupported += usize::from(is_told),
            }
        }
        answered
    }
}

impl Thread {
    /// The latest activation of the method of a suspicion.
    fn open(&mut self, suspicion: usize) -> Option<&mut Open> {
        let mut activations = self.activations.iter_mut().rev();
        activations.find_map(|activation| activation.open.iter_mut().find(|open| open.suspicion == suspicion))
    }

    /// What comes before and what comes after are not one unit.
    fn divide(&mut self) {
        for open in self.activations.iter_mut().flat_map(|activation| &mut activation.open) {
            open.firsts.clear();
        }
    }
}

/// Whether accesses of a record can be put between the two of a unit.
fn is_free(unit: &Unit, record: &Record, clocks: &Clocks, sets: &mut LockSets) -> bool {
    record.thread != unit.thread
        && !clocks.is_before(record.thread, record.first.clock, unit.first.clock)
        && !clocks.is_before(unit.thread, unit.second.clock, record.first.clock)
        && !unit.held.excludes(record.held, sets)
}

/// An access of the same thread, not before `after`, that the second access of the unit comes after.
fn closing(
    unit: &Unit,
    after: &Record,
    after_access: &Access,
    index: &Index,
    clocks: &Clocks,
    sets: &mut LockSets,
) -> Option<Access> {
    let mut found: Option<Access> = None;
    for record in index.of(unit.second.variable) {
        let fits = record.thread == after.thread
            && unit.second.conflicts(&record.last)
            && record.last.moment >= after_access.moment
            && is_free(unit, record, clocks, sets)
            // Between two sections the thread may have taken a lock that is held over the whole unit.
            && (unit.held.any.is_empty() || record.last.section == after_access.section);
        if fits && found.is_none_or(|found| record.last.moment < found.moment) {
            found = Some(record.last);
        }
    }
    found
}
