//! The plain twin of the detector: the whole trace at once, every pair of events compared, graphs searched.
//!
//! Written from the definitions and with no regard to time or memory. Shares nothing with the detector but its input.

use std::collections::{BTreeMap, BTreeSet};

use trace::{Access, Action, Cause, Event, Interval, LockId, Mode, Ran, ThreadId, UnitId, VariableId};

/// A counted event.
pub(super) struct Node {
    pub(super) thread: ThreadId,
    action: Action,
    /// The transaction in the order of whole transactions.
    pub(super) whole: usize,
}

/// A transaction to be judged on its own.
pub(super) struct Judged {
    pub(super) thread: ThreadId,
    /// The number of the first event that could belong to it, from 1.
    pub(super) begin: u64,
    pub(super) nodes: Vec<usize>,
    /// Whether it lies inside another one of its thread.
    pub(super) inside: bool,
}

pub(crate) struct Oracle {
    pub(super) nodes: Vec<Node>,
    pub(super) judged: Vec<Judged>,
    /// For each event, those that come directly after it.
    pub(super) next: Vec<Vec<usize>>,
}

#[derive(Default)]
struct Actor {
    /// Open units: name, and number in `judged` if it is not a mere part of an older one.
    units: Vec<(UnitId, Option<usize>)>,
    held: Vec<(LockId, Mode)>,
    /// Locks given up by a wait, each as often as it was held.
    given_up: Vec<(LockId, Mode)>,
    section: Option<usize>,
    /// The whole transaction that events belong to now.
    whole: Option<usize>,
    arms: Vec<bool>,
}

impl Oracle {
    pub(crate) fn new(events: &[Event], lock_conflicts: bool) -> Oracle {
        let mut oracle = Oracle { nodes: Vec::new(), judged: Vec::new(), next: Vec::new() };
        let mut actors: BTreeMap<ThreadId, Actor> = BTreeMap::new();
        let mut wholes = 0;
        for event in events {
            let actor = actors.entry(event.thread).or_default();
            oracle.event(event, actor, lock_conflicts, &mut wholes);
        }
        for actor in actors.values() {
            for &(_, judged) in actor.units.iter().skip(1) {
                if let Some(judged) = judged {
                    oracle.judged[judged].inside = true;
                }
            }
        }
        oracle.connect();
        oracle
    }

    fn event(&mut self, event: &Event, actor: &mut Actor, lock_conflicts: bool, wholes: &mut usize) {
        let begin = self.nodes.len() as u64 + 1;
        if actor.arms.contains(&true)
            && !matches!(event.action, Action::ArmBegin { .. } | Action::ArmEnd { .. } | Action::ThreadEnd)
        {
            return;
        }
        let counts = match event.action {
            Action::Read { .. } | Action::Write { .. } | Action::Sync { .. } => true,
            Action::Start { .. } | Action::Join { .. } | Action::Arrive { .. } | Action::Leave { .. } => true,
            Action::Acquire { lock, mode, cause, .. } => {
                let outermost = !actor.held.contains(&(lock, mode));
                match cause {
                    Cause::Section => actor.held.push((lock, mode)),
                    Cause::Wait => {
                        let back: Vec<_> = actor.given_up.iter().copied().filter(|&one| one == (lock, mode)).collect();
                        actor.given_up.retain(|&one| one != (lock, mode));
                        actor.held.extend(back);
                    }
                }
                outermost && lock_conflicts
            }
            Action::Release { lock, mode, cause } => {
                let Some(index) = actor.held.iter().position(|&one| one == (lock, mode)) else { return };
                match cause {
                    Cause::Section => {
                        actor.held.remove(index);
                    }
                    Cause::Wait => {
                        let gone: Vec<_> = actor.held.iter().copied().filter(|&one| one == (lock, mode)).collect();
                        actor.held.retain(|&one| one != (lock, mode));
                        actor.given_up.extend(gone);
                    }
                }
                !actor.held.contains(&(lock, mode)) && lock_conflicts
            }
            Action::UnitBegin { unit, .. } => {
                actor.section = None;
                let part =
                    !actor.units.is_empty() && (unit == UnitId(0) || actor.units.iter().any(|&(open, _)| open == unit));
                if actor.units.is_empty() {
                    actor.whole = Some(fresh(wholes));
                }
                let judged = (!part).then(|| self.judge(event.thread, begin));
                actor.units.push((unit, judged));
                false
            }
            Action::UnitEnd { unit } => {
                let place = actor.units.iter().rposition(|&(open, _)| open == unit);
                if let Some(index) = place.or(actor.units.len().checked_sub(1)) {
                    let (_, judged) = actor.units.remove(index);
                    if let Some(judged) = judged {
                        self.judged[judged].inside = actor.units[..index].iter().any(|(_, older)| older.is_some());
                    }
                    if index == 0 {
                        actor.whole = (!actor.units.is_empty()).then(|| fresh(wholes));
                        if let Some((_, judged @ None)) = actor.units.first_mut() {
                            *judged = Some(self.judge(event.thread, begin));
                        }
                    }
                }
                false
            }
            Action::ArmBegin { ran, .. } => {
                actor.arms.push(ran == Ran::Speculated);
                false
            }
            Action::ArmEnd { .. } => {
                actor.arms.pop();
                false
            }
            Action::ThreadEnd => {
                for &(_, judged) in actor.units.iter().skip(1) {
                    if let Some(judged) = judged {
                        self.judged[judged].inside = true;
                    }
                }
                *actor = Actor::default();
                false
            }
            Action::ThreadBegin | Action::Enter { .. } | Action::Exit { .. } | Action::New { .. } => false,
            Action::Lost { .. } => unreachable!("no test trace has gaps"),
        };
        // A release belongs to the section that it ends; an acquire does not belong to one: lock order and sections
        // outside units never count together.
        if counts {
            let node = self.nodes.len();
            let open = actor.units.iter().filter_map(|&(_, judged)| judged).chain(actor.section);
            for judged in open {
                self.judged[judged].nodes.push(node);
            }
            let whole = actor.whole.unwrap_or_else(|| fresh(wholes));
            self.nodes.push(Node { thread: event.thread, action: event.action, whole });
        }
        if actor.units.is_empty() && !lock_conflicts {
            match (actor.held.is_empty(), actor.section) {
                (false, None) => {
                    actor.section = Some(self.judge(event.thread, self.nodes.len() as u64 + 1));
                    actor.whole = Some(fresh(wholes));
                }
                (true, _) => {
                    actor.section = None;
                    actor.whole = None;
                }
                (false, Some(_)) => {}
            }
        }
    }

