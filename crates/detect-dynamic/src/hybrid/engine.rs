//! From events to trees, and from trees to what can go wrong.

use rustc_hash::FxHashSet;
use trace::{Access, Action, Cause, Event, LockId, MethodId, SiteId, ThreadId, UnitId, VariableId};

use super::deadlock::LockOrder;
use super::forest::Forest;
use super::index::Index;
use super::open::Limits;
use super::paper;
use super::search::{Place, Search, Way};
use super::skew::{self, Skew};
use super::threads::{Goes, Thread};
use super::tree::{Deed, Span, Spot, Tree};
use crate::clock::Clocks;
use crate::lockset::LockSets;
use crate::{Assumed, Options};

/// What the detector may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Whether what did not run counts.
    pub(super) speculates: bool,
    /// The rule of the paper instead of ours.
    pub(super) paper: bool,
    pub(super) limits: Limits,
    /// Bytes that trees and clocks may take, about.
    pub(super) most_bytes: usize,
}

impl Manner {
    /// If nobody says how many.
    const MOST_BYTES: usize = 512 << 20;

    pub(super) fn new(options: &Options, speculates: bool) -> Manner {
        let limits = Limits { alike: 2, tree: 2048 };
        let most_bytes = options.most_bytes.unwrap_or(Manner::MOST_BYTES);
        Manner { speculates, paper: options.paper, limits, most_bytes }
    }
}

/// Who does what, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub(super) thread: ThreadId,
    pub(super) at: Spot,
    pub(super) deed: Deed,
    pub(super) variable: VariableId,
    pub(super) ran: bool,
}

/// A unit that can be disturbed.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) unit: UnitId,
    pub(super) site: SiteId,
    /// In an order that breaks it.
    pub(super) points: Vec<Point>,
    pub(super) is_joint: bool,
    /// How often a unit ran that can be disturbed so.
    pub(super) count: u64,
}

/// What was not looked at, or not to its end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct GivenUp {
    /// How often all that was known of older trees was given up.
    pub(super) forests: u64,
    /// Accesses of trees with too many of them.
    pub(super) accesses: u64,
    /// Units that were not searched to the end.
    pub(super) searches: u64,
}

pub(super) struct Engine {
    manner: Manner,
    threads: Vec<Option<Thread>>,
    clocks: Clocks,
    sets: LockSets,
    pub(super) forest: Forest,
    pub(super) lock_order: LockOrder,
    guarded: FxHashSet<VariableId>,
    /// Methods whose calls are taken to be one step, and such that count for nothing.
    steps: FxHashSet<MethodId>,
    movers: FxHashSet<MethodId>,
    pub(super) violations: Vec<Violation>,
    pub(super) given_up: GivenUp,
}

impl Engine {
    pub(super) fn new(manner: Manner) -> Engine {
        Engine {
            manner,
            threads: Vec::new(),
            clocks: Clocks::default(),
            sets: LockSets::default(),
            forest: Forest::default(),
            lock_order: LockOrder::default(),
            guarded: FxHashSet::default(),
            steps: FxHashSet::default(),
            movers: FxHashSet::default(),
            violations: Vec::new(),
            given_up: GivenUp::default(),
        }
    }

