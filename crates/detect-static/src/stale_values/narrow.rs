//! A first look, where only what stands out is told: the variables that it may be about.

use program::summary::Access;
use program::{FieldId, MethodId, Variable, Whole};
use rayon::prelude::*;

use super::rules::{Looking, Stale, Use};

/// The methods that may have what stands out, and the fields that it is about, as far as they show it.
pub(super) fn asked_about(whole: &Whole<'_>) -> Vec<(MethodId, FieldId)> {
    whole.threads();
    let methods: Vec<MethodId> = whole.program.methods().collect();
    let fields = methods.par_iter().flat_map_iter(|method| {
        let looking =
            Looking::at(whole, *method).map(|looking| Looking { is_narrow: true, is_first_look: true, ..looking });
        let fields = looking.map(|looking| {
            let may_stand_out = |stale: &Stale| {
                (stale.variable == stale.written || stale.how == Use::Found) && !looking.is_locked_over(stale)
            };
            let found = looking.candidates().into_iter().filter(may_stand_out);
            let fields = found.flat_map(|stale| {
                let given = [stale.read, stale.write].map(|access| looking.all_given(looking.access(access)));
                let own = [stale.variable, stale.written];
                own.into_iter().chain(given.into_iter().flatten().copied()).map(Variable::field).collect::<Vec<_>>()
            });
            fields.chain(looking.containers()).map(|field| (*method, field)).collect::<Vec<_>>()
        });
        fields.unwrap_or_default()
    });
    fields.collect()
}

impl Looking<'_> {
    /// Whether two accesses may be of one variable, before it is asked which one callers give.
    pub(super) fn may_be_one(&self, one: &Access, other: &Access) -> bool {
        match (one.bare_parameter(), other.bare_parameter()) {
            (None, None) => Variable::of(self.whole.program, one) == Variable::of(self.whole.program, other),
            (Some(position), Some(other)) => position == other,
            _ => true,
        }
    }
}
