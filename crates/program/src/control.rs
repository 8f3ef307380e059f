//! Control dependence: which branches decide whether a block runs.
//!
//! From the tree of post-dominators. Exceptions that any instruction might throw are left out, or everything would
//! depend on everything before it; an explicit `throw` is a way out like a `return`. An endless loop gets an edge to
//! the exit, so that the tree exists.

use smallvec::SmallVec;

use crate::ir::{BlockId, Body, Op, Value};

/// A branch that decides, and the edge of it that leads here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dependence {
    pub branch: BlockId,
    /// Position among the branch's successors.
    pub edge: usize,
}

#[derive(Clone, Debug)]
pub struct ControlDependence {
    on: Vec<SmallVec<[Dependence; 2]>>,
}

impl ControlDependence {
    pub fn of(body: &Body) -> ControlDependence {
        let post_dominators = post_dominators(body);
        let mut on: Vec<SmallVec<[Dependence; 2]>> = empty(body.block_count());
        for (block, successors) in body.blocks() {
            if successors.successors.len() < 2 {
                continue;
            }
            let stop = post_dominators[block.index()];
            for (edge, successor) in successors.successors.iter().enumerate() {
                let mut walk = successor.index();
                while walk != stop && walk < on.len() {
                    let dependence = Dependence { branch: block, edge };
                    let known = &mut on[walk];
                    if known.last() != Some(&dependence) {
                        known.push(dependence);
                    }
                    walk = post_dominators[walk];
                }
            }
        }
        ControlDependence { on }
    }

    /// The branches that decide directly whether a block runs.
    pub fn of_block(&self, block: BlockId) -> &[Dependence] {
        &self.on[block.index()]
    }
}

/// So many empty lists. `vec!` copies the first one, item by item.
pub(crate) fn empty<T: Default>(count: usize) -> Vec<T> {
    let mut lists = Vec::new();
    lists.resize_with(count, T::default);
    lists
}

/// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph.
fn post_dominators(body: &Body) -> Vec<usize> {
    let count = body.block_count();
    let exit = count;
    let mut leads_from: Vec<SmallVec<[usize; 2]>> = empty(count + 1);
    let mut leads_to: Vec<SmallVec<[usize; 2]>> = empty(count + 1);
    let mut add = |from: usize, to: usize| {
        leads_to[from].push(to);
        leads_from[to].push(from);
    };
    for (block, edges) in body.blocks() {
        if edges.successors.is_empty() {
            add(block.index(), exit);
        }
        for successor in &edges.successors {
            add(block.index(), successor.index());
        }
    }
    // Endless loops, each by its head, so that a branch inside it still decides something.
    let mut seen = vec![false; count + 1];
    let mut order = Vec::with_capacity(count + 1);
    backwards(exit, &leads_from, &mut seen, &mut order);
    for block in 0..count {
        let is_head = leads_from[block].iter().any(|from| *from >= block);
        if !seen[block] && is_head {
            leads_to[block].push(exit);
            leads_from[exit].push(block);
            backwards(block, &leads_from, &mut seen, &mut order);
        }
    }
    seen.fill(false);
    order.clear();
    backwards(exit, &leads_from, &mut seen, &mut order);
    let mut position = vec![0; count + 1];
    for (index, block) in order.iter().enumerate() {
        position[*block] = index;
    }
    let mut dominator = vec![usize::MAX; count + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().rev().skip(1) {
            let mut best = usize::MAX;
            for next in &leads_to[*block] {
                if dominator[*next] == usize::MAX {
                    continue;
                }
                best = if best == usize::MAX { *next } else { common(best, *next, &dominator, &position) };
            }
            if dominator[*block] != best {
                dominator[*block] = best;
                changed = true;
            }
        }
    }
    dominator.truncate(count);
    dominator
}

fn common(mut a: usize, mut b: usize, dominator: &[usize], position: &[usize]) -> usize {
    while a != b {
        while position[a] < position[b] {
            a = dominator[a];
        }
        while position[b] < position[a] {
            b = dominator[b];
        }
    }
    a
}

/// Postorder of the reversed graph from a block, over what was not seen before.
fn backwards(from: usize, leads_from: &[SmallVec<[usize; 2]>], seen: &mut [bool], order: &mut Vec<usize>) {
    let mut open = Vec::with_capacity(leads_from.len());
    open.push((from, 0));
    seen[from] = true;
    while let Some((block, followed)) = open.last_mut() {
        match leads_from[*block].get(*followed) {
            Some(next) => {
                *followed += 1;
                if !seen[*next] {
                    seen[*next] = true;
                    open.push((*next, 0));
                }
            }
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
}

/// Whether a method that returns has come by one of some instructions, whichever way it took.
pub(crate) fn comes_by(body: &Body, instructions: impl Iterator<Item = Value>) -> bool {
    let done: Vec<BlockId> = instructions.map(|at| body.block_of(at)).collect();
    let mut seen = vec![false; body.block_count()];
    let mut pending = vec![BlockId::ENTRY];
    while let Some(block) = pending.pop() {
        if done.contains(&block) || std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        if body.terminator(block).is_some_and(|end| matches!(body.op(end), Op::Return(_))) {
            return false;
        }
        pending.extend(body.block(block).successors.iter().chain(&body.block(block).handlers).copied());
    }
    true
}