    fn judge(&mut self, thread: ThreadId, begin: u64) -> usize {
        self.judged.push(Judged { thread, begin, nodes: Vec::new(), inside: false });
        self.judged.len() - 1
    }

    fn connect(&mut self) {
        self.next = vec![Vec::new(); self.nodes.len()];
        for later in 0..self.nodes.len() {
            for earlier in 0..later {
                if self.ordered(earlier, later) {
                    self.next[earlier].push(later);
                }
            }
        }
    }

    /// Whether the first comes before the second: program order or a conflict.
    pub(super) fn ordered(&self, earlier: usize, later: usize) -> bool {
        let (a, b) = (&self.nodes[earlier], &self.nodes[later]);
        if earlier >= later {
            return false;
        }
        if a.thread == b.thread {
            return true;
        }
        if let (Some((x, writes_x, when_x)), Some((y, writes_y, when_y))) = (access(a.action), access(b.action)) {
            let apart = match (when_x, when_y) {
                (Some(x), Some(y)) => x.after() < y.before(),
                (None, None) => true,
                _ => false,
            };
            return x == y && (writes_x || writes_y) && apart;
        }
        match (a.action, b.action) {
            (Action::Start { child }, _) if child == b.thread => return true,
            (_, Action::Join { child }) if child == a.thread => return true,
            _ => {}
        }
        match (a.action, b.action) {
            (Action::Release { lock: x, mode: first, .. }, Action::Acquire { lock: y, mode: second, .. }) => {
                x == y && (first == Mode::Exclusive || second == Mode::Exclusive)
            }
            (Action::Arrive { barrier: x, generation: first }, Action::Leave { barrier: y, generation: second }) => {
                x == y && first == second
            }
            _ => false,
        }
    }

    /// Whether a path leaves the transaction and comes back to it, all others taken apart.
    pub(super) fn violated(&self, judged: &Judged) -> bool {
        let inside: BTreeSet<usize> = judged.nodes.iter().copied().collect();
        let mut seen = BTreeSet::new();
        let mut left: Vec<usize> = judged.nodes.clone();
        while let Some(node) = left.pop() {
            for &next in &self.next[node] {
                if inside.contains(&next) {
                    if !inside.contains(&node) {
                        return true;
                    }
                } else if seen.insert(next) {
                    left.push(next);
                }
            }
        }
        false
    }

    /// Whether whole transactions, but for those left out, have a cycle.
    pub(crate) fn has_cycle(&self, leave_out: &BTreeSet<usize>) -> bool {
        let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (node, nexts) in self.next.iter().enumerate() {
            let from = self.nodes[node].whole;
            for &next in nexts {
                let to = self.nodes[next].whole;
                if from != to && !leave_out.contains(&from) && !leave_out.contains(&to) {
                    edges.entry(from).or_default().insert(to);
                    edges.entry(to).or_default();
                }
            }
        }
        // Take away what nothing comes before, until nothing is left or a cycle is.
        loop {
            let targets: BTreeSet<usize> = edges.values().flatten().copied().collect();
            let sources: Vec<usize> = edges.keys().copied().filter(|whole| !targets.contains(whole)).collect();
            if sources.is_empty() {
                return !edges.is_empty();
            }
            for source in sources {
                edges.remove(&source);
            }
        }
    }

    /// Tries every order of the groups; whether one keeps all events in order. Group numbers are given per event.
    pub(super) fn some_serial_order(&self, group: &[usize]) -> bool {
        let groups: BTreeSet<usize> = group.iter().copied().collect();
        let mut placed = Vec::new();
        self.place_rest(group, &groups.into_iter().collect::<Vec<_>>(), &mut placed)
    }

    fn place_rest(&self, group: &[usize], groups: &[usize], placed: &mut Vec<usize>) -> bool {
        if placed.len() == groups.len() {
            return true;
        }
        for &one in groups {
            // A group can come next if all that comes before any of its events has a place.
            let fits = self.next.iter().enumerate().all(|(node, nexts)| {
                group[node] == one || placed.contains(&group[node]) || nexts.iter().all(|&next| group[next] != one)
            });
            if fits && !placed.contains(&one) {
                placed.push(one);
                if self.place_rest(group, groups, placed) {
                    return true;
                }
                placed.pop();
            }
        }
        false
    }
}

fn fresh(wholes: &mut usize) -> usize {
    *wholes += 1;
    *wholes
}

fn access(action: Action) -> Option<(VariableId, bool, Option<Interval>)> {
    match action {
        Action::Read { variable } => Some((variable, false, None)),
        Action::Write { variable } => Some((variable, true, None)),
        Action::Sync { variable, access, interval, .. } => Some((variable, access != Access::Read, interval)),
        _ => None,
    }
}
