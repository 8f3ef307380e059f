//! Who accesses a variable, how, and under which locks: the trees, by variable.

use rustc_hash::FxHashMap;
use trace::{ThreadId, VariableId};

use super::forest::{Forest, TreeId};
use super::tree::Node;
use crate::clock::{Clock, Clocks};
use crate::lockset::{Held, LockSets};

/// A node of some tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeRef {
    pub(super) tree: TreeId,
    pub(super) node: u16,
}

/// Number of a [`Record`] in [`Index`].
pub(super) type RecordId = u32;

/// Nodes of one variable that are alike but for where in the thread's events they are.
pub(super) struct Record {
    pub(super) variable: VariableId,
    pub(super) thread: ThreadId,
    pub(super) clock: Clock,
    pub(super) held: Held,
    pub(super) writes: bool,
    pub(super) ran: bool,
    begin: u32,
    end: u32,
    /// The one whose tree ran first, and the one whose tree ran last.
    pub(super) first: NodeRef,
    pub(super) last: NodeRef,
}

impl Record {
    /// Whether some order of the two would matter, and neither start, join nor barriers settle it.
    pub(super) fn conflicts(&self, thread: ThreadId, node: &Node, clocks: &Clocks) -> bool {
        self.thread != thread
            && (self.writes || node.deed.writes())
            && !are_ordered((self.thread, self.clock), (thread, node.clock), clocks)
    }

    /// Whether the other one can come after this one, and that would matter.
    pub(super) fn precedes(&self, other: &Record, clocks: &Clocks) -> bool {
        self.thread != other.thread
            && (self.writes || other.writes)
            && !clocks.is_before(other.thread, other.clock, self.clock)
    }

    pub(super) fn conflicts_with(&self, other: &Record, clocks: &Clocks) -> bool {
        self.thread != other.thread
            && (self.writes || other.writes)
            && !are_ordered((self.thread, self.clock), (other.thread, other.clock), clocks)
    }
}

/// Whether start, join or barriers put what two threads did at these clocks in order.
pub(super) fn are_ordered(one: (ThreadId, Clock), other: (ThreadId, Clock), clocks: &Clocks) -> bool {
    clocks.is_before(one.0, one.1, other.1) || clocks.is_before(other.0, other.1, one.1)
}

/// What is known of a variable that several threads access and one writes.
struct Shared {
    begin: RecordId,
    end: RecordId,
    /// What all hold who access it.
    guard: Held,
}

#[derive(Default)]
pub(super) struct Index {
    nodes: Vec<NodeRef>,
    pub(super) records: Vec<Record>,
    variables: FxHashMap<VariableId, Shared>,
    /// For each thread, the records of it.
    threads: Vec<Vec<RecordId>>,
}

/// What is known of a variable before anything is sorted.
#[derive(Clone, Copy, Default)]
struct Use {
    /// One more than the thread that was seen first.
    thread: u32,
    is_shared: bool,
    is_written: bool,
    count: u32,
}

impl Index {
    pub(super) fn new(forest: &Forest, sets: &mut LockSets) -> Index {
        let mut uses: Vec<Use> = Vec::new();
        for tree in &forest.trees {
            for node in &tree.nodes {
                if node.variable.index() >= uses.len() {
                    uses.resize(node.variable.index() + 1, Use::default());
                }
                let known = &mut uses[node.variable.index()];
                known.is_shared |= known.thread != 0 && known.thread != tree.thread.0 + 1;
                known.thread = tree.thread.0 + 1;
                known.is_written |= node.deed.writes();
                known.count += 1;
            }
        }
        // Where the nodes of each variable begin.
        let mut begins = Vec::with_capacity(uses.len());
        let mut total = 0;
        for known in &uses {
            begins.push(total);
            total += if known.is_shared && known.is_written { known.count as usize } else { 0 };
        }
        let mut nodes = vec![NodeRef { tree: 0, node: 0 }; total];
        let mut next = begins.clone();
        for (id, tree) in forest.trees.iter().enumerate() {
            for (number, node) in tree.nodes.iter().enumerate() {
                let variable = node.variable.index();
                if uses[variable].is_shared && uses[variable].is_written {
                    nodes[next[variable]] = NodeRef { tree: id as TreeId, node: number as u16 };
                    next[variable] += 1;
                }
            }
        }
        let mut index = Index { nodes, ..Index::default() };
        for (variable, known) in uses.iter().enumerate() {
            if known.is_shared && known.is_written {
                let begin = begins[variable];
                index.add(VariableId(variable as u32), begin, begin + known.count as usize, forest, sets);
            }
        }
        index
    }

