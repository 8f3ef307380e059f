//! Two units that have no order though neither is disturbed on its own: each reads what the other one is about to write.
//!
//! p before q in one unit and b before a in the other, where p conflicts with a and b with q. If both units are between
//! their two accesses at the same time, p comes before a and b before q, so neither unit comes before the other.

use super::forest::TreeId;
use super::search::{Place, Search};
use super::tree::{At, Rank, Span, Tree};
use crate::lockset::Held;

pub(super) struct Skew {
    pub(super) span: Span,
    pub(super) first: Place,
    pub(super) last: Place,
    pub(super) other_first: Place,
    pub(super) other_last: Place,
}

/// All pairs of units, of which none is disturbed on its own; of one unit, the first that is found.
pub(super) fn find(search: &mut Search, disturbed: &[bool]) -> Vec<Skew> {
    let mut skews = Vec::new();
    for (id, tree) in search.forest.trees.iter().enumerate().filter(|(id, _)| !disturbed[*id]) {
        for span in &tree.spans {
            skews.extend(find_of(search, id as TreeId, tree, span, disturbed));
        }
    }
    skews
}

fn find_of(search: &mut Search, id: TreeId, tree: &Tree, span: &Span, disturbed: &[bool]) -> Option<Skew> {
    let live = search.live(tree, span);
    for (one, from, other, to) in Search::pairs(tree, span, &live) {
        let mut gaps = None;
        for &after in &live[one].partners {
            for &before in &live[other].partners {
                let (after, before) = (search.index.record(after), search.index.record(before));
                if after.thread != before.thread {
                    continue;
                }
                let (mut lasts, mut firsts) = (search.index.nodes(after), search.index.nodes(before));
                // Both are sorted by tree.
                while let (Some((&last, rest)), Some((&first, other_rest))) =
                    (lasts.split_first(), firsts.split_first())
                {
                    if !search.step() {
                        return None;
                    }
                    if last.tree < first.tree {
                        lasts = rest;
                        continue;
                    }
                    if last.tree > first.tree {
                        firsts = other_rest;
                        continue;
                    }
                    lasts = rest;
                    // Each pair is told from its first unit.
                    if last.tree <= id || disturbed[last.tree as usize] {
                        continue;
                    }
                    let gaps = gaps.get_or_insert_with(|| gaps_of(search, tree, from, to));
                    for first in firsts.iter().take_while(|first| first.tree == last.tree) {
                        if let Some((other_first, other_last)) = meet(search, last.tree, first.node, last.node, gaps) {
                            let place = |at| Place { tree: id, at };
                            let other = |at| Place { tree: last.tree, at };
                            return Some(Skew {
                                span: *span,
                                first: place(from),
                                last: place(to),
                                other_first: other(other_first),
                                other_last: other(other_last),
                            });
                        }
                    }
                }
            }
        }
    }
    None
}

/// Whether a unit of the tree can stand between the two nodes while another one holds one of `gaps`.
fn meet(search: &mut Search, tree: TreeId, first: u16, last: u16, gaps: &[Held]) -> Option<(At, At)> {
    let tree = search.tree(tree);
    for span in &tree.spans {
        let (Some((first, _)), Some((_, last))) = (Search::within(tree, first, span), Search::within(tree, last, span))
        else {
            continue;
        };
        if first.rank >= last.rank || !tree.are_compatible(first, last) {
            continue;
        }
        let others = gaps_of(search, tree, first, last);
        if others.iter().any(|other| gaps.iter().any(|gap| !gap.excludes(*other, search.sets))) {
            return Some((first, last));
        }
    }
    None
}

/// What is held at each place between two accesses where the fewest locks are: between one access and the next.
fn gaps_of(search: &mut Search, tree: &Tree, from: At, to: At) -> Vec<Held> {
    let mut between: Vec<(Rank, u16)> = Vec::new();
    for (node, known) in tree.nodes.iter().enumerate() {
        for rank in [known.first, known.last] {
            let at = At { node: node as u16, rank };
            let is_between = from.rank <= rank && rank <= to.rank;
            if is_between && tree.are_compatible(from, at) && tree.are_compatible(at, to) {
                between.push((rank, at.node));
            }
        }
    }
    between.sort_unstable();
    between.dedup();
    let at = |(rank, node)| At { node, rank };
    between.windows(2).map(|pair| tree.held_throughout(at(pair[0]), at(pair[1]), search.sets)).collect()
}
