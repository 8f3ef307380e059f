//! Two plain twins of the search, of threads whose branches are all decided.
//!
//! One tries every order of steps that locks, start and join permit, and looks whether a unit has a place in it at which it
//! could have run alone. The other one is the rule as it is written down, for each access by itself. They share nothing with
//! the detector, and nothing with each other but their input.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use trace::Mode;

use super::programs::Step;

/// A unit: its thread, and its steps from the first to before the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Unit {
    pub(super) thread: usize,
    /// Which one of the thread.
    pub(super) number: usize,
    pub(super) begin: usize,
    pub(super) end: usize,
}

pub(super) fn units(threads: &[Vec<Step>]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (thread, steps) in threads.iter().enumerate() {
        let begins = steps.iter().enumerate().filter(|(_, step)| **step == Step::Begin);
        for (number, (begin, _)) in begins.enumerate() {
            let end = steps[begin..].iter().position(|step| *step == Step::End).expect("units end") + begin;
            units.push(Unit { thread, number, begin, end });
        }
    }
    units
}

/// What each thread holds after so many steps.
fn held(steps: &[Step]) -> Vec<Vec<(u32, Mode)>> {
    let mut now = Vec::new();
    let mut all = vec![now.clone()];
    for step in steps {
        match *step {
            Step::Acquire(lock, mode) => now.push((lock, mode)),
            Step::Release(lock, mode) => {
                let at = now.iter().rposition(|known| *known == (lock, mode)).expect("it is held");
                now.remove(at);
            }
            _ => {}
        }
        all.push(now.clone());
    }
    all
}

fn exclude(one: (u32, Mode), other: (u32, Mode)) -> bool {
    one.0 == other.0 && (one.1 == Mode::Exclusive || other.1 == Mode::Exclusive)
}

/// All orders of the steps, of which those with the same past are followed once.
pub(super) struct Orders<'a> {
    threads: &'a [Vec<Step>],
    held: Vec<Vec<Vec<(u32, Mode)>>>,
}

/// Bits for variables and threads.
type Bits = u16;

/// What of the past counts for one unit: how far the threads are, and what comes after a step of the unit.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct State {
    at: Vec<u8>,
    /// Variables that the unit has read, and written.
    own: [Bits; 2],
    /// Variables that others have read, and written, after a step of the unit.
    after: [Bits; 2],
    /// Threads that have done something after a step of the unit.
    touched: Bits,
}

