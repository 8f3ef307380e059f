//! Whether threads take turns on a variable by means that are no lock: a pool that the object is taken out of, a flag, a
//! ticket, a compare-and-set.
//!
//! All of these look alike in a run. Whoever had the variable last writes something else afterwards, and whoever has it
//! next looks there before: at the pool, the queue, the flag, the ticket. If that holds at every change of hands, by
//! things of one kind, and what is done there before and what is done there after are different pieces of code, then it
//! is no accident. Where threads only happen to run one after the other, they change hands anywhere, and soon in between.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use trace::{ObjectId, SiteId, Tables, ThreadId, VariableId};

use super::records::{Access, Moment, Span};
use crate::clock::{Clock, Clocks};

/// What a variable changes hands through: an object, or a variable that belongs to none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Through {
    Object(ObjectId),
    Variable(VariableId),
}

impl Through {
    fn of(object: ObjectId, variable: VariableId) -> Through {
        if object == ObjectId(0) { Through::Variable(variable) } else { Through::Object(object) }
    }
}

/// The number of a name of variables, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Kind(u32);

/// Something that a thread did to something.
#[derive(Clone, Copy)]
struct Done {
    what: Through,
    /// The kind of thing: the name of a field, or the class of a container.
    kind: Kind,
    site: SiteId,
    moment: Moment,
    span: Span,
    writes: bool,
}

impl Done {
    /// Whether it may have come after the other one: of what overlapped nobody knows.
    fn may_follow(&self, other: &Done) -> bool {
        self.moment > other.moment || self.span.overlaps(other.span)
    }
}

#[derive(Default)]
struct Thread {
    /// The latest accesses, as a ring.
    latest: Vec<Done>,
    next: usize,
    /// Variables that it had last, and that it may hand over by what it writes next: where they stand in `watched`.
    left: Vec<usize>,
}

impl Thread {
    const LATEST: usize = 64;
    const MOST_LEFT: usize = 32;

    // With what the caller has at hand, each part goes to its place at once; as a whole it would be put together elsewhere
    // and copied from there, before the processor is done with putting it together.
    #[inline(always)]
    fn add(&mut self, done: Done) {
        if let Some(place) = self.latest.get_mut(self.next) {
            *place = done;
        } else {
            self.latest.push(done);
        }
        self.next = (self.next + 1) % Thread::LATEST;
    }

    /// It writes something, by which it may hand over what it had.
    #[inline(never)]
    fn writes(&mut self, thread: ThreadId, done: &Done, watched: &mut [Watched]) {
        self.left.retain(|&place| {
            let left = &mut watched[place];
            if left.is_settled() {
                return false;
            }
            if left.owner != thread {
                return left.late.as_ref().is_some_and(|late| late.from == thread) && left.write_late(done);
            }
            if left.object != done.what
                && left.written.iter().all(|known| (known.what, known.writes) != (done.what, done.writes))
            {
                left.written.push(*done);
            }
            left.written.len() < Watched::MOST_WRITTEN
        });
    }

    fn has_left(&mut self, place: usize) {
        if !self.left.contains(&place) {
            if self.left.len() == Thread::MOST_LEFT {
                self.left.remove(0);
            }
            self.left.push(place);
        }
    }

    /// The latest access to something.
    fn last(&self, what: Through) -> Option<Done> {
        self.latest.iter().filter(|done| done.what == what).max_by_key(|done| done.moment).copied()
    }
}

/// What may be what the threads take turns by.
#[derive(Clone)]
struct Candidate {
    kind: Kind,
    /// The things of this kind that it was so far.
    things: BTreeSet<Through>,
    /// Where it is looked at before, and where it is written after.
    before: BTreeSet<SiteId>,
    after: BTreeSet<SiteId>,
}

/// A variable that is watched.
struct Watched {
    object: Through,
    owner: ThreadId,
    clock: Clock,
    /// What the owner has done since it had the variable: to each thing the first write, and the first read that may
    /// be the beginning of one, as where something waits for room in a queue.
    written: Vec<Done>,
    /// Nothing yet before the first change of hands.
    candidates: Option<Vec<Candidate>>,
    changes: u64,
    /// The latest change of hands, as long as the thread before may still be telling of it.
    late: Option<Late>,
}

