//! The search for a way out of a unit and back into it, through what other threads do.
//!
//! A unit t is reported if there are p before q in t and a way p → a1 ⇝ b1 → a2 ⇝ b2 → … → q: an arrow joins accesses
//! that conflict and that start, join and barriers leave free, or put in this order if t holds no lock from p to q; each a is at or before its b in a thread of its own, all on
//! arms that can be taken in one run, and from a to b no lock is held or taken that t holds all the time from p to q.
//! Nothing that comes later on the way may be bound to come earlier.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use trace::ThreadId;

use super::forest::{Forest, TreeId};
use super::index::{Index, NodeRef, Record, RecordId};
use super::tree::{Around, At, Span, Tree, can_follow};
use crate::clock::{Clock, Clocks};
use crate::lockset::{Held, LockSets};

/// An access of some tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) tree: TreeId,
    pub(super) at: At,
}

/// What another thread does in between: from one access to another, or one access that is both.
pub(super) type Hop = (Place, Place);

/// How a unit can be disturbed.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) from: At,
    pub(super) to: At,
    pub(super) hops: Vec<Hop>,
}

/// What others can do about a node of a unit.
pub(super) struct Live {
    pub(super) node: u16,
    /// Records that conflict with it and that no lock of the whole unit keeps out, by thread.
    pub(super) partners: Vec<RecordId>,
}

pub(super) struct Search<'a> {
    pub(super) forest: &'a Forest,
    pub(super) index: &'a Index,
    pub(super) clocks: &'a Clocks,
    pub(super) sets: &'a mut LockSets,
    /// What was asked before: whether a thread can go from one record to another while these locks are held by others.
    joined: FxHashMap<(RecordId, RecordId, Held), Option<Hop>>,
    /// For a thread, what of it conflicts with what others do.
    edges: FxHashMap<ThreadId, Rc<[(RecordId, RecordId)]>>,
    /// Steps that may still be taken for ways over several threads, and over pairs of accesses and lists of trees.
    far: u64,
    near: u64,
    /// Units whose search was not carried to its end.
    pub(super) unfinished: u64,
}

/// Steps of the search in one forest.
const FAR: u64 = 50_000_000;
const NEAR: u64 = 500_000_000;
/// Steps for ways over several threads of one unit.
const FAR_OF_UNIT: u64 = 20_000;
/// Other threads on one way.
const MOST_HOPS: usize = 4;
/// Nodes of one unit that others can do something about.
const MOST_LIVE: usize = 512;
/// Conflicts of one thread with others that ways over several threads may take.
const MOST_EDGES: usize = 1 << 16;
const MOST_JOINED: usize = 1 << 20;

