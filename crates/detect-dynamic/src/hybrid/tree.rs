//! One transaction of one thread as it is kept: its accesses, the sections and arms that they are in, and their order.
//!
//! A tree is flat. Every access has a rank, its place among the accesses of the tree; what begins in between has the rank
//! of the access that comes next. Accesses that are alike, and so are the sections and branches of a loop, stand
//! together in one node, section or branch, which then has a first and a last rank, or several begins.

use trace::{LockId, Mode, Ran, SiteId, StackId, ThreadId, UnitId, VariableId};

use crate::clock::Clock;
use crate::lockset::{Held, LockSets};

/// The place of an access among all that a tree keeps.
pub(super) type Rank = u16;

/// Before the first access.
pub(super) const BEGIN: i32 = -1;
/// After the last one.
pub(super) const END: i32 = i32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Deed {
    Read,
    Write,
    /// Reads and writes in one step.
    Update,
}

impl Deed {
    pub(super) fn writes(self) -> bool {
        match self {
            Deed::Read => false,
            Deed::Write | Deed::Update => true,
        }
    }
}

/// Where in the code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Spot {
    pub(super) site: SiteId,
    pub(super) stack: StackId,
}

/// Accesses that are alike: of one kind to one variable, in the same sections and arms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) variable: VariableId,
    pub(super) deed: Deed,
    pub(super) ran: bool,
    pub(super) clock: Clock,
    /// Number of its set of sections.
    pub(super) holds: u16,
    /// The innermost arm, 0 outside all arms of the tree.
    pub(super) arm: u16,
    /// Which call of a method it is in that is taken to be one step, 0 for none.
    pub(super) call: u16,
    /// The first of them, and the last one.
    pub(super) first: Rank,
    pub(super) last: Rank,
    pub(super) first_at: Spot,
    pub(super) last_at: Spot,
    /// The same as `holds`, as other trees can compare it.
    pub(super) held: Held,
}

/// Where a lock is held.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Section {
    pub(super) lock: LockId,
    pub(super) mode: Mode,
    pub(super) site: SiteId,
    pub(super) arm: u16,
    /// The section from which on the lock has been held in whichever mode: this one, or one in the other mode that it
    /// was begun in.
    pub(super) root: u16,
    /// Ranks before which it was begun, ascending, the first few and the last one.
    pub(super) begins: Box<[Rank]>,
}

/// One way to go on at a branch. Number 0 is no arm but the tree itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Arm {
    pub(super) branch: u16,
    pub(super) index: u32,
    pub(super) parent: u16,
}

/// A branch as the thread came to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Branch {
    /// Where it is: the same code is the same branch, however often the thread comes there.
    pub(super) site: SiteId,
    /// Whether what it ran is one of its arms. If not, it ran none of them.
    pub(super) has_run: bool,
    pub(super) begins: Box<[Rank]>,
}

/// A unit that is judged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Span {
    pub(super) unit: UnitId,
    pub(super) site: SiteId,
    /// The first rank that belongs to it, and the first that does not.
    pub(super) begin: Rank,
    pub(super) end: Rank,
}

/// An arm that a whole tree is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Around {
    pub(super) site: SiteId,
    pub(super) arm: u32,
    pub(super) ran: bool,
}

/// One of the times that a thread went through the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Occurrence {
    /// Its number among the trees of the thread.
    pub(super) ordinal: u32,
    /// For each arm around it, which time of all the thread came to a branch.
    pub(super) serials: Box<[u32]>,
}

pub(super) struct Tree {
    pub(super) thread: ThreadId,
    pub(super) nodes: Box<[Node]>,
    pub(super) sections: Box<[Section]>,
    /// Sets of sections, sorted; number 0 is empty.
    pub(super) holdsets: Box<[Box<[u16]>]>,
    /// Number 0 stands for the tree, if there are any.
    pub(super) arms: Box<[Arm]>,
    pub(super) branches: Box<[Branch]>,
    pub(super) spans: Box<[Span]>,
    pub(super) around: Box<[Around]>,
    /// Whether accesses were left out because there were too many.
    pub(super) is_cut: bool,
    pub(super) first: Occurrence,
    pub(super) last: Occurrence,
    pub(super) count: u64,
}

/// An access in a tree: the node, and which of its accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct At {
    pub(super) node: u16,
    pub(super) rank: Rank,
}

