//! What `--strict` adds: every use of a value after the section that read it, and locks that protect nothing.

use program::summary::{Access, LateUse};
use program::{HeldLock, LockKind, MethodId, Mode, Relation, Whole};

use super::rules::Stale;

/// A lock that is only ever taken under another one: the section on it, and the lock around that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Superfluous {
    pub(super) inner: usize,
    pub(super) around: HeldLock,
    /// The section on the lock around it; none if all callers hold it.
    pub(super) outer: Option<usize>,
}

/// Uses of old values that are not told of already: one for each read.
pub(super) fn late_uses(whole: &Whole<'_>, method: MethodId, told: &[Stale]) -> Vec<LateUse> {
    let mut kept: Vec<LateUse> = Vec::new();
    for late in whole.summaries.late_uses(whole.program, &whole.calls, method) {
        let is_told = told.iter().any(|stale| stale.read == late.read);
        if !is_told && !kept.iter().any(|kept| kept.read == late.read) {
            kept.push(late);
        }
    }
    kept
}

/// The method's own sections on locks that protect nothing.
pub(super) fn superfluous(whole: &Whole<'_>, method: MethodId) -> Vec<Superfluous> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let cover = whole.cover().among(whole.threads());
    let mut found: Vec<Superfluous> = Vec::new();
    for (inner, section) in summary.sections.iter().enumerate() {
        let is_lock = section.call.is_none() && section.kind != LockKind::Own && section.mode == Mode::Exclusive;
        // A lock under which nothing is touched may be there to wait for somebody.
        let is_used = |access: &Access| access.held.contains(inner);
        if !is_lock || !summary.accesses.iter().any(is_used) {
            continue;
        }
        let keeps_out = |around: &HeldLock| {
            around.mode == Mode::Exclusive
                && around.kind != LockKind::Own
                && Relation::between(&section.lock, around)
                    .is_some_and(|relation| cover.is_always_inside(method, &section.lock, section.kind, &relation))
        };
        let own = section.inside.iter().map(|outer| {
            let around = &summary.sections[outer];
            let around = HeldLock { name: around.lock.clone(), kind: around.kind, mode: around.mode };
            Superfluous { inner, around, outer: Some(outer) }
        });
        let of_callers = || {
            let held = cover.held_by_callers(method).into_iter().filter(|held| !held.name.same(&section.lock));
            held.map(|around| Superfluous { inner, around, outer: None }).find(|one| keeps_out(&one.around))
        };
        let is_told = found.iter().any(|told| summary.sections[told.inner].lock == section.lock);
        if !is_told {
            found.extend(own.into_iter().find(|one| keeps_out(&one.around)).or_else(of_callers));
        }
    }
    found
}
