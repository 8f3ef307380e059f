//! Commit nodes: which suspected pairs of accesses other threads can come in between, whatever this run did.
//!
//! The units are those that the static half suspects: in one activation of a method, from an access of a first part to
//! an access of a second part. They overlap as they like, and each is checked on its own.
//!
//! Reports: each suspicion that the run supports. A thread must have done something that the first access comes before
//! and the second after, if it is put in between: it conflicts with both, or with one after the other. Start, join and
//! barriers must leave it free to run there, and no lock that is held over the whole unit may keep it out. If it did run
//! there, the finding is observed, else predicted. A suspicion may need to be observed. For a suspicion that is told without a run, a conflict with the
//! first access is enough: what follows from it is known from the code. So is another thread that began the same unit
//! on the same variable. And such a unit may stop halfway: if the branch to its second part was not taken, the part is
//! filled in with the object of the first, and marked as what did not run. Then somebody must have done more than begin:
//! a conflicting access, or the second part at another time. If no thread even began a unit that is told without a run,
//! a thread that was in a method which leads to it, and had its hands on the same variable there, could have (`ways`).
//! Misses: what only several other threads do together; suspicions that nobody had; code that the run did not come near.
//! What a thread does to an object that it made, before anybody else touches it, disturbs nobody.
//! May be wrong when: something other than locks, start, join and barriers keeps the threads apart.
//! Method: conflict edges between the commit nodes of units that ran, after Chen, Serbanuta and Rosu's and Wang and
//! Stoller's predictive analyses; the order inside the other thread counts, and so do locks that are held throughout.
//! Page: docs/rules/not-atomic.md

mod explain;
mod judge;
mod records;
mod seen;
mod support;
mod threads;
mod turns;
mod ways;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use finding::{Detour, Finding, Suspicion};
use location::MethodPlace;
use rustc_hash::FxHashMap;
use trace::{Action, ActivationId, Event, LockId, MethodId, ObjectId, Ran, SiteId, Tables, ThreadId, VariableId};

use crate::clock::Clocks;
use crate::lockset::LockSets;
use records::{Access, Index, Moment, Record, Span};
use seen::{Seen, Unit};
use threads::{Activation, First, Open, Thread};
use turns::Turns;

/// The name of the detector.
pub const COMMIT_NODES: &str = "commit-nodes";

/// One run, watched for suspicions.
pub struct Pairs {
    suspicions: Vec<Suspicion>,
    /// Which parts of which suspicions a place belongs to.
    roles: FxHashMap<PlaceKey, Vec<Role>>,
    methods: FxHashMap<String, Entered>,
    /// The same by numbers of the trace, found when a number is first seen.
    sites: Vec<Option<Roles>>,
    entered: FxHashMap<MethodId, Arc<Entered>>,
    threads: Vec<Thread>,
    clocks: Clocks,
    sets: LockSets,
    index: Index,
    /// Objects that nobody but their creator has touched.
    prepared: FxHashMap<ObjectId, ThreadId>,
    turns: Turns,
    seen: Vec<Seen>,
    /// Room for the units of one second part.
    units: Vec<Unit>,
    now: Moment,
    most_records: usize,
    /// How often records were given up because there were too many.
    forgot: u64,
}

/// A suspicion, and which part of it.
type Role = (usize, Part);

/// All that one place means.
type Roles = Box<[Role]>;

/// What it means to enter a method.
#[derive(Clone, Default)]
struct Entered {
    /// The suspicions whose units are in the method, ...
    own: Vec<usize>,
    /// ... and those that it leads to.
    leads_to: Vec<usize>,
}

