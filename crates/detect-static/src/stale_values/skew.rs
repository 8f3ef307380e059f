//! Two variables that are kept in step by checks alone: one method checks the first before it writes the second, another
//! one checks the second before it writes the first. Where nothing is held from the check to the write, both checks may
//! pass at once.

use std::cell::LazyCell;

use program::model::State;
use program::outline::{Member, Name, Start};
use program::summary::{Access, AccessId, Influence, Influences, Root};
use program::{LockKind, MethodId, Variable, Whole};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rules::{Looking, Stale, Use};
use crate::threads::run_at_once;

/// Pairs of variables: a check of the first decides somewhere whether the second is written; with the methods that do
/// both, and not by one call.
pub(super) type Decided = FxHashMap<(Variable, Variable), Vec<MethodId>>;

/// The pairs whose mirror image may be torn apart.
pub(super) fn decided(whole: &Whole<'_>, methods: &[MethodId]) -> Decided {
    let torn = methods.par_iter().flat_map_iter(|method| {
        let looking = Looking::at(whole, *method);
        let found = looking.map(|looking| looking.checks()).unwrap_or_default();
        found.into_iter().map(|stale| (stale.written, stale.variable))
    });
    let wanted: FxHashSet<(Variable, Variable)> = torn.collect();
    if wanted.is_empty() {
        return Decided::default();
    }
    let found = methods.par_iter().flat_map_iter(|method| {
        let looking = Looking::at(whole, *method);
        let found = looking.map(|looking| looking.decisions(&wanted)).unwrap_or_default();
        found.into_iter().map(|(pair, is_own)| (pair, is_own.then_some(*method)))
    });
    let mut decided = Decided::default();
    for (pair, method) in found.collect::<Vec<_>>() {
        decided.entry(pair).or_default().extend(method);
    }
    decided
}

/// What a variable is like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Flag,
    Count,
    Container,
}

