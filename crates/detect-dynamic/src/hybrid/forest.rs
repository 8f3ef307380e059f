//! All trees of a run, each kind once: a program does the same again and again.

use rustc_hash::FxHashMap;
use trace::ThreadId;

use super::open::settle_locks;
use super::tree::Tree;
use crate::lockset::LockSets;

/// Number of a tree in [`Forest`].
pub(super) type TreeId = u32;

#[derive(Default)]
pub(super) struct Forest {
    pub(super) trees: Vec<Tree>,
    /// By what trees that are the same share. Where two that differ do, the later one has the next number that is free.
    known: FxHashMap<u64, TreeId>,
    /// For each thread, which trees it went through, one after the other.
    sequences: Vec<Vec<TreeId>>,
    /// For each thread, how many trees it went through.
    ordinals: Vec<u32>,
    listed: usize,
    /// Whether the sequences had to be given up.
    pub(super) is_unlisted: bool,
    bytes: usize,
}

impl Forest {
    /// Trees that are listed one by one.
    const MOST_LISTED: usize = 1 << 24;

    /// The next number of a tree of the thread.
    pub(super) fn ordinal(&mut self, thread: ThreadId) -> u32 {
        if thread.index() >= self.ordinals.len() {
            self.ordinals.resize(thread.index() + 1, 0);
            self.sequences.resize_with(thread.index() + 1, Vec::new);
        }
        self.ordinals[thread.index()]
    }

    pub(super) fn add(&mut self, mut tree: Tree, mut hash: u64, sets: &mut LockSets) {
        let thread = tree.thread;
        let id = loop {
            match self.known.get(&hash) {
                Some(&id) if self.trees[id as usize].is_same(&tree) => {
                    let known = &mut self.trees[id as usize];
                    known.count += 1;
                    known.last = tree.first;
                    break id;
                }
                Some(_) => hash = hash.wrapping_add(1),
                None => {
                    settle_locks(&mut tree, sets);
                    self.bytes += tree.bytes() + size_of::<(u64, TreeId)>();
                    let id = self.trees.len() as TreeId;
                    self.known.insert(hash, id);
                    self.trees.push(tree);
                    break id;
                }
            }
        };
        self.ordinals[thread.index()] += 1;
        if self.is_unlisted {
            return;
        }
        self.sequences[thread.index()].push(id);
        self.listed += 1;
        if self.listed > Forest::MOST_LISTED {
            self.is_unlisted = true;
            self.sequences.iter_mut().for_each(|sequence| *sequence = Vec::new());
        }
    }

    pub(super) fn sequence(&self, thread: ThreadId) -> &[TreeId] {
        self.sequences.get(thread.index()).map_or(&[], |sequence| sequence)
    }

    /// Bytes that all of it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.listed * size_of::<TreeId>()
    }

    /// Gives all trees up. Threads go on where they are.
    pub(super) fn clear(&mut self) {
        let ordinals = std::mem::take(&mut self.ordinals);
        let sequences = vec![Vec::new(); ordinals.len()];
        *self = Forest { ordinals, sequences, ..Forest::default() };
    }
}
