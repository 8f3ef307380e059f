//! Which blocks control reaches only through a block, or only over an edge.

use crate::ir::{BlockId, Body};

/// The tree of dominators, exceptions included, each subtree as a range.
pub(super) struct Dominators {
    /// By block: where its subtree begins and ends in `order`.
    ranges: Vec<(u32, u32)>,
    /// The blocks, each before those that it dominates.
    order: Vec<u32>,
}

impl Dominators {
    pub(super) fn of(body: &Body) -> Dominators {
        Dominators::of_graph(body.block_count(), |block| {
            body.block(BlockId::from_index(block)).predecessors.iter().map(|from| from.block.index() as u32)
        })
    }

    /// By the iterative algorithm of Cooper, Harvey and Kennedy; blocks come in reverse postorder.
    fn of_graph<P: Iterator<Item = u32>>(count: usize, predecessors: impl Fn(usize) -> P) -> Dominators {
        const NONE: u32 = u32::MAX;
        let mut dominator = vec![NONE; count];
        dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for block in 1..count {
                let mut best = NONE;
                for from in predecessors(block) {
                    if dominator[from as usize] == NONE {
                        continue;
                    }
                    best = if best == NONE { from } else { common(best, from, &dominator) };
                }
                changed |= std::mem::replace(&mut dominator[block], best) != best;
            }
        }
        // A block comes behind its dominator: sizes add up from the end, places are handed out from the front.
        let mut size = vec![1u32; count];
        for block in (1..count).rev().filter(|block| dominator[*block] != NONE) {
            size[dominator[block] as usize] += size[block];
        }
        let mut ranges = vec![(0, 0); count];
        let mut next = vec![1u32; count];
        let mut order = vec![0; count];
        ranges[0] = (0, size[0]);
        for block in (1..count).filter(|block| dominator[*block] != NONE) {
            let parent = dominator[block] as usize;
            let start = next[parent];
            next[parent] += size[block];
            ranges[block] = (start, start + size[block]);
            next[block] = start + 1;
            order[start as usize] = block as u32;
        }
        Dominators { ranges, order }
    }

    pub(super) fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let ((start, end), (place, _)) = (self.ranges[above.index()], self.ranges[below.index()]);
        start <= place && place < end
    }

    /// The blocks that control reaches only over this edge, in no order.
    pub(super) fn behind(&self, body: &Body, branch: BlockId, edge: usize) -> &[u32] {
        let successors = &body.block(branch).successors;
        let Some(target) = successors.get(edge).copied() else { return &[] };
        let is_double = successors.iter().filter(|other| **other == target).count() > 1;
        // Every other way to the block leads through the block itself.
        let is_only_way = body
            .block(target)
            .predecessors
            .iter()
            .all(|from| (from.block == branch && !from.exceptional) || self.dominates(target, from.block));
        if is_double || !is_only_way || self.dominates(target, branch) {
            return &[];
        }
        let (start, end) = self.ranges[target.index()];
        &self.order[start as usize..end as usize]
    }
}

fn common(mut a: u32, mut b: u32, dominator: &[u32]) -> u32 {
    while a != b {
        while a > b {
            a = dominator[a as usize];
        }
        while b > a {
            b = dominator[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers from a seed, the same every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    /// Blocks in reverse postorder, each with those that follow it; all are reached from the first, which none leads to.
    fn graph(random: &mut Random) -> Vec<Vec<usize>> {
        let count = 1 + random.below(9);
        let edges: Vec<Vec<usize>> = (0..count)
            .map(|_| (0..random.below(4)).map(|_| random.below(count)).filter(|to| *to > 0).collect())
            .collect();
        fn visit(block: usize, edges: &[Vec<usize>], seen: &mut [bool], order: &mut Vec<usize>) {
            if !std::mem::replace(&mut seen[block], true) {
                edges[block].iter().for_each(|next| visit(*next, edges, seen, order));
                order.push(block);
            }
        }
        let mut order = Vec::new();
        visit(0, &edges, &mut vec![false; count], &mut order);
        order.reverse();
        let place = |block: &usize| order.iter().position(|other| other == block);
        order.iter().map(|block| edges[*block].iter().filter_map(place).collect()).collect()
    }

    /// What is no longer reached without a block.
    fn cut_off(edges: &[Vec<usize>], without: usize) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut pending = vec![0];
        while let Some(block) = pending.pop() {
            if block != without && !std::mem::replace(&mut reached[block], true) {
                pending.extend(&edges[block]);
            }
        }
        reached.into_iter().map(|is_reached| !is_reached).collect()
    }

    #[test]
    fn a_block_dominates_what_is_not_reached_without_it() {
        let mut random = Random(11);
        for round in 0..20_000 {
            let edges = graph(&mut random);
            let count = edges.len();
            let dominators = Dominators::of_graph(count, |block| {
                (0..count as u32).filter(|from| edges[*from as usize].contains(&block)).collect::<Vec<_>>().into_iter()
            });
            for above in 0..count {
                let plain = cut_off(&edges, above);
                let (start, end) = dominators.ranges[above];
                let mut found: Vec<u32> = dominators.order[start as usize..end as usize].to_vec();
                found.sort_unstable();
                let wanted: Vec<u32> = (0..count as u32).filter(|below| plain[*below as usize]).collect();
                assert_eq!(found, wanted, "round {round}: {above} in {edges:?}");
            }
        }
    }
}