impl Looking<'_> {
    /// The checks of this method whose mirror image is somewhere else.
    pub(super) fn skewed(&self, checks: &[Stale], decided: &Decided) -> Vec<Stale> {
        let mut found = checks.to_vec();
        found.retain(|stale| {
            decided.contains_key(&(stale.written, stale.variable))
                && !self.is_one_way(stale.variable)
                && !self.is_set_one_way(stale.variable)
        });
        found
    }

    /// Whether another method than this one has the mirror image.
    pub(super) fn is_mirrored(&self, stale: &Stale, decided: &Decided) -> bool {
        let methods = decided.get(&(stale.written, stale.variable));
        methods.is_some_and(|methods| methods.iter().any(|method| *method != self.method))
    }

    /// Those of the pairs that a method of the program checks and writes, in one section or in two; and whether it is not
    /// one call that does both.
    fn decisions(&self, wanted: &FxHashSet<(Variable, Variable)>) -> Vec<((Variable, Variable), bool)> {
        let mut found = Vec::new();
        for write in self.summary.accesses.iter().filter(|write| write.is_write && !write.held.is_empty()) {
            let Some(written) = self.variable(write) else { continue };
            for influence in deciding(write) {
                let Root::Access(read) = influence.root else { continue };
                let read = self.access(read);
                let pair = self.variable(read).map(|variable| (variable, written)).filter(|pair| wanted.contains(pair));
                // Costly, and asked last.
                let pair = pair.filter(|_| self.shared(read).is_some() && self.shared(write).is_some());
                found.extend(pair.map(|pair| (pair, read.event != write.event)));
            }
        }
        found
    }

    /// Checks of one variable that decide whether another one is written, after the section of the check.
    pub(super) fn checks(&self) -> Vec<Stale> {
        let mut found: Vec<Stale> = Vec::new();
        for (index, write) in self.summary.accesses.iter().enumerate() {
            if !write.is_write || write.held.is_empty() {
                continue;
            }
            // Costly, and asked only if something old decides on it.
            let written = LazyCell::new(|| self.shared(write));
            for influence in deciding(write) {
                let Root::Access(read) = influence.root else { continue };
                let access = self.access(read);
                if access.event == write.event || access.base.is_unknown() != is_static(access) {
                    continue;
                }
                let first = influence.ended.iter().find(|section| access.held.contains(*section));
                let second = write.held.iter().find(|section| !access.held.contains(*section));
                let (Some(first), Some(second)) = (first, second) else { continue };
                let is_tied = is_compared(read, write)
                    || is_about_one_key(access, write)
                    || self.exclude_each_other(access, write);
                if !is_tied {
                    continue;
                }
                let (Some(written), Some(variable)) = (*written, self.shared(access)) else { continue };
                if variable != written || self.are_flags_of_two(access, write) {
                    let write = AccessId(index as u32);
                    found.push(Stale { read, write, first, second, how: Use::Decides, variable, written });
                }
            }
        }
        found
    }

    /// Checks of one container that decide what another one gets under the same key, each under a lock of its own, where
    /// somebody changes both in one section: a member is struck off and gives back all that he has.
    pub(super) fn kept_in_step(&self, checks: &[Stale]) -> Vec<Stale> {
        let mut found = checks.to_vec();
        found.retain(|stale| {
            let (read, write) = (self.access(stale.read), self.access(stale.write));
            let locks = |stale: &Stale| [stale.first, stale.second].map(|section| &self.summary.sections[section]);
            let [first, second] = locks(stale);
            read.is_of_contents()
                && write.is_of_contents()
                && stale.variable != stale.written
                && first.kind != LockKind::Own
                && second.kind != LockKind::Own
                && !first.lock.same(&second.lock)
                && is_about_one_key(read, write)
                && self.whole.variables.change_together(stale.variable, stale.written)
        });
        found
    }

    /// Whether two variables say who may go on: each is a truth value or an amount that goes up and down again.
    fn exclude_each_other(&self, read: &Access, write: &Access) -> bool {
        let (Some(variable), Some(written)) = (self.variable(read), self.variable(write)) else { return false };
        let (Some(one), Some(other)) = (self.sort(variable, read), self.sort(written, write)) else { return false };
        let is_told = match (one, other) {
            (Sort::Container, other) | (other, Sort::Container) => other == Sort::Flag,
            _ => true,
        };
        is_told && self.is_taken_back(variable) && self.is_taken_back(written)
    }

    /// `if (partner.isAwake()) self.lieDown();`: the same flag of two objects, of which each thread calls another one its own.
    fn are_flags_of_two(&self, read: &Access, write: &Access) -> bool {
        let is_named = |name: &Name| matches!(name.start, Start::Parameter(_)) && !name.is_unknown();
        let is_flag = |access: &Access| {
            self.variable(access).and_then(|variable| self.sort(variable, access)) == Some(Sort::Flag)
        };
        is_named(&read.base)
            && is_named(&write.base)
            && read.base != write.base
            && is_flag(read)
            && is_flag(write)
            && run_at_once(self.whole, self.method, self.method)
    }

    fn sort(&self, variable: Variable, access: &Access) -> Option<Sort> {
        if access.member == Member::State(State::Contents) {
            return Some(Sort::Container);
        }
        let program = self.whole.program;
        match program.names.text(program.field(variable.field()).descriptor) {
            "Z" | "Ljava/util/concurrent/atomic/AtomicBoolean;" => Some(Sort::Flag),
            "I" | "J" | "Ljava/util/concurrent/atomic/AtomicInteger;" | "Ljava/util/concurrent/atomic/AtomicLong;" => {
                Some(Sort::Count)
            }
            _ => None,
        }
    }

    /// Whether it is written at more than one place: what one does another one undoes.
    fn is_taken_back(&self, variable: Variable) -> bool {
        match self.whole.variables.writers(variable) {
            // A setter sets whatever it is told.
            [only] => {
                let summary = self.whole.summaries.summary(only.method);
                summary.is_some_and(|summary| !summary.accesses[only.access.index()].value.is_empty())
            }
            writers => writers.len() > 1,
        }
    }
}

/// What decides whether a write happens, by a branch or otherwise.
fn deciding(write: &Access) -> impl Iterator<Item = &Influence> {
    write.control.iter().chain(write.guards.iter()).chain(write.awaited.iter())
}

fn is_static(access: &Access) -> bool {
    matches!(access.member, Member::Static(_))
}

/// Whether what is written was compared with what was read.
pub(super) fn is_compared(read: AccessId, write: &Access) -> bool {
    let comes_from = |side: &Influences| side.iter().any(|influence| influence.root == Root::Access(read));
    let is_written = |side: &Influences| side.iter().any(|one| write.value.iter().any(|other| one.root == other.root));
    write.compared.iter().any(|compared| {
        let [left, right] = &compared.sides;
        comes_from(left) && is_written(right) || comes_from(right) && is_written(left)
    })
}

/// Whether one container is asked for the key that another one gets.
fn is_about_one_key(read: &Access, write: &Access) -> bool {
    read.is_keyed
        && write.is_keyed
        && read.address.iter().any(|one| write.address.iter().any(|other| one.root == other.root))
}