impl<'a> Orders<'a> {
    pub(super) fn new(threads: &'a [Vec<Step>]) -> Orders<'a> {
        Orders { threads, held: threads.iter().map(|steps| held(steps)).collect() }
    }

    fn can_go(&self, at: &[u8], thread: usize) -> bool {
        let starts = |steps: &[Step]| steps.contains(&Step::Start(thread));
        let is_started =
            self.threads.iter().zip(at).all(|(steps, at)| !starts(steps) || starts(&steps[..usize::from(*at)]));
        let Some(step) = self.threads[thread].get(usize::from(at[thread])) else { return false };
        is_started
            && match *step {
                Step::Acquire(lock, mode) => (0..self.threads.len()).all(|other| {
                    let held = &self.held[other][usize::from(at[other])];
                    other == thread || held.iter().all(|held| !exclude(*held, (lock, mode)))
                }),
                Step::Join(child) => usize::from(at[child]) == self.threads[child].len(),
                _ => true,
            }
    }

    /// Whether the threads can come to wait for each other for ever.
    pub(super) fn can_get_stuck(&self) -> bool {
        let mut known = FxHashSet::default();
        let mut open = vec![vec![0u8; self.threads.len()]];
        while let Some(at) = open.pop() {
            if !known.insert(at.clone()) {
                continue;
            }
            let able: Vec<usize> = (0..self.threads.len()).filter(|&thread| self.can_go(&at, thread)).collect();
            let is_over = self.threads.iter().zip(&at).all(|(steps, at)| usize::from(*at) == steps.len());
            if able.is_empty() && !is_over {
                return true;
            }
            for thread in able {
                let mut next = at.clone();
                next[thread] += 1;
                open.push(next);
            }
        }
        false
    }

    /// Whether there is an order in which no place is left for the unit to run alone: something comes after one of its
    /// steps and before another, be it by conflicts or in one thread.
    pub(super) fn can_disturb(&self, unit: Unit) -> bool {
        let mut known = FxHashSet::default();
        let mut open = vec![State { at: vec![0; self.threads.len()], ..State::default() }];
        while let Some(state) = open.pop() {
            if !known.insert(state.clone()) {
                continue;
            }
            for thread in (0..self.threads.len()).filter(|&thread| self.can_go(&state.at, thread)) {
                let position = usize::from(state.at[thread]);
                let is_own = thread == unit.thread && (unit.begin..unit.end).contains(&position);
                if thread == unit.thread && position >= unit.end {
                    continue;
                }
                let mut next = state.clone();
                next.at[thread] += 1;
                if let Some((variable, writes)) = access(self.threads[thread][position]) {
                    let bit = 1 << variable;
                    let meets = |[reads, written]: [Bits; 2]| written & bit != 0 || writes && reads & bit != 0;
                    if is_own {
                        if meets(state.after) {
                            return true;
                        }
                        next.own[usize::from(writes)] |= bit;
                    } else if state.touched & 1 << thread != 0 || meets(state.own) || meets(state.after) {
                        next.touched |= 1 << thread;
                        next.after[usize::from(writes)] |= bit;
                    }
                }
                open.push(next);
            }
        }
        false
    }

    /// Whether there is an order in which each of two units comes before the other, of two threads that are alone.
    pub(super) fn can_skew(&self, units: [Unit; 2]) -> bool {
        // Positions, what each unit has read and written, and whether each came before the other.
        type Past = (Vec<u8>, [[Bits; 2]; 2], [bool; 2]);
        let mut known: FxHashSet<Past> = FxHashSet::default();
        let mut open: Vec<Past> = vec![(vec![0; self.threads.len()], [[0; 2]; 2], [false; 2])];
        while let Some(past) = open.pop() {
            if !known.insert(past.clone()) {
                continue;
            }
            let (at, done, before) = past;
            if before == [true; 2] {
                return true;
            }
            for thread in (0..self.threads.len()).filter(|&thread| self.can_go(&at, thread)) {
                let position = usize::from(at[thread]);
                let (mut at, mut done, mut before) = (at.clone(), done, before);
                at[thread] += 1;
                let is_in = |unit: &Unit| unit.thread == thread && (unit.begin..unit.end).contains(&position);
                if let Some(own) = units.iter().position(is_in)
                    && let Some((variable, writes)) = access(self.threads[thread][position])
                {
                    let bit = 1 << variable;
                    let [reads, written] = done[1 - own];
                    before[1 - own] |= written & bit != 0 || writes && reads & bit != 0;
                    done[own][usize::from(writes)] |= bit;
                }
                open.push((at, done, before));
            }
        }
        false
    }
}

fn access(step: Step) -> Option<(u32, bool)> {
    match step {
        Step::Read(variable) => Some((variable, false)),
        Step::Write(variable) => Some((variable, true)),
        _ => None,
    }
}

/// The rule as it is written down.
pub(super) struct Rule<'a> {
    threads: &'a [Vec<Step>],
    held: Vec<Vec<Vec<(u32, Mode)>>>,
    /// For each thread and step, all steps that start and join put before it.
    before: Vec<Vec<BTreeSet<(usize, usize)>>>,
}

