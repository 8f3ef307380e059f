//! A tree while its thread is in it.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use trace::{LockId, Mode, SiteId, ThreadId, UnitId, VariableId};

use super::tree::{Arm, Around, Branch, Deed, Node, Occurrence, Rank, Section, Span, Spot, Tree};
use crate::clock::Clock;
use crate::lockset::{Held, LockSets};

/// How many accesses have been kept so far.
pub(super) type Position = u32;

/// What is kept of what is alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// So many of the accesses, sections and branches that are alike stand on their own; the last one of these stands for
    /// all that follow, too.
    pub(super) alike: u32,
    /// Nodes, sections or arms of one tree.
    pub(super) tree: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NodeKey {
    variable: VariableId,
    deed: Deed,
    clock: Clock,
    holds: u16,
    arm: u16,
    call: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SectionKey {
    lock: LockId,
    mode: Mode,
    site: SiteId,
    holds: u16,
    arm: u16,
    root: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct BranchKey {
    site: SiteId,
    holds: u16,
    arm: u16,
}

/// How many are alike, and the latest that stands on its own.
#[derive(Clone, Copy)]
struct Alike {
    count: u32,
    latest: u16,
}

struct OpenNode {
    key: NodeKey,
    ran: bool,
    first: Position,
    last: Position,
    first_at: Spot,
    last_at: Spot,
}

struct OpenSection {
    key: SectionKey,
    root: u16,
    begins: Vec<Position>,
}

struct OpenBranch {
    site: SiteId,
    has_run: bool,
    begins: Vec<Position>,
}

struct OpenSpan {
    unit: UnitId,
    site: SiteId,
    begin: Position,
    end: Position,
}

pub(super) struct Open {
    thread: ThreadId,
    limits: Limits,
    pub(super) position: Position,
    /// Where the latest section or branch began.
    begun: Position,
    nodes: Vec<OpenNode>,
    sections: Vec<OpenSection>,
    holdsets: Vec<Box<[u16]>>,
    arms: Vec<Arm>,
    branches: Vec<OpenBranch>,
    spans: Vec<OpenSpan>,
    around: Box<[Around]>,
    serials: Box<[u32]>,
    node_keys: FxHashMap<NodeKey, Alike>,
    section_keys: FxHashMap<SectionKey, Alike>,
    branch_keys: FxHashMap<BranchKey, Alike>,
    /// Calls of methods that are taken to be one step each, so far.
    pub(super) calls: u16,
    pub(super) is_cut: bool,
    /// Accesses that found no room.
    pub(super) left_out: u64,
}

/// Begins of one section or branch that are kept one by one.
const MOST_BEGINS: usize = 64;

fn begin(begins: &mut Vec<Position>, position: Position) {
    if begins.len() == MOST_BEGINS {
        begins.pop();
    }
    begins.push(position);
}

/// The number of a section or branch that begins.
enum Number {
    New(u16),
    /// It goes by one that is like it.
    Again(u16),
    TooMany,
}

/// `count`: how many there are. Of those at unknown places nobody knows whether they are the same code.
fn number<K: Eq + Hash>(keys: &mut FxHashMap<K, Alike>, key: K, site: SiteId, count: usize, limits: Limits) -> Number {
    let known = if site == SiteId(0) { None } else { keys.get_mut(&key) };
    if let Some(alike) = &known
        && alike.count >= limits.alike
    {
        return Number::Again(alike.latest);
    }
    if count >= limits.tree {
        return Number::TooMany;
    }
    let latest = count as u16;
    match known {
        Some(alike) => *alike = Alike { count: alike.count + 1, latest },
        None => {
            keys.insert(key, Alike { count: 1, latest });
        }
    }
    Number::New(latest)
}

impl Open {
    pub(super) fn new(thread: ThreadId, around: Box<[Around]>, serials: Box<[u32]>, limits: Limits) -> Open {
        Open {
            thread,
            limits,
            position: 0,
            begun: 0,
            nodes: Vec::new(),
            sections: Vec::new(),
            holdsets: vec![Box::default()],
            arms: Vec::new(),
            branches: Vec::new(),
            spans: Vec::new(),
            around,
            serials,
            node_keys: FxHashMap::default(),
            section_keys: FxHashMap::default(),
            branch_keys: FxHashMap::default(),
            calls: 0,
            is_cut: false,
            left_out: 0,
        }
    }

    /// Room for the next tree of the thread.
    pub(super) fn reuse(&mut self, around: Box<[Around]>, serials: Box<[u32]>) {
        const LARGE: usize = 256;
        (self.position, self.begun, self.is_cut, self.left_out) = (0, 0, false, 0);
        self.calls = 0;
        self.nodes.clear();
        self.sections.clear();
        self.holdsets.truncate(1);
        self.arms.clear();
        self.branches.clear();
        self.spans.clear();
        (self.around, self.serials) = (around, serials);
        // To clear a table takes as long as it is large.
        if self.node_keys.capacity() > LARGE {
            self.node_keys = FxHashMap::default();
        }
        if self.section_keys.capacity() > LARGE {
            self.section_keys = FxHashMap::default();
        }
        self.node_keys.clear();
        self.section_keys.clear();
        self.branch_keys.clear();
    }

    pub(super) fn access(
        &mut self,
        variable: VariableId,
        deed: Deed,
        clock: Clock,
        at: Spot,
        (holds, arm, call): (u16, u16, u16),
        ran: bool,
    ) {
        if self.is_cut {
            self.left_out += 1;
            return;
        }
        let key = NodeKey { variable, deed, clock, holds, arm, call };
        let known = self.node_keys.get_mut(&key);
        if let Some(alike) = &known {
            let node = &mut self.nodes[usize::from(alike.latest)];
            // Where nothing began since, the latest one does as well.
            if alike.count >= self.limits.alike || node.last > self.begun {
                self.position += 1;
                (node.last, node.last_at) = (self.position, at);
                return;
            }
        }
        if self.nodes.len() >= self.limits.tree {
            self.is_cut = true;
            self.left_out += 1;
            return;
        }
        self.position += 1;
        let latest = self.nodes.len() as u16;
        match known {
            Some(alike) => *alike = Alike { count: alike.count + 1, latest },
            None => {
                self.node_keys.insert(key, Alike { count: 1, latest });
            }
        }
        let position = self.position;
        self.nodes.push(OpenNode { key, ran, first: position, last: position, first_at: at, last_at: at });
    }

    /// The number of the section that begins. `root` is one in the other mode of the same lock that it begins in.
    pub(super) fn section(
        &mut self,
        lock: LockId,
        mode: Mode,
        site: SiteId,
        holds: u16,
        arm: u16,
        root: Option<u16>,
    ) -> u16 {
        self.begun = self.position;
        let key = SectionKey { lock, mode, site, holds, arm, root };
        let latest = match number(&mut self.section_keys, key, site, self.sections.len(), self.limits) {
            Number::New(latest) => latest,
            Number::Again(latest) => {
                begin(&mut self.sections[usize::from(latest)].begins, self.position);
                return latest;
            }
            Number::TooMany => {
                self.is_cut = true;
                return 0;
            }
        };
        let root = root.map_or(latest, |root| self.sections[usize::from(root)].root);
        self.sections.push(OpenSection { key, root, begins: vec![self.position] });
        latest
    }

    /// The number of a set of sections.
    pub(super) fn holds(&mut self, sections: impl Iterator<Item = u16>) -> u16 {
        let mut set: Vec<u16> = sections.collect();
        set.sort_unstable();
        set.dedup();
        // Who lets a lock go is most often back where it was just before.
        if let Some(known) = self.holdsets.iter().rposition(|known| **known == *set) {
            return known as u16;
        }
        if self.holdsets.len() > 2 * self.limits.tree {
            self.is_cut = true;
            return 0;
        }
        self.holdsets.push(set.into());
        self.holdsets.len() as u16 - 1
    }

    /// The number of the branch that the thread comes to.
    pub(super) fn branch(&mut self, site: SiteId, holds: u16, arm: u16) -> u16 {
        self.begun = self.position;
        let key = BranchKey { site, holds, arm };
        let latest = match number(&mut self.branch_keys, key, site, self.branches.len(), self.limits) {
            Number::New(latest) => latest,
            Number::Again(latest) => {
                begin(&mut self.branches[usize::from(latest)].begins, self.position);
                return latest;
            }
            Number::TooMany => {
                self.is_cut = true;
                return 0;
            }
        };
        self.branches.push(OpenBranch { site, has_run: false, begins: vec![self.position] });
        latest
    }

    /// The number of an arm of a branch.
    pub(super) fn arm(&mut self, branch: u16, index: u32, parent: u16, ran: bool) -> u16 {
        if self.arms.is_empty() {
            // What stands for the tree.
            self.arms.push(Arm { branch: u16::MAX, index: 0, parent: 0 });
        }
        if let Some(branch) = self.branches.get_mut(usize::from(branch)) {
            branch.has_run |= ran;
        }
        let arm = Arm { branch, index, parent };
        if let Some(known) = self.arms.iter().rposition(|known| *known == arm) {
            return known as u16;
        }
        if self.arms.len() > self.limits.tree {
            self.is_cut = true;
            return 0;
        }
        self.arms.push(arm);
        self.arms.len() as u16 - 1
    }

    /// A unit that began at a position ends here.
    pub(super) fn span(&mut self, unit: UnitId, site: SiteId, begin: Position) {
        // What did nothing since it began cannot be disturbed.
        if begin < self.position && self.spans.len() < self.limits.tree {
            self.spans.push(OpenSpan { unit, site, begin, end: self.position });
        }
    }

    pub(super) fn clocks(&self) -> impl Iterator<Item = Clock> {
        self.nodes.iter().map(|node| node.key.clock)
    }

    /// The tree, without what only the sets of locks of all trees can say, and a number that trees which are the same share.
    pub(super) fn close(&mut self, ordinal: u32) -> (Tree, u64) {
        let mut positions: Vec<Position> = Vec::with_capacity(2 * self.nodes.len());
        positions.extend(self.nodes.iter().map(|node| node.first));
        positions.extend(self.nodes.iter().filter(|node| node.last != node.first).map(|node| node.last));
        positions.sort_unstable();
        let rank = |position: Position| positions.partition_point(|&known| known < position) as Rank;
        let gap = |position: Position| positions.partition_point(|&known| known <= position) as Rank;
        let gaps = |begins: &[Position]| -> Box<[Rank]> {
            let mut gaps: Vec<Rank> = begins.iter().map(|&begin| gap(begin)).collect();
            gaps.dedup();
            gaps.into()
        };
        let node = |open: &OpenNode| Node {
            variable: open.key.variable,
            deed: open.key.deed,
            ran: open.ran,
            clock: open.key.clock,
            holds: open.key.holds,
            arm: open.key.arm,
            call: open.key.call,
            first: rank(open.first),
            last: rank(open.last),
            first_at: open.first_at,
            last_at: open.last_at,
            held: Held::NOTHING,
        };
        let section = |open: &OpenSection| Section {
            lock: open.key.lock,
            mode: open.key.mode,
            site: open.key.site,
            arm: open.key.arm,
            root: open.root,
            begins: gaps(&open.begins),
        };
        let branch = |open: &OpenBranch| Branch { site: open.site, has_run: open.has_run, begins: gaps(&open.begins) };
        // A unit that lies inside another one is a part of it.
        let is_inside = |span: &OpenSpan, index: usize| {
            self.spans.iter().enumerate().any(|(other_index, other)| {
                let is_around = other.begin <= span.begin && span.end <= other.end;
                let is_same = other.begin == span.begin && span.end == other.end;
                is_around && (!is_same || other_index < index)
            })
        };
        let spans = self
            .spans
            .iter()
            .enumerate()
            .filter(|(index, span)| !is_inside(span, *index))
            .map(|(_, open)| Span { unit: open.unit, site: open.site, begin: gap(open.begin), end: gap(open.end) });
        let tree = Tree {
            thread: self.thread,
            nodes: self.nodes.iter().map(node).collect(),
            sections: self.sections.iter().map(section).collect(),
            holdsets: if self.holdsets.len() > 1 { self.holdsets.clone().into() } else { Box::default() },
            arms: self.arms.clone().into(),
            branches: self.branches.iter().map(branch).collect(),
            spans: spans.collect(),
            around: std::mem::take(&mut self.around),
            is_cut: self.is_cut,
            last: Occurrence { ordinal, serials: self.serials.clone() },
            first: Occurrence { ordinal, serials: std::mem::take(&mut self.serials) },
            count: 1,
        };
        let mut hasher = FxHasher::default();
        hash(&tree, &mut hasher);
        (tree, hasher.finish())
    }
}

fn hash(tree: &Tree, hasher: &mut FxHasher) {
    (tree.thread, tree.nodes.len(), &tree.sections, &tree.spans, &tree.around).hash(hasher);
    for node in &tree.nodes {
        (node.variable, node.deed, node.clock, node.holds, node.arm, node.first, node.last).hash(hasher);
        (node.first_at.site, node.last_at.site, node.call).hash(hasher);
    }
}

/// Says in the terms of all trees which locks the nodes hold.
pub(super) fn settle_locks(tree: &mut Tree, sets: &mut LockSets) {
    let held: Vec<Held> = tree
        .holdsets
        .iter()
        .map(|set| {
            let sections = || set.iter().map(|&section| &tree.sections[usize::from(section)]);
            let alone = sections().filter(|section| section.mode == Mode::Exclusive);
            Held {
                any: sets.of(sections().map(|section| section.lock)),
                alone: sets.of(alone.map(|section| section.lock)),
            }
        })
        .collect();
    for node in &mut tree.nodes {
        node.held = held.get(usize::from(node.holds)).copied().unwrap_or(Held::NOTHING);
    }
}
