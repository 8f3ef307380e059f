//! What is tracked: for each open section, which locks were taken and let go inside it.

use std::collections::BTreeSet;

use program::SectionId;
use smallvec::SmallVec;

/// A lock that was taken twice, by the sections that took it. Both are one section in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Twice {
    pub(super) first: SectionId,
    pub(super) second: SectionId,
}

/// A lock that was taken twice while another one was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Witness {
    pub(super) twice: Twice,
    pub(super) context: SectionId,
}

/// The facts of one scope: the method, or an open section.
///
/// Of the paper's ⟨R, T, P⟩ only R is kept. All open scopes are known when a lock is taken, so T and P, which the paper
/// carries outwards until the context ends, are settled at once; a context that never ends counts, too.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Scope {
    /// The section, unless the scope is the method.
    pub(super) section: Option<SectionId>,
    /// Whether the section's lock still has the name that it had when it was taken.
    pub(super) renamed: bool,
    /// R: sections that began and ended in here, and whose lock still has its name.
    pub(super) released: BTreeSet<SectionId>,
}

/// Scopes from the method inwards, on one way of having come here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stack {
    pub(super) scopes: SmallVec<[Scope; 3]>,
}

impl Stack {
    pub(super) fn new() -> Stack {
        Stack { scopes: [Scope::default()].into_iter().collect() }
    }

    /// Whether the same sections are open, in the same order.
    fn is_like(&self, other: &Stack) -> bool {
        self.scopes.len() == other.scopes.len()
            && self.scopes.iter().zip(&other.scopes).all(|(a, b)| a.section == b.section)
    }

    fn join(&mut self, other: Stack) -> bool {
        let mut changed = false;
        for (scope, other) in self.scopes.iter_mut().zip(other.scopes) {
            let before = (scope.renamed, scope.released.len());
            scope.renamed |= other.renamed;
            scope.released.extend(other.released);
            changed |= before != (scope.renamed, scope.released.len());
        }
        changed
    }
}

/// Ways of having come to a point of the code that differ in which sections are open. Where locking is structured
/// there is one.
#[derive(Clone, Default, Debug)]
pub(super) struct State {
    stacks: SmallVec<[Stack; 1]>,
}

/// Beyond this many, further ways are not followed.
const MAX_STACKS: usize = 16;

impl State {
    pub(super) fn of(stack: Stack) -> State {
        State { stacks: [stack].into_iter().collect() }
    }

    pub(super) fn stacks_mut(&mut self) -> impl Iterator<Item = &mut Stack> {
        self.stacks.iter_mut()
    }

    /// Joins by union; tells whether that changed anything.
    pub(super) fn join(&mut self, other: State) -> bool {
        let mut changed = false;
        for stack in other.stacks {
            match self.stacks.iter().position(|known| known.is_like(&stack)) {
                Some(known) => changed |= self.stacks[known].join(stack),
                None if self.stacks.len() < MAX_STACKS => {
                    self.stacks.push(stack);
                    changed = true;
                }
                None => {}
            }
        }
        changed
    }
}
