//! What a callee's values depend on, from the caller's side.

use smallvec::SmallVec;

use super::influences::{Gathering, Sets};
use super::{AccessId, Extent, Influence, Influences, Root};
use crate::outline::SectionSet;

/// How a callee's influences look from the caller's side.
pub(super) struct Through<'t> {
    pub(super) given: &'t [Influences],
    /// Of parameters that are not among the arguments.
    pub(super) rest: &'t Influences,
    pub(super) accesses: SmallVec<[Option<AccessId>; Extent::LARGE.callees]>,
    pub(super) sections: &'t [Option<usize>],
    pub(super) held: SectionSet,
    /// What the last sets have become: accesses that stand together mostly share theirs.
    pub(super) known: Known<'t>,
    pub(super) sets: Sets,
}

/// A callee's influences together with those that the call has itself. Accesses that stand together mostly have the
/// same, and share what has become of it.
pub(super) struct Joined<'j> {
    pub(super) here: &'j Influences,
    pub(super) known: Known<'j>,
}

/// What the last sets have become.
#[derive(Default)]
pub(super) struct Known<'k> {
    all: SmallVec<[(&'k Influences, Influences); MAX_KNOWN]>,
    /// The oldest one.
    oldest: usize,
}

impl<'k> Known<'k> {
    fn get(&self, of: &Influences) -> Option<&Influences> {
        self.all.iter().find(|(from, _)| from.is_same(of)).map(|(_, known)| known)
    }

    fn add(&mut self, from: &'k Influences, known: Influences) {
        if self.all.len() < MAX_KNOWN {
            self.all.push((from, known));
        } else {
            self.all[self.oldest] = (from, known);
            self.oldest = (self.oldest + 1) % MAX_KNOWN;
        }
    }
}

impl<'j> Joined<'j> {
    pub(super) fn of(&mut self, through: &mut Through<'_>, influences: &'j Influences) -> Influences {
        if influences.is_empty() {
            return self.here.clone();
        }
        if let Some(known) = self.known.get(influences) {
            return known.clone();
        }
        let mut all = Gathering::default();
        through.gather(&mut all, influences);
        all.add_all(self.here);
        let all = all.finish_among(&mut through.sets);
        if through.is_settled(influences) {
            self.known.add(influences, all.clone());
        }
        all
    }
}

/// How many sets are looked at again.
const MAX_KNOWN: usize = 8;

impl<'t> Through<'t> {
    pub(super) fn of(&mut self, influences: &'t Influences) -> Influences {
        if influences.is_empty() {
            return Influences::default();
        }
        if let Some(known) = self.known.get(influences) {
            return known.clone();
        }
        let mut all = Gathering::default();
        self.gather(&mut all, influences);
        let all = all.finish_among(&mut self.sets);
        if self.is_settled(influences) {
            self.known.add(influences, all.clone());
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
        is_settled(influences, self.accesses.len())
    }
}

/// Whether influences come from so many accesses, the first ones, at most. They are sorted: the last one tells.
pub(super) fn is_settled(influences: &Influences, count: usize) -> bool {
    influences.last().is_none_or(|last| match last.root {
        Root::Access(access) => access.index() < count,
        Root::Parameter(_) => true,
    })
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
