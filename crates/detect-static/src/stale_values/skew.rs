//! Two variables that are kept in step by checks alone: one method checks the first before it writes the second, another
//! one checks the second before it writes the first. Each variable is guarded on its own, and nothing guards both, so
//! both checks may pass at once.

use std::collections::BTreeSet;

use program::outline::{Member, Name, NameStep, Start};
use program::summary::{Access, AccessId, Influences, Root};
use program::{MethodId, Variable, Whole};
use rayon::prelude::*;

use super::rules::{Looking, Stale, Use};

/// Pairs of variables: a check of the first decides somewhere whether the second is written.
pub(super) type Decided = BTreeSet<(Variable, Variable)>;

pub(super) fn decided(whole: &Whole<'_>, methods: &[MethodId]) -> Decided {
    let pairs = methods.par_iter().flat_map_iter(|method| {
        let looking = Looking::at(whole, *method);
        let found = looking.map(|looking| looking.checks()).unwrap_or_default();
        found.into_iter().map(|stale| (stale.variable, stale.written))
    });
    pairs.collect()
}

impl Looking<'_> {
    /// The checks of this method whose mirror image is somewhere else.
    pub(super) fn skewed(&self, decided: &Decided) -> Vec<Stale> {
        let mut found = self.checks();
        found.retain(|stale| decided.contains(&(stale.written, stale.variable)) && !self.is_one_way(stale.variable));
        found
    }

    /// Checks of one variable that decide whether another one of the same object is written, under another lock.
    fn checks(&self) -> Vec<Stale> {
        let mut found: Vec<Stale> = Vec::new();
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let Some(written) = self.shared(write).filter(|_| write.is_write && !write.held.is_empty()) else {
                continue;
            };
            for influence in &write.control {
                let Root::Access(read) = influence.root else { continue };
                let access = self.access(read);
                let Some(variable) = self.shared(access) else { continue };
                if variable == written
                    || access.event == write.event
                    || !have_one_owner(access, write)
                    || !(is_compared(read, write) || self.are_flags(variable, written))
                {
                    continue;
                }
                let lock = |section: usize| &self.summary.sections[section].lock;
                let first = influence.ended.iter().find(|section| access.held.contains(*section));
                let second = write.held.iter().find(|section| !access.held.contains(*section));
                if let (Some(first), Some(second)) = (first, second)
                    && !lock(first).same(lock(second))
                {
                    let write = AccessId(index as u32);
                    found.push(Stale { read, write, first, second, how: Use::Decides, variable, written });
                }
            }
        }
        found
    }

    /// Whether two variables are a truth value each.
    fn are_flags(&self, one: Variable, other: Variable) -> bool {
        let program = self.whole.program;
        [one, other].into_iter().all(|variable| {
            let descriptor = program.names.text(program.field(variable.field()).descriptor);
            matches!(descriptor, "Z" | "Ljava/util/concurrent/atomic/AtomicBoolean;")
        })
    }
}

/// Whether what is written was compared with what was read.
fn is_compared(read: AccessId, write: &Access) -> bool {
    let comes_from = |side: &Influences| side.iter().any(|influence| influence.root == Root::Access(read));
    let is_written = |side: &Influences| side.iter().any(|one| write.value.iter().any(|other| one.root == other.root));
    write.compared.iter().any(|compared| {
        let [left, right] = &compared.sides;
        comes_from(left) && is_written(right) || comes_from(right) && is_written(left)
    })
}

/// Whether two variables are parts of one object.
fn have_one_owner(read: &Access, write: &Access) -> bool {
    match (owner(read), owner(write)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// The object that has the field which an access is about; none for a static field.
fn owner(access: &Access) -> Option<Option<Name>> {
    let mut base = access.base.clone();
    match access.member {
        Member::Static(_) => return Some(None),
        Member::Field(_) => {}
        Member::Elements | Member::State(_) => match (base.steps.pop(), base.start) {
            (Some(NameStep::Field(_)), _) => {}
            (None, Start::Static(_)) => return Some(None),
            _ => return None,
        },
    }
    (!base.is_unknown()).then_some(Some(base))
}