    pub(super) fn assume(&mut self, assumed: Assumed) {
        match assumed {
            Assumed::Guarded(variable) => {
                self.guarded.insert(variable);
            }
            Assumed::Atomic(method) => {
                self.steps.insert(method);
            }
            Assumed::Mover(method) => {
                self.movers.insert(method);
            }
        }
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        let index = event.thread.index();
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, || None);
        }
        let limits = self.manner.limits;
        let thread = self.threads[index].get_or_insert_with(|| Thread::new(event.thread, limits));
        if thread.is_speculating() {
            match event.action {
                Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd | Action::Lost { .. } => {}
                Action::Read { .. }
                | Action::Write { .. }
                | Action::Sync { .. }
                | Action::Acquire { .. }
                | Action::Release { .. }
                    if self.manner.speculates => {}
                // Nothing else can be told of code that did not run.
                _ => return,
            }
        }
        match event.action {
            Action::Read { variable } => self.access(event, variable, Deed::Read),
            Action::Write { variable } => self.access(event, variable, Deed::Write),
            Action::Sync { variable, access, kind: _, interval: _ } => {
                let deed = match access {
                    Access::Read => Deed::Read,
                    Access::Write => Deed::Write,
                    Access::Update => Deed::Update,
                };
                self.access(event, variable, deed);
            }
            Action::Acquire { lock, mode, cause, section: _, activation: _ } => {
                thread.goes_on();
                if thread.acquire(lock, mode, cause, event.site) {
                    self.order(event.thread, lock);
                }
            }
            Action::Release { lock, mode, cause } => {
                thread.goes_on();
                if cause == Cause::Wait {
                    thread.divide();
                }
                if thread.release(lock, mode, cause) == Goes::Over {
                    self.close(event.thread);
                }
            }
            Action::UnitBegin { unit, activation: _ } => {
                thread.goes_on();
                if thread.is_outside_units() {
                    self.close(event.thread);
                }
                if let Some(thread) = &mut self.threads[index] {
                    thread.begin_unit(unit, event.site);
                }
            }
            Action::UnitEnd { unit } => {
                thread.goes_on();
                if thread.end_unit(unit) == Goes::Over {
                    self.close(event.thread);
                }
            }
            Action::Start { child } => {
                thread.divide();
                self.clocks.start(event.thread, child);
            }
            Action::Join { child } => {
                thread.divide();
                self.clocks.join(event.thread, child);
            }
            Action::Arrive { barrier, generation } => {
                thread.divide();
                self.clocks.arrive(event.thread, (barrier, generation));
            }
            Action::Leave { barrier, generation } => {
                thread.divide();
                self.clocks.leave(event.thread, (barrier, generation));
            }
            Action::Enter { activation, method } => {
                thread.enter(activation);
                if self.steps.contains(&method) {
                    thread.enter_step(activation);
                }
                if self.movers.contains(&method) {
                    thread.enter_mover(activation);
                }
            }
            Action::Exit { activation } => {
                if thread.exit(activation) == Goes::Over {
                    self.close(event.thread);
                }
            }
            Action::ArmBegin { branch, arm, ran } => thread.begin_arm(branch, arm, ran, event.site),
            Action::ArmEnd { branch } => {
                if thread.end_arm(branch) == Goes::Over {
                    self.close(event.thread);
                }
            }
            Action::ThreadEnd => self.end(event.thread),
            Action::Lost { events: _, all } => {
                // Nobody knows what is held and which units are open.
                if all {
                    self.end_all();
                } else {
                    self.end(event.thread);
                }
            }
            Action::ThreadBegin | Action::New { .. } => {}
        }
    }

    fn access(&mut self, event: &Event, variable: VariableId, deed: Deed) {
        let Some(Some(thread)) = self.threads.get_mut(event.thread.index()) else { return };
        thread.goes_on();
        if thread.is_in_mover() || !self.guarded.is_empty() && self.guarded.contains(&variable) {
            return;
        }
        let clock = self.clocks.now(event.thread);
        let at = Spot { site: event.site, stack: event.stack };
        let ran = !thread.is_speculating();
        let is_lone = thread.is_idle() && thread.open.is_none();
        thread.tree();
        let (holds, arm) = thread.context();
        let context = (holds, arm, thread.call());
        thread.tree().access(variable, deed, clock, at, context, ran);
        if is_lone {
            self.close(event.thread);
        }
    }

    /// Notes in which order locks are taken.
    fn order(&mut self, thread: ThreadId, lock: LockId) {
        let Some(Some(known)) = self.threads.get(thread.index()) else { return };
        let held: Vec<LockId> = known.locks().filter(|held| *held != lock).collect();
        if !held.is_empty() {
            let clock = self.clocks.now(thread);
            self.lock_order.add(thread, clock, &held, lock);
        }
    }

    /// The tree of a thread is over.
    fn close(&mut self, id: ThreadId) {
        let Some(Some(thread)) = self.threads.get_mut(id.index()) else { return };
        let Some(mut open) = thread.open.take() else { return };
        self.given_up.accesses += open.left_out;
        let (tree, hash) = open.close(self.forest.ordinal(id));
        thread.closed(open);
        if tree.nodes.is_empty() && tree.sections.is_empty() {
            return;
        }
        self.forest.add(tree, hash, &mut self.sets);
        if self.forest.bytes() + self.clocks.bytes() > self.manner.most_bytes {
            self.judge();
            self.forget();
        }
    }

    /// Ends all that a thread is in the middle of.
    fn end(&mut self, id: ThreadId) {
        if let Some(Some(thread)) = self.threads.get_mut(id.index()) {
            thread.end_all();
        }
        self.close(id);
        if let Some(thread) = self.threads.get_mut(id.index()) {
            *thread = None;
        }
    }

    pub(super) fn end_all(&mut self) {
        for index in 0..self.threads.len() {
            self.end(ThreadId(index as u32));
        }
    }

    /// Gives up what is over, so that there is room for what is to come.
    fn forget(&mut self) {
        self.given_up.forests += 1;
        self.forest.clear();
        let open = self.threads.iter().flatten().filter_map(|thread| thread.open.as_ref());
        let mut used: FxHashSet<_> = open.flat_map(|open| open.clocks()).collect();
        used.extend(self.lock_order.clocks());
        self.clocks.forget(used);
    }

    pub(super) fn finish(&mut self) {
        self.end_all();
        self.judge();
        self.given_up.searches += u64::from(self.forest.is_unlisted);
    }

    /// Judges all units that are known.
    fn judge(&mut self) {
        let index = Index::new(&self.forest, &mut self.sets);
        let mut search = Search::new(&self.forest, &index, &self.clocks, &mut self.sets);
        let mut disturbed = vec![false; self.forest.trees.len()];
        for (id, tree) in self.forest.trees.iter().enumerate() {
            for span in &tree.spans {
                let ways =
                    if self.manner.paper { paper::ways(&mut search, id as u32, span) } else { search.ways(tree, span) };
                disturbed[id] |= !ways.is_empty();
                self.violations.extend(ways.iter().map(|way| violation(&self.forest, tree, span, way)));
            }
        }
        if !self.manner.paper {
            for skew in skew::find(&mut search, &disturbed) {
                self.violations.push(joint(&self.forest, &skew));
            }
        }
        self.given_up.searches += search.unfinished;
    }

    /// Locks over which threads can come to wait for each other.
    pub(super) fn circle(&self) -> Option<Vec<LockId>> {
        self.lock_order.circle(&self.clocks)
    }

    /// Whether each kind of tree can be disturbed.
    #[cfg(test)]
    pub(super) fn is_disturbed(&mut self) -> Vec<bool> {
        let index = Index::new(&self.forest, &mut self.sets);
        let mut search = Search::new(&self.forest, &index, &self.clocks, &mut self.sets);
        let paper = self.manner.paper;
        let is_disturbed = |(id, tree): (usize, &Tree)| {
            tree.spans.iter().any(|span| {
                let ways = if paper { paper::ways(&mut search, id as u32, span) } else { search.ways(tree, span) };
                !ways.is_empty()
            })
        };
        self.forest.trees.iter().enumerate().map(is_disturbed).collect()
    }
}