impl<'a> Rule<'a> {
    pub(super) fn new(threads: &'a [Vec<Step>]) -> Rule<'a> {
        let mut before: Vec<Vec<BTreeSet<(usize, usize)>>> =
            threads.iter().map(|steps| vec![BTreeSet::new(); steps.len()]).collect();
        // As often as anything new comes of it.
        loop {
            let known: usize = before.iter().flatten().map(BTreeSet::len).sum();
            for thread in 0..threads.len() {
                for step in 0..threads[thread].len() {
                    let mut all = before[thread][step].clone();
                    if step > 0 {
                        all.extend(before[thread][step - 1].clone());
                        all.insert((thread, step - 1));
                    }
                    for (parent, steps) in threads.iter().enumerate() {
                        if let Some(start) = steps.iter().position(|one| *one == Step::Start(thread)) {
                            all.extend(before[parent][start].clone());
                            all.insert((parent, start));
                        }
                    }
                    if let Step::Join(child) = threads[thread][step]
                        && let Some(last) = threads[child].len().checked_sub(1)
                    {
                        all.extend(before[child][last].clone());
                        all.insert((child, last));
                    }
                    before[thread][step] = all;
                }
            }
            if before.iter().flatten().map(BTreeSet::len).sum::<usize>() == known {
                break;
            }
        }
        Rule { threads, held: threads.iter().map(|steps| held(steps)).collect(), before }
    }

    fn is_before(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        self.before[other.0][other.1].contains(&one)
    }

    fn meet(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        let accesses = (access(self.threads[one.0][one.1]), access(self.threads[other.0][other.1]));
        let (Some((variable, writes)), Some((other_variable, other_writes))) = accesses else { return false };
        variable == other_variable && (writes || other_writes)
    }

    fn conflict(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        self.meet(one, other) && !self.is_before(one, other) && !self.is_before(other, one)
    }

    /// What is held, or taken, from a step to a later one, and what all the time.
    fn held_between(&self, thread: usize, from: usize, to: usize) -> Vec<(u32, Mode)> {
        (from..=to).flat_map(|step| self.held[thread][step + 1].clone()).collect()
    }

    fn held_throughout(&self, thread: usize, from: usize, to: usize) -> Vec<(u32, Mode)> {
        // A lock in exclusive mode, or in any mode, at each step on the way.
        let all = |lock: u32, mode: Mode| {
            (from..=to).all(|step| {
                let held = &self.held[thread][step + 1];
                held.iter().any(|known| known.0 == lock && (mode == Mode::Shared || known.1 == Mode::Exclusive))
            })
        };
        let locks: BTreeSet<u32> = self.held[thread][from + 1].iter().map(|known| known.0).collect();
        let modes = |lock| {
            [Mode::Exclusive, Mode::Shared]
                .into_iter()
                .filter(move |&mode| all(lock, mode))
                .map(move |mode| (lock, mode))
        };
        locks.into_iter().flat_map(modes).collect()
    }

    pub(super) fn disturbs(&self, unit: Unit) -> bool {
        let inside = unit.begin..unit.end;
        inside.clone().any(|from| {
            (from + 1..unit.end).any(|to| {
                let (from, to) = ((unit.thread, from), (unit.thread, to));
                let held = self.held_throughout(unit.thread, from.1, to.1);
                self.extend(&mut vec![from], to, &held)
            })
        })
    }

    /// Goes on from the last step on the way, to all that conflicts with it.
    fn extend(&self, way: &mut Vec<(usize, usize)>, to: (usize, usize), held: &[(u32, Mode)]) -> bool {
        let last = way[way.len() - 1];
        if way.len() > 1 && self.conflict(last, to) && way.iter().all(|one| !self.is_before(to, *one)) {
            return true;
        }
        for thread in 0..self.threads.len() {
            if way.iter().any(|one| one.0 == thread) {
                continue;
            }
            for from in 0..self.threads[thread].len() {
                // Where the unit holds nothing, further steps may also be in this order because of start or join.
                let is_forced = way.len() > 1 && held.is_empty() && self.is_before(last, (thread, from));
                let leads = self.conflict(last, (thread, from)) || is_forced && self.meet(last, (thread, from));
                if !leads {
                    continue;
                }
                for until in from..self.threads[thread].len() {
                    let taken = self.held_between(thread, from, until);
                    if taken.iter().any(|one| held.iter().any(|other| exclude(*one, *other))) {
                        break;
                    }
                    let is_possible = |step: (usize, usize)| way.iter().all(|one| !self.is_before(step, *one));
                    if access(self.threads[thread][until]).is_none()
                        || !is_possible((thread, from))
                        || !is_possible((thread, until))
                    {
                        continue;
                    }
                    way.extend([(thread, from), (thread, until)]);
                    let is_found = self.extend(way, to, held);
                    way.truncate(way.len() - 2);
                    if is_found {
                        return true;
                    }
                }
            }
        }
        false
    }
}
