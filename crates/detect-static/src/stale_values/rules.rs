//! Which writes are reached by stale values, and which of those are mistakes.

use program::outline::{Member, Start};
use program::summary::{Access, AccessId, Influence, Root, Summary};
use program::{HeldLock, MethodId, Relation, Variable, Whole};

/// How the old value matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    /// It becomes part of what is written.
    Written,
    /// It decides whether something is written.
    Decides,
}

/// A read whose section has ended, and the write that it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stale {
    pub(super) read: AccessId,
    pub(super) write: AccessId,
    /// The section of the read, and the one of the write.
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) how: Use,
    pub(super) variable: Variable,
    pub(super) written: Variable,
}

/// The stale uses that come together in this method: one for each pair of sections, the one that says most.
pub(super) fn stale_uses(whole: &Whole<'_>, method: MethodId) -> Vec<Stale> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    if summary.sections.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Stale> = Vec::new();
    for (index, write) in summary.accesses.iter().enumerate() {
        let Some(written) = shared(whole, write).filter(|_| write.is_write) else { continue };
        for (how, influences) in [(Use::Written, &write.value), (Use::Decides, &write.control)] {
            for influence in influences {
                let Root::Access(read) = influence.root else { continue };
                let Some(variable) = shared(whole, &summary.accesses[read.index()]) else { continue };
                let candidate = |(first, second)| Stale {
                    read,
                    write: AccessId(index as u32),
                    first,
                    second,
                    how,
                    variable,
                    written,
                };
                found.extend(section_pairs(summary, read, write, influence).map(candidate));
            }
        }
    }
    found.sort_by_key(|stale| (stale.how, stale.variable != stale.written, stale.first, stale.second, stale.read));
    // One mistake, one finding: further places that act on old values of the same variable want the same cure.
    let lock = |stale: &Stale| &summary.sections[stale.first].lock;
    let mut kept: Vec<Stale> = Vec::new();
    for stale in found {
        let is_told = |told: &Stale| told.variable == stale.variable && lock(told) == lock(&stale);
        if kept.iter().any(is_told) {
            continue;
        }
        if is_mistake(whole, method, summary, &stale) {
            kept.push(stale);
        }
    }
    kept
}

/// The variable of an access to an object that has a name here and that others may have.
fn shared(whole: &Whole<'_>, access: &Access) -> Option<Variable> {
    let is_static = matches!(access.member, Member::Static(_));
    if !is_static && matches!(access.base.start, Start::New(_) | Start::Unknown) {
        return None;
    }
    Variable::of(whole.program, access)
}

/// Sections on one lock: an ended one that the value was read in, and a later one that the write is in.
fn section_pairs<'s>(
    summary: &'s Summary,
    read: AccessId,
    write: &'s Access,
    influence: &'s Influence,
) -> impl Iterator<Item = (usize, usize)> + 's {
    let read = &summary.accesses[read.index()];
    // Two accesses of one call are the callee's business.
    let is_apart = read.event != write.event;
    let ended = influence.ended.iter().filter(move |section| is_apart && read.held.contains(*section));
    ended.flat_map(move |first| {
        let earlier = &summary.sections[first];
        write
            .held
            .iter()
            .filter(move |second| {
                let later = &summary.sections[*second];
                later.kind == earlier.kind && later.lock.same(&earlier.lock)
            })
            .map(move |second| (first, second))
    })
}

fn is_mistake(whole: &Whole<'_>, method: MethodId, summary: &Summary, stale: &Stale) -> bool {
    let read = &summary.accesses[stale.read.index()];
    let write = &summary.accesses[stale.write.index()];
    // Data that nobody changes is never old.
    !whole.variables.writers(stale.variable).is_empty()
        && whole.variables.belong_together(stale.variable, stale.written)
        && !is_handed_over(whole, summary, stale)
        && !is_set_if_different(stale, write)
        && !is_validated(whole, summary, stale, write)
        && !is_covered(whole, method, summary, stale, read, write)
}

/// Whether the section of the read takes the value out of where it was: this thread owns it from then on.
fn is_handed_over(whole: &Whole<'_>, summary: &Summary, stale: &Stale) -> bool {
    summary.accesses.iter().any(|access| {
        access.is_write
            && access.held.contains(stale.first)
            && access.value.is_empty()
            && matches!(access.member, Member::Field(_) | Member::Static(_))
            && Variable::of(whole.program, access) == Some(stale.variable)
    })
}

/// `if (x != wanted) x = wanted;`: what is written does not depend on what was read, and was compared with it. Whoever
/// wrote in between, the outcome is one that was asked for.
fn is_set_if_different(stale: &Stale, write: &Access) -> bool {
    stale.how == Use::Decides
        && stale.variable == stale.written
        && matches!(write.member, Member::Field(_) | Member::Static(_))
        && !write.value.is_empty()
        && write.value.iter().all(|influence| {
            matches!(influence.root, Root::Parameter(_))
                && write.control.iter().any(|deciding| deciding.root == influence.root)
        })
}

/// Whether the write makes sure that what was read still holds: it is told what to expect, it is one step with a read of
/// its own, or a fresh read of the same variable in its section decides.
fn is_validated(whole: &Whole<'_>, summary: &Summary, stale: &Stale, write: &Access) -> bool {
    let comes_from_read = |influence: &Influence| influence.root == Root::Access(stale.read);
    if write.expects.iter().any(comes_from_read) {
        return true;
    }
    if write.is_compound && stale.how == Use::Decides && stale.variable == stale.written {
        return true;
    }
    write.control.iter().any(|influence| {
        let Root::Access(fresh) = influence.root else { return false };
        let access = &summary.accesses[fresh.index()];
        fresh != stale.read
            && access.held.contains(stale.second)
            && !influence.ended.contains(stale.second)
            && Variable::of(whole.program, access) == Some(stale.variable)
    })
}

/// Whether something excludes all other writers from the read to the write: a lock held over both, here or by whoever
/// calls the method.
fn is_covered(
    whole: &Whole<'_>,
    method: MethodId,
    summary: &Summary,
    stale: &Stale,
    read: &Access,
    write: &Access,
) -> bool {
    let cover = whole.cover();
    let first = &summary.sections[stale.first];
    let ended: Vec<usize> = write
        .value
        .iter()
        .chain(&write.control)
        .filter(|influence| influence.root == Root::Access(stale.read))
        .flat_map(|influence| influence.ended.iter())
        .collect();
    let around =
        read.held.iter().filter(|section| write.held.contains(*section) && !ended.contains(section)).map(|section| {
            let around = &summary.sections[section];
            HeldLock { name: around.lock.clone(), kind: around.kind, mode: around.mode }
        });
    let by_callers = cover.held_by_callers(method);
    if by_callers.iter().any(|held| held.kind == first.kind && held.name.same(&first.lock)) {
        return true;
    }
    around.chain(by_callers.iter().cloned()).any(|held| {
        Relation::between(&read.base, &held)
            .is_some_and(|relation| cover.covers(&whole.variables, stale.variable, &relation))
    })
}
