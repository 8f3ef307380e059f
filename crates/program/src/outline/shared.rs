//! Lists that never change and are shared by all that have them.

use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::ThinArc;

use super::NameStep;

/// As small as a pointer, nothing behind it if the list is empty: millions are kept, and most are empty or the same as
/// the one before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shared<T>(Option<ThinArc<(), T>>);

/// The steps of a name: from the object that it starts with to the one that it names.
pub type Steps = Shared<NameStep>;

impl<T: Copy> Shared<T> {
    /// With more behind.
    pub fn then(&self, more: &[T]) -> Shared<T> {
        if more.is_empty() {
            return self.clone();
        }
        self.iter().chain(more).copied().collect()
    }

    /// Without the last one.
    pub fn without_last(&self) -> Shared<T> {
        Shared::from(self.split_last().map_or(&[][..], |(_, rest)| rest))
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared(None)
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |all| &all.slice)
    }
}

impl<T: Copy> From<&[T]> for Shared<T> {
    fn from(all: &[T]) -> Shared<T> {
        Shared((!all.is_empty()).then(|| ThinArc::from_header_and_slice((), all)))
    }
}

impl<T: Copy> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Shared<T> {
        let all: SmallVec<[T; 4]> = all.into_iter().collect();
        Shared::from(all.as_slice())
    }
}

impl<'s, T> IntoIterator for &'s Shared<T> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grow_and_shrink() {
        let none = Steps::default();
        assert!(none.is_empty() && none.without_last() == none);
        let two: Steps = [NameStep::Constant(1), NameStep::Some].into_iter().collect();
        assert_eq!(none.then(&two), two);
        assert_eq!(*two.then(&[NameStep::Constant(3)]), [NameStep::Constant(1), NameStep::Some, NameStep::Constant(3)]);
        assert_eq!(*two.without_last(), [NameStep::Constant(1)]);
        assert_eq!(two.without_last().without_last(), none);
        assert_eq!(size_of::<Steps>(), size_of::<usize>());
    }
}
