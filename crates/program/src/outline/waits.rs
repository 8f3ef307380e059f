//! Waits in the middle of sections: between which two points of the code a lock may be let go and taken again.
//!
//! `wait` and `await` leave a section open as far as its begin and end tell, but what was read in it before is old
//! afterwards. Where a section is open or not, depending on how control got there, its ends are looked for the same way.

use super::SectionSet;
use crate::ir::{BlockId, Body, Value};
use crate::section::SectionId;

/// A point between two instructions: in front of the instruction with this number, in this block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    block: BlockId,
    before: u32,
}

impl Point {
    pub(super) fn before(body: &Body, value: Value) -> Point {
        Point { block: body.block_of(value), before: value.index() as u32 }
    }

    pub(super) fn end_of(body: &Body, block: BlockId) -> Point {
        let last = body.instructions_of(block).next_back().map_or(0, |(value, _)| value.index() as u32 + 1);
        Point { block, before: last }
    }
}

/// The waits of one method, or the ends of its sections.
#[derive(Default)]
pub(super) struct Waits {
    /// What waits, and the sections whose lock it lets go.
    pub(super) list: Vec<(Value, SectionSet)>,
}

impl Waits {
    /// Adds what waits, or ends sections, if there are any.
    pub(super) fn add(&mut self, at: Value, sections: impl IntoIterator<Item = SectionId>) -> SectionSet {
        let mut all = SectionSet::default();
        sections.into_iter().for_each(|section| all.insert(section.index()));
        if !all.is_empty() {
            self.list.push((at, all));
        }
        all
    }

    /// Keeps what is about sections that are in one of these sets.
    pub(super) fn keep(&mut self, sets: &[SectionSet]) {
        let wanted = sets.iter().fold(SectionSet::default(), |all, set| all.union(*set));
        self.list.iter_mut().for_each(|(_, sections)| *sections = sections.intersection(wanted));
        self.list.retain(|(_, sections)| !sections.is_empty());
    }

    /// Sections whose lock may be let go between where a register is set and a point where it still holds that value.
    pub(super) fn between(&self, body: &Body, set: Value, point: Point) -> SectionSet {
        let mut waited = SectionSet::default();
        for (wait, sections) in &self.list {
            if waited.union(*sections) != waited && comes_after(body, set, *wait) && leads_to(body, set, *wait, point) {
                waited = waited.union(*sections);
            }
        }
        waited
    }
}

/// Whether a wait can happen after a register was set.
fn comes_after(body: &Body, set: Value, wait: Value) -> bool {
    let (from, to) = (body.block_of(set), body.block_of(wait));
    (from == to && set < wait) || reaches(body, from, |block| block == to, |_| false)
}

/// Whether control gets from a wait to a point without setting the register anew.
fn leads_to(body: &Body, set: Value, wait: Value, point: Point) -> bool {
    let (home, from) = (body.block_of(set), body.block_of(wait));
    if from == point.block && (wait.index() as u32) < point.before {
        // Set again behind the wait, it is another value.
        return home != from || set < wait;
    }
    if home == from && set > wait {
        return false;
    }
    reaches(body, from, |block| block == point.block && block != home, |block| block == home)
}

/// Whether a block that is wanted follows, without going through one that is barred.
fn reaches(body: &Body, from: BlockId, wanted: impl Fn(BlockId) -> bool, barred: impl Fn(BlockId) -> bool) -> bool {
    let mut seen = vec![false; body.block_count()];
    let mut pending = vec![from];
    while let Some(block) = pending.pop() {
        let edges = body.block(block);
        for next in edges.successors.iter().chain(&edges.handlers).copied() {
            if wanted(next) {
                return true;
            }
            if !barred(next) && !std::mem::replace(&mut seen[next.index()], true) {
                pending.push(next);
            }
        }
    }
    false
}