/// Whether something was begun after one rank and before or at another.
fn is_between(begins: &[Rank], from: i32, to: i32) -> bool {
    begins.iter().any(|&begin| from < i32::from(begin) && i32::from(begin) <= to)
}

/// Whether nobody can take the lock in this mode while these are held.
fn excludes(held: Held, lock: LockId, mode: Mode, sets: &LockSets) -> bool {
    let has = |set| sets.locks(set).binary_search(&lock).is_ok();
    has(held.alone) || mode == Mode::Exclusive && has(held.any)
}

impl Tree {
    pub(super) fn node(&self, at: At) -> &Node {
        &self.nodes[usize::from(at.node)]
    }

    pub(super) fn spot(&self, at: At) -> Spot {
        let node = self.node(at);
        if at.rank == node.last { node.last_at } else { node.first_at }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let begins = self.sections.len() + self.branches.len();
        size_of::<Tree>()
            + size_of_val(&*self.nodes)
            + size_of_val(&*self.sections)
            + self.holdsets.iter().map(|set| size_of_val(set) + size_of_val(&**set)).sum::<usize>()
            + size_of_val(&*self.arms)
            + size_of_val(&*self.branches)
            + size_of_val(&*self.spans)
            + size_of_val(&*self.around)
            + begins * size_of::<usize>()
    }

