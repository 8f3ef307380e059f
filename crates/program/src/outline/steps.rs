//! The steps of a name: from the object that it starts with to the one that it names.

use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::ThinArc;

use super::NameStep;

/// As small as a pointer, and shared by the names that were made of each other: most names have no steps, and millions
/// of names are kept.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Steps(Option<ThinArc<(), NameStep>>);

impl Steps {
    /// With more steps behind.
    pub fn then(&self, more: &[NameStep]) -> Steps {
        if more.is_empty() {
            return self.clone();
        }
        let all: SmallVec<[NameStep; 4]> = self.iter().chain(more).copied().collect();
        Steps::from(all.as_slice())
    }

    /// Without the last one.
    pub fn without_last(&self) -> Steps {
        Steps::from(self.split_last().map_or(&[][..], |(_, rest)| rest))
    }
}

impl Deref for Steps {
    type Target = [NameStep];

    fn deref(&self) -> &[NameStep] {
        self.0.as_ref().map_or(&[], |steps| &steps.slice)
    }
}

impl From<&[NameStep]> for Steps {
    fn from(steps: &[NameStep]) -> Steps {
        Steps((!steps.is_empty()).then(|| ThinArc::from_header_and_slice((), steps)))
    }
}

impl FromIterator<NameStep> for Steps {
    fn from_iter<I: IntoIterator<Item = NameStep>>(steps: I) -> Steps {
        let steps: SmallVec<[NameStep; 4]> = steps.into_iter().collect();
        Steps::from(steps.as_slice())
    }
}

impl<'s> IntoIterator for &'s Steps {
    type Item = &'s NameStep;
    type IntoIter = std::slice::Iter<'s, NameStep>;

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
        assert_eq!(*two.then(&[NameStep::Element(3)]), [NameStep::Constant(1), NameStep::Some, NameStep::Element(3)]);
        assert_eq!(*two.without_last(), [NameStep::Constant(1)]);
        assert_eq!(two.without_last().without_last(), none);
        assert_eq!(size_of::<Steps>(), size_of::<usize>());
    }
}