/// A change of hands while the one who handed over is not yet back from it: its event comes after those of the other.
struct Late {
    from: ThreadId,
    /// What the other one had looked at.
    looks: Vec<Done>,
    /// The candidates before.
    known: Option<Vec<Candidate>>,
    /// How much the one before has written since.
    writes: usize,
}

impl Watched {
    const MOST_WRITTEN: usize = 32;

    /// What it writes after a change of hands can belong to it so long.
    const MOST_LATE: usize = 8;

    /// Another thread has the variable now; `taker` is what it did before.
    fn change(&mut self, taker: &Thread) {
        self.changes += 1;
        let known = self.candidates.take();
        let mut candidates: Vec<Candidate> = Vec::new();
        let (writes, reads): (Vec<&Done>, Vec<&Done>) = self.written.iter().partition(|done| done.writes);
        for done in writes.into_iter().chain(reads) {
            let looked = taker.last(done.what).filter(|looked| looked.may_follow(done));
            if let Some(looked) = looked {
                join(&mut candidates, known.as_deref(), done, &looked);
            }
        }
        self.candidates = Some(candidates);
        let looks = taker.latest.iter().filter(|done| done.span.is_some()).copied().collect();
        self.late = Some(Late { from: self.owner, looks, known, writes: 0 });
    }

    /// The thread that had it before writes something. Whether that may still be how it handed the variable over.
    fn write_late(&mut self, done: &Done) -> bool {
        let (Some(late), Some(candidates)) = (&mut self.late, &mut self.candidates) else { return false };
        if !done.writes {
            return true;
        }
        for looked in late.looks.iter().filter(|looked| looked.what == done.what && looked.span.overlaps(done.span)) {
            join(candidates, late.known.as_deref(), done, looked);
        }
        late.writes += 1;
        late.writes < Watched::MOST_LATE
    }

    /// Whether it changed hands in a way that was no turn, and nothing that is told late can alter that.
    fn is_settled(&self) -> bool {
        let is_none = |candidates: &Option<Vec<Candidate>>| candidates.as_ref().is_some_and(Vec::is_empty);
        is_none(&self.candidates) && self.late.as_ref().is_none_or(|late| is_none(&late.known))
    }

    /// Whether it changed hands, and always through things of one kind, which are none of these.
    fn is_in_turns(&self, parts: &[Through], writing: &[bool]) -> bool {
        let writes = |site: &SiteId| writing.get(site.index()).is_some_and(|writes| *writes);
        let mut candidates = self.candidates.iter().flatten();
        candidates.any(|candidate| {
            candidate.after.iter().all(writes) && !parts.iter().any(|part| candidate.things.contains(part))
        })
    }
}

/// Adds what was written by one and looked at by the other, if it was so before, too.
fn join(candidates: &mut Vec<Candidate>, known: Option<&[Candidate]>, done: &Done, looked: &Done) {
    if candidates.iter().any(|candidate| candidate.kind == done.kind) {
        return;
    }
    let before = match known {
        None => None,
        Some(known) => match known.iter().find(|known| known.kind == done.kind) {
            Some(known) => Some(known.clone()),
            None => return,
        },
    };
    let empty =
        || Candidate { kind: done.kind, things: BTreeSet::new(), before: BTreeSet::new(), after: BTreeSet::new() };
    let mut candidate = before.unwrap_or_else(empty);
    candidate.things.insert(done.what);
    candidate.before.insert(looked.site);
    candidate.after.insert(done.site);
    if candidate.before.is_disjoint(&candidate.after) {
        candidates.push(candidate);
    }
}

/// The variables of suspected units, and how they change hands.
#[derive(Default)]
pub(super) struct Turns {
    threads: Vec<Thread>,
    watched: Vec<Watched>,
    /// By variable, its place in `watched` and one more, as far as it is watched.
    places: Vec<u32>,
    names: FxHashMap<String, Kind>,
    /// By variable, as far as they were asked for.
    kinds: Vec<Kind>,
    /// By site, whether something was written there.
    writing: Vec<bool>,
}

