//! Where values come from, as summaries keep it: sets that are shared by all accesses that have them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use triomphe::ThinArc;

use super::{Access, Compared, Influence, Root, SummarySection};
use crate::outline::SectionSet;

/// More influences than this are cut.
const MAX_INFLUENCES: usize = 24;

/// Sorted by root, each once. Cheap to clone, and as small as a pointer: millions are kept.
#[derive(Clone, Eq, Default, Debug)]
pub struct Influences(Option<ThinArc<(), Influence>>);

impl Influences {
    pub(super) fn one(root: Root) -> Influences {
        Influences::of(&[Influence { root, ended: SectionSet::default() }])
    }

    fn of(all: &[Influence]) -> Influences {
        Influences(Some(ThinArc::from_header_and_slice((), all)))
    }

    /// Told without a look at the memory behind: only what is not empty has some.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both are one piece of memory, or empty.
    pub(super) fn is_same(&self, other: &Influences) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.slice.as_ptr() == b.slice.as_ptr(),
            (None, None) => true,
            _ => false,
        }
    }

    /// With further sections ended, for each root those that `ended` tells.
    pub(super) fn with_ended(self, ended: impl Fn(Root) -> SectionSet) -> Influences {
        if self.iter().all(|influence| ended(influence.root).without(influence.ended).is_empty()) {
            return self;
        }
        let each = self
            .iter()
            .map(|influence| Influence { root: influence.root, ended: influence.ended.union(ended(influence.root)) });
        Influences::of(&each.collect::<SmallVec<[Influence; 8]>>())
    }
}