fn point(forest: &Forest, place: Place) -> Point {
    let tree = &forest.trees[place.tree as usize];
    let node = tree.node(place.at);
    let at = tree.spot(place.at);
    Point { thread: tree.thread, at, deed: node.deed, variable: node.variable, ran: node.ran }
}

fn violation(forest: &Forest, tree: &Tree, span: &Span, way: &Way) -> Violation {
    let own = |at| {
        let node = tree.node(at);
        Point { thread: tree.thread, at: tree.spot(at), deed: node.deed, variable: node.variable, ran: node.ran }
    };
    let mut points = vec![own(way.from)];
    for &(from, to) in &way.hops {
        points.push(point(forest, from));
        if from != to {
            points.push(point(forest, to));
        }
    }
    points.push(own(way.to));
    Violation { unit: span.unit, site: span.site, points, is_joint: false, count: tree.count }
}

fn joint(forest: &Forest, skew: &Skew) -> Violation {
    let tree = &forest.trees[skew.first.tree as usize];
    let other = &forest.trees[skew.other_first.tree as usize];
    let points = [skew.first, skew.other_first, skew.other_last, skew.last].map(|place| point(forest, place));
    Violation {
        unit: skew.span.unit,
        site: skew.span.site,
        points: points.to_vec(),
        is_joint: true,
        count: tree.count.min(other.count),
    }
}