    fn add(&mut self, variable: VariableId, begin: usize, end: usize, forest: &Forest, sets: &mut LockSets) {
        let node = |known: &NodeRef| {
            let tree = &forest.trees[known.tree as usize];
            (tree.thread, tree.nodes[usize::from(known.node)])
        };
        let key = |known: &NodeRef| {
            let (thread, node) = node(known);
            let Held { any, alone } = node.held;
            (thread, !node.ran, node.deed.writes(), node.clock.number(), any, alone, known.tree, known.node)
        };
        let first_record = self.records.len() as RecordId;
        let nodes = &mut self.nodes[begin..end];
        nodes.sort_by_cached_key(key);
        let mut guard: Option<Held> = None;
        for (number, known) in nodes.iter().enumerate() {
            let (thread, node) = node(known);
            let at = (begin + number) as u32;
            let is_same = |record: &Record| {
                record.variable == variable
                    && record.thread == thread
                    && record.ran == node.ran
                    && record.writes == node.deed.writes()
                    && record.clock == node.clock
                    && record.held == node.held
            };
            let tree = |known: NodeRef| &forest.trees[known.tree as usize];
            match self.records.last_mut().filter(|record| is_same(record)) {
                Some(record) => {
                    record.end = at + 1;
                    if tree(*known).first.ordinal < tree(record.first).first.ordinal {
                        record.first = *known;
                    }
                    if tree(*known).last.ordinal > tree(record.last).last.ordinal {
                        record.last = *known;
                    }
                }
                None => {
                    self.records.push(Record {
                        variable,
                        thread,
                        clock: node.clock,
                        held: node.held,
                        writes: node.deed.writes(),
                        ran: node.ran,
                        begin: at,
                        end: at + 1,
                        first: *known,
                        last: *known,
                    });
                    guard = Some(match guard {
                        None => node.held,
                        Some(guard) => Held {
                            any: sets.meet(guard.any, node.held.any),
                            alone: sets.meet(guard.alone, node.held.alone),
                        },
                    });
                }
            }
        }
        let last_record = self.records.len() as RecordId;
        for record in first_record..last_record {
            let thread = self.records[record as usize].thread.index();
            if thread >= self.threads.len() {
                self.threads.resize_with(thread + 1, Vec::new);
            }
            self.threads[thread].push(record);
        }
        let guard = guard.unwrap_or(Held::NOTHING);
        self.variables.insert(variable, Shared { begin: first_record, end: last_record, guard });
    }

    pub(super) fn record(&self, id: RecordId) -> &Record {
        &self.records[id as usize]
    }

    /// The records of a variable, by thread; none if only one thread accesses it, or nobody writes it.
    pub(super) fn of(&self, variable: VariableId) -> std::ops::Range<RecordId> {
        self.variables.get(&variable).map_or(0..0, |shared| shared.begin..shared.end)
    }

    /// Whether whoever accesses a variable is kept out by these locks.
    pub(super) fn is_guarded(&self, variable: VariableId, held: Held, sets: &LockSets) -> bool {
        self.variables.get(&variable).is_none_or(|shared| held.excludes(shared.guard, sets))
    }

    pub(super) fn of_thread(&self, thread: ThreadId) -> &[RecordId] {
        self.threads.get(thread.index()).map_or(&[], |records| records)
    }

    /// The nodes of a record, by tree.
    pub(super) fn nodes(&self, record: &Record) -> &[NodeRef] {
        &self.nodes[record.begin as usize..record.end as usize]
    }
}
