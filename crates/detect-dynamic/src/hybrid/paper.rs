//! The rule of the paper, to compare with: pairs of conflict edges.
//!
//! Two accesses that conflict have an edge between them or, if they hold a lock in common, between their outermost
//! sections on it. Two edges of a unit t are a violation if their ends in t differ and neither lies in the other, no branch
//! keeps the accesses apart, and both lead to one other tree; or to two trees that an edge joins, if all run at the same
//! time and no end on the way holds a lock in common with the ends in t. The order inside the other trees does not count.

use trace::{LockId, ThreadId};

use super::forest::TreeId;
use super::index::{NodeRef, RecordId, are_ordered};
use super::search::{Place, Search, Way};
use super::tree::{At, Span, Tree};
use crate::clock::Clock;
use crate::lockset::Held;

/// One end of an edge: an access, or the outermost section on a lock that both sides hold.
#[derive(Clone, PartialEq, Eq)]
struct End {
    at: At,
    section: Option<u16>,
    /// What is held there, the section's own lock left out.
    held: Vec<LockId>,
}

impl End {
    fn new(tree: &Tree, at: At, other: Held, search: &Search) -> End {
        let sections = tree.holdset(tree.node(at).holds);
        let lock = |section: u16| tree.sections[usize::from(section)].lock;
        let common = |section: &u16| search.sets.locks(other.any).binary_search(&lock(*section)).is_ok();
        let section = sections.iter().copied().find(common);
        let is_around = |around: &u16| section.is_none_or(|section| *around < section);
        let held = sections.iter().copied().filter(is_around).map(lock).collect();
        End { at, section, held }
    }

    /// Whether the two are one node, or one lies in the other.
    fn overlaps(&self, other: &End, tree: &Tree) -> bool {
        let holds = |at: At, section: u16| tree.holdset(tree.node(at).holds).contains(&section);
        match (self.section, other.section) {
            (None, None) => self.at == other.at,
            (Some(section), _) if holds(other.at, section) => true,
            (_, Some(section)) => holds(self.at, section),
            _ => false,
        }
    }

    fn shares_lock(&self, other: &End) -> bool {
        self.held.iter().any(|lock| other.held.contains(lock))
    }
}

pub(super) fn ways(search: &mut Search, id: TreeId, span: &Span) -> Vec<Way> {
    let tree = search.tree(id);
    let mut ats: Vec<At> = Vec::new();
    for node in 0..tree.nodes.len() as u16 {
        let Some((first, last)) = Search::within(tree, node, span) else { continue };
        ats.push(first);
        if last != first {
            ats.push(last);
        }
    }
    ats.sort_by_key(|at| at.rank);
    let mut ways: Vec<Way> = Vec::new();
    for (index, &from) in ats.iter().enumerate() {
        for &to in &ats[index + 1..] {
            let variables = |way: &Way| [tree.node(way.from).variable, tree.node(way.to).variable];
            let own = [tree.node(from).variable, tree.node(to).variable];
            if ways.iter().any(|way| variables(way).iter().any(|variable| own.contains(variable)))
                || !tree.are_compatible(from, to)
                || !tree.are_steps(from, to)
            {
                continue;
            }
            ways.extend(way(search, tree, from, to));
        }
    }
    ways
}

fn partners(search: &Search, tree: &Tree, at: At) -> Vec<RecordId> {
    let node = tree.node(at);
    let conflicts = |id: &RecordId| search.index.record(*id).conflicts(tree.thread, node, search.clocks);
    search.index.of(node.variable).filter(conflicts).collect()
}

fn way(search: &mut Search, tree: &Tree, from: At, to: At) -> Option<Way> {
    let (ones, others) = (partners(search, tree, from), partners(search, tree, to));
    let mut apart = Vec::new();
    for &one in &ones {
        for &other in &others {
            let (first, second) = (search.index.record(one), search.index.record(other));
            let start = End::new(tree, from, first.held, search);
            let end = End::new(tree, to, second.held, search);
            if start.overlaps(&end, tree) {
                continue;
            }
            if first.thread != second.thread {
                apart.push((one, other, start, end));
            } else if let Some(hop) = in_one_tree(search, one, other) {
                return Some(Way { from, to, hops: vec![hop] });
            }
        }
    }
    apart.into_iter().find_map(|(one, other, start, end)| {
        over_two(search, tree, one, other, [&start, &end]).map(|hops| Way { from, to, hops: hops.into() })
    })
}

/// Two nodes of one tree that can run in one run, in whichever order.
fn in_one_tree(search: &mut Search, one: RecordId, other: RecordId) -> Option<(Place, Place)> {
    let (ones, others) = (nodes(search, one), nodes(search, other));
    for known in ones {
        let from = others.partition_point(|other| other.tree < known.tree);
        for other in others[from..].iter().take_while(|other| other.tree == known.tree) {
            if !search.step() {
                return None;
            }
            let tree = search.tree(known.tree);
            let (one, two) = (at(tree, known), at(tree, other));
            let is_possible =
                if one.rank <= two.rank { tree.are_compatible(one, two) } else { tree.are_compatible(two, one) };
            if is_possible {
                return Some((Place { tree: known.tree, at: one }, Place { tree: known.tree, at: two }));
            }
        }
    }
    None
}

fn nodes<'a>(search: &Search<'a>, record: RecordId) -> &'a [NodeRef] {
    search.index.nodes(search.index.record(record))
}

fn at(tree: &Tree, known: &NodeRef) -> At {
    At { node: known.node, rank: tree.nodes[usize::from(known.node)].first }
}

/// From one record over an edge between two other trees to another record.
fn over_two(
    search: &mut Search,
    tree: &Tree,
    one: RecordId,
    other: RecordId,
    ends: [&End; 2],
) -> Option<[(Place, Place); 2]> {
    let is_free = |end: &End| ends.iter().all(|own| !own.shares_lock(end));
    let (first, last) = (search.index.record(one), search.index.record(other));
    let own = |end: &End| tree.node(end.at).held;
    let unordered = |one: (ThreadId, Clock), other: (ThreadId, Clock)| !are_ordered(one, other, search.clocks);
    if !unordered((first.thread, first.clock), (last.thread, last.clock)) {
        return None;
    }
    for &exit in search.index.of_thread(first.thread) {
        let leaving = search.index.record(exit);
        for entry in search.index.of(leaving.variable) {
            let coming = search.index.record(entry);
            if !search.step() {
                return None;
            }
            if coming.thread != last.thread || !leaving.conflicts_with(coming, search.clocks) {
                continue;
            }
            let (Some(from), Some(to)) = (in_one_tree(search, one, exit), in_one_tree(search, entry, other)) else {
                continue;
            };
            let (middle, far) = (search.tree(from.0.tree), search.tree(to.0.tree));
            let all = [
                End::new(middle, from.0.at, own(ends[0]), search),
                End::new(middle, from.1.at, coming.held, search),
                End::new(far, to.0.at, leaving.held, search),
                End::new(far, to.1.at, own(ends[1]), search),
            ];
            if all.iter().all(is_free) {
                return Some([from, to]);
            }
        }
    }
    None
}
