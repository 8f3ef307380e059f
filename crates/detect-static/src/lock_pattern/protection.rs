//! What keeps other threads out while two sections run.

use program::outline::SectionSet;
use program::summary::Access;
use program::{HeldLock, Relation, Variable, locks, locks_of};

use super::analysis::Witness;
use super::relation::Relations;
use super::sides::Sides;

/// How a variable is kept from other threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// By a lock that all who write it hold.
    Whole,
    /// By a lock that all hold who write what stands under the same key.
    ByKey,
}

impl Relations<'_> {
    /// What keeps everyone who writes the variable out, held over both sections.
    pub(super) fn protection(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> Option<Protection> {
        if self.unfollowed.contains(&variable.field()) {
            return None;
        }
        let held = self.held_over(witness, sides);
        let access = self.touch(sides, variable)?;
        let own: Vec<&HeldLock> = held.iter().filter(|held| self.is_of_owner(&access.base, &held.name)).collect();
        // All of them are held, so that it is enough for others to hold one.
        let cover = |relations: Vec<Relation>| self.cover().cover_together(&self.variables, variable, &relations);
        if cover(own.iter().filter_map(|held| Relation::between(&access.base, held)).collect())
            || self.cover().is_covered_outside(&self.variables, variable, witness.pair.method, access)
        {
            return Some(Protection::Whole);
        }
        let found = |held: &&HeldLock| Relation::of_found(sides.summary, access, held);
        own.iter().filter_map(found).any(|relation| cover(vec![relation])).then_some(Protection::ByKey)
    }

    /// Whether all who write it hold a lock that is held over both sections, by its name: what it was made for, others may
    /// have got, too, but they are not known to write it.
    pub(super) fn is_covered_by_name(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> bool {
        let Some(access) = self.touch(sides, variable) else { return false };
        !self.unfollowed.contains(&variable.field())
            && self.held_over(witness, sides).iter().any(|held| {
                let relation = Relation::between(&access.base, held);
                relation.is_some_and(|relation| self.cover().covers(&self.variables, variable, &relation))
            })
    }

    /// The locks that are held over both sections.
    pub(super) fn held_over(&self, witness: &Witness, sides: &Sides<'_>) -> Vec<HeldLock> {
        let over = |section: usize| sides.summary.sections[section].inside;
        let around = SectionSet(over(sides.first).0 & over(sides.second).0);
        let named = match self.summaries.outline(witness.pair.method) {
            Some(outline) => locks_of(sides.summary, outline, around),
            None => locks(sides.summary, around),
        };
        let mut held = self.cover().also_named(witness.pair.method, named);
        held.extend(self.cover().held_by_callers(witness.pair.method));
        held.extend(self.held_on_the_way(witness));
        held
    }

    /// An access of the variable in one of the sections.
    pub(super) fn touch<'s>(&self, sides: &Sides<'s>, variable: Variable) -> Option<&'s Access> {
        let mut accesses = sides.accesses(sides.first).chain(sides.accesses(sides.second));
        let touches = |access: &Access| Variable::of(self.analysis.program, access) == Some(variable);
        accesses.find(|(_, access)| touches(access)).map(|(_, access)| access)
    }

    /// What callers on the way from the context hold, by the names that the pair's method has for it.
    fn held_on_the_way(&self, witness: &Witness) -> Vec<HeldLock> {
        let calls = witness.calls.iter().filter_map(|(method, call)| {
            let site = self.analysis.skeleton(*method)?.calls.get(*call as usize)?;
            Some((*method, site.pc))
        });
        self.cover().held_on_the_way(calls)
    }
}