impl PartialEq for Influences {
    fn eq(&self, other: &Influences) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl Hash for Influences {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Borrow<[Influence]> for Influences {
    fn borrow(&self) -> &[Influence] {
        self
    }
}

impl Deref for Influences {
    type Target = [Influence];

    fn deref(&self) -> &[Influence] {
        self.0.as_ref().map_or(&[], |all| &all.slice)
    }
}

impl<'i> IntoIterator for &'i Influences {
    type Item = &'i Influence;
    type IntoIter = std::slice::Iter<'i, Influence>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Sets that were made before, each once: what callees' sets become at calls is mostly what others have become.
#[derive(Default)]
pub(super) struct Sets {
    known: FxHashSet<Influences>,
    /// Room in which accesses and sections are gathered: a list that grows leaves pieces behind, and has more room in the end
    /// than it needs.
    pub(super) accesses: Vec<Access>,
    pub(super) sections: Vec<SummarySection>,
}

impl Sets {
    fn of(&mut self, all: &[Influence]) -> Influences {
        if let Some(known) = self.known.get(all) {
            return known.clone();
        }
        let new = Influences::of(all);
        self.known.insert(new.clone());
        new
    }
}

/// Takes all that is in a list out, and leaves its room.
pub(super) fn taken_out<T>(room: &mut Vec<T>) -> Vec<T> {
    let mut all = Vec::with_capacity(room.len());
    all.append(room);
    all
}

/// The sets of each thread: what two threads share would be counted by both, at a price.
pub(super) struct SetsByThread(Vec<Mutex<Sets>>);

impl SetsByThread {
    pub(super) fn new() -> SetsByThread {
        SetsByThread((0..=rayon::current_num_threads()).map(|_| Mutex::default()).collect())
    }

    /// Lends this thread its sets for something that does not wait for other threads.
    pub(super) fn with<R>(&self, action: impl FnOnce(Sets) -> (R, Sets)) -> R {
        let number = rayon::current_thread_index().map_or(0, |number| number + 1);
        let own = &self.0[number % self.0.len()];
        let sets = std::mem::take(&mut *own.lock().unwrap_or_else(PoisonError::into_inner));
        let (result, sets) = action(sets);
        *own.lock().unwrap_or_else(PoisonError::into_inner) = sets;
        result
    }
}

/// Comparisons, shared by all accesses that have them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparisons(Option<ThinArc<(), Compared>>);

impl Comparisons {
    /// Told without a look at the memory behind: only what is not empty has some.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both are one piece of memory, or empty.
    pub(super) fn is_same(&self, other: &Comparisons) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.slice.as_ptr() == b.slice.as_ptr(),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Deref for Comparisons {
    type Target = [Compared];

    fn deref(&self) -> &[Compared] {
        self.0.as_ref().map_or(&[], |all| &all.slice)
    }
}

impl FromIterator<Compared> for Comparisons {
    fn from_iter<I: IntoIterator<Item = Compared>>(all: I) -> Comparisons {
        let all: SmallVec<[Compared; 4]> = all.into_iter().collect();
        Comparisons((!all.is_empty()).then(|| ThinArc::from_header_and_iter((), all.into_iter())))
    }
}

/// Influences on the way to a set.
#[derive(Default)]
pub(super) struct Gathering {
    /// The first set, as long as nothing else has come.
    first: Influences,
    all: SmallVec<[Influence; MAX_INFLUENCES]>,
}

impl Gathering {
    pub(super) fn add_all(&mut self, more: &Influences) {
        if more.is_empty() || more.is_same(&self.first) {
            return;
        }
        if self.first.is_empty() && self.all.is_empty() {
            self.first = more.clone();
            return;
        }
        self.open();
        let room = MAX_INFLUENCES - self.all.len();
        match (self.all.last(), more.first()) {
            (Some(last), Some(next)) if last.root >= next.root => self.merge(more, room),
            _ => self.all.extend_from_slice(&more[..more.len().min(room)]),
        }
    }

    /// Adds what comes between, as far as there is room. Mostly everything is there already.
    fn merge(&mut self, more: &[Influence], room: usize) {
        let own = self.all.as_mut_slice();
        let (mut at, mut added, mut end) = (0, 0, 0);
        for (index, influence) in more.iter().enumerate() {
            loop {
                match own.get_mut(at).map(|own| (own.root.cmp(&influence.root), own)) {
                    Some((Ordering::Less, _)) => at += 1,
                    Some((Ordering::Equal, same)) => {
                        same.ended = same.ended.union(influence.ended);
                        at += 1;
                        break;
                    }
                    _ => {
                        if added < room {
                            (added, end) = (added + 1, index + 1);
                        }
                        break;
                    }
                }
            }
        }
        if added == 0 {
            return;
        }
        // From the last to the first, so that nothing is overwritten that still has to move.
        let mut from = self.all.len();
        let mut to = from + added;
        self.all.resize(to, more[0]);
        let all = self.all.as_mut_slice();
        for influence in more[..end].iter().rev() {
            while from > 0 && all[from - 1].root > influence.root {
                (from, to) = (from - 1, to - 1);
                all[to] = all[from];
            }
            if from == 0 || all[from - 1].root != influence.root {
                to -= 1;
                all[to] = *influence;
            }
        }
    }

    /// Puts the first set among the others.
    #[inline]
    fn open(&mut self) {
        if !self.first.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
    }

    pub(super) fn add(&mut self, influence: Influence) {
        self.open();
        // They mostly come in order.
        if self.all.last().is_none_or(|last| last.root < influence.root) {
            if self.all.len() < MAX_INFLUENCES {
                self.all.push(influence);
            }
            return;
        }
        match self.all.binary_search_by_key(&influence.root, |known| known.root) {
            Ok(at) => self.all[at].ended = self.all[at].ended.union(influence.ended),
            Err(at) if self.all.len() < MAX_INFLUENCES => self.all.insert(at, influence),
            Err(_) => {}
        }
    }

    pub(super) fn finish(&mut self) -> Influences {
        if self.all.is_empty() { std::mem::take(&mut self.first) } else { Influences::of(&self.all) }
    }

    /// The same, of sets that many are likely to have.
    pub(super) fn finish_among(&mut self, sets: &mut Sets) -> Influences {
        if self.all.is_empty() { std::mem::take(&mut self.first) } else { sets.of(&self.all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::AccessId;

    fn influence(access: u32, ended: u64) -> Influence {
        Influence { root: Root::Access(AccessId(access)), ended: SectionSet(ended) }
    }

    #[test]
    fn gathers_each_root_once_in_order() {
        let mut gathering = Gathering::default();
        for (access, ended) in [(3, 1), (1, 0), (3, 2)] {
            gathering.add(influence(access, ended));
        }
        let both = gathering.finish();
        assert_eq!(*both, [influence(1, 0), influence(3, 3)]);
        let mut gathering = Gathering::default();
        gathering.add_all(&both);
        gathering.add_all(&Influences::one(Root::Parameter(0)));
        assert_eq!(gathering.finish().len(), 3);
    }

    #[test]
    fn a_set_that_comes_alone_is_shared() {
        let one = Influences::one(Root::Parameter(2));
        let mut gathering = Gathering::default();
        gathering.add_all(&Influences::default());
        gathering.add_all(&one);
        gathering.add_all(&one);
        assert!(gathering.finish().is_same(&one));
        assert!(one.clone().with_ended(|_| SectionSet::default()).is_same(&one));
        assert_eq!(one.with_ended(|_| SectionSet(4))[0].ended, SectionSet(4));
    }

    #[test]
    fn what_was_made_before_is_shared() {
        let make = |sets: &mut Sets, ended| {
            let mut gathering = Gathering::default();
            gathering.add(influence(1, ended));
            gathering.finish_among(sets)
        };
        let mut sets = Sets::default();
        let one = make(&mut sets, 2);
        assert!(make(&mut sets, 2).is_same(&one));
        assert!(make(&mut sets, 3) != one);
        assert!(make(&mut Sets::default(), 2) == one);
    }

    #[test]
    fn sets_are_gathered_as_their_parts_are() {
        let sets = [vec![4, 5, 9], (0..20).map(|number| number * 3).collect(), (0..30).collect(), vec![1, 2]];
        for order in [[0, 1, 2, 3], [3, 0, 2, 1], [1, 0, 3, 2], [2, 3, 1, 0]] {
            let (mut whole, mut parts) = (Gathering::default(), Gathering::default());
            for set in order.map(|number: usize| &sets[number]) {
                let mut one = Gathering::default();
                set.iter().for_each(|access| one.add(influence(*access, 1 << set.len())));
                let one = one.finish();
                whole.add_all(&one);
                one.iter().for_each(|influence| parts.add(*influence));
            }
            assert_eq!(whole.finish(), parts.finish());
        }
    }

    #[test]
    fn too_many_are_cut() {
        let mut gathering = Gathering::default();
        (0..100).for_each(|access| gathering.add(influence(access, 0)));
        assert_eq!(gathering.finish().len(), MAX_INFLUENCES);
    }
}