    /// Whether they are the same in all that counts: who does what, where, under which locks, in which order.
    pub(super) fn is_same(&self, other: &Tree) -> bool {
        let key = |node: &Node| {
            let Node { variable, deed, ran, clock, holds, arm, call, first, last, first_at, last_at, held: _ } = *node;
            (variable, deed, ran, clock, holds, (arm, call), (first, last), (first_at.site, last_at.site))
        };
        self.thread == other.thread
            && self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|(a, b)| key(a) == key(b))
            && self.sections == other.sections
            && self.holdsets == other.holdsets
            && self.arms == other.arms
            && self.branches == other.branches
            && self.spans == other.spans
            && self.around == other.around
            && self.is_cut == other.is_cut
    }

    pub(super) fn holdset(&self, number: u16) -> &[u16] {
        self.holdsets.get(usize::from(number)).map_or(&[], |set| set)
    }

    /// The locks that are held all the time from one access to a later one: in any mode, and alone.
    pub(super) fn held_throughout(&self, from: At, to: At, sets: &mut LockSets) -> Held {
        let (from_holds, to_holds) = (self.node(from).holds, self.node(to).holds);
        if from_holds == 0 || to_holds == 0 {
            return Held::NOTHING;
        }
        let (low, high) = (i32::from(from.rank), i32::from(to.rank));
        let (mut any, mut alone) = (Vec::new(), Vec::new());
        for &one in self.holdset(from_holds) {
            let section = &self.sections[usize::from(one)];
            for &other in self.holdset(to_holds) {
                let later = &self.sections[usize::from(other)];
                if later.root != section.root {
                    continue;
                }
                if !is_between(&self.sections[usize::from(section.root)].begins, low, high) {
                    any.push(section.lock);
                }
                if one == other && section.mode == Mode::Exclusive && !is_between(&section.begins, low, high) {
                    alone.push(section.lock);
                }
            }
        }
        Held { any: sets.of(any.into_iter()), alone: sets.of(alone.into_iter()) }
    }

    /// From an arm outwards, the tree itself left out.
    pub(super) fn arms_of(&self, arm: u16) -> impl Iterator<Item = u16> {
        let parent = |&arm: &u16| Some(self.arms[usize::from(arm)].parent).filter(|&parent| parent != 0);
        std::iter::successors(Some(arm).filter(|&arm| arm != 0), parent)
    }

    /// Whether no branch keeps the two from running in one run. The first is not after the second.
    pub(super) fn are_compatible(&self, one: At, other: At) -> bool {
        let (arm, other_arm) = (self.node(one).arm, self.node(other).arm);
        if arm == 0 || other_arm == 0 || arm == other_arm {
            return true;
        }
        self.arms_of(arm).all(|arm| {
            let arm = self.arms[usize::from(arm)];
            self.arms_of(other_arm).all(|other_arm| {
                let other_arm = self.arms[usize::from(other_arm)];
                arm.branch != other_arm.branch
                    || arm.index == other_arm.index
                    // The thread came there once more in between, and could go the other way.
                    || is_between(
                        &self.branches[usize::from(arm.branch)].begins,
                        i32::from(one.rank),
                        i32::from(other.rank),
                    )
            })
        })
    }

    /// Whether others can come in between as far as is taken for granted: not into a call that is one step.
    pub(super) fn are_steps(&self, one: At, other: At) -> bool {
        let call = self.node(one).call;
        call == 0 || call != self.node(other).call
    }

    /// Whether there is a way from one access to another, or from the beginning or to the end if there is none, on which no
    /// lock is taken that `held` keeps others from taking.
    pub(super) fn is_free(&self, from: Option<At>, to: Option<At>, held: Held, sets: &LockSets) -> bool {
        if held.any.is_empty() {
            return true;
        }
        if self.is_cut && to.is_none() {
            return false;
        }
        let low = from.map_or(BEGIN, |at| i32::from(at.rank));
        let high = to.map_or(END, |at| i32::from(at.rank));
        let ends = [from, to].map(|at| at.map_or(0, |at| self.node(at).arm));
        self.sections.iter().all(|section| {
            !is_between(&section.begins, low, high)
                || !excludes(held, section.lock, section.mode, sets)
                || self.is_passed_by(section.arm, ends, held, sets)
        })
    }

    /// Whether who goes from an arm to another one need not, or cannot, go through `arm`.
    fn is_passed_by(&self, arm: u16, ends: [u16; 2], held: Held, sets: &LockSets) -> bool {
        let chain: Vec<u16> = self.arms_of(arm).collect();
        for &arm in chain.iter().rev() {
            if ends.iter().any(|&end| self.arms_of(end).any(|one| one == arm)) {
                continue;
            }
            let branch = self.arms[usize::from(arm)].branch;
            // Of several times that the thread came there, an arm decides one.
            let is_once = self.branches[usize::from(branch)].begins.len() == 1;
            let is_decided = |&end: &u16| self.arms_of(end).any(|one| self.arms[usize::from(one)].branch == branch);
            return is_once && ends.iter().any(is_decided) || self.is_avoidable(branch, held, sets);
        }
        false
    }

    /// Whether a branch has an arm without such locks.
    fn is_avoidable(&self, branch: u16, held: Held, sets: &LockSets) -> bool {
        let arms = || (1..self.arms.len() as u16).filter(|&arm| self.arms[usize::from(arm)].branch == branch);
        !self.branches[usize::from(branch)].has_run || arms().any(|arm| self.is_clear(arm, held, sets))
    }

    /// Whether there is a way through an arm without such locks.
    fn is_clear(&self, arm: u16, held: Held, sets: &LockSets) -> bool {
        self.sections.iter().filter(|section| excludes(held, section.lock, section.mode, sets)).all(|section| {
            let mut inner = None;
            for one in self.arms_of(section.arm) {
                if one == arm {
                    return inner
                        .is_some_and(|inner: u16| self.is_avoidable(self.arms[usize::from(inner)].branch, held, sets));
                }
                inner = Some(one);
            }
            true
        })
    }

    /// The accesses of two nodes, the first not after the second, that have the least in between.
    pub(super) fn nearest(&self, from: u16, to: u16) -> impl Iterator<Item = (At, At)> {
        let (one, other) = (&self.nodes[usize::from(from)], &self.nodes[usize::from(to)]);
        let ranks =
            [(one.last, other.first), (one.first, other.first), (one.last, other.last), (one.first, other.last)];
        let at = move |(low, high)| (At { node: from, rank: low }, At { node: to, rank: high });
        ranks.into_iter().filter(|(low, high)| low <= high).map(at)
    }

    /// Whether all arms around two trees of one thread can be taken in one run, the first before the second.
    pub(super) fn can_precede(&self, other: &Tree) -> bool {
        if self.first.ordinal >= other.last.ordinal {
            return false;
        }
        for (index, (one, two)) in self.around.iter().zip(&other.around).enumerate() {
            if self.first.serials.get(index) != other.last.serials.get(index) {
                return true;
            }
            if one.arm != two.arm {
                return false;
            }
        }
        true
    }
}

/// Whether something that was done in some arms can come before something that was done in others, whichever times that was.
pub(super) fn can_follow(one: &[Around], other: &[Around]) -> bool {
    let Some((first, second)) = one.iter().zip(other).find(|(first, second)| first != second) else { return true };
    // Two places are two branches; of one it may have been the same time.
    first.site != second.site && first.site != SiteId(0) && second.site != SiteId(0)
}

/// Whether an arm is one that ran.
pub(super) fn has_run(ran: Ran) -> bool {
    match ran {
        Ran::Yes => true,
        Ran::Speculated => false,
    }
}
