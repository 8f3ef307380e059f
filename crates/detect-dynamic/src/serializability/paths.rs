//! Paths through the run, as shared nodes that never change: why an open transaction reaches a thread.
//!
//! A node lives as long as a table's entry or another node refers to it. Nodes are counted by hand and freed in a loop:
//! a chain can be longer than the stack is deep.

use trace::{BarrierId, LockId, SiteId, ThreadId, VariableId};

use super::state::{Moment, Slot};

/// What an event on a path did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Deed {
    Read,
    Write,
    Update,
    Acquire,
    Release,
    Start,
    Join,
    Arrive,
    Leave,
    /// Whatever the thread did first or last.
    Any,
}

/// One event on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) thread: ThreadId,
    pub(super) slot: Slot,
    pub(super) moment: Moment,
    pub(super) site: SiteId,
    pub(super) deed: Deed,
}

/// What puts two events in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Via {
    Variable(VariableId),
    Lock(LockId),
    Barrier(BarrierId),
    /// A thread is started or joined.
    Thread(ThreadId),
}

/// Two events of different threads, the first before the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: Point,
    pub(super) to: Point,
    pub(super) via: Via,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PathId(u32);

impl PathId {
    /// The path of length nothing.
    pub(super) const NONE: PathId = PathId(u32::MAX);
}

#[derive(Clone, Copy)]
enum Node {
    /// A path, and one more hop.
    Hop {
        before: PathId,
        hop: Hop,
    },
    /// One path after another.
    Chain {
        first: PathId,
        then: PathId,
    },
    Free,
}

#[derive(Default)]
pub(super) struct Paths {
    nodes: Vec<(Node, u32)>,
    free: Vec<u32>,
}

impl Paths {
    /// More hops than any path that a person could read, or that comes up without being built on purpose.
    const LONGEST: usize = 10_000;

    /// A new path with one owner: the caller.
    pub(super) fn hop(&mut self, before: PathId, hop: Hop) -> PathId {
        self.share(before);
        self.add(Node::Hop { before, hop })
    }

    pub(super) fn chain(&mut self, first: PathId, then: PathId) -> PathId {
        self.share(first);
        self.share(then);
        self.add(Node::Chain { first, then })
    }

    fn add(&mut self, node: Node) -> PathId {
        match self.free.pop() {
            Some(number) => {
                self.nodes[number as usize] = (node, 1);
                PathId(number)
            }
            None => {
                self.nodes.push((node, 1));
                PathId(self.nodes.len() as u32 - 1)
            }
        }
    }

    fn share(&mut self, path: PathId) {
        if path != PathId::NONE {
            self.nodes[path.0 as usize].1 += 1;
        }
    }

    /// Gives up one owner's hold on a path.
    pub(super) fn release(&mut self, path: PathId) {
        let mut path = path;
        // Only chains need it, and they are rare: an empty vector costs nothing.
        let mut left = Vec::new();
        loop {
            let mut next = PathId::NONE;
            if path != PathId::NONE {
                let (node, owners) = &mut self.nodes[path.0 as usize];
                *owners -= 1;
                if *owners == 0 {
                    match std::mem::replace(node, Node::Free) {
                        Node::Hop { before, .. } => next = before,
                        Node::Chain { first, then } => {
                            next = first;
                            left.push(then);
                        }
                        Node::Free => {}
                    }
                    self.free.push(path.0);
                }
            }
            if next == PathId::NONE {
                match left.pop() {
                    Some(other) => next = other,
                    None => return,
                }
            }
            path = next;
        }
    }

    /// The hops of a path, first to last.
    pub(super) fn hops(&self, path: PathId) -> Vec<Hop> {
        let mut hops = Vec::new();
        let mut left = vec![path];
        while let Some(path) = left.pop() {
            if path == PathId::NONE || hops.len() >= Paths::LONGEST {
                continue;
            }
            match self.nodes[path.0 as usize].0 {
                Node::Hop { before, hop } => {
                    hops.push(hop);
                    left.push(before);
                }
                Node::Chain { first, then } => left.extend([first, then]),
                Node::Free => {}
            }
        }
        hops.reverse();
        hops
    }

    /// How many nodes are in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }
}
