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
    /// By the iterative algorithm of Cooper, Harvey and Kennedy; blocks come in reverse postorder.
    pub(super) fn of(body: &Body) -> Dominators {
        let count = body.block_count();
        const NONE: u32 = u32::MAX;
        let mut dominator = vec![NONE; count];
        dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (block, edges) in body.blocks().skip(1) {
                let mut best = NONE;
                for from in edges.predecessors.iter().map(|from| from.block.index() as u32) {
                    if dominator[from as usize] == NONE {
                        continue;
                    }
                    best = if best == NONE { from } else { common(best, from, &dominator) };
                }
                changed |= std::mem::replace(&mut dominator[block.index()], best) != best;
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

    fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let ((start, end), (place, _)) = (self.ranges[above.index()], self.ranges[below.index()]);
        start <= place && place < end
    }

    /// The blocks that control reaches only over this edge, in no order.
    pub(super) fn behind(&self, body: &Body, branch: BlockId, edge: usize) -> &[u32] {
        let successors = &body.block(branch).successors;
        let Some(target) = successors.get(edge).copied() else { return &[] };
        let is_double = successors.iter().filter(|other| **other == target).count() > 1;
        // Every other way to the block leads through the block itself.
        let is_only_way = body.block(target).predecessors.iter().all(|from| {
            (from.block == branch && !from.exceptional) || self.dominates(target, from.block)
        });
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