/// Class, method, descriptor, offset.
type PlaceKey = (String, String, String, u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    // Of an access that belongs to both, the second part comes first: it ends a unit before it begins the next.
    Second,
    First,
    /// An access to what a first part accesses, wherever it is.
    Touch,
    /// A read of what a first part reads, by code that may write it as well.
    Rewrite,
    /// An access that tells which object a method has that leads to a unit.
    Witness,
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
    /// Beyond, nobody counts how often it happened.
    const MOST_COUNTED: u64 = 1_000;
    /// About what one record of an access takes, with all that belongs to it.
    pub const RECORD_BYTES: usize = 200;

    /// `most_records` bounds what is kept of other threads' accesses.
    pub fn new(suspicions: Vec<Suspicion>, most_records: usize) -> Pairs {
        let mut roles: FxHashMap<PlaceKey, Vec<Role>> = FxHashMap::default();
        let mut methods: FxHashMap<String, Entered> = FxHashMap::default();
        let name = |method: &MethodPlace| format!("{}.{}:{}", method.class, method.name, method.descriptor);
        for (number, suspicion) in suspicions.iter().enumerate() {
            let Detour { approaches, touches, rewrites, witnesses, .. } = &suspicion.detour;
            let parts = [
                (Part::First, &suspicion.first),
                (Part::Second, &suspicion.second),
                (Part::Touch, touches),
                (Part::Rewrite, rewrites),
                (Part::Witness, witnesses),
            ];
            for (part, places) in parts {
                for place in places {
                    let method = place.method.clone();
                    let key = (method.class, method.name, method.descriptor, place.pc);
                    let known = roles.entry(key).or_default();
                    if !known.contains(&(number, part)) {
                        known.push((number, part));
                    }
                }
            }
            methods.entry(name(&suspicion.finding.method)).or_default().own.push(number);
            for approach in approaches {
                methods.entry(name(approach)).or_default().leads_to.push(number);
            }
        }
        let seen = suspicions.iter().map(|_| Seen::default()).collect();
        Pairs {
            suspicions,
            roles,
            methods,
            sites: Vec::new(),
            entered: FxHashMap::default(),
            threads: Vec::new(),
            clocks: Clocks::default(),
            sets: LockSets::default(),
            index: Index::default(),
            prepared: FxHashMap::default(),
            turns: Turns::default(),
            seen,
            units: Vec::new(),
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
        if event.thread.index() >= self.threads.len() {
            self.threads.resize_with(event.thread.index() + 1, Thread::default);
        }
        let thread = &mut self.threads[event.thread.index()];
        if thread.arms.contains(&true) {
            // What did not run supports nothing.
            match event.action {
                Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd | Action::Lost { .. } => {}
                _ => return,
            }
        }
        // Who does something before it leaves came last, and does it while all others wait.
        if !matches!(event.action, Action::Leave { .. })
            && let Some(meeting) = thread.meeting.take()
        {
            thread.divide();
            thread.is_acting = true;
            self.clocks.act(event.thread, meeting);
        }
        match event.action {
            Action::Read { variable } => self.access(event, variable, trace::Access::Read, Span::NONE, tables),
            Action::Write { variable } => self.access(event, variable, trace::Access::Write, Span::NONE, tables),
            Action::Sync { variable, access, kind: _, interval } => {
                self.access(event, variable, access, Span::of(interval), tables);
            }
            Action::Acquire { lock, mode, cause, .. } => {
                thread.holds.acquire(lock, mode, cause);
                thread.section.get_or_insert(self.now);
                if !thread.activations.is_empty() {
                    self.takes(event, lock);
                    self.take_on_the_way(event, lock);
                }
            }
            Action::Release { lock, mode, cause } => {
                if thread.holds.release(lock, mode, cause) == Some(true) {
                    thread.let_go(cause);
                }
            }
            Action::Enter { activation, method } => self.enter(event.thread, activation, method, tables),
            Action::Exit { activation } => {
                let stopped = thread.exit(activation);
                self.stopped(event.thread, stopped);
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
            Action::Arrive { barrier, generation } => {
                self.clocks.arrive(event.thread, (barrier, generation));
                if is_meeting(&tables.barrier_name(barrier)) {
                    self.clocks.meet(event.thread, (barrier, generation));
                    thread.meeting = Some((barrier, generation));
                }
            }
            Action::Leave { barrier, generation } => {
                thread.meeting = None;
                thread.divide();
                if std::mem::take(&mut thread.is_acting) {
                    self.clocks.acted(event.thread);
                }
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
        let entered = self
            .entered
            .entry(method)
            .or_insert_with(|| methods.get(&tables.method_name(method)).cloned().unwrap_or_default().into());
        let own = entered.own.iter();
        let open = own.map(|&suspicion| Open { suspicion, firsts: Vec::new(), is_divided: false }).collect();
        if let Some(thread) = self.threads.get_mut(thread.index()) {
            let stamps = thread.holds.stamps();
            thread.activations.push(Activation { id, entered: entered.clone(), stamps, open });
        }
    }

    /// A lock is taken in the methods that are open.
    fn takes(&mut self, event: &Event, lock: LockId) {
        let Some(thread) = self.threads.get_mut(event.thread.index()) else { return };
        let open = thread.activations.iter().flat_map(|activation| &activation.open).map(|open| open.suspicion);
        let asks = |number: &usize| self.suspicions[*number].is_one_variable && self.seen[*number].asks_who_takes();
        if !open.clone().any(|number| asks(&number)) {
            return;
        }
        let held = thread.held(&mut self.sets);
        let access = self.taking(event);
        let Some(thread) = self.threads.get(event.thread.index()) else { return };
        let open = thread.activations.iter().flat_map(|activation| &activation.open).map(|open| open.suspicion);
        for number in open.filter(|number| self.suspicions[*number].is_one_variable) {
            self.seen[number].take(lock, Record::new(event.thread, held, access));
        }
    }

    /// What stands for an access where a lock is taken.
    fn taking(&mut self, event: &Event) -> Access {
        Access {
            moment: self.now,
            site: event.site,
            stack: event.stack,
            variable: VariableId(0),
            is_part: false,
            writes: false,
            updates: false,
            span: Span::NONE,
            clock: self.clocks.now(event.thread),
            section: self.now,
        }
    }

    fn access(&mut self, event: &Event, variable: VariableId, access: trace::Access, span: Span, tables: &Tables) {
        let clock = self.clocks.now(event.thread);
        let trace::Thing { object, part, .. } = tables.variable(variable);
        let Some(thread) = self.threads.get_mut(event.thread.index()) else { return };
        let held = thread.held(&mut self.sets);
        let section = thread.section.unwrap_or(self.now);
        let access = Access {
            moment: self.now,
            site: event.site,
            stack: event.stack,
            variable,
            is_part: part != trace::Part::Whole,
            writes: access.writes(),
            updates: access == trace::Access::Update,
            span,
            clock,
            section,
        };
        if self.records() >= self.most_records {
            self.forget();
        }
        // What is in the index is known to more than one who made it, and stays so.
        if self.index.knows(variable) || !self.is_preparation(event.thread, object) {
            let thread = &mut self.threads[event.thread.index()];
            let manner = thread.manner(event.thread, held, clock, &mut self.index);
            self.index.add(manner, event.thread, held, access, &mut self.sets);
        }
        self.turns.access(event.thread, object, &access, &self.clocks, tables);
        self.know(event.site, tables);
        let roles = self.sites[event.site.index()].take().unwrap_or_default();
        if !roles.is_empty() {
            self.turns.watch(event.thread, object, variable, clock);
        }
        for &(suspicion, part) in &roles {
            match part {
                Part::First => {
                    let first = First::new(access, held, &self.threads[event.thread.index()].holds);
                    self.first(event.thread, suspicion, first);
                }
                Part::Second => self.second(event.thread, suspicion, access),
                Part::Touch => {
                    let is_first = roles.contains(&(suspicion, Part::First));
                    self.touch(event.thread, suspicion, access, is_first);
                }
                // Whoever is in the unit itself is a rival.
                Part::Rewrite if roles.contains(&(suspicion, Part::First)) => {}
                Part::Witness => self.witness(event.thread, suspicion, access, object),
                Part::Rewrite => {
                    let record = Record::new(event.thread, held, Access { writes: true, ..access });
                    self.seen[suspicion].may_write(record);
                }
            }
        }
        self.sites[event.site.index()] = Some(roles);
    }

    /// How much is known, counted in records.
    fn records(&self) -> usize {
        self.index.len() + self.prepared.len() + self.clocks.bytes() / Pairs::RECORD_BYTES
    }

    fn forget(&mut self) {
        self.index.clear();
        self.prepared.clear();
        self.threads.iter_mut().for_each(|thread| thread.manner = None);
        let open = self.threads.iter().flat_map(|thread| &thread.activations);
        let firsts = open.flat_map(|activation| &activation.open).flat_map(|open| &open.firsts);
        let used = firsts.map(|first| first.access.clock).chain(self.turns.clocks());
        let used = used.chain(self.seen.iter().flat_map(Seen::clocks)).collect();
        self.clocks.forget(used);
        self.forgot += 1;
        // What has to stay is no reason to forget at every step.
        self.most_records = self.most_records.max(self.records() * 2);
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
        if self.suspicions[suspicion].is_split {
            return self.seen[suspicion].task(thread, first);
        }
        let Some((open, inside)) = self.threads.get_mut(thread.index()).and_then(|thread| thread.open(suspicion))
        else {
            return;
        };
        let replaced = open.add(First { inside, ..first });
        self.seen[suspicion].begin(Record::new(thread, first.held, first.access));
        if let Some(first) = replaced {
            self.stopped_at(thread, suspicion, first);
        }
    }
}

/// Whether all who arrive there also leave, and one of them may act for all in the meantime.
fn is_meeting(barrier: &str) -> bool {
    ["java.util.concurrent.CyclicBarrier", "java.util.concurrent.Phaser"].iter().any(|class| barrier.starts_with(class))
}
