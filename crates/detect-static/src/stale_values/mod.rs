//! Stale values: what was read in one section decides or becomes what another section on the same lock writes.
//!
//! Inside a section shared data is current; once the lock has been let go, a copy of it may be old. Where the copy, or
//! a decision made with it, then reaches a write under the same lock, another thread's change in between is lost or
//! overlooked.
//!
//! Reports: `stale-value` where the old value flows into what is written, `check-then-act` where it only decides
//! whether something is written, or where what was found in a container may be out of it when it is changed.
//! Misses: values that only reach other reads; values that wait in fields which others touch, too; sections more than a
//! few calls away.
//! May be wrong when: two objects of one class are taken for one, or a second check stands in an unknown form.
//! Method: detecting stale values by data flow, one section at a time; departs from it by reporting only what reaches
//! a write in a later section on the same lock, and only data that somebody else writes at the same time. `--strict`
//! tells of every use, as the method does.
//! Page: docs/rules/stale-value.md, docs/rules/check-then-act.md, docs/rules/superfluous-lock.md

mod alike;
mod alone;
mod answers;
mod batch;
mod bits;
mod bounded;
mod cached;
mod claimed;
mod claims;
mod compared;
mod contention;
mod counted;
mod covered;
mod drawn;
mod exchanged;
mod explain;
mod exposed;
mod fenced;
mod functions;
mod granted;
mod harmless;
mod idioms;
mod idle;
mod iterated;
mod judged;
mod kept;
mod little;
mod marks;
mod narrow;
mod one_write;
mod orphaned;
mod own_key;
mod phases;
mod recounted;
mod remembered;
mod replaced;
mod room;
mod rounds;
mod rules;
mod shown;
mod shut;
mod skew;
mod stamps;
mod stepped;
mod stranded;
mod strict;
mod surplus;
mod swept;
mod telling;
mod validated;
mod versions;
mod waits;
mod way;
mod weak;

pub(crate) use contention::{is_contended, is_tool, may_meet};

use finding::Finding;
use program::Whole;
use rayon::prelude::*;

use crate::{Check, Checked, Detector, Options};
use rules::Standing;

pub(crate) const DETECTOR: Detector = Detector {
    name: "stale-values",
    summary: "a value read in one section decides or becomes what a later one on the same lock writes",
    default: true,
    check: Check::Narrow { look: narrow::asked_about, check },
};

fn check(whole: &Whole<'_>, options: &Options) -> Checked {
    whole.threads();
    let elsewhere = rules::Elsewhere::of(whole, &whole.program.methods().collect::<Vec<_>>(), whole.has_ruled_out());
    let methods = whole.asked();
    let findings = methods
        .par_iter()
        .flat_map_iter(|method| {
            let mut stale = rules::stale_uses(whole, *method, &elsewhere, Standing::Told);
            let mut findings = explain::explain_all(whole, *method, stale.clone());
            if options.notes || whole.settings.strict {
                let weak = rules::stale_uses(whole, *method, &elsewhere, Standing::Weak);
                findings.extend(explain::explain_weak(whole, *method, weak.clone()));
                stale.extend(weak);
            }
            if whole.settings.strict {
                let late = strict::late_uses(whole, *method, &stale);
                findings.extend(late.iter().filter_map(|late| explain::explain_late(whole, *method, late)));
                let superfluous = strict::superfluous(whole, *method);
                findings.extend(superfluous.iter().filter_map(|one| explain::explain_lock(whole, *method, one)));
            }
            findings
        })
        .collect();
    Checked { findings, unreadable: Vec::new() }
}

/// What is not told unless it is asked for: a run can say more.
pub(crate) fn weak(whole: &Whole<'_>) -> Vec<Finding> {
    of_standing(whole, Standing::Weak)
}

/// What would be findings if the code were wrong about locks and threads: questions to a run.
pub(crate) fn doubtful(whole: &Whole<'_>) -> Vec<Finding> {
    of_standing(whole, Standing::Doubtful)
}

fn of_standing(whole: &Whole<'_>, standing: Standing) -> Vec<Finding> {
    whole.threads();
    let methods: Vec<_> = whole.program.methods().collect();
    let elsewhere = rules::Elsewhere::of(whole, &methods, false);
    let asked = methods.par_iter().flat_map_iter(|method| {
        explain::explain_all(whole, *method, rules::stale_uses(whole, *method, &elsewhere, standing))
    });
    asked.collect()
}