impl<'a> Search<'a> {
    pub(super) fn new(forest: &'a Forest, index: &'a Index, clocks: &'a Clocks, sets: &'a mut LockSets) -> Search<'a> {
        let (joined, edges) = (FxHashMap::default(), FxHashMap::default());
        Search { forest, index, clocks, sets, joined, edges, far: FAR, near: NEAR, unfinished: 0 }
    }

    /// One step of a search over nodes; whether it may go on.
    pub(super) fn step(&mut self) -> bool {
        self.near = self.near.saturating_sub(1);
        self.unfinished += u64::from(self.near == 0);
        self.near > 0
    }

    pub(super) fn tree(&self, id: TreeId) -> &'a Tree {
        &self.forest.trees[id as usize]
    }

    /// The first of a node's accesses in a unit, and the last.
    pub(super) fn within(tree: &Tree, node: u16, span: &Span) -> Option<(At, At)> {
        let known = &tree.nodes[usize::from(node)];
        let is_inside = |rank: &u16| span.begin <= *rank && *rank < span.end;
        let first = Some(known.first).filter(is_inside).or(Some(known.last).filter(is_inside))?;
        let last = Some(known.last).filter(is_inside).unwrap_or(first);
        Some((At { node, rank: first }, At { node, rank: last }))
    }

    /// The nodes of a unit that others can do something about.
    pub(super) fn live(&mut self, tree: &Tree, span: &Span) -> Vec<Live> {
        let inside: Vec<(At, At)> =
            (0..tree.nodes.len() as u16).filter_map(|node| Search::within(tree, node, span)).collect();
        let first = inside.iter().map(|(first, _)| *first).min_by_key(|at| at.rank);
        let last = inside.iter().map(|(_, last)| *last).max_by_key(|at| at.rank);
        let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
        let whole = tree.held_throughout(first, last, self.sets);
        let mut live = Vec::new();
        for (At { node, .. }, _) in inside {
            let known = &tree.nodes[usize::from(node)];
            if self.index.is_guarded(known.variable, whole, self.sets) {
                continue;
            }
            let is_partner = |id: &RecordId| {
                let record = self.index.record(*id);
                !whole.excludes(record.held, self.sets) && record.conflicts(tree.thread, known, self.clocks)
            };
            let partners: Vec<RecordId> = self.index.of(known.variable).filter(is_partner).collect();
            self.near = self.near.saturating_sub(partners.len() as u64);
            if !partners.is_empty() {
                live.push(Live { node, partners });
            }
        }
        if live.len() > MOST_LIVE {
            live.truncate(MOST_LIVE);
            self.unfinished += 1;
        }
        live
    }

    /// The pairs of accesses of a unit, in order, that others could come in between: what ran first, then the closest.
    pub(super) fn pairs(tree: &Tree, span: &Span, live: &[Live]) -> Vec<(usize, At, usize, At)> {
        let mut pairs = Vec::new();
        for (one, from) in live.iter().enumerate() {
            for (other, to) in live.iter().enumerate() {
                let (Some((from, _)), Some((_, to))) =
                    (Search::within(tree, from.node, span), Search::within(tree, to.node, span))
                else {
                    continue;
                };
                if from.rank < to.rank && tree.are_compatible(from, to) && tree.are_steps(from, to) {
                    pairs.push((one, from, other, to));
                }
            }
        }
        pairs.sort_by_key(|&(_, from, _, to)| {
            let speculated = u8::from(!tree.node(from).ran) + u8::from(!tree.node(to).ran);
            (speculated, to.rank - from.rank, from.rank)
        });
        pairs
    }

    /// How a unit can be disturbed, once for all pairs that have a variable in common.
    pub(super) fn ways(&mut self, tree: &Tree, span: &Span) -> Vec<Way> {
        let live = self.live(tree, span);
        if live.is_empty() {
            return Vec::new();
        }
        let pairs = Search::pairs(tree, span, &live);
        let mut ways: Vec<Way> = Vec::new();
        let mut far = FAR_OF_UNIT.min(self.far);
        let all = far;
        for is_far in [false, true] {
            for &(one, from, other, to) in &pairs {
                let variables = |way: &Way| [tree.node(way.from).variable, tree.node(way.to).variable];
                let own = [tree.node(from).variable, tree.node(to).variable];
                if ways.iter().any(|way| variables(way).iter().any(|variable| own.contains(variable))) {
                    continue;
                }
                if self.near == 0 {
                    self.unfinished += 1;
                    return ways;
                }
                self.near -= 1;
                let held = tree.held_throughout(from, to, self.sets);
                let ends = Ends { tree, from, to, held, leaves: &live[one].partners, returns: &live[other].partners };
                let hops = if is_far { self.over_several(&ends, &mut far) } else { self.over_one(&ends) };
                ways.extend(hops.map(|hops| Way { from, to, hops }));
            }
        }
        if far == 0 {
            self.unfinished += 1;
        }
        self.far -= all - far;
        ways
    }

    /// Through one other thread.
    fn over_one(&mut self, ends: &Ends) -> Option<Vec<Hop>> {
        let mut best: Option<(u8, Hop)> = None;
        let mut returns = ends.returns;
        for &leave in ends.leaves {
            let record = self.index.record(leave);
            if ends.held.excludes(record.held, self.sets) {
                continue;
            }
            // Both are sorted by thread.
            while let Some((&first, rest)) = returns.split_first()
                && self.index.record(first).thread < record.thread
            {
                returns = rest;
            }
            for &back in returns {
                let other = self.index.record(back);
                if other.thread != record.thread {
                    break;
                }
                // What ran says most; one access that is both says more than two.
                let speculated = 4 * (u8::from(!record.ran) + u8::from(!other.ran));
                if best.is_some_and(|(known, _)| known <= speculated) || ends.held.excludes(other.held, self.sets) {
                    continue;
                }
                if let Some(hop) = self.join(leave, back, ends.held) {
                    let worth = speculated + u8::from(hop.0 != hop.1) + u8::from(hop.0.tree != hop.1.tree);
                    if best.is_none_or(|(known, _)| worth < known) {
                        best = Some((worth, hop));
                    }
                }
            }
        }
        best.map(|(_, hop)| vec![hop])
    }

    /// Through two other threads or more.
    fn over_several(&mut self, ends: &Ends, budget: &mut u64) -> Option<Vec<Hop>> {
        for &leave in ends.leaves {
            if ends.held.excludes(self.index.record(leave).held, self.sets) {
                continue;
            }
            let mut trail = Trail { records: Vec::new(), hops: Vec::new() };
            if self.extend(leave, ends, &mut trail, budget) {
                return Some(trail.hops);
            }
        }
        None
    }

    /// Goes on from a record that others came to, to further threads and at last back. Whether that was possible.
    fn extend(&mut self, entry: RecordId, ends: &Ends, trail: &mut Trail, budget: &mut u64) -> bool {
        if !self.can_follow(entry, ends, trail) {
            return false;
        }
        let thread = self.index.record(entry).thread;
        // One other thread alone was tried before.
        if !trail.hops.is_empty() {
            for &back in ends.returns {
                let record = self.index.record(back);
                if record.thread != thread || ends.held.excludes(record.held, self.sets) {
                    continue;
                }
                if *budget == 0 {
                    return false;
                }
                *budget -= 1;
                if self.is_last(entry, back, ends, trail)
                    && let Some(hop) = self.join(entry, back, ends.held)
                {
                    trail.hops.push(hop);
                    return true;
                }
            }
        }
        if trail.hops.len() + 1 >= MOST_HOPS {
            return false;
        }
        let used: Vec<ThreadId> = trail.records.iter().map(|&(entry, _)| self.index.record(entry).thread).collect();
        for &(exit, following) in &*self.edges(thread) {
            let (leaving, coming) = (self.index.record(exit), self.index.record(following));
            if coming.thread == ends.tree.thread || used.contains(&coming.thread) {
                continue;
            }
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            if ends.held.excludes(leaving.held, self.sets) || ends.held.excludes(coming.held, self.sets) {
                continue;
            }
            // Of what a thread does until it starts another one nobody says here whether it takes a lock.
            if !ends.held.any.is_empty() && !leaving.conflicts_with(coming, self.clocks) {
                continue;
            }
            trail.records.push((entry, exit));
            if self.can_follow(following, ends, trail)
                && let Some(hop) = self.join(entry, exit, ends.held)
            {
                trail.hops.push(hop);
                if self.extend(following, ends, trail, budget) {
                    return true;
                }
                trail.hops.pop();
            }
            trail.records.pop();
        }
        false
    }

    /// Whether start, join and barriers let a record come after all that is on the way already.
    fn can_follow(&self, record: RecordId, ends: &Ends, trail: &Trail) -> bool {
        let record = self.index.record(record);
        let later = (record.thread, record.clock);
        let from = (ends.tree.thread, ends.tree.node(ends.from).clock);
        !self.is_before(later, from) && self.is_after_all(later, trail)
    }

    /// Whether the way may end here: what comes to `entry` goes on to `back` and from there to the end of the unit's pair.
    fn is_last(&self, entry: RecordId, back: RecordId, ends: &Ends, trail: &Trail) -> bool {
        let (entry, back) = (self.index.record(entry), self.index.record(back));
        let to = (ends.tree.thread, ends.tree.node(ends.to).clock);
        self.is_after_all((back.thread, back.clock), trail)
            && self.is_after_all(to, trail)
            && !self.is_before(to, (entry.thread, entry.clock))
    }

    fn is_after_all(&self, later: (ThreadId, Clock), trail: &Trail) -> bool {
        trail.records.iter().flat_map(|&(entry, exit)| [entry, exit]).all(|earlier| {
            let Record { thread, clock, .. } = *self.index.record(earlier);
            !self.is_before(later, (thread, clock))
        })
    }

    fn is_before(&self, one: (ThreadId, Clock), other: (ThreadId, Clock)) -> bool {
        self.clocks.is_before(one.0, one.1, other.1)
    }

    /// What a thread does that conflicts with what others do.
    fn edges(&mut self, thread: ThreadId) -> Rc<[(RecordId, RecordId)]> {
        if let Some(known) = self.edges.get(&thread) {
            return known.clone();
        }
        let mut edges = Vec::new();
        for &exit in self.index.of_thread(thread) {
            let leaving = self.index.record(exit);
            let conflicts = |id: &RecordId| leaving.precedes(self.index.record(*id), self.clocks);
            edges.extend(self.index.of(leaving.variable).filter(conflicts).map(|following| (exit, following)));
            if edges.len() > MOST_EDGES {
                self.unfinished += 1;
                break;
            }
        }
        let edges: Rc<[(RecordId, RecordId)]> = edges.into();
        self.edges.insert(thread, edges.clone());
        edges
    }

    /// Whether a thread can go from a node of one record to one of another while others hold `held` all the time.
    fn join(&mut self, from: RecordId, to: RecordId, held: Held) -> Option<Hop> {
        if let Some(&known) = self.joined.get(&(from, to, held)) {
            return known;
        }
        let hop = self.find(self.index.record(from), self.index.record(to), held);
        if self.joined.len() >= MOST_JOINED {
            self.joined.clear();
        }
        self.joined.insert((from, to, held), hop);
        hop
    }

    fn find(&mut self, from: &Record, to: &Record, held: Held) -> Option<Hop> {
        if let Some(hop) = self.find_in_one_tree(from, to, held) {
            return Some(hop);
        }
        let (first, last) = (self.tree(from.first.tree), self.tree(to.last.tree));
        if held.any.is_empty() && first.can_precede(last) {
            return Some((Search::late(first, from.first), Search::early(last, to.last)));
        }
        if first.first.ordinal < last.last.ordinal { self.find_in_two_trees(from, to, held) } else { None }
    }

    /// The last access of a node, or the first one: what is closest to another tree after it, or before it.
    fn late(tree: &Tree, node: NodeRef) -> Place {
        let rank = tree.nodes[usize::from(node.node)].last;
        Place { tree: node.tree, at: At { node: node.node, rank } }
    }

    fn early(tree: &Tree, node: NodeRef) -> Place {
        let rank = tree.nodes[usize::from(node.node)].first;
        Place { tree: node.tree, at: At { node: node.node, rank } }
    }

    fn find_in_one_tree(&mut self, from: &Record, to: &Record, held: Held) -> Option<Hop> {
        let (mut ones, mut others) = (self.index.nodes(from), self.index.nodes(to));
        // Both are sorted by tree.
        while let (Some((&one, rest)), Some((&other, other_rest))) = (ones.split_first(), others.split_first()) {
            self.near = self.near.saturating_sub(1);
            if one.tree < other.tree {
                ones = rest;
                continue;
            }
            if one.tree > other.tree {
                others = other_rest;
                continue;
            }
            let tree = self.tree(one.tree);
            for other in others.iter().take_while(|other| other.tree == one.tree) {
                for (low, high) in tree.nearest(one.node, other.node) {
                    if tree.are_compatible(low, high) && tree.is_free(Some(low), Some(high), held, self.sets) {
                        return Some((Place { tree: one.tree, at: low }, Place { tree: one.tree, at: high }));
                    }
                }
            }
            ones = rest;
        }
        None
    }

    /// Goes through all that the thread did, one tree after the other.
    fn find_in_two_trees(&mut self, from: &Record, to: &Record, held: Held) -> Option<Hop> {
        let sets = &*self.sets;
        let leaves = |node: &&NodeRef| {
            let tree = self.tree(node.tree);
            tree.is_free(Some(Search::late(tree, **node).at), None, held, sets)
        };
        let comes = |node: &&NodeRef| {
            let tree = self.tree(node.tree);
            tree.is_free(None, Some(Search::early(tree, **node).at), held, sets)
        };
        let nodes = |record, is_right: &dyn Fn(&&NodeRef) -> bool| -> FxHashMap<TreeId, NodeRef> {
            self.index.nodes(record).iter().filter(is_right).map(|node| (node.tree, *node)).collect()
        };
        let (ones, others) = (nodes(from, &leaves), nodes(to, &comes));
        if ones.is_empty() || others.is_empty() {
            return None;
        }
        let mut latest: Option<NodeRef> = None;
        // Arms that did not run and cannot be gone through since.
        let mut blocked: Vec<&[Around]> = Vec::new();
        let mut left = self.near;
        let mut found = None;
        for id in self.forest.sequence(from.thread) {
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
            let tree = self.tree(*id);
            if let (Some(one), Some(other)) = (latest, others.get(id))
                && can_follow(&self.tree(one.tree).around, &tree.around)
                && !blocked.iter().any(|arms| tree.around.starts_with(arms))
            {
                found = Some((Search::late(self.tree(one.tree), one), Search::early(tree, *other)));
                break;
            }
            if let Some(one) = latest
                && !tree.is_free(None, None, held, self.sets)
            {
                // What did not run is in the way of those who go there.
                let is_in_the_way = self.tree(one.tree).around.starts_with(&tree.around);
                if tree.around.iter().all(|around| around.ran) || is_in_the_way {
                    latest = None;
                } else {
                    blocked.push(&tree.around);
                }
            }
            if let Some(one) = ones.get(id) {
                latest = Some(*one);
                blocked.clear();
            }
        }
        self.near = left;
        found
    }
}

/// A pair of accesses of a unit, and what may come after the first and before the second.
struct Ends<'t> {
    tree: &'t Tree,
    from: At,
    to: At,
    held: Held,
    leaves: &'t [RecordId],
    returns: &'t [RecordId],
}

/// What is on the way already.
struct Trail {
    /// For each thread, where the way comes to it and where it leaves it.
    records: Vec<(RecordId, RecordId)>,
    hops: Vec<Hop>,
}
