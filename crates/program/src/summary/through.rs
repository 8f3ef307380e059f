//! What a callee's values depend on, from the caller's side.

use super::influences::{Gathering, Sets};
use super::{AccessId, Influence, Influences, Root};
use crate::outline::SectionSet;

/// How a callee's influences look from the caller's side.
pub(super) struct Through<'t> {
    pub(super) given: &'t [Influences],
    /// Of parameters that are not among the arguments.
    pub(super) rest: &'t Influences,
    pub(super) accesses: Vec<Option<AccessId>>,
    pub(super) sections: &'t [Option<usize>],
    pub(super) held: SectionSet,
    /// What the last sets have become: accesses that stand together mostly share theirs.
    pub(super) known: Vec<(Influences, Influences)>,
    pub(super) sets: Sets,
}

/// A callee's influences together with those that the call has itself. Accesses that stand together mostly have the
/// same, and share what has become of it.
pub(super) struct Joined<'j> {
    pub(super) here: &'j Influences,
    pub(super) last: Option<(&'j Influences, Influences)>,
}

impl<'j> Joined<'j> {
    pub(super) fn of(&mut self, through: &mut Through<'_>, influences: &'j Influences) -> Influences {
        if let Some((from, known)) = &self.last
            && from.is_same(influences)
        {
            return known.clone();
        }
        let mut all = Gathering::default();
        through.gather(&mut all, influences);
        all.add_all(self.here);
        let all = all.finish_among(&mut through.sets);
        self.last = through.is_settled(influences).then(|| (influences, all.clone()));
        all
    }
}

/// How many sets are looked at again.
const MAX_KNOWN: usize = 8;

impl Through<'_> {
    pub(super) fn of(&mut self, influences: &Influences) -> Influences {
        if influences.is_empty() {
            return Influences::default();
        }
        if let Some((_, known)) = self.known.iter().rev().take(MAX_KNOWN).find(|(from, _)| from.is_same(influences)) {
            return known.clone();
        }
        let mut all = Gathering::default();
        self.gather(&mut all, influences);
        let all = all.finish_among(&mut self.sets);
        if self.is_settled(influences) {
            self.known.push((influences.clone(), all.clone()));
        }
        all
    }

    pub(super) fn gather(&self, all: &mut Gathering, influences: &Influences) {
        for influence in influences {
            match influence.root {
                Root::Parameter(position) => {
                    all.add_all(self.given.get(usize::from(position)).unwrap_or(self.rest));
                }
                Root::Access(access) => {
                    if let Some(Some(access)) = self.accesses.get(access.index()) {
                        // A section of the callee that is a part of one around the call goes on.
                        let ended = mapped(influence.ended, self.sections).without(self.held);
                        all.add(Influence { root: Root::Access(*access), ended });
                    }
                }
            }
        }
    }

    /// Whether all accesses that influences come from have been put in.
    pub(super) fn is_settled(&self, influences: &Influences) -> bool {
        // They are sorted, so that the last one tells of all.
        influences.last().is_none_or(|last| match last.root {
            Root::Access(access) => access.index() < self.accesses.len(),
            Root::Parameter(_) => true,
        })
    }
}

pub(super) fn mapped(set: SectionSet, sections: &[Option<usize>]) -> SectionSet {
    let mut all = SectionSet::default();
    for section in set.iter() {
        if let Some(Some(number)) = sections.get(section) {
            all.insert(*number);
        }
    }
    all
}