impl Turns {
    /// So many changes of hands do not all come out right by chance.
    const LEAST_CHANGES: u64 = 4;
    const MOST_WATCHED: usize = 1 << 14;

    /// Watches a variable that a thread has just accessed.
    pub(super) fn watch(&mut self, thread: ThreadId, object: ObjectId, variable: VariableId, clock: Clock) {
        if self.place(variable).is_some() || self.watched.len() >= Turns::MOST_WATCHED {
            return;
        }
        let watched = Watched {
            object: Through::of(object, variable),
            owner: thread,
            clock,
            written: Vec::new(),
            candidates: None,
            changes: 0,
            late: None,
        };
        self.watched.push(watched);
        if variable.index() >= self.places.len() {
            self.places.resize(variable.index() + 1, 0);
        }
        self.places[variable.index()] = self.watched.len() as u32;
        if let Some(own) = self.threads.get_mut(thread.index()) {
            own.has_left(self.watched.len() - 1);
        }
    }

    /// All clocks that something here refers to.
    pub(super) fn clocks(&self) -> impl Iterator<Item = Clock> {
        self.watched.iter().map(|watched| watched.clock)
    }

    fn place(&self, variable: VariableId) -> Option<usize> {
        (*self.places.get(variable.index())? as usize).checked_sub(1)
    }

    fn watched(&self, variable: VariableId) -> Option<&Watched> {
        self.place(variable).map(|place| &self.watched[place])
    }

    #[inline(always)]
    pub(super) fn access(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        access: &Access,
        clocks: &Clocks,
        tables: &Tables,
    ) {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        let what = Through::of(object, access.variable);
        let kind = self.kind(access.variable, tables);
        let Access { site, moment, span, writes, .. } = *access;
        if writes {
            if site.index() >= self.writing.len() {
                self.writing.resize(site.index() + 1, false);
            }
            self.writing[site.index()] = true;
        }
        let place = self.place(access.variable);
        let own = &mut self.threads[thread.index()];
        if (writes || span.is_some()) && !own.left.is_empty() {
            own.writes(thread, &Done { what, kind, site, moment, span, writes }, &mut self.watched);
        }
        if let Some(place) = place.filter(|place| !self.watched[*place].is_settled()) {
            let watched = &mut self.watched[place];
            if watched.owner != thread && !clocks.is_before(watched.owner, watched.clock, access.clock) {
                watched.change(own);
            }
            (watched.owner, watched.clock) = (thread, access.clock);
            watched.written.clear();
            own.has_left(place);
        }
        // What it does now comes before what it does next.
        own.add(Done { what, kind, site, moment, span, writes });
    }

    fn kind(&mut self, variable: VariableId, tables: &Tables) -> Kind {
        if variable.index() >= self.kinds.len() {
            self.kinds.resize(variable.index() + 1, Kind::default());
        }
        let known = self.kinds[variable.index()];
        if known == Kind::default() { self.new_kind(variable, tables) } else { known }
    }

    #[cold]
    fn new_kind(&mut self, variable: VariableId, tables: &Tables) -> Kind {
        let next = Kind(self.names.len() as u32 + 1);
        let kind = *self.names.entry(tables.variable_name(variable)).or_insert(next);
        self.kinds[variable.index()] = kind;
        kind
    }

    /// Whether the threads that have these variables take turns, as far as the run shows. `alike` are variables that the
    /// same code handles: they tell by what, and are themselves nothing to take turns by.
    pub(super) fn keep_apart(&self, variables: [VariableId; 2], alike: &[VariableId]) -> bool {
        let watched = alike.iter().chain(&variables).filter_map(|variable| self.watched(*variable));
        let parts: Vec<Through> = watched.map(|watched| watched.object).collect();
        let in_turns =
            |variable: &VariableId| self.watched(*variable).filter(|one| one.is_in_turns(&parts, &self.writing));
        let changes: u64 = alike.iter().filter_map(in_turns).map(|watched| watched.changes).sum();
        variables.iter().all(|variable| in_turns(variable).is_some()) && changes >= Turns::LEAST_CHANGES
    }
}
